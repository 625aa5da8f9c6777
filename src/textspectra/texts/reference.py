"""The sample of its vectors that a model keeps, so that new texts can be compared with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays.rows import take_units
from ..clustering.novelty import REFERENCE_ROWS, Known
from .embedded import EmbeddedTexts

if TYPE_CHECKING:
    from .clustered import ClusteredTexts

LEAST = 10
"""Texts of each group in the sample, or all that it has."""


class Reference(NamedTuple):
    """Positions of distinct texts, and their vectors, scaled to length 1.

    Examples
    --------
    >>> import textspectra as ts
    >>> result = ts.cluster_texts(["a", "b"], embeddings=[[3, 0], [0, 1]], n_clusters=2)
    >>> draw_reference(result.embedded(), result.distinct_codes).units
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """

    positions: NDArray[np.intp]
    units: NDArray[np.float32]


def known_rows(model: ClusteredTexts) -> Known:
    """Return the rows of a model that new texts are compared with."""
    reference = model.reference or draw_reference(model.embedded(), model.distinct_codes)
    return Known(reference.units, model.distinct_codes[reference.positions], model.n_clusters)


def draw_reference(texts: EmbeddedTexts, codes: NDArray[np.intp]) -> Reference:
    """Draw the sample from all texts of a model; `codes` are the groups of the distinct texts (-1: none)."""
    positions = _drawn(texts.counting, codes[texts.counting])
    return Reference(positions, take_units(texts.X, positions))


def extend_reference(known: Reference, n_known: int, new: Reference, codes: NDArray[np.intp]) -> Reference:
    """Join the sample of `n_known` texts with all of some new texts, and draw again if there are too many.

    `codes` are the groups of all distinct texts. Old and new texts keep their proportion.
    """
    rng = np.random.default_rng(0)
    share = min(1.0, REFERENCE_ROWS / (n_known + len(new.positions)))
    kept = np.sort(rng.permutation(len(known.positions))[: max(round(share * n_known), 1)])
    chosen = np.searchsorted(new.positions, _drawn(new.positions, codes[new.positions], share))
    # A group of which no old text is left keeps a few.
    kept = np.union1d(kept, np.flatnonzero(is_among_first(codes[known.positions], LEAST)))
    return Reference(
        np.concatenate([known.positions[kept], new.positions[chosen]]),
        np.concatenate([known.units[kept], new.units[chosen]]),
    )


def _drawn(positions: NDArray[np.intp], codes: NDArray[np.intp], share: float | None = None) -> NDArray[np.intp]:
    """Draw positions at random, with the first few of each group among them."""
    share = min(1.0, REFERENCE_ROWS / max(len(positions), 1)) if share is None else share
    chosen = np.random.default_rng(0).random(len(positions)) < share
    drawn: NDArray[np.intp] = positions[chosen | is_among_first(codes, LEAST)]
    return drawn


def is_among_first(codes: NDArray[np.intp], n: int) -> NDArray[np.bool_]:
    """Tell whether each entry is among the first `n` of its code.

    Examples
    --------
    >>> is_among_first(np.array([0, 1, 0, 0]), 2)
    array([ True,  True,  True, False])
    """
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.searchsorted(ordered, ordered)
    first = np.zeros(len(codes), bool)
    first[order] = np.arange(len(codes)) - starts < n
    return first
