"""The paper (arXiv 2511.19350): its tables, the numbers in its text, and its claims in our words."""

from __future__ import annotations

from typing import NamedTuple

ADDRESS = "https://arxiv.org/abs/2511.19350"
TITLE = (
    "Scalable Parameter-Light Spectral Method for Clustering Short Text Embeddings with a Cohesion-Based "
    "Evaluation Metric"
)


class PaperDataset(NamedTuple):
    """A row of Table 1."""

    instances: int
    classes: int
    mean_words: float
    imbalance: float


DATASETS = {
    "DBpedia Title": PaperDataset(560_000, 14, 2.74, 0.0),
    "DBpedia Text": PaperDataset(560_000, 14, 46.13, 0.0),
    "20 Newsgroups": PaperDataset(11_314, 20, 185.83, 0.1),
    "BLESS": PaperDataset(200, 17, 1.0, 0.36),
    "Reddit": PaperDataset(420_464, 50, 11.07, 0.179),
    "StackExchange": PaperDataset(373_850, 121, 9.67, 0.4),
}
"""Table 1, by the title of the dataset."""

MODELS = ("multilingual-e5-large-instruct", "Qwen3-Embedding-0.6B", "Qwen3-Embedding-8B", "Linq-Embed-Mistral")
"""Table 2."""

N_VARIANTS = 62
"""Section 3.2."""

N_BLOCKS = 248
"""Variants times models, Section 4.1."""

SCORED = (
    "ari",
    "nmi",
    "fowlkes_mallows",
    "k_relative_error",
    "silhouette",
    "davies_bouldin",
    "calinski_harabasz",
    "cohesion_ratio",
)
"""The columns of the table of overall scores."""

OVERALL = {
    task: dict(zip(SCORED, row, strict=True))
    for task, row in {
        "hdbscan": (0.0163, 0.2661, 0.1582, 16.3348, -0.0725, 2.9791, 3.8561, 1.0057),
        "optics": (0.0045, 0.3486, 0.1384, 33.3208, -0.1216, 1.7632, 2.1513, 0.9949),
        "affinity_propagation": (0.1293, 0.5730, 0.1900, 20.6124, 0.0567, 2.8967, 5.9439, 1.5112),
        "leiden": (0.2767, 0.6162, 0.3278, 9.0217, 0.0264, 2.0598, 7.0905, 1.3303),
        "kmeans_kest": (0.3534, 0.5929, 0.3916, 0.5203, 0.0664, 4.1446, 53.1836, 1.2969),
        "hac_kest": (0.3799, 0.5932, 0.4175, 0.5223, 0.0597, 4.1397, 47.8207, 1.2786),
    }.items()
}
"""Table 3, "Overall Scores", Section 4.1. It prints HAC's relative error of k as the best; K-Means' is lower."""

ZSCORED_ERROR = 0.6017
RAW_ERROR = 0.7201
"""Mean relative error of k over w = 3 to 7 and all caps, Section 3.5, "Optional Normalization Variant"."""

SIZES_P = 0.429
"""Kruskal-Wallis p "for all groups", Section 4.3. Eight groups of one value each have this p for any values."""


class PaperClaim(NamedTuple):
    """A claim in one sentence, and its place in the paper."""

    sentence: str
    where: str


CLAIMS = {
    "eigengap": PaperClaim("The plain eigengap finds fewer than 5 clusters for any number of classes.", "3.5"),
    "negative_cosines": PaperClaim("Negative cosines between text embeddings are rare.", "3.5"),
    "window_error": PaperClaim("The error of k tends to grow with the window w.", "3.5, Fig. 2"),
    "window_fallback": PaperClaim("The share of samples without an answer rises with the window.", "3.5, Fig. 2"),
    "window_moderate": PaperClaim("Windows up to about 7 are the best trade-off between error and robustness.", "3.5"),
    "window_default": PaperClaim("w = 3 is the window to use by default.", "3.5"),
    "tau_time": PaperClaim("A larger sample cap τ takes longer.", "3.5"),
    "tau_larger": PaperClaim("A larger τ does not consistently make k more accurate.", "3.5"),
    "tau_range": PaperClaim("Most datasets do well with τ between 500 and 1,000.", "3.5"),
    "tau_default": PaperClaim("τ = 1,000 is a reliable trade-off.", "3.5"),
    "tau_small": PaperClaim("A small τ is not enough for datasets with many clusters.", "3.5"),
    "zscore_overall": PaperClaim("Z-scored similarities give a significantly lower error of k than raw ones.", "3.5"),
    "zscore_better": PaperClaim(
        "Z-scoring is a significant improvement on DBpedia Title, DBpedia Text, 20 Newsgroups and BLESS.", "3.5"
    ),
    "zscore_worse": PaperClaim("Z-scoring makes k worse on Reddit and StackExchange.", "3.5"),
    "zscore_blocks": PaperClaim(
        "In some cases, z-scoring and rectifying make the classes stand out as blocks.", "3.5, App. B"
    ),
    "estimate_cost": PaperClaim(
        "The run time of the estimate grows with log n, and is far below the time of a full spectral decomposition.",
        "3.5",
    ),
    "error_sizes": PaperClaim("The relative error of k is stable over sample sizes.", "3.5"),
    "cohesion_range": PaperClaim("The Cohesion Ratio ρ is well defined and lies in [0, ∞).", "3.6"),
    "cohesion_singletons": PaperClaim("Clusters of one row neither raise nor lower the Cohesion Ratio.", "3.6"),
    "cohesion_random": PaperClaim("Random assignments tend to have a Cohesion Ratio near 1.", "3.6, App. C"),
    "cohesion_null": PaperClaim(
        "A Cohesion Ratio above 1 means more cohesion than random assignments would have.", "3.6, App. C"
    ),
    "cohesion_across_datasets": PaperClaim("The Cohesion Ratio is interpretable across datasets.", "3.6"),
    "sparse_similarities": PaperClaim(
        "Short texts are sparse (the mean similarity of all pairs μ_G is near 0) and their clusters coherent (the mean "
        "μ_I inside clusters is far above it).",
        "3.6",
    ),
    "divergence_first_term": PaperClaim(
        "If similarities are sparse and clusters coherent, the first term dominates the Kullback-Leibler divergence "
        "between similarities inside clusters and overall.",
        "3.6",
    ),
    "mutual_information": PaperClaim(
        "log ρ is the pointwise mutual information of “two rows are similar” and “they share a cluster”.", "3.6"
    ),
    "cohesion_shape": PaperClaim(
        "The silhouette penalizes well-formed clusters that are not compact; the Cohesion Ratio does not.",
        "3.6, App. C",
    ),
    "friedman": PaperClaim("The six algorithms differ on all metrics, with p far below 0.05.", "4.1"),
    "error_of_k": PaperClaim(
        "K-Means and HAC at the estimated k have a lower relative error of k than all four rivals.", "4.1, Table 3"
    ),
    "outperform": PaperClaim(
        "K-Means and HAC at the estimated k significantly outperform HDBSCAN, OPTICS and Leiden.", "Abstract, Section 5"
    ),
    "ari": PaperClaim(
        "By ARI, HAC (k-est) is significantly better than all others but K-Means (k-est), which ties with it.", "4.1"
    ),
    "k_relative_error": PaperClaim(
        "By the relative error of k, HAC (k-est) is significantly better than all others but K-Means (k-est), which "
        "ties with it.",
        "4.1",
    ),
    "fowlkes_mallows": PaperClaim(
        "By Fowlkes-Mallows, HAC (k-est) is significantly better than all others, including K-Means.", "4.1"
    ),
    "nmi_leiden": PaperClaim("By NMI, Leiden is significantly better than all others.", "4.1"),
    "nmi_ties": PaperClaim("By NMI, K-Means, HAC and Affinity Propagation are indistinguishable.", "4.1"),
    "homogeneity": PaperClaim(
        "By homogeneity, Affinity Propagation is significantly best, Leiden second, K-Means and HAC tie for third.",
        "4.1",
    ),
    "completeness_top": PaperClaim(
        "By completeness, K-Means, HAC and Leiden come first, then Affinity Propagation.", "4.1"
    ),
    "completeness_hac": PaperClaim(
        "By completeness, HAC is the clear leader, and Affinity Propagation beats only OPTICS and HDBSCAN.", "4.1"
    ),
    "cohesion_homogeneity": PaperClaim("The Cohesion Ratio ranks the algorithms as homogeneity does.", "4.1"),
    "cohesion_completeness": PaperClaim("The Cohesion Ratio and completeness agree moderately.", "4.1"),
    "silhouette": PaperClaim(
        "By silhouette, K-Means and HAC tie and beat all others, but HAC ties with Affinity Propagation.", "4.1"
    ),
    "calinski_harabasz": PaperClaim(
        "By Calinski-Harabasz, K-Means is significantly better than all others, and HAC is second.", "4.1"
    ),
    "affinity_mixed": PaperClaim(
        "Affinity Propagation does well by homogeneity, ρ and the silhouette, but underperforms on completeness.", "4.1"
    ),
    "affinity_k": PaperClaim("Affinity Propagation severely overestimates the number of clusters.", "4.1"),
    "cohesion_above_one": PaperClaim(
        "Most well-formed clusterings have a Cohesion Ratio above 1; poor ones are near 1.", "3.6"
    ),
    "cohesion_best": PaperClaim(
        "Of all intrinsic metrics, the Cohesion Ratio correlates most with NMI and with homogeneity.", "4.2"
    ),
    "cohesion_strong": PaperClaim(
        "The Cohesion Ratio correlates strongly with NMI and homogeneity.", "Abstract, Section 4.2"
    ),
    "cohesion_ari": PaperClaim("The Cohesion Ratio correlates with ARI about as well as the silhouette does.", "4.2"),
    "silhouette_strong": PaperClaim("The silhouette correlates strongly with most extrinsic metrics.", "4.2"),
    "davies_bouldin": PaperClaim("Davies-Bouldin, negated, correlates negatively with most extrinsic metrics.", "4.2"),
    "closest_k": PaperClaim(
        "On most datasets, the estimated k is closer to the true number than any rival's.", "4.3, Fig. 4"
    ),
    "stackexchange_flat": PaperClaim("On StackExchange, ARI and Fowlkes-Mallows are low and flat over k.", "4.3"),
    "stackexchange_peak": PaperClaim("On StackExchange, the estimated k is close to the silhouette's peak.", "4.3"),
    "cohesion_profile": PaperClaim("Over k, the Cohesion Ratio follows homogeneity.", "4.3, App. D"),
    "sizes": PaperClaim("The estimated k does not depend on the size of the sample.", "4.3"),
    "hdbscan_setting": PaperClaim("Of min_cluster_size = 2, 5 and 10, HDBSCAN does best with 2.", "App. A"),
    "optics_setting": PaperClaim("Of min_samples = 2, 5 and 10, OPTICS does best with 2.", "App. A"),
    "leiden_setting": PaperClaim("Leiden does better on the z-scored graph than on the raw one.", "App. A"),
    "cohesion_faster": PaperClaim("The Cohesion Ratio is faster to compute than the silhouette.", "App. C"),
    "cohesion_scales": PaperClaim(
        "The speed advantage of the Cohesion Ratio is largest on large datasets with many small clusters.", "App. C"
    ),
    "clusters_time": PaperClaim(
        "With many clusters, fewer pairs inside clusters make the Cohesion Ratio faster to compute.", "App. C"
    ),
}
"""The claims of the paper that the study tests, by a short name, roughly in the order of the paper's sections."""
