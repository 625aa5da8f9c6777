"""Turn measurements into verdicts, by the same few rules for all claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from .wording import NOT_ENOUGH

Verdict = Literal["holds", "holds in part", "does not hold", "not enough data"]

RULES = (
    "A claim with several parts, or about several cases, holds if all of them are true, and in part if at least half "
    "are. A claim about most cases holds if more than half are true, and in part if at least a third are. A claim "
    "about some cases holds if one is true. The column “Holds if” defines words such as “strong”, “close” or “rare”. "
    "The rules were fixed before the numbers were known, with exceptions that were made when part of the numbers was "
    "known: claims that compare the six algorithms use only blocks in which all six have numbers; the terms of the "
    "divergence are judged where the paper says that the first dominates; “tend to” means most cases; the range of ρ "
    "assumes similarities in [0, 1], as the paper does; the gain in speed is judged by the formulas as well; the "
    "contrast leaves out the similarity of a row to itself; the mutual information is exact instead of one random "
    "draw; and clusters of one row are judged by how they change the ρ of the other rows. Three claims were added at "
    "that point: the error of k over sizes, Affinity Propagation by completeness, and the time with many clusters."
)


class Outcome(NamedTuple):
    """The verdict on a claim.

    Attributes
    ----------
    verdict : str
    measured : str
        The numbers behind it, in one line.
    basis : str
        The datasets and models behind it.
    """

    verdict: Verdict
    measured: str
    basis: str


def unknown(why: str = NOT_ENOUGH) -> Outcome:
    """Return the outcome of a claim without enough data."""
    return Outcome("not enough data", why, "")


def all_of(parts: Sequence[bool]) -> Verdict:
    """Judge a claim of which all parts should be true.

    Examples
    --------
    >>> all_of([True, True]), all_of([True, False]), all_of([False, False]), all_of([])
    ('holds', 'holds in part', 'does not hold', 'not enough data')
    """
    if not parts:
        return "not enough data"
    return _graded(sum(parts) == len(parts), 2 * sum(parts) >= len(parts))


def most_of(parts: Sequence[bool]) -> Verdict:
    """Judge a claim about most cases.

    Examples
    --------
    >>> most_of([True, True, False]), most_of([True, False, False]), most_of([False])
    ('holds', 'holds in part', 'does not hold')
    """
    if not parts:
        return "not enough data"
    return _graded(2 * sum(parts) > len(parts), 3 * sum(parts) >= len(parts))


def some_of(parts: Sequence[bool]) -> Verdict:
    """Judge a claim about some cases.

    Examples
    --------
    >>> some_of([False, True]), some_of([False])
    ('holds', 'does not hold')
    """
    return _graded(any(parts), False) if parts else "not enough data"


def within(value: float, limit: float, wider: float) -> Verdict:
    """Judge a claim that a difference is small.

    Examples
    --------
    >>> within(0.05, 0.1, 0.2), within(0.15, 0.1, 0.2), within(0.5, 0.1, 0.2)
    ('holds', 'holds in part', 'does not hold')
    """
    return _graded(value <= limit, value <= wider)


def _graded(full: bool, partial: bool) -> Verdict:
    if full:
        return "holds"
    return "holds in part" if partial else "does not hold"
