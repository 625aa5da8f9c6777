"""Which languages texts are in: by their letters and, in Latin and Cyrillic script, by their function words.

Stop words are short lists of function words (``data/stop_words.txt``), written for this package. A detector from PyPI
is not needed: see the sentences in 13 languages of the tests.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from functools import cache
from importlib.resources import files

import numpy as np

_ADDRESS = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_NAMES = (
    "a|abbr|article|b|big|blockquote|body|br|button|center|code|dd|del|div|dl|dt|em|font|footer|form|h[1-6]|head|header|"
    "hr|html|i|iframe|img|input|ins|label|li|link|main|mark|meta|nav|o:p|ol|option|p|pre|q|s|script|section|select|small|"
    "span|strike|strong|style|sub|sup|table|tbody|td|textarea|tfoot|th|thead|title|tr|tt|u|ul|video"
)
_ATTRIBUTE = r"""\s+[\w:-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>]+)"""
_TAG = re.compile(rf"</?(?:{_NAMES})(?:{_ATTRIBUTE})*\s*/?>|<!--[^<>]*-->", re.IGNORECASE)
"""A tag of HTML, as opposed to ``a < b``, ``<3`` and placeholders such as ``<name>``."""


def plain_text(text: str) -> str:
    """Return what a text says: without tags and web addresses, and with characters in the place of entities."""
    # Few texts have any of it, and a search for a character is fast.
    if "&" in text:
        text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    if "<" in text:
        text = _TAG.sub(" ", text)
    if "://" in text or "www." in text.lower():
        text = _ADDRESS.sub(" ", text)
    return text


MAX_CHARACTERS = 1_000
"""Number of characters of a text that are read, which limits the cost of hostile texts."""

SAMPLE = 5_000
"""Number of texts that are looked at; a random sample if there are more."""

HAN_LETTERS = 3
"""How many letters a Chinese or Japanese character counts for: about as many as the same word has in English."""

SCRIPTS = {
    "CJK": "Chinese", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "KATAKANA-HIRAGANA": "Japanese",
    "HANGUL": "Korean", "GREEK": "Greek", "HEBREW": "Hebrew", "THAI": "Thai", "GEORGIAN": "Georgian",
    "ARMENIAN": "Armenian",
}  # fmt: skip
"""The language of a script, if there is only one of importance; the others are called "Arabic script" and so on."""

CYRILLIC = ("russian", "ukrainian")

SPOKEN = 0.05
"""If this share of the texts is clearly in a language, one function word is enough for the other texts."""

LEAST_RATE, SURE_RATE = 0.2, 0.4
"""Smallest share of function words in texts of a language, and the share that needs few different ones. Sentences have
a third to a half; Tagalog that is taken for Polish, because both have "na" and "po", has less."""

FEWEST_OWN, MOST_OWN, TEXTS_PER_OWN = 2, 10, 4
"""How many different words that no other language has are needed: the first number, and one more for so many texts, up
to the second number."""

ANOTHER = "another language"
"""What texts are in that are sentences, but not in a language with a list."""

SENTENCE = 4
"""Number of words of a text that could be a sentence."""

ACCENTED = 0.25
"""Share of words with letters outside ASCII that only sentences in another language have; names of dishes have less."""

VOWELS, VOWEL_SHARE = tuple("aiou"), 1 / 3
"""Few English words end in these vowels: at most 14 % in texts without function words of 26 English sets, and 28 % in
names of dishes from all over the world. In Finnish, Swahili, Tagalog and Indonesian it is 35 to 95 %."""

FREQUENT, FREQUENT_SHARE, FREQUENT_LENGTH, ENOUGH = 10, 0.25, 4.6, 8
"""Sentences of another language have function words of their own: their most frequent words are a quarter of all words,
and short. That takes a few texts. In lists of products or titles they are rarer or longer."""


def read_lists(name: str, separator: str | None = None) -> dict[str, frozenset[str]]:
    """Read a data file of words or phrases by language."""
    content = (files("textspectra") / "data" / name).read_text("utf-8")
    entries = (entry.partition(":") for entry in content.split("\n\n"))
    return {language: frozenset(filter(None, map(str.strip, words.split(separator)))) for language, _, words in entries}


STOP_WORDS = read_lists("stop_words.txt")
"""Function words by language; the first language is the default."""

DEFAULT = next(iter(STOP_WORDS))

_SPOKEN_BY: dict[str, list[str]] = {}
for _language in STOP_WORDS:
    for _word in STOP_WORDS[_language]:
        _SPOKEN_BY.setdefault(_word, []).append(_language)
_WORD = re.compile(r"[^\W\d_]+")


def language_shares(texts: Sequence[str]) -> dict[str, float]:
    """Return the share of the texts that are clearly in each language, the largest first.

    Texts without evidence, such as search queries of two words, are in no language; so the shares may not add up to 1.
    Sentences in a language without a list of words are in "another language".
    """
    if len(texts) > SAMPLE:
        rows = np.random.default_rng(0).choice(len(texts), SAMPLE, replace=False)
        texts = [texts[row] for row in rows]
    names: list[str] = []
    words: list[list[str]] = []
    in_cyrillic: list[bool] = []
    for text in texts:
        text = unicodedata.normalize("NFKC", plain_text(text)[:MAX_CHARACTERS])
        script = "LATIN" if text.isascii() else _main_script(text)
        has_list = script in ("LATIN", "CYRILLIC")
        in_cyrillic.append(script == "CYRILLIC")
        names.append(SCRIPTS.get(script, f"{script.title()} script") if script and not has_list else "")
        words.append(_WORD.findall(text.lower()) if has_list else [])
    found = text_languages(words)
    named = {language for language in set(found) - {""} if _is_spoken(language, words, found)}
    cyrillic = min((name for name in CYRILLIC if name in named), key=lambda name: -found.count(name), default="")
    found = [
        language * (language in named) or cyrillic * is_cyrillic
        for language, is_cyrillic in zip(found, in_cyrillic, strict=True)
    ]
    others = _in_another_language(words, found)
    decided = Counter(
        name or language.title().replace(" And ", " or ") or ANOTHER * (place in others)
        for place, (name, language) in enumerate(zip(names, found, strict=True))
    )
    del decided[""]
    ranked = sorted(decided.items(), key=lambda item: (-item[1], item[0]))
    return {language: n / len(texts) for language, n in ranked}


def text_languages(texts: Sequence[Collection[str]]) -> list[str]:
    """Return the language of each text, given its words in lower case, by their function words; empty if unclear.

    One function word is weak evidence, because "die" and "la" are English too; it counts if it is not ASCII, or if
    other texts are clearly in that language.
    """
    known = [{word for word in words if word in _SPOKEN_BY} for words in texts]
    votes = [Counter(language for word in words for language in _SPOKEN_BY[word]) for words in known]
    best = [_most_votes(vote) for vote in votes]
    strong = [
        bool(first) and _is_strong(first[0], vote[first[0]], evidence, words)
        for first, vote, evidence, words in zip(best, votes, known, texts, strict=True)
    ]
    clear = Counter(first[0] for first, sure in zip(best, strong, strict=True) if sure and len(first) == 1)
    # Languages have words in common. The more frequent of two candidates is the more likely one.
    likely = [min(first, key=lambda language: (-clear[language], language), default="") for first in best]
    spoken = {language for language, n in clear.items() if n >= SPOKEN * len(texts)}
    return [language * (sure or language in spoken - {DEFAULT}) for language, sure in zip(likely, strong, strict=True)]


def _most_votes(votes: Counter[str]) -> list[str]:
    most = max(votes.values(), default=0)
    best = [language for language, n in votes.items() if n == most]
    return [DEFAULT] if DEFAULT in best else best


def _is_strong(language: str, votes: int, evidence: Collection[str], words: Collection[str]) -> bool:
    """Return True if the function words of a text are enough to name its language."""
    if votes > 1:
        return True
    if language == DEFAULT:  # "a" is no sign of English among accents
        return all(map(str.isascii, words)) or any(_SPOKEN_BY[word] == [DEFAULT] for word in evidence)
    return not all(map(str.isascii, evidence))


def _is_spoken(language: str, texts: Sequence[Collection[str]], found: Sequence[str]) -> bool:
    """Return True if the texts of a language have enough of its words, and enough that no other language has."""
    members = {frozenset(words) for words, detected in zip(texts, found, strict=True) if detected == language}
    known = STOP_WORDS[language] & frozenset().union(*members)
    own = sum(_SPOKEN_BY[word] == [language] for word in known)
    rate = sum(len(words & known) for words in members) / max(1, sum(map(len, members)))
    words = [word for words in members for word in words]
    if language == DEFAULT:  # "on" is Finnish too
        return own > 0 and (rate > VOWEL_SHARE or not _end_in_vowels(words))
    letters, accents = set("".join(STOP_WORDS[language])), [letter for letter in "".join(words) if not letter.isascii()]
    is_written_so = all(map(str.isascii, letters)) or 2 * sum(map(letters.__contains__, accents)) >= len(accents)
    needed = FEWEST_OWN if rate >= SURE_RATE else min(MOST_OWN, 1 + len(members) // TEXTS_PER_OWN)
    return is_written_so and rate >= LEAST_RATE and own >= max(FEWEST_OWN, needed)


def _end_in_vowels(words: Collection[str]) -> bool:
    """Return True if more words end in vowels than in English."""
    return sum(word.endswith(VOWELS) for word in words) > VOWEL_SHARE * len(words)


def _in_another_language(texts: Sequence[Sequence[str]], found: Sequence[str]) -> set[int]:
    """Return the positions of texts that are sentences, but not in a language with a list."""
    places = [place for place, words in enumerate(texts) if not found[place] and len(words) >= SENTENCE]
    sentences = {frozenset(texts[place]) for place in places}
    all_words = [word for words in sentences for word in words]
    if len(sentences) > 2 and sum(not word.isascii() for word in all_words) > ACCENTED * len(all_words):
        return set(places)
    common = frozenset().union(*(STOP_WORDS[language] for language in set(found) - {""}))
    counts = Counter(word for word in all_words if word not in common)
    frequent = counts.most_common(FREQUENT)
    n_frequent = sum(n for _, n in frequent)
    is_prose = n_frequent >= FREQUENT_SHARE * len(all_words)
    is_short = sum(len(word) * n for word, n in frequent) <= FREQUENT_LENGTH * n_frequent
    is_enough = len(sentences) >= ENOUGH and len(places) >= SPOKEN * len(texts)
    return set(places) if is_enough and ((is_prose and is_short) or _end_in_vowels(all_words)) else set()


def _main_script(text: str) -> str:
    """Return the script of most letters of a text, or nothing."""
    scripts = Counter(_script(character) for character in text if character.isalpha())
    kana = sum(n for script, n in scripts.items() if SCRIPTS.get(script) == "Japanese")
    han = scripts["CJK"] + kana
    total = scripts.total() + (HAN_LETTERS - 1) * han
    if 2 * HAN_LETTERS * han > total:
        # A Chinese text may have a Japanese letter, for example in the name of a shop.
        return "HIRAGANA" if 10 * kana >= han else "CJK"
    script, n = max(scripts.items(), key=lambda item: item[1], default=("", 0))
    return script if 2 * n > total else ""


@cache
def _script(letter: str) -> str:
    return unicodedata.name(letter, "?").split()[0]
