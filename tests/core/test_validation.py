"""Messages for wrong arguments. Warnings are errors here, so no NumPy warning gets through."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import textspectra as ts

GOOD = np.random.default_rng(0).standard_normal((40, 4))
LABELS = [0, 1] * 20


def with_row(row, value):
    X = GOOD.copy()
    X[row] = value
    return X


EVERY_CALL = pytest.mark.parametrize(
    "call",
    [
        ts.estimate_k,
        ts.laplacian_eigenvalues,
        lambda X: ts.cohesion_ratio(X, LABELS),
        lambda X: ts.evaluate(X, LABELS),
        lambda X: ts.AutoKMeans().fit(X),
        lambda X: ts.AutoAgglomerative().fit(X),
        lambda X: ts.AutoKMeans(2).fit(GOOD).predict(X),
    ],
    ids=["estimate_k", "laplacian_eigenvalues", "cohesion_ratio", "evaluate", "kmeans", "hac", "predict"],
)


@EVERY_CALL
@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (
            with_row(7, [1, np.nan, 1, 1]),
            ValueError,
            "a NaN or an infinite value in row 7 (counting from 0); remove",
        ),
        (
            with_row(9, [1, 1, -np.inf, 1]),
            ValueError,
            "a NaN or an infinite value in row 9 (counting from 0); remove",
        ),
        (with_row(3, 0), ValueError, "X is all zeros in row 3 (counting from 0)"),
        (
            with_row(slice(3, 6), 0),
            ValueError,
            "all zeros in row 3 (counting from 0, and 2 more in this block of rows)",
        ),
        (GOOD[:, 0], ValueError, "Expected 2D array, got 1D array instead"),
        (GOOD[:, :, None], ValueError, "dim 3"),
        (sparse.csr_array(GOOD), ts.UserError, "X is a sparse matrix; textspectra works on dense embeddings"),
        (GOOD + 1j, ValueError, "Complex data not supported"),
        (GOOD[:, :0], ValueError, "0 feature(s)"),
    ],
    ids=["nan", "inf", "zero row", "zero rows", "1-D", "3-D", "sparse", "complex", "no columns"],
)
def test_bad_embeddings(call, X, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call(X)


@pytest.mark.parametrize("X", [GOOD[0], GOOD[0].tolist(), pd.Series(GOOD[0])])
@pytest.mark.parametrize("call", [ts.estimate_k, ts.AutoKMeans(2).fit, lambda X: ts.cohesion_ratio(X, [0] * 4)])
def test_a_single_row_says_how_to_pass_it(call, X):
    expected = (
        "Expected 2D array, got 1D array instead: X must have a row of numbers for each text. Reshape your data with "
        "X.reshape(1, -1) if it is a single row."
    )
    with pytest.raises(ts.UserError, match=f"^{re.escape(expected)}$"):
        call(X)


@pytest.mark.parametrize("labels", [[0, 1] * 20, np.arange(40), ["a", "b"] * 20, pd.Series(["a", "b"] * 20)])
@pytest.mark.parametrize("X", [GOOD, GOOD.tolist(), pd.DataFrame(GOOD)])
@pytest.mark.parametrize("call", [ts.cohesion_ratio, ts.cohesion_report, ts.evaluate])
def test_swapped_arguments_are_recognized(call, X, labels):
    expected = "X and labels are swapped: the embeddings come first, then one label per row."
    with pytest.raises(ts.UserError, match=f"^{re.escape(expected)}$"):
        call(labels, X)


TEXTS = ["a text", "another"] * 20
FRAME = {"text": TEXTS, "number": range(40)}
FORMS = {
    "list": TEXTS,
    "tuple": tuple(TEXTS),
    "array": np.array(TEXTS),
    "array of objects": np.array([*TEXTS[1:], None], object),
    "array of bytes": np.array(TEXTS, "S"),
    "one text in each row": [[text] for text in TEXTS],
    "pandas series": pd.Series(TEXTS),
    "pandas series of strings": pd.Series(TEXTS, dtype="string"),
    "pandas frame": pd.DataFrame(FRAME),
    "column of a frame": pd.DataFrame(FRAME)[["text"]],
    "polars series": pl.Series(TEXTS),
    "polars frame": pl.DataFrame(FRAME),
    "arrow array": pa.array(TEXTS),
    "arrow chunks": pa.chunked_array([TEXTS]),
    "arrow table": pa.table(FRAME),
}


@pytest.mark.filterwarnings("ignore:X has feature names")
@EVERY_CALL
@pytest.mark.parametrize("texts", FORMS.values(), ids=FORMS)
def test_texts_in_place_of_vectors_name_the_function_to_call(call, texts):
    with pytest.raises(ts.UserError) as caught:
        call(texts)
    assert str(caught.value) == (
        "X holds texts, but this function takes vectors: one row of numbers for each text. For texts, call "
        "textspectra.cluster_texts(texts), or get their vectors from textspectra.embed_texts(texts)."
    )


def test_texts_in_a_dask_array_name_the_function_to_call():
    da = pytest.importorskip("dask.array")
    for texts in (np.array(TEXTS), np.array(TEXTS)[:, None]):
        with pytest.raises(ts.UserError) as caught:
            ts.estimate_k(da.from_array(texts, chunks=10))
        assert str(caught.value) == (
            "X must hold numbers, but the type of the Dask array is <U7. For texts, call "
            "textspectra.cluster_texts(texts), or get their vectors from textspectra.embed_texts(texts)."
        )


@EVERY_CALL
def test_integers_booleans_and_objects_of_numbers_are_numbers(call):
    X = np.random.default_rng(0).integers(1, 9, (40, 4))
    for variant in (X, X.astype(np.int8), X.astype(object), X > 0):
        call(variant)


@pytest.mark.parametrize("call", [ts.estimate_k, ts.AutoKMeans().fit, ts.AutoAgglomerative().fit])
def test_one_row_is_too_few_and_two_are_enough(call):
    with pytest.raises(ValueError, match=re.escape("1 sample(s)")):
        call(GOOD[:1])
    call(GOOD[:2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 0}, "window must be a whole number at least 1, but it is 0."),
        ({"window": 2.5}, "window must be a whole number at least 1, but it is 2.5."),
        ({"max_sample": 7}, "max_sample must be a whole number at least 8, but it is 7. Twice the window and 2 are"),
        ({"max_sample": True}, "max_sample must be a whole number at least 8, but it is True."),
        ({"n_replicates": 0}, "n_replicates must be a whole number at least 1, but it is 0."),
        ({"fallback": 0}, "fallback must be a whole number at least 1, but it is 0."),
    ],
)
def test_bad_options_of_spectral_k(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        ts.spectral_k(GOOD, **options)


@pytest.mark.parametrize(
    ("n_clusters", "message"),
    [
        (41, "n_clusters must be a whole number from 1 to 40, but it is 41. X has 40 rows"),
        (0, "n_clusters must be a whole number from 1 to 40, but it is 0."),
        (2.0, "n_clusters must be a whole number from 1 to 40, but it is 2.0."),
        ("many", 'n_clusters must be "auto", "coarse", "suggested", "fine" or a whole number, but it is \'many\'.'),
    ],
)
@pytest.mark.parametrize("model", [ts.AutoKMeans, ts.AutoAgglomerative])
def test_bad_n_clusters(model, n_clusters, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        model(n_clusters=n_clusters).fit(GOOD)


@pytest.mark.parametrize("n_jobs", [0, "all", 1.5, True])
@pytest.mark.parametrize("call", [ts.estimate_k, lambda X, n_jobs: ts.AutoKMeans(2, n_jobs=n_jobs).fit(X)])
def test_bad_n_jobs(call, n_jobs):
    message = f"n_jobs must be a whole number other than 0 (-1: all cores) or None, but it is {n_jobs!r}."
    with pytest.raises(ts.UserError, match=re.escape(message)):
        call(GOOD, n_jobs=n_jobs)


def test_bad_cut():
    fitted = ts.AutoAgglomerative(2).fit(GOOD)
    with pytest.raises(ValueError, match=r"from 1 to 40, but it is 41\. The tree has 40 leaves"):
        fitted.cut(41)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1, 2], "labels has 3 entries but X has 40 rows; they must be equally many."),
        (np.zeros((40, 2)), "labels must be one-dimensional, one label per row, but its shape is (40, 2)."),
        ([0.0, np.nan] * 20, "labels has a missing value at row 1 (and 19 more); give these rows a label of their own"),
        (["a", None] * 20, "labels has a missing value at row 1 (and 19 more)"),
        (["a", pd.NA] * 20, "labels has a missing value at row 1 (and 19 more)"),
        ([["a"], ["b"]] * 20, "labels must be hashable values, one per row: unhashable type: 'list'."),
    ],
)
@pytest.mark.parametrize("call", [ts.cohesion_ratio, ts.cohesion_report, ts.evaluate])
def test_bad_labels(call, labels, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call(GOOD, labels)


def test_a_background_that_is_not_positive_is_explained():
    with pytest.raises(ValueError, match=r"The mean similarity of all pairs is .*Use rectify=True"):
        ts.cohesion_ratio([[1, 0], [-1, 0]], [0, 0], rectify=False)
    with pytest.raises(ValueError, match=r"all pairs is 0, .*No two rows of X point the same way"):
        ts.cohesion_ratio(np.eye(3), [0, 0, 1])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], "sample_weight has shape (2,) but X has 40 rows"),
        ([-1] + [1] * 39, "sample_weight is -1.0 at row 0; weights must be finite and at least 0."),
        ([0] * 40, "sample_weight is zero for every row"),
        ([1e300] * 40, "sample_weight sums to 4e+301; scale it down to 1e+15 at most."),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        ts.AutoKMeans(2).fit(GOOD, sample_weight=weights)


@pytest.mark.parametrize(
    ("eigenvalues", "message"),
    [
        ([], "eigenvalues must be a one-dimensional, non-empty array"),
        ([[0, 1]], "eigenvalues must be a one-dimensional, non-empty array"),
        ([0, 2, 1], "eigenvalues must be ascending, but the one at position 2 is below"),
        ([0, np.nan], "eigenvalues has a NaN or infinity at position 1"),
    ],
)
def test_bad_eigenvalues(eigenvalues, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        ts.k_from_spectrum(eigenvalues)


def test_bad_random_state():
    for seed in ("seed", -1, 2.5):
        with pytest.raises(ValueError, match=r"random_state \(the seed\) must be a whole number from 0 up"):
            ts.estimate_k(GOOD, random_state=seed)


def test_huge_and_tiny_numbers_are_fine():
    expected = ts.AutoKMeans(3, random_state=0).fit(GOOD).labels_
    for factor in (1e300, 1e-300):
        assert (ts.AutoKMeans(3, random_state=0).fit(GOOD * factor).labels_ == expected).all()
