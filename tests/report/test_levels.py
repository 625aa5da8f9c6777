"""Levels are the cuts of the tree."""

import numpy as np
from sklearn.metrics import adjusted_rand_score

from textspectra.clustering.tree import ward_tree
from textspectra.report.levels import top_levels


def test_levels_are_the_cuts_of_the_tree():
    rng = np.random.default_rng(0)
    tree = ward_tree(rng.standard_normal((60, 3)).astype(np.float32), np.ones(60))
    levels = top_levels(tree, 25)
    for k in range(1, 26):
        labels = np.empty(60, int)
        for label, node in enumerate(levels.nodes_at(k)):
            start, end = levels.spans[node]
            labels[(levels.codes >= start) & (levels.codes < end)] = label
        assert adjusted_rand_score(labels, tree.cut(k)) == 1
