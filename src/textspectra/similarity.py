"""The rectified or z-scored cosine graph of a sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def cosine_graph(units: NDArray[np.float32], *, zscore: bool = False) -> NDArray[np.float32]:
    """Return the rectified cosine similarities of unit rows, diagonal included.

    With `zscore`, the similarities are first centred and scaled by their mean and standard
    deviation over the whole matrix, which removes weak links.

    Examples
    --------
    >>> import numpy as np
    >>> cosine_graph(np.array([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0]], np.float32))
    array([[1. , 0.6, 0. ],
           [0.6, 1. , 0. ],
           [0. , 0. , 1. ]], dtype=float32)
    """
    graph = units @ units.T
    if zscore:
        spread = graph.std(dtype=np.float64)
        if spread > np.finfo(np.float32).eps:
            graph -= graph.mean(dtype=np.float64)
            graph /= spread
    np.maximum(graph, 0, out=graph)
    return graph
