"""The vectors of a study: those that came with a dataset, and those that a model makes."""

import numpy as np
import pytest

from textspectra import UserError, embed_texts, load_model
from textspectra_study.datasets import Dataset, describe
from textspectra_study.vectors import make_vectors, vector_source

pytest.importorskip("wordllama")


@pytest.fixture
def dataset(tmp_path):
    """Build a dataset with a folder for vectors beside its file."""
    (tmp_path / "wordllama").mkdir()
    texts, labels = ["cat", "lion", "dog", "wolf"], np.array([1, 1, 0, 0])
    return Dataset("pets", "Pets", texts, labels, (), "pets.parquet", tmp_path / "pets.parquet", np.arange(4))


@pytest.mark.parametrize("shipped_rows", [[], [1, 3], [0, 1, 2, 3]])
def test_vectors_that_come_with_a_dataset_are_used_and_the_others_made(dataset, tmp_path, shipped_rows):
    if shipped_rows:
        marked = np.arange(1, len(shipped_rows) + 1)[:, None] * np.ones((1, 256))
        np.savez(tmp_path / "wordllama" / "pets.npz", embedding=marked.astype(np.float16), row=shipped_rows)
    source = vector_source(dataset, describe(dataset), "wordllama", load_model("wordllama"))
    rows = np.array([3, 0, 1])
    vectors = np.load(make_vectors(dataset, source, rows, tmp_path / "vectors"))
    own = embed_texts(dataset.texts, "wordllama", cache=False)
    for vector, row in zip(vectors, rows.tolist(), strict=True):
        expected = np.full(256, shipped_rows.index(row) + 1.0) if row in shipped_rows else own[row]
        assert np.allclose(vector, expected, atol=1e-6)


def test_other_vectors_are_another_source(dataset, tmp_path):
    backend = load_model("wordllama")
    plain = vector_source(dataset, describe(dataset), "wordllama", backend)
    np.savez(tmp_path / "wordllama" / "pets.npz", embedding=np.ones((1, 256)), row=[0])
    assert vector_source(dataset, describe(dataset), "wordllama", backend).key != plain.key
    (tmp_path / "wordllama" / "pets.npz").write_bytes(b"damaged")
    with pytest.raises(
        UserError,
        match=r"pets\.npz cannot be used: it must hold `embedding` and `row`, written by numpy\.savez\. Remove the",
    ):
        vector_source(dataset, describe(dataset), "wordllama", backend)
