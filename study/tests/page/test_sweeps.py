"""The paper's estimate at other settings: which points are compared, and how."""

import numpy as np
import pytest
from scipy import stats

from textspectra_study.page.sweeps import grouped, mean_error, zscore_test


def test_zscores_are_compared_pair_by_pair_over_small_windows(findings):
    points = [p for p in findings.sweep if p.dataset == "reddit" and p.window <= 7]
    raw = [p.error for p in points if not p.zscore]
    zscored = [p.error for p in points if p.zscore]
    found = findings.zscore_by_dataset["reddit"]
    assert (found.raw, found.zscored, found.n) == pytest.approx((np.mean(raw), np.mean(zscored), 40))
    assert found.p == pytest.approx(stats.wilcoxon(raw, zscored).pvalue)


def test_caps_above_the_number_of_rows_count_once_in_the_test(findings):
    # BLESS has 200 rows: the four caps are one. Two models and five windows are left.
    assert findings.zscore_by_dataset["bless"].n == 10
    assert findings.zscore_overall.n == 5 * 40 + 10


def test_a_set_without_its_zscored_side_is_not_compared(findings):
    assert zscore_test(p for p in findings.sweep if not p.zscore) is None


def test_errors_of_k_in_the_sweep_are_relative_to_the_classes(results, findings):
    cell = next(cell for cell in results.cells if cell.task == "sweep-raw-500")
    point = next(p for p in findings.sweep if (p.dataset, p.tau, p.zscore) == (cell.variant.dataset, 500, False))
    k = cell.values["windows"][0]["k"]
    assert point.error == pytest.approx(abs(k - 14) / 14)


def test_the_window_is_judged_at_the_default_cap_and_the_cap_at_the_default_window(findings):
    assert {(p.tau, p.zscore) for p in findings.window_sweep} == {(1000, False)}
    assert {(p.window, p.zscore) for p in findings.tau_sweep} == {(3, False)}
    assert "bless" not in {p.dataset for p in findings.tau_sweep}  # where every cap is the same sample
    errors = [mean_error(cluster) for cluster in grouped(findings.window_sweep, lambda p: p.window).values()]
    assert errors == sorted(errors)
