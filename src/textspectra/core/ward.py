"""Ward's merge tree of weighted points, and its cuts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform

from ..parallel import one_blas_thread
from . import F32, F64, Ints
from .rows import sum_by_code
from .validation import check_whole_number

SCIPY_POINTS = 2048  # up to this many points of equal weight, SciPy is faster: by a factor of two for 500 points


@dataclass(frozen=True, eq=False)
class MergeTree:
    """A hierarchy of clusters, from single points to one cluster.

    `linkage` has SciPy's format, which ``scipy.cluster.hierarchy.dendrogram`` draws: for each of the n - 1 merges, the
    two clusters, the height, and the weight of the new cluster.
    """

    linkage: F64

    @property
    def n_leaves(self) -> int:
        """Number of points at the bottom of the tree."""
        return len(self.linkage) + 1

    def cut(self, n_clusters: int) -> Ints:
        """Return the cluster of each leaf when the tree is cut into `n_clusters`, numbered by their first leaves."""
        n = self.n_leaves
        check_whole_number("n_clusters", n_clusters, low=1, high=n, hint=f"The tree has {n:,} leaves.")
        children = self.linkage[: n - n_clusters, :2].astype(np.intp).ravel()
        parents = np.repeat(np.arange(n, n + n - n_clusters), 2)
        edges = coo_array((np.ones(len(parents), np.int8), (children, parents)), shape=(2 * n - 1, 2 * n - 1))
        component = connected_components(edges, directed=False)[1][:n]
        _, first, codes = np.unique(component, return_index=True, return_inverse=True)
        return first.argsort().argsort()[codes]

    def top(self, n_clusters: int) -> tuple[Ints, Ints]:
        """Return the cut into `n_clusters`, and the two nodes that each merge above it joins.

        Nodes 0 to ``n_clusters - 1`` are the clusters of the cut, and merge number j makes node ``n_clusters + j``.
        """
        cut, n_below = self.cut(n_clusters), self.n_leaves - n_clusters
        children = self.linkage[:, :2].astype(np.intp)
        any_leaf = list(range(self.n_leaves))
        for left in children[:n_below, 0].tolist():
            any_leaf.append(any_leaf[left])
        return cut, np.append(cut[any_leaf], np.arange(n_clusters, 2 * n_clusters - 1))[children[n_below:]]


def ward_tree(points: F32, weights: F64) -> MergeTree:
    """Build Ward's tree, in time and memory of n²; a point of weight w counts as w equal points."""
    if not 1 < len(points) <= SCIPY_POINTS or (weights != weights[0]).any():
        return _tree_of(_ward_merges(points, weights), weights)
    distances = squareform(_squared_distances(points), checks=False)
    # SciPy takes no weights. If they are equal, they only scale the heights and the weights of the clusters.
    return MergeTree(linkage(np.sqrt(distances, out=distances), "ward") * [1, 1, np.sqrt(weights[0]), weights[0]])


def nested_tree(points: F32, weights: F64, clusters: Ints) -> MergeTree:
    """Build a tree by Ward's rule that completes each cluster (numbered from 0) first: the clusters are one cut."""
    members = [np.flatnonzero(clusters == cluster) for cluster in range(int(clusters.max()) + 1)]
    merges = [
        (int(rows[low]), int(rows[high]), cost)
        for rows in members
        for low, high, cost in _ward_merges(points[rows], weights[rows])
    ]
    tallest = max((cost for _, _, cost in merges), default=0.0)
    means = weighted_means(points, weights, clusters, len(members))
    merges += [
        (int(members[low][0]), int(members[high][0]), max(cost, tallest))
        for low, high, cost in _ward_merges(means, np.bincount(clusters, weights).astype(np.float64))
    ]
    return _tree_of(merges, weights)


def weighted_means(points: F32, weights: F64, codes: Ints, n_codes: int) -> F32:
    """Return the weighted mean of the points of each code."""
    sums = sum_by_code(points, codes, n_codes, weights.astype(np.float32))
    return np.asarray(sums / np.bincount(codes, weights)[:, None], np.float32)


def _ward_merges(points: F32, weights: F64) -> list[tuple[int, int, float]]:
    """Return the merges of Ward's tree in the order of the chain: a point of each of two clusters, and the cost."""
    weight = weights.astype(np.float64)
    # The cost of a merge is what it adds to the sum of squares, times 2 as in SciPy's heights.
    costs = _squared_distances(points)
    for i in range(len(costs)):
        costs[i] *= 2 * weight[i] * weight / (weight[i] + weight)
    np.fill_diagonal(costs, np.inf)
    merges: list[tuple[int, int, float]] = []
    chain: list[int] = []
    alive = 0
    while len(merges) < len(points) - 1:
        if not chain:
            while weight[alive] == 0:
                alive += 1
            chain.append(alive)
        tip = chain[-1]
        nearest = int(costs[tip].argmin())
        if len(chain) > 1 and costs[tip, chain[-2]] <= costs[tip, nearest]:
            low, high = sorted((tip, chain[-2]))
            merges.append((low, high, float(costs[low, high])))
            _merge(costs, weight, low, high)
            del chain[-2:]
        else:
            chain.append(nearest)
    return merges


def _squared_distances(points: F32) -> F64:
    wide = points.astype(np.float64)
    squares = np.einsum("ij,ij->i", wide, wide)
    with one_blas_thread():  # the last bits of this product depend on the number of threads
        distances: F64 = wide @ wide.T
    distances *= -2
    distances += squares[:, None]
    distances += squares
    return np.maximum(distances, 0, out=distances)


def _merge(costs: F64, weight: F64, low: int, high: int) -> None:
    """Merge cluster `high` into `low`, by the Lance-Williams formula."""
    a, b = weight[low], weight[high]
    merged = (a + weight) * costs[low] + (b + weight) * costs[high]
    merged -= weight * costs[low, high]
    merged /= a + b + weight
    merged[[low, high]] = np.inf
    costs[low] = costs[:, low] = merged
    costs[high] = costs[:, high] = np.inf
    weight[low], weight[high] = a + b, 0


def _tree_of(merges: list[tuple[int, int, float]], weights: F64) -> MergeTree:
    """Sort merges by their cost, and name clusters as SciPy does."""
    n = len(weights)
    cluster_of = np.arange(2 * n - 1)
    weight = np.append(weights, np.zeros(n - 1))
    table = np.empty((n - 1, 4))

    def root(node: int) -> int:
        while cluster_of[node] != node:
            cluster_of[node] = cluster_of[cluster_of[node]]
            node = int(cluster_of[node])
        return node

    for step, merge in enumerate(np.argsort([cost for _, _, cost in merges], kind="stable")):
        low, high, cost = merges[merge]
        left, right = sorted((root(low), root(high)))
        new = n + step
        cluster_of[left] = cluster_of[right] = new
        weight[new] = weight[left] + weight[right]
        table[step] = left, right, np.sqrt(cost), weight[new]
    return MergeTree(table)
