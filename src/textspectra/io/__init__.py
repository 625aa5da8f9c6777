"""Read and write tables: CSV, TSV, JSON Lines, Parquet, Excel and plain text, compressed or not, and data frames.

Columns, their order and their values are preserved: a table that is written again differs only by the columns that
were added. Every mistake in a file raises a :class:`~textspectra.errors.UserError` that says what is wrong, where, and
what to do.
"""

from .columns import choose_text_column, column_values
from .embeddings import list_column, read_embeddings, write_embeddings
from .formats import TableFormat, format_from_name
from .frames import as_table, free_name, is_data_frame, with_columns
from .labelled import name_parts, output_format, write_labelled
from .limits import MAX_TEXT
from .patterns import is_pattern, matching_files
from .reading import read_table
from .table import Groups, TextTable
from .writing import output_paths_free, write_table

__all__ = [
    "MAX_TEXT",
    "Groups",
    "TableFormat",
    "TextTable",
    "as_table",
    "choose_text_column",
    "column_values",
    "format_from_name",
    "free_name",
    "is_data_frame",
    "is_pattern",
    "list_column",
    "matching_files",
    "name_parts",
    "output_format",
    "output_paths_free",
    "read_embeddings",
    "read_table",
    "with_columns",
    "write_embeddings",
    "write_labelled",
    "write_table",
]
