"""Excel workbooks: dates and numbers stay what they are, and a text is never a formula."""

from __future__ import annotations

import datetime as dt
import io
import math
import re
import tempfile
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from itertools import chain, islice
from typing import IO, Any, NamedTuple

import pyarrow as pa

from ..errors import NoRowsError, UsageError, UserError, require
from .columns import choose_text_column, holds_shares, holds_text, python_values, refuse_duplicates
from .headers import ALL_TEXT_NAMES, SAMPLE_ROWS, find_header, given_header, in_words, n_filled, note_on_header
from .jsonlines import BATCH_ROWS, as_string, to_json
from .source import OLE_START, Source

MAX_ROWS, MAX_COLUMNS = 1_048_576, 16_384
"""Size of a sheet, with the header."""

MAX_CHARACTERS = 32_767
"""Longest text of a cell, in units of UTF-16."""

MAX_DIGITS = 15
"""A longer number, such as the number of a card, loses its last digits in Excel, so it is written as text."""

MAX_UNPACKED = 2**32
"""Bytes of a workbook once its zip archive is unpacked."""

MAX_CELLS = 2**27
"""Cells between the first and the last one of a sheet, empty ones included; the reader holds 32 bytes for each."""

MAX_WRITTEN = 8_000_000
"""Cells of a table that is written as a workbook."""

FIRST_DAY = dt.date(1900, 3, 1)
"""Spreadsheet programs disagree on the dates before, because Excel has a 29 February 1900."""

DIMENSION = re.compile(rb'<dimension ref="(?:[A-Z]+\d+:)?([A-Z]+)(\d+)"')
"""Where a sheet names its last cell."""

PASSWORD_MARK = "EncryptedPackage".encode("utf-16-le")
"""What a file with a password contains; without it, the reader could not tell such a file from a damaged one."""

FORMATS = {
    "header": {"bold": True},
    "date": {"num_format": "yyyy-mm-dd"},
    "timestamp": {"num_format": "yyyy-mm-dd hh:mm:ss"},
    "timestamp in UTC": {"num_format": 'yyyy-mm-dd hh:mm:ss" UTC"'},
    "time": {"num_format": "hh:mm:ss"},
    "duration": {"num_format": "[h]:mm:ss"},
    "share": {"num_format": "0.0%"},
}

Row = list[Any]


def read_workbook(
    source: Source, sheet: str | None = None, header_row: int | None = None, text_column: str | None = None
) -> Sheet:
    """Read a sheet of an Excel or OpenDocument workbook: by name or number, or else the one with the most texts.

    The header is in row `header_row` of the sheet, from 1; 0 is none, and None finds it. What stands above it is
    dropped. Empty rows and columns are skipped, and cells that are empty or hold an error are missing values. Of
    merged cells, only the first has the value; in the header, the last row has it. A column of whole numbers, numbers,
    dates, times or logical values keeps its type; one of several kinds becomes text. The file and its cells are held in
    memory.
    """
    calamine = require("python_calamine", extra="excel")
    content = source.stream.read()
    _refuse_huge(content, source.name)
    try:
        if content.startswith(OLE_START) and PASSWORD_MARK in content:
            raise calamine.PasswordError
        with calamine.CalamineWorkbook.from_filelike(io.BytesIO(content)) as workbook:
            return _choose_sheet(workbook, source.name, sheet, header_row, text_column)
    except calamine.PasswordError:
        raise UserError(f"{source.name} is protected by a password. Save a copy without one.") from None
    except calamine.CalamineError:
        raise UserError(
            f"{source.name} is a workbook that is damaged or cut short, or another kind of archive. Save it as .xlsx "
            "again."
        ) from None


def _refuse_huge(content: bytes, name: str) -> None:
    """Raise a UserError for a workbook that would need too much memory."""
    size, dimensions = _sizes(content)
    if size > MAX_UNPACKED:
        raise UserError(f"{name} has more than {MAX_UNPACKED // 2**30} GB once it is unpacked. Save it as CSV.")
    for letters, row in dimensions:
        if _column_number(letters) * int(row) > MAX_CELLS:
            raise UserError(
                f"{name} has a sheet with cells as far as {letters.decode()}{row.decode()}. Delete the empty rows and "
                "columns, or save the table as CSV."
            )


def _sizes(content: bytes) -> tuple[int, list[tuple[bytes, bytes]]]:
    """Return the unpacked size of an archive, and the column and row of the last cell of each sheet."""
    size, dimensions = 0, []
    with suppress(Exception), zipfile.ZipFile(io.BytesIO(content)) as archive:  # the reader reports any damage
        size = sum(part.file_size for part in archive.infolist())
        for part in archive.namelist():
            if part.startswith("xl/worksheets/") and part.endswith(".xml"):
                with archive.open(part) as sheet:
                    dimensions += DIMENSION.findall(sheet.read(2048))
    return size, dimensions


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number


class Sheet(NamedTuple):
    """A sheet of a workbook: its name, its table, the row of the header from 1 (0: none), and notes on them."""

    name: str
    table: pa.Table
    header_row: int
    notes: tuple[str, ...] = ()


def _choose_sheet(
    workbook: Any, name: str, wanted: str | None, header_row: int | None, text_column: str | None
) -> Sheet:
    calamine = require("python_calamine", extra="excel")
    sheets = [sheet for sheet in workbook.sheets_metadata if sheet.typ == calamine.SheetTypeEnum.WorkSheet]
    if wanted is not None:
        found = workbook.get_sheet_by_name(_find_sheet([sheet.name for sheet in sheets], wanted, name))
        return _as_table(found, name, header_row)
    visible = [sheet.name for sheet in sheets if sheet.visible == calamine.SheetVisibleEnum.Visible]
    filled = [sheet for sheet in map(workbook.get_sheet_by_name, visible) if sheet.height]
    if not filled:
        raise NoRowsError(f"{name} is empty")
    candidates: dict[int, Sheet] = {}
    problem: UserError | None = None
    for number, sheet in enumerate(filled if len(filled) > 1 else []):
        try:
            candidates[number] = _as_table(sheet, name, header_row)
        except UserError as error:  # such as a sheet that has no such row
            problem = error
    best = _with_most_texts(list(candidates.values()), name, text_column)
    if best is None and problem is not None and header_row is not None:
        raise problem
    return best or candidates.get(0) or _as_table(filled[0], name, header_row)


def _with_most_texts(sheets: list[Sheet], name: str, text_column: str | None) -> Sheet | None:
    """Return the sheet with the most texts, with a note on the others; sheets with a single column come last."""
    sizes: dict[str, tuple[bool, int]] = {}
    columns: dict[str, str] = {}
    for sheet in sheets:
        with suppress(UserError):
            column = columns[sheet.name] = choose_text_column(sheet.table, text_column)
            n_texts = sheet.table.num_rows - sheet.table.column(column).null_count
            sizes[sheet.name] = (sheet.table.num_columns > 1 or column.strip().lower() in ALL_TEXT_NAMES, n_texts)
    sizes = {sheet: size for sheet, size in sizes.items() if size[1]}
    if not sizes:
        return None
    best = max(sizes, key=lambda sheet: sizes[sheet])
    listed = ", ".join(f"{sheet!r} ({n:,} {'text' if n == 1 else 'texts'})" for sheet, (_, n) in sizes.items())
    if any(
        sheet != best and columns[sheet] == columns[best] and named == sizes[best][0] and 2 * n >= sizes[best][1]
        for sheet, (named, n) in sizes.items()
    ):
        raise UsageError(f"{name} has texts in several sheets: {listed}. Choose one with --sheet.")
    chosen = next(sheet for sheet in sheets if sheet.name == best)
    if len(sizes) == 1:
        return chosen
    other = next(sheet for sheet in sizes if sheet != best)
    note = f"{name} has texts in several sheets: {listed}. {best!r} was read; for another, use --sheet {other!r}."
    return chosen._replace(notes=(note, *chosen.notes))


def _find_sheet(names: list[str], wanted: str, name: str) -> str:
    for known in names:
        if known.strip().lower() == wanted.strip().lower():
            return known
    if wanted.isdecimal() and 1 <= int(wanted) <= len(names):
        return names[int(wanted) - 1]
    raise UserError(f"{name} has no sheet {wanted!r}. Choose with --sheet; the sheets are: {in_words(names)}")


def _as_table(sheet: Any, name: str, header_row: int | None) -> Sheet:
    """Read a sheet whose header is in a given row, counted from 1 (0: none), or is found (None)."""
    cells = ([None if cell == "" else cell for cell in row] for row in sheet.iter_rows())
    filled = ((number, row) for number, row in enumerate(cells, 1) if n_filled(row))
    top = list(islice(filled, SAMPLE_ROWS if header_row is None else max(header_row, 1)))
    if not top:
        raise NoRowsError(f"{name}, sheet {sheet.name!r} is empty")
    numbers, rows = [number for number, _ in top], [row for _, row in top]
    top_rows, stretched = _fill_merged(sheet, dict(top))
    if header_row is None:
        header = find_header(top_rows, {place for place, number in enumerate(numbers) if number in stretched})
    else:
        header = given_header(numbers, header_row, f"{name}, sheet {sheet.name!r},")
    columns: list[Row] = [[] for _ in rows[0]]
    for row in chain(rows[header.position + 1 :], (row for _, row in filled)):
        for column, cell in zip(columns, row, strict=True):
            column.append(cell)
    above = top_rows[: header.position + 1]
    names = _names(above, stretched, numbers) if above else [None] * len(columns)
    used = [i for i, title in enumerate(names) if title is not None or any(cell is not None for cell in columns[i])]
    titles = [f"column {i + 1}" if (title := names[i]) is None else title for i in used]
    refuse_duplicates(titles, name)
    table = pa.Table.from_arrays([_typed(columns[i]) for i in used], names=titles)
    number = numbers[header.position] if header.position >= 0 else 0
    notes = note_on_header(rows, header, f"{name}, sheet {sheet.name!r},") if header_row is None else ()
    return Sheet(sheet.name, table, number, notes)


def _fill_merged(sheet: Any, rows: Mapping[int, Row]) -> tuple[list[Row], dict[int, Row]]:
    """Return rows in which cells that are merged over rows are in the last of them, and filled rows over columns."""
    stretched: dict[int, Row] = {}
    lowered = {number: list(row) for number, row in rows.items()}
    for (top, left), (bottom, right) in sheet.merged_cell_ranges or ():
        first, last = top + 1, bottom + 1
        left = left - sheet.start[1]
        if first not in rows or not 0 <= left < len(rows[first]):
            continue
        # A title may stretch beyond the last column that has values.
        right = min(right - sheet.start[1], len(rows[first]) - 1)
        value = rows[first][left]
        if right > left:
            filled = stretched.setdefault(first, list(rows[first]))
            filled[left : right + 1] = [value] * (right - left + 1)
        elif last in rows:
            lowered[last][left] = value
    return list(lowered.values()), stretched


def _names(rows: list[Row], stretched: Mapping[int, Row], numbers: list[int]) -> list[str | None]:
    """Return the names of the columns; equal ones are preceded by the name of their group, in the row above."""
    names = [None if cell is None else _as_text(cell) for cell in rows[-1]]
    clusters = stretched.get(numbers[len(rows) - 2]) if len(rows) > 1 else None
    if clusters is None:
        return names
    return [
        f"{_as_text(cluster)} {name}" if name is not None and cluster is not None and names.count(name) > 1 else name
        for name, cluster in zip(names, clusters, strict=True)
    ]


def _typed(values: Row) -> pa.Array:
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float}:
        whole = all(value is None or (float(value).is_integer() and abs(value) <= 2**53) for value in values)
        return pa.array([None if value is None else int(value) for value in values] if whole else values)
    if kinds == {dt.date, dt.datetime}:  # the reader has dates for the datetimes at midnight
        return pa.array([_at_midnight(value) if type(value) is dt.date else value for value in values])
    if len(kinds) == 1:
        return pa.array(values)
    return pa.array([None if value is None else _as_text(value) for value in values], pa.string())


def _at_midnight(day: dt.date) -> dt.datetime:
    return dt.datetime(day.year, day.month, day.day)


def _as_text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def check_sheet_size(rows: int, columns: int) -> None:
    """Raise a UserError for a table that is too large for a sheet."""
    if rows >= MAX_ROWS or columns > MAX_COLUMNS:
        raise UserError(
            f"a sheet of Excel holds {MAX_ROWS - 1:,} rows and {MAX_COLUMNS:,} columns, but the table has {rows:,} "
            f"rows and {columns:,} columns. Use --format csv or --format parquet."
        )
    if rows * columns > MAX_WRITTEN:
        raise UserError(
            f"the table has {rows:,} rows and {columns:,} columns; a workbook of more than {MAX_WRITTEN:,} cells takes "
            "many minutes to write and to open. Use --format csv or --format parquet."
        )


def write_workbook(sheets: Mapping[str, pa.Table], stream: IO[bytes]) -> None:
    """Write an Excel workbook with a sheet for each table; the finished, compressed file is held in memory.

    Strings are cells of text, whatever they begin with; characters that XML forbids are escaped. Timestamps with a
    zone are written in UTC, and their cells say so. Missing values, NaN and infinity are empty cells. Text, as ISO
    8601 or digits, is written for what Excel cannot hold: dates before March 1900, negative durations, and numbers of
    more than 15 digits. Texts above 32,767 characters are cut, with a warning.
    """
    writer = require("xlsxwriter", extra="excel")
    for table in sheets.values():
        check_sheet_size(table.num_rows, table.num_columns)
    archive = io.BytesIO()  # a compressed stream, where zip cannot go back, would not do
    try:
        with (
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
            writer.Workbook(archive, {"constant_memory": True, "tmpdir": folder}) as workbook,
        ):
            # The same table gives the same bytes, so the workbook has no time of its own.
            workbook.set_properties({"created": dt.datetime(2000, 1, 1)})
            formats = {name: workbook.add_format(properties) for name, properties in FORMATS.items()}
            n_cut = sum(_write_sheet(workbook.add_worksheet(name), table, formats) for name, table in sheets.items())
    except writer.exceptions.FileCreateError as error:
        raise error.args[0] from None  # the OSError
    except writer.exceptions.FileSizeError:
        raise UserError("the workbook would be too large. Use --format csv or --format parquet.") from None
    stream.write(archive.getbuffer())
    if n_cut:
        cells = "1 text was" if n_cut == 1 else f"{n_cut:,} texts were"
        warnings.warn(
            f"{cells} cut to {MAX_CHARACTERS:,} characters, the most that a cell of Excel holds. Use --format csv or "
            "--format parquet for whole texts.",
            stacklevel=3,
        )


def _write_sheet(sheet: Any, table: pa.Table, formats: Mapping[str, Any]) -> int:
    """Write a table, and return how many of its texts were cut."""
    styles = [formats.get(_style(field)) for field in table.schema]
    sheet.freeze_panes(1, 0)
    for number, field in enumerate(table.schema):
        # In a column that is too narrow, Excel shows a date as #####.
        sheet.set_column(number, number, 40 if holds_text(field) else 24 if pa.types.is_temporal(field.type) else 12)
    n_cut = 0
    for number, row in enumerate(chain([table.column_names], _rows(table))):
        for column, value in enumerate(map(_as_cell, row)):
            if isinstance(value, str):
                fitting = _cut(value)
                n_cut += len(fitting) < len(value)
                sheet.write_string(number, column, fitting, None if number else formats["header"])
            elif isinstance(value, bool):
                sheet.write_boolean(number, column, value)
            elif isinstance(value, int | float):
                sheet.write_number(number, column, value, styles[column])
            elif value is not None:
                sheet.write_datetime(number, column, value, styles[column])
    return n_cut


def _style(field: pa.Field) -> str:
    kinds, kind = pa.types, field.type
    if kinds.is_timestamp(kind):
        return "timestamp" if kind.tz is None else "timestamp in UTC"
    tests = {"date": kinds.is_date, "time": kinds.is_time, "duration": kinds.is_duration}
    return next((name for name, test in tests.items() if test(kind)), "share" if holds_shares(field) else "")


def _rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    for start in range(0, table.num_rows, BATCH_ROWS):
        part = table.slice(start, BATCH_ROWS)
        yield from zip(*(python_values(_in_utc(column)) for column in part.columns), strict=True)


def _in_utc(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Cast times to a resolution that Python and Excel have; timestamps lose their zone and are in UTC."""
    if pa.types.is_timestamp(column.type):
        zoned = column.cast(pa.timestamp("ms", column.type.tz), safe=False)
        return zoned.cast(pa.timestamp("ms"))
    return column.cast(pa.duration("ms"), safe=False) if pa.types.is_duration(column.type) else column


def _as_cell(value: Any) -> Any:
    """Return a value as a cell can hold it: a text, number, logical value, date, time or duration, or None."""
    if value is None or isinstance(value, str | bool | dt.time):
        return value
    if isinstance(value, int | float | Decimal):
        return _number(value)
    if isinstance(value, dt.datetime):
        return value if value.date() >= FIRST_DAY else str(value)
    if isinstance(value, dt.date):
        return value if value >= FIRST_DAY else str(value)
    if isinstance(value, dt.timedelta):
        return value if value >= dt.timedelta(0) else str(value)
    return to_json(value) if isinstance(value, list | dict) else as_string(value)


def _number(value: float | Decimal) -> float | str | None:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value) if len(Decimal(value).as_tuple().digits) > MAX_DIGITS else float(value)


def _cut(text: str) -> str:
    """Shorten a text that is too long for a cell; an ellipsis ends it then."""
    if len(text) <= MAX_CHARACTERS // 2:  # no character has more than two units
        return text
    units = text.encode("utf-16-le")
    if len(units) <= 2 * MAX_CHARACTERS:
        return text
    return units[: 2 * (MAX_CHARACTERS - 1)].decode("utf-16-le", "ignore") + "\u2026"
