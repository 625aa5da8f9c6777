"""Groups of texts to describe."""

import numpy as np

from textspectra.topics.describe import describe_clusters


def describe(groups, **options):
    """Describe groups of texts, with one random direction for each group and some noise."""
    texts = [text for group in groups for text in group]
    labels = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    rng = np.random.default_rng(0)
    X = rng.standard_normal((len(groups), 8))[labels] + 0.1 * rng.standard_normal((len(texts), 8))
    return describe_clusters(texts, X, labels, **options)
