"""Small vectors and similarities between clusters, against what the full vectors give."""

import numpy as np
import pytest
from report_data import contents, unpack

import textspectra as ts
from textspectra.report.compact import DIMENSIONS, FinestClusters, similarity_between
from textspectra.report.levels import report_levels
from textspectra.report.shown import choose_shown


@pytest.fixture(scope="module")
def parts(result):
    levels, finest = report_levels(result)
    return FinestClusters(result.embedded().X, levels, finest, choose_shown(result, levels, finest))


def units_of(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def test_cosines_with_other_groups_are_close(result, page_data, parts):
    meta, _, blocks = page_data
    levels, shown = parts.levels, parts.shown
    known = meta["parts"]
    width = min(DIMENSIONS, parts.X.shape[1], levels.k)
    coordinates = np.frombuffer(unpack(blocks["vectors"]), np.int8).reshape(-1, width)
    means = np.frombuffer(unpack(blocks["means"]), "<f4").reshape(levels.k, width)
    places = coordinates * np.array(known["step"]) + known["middle"]
    units = units_of(parts.X)[shown.order]
    for node in meta["base"]["nodes"]:
        start, end = levels.spans[node]
        sizes = np.array(meta["nodes"]["size"])[start:end]
        length = meta["nodes"]["size"][node] * known["norm"][node]
        about = places @ (means[start:end] * sizes[:, None]).sum(axis=0) / length
        center = result.centers[meta["base"]["nodes"].index(node)]
        exact = units @ center / np.linalg.norm(center)
        others = np.ones(len(units), bool)
        others[slice(*shown.ranges[node])] = False
        assert np.sqrt(np.mean((about - exact)[others] ** 2)) < 0.05


def test_similarity_between_clusters_is_the_mean_of_all_pairs(parts):
    units = units_of(parts.X.astype(np.float64))
    members = [np.flatnonzero(parts.finest == code) for code in range(parts.levels.k)]
    sums = np.array([units[rows].sum(axis=0) for rows in members])
    found = similarity_between(parts, sums, np.array([len(rows) for rows in members]))
    for one, other in ((0, 1), (3, 200), (17, 90)):
        expected = np.maximum(units[members[one]] @ units[members[other]].T, 0).mean()
        assert [found[one, other], found[other, one]] == pytest.approx([expected] * 2, abs=1e-5)


def test_a_group_that_is_joined_from_parts_has_its_cohesion(result, page_data):
    """What the page computes for merged groups, written out: here for the groups of the result themselves."""
    meta, _, blocks = page_data
    k, known = meta["levels"]["k"], meta["parts"]
    between = np.zeros((k, k))
    between[np.triu_indices(k, 1)] = np.frombuffer(unpack(blocks["between"]), "<u2") * known["between"]
    distinct = np.array(known["distinct"], float)
    levels, _ = report_levels(result)
    inside = [value * n * (n - 1) / 2 for value, n in zip(meta["nodes"]["cohesion"], distinct, strict=False)]
    for label, node in enumerate(meta["base"]["nodes"]):
        span = slice(*levels.spans[node])
        n = distinct[span].sum()
        total = sum(inside[span]) + distinct[span] @ between[span, span] @ distinct[span]
        assert total / (n * (n - 1) / 2) == pytest.approx(result.cohesion.per_cluster[label].ratio, rel=0.01)


def test_a_result_of_one_text_has_parts():
    meta, _, _ = contents(ts.cluster_texts(["alone", ""], embeddings=[[1, 0], [0, 0]]))
    assert meta["parts"]["distinct"] == [1]
    assert meta["parts"]["between"] is None
