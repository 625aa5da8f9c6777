"""Texts that nearly repeat another one: the list of them, and a note if there are many."""

from __future__ import annotations

import numpy as np

from ..core.repeats import near_duplicates, repeated_share
from ..errors import UserError
from .clustered import ClusteredTexts
from .corpus import EmbeddedTexts

THRESHOLD = 0.95  # cosine of two texts that nearly repeat each other
COMPARED_TEXTS = 50_000  # distinct texts; with more, only texts of the same group are compared

# Share of near-duplicates that gives a note, and fewest texts. Of 40 labeled sets with MiniLM, 32 have less than 5 %,
# five have 9 to 13 %, and one has 31 %: questions of customers about 77 matters. Two get the note: reviews such as
# "very good app" (40 %), and synthetic requests (46 %). 16 sets were measured in full, the others on up to 3,000 texts.
MANY_REPEAT, FEWEST_TEXTS = 1 / 3, 100


def duplicate_columns(result: ClusteredTexts, threshold: float) -> dict[str, object]:
    """Return the columns of a table of near-duplicates, one row for each distinct text that repeats an earlier one."""
    is_number = isinstance(threshold, int | float | np.number) and not isinstance(threshold, bool)
    if not is_number or not 0 < threshold <= 1:
        raise UserError(f"threshold must be a number above 0 and at most 1, but it is {threshold!r}.")
    texts, first_rows = result.embedded(), result.corpus.first_rows
    groups = result.distinct_codes[texts.counting] if len(texts.counting) > COMPARED_TEXTS else None
    found = near_duplicates(texts.vectors, float(threshold), groups)
    repeating, repeated = texts.counting[found.rows], texts.counting[found.of]
    return {
        "row": first_rows[repeating],
        "duplicate_of": first_rows[repeated],
        "similarity": found.similarity,
        "text": [result.corpus.distinct[place] for place in repeating],
    }


def notes_on_repeats(texts: EmbeddedTexts) -> tuple[str, ...]:
    """Return a note if many texts nearly repeat another one."""
    share = repeated_share(texts.vectors, THRESHOLD) if len(texts.counting) >= FEWEST_TEXTS else 0.0
    if share < MANY_REPEAT:
        return ()
    which = f"About {share:.0%} of the different texts nearly repeat another one".replace("%", " %")
    return (f"{which}, so the groups may look clearer than they are; in Python, result.duplicates() lists them.",)
