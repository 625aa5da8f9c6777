"""Words that decide the groups, although the rest of the texts does not tell them apart.

Tweets to airlines form groups by airline, and requests about accounts by tier. If such a word is taken out, nobody can
say which one it was. A word that is a topic is different: "barks" tells that it was "dog".
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..hygiene import plural
from ..words.describe import Cluster
from ..words.families import ACCOUNTS, FEWEST_WORDS, PROPER_NAMES, TEXTS_WITH_WORD, Family, Place, WordsInGroups
from ..words.ignore import KINDS, Ignored
from ..words.names import EmbedPhrases, unit_vectors
from .corpus import EmbeddedTexts

READ_TEXTS = 5_000  # a random sample if there are more
LEAST_TEXTS = 0.05  # share of the texts in groups that follow the words
TESTED_FAMILIES, TESTED_WORDS, TEXTS_PER_WORD = 2, 8, 25  # the first are embedded without the words
CONTENT_WORDS, WITH_CONTENT = 2, 0.8  # words that are left of a text, and share of the texts with this many
SPLITS = 5  # into halves
CHANCE_LIKE, RECOGNIZED = 0.2, 0.5
"""Highest accuracy (0 is chance, and 1 always right) at which the rest of the texts does not tell which word they had:
over all words, and for a word that belongs to them. `benchmarks/ignore.md` describes how the constants were chosen."""
WORDS_SHOWN = 3  # words before the advice


class DecidingWords(NamedTuple):
    """Words that hold together groups that are otherwise alike."""

    place: Place
    words: tuple[str, ...]  # as they are usually written, the most frequent first
    n_clusters: int  # that they hold together
    share: float  # of the texts, in these groups
    ignored: tuple[str, ...] = ()  # already

    @property
    def ignore(self) -> tuple[str, ...]:
        """The values of `ignore` that take these words out, too."""
        return (*self.ignored, *_patterns(self.place, self.words))

    @property
    def sentence(self) -> str:
        """What was noticed, and what the user can do about it."""
        side, neighbor = self.place
        ends = {"before": "their last word", "after": "their first word"}
        kinds = {ACCOUNTS: "an account name", PROPER_NAMES: "a name"}
        kind = kinds.get(self.place) or (f"the word {side} “{neighbor}”" if neighbor else ends[side])
        which = f"{plural(self.n_clusters, 'group')} ({100 * self.share:.0f}% of the texts) differ mainly by {kind}"
        words = ", ".join(word.removeprefix("@") for word in self.words[:WORDS_SHOWN])
        more = " …" if len(self.words) > WORDS_SHOWN else "."
        options = " ".join(f"--ignore {shlex.quote(value)}" for value in _patterns(self.place, self.words))
        run = "Run again, also with" if self.ignored else "Run again with"
        return f"{which}: {words}{more} {run} {options} (in Python, ignore=result.ignore_suggestion)."


def words_that_decide(
    texts: EmbeddedTexts, codes: NDArray[np.intp], clusters: Sequence[Cluster], embed: EmbedPhrases
) -> DecidingWords | None:
    """Return the words that hold together groups that are otherwise alike, or None.

    `codes` has the position in `clusters` of each distinct text (-1: none). At most 400 texts are embedded again, and
    none if the words of the texts tell enough.
    """
    rows = np.flatnonzero(codes >= 0)
    if len(rows) > READ_TEXTS:
        rows = np.sort(np.random.default_rng(0).choice(rows, READ_TEXTS, replace=False))
    read = [texts.corpus.read[row] for row in rows]
    words = WordsInGroups(read, codes[rows], len(clusters))
    sizes = np.array([cluster.size for cluster in clusters])
    n_tested = 0
    for family in words.families():
        share = float(sizes[list(family.clusters)].sum() / sizes.sum())
        rest = _rest(family, words, read) if share >= LEAST_TEXTS and n_tested < TESTED_FAMILIES else None
        if rest is None or rest.recognized_by_words() > CHANCE_LIKE:
            continue
        n_tested += 1
        alike = rest.alike_words(embed)
        if alike:
            spelled, n_clusters = tuple(map(words.spelling, alike)), len(family.clusters)
            return DecidingWords(family.place, spelled, n_clusters, share, texts.corpus.ignore)
    return None


class _Rest(NamedTuple):
    """Texts without the words of a family, and the position in `words` of the word that each had."""

    texts: list[str]
    positions: NDArray[np.intp]
    words: list[str]
    content: list[set[str]]  # other words of each text

    def recognized_by_words(self) -> float:
        """Return how well other words tell which word a text had."""
        column_of = {word: column for column, word in enumerate(sorted(set().union(*self.content)))}
        bags = np.zeros((len(self.texts), len(column_of)))
        for row, others in enumerate(self.content):
            bags[row, [column_of[word] for word in others]] = 1
        rarity = np.log(len(bags) / bags.sum(axis=0))
        return float(_recognized(bags * rarity, self.positions).mean())

    def alike_words(self, embed: EmbedPhrases) -> list[str]:
        """Return the words that the meaning of the texts does not tell apart; none if it does."""
        try:
            recognized = _recognized(np.asarray(embed(self.texts), np.float64), self.positions)
        except Exception:  # advice is optional: no problem with it may cost the user the result
            return []
        kept = [word for word, rate in zip(self.words, recognized.tolist(), strict=True) if rate <= RECOGNIZED]
        return kept if recognized.mean() <= CHANCE_LIKE and len(kept) >= FEWEST_WORDS else []


def _rest(family: Family, words: WordsInGroups, texts: Sequence[str]) -> _Rest | None:
    """Take the words of a family out of some texts with each of them; None if that leaves too little."""
    rng, which = np.random.default_rng(0), words.which(family.words)[0]
    rows_of = {word: np.flatnonzero(which == position) for position, word in enumerate(family.words)}
    frequent = [word for word, rows in rows_of.items() if len(rows) >= TEXTS_WITH_WORD][:TESTED_WORDS]
    samples = [rng.permutation(rows_of[word])[:TEXTS_PER_WORD] for word in frequent]
    ignored = Ignored.of(_patterns(family.place, family.words))
    rest = [ignored.apply(texts[row]) for sample in samples for row in sample]
    content = list(map(words.content_of, rest))
    n_saying = sum(len(others) >= CONTENT_WORDS for others in content)
    if len(frequent) < FEWEST_WORDS or n_saying < WITH_CONTENT * len(rest):
        return None
    return _Rest(rest, np.repeat(np.arange(len(samples)), list(map(len, samples))), frequent, content)


def _patterns(place: Place, words: tuple[str, ...]) -> tuple[str, ...]:
    if place == ACCOUNTS:
        return ("handles",)
    return tuple(rf"/\b{word}\b/" if word.lower() in KINDS else word for word in words)  # "numbers" as a word


def _recognized(X: NDArray[np.float64], positions: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return how often the centers of one half give a row of the other half its position: 0 is chance, 1 always."""
    sizes = np.bincount(positions)
    m, rng, right = len(sizes), np.random.default_rng(0), np.zeros(len(sizes))
    units = unit_vectors(X)
    units = unit_vectors(units - units.mean(axis=0))
    for _ in range(SPLITS):
        order = rng.permutation(len(X))
        order = order[np.argsort(positions[order], kind="stable")]
        half = np.zeros(len(X), bool)
        half[order[::2]] = True
        for known in (half, ~half):
            centers = np.zeros((m, X.shape[1]))
            np.add.at(centers, positions[known], units[known])
            nearest = (units[~known] @ unit_vectors(centers).T).argmax(axis=1)
            right += np.bincount(positions[~known], nearest == positions[~known], m)
    return np.asarray((right / (SPLITS * sizes) - 1 / m) / (1 - 1 / m))
