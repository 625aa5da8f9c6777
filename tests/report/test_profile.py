"""Metrics at every cut are those of scikit-learn."""

import numpy as np
import pytest
from report_data import contents
from sklearn import metrics

from textspectra.report.profile import agreement_curves, silhouette, silhouettes
from textspectra.report.tree import top_levels


def test_metric_profiles_are_those_of_scikit_learn(result, data):
    _, X, truth = data
    hierarchy = result.with_hierarchy().hierarchy
    levels = top_levels(hierarchy.tree, 60)
    finest = levels.codes[hierarchy.leaves]
    first = result.corpus.first_rows
    curve = silhouettes(X[first], finest, levels.spans, levels.cuts)
    of_row = result.corpus.spread(finest, -1)
    found = agreement_curves(levels, of_row, truth)
    for k in (2, 7, 60):
        labels = result.cut(k).labels
        units = X[first] / np.linalg.norm(X[first], axis=1, keepdims=True)
        expected = metrics.silhouette_score(units, labels[first])
        assert [curve[k - 1], silhouette(X[first], labels[first])] == pytest.approx([expected] * 2, abs=1e-4)
        assert found["ari"][k - 1] == pytest.approx(metrics.adjusted_rand_score(truth, labels))
        assert found["homogeneity"][k - 1] == pytest.approx(metrics.homogeneity_score(truth, labels))
        assert found["completeness"][k - 1] == pytest.approx(metrics.completeness_score(truth, labels))
        assert found["fowlkes_mallows"][k - 1] == pytest.approx(metrics.fowlkes_mallows_score(truth, labels))


def test_ground_truth_adds_curves(result, data):
    classes = [None, *data[2][1:].tolist()]
    meta, _, _ = contents(result, truth=classes)
    assert meta["profile"]["classes"] == 7
    curves = meta["profile"]["curves"]
    assert set(curves) == {"cohesion", "silhouette", "ari", "homogeneity", "completeness", "fowlkes_mallows"}
    expected = metrics.adjusted_rand_score(["" if one is None else str(one) for one in classes], result.labels)
    assert curves["ari"][8] == pytest.approx(expected, abs=1e-5)


def test_one_group_and_groups_of_one_text_have_no_silhouette():
    assert silhouette(np.eye(3), np.zeros(3, int)) is None
    assert silhouette(np.eye(3), np.arange(3)) is None
    assert silhouette(np.eye(3), np.array([0, 1, -1])) is None
