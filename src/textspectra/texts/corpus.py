"""The texts of a run: every row as it came, each distinct text once, and a vector for each of these."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ..core.rows import finite_rows, nonzero_rows
from ..core.validation import check_embeddings, is_missing
from ..embedding.base import Backend
from ..embedding.cache import EmbeddingCache
from ..embedding.embed import embed_texts
from ..embedding.hub import is_on
from ..embedding.registry import load_model
from ..embedding.server import printable, public_url
from ..errors import UsageError, UserError
from ..tables.columns import TextTable
from ..tables.frames import as_table, is_data_frame
from ..tables.source import MAX_TEXT
from ..words.ignore import Ignored
from ..words.keywords import read_ahead
from ..words.languages import plain_text
from ..words.remembered import RememberedTexts
from ..words.tokens import has_content

if TYPE_CHECKING:
    import pandas
    import polars
    from narwhals.typing import IntoDataFrame, IntoSeries

Texts: TypeAlias = "Iterable[str | None] | IntoSeries | IntoDataFrame | TextTable"
DataFrame: TypeAlias = "pandas.DataFrame | polars.DataFrame | IntoDataFrame"  # of the library that the texts came in
Scalar = TypeVar("Scalar", bound=np.generic)

_IF_NUMBERS = (
    "give the texts, and these vectors as embeddings=. For groups of vectors without texts: AutoKMeans().fit(X)."
)
VECTORS_NOT_SAVED = (
    "This clustering was made from given embeddings, which are not saved with it: give embeddings= to predict, and to "
    "load before you cut or merge."
)
ALLOW_SERVER = "TEXTSPECTRA_ALLOW_SERVER"  # environment variable: models from all folders may send texts to the server


class Totals(NamedTuple):
    """Numbers of rows: all, and those without a group, by reason; `distinct` texts are grouped.

    A row is blank, or unknown to the model, or says nothing ("n/a"), or has no label where labels were given.
    """

    rows: int
    distinct: int
    blank: int
    unknown: int
    without_content: int = 0
    unlabeled: int = 0

    @property
    def grouped(self) -> int:
        """Rows that are in a group."""
        return self.rows - self.blank - self.unknown - self.without_content - self.unlabeled


@dataclass(frozen=True, eq=False)
class Corpus:
    """Rows of texts, and the distinct texts behind them; for many files, only the distinct ones or a sample of them."""

    rows: list[str]  # a missing text is empty, and a very long one is cut
    distinct: list[str]  # each text that counts once, in order of appearance
    codes: NDArray[np.intp]  # the position in `distinct` of each row's text, or -1
    counts: NDArray[np.intp]  # the number of input rows with each distinct text
    keep_all: bool = False  # blank texts never count, and texts that say nothing only if this is set
    ignore: tuple[str, ...] = ()  # patterns of words that are not read
    unmatched: tuple[str, ...] = ()  # those of them that none of the rows has, if that is known

    @classmethod
    def from_texts(cls, texts: Texts, *, keep_all: bool = False, ignore: Iterable[str] = ()) -> Corpus:
        """Take in a sequence, series or array of texts, or a table whose column of texts is known."""
        values = texts.texts() if isinstance(texts, TextTable) else as_values(texts, "texts")
        rows = [_as_text(value, row) for row, value in enumerate(values)]
        ignored, matched = Ignored.of(ignore), set[str]()
        read = {row: ignored.take_out(row, matched) if ignored.patterns else row for row in dict.fromkeys(rows)}
        counting = {row for row, text in read.items() if _counts(text, keep_all=keep_all)}
        unmatched = tuple(pattern for pattern in ignored.patterns if pattern not in matched)
        corpus = replace(
            cls.from_rows(rows, [row in counting for row in rows], keep_all=keep_all, ignore=ignored.patterns),
            unmatched=unmatched,
        )
        if ignored.patterns:
            vars(corpus)["read"] = [read[text] for text in corpus.distinct]  # so that it is not computed again
        return corpus

    @classmethod
    def from_rows(
        cls, rows: list[str], counting: Iterable[bool], *, keep_all: bool, ignore: tuple[str, ...] = ()
    ) -> Corpus:
        """Take in rows of texts if it is known which of them count."""
        code_of: dict[str, int] = {}
        pairs = zip(rows, counting, strict=True)
        codes = np.array([code_of.setdefault(row, len(code_of)) if counts else -1 for row, counts in pairs], np.intp)
        counts = np.bincount(codes[codes >= 0], minlength=len(code_of))
        return cls(rows, list(code_of), codes, counts, keep_all, ignore)

    @classmethod
    def from_counts(
        cls, texts: list[str], counts: NDArray[np.intp], *, keep_all: bool = False, ignore: tuple[str, ...] = ()
    ) -> Corpus:
        """Take in distinct texts, and the number of input rows that each of them stands for."""
        return cls(texts, texts, np.arange(len(texts)), counts, keep_all, ignore)

    @cached_property
    def read(self) -> list[str]:
        """The distinct texts as they are embedded and as their words are counted: without the words to ignore."""
        return list(map(Ignored.of(self.ignore).apply, self.distinct)) if self.ignore else self.distinct

    def read_ahead(self, codes: NDArray[np.intp], stop_words: tuple[str, ...]) -> None:
        """Remember the words of the distinct texts, so that other groups of them than those in `codes` are quick."""
        if not isinstance(self.read, RememberedTexts):
            texts = vars(self)["read"] = RememberedTexts(self.read)
            read_ahead(texts, [np.flatnonzero(codes == code) for code in np.unique(codes[codes >= 0])], stop_words)

    def joined(self, other: Corpus) -> tuple[Corpus, NDArray[np.intp]]:
        """Append the rows of another corpus; also return the new position of each of its distinct texts."""
        code_of = {text: code for code, text in enumerate(self.distinct)}
        positions = np.array([code_of.setdefault(text, len(code_of)) for text in other.distinct], np.intp)
        distinct, counts = list(code_of), np.zeros(len(code_of), np.intp)
        counts[: len(self.counts)] = self.counts
        counts[positions] += other.counts
        if not (self.has_all_rows and other.has_all_rows):
            return Corpus.from_counts(distinct, counts, keep_all=self.keep_all, ignore=self.ignore), positions
        codes = np.concatenate([self.codes, np.append(positions, -1)[other.codes]])
        return Corpus(self.rows + other.rows, distinct, codes, counts, self.keep_all, self.ignore), positions

    @property
    def has_all_rows(self) -> bool:
        """Whether `rows` are the rows that `counts` counts."""
        return int(self.counts.sum()) == int((self.codes >= 0).sum())

    def check_content(self) -> None:
        """Raise a UserError if no text counts."""
        none, examples = f"None of the {len(self.rows):,} texts", self.without_content().most_common(1)
        if not self.distinct and self.emptied():
            example = next(iter(self.emptied()))
            raise UserError(f"{none} has a word left after --ignore, such as {example[:40]!r}; ignore fewer words.")
        if not self.distinct and examples:
            hint = "To group them all the same, use --keep-all (in Python, keep_all=True)."
            raise UserError(f"{none} says anything: they are blank, or like {examples[0][0][:20]!r}. {hint}")
        if not self.distinct:
            raise UserError(f"{none} holds anything but white space.")

    def without_content(self) -> Counter[str]:
        """Return the texts that say nothing but are not blank, with their numbers of rows."""
        return Counter(row for row in (self.rows[i].strip() for i in np.flatnonzero(self.codes < 0)) if row)

    def emptied(self) -> Counter[str]:
        """Return those of them that say something, but only in the words to ignore."""
        texts = self.without_content() if self.ignore else Counter[str]()
        return Counter({text: n for text, n in texts.items() if _counts(text, keep_all=self.keep_all)})

    @property
    def first_rows(self) -> NDArray[np.intp]:
        """The first row that has each distinct text."""
        first = np.empty(len(self.distinct), np.intp)
        filled = np.flatnonzero(self.codes >= 0)[::-1]
        first[self.codes[filled]] = filled
        return first

    def spread(self, values: NDArray[Scalar], blank: float) -> NDArray[Scalar]:
        """Give each row the value of its text, or `blank` if its text does not count."""
        return np.concatenate([values, np.full((1, *values.shape[1:]), blank, values.dtype)])[self.codes]


def open_texts(texts: Texts, text_column: str | None) -> Texts:
    """Find the column of texts in a data frame, if it is not known; return anything else as it is."""
    if isinstance(texts, TextTable):
        return texts if text_column is None else as_table(texts.table, text_column)
    if is_data_frame(texts):
        return as_table(texts, text_column)
    if text_column is not None:
        raise UserError(f"text_column={text_column!r} names a column of a data frame, but texts is not a data frame.")
    return texts


def as_values(values: Any, name: str) -> Iterable[object]:
    """Return the values of a sequence, series or array as Python objects; messages call it `name`."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        kind = type(values).__name__
        raise UserError(f"{name} has the type {kind}; give a list of {name}, or a data frame with a column of {name}.")
    if isinstance(values, set | frozenset):  # its order changes from run to run, and so would the labels
        raise UserError(f"{name} is a set, which has no order, so labels could not be matched to texts; give a list.")
    shape: tuple[int, ...] = getattr(values, "shape", (0,))
    is_table = sparse.issparse(values) or (isinstance(values, np.ndarray) and len(shape) != 1)
    if is_table and shape and name == "texts" and np.dtype(getattr(values, "dtype", object)).kind in "biufc":
        raise UserError(f"texts is an array of numbers of the shape {shape}; {_IF_NUMBERS}")
    if is_table:
        raise UserError(f"{name} must be one-dimensional, but its shape is {shape}.")
    for convert in ("to_pylist", "to_list", "tolist"):  # pyarrow; pandas and polars; NumPy
        if hasattr(values, convert):
            converted: Iterable[object] = getattr(values, convert)()
            return converted
    return values


def _counts(text: str, *, keep_all: bool) -> bool:
    """Return True if a text, as it is read, can be in a group."""
    return bool(text.strip()) if keep_all else has_content(text)


def _as_text(value: object, row: int) -> str:
    if isinstance(value, str):
        return value[:MAX_TEXT]
    if isinstance(value, Sequence | np.ndarray) and len(value) and isinstance(value[0], Real):
        raise UserError(f"The text of row {row} is a row of {len(value):,} numbers; {_IF_NUMBERS}")
    if is_missing(value):
        return ""
    raise UserError(f"The text of row {row} is {value!r} ({type(value).__name__}); every text must be a str.")


class EmbeddingSource(NamedTuple):
    """The model and its settings. If the user gave the embeddings, it is None, or a model for names and new texts."""

    model: str | None
    settings: dict[str, object]
    given: bool = False  # the user gave embeddings, although there is a model

    @property
    def is_given(self) -> bool:
        """Whether the user gave the embeddings of the texts."""
        return self.given or self.model is None

    @property
    def is_elsewhere(self) -> bool:
        """Whether texts would be sent to a server, or the model is in a folder of another machine."""
        return any(mark in (self.model or "").lower() for mark in ("openai:", "//", "\\\\"))

    def load(self, *, allow_server: bool = False) -> Backend:
        """Load the model; warn if it is not exactly the one that made the embeddings."""
        if self.model is None:
            raise UserError(VECTORS_NOT_SAVED)
        # The name may come from a stranger's folder. Models are read as data, but texts leave this machine only if the
        # user allows it.
        if self.is_elsewhere and not (allow_server or is_on(ALLOW_SERVER)):
            where = public_url() if "openai:" in self.model.lower() else "another machine"
            raise UsageError(
                f"This model folder was made with {printable(self.model)}, so texts would be sent to {where}. The "
                f"folder may come from somebody else. Allow it with --allow-server, {ALLOW_SERVER}=1 or, in your own "
                "settings, allow-server = true; in Python, with TextClustering.load(folder, allow_server=True)."
            )
        encoder = load_model(self.model)
        if json.dumps(dict(encoder.settings), sort_keys=True) != json.dumps(self.settings, sort_keys=True):
            warnings.warn(
                f"{self.model} is not exactly the model that made this clustering (its files or settings differ), so "
                "texts may land in other clusters than they would have then.",
                stacklevel=3,
            )
        return encoder


@dataclass(frozen=True, eq=False)
class EmbeddedTexts:
    """Distinct texts with a vector each, a row of `X`; a text counts if its vector has a value that is not zero."""

    corpus: Corpus
    X: NDArray[np.floating]

    @cached_property
    def counting(self) -> NDArray[np.intp]:
        """Positions of the distinct texts that count."""
        return np.flatnonzero(nonzero_rows(self.X))

    @property
    def vectors(self) -> NDArray[np.floating]:
        """The vectors of the texts that count; not a copy if all of them do."""
        return self.X if len(self.counting) == len(self.X) else self.X[self.counting]

    @property
    def weights(self) -> NDArray[np.float64]:
        """The number of rows with each of the texts that count."""
        return self.corpus.counts[self.counting].astype(float)

    @property
    def rows_that_count(self) -> NDArray[np.bool_]:
        """Whether each row has a text that counts."""
        return self.corpus.spread(self.scatter(np.ones(len(self.counting), np.bool_), False), False)

    @property
    def totals(self) -> Totals:
        """How many rows there are, and why some of them have no group."""
        without_content = self.corpus.without_content().total()
        blank = int((self.corpus.codes < 0).sum()) - without_content
        unknown = len(self.corpus.rows) - blank - without_content - int(self.weights.sum())
        return Totals(len(self.corpus.rows), len(self.counting), blank, unknown, without_content)

    def scatter(self, values: NDArray[Scalar], otherwise: float) -> NDArray[Scalar]:
        """Give each distinct text that counts its value, and the others `otherwise`."""
        scattered = np.full((len(self.X), *values.shape[1:]), otherwise, values.dtype)
        scattered[self.counting] = values[: len(self.counting)]
        return scattered

    def vectors_of_rows(self) -> NDArray[np.floating]:
        """Return the vector of each row; rows that do not count have zeros."""
        return self.corpus.spread(self.X, 0)


def embed_corpus(
    corpus: Corpus, encoder: Backend | None, given: ArrayLike | None = None, *,
    cache: EmbeddingCache | bool = True, progress: Callable[[int, int], None] | None = None,
) -> EmbeddedTexts:  # fmt: skip
    """Give each distinct text a vector: from `given`, which has one per row, or else from the model."""
    if given is not None:
        X = check_embeddings(given, minimum=1, name="embeddings")
        if len(X) != len(corpus.rows):
            raise UserError(f"embeddings must have one row per text ({len(corpus.rows):,}), but it has {len(X):,}.")
        X = X if len(corpus.distinct) == len(X) else X[corpus.first_rows]
        is_finite = finite_rows(X)
        if not is_finite.all():
            row = corpus.first_rows[is_finite.argmin()]
            raise UserError(f"embeddings has a NaN or an infinite value in row {row}, counting from 0; embed it again.")
        return EmbeddedTexts(corpus, X)
    if encoder is None:
        raise ValueError("either a model or embeddings are needed")
    texts = [plain_text(text) for text in corpus.read]  # without markup and web addresses
    return EmbeddedTexts(corpus, embed_texts(texts, encoder, cache=cache, progress=progress))
