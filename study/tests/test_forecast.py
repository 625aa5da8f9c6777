"""Estimates from other sizes."""

import pytest

from textspectra_study.forecast import HIGHEST_POWER, value_at


@pytest.mark.parametrize("power", [0, 0.5, 1, 1.5])
def test_a_power_law_is_continued(power):
    measured = [(size, 3 * size**power) for size in (500, 1000, 2000, 5000)]
    assert value_at(350_000, measured) == pytest.approx(3 * 350_000**power)


def test_the_nearest_sizes_count_and_growth_is_limited():
    measured = [(1000, 1.0), (2000, 8.0), (4000, 64.0)]
    assert value_at(4000, [*measured, (4000, 66.0), (4000, 65.0)]) == pytest.approx(65)
    assert value_at(8000, [(4000, 64.0)] * 3 + measured[:2]) == pytest.approx(64 * 2**HIGHEST_POWER)


def test_work_that_stops_growing_does_not_grow_further():
    measured = [(500, 1.0), (1000, 2.0), (2000, 6.0), (5000, 6.0), (10_000, 6.0)]
    assert value_at(350_000, measured) == pytest.approx(6)


def test_a_square_is_continued_from_small_samples_that_show_little_of_it():
    measured = [(size, 130 + 5e-5 * size**2) for size in (500, 1000, 2000)]
    assert value_at(10_000, measured, all_pairs=True) == pytest.approx(130 + 5e-5 * 10_000**2)
    assert value_at(10_000, measured) < 1000  # a power of the size would be far off
    assert value_at(2000, [(1000, 10.0)], all_pairs=True) == pytest.approx(40)
