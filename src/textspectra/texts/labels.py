"""The labels and names of groups: which stay, which are new, and which may not be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UserError
from ..io.limits import MAX_GROUP_NAME
from ..topics.describe import Topic
from .checking import conforms


def numbered(
    codes: NDArray[np.intp], counts: NDArray[Any], label_of: Mapping[int, int], next_label: int
) -> tuple[NDArray[np.intp], list[int]]:
    """Order groups by their labels; groups that have none get the next ones, the largest first.

    Parameters
    ----------
    codes : ndarray of int
        The group of each distinct text, -1 for none.
    counts : ndarray of int
        How often each text occurs.
    label_of : mapping from int to int
        The labels of groups that have one.
    next_label : int
        The first label that was never used.

    Returns
    -------
    positions : ndarray of int
        The position of the group of each distinct text in the new order.
    labels : list of int
        The label at each position.

    Examples
    --------
    >>> numbered(np.array([0, 1, 2, 2, -1]), np.ones(5), {1: 4}, 7)
    (array([ 2,  0,  1,  1, -1]), [4, 7, 8])
    """
    usable = np.flatnonzero(codes >= 0)
    sizes = np.bincount(codes[usable], counts[usable])
    first = usable[np.unique(codes[usable], return_index=True)[1]]
    fresh = [int(code) for code in np.lexsort((first, -sizes)) if int(code) not in label_of]
    labels = dict(label_of) | {code: next_label + number for number, code in enumerate(fresh)}
    order = sorted(labels, key=labels.__getitem__)
    positions = np.append(np.argsort(order), -1)[codes]
    return positions, [labels[code] for code in order]


def renamed(topics: Sequence[Topic], names: Mapping[int, Any]) -> tuple[Topic, ...]:
    """Give some groups, by their labels, other names; a UserError says which name cannot be."""
    known = {topic.name for topic in topics}
    for new in names.values():
        if not isinstance(new, str) or not new.strip():
            raise UserError(f"A cluster's name must be a text that is not blank, but it is {new!r}.")
        if new not in known and not conforms(new, str):
            raise UserError(f"The name {new!r} holds half of a character, which cannot be written to a file.")
        if new not in known:
            check_name_length(new)
    changed = tuple(replace(topic, name=names.get(topic.label, topic.name)) for topic in topics)
    for new in names.values():
        namesakes = [topic.label for topic in changed if topic.name == new]
        if len(namesakes) > 1:
            raise UserError(
                f"Clusters {namesakes[0]} and {namesakes[1]} would both be called {new!r}; merge them, or choose "
                "another name."
            )
    return changed


def check_name_length(name: str, where: str = "") -> None:
    """Raise a UserError if a name is too long for a group."""
    if len(name) > MAX_GROUP_NAME:
        raise UserError(
            f"{where}The name {name[:40]!r}... has {len(name):,} characters; the name of a group has at most "
            f"{MAX_GROUP_NAME}."
        )


def listed(labels: Sequence[int]) -> str:
    """Say which labels there are: a range where none is missing.

    Examples
    --------
    >>> listed([0, 1, 2, 3]), listed([0, 1, 4])
    ('0 to 3', '0, 1 and 4')
    """
    if len(labels) > 2 and labels[-1] - labels[0] == len(labels) - 1:
        return f"{labels[0]} to {labels[-1]}"
    return " and ".join(filter(None, [", ".join(map(str, labels[:-1])), str(labels[-1])]))
