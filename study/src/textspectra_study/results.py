"""The results of a study: its datasets, their samples, and the outcome of every cell."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

OK = "ok"
"""The status of a cell with numbers; any other status is the reason why it has none."""

EXTRINSIC = ("ari", "nmi", "homogeneity", "completeness", "fowlkes_mallows")
INTRINSIC = ("silhouette", "davies_bouldin", "calinski_harabasz", "cohesion_ratio")
METRICS = (*EXTRINSIC, "k_relative_error", *INTRINSIC)

LOWER_IS_BETTER = frozenset({"k_relative_error", "davies_bouldin"})


def rounded(value: float) -> float | None:
    """Round to 6 digits, which all machines agree on; NaN becomes None, because JSON has no NaN.

    Examples
    --------
    >>> rounded(1 / 3), rounded(float("nan"))
    (0.333333, None)
    """
    return None if math.isnan(value) else float(f"{value:.6g}")


class DatasetFacts(NamedTuple):
    """A row of the paper's Table 1: counts of a labeled dataset.

    Attributes
    ----------
    name, title : str
        Its name in files, and on the page.
    instances, classes : int
    mean_words : float
    imbalance : float
        The coefficient of variation of the class sizes.
    source : str
        The name of its file, or of its repository on the hub.
    digest : str
        A digest of its texts and labels, in order.
    """

    name: str
    title: str
    instances: int
    classes: int
    mean_words: float
    imbalance: float
    source: str
    digest: str


class Variant(NamedTuple):
    """One sample of a dataset; dataset, kind, size and seed determine its rows.

    Attributes
    ----------
    dataset : str
        The name of the dataset.
    kind : {"random", "stratified", "whole"}
    size : int
        Number of rows.
    classes : int
        Number of classes among them.
    seed : int
    """

    dataset: str
    kind: Literal["random", "stratified", "whole"]
    size: int
    classes: int
    seed: int

    @property
    def name(self) -> str:
        """The name of the variant in tables.

        Examples
        --------
        >>> Variant("reddit", "stratified", 2000, 50, 0).name
        'reddit-stratified-2000'
        """
        return f"{self.dataset}-{self.kind}-{self.size}"


@dataclass(frozen=True)
class Manifest:
    """The plan of a study, written before anything runs.

    Attributes
    ----------
    datasets : tuple of DatasetFacts
    variants : tuple of Variant
    models : tuple of str
    seed : int
    max_size : int or None
        Larger samples were left out.
    max_size_of : mapping of str to int
        The same for single models.
    versions : mapping of str to str
        Versions of the packages that computed the cells.
    """

    datasets: tuple[DatasetFacts, ...]
    variants: tuple[Variant, ...]
    models: tuple[str, ...]
    seed: int
    max_size: int | None = None
    max_size_of: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """The outcome of one task on one variant with one model.

    Attributes
    ----------
    variant : Variant
    model : str
    task : str
        The name of the task, such as ``"kmeans_kest"``.
    status : str
        ``"ok"``, or why there are no values.
    values : dict
        The outcome as plain JSON values; the same for the same seed.
    seconds : float
        CPU time of the task.
    peak_mb : float
        Peak memory of its process.
    """

    variant: Variant
    model: str
    task: str
    status: str
    values: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    peak_mb: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether the cell has values."""
        return self.status == OK


@dataclass(frozen=True)
class Results:
    """The manifest and the finished cells, in the order of the manifest.

    Attributes
    ----------
    manifest : Manifest
    cells : sequence of Cell
    n_planned : int
        How many cells the complete study has.
    """

    manifest: Manifest
    cells: Sequence[Cell]
    n_planned: int

    def of(self, *tasks: str) -> Iterator[Cell]:
        """Yield the cells of some tasks, with any status."""
        return (cell for cell in self.cells if cell.task in tasks)
