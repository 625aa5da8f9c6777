"""Notes on the texts of a result: their languages, texts that say nothing, that were cut, or that nearly repeat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from ..core.repeats import repeated_share
from ..embedding.base import Backend
from ..embedding.hub import MULTILINGUAL
from ..embedding.registry import knows_only_english
from ..embedding.transformer import TransformerBackend
from ..hygiene import plural
from ..tables.source import MAX_TEXT
from ..words.languages import ANOTHER, plain_text
from ..words.tokens import INSTALL, segmenter
from .corpus import Corpus, EmbeddedTexts

KEEP_ALL = "To group such texts, use --keep-all (in Python, keep_all=True)."

# Smallest share of texts in other languages that gives a note. In 16 labeled sets it is at most 0.8% if all texts are
# English, and up to 7.6% in the set with questions of Russian, Spanish, Portuguese and Japanese sites.
_NOTICEABLE = 0.05
_FEWEST_FOREIGN = 3  # texts that give a note; a single text may look foreign by chance
_MOST_NAMED = 5  # languages, or texts; the others are rarer
_USE_ANOTHER = (
    f"They are grouped by language and spelling rather than by theme; cluster with --model {MULTILINGUAL.preset} "
    f'(in Python, model="{MULTILINGUAL.preset}").'
)

NEAR_DUPLICATE = 0.95  # cosine of two texts that nearly repeat each other

# Share of near-duplicates that gives a note, and fewest texts. Of 40 labeled sets with MiniLM, 32 have less than 5%,
# five have 9 to 13%, and one has 31%: questions of customers about 77 matters. Two get the note: reviews such as
# "very good app" (40%), and synthetic requests (46%). 16 sets were measured in full, the others on up to 3,000 texts.
MANY_REPEAT, FEWEST_TEXTS = 1 / 3, 100


def notes_on_languages(shares: Mapping[str, float], n_texts: int, encoder: Backend | None) -> tuple[str, ...]:
    """Return notes on texts in languages that the model does not know, and on keywords that are not words."""
    pairs = {
        language: share
        for language, share in shares.items()
        if (language == "Chinese" or language == "Japanese") and segmenter(language) is None
    }
    on_keywords = f"The keywords of {' and '.join(sorted(pairs))} texts are pairs of characters; for words: {INSTALL}"
    on_model = note_on_model(shares, n_texts, encoder)
    return tuple(filter(None, [on_model, on_keywords if _is_noticeable(pairs, n_texts) else ""]))


def note_on_model(shares: Mapping[str, float], n_texts: int, encoder: Backend | None) -> str:
    """Return a note on texts in languages that the model does not know; an empty string if it knows enough of them."""
    foreign = _foreign(shares)
    if encoder is None or not knows_only_english(encoder.name) or not _is_noticeable(foreign, n_texts):
        return ""
    if is_foreign(shares):
        return doubt_about_languages(shares, encoder.name)
    languages = "a language" if len(foreign) == 1 else "languages"
    share = round(100 * sum(foreign.values()))
    which = f"At least {share}% of the texts are in {languages} that {encoder.name} does not know"
    return f"{which}: {_in_words(foreign)}. {_USE_ANOTHER}"


def doubt_about_languages(shares: Mapping[str, float], model: str | None) -> str:
    """Return a sentence that replaces the verdict if most texts are in languages that the model does not read."""
    if model is None or not knows_only_english(model) or not is_foreign(shares):
        return ""
    return f"Your texts are {_in(_in_words(_foreign(shares)))}; {model} reads only English. {_USE_ANOTHER}"


def is_foreign(shares: Mapping[str, float]) -> bool:
    """Return True if most texts are clearly not English."""
    return sum(_foreign(shares).values()) > 0.5


def reading_in_words(where: str, n_rows: int, shares: Mapping[str, float]) -> str:
    """Describe the input in a sentence."""
    known, most, languages = sum(shares.values()), next(iter(shares), ""), ""
    if known:
        # If nearly all texts are in one language, the others are not worth naming.
        languages = f", {_in(most if shares[most] >= 0.9 * known else _in_words(shares))}"
    rows = f"{plural(n_rows, 'row')}{languages}."
    return f"Read {where}: {rows}" if where else rows


def notes_on_lengths(corpus: Corpus, encoder: Backend | None = None) -> tuple[str, ...]:
    """Return notes on texts that were not read to their end, by this package or by the model."""
    lengths, read = (np.fromiter(map(len, texts), np.intp, len(texts)) for texts in (corpus.distinct, corpus.read))
    notes = []
    n_long = int(corpus.counts[lengths >= MAX_TEXT].sum())
    if n_long:
        which = plural(n_long, "text has", "texts have")
        notes.append(f"{which} {MAX_TEXT:,} characters or more; what comes after that was not read.")
    if isinstance(encoder, TransformerBackend):
        # Shorter texts cannot be cut: a token has at least one character.
        places = np.flatnonzero(read >= encoder.max_tokens - 1)
        are_cut = encoder.are_cut([plain_text(corpus.read[place]) for place in places])
        n_cut = int(corpus.counts[places[np.array(are_cut, bool)]].sum())
        if n_cut:
            which = plural(n_cut, "text is", "texts are")
            words = round(0.75 * encoder.max_tokens, -1)  # a token is about three quarters of an English word
            notes.append(f"{which} longer than {encoder.name} reads: it reads about {words:.0f} words of each text.")
    return tuple(notes)


def notes_on_content(texts: Counter[str], *, hint: str = "") -> tuple[str, ...]:
    """Return a note on texts that say nothing: their number, and the most common ones."""
    if not texts:
        return ()
    say = plural(texts.total(), "text says nothing and has", "texts say nothing and have")
    ranked = sorted(texts.items(), key=lambda item: (-item[1], item[0]))[:_MOST_NAMED]
    cut = [(text if len(text) <= 20 else f"{text[:20]}…", n) for text, n in ranked]
    named = ", ".join(f"'{text}'" + (f" ({n:,} times)" if n > 1 else "") for text, n in cut)
    more = f" and {len(texts) - _MOST_NAMED:,} more" if len(texts) > _MOST_NAMED else ""
    return (f"{say} no group: {named}{more}.{' ' * bool(hint)}{hint}",)


def notes_on_reading(without_content: Counter[str], emptied: Counter[str], *, hint: str = "") -> tuple[str, ...]:
    """Return notes on texts that say nothing, and on those that say something only in words to ignore."""
    notes = notes_on_content(without_content - emptied, hint=hint)
    if not emptied:
        return notes
    have, stay = ("text has", "stays") if emptied.total() == 1 else ("texts have", "stay")
    return (*notes, f"{emptied.total():,} {have} no words left after --ignore and {stay} without a group.")


def notes_on_ignored(patterns: Sequence[str], unmatched: Sequence[str], *, is_given: bool) -> tuple[str, ...]:
    """Return notes on patterns of words to ignore that no text has, and on vectors that were given with them."""
    notes = []
    if is_given and patterns:
        notes.append("The embeddings stay as they were given: --ignore keeps words out of keywords and names.")
    named = ", ".join(repr(text if len(text) <= 40 else f"{text[:40]}…") for text in unmatched[:_MOST_NAMED])
    if len(unmatched) == 1:
        notes.append(f"--ignore {named} matches none of the texts.")
    elif unmatched:
        more = f" and {len(unmatched) - _MOST_NAMED:,} more" if len(unmatched) > _MOST_NAMED else ""
        notes.append(
            f"{len(unmatched):,} of {len(patterns):,} values of --ignore match none of the texts: {named}{more}."
        )
    return tuple(notes)


def _foreign(shares: Mapping[str, float]) -> dict[str, float]:
    return {language: share for language, share in shares.items() if language != "English"}


def _is_noticeable(shares: Mapping[str, float], n_texts: int) -> bool:
    return sum(shares.values()) >= max(_NOTICEABLE, _FEWEST_FOREIGN / n_texts)


def _in_words(shares: Mapping[str, float]) -> str:
    """List languages with their shares, which add up; the smallest are counted."""
    languages, values = list(shares), list(shares.values())
    if len(values) == 1 and values[0] > 0.995:  # all but a rounding error
        return languages[0]
    n_more = max(len(values) - _MOST_NAMED, 0)
    numbers = _percents([*values[:_MOST_NAMED], *([sum(values[_MOST_NAMED:])] if n_more else [])])
    named = zip(languages[:_MOST_NAMED], numbers, strict=False)
    words = ", ".join(f"{language} ({number}%)" for language, number in named)
    return f"{words} and {n_more:,} more ({numbers[-1]}%)" if n_more else words


def _in(languages: str) -> str:
    """Put "in" before languages if one of them is not an adjective: German, but in Arabic script."""
    return f"in {languages}" if ANOTHER in languages or " script" in languages else languages


def _percents(shares: Sequence[float]) -> list[int]:
    """Round shares so that they add up to their sum; the ones that lose most are rounded up."""
    total, whole = round(100 * sum(shares)), [int(100 * share) for share in shares]
    order = sorted(range(len(shares)), key=lambda i: (whole[i] - 100 * shares[i], i))
    for i in order[: total - sum(whole)]:
        whole[i] += 1
    return whole


def notes_on_repeats(texts: EmbeddedTexts) -> tuple[str, ...]:
    """Return a note if many texts nearly repeat another one."""
    share = repeated_share(texts.vectors, NEAR_DUPLICATE) if len(texts.counting) >= FEWEST_TEXTS else 0.0
    if share < MANY_REPEAT:
        return ()
    which = f"About {share:.0%} of the different texts nearly repeat another one"
    return (f"{which}, so the groups may look clearer than they are; in Python, result.duplicates() lists them.",)
