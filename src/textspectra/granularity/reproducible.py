"""The granularity that two halves of the data agree on, compared with clouds without groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays.rows import CountedRows, distinct_rows
from .curve import read_curve
from .halves import half_agreement

AXES = (12, 24, 48)
"""Rows are projected on these numbers of principal axes: coarse groups show on few axes, fine ones on many."""

SPLITS, NULL_SPLITS = 18, 9
"""Number of times the data, and a cloud without groups, is split into random halves; divided among AXES."""

FEWEST_ROWS = 64
"""Halves of fewer rows are too small to compare; of fewer distinct rows, copies count too."""

MAX_ROWS = 6000
"""Rows that are split into halves; more rows would change little and cost much."""

CLOUD_ROWS = 4000
"""Rows of the Gaussian cloud whose variances are fitted to the data."""

CLOUD_EACH = 6
"""A cloud is split at each of so many smallest k, and at every third of the others."""

NEAREST_ROWS, NEAREST_AXES, NEAREST_CLOUDS = 2000, 12, 4
"""The test for structure: number of rows, of principal axes, and of clouds to compare with."""

STRUCTURE = 0.09
"""The data has groups if its nearest rows are nearer than those of a cloud by more than this share.
All kinds of clouds that were tried stay below it, labelled text sets of 200 rows and more above."""

PAIR = 0.95
"""Two groups are considered only from this agreement on: halves of any long cloud agree on where to cut it in two."""

CLEAR_SCORE = 0.6
"""The data also has groups if the score of some k is above this: few, wide groups have no near rows."""

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
        Numbers of groups: 2 if it is clear, each from 3 to 32, then steps of 20 %.
    halves : ndarray of float
        Agreement of two halves of the data: the adjusted mutual information, 1 is perfect.
    null : ndarray of float
        The same for Gaussian clouds of the size and the spectrum of the data.
    score : ndarray of float
        The agreement that the null does not explain: ``(halves - null) / (1 - null)``, averaged over the numbers of
        principal axes. Scores of different data sets cannot be compared.
    nearness : float
        How much nearer the nearest rows are to each other than in such a cloud, as a share of what is possible.
        Near 0 or below, the data has no groups, unless there are few, wide ones.

    Examples
    --------
    >>> import numpy as np, textspectra as ts
    >>> agreement = ts.estimate_k(np.repeat(np.eye(8), 20, axis=0)).agreement
    >>> [(int(k), round(float(score), 2)) for k, score in zip(agreement.k, agreement.score)][-1]
    (8, 1.0)
    """

    k: NDArray[np.intp]
    halves: NDArray[np.float64]
    null: NDArray[np.float64]
    score: NDArray[np.float64]
    nearness: float


class ReproducibleEstimate(NamedTuple):
    """The reproducible k, the same from bootstrap samples of the splits, the evidence, and the rows of a sample."""

    k: int
    replicates: NDArray[np.intp]
    agreement: Agreement
    n_rows: int


def reproducible_k(
    rows: CountedRows, rng: np.random.Generator, *, n_jobs: int | None = None
) -> ReproducibleEstimate | None:
    """Find the granularity that two halves of the data agree on; None if no two groups can be told apart.

    The rows are taken as directions from their mean, on 12 to 48 principal axes. At each k, two halves of them are
    clustered and compared (:func:`half_agreement`), and so are halves of Gaussian clouds of the same size and spectrum.
    :func:`read_curve` reads k off the difference. Copies of a row do not count: halves that both have a row agree on it
    as a group of its own.
    """
    once = rows.once()
    rows = once if len(once) >= FEWEST_ROWS else rows
    size = min(len(rows), MAX_ROWS)
    # As a task, which has one BLAS thread: with more, the result would depend on the machine.
    view = rows.map(_first_view, [(rows.positions(size, rng),)], n_jobs=1)[0]
    if view is None:
        return None
    ks = _granularities(view.n)
    n_axes = sorted({min(n_axes, view.basis.axes.shape[1]) for n_axes in AXES})
    splits, nulls = (
        np.array(found).reshape(len(n_axes), -1, len(ks))
        for found in (
            rows.map(_split_agreement, _split_requests(rows, size, view, n_axes, ks, rng), n_jobs=n_jobs),
            rows.run(_cloud_agreement, _cloud_tasks(rows, size, view, n_axes, ks, rng), n_jobs=n_jobs),
        )
    )
    distinct = ~np.isnan(splits).any(axis=(0, 1)) & ~np.isnan(nulls).any(axis=(0, 1))
    distinct &= (ks > 2) | (splits.mean(axis=(0, 1)) >= PAIR)
    if not distinct.any():
        return None
    ks, splits, nulls = ks[distinct], splits[..., distinct], nulls[..., distinct]
    nearness = _nearness(rows, view, rng)
    score = _score(splits, nulls)
    k = read_curve(ks, score) if nearness > STRUCTURE or score.max() > CLEAR_SCORE else 1
    again = [
        read_curve(ks, _score(_resample(splits, rng), _resample(nulls, rng))) for _ in range(RESAMPLES if k > 1 else 0)
    ]
    return ReproducibleEstimate(
        k,
        np.array(again or [1], np.intp),
        Agreement(ks, splits.mean(axis=(0, 1)), nulls.mean(axis=(0, 1)), score, nearness),
        view.n,
    )


def _granularities(n: int) -> NDArray[np.intp]:
    """Return the k to look at: each up to 32, then steps of 20 %, down to about 16 rows per group."""
    highest = max(n // 16, min(16, n // 4))
    fine = 32 * 1.2 ** np.arange(1, 20)
    ks = np.concatenate([np.arange(2, 33), fine.round().astype(np.intp)])
    return ks[ks <= highest]


class Basis(NamedTuple):
    """The mean of unit rows, and the principal axes of their directions from it."""

    mean: NDArray[np.float32]
    axes: NDArray[np.float32]


class View(NamedTuple):
    """How rows are seen: how many a sample has, whether copies of rows are among them, and on which axes."""

    n: int
    copies: bool
    basis: Basis

    def points(self, units: NDArray[np.float32], n_axes: int) -> NDArray[np.float32]:
        """Return the rows of a sample that are compared, on some of the axes."""
        return projected(units if self.copies else distinct_rows(units), self.basis, n_axes)


def _first_view(units: NDArray[np.float32]) -> View | None:
    distinct = distinct_rows(units)
    copies = len(distinct) < FEWEST_ROWS
    rows = units if copies else distinct
    basis = principal_axes(rows)
    return None if basis is None else View(len(rows), copies, basis)


def principal_axes(units: NDArray[np.float32]) -> Basis | None:
    """Return the mean of the rows, and the leading principal axes of their directions from it."""
    mean = units.mean(axis=0)
    centred = units - mean
    if np.abs(centred).max() < ROUNDING:
        return None
    directions = _directions(centred)
    variance, axes = np.linalg.eigh((directions.T @ directions).astype(np.float64))
    leading = axes[:, ::-1][:, : min(max(AXES), int((variance > 1e-6 * variance[-1]).sum()))]
    return Basis(mean, np.ascontiguousarray(leading, np.float32))


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
        for own in rng.spawn(SPLITS // len(n_axes)):
            yield rows.positions(size, own), view, axes, ks, own


def _split_agreement(
    units: NDArray[np.float32], view: View, n_axes: int, ks: NDArray[np.intp], rng: np.random.Generator
) -> NDArray[np.float64]:
    points = view.points(units, n_axes)
    return half_agreement(points[rng.permutation(len(points))], ks, rng)


def _cloud_tasks(
    rows: CountedRows, size: int, view: View, n_axes: list[int], ks: NDArray[np.intp], rng: np.random.Generator
) -> Iterator[tuple[Any, ...]]:
    drawn = [(rows.positions(size, rng), view, axes, rng.standard_normal((CLOUD_ROWS, axes))) for axes in n_axes]
    spectra = rows.map(_spectrum, (request[:3] for request in drawn), n_jobs=1)
    for (*_, cloud), target in zip(drawn, spectra, strict=True):
        scale = _matching_scale(target, cloud)
        for own in rng.spawn(NULL_SPLITS // len(n_axes)):
            yield view.n, scale, ks, own


def _cloud_agreement(
    n: int, scale: NDArray[np.float64], ks: NDArray[np.intp], rng: np.random.Generator
) -> NDArray[np.float64]:
    # Beyond a few groups this is a smooth function of k, so it is measured at every third k.
    some = np.unique([*range(min(CLOUD_EACH, len(ks))), *range(CLOUD_EACH, len(ks), 3), len(ks) - 1])
    found = half_agreement(_directions(rng.standard_normal((n, len(scale))) * scale), ks[some], rng)
    return np.interp(np.log(ks), np.log(ks[some]), found)


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


def _score(splits: NDArray[np.float64], nulls: NDArray[np.float64]) -> NDArray[np.float64]:
    null = np.minimum(nulls.mean(axis=1), 0.99)
    score: NDArray[np.float64] = ((splits.mean(axis=1) - null) / (1 - null)).mean(axis=0)
    return score
