"""What a reader of a result should know about its texts: their languages, and those that were too long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from ..embedding.base import Backend
from ..embedding.hub import MULTILINGUAL
from ..embedding.registry import knows_only_english
from ..embedding.transformer import TransformerBackend
from ..tables.source import MAX_TEXT
from ..words.languages import ANOTHER, plain_text
from ..words.tokens import INSTALL, segmenter
from .corpus import Corpus

NOTICEABLE = 0.05
"""Smallest share of texts in other languages that gives a note.

In 16 labeled sets it is at most 0.8 % where all texts are English, and up to 7.6 % in the set that has questions of
Russian, Spanish, Portuguese and Japanese sites.
"""

LEAST = 3
"""Smallest number of such texts that gives a note; one text may look foreign by chance."""

NAMED = 5
"""Number of languages, or of texts, that a note names; the others are rarer."""

LONGEST = 20
"""Characters of a text that a note shows."""

MOST, NEARLY_ALL, ALL = 0.5, 0.9, 0.995
"""Shares of the texts: more than half, so many that only one language is named, and all but a rounding error."""

USE_ANOTHER = (
    f"They are grouped by language and spelling rather than by topic; cluster with --model {MULTILINGUAL.preset} "
    f'(in Python, model="{MULTILINGUAL.preset}").'
)

WORDS_PER_TOKEN = 0.75
"""A token is about three quarters of an English word."""

KEEP_ALL = "To group such texts, use --keep-all (in Python, keep_all=True)."


def notes_on_languages(shares: Mapping[str, float], n_texts: int, encoder: Backend | None) -> tuple[str, ...]:
    """Return notes on texts in languages that the model does not know, and on keywords that are not words."""
    return tuple(filter(None, [note_on_model(shares, n_texts, encoder), _on_keywords(shares, n_texts)]))


def doubt_about_languages(shares: Mapping[str, float], model: str | None) -> str:
    """Return a sentence that replaces the verdict if most texts are in languages that the model does not read."""
    if model is None or not knows_only_english(model) or not is_foreign(shares):
        return ""
    return f"Your texts are {_in(in_words(_foreign(shares)))}; {model} reads only English. {USE_ANOTHER}"


def is_foreign(shares: Mapping[str, float]) -> bool:
    """Return True if most texts are clearly not English."""
    return sum(_foreign(shares).values()) > MOST


def _foreign(shares: Mapping[str, float]) -> dict[str, float]:
    return {language: share for language, share in shares.items() if language != "English"}


def in_words(shares: Mapping[str, float]) -> str:
    """List languages with their shares, which add up; the smallest are counted."""
    if len(shares) == 1 and next(iter(shares.values())) > ALL:
        return next(iter(shares))
    parts = dict(list(shares.items())[:NAMED])
    rest = list(shares.values())[NAMED:]
    numbers = _per_cent([*parts.values(), *([sum(rest)] if rest else [])])
    named = ", ".join(f"{language} ({number} %)" for language, number in zip(parts, numbers, strict=False))
    return f"{named} and {len(rest):,} more ({numbers[-1]} %)" if rest else named


def _in(languages: str) -> str:
    """Put "in" before languages if one of them is not an adjective: German, but in Arabic script."""
    return f"in {languages}" if ANOTHER in languages or " script" in languages else languages


def _per_cent(shares: Sequence[float]) -> list[int]:
    """Round shares so that they add up to their sum; those that lose most are rounded up."""
    total, whole = round(100 * sum(shares)), [int(100 * share) for share in shares]
    order = sorted(range(len(shares)), key=lambda i: (whole[i] - 100 * shares[i], i))
    for i in order[: total - sum(whole)]:
        whole[i] += 1
    return whole


def reading_in_words(where: str, n_rows: int, shares: Mapping[str, float]) -> str:
    """Say what was read."""
    rows = f"{n_rows:,} {'row' if n_rows == 1 else 'rows'}"
    known, most = sum(shares.values()), next(iter(shares), "")
    languages = ""
    if known:
        languages = f", {_in(most if shares[most] >= NEARLY_ALL * known else in_words(shares))}"
    return f"Read {where}: {rows}{languages}." if where else f"{rows}{languages}."


def notes_on_lengths(corpus: Corpus, encoder: Backend | None = None) -> tuple[str, ...]:
    """Return notes on texts that were not read to their end, by this package or by the model."""
    lengths = np.fromiter(map(len, corpus.distinct), np.intp, len(corpus.distinct))
    notes = []
    n_long = int(corpus.counts[lengths >= MAX_TEXT].sum())
    if n_long:
        which = "1 text has" if n_long == 1 else f"{n_long:,} texts have"
        notes.append(f"{which} {MAX_TEXT:,} characters or more; what comes after that was not read.")
    if isinstance(encoder, TransformerBackend):
        # A token has a character or more.
        places = np.flatnonzero(lengths >= encoder.max_tokens - 1)
        are_cut = encoder.are_cut([plain_text(corpus.distinct[place]) for place in places])
        n_cut = int(corpus.counts[places[np.array(are_cut, bool)]].sum())
        if n_cut:
            which = "1 text is" if n_cut == 1 else f"{n_cut:,} texts are"
            words = round(encoder.max_tokens * WORDS_PER_TOKEN, -1)
            notes.append(f"{which} longer than {encoder.name} reads: it reads about {words:.0f} words of each text.")
    return tuple(notes)


def notes_on_content(texts: Counter[str], *, hint: str = "") -> tuple[str, ...]:
    """Return a note on texts that say nothing: how many there are, and the commonest."""
    if not texts:
        return ()
    say = "1 text says nothing and has" if texts.total() == 1 else f"{texts.total():,} texts say nothing and have"
    ranked = sorted(texts.items(), key=lambda item: (-item[1], item[0]))
    cut = [(text if len(text) <= LONGEST else f"{text[:LONGEST]}…", n) for text, n in ranked[:NAMED]]
    named = ", ".join(f"'{text}'" + (f" ({n:,} times)" if n > 1 else "") for text, n in cut)
    more = f" and {len(ranked) - NAMED:,} more" if len(ranked) > NAMED else ""
    return (f"{say} no group: {named}{more}.{' ' * bool(hint)}{hint}",)


def note_on_model(shares: Mapping[str, float], n_texts: int, encoder: Backend | None) -> str:
    """Return a note on texts in languages that the model does not know; an empty string if it knows enough of them."""
    foreign = _foreign(shares)
    if encoder is None or not knows_only_english(encoder.name) or not _noticeable(foreign, n_texts):
        return ""
    if is_foreign(shares):
        return doubt_about_languages(shares, encoder.name)
    languages = "a language" if len(foreign) == 1 else "languages"
    share = round(100 * sum(foreign.values()))
    which = f"At least {share} % of the texts are in {languages} that {encoder.name} does not know"
    return f"{which}: {in_words(foreign)}. {USE_ANOTHER}"


def _on_keywords(shares: Mapping[str, float], n_texts: int) -> str:
    pairs = {
        language: share
        for language, share in shares.items()
        if (language == "Chinese" or language == "Japanese") and segmenter(language) is None
    }
    if not _noticeable(pairs, n_texts):
        return ""
    return f"The keywords of {' and '.join(sorted(pairs))} texts are pairs of characters; for words: {INSTALL}"


def _noticeable(shares: Mapping[str, float], n_texts: int) -> bool:
    return sum(shares.values()) >= max(NOTICEABLE, LEAST / n_texts)
