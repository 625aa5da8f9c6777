"""Words that should not decide: they are taken out of a text before it is embedded, and before its words are counted.

Plain words and phrases are looked up by their words, so 10,000 of them cost as much as one. Everything else is a
regular expression, which has limited time for a text.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import regex

from ..errors import UserError
from ..hygiene import without_surrogates
from .languages import plain_text
from .tokens import ELIDED, UNSPACED_CHARACTERS

MAX_PATTERN = 1_000  # characters
SECONDS = 1.0  # for one expression and one text
MAX_REPEATS = 100_000  # the counts of an expression such as (a{9}){9}, multiplied: a compiled one grows with them

_LETTER = rf"[^\W{UNSPACED_CHARACTERS}]"  # in a script with spaces: a word begins and ends where a letter does
_REST = rf"(?:{_LETTER}|['’‑-](?={_LETTER}))*"  # what a * stands for: the rest of the word
_BEFORE, _AFTER = rf"(?<!{_LETTER})", rf"(?:['’]s)?(?!{_LETTER})"
_NAME = rf"{_LETTER}+(?:[.-]{_LETTER}+)*"
_DOMAINS = "com|org|net|edu|gov|io"

KINDS = {
    "urls": rf"(?<!\w)(?:[a-z]+://|www\.)\S+|(?<![@\w.-])(?>{_NAME})(?:(?<=\.[a-z]{{2,}})/\S*|(?<=\.(?:{_DOMAINS})))",
    "emails": rf"(?<![\w.+-])[\w.+-]+@{_NAME}",
    "handles": rf"(?<![\w.+-])@{_LETTER}+(?:@{_NAME})?(?:['’]s\b)?",
    "numbers": rf"{_BEFORE}(?:[+-]?[$€£¥]|[+#-])?\d+(?:[.,:/-]\d+)*(?:\s?[%€£¥])?(?!{_LETTER})",
}
"""Expressions for the kinds of words that have names; an address is taken out before the handle or number in it."""

_WORD = rf"[@#]?{_LETTER}+(?:['’]{_LETTER}+)*"
_ASCII_WORD, _ANY_WORD = re.compile(r"[@#]?\w+(?:'\w+)*"), regex.compile(_WORD)
_UNSPACED = re.compile(f"[{UNSPACED_CHARACTERS}]")
_SPACE, _SPACES = re.compile(r"\s+"), re.compile(r"[ \t]{2,}")
_COUNT, _RECURSION = re.compile(r"\{(\d+)"), re.compile(r"\(\?(?:R|[+-]?\d|&|P>)")  # (?R) can take all memory


class _Rule(NamedTuple):
    """An expression, and the pattern of the user that it stands for."""

    pattern: str
    expression: regex.Pattern[str]


class Ignored:
    """Words, phrases, wildcards, expressions and kinds of words that are taken out of texts."""

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self.patterns = patterns
        self._words: dict[str, str] = {}  # patterns of words and phrases by what is looked up
        self._sizes: dict[str, list[int]] = {}  # numbers of words of those that begin with a word, the longest first
        self._unspaced: dict[str, str] = {}
        expressions, others = [], []
        for pattern in patterns:
            plain = _folded(" ".join(pattern.split()))
            words = [] if "*" in plain else list(_ANY_WORD.finditer(plain))
            if len(pattern) > 1 and pattern[0] == pattern[-1] == "/":
                expressions.append(_Rule(pattern, _compiled(pattern)))
            elif plain in KINDS:
                others.append(_Rule(pattern, regex.compile(KINDS[plain], regex.IGNORECASE)))
            elif "*" not in plain and _UNSPACED.search(plain):
                self._unspaced[plain] = pattern
            elif words and (words[0].start(), words[-1].end()) == (0, len(plain)):
                self._words[plain] = pattern
                sizes = {*self._sizes.get(words[0][0], ()), len(words)}
                self._sizes[words[0][0]] = sorted(sizes, reverse=True)
            else:
                others.append(_Rule(pattern, _as_expression(plain)))
        ranks = list(KINDS)
        others.sort(key=lambda rule: ranks.index(name) if (name := rule.pattern.lower()) in KINDS else len(ranks))
        self._rules = [*expressions, *others]
        self._lengths = sorted({len(text) for text in self._unspaced}, reverse=True)

    @classmethod
    def of(cls, patterns: Iterable[str]) -> Ignored:
        """Check what the user gave; a UserError names the pattern that cannot be used."""
        if isinstance(patterns, str) or not isinstance(patterns, Iterable):
            raise UserError(f"ignore must be a list of words, such as ['handles', 'freemium'], but it is {patterns!r}.")
        given = tuple(patterns)
        for pattern in given:
            if not isinstance(pattern, str):
                raise UserError(f"ignore has {pattern!r} ({type(pattern).__name__}); every word to ignore is a str.")
            if not pattern.strip() or pattern == "//":
                raise UserError(f"ignore has {pattern!r}, which is blank; leave it out.")
            if len(pattern) > MAX_PATTERN:
                raise UserError(f"{pattern[:40]!r}... to ignore has more than {MAX_PATTERN:,} characters; shorten it.")
            if without_surrogates(pattern) != pattern:
                raise UserError(f"{pattern!r} to ignore holds half of a character; write it again.")
        return _of(tuple({_folded(pattern) if pattern[0] != "/" else pattern: pattern for pattern in given}.values()))

    def apply(self, text: str) -> str:
        """Return a text without these words, with single spaces in their places; the same text if it has none."""
        return self.take_out(text, set())

    def take_out(self, text: str, matched: set[str]) -> str:
        """Do that, and add the patterns that the text has to `matched`."""
        before = plain_text(text)
        if before != text and ("://" in text or "www." in text.lower()):  # a plain text has no addresses any more
            matched.update(pattern for pattern in self.patterns if pattern.lower() == "urls")
        if not before.isascii():
            before = unicodedata.normalize("NFC", before)
        after = before
        for rule in self._rules:
            after = _without(rule, after, matched)
        if self._unspaced and not after.isascii():
            after = self._without_unspaced(after, matched)
        if self._words:
            after = self._without_words(after, matched)
        return text if after == before else _SPACES.sub(" ", after).strip()

    def _without_words(self, text: str, matched: set[str]) -> str:
        words = list((_ASCII_WORD if text.isascii() else _ANY_WORD).finditer(text))
        parts, end = [], 0
        for place, word in enumerate(words):
            folded = word[0].casefold()
            is_other = folded.isalnum() and folded not in self._sizes
            if is_other or word.start() < end:  # most words are not looked for, and some are in a phrase
                continue
            pattern, last = self._longest(text, words, place)
            if pattern:
                parts += [text[end : word.start()], " "]
                end = words[last].end()
                matched.add(pattern)
        return "".join([*parts, text[end:]])

    def _longest(self, text: str, words: list[re.Match[str]], first: int) -> tuple[str, int]:
        """Return the longest pattern that begins with a word of a text, and the position of its last word."""
        for form in _forms(words[first][0]):
            for last in [first + size - 1 for size in self._sizes.get(form, ())]:
                if last < len(words):
                    phrase = form + _folded(_SPACE.sub(" ", text[words[first].end() : words[last].end()]))
                    pattern = self._words.get(phrase) or self._words.get(phrase.removesuffix("'s"))
                    if pattern:
                        return pattern, last
        return "", first

    def _without_unspaced(self, text: str, matched: set[str]) -> str:
        folded = text.casefold() if len(text.casefold()) == len(text) else text
        parts, place, end = [], 0, 0
        while place < len(text):
            length = next((size for size in self._lengths if folded[place : place + size] in self._unspaced), 0)
            if length:
                matched.add(self._unspaced[folded[place : place + length]])
                parts += [text[end:place], " "]
                end = place + length
            place += length or 1
        return "".join([*parts, text[end:]])


def check_stop_words(words: Iterable[str]) -> tuple[str, ...]:
    """Return the stop words of the user as texts are searched for them: in lower case, each once."""
    if isinstance(words, str) or not isinstance(words, Iterable):
        raise UserError(f"stop_words must be a list of words, but it is {words!r}.")
    given = list(words)
    for word in given:
        if not isinstance(word, str) or len(word.split()) != 1:
            raise UserError(f"stop_words has {word!r}, which is not one word; give a list of single words.")
        if len(word) > MAX_PATTERN or without_surrogates(word) != word:
            raise UserError(f"stop_words has {word[:40]!r}..., which is not a word; leave it out.")
    return tuple(dict.fromkeys(unicodedata.normalize("NFC", word.strip()).lower() for word in given))


@lru_cache(maxsize=8)
def _of(patterns: tuple[str, ...]) -> Ignored:
    return Ignored(patterns)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold().replace("’", "'")


def _forms(word: str) -> Iterator[str]:
    """Yield what a word is looked up as: @United's is @united's, united's, united and @united; l'adresse is adresse."""
    folded = _folded(word)
    yield folded
    bare = folded.lstrip("@#")
    if bare != folded:
        yield bare
    head, apostrophe, tail = bare.partition("'")
    if apostrophe:
        yield from [head] * (tail == "s") + [tail] * (head in ELIDED)
        yield from [folded.partition("'")[0]] * (tail == "s" and bare != folded)


def _as_expression(plain: str) -> regex.Pattern[str]:
    """Return the expression of words with wildcards, or with punctuation at their ends."""
    escaped = [regex.escape(part, special_only=True, literal_spaces=True) for part in plain.split("*")]
    parts = [part.replace(" ", r"\s+").replace("'", "['’]") for part in escaped]
    is_letter = regex.compile(_LETTER).match
    start = rf"{_BEFORE}(?<!{_LETTER}['’‑-])"  # not inside a word that the wildcard would have read already
    before = rf"{start}[@#]?" if plain[0] == "*" or is_letter(plain[0]) else start * (plain[0] in "@#")
    after = _AFTER if is_letter(plain[-1]) else ""
    return regex.compile(before + _REST.join(parts) + after, regex.IGNORECASE | regex.FULLCASE)


def _compiled(pattern: str) -> regex.Pattern[str]:
    """Return the expression between two slashes."""
    try:
        repeats = math.prod(max(int(count), 1) for count in _COUNT.findall(pattern))
        if repeats > MAX_REPEATS or _RECURSION.search(pattern):
            raise ValueError
        return regex.compile(pattern[1:-1], regex.IGNORECASE)
    except regex.error as error:
        reason = f"{error.msg} at character {error.pos + 1} between the slashes" if error.pos is not None else error.msg
    except (RecursionError, ValueError):
        reason = "it has too many repetitions or parentheses, or a recursion"
    raise UserError(f"The expression {pattern!r} to ignore cannot be used: {reason}.")


def _without(rule: _Rule, text: str, matched: set[str]) -> str:
    def space(match: regex.Match[str]) -> str:
        if match[0]:
            matched.add(rule.pattern)
        return " " if match[0] else ""

    try:
        return str(rule.expression.sub(space, text, timeout=SECONDS))
    except TimeoutError:
        raise UserError(
            f"The expression {rule.pattern!r} to ignore takes too long for {text[:40]!r}...: more than {SECONDS:.0f} s."
            " Write it without a repetition inside a repetition, such as (a+)+."
        ) from None
