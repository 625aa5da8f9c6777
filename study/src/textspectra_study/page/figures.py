"""The paper's figures, drawn from the cells of a study; None if there is nothing to draw."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import cycle, product
from statistics import fmean
from typing import Any

import numpy as np

from ..algorithms import DEFAULT, TITLES
from ..results import INTRINSIC, Cell
from .drawing import BLUE, GREEN, INK, LINE, MUTED, ORANGE, PINK, RED, SERIES, SKY, Picture, draw, shaded
from .findings import Findings
from .statistics import AGREEMENT, Comparison, Correlation
from .sweeps import grouped, mean_error
from .wording import METRIC_TITLES, listing, number, signed_title

WIDTH = 8.0

WAYS_TO_K = (
    "hdbscan",
    "optics",
    "affinity_propagation",
    "leiden",
    "kmeans_kest",
    DEFAULT,
    "kmeans_constant",
    "kmeans_eigengap",
    "kmeans_silhouette",
    "hdbscan_knn",
    "leiden_knn",
    "evoc",
    "umap_hdbscan",
)
"""One algorithm for each way to choose k."""

K_COLORS = {"kmeans_kest": BLUE, DEFAULT: RED}
"""The paper's k and the default's, which stand out in the figures about k."""

CURVES = {
    "ari": (BLUE, "-"),
    "homogeneity": (GREEN, "-"),
    "completeness": (ORANGE, "-"),
    "fowlkes_mallows": (SKY, "--"),
    "silhouette": (PINK, "-"),
    "cohesion_ratio": (RED, "-."),
}
"""The metrics of the paper's profiles, each with its color and line."""


def spectrum_figure(findings: Findings) -> Picture | None:
    """Draw the first half of the spectrum, the differences and the threshold: the paper's Figure 1."""
    cells = findings.ok("spectrum")
    if not cells:
        return None

    def paint(figure: Any) -> None:
        for axes, cell in zip(figure.subplots(1, len(cells), squeeze=False)[0], cells, strict=True):
            _paint_spectrum(axes, cell, f"{findings.title(cell.variant.dataset)}, {cell.model}")
        handles = [handle for axes in figure.axes[:1] for handle in axes.get_legend_handles_labels()[0]]
        right = figure.axes[len(cells)].get_legend_handles_labels()[0]
        figure.legend(handles=[*handles, *right], loc="outside lower center", ncols=5)

    estimates = listing(f"k = {cell.values['k']} with {cell.model}" for cell in cells)
    alt = f"Eigenvalues, their normalized differences and the threshold of one dataset: {estimates}."
    return draw("spectrum", alt, (WIDTH, 3.2), paint)


def _paint_spectrum(axes: Any, cell: Cell, title: str) -> None:
    values = cell.values
    eigenvalues, deltas, window, k = values["eigenvalues"], values["deltas"], values["window"], values["k"]
    axes.plot(range(1, len(eigenvalues) + 1), eigenvalues, color=BLUE, label="eigenvalue λ")
    axes.axvspan(max(1, k - window + 1), k, color=LINE, alpha=0.6, linewidth=0, label="window")
    axes.axvline(k, color=INK, linestyle="--", linewidth=1, label="k")
    axes.set(xlabel="index", ylabel="eigenvalue", title=f"{title}: k = {k}")
    right = axes.twinx()
    right.spines["right"].set_visible(True)
    right.plot(range(window + 1, window + 1 + len(deltas)), deltas, ":", color=RED, label="difference δ")
    right.axhline(values["threshold"], color=RED, linestyle="--", linewidth=0.8, label="threshold")
    right.set_ylabel("normalized difference")


def window_figure(findings: Findings) -> Picture | None:
    """Draw error and fallback over the window: the paper's Figure 2."""
    clusters = list(grouped(findings.window_sweep, lambda point: point.window).values())
    if len(clusters) < 2:
        return None
    windows = [cluster[0].window for cluster in clusters]

    def paint(figure: Any) -> None:
        axes = figure.add_subplot()
        errors = axes.plot(windows, [mean_error(g) for g in clusters], "o-", color=BLUE, markersize=4)
        right = axes.twinx()
        right.spines["right"].set_visible(True)
        shares = [fmean(point.fallback for point in cluster) for cluster in clusters]
        fallbacks = right.plot(windows, shares, "s--", color=RED, markersize=4)
        axes.set(xlabel="window w", ylabel="mean relative error of k", xticks=windows)
        right.set_ylabel("share of samples without an answer")
        axes.set_ylim(bottom=0)
        right.set_ylim(0, max(0.05, 1.1 * max(shares)))
        axes.grid(axis="y")
        labels = ["error of k (left)", "without an answer (right)"]
        figure.legend([*errors, *fallbacks], labels, loc="outside upper center", ncols=2)

    alt = "Mean relative error of k and share of samples without an answer over the window from 3 to 15."
    return draw("window", alt, (6.4, 3.2), paint)


def tau_figure(findings: Findings) -> Picture | None:
    """Draw error and run time over the sample cap."""
    clusters = list(grouped(findings.tau_sweep, lambda point: point.tau).values())
    if len(clusters) < 2:
        return None
    taus = [cluster[0].tau for cluster in clusters]

    def paint(figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        for color, name in zip(SERIES, findings.titles, strict=False):
            points = [point for point in findings.tau_sweep if point.dataset == name]
            by_tau = grouped(points, lambda point: point.tau).values()
            if by_tau:
                line = ([cluster[0].tau for cluster in by_tau], [mean_error(cluster) for cluster in by_tau])
                left.plot(*line, "o-", color=color, markersize=3, linewidth=1.1, label=findings.title(name))
        left.plot(taus, [mean_error(g) for g in clusters], "D-", color=INK, markersize=4, linewidth=2, label="mean")
        seconds = [fmean(point.seconds for point in cluster) for cluster in clusters]
        right.plot(taus, seconds, "o-", color=INK, markersize=4)
        for tau, value in zip(taus, seconds, strict=True):
            right.annotate(f"{value:.1f} s", (tau, value), (0, 7), textcoords="offset points", ha="center", fontsize=8)
        right.set(yscale="log", yticks=[], title="Mean run time, log scale")
        right.margins(0.12, 0.15)
        left.set(ylabel="relative error of k", title="Error of k")
        left.set_ylim(bottom=0)
        for axes in (left, right):
            axes.set(xscale="log", xlabel="sample cap τ")
            axes.set_xticks(taus, [f"{tau:,}" for tau in taus])
            axes.minorticks_off()
            axes.grid(axis="y")
        figure.legend(loc="outside lower center", ncols=4)

    return draw("tau", "Relative error of k and run time over the sample cap.", (WIDTH, 3.4), paint)


def grid_figure(findings: Findings) -> Picture | None:
    """Draw the mean error for every window and cap, raw and z-scored."""
    cells = grouped(findings.sweep, lambda point: (point.zscore, point.window, point.tau))
    taus, windows = ({getattr(p, name) for p in findings.sweep} for name in ("tau", "window"))
    errors = {key: mean_error(points) for key, points in cells.items()}
    if not errors:
        return None

    def paint(figure: Any) -> None:
        for axes, zscore in zip(figure.subplots(1, 2), (False, True), strict=True):
            table = [[errors.get((zscore, window, tau)) for tau in sorted(taus)] for window in sorted(windows)]
            shaded(axes, table, colors="cividis_r", low=min(errors.values()), high=max(errors.values()), digits=2)
            axes.set_xticks(np.arange(len(taus)) + 0.5, [f"{tau:,}" for tau in sorted(taus)])
            axes.set_yticks(np.arange(len(windows)) + 0.5, [str(window) for window in sorted(windows)])
            axes.set(xlabel="sample cap τ", ylabel="window w", title="z-scored" if zscore else "raw similarities")

    return draw("grid", "Mean relative error of k for each window and cap, raw and z-scored.", (WIDTH, 4.2), paint)


def similarity_figure(findings: Findings) -> Picture | None:
    """Draw raw similarity matrices beside z-scored and rectified ones: the paper's Appendix B."""
    cells = findings.ok("similarity")
    if not cells:
        return None
    cell_of = {(cell.variant.dataset, cell.model): cell for cell in cells}
    sets = [name for name in findings.titles if any(name == dataset for dataset, _ in cell_of)]
    models = [model for model in findings.results.manifest.models if any(model == name for _, name in cell_of)]

    def paint(figure: Any) -> None:
        panels = figure.subplots(len(sets), 2 * len(models), squeeze=False)
        for row, dataset in enumerate(sets):
            for column, model in enumerate(models):
                pair = panels[row][2 * column : 2 * column + 2]
                _paint_matrices(pair, cell_of.get((dataset, model)))
                if row == 0:
                    pair[0].set_title(f"{model}, raw")
                    pair[1].set_title("z-scored")
            panels[row][0].set_ylabel(findings.title(dataset))

    alt = f"Similarity matrices with rows sorted by class, raw and z-scored, of {listing(map(findings.title, sets))}."
    width = min(WIDTH, 4.4 * len(models))
    return draw("similarity", alt, (width, width / (2 * len(models)) * len(sets) + 0.3), paint)


def _paint_matrices(pair: Sequence[Any], cell: Cell | None) -> None:
    for axes, which in zip(pair, ("raw", "zscored"), strict=True):
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
        if cell is None:
            continue
        matrix = np.asarray(cell.values[which], float)
        low, high = np.quantile(matrix, [0.02, 0.98])
        shades = np.clip((matrix - low) / (high - low if high > low else 1), 0, 1)
        axes.imshow(np.round(shades * 23) / 23, cmap="magma", vmin=0, vmax=1, interpolation="none")


def critical_difference_figure(test: Comparison) -> Picture | None:
    """Draw the mean ranks on a line; bars join algorithms that do not differ significantly."""
    if test.p is None:
        return None
    title = METRIC_TITLES[test.metric]
    ranks = ", ".join(f"{TITLES[task]} {number(test.ranks[task])}" for task in test.order)
    alt = f"Mean ranks by {title}: {ranks}; critical difference {number(test.critical_difference)}."
    return draw(f"cd-{test.metric.replace('_', '-')}", alt, (5.6, 2.0), lambda figure: _paint_ranks(figure, test))


def _paint_ranks(figure: Any, test: Comparison) -> None:
    figure.set_layout_engine("none")  # every diagram has the same scale
    axes = figure.add_axes((0, 0, 1, 1))
    axes.axis("off")
    order, n, clusters = test.order, len(test.order), indistinct_groups(test)
    top = -0.3 - 0.16 * len(clusters)
    axes.set(xlim=(-2.7, n + 3.7), ylim=(top - 0.5 * (n // 2) + 0.2, 1.1))
    axes.plot([1, n], [0, 0], color=INK, linewidth=1)
    for rank in range(1, n + 1):
        axes.plot([rank, rank], [0, 0.1], color=INK, linewidth=1)
        axes.text(rank, 0.17, str(rank), ha="center", va="bottom", fontsize=8)
    end = 1 + test.critical_difference
    axes.plot([1, end], [0.75, 0.75], color=MUTED, linewidth=2, solid_capstyle="butt")
    axes.text(end + 0.15, 0.75, f"critical difference {test.critical_difference:.2f}", va="center", fontsize=8)
    axes.text(-2.6, 0.75, METRIC_TITLES[test.metric], weight="bold", va="center")
    for level, cluster in enumerate(clusters):
        ends = [test.ranks[cluster[0]] - 0.06, test.ranks[cluster[-1]] + 0.06]
        axes.plot(ends, [-0.15 - 0.16 * level] * 2, color=RED, linewidth=3, solid_capstyle="butt")
    for place, task in enumerate(order):
        on_left = place < n // 2
        height = top - 0.5 * (place if on_left else n - 1 - place)
        edge, gap, align = (0.6, -0.1, "right") if on_left else (n + 0.4, 0.1, "left")
        color = BLUE if task.endswith("_kest") else INK
        axes.plot([test.ranks[task], test.ranks[task], edge], [0, height, height], color=color, linewidth=1)
        text = f"{TITLES[task]} {test.ranks[task]:.2f}"
        axes.text(edge + gap, height, text, ha=align, va="center", color=color, fontsize=8)


def indistinct_groups(test: Comparison) -> list[list[str]]:
    """Return the longest runs of adjacent ranks in which no two algorithms differ significantly."""
    order = test.order
    runs: list[list[str]] = []
    for start in range(len(order)):
        end = start
        while end + 1 < len(order) and not test.differ(order[start], order[end + 1]):
            end += 1
        if end > start and (not runs or order[end] not in runs[-1]):
            runs.append(order[start : end + 1])
    return runs


def correlation_figure(findings: Findings) -> Picture | None:
    """Draw Spearman's correlations of intrinsic and extrinsic metrics: the paper's Figure 3."""
    panels = {"the paper’s six": findings.correlations_of_six, "all algorithms": findings.correlations_of_all}
    if all(correlation.value is None for table in panels.values() for correlation in table.values()):
        return None

    def paint(figure: Any) -> None:
        for axes, (title, table) in zip(figure.subplots(1, 2, sharey=True), panels.items(), strict=True):
            _paint_correlations(axes, title, table)

    rho = findings.correlations_of_six["cohesion_ratio", "nmi"].value
    alt = f"Spearman correlations of intrinsic with extrinsic metrics; of ρ with NMI {number(rho)}."
    return draw("correlation", alt, (WIDTH, 2.7), paint)


def _paint_correlations(axes: Any, title: str, table: dict[tuple[str, str], Correlation]) -> None:
    rows = [[table[inner, outer].value for outer in AGREEMENT] for inner in INTRINSIC]
    shaded(axes, rows, colors="PuOr", low=-1, high=1, digits=2)
    outer = [signed_title(metric) for metric in AGREEMENT]
    axes.set_xticks(np.arange(len(outer)) + 0.5, outer, rotation=35, ha="right", rotation_mode="anchor")
    axes.set_yticks(np.arange(len(INTRINSIC)) + 0.5, [signed_title(metric) for metric in INTRINSIC])
    axes.set_title(f"{title}, n = {max(correlation.n for correlation in table.values()):,}")


def k_figure(findings: Findings) -> Picture | None:
    """Draw the k of each algorithm on each dataset, with the true number: the paper's Figure 4."""
    cells = [cell for cell in findings.ok(*WAYS_TO_K) if cell.variant.kind != "random"]
    sets = [name for name in findings.titles if any(cell.variant.dataset == name for cell in cells)]
    if not sets:
        return None
    rows = (len(sets) + 1) // 2

    def paint(figure: Any) -> None:
        panels = figure.subplots(rows, 2, sharey=True, squeeze=False).ravel()
        for axes, name in zip(panels, sets, strict=False):
            _paint_boxes(axes, [cell for cell in cells if cell.variant.dataset == name])
            axes.set_title(findings.title(name))
        for axes in panels[len(sets) :]:
            axes.axis("off")
        panels[0].set_yticks(range(len(WAYS_TO_K)), [TITLES[task] for task in WAYS_TO_K])
        panels[0].set_ylim(len(WAYS_TO_K) - 0.4, -0.6)

    alt = "The number of clusters found by each algorithm on each dataset, on a log axis, with the number of classes."
    return draw("k", alt, (WIDTH, 2.35 * rows + 0.2), paint)


def _paint_boxes(axes: Any, cells: list[Cell]) -> None:
    for place, task in enumerate(WAYS_TO_K):
        ks = [max(cell.values["k"], 1) for cell in cells if cell.task == task]
        truth = [cell.variant.classes for cell in cells if cell.task == task]
        if not ks:
            axes.text(0.02, place, "no result", transform=axes.get_yaxis_transform(), va="center", color=MUTED, size=7)
            continue
        low, first, middle, third, high = np.quantile(ks, [0, 0.25, 0.5, 0.75, 1])
        color = K_COLORS.get(task, MUTED)
        axes.plot([low, high], [place] * 2, color=color, linewidth=1)
        axes.plot([first, third], [place] * 2, color=color, linewidth=7, solid_capstyle="butt", alpha=0.55)
        axes.plot([middle] * 2, [place - 0.3, place + 0.3], color=color, linewidth=2)
        axes.plot(float(np.median(truth)), place, "D", color=INK, markersize=4)
    _count_in_powers(axes)
    axes.grid(axis="x")


def sizes_figure(findings: Findings) -> Picture | None:
    """Draw k over the sample size, the paper's and the default's, for each sampled dataset and model."""
    cells = [cell for cell in findings.ok(*K_COLORS) if cell.variant.kind != "whole"]
    sets = [name for name in findings.titles if any(cell.variant.dataset == name for cell in cells)]
    if not sets:
        return None
    rows = (len(sets) + 1) // 2

    def paint(figure: Any) -> None:
        panels = figure.subplots(rows, 2, squeeze=False).ravel()
        for axes, name in zip(panels, sets, strict=False):
            cells_of_set = [cell for cell in cells if cell.variant.dataset == name]
            classes = max(cell.variant.classes for cell in cells_of_set)
            _paint_k_over_sizes(axes, cells_of_set, findings.results.manifest.models)
            axes.axhline(classes, color=INK, linewidth=1, linestyle="--")
            axes.set(title=f"{findings.title(name)}, {classes} classes", xlabel="rows", ylabel="k", ylim=(0, None))
        for axes in panels[len(sets) :]:
            axes.axis("off")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)

    alt = "k over the sample size, by the paper’s rule and by estimate_k, beside the number of classes."
    return draw("sizes", alt, (WIDTH, 2.3 * rows + 0.5), paint)


def _paint_k_over_sizes(axes: Any, cells: Sequence[Cell], models: Sequence[str]) -> None:
    for (task, color), (model, style) in product(K_COLORS.items(), zip(models, cycle(("-", ":", "-.")), strict=False)):
        line = [cell for cell in cells if (cell.task, cell.model) == (task, model)]
        sizes = sorted({cell.variant.size for cell in line})
        k = [fmean(cell.values["k"] for cell in line if cell.variant.size == size) for size in sizes]
        label = f"{'estimate_k' if task == DEFAULT else 'paper’s k'}, {model}"
        axes.plot(sizes, k, style, marker="o", markersize=3, color=color, label=label)
    _count_in_powers(axes)
    axes.grid(axis="y")


def profile_figures(findings: Findings) -> list[tuple[Picture, str]]:
    """Draw the metrics over k, one figure per model, and return each with its model: the paper's Appendix D."""
    pictures = []
    for place, model in enumerate(findings.results.manifest.models, 1):
        cells = [cell for cell in findings.profiles if cell.model == model]
        if cells:
            alt = f"Metrics over the number of clusters with {model}, with the true and the estimated k."
            sets = [name for name in findings.titles if any(cell.variant.dataset == name for cell in cells)]
            name = f"profiles-{place}-{re.sub('[^A-Za-z0-9]+', '-', model)}"
            picture = draw(name, alt, (WIDTH, 1.9 * len(sets) + 0.6), _profile_painter(findings, cells, sets))
            pictures.append((picture, model))
    return pictures


def _profile_painter(findings: Findings, cells: list[Cell], sets: list[str]) -> Callable[[Any], None]:
    cell_of = {(cell.variant.dataset, cell.task): cell for cell in cells}
    columns = {"profile-hac": "HAC", "profile-kmeans": "K-Means"}

    def paint(figure: Any) -> None:
        panels = figure.subplots(len(sets), len(columns), squeeze=False)
        handles: list[Any] = []
        for row, name in enumerate(sets):
            for axes, (task, title) in zip(panels[row], columns.items(), strict=True):
                axes.set_title(f"{findings.title(name)}, {title}")
                if (name, task) in cell_of:
                    handles = _paint_profile(axes, cell_of[name, task], findings.estimated_k(cell_of[name, task]))
        for axes in panels[-1]:
            axes.set_xlabel("number of clusters k")
        figure.legend(handles=handles, loc="outside lower center", ncols=4)

    return paint


def _paint_profile(axes: Any, cell: Cell, k: int | None) -> list[Any]:
    points = cell.values["points"]
    right = axes.twinx()
    right.spines["right"].set_visible(True)
    handles = []
    for metric, (color, line) in CURVES.items():
        where = right if metric == "cohesion_ratio" else axes
        values = [np.nan if point[metric] is None else point[metric] for point in points]
        label = f"{METRIC_TITLES[metric]} (right)" if where is right else METRIC_TITLES[metric]
        handles += where.plot([p["k"] for p in points], values, line, color=color, linewidth=1.3, label=label)
    handles.append(axes.axvline(cell.variant.classes, color=INK, linestyle="--", linewidth=1.2, label="true k"))
    if k is not None:
        handles.append(axes.axvline(k, color="#8a8f98", linestyle="--", linewidth=1.2, label="paper’s k"))
    _count_in_powers(axes)
    return handles


def _count_in_powers(axes: Any) -> None:
    """Give the axis of k a log scale with integer labels."""
    axes.set_xscale("log", subs=[])
    axes.xaxis.get_major_locator().set_params(subs=(1, 3))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 1 else "")
    axes.minorticks_off()
