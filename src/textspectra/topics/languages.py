"""Which languages texts are in: by their letters and, in Latin and Cyrillic script, by their function words.

A detector from PyPI is not needed for this: see the sentences in 13 languages of the tests.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache

import numpy as np

from .words import MAX_CHARACTERS, STOP_WORDS

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
_LATIN = tuple(language for language in STOP_WORDS if language not in CYRILLIC)
_WORD = re.compile(r"[^\W\d_]+")


def language_shares(texts: Sequence[str]) -> dict[str, float]:
    """Return the share of the texts that are clearly in each language, the largest first.

    Texts without evidence, such as search queries of two words, are in no language; so the shares may not add up to 1.

    Examples
    --------
    >>> language_shares(["Where is my parcel?", "Wo ist mein Paket?", "お金を返して", "nike air max"])
    {'English': 0.25, 'German': 0.25, 'Japanese': 0.25}
    """
    if len(texts) > SAMPLE:
        rows = np.random.default_rng(0).choice(len(texts), SAMPLE, replace=False)
        texts = [texts[row] for row in rows]
    candidates = [_candidates(text) for text in texts]
    clear = Counter(found[0] for found in candidates if len(found) == 1)
    # Languages have words in common. The more frequent of two candidates is the more likely one.
    decided = Counter(min(found, key=lambda language: (-clear[language], language)) for found in candidates if found)
    ranked = sorted(decided.items(), key=lambda item: (-item[1], item[0]))
    return {language: n / len(texts) for language, n in ranked}


def _candidates(text: str) -> list[str]:
    """Return the languages that a text may be in: none without evidence, several if they fit equally well."""
    text = unicodedata.normalize("NFKC", text[:MAX_CHARACTERS])
    script = "LATIN" if text.isascii() else _main_script(text)
    if script not in ("LATIN", "CYRILLIC"):
        return [SCRIPTS.get(script, f"{script.title()} script")] if script else []
    words = set(_WORD.findall(text.lower()))
    found = {language: words & STOP_WORDS[language] for language in (_LATIN if script == "LATIN" else CYRILLIC)}
    most = max(map(len, found.values()))
    best = [language for language, known in found.items() if len(known) == most]
    if "english" in best:
        return ["English"] if most else []
    # One function word is weak evidence, because "die" and "la" are English too. "für" is not.
    return [
        language.title().replace(" And ", " or ")
        for language in best
        if script == "CYRILLIC" or most > 1 or not "".join(found[language]).isascii()
    ]


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
