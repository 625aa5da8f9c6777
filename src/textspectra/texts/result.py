"""What can be done with a result: predict, rename, merge, cut, save, load."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.clusters import cut_rule
from ..core.cohesion import report_if_defined
from ..core.discriminants import separate_clusters
from ..core.estimate_views import levels_html
from ..core.kmeans import LinearRule, same_clusters
from ..core.rows import cluster_sums
from ..core.validation import Level, check_n_clusters, check_whole_number
from ..embedding.cache import EmbeddingCache
from ..embedding.registry import as_backend
from ..embedding.server import OpenAIServer
from ..errors import UserError
from ..tables.frames import as_table, is_data_frame
from ..words.describe import Cluster, name_clusters
from .checking import listed, numbered, renamed
from .clustered import EDITED, ClusteredTexts, Theme, build_hierarchy
from .comparison import Comparison, compare_texts, updated
from .corpus import EmbeddedTexts, embed_corpus
from .history import check_not_taken_in, content_digest
from .placing import describe_embedded, mean_vectors, place_texts, similarity_to_clusters, with_names
from .storage import load_fields, save_clustering, texts_table
from .tally import Tally, tally_rows

if TYPE_CHECKING:
    from ..core.estimate import SuggestionName
    from ..embedding.registry import Model
    from .corpus import Texts

LARGEST = 10
"""Groups in the table."""

N_KEYWORDS = 6

SANDBOX = "allow-scripts allow-downloads"
"""What the report may do inside a notebook: run, and save files. It cannot reach the notebook around it."""


def result_html(result: TextClustering) -> str:
    """Return a result as HTML: its size, the number of groups with the levels, and the largest groups."""
    totals = result.totals
    texts = f"{totals.rows:,}" if totals.grouped == totals.rows else f"{totals.grouped:,} of {totals.rows:,}"
    ratio = f", Cohesion Ratio {result.cohesion.ratio:.2f}" if result.cohesion else ""
    clusters = "group" if result.n_clusters == 1 else "groups"
    parts = [f"<b>{result.n_clusters:,} {clusters}</b> in {texts} texts{ratio}"]
    if result.k_estimate is not None and len(result.k_estimate.suggestions) > 1:
        parts.append(levels_html(result.k_estimate.suggestions, result.n_clusters))
    parts += [f"<i>{escape(note)}</i>" for note in result.notes]
    largest = sorted(result.clusters, key=lambda cluster: -cluster.size)[:LARGEST]
    cells = [
        [cluster.label, cluster.name, f"{cluster.size:,}", f"{cluster.size / max(1, totals.grouped):.1%}",
         " · ".join(cluster.keywords[:N_KEYWORDS])]
        for cluster in largest
    ]  # fmt: skip
    head = "".join(f"<th>{name}</th>" for name in ("cluster", "name", "size", "share", "keywords"))
    rows = "".join(
        "<tr>" + "".join(f'<td dir="auto" style="text-align: left">{escape(str(cell))}</td>' for cell in row) + "</tr>"
        for row in cells
    )
    parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")
    if result.n_clusters > LARGEST:
        parts.append(f"and {result.n_clusters - LARGEST:,} smaller; <code>show()</code> has all of them")
    return "".join(f"<div>{part}</div>" for part in parts)


def framed(page: str, height: int) -> str:
    """Put a page into a frame of its own, from which it cannot reach the page around it."""
    style = f"width: 100%; height: {height}px; border: 0"
    return f'<iframe title="textspectra report" sandbox="{SANDBOX}" style="{style}" srcdoc="{escape(page)}"></iframe>'


class Described(NamedTuple):
    """Groups of the texts of a result: the position of each distinct text's group, and the rest for each group."""

    codes: NDArray[np.intp]
    centers: NDArray[np.float32]
    similarity: NDArray[np.float32]
    clusters: tuple[Cluster, ...]


class TextClustering(ClusteredTexts):
    """Texts, their groups, and what can be done with them.

    It is made by :func:`cluster_texts` and never changes: :meth:`rename`, :meth:`merge` and
    :meth:`cut` return a new one.

    Attributes
    ----------
    corpus : Corpus
        The texts. For many files it may be a sample of them.
    totals : Totals
        How many rows the input has, and how many of them are blank or unknown to the model.
    distinct_codes, distinct_similarity : ndarray
        The cluster of each distinct text as its position in `clusters` (-1: none), and its similarity to the center.
        `labels` and `similarity` have one entry per row.
    centers : ndarray of shape (n_clusters, d)
        Mean of the unit vectors of each cluster.
    rule : LinearRule
        What assigns new texts to clusters.
    clusters : tuple of Cluster
        Label, name, size, keywords and typical rows of each cluster, by ascending label. A label never changes its
        meaning and is never given to another cluster.
    next_label : int
        The label that the next new cluster gets.
    cohesion : CohesionReport or None
        Of the distinct texts; None if there is only one, or if no two of them are alike.
    k_estimate : KEstimate or None
        What the data says about the number of clusters, also if another number was given; None after an update.
    algorithm : str
        "kmeans" or "hac".
    source : EmbeddingSource
        What made the embeddings.
    hierarchy : Hierarchy or None
        The merge tree around the clusters; None after an update, until :meth:`with_hierarchy` builds one.
    reference : Reference or None
        The sample of vectors that new texts are compared with, if it was loaded or updated.
    history : tuple of Update
        The files that :meth:`update` took in, and what changed.
    themes : tuple of Theme
        The groups of the coarse level, each with its clusters; empty if there is no level coarser than the clusters.
    recipe : dict
        How the result was made: the command or call, the seed, the date, `model_reason` if the model was "auto", and
        `applied`, a mark of edits that were made in a report.
    notes : tuple of str
        What to know before relying on the groups, such as languages that the model does not know.
    languages : dict of str to float
        The share of the texts that are clearly in each language.
    encoder : Backend or None
        The model, if it is in memory.
    cache : EmbeddingCache or bool
        Where vectors are looked up and kept.
    known_embeddings : ndarray or None
        The vectors of the distinct texts, if they are in memory.
    frame : data frame, series or None
        What the texts came in.
    details : Details or None
        The dates, segments and shown columns of the rows.
    tally : Tally or None
        How many texts each group has in each period and segment.

    Examples
    --------
    >>> import textspectra as ts
    >>> texts = ["where is my parcel", "my parcel is late", "reset my password", "password forgotten"]
    >>> X = [[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9]]
    >>> result = ts.cluster_texts(texts, embeddings=X, n_clusters=2)
    >>> result
    4 texts in 2 groups, Cohesion Ratio 2.46
    """

    @overload
    def predict(
        self, texts: Texts, *, text_column: str | None = ..., embeddings: ArrayLike | None = ...,
        return_similarity: Literal[False] = ..., cache: EmbeddingCache | bool = ...,
    ) -> NDArray[np.intp]: ...  # fmt: skip

    @overload
    def predict(
        self, texts: Texts, *, text_column: str | None = ..., embeddings: ArrayLike | None = ...,
        return_similarity: Literal[True], cache: EmbeddingCache | bool = ...,
    ) -> tuple[NDArray[np.intp], NDArray[np.float32]]: ...  # fmt: skip

    def predict(
        self, texts: Texts, *, text_column: str | None = None, embeddings: ArrayLike | None = None,
        return_similarity: bool = False, cache: EmbeddingCache | bool = True,
    ) -> NDArray[np.intp] | tuple[NDArray[np.intp], NDArray[np.float32]]:  # fmt: skip
        """Return the cluster of new texts; -1 for a blank text or one that the model cannot represent.

        Parameters
        ----------
        texts : sequence or series of str, or data frame
            New texts, as in :func:`cluster_texts`.
        text_column : str, optional
            The column of a data frame that holds the texts.
        embeddings : array-like of shape (n, d), optional
            Their embeddings; needed if the clustering was made from given ones.
        return_similarity : bool, default=False
            Return the cosine of each text with the center of its cluster too; NaN if it has no cluster.
        cache : bool or EmbeddingCache, default=True
            Whether embeddings are kept on disk.

        Returns
        -------
        labels : ndarray of int, shape (n,)
        similarity : ndarray of float32, shape (n,)
            Only with ``return_similarity=True``.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(["a b", "x y"], embeddings=[[1, 0], [0, 1]], n_clusters=2)
        >>> result.predict(["x z", ""], embeddings=[[0.2, 1], [0, 0]]).tolist() == [result.labels[1], -1]
        True
        """
        placed = place_texts(self, texts, text_column=text_column, embeddings=embeddings, cache=cache)
        for note in placed.notes:
            warnings.warn(note, stacklevel=2)
        labels = placed.texts.corpus.spread(self.labels_of(placed.codes), -1)
        if not return_similarity:
            return labels
        similarity = similarity_to_clusters(placed.texts, placed.codes, self.centers)
        return labels, placed.texts.corpus.spread(similarity, np.nan)

    def rename(self, label: int | Mapping[int, str], name: str | None = None) -> TextClustering:
        """Give a cluster another name, or several: ``rename(3, "refunds")``, ``rename({3: "refunds", 5: "login"})``.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(["a b", "x y"], embeddings=[[1, 0], [0, 1]], n_clusters=2)
        >>> [cluster.name for cluster in result.rename({0: "first", 1: "second"}).clusters]
        ['first', 'second']
        """
        given: Mapping[int, Any] = label if isinstance(label, Mapping) else {label: name}
        for one in given:
            self.position(one)
        return replace(self, clusters=renamed(self.clusters, given))

    def merge(self, *labels: int | Iterable[int]) -> TextClustering:
        """Make one cluster of two or more: ``merge(3, 7)`` or ``merge([3, 7, 9])``.

        It keeps the label and the name of the first one. The labels of the others are not given to new clusters.

        Examples
        --------
        >>> import textspectra as ts
        >>> X = [[1, 0], [0.7, 0.7], [0, 1]]
        >>> result = ts.cluster_texts(["a b", "m n", "x y"], embeddings=X, n_clusters=3)
        >>> result.merge(1, 0).labels
        array([1, 1, 2])
        """
        chosen = [one for some in labels for one in (some if isinstance(some, Iterable) else [some])]
        positions = [self.position(one) for one in chosen]
        if len(set(chosen)) < len(chosen):
            twice = next(one for one in chosen if chosen.count(one) > 1)
            raise UserError(f"Cluster {twice} cannot be merged with itself.")
        if len(chosen) < 2:
            raise UserError("merge needs two clusters or more.")
        merged = np.where(np.isin(self.distinct_codes, positions), positions[0], self.distinct_codes)
        left = sorted(set(range(self.n_clusters)) - set(positions[1:]))
        codes = np.append(np.searchsorted(left, np.arange(self.n_clusters)), -1)[merged]
        return self.regroup(codes, {left.index(positions[0]): positions[0]})

    def cut(self, n_clusters: int | Level) -> TextClustering:
        """Cut the merge tree at another number of clusters, or at a level: "coarse", "suggested" or "fine".

        It is built around the groups: fewer clusters are groups merged, more are groups split. A cluster whose texts
        stay the same keeps its label and its name. The others get new labels, the largest cluster first.
        The groups and names of a level are the same as in the report, and with this `n_clusters` in
        :func:`cluster_texts`.

        Examples
        --------
        >>> import textspectra as ts
        >>> X = [[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9]]
        >>> result = ts.cluster_texts(["a", "b", "c", "d"], embeddings=X, algorithm="hac", n_clusters=2)
        >>> result.cut(3).n_clusters
        3
        """
        base = self.with_hierarchy()
        assert base.hierarchy is not None  # noqa: S101 - for the type checker
        asked = check_n_clusters(n_clusters, base.hierarchy.tree.n_leaves, "The tree has {:,} leaves.")
        if isinstance(asked, str):
            if self.k_estimate is None:
                raise UserError("The levels of this result are not known any more; cut it into a number of clusters.")
            asked = self.k_estimate.at(asked)
        return replace(base.regroup(base.hierarchy.cut(asked)), recipe=self.recipe).with_themes()

    def level_clusters(self) -> dict[SuggestionName, tuple[NDArray[np.intp], tuple[Cluster, ...]]]:
        """Return the groups at the other levels: the position of each distinct text's group, and the groups.

        Examples
        --------
        >>> import numpy as np, textspectra as ts
        >>> X = np.repeat(np.eye(8), 20, axis=0) + np.random.default_rng(0).normal(0, 0.01, (160, 8))
        >>> result = ts.cluster_texts([f"text {i}" for i in range(160)], embeddings=X)
        >>> codes, clusters = result.level_clusters()["coarse"]
        >>> len(clusters) < result.n_clusters
        True
        """
        base = self.with_hierarchy()
        if base.hierarchy is None or base.k_estimate is None:
            return {}
        levels = {one.name: one.k for one in base.k_estimate.suggestions if one.k <= base.hierarchy.tree.n_leaves}
        found = {name: base._describe(base.hierarchy.cut(k)) for name, k in levels.items() if k != self.n_clusters}
        return {name: (clusters.codes, clusters.clusters) for name, clusters in found.items()}

    def with_themes(self) -> TextClustering:
        """Return the same result with the themes of its clusters, if there is a level coarser than these."""
        coarse = [one.k for one in self.k_estimate.suggestions if one.name == "coarse"] if self.k_estimate else []
        if self.hierarchy is None or not coarse or coarse[0] >= self.n_clusters:
            return replace(self, themes=())
        codes = numbered(self.hierarchy.cut(coarse[0]), self.corpus.counts, {}, 0)[0]
        clusters = self._describe(codes)
        pairs = np.unique(np.column_stack([codes, clusters.codes, self.distinct_codes])[codes >= 0], axis=0).tolist()
        themes: dict[int, Theme] = {}
        for number, position, code in pairs:
            members = themes[number].clusters if number in themes else ()
            themes[number] = Theme(number, clusters.clusters[position].name, (*members, self.clusters[code].label))
        return replace(self, themes=tuple(themes.values()))

    def with_level_names(self) -> TextClustering:
        """Return a new result in which a group that the suggested level has, too, is called as it is there.

        So a group has one name, whichever level is shown first.
        """
        names = self._names_when_suggested(self.distinct_codes, fresh=True)
        clusters = with_names(self.clusters, [cluster.label for cluster in self.clusters], names)
        return replace(self, clusters=clusters).with_themes()

    def _names_when_suggested(self, codes: NDArray[np.intp], *, fresh: bool = False) -> dict[int, str]:
        """Return the names of those groups that the suggested level has, too."""
        k = self.k_estimate.k if self.k_estimate else self.n_clusters
        if self.hierarchy is None or k in (self.n_clusters, codes.max() + 1) or k > self.hierarchy.tree.n_leaves:
            return {}
        suggested = self.hierarchy.cut(k)
        same = same_clusters(suggested, codes)
        if not same:
            return {}
        clusters = self._describe(suggested, fresh=fresh)
        place = dict(zip(suggested.tolist(), clusters.codes.tolist(), strict=True))
        return {new: clusters.clusters[place[old]].name for new, old in same.items()}

    def name(self, model: str) -> TextClustering:
        """Name the groups by a chat model, one request for each.

        A group keeps its name if the server fails or does not answer with a name; a warning says for how many.

        Parameters
        ----------
        model : str
            A model of the server at ``OPENAI_BASE_URL``, with the key ``OPENAI_API_KEY``.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(["a b", "x y"], embeddings=[[1, 0], [0, 1]], n_clusters=2)
        >>> result.name("llama3.2")  # doctest: +SKIP
        2 texts in 2 groups
        """
        clusters = name_clusters(self.clusters, self.corpus.rows, self.centers, model=model, server=OpenAIServer())
        return replace(self, clusters=tuple(clusters))

    def apply(self, state: str | Path) -> TextClustering:
        """Take over the groups and the names that a reader set in the report.

        A group whose texts stay the same keeps its label; a merged group keeps that of the first.

        Parameters
        ----------
        state : path
            The file that "Download JSON" of the report wrote.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(["a b", "x y"], embeddings=[[1, 0], [0, 1]], n_clusters=2)
        >>> result.apply("no.json")
        Traceback (most recent call last):
            ...
        textspectra.errors.UserError: no.json cannot be read: No such file or directory
        """
        from .. import apply_state  # the page is a layer above this one

        return apply_state(self, state)

    def with_hierarchy(self) -> TextClustering:
        """Return the same result with a merge tree that has its grouping among its cuts.

        Examples
        --------
        >>> import textspectra as ts
        >>> X = [[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9]]
        >>> result = ts.cluster_texts(["a", "b", "c", "d"], embeddings=X, n_clusters=2).with_hierarchy()
        >>> result.hierarchy.tree.cut(2)
        array([0, 0, 1, 1])
        """
        if self.hierarchy is not None and self.hierarchy.has_cut(self.distinct_codes):
            return self
        return replace(self, hierarchy=build_hierarchy(self.embedded(), self.distinct_codes))

    def regroup(
        self,
        codes: NDArray[np.intp],
        continued: Mapping[int, int] | None = None,
        new_labels: Mapping[int, int] | None = None,
    ) -> TextClustering:
        """Describe the same texts in other groups, which the recipe then calls edited.

        Parameters
        ----------
        codes : ndarray of int
            The group of each distinct text, numbered from 0 in any order; -1 for none.
        continued : mapping from int to int, optional
            New groups that keep the label and the name of an old one, given by its position in `clusters`. A group
            whose texts stay the same always does.
        new_labels : mapping from int to int, optional
            The labels of all other groups, none of which was ever used; by default the next ones, the largest group
            first.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(["a", "b", "c"], embeddings=[[1, 0], [1, 1], [0, 1]], n_clusters=3)
        >>> result.regroup(np.array([1, 0, 0])).labels
        array([0, 3, 3])
        """
        clusters = self._describe(codes, continued, new_labels)
        texts = self.embedded()
        grouped, k = clusters.codes[texts.counting], len(clusters.clusters)
        is_same = np.array_equal(clusters.codes, self.distinct_codes)
        return replace(
            self,
            distinct_codes=clusters.codes,
            distinct_similarity=clusters.similarity,
            centers=clusters.centers,
            rule=self._rule_of(texts, clusters.codes, k),
            recipe=self.recipe if is_same else {**self.recipe, "groups": EDITED},
            clusters=clusters.clusters,
            next_label=max(self.next_label, clusters.clusters[-1].label + 1),
            cohesion=report_if_defined(texts.vectors, grouped, k, random_state=0),
            tally=self._tally_of(clusters.codes, k),
            themes=(),
        )

    def _describe(
        self, codes: NDArray[np.intp], continued: Mapping[int, int] | None = None,
        new_labels: Mapping[int, int] | None = None, *, fresh: bool = False,
    ) -> Described:  # fmt: skip
        """Describe other groups of the same texts; `fresh` ones have nothing to do with the groups that are there."""
        texts, counts = self.embedded(), self.corpus.counts
        same = {} if fresh else same_clusters(self.distinct_codes, codes) | dict(continued or {})
        known = {new: self.clusters[old].label for new, old in same.items()} | dict(new_labels or {})
        names = {} if fresh else self._names_when_suggested(codes)
        names |= {new: self.clusters[old].name for new, old in same.items()}
        positions, labels = numbered(codes, counts, known, 0 if fresh else self.next_label)
        # In the order of their sizes, because words are weighed a little differently in another order.
        by_size, _ = numbered(codes, counts, {}, 0)
        rank = dict(zip(codes.tolist(), by_size.tolist(), strict=True))
        place = dict(zip(by_size.tolist(), positions.tolist(), strict=True))
        centers = mean_vectors(texts, by_size, len(labels))
        similarity, clusters = describe_embedded(texts, by_size, centers, self.embed_phrases())
        ranks = sorted(range(len(labels)), key=place.__getitem__)
        named = with_names(
            clusters, [labels[place[i]] for i in range(len(labels))], {rank[c]: n for c, n in names.items()}
        )
        return Described(positions, centers[ranks], similarity, tuple(named[i] for i in ranks))

    def _rule_of(self, texts: EmbeddedTexts, codes: NDArray[np.intp], k: int) -> LinearRule:
        """Return what assigns new texts to other groups: for groups merged or split along the tree, by the old rule."""
        grouped = codes[texts.counting]
        pairs = np.unique(np.column_stack([self.distinct_codes[texts.counting], grouped]), axis=0)
        if len(pairs) == self.n_clusters == self.rule.n_clusters:
            return self.rule.merged(pairs[:, 1]) if len(pairs) > k else self.rule.numbered(np.argsort(pairs[:, 1]))
        both = [self.hierarchy.of_leaves(one) for one in (self.distinct_codes, codes)] if self.hierarchy else [None]
        if self.hierarchy is None or any(one is None for one in both) or self.rule.n_clusters != self.n_clusters:
            return separate_clusters(texts.vectors, None, grouped, k)
        leaves = self.hierarchy.leaves[texts.counting]
        filled, leaf = np.unique(leaves, return_inverse=True)
        means = cluster_sums(texts.vectors, leaf, len(filled)) / np.bincount(leaf)[:, None]
        return cut_rule(self.rule, means.astype(np.float32), *(one[filled] for one in both if one is not None))

    def compare(
        self, texts: Texts, *, text_column: str | None = None, embeddings: ArrayLike | None = None,
        cache: EmbeddingCache | bool = True,
    ) -> Comparison:  # fmt: skip
        """Tell what is new in new texts: new groups, groups that grow, shrink or are gone, texts that fit nothing.

        Parameters
        ----------
        texts, text_column, embeddings, cache
            As in :meth:`predict`. A data frame may have the columns that were named by `time`, `by` and `show` in
            :func:`cluster_texts`.

        Returns
        -------
        Comparison

        Examples
        --------
        >>> import numpy as np, textspectra as ts
        >>> X = np.eye(4)[np.arange(120) % 3] + 0.1 * np.random.default_rng(0).standard_normal((120, 4))
        >>> result = ts.cluster_texts([f"text {i}" for i in range(80)], embeddings=X[:80], n_clusters=3)
        >>> result.compare([f"text {i}" for i in range(80, 120)], embeddings=X[80:]).changes["status"].tolist()
        ['steady', 'steady', 'steady']
        """
        return compare_texts(self, texts, text_column=text_column, embeddings=embeddings, cache=cache)

    def update(
        self, texts: Texts, *, text_column: str | None = None, embeddings: ArrayLike | None = None,
        cache: EmbeddingCache | bool = True, again: bool = False,
    ) -> TextClustering:  # fmt: skip
        """Take in new texts: they join their groups, and new groups get new labels.

        The groups that were there stay as they are: their texts, labels, names and centers do not change. What
        changed is in :attr:`changes`, and in `history`. Texts that were taken in before are refused.

        Parameters
        ----------
        texts, text_column, embeddings, cache
            As in :meth:`compare`.
        again : bool, default=False
            Take in the same texts again, so that they count twice.

        Examples
        --------
        >>> import numpy as np, textspectra as ts
        >>> X = np.eye(4)[np.arange(120) % 3] + 0.1 * np.random.default_rng(0).standard_normal((120, 4))
        >>> result = ts.cluster_texts([f"text {i}" for i in range(80)], embeddings=X[:80], n_clusters=3)
        >>> updated = result.update([f"text {i}" for i in range(80, 120)], embeddings=X[80:])
        >>> len(updated), updated.changes["status"].tolist()
        (120, ['steady', 'steady', 'steady'])
        """
        found = self.compare(texts, text_column=text_column, embeddings=embeddings, cache=cache)
        given: Any = texts
        table = as_table(given, text_column).table if is_data_frame(given) else texts_table(found.result.corpus)
        digests = {"This input": content_digest(table)}
        if not again:
            check_not_taken_in(self, digests, "again=True")
        return updated(self, found, list(digests.values()))

    @overload
    def report(
        self, path: None = ..., *, truth: ArrayLike | Sequence[Hashable] | None = ..., overwrite: bool = ...
    ) -> str: ...

    @overload
    def report(
        self, path: str | Path, *, truth: ArrayLike | Sequence[Hashable] | None = ..., overwrite: bool = ...
    ) -> None: ...

    def report(
        self, path: str | Path | None = None, *, truth: ArrayLike | Sequence[Hashable] | None = None,
        overwrite: bool = False,
    ) -> str | None:  # fmt: skip
        """Write the page to explore the groups in a browser (:func:`write_report`), or return it as a string.

        Parameters
        ----------
        path : path, optional
            The HTML file; without it, the page is returned.
        truth : sequence of hashable, optional
            The ground truth: one class per text.
        overwrite : bool, default=False
            Replace a file that exists already.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(["a b", "x y"], embeddings=[[1, 0], [0, 1]], n_clusters=2)
        >>> result.report()[:15]
        '<!doctype html>'
        """
        from .. import write_report  # the page is a layer above this one

        return write_report(self, path, truth=truth, overwrite=overwrite)

    def show(self, height: int = 800) -> None:
        """Show the page to explore the groups inside a notebook.

        It is in a frame of its own and cannot reach the notebook.

        Parameters
        ----------
        height : int, default=800
            Height of the frame in pixels.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(["a b", "x y"], embeddings=[[1, 0], [0, 1]], n_clusters=2)
        >>> result.show()  # doctest: +SKIP
        """
        from IPython.display import display

        # As a bundle, because IPython's HTML class warns of frames.
        display({"text/html": framed(self.report(), check_whole_number("height", height, low=100))}, raw=True)

    def _repr_html_(self) -> str:
        return result_html(self)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write everything but the embeddings to a folder: safetensors, Parquet and JSON.

        Parameters
        ----------
        folder : path
            It is created. The write is atomic: the folder is complete or not there.
        overwrite : bool, default=False
            Replace a model folder that exists.

        Examples
        --------
        >>> import tempfile, textspectra as ts
        >>> result = ts.cluster_texts(["a b", "x y"], embeddings=[[1, 0], [0, 1]], n_clusters=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.save(f"{folder}/model")
        ...     ts.TextClustering.load(f"{folder}/model")
        2 texts in 2 groups
        """
        save_clustering(self, Path(folder), overwrite=overwrite)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        model: Model | None = None,
        embeddings: ArrayLike | None = None,
        allow_server: bool = False,
    ) -> TextClustering:
        """Read what :meth:`save` wrote; an error names files that are missing, cut short or changed.

        Parameters
        ----------
        folder : path
            The model folder.
        model : str, Backend, object with ``encode``, or callable, optional
            What embeds new texts, if the clustering was made with an encoder that cannot be loaded by name.
        embeddings : array-like of shape (n, d), optional
            The embeddings that the clustering was made from, if it was made from given ones: :meth:`cut`
            and :meth:`merge` need them.
        allow_server : bool, default=False
            Whether texts may be sent to the server of ``OPENAI_BASE_URL``, if the clustering was made with a server.
            The folder may come from somebody else, so it cannot decide that.

        Examples
        --------
        >>> import textspectra as ts
        >>> ts.TextClustering.load("no/such/folder")
        Traceback (most recent call last):
            ...
        textspectra.errors.UserError: There is no model folder at no/such/folder.
        """
        loaded = cls(**load_fields(Path(folder)))
        if model is not None:
            loaded = replace(loaded, encoder=as_backend(model))
        elif allow_server and loaded.source.is_elsewhere:
            loaded = replace(loaded, encoder=loaded.source.load(allow_server=True))
        if embeddings is None:
            return loaded
        return replace(loaded, known_embeddings=embed_corpus(loaded.corpus, None, embeddings).X)

    def position(self, label: int) -> int:
        """Return the position of a cluster in `clusters`, given its label.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(["a b", "x y"], embeddings=[[1, 0], [0, 1]], n_clusters=2)
        >>> result.position(7)
        Traceback (most recent call last):
            ...
        textspectra.errors.UserError: There is no cluster 7; the clusters are 0 and 1.
        """
        labels = [cluster.label for cluster in self.clusters]
        if label not in labels or isinstance(label, bool):
            raise UserError(f"There is no cluster {label!r}; the clusters are {listed(labels)}.")
        return labels.index(label)

    def _tally_of(self, codes: NDArray[np.intp], k: int) -> Tally | None:
        """Count other groups of the same texts over time and by segments."""
        if self.tally is None:
            return None
        if self.details is None or not self.details.is_counted:
            return self.tally.regrouped(self.distinct_codes, codes)
        return tally_rows(self.details, self.corpus.spread(codes, -1), k, self.tally.every)
