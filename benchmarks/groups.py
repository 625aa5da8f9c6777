"""How well groups agree with human labels at the true k: ours, plain algorithms and rivals, on every labeled set.

``make bench-groups`` runs it and rewrites ``groups.md``. Each measurement is a line in ``.cache/groups.jsonl``, so a
run that was stopped goes on where it was. Both models see the same 3,000 rows of a set. Truth gives k and the score.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import DATA, ROOT
from k_rivals import knn, unit
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
from threadpoolctl import threadpool_limits

import textspectra as ts
from textspectra.embedding.embed import embed_texts

CELLS = ROOT / ".cache" / "groups.jsonl"
MODELS = ("minilm", "wordllama")


def load(model: str, name: str) -> tuple[Any, Any]:
    """Return up to 3,000 vectors and their classes."""
    import pyarrow.parquet as pq

    stored, table = np.load(DATA / "minilm" / f"{name}.npz"), pq.read_table(DATA / f"{name}.parquet")
    truth = np.unique(table["label"].take(stored["row"]).to_numpy(), return_inverse=True)[1]
    if model == "minilm":
        return stored["embedding"].astype(np.float32), truth
    return np.asarray(embed_texts(table["text"].take(stored["row"]).to_pylist(), model="wordllama"), np.float32), truth


def sklearn_kmeans(X: Any, k: int) -> Any:
    from sklearn.cluster import KMeans

    return KMeans(k, n_init=10, random_state=0).fit_predict(unit(X))


def spectral(X: Any, k: int) -> Any:
    from sklearn.cluster import SpectralClustering

    return SpectralClustering(k, affinity="precomputed", random_state=0).fit_predict(knn(X))


def leiden(X: Any, k: int) -> Any:
    """Leiden on the graph of 10 neighbors, at the resolution that gives k communities, or as near as it gets."""
    import igraph
    import leidenalg

    graph = igraph.Graph(len(X), np.argwhere(np.triu(knn(X))).tolist())
    low, high, best = 0.01, 100.0, None
    for _ in range(15):
        middle = float(np.sqrt(low * high))
        labels = np.array(
            leidenalg.find_partition(
                graph, leidenalg.RBConfigurationVertexPartition, resolution_parameter=middle, seed=0
            ).membership
        )
        found = len(set(labels.tolist()))
        if best is None or abs(found - k) < abs(len(set(best.tolist())) - k):
            best = labels
        if found == k:
            break
        low, high = (middle, high) if found < k else (low, middle)
    return best


METHODS: dict[str, Callable[[Any, int], Any]] = {
    "AutoKMeans": lambda X, k: ts.AutoKMeans(k, n_jobs=1).fit_predict(X),
    "AutoKMeans, refine=False": lambda X, k: ts.AutoKMeans(k, refine=False, n_jobs=1).fit_predict(X),
    "AutoAgglomerative": lambda X, k: ts.AutoAgglomerative(k, n_jobs=1).fit_predict(X),
    "scikit-learn KMeans(n_init=10)": sklearn_kmeans,
    "Leiden, 10 neighbors, tuned to k": leiden,
    "spectral clustering, 10 neighbors": spectral,
}


def measure(model: str, name: str, method: str) -> dict[str, Any]:
    """Return the agreement of one method with the truth, and its time on one core."""
    X, y = load(model, name)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        start = time.process_time()
        labels = METHODS[method](X, len(np.unique(y)))
        elapsed = time.process_time() - start
    scores = {"ari": adjusted_rand_score(y, labels), "ami": adjusted_mutual_info_score(y, labels)}
    return {"cell": [model, name, method], "seconds": elapsed, **scores}


def run() -> dict[tuple[str, str, str], dict[str, Any]]:
    """Measure what is missing, and return all cells."""
    CELLS.parent.mkdir(exist_ok=True)
    lines = CELLS.read_text().splitlines() if CELLS.exists() else []
    cells = {tuple(cell["cell"]): cell for cell in map(json.loads, lines)}
    names = sorted(path.stem for path in (DATA / "minilm").glob("*.npz"))
    with CELLS.open("a") as file:
        for key in ((model, name, method) for method in METHODS for model in MODELS for name in names):
            if key not in cells:
                cells[key] = measure(*key)
                print(json.dumps(cells[key]), file=file, flush=True)
                print(*key, f"{cells[key]['ari']:.3f}", flush=True)
    return cells


def table(cells: dict[tuple[str, str, str], dict[str, Any]]) -> str:
    """Return the means over the sets as a table, the bars, and the ARI on each set."""

    def mean(method: str, model: str, score: str) -> float:
        return float(np.mean([cell[score] for key, cell in cells.items() if (key[0], key[2]) == (model, method)]))

    lines = ["| method | " + " | ".join(f"{model}: ARI | AMI | seconds" for model in MODELS) + " |", "|---" * 7 + "|"]
    for method in METHODS:
        columns = [f"{mean(method, m, 'ari'):.3f} | {mean(method, m, 'ami'):.3f} | {mean(method, m, 'seconds'):.1f}"
                   for m in MODELS]  # fmt: skip
        lines.append(f"| {method} | {' | '.join(columns)} |")
    rival = "Leiden, 10 neighbors, tuned to k"
    shown = ["AutoKMeans", "AutoKMeans, refine=False", "AutoAgglomerative", rival]
    lines += ["", f"| ARI of each set, {' and '.join(MODELS)} | {' | '.join(shown)} |", "|---" * (len(shown) + 1) + "|"]
    for name in sorted({key[1] for key in cells}):
        values = [" / ".join(f"{cells[m, name, method]['ari']:.3f}" for m in MODELS) for method in shown]
        lines.append(f"| {name} | {' | '.join(values)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    if not DATA.is_dir():
        sys.exit("This benchmark needs the labeled sets; point TEXTSPECTRA_DATA to their folder.")
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}"
    text = (ROOT / "benchmarks" / "groups.in.md").read_text()
    text = text.replace("MACHINE", machine).replace("TABLES", table(run()))
    (ROOT / "benchmarks" / "groups.md").write_text(text)
