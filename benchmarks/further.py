"""What the paper leaves to further research, measured on 40 labeled sets; it rewrites ``further.md``.

``make bench-groups`` runs it. Each measurement is a line in ``.cache/further.jsonl``, so a run that was stopped goes on
where it was. The first 2,000 rows of a set are used, and the first 1,000 for annealing. The truth gives k where groups
are compared, and the score; it chooses nothing.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import DATA, ROOT
from k_recovery import FAMILIES, agreement_with, load, set_names
from k_rivals import knn, unit
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform
from scipy.stats import spearmanr
from threadpoolctl import threadpool_limits

import textspectra as ts

CELLS = ROOT / ".cache" / "further.jsonl"
MODELS = ("minilm", "wordllama")
ROWS, ANNEALED_ROWS = 2000, 1000

STEPS, BATCH, HOTTEST, COLDEST = 1000, 0.01, 1e-3, 1e-6
"""Annealing: steps, the share of the rows that one step moves, and the first and last temperature."""

WEIGHTS = (0.0, 1.0, 4.0)
"""Weights of the silhouette beside the logarithm of the Cohesion Ratio."""

CORE_NEIGHBORS = 5
"""The density at a row is given by its distance to this neighbor."""

WINDOWS, CAPS, SAMPLES, SHARE = (3, 4, 5, 6, 7), (200, 500, 1000), 10, 0.8
"""The paper's windows and caps; samples of each cap, of at most this share of the rows."""

GRAPH_SAMPLES = 2


def cosines(X: Any) -> Any:
    """Return the rectified cosines between different rows."""
    matrix = np.maximum(unit(X) @ unit(X).T, 0)
    np.fill_diagonal(matrix, 0)
    return matrix


def connectivity(X: Any) -> Any:
    """Return 1 - the density-connectivity distance of Beer et al., scaled to 1.

    It is the smallest possible longest step of a path between two rows, if a step is at least as long as the distance
    of either end to its fifth neighbor.
    """
    distances = np.sqrt(np.maximum(2 - 2 * unit(X) @ unit(X).T, 0))
    np.fill_diagonal(distances, 0)
    core = np.partition(distances, CORE_NEIGHBORS, axis=1)[:, CORE_NEIGHBORS]
    reach = np.maximum(distances, np.maximum(core[:, None], core))
    np.fill_diagonal(reach, 0)
    longest = squareform(cophenet(linkage(squareform(reach, checks=False), "single")))
    similarity = 1 - longest / longest.max()
    np.fill_diagonal(similarity, 0)
    return similarity.astype(np.float32)


class Grouping:
    """Groups of rows whose objective is kept up to date as rows move: ln(mean similarity inside) + w · silhouette."""

    def __init__(self, S: Any, labels: Any, weight: float) -> None:
        self.S, self.labels, self.weight = S, labels.copy(), weight
        self.sizes = np.bincount(labels)
        self.sums = S @ np.eye(len(self.sizes), dtype=np.float32)[labels]

    def move(self, rows: Any, targets: Any) -> None:
        change = np.zeros((len(rows), len(self.sizes)), np.float32)
        np.add.at(change, (np.arange(len(rows)), targets), 1)
        np.add.at(change, (np.arange(len(rows)), self.labels[rows]), -1)
        self.sums += self.S[:, rows] @ change
        self.sizes += change.sum(axis=0).astype(int)
        self.labels[rows] = targets

    def nearness(self) -> tuple[Any, Any, Any]:
        """Return the mean similarity of each row to its group and to the nearest other group, and that group."""
        rows = np.arange(len(self.labels))
        own = self.sums[rows, self.labels] / np.maximum(self.sizes[self.labels] - 1, 1)
        means = self.sums / np.maximum(self.sizes, 1)
        means[rows, self.labels] = -1
        other = means.argmax(axis=1)
        return own, means[rows, other], other

    def objective(self, own: Any, other: Any) -> float:
        inside = own @ (self.sizes[self.labels] - 1) / (self.sizes * (self.sizes - 1)).sum()
        silhouette = np.mean((own - other) / np.maximum(1 - np.minimum(own, other), 1e-9))
        return float(np.log(inside) + self.weight * silhouette)


def annealed(S: Any, labels: Any, weight: float) -> Any:
    """Return the best groups that simulated annealing finds from a start, with the same number of groups."""
    rng = np.random.default_rng(0)
    groups = Grouping(S, labels, weight)
    k, batch = len(groups.sizes), max(1, round(BATCH * len(labels)))
    near = groups.nearness()
    value = best = groups.objective(*near[:2])
    kept = groups.labels.copy()
    for temperature in np.geomspace(HOTTEST, COLDEST, STEPS):
        wish = near[1] - near[0] + 0.02 * rng.gumbel(size=len(labels))  # rows that are nearer to another group first
        rows = np.argpartition(-wish, batch - 1)[:batch]
        before = groups.labels[rows]
        groups.move(rows, np.where(rng.random(batch) < 0.8, near[2][rows], rng.integers(0, k, batch)))
        after = groups.nearness()
        new = groups.objective(*after[:2]) if groups.sizes.min() >= 2 else -np.inf
        if new >= value or rng.random() < np.exp((new - value) / temperature):
            value, near = new, after
            if value > best:
                best, kept = value, groups.labels.copy()
        else:
            groups.move(rows, before)
    return kept


def objective(X: Any, y: Any) -> dict[str, Any]:
    """Compare K-Means' groups with those that annealing makes of them, by cosines and by density connectivity."""
    X, y = X[:ANNEALED_ROWS], y[:ANNEALED_ROWS]
    k = len(np.unique(y))
    start = np.unique(ts.AutoKMeans(k, refine=False, n_jobs=1).fit_predict(X), return_inverse=True)[1]
    S, D = cosines(X), connectivity(X)
    found = {"K-Means": start, "refined": ts.AutoKMeans(k, n_jobs=1).fit_predict(X)}
    found |= {f"cosines, w = {weight:g}": annealed(S, start, weight) for weight in WEIGHTS}
    found["connectivity, w = 1"] = annealed(D, start, 1)
    found["both, w = 1"] = annealed((S + D) / 2, start, 1)
    return {
        name: {**agreement_with(y, labels), "ratio": round(ts.cohesion_ratio(X, labels), 4)}
        for name, labels in found.items()
    }


def stability(X: Any, y: Any) -> dict[str, Any]:
    """Return k of each sample for every window and cap of the paper's rule."""
    rng = np.random.default_rng(0)
    found: dict[str, list[int]] = {f"{w} {cap}": [] for cap in CAPS for w in WINDOWS}
    for cap in CAPS:
        for _ in range(SAMPLES):
            rows = rng.permutation(len(X))[: min(cap, int(SHARE * len(X)))]
            eigenvalues = ts.laplacian_eigenvalues(X[rows])
            for w in WINDOWS:
                found[f"{w} {cap}"].append(ts.k_from_spectrum(eigenvalues, window=w))
    return {"truth": len(np.unique(y)), "k": found}


GRAPHS: dict[str, Callable[[Any], Any]] = {
    "cosines, negative ones 0 (the paper)": cosines,
    "(1 + cosine) / 2": lambda X: (1 + unit(X) @ unit(X).T) / 2,
    "cosines of mean-centered rows, negative ones 0": lambda X: cosines(unit(X) - unit(X).mean(axis=0)),
    "squared cosines": lambda X: cosines(X) ** 2,
    "10 nearest neighbors, in either direction": knn,
    "10 nearest neighbors, weighted by cosines": lambda X: knn(X) * cosines(X),
}


def graphs(X: Any, y: Any) -> dict[str, Any]:
    """Return the k of the paper's rule on the Laplacian of each graph, the mean over samples of 1,000 rows."""
    rng = np.random.default_rng(0)
    found: dict[str, list[int]] = {name: [] for name in GRAPHS}
    for _ in range(GRAPH_SAMPLES):
        rows = rng.permutation(len(X))[: min(1000, len(X))]
        for name, graph in GRAPHS.items():
            affinity = graph(X[rows]).astype(np.float32)
            np.fill_diagonal(affinity, 1)  # in the paper, a row is similar to itself
            scale = 1 / np.sqrt(np.maximum(affinity.sum(axis=1), 1e-12))
            eigenvalues = np.linalg.eigvalsh(np.eye(len(rows), dtype=np.float32) - affinity * scale[:, None] * scale)
            found[name].append(ts.k_from_spectrum(np.maximum(eigenvalues, 0)))
    return {"truth": len(np.unique(y)), "k": {name: float(np.mean(ks)) for name, ks in found.items()}}


MEASURES: dict[str, Callable[[Any, Any], dict[str, Any]]] = {
    "stability": stability, "graphs": graphs, "objective": objective,
}  # fmt: skip

Cells = dict[tuple[str, str, str], dict[str, Any]]


def run() -> Cells:
    """Measure what is missing, and return all cells."""
    CELLS.parent.mkdir(exist_ok=True)
    lines = CELLS.read_text().splitlines() if CELLS.exists() else []
    cells: Cells = {tuple(key): cell for key, cell in map(json.loads, lines)}
    with CELLS.open("a") as file, warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for key in ((what, model, name) for model in reversed(MODELS) for what in MEASURES for name in set_names()):
            if key not in cells:
                X, y = (part[:ROWS] for part in load(*key[1:]))
                cells[key] = MEASURES[key[0]](X, np.unique(y, return_inverse=True)[1])
                print(json.dumps([key, cells[key]]), file=file, flush=True)
                print(*key, flush=True)
    return cells


def family_mean(values: dict[str, float]) -> float:
    """Return the mean over families of sets, each of which counts once."""
    families: dict[str, list[float]] = {}
    for name, value in values.items():
        families.setdefault(FAMILIES.get(name, name), []).append(value)
    return float(np.mean([np.mean(members) for members in families.values()]))


def log_errors(ks: dict[str, tuple[float, int]]) -> str:
    """Return the mean log error of k, and its rank correlation with the truth if k is not constant."""
    error = family_mean({name: abs(np.log(k / truth)) for name, (k, truth) in ks.items()})
    found, truths = zip(*ks.values(), strict=True)
    rank = "" if len(set(found)) == 1 else f" ({spearmanr(found, truths).statistic:.2f})"
    return f"{error:.2f}{rank}"


def objective_rows(cells: dict[str, Any]) -> dict[str, str]:
    rows = {}
    for form in next(iter(cells.values())):
        means = [
            family_mean({name: cell[form][score] for name, cell in cells.items()}) for score in ("ari", "ami", "ratio")
        ]
        won = sum(cell[form]["ari"] > cell["K-Means"]["ari"] for cell in cells.values())
        rows[form] = f"{means[0]:.3f} / {means[1]:.3f} | {means[2]:.2f} | {won} of {len(cells)}"
    return rows


def stability_rows(cells: dict[str, Any]) -> dict[str, str]:
    def spread(ks: list[int]) -> float:
        return float(np.std(np.log(ks)))

    def k_at(setting: Callable[[dict[str, list[int]]], str]) -> dict[str, tuple[float, int]]:
        return {name: (float(np.mean(cell["k"][setting(cell["k"])])), cell["truth"]) for name, cell in cells.items()}

    capped = [f"{w} {CAPS[-1]}" for w in WINDOWS]
    return {
        f"w = 3, τ = {CAPS[-1]:,}, as in the paper": log_errors(k_at(lambda found: capped[0])),
        "w with the most stable k": log_errors(k_at(lambda found: min(capped, key=lambda at: spread(found[at])))),
        "w and τ with the most stable k": log_errors(k_at(lambda found: min(found, key=lambda at: spread(found[at])))),
        "the best w and τ for each set (oracle)": log_errors({
            name: (min((float(np.mean(ks)) for ks in cell["k"].values()), key=lambda k: abs(np.log(k / cell["truth"]))),
                   cell["truth"])
            for name, cell in cells.items()
        }),
        "always 25": log_errors({name: (25, cell["truth"]) for name, cell in cells.items()}),
    }  # fmt: skip


def interval_rows(cells: dict[str, Any]) -> dict[str, str]:
    ranges = {name: (min(ks), max(ks)) for name, cell in cells.items() for ks in [cell["k"][f"3 {CAPS[-1]}"]]}
    inside = {name: float(low <= cells[name]["truth"] <= high) for name, (low, high) in ranges.items()}
    width = np.median([np.sqrt(high / low) for low, high in ranges.values()])
    return {f"{SAMPLES} samples of the paper's rule": f"{family_mean(inside):.0%} | {width:.2f}"}


def graph_rows(cells: dict[str, Any]) -> dict[str, str]:
    return {
        graph: log_errors({name: (cell["k"][graph], cell["truth"]) for name, cell in cells.items()}) for graph in GRAPHS
    }


TABLES: dict[str, tuple[str, str, str, Callable[[dict[str, Any]], dict[str, str]]]] = {
    "OBJECTIVE": ("objective", "groups at the true k", "ARI / AMI | ρ | ARI above K-Means", objective_rows),
    "STABILITY": ("stability", "the paper's rule with", "log error (rank)", stability_rows),
    "INTERVAL": ("stability", "interval", "includes the truth | median half-width, as a factor", interval_rows),
    "GRAPHS": ("graphs", "graph", "log error (rank)", graph_rows),
}
"""For each table: the measurement, the heading of the first column and of a model's columns, and the rows."""


def table(cells: Cells, what: str, head: str, columns: str, rows_of: Callable[[dict[str, Any]], dict[str, str]]) -> str:
    """Return a table with the columns of every model that has been measured on all sets."""
    found = {}
    for model in MODELS:
        mine = {name: cell for (kind, other, name), cell in cells.items() if (kind, other) == (what, model)}
        if len(mine) == len(set_names()):
            found[model] = rows_of(mine)
    titles = [f"{model}: {columns}" for model in found]
    lines = [f"| {' | '.join([head, *titles])} |", "|---" * (1 + len(found) * len(columns.split(" | "))) + "|"]
    lines += [f"| {row} | {' | '.join(rows[row] for rows in found.values())} |" for row in next(iter(found.values()))]
    return "\n".join(lines)


if __name__ == "__main__":
    if not DATA.is_dir():
        sys.exit("This benchmark needs the labeled sets; point TEXTSPECTRA_DATA to their folder.")
    done = run()
    text = (ROOT / "benchmarks" / "further.in.md").read_text()
    text = text.replace("MACHINE", f"{os.cpu_count()} cores, Python {platform.python_version()}")
    for mark, parts in TABLES.items():
        text = text.replace(mark, table(done, *parts))
    (ROOT / "benchmarks" / "further.md").write_text(text)
