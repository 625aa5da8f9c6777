"""Cosine similarities as the tasks of a study use them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from textspectra import UserError


def unit_rows(X: ArrayLike) -> NDArray[np.float32]:
    """Scale every row to length 1.

    Raises
    ------
    UserError
        If a row is all zeros; the message names the row.

    Examples
    --------
    >>> unit_rows([[3.0, 4.0], [0.0, 2.0]])
    array([[0.6, 0.8],
           [0. , 1. ]], dtype=float32)
    """
    rows: NDArray[np.float32] = check_array(X, dtype=np.float32, input_name="X")
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    if not lengths.all():
        raise UserError(f"X is all zeros in row {int(lengths.argmin())} (counting from 0), so it has no direction.")
    units: NDArray[np.float32] = rows * (1 / lengths)[:, None]
    return units


def zscored_graph(units: NDArray[np.float32]) -> NDArray[np.float32]:
    """Standardize the cosines of unit rows over the whole matrix, and set negative values to zero.

    Examples
    --------
    >>> zscored_graph(np.eye(2, dtype=np.float32))
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    cosines: NDArray[np.float32] = units @ units.T
    center, spread = cosines.mean(dtype=np.float64), cosines.std(dtype=np.float64)
    cosines -= center
    cosines /= max(spread, np.finfo(np.float32).eps)
    np.maximum(cosines, 0, out=cosines)
    return cosines
