import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from textspectra.clustering.numbering import label_sizes, largest_first


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
