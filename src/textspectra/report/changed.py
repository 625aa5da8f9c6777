"""What changed since last time, for the beginning of the page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..texts.comparison import Comparison
from ..texts.history import GroupChange
from ..texts.result import TextClustering
from ..topics.words import clean_text

MAX_TEXT = 160
"""Characters of the typical text of a new group."""


def describe_changes(
    result: TextClustering, changes: Comparison | Iterable[GroupChange] | None, base: list[int]
) -> list[dict[str, Any]] | None:
    """Return the changes with the nodes of their groups, and with a text of each new one; the largest come first."""
    if changes is None:
        return None
    changes = changes.group_changes if isinstance(changes, Comparison) else changes
    at = {topic.label: position for position, topic in enumerate(result.topics)}
    described = []
    for change in sorted(changes, key=lambda one: -abs(one.share_after - one.share_before)):
        place = None if change.status == "gone" else at.get(change.label)
        texts = [] if place is None else result.typical_texts(result.topics[place])
        described.append({
            "node": None if place is None else base[place],
            "name": change.name,
            "status": change.status,
            "figures": _figures(change),
            "shares": [round(change.share_before, 5), round(change.share_after, 5)],
            "text": clean_text(texts[0], limit=MAX_TEXT) if texts and change.status == "new" else "",
        })  # fmt: skip
    return described


def _figures(change: GroupChange) -> str:
    """Return what the page says of a group; a share may change while the number of texts stays."""
    same = change.keeps_count and change.status in ("growing", "shrinking")
    return f"{change.figures} (about the same number)" if same else change.figures
