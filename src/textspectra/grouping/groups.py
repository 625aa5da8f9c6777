"""What an algorithm finds: the groups of rows, and the rule that assigns rows to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays.rows import SumsAndSizes
from ..clustering.lloyd import LinearRule
from ..clustering.tree import MergeTree


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of rows, numbered by size; the attributes of the estimators say what each field is."""

    labels: Any
    centers: NDArray[np.float32]
    rule: LinearRule
    known: SumsAndSizes | None = None  # saves a pass over the rows
    inertia: float = float("nan")
    tree: MergeTree | None = None
    leaves: Any = None
