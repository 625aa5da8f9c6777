"""The strongest changes over time and the strongest effects of segments, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .clustered import ClusteredTexts
from .periods import name_period
from .trends import LEVEL, by_segment, find_changes

STRONGEST = 3
"""Changes that are put into words, and effects of each segment."""


def changes_in_words(result: ClusteredTexts, most: int = STRONGEST) -> list[str]:
    """Return a sentence for each of the strongest changes, the surest first; one that says so if there are none.

    Examples
    --------
    >>> import textspectra as ts
    >>> texts = ["a b", "x y"] * 60
    >>> days = ["2025-01-01"] * 30 + ["2025-02-01"] * 30 + ["2025-03-01"] * 30 + ["2025-04-01"] * 30
    >>> X = [[1, 0], [0, 1]] * 60
    >>> changes_in_words(ts.cluster_texts(texts, embeddings=X, n_clusters=2, time=days, every="month"))
    ['No group changes more from Jan to Apr 2025 than by chance.']
    """
    tally = result.tally
    if tally is None or tally.every is None or len(tally.periods) < 2:
        return []
    found = find_changes(tally)
    changed = [group for group, kind in enumerate(found.kind) if kind != "steady"]
    changed.sort(key=lambda group: (found.p[group], -abs(found.after[group] - found.before[group])))
    if not changed:
        span = name_period(tally.periods[0], tally.periods[-1], tally.every)
        return [f"No group changes more from {span} than by chance."]
    lines = []
    for group in changed[:most]:
        span = name_period(found.start[group], found.end[group], tally.every)
        before, after = _percent(found.before[group]), _percent(found.after[group])
        name = result.topics[group].name
        if found.kind[group] == "burst":
            lines.append(f"{name}: a burst of {after} of texts ({span}), {before} otherwise")
        else:
            lines.append(f"{name}: {before} to {after} of texts, {span}")
    return [*lines, *_rest(len(changed) - most, "group changes", "groups change")]


def segments_in_words(result: ClusteredTexts, most: int = 1) -> list[str]:
    """Return sentences for the strongest effects of each segment, over-represented groups first.

    Examples
    --------
    >>> import textspectra as ts
    >>> texts, channels = ["a b", "x y"] * 60, ["web", "phone"] * 60
    >>> segments_in_words(
    ...     ts.cluster_texts(texts, embeddings=[[1, 0], [0, 1]] * 60, n_clusters=2, by={"channel": channels})
    ... )
    ['b: 100 % of texts with channel web, 50 % overall', 'and 3 more differences by channel']
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
            share, overall = _percent(table["share"][row]), _percent(table["overall"][row])
            lines.append(f"{group}: {share} of texts with {name} {table['value'][row]}, {overall} overall")
        lines += _rest(len(different) - most, f"difference by {name}", f"differences by {name}")
        if not different:
            lines.append(f"No group differs by {name} more than by chance.")
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
