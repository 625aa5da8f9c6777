"""The content of a page: headings, paragraphs, tables and figures, independent of their format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from .drawing import Picture

Style = Literal["plain", "strong", "em", "code", "muted", "holds", "part", "fails", "unknown"]


class Span(NamedTuple):
    """A piece of text in one style, possibly a link."""

    text: str
    style: Style = "plain"
    link: str | None = None


Text = str | Span | tuple[str | Span, ...]


def spans(text: Text) -> list[Span]:
    """Return the pieces of a text.

    Examples
    --------
    >>> spans("a"), spans(("b", Span("c", "strong")))
    ([Span(text='a', style='plain', link=None)],
     [Span(text='b', style='plain', link=None), Span(text='c', style='strong', link=None)])
    """
    parts = text if isinstance(text, tuple) and not isinstance(text, Span) else (text,)
    return [Span(part) if isinstance(part, str) else part for part in parts]


@dataclass(frozen=True)
class Heading:
    """A heading of level 1 to 3."""

    level: int
    text: str


@dataclass(frozen=True)
class Paragraph:
    """Running text."""

    text: Text


@dataclass(frozen=True)
class Bullets:
    """A list of short texts."""

    items: Sequence[Text]


@dataclass(frozen=True)
class Code:
    """Commands to type."""

    text: str


@dataclass(frozen=True)
class Row:
    """A row of a table; rows from the paper look less prominent than ours."""

    cells: Sequence[Text]
    from_paper: bool = False


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes
    ----------
    caption : str
    columns : sequence of str
    rows : sequence of Row
    wordy : bool
        Whether it holds sentences. Otherwise it holds numbers, which are aligned to the right.
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[Row]
    wordy: bool = False


@dataclass(frozen=True)
class Figures:
    """One or several pictures with one caption."""

    pictures: Sequence[Picture]
    caption: str


Block = Heading | Paragraph | Bullets | Code | Table | Figures
