"""How well k is found on 40 labeled sets with two models: ours, rivals and constants.

``make bench-k`` runs it and writes ``k_recovery.md``. Every measurement is a line in ``.cache``, so a run that was
stopped goes on where it was. Rivals have a file of their own, ``k_rivals.jsonl``, because they do not change with our
code; after a change to the estimate or to the groups, delete ``k_ours.jsonl``.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from harness import DATA, ROOT
from joblib import Parallel, delayed
from k_rivals import RIVALS, modularity_maximum
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
from threadpoolctl import threadpool_limits

import textspectra as ts
from textspectra.core import discriminants as refine_module
from textspectra.core.agreement import reproducible_k
from textspectra.core.rows import CountedRows
from textspectra.embedding.embed import embed_texts

CACHE = ROOT / ".cache"
MODELS = ("minilm", "wordllama")
FAMILIES = {
    "stackexchange121_s": "stackexchange", "stackexchange50val": "stackexchange", "dbpedia14_titleonly": "dbpedia14",
    "massive_scenario": "massive_intent", "trec6": "trec50", "battig83": "bless", "esslli2008": "bless",
    "covidq_fine": "covidq",
}  # fmt: skip
ROWS, NOISY_ROWS = 3000, 1000
SUBSETS, SUBSET_SHARE = 10, 0.8
"""The stability of k: number of random subsets of each set, and their share of its rows."""

REFINED_SIZES, SMALL_SIZES, DRAWS = (50, 75, 100, 150, 200, 300, 500), (30, 50), 3
"""Sizes of random subsets for refined groups, and for the rule for few rows; each is drawn this many times."""

NOISE = {"plain": "", "prefix": "A bill to ", "name": "AcmePay app: ", "word": ""}
"""What is added to half of the texts; "word" adds a frequent word of the set at a random place."""

NOISY = {
    "minilm": ("agnews_title", "banking77", "covidq", "massive_intent", "nyt_frontpage"),
    "wordllama": ("agnews_title", "banking77", "covidq", "massive_intent", "nyt_frontpage", "airline_complaints",
                  "arxiv_titles", "book_titles", "huffpost41", "netflix_genre"),
}  # fmt: skip


class Task(NamedTuple):
    """One measurement: what is measured, on which vectors, and a number or name if there are several."""

    what: str
    model: str
    name: str
    part: Any = 0

    @property
    def family(self) -> str:
        return FAMILIES.get(self.name, self.name)


Cells = dict[Task, dict[str, Any]]


def set_names() -> list[str]:
    texts = {path.stem for path in DATA.glob("*.parquet")} - {"reddit50", "stackexchange121"}
    return sorted(texts | {path.stem for path in (DATA / "vectors").glob("*.npz")})


def load(model: str, name: str) -> tuple[Any, Any]:
    """Return vectors and classes, in an order that does not follow the classes; of texts, the same for both models."""
    target = CACHE / "k_pool" / f"{model}_{name}.npz"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng(1)
        if (DATA / f"{name}.parquet").exists():
            rows, stored = rows_of_set(name)
            texts, labels = texts_of(name)
            chosen = [texts[row] for row in rows]
            X = stored if model == "minilm" and stored is not None else np.asarray(embed_texts(chosen, model))
            y = labels[rows]
        else:
            vectors = np.load(DATA / "vectors" / f"{name}.npz")
            key = "wl" if model == "wordllama" else model
            order = rng.permutation(len(vectors[key]))
            X, y = vectors[key][order], vectors[f"y_{key}"][order]
        usable = np.abs(X).sum(axis=1) > 0
        np.savez(target, X=X[usable].astype(np.float32), y=np.unique(y[usable], return_inverse=True)[1])
    pool = np.load(target)
    return pool["X"], pool["y"]


def rows_of_set(name: str) -> tuple[Any, Any]:
    """Return the rows of a set that are used, in random order, and their MiniLM vectors if there are some."""
    rng = np.random.default_rng(1)
    stored = DATA / "minilm" / f"{name}.npz"
    if not stored.exists():
        return rng.permutation(len(texts_of(name)[0]))[:ROWS], None
    vectors = np.load(stored)
    order = rng.permutation(len(vectors["row"]))
    return vectors["row"][order], vectors["embedding"][order].astype(np.float32)


def texts_of(name: str) -> tuple[list[str], Any]:
    import pyarrow.parquet as pq

    table = pq.read_table(DATA / f"{name}.parquet")
    return table["text"].to_pylist(), np.array(table["label"].to_pylist(), str)


def measure(task: Task) -> dict[str, Any]:
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        return MEASURES[task.what](task) if task.what in MEASURES else rival(task)


def rival(task: Task) -> dict[str, Any]:
    """Return a rival's k and, if it groups, how well its own groups agree with the classes; noise is one more."""
    X, y = load(task.model, task.name)
    answer = RIVALS[task.what](X)
    if np.ndim(answer) == 0:
        return {"k": int(answer)}
    return {"k": max(1, len(np.unique(answer[answer >= 0]))), **agreement_with(y, answer)}


def agreement_with(y: Any, labels: Any) -> dict[str, float]:
    scores = {"ari": adjusted_rand_score, "ami": adjusted_mutual_info_score}
    return {name: round(float(score(y, labels)), 4) for name, score in scores.items()}


def curve(task: Task) -> dict[str, Any]:
    """Return the estimate for all rows (part 0) or for a random subset of them, and the curve it is read off."""
    X, y = load(task.model, task.name)
    if task.part:
        X = X[np.random.default_rng([11, task.part]).permutation(len(X))[: int(SUBSET_SHARE * len(X))]]
    return {"truth": len(np.unique(y)), "n": len(X), **estimate(X, task.part)}


def estimate(X: Any, seed: int = 0) -> dict[str, Any]:
    answer = ts.estimate_k(X, random_state=seed, n_jobs=1)
    cell = {"k": answer.k, "confidence": answer.confidence, "interval": answer.interval,
            "levels": [level.k for level in answer.suggestions]}  # fmt: skip
    if answer.agreement is not None:
        cell |= {"ks": answer.agreement.k.tolist(), "halves": answer.agreement.halves.round(5).tolist()}
    return cell


def clusters(task: Task) -> dict[str, float]:
    X, y = load(task.model, task.name)
    return agreement_with(y, ts.AutoKMeans(task.part, random_state=0, n_jobs=1).fit(X).labels_)


def refined(task: Task) -> dict[str, Any]:
    """Return how well refined and plain groups of small random subsets agree with the classes, at their number."""
    X, y = load(task.model, task.name)
    refine_module.FEWEST_REFINED = 0  # what it should be is the question
    scores: dict[bool, list[list[float]]] = {True: [], False: []}
    for draw in range(DRAWS):
        chosen = np.random.default_rng([13, draw]).permutation(len(X))[: task.part]
        k = min(len(np.unique(y[chosen])), task.part // 4)
        for refine, values in scores.items():
            labels = ts.AutoKMeans(k, refine=refine, random_state=0, n_jobs=1).fit(X[chosen]).labels_
            values.append(list(agreement_with(y[chosen], labels).values()))
    return {"gain": (np.mean(scores[True], axis=0) - np.mean(scores[False], axis=0)).round(4).tolist()}


def small(task: Task) -> dict[str, Any]:
    """Return what several rules say about few rows of 3 to 8 random classes."""
    X, y = load(task.model, task.name)
    answers: dict[str, list[int]] = {"truth": [], "ours": [], "spectral": [], "halves": [], "modularity": []}
    for draw in range(DRAWS):
        rng = np.random.default_rng([17, draw])
        n_classes = int(rng.integers(3, 9))
        classes = rng.permutation(np.unique(y))[:n_classes]
        rows = [rng.permutation(np.flatnonzero(y == label))[: -(-task.part // len(classes))] for label in classes]
        chosen = rng.permutation(np.concatenate(rows))[: task.part]
        halves = reproducible_k(CountedRows(X[chosen]), np.random.default_rng(0))
        answers["truth"].append(len(np.unique(y[chosen])))
        answers["ours"].append(ts.estimate_k(X[chosen], random_state=0, n_jobs=1).k)
        answers["spectral"].append(ts.estimate_k(X[chosen], method="spectral", random_state=0, n_jobs=1).k)
        answers["halves"].append(halves[0].k)
        answers["modularity"].append(modularity_maximum(X[chosen], task.part // 8))
    return answers


def noise(task: Task) -> dict[str, Any]:
    """Return the estimate for texts of which a random half shares something other than a theme."""
    stored = texts_of(task.name)[0]
    texts = [stored[row] for row in rows_of_set(task.name)[0][:NOISY_ROWS]]
    rng = np.random.default_rng(19)
    words = Counter(word for text in texts for word in set(re.findall(r"[a-z]{4,}", text.lower())))
    frequent = words.most_common(1)[0][0]
    for i in rng.permutation(len(texts))[: len(texts) // 2]:
        texts[i] = NOISE[task.part] + texts[i]
        if task.part == "word":
            parts = texts[i].split()
            parts.insert(int(rng.integers(len(parts) + 1)), frequent)
            texts[i] = " ".join(parts)
    X = np.asarray(embed_texts(texts, task.model), np.float32)
    return estimate(X[np.abs(X).sum(axis=1) > 0])


MEASURES: dict[str, Callable[[Task], dict[str, Any]]] = {
    "curve": curve, "groups": clusters, "refined": refined, "small": small, "noise": noise,
}  # fmt: skip


def tasks() -> Iterable[Task]:
    pool = [(model, name) for model in MODELS for name in set_names()]
    rows = {pair: len(load(*pair)[1]) for pair in pool}
    yield from (Task("small", *pair, n) for pair in pool for n in SMALL_SIZES if rows[pair] > 4 * n)
    yield from (Task("refined", *pair, n) for pair in pool for n in REFINED_SIZES if rows[pair] > n)
    yield from (Task("curve", *pair, subset) for subset in range(SUBSETS + 1) for pair in pool)
    yield from (Task("noise", model, name, kind) for model in MODELS for name in NOISY[model] for kind in NOISE)
    yield from (Task(method, *pair) for method in RIVALS for pair in pool)


def read_cells() -> Cells:
    lines = (line for path in sorted(CACHE.glob("k_*.jsonl")) for line in path.read_text().splitlines())
    return {Task(*task): cell for task, cell in map(json.loads, lines)}


def run(wanted: Iterable[Task]) -> Cells:
    """Measure what is missing, and return all cells."""
    cells = read_cells()
    missing = [task for task in dict.fromkeys(wanted) if task not in cells]
    started: Callable[..., Any] = delayed(lambda task: (task, measure(task)))
    results = Parallel(n_jobs=-1, return_as="generator_unordered")(started(task) for task in missing)
    for done, (task, cell) in enumerate(results, 1):
        with (CACHE / ("k_rivals.jsonl" if task.what in RIVALS else "k_ours.jsonl")).open("a") as file:
            file.write(json.dumps([task, cell]) + "\n")
        print(f"{done} of {len(missing)}: {' '.join(map(str, task))}", flush=True)
        cells[task] = cell
    return cells


if __name__ == "__main__":
    if not DATA.is_dir():
        sys.exit("This benchmark needs the labeled sets; point TEXTSPECTRA_DATA to their folder.")
    from k_page import ks_of_all, write

    measured = run(tasks())
    write(run(Task("groups", *pair, k) for pair, ks in ks_of_all(measured).items() for k in ks if k > 1))
