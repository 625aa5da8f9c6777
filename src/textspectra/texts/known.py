"""Known groups: a user has their names and a few examples; they get their texts, and the rest is grouped as usual."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..core.clusters import Clusters
from ..core.cohesion import report_if_defined
from ..core.discriminants import DISCRIMINANT_PASSES, separate_clusters
from ..core.kmeans import directions_of, labels_by
from ..core.rows import nonzero_rows, sum_by_code, take_units
from ..core.validation import Level, check_n_clusters
from ..embedding.base import Backend
from ..embedding.cache import EmbeddingCache
from ..embedding.embed import embed_texts
from ..errors import UserError
from ..hygiene import plural
from ..words.ignore import Ignored
from ..words.languages import plain_text
from .clustered import ClusteredTexts, check_cluster_name
from .corpus import EmbeddedTexts
from .grouping import mean_vectors, with_names

Examples = Mapping[str, Iterable[str]]
Fit = Callable[[NDArray[np.floating], NDArray[np.float64], int | Level], Clusters]
"""Groups rows of given weights: into a number of clusters, or at a level of the estimate."""

KNOWN = "known"  # entry of a recipe: the names and examples of the known groups, as JSON
_USUAL = 0.8  # share of texts as near to examples of their own group as a text must be (``benchmarks/known.md``)
_MOST, _FEW = 0.5, 0.3  # share of a found group near to a known one: all of it joins, or none below
_TRIALS, _MOST_EXAMPLES = 1000, 20  # texts, and examples for each of them, by which that is measured

Result = TypeVar("Result", bound=ClusteredTexts)


class KnownGroups(NamedTuple):
    """Names of groups that a user knows, the examples of all of them, and the position of each example's group."""

    names: list[str]
    texts: list[str]
    codes: NDArray[np.intp]
    units: NDArray[np.float32] = np.zeros((0, 0), np.float32)  # unit vectors of the examples

    @classmethod
    def of(cls, known: Examples) -> KnownGroups:
        """Check what the user gave; blank examples are left out."""
        if not isinstance(known, Mapping) or not known:
            raise UserError('known must map names to examples, such as {"refund": ["where is my refund"]}.')
        group_of: dict[str, str] = {}
        for name, examples in known.items():
            check_cluster_name(name)
            texts: list[Any] = (
                [None] if isinstance(examples, str) or not isinstance(examples, Iterable) else list(examples)
            )
            if not all(isinstance(text, str) for text in texts):
                raise UserError(f"The examples of the known group {name!r} must be a list of texts.")
            filled = [text for text in texts if text.strip()]
            if not filled:
                raise UserError(f"The known group {name!r} has no example; give at least one text.")
            for text in filled:
                other = group_of.setdefault(text, name)
                if other != name:
                    raise UserError(f"{text!r} is an example of two known groups, {other!r} and {name!r}; choose one.")
        names = list(known)
        return cls(names, list(group_of), np.array([names.index(name) for name in group_of.values()], np.intp))

    def embedded(self, model: Backend, ignore: Sequence[str] = (), *, cache: EmbeddingCache | bool) -> KnownGroups:
        """Embed the examples as the texts were embedded: without the words to ignore."""
        read = list(map(Ignored.of(ignore).apply, self.texts)) if ignore else self.texts
        X = embed_texts([plain_text(text) for text in read], model, cache=cache)
        usable = np.flatnonzero(nonzero_rows(X) & np.array([bool(text.strip()) for text in read]))
        for position in np.setdiff1d(np.arange(len(self.names)), self.codes[usable]):
            left = " after --ignore" if ignore else ""
            raise UserError(
                f"The model knows no word in the examples of the known group {self.names[position]!r}{left}."
            )
        texts = [self.texts[row] for row in usable]
        return KnownGroups(self.names, texts, self.codes[usable], take_units(X, usable))

    def as_json(self) -> str:
        """Return names and examples as a recipe keeps them."""
        members = {name: np.flatnonzero(self.codes == code) for code, name in enumerate(self.names)}
        examples = {name: [self.texts[row] for row in rows] for name, rows in members.items()}
        return json.dumps(examples, ensure_ascii=False)


def group_around(
    known: KnownGroups, texts: EmbeddedTexts, fit: Fit, n_clusters: int | Level
) -> tuple[Clusters, NDArray[np.intp]]:
    """Give known groups their texts, and group the rest; also return the labels of the groups, in their order.

    A text that is near enough to the examples of a known group belongs to it for now. The other texts are grouped, and
    then one rule lets all groups compete for all texts, so a text may still leave a known group or join one. An int
    for `n_clusters` counts the known groups: if it asks for no other group, each text goes to the nearest known one.

    Known groups are labeled in the order given, and the others after them, the largest first. A group that gets no
    text is left out.
    """
    n_known, weights = len(known.names), texts.weights
    if not len(texts.counting):
        raise UserError("The model could represent none of the texts (all vectors are zero); try another model.")
    n_clusters = check_n_clusters(n_clusters, len(texts.counting), "There are {:,} different texts.")
    if isinstance(n_clusters, int) and n_clusters < n_known:
        raise UserError(f"{n_clusters:,} clusters were asked for, but the {n_known:,} known groups count, too.")
    units = take_units(texts.X, texts.counting)
    # An example that is one of the texts stays where the user put it.
    code_of = dict(zip(known.texts, known.codes.tolist(), strict=True))
    given = np.array([code_of.get(texts.corpus.distinct[row], -1) for row in texts.counting], np.intp)
    codes = _near_known(known, units, None if n_clusters == n_known else fit(units, weights, "auto").labels)
    codes = np.where(given >= 0, given, codes)
    rest = np.flatnonzero(codes < 0)
    if len(rest):
        wanted = min(n_clusters - n_known, len(rest)) if isinstance(n_clusters, int) else n_clusters
        codes[rest] = n_known + np.asarray(fit(units[rest], weights[rest], wanted).labels)[: len(rest)]
    # A known group without texts does not compete: it would get those that are unlike all others.
    filled, codes = np.unique(codes, return_inverse=True)
    taught = np.flatnonzero(np.isin(known.codes, filled))
    both = np.concatenate([known.units[taught], units])
    all_codes = np.concatenate([np.searchsorted(filled, known.codes[taught]), codes])
    rule = separate_clusters(both, None, all_codes, len(filled), n_passes=DISCRIMINANT_PASSES)
    codes = filled[np.where(given >= 0, np.searchsorted(filled, given), labels_by(units, rule))]
    sizes = np.bincount(codes, weights, filled[-1] + 1)
    order = np.append(filled[filled < n_known], n_known + np.argsort(-sizes[n_known:], kind="stable"))
    order = order[sizes[order] > 0]
    labels = np.where(order < n_known, order, n_known + np.arange(len(order)) - (order < n_known).sum())
    codes = np.argsort(np.append(order, np.setdiff1d(np.arange(len(sizes)), order)))[codes]
    centers = mean_vectors(texts, texts.scatter(codes, -1), len(order))
    cohesion = report_if_defined(units, codes, len(order), random_state=0)
    return Clusters(codes, centers, rule.numbered(np.searchsorted(filled, order)), cohesion=cohesion), labels


def _near_known(known: KnownGroups, units: NDArray[np.float32], clusters: NDArray[np.intp] | None) -> NDArray[np.intp]:
    """Return the nearest known group of each unit row; -1 if it is farther than rows of the `clusters` are.

    Seen from the mean of the rows, the cosine with the sum of the examples counts. How high it must be is measured on
    clusters that were found without known groups: there, random rows of a cluster are the examples for another row.
    If most rows of a found cluster are near to a known group, its other rows join them; if only a few are, they stay
    with the others.
    """
    mean = units.mean(axis=0)
    rows, examples = (directions_of(part - mean, np.zeros_like(part)) for part in (units, known.units))
    sums = sum_by_code(examples, known.codes, len(known.names), np.ones(len(examples), np.float32))
    cosines = rows @ directions_of(sums, sums).T
    codes: NDArray[np.intp] = cosines.argmax(axis=1)
    if clusters is None:
        return codes
    clusters = np.asarray(clusters)[: len(rows)]
    numbers, of_group = np.unique(np.bincount(known.codes), return_inverse=True)
    enough = np.array([_usual_cosine(rows, clusters, int(n)) for n in numbers])[of_group]
    codes = np.where(cosines.max(axis=1) >= enough[codes], codes, -1)
    near = np.zeros((int(clusters.max()) + 1, len(known.names) + 1))
    np.add.at(near, (clusters, codes), 1)  # rows that are not near are counted in the last column
    share = (near / near.sum(axis=1, keepdims=True))[:, :-1]
    joins, stays = share.max(axis=1) >= _MOST, share[clusters, np.maximum(codes, 0)] >= _FEW
    return np.where(
        (codes >= 0) & stays, codes, np.where((codes < 0) & joins[clusters], share.argmax(axis=1)[clusters], -1)
    )


def _usual_cosine(rows: NDArray[np.float32], clusters: NDArray[np.intp], n_examples: int) -> float:
    """Return the cosine that most rows reach with the sum of random other rows of their cluster."""
    order, sizes = np.argsort(clusters, kind="stable"), np.bincount(clusters)
    starts, rng = np.cumsum(sizes) - sizes, np.random.default_rng(0)
    places = rng.permutation(np.flatnonzero(sizes[clusters[order]] > 1))[:_TRIALS]  # among the ordered rows
    if not len(places):  # nothing shows how near is near, so only examples that are among the texts join
        return np.inf
    first, n_others = (part[clusters[order[places]], None] for part in (starts, sizes - 1))
    drawn = first + (rng.random((len(places), min(n_examples, _MOST_EXAMPLES))) * n_others).astype(np.intp)
    drawn += drawn >= places[:, None]  # a row is not an example for itself
    sums = rows[order[drawn]].sum(axis=1)
    cosines = np.einsum("ij,ij->i", directions_of(sums, np.zeros_like(sums)), rows[order[places]])
    return float(np.quantile(cosines, 1 - _USUAL))


def with_known(result: Result, known: KnownGroups, labels: NDArray[np.intp]) -> Result:
    """Give the groups of a result their labels, and known groups their names; notes say what known groups got."""
    n_known = len(known.names)
    kept = {
        place: replace(result.clusters[place], name=known.names[label])
        for place, label in enumerate(labels.tolist())
        if label < n_known
    }
    clusters = with_names(result.clusters, labels.tolist(), kept)
    n_texts = sum(cluster.size for cluster in clusters if cluster.label < n_known)
    n_others = len(labels) - len(kept)
    rest = f"the rest in {plural(n_others, 'group')} found beside them" if n_others else "no other group"
    notes = [f"{plural(n_texts, 'text')} in {plural(len(kept), 'known group')}, and {rest}."] if kept else []
    filled = {cluster.name for cluster in kept.values()}
    empty = [repr(name) for name in known.names if name not in filled]
    if empty:
        notes.append(f"No text belongs to {plural(len(empty), 'known group')}: {', '.join(empty)}.")
    return replace(
        result, clusters=clusters, next_label=n_known + int((labels >= n_known).sum()),
        notes=(*result.notes, *notes), recipe={**result.recipe, KNOWN: known.as_json()},
    )  # fmt: skip
