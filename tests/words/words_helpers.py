"""Clusters of texts to describe."""

import numpy as np

from textspectra.core.rows import cluster_sums, cosines_to_centers
from textspectra.words.describe import describe_clusters


def describe(clusters, **options):
    """Describe clusters of texts, with one random direction for each cluster and some noise."""
    texts = [text for cluster in clusters for text in cluster]
    codes = np.repeat(np.arange(len(clusters)), [len(cluster) for cluster in clusters])
    rng = np.random.default_rng(0)
    X = rng.standard_normal((len(clusters), 8))[codes] + 0.1 * rng.standard_normal((len(texts), 8))
    return describe_vectors(texts, X, codes, **options)


def describe_vectors(texts, X, codes, counts=None, embed=None):
    """Describe clusters of texts with vectors; those with the code -1 are in none."""
    counts, rows = np.ones(len(texts), int) if counts is None else np.array(counts), np.flatnonzero(codes >= 0)
    centers = cluster_sums(X[rows], codes[rows], codes.max() + 1, weights=counts[rows]).astype(np.float32)
    cosines = np.full(len(texts), np.nan, np.float32)
    cosines[rows] = cosines_to_centers(X[rows], codes[rows], centers)
    return describe_clusters(texts, X, codes, centers, cosines, counts=counts, embed=embed)
