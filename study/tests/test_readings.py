"""The readings of the Cohesion Ratio, the rivals' settings and times, against the library and literal formulas."""

import math

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, silhouette_score

import textspectra as ts
from textspectra_study import readings as module
from textspectra_study.algorithms import DEFAULT, PAPERS_SIX
from textspectra_study.baselines import run_baseline
from textspectra_study.readings import Pairs, ratio_by_formula, readings, settings, silhouette_by_formula, times
from textspectra_study.similarities import unit_rows


@pytest.fixture(scope="module")
def clouds():
    """Build a cloud without groups and its random labels, some of them alone."""
    rng = np.random.default_rng(0)
    return rng.normal(0.3, 1, (150, 8)).astype(np.float32), np.concatenate([rng.integers(0, 5, 147), [5, 6, 7]])


def test_both_formulas_give_the_ratio_and_the_silhouette_of_the_libraries(clouds):
    X, labels = clouds
    cosines = np.maximum(unit_rows(X) @ unit_rows(X).T, 0)
    assert Pairs(X).ratio(labels) == pytest.approx(ts.cohesion_ratio(X, labels), rel=1e-5)
    assert ratio_by_formula(cosines, labels) == pytest.approx(ts.cohesion_ratio(X, labels), rel=1e-5)
    distances = np.linalg.norm(unit_rows(X)[:, None] - unit_rows(X), axis=2)
    assert silhouette_by_formula(distances, labels) == pytest.approx(silhouette_score(unit_rows(X), labels), abs=1e-5)


def test_clear_groups_are_far_from_chance_and_random_labels_are_not(planted):
    pytest.importorskip("igraph")
    X, truth = planted(4, 80)
    clear = {row["of"]: row for row in readings(X, truth, 0)["clusterings"]}
    assert list(clear) == ["classes", *PAPERS_SIX, DEFAULT]
    assert clear["classes"]["ratio"] == pytest.approx(ts.cohesion_ratio(X, truth), rel=1e-5)
    assert clear["classes"]["permuted_p"] == 0.01
    assert clear["classes"]["permuted_mean"] == pytest.approx(1, abs=0.02)
    assert clear["classes"]["pmi_expected"] == pytest.approx(math.log(clear["classes"]["ratio"]), rel=1e-5)
    assert clear["classes"]["ratio_with_singletons"] < clear["classes"]["ratio_without_singletons"]
    random = readings(X, np.random.default_rng(1).permutation(truth), 0)["clusterings"][0]
    assert random["permuted_p"] > 0.05
    assert random["permuted_low"] < random["ratio"] < random["permuted_high"]


def test_a_clustering_of_single_rows_has_readings_that_are_not_defined(planted):
    pytest.importorskip("igraph")
    X, _ = planted(4, 40)
    alone = readings(X, np.arange(40), 0)["clusterings"][0]
    assert (alone["ratio"], alone["permuted_mean"]) == (1.0, 1.0)
    assert alone["pmi_expected"] is alone["ratio_without_singletons"] is alone["silhouette"] is None


def test_settings_are_those_of_the_rivals(planted):
    pytest.importorskip("igraph")
    X, truth = planted(4, 80)
    found = settings(X, truth, 0)
    assert {name: list(row) for name, row in found.items()} == {
        "hdbscan": ["2", "5", "10"], "optics": ["2", "5", "10"], "leiden": ["z-scored", "raw"],
    }  # fmt: skip
    default = run_baseline("hdbscan", X).labels
    assert found["hdbscan"]["2"]["ari"] == pytest.approx(adjusted_rand_score(truth, default), abs=1e-5)
    # No cosine exceeds 1, so the Potts model at resolution 1 gains nothing by joining two rows of the raw graph.
    assert found["leiden"]["raw"]["k"] == 80
    assert found["leiden"]["z-scored"]["ari"] > 0.9


def test_times_are_measured_up_to_twice_the_rows(planted, monkeypatch):
    X, truth = planted(4, 100)
    for name, value in {"SIZES": (60, 120, 400), "TAU": 60, "ALL_EIGENVALUES": 120}.items():
        monkeypatch.setattr(module, name, value)
    found = times(X, truth, 0)
    assert [(row["n"], row["k"]) for row in found["metrics"]] == [(60, 10), (60, 3), (120, 10), (120, 6)]
    assert [list(row) for row in found["estimates"]] == [["n", "estimate", "all_eigenvalues"]]
    assert all(value >= 0 for row in found["metrics"] for value in row.values())
