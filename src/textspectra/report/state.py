"""Bring what a reader set in the page, the number of groups and their names, back into the result."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ..clustering.numbering import same_clusters
from ..errors import UserError
from ..texts.result import TextClustering
from .write import fingerprint

FORMAT = "textspectra-state-2"
"""Changes with the numbering of the groups, because names are matched to groups by number."""


class Changes(NamedTuple):
    """How two groupings of the same texts differ.

    Attributes
    ----------
    unchanged : int
        Groups with the same texts and the same name.
    renamed : int
        Groups with the same texts and another name.
    before, after : int
        The other groups, which were merged or split: how many there were, and how many there are.
    """

    unchanged: int
    renamed: int
    before: int
    after: int


def read_state(path: Path) -> dict[str, Any]:
    """Read the JSON file that "Download JSON" of a report wrote.

    Examples
    --------
    >>> read_state(Path("no/such/file.json"))
    Traceback (most recent call last):
        ...
    textspectra.errors.UserError: no/such/file.json cannot be read: No such file or directory
    """
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise UserError(f"{path} is not JSON; use the file that “Download JSON” of a report writes.") from None
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise UserError(f"{path} was not written by “Download JSON” of a report of this version.")
    return state


def apply_state(result: TextClustering, state: dict[str, Any]) -> TextClustering:
    """Return `result` with the number of clusters and the names of an exported state.

    A cluster whose texts stay the same keeps its number, as in :meth:`TextClustering.cut`.

    Parameters
    ----------
    result : TextClustering
        The result that the report shows.
    state : dict
        From :func:`read_state`.

    Returns
    -------
    TextClustering
        :func:`count_changes` tells how it differs from `result`.

    Examples
    --------
    >>> import textspectra as ts
    >>> result = ts.cluster_texts(["a b", "x y"], embeddings=[[1, 0], [0, 1]], n_clusters=2)
    >>> clusters = [{"name": "first", "size": 1}, {"name": "second", "size": 1}]
    >>> state = {"fingerprint": fingerprint(result.corpus), "clusters": clusters}
    >>> [topic.name for topic in apply_state(result, state).topics]
    ['first', 'second']
    """
    try:
        mark = state["fingerprint"]
        names = [str(cluster["name"]) for cluster in state["clusters"]]
        sizes = [int(cluster["size"]) for cluster in state["clusters"]]
    except (KeyError, TypeError, ValueError):
        raise UserError("The state is damaged: its clusters cannot be read.") from None
    if mark != fingerprint(result.corpus):
        raise UserError("The state comes from the report of another model: their texts differ.")
    changed = result if _sizes(result) == sizes else result.cut(len(sizes))
    if _sizes(changed) != sizes:
        raise UserError("The state does not fit the model, whose groups have changed since the report was made.")
    if not all(name.strip() for name in names) or len(set(names)) < len(names):
        raise UserError("The names in the state are blank or not all different.")
    topics = [replace(topic, name=name) for topic, name in zip(changed.topics, names, strict=True)]
    return replace(changed, topics=tuple(topics))


def count_changes(before: TextClustering, after: TextClustering) -> Changes:
    """Count the groups that were renamed, merged or split between two results for the same texts.

    Examples
    --------
    >>> import textspectra as ts
    >>> X = [[1, 0], [0.7, 0.7], [0, 1]]
    >>> result = ts.cluster_texts(["a b", "m n", "x y"], embeddings=X, n_clusters=3)
    >>> count_changes(result, result.rename(0, "first"))
    Changes(unchanged=2, renamed=1, before=0, after=0)
    """
    same = same_clusters(before.distinct_labels, after.distinct_labels)
    renamed = sum(before.topics[old].name != after.topics[new].name for new, old in same.items())
    return Changes(len(same) - renamed, renamed, before.n_clusters - len(same), after.n_clusters - len(same))


def _sizes(result: TextClustering) -> list[int]:
    return [topic.size for topic in result.topics]
