"""Texts in, groups out: the function that walks through all layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import Rows
from ..core.clusters import Algorithm, Clusters, find_clusters
from ..core.estimate import Method, check_method, name_of
from ..core.validation import Level, RandomState
from ..embedding.base import Backend
from ..embedding.cache import EmbeddingCache
from ..embedding.embed import embed_texts
from ..embedding.registry import DEFAULT_MODEL, Model, as_backend, chosen_backend, is_auto
from ..errors import UserError
from ..tables.columns import TextTable
from ..tables.frames import library_of
from ..tables.parquet import Vectors, given_vectors
from ..words.ignore import check_stop_words
from ..words.languages import language_shares
from ..words.naming import NameWith, check_name_with
from .clustered import Hierarchy
from .corpus import Corpus, EmbeddedTexts, EmbeddingSource, Texts, Totals, embed_corpus, open_texts
from .deciding import words_that_decide
from .details import Columns, Details, Period, Values, details_of, wanted_columns
from .grouping import describe_embedded
from .known import Examples, KnownGroups, group_around, with_known
from .notes import (
    KEEP_ALL,
    is_foreign,
    notes_on_ignored,
    notes_on_languages,
    notes_on_lengths,
    notes_on_reading,
    notes_on_repeats,
)
from .result import TextClustering
from .tally import tally_rows

LONGEST_WRITTEN = 500  # characters of a value in the call of a recipe; of a longer one, the name is written
StageProgress = Callable[[str, int, int], None]  # gets the stage, such as "embedding", the steps done, and all steps


def cluster_texts(
    texts: Texts,
    *,
    text_column: str | None = None,
    model: Model = DEFAULT_MODEL,
    embeddings: Vectors | None = None,
    algorithm: Algorithm = "kmeans",
    n_clusters: int | Level = "auto",
    method: Method = "auto",
    refine: bool = True,
    known: Examples | None = None,
    random_state: RandomState = 0,
    cache: EmbeddingCache | bool = True,
    keep_all: bool = False,
    ignore: Sequence[str] = (),
    stop_words: Sequence[str] = (),
    time: str | Values | None = None,
    by: Columns = (),
    show: Columns = (),
    every: Period | None = None,
    name_with: NameWith | None = None,
    progress: StageProgress | None = None,
) -> TextClustering:
    r"""Find how many groups a pile of texts has, what they are, and which text is in which.

    Identical texts are embedded once and share a cluster. In sizes and shares they count as often as they occur, but
    the clusters are found among distinct texts. Blank texts, texts that say nothing ("n/a", a lone emoji), and texts
    that the model cannot represent (a zero vector), stay in the result with the label -1.

    Parameters
    ----------
    texts : sequence or series of str, or data frame
        A list, a pandas or polars series, a NumPy or pyarrow array, a data frame or pyarrow table with a column of
        texts, or what :func:`read_table` returns. None and missing values count as blank.
    text_column : str, optional
        The column of a data frame that holds the texts. It is found by the rules of the command line otherwise.
    model : str, Backend, object with ``encode``, or callable, default="auto"
        What embeds the texts: a name (``textspectra models`` lists them), an encoder such as a SentenceTransformer,
        or a function from a list of texts to an array. "auto" is minilm for up to 50,000 distinct texts, and wordllama
        for more, or multilingual if most texts are not English; the result's `recipe` says which and why.
    embeddings : str, array-like of shape (n, d), or series of vectors, optional
        The texts are grouped by these vectors, one row per text, and not by a model. A name is a column of the data
        frame that holds lists of numbers. A `model` that is given as well, and gives vectors of the same length, names
        the groups and embeds the new texts of :meth:`TextClustering.predict`; without one, names are keywords.
    algorithm : {"kmeans", "hac"}, default="kmeans"
        K-Means with a tree around its groups, or hierarchical clustering: Ward's tree of the texts, cut at k.
    n_clusters : {"auto", "coarse", "suggested", "fine"} or int, default="auto"
        "auto" is the suggested number. "coarse" merges these groups, and "fine" splits them. An int overrules the
        estimate, which is kept; between the coarse and the fine level, it merges or splits the suggested groups, too.
    method : {"auto", "spectral"} or callable, default="auto"
        How the number is estimated, as in :func:`estimate_k`: "spectral" is the paper's rule, and a callable your own.
        Only "auto" has the levels "coarse" and "fine". The result keeps the estimate and its evidence.
    refine : bool, default=True
        Find groups among neighbors, which agrees better with human labels. False is plain K-Means, as in the paper.
        HAC is always plain.
    known : mapping from names to lists of texts, optional
        Groups that you know, with examples: ``{"refund": ["where is my refund", "money back"], ...}``. They keep their
        names, have the labels 0, 1, ... in this order, and get the texts that belong to them; the rest is grouped as
        usual. A group that gets no text is left out, also for new texts. All groups compete by one rule, whatever the
        algorithm; `method` and levels apply to the rest, and `k_estimate` is None. An int for `n_clusters` includes the
        known groups; if it equals their number, each text goes to the nearest. Examples count only if they are among
        the texts, and they need a model: beside `embeddings`, name the one that made these.
    random_state : int, RandomState, Generator or None, default=0
        The seed. The same int gives the same result on the same machine. The int8 vectors of minilm differ by
        rounding between kinds of processors; ``model="float32:minilm"`` avoids that.
    cache : bool or EmbeddingCache, default=True
        Whether embeddings are kept on disk for the next time.
    keep_all : bool, default=False
        Group texts that say nothing, too.
    ignore : sequence of str, default=()
        Words that should not decide. They are taken out before texts are embedded, and out of keywords and names; the
        texts stay as they are. Each is a word or phrase ("freemium"), has wildcards ("@*"), is a regular expression
        between slashes (r"/flight \d+/"), or is a kind: "handles", "urls", "numbers" or "emails". Case does not matter.
        A text without any other word has no group. The result and its model do the same with new texts.
    stop_words : sequence of str, default=()
        Words that are neither keywords nor at the ends of names, beside those that every language has.
    time : str, or sequence or series of dates, optional
        A column of the data frame, or the date of each text: dates, timestamps, or strings in one of the usual formats.
        :meth:`TextClustering.over_time` and :meth:`TextClustering.trends` need it.
    by : str, sequence of str, or mapping from names to sequences, optional
        Columns of categories, such as channel or product, for :meth:`TextClustering.by`.
    show : str, sequence of str, or mapping from names to sequences, optional
        Columns that the report shows with each text, such as an id.
    every : {"day", "week", "month", "quarter", "year"}, optional
        The periods over which groups are followed. They are chosen by the dates and the number of texts otherwise.
    name_with : str or callable, optional
        A chat model of a server, or a function, that names the groups: see :meth:`TextClustering.name`. Known groups
        keep their names.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    See Also
    --------
    cluster_files : Group the texts of many files, also more than memory holds.
    AutoKMeans : Clusters of vectors, without texts.
    TextClustering : What is returned.

    Examples
    --------
    >>> import textspectra as ts
    >>> texts = ["where is my parcel", "my parcel is late", "reset my password", "password forgotten", ""]
    >>> X = [[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9], [0, 0]]
    >>> ts.cluster_texts(texts, embeddings=X, n_clusters=2).labels
    array([ 0,  0,  1,  1, -1])

    Without words that should not decide; a text that has no other word has no group:

    >>> tweets = ["@ann my bag is lost", "@bob my bag is late", "@ann"]
    >>> ts.cluster_texts(tweets, embeddings=[[1, 0], [1, 0], [0, 1]], n_clusters=1, ignore=["handles"]).labels
    array([ 0,  0, -1])

    With a known group, and a model that counts letters:

    >>> def count_letters(texts):
    ...     return [[text.count(letter) + 0.1 for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]
    >>> known = {"login": ["password forgotten"]}
    >>> result = ts.cluster_texts(texts, model=count_letters, known=known, n_clusters=2, cache=False)
    >>> result.clusters[0].name
    'login'
    """
    check_algorithm(algorithm)
    check_method(method)
    if name_with is not None:
        check_name_with(name_with)
    tell: StageProgress = progress or (lambda stage, done, total: None)
    frame, opened = texts.table if isinstance(texts, TextTable) else texts, open_texts(texts, text_column)
    corpus, stop_words = Corpus.from_texts(opened, keep_all=keep_all, ignore=ignore), check_stop_words(stop_words)
    corpus.check_content()
    table, wanted = wanted_columns(opened, len(corpus.rows), time, by, show, every)
    details, notes = details_of(table, wanted) if wanted.names else (None, [])
    given = None if embeddings is None else given_vectors(embeddings, opened)
    groups = None if known is None else KnownGroups.of(known)
    embedded, languages, encoder, reason = embed_source(corpus, model, given, cache=cache, progress=tell)
    if groups is not None:
        if encoder is None:
            raise UserError("known= has examples, which need a model: give model=, the one that made the embeddings.")
        groups = groups.embedded(encoder, corpus.ignore, cache=cache)
    tell("grouping", 0, 1)

    def fit(X: Rows, weights: NDArray[np.float64], k: int | Level) -> Clusters:
        return fit_clusters(X, weights, algorithm, k, random_state, method=method, refine=refine)

    if groups is None:
        fitted, labels = fit(embedded.vectors, embedded.weights, n_clusters), None
    else:
        fitted, labels = group_around(groups, embedded, fit, n_clusters)
    tell("describing", 0, 1)
    options: dict[str, object] = {"algorithm": algorithm, "n_clusters": n_clusters, "method": method, "refine": refine}
    options |= {
        "ignore": list(corpus.ignore),
        "stop_words": list(stop_words),
        **wanted._asdict(),
        "name_with": name_with,
    }
    is_given = embeddings is not None
    call = "cluster_texts(texts, known=known" if known else "cluster_texts(texts"
    recipe = recipe_of(call, encoder, reason, random_state, keep_all, options, is_given=is_given)
    result = describe_clustering(
        embedded, embedded.scatter(fitted.labels, -1), fitted, leaves=np.asarray(fitted.leaves), algorithm=algorithm,
        totals=embedded.totals, encoder=encoder, is_given=is_given, cache=cache,
        content_notes=(
            *notes_on_reading(corpus.without_content(), corpus.emptied(), hint=KEEP_ALL),
            *notes_on_ignored(corpus.ignore, corpus.unmatched, is_given=is_given),
        ),
        languages=languages, recipe=recipe, stop_words=stop_words, frame=frame if library_of(frame) else None,
    )  # fmt: skip
    if name_with is not None:
        result = result.name(name_with)
    if groups is not None and labels is not None:
        result = with_known(result, groups, labels)
    result = with_details(result, details, wanted.every, notes)
    tell("describing", 1, 1)
    return result


def check_algorithm(algorithm: str) -> None:
    """Raise if the algorithm is unknown."""
    if algorithm not in get_args(Algorithm):
        raise UserError(f'algorithm must be "kmeans" or "hac", but it is {algorithm!r}.')


def embed_source(
    corpus: Corpus, model: Model, embeddings: ArrayLike | None, *, cache: EmbeddingCache | bool, progress: StageProgress
) -> tuple[EmbeddedTexts, dict[str, float], Backend | None, str]:
    """Return the texts with vectors, the shares of their languages, the model (or None) and why it was chosen.

    If vectors are given, there is a model only if the user chose one: it is for names and for new texts.
    """
    languages = language_shares(corpus.read)
    encoder, reason = None, ""
    if embeddings is None:
        encoder, reason = chosen_backend(model, len(corpus.distinct), is_foreign=is_foreign(languages))
    elif not is_auto(model):
        encoder = as_backend(model)
    progress("embedding", 0, len(corpus.distinct))
    texts = embed_corpus(corpus, encoder, embeddings, cache=cache, progress=partial(progress, "embedding"))
    if encoder is not None and embeddings is not None:
        check_dimension(encoder, texts.X.shape[1], cache)
    return texts, languages, encoder, reason


def check_dimension(encoder: Backend, dimension: int, cache: EmbeddingCache | bool) -> None:
    """Raise a UserError if a model gives vectors of another length than the vectors that the user gave."""
    length = embed_texts(["text"], encoder, cache=cache).shape[1]
    if length != dimension:
        raise UserError(
            f"The model {encoder.name} gives vectors of length {length:,}, but embeddings has {dimension:,} columns, "
            "so it can neither name these groups nor place new texts in them; give the model that made them, or none."
        )


def with_details(
    result: TextClustering, details: Details | None, every: Period | None, notes: Sequence[str]
) -> TextClustering:
    """Return the result with the columns beside its texts, its groups counted by them, and notes on them."""
    if details is None:
        return result
    tally = tally_rows(details, result.codes, result.n_clusters, every)
    notes = (*result.notes, *notes, *(tally.notes() if tally else ()))
    return replace(result, details=details, tally=tally, notes=notes)


def fit_clusters(
    X: Rows, weights: NDArray[np.float64], algorithm: Algorithm, n_clusters: int | Level, seed: RandomState,
    *, method: Method = "auto", refine: bool = True,
) -> Clusters:  # fmt: skip
    """Group distinct texts by their vectors, in memory or on Dask; `weights` are their numbers of rows."""
    if not len(X):
        raise UserError("The model could represent none of the texts (all vectors are zero); try another model.")
    if isinstance(n_clusters, int) and n_clusters > len(X):
        raise UserError(f"{n_clusters:,} clusters were asked for, but there are {len(X):,} different texts.")
    if len(X) == 1:  # a single text is one cluster, but the estimators need two rows to compare
        X, weights = X[np.zeros(2, np.intp)], np.append(weights, 0)
    return find_clusters(
        X, weights, algorithm=algorithm, n_clusters=n_clusters, method=method, refine=refine, hierarchy=True,
        random_state=seed,
    )  # fmt: skip


def describe_clustering(
    texts: EmbeddedTexts, labels: NDArray[np.intp], fitted: Clusters, *, leaves: NDArray[np.intp], algorithm: str,
    totals: Totals, encoder: Backend | None, is_given: bool, cache: EmbeddingCache | bool,
    content_notes: Sequence[str], languages: dict[str, float], recipe: dict[str, str],
    stop_words: tuple[str, ...] = (), frame: object = None,
) -> TextClustering:  # fmt: skip
    """Turn fitted clusters into a result, given the cluster of each distinct text and the leaf of each that counts.

    If the user gave the vectors (`is_given`), the model only names the groups.
    """
    embed = None if encoder is None else partial(embed_texts, model=encoder, cache=cache)
    # Every level of a sample is described by the sample, so that a cluster has one name at all of them.
    read = np.ones(len(labels), bool) if len(texts.corpus.distinct) < totals.distinct else None
    similarity, clusters = describe_embedded(texts, labels, fitted.centers, embed, read, stop_words=stop_words)
    is_found = algorithm in get_args(Algorithm)  # groups that were made elsewhere are as the user wants them
    deciding = (
        words_that_decide(texts, labels, clusters, embed) if embed is not None and is_found and not is_given else None
    )
    reader = None if is_given else encoder
    notes = (
        *notes_on_languages(languages, len(texts.corpus.distinct), reader),
        *content_notes,
        *notes_on_lengths(texts.corpus, reader),
        *(() if reader is None else notes_on_repeats(texts)),  # in given vectors, a high cosine may be usual
        *(() if deciding is None else [deciding.sentence]),
    )
    source = EmbeddingSource(None, {})
    if encoder is not None:
        source = EmbeddingSource(encoder.name, dict(encoder.settings), is_given)
    return TextClustering(
        corpus=texts.corpus, totals=totals, distinct_codes=labels, distinct_similarity=similarity,
        centers=fitted.centers, rule=fitted.rule, clusters=clusters, next_label=len(clusters),
        cohesion=fitted.cohesion if len(texts.counting) > 1 else None, k_estimate=fitted.estimate, algorithm=algorithm,
        source=source,
        hierarchy=None if fitted.tree is None else Hierarchy(fitted.tree, texts.scatter(leaves, -1)),
        recipe=recipe, notes=notes, languages=languages, stop_words=stop_words,
        ignore_suggestion=() if deciding is None else deciding.ignore,
        encoder=encoder, cache=cache, known_embeddings=texts.X, frame=frame,
    ).with_level_names()  # fmt: skip


def recipe_of(
    call: str, encoder: Backend | None, reason: str, random_state: RandomState, keep_all: bool,
    options: Mapping[str, object], *, is_given: bool,
) -> dict[str, str]:  # fmt: skip
    """Return how a result is made: the call, why the model was chosen (if it was "auto"), the seed, the date."""
    seed = str(random_state) if isinstance(random_state, int | np.integer) else "not fixed"
    usual = {"method": "auto", "refine": True}  # of other options, a value that is false
    chosen = [
        f"{name}={name_of(value) if len(repr(value)) < LONGEST_WRITTEN else name}"
        for name, value in options.items()
        if (value != usual[name] if name in usual else value)
    ]
    # The options of every call come first, then those that only some calls have.
    chosen[2:2] = [f"random_state={seed}", *["keep_all=True"] * keep_all]
    vectors = ["embeddings=X"] * is_given + ([] if encoder is None else [f"model={encoder.name!r}"])
    return {
        "command": f"textspectra.{', '.join([call, *vectors, *chosen])})",
        **({"model_reason": reason} if reason else {}),
        "seed": seed,
        "date": datetime.now(UTC).date().isoformat(),
    }
