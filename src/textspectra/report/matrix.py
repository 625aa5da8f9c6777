"""The similarity matrix of a sample of texts, as in Appendix B of the paper."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays.rows import take_units
from ..granularity.laplacian import cosine_graph
from .shown import Shown

SIDE = 240
"""Number of texts in the sample."""

Z_LIMIT = 4.0
"""Standard deviations above the mean at the end of the colour scale."""


class SimilarityMatrix(NamedTuple):
    """Cosines of sampled texts, and the same z-scored and rectified, as shades from 0 to 255."""

    positions: NDArray[np.intp]  # of the texts, ascending, so that the groups of every cut lie along the diagonal
    low: float  # the cosine at shade 0 of `raw`
    high: float  # the cosine at shade 255
    raw: NDArray[np.uint8]
    rectified: NDArray[np.uint8]  # shade 255 is Z_LIMIT


def similarity_matrix(X: NDArray[Any], shown: Shown) -> SimilarityMatrix:
    """Draw a sample of the shown texts and compare them."""
    n = len(shown.order)
    positions = np.arange(n) if n <= SIDE else np.sort(np.random.default_rng(0).choice(n, SIDE, replace=False))
    units = take_units(X, shown.order[positions])
    cosines = units @ units.T
    # The diagonal is 1. The scale leaves it out, to show more of the differences between texts.
    different = cosines[~np.eye(len(cosines), dtype=bool)]
    low, high = (float(x) for x in np.quantile(different, [0.01, 0.999])) if len(different) else (0.0, 1.0)
    rectified = cosine_graph(units, zscore=True) / Z_LIMIT
    return SimilarityMatrix(positions, low, high, _shades((cosines - low) / max(high - low, 1e-6)), _shades(rectified))


def _shades(shares: NDArray[np.float32]) -> NDArray[np.uint8]:
    return np.clip(shares * 255, 0, 255).round().astype(np.uint8)
