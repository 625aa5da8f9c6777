"""Groups made elsewhere: read the label of each text, and describe the groups as if they had been found here."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.clusters import Clusters, tree_of_clusters
from ..core.cohesion import report_if_defined
from ..core.discriminants import separate_clusters
from ..core.kmeans import labels_by, largest_first
from ..core.validation import RandomState, is_missing, make_seed
from ..embedding.cache import EmbeddingCache
from ..embedding.registry import DEFAULT_MODEL, Model
from ..errors import UserError
from ..hygiene import plural, without_surrogates
from ..tables.columns import TextTable, column_values
from ..tables.frames import library_of
from ..tables.parquet import Vectors, given_vectors
from ..words.ignore import check_stop_words
from ..words.naming import NameWith, check_name_with
from .clustered import check_name_length
from .corpus import Corpus, Texts, Totals, as_values, open_texts
from .details import Columns, Period, Values, details_of, wanted_columns
from .grouping import mean_vectors, with_names
from .notes import notes_on_ignored, notes_on_reading
from .pipeline import StageProgress, describe_clustering, embed_source, recipe_of, with_details
from .result import TextClustering

Labels: TypeAlias = "str | ArrayLike | Sequence[Hashable] | Values"

MADE_ELSEWHERE = "given"  # the algorithm of a result whose groups were made elsewhere
LARGEST_LABEL = 2**53 - 2  # the page and JSON cannot hold larger ones
RELIABLE = 0.9  # share of the texts that fall into their own group by their vectors; below it, a note says so
_WHOLE = re.compile(r"-?(0|[1-9]\d*)")


def describe_texts(
    texts: Texts,
    labels: Labels,
    *,
    text_column: str | None = None,
    model: Model = DEFAULT_MODEL,
    embeddings: Vectors | None = None,
    random_state: RandomState = 0,
    cache: EmbeddingCache | bool = True,
    ignore: Sequence[str] = (),
    stop_words: Sequence[str] = (),
    time: str | Values | None = None,
    by: Columns = (),
    show: Columns = (),
    every: Period | None = None,
    name_with: NameWith | None = None,
    progress: StageProgress | None = None,
) -> TextClustering:
    """Describe groups that were made elsewhere: by another clustering, or by hand.

    The result is the same as from :func:`cluster_texts`, with names, keywords, typical texts, scores, the report, and
    everything else, but the groups are yours. Nothing is estimated: `k_estimate` is None, and themes are empty.
    :meth:`TextClustering.predict` places new texts by a linear rule that is learned from your groups; a note says so if
    it gives fewer than nine tenths of these texts the group that they have.

    Parameters
    ----------
    texts : sequence or series of str, or data frame
        The texts, as in :func:`cluster_texts`. Blank texts have no group, whatever their label.
    labels : str, or sequence or series of int or str
        The group of each text, or the name of a column of the data frame. Whole numbers stay the labels of the
        clusters, with or without gaps. Other labels are names: the clusters get these names, and are numbered by size.
        A missing or blank label, or a negative number, as HDBSCAN gives to noise, means that a text has no group.
        A text that occurs several times gets the label that most of its rows have.
    text_column : str, optional
        The column of a data frame that holds the texts.
    model, embeddings, cache, ignore, stop_words, time, by, show, every, progress
        As in :func:`cluster_texts`.
    name_with : str or callable, optional
        A chat model of a server, or a function, that names the groups, also those that have names: see
        :meth:`TextClustering.name`.
    random_state : int, RandomState, Generator or None, default=0
        The seed of the sample on which the Cohesion Ratio of many texts is computed.

    Examples
    --------
    >>> import textspectra as ts
    >>> texts = ["where is my parcel", "my parcel is late", "reset my password", "hello"]
    >>> X = [[1, 0], [0.9, 0.1], [0, 1], [0.5, 0.5]]
    >>> result = ts.describe_texts(texts, ["delivery", "delivery", "login", None], embeddings=X)
    >>> result.labels, result.names
    (array([ 0,  0,  1, -1]), ['delivery', 'delivery', 'login', None])
    >>> ts.describe_texts(texts, [7, 7, 3, -1], embeddings=X).labels
    array([ 7,  7,  3, -1])
    """
    if name_with is not None:
        check_name_with(name_with)
    tell: StageProgress = progress or (lambda stage, done, total: None)
    frame, opened = texts.table if isinstance(texts, TextTable) else texts, open_texts(texts, text_column)
    # A text that says nothing ("n/a") has a group if somebody gave it one.
    everything, stop_words = Corpus.from_texts(opened, keep_all=True, ignore=ignore), check_stop_words(stop_words)
    everything.check_content()
    given = read_labels(labels, opened, len(everything.rows))
    table, wanted = wanted_columns(opened, len(everything.rows), time, by, show, every)
    details, notes = details_of(table, wanted) if wanted.names else (None, [])
    is_labeled = (everything.codes >= 0) & (given.codes >= 0)
    corpus = Corpus.from_rows(everything.rows, is_labeled.tolist(), keep_all=False, ignore=everything.ignore)
    if not corpus.distinct:
        raise UserError(f"None of the {len(corpus.rows):,} texts has both a label and anything but white space.")
    vectors = None if embeddings is None else given_vectors(embeddings, opened)
    embedded, languages, encoder, reason = embed_source(corpus, model, vectors, cache=cache, progress=tell)
    if not len(embedded.counting):
        raise UserError("The model could represent none of the texts (all vectors are zero); try another model.")
    tell("describing", 0, 1)
    of_text, n_other = majority_codes(corpus.codes, given.codes)
    codes, groups = numbered_groups(of_text[embedded.counting], embedded.weights, given.values)
    fitted = fit_to_labels(embedded.vectors, codes, len(groups), random_state)
    of_text = embedded.scatter(codes, -1)
    fitted = replace(fitted, centers=mean_vectors(embedded, of_text, len(groups)))
    emptied = everything.emptied()
    blank, unlabeled = int((everything.codes < 0).sum()), int(((everything.codes >= 0) & (given.codes < 0)).sum())
    unknown = len(corpus.rows) - blank - unlabeled - int(embedded.weights.sum())
    is_given, call = embeddings is not None, "describe_texts(texts, labels"
    options = {
        "ignore": list(corpus.ignore),
        "stop_words": list(stop_words),
        **wanted._asdict(),
        "name_with": name_with,
    }
    recipe = recipe_of(call, encoder, reason, random_state, False, options, is_given=is_given)
    result = describe_clustering(
        embedded, of_text, fitted, leaves=np.asarray(fitted.leaves), algorithm=MADE_ELSEWHERE,
        totals=Totals(
            len(corpus.rows), len(embedded.counting), blank - emptied.total(), unknown, emptied.total(), unlabeled
        ),
        encoder=encoder, is_given=is_given, cache=cache, languages=languages, recipe=recipe, stop_words=stop_words,
        content_notes=(
            *notes_on_reading(emptied, emptied),
            *notes_on_ignored(everything.ignore, everything.unmatched, is_given=is_given),
        ),
        frame=frame if library_of(frame) else None,
    )  # fmt: skip
    named = {
        place: replace(result.clusters[place], name=group)
        for place, group in enumerate(groups)
        if isinstance(group, str)
    }
    numbers = [place if isinstance(group, str) else group for place, group in enumerate(groups)]
    correct = embedded.weights[labels_by(embedded.vectors, fitted.rule) == codes].sum() / embedded.weights.sum()
    result = replace(
        result, clusters=with_names(result.clusters, numbers, named), next_label=_next_label(given.values, numbers),
        notes=(*result.notes, *notes_on_labels(unlabeled, n_other, float(correct))),
    )  # fmt: skip
    result = with_details(result if name_with is None else result.name(name_with), details, wanted.every, notes)
    tell("describing", 1, 1)
    return result


class GivenLabels(NamedTuple):
    """The group of each row as a position in `values`, -1 for none; the values are labels, ascending, or names."""

    codes: NDArray[np.intp]
    values: list[int] | list[str]


def read_labels(labels: Labels, texts: Texts, n_rows: int) -> GivenLabels:
    """Take in a label for each row, or the name of a column that holds them."""
    if isinstance(labels, str):
        if not isinstance(texts, TextTable):
            raise UserError(f"labels={labels!r} names a column of a data frame, but texts is not one; give the labels.")
        values = column_values(texts.table, labels)
    else:
        values = list(as_values(labels, "labels"))
    if len(values) != n_rows:
        raise UserError(f"There are {n_rows:,} texts but {len(values):,} labels; give one label per text.")
    given = [_as_label(value, row) for row, value in enumerate(values)]
    present = dict.fromkeys(label for label in given if label is not None)
    if not present:
        raise UserError(f"None of the {n_rows:,} texts has a label: all are missing, blank or negative.")
    if all(isinstance(label, int) for label in present):
        numbers = sorted(label for label in present if isinstance(label, int))
        code_of: dict[int | str | None, int] = {label: code for code, label in enumerate(numbers)}
        return GivenLabels(np.array([code_of.get(label, -1) for label in given], np.intp), numbers)
    names = list(dict.fromkeys(map(str, present)))
    code_of = {name: code for code, name in enumerate(names)}
    codes = [-1 if label is None else code_of[str(label)] for label in given]
    return GivenLabels(np.array(codes, np.intp), names)


def _as_label(value: object, row: int) -> int | str | None:
    """Return a label as a whole number or a name; None if it means no group. A string of digits is a number."""
    if isinstance(value, str):
        name = " ".join(without_surrogates(value).split())
        if not _WHOLE.fullmatch(name):
            check_name_length(name, f"labels, row {row}: ")
            return name or None
        value = int(name)
    if isinstance(value, np.generic):
        value = value.item()
    if is_missing(value):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _as_label(str(value), row)
    number = int(value) if abs(value) < np.inf else LARGEST_LABEL + 1
    if number > LARGEST_LABEL:
        raise UserError(f"The label of row {row} is {value!r}, which is too large; number the groups from 0.")
    if number != value:
        raise UserError(f"The label of row {row} is {value!r}; a label is a whole number or a name.")
    return number if number >= 0 else None


def majority_codes(texts: NDArray[np.intp], groups: NDArray[np.intp]) -> tuple[NDArray[np.intp], int]:
    """Return the most frequent group of each distinct text, the first one of several, and how many rows have another.

    `texts` has the distinct text of each row, -1 for rows that do not count, and `groups` its group.
    """
    counting = np.flatnonzero(texts >= 0)
    pairs, first, counts = np.unique(
        np.column_stack([texts[counting], groups[counting]]), axis=0, return_index=True, return_counts=True
    )
    best = np.lexsort((first, -counts, pairs[:, 0]))
    ordered = pairs[best]
    chosen = np.r_[True, ordered[1:, 0] != ordered[:-1, 0]]
    return ordered[chosen, 1], int(counts[best][~chosen].sum())


def numbered_groups(
    codes: NDArray[np.intp], weights: NDArray[np.float64], values: Sequence[int | str]
) -> tuple[NDArray[np.intp], list[int | str]]:
    """Return codes from 0 for the groups that have a text, and the values of these: labels ascend, names go by size."""
    filled, codes = np.unique(codes, return_inverse=True)
    kept = [values[code] for code in filled.tolist()]
    if isinstance(kept[0], int):
        return codes, kept
    codes, order = largest_first(codes, np.bincount(codes, weights))
    return codes, [kept[place] for place in order.tolist()]


def fit_to_labels(X: NDArray[np.floating], codes: NDArray[np.intp], k: int, random_state: RandomState) -> Clusters:
    """Return given clusters of the rows with the rule that tells them apart, the tree around them and their score."""
    tree, leaves = tree_of_clusters(X, codes)
    rule = separate_clusters(X, None, codes, k)
    cohesion = report_if_defined(X, codes, k, random_state=make_seed(random_state))
    return Clusters(codes, rule.directions, rule, tree=tree, leaves=leaves, cohesion=cohesion)


def notes_on_labels(n_unlabeled: int, n_other: int, correct: float) -> list[str]:
    """Return notes on rows without a label, on texts with several labels, and on groups that are hard to tell apart."""
    notes = []
    if n_unlabeled:
        notes.append(f"{plural(n_unlabeled, 'text has no label, and no group', 'texts have no label, and no group')}.")
    if n_other:
        have = plural(n_other, "row has another label", "rows have another label")
        notes.append(f"{have} than most rows with the same text; each text is in the group of most of its rows.")
    if correct < RELIABLE:
        notes.append(
            f"By their vectors, {100 * correct:.0f}% of the texts fall into their own group; new texts are placed no "
            "better than that."
        )
    return notes


def _next_label(values: Sequence[int | str], numbers: Sequence[int]) -> int:
    """Return a label that no group has or had, not even one whose texts do not count."""
    return 1 + max([*numbers, *(value for value in values if isinstance(value, int))])
