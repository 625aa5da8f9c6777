"""Excel workbooks: dates and numbers stay what they are, and a text is never a formula."""

from __future__ import annotations

import datetime as dt
import io
import math
import re
import tempfile
import warnings
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from functools import reduce
from itertools import chain, islice
from typing import IO, Any

import pyarrow as pa

from ..errors import NoRowsError, UsageError, UserError, require
from ..hygiene import plural
from .columns import SHARE_MARK, RawTable, choose_text_column, holds_text, is_any, python_values, refuse_duplicates
from .headers import SAMPLE_ROWS, filled_cells, find_header, is_text_name, quoted_names
from .lines import as_string, batches, to_json
from .source import OLE_START, Source

MAX_UNPACKED = 2**32  # bytes of a workbook once its zip archive is unpacked
MAX_READ = 2**27  # cells from the first to the last of a sheet, also empty ones; the reader holds 32 bytes for each
MAX_WRITTEN = 8_000_000  # cells of a table that is written as a workbook
SHEET_ROWS, SHEET_COLUMNS = 1_048_576, 16_384  # size of a sheet, with the header
CELL_UNITS = 32_767  # longest text of a cell, in units of UTF-16
DIMENSION = re.compile(rb'<dimension ref="(?:[A-Z]+\d+:)?([A-Z]+)(\d+)"')  # where a sheet names its last cell
PASSWORD_MARK = "EncryptedPackage".encode("utf-16-le")  # in files with a password, which the reader calls damaged

_Cells = list[Any]


def read_workbook(
    source: Source, sheet: str | None = None, header_row: int | None = None, text_column: str | None = None
) -> RawTable:
    """Read a sheet of an Excel or OpenDocument workbook: by name or number, or else the one with the most texts.

    Rows above the header are dropped, and empty rows and columns skipped. Cells that are empty or hold an error are
    missing values. Of merged cells, only the first has the value; in the header, the last row has it. A column of whole
    numbers, numbers, dates, times or logical values keeps its type; one of several kinds becomes text.
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
        damage = "damaged or cut short, or another kind of archive. Save it as .xlsx again."
        raise UserError(f"{source.name} is a workbook that is {damage}") from None


def _refuse_huge(content: bytes, name: str) -> None:
    """Raise a UserError for a workbook that would need too much memory."""
    size, last_cells = 0, []
    with suppress(Exception), zipfile.ZipFile(io.BytesIO(content)) as archive:  # the reader reports any damage
        size = sum(part.file_size for part in archive.infolist())
        for part in archive.namelist():
            if part.startswith("xl/worksheets/") and part.endswith(".xml"):
                with archive.open(part) as sheet:
                    last_cells += DIMENSION.findall(sheet.read(2048))
    if size > MAX_UNPACKED:
        raise UserError(f"{name} has more than {MAX_UNPACKED // 2**30} GB once it is unpacked. Save it as CSV.")
    for letters, row in last_cells:
        column = reduce(lambda number, letter: 26 * number + letter - ord("A") + 1, letters, 0)
        if column * int(row) > MAX_READ:
            advice = "Delete the empty rows and columns, or save the table as CSV."
            raise UserError(f"{name} has a sheet with cells as far as {letters.decode()}{row.decode()}. {advice}")


def _choose_sheet(
    workbook: Any, name: str, wanted: str | None, header_row: int | None, text_column: str | None
) -> RawTable:
    calamine = require("python_calamine", extra="excel")
    sheets = [sheet for sheet in workbook.sheets_metadata if sheet.typ == calamine.SheetTypeEnum.WorkSheet]
    if wanted is not None:
        titles = [sheet.name for sheet in sheets]
        by_key = {str(number): title for number, title in enumerate(titles, 1)}
        by_key |= {title.strip().lower(): title for title in titles}
        if (key := wanted.strip().lower()) not in by_key:
            known = f"the sheets are: {quoted_names(titles)}"
            raise UserError(f"{name} has no sheet {wanted!r}. Choose with --sheet; {known}")
        return _read_sheet(workbook.get_sheet_by_name(by_key[key]), name, header_row)
    visible = [sheet.name for sheet in sheets if sheet.visible == calamine.SheetVisibleEnum.Visible]
    results: list[RawTable | UserError] = []
    for sheet in map(workbook.get_sheet_by_name, visible):
        if sheet.height:
            try:
                results.append(_read_sheet(sheet, name, header_row))
            except UserError as error:  # such as a sheet that lacks the row of the header
                results.append(error)
    if not results:
        raise NoRowsError(f"{name} is empty")
    tables = [result for result in results if isinstance(result, RawTable)]
    best = _with_most_texts(tables, name, text_column) if len(results) > 1 else None
    problems = [result for result in results if isinstance(result, UserError)]
    result = best or (problems[-1] if problems and header_row is not None else results[0])
    if isinstance(result, UserError):
        raise result
    return result


def _with_most_texts(tables: list[RawTable], name: str, text_column: str | None) -> RawTable | None:
    """Return the sheet with the most texts, with a note on the others; sheets with a single column come last."""
    ranked: list[tuple[bool, int, str, RawTable]] = []
    for raw in tables:
        with suppress(UserError):
            column = choose_text_column(raw.table, text_column)
            if n_texts := raw.table.num_rows - raw.table.column(column).null_count:
                ranked.append((raw.table.num_columns > 1 or is_text_name(column), n_texts, column, raw))
    if not ranked:
        return None
    is_table, most, column, best = max(ranked, key=lambda rank: rank[:2])
    others = [rank for rank in ranked if rank[3] is not best]
    if not others:
        return best
    listed = ", ".join(f"{raw.sheet!r} ({plural(n, 'text')})" for _, n, _, raw in ranked)
    # Sheets of the same kind, such as one for each month, are for the user to choose from.
    if any((kind, title) == (is_table, column) and 2 * n >= most for kind, n, title, _ in others):
        raise UsageError(f"{name} has texts in several sheets: {listed}. Choose one with --sheet.")
    advice = f"{best.sheet!r} was read; for another, use --sheet {others[0][3].sheet!r}."
    return best._replace(notes=(f"{name} has texts in several sheets: {listed}. {advice}", *best.notes))


def _read_sheet(sheet: Any, name: str, header_row: int | None) -> RawTable:
    cells = ([None if cell == "" else cell for cell in row] for row in sheet.iter_rows())
    filled = ((number, row) for number, row in enumerate(cells, 1) if filled_cells(row))
    top = dict(islice(filled, SAMPLE_ROWS if header_row is None else max(header_row, 1)))
    if not top:
        raise NoRowsError(f"{name}, sheet {sheet.name!r} is empty")
    numbers = list(top)
    top_rows, stretched = _fill_merged(sheet, top)
    merged = {place for place, number in enumerate(numbers) if number in stretched}
    header = find_header(top_rows, numbers, header_row, f"{name}, sheet {sheet.name!r},", merged)
    columns: list[_Cells] = [[] for _ in top_rows[0]]
    for row in chain(list(top.values())[header.position + 1 :], (row for _, row in filled)):
        for column, cell in zip(columns, row, strict=True):
            column.append(cell)
    names: list[str | None] = [None] * len(columns)
    if header.position >= 0:
        names = [None if cell is None else _as_text(cell) for cell in top_rows[header.position]]
        groups = stretched.get(numbers[header.position - 1], ()) if header.position else ()
        # Equal names are preceded by the name of their group, in the merged cells above.
        repeated = {title for title in names if title is not None and names.count(title) > 1}
        for place, group in enumerate(groups):
            if group is not None and names[place] in repeated:
                names[place] = f"{_as_text(group)} {names[place]}"
    positions = [i for i, title in enumerate(names) if title is not None or filled_cells(columns[i])]
    titles = [names[i] or f"column {i + 1}" for i in positions]
    refuse_duplicates(titles, name)
    table = pa.Table.from_arrays([_typed(columns[i]) for i in positions], names=titles)
    return RawTable(table, header.number, header.notes, sheet.name)


def _fill_merged(sheet: Any, rows: Mapping[int, _Cells]) -> tuple[list[_Cells], dict[int, _Cells]]:
    """Move the value of cells that are merged over rows to the last one; also return rows filled over columns."""
    stretched: dict[int, _Cells] = {}
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
            stretched.setdefault(first, list(rows[first]))[left : right + 1] = [value] * (right - left + 1)
        elif last in rows:
            lowered[last][left] = value
    return list(lowered.values()), stretched


def _typed(values: _Cells) -> pa.Array:
    kinds = set(map(type, filled_cells(values)))
    if kinds <= {int, float}:
        whole = all(value is None or (float(value).is_integer() and abs(value) <= 2**53) for value in values)
        return pa.array([None if value is None else int(value) for value in values] if whole else values)
    if kinds == {dt.date, dt.datetime}:  # the reader has dates for the datetimes at midnight
        midnight = dt.time()
        return pa.array([dt.datetime.combine(day, midnight) if type(day) is dt.date else day for day in values])
    if len(kinds) == 1:
        return pa.array(values)
    return pa.array([None if value is None else _as_text(value) for value in values], pa.string())


def _as_text(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def check_sheet_size(rows: int, columns: int) -> None:
    """Raise a UserError for a table that is too large for a sheet."""
    size = f"the table has {plural(rows, 'row')} and {plural(columns, 'column')}"
    problem = ""
    if rows >= SHEET_ROWS or columns > SHEET_COLUMNS:
        problem = f"a sheet of Excel holds {SHEET_ROWS - 1:,} rows and {SHEET_COLUMNS:,} columns, but {size}"
    elif rows * columns > MAX_WRITTEN:
        problem = f"{size}; a workbook of more than {MAX_WRITTEN:,} cells takes many minutes to write and to open"
    if problem:
        raise UserError(f"{problem}. Use --format csv or --format parquet.")


def write_workbook(sheets: Mapping[str, pa.Table], stream: IO[bytes]) -> None:
    """Write an Excel workbook with a sheet for each table; the finished, compressed file is held in memory.

    Strings are cells of text, whatever they begin with. Timestamps with a zone are written in UTC, and their cells say
    so. Missing values, NaN and infinity are empty cells. Values that Excel cannot hold are written as text: dates
    before March 1900, negative durations, and numbers of more than 15 digits. Long texts are cut, with a warning.
    """
    writer = require("xlsxwriter", extra="excel")
    for table in sheets.values():
        check_sheet_size(table.num_rows, table.num_columns)
    archive = io.BytesIO()  # zip needs to go back, which a compressed stream cannot
    try:
        with (
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
            writer.Workbook(archive, {"constant_memory": True, "tmpdir": folder}) as workbook,
        ):
            # The same table gives the same bytes, so the workbook has a fixed time.
            workbook.set_properties({"created": dt.datetime(2000, 1, 1)})
            n_cut = sum(_write_sheet(workbook, name, table) for name, table in sheets.items())
    except writer.exceptions.FileCreateError as error:
        raise error.args[0] from None  # the OSError
    except writer.exceptions.FileSizeError:
        raise UserError("the workbook would be too large. Use --format csv or --format parquet.") from None
    stream.write(archive.getbuffer())
    if n_cut:
        warnings.warn(
            f"{plural(n_cut, 'text was', 'texts were')} cut to {CELL_UNITS:,} characters, the most that a cell of "
            "Excel holds. Use --format csv or --format parquet for whole texts.",
            stacklevel=3,
        )


def _write_sheet(workbook: Any, name: str, table: pa.Table) -> int:
    """Write a table, and return how many of its texts were cut."""
    sheet, bold = workbook.add_worksheet(name), workbook.add_format({"bold": True})
    forms = map(_number_format, table.schema)
    styles = [workbook.add_format({"num_format": form}) if form else None for form in forms]
    sheet.freeze_panes(1, 0)
    for number, field in enumerate(table.schema):
        # In a column that is too narrow, Excel shows a date as #####.
        sheet.set_column(number, number, 40 if holds_text(field) else 24 if pa.types.is_temporal(field.type) else 12)
    n_cut = 0
    rows = (row for batch in batches(table) for row in zip(*(_values(column) for column, _ in batch), strict=True))
    for number, row in enumerate(chain([table.column_names], rows)):
        for column, value in enumerate(map(_as_cell, row)):
            if isinstance(value, str):
                fitting = _cut(value)
                n_cut += len(fitting) < len(value)
                sheet.write_string(number, column, fitting, None if number else bold)
            elif isinstance(value, bool):
                sheet.write_boolean(number, column, value)
            elif isinstance(value, int | float):
                sheet.write_number(number, column, value, styles[column])
            elif value is not None:
                sheet.write_datetime(number, column, value, styles[column])
    return n_cut


def _number_format(field: pa.Field) -> str | None:
    if pa.types.is_timestamp(field.type):
        return "yyyy-mm-dd hh:mm:ss" + ('" UTC"' if field.type.tz else "")
    formats = {"date": "yyyy-mm-dd", "time": "hh:mm:ss", "duration": "[h]:mm:ss"}
    is_share = SHARE_MARK.items() <= (field.metadata or {}).items()
    return next((form for kind, form in formats.items() if is_any(field.type, kind)), "0.0%" if is_share else None)


def _values(column: pa.ChunkedArray) -> list[object]:
    """Return values with times that Python and Excel can express; timestamps lose their zone and are in UTC."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("ms", column.type.tz), safe=False).cast(pa.timestamp("ms"))
    elif pa.types.is_duration(column.type):
        column = column.cast(pa.duration("ms"), safe=False)
    return python_values(column)


def _as_cell(value: object) -> Any:
    """Return a value as a cell can hold it: a text, number, logical value, date, time or duration, or None."""
    if value is None or isinstance(value, str | bool | dt.time):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int | Decimal):  # Excel drops the last digits of a long number, such as a card number
        return str(value) if len(Decimal(value).as_tuple().digits) > 15 else float(value)
    if isinstance(value, dt.date):  # programs disagree on earlier dates, because Excel has a 29 February 1900
        return value if (value.year, value.month) >= (1900, 3) else str(value)
    if isinstance(value, dt.timedelta):
        return value if value >= dt.timedelta(0) else str(value)
    return to_json(value) if isinstance(value, list | dict) else as_string(value)


def _cut(text: str) -> str:
    """Shorten a text that is too long for a cell, and end it with an ellipsis."""
    is_short = len(text) <= CELL_UNITS // 2  # no character has more than two units
    if is_short or len(units := text.encode("utf-16-le")) <= 2 * CELL_UNITS:
        return text
    return units[: 2 * (CELL_UNITS - 1)].decode("utf-16-le", "ignore") + "\u2026"
