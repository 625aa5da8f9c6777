"""What changed in the groups from one file to the next, and the record that a model keeps of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import UserError
from ..io.columns import as_strings
from ..metrics.shares import adjusted, compare_shares, trend_test
from ..topics.describe import Topic

Status = Literal["new", "growing", "shrinking", "gone", "steady"]

LEVEL = 0.05
"""False discovery rate: of the groups that are said to change, this share is expected to be chance."""


@dataclass(frozen=True)
class GroupChange:
    """How one group changed.

    Attributes
    ----------
    label, name : int, str
        The group.
    status : {"new", "growing", "shrinking", "gone", "steady"}
        "gone" is a group that has lost all its texts, and had too many for that to be chance.
    before, after : int
        Texts of the group in the last file, and in this one.
    share_before, share_after : float
        Their shares of all texts in a group.
    p : float
        The p-value of the change, adjusted for the number of groups; 0 for a new group.

    Examples
    --------
    >>> GroupChange(3, "refund", "growing", 10, 30, 0.01, 0.03, 0.001).status
    'growing'
    """

    label: int
    name: str
    status: Status
    before: int
    after: int
    share_before: float
    share_after: float
    p: float


@dataclass(frozen=True)
class Update:
    """An entry in the history of a model: when it took in a file, how many rows that had, and what changed.

    `digests` has one digest of the content of each file; models of earlier versions have none.

    Examples
    --------
    >>> Update("2026-10-31", 2000, ()).rows
    2000
    """

    date: str
    rows: int
    changes: tuple[GroupChange, ...]
    digests: tuple[str, ...] = ()


def content_digest(table: pa.Table) -> str:
    """Return a digest of the plain columns of a table, by which it is recognized when it comes again."""
    digest = hashlib.sha256()
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not pa.types.is_nested(column.type):
            values = pc.fill_null(as_strings(column), "\0")
            row = pa.ListArray.from_arrays([0, len(values)], values)
            digest.update(f"{name}\0".encode())
            digest.update(pc.binary_join(row, pa.scalar("\x1f", pa.large_string()))[0].as_buffer())
    return digest.hexdigest()


def check_not_taken_in(history: Iterable[Update], digests: Mapping[str, str], option: str) -> None:
    """Raise if a file, given by its name and its digest, is in the history; `option` would allow that."""
    for entry in history:
        for name, digest in digests.items():
            if digest in entry.digests:
                raise UserError(
                    f"{name} went into this model on {entry.date} already, and every text would count twice. "
                    f"If that is what you want, use {option}."
                )


def find_changes(topics: Sequence[Topic], before: NDArray[np.intp], after: NDArray[np.intp]) -> tuple[GroupChange, ...]:
    """Compare the sizes of groups in two files; groups after the last of `before` are new.

    Examples
    --------
    >>> topics = [Topic(label, 0, (), (), name) for label, name in enumerate("abc")]
    >>> changes = find_changes(topics, np.array([500, 500]), np.array([700, 280, 20]))
    >>> [(change.name, change.status) for change in changes]
    [('a', 'growing'), ('b', 'shrinking'), ('c', 'new')]
    """
    n_old, n_new = len(before), len(after) - len(before)
    totals = np.array([before.sum(), after.sum()])
    # New groups take texts from none of the old ones, which are compared among themselves.
    old_totals = [totals[0], after[:n_old].sum()]
    trend = trend_test(np.column_stack([before, after[:n_old]]), old_totals)
    # Texts that come in lumps make sizes scatter, but no lump explains that a group has lost all its texts.
    lost = compare_shares(before, old_totals[0], after[:n_old], old_totals[1])
    p = np.concatenate([adjusted(np.where(after[:n_old] == 0, lost, trend.p)), np.zeros(n_new)])
    statuses = [_status(*one) for one in zip(p, trend.z, after, strict=False)] + ["new"] * n_new
    counts = np.column_stack([np.concatenate([before, np.zeros(n_new, np.intp)]), after])
    shares = counts / np.maximum(totals, 1)
    return tuple(
        GroupChange(topic.label, topic.name, status, count[0], count[1], share[0], share[1], value)
        for topic, status, count, share, value in zip(
            topics, statuses, counts.tolist(), shares.tolist(), p.tolist(), strict=True
        )
    )


def _status(p: float, z: float, after: int) -> Status:
    if p >= LEVEL:
        return "steady"
    if after == 0:
        return "gone"
    return "growing" if z > 0 else "shrinking"


def update_from(stored: Mapping[str, Any]) -> Update:
    """Read an entry of a history that was stored as plain values."""
    changes = tuple(GroupChange(**change) for change in stored["changes"])
    return Update(stored["date"], stored["rows"], changes, tuple(stored.get("digests", ())))


def columns_of(changes: Sequence[GroupChange]) -> dict[str, list[Any]]:
    """Return the columns of a table of changes: the new groups first, the largest changes of a kind first."""
    order = {status: place for place, status in enumerate(get_args(Status))}
    ranked = sorted(changes, key=lambda one: (order[one.status], -abs(one.share_after - one.share_before)))
    names = {"label": "cluster", "name": "name", "status": "status", "before": "size_before", "after": "size_after",
             "share_before": "share_before", "share_after": "share_after", "p": "p"}  # fmt: skip
    return {column: [getattr(change, name) for change in ranked] for name, column in names.items()}
