"""Does a text say anything? Dashes, a lone emoji, an address, "n/a" and the like do not."""

from __future__ import annotations

import re

from .languages import read_lists
from .markup import plain_text

MAX_LENGTH = 40
"""Longest text that may be a non-answer, in characters; longer ones are not looked up."""

REPEATED = re.compile(r"([^\W\d_])\1{2,}")
"""A key that was held down: "aaaa"."""

_WORD = re.compile(r"\w+")


def _bare(text: str) -> str:
    """Return the words of a text in lower case, without what stands between them."""
    return " ".join(_WORD.findall(text.lower()))


NON_ANSWERS = frozenset(_bare(phrase) for phrases in read_lists("non_answers.txt", ",").values() for phrase in phrases)
"""What people write who have nothing to say, in the languages that have stop words, and from the keyboard."""


def has_content(text: str) -> bool:
    """Return True if a text says something: it has a letter or a digit, and is not a non-answer."""
    text = plain_text(text)
    if len(text) > MAX_LENGTH:
        return any(map(str.isalnum, text))
    bare = _bare(text)
    return any(map(str.isalnum, bare)) and bare not in NON_ANSWERS and not REPEATED.fullmatch(bare)
