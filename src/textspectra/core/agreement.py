"""The number of groups on which two halves of the data agree, if there are groups at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from . import F32, F64, Array, Ints
from .kmeans import directions_of, train_directions
from .metrics import entropy
from .rows import CountedRows, distinct_rows, sum_by_code
from .ward import ward_tree

# How k is read off the curve of agreement over k
WEIGHT_POWER = 16  # a k whose agreement is 10% below the best has 0.9 to this power, 19%, of its weight
POSITION = (0.42, 0.7)  # the answer is the k up to which this share of the weight lies, for weak and strong agreement
STRONG = (0.6, 0.8)  # the best agreement that counts as weak, and as strong
EXACT = 0.75  # as the best agreement rises from here to 1, the power goes to infinity: clear groups are counted exactly
MORE_BEHIND = 2.2  # a coarse k scores no more than a finer one at which halves share this many times its information
PAIR = 0.95  # a split in two is clear at this agreement or above: halves of any long cloud agree on where to cut it
# If halves agree on more than this share of what finer groups add to a clear split in two, only that counts. Clear
# groups without groups inside stay below it.
BEYOND = 0.15
NEAR = 1.5  # the confidence is the share of the weight within this factor of the answer, times the agreement there
EQUAL_SCORES = 1e-9

# How two halves are compared
HALF_CLUSTERS, HALF_PASSES = 512, 2  # small clusters of each half, and passes over it; their Ward tree gives centers
CENTER_PASSES = 1  # of Lloyd's algorithm over a half for each k; a second one raises the agreement by about 0.01 only
JUDGED_ROWS = 2000  # this many rows of each half are labeled by the centers of both
USED_SHARE = 0.9  # a grouping is used only if at least this share of its centers has rows

# What is compared
AXES = (12, 24, 48)  # numbers of principal axes: coarse groups show on few axes, fine ones on many
HALVINGS = 12  # random splits into halves, divided among AXES; 84 do not make k more accurate
HALVED_ROWS = 6000  # at most; more rows would change little and cost much
FEWEST_HALVED = 64  # halves of fewer rows are too small to compare; of fewer distinct rows, duplicates count too
EACH, STEP = 8, 1.25  # every k up to the first is tried, then steps by the second; the answer may lie between them
CLEAR_PEAK = 0.9  # next to a peak of this agreement or above, every k is tried: clear groups are counted exactly
RESAMPLES = 200  # bootstrap samples of the splits, which show how much k depends on them

# Whether there are groups: comparisons with Gaussian clouds
CLOUD_ROWS, CLOUD_HALVINGS = 4000, 3  # rows that fit the variances of a cloud to the data; splits of a cloud
NEAREST_ROWS, NEAREST_AXES, NEAREST_CLOUDS = 2000, 12, 4  # rows, axes and clouds in the test of nearest rows
# The data has groups if its nearest rows are nearer than in a cloud by more than this share. All kinds of clouds that
# were tried stay below it, and labeled text sets of 200 rows or more above.
STRUCTURE = 0.09
CLEAR_OF_CLOUDS = 0.6  # or if its halves agree this much better than halves of a cloud: wide groups have no near rows
NO_DIRECTION = 1e-5  # a row nearer to the mean than this has no direction: the difference is rounding in float32


class BestK(NamedTuple):
    """The number of groups that a curve speaks for, and how clearly it does, from 0 to 1."""

    k: int
    confidence: float


def read_curve(ks: Ints, agreement: F64) -> BestK:
    """Return the number of groups that the agreement speaks for; it may lie between the given k.

    Every k votes for itself, with a weight that is a power of its agreement. The answer is the k up to which a share of
    the weight lies, which is larger if the halves agree better. No single k decides, so it moves little with the curve.
    """
    score = discounted(ks, agreement)
    best = float(score.max())
    finest_of_best = int(ks[score >= best - EQUAL_SCORES].max())
    if best <= 0 or len(ks) == 1:
        return BestK(finest_of_best, max(best, 0.0))
    if best >= 1 - EQUAL_SCORES:
        return BestK(finest_of_best, 1.0)
    power = WEIGHT_POWER / min(1.0, (1 - best) / (1 - EXACT))
    logs = np.log(ks)
    # Each k stands for the stretch of ln k from halfway to the k before it to halfway to the next one.
    borders = np.concatenate([logs[:1], (logs[1:] + logs[:-1]) / 2, logs[-1:]])
    weight = np.append(0.0, np.cumsum((np.maximum(score, 0) / best) ** power * np.diff(borders)))
    weight /= weight[-1]
    answer = np.interp(np.interp(best, STRONG, POSITION), weight, borders)
    low, high = np.interp(answer + np.array([-1, 1]) * np.log(NEAR), borders, weight)
    at_answer = float(np.clip(np.interp(answer, logs, agreement), 0, 1))
    return BestK(round(float(np.exp(answer))), float(high - low) * at_answer)


def discounted(ks: Ints, agreement: F64) -> F64:
    """Lower the agreement on coarse splits that leave most of the structure behind them.

    Halves nearly always agree on one split in two or three, such as texts with and without the name of a product. If
    they share far more information about finer groups, the coarse split scores no more than these.
    """
    information = agreement * np.log(ks)
    if ks[0] == 2 and agreement[0] >= PAIR and len(ks) > 1:
        # What finer groups repeat of a clear split in two says nothing about them.
        added = (information[1:] - information[0]) / (np.log(ks[1:]) - np.log(2))
        if added.max() > BEYOND:
            agreement = np.append(0.0, np.minimum(np.maximum(added, 0), agreement[1:]))
            information = agreement * np.log(ks)
    score = agreement.copy()
    for i in range(len(ks) - 1):
        behind = agreement[i + 1 :][information[i + 1 :] >= MORE_BEHIND * information[i]]
        if len(behind):
            score[i] = min(score[i], behind.max())
    return score


def half_agreement(points: F32, ks: Ints, rng: Generator) -> F64:
    """Return for each k how well the two halves of `points` (unit rows in random order) agree on k groups.

    Each half is clustered by K-Means, which starts from its Ward tree. Then the centers of both halves label the same
    rows. The agreement is the adjusted mutual information of the labelings, or NaN if k groups cannot be told apart.
    """
    middle = len(points) // 2
    halves = points[:middle], points[middle:]
    judged = np.concatenate([half[:JUDGED_ROWS] for half in halves])
    order = rng.permutation(len(judged))
    labelings = [[(judged @ centers.T).argmax(axis=1) for centers in _half_centers(half, ks)] for half in halves]
    compared = zip(*labelings, ks.tolist(), strict=True)
    return np.array([_agreement(first, second, k, order) for first, second, k in compared])


def _half_centers(half: F32, ks: Ints) -> list[F32]:
    """Return k centers of length 1 for each k, all from one Ward tree; fewer if there are fewer distinct rows."""
    sums, sizes = _micro_clusters(half)
    n = len(sums)
    merged = ward_tree(np.divide(sums, sizes[:, None], dtype=np.float32), sizes).linkage[:, :2].astype(np.intp)
    sums = np.concatenate([sums, np.empty((n - 1, sums.shape[1]), np.float32)])
    parent = np.full(2 * n - 1, 2 * n)
    for step, (left, right) in enumerate(merged):
        sums[n + step] = sums[left] + sums[right]
        parent[left] = parent[right] = n + step
    centers = []
    for k in np.minimum(ks, n):
        nodes = np.flatnonzero(parent[: 2 * n - k] >= 2 * n - k)
        centers.append(train_directions(half, directions_of(sums[nodes], sums[nodes]), CENTER_PASSES))
    return centers


def _micro_clusters(half: F32) -> tuple[F32, F64]:
    """Return the sum of the rows of each small cluster, and its number of rows; centers start from the first rows."""
    centers = train_directions(half, half[:HALF_CLUSTERS], HALF_PASSES)
    nearest = (half @ centers.T).argmax(axis=1)
    sizes = np.bincount(nearest, minlength=len(centers)).astype(np.float64)
    sums = sum_by_code(half, nearest, len(centers), np.ones(len(half), np.float32))
    return sums[sizes > 0], sizes[sizes > 0]


def _agreement(first: Ints, second: Ints, k: int, order: Ints) -> float:
    """Return the adjusted mutual information; one random permutation measures what chance gives."""
    sizes = [np.bincount(labels, minlength=k) for labels in (first, second)]
    if min(np.count_nonzero(size) for size in sizes) < USED_SHARE * k:
        return float("nan")
    apart = [entropy(size) for size in sizes]
    shared = sum(apart) - entropy(np.bincount(first * k + second))
    by_chance = sum(apart) - entropy(np.bincount(first * k + second[order]))
    return float((shared - by_chance) / max(sum(apart) / 2 - by_chance, 1e-9))


@dataclass(frozen=True, eq=False)
class Agreement:
    """How well two halves of the data agree, over k."""

    k: Ints  # 2 if it is clear, each from 3 to 8, then steps of 25%; all numbers next to a clear answer
    halves: F64  # agreement of two halves of the data: the adjusted mutual information, 1 is perfect
    score: F64  # the same, lowered at each coarse k that leaves most of the structure to finer ones; k is read off it
    # How much nearer the nearest rows are to each other than in a cloud without groups, as a share of the maximum.
    # Near 0 or below, the data has no groups, unless there are few, wide ones.
    nearness: float


def reproducible_k(rows: CountedRows, rng: Generator) -> tuple[BestK, Ints, Agreement | None, int]:
    """Find the number of groups on which two halves of the data agree; 1 if no two groups can be told apart.

    Return it, the same from bootstrap samples of the splits, the evidence if any, and the number of distinct rows.

    The rows are taken as directions from their mean, on 12 to 48 principal axes. At each k, two halves of them are
    clustered and compared (:func:`half_agreement`), and :func:`read_curve` reads k off the agreement. Duplicates of a
    row do not count: halves that both have a row agree on it as a group of its own.
    """
    once = rows.once()
    rows = once if len(once) >= FEWEST_HALVED else rows
    size = min(len(rows), HALVED_ROWS)
    view = rows.call(_first_view, rows.positions(size, rng))
    if view is None:
        return BestK(1, 1.0), np.ones(1, np.intp), None, 1
    n_axes = sorted({min(n_axes, view.basis.axes.shape[1]) for n_axes in AXES})

    def split(ks: Ints) -> tuple[Ints, F64]:
        """Return the k at which groups can be told apart, and the agreement of each split there."""
        requests = (
            (rows.positions(size, seed), view, axes, ks, seed)
            for axes in n_axes
            for seed in rng.spawn(HALVINGS // len(n_axes))
        )
        splits = np.array(rows.map(_split_agreement, requests)).reshape(len(n_axes), -1, len(ks))
        usable = ~np.isnan(splits).any(axis=(0, 1)) & ((ks > 2) | (splits.mean(axis=(0, 1)) >= PAIR))
        return ks[usable], splits[..., usable]

    fine = (EACH * STEP ** np.arange(1, 20)).round().astype(np.intp)
    ks = np.append(np.arange(2, EACH + 1), fine)
    ks, splits = split(ks[ks <= max(view.n // 16, min(16, view.n // 4))])  # groups of about 16 rows or more
    if not len(ks):
        return BestK(1, 1.0), np.ones(1, np.intp), None, view.n_distinct
    between = _between(ks, splits.mean(axis=(0, 1)))
    if len(between):
        more_ks, more = split(between)
        order = np.argsort(np.append(ks, more_ks))
        ks, splits = np.append(ks, more_ks)[order], np.concatenate([splits, more], axis=2)[..., order]
    halves = splits.mean(axis=(0, 1))
    nearness = _nearness(rows, view, rng)
    if nearness > STRUCTURE or _clear_of_clouds(rows, size, view, n_axes[0], ks, splits[0], rng):
        best = read_curve(ks, halves)
        draws = (rng.integers(splits.shape[1], size=splits.shape[:2])[:, :, None] for _ in range(RESAMPLES))
        again = [read_curve(ks, np.take_along_axis(splits, draw, axis=1).mean(axis=(0, 1))).k for draw in draws]
    else:
        best, again = BestK(1, float(np.clip(1 - nearness, 0, 1))), [1]
    agreement = Agreement(ks, halves, discounted(ks, halves), nearness)
    return best, np.array(again, np.intp), agreement, view.n_distinct


def _between(ks: Ints, halves: F64) -> Ints:
    """Return the k on both sides of each clear peak that were not looked at yet."""
    score = np.concatenate([[-1.0], discounted(ks, halves), [-1.0]])
    peaks = np.flatnonzero((score[1:-1] >= CLEAR_PEAK) & (score[1:-1] >= score[:-2]) & (score[1:-1] >= score[2:]))
    sides = [np.arange(ks[max(peak - 1, 0)], ks[min(peak + 1, len(ks) - 1)]) for peak in peaks.tolist()]
    return np.setdiff1d(np.concatenate([ks[:0], *sides]), ks)


class Basis(NamedTuple):
    """The mean of unit rows, and the principal axes of their directions from it, possibly scaled."""

    mean: F32
    axes: F32


class View(NamedTuple):
    """The rows of a sample, how many of them are distinct, whether duplicates count, and the axes."""

    n: int
    n_distinct: int
    duplicates: bool
    basis: Basis

    def points(self, units: F32, n_axes: int) -> F32:
        """Return the rows of a sample that are compared, on the first axes."""
        return projected(units if self.duplicates else distinct_rows(units), self.basis, n_axes)


def _first_view(units: F32) -> View | None:
    distinct = distinct_rows(units)
    duplicates = len(distinct) < FEWEST_HALVED
    rows = units if duplicates else distinct
    basis = principal_axes(rows, half_whitened=True)
    return None if basis is None else View(len(rows), len(distinct), duplicates, basis)


def principal_axes(units: F32, *, half_whitened: bool = False) -> Basis | None:
    """Return the mean of the rows, and the leading principal axes of their directions from it.

    Half-whitened axes are divided by the square root of their standard deviation, so that one dominant direction, such
    as a frequent word, does not decide alone.
    """
    mean = units.mean(axis=0)
    centered = units - mean
    if np.abs(centered).max() < NO_DIRECTION:
        return None
    directions = _directions(centered)
    variance, axes = np.linalg.eigh((directions.T @ directions).astype(np.float64))
    leading = slice(-1, -1 - min(max(AXES), int((variance > 1e-6 * variance[-1]).sum())), -1)
    scale = (variance[leading] / variance[-1]) ** -0.25 if half_whitened else 1.0
    return Basis(mean, np.ascontiguousarray(axes[:, leading] * scale, np.float32))


def projected(units: F32, basis: Basis, n_axes: int) -> F32:
    """Return the directions of rows from the mean, on the first principal axes."""
    return _directions((units - basis.mean) @ basis.axes[:, :n_axes])


def _directions(points: Array) -> F32:
    length = np.sqrt(np.einsum("ij,ij->i", points, points))[:, None]
    return np.asarray(points / np.maximum(length, NO_DIRECTION), np.float32)


def _split_agreement(units: F32, view: View, n_axes: int, ks: Ints, rng: Generator) -> F64:
    points = view.points(units, n_axes)
    return half_agreement(points[rng.permutation(len(points))], ks, rng)


def _clear_of_clouds(
    rows: CountedRows, size: int, view: View, n_axes: int, ks: Ints, splits: F64, rng: Generator
) -> bool:
    """Return True if halves agree far better, at any k, than halves of Gaussian clouds of the same spectrum."""
    _, target, _ = rows.call(_spectrum_and_nearest, rows.positions(size, rng), view, n_axes, False)
    scale = _matching_scale(target, rng.standard_normal((CLOUD_ROWS, n_axes)))
    tasks = ((view.n, scale, ks, seed) for seed in rng.spawn(CLOUD_HALVINGS))
    null = np.minimum(np.nan_to_num(rows.run(_cloud_agreement, tasks)).mean(axis=0), 0.99)
    return bool(((splits.mean(axis=0) - null) / (1 - null)).max() > CLEAR_OF_CLOUDS)


def _cloud_agreement(n: int, scale: F64, ks: Ints, rng: Generator) -> F64:
    return half_agreement(_directions(rng.standard_normal((n, len(scale))) * scale), ks, rng)


def _mean_squares(points: F32) -> F64:
    return np.asarray(np.square(points, dtype=np.float64).mean(axis=0))


def _matching_scale(target: F64, cloud: F64) -> F64:
    """Return the standard deviations of a Gaussian cloud whose directions have the mean squares `target`."""
    variance = target.copy()
    for _ in range(6):
        directions = _directions(cloud * np.sqrt(variance))
        variance *= target / np.maximum(_mean_squares(directions), 1e-12)
        variance /= variance.sum()
    return np.asarray(np.sqrt(variance))


def _nearness(rows: CountedRows, view: View, rng: Generator) -> float:
    """Return by how much the nearest rows are nearer than in clouds of the same spectrum; 1 is the maximum."""
    size, n_axes = min(len(rows), NEAREST_ROWS), min(NEAREST_AXES, view.basis.axes.shape[1])
    n, target, near = rows.call(_spectrum_and_nearest, rows.positions(size, rng), view, n_axes)
    scale = _matching_scale(target, rng.standard_normal((CLOUD_ROWS, n_axes)))
    clouds = ((_directions(rng.standard_normal((n, n_axes)) * scale),) for _ in range(NEAREST_CLOUDS))
    null = min(float(np.mean(rows.run(_nearest_cosine, clouds))), 1 - 1e-6)
    return (near - null) / (1 - null)


def _spectrum_and_nearest(units: F32, view: View, n_axes: int, nearest: bool = True) -> tuple[int, F64, float]:
    points = view.points(units, n_axes)
    return len(points), _mean_squares(points), _nearest_cosine(points) if nearest else 0.0


def _nearest_cosine(points: F32) -> float:
    cosines = points @ points.T
    np.fill_diagonal(cosines, -1)
    return float(cosines.max(axis=1).mean())
