"""Tables of texts in memory."""

import pyarrow as pa
import pytest

from textspectra.io import TableFormat, TextTable, choose_text_column


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_texts_of_any_string_type(kind):
    table = pa.table({"text": pa.array(["a", None, "b"]).cast(kind)})
    assert TextTable(table, choose_text_column(table), TableFormat.PARQUET).texts() == ["a", "", "b"]
