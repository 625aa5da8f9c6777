"""Families of words that take each other's place, and the groups of texts that follow them.

A family has one kind or one place: names of accounts, other names, or words beside the same word or mark, as "gold",
"pro" and "free" before "account". A text has at most one of them. Groups follow a family if their texts have few of its
words.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import Ints
from .languages import DEFAULT_LANGUAGE, READ_CHARACTERS, STOP_WORDS, plain_text, text_languages
from .tokens import MAX_WORD

TEXTS_WITH_WORD, SHARE_WITH_WORD = 10, 0.005  # at least
FEWEST_WORDS = 3  # of a family
IN_PLACE = 0.5  # share of the texts with a word that have it in the place of the family
INSIDE, CAPITALIZED = 0.3, 0.8  # share of the texts with a name that have it in a sentence, and of these with a capital
IN_GROUP = 0.4  # share of the texts of some group that have the name
SEVERAL = 0.1  # largest share of the texts with words of a family that have several of them
HELD, FEW = 0.7, 0.75
"""A group follows a family if this share of its texts has a word of it, and if it has few of the words: the exponential
of the entropy of its words is at most this share of that of all texts."""

Place = tuple[str, str]
"""Where the words of a family are: "before" or "after" a word or mark, which is empty at the ends of a text."""
ACCOUNTS: Place = ("account", "@")
PROPER_NAMES: Place = ("name", "")

_TOKEN = re.compile(r"(?<![\w.+-])@\w+|\w+(?:[-'’]\w+)*|[^\w\s]")
_BEGINS_AFTER = frozenset('.!?:;…"“”„«»([{<*-–—|/')  # a capital says nothing at the beginning of a sentence


class Family(NamedTuple):
    """Words of one kind or in one place, the most frequent first, and the groups that follow them."""

    place: Place
    words: tuple[str, ...]  # in lower case
    clusters: tuple[int, ...]
    strength: float  # 1 if every text is in a group that has one word of many
    n_in_place: int  # texts that have a word in the place

    @property
    def order(self) -> tuple[float, bool, bool, int]:
        """The strongest come first; of equally strong ones, kinds of words, places beside a word, and usual places."""
        is_kind = self.place in (ACCOUNTS, PROPER_NAMES)
        return -self.strength, not is_kind, not self.place[1].isalnum(), -self.n_in_place


class WordsInGroups:
    """The words of texts, and the group of each text."""

    def __init__(self, texts: Sequence[str], codes: Ints, k: int) -> None:
        self._codes, self._sizes = codes, np.bincount(codes, minlength=k)
        self._tokens = list(map(_tokens, texts))
        self._lower = [[token.lower() for token in tokens] for tokens in self._tokens]
        usual = Counter(filter(None, text_languages(self._lower))).most_common(1)
        self._stop_words = STOP_WORDS[usual[0][0] if usual else DEFAULT_LANGUAGE]
        self._words = [self._with_content(lower) for lower in self._lower]
        counts = Counter(word for words in self._words for word in words)
        least = max(TEXTS_WITH_WORD, SHARE_WITH_WORD * len(texts))
        self._counts = {word: n for word, n in counts.items() if n >= least}

    def _with_content(self, lower: Sequence[str]) -> set[str]:
        return {token for token in lower if token[-1].isalnum() and token not in self._stop_words}

    def content_of(self, text: str) -> set[str]:
        """Return the words of another text in lower case, without stop words."""
        return self._with_content([token.lower() for token in _tokens(text)])

    def families(self) -> list[Family]:
        """Return the families that several groups follow, the strongest first; of equal ones, the first."""
        candidates = {**self._by_place(), PROPER_NAMES: self._names()}
        followed = [self._followed(place, words) for place, words in candidates.items() if len(words) >= FEWEST_WORDS]
        ranked = sorted(filter(None, followed), key=lambda family: family.order)
        return list({family.words: family for family in reversed(ranked)}.values())[::-1]

    def which(self, words: Sequence[str]) -> tuple[Ints, NDArray[np.bool_]]:
        """Return the position of the word that each text has (-1: none, or several), and whether it has any."""
        position_of = {word: position for position, word in enumerate(words)}
        positions = [[position_of[word] for word in having & position_of.keys()] for having in self._words]
        single = np.array([those[0] if len(those) == 1 else -1 for those in positions], np.intp)
        return single, np.array(list(map(bool, positions)), np.bool_)

    def spelling(self, word: str) -> str:
        """Return a word as it is usually written."""
        forms = Counter(token for tokens in self._tokens for token in tokens if token.lower() == word)
        return max(forms, key=lambda form: (forms[form], form))

    def _by_place(self) -> dict[Place, dict[str, int]]:
        """Return the words that are mostly in one place, for each place, with the number of texts."""
        counts: defaultdict[Place, Counter[str]] = defaultdict(Counter)
        for lower in self._lower:
            pairs: set[tuple[Place, str]] = set()
            for before, word, after in zip(["", *lower], lower, [*lower[1:], ""], strict=False):
                if word not in self._counts:
                    continue
                if word[0] == "@":
                    pairs.add((ACCOUNTS, word))
                else:
                    pairs |= {(("after", before), word), (("before", after), word)}
            for place, word in pairs:
                counts[place][word] += 1
        return {
            place: {word: n for word, n in words.items() if n >= IN_PLACE * self._counts[word]}
            for place, words in counts.items()
        }

    def _names(self) -> dict[str, int]:
        """Return the names that many texts of a group have: words with a capital where other words have none."""
        inside, capitalized = Counter[str](), Counter[str]()
        for tokens in self._tokens:
            written = {token.lower(): token for last, token in pairwise(tokens) if last not in _BEGINS_AFTER}
            plain = self._with_content([word for word, token in written.items() if word == token and word[0].isalpha()])
            counted = [word for word in written if word in self._counts and plain - {word}]  # not in titles
            inside.update(counted)
            capitalized.update(word for word in counted if written[word][0].isupper())
        names = {
            word
            for word, n in inside.items()
            if n >= INSIDE * self._counts[word] and capitalized[word] >= CAPITALIZED * n
        }
        pairs = zip(self._codes.tolist(), self._words, strict=True)
        in_group = Counter((code, word) for code, words in pairs for word in words & names)
        return {word: inside[word] for (code, word), n in in_group.items() if n >= IN_GROUP * self._sizes[code]}

    def _followed(self, place: Place, words: Mapping[str, int]) -> Family | None:
        """Return a family with the groups that follow it; None if these are fewer than two, or have the same word."""
        ordered = tuple(sorted(words, key=lambda word: (-self._counts[word], word)))
        which, has_any = self.which(ordered)
        has_one = which >= 0
        if has_any.sum() - has_one.sum() > SEVERAL * has_any.sum():
            return None
        k, m = len(self._sizes), len(ordered)
        table = np.bincount(self._codes[has_one] * m + which[has_one], minlength=k * m).reshape(k, m)
        ratios = _effective_number(table) / _effective_number(table.sum(axis=0, keepdims=True))
        covered = np.bincount(self._codes[has_any], minlength=k) >= HELD * self._sizes
        following = np.flatnonzero(covered & (ratios <= FEW) & (table.sum(axis=1) >= TEXTS_WITH_WORD))
        if len(np.unique(table[following].argmax(axis=1))) < 2:
            return None
        strength = float(self._sizes[following] @ (1 - ratios[following]) / self._sizes.sum())
        return Family(place, ordered, tuple(following.tolist()), strength, sum(words.values()))


def _tokens(text: str) -> list[str]:
    """Return the words and marks of a text; the name of an account keeps its @."""
    tokens = _TOKEN.findall(plain_text(text)[:READ_CHARACTERS])
    return [token for token in tokens if len(token) <= MAX_WORD and token.isprintable()]


def _effective_number(table: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the exponential of the entropy of each row of counts, with the correction by Miller and Madow."""
    totals = np.maximum(table.sum(axis=1), 1)
    shares = table / totals[:, None]
    entropy = -(shares * np.log(np.where(shares > 0, shares, 1))).sum(axis=1)
    return np.asarray(np.exp(entropy + np.maximum((table > 0).sum(axis=1) - 1, 0) / (2 * totals)))
