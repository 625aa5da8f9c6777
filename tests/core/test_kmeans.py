import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from textspectra.core.kmeans import label_sizes, largest_first, same_clusters


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60).map(np.array), st.permutations(range(10)))
def test_clusters_are_numbered_by_size_and_ties_by_first_appearance(labels, names):
    sizes = label_sizes(labels, 12)
    assert sizes.tolist() == np.bincount(labels, minlength=12).tolist()
    found, order = largest_first(labels, sizes)
    listed = labels.tolist()
    assert order.tolist() == sorted(set(listed), key=lambda label: (-listed.count(label), listed.index(label)))
    assert (order[found] == labels).all()
    renamed = np.array(names)[labels]
    assert (largest_first(renamed, label_sizes(renamed, 12))[0] == found).all()


@st.composite
def two_clusterings(draw):
    """Draw labels of the same rows twice; the second has no gaps, and often shares clusters with the first."""
    n = draw(st.integers(1, 12))
    old = draw(arrays(np.intp, n, elements=st.integers(-1, 5)))
    changes = draw(st.dictionaries(st.integers(0, n - 1), st.integers(-1, 5), max_size=3))
    new = old.copy()
    new[list(changes)] = list(changes.values())
    present = np.unique(new[new >= 0])
    numbers = dict(zip(present.tolist(), draw(st.permutations(range(len(present)))), strict=True))
    return old, np.array([numbers.get(label, -1) for label in new.tolist()], np.intp)


def rows_of(labels):
    return {label: set(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist()) - {-1}}


@given(two_clusterings())
def test_same_clusters_have_the_same_rows(labels):
    old, new = map(rows_of, labels)
    expected = {n: o for n, rows in new.items() for o, other in old.items() if rows == other}
    assert same_clusters(*labels) == expected
