"""Say in plain words how far a result can be trusted. The page and the command line share these sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..granularity.estimate import KEstimate, Suggestion
    from ..metrics.cohesion import CohesionReport

LOOSE = 1.1
"""A Cohesion Ratio below this is hardly above that of random groups."""

STRENGTHS = ("are loose", "hold together", "hold together well")
HOLDING_RATIOS, HOLDING_SCORES, HOLDING_SILHOUETTES = (1.5, 2.5), (0.4, 0.55), (0.02, 0.1)
"""From which Cohesion Ratio, score and silhouette on groups hold together, and hold together well."""

FAINT = 0.25
"""Below this score, two halves of the texts hardly agree, and the number of groups is a guess."""

CLEAR = 0.55
"""From this score on, two halves of the texts agree well."""

WORDS = ("well", "in part", "hardly")
"""How well two halves agree, in words: from CLEAR on, from FAINT on, and below."""


def cohesion_in_words(ratio: float, score: float | None = None, silhouette: float | None = None) -> str:
    """Say what a Cohesion Ratio means. The verdict weighs the score of the estimate and the silhouette, where given.

    Examples
    --------
    >>> cohesion_in_words(2.04)
    'two texts of one group are 2.0 times as alike as any two texts. The groups hold together.'
    >>> cohesion_in_words(2.04, score=0.34, silhouette=0.01)
    'two texts of one group are 2.0 times as alike as any two texts. The groups are loose: agreement of halves 0.34 \
of 1, silhouette 0.01.'
    >>> cohesion_in_words(1.02)
    'texts of one group are hardly more alike than any two texts. Do not rely on these groups.'
    """
    if ratio < LOOSE:
        return "texts of one group are hardly more alike than any two texts. Do not rely on these groups."
    evidence = [(HOLDING_RATIOS, ratio), (HOLDING_SCORES, score), (HOLDING_SILHOUETTES, silhouette)]
    # The weakest evidence decides.
    strength = STRENGTHS[min(sum(value >= one for one in steps) for steps, value in evidence if value is not None)]
    also = [f"agreement of halves {score:.2f} of 1"] if score is not None else []
    also += [f"silhouette {silhouette:.2f}"] if silhouette is not None else []
    details = f": {', '.join(also)}" if also else ""
    return f"two texts of one group are {ratio:.1f} times as alike as any two texts. The groups {strength}{details}."


def worth_in_words(
    cohesion: CohesionReport | None, estimate: KEstimate | None = None, silhouette: float | None = None
) -> str:
    """Say how good a grouping is."""
    if cohesion is None:
        return "No two texts are alike, so there is no Cohesion Ratio."
    if len(cohesion.per_cluster) == 1:
        return "There is only one group, so its Cohesion Ratio is 1."
    error = f" ± {2 * cohesion.standard_error:.2f}" if cohesion.standard_error > 0.005 else ""
    shown = len(cohesion.per_cluster)
    levels = estimate.suggestions if estimate and estimate.method == "reproducible" else ()
    score = next((level.score for level in levels if level.k == shown), None)
    return f"Cohesion Ratio {cohesion.ratio:.2f}{error}: {cohesion_in_words(cohesion.ratio, score, silhouette)}"


def doubt_about_k(method: str | None, k: int, confidence: float) -> str:
    """Say why the number of groups is not to be trusted; an empty string if there is no reason.

    Examples
    --------
    >>> doubt_about_k("reproducible", 7, 0.1)
    'Two halves of the texts hardly agree on any groups (score 0.10 of 1): take the groups as a rough sketch.'
    >>> doubt_about_k("reproducible", 7, 0.9)
    ''
    """
    if method == "reproducible" and k == 1:
        return "There is no structure: the texts form one cloud, without groups that could be told apart."
    if method == "reproducible" and confidence < FAINT:
        return (
            f"Two halves of the texts hardly agree on any groups (score {confidence:.2f} of 1): take the groups as a "
            "rough sketch."
        )
    if method == "spectral" and k > 1 and confidence < 0.5:
        return "The spectrum shows no clear number of groups; the number is a default, not a finding."
    return ""


def levels_in_words(suggestions: Sequence[Suggestion], shown: int) -> str:
    """Say which numbers of groups are worth a look, how well two halves of the texts agree on each, and which is shown.

    Examples
    --------
    >>> from textspectra.granularity.estimate import Suggestion
    >>> levels_in_words([Suggestion("suggested", 8, 0.71), Suggestion("fine", 38, 0.3)], 8)
    'About 8 or 38 groups, depending on how fine you want it; shown: 8. Two halves of the texts agree well on 8, in \
part on 38.'
    """
    ks = [str(one.k) for one in suggestions]
    by_word = {
        word: [k for k, one in zip(ks, suggestions, strict=True) if word == _agreement(one.score)] for word in WORDS
    }
    agree = ", ".join(f"{word} on {_listed(found, 'and')}" for word, found in by_word.items() if found)
    choice = f", depending on how fine you want it; shown: {shown}" if len(ks) > 1 else ""
    return f"About {_listed(ks, 'or')} groups{choice}. Two halves of the texts agree {agree}."


def _agreement(score: float) -> str:
    return WORDS[0] if score >= CLEAR else WORDS[1] if score >= FAINT else WORDS[2]


def _listed(words: list[str], last: str) -> str:
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def estimate_in_words(estimate: KEstimate | None, shown: int) -> str:
    """Say which numbers of groups are plausible, and why, if some number of them is shown.

    Examples
    --------
    >>> import numpy as np, textspectra as ts
    >>> estimate_in_words(ts.estimate_k(np.repeat(np.eye(8), 20, axis=0), random_state=0), 8)
    'About 3 or 8 groups, depending on how fine you want it; shown: 8. Two halves of the texts agree well on 8, hardly \
on 3.'
    >>> estimate_in_words(None, 8)
    'The number of groups was given.'
    """
    if estimate is None:
        return "The number of groups was given."
    doubt = doubt_about_k(estimate.method, estimate.k, estimate.confidence)
    if doubt:
        return doubt
    if estimate.spectrum is None:
        return levels_in_words(estimate.suggestions, shown)
    low, high = estimate.interval
    size, rows = len(estimate.spectrum.eigenvalues), estimate.n_samples
    source = f"all {rows:,} texts" if size == rows else f"random samples of {size:,} texts"
    return f"Plausible range {low} to {high}: 95 % of the estimates from the spectra of {source}."
