"""From what was measured to a verdict, by three rules that are the same for all claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from .wording import NOT_ENOUGH

Verdict = Literal["holds", "holds in part", "does not hold", "not enough data"]

RULES = (
    "A claim that consists of several parts, or is made for several cases, holds if all of them do, and in part if at "
    "least half do. A claim about most cases holds if more than half do, and in part if at least a third do. A claim "
    "about some cases holds if one does. What counts as “strong”, “close” or “rare” is written beside the claim. The "
    "rules were fixed before there were numbers."
)


class Outcome(NamedTuple):
    """What was measured for a claim.

    Attributes
    ----------
    verdict : str
    measured : str
        In one line.
    basis : str
        On what data and models.
    """

    verdict: Verdict
    measured: str
    basis: str


def unknown(why: str = NOT_ENOUGH) -> Outcome:
    """Return the outcome of a claim for which there is not enough data."""
    return Outcome("not enough data", why, "")


def all_of(parts: Sequence[bool]) -> Verdict:
    """Judge a claim of which every part should hold.

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
