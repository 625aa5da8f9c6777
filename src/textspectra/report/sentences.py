"""Say in plain words how far a result can be trusted. The page and the command line share these sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..granularity.estimate import WEAK

if TYPE_CHECKING:
    from ..granularity.estimate import KEstimate, Suggestion, SuggestionName

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


def without_groups(rows: int, distinct: int, *, estimated: bool) -> str:
    """Say why there is nothing to say about groups; an empty string if there is.

    `rows` are the texts that have a group, and `distinct` the different ones among them. A number of groups that was
    given is not doubted.

    Examples
    --------
    >>> without_groups(5000, 1, estimated=True), without_groups(3, 3, estimated=True)
    ('All texts are the same.', '3 different texts are too few to find groups.')
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

    Examples
    --------
    >>> worth_in_words(2.04, 8)
    'The groups hold together: two texts of one group are 2.0 times as alike as any two texts (Cohesion Ratio 2.04).'
    >>> worth_in_words(2.04, 8, score=0.54, silhouette=0.01)
    'The groups are loose: two texts of one group are 2.0 times as alike as any two texts (Cohesion Ratio 2.04), but \
two halves of the texts agree only in part on 8 groups (0.54 of 1), and many texts are as near to another group \
(silhouette 0.01).'
    >>> worth_in_words(1.02, 8)
    'Do not rely on these groups: texts of one group are hardly more alike than any two texts (Cohesion Ratio 1.02).'
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
    """Return how well two halves of the texts agree on `k` groups; None where they were not compared.

    Examples
    --------
    >>> import numpy as np, textspectra as ts
    >>> estimate = ts.estimate_k(np.repeat(np.eye(8), 20, axis=0), random_state=0)
    >>> score_at(estimate, 8), score_at(estimate, 9)
    (1.0, None)
    """
    curve = None if estimate is None else estimate.agreement
    if curve is None or not curve.k[0] <= k <= curve.k[-1]:
        return None
    # Above 8, not every k was tried.
    return float(np.interp(np.log(k), np.log(curve.k), np.clip(curve.halves, 0, 1)))


def doubt_about_k(method: str | None, k: int, confidence: float) -> str:
    """Say why the number of groups is not to be trusted; an empty string if there is no reason.

    Examples
    --------
    >>> doubt_about_k("reproducible", 7, 0.1)
    'The number of groups is a rough guess: others explain the texts about as well (confidence 0.10 of 1).'
    >>> doubt_about_k("reproducible", 7, 0.9)
    ''
    """
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
    """Say what a level of the estimate is for, and how well two halves of the texts agree on it.

    Examples
    --------
    >>> level_in_words("coarse", 0.72)
    'Broad themes, for an overview. Two halves of the texts agree well.'
    """
    return f"{MEANINGS[name]} Two halves of the texts agree {AGREEMENT[_agreement(score)]}."


def shown_in_words(k: int, levels: Sequence[int]) -> str:
    """Say how many groups are shown, and how many the other levels have.

    Examples
    --------
    >>> shown_in_words(22, [10, 22, 48])
    'You see 22 groups. Broader: 10. Finer: 48.'
    >>> shown_in_words(10, [10, 22, 48])
    'You see 10 groups. Finer: 22 or 48.'
    """
    others = {"Broader": [str(one) for one in levels if one < k], "Finer": [str(one) for one in levels if one > k]}
    also = [f"{word}: {_listed(numbers, 'or')}." for word, numbers in others.items() if numbers]
    return " ".join([f"You see {k} {'group' if k == 1 else 'groups'}.", *also])


def levels_in_words(suggestions: Sequence[Suggestion]) -> str:
    """Say which numbers of groups are worth a look, and how well two halves of the texts agree on each.

    Examples
    --------
    >>> from textspectra.granularity.estimate import Suggestion
    >>> levels_in_words([Suggestion("suggested", 8, 0.71), Suggestion("fine", 18, 0.6)])
    'About 8 or 18 groups, depending on how fine you want it. Two halves of the texts agree well on 8, in part on 18.'
    """
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
    """Join words by commas, and the last one by a word.

    Examples
    --------
    >>> _listed(["6", "14", "32"], "or"), _listed(["this", "that"], ", and")
    ('6, 14 or 32', 'this, and that')
    """
    joint = last if last.startswith(",") else f" {last}"
    return f"{joint} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def estimate_in_words(estimate: KEstimate | None, given: int) -> str:
    """Say which numbers of groups are plausible, and why; `given` is the number that is shown.

    Examples
    --------
    >>> import numpy as np, textspectra as ts
    >>> estimate_in_words(ts.estimate_k(np.repeat(np.eye(8), 20, axis=0), random_state=0), 8)
    'About 4 or 8 groups, depending on how fine you want it. Two halves of the texts agree well on 8, hardly on 4.'
    >>> estimate_in_words(None, 8)
    'The number of groups was given: 8.'
    """
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
