"""Checks of the arguments of public functions, with messages that name the problem."""

from __future__ import annotations

import secrets
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ..errors import UserError
from .rows import F64, Arguments, Array, Bools, Folded, Ints, PerRow, Rows, align, fold_blocks, is_dask, map_rows

if TYPE_CHECKING:
    import dask.array as da
    from sklearn.base import BaseEstimator

MAX_TOTAL_WEIGHT = 1e15  # in a larger sum, rows of weight 1 would be lost by rounding
IF_TEXTS = "For texts, call textspectra.cluster_texts(texts), or get their vectors from textspectra.embed_texts(texts)."

Level = Literal["auto", "coarse", "suggested", "fine"]
"""Which of the suggested numbers of groups to take; "auto" is "suggested"."""

LEVELS: tuple[Level, ...] = get_args(Level)

RandomState = int | np.random.RandomState | np.random.Generator | None


def check_embeddings(
    X: ArrayLike, *, minimum: int = 2, estimator: BaseEstimator | None = None, reset: bool = True
) -> Array:
    """Return `X` as a two-dimensional array of numbers, without copying or reading its values.

    Values are checked when rows are read, in :mod:`textspectra.core.rows`, so a memory map of any size costs nothing
    here. With an `estimator`, the number and names of the features are stored on it, or compared with the stored ones
    if ``reset=False``, as scikit-learn demands. A Dask array stays one, with known chunk sizes.
    """
    if is_dask(X):
        checked: Array = _check_dask(X, minimum, estimator, reset)
        return checked
    if type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "to_dask_array"):
        raise UserError("X is a Dask data frame, but a Dask array is needed: pass X.to_dask_array(lengths=True).")
    if sparse.issparse(X):
        raise TypeError(
            "X is a sparse matrix; textspectra works on dense embeddings. Reduce it first, for example with "
            "sklearn.decomposition.TruncatedSVD(256), or pass X.toarray() if it is small."
        )
    is_array = estimator is None and isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf"
    if is_array and len(numbers := np.asarray(X)) >= minimum and numbers.shape[1] > 0:
        return numbers
    # Late: the command line does without scikit-learn, which takes longer to import than most commands take.
    from sklearn.utils.validation import check_array, validate_data

    options = {"dtype": "numeric", "ensure_all_finite": False, "ensure_min_samples": minimum}
    try:
        if estimator is None:
            numbers = np.asarray(check_array(X, input_name="X", **options))
        else:
            numbers = np.asarray(validate_data(estimator, X, reset=reset, **options))
        # scikit-learn lets some data frames with text pass as objects.
        return numbers if numbers.dtype != object else numbers.astype(np.float64)
    except ValueError as error:
        if _holds_text(X):
            problem = "X holds texts, but this function takes vectors: one row of numbers for each text."
            raise UserError(f"{problem} {IF_TEXTS}") from None
        raise UserError(str(error)) from None


def _holds_text(X: ArrayLike) -> bool:
    try:
        values = np.asarray(X, object)
    except ValueError:  # rows of different lengths
        return False
    return any(isinstance(value, str | bytes) for value in values.flat)


def _check_dask(X: da.Array, minimum: int, estimator: BaseEstimator | None, reset: bool) -> da.Array:
    from .dask_blocks import check_workers, with_known_chunks

    if X.dtype.kind not in "iufb":
        raise UserError(f"X must hold numbers, but the type of the Dask array is {X.dtype}. {IF_TEXTS}")
    if X.ndim != 2:
        raise UserError(f"Expected 2D array, got {X.ndim}D array instead: X must have a row of numbers for each text.")
    check_workers()
    X = with_known_chunks(X)
    for count, what, least in ((len(X), "sample(s)", minimum), (X.shape[1], "feature(s)", 1)):
        if count < least:
            raise UserError(
                f"Found array with {count} {what} (shape={X.shape}) while a minimum of {least} is required."
            )
    if estimator is not None and reset:
        estimator.n_features_in_ = X.shape[1]
    elif estimator is not None and X.shape[1] != estimator.n_features_in_:
        raise UserError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input."
        )
    return X


def check_labels(labels: ArrayLike | Sequence[Hashable], X: Rows) -> tuple[PerRow, list[Hashable]]:
    """Return an integer code for each row of `X`, and the label of each code.

    Labels are any hashable values. Numbers get codes in ascending order, other values in the order of their first
    appearance. If `X` is a Dask array, so are the codes.
    """
    if is_dask(labels) and is_dask(X):
        return _check_dask_labels(labels, len(X))
    numbers = (bool, int, float, np.number, np.bool_)
    if isinstance(labels, list | tuple) and not all(isinstance(label, numbers) for label in labels):
        values = np.fromiter(labels, object, len(labels))  # "1" and 1 are not the same, and tuples are labels too
    else:
        values = np.asarray(labels)
    _check_one_per_row(values, len(X))
    missing = _which_missing(values)
    _refuse_missing(int(missing.sum()), int(missing.argmax()) if len(missing) else 0)
    if values.dtype.kind in "iufb":
        codes, names = _code_numbers(values)
        return align(codes, X), names
    code_of: dict[Hashable, int] = {}
    try:
        codes = np.array([code_of.setdefault(value, len(code_of)) for value in values.tolist()], np.intp)
    except TypeError as error:
        raise UserError(f"labels must be hashable values, one per row: {error}.") from None
    return align(codes, X), list(code_of)


def _check_dask_labels(labels: da.Array, n_rows: int) -> tuple[PerRow, list[Hashable]]:
    from .dask_blocks import with_known_chunks

    labels = with_known_chunks(labels) if labels.ndim == 1 else labels
    _check_one_per_row(labels, n_rows)
    numbers = labels.dtype.kind in "iufb"

    def distinct(first_row: int, part: Array) -> Folded:
        missing = _which_missing(part)
        names = np.unique(part).tolist() if numbers else part.tolist()
        return Folded(
            (dict.fromkeys(names), int(missing.sum()), first_row + missing.argmax() if missing.any() else None)
        )

    def either(former: Arguments, latter: Arguments) -> Arguments:
        return former[0] | latter[0], former[1] + latter[1], latter[2] if former[2] is None else former[2]

    present, n_missing, first_missing = fold_blocks(distinct, labels, combine=either).statistics
    _refuse_missing(n_missing, first_missing)
    names: list[Hashable] = sorted(present) if numbers else list(present)
    if numbers:
        values = np.array(names, labels.dtype)
        return map_rows(lambda first_row, part: np.asarray(np.searchsorted(values, part)), labels), names
    code_of = {name: code for code, name in enumerate(names)}
    return map_rows(lambda first_row, part: np.array([code_of[v] for v in part.tolist()], np.intp), labels), names


def _check_one_per_row(labels: da.Array | Array, n_rows: int) -> None:
    if labels.ndim != 1:
        raise UserError(f"labels must be one-dimensional, one label per row, but its shape is {labels.shape}.")
    if len(labels) != n_rows:
        raise UserError(f"labels has {len(labels):,} entries but X has {n_rows:,} rows; they must be equally many.")


def _which_missing(values: Array) -> Bools:
    if values.dtype.kind in "iub":
        return np.zeros(len(values), bool)
    return np.isnan(values) if values.dtype.kind == "f" else np.array([is_missing(v) for v in values.tolist()], bool)


def is_missing(value: object) -> bool:
    """Return True if a value is None, NaN, or a missing value of pandas."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def _refuse_missing(n_missing: int, row: int) -> None:
    if n_missing:
        raise UserError(
            f"labels has a missing value at row {row} (and {n_missing - 1:,} more); give these rows a label of their "
            "own, such as -1."
        )


def _code_numbers(values: Array) -> tuple[Ints, list[Hashable]]:
    if values.dtype.kind == "i" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < 4 * len(values):  # a table of all numbers is ten times as fast as sorting
            shifted = values.astype(np.intp) - low
            present = np.bincount(shifted) > 0
            return (np.cumsum(present) - 1)[shifted], list((np.flatnonzero(present) + low).tolist())
    unique, codes = np.unique(values, return_inverse=True)
    return codes.astype(np.intp, copy=False), unique.tolist()


def check_weights(sample_weight: PerRow, X: Rows) -> tuple[PerRow, float]:
    """Return the weight of each row of `X` and the largest weight; without weights, None and 1."""
    if sample_weight is None:
        return None, 1.0
    n_rows = len(X)
    if is_dask(sample_weight) and is_dask(X) and sample_weight.ndim:
        from .dask_blocks import with_known_chunks

        weights = with_known_chunks(sample_weight.astype(np.float64))
    else:
        weights = np.asarray(sample_weight, np.float64)
        weights = align(np.full(n_rows, float(weights)) if weights.ndim == 0 else weights, X)
    if weights.shape != (n_rows,):
        raise UserError(
            f"sample_weight has shape {weights.shape} but X has {n_rows:,} rows; sample_weight.shape == "
            f"({n_rows},) is needed."
        )

    def look(first_row: int, part: F64) -> Folded:
        bad = np.flatnonzero(~(np.isfinite(part) & (part >= 0)))
        first_bad = [(first_row + int(bad[0]), float(part[bad[0]]))] if len(bad) else []
        return Folded((first_bad, float(part.sum()), part.max(initial=0.0)))

    first_bad, total, largest = fold_blocks(
        look, weights, combine=lambda a, b: (a[0] + b[0], a[1] + b[1], max(a[2], b[2]))
    ).statistics
    if first_bad:
        row, value = first_bad[0]
        raise UserError(f"sample_weight is {value} at row {row}; weights must be finite and at least 0.")
    if not largest:
        raise UserError("sample_weight is zero for every row; at least one row must count.")
    if total > MAX_TOTAL_WEIGHT:
        raise UserError(f"sample_weight sums to {total:.3g}; scale it down to {MAX_TOTAL_WEIGHT:.0e} at most.")
    return weights, float(largest)


def check_whole_number(name: str, value: object, *, low: int, high: int | None = None, hint: str = "") -> int:
    """Return `value` as an int from `low` to `high`, or raise an error that names this range."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        number = int(value)
        if number >= low and (high is None or number <= high):
            return number
    allowed = f"at least {low:,}" if high is None else f"from {low:,} to {high:,}"
    raise UserError(f"{name} must be a whole number {allowed}, but it is {value!r}.{' ' + hint if hint else ''}")


def check_n_clusters(value: object, most: int, hint: str = "X has {:,} rows.") -> int | Level:
    """Return the requested number or level of clusters; the hint says where `most` comes from."""
    if not isinstance(value, str):
        return check_whole_number("n_clusters", value, low=1, high=most, hint=hint.format(most))
    if value in LEVELS:
        return value
    raise UserError(f'n_clusters must be "auto", "coarse", "suggested", "fine" or a whole number, but it is {value!r}.')


def check_n_jobs(n_jobs: object) -> None:
    """Raise an error if joblib would not accept this number of jobs."""
    is_whole = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if n_jobs is not None and not (is_whole and n_jobs):
        raise UserError(f"n_jobs must be a whole number other than 0 (-1: all cores) or None, but it is {n_jobs!r}.")


def make_seed(random_state: RandomState) -> int:
    """Return the seed that `random_state` stands for: an int itself, otherwise a random one.

    A function that starts several streams of random numbers takes the seed once, so that each stream depends on the
    seed alone and not on what the others have drawn.
    """
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if random_state is None:
        return secrets.randbits(128)
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    raise UserError(
        f"random_state (the seed) must be a whole number from 0 up, a generator or None; it is {random_state!r}."
    )


def make_generator(random_state: RandomState) -> np.random.Generator:
    """Return a generator; the same int always starts the same stream."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(make_seed(random_state))
