"""Checks of the arguments of public functions, with messages that name the problem."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ..errors import UserError
from . import F64, Arguments, Array, Bools, Ints, PerRow, Rows
from .rows import align, fold_blocks, is_dask, map_rows

if TYPE_CHECKING:
    import dask.array as da
    from sklearn.base import BaseEstimator

MAX_TOTAL_WEIGHT = 1e15  # in a larger sum, rows of weight 1 would be lost by rounding
IF_TEXTS = "For texts, call textspectra.cluster_texts(texts), or get their vectors from textspectra.embed_texts(texts)."
NOT_2D = (  # begins and ends as scikit-learn's message, which its checks of estimators look for
    "Expected 2D array, got {}D array instead: X must have a row of numbers for each text. Reshape your data with "
    "X.reshape(1, -1) if it is a single row."
)

Level = Literal["auto", "coarse", "suggested", "fine"]
"""Which of the suggested numbers of groups to take; "auto" is "suggested"."""

LEVELS: tuple[Level, ...] = get_args(Level)

RandomState = int | np.random.RandomState | np.random.Generator | None


def check_embeddings(
    X: ArrayLike, *, minimum: int = 2, estimator: BaseEstimator | None = None, reset: bool = True, name: str = "X"
) -> Array:
    """Return `X` as a two-dimensional array of numbers, without copying or reading its values.

    Values are checked when rows are read, in :mod:`textspectra.core.rows`, so a memory map of any size costs nothing
    here. With an `estimator`, the number and names of the features are stored on it, or compared with the stored ones
    if ``reset=False``, as scikit-learn demands. A Dask array stays one, with known chunk sizes. Messages call
    it `name`.
    """
    if is_dask(X):
        checked: Array = _check_dask(X, minimum, estimator, reset)
        return checked
    if type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "to_dask_array"):
        raise UserError("X is a Dask data frame, but a Dask array is needed: pass X.to_dask_array(lengths=True).")
    if sparse.issparse(X):
        raise UserError(
            f"{name} is a sparse matrix; textspectra works on dense embeddings. Reduce it first, for example with "
            f"sklearn.decomposition.TruncatedSVD(256), or pass {name}.toarray() if it is small."
        )
    is_array = estimator is None and isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf"
    if is_array and len(numbers := np.asarray(X)) >= minimum and numbers.shape[1] > 0:
        return numbers
    # Late: the command line does without scikit-learn, which takes longer to import than most commands take.
    from sklearn.utils.validation import check_array, validate_data

    options = {"dtype": "numeric", "ensure_all_finite": False, "ensure_min_samples": minimum}
    try:
        if estimator is None:
            numbers = np.asarray(check_array(X, input_name=name, **options))
        else:
            numbers = np.asarray(validate_data(estimator, X, reset=reset, **options))
        # scikit-learn lets some data frames with text pass as objects.
        return numbers if numbers.dtype != object else numbers.astype(np.float64)
    except ValueError as error:
        if _holds_text(X):
            problem = f"{name} holds texts, but this function takes vectors: one row of numbers for each text."
            raise UserError(f"{problem} {IF_TEXTS}") from None
        if _n_dimensions(X) in (0, 1):
            raise UserError(NOT_2D.format(_n_dimensions(X))) from None
        raise UserError(str(error)) from None


def check_labeled(X: ArrayLike, labels: ArrayLike | Sequence[Hashable]) -> tuple[Array, PerRow, list[Hashable]]:
    """Return embeddings, an integer code for each row, and the label of each code."""
    if _n_dimensions(X) == 1 and _n_dimensions(labels) == 2:
        raise UserError("X and labels are swapped: the embeddings come first, then one label per row.")
    X = check_embeddings(X)
    return X, *check_labels(labels, X)


def _n_dimensions(values: object) -> int | None:
    """Return the number of dimensions of an array, or of what would be one; None for rows of different lengths."""
    try:
        return int(getattr(values, "ndim", None) or np.ndim(values))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def _holds_text(X: ArrayLike) -> bool:
    try:
        values = np.asarray(X, object)
    except ValueError:  # rows of different lengths
        return False
    return any(isinstance(value, str | bytes) for value in values.flat)


def _check_dask(X: da.Array, minimum: int, estimator: BaseEstimator | None, reset: bool) -> da.Array:
    from .dask_blocks import check_workers

    if X.dtype.kind not in "iufb":
        raise UserError(f"X must hold numbers, but the type of the Dask array is {X.dtype}. {IF_TEXTS}")
    if X.ndim != 2:
        raise UserError(NOT_2D.format(X.ndim))
    check_workers()
    X = _with_known_chunks(X)
    # Without values: an array of this shape that has no memory passes the checks of any other array.
    check_embeddings(np.broadcast_to(0.0, X.shape), minimum=minimum, estimator=estimator, reset=reset)
    return X


def _with_known_chunks(array: da.Array) -> da.Array:
    from .dask_blocks import with_known_chunks

    return with_known_chunks(array) if array.ndim in (1, 2) else array


def check_labels(labels: ArrayLike | Sequence[Hashable], X: Rows) -> tuple[PerRow, list[Hashable]]:
    """Return an integer code for each row of `X`, and the label of each code.

    Labels are any hashable values. Numbers get codes in ascending order, other values in the order of their first
    appearance. If `X` is a Dask array, so are the codes.
    """
    numbers = (bool, int, float, np.number, np.bool_)
    values: PerRow
    if is_dask(labels) and is_dask(X):
        values = _with_known_chunks(labels)
    elif isinstance(labels, list | tuple) and not all(isinstance(label, numbers) for label in labels):
        values = np.fromiter(labels, object, len(labels))  # "1" and 1 are not the same, and tuples are labels too
    else:
        values = np.asarray(labels)
    if values.ndim != 1:
        raise UserError(f"labels must be one-dimensional, one label per row, but its shape is {values.shape}.")
    if len(values) != len(X):
        raise UserError(f"labels has {len(values):,} entries but X has {len(X):,} rows; they must be equally many.")
    numeric = values.dtype.kind in "iufb"

    def look(first_row: int, part: Array) -> Arguments:
        missing = _which_missing(part)
        names = _distinct(part).tolist() if numeric else part.tolist()
        return dict.fromkeys(names), int(missing.sum()), first_row + missing.argmax() if missing.any() else None

    def either(former: Arguments, latter: Arguments) -> Arguments:
        return former[0] | latter[0], former[1] + latter[1], latter[2] if former[2] is None else former[2]

    try:
        present, n_missing, row = fold_blocks(look, values, combine=either)
    except TypeError as error:
        raise UserError(f"labels must be hashable values, one per row: {error}.") from None
    if n_missing:
        raise UserError(
            f"labels has a missing value at row {row} (and {n_missing - 1:,} more); give these rows a label of their "
            "own, such as -1."
        )
    names: list[Hashable] = sorted(present) if numeric else list(present)
    code_of = _by_number(np.array(names, values.dtype)) if numeric else _by_name(names)
    return align(map_rows(lambda first_row, part: code_of(part), values), X), names


def _distinct(numbers: Array) -> Array:
    """Return the numbers without repetitions, in ascending order."""
    if _is_narrow(numbers):
        low = int(numbers.min())
        return np.flatnonzero(np.bincount(numbers.astype(np.intp) - low)) + low
    return np.unique(numbers)


def _is_narrow(numbers: Array) -> bool:
    """Return True for integers of a range for which a table is ten times as fast as sorting."""
    is_integer = numbers.dtype.kind == "i" and len(numbers) > 0
    return is_integer and int(numbers.max()) - int(numbers.min()) < max(4 * len(numbers), 2**16)


def _by_number(numbers: Array) -> Callable[[Array], Ints]:
    """Return a function that gives the position of each of its values among the ascending numbers."""
    if not _is_narrow(numbers):
        return lambda values: np.searchsorted(numbers, values)
    table = np.zeros(int(numbers[-1]) - int(numbers[0]) + 1, np.intp)
    table[numbers.astype(np.intp) - int(numbers[0])] = np.arange(len(numbers))
    return lambda values: table[values.astype(np.intp) - int(numbers[0])]


def _by_name(names: list[Hashable]) -> Callable[[Array], Ints]:
    code_of = {name: code for code, name in enumerate(names)}
    return lambda values: np.array([code_of[value] for value in values.tolist()], np.intp)


def _which_missing(values: Array) -> Bools:
    if values.dtype.kind in "iub":
        return np.zeros(len(values), bool)
    return np.isnan(values) if values.dtype.kind == "f" else np.array([is_missing(v) for v in values.tolist()], bool)


def is_missing(value: object) -> bool:
    """Return True if a value is None, NaN, or a missing value of pandas."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def check_weights(sample_weight: PerRow, X: Rows) -> tuple[PerRow, float]:
    """Return the weight of each row of `X` and the largest weight; without weights, None and 1."""
    if sample_weight is None:
        return None, 1.0
    n_rows = len(X)
    if is_dask(sample_weight) and is_dask(X) and sample_weight.ndim:
        weights = _with_known_chunks(sample_weight.astype(np.float64))
    else:
        weights = np.asarray(sample_weight, np.float64)
        weights = align(np.full(n_rows, float(weights)) if weights.ndim == 0 else weights, X)
    if weights.shape != (n_rows,):
        needed = f"sample_weight.shape == ({n_rows},) is needed"
        raise UserError(f"sample_weight has shape {weights.shape} but X has {n_rows:,} rows; {needed}.")

    def look(first_row: int, part: F64) -> Arguments:
        bad = np.flatnonzero(~(np.isfinite(part) & (part >= 0)))
        first_bad = [(first_row + int(bad[0]), float(part[bad[0]]))] if len(bad) else []
        return first_bad, float(part.sum()), [float(part.max(initial=0.0))]

    first_bad, total, maxima = fold_blocks(look, weights)
    if first_bad:
        row, value = first_bad[0]
        raise UserError(f"sample_weight is {value} at row {row}; weights must be finite and at least 0.")
    if not max(maxima):
        raise UserError("sample_weight is zero for every row; at least one row must count.")
    if total > MAX_TOTAL_WEIGHT:
        raise UserError(f"sample_weight sums to {total:.3g}; scale it down to {MAX_TOTAL_WEIGHT:.0e} at most.")
    return weights, max(maxima)


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
