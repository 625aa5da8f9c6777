"""The strongest changes over time and the strongest effects of segments, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..metrics.shares import FEWEST_VOLUMES
from .clustered import ClusteredTexts
from .periods import name_period
from .tally import Tally
from .trends import LEVEL, Changes, by_segment, find_changes

STRONGEST = 3
"""Changes that are put into words, and effects of each segment."""


def changes_in_words(result: ClusteredTexts, most: int = STRONGEST) -> list[str]:
    """Return sentences about the number of texts, about the groups that change, the surest first, and what was tested.

    Examples
    --------
    >>> import textspectra as ts
    >>> texts = ["a b", "x y"] * 60
    >>> days = ["2025-01-01"] * 30 + ["2025-02-01"] * 30 + ["2025-03-01"] * 30 + ["2025-04-01"] * 30
    >>> X = [[1, 0], [0, 1]] * 60
    >>> for line in changes_in_words(ts.cluster_texts(texts, embeddings=X, n_clusters=2, time=days, every="month")):
    ...     print(line)
    Texts per month: 30.
    No significant change in the share of any group, Jan to Apr 2025.
    Tested: trends, bursts and any other difference between months, for 2 groups; corrected for the number of tests.
    """
    tally = result.tally
    if tally is None or tally.every is None or len(tally.periods) < 2:
        return []
    changes = find_changes(tally)
    changed = [group for group, kind in enumerate(changes.kind) if kind != "steady"]
    changed.sort(key=lambda group: (changes.p[group], -abs(changes.after[group] - changes.before[group])))
    lines = [f"{result.topics[group].name}: {change_in_words(changes, group, tally)}" for group in changed[:most]]
    if not changed:
        span = name_period(tally.periods[0], tally.periods[-1], tally.every)
        lines = [f"No significant change in the share of any group, {span}."]
    lines += _rest(len(changed) - most, "group changes", "groups change")
    return [*volume_in_words(changes, tally, most), *lines, note_on_tests(tally)]


def change_in_words(changes: Changes, group: int, tally: Tally) -> str:
    """Say how a group changes, with the counts that its shares are made of."""
    assert tally.every is not None  # noqa: S101 - for the type checker
    start, end = changes.start[group], changes.end[group]
    span = name_period(start, end, tally.every)
    before = f"{_percent(changes.before[group])} ({changes.texts_before[group]:,} of {changes.total_before[group]:,}"
    after = f"{_percent(changes.after[group])} ({changes.texts_after[group]:,} of {changes.total_after[group]:,}"
    kind = changes.kind[group]
    if kind == "burst":
        return f"burst, {span}: {after} texts), otherwise {before})"
    if kind == "uneven":
        low, high = (name_period(day, day, tally.every) for day in (start, end))
        return f"uneven, from {before} texts, {low}) to {after}, {high})"
    return f"{kind} from {before} texts, first third) to {after}, last third), {span}"


def ends_in_words(changes: Changes, group: int) -> str:
    """Return the two shares of a group that changes, with the numbers of its texts, as short as a card needs it."""
    before = f"{_percent(changes.before[group])} ({changes.texts_before[group]:,})"
    return f"{before} → {_percent(changes.after[group])} ({changes.texts_after[group]:,})"


def volume_in_words(changes: Changes, tally: Tally, most: int = STRONGEST) -> list[str]:
    """Say how many texts the periods have, and which of them have far more or fewer than usual."""
    assert tally.every is not None  # noqa: S101 - for the type checker
    totals, usual = tally.by_period.sum(axis=0), changes.usual
    low, high, middle = totals.min(), totals.max(), np.median(totals)
    per = f"Texts per {tally.every}: "
    lines = [per + (f"{low:,}." if low == high else f"{low:,} to {high:,} (median {middle:,.0f}).")]
    unusual = np.flatnonzero(changes.volume != "usual")
    away = np.abs(np.log((totals + 1) / (usual + 1)))
    for period in unusual[np.lexsort((-away[unusual], changes.volume[unusual] == "fewer"))][:most]:
        name = name_period(tally.periods[period], tally.periods[period], tally.every)
        n, times = int(totals[period]), totals[period] / max(usual[period], 1)
        compared = f"{times:.1f} times" if times < 9.95 else f"{times:.0f} times"
        text = "text" if n == 1 else "texts"
        than = (
            f"{compared} the usual {usual[period]:,.0f}" if n > usual[period] else f"usually about {usual[period]:,.0f}"
        )
        # Files seldom begin and end where a period does.
        edge = n < usual[period] and period in (0, len(totals) - 1)
        lines.append(f"{name}: {n:,} {text}, {than}{' (it may be incomplete)' if edge else ''}")
    return [*lines, *_rest(len(unusual) - most, *_unusual(tally.every))]


def _unusual(every: str) -> tuple[str, str]:
    return f"{every} with an unusual number of texts", f"{every}s with an unusual number of texts"


def note_on_tests(tally: Tally) -> str:
    """Say what was tested, so that nobody takes silence for more than it is."""
    k, n_periods = tally.by_period.shape
    groups = "1 group" if k == 1 else f"{k:,} groups"
    other = f", bursts and any other difference between {tally.every}s" if n_periods > 2 else ""
    volume = f", and the number of texts per {tally.every}" if n_periods >= FEWEST_VOLUMES else ""
    return f"Tested: trends{other}, for {groups}{volume}; corrected for the number of tests."


def segments_in_words(result: ClusteredTexts, most: int = 1) -> list[str]:
    """Return sentences for the strongest effects of each segment, over-represented groups first.

    Examples
    --------
    >>> import textspectra as ts
    >>> texts, channels = ["a b", "x y"] * 60, ["web", "phone"] * 60
    >>> segments_in_words(
    ...     ts.cluster_texts(texts, embeddings=[[1, 0], [0, 1]] * 60, n_clusters=2, by={"channel": channels})
    ... )
    ['b: 100 % (60 of 60) of texts with channel web, 50 % (60 of 120) overall', 'and 3 more differences by channel']
    """
    lines: list[str] = []
    for name in result.tally.segments if result.tally else ():
        assert result.tally is not None  # noqa: S101 - for the type checker
        table = by_segment(result.tally, name)
        with np.errstate(divide="ignore"):
            sure = np.where(table["lift"] > 1, np.log2(table["lift_low"]), -np.log2(table["lift_high"]))
        # Where a group is frequent is more useful to know than where it is rare.
        order = np.lexsort((-sure, table["lift"] <= 1))
        different = [int(row) for row in order if table["p"][row] < LEVEL]
        for row in different[:most]:
            group = result.topics[table["group"][row]].name
            counts = result.tally.segments[name].counts
            here = f"{_percent(table['share'][row])} ({table['texts'][row]:,} of {table['total'][row]:,})"
            size, everything = counts[table["group"][row]].sum(), counts.sum()
            overall = f"{_percent(table['overall'][row])} ({size:,} of {everything:,})"
            lines.append(f"{group}: {here} of texts with {name} {table['value'][row]}, {overall} overall")
        lines += _rest(len(different) - most, f"difference by {name}", f"differences by {name}")
        if not different:
            lines.append(f"No significant difference by {name} in any group.")
    return lines


def _rest(number: int, one: str, several: str) -> Sequence[str]:
    if number < 1:
        return []
    return [f"and {number:,} more {one if number == 1 else several}"]


def _percent(share: float) -> str:
    """Return a share in per cent with two digits.

    Examples
    --------
    >>> [_percent(share) for share in (0.5, 0.031, 0.0004, 0)]
    ['50 %', '3.1 %', '0.04 %', '0 %']
    """
    percent = 100 * float(share)
    return f"{percent:.0f} %" if percent >= 9.95 or percent == 0 else f"{percent:.2g} %"
