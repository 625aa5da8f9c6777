"""The languages of texts: by their letters and, in Latin and Cyrillic script, by their function words.

Stop words are short lists of function words (``data/stop_words.txt``), written for this package. They recognize 13
languages well enough that no detector from PyPI is needed (``tests/words/sentences.txt``).
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

READ_CHARACTERS = 1_000  # per text, which limits the cost of hostile texts
SAMPLE_TEXTS = 5_000  # number of texts whose languages are detected; a random sample if there are more

HAN_LETTERS = 3  # letters that a Chinese or Japanese character counts for, about as many as the word has in English
LANGUAGE_OF_SCRIPT = {
    "CJK": "Chinese", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "KATAKANA-HIRAGANA": "Japanese",
    "HANGUL": "Korean", "GREEK": "Greek", "HEBREW": "Hebrew", "THAI": "Thai", "GEORGIAN": "Georgian",
    "ARMENIAN": "Armenian",
}  # fmt: skip
"""Scripts of a single major language; the others are called "Arabic script" and so on."""

SCRIPTS_OF_MANY = ("LATIN", "CYRILLIC")  # of many languages, told apart by their function words
CYRILLIC = ("russian", "ukrainian")
ANOTHER = "another language"  # of sentences in a language without a list

# Thresholds of a language with a list. Sentences have a third to a half function words; Tagalog that is taken for
# Polish, because both have "na" and "po", has fewer.
SPOKEN = 0.05  # share of texts clearly in a language at which one function word is enough for the others
LEAST_RATE, SURE_RATE = 0.2, 0.4  # minimum share of function words; at the second, a few different ones are enough
FEWEST_OWN, MOST_OWN, TEXTS_PER_OWN = 2, 10, 4  # words of this language only: 2, plus 1 for every 4 texts, at most 10

# Thresholds of sentences in another language.
SENTENCE = 4  # minimum number of words
ACCENTED = 0.25  # share of words with letters outside ASCII, above the share in names of dishes
VOWELS, VOWEL_SHARE = tuple("aiou"), 1 / 3
"""Few English words end in these vowels: at most 14% in texts without function words of 26 English sets, and 28% in
names of dishes from all over the world. In Finnish, Swahili, Tagalog and Indonesian it is 35 to 95%."""
FREQUENT, FREQUENT_SHARE, FREQUENT_LENGTH, FEWEST_SENTENCES = 10, 0.25, 4.6, 8
"""Every language has function words: the 10 most frequent words are a quarter of all words, and short. It takes a few
texts to see that. In lists of products or titles they are rarer or longer."""

_ADDRESS = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_NAMES = (
    "a|abbr|article|b|big|blockquote|body|br|button|center|code|dd|del|div|dl|dt|em|font|footer|form|h[1-6]|head|header|"
    "hr|html|i|iframe|img|input|ins|label|li|link|main|mark|meta|nav|o:p|ol|option|p|pre|q|s|script|section|select|small|"
    "span|strike|strong|style|sub|sup|table|tbody|td|textarea|tfoot|th|thead|title|tr|tt|u|ul|video"
)
_ATTRIBUTE = r"""\s+[\w:-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>]+)"""
# A tag of HTML, as opposed to ``a < b``, ``<3`` and placeholders such as ``<name>``.
_TAG = re.compile(rf"</?(?:{_NAMES})(?:{_ATTRIBUTE})*\s*/?>|<!--[^<>]*-->", re.IGNORECASE)


def plain_text(text: str) -> str:
    """Return a text without HTML tags and web addresses, and with its entities decoded."""
    # Few texts have any of these, and it is fast to search for a character.
    if "&" in text:
        text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    if "<" in text:
        text = _TAG.sub(" ", text)
    if "://" in text or "www." in text.lower():
        text = _ADDRESS.sub(" ", text)
    return text


def read_lists(name: str, separator: str | None = None) -> dict[str, frozenset[str]]:
    """Read a data file of words or phrases by language."""
    content = (files("textspectra") / "data" / name).read_text("utf-8")
    entries = (entry.partition(":") for entry in content.split("\n\n"))
    return {language: frozenset(filter(None, map(str.strip, words.split(separator)))) for language, _, words in entries}


STOP_WORDS = read_lists("stop_words.txt")
DEFAULT_LANGUAGE = next(iter(STOP_WORDS))

_SPOKEN_BY: dict[str, list[str]] = {}
for _language, _words in STOP_WORDS.items():
    for _word in _words:
        _SPOKEN_BY.setdefault(_word, []).append(_language)
_WORD = re.compile(r"[^\W\d_]+")


def language_shares(texts: Sequence[str]) -> dict[str, float]:
    """Return the share of the texts that are clearly in each language, the largest first.

    The shares may add up to less than 1, because short texts such as search queries have no evidence. Sentences in a
    language without a list are in "another language".
    """
    if len(texts) > SAMPLE_TEXTS:
        texts = [texts[row] for row in np.random.default_rng(0).choice(len(texts), SAMPLE_TEXTS, replace=False)]
    read = [unicodedata.normalize("NFKC", plain_text(text)[:READ_CHARACTERS]) for text in texts]
    scripts = ["LATIN" if text.isascii() else _main_script(text) for text in read]
    words = [
        _WORD.findall(text.lower()) if script in SCRIPTS_OF_MANY else []
        for text, script in zip(read, scripts, strict=True)
    ]
    languages = text_languages(words)
    spoken = {language for language in set(languages) - {""} if _is_spoken(language, words, languages)}
    cyrillic = min((name for name in CYRILLIC if name in spoken), key=lambda name: -languages.count(name), default="")
    languages = [
        language * (language in spoken) or cyrillic * (script == "CYRILLIC")
        for language, script in zip(languages, scripts, strict=True)
    ]
    others = _in_another_language(words, languages)
    totals = Counter(
        LANGUAGE_OF_SCRIPT.get(script, f"{script.title()} script")
        if script and script not in SCRIPTS_OF_MANY
        else language.title().replace(" And ", " or ") or ANOTHER * (row in others)
        for row, (script, language) in enumerate(zip(scripts, languages, strict=True))
    )
    del totals[""]
    return {name: n / len(texts) for name, n in sorted(totals.items(), key=lambda item: (-item[1], item[0]))}


def text_languages(texts: Sequence[Collection[str]]) -> list[str]:
    """Return the language of each text by its function words, given all its words in lower case; empty if unclear.

    One function word is weak evidence, because "die" and "la" are English too. It counts if it is not ASCII, or if
    other texts are clearly in that language.
    """
    return choose_languages([language_candidates(words) for words in texts])


def choose_languages(candidates: Sequence[tuple[list[str], bool]]) -> list[str]:
    """Return the language of each text, given the candidates for each."""
    clear = Counter(best[0] for best, is_strong in candidates if is_strong and len(best) == 1)
    spoken = {language for language, n in clear.items() if n >= SPOKEN * len(candidates)} - {DEFAULT_LANGUAGE}
    # Languages have words in common. The more frequent of two candidates is the more likely one.
    likely = [min(best, key=lambda language: (-clear[language], language), default="") for best, _ in candidates]
    return [
        language * (is_strong or language in spoken)
        for language, (_, is_strong) in zip(likely, candidates, strict=True)
    ]


def language_candidates(words: Collection[str]) -> tuple[list[str], bool]:
    """Return the languages with the most function words in a text, and whether these are enough evidence."""
    evidence = {word for word in words if word in _SPOKEN_BY}
    votes = Counter(language for word in evidence for language in _SPOKEN_BY[word])
    most = max(votes.values(), default=0)
    best = [language for language, n in votes.items() if n == most]
    if DEFAULT_LANGUAGE not in best:
        return best, most > 1 or not all(map(str.isascii, evidence))
    # Among words with accents, "a" does not mean English.
    is_english = all(map(str.isascii, words)) or any(_SPOKEN_BY[word] == [DEFAULT_LANGUAGE] for word in evidence)
    return [DEFAULT_LANGUAGE], most > 1 or is_english


def _is_spoken(language: str, texts: Sequence[Collection[str]], languages: Sequence[str]) -> bool:
    """Return True if the texts of a language have enough of its words, and enough that no other language has."""
    members = {frozenset(words) for words, detected in zip(texts, languages, strict=True) if detected == language}
    known = STOP_WORDS[language] & frozenset().union(*members)
    n_unique = sum(_SPOKEN_BY[word] == [language] for word in known)
    rate = sum(len(words & known) for words in members) / max(1, sum(map(len, members)))
    words = [word for words in members for word in words]
    if language == DEFAULT_LANGUAGE:  # "on" is Finnish too
        return n_unique > 0 and (rate > VOWEL_SHARE or not _end_in_vowels(words))
    letters, accents = set("".join(STOP_WORDS[language])), [letter for letter in "".join(words) if not letter.isascii()]
    fits_letters = all(map(str.isascii, letters)) or 2 * sum(map(letters.__contains__, accents)) >= len(accents)
    needed = FEWEST_OWN if rate >= SURE_RATE else min(MOST_OWN, 1 + len(members) // TEXTS_PER_OWN)
    return fits_letters and rate >= LEAST_RATE and n_unique >= max(FEWEST_OWN, needed)


def _end_in_vowels(words: Collection[str]) -> bool:
    """Return True if more words end in vowels than in English."""
    return sum(word.endswith(VOWELS) for word in words) > VOWEL_SHARE * len(words)


def _in_another_language(texts: Sequence[Sequence[str]], languages: Sequence[str]) -> set[int]:
    """Return the positions of the texts that are sentences in a language without a list."""
    rows = [row for row, words in enumerate(texts) if not languages[row] and len(words) >= SENTENCE]
    sentences = {frozenset(texts[row]) for row in rows}
    all_words = [word for words in sentences for word in words]
    if len(sentences) > 2 and sum(not word.isascii() for word in all_words) > ACCENTED * len(all_words):
        return set(rows)
    if len(sentences) < FEWEST_SENTENCES or len(rows) < SPOKEN * len(texts):
        return set()
    common = frozenset().union(*(STOP_WORDS[language] for language in set(languages) - {""}))
    counts = Counter(word for word in all_words if word not in common)
    # Sets have no order: without the word in the key, ties would be broken differently in each process.
    frequent = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:FREQUENT]
    n_frequent = sum(n for _, n in frequent)
    is_prose = n_frequent >= FREQUENT_SHARE * len(all_words)
    is_short = sum(len(word) * n for word, n in frequent) <= FREQUENT_LENGTH * n_frequent
    return set(rows) if (is_prose and is_short) or _end_in_vowels(all_words) else set()


def _main_script(text: str) -> str:
    """Return the script of most letters of a text; empty if there is none."""
    scripts = Counter(_script(character) for character in text if character.isalpha())
    kana = sum(n for script, n in scripts.items() if LANGUAGE_OF_SCRIPT.get(script) == "Japanese")
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
