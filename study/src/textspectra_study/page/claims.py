"""Judge the paper's claims: the rule for each, in words and as a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..results import Results
from . import claims_cohesion as cohesion
from . import claims_estimate as estimate
from . import claims_scores as scores
from .claims_scores import ranking
from .findings import Findings
from .paper import CLAIMS
from .verdicts import Outcome


class Rule(NamedTuple):
    """When a claim holds: in words, and as a function."""

    holds_if: str
    judge: Callable[[Findings], Outcome]


HAC_FIRST = "HAC beats each rival and ties with K-Means (Nemenyi)"

RULES = {
    "eigengap": Rule("k < 5 in every cell with at least 10 classes", estimate.eigengap),
    "negative_cosines": Rule("below 5% of the pairs, on every dataset with every model", estimate.negative_cosines),
    "window_error": Rule("Spearman of w and mean error ≥ 0.5; error higher at 15 than at 3", estimate.window_error),
    "window_fallback": Rule("Spearman of w and share ≥ 0.5; share higher at 15 than at 3", estimate.window_fallback),
    "window_moderate": Rule("error and share without an answer lower up to 7 than above", estimate.window_moderate),
    "window_default": Rule(
        "error within 10% of the lowest; share without an answer within 0.01 of the lowest", estimate.window_default
    ),
    "tau_time": Rule("mean time rises with every step of τ", estimate.tau_time),
    "tau_larger": Rule("no dataset on which the error falls with every step of τ", estimate.tau_larger),
    "tau_range": Rule("error at 500 or 1,000 within 10% of the lowest, on most datasets", estimate.tau_range),
    "tau_default": Rule("mean error within 10% of the lowest; faster than the largest τ", estimate.tau_default),
    "tau_small": Rule(
        "error at 200 at least 10% higher than at 1,000, on every dataset with 50 or more classes", estimate.tau_small
    ),
    "zscore_overall": Rule("lower mean error; Wilcoxon p < 0.05", estimate.zscore_overall),
    "zscore_better": Rule("lower mean error with p < 0.05 on each of the four", estimate.zscore_better),
    "zscore_worse": Rule("higher mean error on both", estimate.zscore_worse),
    "zscore_blocks": Rule(
        "contrast (mean within classes minus mean between, over the standard deviation) rises in at least one case",
        estimate.zscore_blocks,
    ),
    "estimate_cost": Rule(
        "from the smallest to the largest n above 1,000, CPU time grows at most 1.2 times as much as log n; at 10,000 "
        "rows it is at most half the CPU time of computing all eigenvalues",
        estimate.estimate_cost,
    ),
    "error_sizes": Rule("Kruskal-Wallis p ≥ 0.05 on every sampled dataset", estimate.error_sizes),
    "cohesion_range": Rule(
        "ρ is defined and 0 ≤ ρ ≤ 1 / μ_G for every clustering; negative cosines count as 0, so it follows from the "
        "definition",
        cohesion.cohesion_range,
    ),
    "cohesion_singletons": Rule(
        "a random tenth of the rows, as clusters of one row, change the ρ of the others by at most 1%, for every "
        "clustering",
        cohesion.cohesion_singletons,
    ),
    "cohesion_random": Rule(
        "for most clusterings, the mean ρ of 99 random permutations of the labels is within 0.01 of 1, and 95% of "
        "them are within 0.1",
        cohesion.cohesion_random,
    ),
    "cohesion_null": Rule("permutation test p < 0.05 for every clustering with ρ > 1", cohesion.cohesion_null),
    "cohesion_across_datasets": Rule(
        "Spearman of ρ and NMI over the datasets ≥ 0.5, for most pairs of an algorithm and a model",
        cohesion.cohesion_across_datasets,
    ),
    "sparse_similarities": Rule("μ_G ≤ 0.1 and μ_I ≥ 2 μ_G for most clusterings", cohesion.sparse_similarities),
    "divergence_first_term": Rule(
        "at least twice the second term in absolute value, for most clusterings with μ_G ≤ 0.1 and ρ ≥ 2",
        cohesion.divergence_first_term,
    ),
    "mutual_information": Rule(
        "log ρ is within 0.1 of the PMI for every clustering if each pair counts as similar with a probability equal "
        "to its similarity (by definition, except for clusters of one row); Spearman of ρ and the PMI is ≥ 0.9 if the "
        "most similar 5% of the pairs count as similar",
        cohesion.mutual_information,
    ),
    "cohesion_shape": Rule(
        "with the classes as well-formed clusters: silhouette below 0 in some cell, ρ > 1 in every cell",
        cohesion.cohesion_shape,
    ),
    "friedman": Rule("p < 0.001 on every metric", scores.friedman),
    "error_of_k": Rule("each mean is below each rival’s", scores.error_of_k),
    "outperform": Rule(
        "each beats each of the three (Nemenyi) on more than half of the eight metrics of Table 3", scores.outperform
    ),
    "ari": Rule(HAC_FIRST, ranking("ari", scores.best_but_kmeans)),
    "k_relative_error": Rule(HAC_FIRST, ranking("k_relative_error", scores.best_but_kmeans)),
    "fowlkes_mallows": Rule("HAC beats each of the five (Nemenyi)", ranking("fowlkes_mallows", scores.hac_beats_all)),
    "nmi_leiden": Rule("Leiden beats each of the five (Nemenyi)", ranking("nmi", scores.leiden_beats_all)),
    "nmi_ties": Rule("no two of the three differ (Nemenyi)", ranking("nmi", scores.three_tie)),
    "homogeneity": Rule(
        "Affinity Propagation beats each of the five (Nemenyi); Leiden has rank 2; K-Means and HAC follow and tie",
        ranking("homogeneity", scores.affinity_then_leiden),
    ),
    "completeness_top": Rule(
        "mean ranks: each of the three before Affinity Propagation, and Affinity Propagation before OPTICS and HDBSCAN",
        ranking("completeness", scores.three_then_affinity),
    ),
    "completeness_hac": Rule(
        "HAC beats each of the five; Affinity Propagation beats only OPTICS and HDBSCAN (Nemenyi)",
        ranking("completeness", scores.hac_leads),
    ),
    "cohesion_homogeneity": Rule(
        "Nemenyi gives the same result for every pair of algorithms by both metrics", scores.cohesion_homogeneity
    ),
    "cohesion_completeness": Rule(
        "Kendall’s rank correlation of the mean ranks between 0.2 and 0.8; in part, between 0.05 and 0.95",
        scores.cohesion_completeness,
    ),
    "silhouette": Rule("all these wins and ties are found (Nemenyi)", ranking("silhouette", scores.silhouette_order)),
    "calinski_harabasz": Rule(
        "K-Means beats each of the five (Nemenyi); HAC has the second-best mean rank",
        ranking("calinski_harabasz", scores.kmeans_then_hac),
    ),
    "affinity_mixed": Rule(
        "mean rank in the better half by each of the three, in the worse half by completeness", scores.affinity_mixed
    ),
    "affinity_k": Rule("k at least 3 times the number of classes in most cells", estimate.affinity_k),
    "cohesion_above_one": Rule(
        "ρ > 1 in most cells with ARI ≥ 0.2; within 0.1 of 1 in most with ARI < 0.05", scores.cohesion_above_one
    ),
    "cohesion_best": Rule("highest Spearman of the four intrinsic metrics with each", scores.cohesion_best),
    "cohesion_strong": Rule("Spearman ≥ 0.5 with each", scores.cohesion_strong),
    "cohesion_ari": Rule("Spearman differs by 0.1 at most; in part by 0.2", scores.cohesion_ari),
    "silhouette_strong": Rule("Spearman ≥ 0.5 with most", scores.silhouette_strong),
    "davies_bouldin": Rule("Spearman < 0 with most", scores.davies_bouldin),
    "closest_k": Rule(
        "median factor between k and the true number lowest of the five, on most datasets (stratified samples and "
        "whole datasets only)",
        estimate.closest_k,
    ),
    "stackexchange_flat": Rule(
        "highest value and range over k of both below the mean of the other datasets", scores.stackexchange_flat
    ),
    "stackexchange_peak": Rule(
        "k within a factor of 1.5 of the peak, for every model and algorithm", scores.stackexchange_peak
    ),
    "cohesion_profile": Rule("Spearman of the two curves ≥ 0.9 in every profile", scores.cohesion_profile),
    "sizes": Rule("Kruskal-Wallis p ≥ 0.05 on every sampled dataset", estimate.sizes),
    "hdbscan_setting": Rule("highest mean of ARI and NMI", scores.setting("hdbscan", scores.balance)),
    "optics_setting": Rule(
        "mean NMI more than 0.01 above the others", scores.setting("optics", scores.nmi_alone, 0.01)
    ),
    "leiden_setting": Rule("higher mean ARI and higher mean NMI", scores.setting("leiden", scores.both_scores)),
    "cohesion_faster": Rule(
        "less CPU time at every n, both by the formulas on a given matrix and as implemented (here from sampled pairs "
        "above 4,096 rows, in scikit-learn exactly)",
        cohesion.cohesion_faster,
    ),
    "cohesion_scales": Rule(
        "the speedup over the silhouette, by the formulas and as implemented, is larger at the largest n than at the "
        "smallest, and larger with n / 20 clusters than with 10",
        cohesion.cohesion_scales,
    ),
    "clusters_time": Rule(
        "by the formula, less CPU time with n / 20 clusters than with 10, at every n", cohesion.clusters_time
    ),
}
"""The rule for each claim, by its short name."""


class JudgedClaim(NamedTuple):
    """A claim of the paper and its verdict.

    Attributes
    ----------
    name : str
    sentence, where : str
        The claim, and its place in the paper.
    holds_if : str
        The rule, in words.
    outcome : Outcome
    """

    name: str
    sentence: str
    where: str
    holds_if: str
    outcome: Outcome


def judge_claims(results: Results) -> list[JudgedClaim]:
    """Judge every claim of the paper by the finished cells.

    Parameters
    ----------
    results : Results

    Returns
    -------
    list of JudgedClaim

    Examples
    --------
    >>> from textspectra_study.results import Manifest
    >>> {claim.outcome.verdict for claim in judge_claims(Results(Manifest((), (), (), 0), [], 0))}
    {'not enough data'}
    """
    return judge_by(Findings(results))


def judge_by(findings: Findings) -> list[JudgedClaim]:
    """Judge every claim of the paper by these statistics."""
    return [
        JudgedClaim(name, claim.sentence, claim.where, RULES[name].holds_if, RULES[name].judge(findings))
        for name, claim in CLAIMS.items()
    ]
