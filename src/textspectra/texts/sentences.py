"""The verdict on a result, its levels and its changes in plain words; command and page share these sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core.estimate import GIVEN, WEAK, KEstimate, Suggestion, SuggestionName
from ..hygiene import plural
from .clustered import EDITED, ClusteredTexts
from .details import name_period
from .shares import FEWEST_VOLUMES, LEVEL
from .tally import Tally, Trends, by_segment

LOOSE = 1.1  # groups with a Cohesion Ratio below this are hardly better than random groups
_TOO_FEW = 20  # different texts: with fewer, nothing can be said about groups
_HOLDING_RATIOS, _HOLDING_SCORES, _HOLDING_SILHOUETTES = (1.5, 2.5), (0.55, 0.7), (0.02, 0.1)  # and holding well
_STRONGEST, _LEFTOVERS = 3, 5  # changes that are put into words, and loose groups that are named


def verdict(
    result: ClusteredTexts, silhouette: float | None, *, k: int | None = None, ratio: float | None = None,
    compared: bool = False,
) -> str:  # fmt: skip
    """Say how far the groups of a result can be trusted, in one sentence.

    With `k`, it is about the cut of the tree into `k` groups, and `silhouette` and `ratio` are of these groups. If the
    texts were `compared` with a model, their number does not matter: nothing was estimated from them.
    """
    if k is None:
        k, ratio = result.n_clusters, result.cohesion.ratio if result.cohesion else None
    # Halves of the texts were compared on the groups that were found, and not on groups that were edited.
    estimate = None if result.recipe.get("groups") == EDITED else result.k_estimate
    error = result.cohesion.standard_error if result.cohesion and k == result.n_clusters else 0.0
    worth = worth_in_words(ratio, k, error=error, score=score_at(estimate, k), silhouette=silhouette)
    return overriding_doubt(result, compared=compared) or worth


def overriding_doubt(result: ClusteredTexts, *, compared: bool = False) -> str:
    """Say why the groups of a result mean little, however good they look; an empty string otherwise."""
    if result.language_doubt or compared:
        return result.language_doubt
    return without_clusters(result.totals.grouped, result.totals.distinct, estimated=result.is_estimated)


def without_clusters(rows: int, distinct: int, *, estimated: bool) -> str:
    """Say why there are too few different texts among the grouped rows; an empty string if there are enough."""
    if distinct == 1:
        return "There is only one text." if rows == 1 else "All texts are the same."
    if estimated and distinct < _TOO_FEW:
        return f"{distinct} different texts are too few to find groups."
    return ""


def worth_in_words(
    ratio: float | None, k: int, *, error: float = 0.0, score: float | None = None, silhouette: float | None = None
) -> str:
    """Say how good `k` groups are, in one sentence: the verdict, its reasons, and the numbers in brackets.

    `ratio` is the Cohesion Ratio (None if it is not defined), and `error` its standard error; `score` says how well two
    halves of the texts agree on `k` groups (:func:`score_at`).
    """
    if ratio is None:
        return "No two texts are alike, so the Cohesion Ratio is not defined."
    if k == 1:
        return "There is only one group, so its Cohesion Ratio is 1."
    number = f"Cohesion Ratio {ratio:.2f}" + (f" ± {2 * error:.2f}" if error > 0.005 else "")
    if ratio < LOOSE:
        return f"Do not rely on these groups: texts of one group are hardly more alike than any two texts ({number})."
    evidence = [(_HOLDING_RATIOS, ratio), (_HOLDING_SCORES, score), (_HOLDING_SILHOUETTES, silhouette)]
    # The weakest evidence decides.
    strength = min(sum(value >= step for step in steps) for steps, value in evidence if value is not None)
    reasons = [f"two texts of one group are {ratio:.1f} times as alike as any two texts ({number})"]
    doubts: list[str] = []
    if score is not None:
        agree = f"two halves of the texts agree {_agreement(score)} on {k} groups ({score:.2f} of 1)"
        (reasons if _agreement(score) == "well" else doubts).append(agree)
    if silhouette is not None:
        few, many = _HOLDING_SILHOUETTES
        share = "most" if silhouette >= many else "many" if silhouette < few else "some"
        near = "nearest to their own group" if share == "most" else "as near to another group"
        (reasons if share == "most" else doubts).append(f"{share} texts are {near} (silhouette {silhouette:.2f})")
    hold = ("are loose", "hold together", "hold together well")[strength]
    but = f", but {_listed(doubts, ', and')}" if doubts else ""
    return f"The groups {hold}: {_listed(reasons, ', and' if len(reasons) > 2 else ' and')}{but}."


def score_at(estimate: KEstimate | None, k: int) -> float | None:
    """Return how well two halves of the texts agree on `k` groups; None if they were not compared."""
    curve = None if estimate is None else estimate.agreement
    if curve is None or not curve.k[0] <= k <= curve.k[-1]:
        return None
    # Above 8, not every k was tried.
    return float(np.interp(np.log(k), np.log(curve.k), np.clip(curve.halves, 0, 1)))


def doubt_about_k(method: str | None, k: int, confidence: float) -> str:
    """Say why the number of groups is not reliable; an empty string if it is."""
    if method == "reproducible" and k == 1:
        return "The texts have no structure: they form one cloud, without groups that could be told apart."
    if method == "reproducible" and confidence < WEAK:
        return (
            "The number of groups is a rough guess: others explain the texts about as well "
            f"(confidence {confidence:.2f} of 1)."
        )
    if method == "spectral" and k > 1 and confidence < 0.5:
        return "The spectrum shows no clear number of groups; the number is a default, not a finding."
    return ""


def leftovers_in_words(names: Sequence[str]) -> str:
    """Say which groups are loose; an empty string if there are none."""
    if not names:
        return ""
    which = plural(len(names), "group is a leftover", "groups are leftovers")
    more = ", …" if len(names) > _LEFTOVERS else ""
    return f"{which} without a common theme: {', '.join(names[:_LEFTOVERS])}{more}"


def level_in_words(name: SuggestionName, score: float) -> str:
    """Say what a level of the estimate is for, and how well two halves of the texts agree on it."""
    meanings: dict[SuggestionName, str] = {
        "coarse": "Broad themes, for an overview.",
        "suggested": "As fine as the texts support.",
        "fine": "More detail: themes in their parts.",
    }
    return f"{meanings[name]} Two halves of the texts agree {_agreement(score)}."


def shown_in_words(k: int, levels: Sequence[int]) -> str:
    """Say how many groups the result has, and how many the other levels have."""
    others = {"Broader": [str(n) for n in levels if n < k], "Finer": [str(n) for n in levels if n > k]}
    also = [f"{word}: {_listed(numbers, ' or')}." for word, numbers in others.items() if numbers]
    return " ".join([f"You see {k} {'group' if k == 1 else 'groups'}.", *also])


def levels_in_words(suggestions: Sequence[Suggestion]) -> str:
    """Say which numbers of groups are worth a look, and how well two halves of the texts agree on each."""
    by_word: dict[str, list[str]] = {"well": [], "only in part": [], "poorly": []}
    for suggestion in suggestions:
        by_word[_agreement(suggestion.score)].append(str(suggestion.k))
    numbers = _listed([str(suggestion.k) for suggestion in suggestions], " or")
    if len(by_word["poorly"]) == len(suggestions):
        return (
            f"None of {numbers} groups is reliable." if len(suggestions) > 1 else f"{numbers} groups are not reliable."
        )
    agree = ", ".join(f"{word} on {_listed(ks, ' and')}" for word, ks in by_word.items() if ks)
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
    return f"{asked}Plausible range {low} to {high}: 95 % of the estimates from the spectra of {source}."


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


def _agreement(score: float) -> str:
    """Say how well two halves of the texts agree."""
    return "well" if score >= 0.7 else "only in part" if score >= 0.5 else "poorly"


def _listed(words: Sequence[str], last: str) -> str:
    """Join words by commas, and the last one by a word."""
    return f"{last} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _rest(number: int, singular: str, several: str) -> list[str]:
    return [f"and {plural(number, f'more {singular}', f'more {several}')}"] if number > 0 else []


def _percent(share: float) -> str:
    """Return a share in percent with two digits."""
    percent = 100 * float(share)
    return f"{percent:.0f} %" if percent >= 9.95 or percent == 0 else f"{percent:.2g} %"
