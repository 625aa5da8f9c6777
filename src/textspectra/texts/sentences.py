"""The levels of a result and its changes in plain words; command and page share these sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core.estimate import GIVEN, KEstimate, Suggestion, SuggestionName
from ..hygiene import plural
from .clustered import ClusteredTexts
from .details import name_period
from .shares import FEWEST_VOLUMES, LEVEL
from .tally import Tally, Trends, by_segment
from .verdict import agreement_in_words, doubt_about_k, listed

_STRONGEST = 3  # changes that are put into words


def level_in_words(name: SuggestionName, score: float) -> str:
    """Say what a level of the estimate is for, and how well two halves of the texts agree on it."""
    meanings: dict[SuggestionName, str] = {
        "coarse": "Broad themes, for an overview.",
        "suggested": "As fine as the texts support.",
        "fine": "More detail: themes in their parts.",
    }
    return f"{meanings[name]} Two halves of the texts agree {agreement_in_words(score)}."


def shown_in_words(k: int, levels: Sequence[int]) -> str:
    """Say how many groups the result has, and how many the other levels have."""
    others = {"Broader": [str(n) for n in levels if n < k], "Finer": [str(n) for n in levels if n > k]}
    also = [f"{word}: {listed(numbers, ' or')}." for word, numbers in others.items() if numbers]
    return " ".join([f"You see {k} {'group' if k == 1 else 'groups'}.", *also])


def levels_in_words(suggestions: Sequence[Suggestion]) -> str:
    """Say which numbers of groups are worth a look, and how well two halves of the texts agree on each."""
    by_word: dict[str, list[str]] = {"well": [], "only in part": [], "poorly": []}
    for suggestion in suggestions:
        by_word[agreement_in_words(suggestion.score)].append(str(suggestion.k))
    numbers = listed([str(suggestion.k) for suggestion in suggestions], " or")
    if len(by_word["poorly"]) == len(suggestions):
        return (
            f"None of {numbers} groups is reliable." if len(suggestions) > 1 else f"{numbers} groups are not reliable."
        )
    agree = ", ".join(f"{word} on {listed(ks, ' and')}" for word, ks in by_word.items() if ks)
    choice = ", depending on how fine you want it" if len(suggestions) > 1 else ""
    return f"About {numbers} groups{choice}. Two halves of the texts agree {agree}."


def estimate_in_words(estimate: KEstimate | None, given: int) -> str:
    """Say which numbers of groups are plausible, and why; `given` is the number of groups of the result."""
    if estimate is None:
        return f"The number of groups was given: {given}."
    doubt = doubt_about_k(estimate.method, estimate.k, estimate.confidence)
    asked = "" if any(level.k == given for level in estimate.suggestions) else f"You asked for {given}. "
    if estimate.method.startswith(GIVEN):
        return f"{asked}The number of groups was {estimate.method}: {estimate.k}."
    if estimate.spectrum is None:
        if estimate.k == 1:
            return doubt
        return f"{asked}{levels_in_words(estimate.suggestions)} {doubt}".strip()
    if doubt:
        return doubt
    low, high = estimate.interval
    size, rows = len(estimate.spectrum.eigenvalues), estimate.n_samples
    source = f"all {rows:,} texts" if size == rows else f"random samples of {size:,} texts"
    return f"{asked}Plausible range {low} to {high}: 95% of the estimates from the spectra of {source}."


def trends_in_words(result: ClusteredTexts) -> list[str]:
    """Return sentences on volume, on the groups that change (the most certain first), and on the tests."""
    tally = result.tally
    if tally is None or tally.every is None or len(tally.periods) < 2:
        return []
    trends = tally.trends
    changed = [cluster for cluster, kind in enumerate(trends.kind) if kind != "steady"]
    changed.sort(key=lambda cluster: (trends.p[cluster], -abs(trends.after[cluster] - trends.before[cluster])))
    lines = [f"{result.clusters[cluster].name}: {change_in_words(trends, cluster, tally)}" for cluster in changed]
    if not changed:
        span = name_period(tally.periods[0], tally.periods[-1], tally.every)
        lines = [f"No significant change in the share of any group, {span}."]
    rest = _rest(len(changed) - _STRONGEST, "group changes", "groups change")
    return [*volume_in_words(trends, tally), *lines[:_STRONGEST], *rest, note_on_tests(tally)]


def change_in_words(trends: Trends, cluster: int, tally: Tally) -> str:
    """Say how a group changes, with the counts behind its shares."""
    assert tally.every is not None  # noqa: S101 - for the type checker
    start, end, kind = trends.start[cluster], trends.end[cluster], trends.kind[cluster]
    span = name_period(start, end, tally.every)
    before = f"{_percent(trends.before[cluster])} ({trends.texts_before[cluster]:,} of {trends.total_before[cluster]:,}"
    after = f"{_percent(trends.after[cluster])} ({trends.texts_after[cluster]:,} of {trends.total_after[cluster]:,}"
    if kind == "burst":
        return f"burst, {span}: {after} texts), otherwise {before})"
    if kind == "uneven":
        low, high = (name_period(day, day, tally.every) for day in (start, end))
        return f"uneven, from {before} texts, {low}) to {after}, {high})"
    return f"{kind} from {before} texts, first third) to {after}, last third), {span}"


def ends_in_words(trends: Trends, cluster: int) -> str:
    """Return the two shares of a group that changes, with its numbers of texts, short enough for a card."""
    before = f"{_percent(trends.before[cluster])} ({trends.texts_before[cluster]:,})"
    return f"{before} → {_percent(trends.after[cluster])} ({trends.texts_after[cluster]:,})"


def volume_in_words(trends: Trends, tally: Tally) -> list[str]:
    """Say how many texts the periods have, and which of them have far more or fewer than usual."""
    every = tally.every
    assert every is not None  # noqa: S101 - for the type checker
    totals = tally.by_period.sum(axis=0)
    low, high, middle = totals.min(), totals.max(), np.median(totals)
    lines = [f"Texts per {every}: " + (f"{low:,}." if low == high else f"{low:,} to {high:,} (median {middle:,.0f}).")]
    unusual = np.flatnonzero(trends.volume != "usual")
    away = np.abs(np.log((totals + 1) / (trends.usual + 1)))
    for period in unusual[np.lexsort((-away[unusual], trends.volume[unusual] == "fewer"))][:_STRONGEST]:
        name = name_period(tally.periods[period], tally.periods[period], every)
        n, usual = int(totals[period]), trends.usual[period]
        times = n / max(usual, 1)
        digits = 1 if times < 9.95 else 0
        than = f"{times:.{digits}f} times the usual {usual:,.0f}" if n > usual else f"usually about {usual:,.0f}"
        # Files seldom begin and end at the border of a period.
        edge = " (it may be incomplete)" if n < usual and period in (0, len(totals) - 1) else ""
        lines.append(f"{name}: {plural(n, 'text')}, {than}{edge}")
    of = "with an unusual number of texts"
    return [*lines, *_rest(len(unusual) - _STRONGEST, f"{every} {of}", f"{every}s {of}")]


def note_on_tests(tally: Tally) -> str:
    """Name the tests, so that readers know what silence means."""
    k, n_periods = tally.by_period.shape
    other = f", bursts and any other difference between {tally.every}s" if n_periods > 2 else ""
    volume = f", and the number of texts per {tally.every}" if n_periods >= FEWEST_VOLUMES else ""
    return f"Tested: trends{other}, for {plural(k, 'group')}{volume}; corrected for the number of tests."


def segments_in_words(result: ClusteredTexts) -> list[str]:
    """Return a sentence for the strongest effect of each segment, preferably an over-represented group."""
    tally, lines = result.tally, []
    if tally is None:
        return []
    for name, (_, counts) in tally.segments.items():
        table = by_segment(tally, name)
        with np.errstate(divide="ignore"):
            sure = np.where(table["lift"] > 1, np.log2(table["lift_low"]), -np.log2(table["lift_high"]))
        # A high share is more useful to know than a low one.
        order = np.lexsort((-sure, table["lift"] <= 1))
        different = [int(row) for row in order if table["p"][row] < LEVEL]
        for row in different[:1]:
            cluster = table["group"][row]
            here = f"{_percent(table['share'][row])} ({table['texts'][row]:,} of {table['total'][row]:,})"
            overall = f"{_percent(table['overall'][row])} ({counts[cluster].sum():,} of {counts.sum():,}) overall"
            of = f"of texts with {name} {table['value'][row]}"
            lines.append(f"{result.clusters[cluster].name}: {here} {of}, {overall}")
        lines += _rest(len(different) - 1, f"difference by {name}", f"differences by {name}")
        if not different:
            lines.append(f"No significant difference by {name} in any group.")
    return lines


def _rest(number: int, singular: str, several: str) -> list[str]:
    return [f"and {plural(number, f'more {singular}', f'more {several}')}"] if number > 0 else []


def _percent(share: float) -> str:
    """Return a share in percent with two digits."""
    percent = 100 * float(share)
    return f"{percent:.0f}%" if percent >= 9.95 or percent == 0 else f"{percent:.2g}%"
