"""Describe clusters: keywords, typical texts and a name for each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays.engine import Folded, fold_blocks, map_rows
from ..arrays.rows import scaled_rows, sum_by_code, take_units
from ..validation import check_embeddings, check_whole_number
from .keywords import Keyword, rank_keywords
from .words import clean_text

CENTRAL = 50
"""Number of most central distinct texts from which the representatives are chosen."""

TYPICAL = 0.7
"""Weight of similarity to the centre in that choice; the rest is the weight of being different from each other."""

MAX_NAME = 48
"""Maximum length of a name of several keywords, in characters."""

KEYWORDS_IN_NAME = 3
SEPARATOR = " / "
"""A name has at most so many keywords, with this between them."""


@dataclass(frozen=True)
class Topic:
    """The description of one cluster.

    Attributes
    ----------
    label : int
        The label of the cluster.
    size : int
        The number of rows in the cluster.
    keywords : tuple of str
        Words and two-word phrases that distinguish the cluster, the best first.
    representatives : tuple of int
        The positions of typical texts that differ from each other, the most typical first.
    name : str
        Up to three keywords, or a typical text if there are none. Unique among the topics.

    Examples
    --------
    >>> Topic(label=0, size=2, keywords=("refund",), representatives=(1, 0), name="refund").size
    2
    """

    label: int
    size: int
    keywords: tuple[str, ...]
    representatives: tuple[int, ...]
    name: str


def describe_clusters(
    texts: Sequence[str],
    X: ArrayLike,
    labels: ArrayLike,
    *,
    n_keywords: int = 10,
    n_representatives: int = 5,
) -> list[Topic]:
    """Describe each cluster by keywords, typical texts and a name.

    Keywords are ranked by class-based TF-IDF: the share of the cluster's texts that contain the word or two-word
    phrase, times the logarithm of the ratio of this share to the mean share over all clusters. Forms of a word, such
    as "refund" and "refunds", count as one keyword, which is shown in its most frequent form. Stop words are left
    out, and so are keywords that only repeat words of better ones. At most 2,000 texts per cluster are counted (fewer
    with more than 150 clusters), and 1,000 characters per text.

    Representatives are chosen by maximal marginal relevance: texts near the centre of the cluster that differ from
    each other. The result is deterministic.

    Returns one topic per label that occurs, in ascending order. Texts with the label -1 are ignored. A memory map is
    read twice, block by block.

    Examples
    --------
    >>> import numpy as np
    >>> texts = ["Where is my refund?", "refund please", "The app crashes", "app crashes again"]
    >>> topics = describe_clusters(texts, np.eye(4), np.array([0, 0, 1, 1]))
    >>> [topic.name for topic in topics]
    ['refund', 'app crashes']
    """
    X = check_embeddings(X, minimum=1)
    texts = _check_texts(texts, len(X))
    codes = _check_codes(labels, len(X))
    n_keywords = check_whole_number("n_keywords", n_keywords, low=1)
    n_representatives = check_whole_number("n_representatives", n_representatives, low=1)
    members = _members(codes)
    keywords = rank_keywords(texts, list(members.values()), max(n_keywords, 10))
    typical = _representatives(texts, X, codes, members, n_representatives)
    names = _names(keywords, [clean_text(texts[rows[0]], limit=MAX_NAME) for rows in typical], list(members))
    return [
        Topic(label, len(rows), tuple(word.text for word in words[:n_keywords]), tuple(chosen), name)
        for (label, rows), words, chosen, name in zip(members.items(), keywords, typical, names, strict=True)
    ]


def unique_name(name: str, taken: Iterable[str]) -> str:
    """Return `name`, followed by a number if it is taken; case does not matter.

    Examples
    --------
    >>> unique_name("Refund", ["refund", "refund (2)"])
    'Refund (3)'
    """
    used = {other.casefold() for other in taken}
    number, candidate = 1, name
    while candidate.casefold() in used:
        number += 1
        candidate = f"{name} ({number})"
    return candidate


def _check_texts(texts: Sequence[str], n_rows: int) -> Sequence[str]:
    if isinstance(texts, str):
        raise TypeError("texts is a single string; it must be a sequence of texts, one per row of X.")
    texts = texts if isinstance(texts, list | tuple) else list(texts)
    if len(texts) != n_rows:
        raise ValueError(f"texts has {len(texts):,} entries but X has {n_rows:,} rows; they must be equally many.")
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"texts has {type(text).__name__} {text!r} at row {row}; every text must be a str.")
    return texts


def _check_codes(labels: ArrayLike, n_rows: int) -> NDArray[np.intp]:
    codes = np.asarray(labels)
    if codes.shape != (n_rows,) or codes.dtype.kind not in "iu":
        raise ValueError(
            f"labels must be {n_rows:,} whole numbers, one per row of X, but it is an array of {codes.dtype} of shape "
            f"{codes.shape}."
        )
    codes = codes.astype(np.intp, copy=False)
    low, high = int(codes.min()), int(codes.max())
    if low < -1 or high >= n_rows:
        wrong = low if low < -1 else high
        raise ValueError(f"labels has {wrong}; clusters are numbered 0, 1, 2, ..., and -1 stands for no cluster.")
    return codes


def _members(codes: NDArray[np.intp]) -> dict[int, NDArray[np.intp]]:
    """Return the rows of each cluster, by label."""
    order = np.argsort(codes, kind="stable")
    labels, starts = np.unique(codes[order], return_index=True)
    parts = np.split(order, starts[1:])
    return {int(label): rows for label, rows in zip(labels, parts, strict=True) if label >= 0}


def _names(keywords: list[list[Keyword]], examples: list[str], labels: list[int]) -> list[str]:
    """Return a name for each cluster: its best keywords, or the beginning of its most typical text."""
    names: list[str] = []
    for words, example, label in zip(keywords, examples, labels, strict=True):
        names.append(choose_name(words, example or f"group {label}", names))
    return names


def choose_name(keywords: Sequence[Keyword], example: str, taken: Iterable[str]) -> str:
    """Return a name that is not taken: the best keywords, or the example if there are none."""
    taken = list(taken)
    used = {name.casefold() for name in taken}
    short = _readable(keywords)
    more = [keyword.text for keyword in keywords if keyword.text not in short]
    options = [SEPARATOR.join([*short, *more[:n]]) for n in range(len(more) + 1)] if short else []
    free = (name for name in options if name.casefold() not in used)
    return next(free, "") or unique_name(options[0] if options else example, taken)


def _readable(keywords: Sequence[Keyword]) -> list[str]:
    """Return the first keywords that have no word in common and are short enough together."""
    chosen: list[str] = []
    seen: set[str] = set()
    for text, stems in keywords:
        if seen.isdisjoint(stems) and (not chosen or len(SEPARATOR.join([*chosen, text])) <= MAX_NAME):
            chosen.append(text)
            seen |= stems
        if len(chosen) == KEYWORDS_IN_NAME:
            break
    return chosen


def _representatives(
    texts: Sequence[str], X: NDArray[Any], codes: NDArray[np.intp], members: dict[int, NDArray[np.intp]], n: int
) -> list[list[int]]:
    if not members:
        return []
    n_codes = max(members) + 1

    def clustered(first_row: int, part: NDArray[Any], code: NDArray[np.intp]) -> tuple[NDArray[Any], ...]:
        kept = np.flatnonzero(code >= 0)  # the others may be zero
        return kept, *scaled_rows(part[kept], first_row=first_row + kept), code[kept]

    def sums(*block: Any) -> Folded:
        _, rows, scale, code = clustered(*block)
        return Folded((sum_by_code(rows, code, n_codes, scale).astype(np.float64),))

    (centers,) = fold_blocks(sums, X, codes).statistics
    # Opposite rows can cancel out to zero; any direction will do then.
    centers /= np.maximum(np.linalg.norm(centers, axis=1, keepdims=True), np.finfo(np.float64).tiny)
    directions = centers.astype(np.float32)

    def cosines(*block: Any) -> NDArray[np.float32]:
        kept, rows, scale, code = clustered(*block)
        found = np.full(len(block[-1]), -2, np.float32)
        found[kept] = np.einsum("ij,ij->i", rows, directions[code]) * scale
        return found

    typicality = map_rows(cosines, X, codes, dtype=np.float32)
    ordered = (rows[np.argsort(-typicality[rows], kind="stable")] for rows in members.values())
    return [typical_rows(texts, X, rows, typicality, n) for rows in ordered]


def typical_rows(
    texts: Sequence[str], X: NDArray[Any], ordered: NDArray[np.intp], cosines: NDArray[np.float32], n: int
) -> list[int]:
    """Choose typical rows by maximal marginal relevance: near the centre, and different from those chosen before.

    `ordered` are the rows of a cluster, the nearest to its centre first; `cosines` has the cosine of each row with it.
    """
    central = _distinct(texts, ordered, max(CENTRAL, n))
    units = take_units(X, central)
    likeness = np.full(len(central), -1, np.float32)
    relevance = TYPICAL * cosines[central]
    chosen: list[int] = []
    for _ in range(min(n, len(central))):
        gain = relevance - (1 - TYPICAL) * likeness
        gain[chosen] = -np.inf
        best = int(gain.argmax())
        chosen.append(best)
        likeness = np.maximum(likeness, units @ units[best])
    return [int(row) for row in central[chosen]]


def _distinct(texts: Sequence[str], ordered: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Return the first `n` rows with distinct texts; a row with an empty text only if there is no other."""
    rows: dict[str, int] = {}
    for row in ordered.tolist():
        key = clean_text(texts[row]).casefold()
        if key:
            rows.setdefault(key, row)
        if len(rows) == n:
            break
    return np.array(list(rows.values()) or ordered[:1], np.intp)
