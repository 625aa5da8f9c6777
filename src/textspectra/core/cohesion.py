"""The Cohesion Ratio: how much more alike rows are inside clusters than overall."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from ..errors import UserError
from . import F32, F64, Ints, Rows
from .rows import ALL_ROWS, map_members, sums_and_sizes, take_units
from .validation import RandomState, check_labeled, make_generator

LOOSE = 1.1  # clusters with a ratio below this are hardly better than random groups
LEAST_SIMILARITY = 1e-6  # a mean similarity below this is taken for rounding in float32
# Up to this many rows, the negative cosines of all pairs are summed; in larger sets, pairs are sampled. Inside
# clusters, too, all pairs are summed up to the same number; the largest clusters are sampled first.
ALL_PAIRS_ROWS = 4096
BATCHES = 256  # of pairs drawn from all rows, and from all sampled clusters together
CLUSTER_BATCHES = 16  # each sampled cluster gets at least this many batches
BATCH_SIDE = 64  # a batch has all pairs between this many random rows and as many others


class NoBackgroundError(UserError):
    """No two rows are alike, so the Cohesion Ratio is not defined."""


@dataclass(frozen=True)
class ClusterCohesion:
    """One cluster of a :class:`CohesionReport`."""

    label: Hashable
    size: int  # number of rows
    similarity: float  # mean of its pairs of rows; for a single row, the mean of all pairs of the data
    ratio: float  # the similarity, divided by the mean of all pairs of the data


@dataclass(frozen=True)
class CohesionReport:
    """The Cohesion Ratio of a clustering and its parts.

    Attributes
    ----------
    mu_global : float
        Mean similarity of all unordered pairs of rows.
    mu_intra : float
        Mean similarity of all unordered pairs inside clusters; a cluster of one row counts as one pair of value
        `mu_global`.
    ratio : float
        ``mu_intra / mu_global``. Random groups have 1; above 1, rows of one cluster are more alike than others.
    log_ratio : float
        Its natural logarithm. The paper reads it as the pointwise mutual information of "two texts are alike" and
        "they share a cluster".
    standard_error : float
        Standard error of `ratio`, from sampling pairs; 0 if all pairs were used.
    n_singletons : int
        Number of clusters of one row.
    per_cluster : tuple of ClusterCohesion
        In ascending order of numeric labels, otherwise in order of first appearance.

    Examples
    --------
    >>> import textspectra as ts
    >>> report = ts.cohesion_report([[1, 0], [1, 0], [0, 1], [0, 1]], [0, 0, 1, 1])
    >>> round(report.ratio, 6), [cluster.size for cluster in report.per_cluster]
    (3.0, [2, 2])
    """

    mu_global: float
    mu_intra: float
    ratio: float
    log_ratio: float
    standard_error: float
    n_singletons: int
    per_cluster: tuple[ClusterCohesion, ...] = field(repr=False)


def cohesion_ratio(
    X: ArrayLike, labels: ArrayLike | Sequence[Hashable], *, rectify: bool = True, random_state: RandomState = 0
) -> float:
    """Score a clustering without ground truth: the mean similarity inside clusters, relative to all pairs.

    Parameters
    ----------
    X : array-like or Dask array of shape (n, d)
        Embeddings.
    labels : sequence or Dask array of n hashable values
        The cluster of each row. -1 is a label like any other.
    rectify : bool, default=True
        Count negative cosines as 0, as the paper does. Without it, the result is exact at any n.
    random_state : int, RandomState, Generator or None, default=0
        The seed for sampling pairs, see :func:`cohesion_report`. None is a random seed.

    Returns
    -------
    float

    See Also
    --------
    cohesion_report : The parts of the ratio, and the cohesion of each cluster.
    evaluate : Every metric of a clustering.

    Examples
    --------
    >>> import textspectra as ts
    >>> X = [[1, 0], [1, 0.1], [0, 1], [0.1, 1]]
    >>> round(ts.cohesion_ratio(X, ["a", "a", "b", "b"]), 2)
    2.5
    >>> round(ts.cohesion_ratio(X, ["a", "b", "a", "b"]), 2)
    0.25
    """
    return cohesion_report(X, labels, rectify=rectify, random_state=random_state).ratio


def cohesion_report(
    X: ArrayLike, labels: ArrayLike | Sequence[Hashable], *, rectify: bool = True, random_state: RandomState = 0
) -> CohesionReport:
    """Compute the Cohesion Ratio with its parts, overall and for each cluster.

    The sum of the cosines of all pairs of m unit rows is ``(‖Σx‖² - m) / 2``, so one pass over `X` is enough for all
    clusters. With `rectify`, the sum of the negative cosines is subtracted. It is exact in sets of up to 4,096 rows.
    In larger sets it is estimated from a million random pairs of all rows and as many inside clusters, with a
    `standard_error`.

    Parameters
    ----------
    X, labels, rectify, random_state
        As in :func:`cohesion_ratio`.

    Returns
    -------
    CohesionReport

    See Also
    --------
    cohesion_ratio : The ratio alone.

    Examples
    --------
    >>> import textspectra as ts
    >>> X = [[1, 0], [1, 0.1], [0, 1], [0.1, 1]]
    >>> [cluster.size for cluster in ts.cohesion_report(X, ["a", "a", "a", "b"]).per_cluster]
    [3, 1]
    """
    X, codes, names = check_labeled(X, labels)
    return _report(X, codes, names, rectify, random_state)


def _report(
    X: Rows,
    codes: Rows,
    names: Sequence[Hashable],
    rectify: bool,
    random_state: RandomState,
    known: tuple[F64, Ints] | None = None,
) -> CohesionReport:
    sums, sizes = known or sums_and_sizes(X, codes, len(names))
    means = linear_means(np.vstack([sums.sum(axis=0), sums]), np.append(len(X), sizes))
    errors = np.zeros(len(means))
    if rectify:
        negatives, errors = _negative_means(X, codes, sizes, means, make_generator(random_state))
        means = means - negatives
    mu_global = float(means[0])
    if mu_global < LEAST_SIMILARITY:
        raise NoBackgroundError(
            f"The mean similarity of all pairs is {mu_global:.3g}, so a ratio to it means nothing. "
            + ("No two rows of X point the same way." if rectify else "Use rectify=True, which counts negatives as 0.")
        )
    similarity = np.where(sizes > 1, means[1:], mu_global)
    weights = n_pairs(sizes) + (sizes == 1)
    weights /= weights.sum()
    mu_intra = float(weights @ similarity)
    ratio = mu_intra / mu_global
    intra_error = math.sqrt(float(weights**2 @ (errors[1:] ** 2)))
    return CohesionReport(
        mu_global=mu_global,
        mu_intra=mu_intra,
        ratio=ratio,
        log_ratio=math.log(ratio) if ratio > 0 else -math.inf,
        standard_error=math.hypot(intra_error, ratio * float(errors[0])) / mu_global,
        n_singletons=int((sizes == 1).sum()),
        per_cluster=tuple(
            ClusterCohesion(name, int(size), float(value), float(value / mu_global))
            for name, size, value in zip(names, sizes, similarity, strict=True)
        ),
    )


def report_if_defined(
    X: Rows, codes: Rows, n_codes: int, *, random_state: RandomState, known: tuple[F64, Ints] | None = None
) -> CohesionReport | None:
    """Return the report for the clusters 0 to `n_codes` - 1, or None if there is only one row or no two are alike."""
    if len(X) < 2:
        return None
    try:
        return _report(X, codes, range(n_codes), True, random_state, known)
    except NoBackgroundError:
        return None


def n_pairs(sizes: Ints) -> F64:
    """Return the number of unordered pairs in sets of these sizes."""
    return sizes * (sizes - 1.0) / 2


def linear_means(sums: F64, sizes: Ints | int) -> F64:
    """Return the mean cosine of the pairs of each set, from the sum of its unit rows; 0 for a single row."""
    doubled_pairs = np.maximum(sizes * (np.asarray(sizes) - 1.0), 1)
    return np.asarray(((sums**2).sum(axis=-1) - sizes) / doubled_pairs)


def _negative_means(X: Rows, codes: Rows, sizes: Ints, linear_means: F64, rng: Generator) -> tuple[F64, F64]:
    """Return the mean of ``min(cosine, 0)`` of the pairs of all rows and of each cluster, and standard errors."""
    pairs = n_pairs(sizes)
    smallest_first = np.argsort(sizes, kind="stable")
    sampled = np.empty(len(sizes), bool)
    sampled[smallest_first] = np.cumsum(pairs[smallest_first]) > ALL_PAIRS_ROWS * (ALL_PAIRS_ROWS - 1) / 2
    sampled &= pairs > CLUSTER_BATCHES * BATCH_SIDE**2  # below that, a sample has more pairs than the cluster
    share = pairs / max(pairs[sampled].sum(), 1)
    n_batches = np.maximum(CLUSTER_BATCHES, np.ceil(BATCHES * share)).astype(int)
    sets = [(ALL_ROWS, len(X), BATCHES if len(X) > ALL_PAIRS_ROWS else 0)]
    if len(sizes) > 1:  # a single cluster has all rows, so it must get the same sample
        sets += zip(range(len(sizes)), sizes.tolist(), np.where(sampled, n_batches, 0).tolist(), strict=True)
    draws = [_pair_draws(size, n, rng) for _, size, n in sets]
    requests = [(code, *draw) for (code, _, _), of_set in zip(sets, draws, strict=True) for draw in of_set]
    parts = iter(map_members(_pair_means, X, codes, len(sizes), requests))
    results = [
        _summary([next(parts) for _ in of_set], mean)
        for of_set, mean in zip(draws, linear_means.tolist(), strict=False)
    ]
    means, errors = np.array(results if len(sizes) > 1 else results * 2).T
    return means, errors


def negative_mean(X: Rows, rows: Ints, linear_mean: float, n_batches: int, rng: Generator) -> tuple[float, float]:
    """Return the mean of ``min(cosine, 0)`` of the pairs of the given rows, and its standard error."""
    draws = _pair_draws(len(rows), n_batches if len(rows) > ALL_PAIRS_ROWS else 0, rng)
    return _summary([_pair_means(take_units(X, rows[positions]), n) for positions, n in draws], linear_mean)


def _pair_draws(m: int, n_batches: int, rng: Generator) -> list[tuple[Ints, int]]:
    """Return positions among `m` rows, and how many batches of pairs they form; 0 stands for all pairs."""
    if m < 2:
        return []
    if not n_batches:
        return [(np.arange(m), 0)]
    stream = rng.spawn(1)[0]
    batches = [stream.choice(m, 2 * BATCH_SIDE, replace=False) for _ in range(n_batches)]
    together = [batches[start : start + CLUSTER_BATCHES] for start in range(0, n_batches, CLUSTER_BATCHES)]
    return [(np.concatenate(part), len(part)) for part in together]


def _pair_means(units: F32, n_batches: int) -> F64:
    """Return the means of the cosine and of ``min(cosine, 0)`` of each batch; of all pairs, only the latter."""
    if not n_batches:
        total, step = 0.0, 512
        for start in range(0, len(units), step):
            negatives = np.minimum(units[start : start + step] @ units[start:].T, 0)
            met_twice = negatives[:, : len(negatives)]
            total += float(negatives.sum(dtype=np.float64)) - float(met_twice.sum(dtype=np.float64)) / 2
        return np.array([[total / (len(units) * (len(units) - 1) / 2)]])
    sides = units.reshape(n_batches, 2, BATCH_SIDE, -1)
    cosines = (sides[:, 0] @ sides[:, 1].transpose(0, 2, 1)).reshape(n_batches, -1)
    return np.stack([cosines.mean(axis=1), np.minimum(cosines, 0).mean(axis=1)], axis=1, dtype=np.float64)


def _summary(parts: list[F64], linear_mean: float) -> tuple[float, float]:
    """Return the mean of ``min(cosine, 0)`` of a set of rows and its standard error, from its batches."""
    if not parts:
        return 0.0, 0.0
    if parts[0].shape[1] == 1:
        return float(parts[0][0, 0]), 0.0
    cosine, negative = np.concatenate(parts).T
    # The mean cosine is known exactly. A regression on it removes the part of the error that it explains.
    centered = cosine - cosine.mean()
    slope = float(centered @ negative) / max(float(centered @ centered), np.finfo(float).tiny)
    residuals = negative - slope * (cosine - linear_mean)
    return min(0.0, float(residuals.mean())), float(residuals.std()) / math.sqrt(len(residuals))
