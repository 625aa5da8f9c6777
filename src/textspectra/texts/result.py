"""A clustering and its uses: predict, rename, merge, cut, compare, update, tables, the page, save and load."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.validation import Level, check_n_clusters, check_whole_number
from ..embedding.cache import EmbeddingCache
from ..embedding.registry import Model, as_backend
from ..errors import UserError
from ..files import replacing_folder
from ..tables.columns import TextTable
from ..tables.parquet import Vectors, given_vectors
from ..words.ignore import Ignored
from ..words.naming import NameWith, name_clusters
from .clustered import check_cluster_name, framed
from .comparison import Comparison, Drift, compare_texts, drift_of, updated
from .corpus import Texts, embed_corpus, open_texts
from .grouping import place_texts, score_texts, similarity_to_clusters
from .history import check_not_taken_in, content_digest
from .storage import load_clustering, model_folder_free, texts_table, write_clustering
from .views import TabulatedTexts

Classes: TypeAlias = "ArrayLike | Sequence[Hashable]"


class TextClustering(TabulatedTexts):
    """Texts, their groups, and everything that can be done with them.

    It is made by :func:`cluster_texts`, :func:`describe_texts` or :meth:`load` and never changes: :meth:`rename`,
    :meth:`merge`, :meth:`cut` and :meth:`update` return a new one.

    Attributes
    ----------
    labels, names, similarity : ndarray of int, list of str, ndarray of float
        The cluster of each row (-1: none), its name, and the cosine with its center.
    clusters : tuple of Cluster
        Label, name, size, keywords and typical rows of each cluster, by ascending label. A label never changes its
        meaning and is never given to another cluster.
    n_clusters : int
        The number of clusters.
    k_estimate : KEstimate or None
        What the data says about the number of clusters, also if another number was given; None after an update, or
        if the groups were made elsewhere.
    cohesion : CohesionReport or None
        The Cohesion Ratio of the distinct texts; None if there is only one, or if no two of them are alike.
    verdict : Verdict
        Whether the groups can be relied on: `sentence`, `level` ("good", "fair" or "weak") and `reasons`. The weakest
        evidence decides: the Cohesion Ratio, how well two halves of the texts agree, or the silhouette. Groups that
        are weak may still be those that people would make.
    themes : tuple of Theme
        The groups of the coarse level, each with its clusters; empty if no level is coarser than the clusters.
    notes : tuple of str
        What to know before relying on the groups, such as languages that the model does not know.
    ignore_suggestion : tuple of str
        Words that hold together groups that are otherwise alike, such as the names of the accounts that tweets are
        sent to, as values of `ignore`; empty if there are none. A note says how many groups.
    stop_words : tuple of str
        The words that were given as neither keywords nor ends of names; `corpus.ignore` are the words to ignore.
    languages : dict of str to float
        The share of the texts that are clearly in each language.
    recipe : dict
        How the result was made: the command or call, the seed, the date, and why the model was chosen.
    history : tuple of Update
        The files that :meth:`update` took in, and what changed.
    moved_by_hand : ndarray of int
        The distinct texts that readers moved to another group in a report, as positions in ``corpus.distinct``.
    corpus, totals : Corpus, Totals
        The texts, or a sample of them for many files; and the numbers of rows, blank ones and others without a group.
    centers : ndarray of shape (n_clusters, d)
        Mean of the unit vectors of each cluster.
    hierarchy : Hierarchy or None
        The merge tree around the clusters; None after an update.

    Examples
    --------
    >>> import textspectra as ts
    >>> texts = ["where is my parcel", "my parcel is late", "reset my password", "password forgotten"]
    >>> X = [[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9]]
    >>> result = ts.cluster_texts(texts, embeddings=X, n_clusters=2)
    >>> result
    4 texts in 2 groups, Cohesion Ratio 2.46
    >>> result.rename({0: "parcels", 1: "login"}).names
    ['parcels', 'parcels', 'login', 'login']
    >>> result.predict(["password please"], embeddings=[[0.2, 1]])
    array([1])
    >>> result.cut(3).n_clusters, result.merge(0, 1).n_clusters
    (3, 1)
    >>> result.cluster_table()["size"].tolist()
    [2, 2]
    >>> result.report()[:15]
    '<!doctype html>'
    """

    @overload
    def predict(
        self, texts: Texts, *, text_column: str | None = ..., embeddings: Vectors | None = ...,
        return_similarity: Literal[False] = ..., cache: EmbeddingCache | bool = ...,
    ) -> NDArray[np.intp]: ...  # fmt: skip

    @overload
    def predict(
        self, texts: Texts, *, text_column: str | None = ..., embeddings: Vectors | None = ...,
        return_similarity: Literal[True], cache: EmbeddingCache | bool = ...,
    ) -> tuple[NDArray[np.intp], NDArray[np.float32]]: ...  # fmt: skip

    def predict(
        self, texts: Texts, *, text_column: str | None = None, embeddings: Vectors | None = None,
        return_similarity: bool = False, cache: EmbeddingCache | bool = True,
    ) -> NDArray[np.intp] | tuple[NDArray[np.intp], NDArray[np.float32]]:  # fmt: skip
        """Return the label of each new text's cluster; -1 for a blank text or one that the model cannot represent.

        Parameters
        ----------
        texts : sequence or series of str, or data frame
            New texts, as in :func:`cluster_texts`.
        text_column : str, optional
            The column of a data frame that holds the texts.
        embeddings : str, array-like of shape (n, d), or series of vectors, optional
            Embeddings of the new texts, if the clustering was made from precomputed embeddings; a name is a column of
            the data frame.
        return_similarity : bool, default=False
            Return a pair: the labels, and the cosine of each text with the center of its cluster (NaN: none).
        cache : bool or EmbeddingCache, default=True
            Whether embeddings are kept on disk.
        """
        placed = place_texts(self, texts, text_column=text_column, embeddings=embeddings, cache=cache)
        for note in placed.notes:
            warnings.warn(note, stacklevel=2)
        labels = placed.texts.corpus.spread(self.labels_of(placed.codes), -1)
        if not return_similarity:
            return labels
        similarity = similarity_to_clusters(placed.texts, placed.codes, self.centers)
        return labels, placed.texts.corpus.spread(similarity, np.nan)

    def scores(
        self, texts: Texts | None = None, *, text_column: str | None = None, embeddings: Vectors | None = None,
        cache: EmbeddingCache | bool = True,
    ) -> NDArray[np.float32]:  # fmt: skip
        """Return the probability of each group for each text: soft assignment.

        It is the probability of :meth:`AutoKMeans.predict_proba`: how often another clustering, which includes the
        text, would put it in that group. It cannot say that a text fits no group, because the probabilities of a text
        add up to 1; :meth:`drift` and :meth:`compare` find such texts. The highest probability is at the group of
        :meth:`predict`, which is the group of nearly all of its own texts.

        Parameters
        ----------
        texts : sequence or series of str, or data frame, optional
            New texts, as in :meth:`predict`. By default, the texts of this result.
        text_column, embeddings, cache
            As in :meth:`predict`, for new texts.

        Returns
        -------
        ndarray of float32, shape (n, n_clusters)
            In the order of `clusters`; NaN for a text without a group.

        Examples
        --------
        >>> import textspectra as ts
        >>> texts = ["where is my parcel", "my parcel is late", "reset my password", "password forgotten"]
        >>> result = ts.cluster_texts(texts, embeddings=[[2, 0], [2, 1], [0, 2], [1, 2]], n_clusters=2)
        >>> result.scores(["parcel", "parcel password", ""], embeddings=[[1, 0], [1, 1], [0, 0]]).round(2)
        array([[1. , 0. ],
               [0.5, 0.5],
               [nan, nan]], dtype=float32)
        """
        return score_texts(self, texts, text_column=text_column, embeddings=embeddings, cache=cache)

    def rename(self, label: int | Mapping[int, str], name: str | None = None) -> TextClustering:
        """Give clusters other names: ``rename(3, "refunds")``, or several: ``rename({3: "refunds", 5: "login"})``."""
        names: Mapping[int, str | None] = label if isinstance(label, Mapping) else {label: name}
        known = {cluster.name for cluster in self.clusters}
        for number, new in names.items():
            self.position(number)
            if new not in known:  # a name may come from a chat model or an old file, and stays possible
                check_cluster_name(new)
        clusters = [replace(cluster, name=names.get(cluster.label) or cluster.name) for cluster in self.clusters]
        for new in names.values():
            first, *others = [cluster.label for cluster in clusters if cluster.name == new]
            if others:
                both = f"Clusters {first} and {others[0]} would both be called {new!r}"
                raise UserError(f"{both}; merge them, or choose another name.")
        return replace(self, clusters=tuple(clusters))

    def merge(self, *labels: int | Iterable[int]) -> TextClustering:
        """Make one cluster of two or more: ``merge(3, 7)`` or ``merge([3, 7, 9])``.

        It keeps the label and the name of the first one. The labels of the others are not given to new clusters.
        """
        chosen = [label for given in labels for label in (given if isinstance(given, Iterable) else [given])]
        positions = [self.position(label) for label in chosen]
        twice = [label for label in chosen if chosen.count(label) > 1]
        if twice:
            raise UserError(f"Cluster {twice[0]} cannot be merged with itself.")
        if len(chosen) < 2:
            raise UserError("merge needs two clusters or more.")
        joined = np.arange(self.n_clusters)
        joined[positions] = positions[0]
        numbers = np.unique(joined, return_inverse=True)[1]
        return self.regroup(np.append(numbers, -1)[self.distinct_codes], {int(numbers[positions[0]]): chosen[0]})

    def cut(self, n_clusters: int | Level) -> TextClustering:
        """Cut the merge tree at another number of clusters, or at a level: "coarse", "suggested" or "fine".

        The tree is built around the groups: fewer clusters are groups merged, more are groups split. A cluster whose
        texts stay the same keeps its label and its name. The others get new labels, the largest cluster first.
        The groups and names of a level are the same as in the report, and with this `n_clusters` in
        :func:`cluster_texts`, unless the groups were edited.
        """
        base = self.with_hierarchy()
        assert base.hierarchy is not None  # noqa: S101 - for the type checker
        asked = check_n_clusters(n_clusters, base.hierarchy.tree.n_leaves, "The tree has {:,} leaves.")
        if isinstance(asked, str):
            if self.k_estimate is None:
                raise UserError("This result has no levels; cut it into a number of clusters.")
            asked = self.k_estimate.at(asked)
        return replace(base.regroup(base.hierarchy.cut(asked)), recipe=self.recipe).with_themes()

    def name(self, name_with: NameWith) -> TextClustering:
        """Name the groups by a chat model or by a function of your own, one call for each group.

        A chat model is named by a string: it is asked at ``OPENAI_BASE_URL``, with the key ``OPENAI_API_KEY``. A
        function gets the evidence of a group: its `name`, `keywords`, typical `texts`, `size`, `is_mixed`, the
        keywords `only_here`, and its nearest `neighbors`, each with `name`, `keywords` and `texts`. It returns a name.
        A group keeps its name if the call fails or does not return one; a warning says for how many, and why.

        Examples
        --------
        >>> import textspectra as ts
        >>> texts = ["where is my parcel", "my parcel is late", "reset my password", "password forgotten"]
        >>> X = [[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9]]
        >>> result = ts.cluster_texts(texts, embeddings=X, n_clusters=2)
        >>> result.name(lambda group: f"{group.keywords[0].title()} ({group.size})").names[0]
        'Parcel (2)'
        """
        ignored = Ignored.of(self.corpus.ignore)
        typical = (row for cluster in self.clusters for row in cluster.representatives)
        texts = {row: ignored.apply(self.corpus.rows[row]) for row in typical}
        clusters = name_clusters(self.clusters, texts, self.centers, name_with)
        return replace(self, clusters=tuple(clusters))

    def apply(self, state: str | Path | None = None) -> TextClustering:
        """Take over the groups and the names that a reader set in the report.

        `state` is the file that "Download JSON" of the report wrote; by default the newest one of these texts in the
        folder where browsers save files. A group whose texts stay the same keeps its label; a merged group keeps the
        label of the first.
        """
        from .. import apply_state  # the page is a layer above this one

        return apply_state(self, state)

    def compare(
        self, texts: Texts, *, text_column: str | None = None, embeddings: Vectors | None = None,
        cache: EmbeddingCache | bool = True,
    ) -> Comparison:  # fmt: skip
        """Find the news in new texts: new groups, groups that grow, shrink or are gone, texts that fit nothing.

        The parameters are as in :meth:`predict`. A data frame may have the columns that were named by `time`, `by` and
        `show` in :func:`cluster_texts`.
        """
        return compare_texts(self, texts, text_column=text_column, embeddings=embeddings, cache=cache)

    def drift(
        self, texts: Texts, *, text_column: str | None = None, embeddings: Vectors | None = None,
        cache: EmbeddingCache | bool = True,
    ) -> Drift:  # fmt: skip
        """Return whether the groups still fit new texts: the drift of :meth:`compare`, without its search for news."""
        return drift_of(self, texts, text_column=text_column, embeddings=embeddings, cache=cache)

    def update(
        self, texts: Texts, *, text_column: str | None = None, embeddings: Vectors | None = None,
        cache: EmbeddingCache | bool = True, again: bool = False,
    ) -> TextClustering:  # fmt: skip
        """Take in new texts: they join their groups, and new groups get new labels.

        The groups that were there stay as they are: their texts, labels, names, colors and centers do not change, nor
        do places on the map, if one was made. The changes are in :attr:`changes` and in `history`. The parameters are
        as in :meth:`compare`. Texts that were taken in before are refused, unless ``again=True`` lets them count twice.

        Examples
        --------
        >>> import numpy as np, textspectra as ts
        >>> X = np.eye(4)[np.arange(120) % 3] + 0.1 * np.random.default_rng(0).standard_normal((120, 4))
        >>> result = ts.cluster_texts([f"text {i}" for i in range(80)], embeddings=X[:80], n_clusters=3)
        >>> new = [f"text {i}" for i in range(80, 120)]
        >>> result.compare(new, embeddings=X[80:]).new_clusters
        ()
        >>> result.drift(new, embeddings=X[80:]).is_significant
        False
        >>> updated = result.update(new, embeddings=X[80:])
        >>> len(updated), updated.changes["status"].tolist()
        (120, ['steady', 'steady', 'steady'])
        """
        comparison = self.compare(texts, text_column=text_column, embeddings=embeddings, cache=cache)
        opened = open_texts(texts, text_column)
        table = opened.table if isinstance(opened, TextTable) else texts_table(comparison.result.corpus)
        digests = {"This input": content_digest(table)}
        if not again:
            check_not_taken_in(self, digests, "again=True")
        return updated(self, comparison, list(digests.values()))

    @overload
    def report(self, path: None = ..., *, truth: Classes | None = ..., overwrite: bool = ...) -> str: ...

    @overload
    def report(self, path: str | Path, *, truth: Classes | None = ..., overwrite: bool = ...) -> None: ...

    def report(
        self, path: str | Path | None = None, *, truth: Classes | None = None, overwrite: bool = False
    ) -> str | None:
        """Write the page to explore the groups in a browser, or return it without a path: see :func:`write_report`."""
        from .. import write_report  # the page is a layer above this one

        return write_report(self, path, truth=truth, overwrite=overwrite)

    def show(self, height: int = 800) -> None:
        """Show the page inside a notebook, in a frame of this height in pixels that cannot reach the notebook."""
        from IPython.display import display

        # As a bundle, because IPython's HTML class warns of frames.
        display({"text/html": framed(self.report(), check_whole_number("height", height, low=100))}, raw=True)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write everything but the embeddings to a folder: safetensors, Parquet and JSON.

        The write is atomic: the folder is complete or not there. With ``overwrite=True``, it may replace a model.

        Examples
        --------
        >>> import tempfile, textspectra as ts
        >>> result = ts.cluster_texts(["a b", "x y"], embeddings=[[1, 0], [0, 1]], n_clusters=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.save(f"{folder}/model")
        ...     ts.TextClustering.load(f"{folder}/model").n_clusters
        2
        """
        model_folder_free(Path(folder), overwrite=overwrite)
        with replacing_folder(Path(folder)) as temporary:
            write_clustering(self, temporary)

    @classmethod
    def load(
        cls, folder: str | Path, *, model: Model | None = None, embeddings: Vectors | None = None,
        allow_server: bool = False,
    ) -> TextClustering:  # fmt: skip
        """Read what :meth:`save` wrote; an error names files that are missing, cut short or changed.

        Parameters
        ----------
        folder : path
            The model folder.
        model : str, Backend, object with ``encode``, or callable, optional
            What embeds new texts, if the clustering was made with an encoder that cannot be loaded by name.
        embeddings : array-like of shape (n, d), or series of vectors, optional
            The embeddings that the clustering was made from, if they were given: :meth:`cut` and :meth:`merge` need
            them.
        allow_server : bool, default=False
            Whether texts may be sent to the server of ``OPENAI_BASE_URL``, if the clustering was made with a server.
            The folder may come from somebody else, so it cannot decide that.
        """
        loaded = load_clustering(Path(folder), cls)
        if model is not None:
            loaded = replace(loaded, encoder=as_backend(model))
        elif allow_server and loaded.source.is_elsewhere:
            loaded = replace(loaded, encoder=loaded.source.load(allow_server=True))
        if embeddings is None:
            return loaded
        return replace(loaded, known_embeddings=embed_corpus(loaded.corpus, None, given_vectors(embeddings)).X)
