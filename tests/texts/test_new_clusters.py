"""New groups: what is found among new rows, and what is not."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from labeled_sets import DATA, needs_data

from textspectra.texts.new_clusters import find_new_clusters
from textspectra.texts.novelty import Known, score_novelty


def rows_of(classes, rng, d=48):
    centers = np.random.default_rng(99).standard_normal((20, d))
    rows = centers[classes] + 0.6 * rng.standard_normal((len(classes), d))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def found_in(known, classes, seed=0):
    """Return the new groups of rows of these classes; those that the model does not have are placed in its first."""
    rng = np.random.default_rng(seed)
    units = rows_of(classes, rng)
    codes = np.where(classes < known.k, classes, 0)
    return find_new_clusters(known, units, codes, score_novelty(known, units)[0])[0]


@pytest.fixture(scope="module")
def known():
    classes = np.arange(800) % 8
    return Known(rows_of(classes, np.random.default_rng(0)), classes, 8)


def test_a_new_class_is_a_new_group(known):
    classes = np.append(np.arange(240) % 8, np.full(40, 11))
    clusters = found_in(known, classes)
    assert (clusters[classes == 11] == 0).mean() > 0.95
    assert (clusters[classes < 11] == -1).all()


def test_new_classes_of_very_different_sizes_are_one_group_each(known):
    # The larger one has several times as many rows as a candidate: its pieces are joined.
    classes = np.concatenate([np.arange(240) % 8, np.full(150, 11), np.full(20, 12)])
    clusters = found_in(known, classes)
    assert clusters.max() == 1
    for new in (11, 12):
        own = np.bincount(clusters[classes == new] + 1, minlength=3)[1:]
        assert own.max() > 0.9 * (classes == new).sum()
    assert (clusters[classes < 11] == -1).all()


def test_nothing_is_new_in_rows_of_the_same_classes(known):
    found = []
    for seed in range(8):
        # The shares of the classes differ from those of the model: growth is no news.
        shares = [0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.05]
        classes = np.random.default_rng(seed).choice(8, 300, p=shares)
        found.append(found_in(known, classes, seed).max() + 1)
    assert sum(found) <= 1, found  # of 64 classes


def test_a_class_that_is_five_times_as_frequent_is_not_new(known):
    counts = np.array([20, 780 // 7, 780 // 7, 780 // 7, 780 // 7, 780 // 7, 780 // 7, 780 // 7])
    classes = np.repeat(np.arange(8), counts)
    rare = Known(rows_of(classes, np.random.default_rng(1)), classes, 8)
    assert found_in(rare, np.concatenate([np.zeros(40, int), np.arange(280) % 7 + 1])).max() == -1


@pytest.mark.parametrize("n", [0, 1, 5, 10, 11, 30])
def test_a_few_rows_are_no_problem(known, n):
    assert found_in(known, np.full(n, 11)).shape == (n,)


def test_where_novelty_is_unknown_nothing_is_new():
    few = Known(rows_of(np.arange(20) % 2, np.random.default_rng(0)), np.arange(20) % 2, 2)
    assert (found_in(few, np.arange(30) % 3) == -1).all()


def test_equal_rows_are_not_new():
    same = Known(np.full((60, 4), 0.5, np.float32), np.zeros(60, int), 1)
    scores = score_novelty(same, same.units[:20])[0]
    assert (find_new_clusters(same, same.units[:20], np.zeros(20, int), scores)[0] == -1).all()


def scaled(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_rows_between_the_model_and_a_new_class_do_not_join_it_if_the_model_has_such_rows():
    centers = np.random.default_rng(99).standard_normal((20, 48))

    def drawn(n_old, n_between, n_new):
        classes = np.repeat([0, 11], [n_old + n_between, n_new])
        classes[:n_old] = np.arange(n_old) % 8
        rows = centers[classes] + 0.6 * rng.standard_normal((len(classes), 48))
        rows[n_old : n_old + n_between] += 0.33 * (centers[11] - centers[0])
        return scaled(rows), np.where(classes < 8, classes, 0)

    for seed in range(1, 4):
        rng = np.random.default_rng(seed)
        model = Known(*drawn(720, 54, 0), 8)
        units, codes = drawn(240, 20, 40)
        clusters = find_new_clusters(model, units, codes, score_novelty(model, units)[0])[0]
        assert (clusters[260:] == 0).all()
        assert (clusters[:260] == -1).all()


@needs_data
def test_a_question_that_is_asked_five_times_as_often_is_not_new_but_one_never_asked_before_is():
    stored = np.load(DATA / "minilm" / "banking77.npz")
    units = scaled(stored["embedding"].astype(float))
    intents = pq.read_table(DATA / "banking77.parquet")["label"].take(stored["row"]).to_numpy(zero_copy_only=False)
    codes = np.unique(intents, return_inverse=True)[1]
    found = {}
    for n_before in (15, 0):
        for intent in (30, 36, 42, 44):
            order = np.random.default_rng(intent).permutation(len(units))
            asked, others = order[codes[order] == intent], order[codes[order] != intent]
            before, after = np.append(asked[:n_before], others[:2400]), np.append(asked[15:34], others[2400:])
            known = Known(units[before], codes[before], 77)
            scores = score_novelty(known, units[after])[0]
            homes = codes[after] if n_before else np.where(codes[after] == intent, 0, codes[after])
            clusters = find_new_clusters(known, units[after], homes, scores)[0]
            found[n_before, intent] = (clusters[: len(asked[15:34])] >= 0).sum(), (clusters >= 0).sum()
    assert all(found[15, intent] == (0, 0) for intent in (30, 36, 42, 44)), found
    assert sum(found[0, intent][0] >= 10 for intent in (30, 36, 42, 44)) >= 3, found


def test_a_new_group_of_many_themes_is_mixed(known):
    rng = np.random.default_rng(2)
    direction = 0.5 * np.random.default_rng(99).standard_normal((20, 48))[12]
    themes = direction + rng.standard_normal((30, 48))
    many = themes[np.arange(150) % 30] + 0.25 * rng.standard_normal((150, 48))
    units = np.concatenate([rows_of(np.arange(240) % 8, rng), scaled(many)])
    codes = np.append(np.arange(240) % 8, np.zeros(150, int))
    new, is_mixed = find_new_clusters(known, units, codes, score_novelty(known, units)[0])
    assert np.bincount(new[240:] + 1).argmax() > 0
    assert is_mixed[0]
