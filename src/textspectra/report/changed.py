"""What changed since last time, for the beginning of the page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from ..texts.result import TextClustering
from ..topics.words import clean_text

MAX_TEXT = 160
"""Characters of the typical text of a new group."""


class Change(Protocol):
    """How a group changed between two times."""

    @property
    def label(self) -> int:
        """The label of the group, which it keeps for ever."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def status(self) -> str:
        """One of "new", "growing", "shrinking", "gone" and "steady"."""

    @property
    def before(self) -> int:
        """Texts before."""

    @property
    def after(self) -> int:
        """Texts after."""

    @property
    def share_before(self) -> float:
        """Share of the texts before."""

    @property
    def share_after(self) -> float:
        """Share of the texts after."""

    @property
    def p(self) -> float:
        """The p-value of the difference."""


def describe_changes(
    result: TextClustering, changes: Iterable[Change] | None, base: list[int]
) -> list[dict[str, Any]] | None:
    """Return the changes with the nodes of their groups, and with a text of each new one; the largest come first."""
    if changes is None:
        return None
    at = {topic.label: position for position, topic in enumerate(result.topics)}
    described = []
    for change in sorted(changes, key=lambda one: -abs(one.share_after - one.share_before)):
        place = None if change.status == "gone" else at.get(change.label)
        texts = [] if place is None else result.typical_texts(result.topics[place])
        described.append({
            "node": None if place is None else base[place],
            "name": change.name,
            "status": change.status,
            "before": int(change.before),
            "after": int(change.after),
            "shares": [round(float(change.share_before), 5), round(float(change.share_after), 5)],
            "text": clean_text(texts[0], limit=MAX_TEXT) if texts and change.status == "new" else "",
        })  # fmt: skip
    return described
