"""Which row of a table has the names of the columns: below titles and merged cells, or nowhere."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from ..errors import UserError

TEXT_NAMES = (
    ("text", "texts"),
    ("message", "messages", "sentence", "sentences", "utterance", "utterances"),
    (
        "body", "title", "query", "question", "comment", "review", "content", "description",
        "queries", "questions", "comments", "reviews", "contents", "descriptions", "titles",
        "headline", "subject", "summary", "abstract", "caption", "document", "documents", "feedback", "tweet",
        "post", "prompt", "answer", "response", "complaint", "note", "notes", "transcript", "snippet",
        "remark", "remarks", "verbatim", "verbatims", "free_text", "freetext", "free text",
        "kommentar", "kommentare", "freitext", "nachricht", "bemerkung", "bemerkungen", "beschreibung", "beschwerde",
        "frage", "antwort", "rückmeldung", "commentaire", "commentaires", "remarque", "avis", "réponse", "comentario",
        "comentarios", "mensaje", "pregunta", "respuesta", "commento", "commenti", "messaggio", "risposta",
        "comentário", "comentários", "mensagem", "resposta", "opmerking", "opmerkingen", "bericht", "vraag", "reactie",
        "kommentarer", "meddelande", "besked", "komentarz", "komentarze", "uwagi", "комментарий", "отзыв", "сообщение",
        "коментар", "yorum", "mesaj",
        "full_text", "review_text", "comment_text", "text_clean",
    ),
)  # fmt: skip
"""From the most to the least certain; the names within a group are equal."""

ALL_TEXT_NAMES = frozenset(name for cluster in TEXT_NAMES for name in cluster)

LISTED, LONGEST = 30, 60
"""How many names a message lists, and how many characters of each."""


def in_words(names: Sequence[str]) -> str:
    """List names in a message, which stays readable whatever a file holds."""
    shown = ", ".join(repr(name if len(name) <= LONGEST else f"{name[:LONGEST]}…") for name in names[:LISTED])
    return shown if len(names) <= LISTED else f"{shown} and {len(names) - LISTED:,} others"


TITLE_ROWS = 10
"""Most rows that may stand above the header."""

SAMPLE_ROWS = 50
"""Number of the first rows that are examined."""

HEADER_CELL = re.compile(r"[^\W\d](?:[\w .()#/%-]{0,38}[\w)#%])?")
"""A column name, as opposed to a piece of a sentence: short, begins with a letter, no outer spaces."""

ALIKE = 0.8
"""Share of the values of a column that must be written as the first one is, if that is a value too."""

Row = Sequence[Any]


class Header(NamedTuple):
    """The position of the header among the rows that were examined, -1 if there is none, and whether that is sure."""

    position: int
    sure: bool = True


def find_header(rows: Sequence[Row], merged: Collection[int] = ()) -> Header:
    """Find the header among the first rows of a table, none of which is empty; an empty cell is None.

    `merged` has the positions of the rows in which a cell stretches over several columns.
    """
    place = below_titles(rows, merged)
    while place + 1 < len(rows) and _is_cluster_row(rows[place], rows[place + 1], place in merged):
        if not _is_header(rows[place + 1], rows[place + 2 :], is_below_clusters=place in merged):
            break
        place += 1
    header, body = rows[place], rows[place + 1 :]
    filled = [str(cell) for cell in header if cell is not None]
    if place or _has_text_name(header):
        return Header(place)
    if body and any(_is_value(cell, [row[i] for row in body]) for i, cell in enumerate(header) if cell is not None):
        return Header(-1)
    # A single cell above wider rows may be a title whose header was not recognized.
    is_title = len(filled) == 1 and header[0] is not None and 2 * sum(n_filled(row) > 1 for row in body) > len(body)
    return Header(0, sure=2 * sum(map(_is_name, filled)) >= len(filled) and not is_title)


def given_header(numbers: Sequence[int], header_row: int, name: str) -> Header:
    """Return the header in a row that the user gave, counted from 1 (0: none), among rows with these numbers."""
    if header_row == 0:
        return Header(-1)
    if header_row not in numbers:
        raise UserError(f"{name} has no row {header_row:,} that could be the header, or it is empty; see --header-row.")
    return Header(numbers.index(header_row))


def note_on_header(rows: Sequence[Row], header: Header, name: str) -> tuple[str, ...]:
    """Return a note if a table has no header, or if it may have none."""
    if header.position >= 0 and header.sure:
        return ()
    first = in_words(
        [f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in rows[0] if cell is not None][:3]
    )
    if header.position < 0:
        return (
            f"{name} has no header: its first row ({first}) looks like the others. The columns are called 'column 1', "
            "'column 2' and so on. If the first row is the header, use --header-row 1.",
        )
    return (
        f"The first row of {name} was taken as the header: {first}. If it is a text, use --header-row 0; if row 3 has "
        "the column names, --header-row 3.",
    )


def _is_name(cell: str) -> bool:
    """Return True if a cell reads like the name of a column, a question of a survey or an abbreviation."""
    return reads_like_names([cell.rstrip(".")]) or cell.rstrip().endswith(("?", ":"))


def reads_like_names(cells: list[str]) -> bool:
    """Return True if cells read like different column names."""
    return len(set(cells)) == len(cells) and all(
        HEADER_CELL.fullmatch(cell) and len(cell.split()) <= 3 for cell in cells
    )


def below_titles(rows: Sequence[Row], merged: Collection[int] = ()) -> int:
    """Return the position of the first row that is not a title: titles are narrower than the names below them."""
    width = 0
    for place, row in enumerate(rows[: TITLE_ROWS + 1]):
        is_wider = n_filled(row) > max(width, 1) and _has_text_name(row)
        if is_wider and _is_header(row, rows[place + 1 :], is_below_clusters=place - 1 in merged):
            return place
        width = max(width, n_filled(row))
    place = next((place for place, row in enumerate(rows[: TITLE_ROWS + 1]) if n_filled(row) > 1), 0)
    return place if place and _is_header(rows[place], rows[place + 1 :]) and not _has_only_text_names(rows[0]) else 0


def _is_cluster_row(row: Row, below: Row, is_merged: bool) -> bool:
    """Return True if a row has the names of groups of columns, whose own names may stand below."""
    return is_merged or n_filled(below) >= 2 * n_filled(row) > 2


def _is_header(row: Row, below: Sequence[Row], *, is_below_clusters: bool = False) -> bool:
    """Return True if a row has the names of several columns that most rows below it fill; groups may repeat names."""
    names = [cell for cell in row if cell is not None]
    if len(names) < 2 or not all(isinstance(cell, str) for cell in names):
        return False
    if not is_below_clusters and len(set(names)) < len(names):
        return False
    # Words above numbers or dates are names, however long the names beside them are.
    columns = [[other[i] for other in below if i < len(other)] for i, cell in enumerate(row) if cell is not None]
    if any(_is_value(cell, column) for cell, column in zip(names, columns, strict=True)):
        return False
    n_names = sum(map(_is_name, names))
    if n_names < len(names) and (2 * n_names < len(names) or not any(map(_is_numeric, columns))):
        return False
    return 2 * sum(n_filled(other) > 1 for other in below[:TITLE_ROWS]) > len(below[:TITLE_ROWS])


def _is_numeric(column: Sequence[Any]) -> bool:
    """Return True if the values of a column are numbers or dates, in cells of their own kind or as text."""
    values = [str(value) for value in column if value is not None]
    numbers = sum(any(map(str.isdigit, value)) and not any(map(str.isalpha, value)) for value in values)
    return bool(values) and numbers >= ALIKE * len(values)


def _is_value(cell: Any, below: Sequence[Any]) -> bool:
    """Return True if a cell in the place of a name is a value like those below it."""
    others = [other for other in below if other is not None]
    if not others or (isinstance(cell, str) and (len(cell) > 40 or not cell.strip())):
        return False
    if not isinstance(cell, str):
        return sum(type(other) is type(cell) for other in others) >= ALIKE * len(others)
    shape, shapes = _shape(cell), [_shape(str(other)) for other in others]
    if "9" not in shape:
        # A category comes back, but a name does so only with the whole header.
        return sum(other == cell for other in others) > 1 and len(set(others)) > 1
    is_year = re.fullmatch(r"(19|20)\d\d", cell.strip()) is not None
    if is_year and not all(re.fullmatch(r"(19|20)\d\d", str(other).strip()) for other in others):
        return False
    return shapes.count(shape) >= ALIKE * len(shapes)


def _shape(value: str) -> str:
    """Return a value with all numbers alike: dates, prices and identifiers of one column have the same shape."""
    return re.sub(r"\d+", "9", value.strip())


def n_filled(row: Row) -> int:
    """Return how many cells of a row are not empty."""
    return sum(cell is not None for cell in row)


def _has_text_name(row: Row) -> bool:
    return any(isinstance(cell, str) and cell.strip().lower() in ALL_TEXT_NAMES for cell in row)


def _has_only_text_names(row: Row) -> bool:
    return {str(cell).strip().lower() for cell in row if cell is not None} <= ALL_TEXT_NAMES
