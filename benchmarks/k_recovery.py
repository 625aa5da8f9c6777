"""How well k is found: our methods and rivals on every labelled set, both models, subsets of classes and of rows.

``make bench-k`` runs it and rewrites ``k_recovery.md``. Each measurement is a line in ``.cache/k_recovery.jsonl``, so
a run that was stopped goes on where it was. Truth is used to score alone; what has a constant is chosen with the
family of sets left out that it is scored on.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from harness import DATA, ROOT
from joblib import Parallel, delayed
from k_rivals import RIVALS
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from threadpoolctl import threadpool_limits

import textspectra as ts
from textspectra.arrays.rows import CountedRows
from textspectra.embedding import embed_texts
from textspectra.granularity.reproducible import reproducible_k

CELLS = ROOT / ".cache" / "k_recovery.jsonl"
VECTORS = ROOT / ".cache" / "k_recovery"
MODELS = ("wordllama", "minilm")
SUBSETS = (2, 3, 5, 8, 13, 21, 34, 55, 100)
SIZES = (300, 1000)
FAMILIES = {
    "reddit50_s": "reddit50", "stackexchange121_s": "stackexchange121", "dbpedia14_titleonly": "dbpedia14",
    "massive_scenario": "massive_intent",
}  # fmt: skip
STABILITY_SUBSETS, STABILITY_SHARE = 10, 0.8
"""The stability of k: number of random subsets of each set, and their share of its rows."""

SMALL = 3000
"""Rows that rivals with quadratic cost get; MiniLM vectors are of so many rows anyway."""


class Case(NamedTuple):
    """One data set to count: whole ("natural"), some of its classes ("classes"), or some of its rows ("rows")."""

    model: str
    name: str
    kind: str = "natural"
    size: int = 0

    @property
    def family(self) -> str:
        return FAMILIES.get(self.name, self.name)


def load(model: str, name: str) -> tuple[Any, Any]:
    """Return vectors and classes, in an order that does not follow the classes."""
    import pyarrow.parquet as pq

    target = VECTORS / f"{model}_{name}.npz"
    if not target.exists():
        table = pq.read_table(DATA / f"{name}.parquet")
        labels = np.unique(table["label"].to_numpy(), return_inverse=True)[1]
        rng = np.random.default_rng(1)
        order = rng.permutation(len(labels))
        if model == "wordllama":
            X = np.asarray(embed_texts(table["text"].take(order).to_pylist(), "wordllama"), np.float32)
        else:
            stored = np.load(DATA / "minilm" / f"{name}.npz")
            shuffled = rng.permutation(len(stored["row"]))
            X, order = stored["embedding"].astype(np.float32)[shuffled], stored["row"][shuffled]
        usable = np.abs(X).sum(axis=1) > 0
        VECTORS.mkdir(parents=True, exist_ok=True)
        np.savez(target, X=X[usable], y=labels[order][usable])
    stored = np.load(target)
    return stored["X"], stored["y"]


def data_of(case: Case) -> tuple[Any, Any]:
    X, y = load(case.model, case.name)
    rng = np.random.default_rng([7, case.size if case.kind == "classes" else 0, sum(map(ord, case.name))])
    if case.kind == "classes":
        keep = np.isin(y, rng.permutation(np.unique(y))[: case.size])
    elif case.kind == "rows":
        keep = rng.permutation(len(X))[: case.size]
    else:
        return X, y
    return X[keep], y[keep]


def cases() -> Iterator[Case]:
    for model in MODELS:
        folder, ending = (DATA, "parquet") if model == "wordllama" else (DATA / "minilm", "npz")
        for name in sorted(path.stem for path in folder.glob(f"*.{ending}")):
            yield Case(model, name)
            y = load(model, name)[1]
            classes = len(np.unique(y))
            if name in ("massive_scenario", "reddit50", "stackexchange121"):
                continue  # other labels of the same texts, or more of them
            yield from (Case(model, name, "rows", n) for n in SIZES if n < len(y))
            yield from (
                Case(model, name, "classes", k) for k in SUBSETS if k <= 0.7 * classes or (k == 100 and classes > 100)
            )


def measure(case: Case, method: str) -> dict[str, Any]:
    """Return what one method says about one case, in seconds and on one core."""
    X, y = data_of(case)
    cell: dict[str, Any] = {"case": list(case), "method": method, "n": len(X), "truth": len(np.unique(y))}
    start = time.perf_counter()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        if method == "reproducible":
            cell |= _reproducible(X)
        elif method == "paper":
            cell["k"] = ts.estimate_k(X, method="spectral", random_state=0, n_jobs=1).k
        elif method == "groups":
            cell["scores"] = _scores(X[:SMALL], y[:SMALL])
        elif method == "stability":
            cell["subsets"] = [_reproducible(subset, seed) for seed, subset in _subsets(X)]
        else:
            cell["k"] = RIVALS[method](X[:SMALL])
    return cell | {"seconds": time.perf_counter() - start}


def _subsets(X: Any) -> Iterator[tuple[int, Any]]:
    for seed in range(1, STABILITY_SUBSETS + 1):
        chosen = np.random.default_rng([11, seed]).permutation(len(X))[: int(STABILITY_SHARE * len(X))]
        yield seed, X[chosen]


def _reproducible(X: Any, seed: int = 0) -> dict[str, Any]:
    if len(X) < 64:
        return {"k": ts.estimate_k(X, random_state=seed, n_jobs=1).k}
    found = reproducible_k(CountedRows(X), np.random.default_rng(seed), n_jobs=1)
    if found is None:
        return {"k": 1}
    agreement = found.agreement
    curve = {"ks": agreement.k.tolist(), "score": agreement.score.round(5).tolist()}
    return {"k": found.k, "nearness": round(agreement.nearness, 4), **curve}


def _scores(X: Any, y: Any) -> dict[str, list[float]]:
    """Return ARI and NMI of K-Means over a grid of k, from which those at any estimate are read."""
    grid = sorted({*np.unique(np.geomspace(2, 400, 28).round().astype(int)).tolist(), len(np.unique(y))})
    scores = {}
    for k in grid:
        if k < len(X) / 2:
            labels = ts.AutoKMeans(k, random_state=0, n_jobs=1).fit(X).labels_
            scores[str(k)] = [
                round(float(score(y, labels)), 4) for score in (adjusted_rand_score, normalized_mutual_info_score)
            ]
    return scores


def todo() -> Iterator[tuple[Case, str]]:
    everything = list(cases())
    natural = [case for case in everything if case.kind == "natural"]
    yield from ((case, "reproducible") for case in everything if case.name != "massive_scenario")
    yield from ((case, "paper") for case in everything if case.name != "massive_scenario" and case.kind != "classes")
    small = [case for case in natural if case.name not in ("reddit50", "stackexchange121")]
    yield from ((case, "groups") for case in small)
    once = [case for case in small if case.name != "massive_scenario"]
    yield from ((case, method) for method in RIVALS for case in once)
    yield from ((case, "stability") for case in once)


def read_cells() -> dict[tuple[Case, str], dict[str, Any]]:
    lines = CELLS.read_text().splitlines() if CELLS.exists() else []
    cells = (json.loads(line) for line in lines)
    return {(Case(*cell["case"]), cell["method"]): cell for cell in cells}


def run() -> None:
    CELLS.parent.mkdir(exist_ok=True)
    have = read_cells()
    missing = [task for task in todo() if task not in have]
    started: Callable[..., Any] = delayed(measure)
    with CELLS.open("a") as file:
        results = Parallel(n_jobs=-1, return_as="generator_unordered")(started(*task) for task in missing)
        for done, cell in enumerate(results, 1):
            file.write(json.dumps(cell) + "\n")
            file.flush()
            print(f"{done} of {len(missing)}: {cell['method']} {cell['case']} {cell.get('k', '')}", flush=True)


if __name__ == "__main__":
    if not DATA.is_dir():
        sys.exit("This benchmark needs the labelled sets; point TEXTSPECTRA_DATA to their folder.")
    run()
    from k_tables import write

    write(read_cells())
