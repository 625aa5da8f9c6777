"""The verdict on groups: whether they can be relied on, and why, in plain words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from ..core.cohesion import LOOSE
from ..core.estimate import WEAK, KEstimate
from ..hygiene import plural

if TYPE_CHECKING:
    from .clustered import ClusteredTexts

VerdictLevel = Literal["good", "fair", "weak"]

_TOO_FEW = 20  # different texts: with fewer, nothing can be said about groups
_HOLDING_RATIOS, _HOLDING_SCORES, _HOLDING_SILHOUETTES = (1.5, 2.5), (0.55, 0.7), (0.02, 0.1)  # and holding well
_LEVELS: tuple[tuple[VerdictLevel, str], ...] = (
    ("weak", "are loose"), ("fair", "hold together"), ("good", "hold together well"),
)  # fmt: skip
_LEFTOVERS = 5  # groups without a common theme that are named


class Verdict(NamedTuple):
    """How far groups can be relied on, in one sentence; its level; and the reasons, each a sentence.

    The weakest evidence decides. The evidence is the Cohesion Ratio, how well two halves of the texts agree on this
    number of groups, and the silhouette. "good" is "the groups hold together well", "fair" is "the groups hold
    together", and everything else is "weak": loose groups, one group only, too few texts, or texts in a language that
    the model does not read.

    It is about the texts, and not about what people would call a group. On 40 labeled sets with MiniLM, the adjusted
    Rand index with the labels is 0.69 on average for the 4 sets that are good, 0.29 for the 21 that are fair, and 0.35
    for the 15 that are weak: a good verdict tells more than the difference between the other two.
    """

    sentence: str
    level: VerdictLevel
    reasons: tuple[str, ...]

    @property
    def short(self) -> str:
        """The level, and what the sentence begins with."""
        start = re.split(r": |\. ", self.sentence)[0].rstrip(".")
        return f"{self.level}: {start[:1].lower()}{start[1:]}"


def verdict_of(result: ClusteredTexts) -> Verdict:
    """Judge the groups of a result; the reasons also name doubts about their number, and groups without a theme."""
    ratio = result.cohesion.ratio if result.cohesion else None
    verdict = verdict_at(result, result.n_clusters, ratio, result.silhouette)
    if overriding_doubt(result):
        return verdict
    estimate = None if result.is_edited else result.k_estimate
    doubts = [doubt_about_k(estimate.method, estimate.k, estimate.confidence) if estimate else ""]
    if result.n_clusters > 1:
        doubts.append(leftovers_in_words(_leftovers(result)))
    return verdict._replace(reasons=(*verdict.reasons, *filter(None, doubts)))


def verdict_at(
    result: ClusteredTexts, k: int, ratio: float | None, silhouette: float | None, *, compared: bool = False
) -> Verdict:
    """Judge the cut of the tree into `k` groups, given the Cohesion Ratio and the silhouette of these groups.

    If the texts were `compared` with a model, their number does not matter: nothing was estimated from them.
    """
    doubt = overriding_doubt(result, compared=compared)
    if doubt:
        return Verdict(doubt, "weak", (doubt,))
    # Halves of the texts were compared on the groups that were found, and not on groups that were edited.
    score = score_at(None if result.is_edited else result.k_estimate, k)
    error = result.cohesion.standard_error if result.cohesion and k == result.n_clusters else 0.0
    return judge(ratio, k, error=error, score=score, silhouette=silhouette)


def overriding_doubt(result: ClusteredTexts, *, compared: bool = False) -> str:
    """Say why the groups of a result mean little, however good they look; an empty string otherwise."""
    distinct = result.totals.distinct
    if result.language_doubt or compared:
        return result.language_doubt
    if distinct == 1:
        return "There is only one text." if result.totals.grouped == 1 else "All texts are the same."
    if result.is_estimated and distinct < _TOO_FEW:
        return f"{distinct} different texts are too few to find groups."
    return ""


def judge(
    ratio: float | None, k: int, *, error: float = 0.0, score: float | None = None, silhouette: float | None = None
) -> Verdict:
    """Judge `k` groups by the evidence: the sentence has the verdict, its reasons, and the numbers in brackets.

    `ratio` is the Cohesion Ratio (None if it is not defined), and `error` its standard error; `score` says how well two
    halves of the texts agree on `k` groups (:func:`score_at`).
    """
    if ratio is None or k == 1:
        sentence = "There is only one group, so its Cohesion Ratio is 1."
        if ratio is None:
            sentence = "No two texts are alike, so the Cohesion Ratio is not defined."
        return Verdict(sentence, "weak", (sentence,))
    number = f"Cohesion Ratio {ratio:.2f}" + (f" ± {2 * error:.2f}" if error > 0.005 else "")
    if ratio < LOOSE:
        reason = f"texts of one group are hardly more alike than any two texts ({number})"
        return Verdict(f"Do not rely on these groups: {reason}.", "weak", _sentences([reason]))
    evidence = [(_HOLDING_RATIOS, ratio), (_HOLDING_SCORES, score), (_HOLDING_SILHOUETTES, silhouette)]
    # The weakest evidence decides.
    strength = min(sum(value >= step for step in steps) for steps, value in evidence if value is not None)
    reasons = [f"two texts of one group are {ratio:.1f} times as alike as any two texts ({number})"]
    doubts: list[str] = []
    if score is not None:
        agree = f"two halves of the texts agree {agreement_in_words(score)} on {k} groups ({score:.2f} of 1)"
        (reasons if agreement_in_words(score) == "well" else doubts).append(agree)
    if silhouette is not None:
        few, many = _HOLDING_SILHOUETTES
        share = "most" if silhouette >= many else "many" if silhouette < few else "some"
        near = "nearest to their own group" if share == "most" else "as near to another group"
        (reasons if share == "most" else doubts).append(f"{share} texts are {near} (silhouette {silhouette:.2f})")
    level, hold = _LEVELS[strength]
    but = f", but {listed(doubts, ', and')}" if doubts else ""
    sentence = f"The groups {hold}: {listed(reasons, ', and' if len(reasons) > 2 else ' and')}{but}."
    return Verdict(sentence, level, _sentences(reasons + doubts))


def unstated(sentence: str, reasons: Iterable[str]) -> list[str]:
    """Return the reasons that the sentence of a verdict does not name."""
    return [reason for reason in reasons if reason[1:-1] not in sentence]


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
    """Say which groups have no common theme; an empty string if there are none."""
    if not names:
        return ""
    which = plural(len(names), "group is a leftover", "groups are leftovers")
    more = ", …" if len(names) > _LEFTOVERS else ""
    return f"{which} without a common theme: {', '.join(names[:_LEFTOVERS])}{more}"


def _leftovers(result: ClusteredTexts) -> list[str]:
    """Return the names of the groups without a common theme, the largest first."""
    by_size = sorted(result.clusters, key=lambda cluster: -cluster.size)
    return [cluster.name for cluster in by_size if cluster.is_mixed]


def agreement_in_words(score: float) -> str:
    """Say how well two halves of the texts agree."""
    return "well" if score >= 0.7 else "only in part" if score >= 0.5 else "poorly"


def listed(words: Sequence[str], last: str) -> str:
    """Join words by commas, and the last one by a word."""
    return f"{last} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _sentences(clauses: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{clause[0].upper()}{clause[1:]}." for clause in clauses)
