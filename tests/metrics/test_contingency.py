import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy as scipy_entropy
from sklearn import metrics

from textspectra.metrics.contingency import agreements, contingency, entropy

labels = st.integers(1, 60).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 6), min_size=n, max_size=n).map(np.array)] * 2)
)


@given(labels)
def test_the_table_and_every_metric_are_scikit_learns(labels):
    truth, found = labels
    table = contingency(truth, 7, found, 7)
    counts = table.toarray()
    expected = metrics.cluster.contingency_matrix(truth, found)
    assert counts[counts.any(axis=1)][:, counts.any(axis=0)].tolist() == expected.tolist()
    assert agreements(table)._asdict() == pytest.approx(
        {
            "ari": metrics.adjusted_rand_score(truth, found),
            "nmi": metrics.normalized_mutual_info_score(truth, found),
            "homogeneity": metrics.homogeneity_score(truth, found),
            "completeness": metrics.completeness_score(truth, found),
            "fowlkes_mallows": metrics.fowlkes_mallows_score(truth, found),
        },
        abs=1e-9,
    )
    assert agreements(counts) == pytest.approx(agreements(table))


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20).filter(any).map(np.array))
def test_the_entropy_is_scipys(counts):
    assert entropy(counts) == pytest.approx(scipy_entropy(counts), abs=1e-12)
