"""Say in plain words how far a result can be trusted. The page and the command line share these sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..core.estimate import WEAK
from .clustered import ClusteredTexts
from .details import name_period
from .shares import FEWEST_VOLUMES
from .tally import Tally
from .trends import LEVEL, Changes, by_segment, find_changes

if TYPE_CHECKING:
    from ..core.estimate import KEstimate, Suggestion, SuggestionName

LOOSE = 1.1
"""A Cohesion Ratio below this is hardly above that of random groups."""

STRENGTHS = ("are loose", "hold together", "hold together well")
HOLDING_RATIOS, HOLDING_SCORES, HOLDING_SILHOUETTES = (1.5, 2.5), (0.55, 0.7), (0.02, 0.1)
"""From which Cohesion Ratio, score and silhouette on groups hold together, and hold together well."""

FAINT, CLEAR = 0.5, 0.7
"""Below the first agreement, two halves of the texts hardly agree; at the second or above, they agree well."""

WORDS = ("well", "in part", "hardly")
"""How well two halves agree, in words: at CLEAR or above, between, and below FAINT."""

AGREEMENT = {"well": "well", "in part": "only in part", "hardly": "hardly"}
"""The same in a sentence about one number of groups."""

TOO_FEW = 20
"""With fewer different texts, nothing can be said about groups."""

MEANINGS: dict[SuggestionName, str] = {
    "coarse": "Broad themes, for an overview.",
    "suggested": "As fine as the texts support.",
    "fine": "More detail: themes in their parts.",
}
"""What each level of the estimate is for."""


def without_clusters(rows: int, distinct: int, *, estimated: bool) -> str:
    """Say why there is nothing to say about groups; an empty string if there is.

    `rows` are the texts that have a group, and `distinct` the different ones among them. A number of groups that was
    given is not doubted.
    """
    if distinct == 1:
        return "There is only one text." if rows == 1 else "All texts are the same."
    if estimated and distinct < TOO_FEW:
        return f"{distinct} different texts are too few to find groups."
    return ""


def worth_in_words(
    ratio: float | None,
    k: int,
    *,
    error: float = 0.0,
    score: float | None = None,
    silhouette: float | None = None,
) -> str:
    """Say how good `k` groups are, in one sentence: the verdict, what it rests on, and the numbers in brackets.

    Parameters
    ----------
    ratio : float or None
        The Cohesion Ratio; None if it is not defined.
    k : int
        Number of groups.
    error : float
        The standard error of the ratio.
    score : float, optional
        How well two halves of the texts agree on `k` groups (:func:`score_at`).
    silhouette : float, optional
        The mean silhouette.
    """
    if ratio is None:
        return "No two texts are alike, so there is no Cohesion Ratio."
    if k == 1:
        return "There is only one group, so its Cohesion Ratio is 1."
    number = f"Cohesion Ratio {ratio:.2f}" + (f" ± {2 * error:.2f}" if error > 0.005 else "")
    if ratio < LOOSE:
        return f"Do not rely on these groups: texts of one group are hardly more alike than any two texts ({number})."
    evidence = [(HOLDING_RATIOS, ratio), (HOLDING_SCORES, score), (HOLDING_SILHOUETTES, silhouette)]
    # The weakest evidence decides.
    strength = STRENGTHS[min(sum(value >= one for one in steps) for steps, value in evidence if value is not None)]
    reasons = [f"two texts of one group are {ratio:.1f} times as alike as any two texts ({number})"]
    doubts: list[str] = []
    if score is not None:
        agree = f"two halves of the texts agree {AGREEMENT[_agreement(score)]} on {k} groups ({score:.2f} of 1)"
        (reasons if score >= CLEAR else doubts).append(agree)
    if silhouette is not None:
        few, many = HOLDING_SILHOUETTES
        share = "most" if silhouette >= many else "many" if silhouette < few else "some"
        near = "nearest to their own group" if share == "most" else "as near to another group"
        (reasons if share == "most" else doubts).append(f"{share} texts are {near} (silhouette {silhouette:.2f})")
    but = f", but {_listed(doubts, ', and')}" if doubts else ""
    return f"The groups {strength}: {_listed(reasons, ', and' if len(reasons) > 2 else 'and')}{but}."


def score_at(estimate: KEstimate | None, k: int) -> float | None:
    """Return how well two halves of the texts agree on `k` groups; None where they were not compared."""
    curve = None if estimate is None else estimate.agreement
    if curve is None or not curve.k[0] <= k <= curve.k[-1]:
        return None
    # Above 8, not every k was tried.
    return float(np.interp(np.log(k), np.log(curve.k), np.clip(curve.halves, 0, 1)))


def doubt_about_k(method: str | None, k: int, confidence: float) -> str:
    """Say why the number of groups is not to be trusted; an empty string if there is no reason."""
    if method == "reproducible" and k == 1:
        return "There is no structure: the texts form one cloud, without groups that could be told apart."
    if method == "reproducible" and confidence < WEAK:
        return (
            "The number of groups is a rough guess: others explain the texts about as well "
            f"(confidence {confidence:.2f} of 1)."
        )
    if method == "spectral" and k > 1 and confidence < 0.5:
        return "The spectrum shows no clear number of groups; the number is a default, not a finding."
    return ""


def level_in_words(name: SuggestionName, score: float) -> str:
    """Say what a level of the estimate is for, and how well two halves of the texts agree on it."""
    return f"{MEANINGS[name]} Two halves of the texts agree {AGREEMENT[_agreement(score)]}."


def shown_in_words(k: int, levels: Sequence[int]) -> str:
    """Say how many groups are shown, and how many the other levels have."""
    others = {"Broader": [str(one) for one in levels if one < k], "Finer": [str(one) for one in levels if one > k]}
    also = [f"{word}: {_listed(numbers, 'or')}." for word, numbers in others.items() if numbers]
    return " ".join([f"You see {k} {'group' if k == 1 else 'groups'}.", *also])


def levels_in_words(suggestions: Sequence[Suggestion]) -> str:
    """Say which numbers of groups are worth a look, and how well two halves of the texts agree on each."""
    ks = [str(one.k) for one in suggestions]
    by_word = {
        word: [k for k, one in zip(ks, suggestions, strict=True) if word == _agreement(one.score)] for word in WORDS
    }
    agree = ", ".join(f"{word} on {_listed(found, 'and')}" for word, found in by_word.items() if found)
    choice = ", depending on how fine you want it" if len(ks) > 1 else ""
    return f"About {_listed(ks, 'or')} groups{choice}. Two halves of the texts agree {agree}."


def _agreement(score: float) -> str:
    return WORDS[0] if score >= CLEAR else WORDS[1] if score >= FAINT else WORDS[2]


def _listed(words: list[str], last: str) -> str:
    """Join words by commas, and the last one by a word."""
    joint = last if last.startswith(",") else f" {last}"
    return f"{joint} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def estimate_in_words(estimate: KEstimate | None, given: int) -> str:
    """Say which numbers of groups are plausible, and why; `given` is the number that is shown."""
    if estimate is None:
        return f"The number of groups was given: {given}."
    doubt = doubt_about_k(estimate.method, estimate.k, estimate.confidence)
    if estimate.spectrum is None:
        if estimate.k == 1:
            return doubt
        asked = "" if any(one.k == given for one in estimate.suggestions) else f"You asked for {given}. "
        return f"{asked}{levels_in_words(estimate.suggestions)} {doubt}".strip()
    if doubt:
        return doubt
    low, high = estimate.interval
    size, rows = len(estimate.spectrum.eigenvalues), estimate.n_samples
    source = f"all {rows:,} texts" if size == rows else f"random samples of {size:,} texts"
    return f"Plausible range {low} to {high}: 95 % of the estimates from the spectra of {source}."


STRONGEST = 3
"""Changes that are put into words, and effects of each segment."""


def changes_in_words(result: ClusteredTexts, most: int = STRONGEST) -> list[str]:
    """Return sentences on volume, on the groups that change (the most certain first), and on what was tested."""
    tally = result.tally
    if tally is None or tally.every is None or len(tally.periods) < 2:
        return []
    changes = find_changes(tally)
    changed = [cluster for cluster, kind in enumerate(changes.kind) if kind != "steady"]
    changed.sort(key=lambda cluster: (changes.p[cluster], -abs(changes.after[cluster] - changes.before[cluster])))
    lines = [
        f"{result.clusters[cluster].name}: {change_in_words(changes, cluster, tally)}" for cluster in changed[:most]
    ]
    if not changed:
        span = name_period(tally.periods[0], tally.periods[-1], tally.every)
        lines = [f"No significant change in the share of any group, {span}."]
    lines += _rest(len(changed) - most, "group changes", "groups change")
    return [*volume_in_words(changes, tally, most), *lines, note_on_tests(tally)]


def change_in_words(changes: Changes, cluster: int, tally: Tally) -> str:
    """Say how a group changes, with the counts that its shares are made of."""
    assert tally.every is not None  # noqa: S101 - for the type checker
    start, end = changes.start[cluster], changes.end[cluster]
    span = name_period(start, end, tally.every)
    before = (
        f"{_percent(changes.before[cluster])} ({changes.texts_before[cluster]:,} of {changes.total_before[cluster]:,}"
    )
    after = f"{_percent(changes.after[cluster])} ({changes.texts_after[cluster]:,} of {changes.total_after[cluster]:,}"
    kind = changes.kind[cluster]
    if kind == "burst":
        return f"burst, {span}: {after} texts), otherwise {before})"
    if kind == "uneven":
        low, high = (name_period(day, day, tally.every) for day in (start, end))
        return f"uneven, from {before} texts, {low}) to {after}, {high})"
    return f"{kind} from {before} texts, first third) to {after}, last third), {span}"


def ends_in_words(changes: Changes, cluster: int) -> str:
    """Return the two shares of a group that changes, with the numbers of its texts, as short as a card needs it."""
    before = f"{_percent(changes.before[cluster])} ({changes.texts_before[cluster]:,})"
    return f"{before} → {_percent(changes.after[cluster])} ({changes.texts_after[cluster]:,})"


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
    clusters = "1 group" if k == 1 else f"{k:,} groups"
    other = f", bursts and any other difference between {tally.every}s" if n_periods > 2 else ""
    volume = f", and the number of texts per {tally.every}" if n_periods >= FEWEST_VOLUMES else ""
    return f"Tested: trends{other}, for {clusters}{volume}; corrected for the number of tests."


def segments_in_words(result: ClusteredTexts, most: int = 1) -> list[str]:
    """Return sentences for the strongest effects of each segment, over-represented groups first."""
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
            cluster = result.clusters[table["group"][row]].name
            counts = result.tally.segments[name].counts
            here = f"{_percent(table['share'][row])} ({table['texts'][row]:,} of {table['total'][row]:,})"
            size, everything = counts[table["group"][row]].sum(), counts.sum()
            overall = f"{_percent(table['overall'][row])} ({size:,} of {everything:,})"
            lines.append(f"{cluster}: {here} of texts with {name} {table['value'][row]}, {overall} overall")
        lines += _rest(len(different) - most, f"difference by {name}", f"differences by {name}")
        if not different:
            lines.append(f"No significant difference by {name} in any group.")
    return lines


def _rest(number: int, one: str, several: str) -> Sequence[str]:
    if number < 1:
        return []
    return [f"and {number:,} more {one if number == 1 else several}"]


def _percent(share: float) -> str:
    """Return a share in per cent with two digits."""
    percent = 100 * float(share)
    return f"{percent:.0f} %" if percent >= 9.95 or percent == 0 else f"{percent:.2g} %"
