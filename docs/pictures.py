"""Draws the pictures of the page "How it works" into docs/pictures/. Run by `make picture`.

`python docs/pictures.py FOLDER` draws them elsewhere. The data are the example that ships with the package, and points
that are made here.
"""

import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pyarrow.csv as pc
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_mutual_info_score

import textspectra as ts
from textspectra.texts.corpus import EmbeddedTexts

ROOT = Path(__file__).parents[1]
BLUE, ORANGE, GRAY = "#1f4e79", "#c55a11", "#8a8f98"
PALETTE = ["#1f4e79", "#c55a11", "#4f8a5b", "#8c5a9e", "#b8963e", "#4b9aa8", "#a34a5e", "#6b7280", "#7a9a3a"]
STYLE = {
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GRAY,
    "axes.labelcolor": "#333333",
    "axes.titlesize": 11,
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "legend.frameon": False,
    "svg.hashsalt": "textspectra",  # the same picture is the same file
}


@cache
def example() -> tuple[EmbeddedTexts, ts.TextClustering]:
    """Return the distinct texts of the example with their vectors, and their groups."""
    table = pc.read_csv(ROOT / "examples" / "customer_messages.csv")
    result = ts.cluster_texts(table, text_column="message")
    return result.embedded(), result


def islands(k: int, n: int, spread: float, seed: int = 3) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return n points of the plane in k round groups, and the group of each."""
    rng = np.random.default_rng(seed)
    angle = np.linspace(0, 2 * np.pi, k, endpoint=False)
    centers = np.column_stack([np.cos(angle), np.sin(angle)])
    cluster = np.arange(n) % k
    return centers[cluster] + spread * rng.standard_normal((n, 2)), cluster


def directions(k: int, n: int, noise: float, seed: int = 0, d: int = 64) -> NDArray[np.float64]:
    """Return n rows around k random directions."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((k, d))[np.arange(n) % k] + noise * rng.standard_normal((n, d))


def draw_spectrum() -> Figure:
    """Draw similarities of planted groups beside their spectrum: nine small eigenvalues, then a jump."""
    X = directions(9, 180, 0.9)
    X = X[np.argsort(np.arange(180) % 9, kind="stable")]
    units = X / np.linalg.norm(X, axis=1, keepdims=True)
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.5])
    left.imshow(np.maximum(units @ units.T, 0), cmap="Blues", vmin=0, vmax=1)
    left.set(title="similarity of 180 texts in 9 groups", xticks=[], yticks=[])
    left.spines[:].set_visible(False)
    values = ts.laplacian_eigenvalues(X)[:40]
    right.plot(np.arange(1, 41), values, "o-", color=BLUE, markersize=3.5, linewidth=1)
    right.axvline(9.5, color=ORANGE, linestyle="--", linewidth=1)
    right.annotate("the jump:\n9 groups", (9.5, values[9]), (14, values[8]), color=ORANGE,
                   arrowprops={"arrowstyle": "->", "color": ORANGE})  # fmt: skip
    right.set(title="spectrum of the Laplacian", xlabel="index of the eigenvalue", ylabel="eigenvalue")
    return figure


def draw_halves() -> Figure:
    """Cluster two halves of the same points at three numbers of groups, and compare."""
    X, _ = islands(5, 300, 0.17)
    first, second = X[::2], X[1::2]
    figure = Figure(figsize=(9, 6.2), layout="constrained")
    axes = figure.subplots(2, 3, sharex=True, sharey=True)
    for column, k in zip(axes.T, (3, 5, 9), strict=True):
        seen = [KMeans(k, n_init=1, random_state=seed).fit(half) for seed, half in enumerate((first, second))]
        labels = [fitted.predict(X) for fitted in seen]
        agreement = adjusted_mutual_info_score(*labels)
        for ax, fitted, label in zip(column, seen, _matched(labels), strict=True):
            ax.scatter(*X.T, c=[PALETTE[one] for one in label], s=7, linewidths=0)
            ax.scatter(*fitted.cluster_centers_.T, marker="+", color="black", s=60, linewidths=1.2)
            ax.set(xticks=[], yticks=[], aspect="equal")
            ax.spines[:].set_visible(False)
        column[0].set_title(f"{k} groups: agreement {agreement:.2f}", color=BLUE if agreement > 0.95 else "#333333")
    axes[0, 0].set_ylabel("groups of the first half")
    axes[1, 0].set_ylabel("groups of the second half")
    return figure


def _matched(labels: list[NDArray[np.intp]]) -> list[NDArray[np.intp]]:
    """Give the groups of the second labeling the colors of the groups of the first that they share most with."""
    counts = np.zeros((9, 9))
    np.add.at(counts, (labels[0], labels[1]), 1)
    rows, columns = linear_sum_assignment(-counts)
    return [labels[0], rows[np.argsort(columns)][labels[1]]]


def draw_score() -> Figure:
    """Draw the score of the example over k."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    _, result = example()
    result.k_estimate.plot(figure.subplots())
    return figure


def draw_neighbors() -> Figure:
    """Replace each point by the mean of its 10 nearest points."""
    X, cluster = islands(6, 360, 0.27, seed=5)
    nearest = np.argsort(cdist(X, X), axis=1)[:, :10]
    smoothed = X[nearest].mean(axis=1)
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    titles = "each point where it is", "each point at the mean of its 10 nearest"
    for ax, points, title in zip(axes, (X, smoothed), titles, strict=True):
        ax.scatter(*points.T, c=[PALETTE[one] for one in cluster], s=12, linewidths=0, alpha=0.8)
        ax.set(title=title, xticks=[], yticks=[], aspect="equal")
        ax.spines[:].set_visible(False)
    one = int(np.argmin(np.linalg.norm(X - [0.75, 0.5], axis=1)))
    for other in X[nearest[one]]:
        axes[0].plot(*np.column_stack([X[one], other]), color="black", linewidth=0.7)
    return figure


def draw_cohesion() -> Figure:
    """Draw how alike pairs of texts are within groups and overall, and the ratio of each group of the example."""
    texts, result = example()
    units = texts.vectors / np.linalg.norm(texts.vectors, axis=1, keepdims=True)
    codes = result.distinct_codes[texts.counting]
    upper = np.triu_indices(len(units), 1)
    alike = np.maximum((units @ units.T)[upper], 0)
    within = alike[codes[upper[0]] == codes[upper[1]]]
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.2, 1])
    for values, color, label in ((alike, GRAY, "any two texts"), (within, BLUE, "two texts of one group")):
        left.hist(values, np.linspace(0, 1, 51), density=True, color=color, alpha=0.55, label=label)
        left.axvline(values.mean(), color=color, linewidth=1.5)
    left.set(title=f"means of the two: ratio {result.cohesion.ratio:.2f}", xlabel="similarity (negative is 0)")
    left.set(ylim=(0, 8), yticks=[])
    left.legend()
    ratios = sorted(
        (ratio, cluster.name)
        for cluster, ratio in zip(result.clusters, result.ratios, strict=True)
        if ratio and cluster.name.isascii()
    )
    shown = [*ratios[:5], *ratios[-5:]]
    right.barh([_short(name) for _, name in shown], [ratio for ratio, _ in shown], color=[GRAY] * 5 + [BLUE] * 5)
    right.axvline(1, color=ORANGE, linestyle="--", linewidth=1)
    right.set(title="the loosest and the tightest groups", xlabel="Cohesion Ratio of the group")
    return figure


def _short(name: str) -> str:
    return name if len(name) < 28 else name[:27] + "…"


def draw_confidence() -> Figure:
    """Draw the table of benchmarks/k_recovery.md on the confidence."""
    page = (ROOT / "benchmarks" / "k_recovery.md").read_text()
    part = page.partition("\n## Confidence\n")[2]
    found = re.findall(r"^\| ([\d.]+ to [\d.]+) \| (\d+) \| ([\d.]+) \| (\d+)% \|", part, re.MULTILINE)
    if not found:
        raise LookupError("benchmarks/k_recovery.md has no table of the confidence")
    ranges = [f"{name}\n({cases} cases)" for name, cases, *_ in found]
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.bar(ranges, [np.exp(float(error)) for *_, error, _ in found], color=BLUE, width=0.6)
    left.axhline(1, color=ORANGE, linestyle="--", linewidth=1)
    left.set(title="typical factor between k and the number of classes", xlabel="confidence")
    right.bar(ranges, [int(share) for *_, share in found], color=BLUE, width=0.6)
    right.set(title="% of cases in which k is within a factor of 1.5", xlabel="confidence", ylim=(0, 100))
    for ax in (left, right):
        ax.tick_params(axis="x", labelsize=7)
    return figure


def draw_failures() -> Figure:
    """Draw two failures: many groups that overlap, and groups that have groups of their own."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    true = np.array([4, 8, 16, 32, 64, 128])
    left.plot(true, true, color=GRAY, linestyle=":", label="planted")
    for noise, color, label in ((0.8, BLUE, "groups apart"), (1.9, ORANGE, "groups that overlap")):
        found = [ts.estimate_k(directions(k, 3000, noise)).k for k in true]
        left.plot(true, found, "o-", color=color, label=label, markersize=4)
    left.set(xscale="log", yscale="log", xlabel="groups that were planted", ylabel="groups that were found",
             title="many groups that overlap are lost")  # fmt: skip
    for axis in (left.xaxis, left.yaxis):
        axis.set_major_locator(mpl.ticker.FixedLocator(true))
        axis.set_major_formatter(mpl.ticker.ScalarFormatter())
        axis.set_minor_locator(mpl.ticker.NullLocator())
    left.legend()
    estimate = ts.estimate_k(nested(6, 6, 3000))
    right.plot(estimate.agreement.k, estimate.agreement.score, color=BLUE)
    for k, label in ((6, "6 families"), (36, "36 groups")):
        right.axvline(k, color=ORANGE, linestyle="--", linewidth=1)
        right.annotate(label, (k * 1.04, 0.05), color=ORANGE)
    right.set(xscale="log", xlabel="number of groups k", ylabel="score", ylim=(0, 1.02),
              title="two right answers in the same data")  # fmt: skip
    return figure


def nested(families: int, clusters: int, n: int, d: int = 64) -> NDArray[np.float64]:
    """Return n rows in families of groups: the groups of a family are near each other."""
    rng = np.random.default_rng(1)
    family = rng.standard_normal((families, d))
    cluster = np.repeat(family, clusters, axis=0) + 0.75 * rng.standard_normal((families * clusters, d))
    return cluster[np.arange(n) % len(cluster)] + 0.9 * rng.standard_normal((n, d))


PICTURES: dict[str, Callable[[], Figure]] = {
    "spectrum": draw_spectrum,
    "halves": draw_halves,
    "score": draw_score,
    "neighbors": draw_neighbors,
    "cohesion": draw_cohesion,
    "confidence": draw_confidence,
    "failures": draw_failures,
}

if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures"
    target.mkdir(exist_ok=True)
    mpl.rcParams.update(STYLE)
    for name, draw in PICTURES.items():
        draw().savefig(target / f"{name}.svg", metadata={"Date": None})
