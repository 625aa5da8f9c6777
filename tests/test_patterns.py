"""Regular expressions that see input: none of them takes longer than in proportion to a text, however it is made.

One that needs the square of the length takes minutes for a single of these texts, and these tests do not end.
"""

import pytest

from textspectra.embedding.languages import knows_only_english
from textspectra.embedding.sentence_transformer import full_hub_name
from textspectra.io.columns import CALENDAR, CODE_SIGNS
from textspectra.io.date_patterns import SHAPES
from textspectra.io.excel import DIMENSION
from textspectra.io.formats import JSON_START
from textspectra.io.formulas import made_safe
from textspectra.io.headers import HEADER_CELL
from textspectra.report.existing import META
from textspectra.topics.languages import _WORD
from textspectra.topics.words import _phrases, clean_text

N = 100_000

PIECES = [
    *" \t\n01aA_.-',;:/=+#()[{\"<", "\r\n", "\u0301", "a\u0301", "\u0301\u0302", "a-", "a'", "-a", "a+", "a++", "http://",
    "www.", "jan", "jan ", "jan.", "mon, ", "1 jan", "1.", "1:", " at ", "2026-", "[{", "東", "あ", "カ", "ก", "é",
    "\u200b", "=\t", ";=", "𝐚",
]  # fmt: skip
STARTS = ["", "1 ", "jan", "mon", "2026-01-01T10:00", "1 jan 2026", "1/1/2026 1:00 ", '<dimension ref="', "http", "a"]
ENDS = ["", "!", "\x00", "é", "(", "x"]

USES = {
    "words": lambda text: (_phrases(text), clean_text(text)),
    "languages": _WORD.findall,
    "dates": lambda text: [shape.fullmatch(text) for shape in SHAPES],
    "columns": lambda text: (CALENDAR.sub("", text), CODE_SIGNS.search(text)),
    "formats": lambda text: (HEADER_CELL.fullmatch(text), JSON_START.match(text)),
    "workbooks": lambda text: DIMENSION.search(text.encode()),
    "reports": lambda text: META.search(f'id="block-meta">{text}'.encode()),
    "formulas": lambda text: made_safe([text]),
    "models": lambda text: (full_hub_name(text), knows_only_english(text)),
}


@pytest.mark.parametrize("use", USES)
def test_no_text_makes_a_pattern_slow(use):
    for number, piece in enumerate(PIECES):
        start, end = STARTS[number % len(STARTS)], ENDS[number % len(ENDS)]
        for text in (piece * (N // len(piece)), start + piece * (N // len(piece)) + end):
            USES[use](text)
