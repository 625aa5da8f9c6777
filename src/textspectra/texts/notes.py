"""What a reader of a result should know about its texts: their languages, and those that were too long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..embedding import Backend
from ..embedding.languages import knows_only_english
from ..embedding.sentence_transformer import MULTILINGUAL
from ..io import MAX_TEXT
from ..topics.languages import language_shares
from ..topics.segment import INSTALL, segmenter
from .corpus import Corpus

NOTICEABLE = 0.05
"""Smallest share of texts in other languages that gives a note.

In 16 labelled sets it is at most 0.8 % where all texts are English, and up to 7.6 % in the set that has questions of
Russian, Spanish, Portuguese and Japanese sites.
"""

LEAST = 3
"""Smallest number of such texts that gives a note; one text may look foreign by chance."""

NAMED = 5
"""Number of languages, or of texts, that a note names; the others are rarer."""

LONGEST = 20
"""Characters of a text that a note shows."""

KEEP_ALL = "To group them, use --keep-all (in Python, keep_all=True)."


def notes_on_languages(texts: Sequence[str], encoder: Backend | None) -> tuple[str, ...]:
    """Return notes on texts in languages that the model does not know, and on keywords that are no words.

    Examples
    --------
    >>> from textspectra.embedding import load_backend
    >>> texts = ["Wo ist mein Paket?", "Die Rechnung ist falsch", "Ich habe das Passwort vergessen", "Where is it?"]
    >>> print(*notes_on_languages(texts, load_backend("wordllama")))
    At least 75 % of the texts are in a language that wordllama does not know: German (75 %). They are grouped by
    language and spelling rather than by topic; use --model multilingual (in Python, model="multilingual").
    >>> notes_on_languages(["Where is my parcel?"], load_backend("wordllama"))
    ()
    """
    shares = language_shares(texts)
    return tuple(filter(None, [_on_model(shares, len(texts), encoder), _on_keywords(shares, len(texts))]))


def notes_on_lengths(corpus: Corpus) -> tuple[str, ...]:
    """Return a note on texts that are so long that they were not read to their end.

    Examples
    --------
    >>> notes_on_lengths(Corpus.from_texts(["a" * 200_000, "b"]))
    ('1 text has 100,000 characters or more; what comes after that was not read.',)
    """
    n_long = sum(
        int(count) for text, count in zip(corpus.distinct, corpus.counts, strict=True) if len(text) >= MAX_TEXT
    )
    if not n_long:
        return ()
    which = "1 text has" if n_long == 1 else f"{n_long:,} texts have"
    return (f"{which} {MAX_TEXT:,} characters or more; what comes after that was not read.",)


def notes_on_content(texts: Counter[str], *, hint: str = "") -> tuple[str, ...]:
    """Return a note on texts that say nothing: how many there are, and the commonest.

    Examples
    --------
    >>> print(*notes_on_content(Counter({"n/a": 6, "-": 4, "none": 1}), hint="To group them, use --keep-all."))
    11 texts say nothing and have no group: 'n/a' (6 times), '-' (4 times), 'none'. To group them, use --keep-all.
    """
    if not texts:
        return ()
    say = "1 text says nothing and has" if texts.total() == 1 else f"{texts.total():,} texts say nothing and have"
    ranked = sorted(texts.items(), key=lambda item: (-item[1], item[0]))
    cut = [(text if len(text) <= LONGEST else f"{text[:LONGEST]}…", n) for text, n in ranked[:NAMED]]
    named = ", ".join(f"'{text}'" + (f" ({n:,} times)" if n > 1 else "") for text, n in cut)
    more = f" and {len(ranked) - NAMED:,} more" if len(ranked) > NAMED else ""
    return (f"{say} no group: {named}{more}.{' ' * bool(hint)}{hint}",)


def note_on_model(texts: Sequence[str], encoder: Backend | None) -> str:
    """Return a note on texts in languages that the model does not know; an empty string if it knows enough of them."""
    return _on_model(language_shares(texts), len(texts), encoder)


def _on_model(shares: dict[str, float], n_texts: int, encoder: Backend | None) -> str:
    foreign = {language: share for language, share in shares.items() if language != "English"}
    if encoder is None or not knows_only_english(encoder.name) or not _noticeable(foreign, n_texts):
        return ""
    share = f"{100 * sum(foreign.values()):.0f} %"
    which = "All texts" if share == "100 %" else f"At least {share} of the texts"
    languages = "a language" if len(foreign) == 1 else "languages"
    named = ", ".join(f"{language} ({100 * share:.0f} %)" for language, share in list(foreign.items())[:NAMED])
    return (
        f"{which} are in {languages} that {encoder.name} does not know: {named}. They are grouped by language and "
        f"spelling rather than by topic; use --model {MULTILINGUAL.preset} (in Python, "
        f'model="{MULTILINGUAL.preset}").'
    )


def _on_keywords(shares: dict[str, float], n_texts: int) -> str:
    pairs = {
        language: share
        for language, share in shares.items()
        if (language == "Chinese" or language == "Japanese") and segmenter(language) is None
    }
    if not _noticeable(pairs, n_texts):
        return ""
    return f"The keywords of {' and '.join(sorted(pairs))} texts are pairs of characters; for words: {INSTALL}"


def _noticeable(shares: dict[str, float], n_texts: int) -> bool:
    return sum(shares.values()) >= max(NOTICEABLE, LEAST / n_texts)
