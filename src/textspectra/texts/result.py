"""What can be done with a result: predict, rename, merge, cut, save, load."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays.rows import cluster_sums, cosines_to_centers
from ..clustering.lloyd import labels_by
from ..clustering.numbering import largest_first, relabel_like, same_clusters
from ..clustering.refine import separate_groups
from ..embedding import EmbeddingCache, as_backend
from ..errors import UserError
from ..metrics.cohesion import report_if_defined
from ..topics.describe import Topic, describe_clusters
from ..topics.names import EmbedPhrases, unique_name
from ..validation import check_whole_number
from .clustered import ClusteredTexts
from .corpus import Corpus
from .embedded import EmbeddedTexts, embed_corpus
from .hierarchy import build_hierarchy
from .notes import note_on_model
from .storage import load_fields, save_clustering

if TYPE_CHECKING:
    from ..embedding import Model
    from .corpus import Texts


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
    distinct_labels, distinct_similarity : ndarray
        Cluster and similarity of each distinct text; `labels` and `similarity` have those of the rows.
    centers : ndarray of shape (n_clusters, d)
        Mean of the unit vectors of each cluster.
    rule : LinearRule
        What assigns new texts to clusters.
    topics : tuple of Topic
        Name, size, keywords and typical rows of each cluster.
    cohesion : CohesionReport or None
        Of the distinct texts; None if there is only one, or if no two of them are alike.
    k_estimate : KEstimate or None
        What the data says about the number of clusters; None if the number was given.
    algorithm : str
        "kmeans" or "hac".
    source : EmbeddingSource
        What made the embeddings.
    hierarchy : Hierarchy or None
        The merge tree of "hac", or the one of :meth:`with_hierarchy`.
    recipe : dict
        How the result was made: the command or call, the seed, the date, and `model_reason` if the model was "auto".
    notes : tuple of str
        What to know before relying on the groups, such as languages that the model does not know.
    encoder : Backend or None
        The model, if it is in memory.
    cache : EmbeddingCache or bool
        Where vectors are looked up and kept.
    known_embeddings : ndarray or None
        The vectors of the distinct texts, if they are in memory.
    frame : data frame, series or None
        What the texts came in.

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
            Return the cosine of each text with the centre of its cluster too; NaN if it has no cluster.
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
        corpus = Corpus.from_texts(texts, text_column)
        labels, similarity = np.full(len(corpus.distinct), -1), np.full(len(corpus.distinct), np.nan, np.float32)
        if corpus.distinct:
            encoder = self.load_encoder() if embeddings is None else None
            note = note_on_model(corpus.distinct, encoder)
            if note:
                warnings.warn(note, stacklevel=2)
            new = embed_corpus(corpus, encoder, embeddings, cache=cache)
            if new.X.shape[1] != self.centers.shape[1]:
                raise UserError(
                    f"These embeddings have {new.X.shape[1]} dimensions, but the clusters were found in "
                    f"{self.centers.shape[1]}; use the same model."
                )
            found = labels_by(new.vectors, self.rule)
            labels = new.scatter(found, -1)
            similarity = new.scatter(cosines_to_centers(new.vectors, found, self.centers), np.nan)
        of_rows = corpus.spread(labels, -1)
        return (of_rows, corpus.spread(similarity, np.nan)) if return_similarity else of_rows

    def rename(self, label: int | Mapping[int, str], name: str | None = None) -> TextClustering:
        """Give a cluster another name, or several: ``rename(3, "refunds")``, ``rename({3: "refunds", 5: "login"})``.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(["a b", "x y"], embeddings=[[1, 0], [0, 1]], n_clusters=2)
        >>> [topic.name for topic in result.rename({0: "first", 1: "second"}).topics]
        ['first', 'second']
        """
        given: Mapping[int, Any] = label if isinstance(label, Mapping) else {label: name}
        for one, new in given.items():
            self._check_label(one)
            if not isinstance(new, str) or not new.strip():
                raise UserError(f"A cluster's name must be a text that is not blank, but it is {new!r}.")
        names = [given.get(topic.label, topic.name) for topic in self.topics]
        taken = [new for new in given.values() if names.count(new) > 1]
        if taken:
            first, second = [number for number, other in enumerate(names) if other == taken[0]][:2]
            raise UserError(
                f"Clusters {first} and {second} would both be called {taken[0]!r}; merge them, or choose another name."
            )
        topics = [replace(topic, name=new) for topic, new in zip(self.topics, names, strict=True)]
        return replace(self, topics=tuple(topics))

    def merge(self, *labels: int | Iterable[int]) -> TextClustering:
        """Make one cluster of two or more: ``merge(3, 7)`` or ``merge([3, 7, 9])``.

        It keeps the name of the first one. The other clusters keep their numbers; only those whose number is too high
        now take one that has become free.

        Examples
        --------
        >>> import textspectra as ts
        >>> X = [[1, 0], [0.7, 0.7], [0, 1]]
        >>> result = ts.cluster_texts(["a b", "m n", "x y"], embeddings=X, n_clusters=3)
        >>> result.merge(0, 1).n_clusters
        2
        """
        chosen = [one for some in labels for one in (some if isinstance(some, Iterable) else [some])]
        for one in chosen:
            self._check_label(one)
        if len(set(chosen)) < len(chosen):
            twice = next(one for one in chosen if chosen.count(one) > 1)
            raise UserError(f"Cluster {twice} cannot be merged with itself.")
        if len(chosen) < 2:
            raise UserError("merge needs two clusters or more.")
        merged = np.where(np.isin(self.distinct_labels, chosen), min(chosen), self.distinct_labels)
        new_labels = self._numbered(merged)
        together = int(new_labels[np.flatnonzero(merged == min(chosen))[0]])
        return self.regroup(new_labels, names={together: self.topics[chosen[0]].name})

    def cut(self, n_clusters: int) -> TextClustering:
        """Cut the merge tree at another number of clusters.

        It is built around the groups: fewer clusters are groups merged, more are groups split. A cluster whose texts
        stay the same keeps its name, and its number if that is below `n_clusters`; the others take the numbers that
        are left, the largest cluster first.

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
        labels = np.append(base.hierarchy.tree.cut(n_clusters), -1)[base.hierarchy.leaves]
        return base.regroup(self._numbered(labels))

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
        if self.hierarchy is not None and self.hierarchy.has_cut(self.distinct_labels):
            return self
        return replace(self, hierarchy=build_hierarchy(self.embedded(), self.distinct_labels))

    def regroup(self, labels: NDArray[np.intp], names: Mapping[int, str] | None = None) -> TextClustering:
        """Describe the same texts under other labels of the distinct texts (-1: none).

        A group that has one of the `names`, or the same texts as before, keeps its name.

        Examples
        --------
        >>> import textspectra as ts
        >>> result = ts.cluster_texts(["a", "b", "c"], embeddings=[[1, 0], [1, 1], [0, 1]], n_clusters=3)
        >>> result.regroup(np.array([0, 0, 1]), {0: "both"}).topics[0].name
        'both'
        """
        texts = self.embedded()
        codes, k = labels[texts.counting], int(labels.max()) + 1
        sums = cluster_sums(texts.vectors, codes, k, weights=texts.weights)
        centers = (sums / np.bincount(codes, texts.weights, k)[:, None]).astype(np.float32)
        similarity, topics = describe_groups(texts, labels, centers, self.embed_phrases())
        same = same_clusters(self.distinct_labels, labels)
        kept = {new: self.topics[old].name for new, old in same.items()} | dict(names or {})
        return replace(
            self,
            distinct_labels=labels,
            distinct_similarity=similarity,
            centers=centers,
            rule=self.rule
            if np.array_equal(labels, self.distinct_labels)
            else separate_groups(texts.vectors, texts.weights, codes, k),
            topics=_with_names(topics, kept),
            cohesion=report_if_defined(texts.vectors, codes, k, random_state=0),
        )

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
        cls, folder: str | Path, *, model: Model | None = None, embeddings: ArrayLike | None = None
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
        if embeddings is None:
            return loaded
        return replace(loaded, known_embeddings=embed_corpus(loaded.corpus, None, embeddings).X)

    def _numbered(self, labels: NDArray[np.intp]) -> NDArray[np.intp]:
        """Renumber groups of the distinct texts by size, but let those that stay the same keep their number."""
        numbered, usable = labels.copy(), labels >= 0
        sizes = np.bincount(labels[usable], self.corpus.counts[usable])
        numbered[usable] = largest_first(labels[usable], sizes)[0]
        return relabel_like(self.distinct_labels, numbered)

    def _check_label(self, label: int) -> None:
        check_whole_number("label", label, low=0, high=self.n_clusters - 1)


def _with_names(topics: tuple[Topic, ...], kept: Mapping[int, str]) -> tuple[Topic, ...]:
    """Give some topics the names that they had; a new name that equals one of these gets a number."""
    taken = set(kept.values())
    return tuple(replace(topic, name=kept.get(topic.label) or unique_name(topic.name, taken)) for topic in topics)


def describe_groups(
    texts: EmbeddedTexts, labels: NDArray[np.intp], centers: NDArray[np.float32], embed: EmbedPhrases | None
) -> tuple[NDArray[np.float32], tuple[Topic, ...]]:
    """Return the similarity of each distinct text to its centre, and the topic of each group."""
    corpus, usable = texts.corpus, texts.counting
    similarity = texts.scatter(cosines_to_centers(texts.vectors, labels[usable], centers), np.nan)
    sizes = np.bincount(labels[usable], corpus.counts[usable]).astype(int)
    first_rows = corpus.first_rows
    topics = tuple(
        replace(
            topic,
            size=int(sizes[topic.label]),
            representatives=tuple(int(first_rows[i]) for i in topic.representatives),
        )
        for topic in describe_clusters(corpus.distinct, texts.X, labels, embed=embed)
    )
    return similarity, topics
