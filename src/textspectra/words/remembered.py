"""Texts whose terms are read once, however often they are counted: for a process that describes many groups of them."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import Ints
from .languages import STOP_WORDS
from .tokens import TermCounts, grammar, languages_together, likely_languages, read_terms, split_phrases

WANTS = ("open_ended", "linked", "continued", "led")  # what a word can want: fields of TermCounts

Hashes = NDArray[np.int64]
ReadAs = tuple[int, str, frozenset[str]]  # a text, the language that it is read in, and further stop words


class RememberedTexts(list[str]):
    """A list of texts that remembers the hashes of their terms, and those terms that a group has several times."""

    def __init__(self, texts: Collection[str]) -> None:
        super().__init__(texts)
        self._likely: dict[int, tuple[list[str], bool]] = {}  # the languages of each text
        self._hashes: dict[ReadAs, tuple[bytes, ...]] = {}  # of the three lists that `_read` returns
        self._terms: dict[int, Any] = {}  # terms, and terms with their spelling, by their hashes

    def __reduce__(self) -> tuple[type[list[str]], tuple[list[str]]]:
        return list, (list(self),)  # in another process, hashes of strings are others

    def count_frequent(self, rows: Ints, least: int, stop_words: Collection[str] = ()) -> dict[str, TermCounts]:
        """Count terms as :func:`count_terms` does, but only those that `least` of the texts have."""
        places = self._readings(rows.tolist(), frozenset(stop_words))
        of_terms, of_spelled, of_wants = zip(*(self._hashes[place] for place in places), strict=True)
        terms, of_term = _joined(of_terms)
        pairs, of_pair = _joined(of_spelled, width=2)
        wants, of_want = _joined(of_wants)
        values, first, numbers, n_texts = np.unique(terms, return_index=True, return_inverse=True, return_counts=True)
        frequent = n_texts >= least
        is_kept = frequent[np.searchsorted(values, pairs[:, 0])]
        spelled, of_pair = pairs[is_kept, 1], of_pair[is_kept]
        spellings, first_pair = np.unique(spelled, return_index=True)
        self._learn(values[frequent], [places[row] for row in of_term[first[frequent]]])
        self._learn(spellings, [places[row] for row in of_pair[first_pair]])
        words = [term for term in map(self._terms.__getitem__, values[frequent].tolist()) if " " not in term]
        languages = np.array([language for _, language, _ in places])
        counts: dict[str, TermCounts] = {}
        for language in [name for name in STOP_WORDS if frequent.any() and name in set(languages.tolist())]:
            inside = languages == language
            here = inside[of_term] & frequent[numbers]
            texts = self._counter(terms[here])
            n_wanting = dict(_totals(wants[inside[of_want]]))
            open_ended, linked, continued, led = (
                Counter({word: n_wanting[key] for word in words if (key := hash((want, word))) in n_wanting})
                for want in WANTS
            )
            forms = self._counter(spelled[inside[of_pair]])
            bits = defaultdict(int, _bits(terms[here], of_term[here], texts, len(places)))
            counts[language] = TermCounts(texts, forms, open_ended, linked, continued, led, bits)
        return counts

    def _readings(self, rows: list[int], stop_words: frozenset[str]) -> list[ReadAs]:
        """Return the places of texts, which are read if they are not known."""
        for row in rows:
            if row not in self._likely:
                self._likely[row] = likely_languages(split_phrases(self[row]))
        languages = languages_together([self._likely[row] for row in rows])
        places = [(row, language, stop_words) for row, language in zip(rows, languages, strict=True)]
        for place in (place for place in places if place not in self._hashes):
            terms, spelled, wants = self._read(place)
            pairs = [key for pair in spelled for key in (hash(pair[0]), hash(pair))]
            hashed = (list(map(hash, terms)), pairs, list(map(hash, wants)))
            self._hashes[place] = tuple(array("q", keys).tobytes() for keys in hashed)
        return places

    def _read(self, place: ReadAs) -> tuple[list[str], list[tuple[str, str]], list[tuple[str, str]]]:
        """Return the terms of a text, terms with another spelling and it, and what a word wants with the word."""
        row, language, stop_words = place
        terms = read_terms(self[row], split_phrases(self[row]), grammar(language, stop_words))
        spelled = [(term, form) for term, form in terms.forms.items() if form != term]
        return list(terms.forms), spelled, [(want, word) for want in WANTS for word in getattr(terms, want)]

    def _learn(self, hashes: Hashes, places: Sequence[ReadAs]) -> None:
        """Read the terms with some hashes again, unless they are known; each is in the text at its place."""
        unknown = {key: place for key, place in zip(hashes.tolist(), places, strict=True) if key not in self._terms}
        for place in set(unknown.values()):
            terms, spelled, _ = self._read(place)
            self._terms |= {hash(term): term for term in [*terms, *spelled] if hash(term) in unknown}

    def _counter(self, hashes: Hashes) -> Counter[Any]:
        return Counter({self._terms[key]: n for key, n in _totals(hashes)})


def _joined(parts: Sequence[bytes], width: int = 1) -> tuple[Hashes, Ints]:
    """Return all hashes in one array, in rows of `width`, and the number of the text of each."""
    hashes = np.frombuffer(b"".join(parts), np.int64)
    of_text = np.repeat(np.arange(len(parts)), [len(part) // (8 * width) for part in parts])
    return (hashes.reshape(-1, width) if width > 1 else hashes), of_text


def _totals(hashes: Hashes) -> list[tuple[int, int]]:
    values, counts = np.unique(hashes, return_counts=True)
    return list(zip(values.tolist(), counts.tolist(), strict=True))


def _bits(hashes: Hashes, of_text: Ints, terms: Counter[str], n_texts: int) -> dict[str, int]:
    """Return the texts of each word of a phrase as the bits of a number."""
    words = {word for term in terms if " " in term for word in term.split(" ")} & terms.keys()
    order = np.argsort(hashes, kind="stable")
    values = hashes[order]
    bits = {}
    for word in words:
        start, end = np.searchsorted(values, hash(word)), np.searchsorted(values, hash(word), side="right")
        mask = np.zeros(n_texts, bool)
        mask[of_text[order[start:end]]] = True
        bits[word] = int.from_bytes(np.packbits(mask).tobytes())
    return bits
