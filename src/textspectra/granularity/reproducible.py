"""The granularity that two halves of the data agree on, and whether there is any."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays.rows import CountedRows, distinct_rows
from .curve import PAIR, Reading, discounted, read_curve
from .halves import half_agreement

AXES = (12, 24, 48)
"""Rows are projected on these numbers of principal axes: coarse groups show on few axes, fine ones on many."""

SPLITS = 12
"""Number of times the data is split into random halves, divided among AXES; with 84, k is no more accurate."""

NULL_SPLITS = 3
"""Number of times a cloud without groups is split, if the data may be such a cloud."""

FEWEST_ROWS = 64
"""Halves of fewer rows are too small to compare; of fewer distinct rows, duplicates count too."""

MAX_ROWS = 6000
"""Rows that are split into halves; more rows would change little and cost much."""

EACH, STEP = 8, 1.25
"""Every k up to the first is looked at, then steps by the second; the answer may lie between them."""

CLOUD_ROWS = 4000
"""Rows of the Gaussian cloud whose variances are fitted to the data."""

NEAREST_ROWS, NEAREST_AXES, NEAREST_CLOUDS = 2000, 12, 4
"""The test for structure: number of rows, of principal axes, and of clouds to compare with."""

STRUCTURE = 0.09
"""The data has groups if its nearest rows are nearer than those of a cloud by more than this share.
All kinds of clouds that were tried stay below it, labeled text sets of 200 rows and more above."""

CLEAR = 0.9
"""Next to a peak of this agreement or above, every k is looked at, so that clear groups are counted exactly."""

CLEAR_OF_CLOUDS = 0.6
"""The data also has groups if halves agree this much more than those of a cloud: wide groups have no near rows."""

ROUNDING = 1e-5
"""A row nearer to the mean than this has no direction: the difference is rounding in float32."""

RESAMPLES = 200
"""Number of bootstrap samples of the splits, which show how much k depends on them."""


@dataclass(frozen=True, eq=False)
class Agreement:
    """How well two halves of the data agree, over k.

    Attributes
    ----------
    k : ndarray of int
        Numbers of groups: 2 if it is clear, each from 3 to 8, then steps of 25 %; all those next to a clear answer.
    halves : ndarray of float
        Agreement of two halves of the data: the adjusted mutual information, 1 is perfect.
    score : ndarray of float
        The same, lowered at each coarse k that leaves most of the structure to finer ones. The answer is read off it.
    nearness : float
        How much nearer the nearest rows are to each other than in a cloud without groups, as a share of what is
        possible. Near 0 or below, the data has no groups, unless there are few, wide ones.

    Examples
    --------
    >>> import numpy as np, textspectra as ts
    >>> agreement = ts.estimate_k(np.repeat(np.eye(8), 20, axis=0)).agreement
    >>> [(int(k), round(float(score), 2)) for k, score in zip(agreement.k, agreement.score)][-1]
    (8, 1.0)
    """

    k: NDArray[np.intp]
    halves: NDArray[np.float64]
    score: NDArray[np.float64]
    nearness: float


class ReproducibleEstimate(NamedTuple):
    """What halves agree on, the same from bootstrap samples of the splits, the evidence, and the distinct rows."""

    reading: Reading
    replicates: NDArray[np.intp]
    agreement: Agreement
    n_rows: int


def reproducible_k(
    rows: CountedRows, rng: np.random.Generator, *, n_jobs: int | None = None
) -> ReproducibleEstimate | None:
    """Find the granularity that two halves of the data agree on; None if no two groups can be told apart.

    The rows are taken as directions from their mean, on 12 to 48 principal axes. At each k, two halves of them are
    clustered and compared (:func:`half_agreement`), and :func:`read_curve` reads k off the agreement. Duplicates of a
    row do not count: halves that both have a row agree on it as a group of its own.
    """
    once = rows.once()
    rows = once if len(once) >= FEWEST_ROWS else rows
    size = min(len(rows), MAX_ROWS)
    # As a task, which has one BLAS thread: with more, the result would depend on the machine.
    view = rows.map(_first_view, [(rows.positions(size, rng),)], n_jobs=1)[0]
    if view is None:
        return None
    n_axes = sorted({min(n_axes, view.basis.axes.shape[1]) for n_axes in AXES})

    def split(ks: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the k at which groups can be told apart, and the agreement of each split there."""
        requests = _split_requests(rows, size, view, n_axes, ks, rng)
        splits = np.array(rows.map(_split_agreement, requests, n_jobs=n_jobs)).reshape(len(n_axes), -1, len(ks))
        usable = ~np.isnan(splits).any(axis=(0, 1)) & ((ks > 2) | (splits.mean(axis=(0, 1)) >= PAIR))
        return ks[usable], splits[..., usable]

    ks, splits = split(_granularities(view.n))
    if not len(ks):
        return None
    between = _between(ks, splits.mean(axis=(0, 1)))
    if len(between):
        more_ks, more = split(between)
        order = np.argsort(np.append(ks, more_ks))
        ks, splits = np.append(ks, more_ks)[order], np.concatenate([splits, more], axis=2)[..., order]
    halves = splits.mean(axis=(0, 1))
    nearness = _nearness(rows, view, rng)
    if nearness > STRUCTURE or _clear_of_clouds(rows, size, view, n_axes[0], ks, splits[0], rng):
        reading = read_curve(ks, halves)
        again = [read_curve(ks, _resample(splits, rng).mean(axis=(0, 1))).k for _ in range(RESAMPLES)]
    else:
        reading, again = Reading(1, float(np.clip(1 - nearness, 0, 1))), [1]
    agreement = Agreement(ks, halves, discounted(ks, halves), nearness)
    return ReproducibleEstimate(reading, np.array(again, np.intp), agreement, view.n_distinct)


def _granularities(n: int) -> NDArray[np.intp]:
    """Return the k to look at: each up to 8, then steps of 25 %, down to about 16 rows per group."""
    highest = max(n // 16, min(16, n // 4))
    fine = EACH * STEP ** np.arange(1, 20)
    ks = np.concatenate([np.arange(2, EACH + 1), fine.round().astype(np.intp)])
    return ks[ks <= highest]


def _between(ks: NDArray[np.intp], halves: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the k on both sides of each clear peak that were not looked at yet."""
    score = np.concatenate([[-1.0], discounted(ks, halves), [-1.0]])
    peaks = np.flatnonzero((score[1:-1] >= CLEAR) & (score[1:-1] >= score[:-2]) & (score[1:-1] >= score[2:]))
    sides = [np.arange(ks[max(peak - 1, 0)], ks[min(peak + 1, len(ks) - 1)]) for peak in peaks.tolist()]
    return np.setdiff1d(np.concatenate([ks[:0], *sides]), ks)


class Basis(NamedTuple):
    """The mean of unit rows, and the principal axes of their directions from it, possibly scaled."""

    mean: NDArray[np.float32]
    axes: NDArray[np.float32]


class View(NamedTuple):
    """How rows are seen: how many a sample has, how many are distinct, whether duplicates count, on which axes."""

    n: int
    n_distinct: int
    duplicates: bool
    basis: Basis

    def points(self, units: NDArray[np.float32], n_axes: int) -> NDArray[np.float32]:
        """Return the rows of a sample that are compared, on some of the axes."""
        return projected(units if self.duplicates else distinct_rows(units), self.basis, n_axes)


def _first_view(units: NDArray[np.float32]) -> View | None:
    distinct = distinct_rows(units)
    duplicates = len(distinct) < FEWEST_ROWS
    rows = units if duplicates else distinct
    basis = principal_axes(rows, half_whitened=True)
    return None if basis is None else View(len(rows), len(distinct), duplicates, basis)


def principal_axes(units: NDArray[np.float32], *, half_whitened: bool = False) -> Basis | None:
    """Return the mean of the rows, and the leading principal axes of their directions from it.

    Half-whitened axes are divided by the square root of their standard deviation. So one dominant direction, such as a
    frequent word, does not decide alone which groups the halves find.
    """
    mean = units.mean(axis=0)
    centered = units - mean
    if np.abs(centered).max() < ROUNDING:
        return None
    directions = _directions(centered)
    variance, axes = np.linalg.eigh((directions.T @ directions).astype(np.float64))
    leading = slice(-1, -1 - min(max(AXES), int((variance > 1e-6 * variance[-1]).sum())), -1)
    scale = (variance[leading] / variance[-1]) ** -0.25 if half_whitened else 1.0
    return Basis(mean, np.ascontiguousarray(axes[:, leading] * scale, np.float32))


def projected(units: NDArray[np.float32], basis: Basis, n_axes: int) -> NDArray[np.float32]:
    """Return the directions of rows from the mean, on some of the principal axes."""
    return _directions((units - basis.mean) @ basis.axes[:, :n_axes])


def _directions(points: NDArray[Any]) -> NDArray[np.float32]:
    length = np.sqrt(np.einsum("ij,ij->i", points, points))[:, None]
    directions: NDArray[np.float32] = (points / np.maximum(length, ROUNDING)).astype(np.float32)
    return directions


def _split_requests(
    rows: CountedRows, size: int, view: View, n_axes: list[int], ks: NDArray[np.intp], rng: np.random.Generator
) -> Iterator[tuple[Any, ...]]:
    for axes in n_axes:
        for seed in rng.spawn(SPLITS // len(n_axes)):
            yield rows.positions(size, seed), view, axes, ks, seed


def _split_agreement(
    units: NDArray[np.float32], view: View, n_axes: int, ks: NDArray[np.intp], rng: np.random.Generator
) -> NDArray[np.float64]:
    points = view.points(units, n_axes)
    return half_agreement(points[rng.permutation(len(points))], ks, rng)


def _clear_of_clouds(
    rows: CountedRows,
    size: int,
    view: View,
    n_axes: int,
    ks: NDArray[np.intp],
    splits: NDArray[np.float64],
    rng: np.random.Generator,
) -> bool:
    """Return True if halves agree far better, at some k, than those of Gaussian clouds of the same spectrum."""
    target = rows.map(_spectrum, [(rows.positions(size, rng), view, n_axes)], n_jobs=1)[0]
    scale = _matching_scale(target, rng.standard_normal((CLOUD_ROWS, n_axes)))
    tasks = ((view.n, scale, ks, seed) for seed in rng.spawn(NULL_SPLITS))
    null = np.minimum(np.nan_to_num(rows.run(_cloud_agreement, tasks, n_jobs=None)).mean(axis=0), 0.99)
    return bool(((splits.mean(axis=0) - null) / (1 - null)).max() > CLEAR_OF_CLOUDS)


def _cloud_agreement(
    n: int, scale: NDArray[np.float64], ks: NDArray[np.intp], rng: np.random.Generator
) -> NDArray[np.float64]:
    return half_agreement(_directions(rng.standard_normal((n, len(scale))) * scale), ks, rng)


def _spectrum(units: NDArray[np.float32], view: View, n_axes: int) -> NDArray[np.float64]:
    return _mean_squares(view.points(units, n_axes))


def _mean_squares(points: NDArray[np.float32]) -> NDArray[np.float64]:
    mean: NDArray[np.float64] = np.square(points, dtype=np.float64).mean(axis=0)
    return mean


def _matching_scale(target: NDArray[np.float64], cloud: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard deviations of a Gaussian cloud whose directions have the mean squares `target`."""
    variance = target.copy()
    for _ in range(6):
        directions = _directions(cloud * np.sqrt(variance))
        variance *= target / np.maximum(_mean_squares(directions), 1e-12)
        variance /= variance.sum()
    scale: NDArray[np.float64] = np.sqrt(variance)
    return scale


def _resample(splits: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    chosen = rng.integers(splits.shape[1], size=splits.shape[:2])
    return np.take_along_axis(splits, chosen[:, :, None], axis=1)


def _nearness(rows: CountedRows, view: View, rng: np.random.Generator) -> float:
    """Return by how much the nearest rows are nearer than in clouds of the same spectrum; 1 is the maximum."""
    size, n_axes = min(len(rows), NEAREST_ROWS), min(NEAREST_AXES, view.basis.axes.shape[1])
    n, target, near = rows.map(_spectrum_and_nearest, [(rows.positions(size, rng), view, n_axes)], n_jobs=1)[0]
    scale = _matching_scale(target, rng.standard_normal((CLOUD_ROWS, n_axes)))
    clouds = ((_directions(rng.standard_normal((n, n_axes)) * scale),) for _ in range(NEAREST_CLOUDS))
    null = min(float(np.mean(rows.run(_nearest_cosine, clouds, n_jobs=1))), 1 - 1e-6)
    return (near - null) / (1 - null)


def _spectrum_and_nearest(
    units: NDArray[np.float32], view: View, n_axes: int
) -> tuple[int, NDArray[np.float64], float]:
    points = view.points(units, n_axes)
    return len(points), _mean_squares(points), _nearest_cosine(points)


def _nearest_cosine(points: NDArray[np.float32]) -> float:
    cosines = points @ points.T
    np.fill_diagonal(cosines, -1)
    return float(cosines.max(axis=1).mean())
