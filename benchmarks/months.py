"""Next month's file against a model: what is new, what keeps its label, and what an update costs.

``make bench-months`` runs it and rewrites ``months.md``. Each measurement is a line in ``.cache/months.jsonl``, so a
run that was stopped goes on where it was; delete the file to measure anew. A draw has two files of one set with MiniLM
vectors: the second has 2,500 rows of all classes, the first up to 10,000 of the other rows. In some draws, a tenth of
the classes is held out of the first. Sets with dates are also divided by date. Truth is used to score alone.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
from harness import DATA, ROOT, TITLES, Row, main
from k_rivals import unit
from sklearn.metrics import roc_auc_score

import textspectra as ts
from textspectra.texts.comparison import updated

CELLS = ROOT / ".cache" / "months.jsonl"
SETS = ("banking77", "massive_intent", "reddit50_s", "stackexchange121_s", "googlenews_t")
DATED = ("arxiv_titles", "nyt_frontpage")
SET_ROWS, FIRST_ROWS, SECOND_ROWS = 15_000, 10_000, 2_500
HELD_OUT = 0.1
"""Share of the classes that are held out of the first file."""

DRAWS, SAME_DRAWS, GROWING_DRAWS, RIVAL_DRAWS = 5, 2, 2, 1
"""Draws of each set: with classes held out, with none, with one that grows, and those that BERTopic gets too."""

FEWEST = 20
"""Texts of a new class in the second file from which it should get a group of its own."""

GROWTH = 5
MERGING = (0.7, 0.8, 0.9)
"""Values of `min_similarity` for `merge_models`; the first is its default."""

OLD_TEXTS, NEW_TEXTS, ROUNDS = 100_000, 10_000, 3

Cell = dict[str, Any]


class File(NamedTuple):
    """Some rows of a set."""

    texts: list[str]
    X: Any
    classes: Any


class Draw(NamedTuple):
    """Two files of a set, and the classes of the second that the first does not have or that grow."""

    first: File
    second: File
    chosen: Any


def _rows(name: str) -> Any:
    n = pq.read_metadata(DATA / f"{name}.parquet").num_rows
    return np.sort(np.random.default_rng(0).permutation(n)[:SET_ROWS])


@lru_cache(maxsize=1)
def load(name: str) -> File:
    """Return up to 15,000 random rows of a set."""
    table, rows = pq.read_table(DATA / f"{name}.parquet"), _rows(name)
    texts = table["text"].take(rows).to_pylist()
    return File(texts, np.asarray(ts.embed_texts(texts, "minilm"), np.float32), np.asarray(table["label"].take(rows)))


def _rows_of(name: str, rows: Any) -> File:
    texts, X, classes = load(name)
    return File([texts[row] for row in rows], X[rows], classes[rows])


def draw_held_out(name: str, seed: int, share: float = HELD_OUT) -> Draw:
    classes, rng = load(name).classes, np.random.default_rng(seed)
    names = np.unique(classes)
    held = rng.permutation(names)[: round(share * len(names))]
    order = rng.permutation(len(classes))
    second, rest = order[:SECOND_ROWS], order[SECOND_ROWS:]
    first = rest[~np.isin(classes[rest], held)][:FIRST_ROWS]
    return Draw(_rows_of(name, first), _rows_of(name, second), held)


def draw_by_date(name: str, seed: int) -> Draw:
    """Divide the rows by date, four fifths to the first file, and hold some classes out of it."""
    rng, (rows, classes) = np.random.default_rng(seed), (_rows(name), load(name).classes)
    dates = np.asarray(pq.read_table(DATA / f"{name}.parquet", columns=["date"])["date"].take(rows))
    names = np.unique(classes)
    held = rng.permutation(names)[: round(HELD_OUT * len(names))]
    early, late = np.split(np.argsort(dates, kind="stable"), [len(dates) * 4 // 5])
    first = rng.permutation(early[~np.isin(classes[early], held)])[:FIRST_ROWS]
    return Draw(_rows_of(name, first), _rows_of(name, rng.permutation(late)[:SECOND_ROWS]), held)


def draw_growing(name: str, seed: int) -> Draw:
    """Divide the rows of a random class so that its share of the second file is five times its share of the first."""
    classes, rng = load(name).classes, np.random.default_rng(seed)
    names, counts = np.unique(classes, return_counts=True)
    grows = rng.choice(names[counts >= 100])
    order = rng.permutation(len(classes))
    own, others = order[classes[order] == grows], order[classes[order] != grows]
    n_first = min(FIRST_ROWS, len(others) - SECOND_ROWS)
    place = round(len(own) / (1 + n_first / SECOND_ROWS / GROWTH))
    second = rng.permutation(np.concatenate([own[:place], others[: SECOND_ROWS - place]]))
    first = rng.permutation(np.concatenate([own[place:], others[SECOND_ROWS : SECOND_ROWS + n_first]]))
    return Draw(_rows_of(name, first), _rows_of(name, second), np.array([grows]))


def groups_of_new_classes(labels: Any, new: list[int], second: File, held: Any) -> Cell:
    """Count the new classes that have a new group: most of the group, and half of the class."""
    majorities = {}
    for label in new:
        names, counts = np.unique(second.classes[labels == label], return_counts=True)
        if len(names) and 2 * counts.max() > counts.sum():
            majorities[label] = (names[counts.argmax()], counts.max())
    sizes = {name: int((second.classes == name).sum()) for name in held.tolist()}
    large = [name for name, size in sizes.items() if size >= FEWEST]
    own = [name for name in large if any(m[0] == name and 2 * m[1] >= sizes[name] for m in majorities.values())]
    true = [label for label in new if np.isin(second.classes[labels == label], held).mean() > 0.5]
    inside = np.isin(labels, new)
    texts = {"inside": int(inside.sum()), "pure": int(np.isin(second.classes[inside], held).sum())}
    return {"classes": len(large), "own": len(own), "new": len(new), "true": len(true), **texts}


def measure_held_out(name: str, seed: int) -> Cell:
    first, second, held = (draw_by_date if name in DATED else draw_held_out)(name, seed)
    result = ts.cluster_texts(first.texts, embeddings=first.X, keep_all=True)
    found = result.compare(second.texts, embeddings=second.X)
    after = updated(result, found, [])
    is_new = np.isin(second.classes, held)
    to_old = np.sort(unit(second.X) @ unit(first.X).T, axis=1)[:, -5:].mean(axis=1)
    to_centers = (unit(second.X) @ unit(result.centers).T).max(axis=1)
    scores = {"novelty": found.novelty, "center": -to_centers, "texts": -to_old}
    new = [cluster.label for cluster in found.new_clusters]
    clear = [change.label for change in found.cluster_changes if change.status == "new" and not change.mixed]
    clear_cell = groups_of_new_classes(found.result.labels, clear, second, held)
    return {
        **{score: roc_auc_score(is_new, values) for score, values in scores.items()},
        **groups_of_new_classes(found.result.labels, new, second, held),
        **{f"clear {key}": clear_cell[key] for key in ("new", "inside", "pure")},
        "changed": int((after.labels[: len(first.texts)] != result.labels).sum()),
        "k": result.n_clusters,
    }


def measure_same(name: str, seed: int) -> Cell:
    first, second, _ = draw_held_out(name, 100 + seed, 0)
    result = ts.cluster_texts(first.texts, embeddings=first.X, keep_all=True)
    found = result.compare(second.texts, embeddings=second.X)
    statuses = [change.status for change in found.cluster_changes]
    moved = sum(status != "steady" for status in statuses) - len(found.new_clusters)
    return {"new": len(found.new_clusters), "moved": moved, "k": result.n_clusters}


def measure_growing(name: str, seed: int) -> Cell:
    first, second, grows = draw_growing(name, 200 + seed)
    result = ts.cluster_texts(first.texts, embeddings=first.X, keep_all=True)
    found = result.compare(second.texts, embeddings=second.X)
    status = {change.label: change.status for change in found.cluster_changes}
    home = int(np.bincount(result.labels[first.classes == grows[0]]).argmax())
    own = [label for label in status if status[label] == "new"
           and (second.classes[found.result.labels == label] == grows[0]).mean() > 0.5]  # fmt: skip
    return {"new": len(found.new_clusters), "own": len(own), "status": status[home], "class": str(grows[0])}


def measure_bertopic(name: str, seed: int) -> Cell:
    """Merge a model of each file; novelty is the best of three scores that the merged model allows."""
    from bertopic import BERTopic
    from umap import UMAP

    first, second, held = draw_held_out(name, seed)

    def fitted(file: File) -> Any:
        reducer = UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=42)
        return BERTopic(embedding_model=None, umap_model=reducer).fit(file.texts, embeddings=file.X)

    before, after = fitted(first), fitted(second)
    known = unit(before.topic_embeddings_)
    clusters = np.array(after.topics_)
    of_topic = 1 - (unit(after.topic_embeddings_) @ known.T).max(axis=1)
    of_text = 1 - (unit(second.X) @ known.T).max(axis=1)
    is_new, cell = np.isin(second.classes, held), {}
    for least in MERGING:
        merged = BERTopic.merge_models([before, after], min_similarity=least)
        labels = np.array(merged.topics_[len(first.texts) :])
        new = np.unique(labels[labels > max(before.topics_)]).tolist()
        cell[str(least)] = groups_of_new_classes(labels, new, second, held)
        cell[str(least)]["novelty"] = roc_auc_score(is_new, np.isin(labels, new))
    by_topic = np.where(clusters >= 0, of_topic[clusters + (clusters.min() < 0)], of_text)
    return cell | {"topic": roc_auc_score(is_new, by_topic), "text": roc_auc_score(is_new, of_text)}


def measure_time(_: str, __: int) -> Cell:
    """Update a model, and cluster all texts anew, in turns."""
    rows = np.sort(np.random.default_rng(0).permutation(pq.read_metadata(TITLES).num_rows)[: OLD_TEXTS + NEW_TEXTS])
    texts = pq.read_table(TITLES, columns=["text"])["text"].take(rows).to_pylist()
    order = np.random.default_rng(1).permutation(len(texts))
    texts = [texts[row] for row in order]
    X = np.asarray(ts.embed_texts(texts, "wordllama"), np.float32)
    model = ts.cluster_texts(texts[:OLD_TEXTS], embeddings=X[:OLD_TEXTS])
    jobs: dict[str, Callable[[], Any]] = {
        "update": lambda: model.update(texts[OLD_TEXTS:], embeddings=X[OLD_TEXTS:]),
        "anew": lambda: ts.cluster_texts(texts, embeddings=X),
    }
    cell: Cell = {f"{job} {clock}": [] for job in jobs for clock in ("cpu", "wall")}
    for _round in range(ROUNDS):
        for job, call in jobs.items():
            wall, cpu = time.perf_counter(), time.process_time()
            call()
            cell[f"{job} cpu"].append(time.process_time() - cpu)
            cell[f"{job} wall"].append(time.perf_counter() - wall)
    return cell


MEASURES: dict[str, tuple[Callable[[str, int], Cell], tuple[str, ...], int]] = {
    "held out": (measure_held_out, SETS, DRAWS),
    "by date": (measure_held_out, DATED, DRAWS),
    "same": (measure_same, SETS, SAME_DRAWS),
    "growing": (measure_growing, SETS, GROWING_DRAWS),
    "bertopic": (measure_bertopic, SETS, RIVAL_DRAWS),
    "time": (measure_time, (TITLES.stem,), 1),
}


def cells(kind: str) -> dict[str, list[Cell]]:
    """Measure what is missing, and return the cells of each set. A failure is a cell too."""
    CELLS.parent.mkdir(exist_ok=True)
    lines = CELLS.read_text().splitlines() if CELLS.exists() else []
    done = {tuple(cell["cell"]): cell for cell in map(json.loads, lines)}
    measure, names, draws = MEASURES[kind]
    with CELLS.open("a") as file:
        for key in ((kind, name, seed) for name in names for seed in range(draws)):
            if key not in done:
                start = time.perf_counter()
                done[key] = {"cell": key, **_measured(measure, *key[1:]), "seconds": time.perf_counter() - start}
                print(json.dumps(done[key]), file=file, flush=True)
                print(json.dumps(done[key]), file=sys.stderr, flush=True)
    return {name: [done[kind, name, seed] for seed in range(draws)] for name in names}


def _measured(measure: Callable[[str, int], Cell], name: str, seed: int) -> Cell:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return measure(name, seed)
        except Exception as error:  # a failure of a rival is a result
            return {"error": f"{type(error).__name__}: {error}"}


def by_set(values: dict[str, Any], pattern: str) -> str:
    return ", ".join(f"{name} {pattern.format(value)}" for name, value in values.items())


def mean_of(found: dict[str, list[Cell]], key: str) -> dict[str, float]:
    return {name: float(np.mean([cell[key] for cell in some])) for name, some in found.items()}


def total_of(found: dict[str, list[Cell]], key: str) -> dict[str, int]:
    return {name: sum(cell[key] for cell in some) for name, some in found.items()}


def shares_of(found: dict[str, list[Cell]]) -> dict[str, float]:
    """Return the share of new classes that have a group of their own, of all draws of a set together."""
    own, classes = total_of(found, "own"), total_of(found, "classes")
    return {name: own[name] / classes[name] for name in found}


def counts_of(found: dict[str, list[Cell]]) -> str:
    own, classes = total_of(found, "own"), total_of(found, "classes")
    return ", ".join(f"{name} {own[name]}/{classes[name]}" for name in found)


def bench_held_out() -> list[Row]:
    found = cells("held out")
    novelty, shares = mean_of(found, "novelty"), shares_of(found)
    rivals = {"nearest center": mean_of(found, "center"), "5 nearest old texts": mean_of(found, "texts")}
    new, true, changed = (sum(total_of(found, key).values()) for key in ("new", "true", "changed"))
    what = "AUROC of `novelty` for texts of new classes"
    own = f"new classes with {FEWEST} texts or more that get a new group of their own"
    return [
        (f"{what}: banking77", "≥ 0.94", f"{novelty['banking77']:.3f}", f"mean of {DRAWS} draws"),
        (f"{what}: mean of the sets", "≥ 0.85", f"{np.mean(list(novelty.values())):.3f}", by_set(novelty, "{:.3f}")),
        *((f"the same by similarity to the {rival}", "–", f"{np.mean(list(some.values())):.3f}",
           by_set(some, "{:.3f}")) for rival, some in rivals.items()),
        (f"{own}: banking77", "≥ 80%", f"{shares['banking77']:.0%}", f"of {DRAWS} draws together"),
        (f"{own}: mean of the sets", "≥ 60%", f"{np.mean(list(shares.values())):.0%}", counts_of(found)),
        *purity_rows(found),
        ("new groups in which most texts are of new classes", "–", f"{true / new:.0%}",
         ", ".join(f"{name} {total_of(found, 'true')[name]}/{total_of(found, 'new')[name]}" for name in found)),
        ("texts of old groups whose label changed by `update`", "≤ 0", str(changed), f"{DRAWS * len(SETS)} updates"),
    ]  # fmt: skip


def purity_rows(found: dict[str, list[Cell]], bar: str = "≥ 80%") -> list[Row]:
    """Say how many of the texts in new groups are of new classes, in all new groups and in those not called mixed."""
    rows = []
    for which, prefix, limit in (("new groups", "", bar), ("new groups that are not called mixed", "clear ", "–")):
        texts, pure = total_of(found, f"{prefix}inside"), total_of(found, f"{prefix}pure")
        share = sum(pure.values()) / max(sum(texts.values()), 1)
        details = ", ".join(f"{name} {pure[name]}/{texts[name]}" for name in found)
        rows.append((f"texts in {which} that are of new classes", limit, f"{share:.0%}",
                     f"{details}; {sum(total_of(found, f'{prefix}new').values())} groups"))  # fmt: skip
    return rows


def bench_by_date() -> list[Row]:
    found = cells("by date")
    what = "files divided by date"
    novelty = mean_of(found, "novelty")
    return [
        *((f"{what}: {row[0]}", *row[1:]) for row in purity_rows(found)),
        (f"{what}: new classes with {FEWEST} texts or more that get a new group of their own", "–",
         f"{sum(total_of(found, 'own').values()) / max(sum(total_of(found, 'classes').values()), 1):.0%}",
         counts_of(found)),
        (f"{what}: AUROC of `novelty` for texts of new classes", "–", f"{np.mean(list(novelty.values())):.3f}",
         by_set(novelty, "{:.3f}")),
    ]  # fmt: skip


def bench_same() -> list[Row]:
    found = cells("same")
    new = [cell["new"] for some in found.values() for cell in some]
    moved, clusters = (sum(total_of(found, key).values()) for key in ("moved", "k"))
    numbers = {name: [cell["new"] for cell in some] for name, some in found.items()}
    return [
        ("second file from the same classes: draws without a new group", "≥ 90%", f"{np.mean(np.equal(new, 0)):.0%}",
         f"{len(new)} draws; new groups of each: {by_set(numbers, '{}')}"),
        ("the same: groups that are said to grow, shrink or be gone", "–", f"{moved / clusters:.1%}",
         f"{moved} of {clusters:,}"),
    ]  # fmt: skip


def bench_growing() -> list[Row]:
    some = [cell for part in cells("growing").values() for cell in part]
    growing, quiet = (sum(cell["status"] == "growing" for cell in some), sum(not cell["new"] for cell in some))
    details = [f"{cell['cell'][1]} {cell['class']}: {cell['status']}, {cell['new']} new ({cell['own']} of the class)"
               for cell in some]  # fmt: skip
    what = f"a class that is {GROWTH} times as frequent in the second file"
    return [
        (f"{what}: draws without a new group", "–", f"{quiet / len(some):.0%}", "; ".join(details)),
        (f"{what}: draws in which the group with most of its texts is growing", "–",
         f"{growing / len(some):.0%}", f"{growing} of {len(some)}"),
    ]  # fmt: skip


def bench_bertopic() -> list[Row]:
    tried = cells("bertopic")
    failed = [f"{cell['cell'][1]}: {cell['error']}" for some in tried.values() for cell in some if "error" in cell]
    theirs = {name: [cell for cell in some if "error" not in cell] for name, some in tried.items()}
    theirs = {name: some for name, some in theirs.items() if some}
    draws = {name: [cell["cell"][2] for cell in some] for name, some in theirs.items()}
    ours = {name: [cell for cell in some if cell["cell"][2] in draws.get(name, [])]
            for name, some in cells("held out").items() if name in theirs}  # fmt: skip
    merged = [{name: [cell[str(least)] for cell in some] for name, some in theirs.items()} for least in MERGING]
    aucs = {
        "whether a text is in a new topic": mean_of(merged[0], "novelty"),
        "the distance of its topic": mean_of(theirs, "topic"),
        "the distance of the text": mean_of(theirs, "text"),
    }
    best = {name: max(values[name] for values in aucs.values()) for name in theirs}
    novelty, shares, rival = mean_of(ours, "novelty"), shares_of(ours), shares_of(merged[0])
    versus = [", ".join(f"{name} {pattern.format(a[name])} against {pattern.format(b[name])}" for name in theirs)
              for a, b, pattern in ((novelty, best, "{:.3f}"), (shares, rival, "{:.0%}"))]  # fmt: skip
    what = "against BERTopic `merge_models`, sets on which ours is better"
    bar = f"≥ {len(SETS)}"
    rows = [
        (f"{what}: AUROC", bar, str(sum(novelty[name] > best[name] for name in theirs)),
         f"{versus[0]}; theirs is the best of three scores, chosen with the classes in view"),
        (f"{what}: new classes with a group of their own", bar, str(sum(shares[n] > rival[n] for n in theirs)),
         versus[1]),
        *((f"BERTopic: AUROC by {score}", "–", f"{np.mean(list(values.values())):.3f}", by_set(values, "{:.3f}"))
          for score, values in aucs.items()),
        *((f"BERTopic, `min_similarity={least}`: new classes with a topic of their own", "–",
           f"{np.mean(list(shares_of(some).values())):.0%}",
           f"{counts_of(some)}; {sum(total_of(some, 'true').values())} of {sum(total_of(some, 'new').values())} "
           "new topics are mostly of new classes") for least, some in zip(MERGING, merged, strict=True)),
    ]  # fmt: skip
    return [*rows, *(("BERTopic failed", "–", "", text) for text in failed)]


def bench_time() -> list[Row]:
    (cell,) = cells("time")[TITLES.stem]
    what = f"`update` of a model of {OLD_TEXTS:,} texts with {NEW_TEXTS:,} against clustering all anew"
    rows = []
    for clock, how, bar in (("wall", "time", "≤ 0.3×"), ("cpu", "CPU time", "–")):
        update, anew = (cell[f"{job} {clock}"] for job in ("update", "anew"))
        ratio = float(np.median(np.divide(update, anew)))
        details = f"{np.median(update):.1f} s against {np.median(anew):.1f} s, median of {ROUNDS} rounds in turns"
        rows.append((f"{what}: {how}", bar, f"{ratio:.2f}×", f"{details}, wordllama vectors"))
    return rows


PARTS = {
    "held out": bench_held_out,
    "by date": bench_by_date,
    "same": bench_same,
    "growing": bench_growing,
    "bertopic": bench_bertopic,
    "time": bench_time,
}

if __name__ == "__main__":
    main(__file__, "months.md", "Next month's texts", PARTS)
    if len(sys.argv) == 1:
        with (ROOT / "benchmarks" / "months.md").open("a") as file:
            file.write((ROOT / "benchmarks" / "months.in.md").read_text())
