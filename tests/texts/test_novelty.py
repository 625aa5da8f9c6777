"""How new rows are against a model."""

import numpy as np
import pytest

from textspectra.texts.novelty import N_NEAREST, SMALLEST_SQUARE, Known, falls_in_two, score_novelty


def unit(X):
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)


def rows_of(classes, rng, noise=0.6, d=48):
    centers = np.random.default_rng(99).standard_normal((20, d))
    return unit(centers[classes] + noise * rng.standard_normal((len(classes), d)))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def known(rng):
    classes = np.arange(800) % 8
    return Known(rows_of(classes, rng), classes, 8)


def literal_raw(known, units):
    """The definition, row by row."""

    def nearest(cosines, without=None):
        order = [i for i in np.argsort(-cosines) if i != without][:N_NEAREST]
        return np.mean([np.log(max(2 - 2 * cosines[i], SMALLEST_SQUARE)) / 2 for i in order]), order

    spacing = [nearest(known @ known[row], without=row)[0] for row in range(len(known))]
    factor, neighbors = [], []
    for row in range(len(units)):
        far, others = nearest(known @ units[row])
        near, order = nearest(units @ units[row], without=row)
        factor.append(far - near + far - np.mean([spacing[other] for other in others]))
        neighbors.append(order)
    return np.array([np.mean([factor[i], *(factor[j] for j in neighbors[i])]) for i in range(len(units))])


def test_scores_are_the_definition_on_the_scale_of_the_model(known, rng):
    units = rows_of(np.arange(90) % 9, rng)
    scores, _ = score_novelty(known, units)
    raw = literal_raw(known.units, units)
    slope, offset = np.polyfit(raw, scores, 1)
    np.testing.assert_allclose(scores, slope * raw + offset, atol=1e-3 * np.ptp(scores))
    same = score_novelty(known, rows_of(np.arange(400) % 8, rng))[0]
    assert np.median(same) == pytest.approx(0, abs=0.3)
    assert np.mean(same < 1) == pytest.approx(0.9, abs=0.06)


def test_rows_of_a_new_class_are_new(known, rng):
    classes = np.append(np.arange(240) % 8, np.full(40, 11))
    scores, odd = score_novelty(known, rows_of(classes, rng))
    assert scores[classes == 11].min() > odd


@pytest.mark.parametrize("n", [0, 1, 5, 10, 11, 30])
def test_a_few_rows_are_scored_too(known, n, rng):
    units = rows_of(np.full(n, 11), rng)
    scores, _ = score_novelty(known, units)
    assert scores.shape == (n,)
    assert (scores > 1).all()


def test_a_small_model_cannot_tell(rng):
    few = Known(rows_of(np.arange(20) % 2, rng), np.arange(20) % 2, 2)
    units = rows_of(np.arange(30) % 3, rng)
    scores, _ = score_novelty(few, units)
    assert np.isnan(scores).all()


def test_equal_rows_are_no_problem():
    same = Known(unit(np.ones((60, 4))), np.zeros(60, int), 1)
    scores, _ = score_novelty(same, same.units[:20])
    assert np.isfinite(scores).all()


def cloud(n, rng, d=32):
    return rng.standard_normal((n, d)) + 4 * np.eye(d)[0]


@pytest.mark.parametrize("seed", range(4))
def test_two_clouds_do_and_one_does_not(seed):
    rng = np.random.default_rng(seed)
    one, other = cloud(120, rng), cloud(80, rng) + 12 * np.eye(32)[1]
    assert falls_in_two(unit(np.vstack([one, other])))
    assert not falls_in_two(unit(cloud(200, rng)))


def test_outliers_few_rows_and_equal_rows_do_not():
    rng = np.random.default_rng(0)
    with_outliers = np.vstack([cloud(200, rng), cloud(6, rng) + 9 * np.eye(32)[1]])
    assert not falls_in_two(unit(with_outliers))
    assert not falls_in_two(unit(np.vstack([cloud(10, rng), cloud(10, rng) + 9 * np.eye(32)[1]])))
    assert not falls_in_two(unit(np.ones((100, 4))))
