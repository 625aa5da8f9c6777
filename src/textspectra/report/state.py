"""Bring what a reader set in the page, the number of groups and their names, back into the result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from ..clustering.numbering import same_clusters
from ..errors import UserError
from ..texts.result import TextClustering
from .write import fingerprint

FORMAT = "textspectra-state-3"
"""Changes with the numbering of the groups, because names are matched to groups by number."""


class Changes(NamedTuple):
    """How many groups differ between two groupings of the same texts."""

    unchanged: int  # the same texts and the same name
    renamed: int  # the same texts and another name
    before: int  # the other groups, which were merged or split: how many there were,
    after: int  # and how many there are


def read_state(path: Path) -> dict[str, Any]:
    """Read the JSON file that "Download JSON" of a report wrote."""
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
    """Return `result`, which a report shows, with the number of clusters and the names of a state that was read.

    A cluster whose texts stay the same keeps its number, as in :meth:`TextClustering.cut`.
    """
    try:
        mark = state["fingerprint"]
        names = {int(cluster["cluster"]): str(cluster["name"]) for cluster in state["clusters"]}
        sizes = [int(cluster["size"]) for cluster in state["clusters"]]
    except (KeyError, TypeError, ValueError):
        raise UserError("The state is damaged: its clusters cannot be read.") from None
    if mark != fingerprint(result.corpus):
        raise UserError("The state comes from the report of another model: their texts differ.")
    changed = result if _sizes(result) == sizes else result.cut(len(sizes))
    if _sizes(changed) != sizes or [topic.label for topic in changed.topics] != list(names):
        raise UserError("The state does not fit the model, whose groups have changed since the report was made.")
    if not all(name.strip() for name in names.values()) or len(set(names.values())) < len(names):
        raise UserError("The names in the state are blank or not all different.")
    return changed.rename(names)


def count_changes(before: TextClustering, after: TextClustering) -> Changes:
    """Count the groups that were renamed, merged or split between two results for the same texts."""
    same = same_clusters(before.distinct_codes, after.distinct_codes)
    renamed = sum(before.topics[old].name != after.topics[new].name for new, old in same.items())
    return Changes(len(same) - renamed, renamed, before.n_clusters - len(same), after.n_clusters - len(same))


def _sizes(result: TextClustering) -> list[int]:
    return [topic.size for topic in result.topics]
