import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from textspectra.clustering.numbering import label_sizes, largest_first, relabel_like, same_clusters


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


@given(two_clusterings())
def test_relabelled_clusters_keep_their_rows_and_where_possible_their_number(labels):
    old, new = labels
    found = relabel_like(old, new)
    assert set(found.tolist()) == set(new.tolist())
    assert len(set(zip(new.tolist(), found.tolist(), strict=True))) == len(set(new.tolist()))
    k = new.max() + 1
    for label, rows in rows_of(old).items():
        if label < k and rows in rows_of(new).values():
            assert set(np.flatnonzero(found == label).tolist()) == rows


@given(two_clusterings())
def test_other_clusters_take_the_lowest_free_numbers_in_order(labels):
    old, new = labels
    found = relabel_like(old, new)
    kept = {label for label, rows in rows_of(old).items() if rows_of(found).get(label) == rows}
    others = sorted({(n, f) for n, f in zip(new.tolist(), found.tolist(), strict=True) if f >= 0 and f not in kept})
    assert [number for _, number in others] == sorted(number for _, number in others)


def test_a_split_cluster_passes_its_number_to_the_first_part():
    old = np.array([0, 0, 1, 1, 2, -1])
    assert relabel_like(old, np.array([0, 1, 2, 2, 3, -1])).tolist() == [0, 3, 1, 1, 2, -1]
    assert relabel_like(old, old).tolist() == old.tolist()
