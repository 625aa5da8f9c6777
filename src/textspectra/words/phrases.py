"""Phrases that can name a cluster: they read as a whole, several texts have them, and they set the cluster apart."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from .languages import DEFAULT_LANGUAGE
from .tokens import TermCounts, grammar

WORDS_WEIGHT = 2 / 3  # weight of the words of a phrase in its score, beside the phrase as a whole, which is rarer
SPECIFIC = 0.5  # share of the highest log ratio from which a single word says enough; below, its score falls
WANTING = 0.5  # a word wants another one if a larger share of its texts have one there: "cancel" an article after it
CONTINUED = 0.8  # and this share of any words after it: "flowering" in "flowering plant", "located" in "located in"
SHARED_BY, SHARED, PHRASE_SHARED = 3, 0.03, 0.04
"""A name is in three texts, or in this share of the texts; a phrase of several words in the second share."""
ASKED = 0.05  # a question is a name as it stands if three texts ask it, and this share of them
MAX_NAME = 48  # characters of a phrase
SHORTEST = 3  # letters of a single word, unless it is usually written in capitals, such as "AI"
MAX_WORD_DIGITS = 3  # words with more digits are numbers of orders, telephone numbers and years


class Terms(NamedTuple):
    """The terms of a cluster by their stems: the number of texts with each, and its most frequent form.

    A phrase counts in the texts that have all its words, but at most three times as often as it occurs.
    """

    texts: Counter[str]
    forms: dict[str, str]
    n_texts: int


class Phrase(NamedTuple):
    """A phrase of one to four words in its usual spelling, and how well it describes its cluster."""

    text: str
    score: float


class Writing(NamedTuple):
    """How terms are usually written, and which words can neither begin a name, nor end it, nor be one."""

    spelling: dict[str, str]
    not_first: frozenset[str]
    not_last: frozenset[str]
    not_alone: frozenset[str]

    def can_be_name(self, words: Sequence[str]) -> bool:
        """Return True if a phrase reads as a whole and has no long number, nor only words such as "14th"."""
        digits = [sum(map(str.isnumeric, word)) for word in words]
        if any(n > MAX_WORD_DIGITS or n == len(word) for n, word in zip(digits, words, strict=True)):
            return False
        is_cut_off = words[0] in self.not_first or words[-1] in self.not_last
        if len(words) == 1:
            is_cut_off = words[0] in self.not_alone
        is_code = any("_" in word for word in words) or all(word[0].isnumeric() for word in words)
        is_code |= len(words) == 1 and words[0].isascii() and len(words[0]) < SHORTEST and words[0] not in self.spelling
        return not (is_cut_off or is_code)


def usual_writing(counts: Sequence[Mapping[str, TermCounts]], stop_words: Collection[str] = ()) -> Writing:
    """Return the most frequent spelling of each term that is not usually in lower case, and the words to avoid.

    These are those of the most frequent language, because a text that was taken for another one may have them, and
    words that want another word in these texts.
    """
    languages: Counter[str] = Counter()
    texts, spelled, open_ended, followed, continued, led = (Counter[str]() for _ in range(6))
    spellings: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for language, terms in chain.from_iterable(by_language.items() for by_language in counts):
        languages[language] += terms.texts.total()
        texts.update(terms.texts)
        open_ended.update(terms.open_ended)
        followed.update(terms.open_ended + terms.linked + terms.continued)
        continued.update(terms.continued)
        led.update(terms.led)
        for (term, spelling), n in terms.forms.items():
            spelled[term] += n
            if spelling:
                spellings[term][spelling] += n
    best = {term: min(forms, key=lambda form: (-forms[form], form)) for term, forms in spellings.items()}
    usual = {term: form for term, form in best.items() if spellings[term][form] > texts[term] - spelled[term]}
    words = grammar(languages.most_common(1)[0][0] if languages else DEFAULT_LANGUAGE)

    def wanting(counts: Counter[str], share: float = WANTING) -> set[str]:
        return {word for word, n in counts.items() if n > share * (texts[word] + 1)}  # one text proves nothing

    never = words.stop_words.union(words.edges, stop_words)
    verbs, not_first = wanting(open_ended), never | wanting(led)
    not_last = never.union(verbs, wanting(followed, CONTINUED))
    return Writing(usual, not_first, not_last, not_first.union(words.alone, verbs, wanting(continued, CONTINUED)))


def rank_phrases(
    scored: Sequence[tuple[str, float]], terms: Terms, n_clusters: int, writing: Writing
) -> Iterator[Phrase]:
    """Yield the phrases that can name one of `n_clusters` clusters, the best first.

    `scored` has the terms of the cluster by their stems with their class-based TF-IDF.
    """
    scores, (texts, forms, n_texts) = dict(scored), terms
    specific = SPECIFIC * math.log(n_clusters + 1)

    def score_of(stem: str) -> float:
        """Return the weighted geometric mean of the scores of a phrase and of its words.

        So a phrase that few texts have word for word can stand for what many of them say. A single word must be rare
        in other clusters.
        """
        whole = scores[stem]
        if " " not in stem:
            return whole * min(1, whole * n_texts / texts[stem] / specific)
        # Stop words inside a phrase have no score and do not count.
        words = [max(scores[word], whole) for word in stem.rstrip("?").split(" ") if word in scores] or [whole]
        return float(whole ** (1 - WORDS_WEIGHT) * (sum(words) / len(words)) ** WORDS_WEIGHT)

    seen: set[frozenset[str]] = set()
    for negative, stem in sorted((-score_of(stem), stem) for stem, score in scored if score > 0):
        form, parts = forms[stem], stem.split(" ")
        is_question = form.endswith("?")
        least = min(SHARED_BY, SHARED * n_texts)
        if " " in stem:
            least = max(least, PHRASE_SHARED * n_texts)
        if is_question:
            least = max(SHARED_BY, ASKED * n_texts)
        is_name = is_question or (writing.can_be_name(form.split(" ")) and len(set(parts)) == len(parts))
        # The usual order of the same words comes first, because it has more texts.
        words = frozenset([stem] if is_question else (word for word in parts if word in scores))
        if texts[stem] >= least and is_name and words not in seen and len(form) <= MAX_NAME:
            seen.add(words)
            yield Phrase(writing.spelling.get(form, form), -negative)
