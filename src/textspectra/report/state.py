"""What a reader settled in the page (the number of groups, their names), back into the model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..texts.result import TextClustering
from .write import fingerprint

FORMAT = "textspectra-state-1"


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
        raise UserError(f"{path} is not JSON; a file that a report's “Download JSON” wrote is needed.") from None
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise UserError(f"{path} was not written by a report's “Download JSON”.")
    return state


def apply_state(result: TextClustering, state: dict[str, Any]) -> TextClustering:
    """Return `result` with the number of clusters and the names of an exported state.

    Parameters
    ----------
    result : TextClustering
        What the report was made of.
    state : dict
        From :func:`read_state`.

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
        raise UserError("The state does not fit the model: it was grouped anew after the report was made.")
    if not all(name.strip() for name in names) or len(set(names)) < len(names):
        raise UserError("The names in the state are blank or not all different.")
    topics = [replace(topic, name=name) for topic, name in zip(changed.topics, names, strict=True)]
    return replace(changed, topics=tuple(topics))


def _sizes(result: TextClustering) -> list[int]:
    return [topic.size for topic in result.topics]
