"""The words and phrases of texts in any language.

A text loses only the stop words of its own language: the German article "die" is removed, and the English verb stays.
The English lists of stop-words 2025.11.4 and stopwordsiso 0.7.1 contain "order", "bill" and "system", which short texts
are often about. In a language without a list, words that are frequent in all clusters are stop words
(:mod:`textspectra.words.keywords`).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import chain, pairwise
from typing import Any, Literal, NamedTuple

from .languages import (
    DEFAULT_LANGUAGE,
    READ_CHARACTERS,
    STOP_WORDS,
    choose_languages,
    language_candidates,
    plain_text,
    read_lists,
)

MAX_PHRASE = 4  # words of a phrase
MAX_QUESTION = 8  # words of a question that can be a name as it stands
MAX_WORD = 40  # characters of a word; longer ones are hashes, keys and other noise
MAX_UNSPACED_WORD = 4  # characters of a run that counts as a word in scripts without spaces
MAX_NON_ANSWER = 40  # characters; longer texts are not looked up

ELIDED = frozenset(["l", "d", "j", "m", "n", "s", "t", "c", "qu", "un", "all", "dall", "dell", "nell", "sull", "quell"])
"""Articles that are removed before an apostrophe: l'adresse, dell'ordine."""

INSTALL = 'pip install "textspectra[cjk]"'
CHINESE_CONTENT = ("n", "v", "a", "i", "l", "j", "s", "t", "eng", "x")
"""First letters of the tags of content words: nouns, verbs, adjectives, idioms, names, unknown words."""
CHINESE_STOP_WORDS = frozenset([
    "没有", "沒有", "可以", "不能", "不会", "不會", "需要", "知道", "觉得", "覺得", "应该", "應該", "可能", "能够",
    "能夠", "时候", "時候", "请问", "請問",
])  # fmt: skip
CHINESE_FUNCTION_CHARACTERS = "的了吗呢吧啊我你您他她们这那哪么什怎是很就也和没还請请"
"""They separate words without a segmenter; not in Japanese, where some of them are parts of words."""
JAPANESE_CONTENT = frozenset(["名詞", "動詞", "形容詞", "形状詞", "感動詞"])
"""Parts of speech of content words: nouns, verbs, two kinds of adjectives, interjections."""
JAPANESE_NOUN_SUFFIX = ("接尾辞", "名詞的")  # it belongs to the noun before it: 請求 and 書 are 請求書, a bill

_HIRAGANA = "\u3041-\u309f"
_KATAKANA = "\u30a1-\u30fa\u30fc-\u30ff\uff66-\uff9f"
_HAN = "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_SOUTHEAST = "\u0e01-\u0e5b\u0e81-\u0edf\u1000-\u109f\u1780-\u17ff"
UNSPACED_CHARACTERS = f"{_HAN}{_HIRAGANA}{_KATAKANA}{_SOUTHEAST}"  # characters of scripts without spaces, for a pattern
_UNSPACED = re.compile(f"[{UNSPACED_CHARACTERS}]")
_RUN = re.compile(f"[{_HAN}]+|[{_HIRAGANA}]+|[{_KATAKANA}]+|[{_SOUTHEAST}]+")
_SENTENCE = re.compile(f"[{_HAN}{_HIRAGANA}]+|[{_KATAKANA}]+|[{_SOUTHEAST}]+")
_IS_KANA = re.compile(f"[{_HIRAGANA}{_KATAKANA}]")
_HIRAGANA_ONLY = re.compile(f"[{_HIRAGANA}]+")
_IN_SENTENCE = re.compile(f"[{_HAN}{_HIRAGANA}]")
_IN_GRAMS = re.compile(f"[{_HAN}{_SOUTHEAST}]")
_HELD_KEY = re.compile(r"([^\W\d_])\1{2,}")  # "aaaa"


def _bare_words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


NON_ANSWERS = frozenset(map(_bare_words, chain.from_iterable(read_lists("non_answers.txt", ",").values())))
"""Texts of people who have nothing to say, in every language with stop words."""


def has_content(text: str) -> bool:
    """Return True if a text says something: it has a letter or a digit, and is not a non-answer."""
    text = plain_text(text)
    if len(text) > MAX_NON_ANSWER:
        return any(map(str.isalnum, text))
    words = _bare_words(text)
    return any(map(str.isalnum, words)) and words not in NON_ANSWERS and not _HELD_KEY.fullmatch(words)


PHRASE_WORDS = read_lists("phrase_words.txt")
"""Function words by a language and what they do in a phrase: the fields of :class:`Grammar`."""


class TermCounts(NamedTuple):
    """The number of texts by term, by a term and another spelling of it, and by words that want another word.

    A term is a lower-case word, or a phrase of up to four with spaces between them. The spelling may have upper case
    and articles; it is empty at the beginning of a sentence, where a capital says nothing. `open_ended` counts words
    before an article or a possessive, such as "cancel" in "cancel my order", `linked` those before a preposition, and
    `continued` those before another word. `led` counts words after a question word, such as "long" in "how long".
    `rows` has the texts of each word as the bits of a number.
    """

    texts: Counter[str]
    forms: Counter[tuple[str, str]]
    open_ended: Counter[str]
    linked: Counter[str]
    continued: Counter[str]
    led: Counter[str]
    rows: defaultdict[str, int]


class Grammar(NamedTuple):
    """The function words of a language, by what they do to the phrase around them.

    Articles are only part of the spelling of a phrase. Possessives and auxiliaries are dropped, as in a headline:
    "cancel my order" is "cancel order", and "card was stolen" is "card stolen". Prepositions and connectives stay
    inside. Other stop words end a phrase, and so do greetings. Words in `edges` cannot begin or end a name, and those
    in `alone` cannot be one.
    """

    stop_words: frozenset[str]
    articles: frozenset[str]
    possessives: frozenset[str]
    auxiliaries: frozenset[str]
    prepositions: frozenset[str]
    connectives: frozenset[str]
    questions: frozenset[str]
    edges: frozenset[str]
    alone: frozenset[str]
    greetings: frozenset[str]


@cache
def grammar(language: str, stop_words: frozenset[str] = frozenset()) -> Grammar:
    """Return the function words of a language with a list, and further stop words."""
    words = (PHRASE_WORDS.get(f"{language} {role}", frozenset()) for role in Grammar._fields[1:])
    return Grammar(STOP_WORDS[language] | stop_words, *words)


def count_terms(texts: Iterable[str], stop_words: Collection[str] = ()) -> dict[str, TermCounts]:
    """Count the words and phrases of up to four words of texts that belong together, by the language of the texts.

    Phrases contain no punctuation, and no stop word at their ends; `stop_words` are further ones. Numbers and single
    characters are in no phrase, and count only in texts without other words. In Chinese and Japanese, the terms are
    the content words that the extra ``cjk`` finds. Without it, and in other scripts without spaces, short runs and all
    pairs of adjacent characters are terms. Runs of katakana are words. Only the first 1,000 characters of a text are
    read.
    """
    texts = list(texts)
    phrases = [split_phrases(text) for text in texts]
    languages = languages_together([likely_languages(parts) for parts in phrases])
    grammars = {name: grammar(name, frozenset(stop_words)) for name in STOP_WORDS if name in set(languages)}
    counts = {
        language: TermCounts(Counter(), Counter(), Counter(), Counter(), Counter(), Counter(), defaultdict(int))
        for language in grammars
    }
    for row, (parts, language) in enumerate(zip(phrases, languages, strict=True)):
        terms, counted = read_terms(texts[row], parts, grammars[language]), counts[language]
        counted.texts.update(terms.forms.keys())
        counted.forms.update([(term, form) for term, form in terms.forms.items() if form != term])
        counted.open_ended.update(terms.open_ended)
        counted.linked.update(terms.linked)
        counted.continued.update(terms.continued)
        counted.led.update(terms.led)
        for term in terms.forms:
            if " " not in term:
                counted.rows[term] |= 1 << row
    return counts


def likely_languages(phrases: list[list[str]]) -> tuple[list[str], bool]:
    """Return the languages that a text may be in, and whether that is clear."""
    return language_candidates([word.lower() for phrase in phrases for word in phrase])


def languages_together(candidates: Sequence[tuple[list[str], bool]]) -> list[str]:
    """Return the language of each text: where it is not clear, the most frequent one."""
    clear = choose_languages(candidates)
    usual = Counter(filter(None, clear)).most_common(1)
    return [language or (usual[0][0] if usual else DEFAULT_LANGUAGE) for language in clear]


def read_terms(text: str, phrases: list[list[str]], words: Grammar) -> _Terms:
    """Read the terms of a text, whose phrases are given."""
    terms = _Terms(words)
    for phrase in phrases:
        terms.read(phrase)
    if is_question(text):
        terms.ask(phrases)
    terms.forms = terms.forms or terms.weak
    return terms


def is_question(text: str) -> bool:
    """Return True if a text is one question and nothing else."""
    text = text[: READ_CHARACTERS + 1].strip()
    return text.endswith("?") and len(re.findall(r"[.!?;:,\n]", text)) == 1


def clean_text(text: str, *, limit: int = READ_CHARACTERS) -> str:
    """Return the beginning of a text on one line, without control and format characters."""
    return " ".join(_printable(text[:limit]).split())


def term_parts(term: str) -> frozenset[str]:
    """Return the words of a term; in scripts without spaces, its pairs of characters."""
    if term.isascii() or not _IN_GRAMS.match(term):
        return frozenset(term.split())
    return frozenset(_pairs(term) or [term])


def _printable(text: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    if text.isprintable():
        return text
    spaces = {"Zs": " ", "Cc": " ", "Zl": "\n", "Zp": "\n"}  # by the category of a character; others vanish
    lines = text.replace("\r", "\n").replace("\x85", "\n")
    return "".join(c if c.isprintable() or c == "\n" else spaces.get(unicodedata.category(c), "") for c in lines)


def _word_pattern(word: str) -> re.Pattern[str]:
    """Return a pattern that matches words, and without a group what ends a phrase: punctuation and line ends."""
    return re.compile(rf"({word}(?:[-‑'’]{word})*(?:\+\+|#(?!\w))?)|[^\w\s]|\n")


_ASCII_WORD = _word_pattern(r"\w+")  # takes half the time on plain English


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    r"""Return patterns of words and characters with combining marks, which ``\w`` lacks: in Indian languages, Thai."""
    marks = "".join(c for c in map(chr, range(0x300, 0x1F000)) if unicodedata.category(c)[0] == "M")
    return _word_pattern(rf"\w+(?:[{marks}]+\w*)*"), re.compile(f".[{marks}]*", re.DOTALL)


def split_phrases(text: str) -> list[list[str]]:
    """Return the words of a text in phrases, which end at punctuation, at a line end and where the script changes."""
    text = _printable(plain_text(text)[:READ_CHARACTERS])
    if not text.isascii() and _UNSPACED.search(text):
        text = _one_word_per_line(text)
    phrases: list[list[str]] = [[]]
    for word in (_ASCII_WORD if text.isascii() else _patterns()[0]).findall(text):
        if word:
            phrases[-1].append(word)
        elif phrases[-1]:
            phrases.append([])
    return phrases


class _Word(NamedTuple):
    """A word of a phrase, its spelling, the article before it, and whether a phrase can begin with it."""

    word: str
    form: str
    article: str
    begins: bool


class _Terms:
    """The terms of one text with their spellings, and its words that want another."""

    def __init__(self, words: Grammar) -> None:
        self.grammar = words
        self.forms: dict[str, str] = {}
        self.weak: dict[str, str] = {}  # numbers and single characters
        self.open_ended: set[str] = set()
        self.linked: set[str] = set()
        self.continued: set[str] = set()
        self.led: set[str] = set()

    def read(self, phrase: list[str]) -> None:
        """Add the terms of a run of words without punctuation."""
        words = self.grammar
        before: list[_Word] = []
        article = last = ""
        for place, written in enumerate(phrase):
            form = written if written.isalnum() else _without_apostrophe(written)
            word, function = form.lower(), written.lower().replace("’", "'")
            if word in words.stop_words or not word:
                if function in words.articles or function in words.possessives:
                    self.open_ended.add(last)
                elif function in words.prepositions:
                    self.linked.add(last)
                if function in words.articles:
                    article = f"{written} "
                elif function in words.prepositions or function in words.connectives:
                    before.append(_Word(function, written, article, begins=False))
                    article = ""
                elif function not in words.possessives and function not in words.auxiliaries:
                    before, article = [], ""
                last = function
                continue
            if not _is_weak(word):  # a number after a word does not complete it
                self.continued.add(last)
            if last in words.questions:
                self.led.add(word)
            if _is_weak(word):
                self.weak.setdefault(word, form)
            elif len(word) <= MAX_WORD:
                # At the beginning of a sentence, a capital says nothing.
                form = "" if place == 0 and form != word and form == word.capitalize() else form
                self.forms.setdefault(word, form)
            if _is_weak(word) or len(word) > MAX_WORD or word in words.greetings:
                before = []
            else:
                self._add_phrases(before, word, form, article)
                before.append(_Word(word, form, article, begins=True))
            article, last = "", word

    def ask(self, phrases: list[list[str]]) -> None:
        """Add a question as it stands, if it is one phrase of a few words; a term that ends with "?" is a question."""
        spoken = [phrase for phrase in phrases if phrase]
        if not self.forms or len(spoken) != 1 or not 2 < len(spoken[0]) <= MAX_QUESTION:
            return
        words = [word.lower() for word in spoken[0]]
        # Greetings and numbers are not what a group has in common, and the last word may be a stop word of the user.
        is_plain = all(map(str.isalpha, "".join(words).replace("'", "").replace("’", "")))
        if is_plain and self.grammar.greetings.isdisjoint(words) and words[-1] in self.forms:
            question = f"{' '.join(spoken[0])}?"
            self.forms[question.lower()] = question[0].upper() + question[1:]

    def _add_phrases(self, before: list[_Word], word: str, form: str, article: str) -> None:
        """Add the phrases that end with a word, given the words before it; no phrase begins with the same word."""
        phrase, form = word, form and article + form
        for other in before[:-MAX_PHRASE:-1]:
            if other.word == word:
                break
            phrase = f"{other.word} {phrase}"
            form = f"{other.form} {form}" if other.form and form else ""
            if other.begins:
                self.forms.setdefault(phrase, form)
            form = form and other.article + form


def _without_apostrophe(word: str) -> str:
    """Return a word without articles and endings at an apostrophe; contractions such as "don't" become empty."""
    head, apostrophe, tail = word.replace("’", "'").replace("‑", "-").strip("_").partition("'")
    if not apostrophe or tail.lower() == "s":
        return head
    if len(tail) <= 2:
        return ""
    return tail if head.lower() in ELIDED else f"{head}'{tail}"


def _is_weak(word: str) -> bool:
    is_number = word[0].isnumeric() and not any(map(str.isalpha, word))
    return len(word) == 1 or is_number or bool(_HIRAGANA_ONLY.fullmatch(word))


def _one_word_per_line(text: str) -> str:
    """Put each word of a script without spaces on a line of its own; without a segmenter, each pair of characters."""
    is_chinese = not _IS_KANA.search(text)
    segment = segmenter("Chinese" if is_chinese else "Japanese") if _IN_SENTENCE.search(text) else None
    if segment is None and is_chinese:
        text = text.translate(dict.fromkeys(map(ord, CHINESE_FUNCTION_CHARACTERS), "\n"))

    def lines(match: re.Match[str]) -> str:
        run = match[0]
        if segment is not None and _IN_SENTENCE.match(run):
            words = segment(run)
        elif _IN_GRAMS.match(run):
            pairs = _pairs(run)
            words = list(dict.fromkeys([run, *pairs])) if len(pairs) < MAX_UNSPACED_WORD else pairs
        else:
            words = [run]
        return "\n".join(["", *words, ""])

    return (_RUN if segment is None else _SENTENCE).sub(lines, text)


def _pairs(run: str) -> list[str]:
    return [first + second for first, second in pairwise(_patterns()[1].findall(run))]


@cache
def segmenter(language: Literal["Chinese", "Japanese"]) -> Callable[[str], list[str]] | None:
    """Return the function that splits a run of characters into its content words, or None if it is not installed."""
    if language == "Chinese" and find_spec("rjieba"):
        tag_words = import_module("rjieba").tag
        return lambda run: [
            word for word, tag in tag_words(run) if tag.startswith(CHINESE_CONTENT) and word not in CHINESE_STOP_WORDS
        ]
    if language == "Japanese" and find_spec("sudachipy") and find_spec("sudachidict_small"):
        tokenizer = import_module("sudachipy").Dictionary(dict="small").tokenizer()
        return lambda run: _japanese_words(tokenizer.tokenize(run))
    return None


def _japanese_words(words: Iterable[Any]) -> list[str]:
    content: list[str] = []
    before = ""
    for word in words:
        kind, subkind, *_ = word.part_of_speech()
        if before == "名詞" and (kind, subkind) == JAPANESE_NOUN_SUFFIX:
            content[-1] += word.surface()
        elif kind in JAPANESE_CONTENT:
            content.append(word.dictionary_form())
        before = kind
    return content


@cache
def stemmer(language: str) -> Callable[[str], str]:
    """Return the Snowball stemmer of a language, which computes each stem once; without one, words stay as they are."""
    import snowballstemmer  # late, because it loads the algorithms of all languages

    name = language.split()[0]  # of a pair such as "danish and norwegian", the first language counts
    return cache(snowballstemmer.stemmer(name).stemWord) if name in snowballstemmer.algorithms() else str
