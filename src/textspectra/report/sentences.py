"""Say in plain words how far a result can be trusted. The page and the command line share these sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..granularity.estimate import KEstimate
    from ..metrics.cohesion import CohesionReport

LOOSE = 1.1
"""A Cohesion Ratio below this is hardly above that of random groups."""

FAINT = 0.25
"""Below this score, two halves of the texts hardly agree, and the number of groups is a guess."""

CLEAR = 0.55
"""From this score on, two halves of the texts agree well."""


def cohesion_in_words(ratio: float) -> str:
    """Say what a Cohesion Ratio means.

    Examples
    --------
    >>> cohesion_in_words(2.04)
    'two texts of one group are 2.0 times as alike as any two texts. The groups hold together.'
    >>> cohesion_in_words(1.02)
    'texts of one group are hardly more alike than any two texts. Do not rely on these groups.'
    """
    if ratio < LOOSE:
        return "texts of one group are hardly more alike than any two texts. Do not rely on these groups."
    strength = "are loose" if ratio < 1.5 else "hold together" if ratio < 2.5 else "hold together well"
    return f"two texts of one group are {ratio:.1f} times as alike as any two texts. The groups {strength}."


def worth_in_words(cohesion: CohesionReport | None) -> str:
    """Say how good a grouping is."""
    if cohesion is None:
        return "No two texts are alike, so there is no Cohesion Ratio."
    if len(cohesion.per_cluster) == 1:
        return "There is only one group, so its Cohesion Ratio is 1."
    error = f" ± {2 * cohesion.standard_error:.2f}" if cohesion.standard_error > 0.005 else ""
    return f"Cohesion Ratio {cohesion.ratio:.2f}{error}: {cohesion_in_words(cohesion.ratio)}"


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


def estimate_in_words(estimate: KEstimate | None) -> str:
    """Say which numbers of groups are plausible, and why.

    Examples
    --------
    >>> import numpy as np, textspectra as ts
    >>> estimate_in_words(ts.estimate_k(np.repeat(np.eye(8), 20, axis=0), random_state=0))
    'Plausible range 8 to 8 (95 %). Two halves of the texts agree well on 8 groups: score 1.00 of 1.'
    >>> estimate_in_words(None)
    'The number of groups was given.'
    """
    if estimate is None:
        return "The number of groups was given."
    low, high = estimate.interval
    doubt = doubt_about_k(estimate.method, estimate.k, estimate.confidence)
    if estimate.spectrum is None:
        if estimate.k == 1:
            return doubt
        how = "agree well" if estimate.confidence >= CLEAR else "agree in part"
        agreement = f"Two halves of the texts {how} on {estimate.k} groups: score {estimate.confidence:.2f} of 1."
        return f"Plausible range {low} to {high} (95 %). {doubt or agreement}"
    if doubt:
        return doubt
    size, rows = len(estimate.spectrum.eigenvalues), estimate.n_samples
    source = f"all {rows:,} texts" if size == rows else f"random samples of {size:,} texts"
    return f"Plausible range {low} to {high}: 95 % of the estimates from the spectra of {source}."
