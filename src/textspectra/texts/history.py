"""The history of a model: which files it took in, and how they changed its groups."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import special

from ..errors import UserError
from ..hygiene import plural
from ..tables.columns import as_strings
from ..words.describe import Cluster
from .shares import LEVEL, adjusted, common_scatter, compare_shares

if TYPE_CHECKING:
    from .clustered import ClusteredTexts

DIGESTS = "digests"  # entry of a recipe with the digests of the files that the result was made from
Status = Literal["new", "growing", "shrinking", "gone", "steady"]


@dataclass(frozen=True)
class ClusterChange:
    """How one group changed between the last file and this one; "gone" is a loss of all texts that is not chance."""

    label: int
    name: str
    status: Status
    before: int  # texts of the group
    after: int
    share_before: float  # of all texts in a group
    share_after: float
    p: float  # adjusted for the number of groups; 0 for a new group
    mixed: bool = False  # the group has no common theme

    @property
    def keeps_count(self) -> bool:
        """Whether the group has about the same number of texts, within a tenth, even if its share changed."""
        return abs(self.after - self.before) <= 0.1 * self.before

    @property
    def figures(self) -> str:
        """Shares and numbers of texts, in words."""
        before, after = _percents(self.share_before, self.share_after)
        if self.status == "new":
            return f"{after}, {plural(self.after, 'text')}{', mixed' if self.mixed else ''}"
        return f"{before} → {after}, {self.before:,} → {self.after:,} texts"


def _percents(before: float, after: float) -> tuple[str, str]:
    """Return two shares in percent, with as many digits as it takes to tell them from 0 and from each other."""
    first = second = ""
    for digits in range(1, 7):
        first, second = (f"{100 * share:.{digits}f}%" if share else "0%" for share in (before, after))
        if f"{0:.{digits}f}%" not in (first, second) and (before == after or first != second):
            break
    return first, second


def find_changes(
    clusters: Sequence[Cluster], before: NDArray[np.intp], after: NDArray[np.intp]
) -> tuple[ClusterChange, ...]:
    """Compare the sizes of groups in two files; groups after the last of `before` are new.

    Status, p-value and shares all refer to the same counts: every text of each file that has a group.
    """
    k, n_new = len(before), len(after) - len(before)
    # Counts are overdispersed because texts arrive in bursts. New groups lower the shares of all the others alike,
    # which is a change and not dispersion: so the dispersion is measured among the others.
    among = compare_shares(before, before.sum(), after[:k], after[:k].sum())
    scatter = common_scatter(-special.ndtri(among / 2))
    p = compare_shares(before, before.sum(), after[:k], after.sum())
    # No burst explains that a group has lost all its texts.
    p = adjusted(np.where(after[:k] == 0, p, 2 * special.ndtr(special.ndtri(p / 2) / np.sqrt(scatter))))
    counts = np.column_stack([np.append(before, np.zeros(n_new, np.intp)), after])
    shares = counts / np.maximum(counts.sum(axis=0), 1)
    direction = np.where(shares[:k, 1] > shares[:k, 0], "growing", "shrinking")
    statuses = np.where(p >= LEVEL, "steady", np.where(after[:k] == 0, "gone", direction)).tolist() + ["new"] * n_new
    mixed = [cluster.is_mixed for cluster in clusters]
    columns = (statuses, *counts.T.tolist(), *shares.T.tolist(), np.append(p, np.zeros(n_new)).tolist(), mixed)
    return tuple(
        ClusterChange(cluster.label, cluster.name, *values) for cluster, *values in zip(clusters, *columns, strict=True)
    )


def columns_of(changes: Sequence[ClusterChange]) -> dict[str, list[object]]:
    """Return the columns of a table of changes: the new groups first, the largest changes of a kind first."""
    order = {status: place for place, status in enumerate(get_args(Status))}
    ranked = sorted(changes, key=lambda change: (order[change.status], -abs(change.share_after - change.share_before)))
    names = {"cluster": "label", "name": "name", "status": "status", "size_before": "before", "size_after": "after",
             "share_before": "share_before", "share_after": "share_after", "p": "p", "mixed": "mixed"}  # fmt: skip
    return {column: [getattr(change, name) for change in ranked] for column, name in names.items()}


@dataclass(frozen=True)
class Update:
    """An entry in the history of a model: when it took in a file, how many rows the file had, and what changed."""

    date: str
    rows: int
    changes: tuple[ClusterChange, ...]
    source: str = ""  # name of the file, if it is known
    digests: tuple[str, ...] = ()  # of the content of each file; models of earlier versions have none


def content_digest(table: pa.Table) -> str:
    """Return a digest of the plain columns of a table, to recognize it when it comes again."""
    digest = hashlib.sha256()
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not pa.types.is_nested(column.type):
            values = pc.fill_null(as_strings(column), "\0")
            row = pa.ListArray.from_arrays([0, len(values)], values)
            digest.update(f"{name}\0".encode())
            digest.update(pc.binary_join(row, pa.scalar("\x1f", pa.large_string()))[0].as_buffer())
    return digest.hexdigest()


def check_not_taken_in(model: ClusteredTexts, digests: Mapping[str, str], option: str) -> None:
    """Raise if a file, given by its name and its digest, is in the model or comes twice; `option` would allow that."""
    taken = dict.fromkeys(model.recipe.get(DIGESTS, "").split(), "is in this model from the start")
    for entry in model.history:
        taken |= dict.fromkeys(entry.digests, f"went into this model on {entry.date} already")
    for name, digest in digests.items():
        if digest in taken:
            raise UserError(
                f"{name} {taken[digest]}, and every text would count twice. If that is what you want, use {option}."
            )
        taken[digest] = f"has the same content as {name}"
