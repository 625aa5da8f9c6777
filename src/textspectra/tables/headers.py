"""Find the row with the column names: the first one, below titles and merged cells, or none."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from ..errors import UserError

# Names of text columns, from the most to the least certain; the names within a tuple are equal.
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

TITLE_ROWS = 10  # most rows that may stand above the header
SAMPLE_ROWS = 50  # first rows that are examined
ALIKE = 0.8  # share of the values of a column that must look like the first one, if that is a value too

# A column name, as opposed to a piece of a sentence: short, begins with a letter, no outer spaces.
HEADER_CELL = re.compile(r"[^\W\d](?:[\w .()#/%-]{0,38}[\w)#%])?")

Row = Sequence[object]


def quoted_names(names: Sequence[str]) -> str:
    """List names in a message that stays readable whatever a file holds."""
    listed = ", ".join(repr(name if len(name) <= 60 else f"{name[:60]}…") for name in names[:30])
    return listed if len(names) <= 30 else f"{listed} and {len(names) - 30:,} others"


class Header(NamedTuple):
    """The position of the header among the first rows (-1: none), its row number in the file (0: none), and notes."""

    position: int
    number: int
    notes: tuple[str, ...] = ()


def find_header(
    rows: Sequence[Row], numbers: Sequence[int], header_row: int | None, name: str, merged: Collection[int] = ()
) -> Header:
    """Find the header among the first rows of a table that are not empty; an empty cell is None.

    `numbers` has the number of each row in the file, from 1. The user may have given the number of the header
    (`header_row`; 0 is none). `merged` has the positions of rows with a cell that stretches over several columns.
    """
    if header_row == 0:
        return Header(-1, 0)
    if header_row is not None:
        if header_row not in numbers:
            problem = f"has no row {header_row:,} that could be the header, or it is empty"
            raise UserError(f"{name} {problem}; see --header-row.")
        return Header(numbers.index(header_row), header_row)
    place = below_titles(rows, merged)
    while place + 1 < len(rows):
        # Merged cells, or half as many as below, name groups of columns whose own names may be in the row below.
        n_filled, n_below = (len(filled_cells(row)) for row in rows[place : place + 2])
        names_groups = place in merged or n_below >= 2 * n_filled > 2
        if not (names_groups and _is_header(rows[place + 1], rows[place + 2 :], is_below_groups=place in merged)):
            break
        place += 1
    header, body = rows[place], rows[place + 1 :]
    if place or any(map(is_text_name, header)):
        return Header(place, numbers[place])
    filled = filled_cells(header)
    first = quoted_names([f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in filled[:3]])
    if body and any(_is_value(cell, [row[i] for row in body]) for i, cell in enumerate(header) if cell is not None):
        note = (
            f"{name} has no header: its first row ({first}) looks like the others. The columns are called 'column 1', "
            "'column 2' and so on. If the first row is the header, use --header-row 1."
        )
        return Header(-1, 0, (note,))
    # A single cell above wider rows may be a title whose header was not recognized.
    is_title = len(filled) == 1 and header[0] is not None and 2 * sum(map(_is_wide, body)) > len(body)
    if 2 * sum(map(_is_name, filled)) >= len(filled) and not is_title:
        return Header(0, numbers[0])
    note = (
        f"The first row of {name} was taken as the header: {first}. If it is a text, use --header-row 0; if row 3 has "
        "the column names, --header-row 3."
    )
    return Header(0, numbers[0], (note,))


def below_titles(rows: Sequence[Row], merged: Collection[int] = ()) -> int:
    """Return the position of the first row that is not a title: titles are narrower than the names below them."""
    width = 1
    for place, row in enumerate(rows[: TITLE_ROWS + 1]):
        n_filled = len(filled_cells(row))
        is_wider = n_filled > width and any(map(is_text_name, row))
        if is_wider and _is_header(row, rows[place + 1 :], is_below_groups=place - 1 in merged):
            return place
        width = max(width, n_filled)
    place = next((place for place, row in enumerate(rows[: TITLE_ROWS + 1]) if _is_wide(row)), 0)
    is_below = place and _is_header(rows[place], rows[place + 1 :])
    return place if is_below and not all(map(is_text_name, filled_cells(rows[0]))) else 0


def reads_like_names(cells: list[str]) -> bool:
    """Return True if cells read like different column names."""
    are_names = all(HEADER_CELL.fullmatch(cell) and len(cell.split()) <= 3 for cell in cells)
    return are_names and len(set(cells)) == len(cells)


def is_text_name(cell: object) -> bool:
    """Return True if a cell is a name of text columns."""
    return any(str(cell).strip().lower() in names for names in TEXT_NAMES)


def filled_cells(row: Row) -> list[object]:
    """Return the cells of a row that are not empty."""
    return [cell for cell in row if cell is not None]


def _is_wide(row: Row) -> bool:
    return len(filled_cells(row)) > 1


def _is_header(row: Row, below: Sequence[Row], *, is_below_groups: bool = False) -> bool:
    """Return True if a row has the names of several columns that most rows below it fill; groups may repeat names."""
    names = [cell for cell in row if isinstance(cell, str)]
    if len(names) < 2 or len(names) < len(filled_cells(row)):
        return False
    if not is_below_groups and len(set(names)) < len(names):
        return False
    columns = [[other[i] for other in below if i < len(other)] for i, cell in enumerate(row) if cell is not None]
    if any(map(_is_value, names, columns)):
        return False
    # Words above numbers or dates are names, however long the names beside them are.
    n_names = sum(map(_is_name, names))
    if n_names < len(names) and (2 * n_names < len(names) or not any(map(_is_numeric, columns))):
        return False
    return 2 * sum(map(_is_wide, below[:TITLE_ROWS])) > len(below[:TITLE_ROWS])


def _is_name(cell: object) -> bool:
    """Return True if a cell reads like a column name, a survey question or an abbreviation."""
    name = str(cell)
    return reads_like_names([name.rstrip(".")]) or name.rstrip().endswith(("?", ":"))


def _is_numeric(column: Sequence[object]) -> bool:
    """Return True if the values of a column are numbers or dates, as cells of their own kind or as text."""
    values = list(map(str, filled_cells(column)))
    numbers = sum(any(map(str.isdigit, value)) and not any(map(str.isalpha, value)) for value in values)
    return bool(values) and numbers >= ALIKE * len(values)


def _is_value(cell: object, below: Sequence[object]) -> bool:
    """Return True if a cell in the place of a name is a value like the cells below it."""
    others = filled_cells(below)
    if not others or (isinstance(cell, str) and (len(cell) > 40 or not cell.strip())):
        return False
    if not isinstance(cell, str):
        return sum(type(other) is type(cell) for other in others) >= ALIKE * len(others)
    # Dates, prices and identifiers of one column have the same shape, with all numbers alike.
    shape, *shapes = (re.sub(r"\d+", "9", str(value).strip()) for value in (cell, *others))
    if "9" not in shape:
        # A category comes back, but a name does so only with the whole header.
        return others.count(cell) > 1 and len(set(others)) > 1
    years = [re.fullmatch(r"(19|20)\d\d", str(other).strip()) for other in (cell, *others)]
    return (not years[0] or all(years)) and shapes.count(shape) >= ALIKE * len(others)
