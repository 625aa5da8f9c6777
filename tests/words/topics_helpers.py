"""Groups of texts to describe."""

import numpy as np

from textspectra.words.describe import describe_clusters


def describe(clusters, **options):
    """Describe groups of texts, with one random direction for each group and some noise."""
    texts = [text for cluster in clusters for text in cluster]
    labels = np.repeat(np.arange(len(clusters)), [len(cluster) for cluster in clusters])
    rng = np.random.default_rng(0)
    X = rng.standard_normal((len(clusters), 8))[labels] + 0.1 * rng.standard_normal((len(texts), 8))
    return describe_clusters(texts, X, labels, **options)
