"""What the figures show."""

from textspectra_study.page.figures import indistinct_groups
from textspectra_study.page.statistics import Comparison


def test_bars_join_neighbors_that_do_not_differ():
    ranks = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 5.5, "e": 6.0}
    pairs = {(x, y): 0.5 if abs(ranks[x] - ranks[y]) <= 1.2 else 0.01 for x in ranks for y in ranks}
    test = Comparison("ari", [], {}, ranks, 9.0, 0.001, pairs, 1.2)
    assert indistinct_groups(test) == [["a", "b"], ["b", "c"], ["d", "e"]]
