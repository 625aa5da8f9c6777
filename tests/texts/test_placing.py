"""Texts in groups: placed by a model's rule, and described."""

import numpy as np
import pytest

import textspectra as ts
from textspectra.errors import UserError
from textspectra.texts.corpus import Corpus, EmbeddedTexts
from textspectra.texts.placing import describe_embedded, mean_vectors, place_texts, similarity_to_clusters, with_names

TEXTS = ["parcel late", "parcel lost", "login fails", "login slow", "parcel late"]
X = np.array([[1, 0], [3, 4], [0, 1], [0, 2], [1, 0]])


@pytest.fixture(scope="module")
def model():
    return ts.cluster_texts(TEXTS, embeddings=X, n_clusters=2)


@pytest.fixture
def embedded():
    return EmbeddedTexts(Corpus.from_texts(TEXTS), X[:4].astype(np.float32))


def test_new_texts_get_the_positions_of_their_groups(model):
    placed = place_texts(model, ["late parcel", "", "cannot login", "n/a"], embeddings=[[1, 0], [0, 0], [0, 1], [1, 1]])
    assert placed.texts.corpus.spread(placed.codes, -1).tolist() == [model.codes[0], -1, model.codes[2], -1]
    assert placed.notes == ("1 text says nothing and has no group: 'n/a'.",)
    with pytest.raises(UserError, match="have 3 dimensions, but the clusters were found in 2; use the same model"):
        place_texts(model, ["late parcel"], embeddings=[[1, 0, 0]])


def test_texts_without_content_are_placed_nowhere(model):
    placed = place_texts(model, ["", " "])  # no model is loaded for them
    assert len(placed.codes) == 0
    assert placed.texts.X.shape == (0, 2)


def test_a_text_counts_in_the_mean_as_often_as_it_occurs(embedded):
    centers = mean_vectors(embedded, np.array([0, 0, 1, 1]), 3)
    np.testing.assert_allclose(centers, [[2.6 / 3, 0.8 / 3], [0, 1], [0, 0]], rtol=1e-6)
    similarity = similarity_to_clusters(embedded, np.array([0, 0, 1, 1]), centers)
    np.testing.assert_allclose(similarity[2:], [1, 1], rtol=1e-6)


def test_a_group_is_described_by_rows_of_the_input(embedded):
    codes = np.array([0, 0, 1, 1])
    similarity, clusters = describe_embedded(embedded, codes, mean_vectors(embedded, codes, 2), None)
    assert [cluster.size for cluster in clusters] == [3, 2]
    assert {TEXTS[row] for row in clusters[0].representatives} == {"parcel late", "parcel lost"}
    assert similarity.shape == (4,)


def test_names_that_groups_had_are_kept_and_no_other_group_gets_one(model):
    first, second = model.clusters
    named = with_names([first, second], [5, 9], {0: second.name}, others=["other"])
    assert [cluster.label for cluster in named] == [5, 9]
    assert named[0].name == second.name
    assert named[1].name not in (second.name, "other")
