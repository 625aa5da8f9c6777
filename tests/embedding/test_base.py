"""Models that are objects of the user: anything with encode, or a function."""

from functools import partial

import numpy as np
import pytest
from embedding_helpers import CountingBackend, expected
from scipy import sparse

from textspectra.embedding.cache import EmbeddingCache
from textspectra.embedding.embed import embed_texts
from textspectra.embedding.registry import as_backend, load_model
from textspectra.errors import UserError


def encode(texts):
    assert isinstance(texts, list)
    return expected(texts)


class WithEncode:
    def encode(self, texts):
        return encode(texts)


class WithEmbed:
    """Like the models of FastEmbed, whose method is a generator."""

    def embed(self, documents):
        yield from encode(documents)


class WithCall:
    def __call__(self, texts):
        return encode(texts).tolist()


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (WithEncode(), "encoder:WithEncode"),
        (WithEmbed(), "encoder:WithEmbed"),
        (WithCall(), "encoder:WithCall"),
        (encode, "encoder:encode"),
        (partial(encode), "encoder:partial"),
    ],
)
def test_an_encoder_or_a_function_is_a_model_that_is_not_cached(model, name):
    texts = [f"text {number % 400}" for number in range(700)]
    assert as_backend(model).name == name
    assert np.array_equal(embed_texts(texts, model), expected(texts))
    assert EmbeddingCache().size().entries == 0


def test_a_back_end_is_taken_as_it_is_and_cached():
    backend = CountingBackend()
    assert as_backend(backend) is backend
    embed_texts(["a"], backend)
    assert EmbeddingCache().size().entries == 1


def test_an_encoder_cannot_be_loaded_by_its_name():
    with pytest.raises(
        UserError,
        match=r"^'encoder:WithEncode' is an object of a Python .* to TextClustering\.load\.$",
    ):
        load_model(as_backend(WithEncode()).name)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            7,
            r"must be a name, an object with encode\(texts\), or a function from a list of texts .*, but it is 7",
        ),
        (None, "but it is None"),
        (WithEncode, "^model is the class WithEncode; give an object of that class instead.$"),
        (CountingBackend, "^model is the class CountingBackend; give an object"),
    ],
)
def test_other_objects_are_an_error(model, message):
    with pytest.raises(UserError, match=message):
        embed_texts(["a"], model)


def test_the_wrong_number_of_vectors_is_an_error_that_names_the_encoder():
    with pytest.raises(UserError, match=r"encoder:<lambda> gave an array of shape \(1, 2\) for 2 texts; it must"):
        embed_texts(["a", "b"], lambda texts: [[1, 2]])


def test_sparse_vectors_are_an_error_that_says_what_to_do():
    with pytest.raises(UserError) as caught:
        embed_texts(["a", "b"], lambda texts: sparse.csr_array(np.eye(2)), cache=False)
    assert str(caught.value) == (
        "encoder:<lambda> gave a sparse matrix, but a model must give dense vectors: reduce it first, for example with "
        "sklearn.decomposition.TruncatedSVD(256), or return its .toarray() if it is small."
    )
