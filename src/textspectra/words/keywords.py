"""Keywords of clusters, and phrases that could name them: class-based TF-IDF over the stems of words and phrases."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from heapq import nlargest
from itertools import islice
from operator import and_
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array

from ..core import Ints
from .phrases import Phrase, Terms, Writing, rank_phrases, usual_writing
from .remembered import RememberedTexts
from .tokens import TermCounts, count_terms, stemmer, term_parts

KEYWORDS = 10  # per cluster
MAX_TEXTS, MIN_TEXTS, TOTAL_TEXTS = 2_000, 100, 300_000  # texts counted per cluster and in all; others are sampled
MAX_PHRASES, MIN_PHRASES, TOTAL_PHRASES = 30, 6, 3_000  # phrases embedded per cluster and in all
LOOSE_PHRASE = 3  # "cancel order" counts in texts that have both words, up to this many times its own texts
SMALL, RARE_PHRASES = 100, 100  # a cluster with fewer texts can be named by one of 100 phrases of a single text
EVERYWHERE, MIN_CLUSTERS = 0.05, 6
"""A word is a stop word if it has at least this mean share over the clusters, and half of them have half of it. With
fewer clusters, an even spread could be chance."""
SWALLOWED = 0.5  # a phrase replaces a word if a larger share of the texts with the word have the phrase


class Keyword(NamedTuple):
    """A word or two-word phrase, in its most frequent form in the cluster, its stems, and its share of the texts."""

    text: str
    stems: frozenset[str]
    share: float


def rank_terms(
    texts: Sequence[str], members: Sequence[Ints], counts: Ints, merges: Sequence[tuple[int, int]] = (),
    *, stop_words: Collection[str] = (),
) -> tuple[list[list[Keyword]], list[list[Phrase]]]:  # fmt: skip
    """Return the keywords of each cluster, and the phrases that could name it, the most telling first.

    `members` has the rows of each of the k clusters. Merge number j joins two clusters into cluster k + j. These get
    terms too, in comparison with the clusters that exist at the same time. `counts` says how often each text counts.
    `stop_words` are further ones, in lower case: they are not keywords, and at neither end of a phrase.
    """
    k = len(members)
    counted, clusters = _count(texts, members, counts, stop_words)
    total_share = _total_share(clusters)
    boring = _spread_evenly(clusters, total_share)
    scored = [_scores(cluster, total_share, k, boring) for cluster in clusters]
    others = [k] * k
    for step, (left, right) in enumerate(merges):
        clusters.append(_merged(clusters[left], clusters[right]))
        for number, sign in ((left, -1), (right, -1), (-1, 1)):
            _add_shares(total_share, clusters[number], sign)
        others.append(k - step - 1)
        scored.append(_scores(clusters[-1], total_share, others[-1], boring))
    writing = usual_writing(counted, stop_words)
    n_phrases = min(MAX_PHRASES, max(MIN_PHRASES, TOTAL_PHRASES // max(1, len(clusters))))
    pairs = list(zip(scored, clusters, strict=True))
    ranked = (rank_phrases(*pair, n, writing) for pair, n in zip(pairs, others, strict=True))
    phrases = [list(islice(best, n_phrases)) for best in ranked]
    return [_pick_keywords(*pair, writing) for pair in pairs], phrases


class TermWeights(NamedTuple):
    """The class-based TF-IDF of all terms that could be keywords: one row per cluster, one column per term."""

    matrix: csr_array
    terms: list[str]  # of the columns, each in its most frequent form
    forms: list[dict[str, float]]  # the weights of the terms of each cluster, in its own most frequent forms


def weigh_terms(
    texts: Sequence[str], members: Sequence[Ints], counts: Ints, *, stop_words: Collection[str] = ()
) -> TermWeights:
    """Return the weights by which :func:`rank_terms` ranks the keywords of clusters; weights are above 0."""
    counted, clusters = _count(texts, members, counts, stop_words)
    total_share = _total_share(clusters)
    boring = _spread_evenly(clusters, total_share)
    spelling = usual_writing(counted).spelling
    weights = [_keyword_scores(_scores(each, total_share, len(clusters), boring), each) for each in clusters]
    best: dict[str, tuple[int, str]] = {}
    for cluster, of_cluster in zip(clusters, weights, strict=True):
        for stem in of_cluster:
            rank = (-cluster.texts[stem], cluster.forms[stem])
            best[stem] = min(best.get(stem, rank), rank)
    written = {stem: spelling.get(form, form) for stem, (_, form) in best.items()}
    terms = sorted(set(written.values()))
    column_of = {term: column for column, term in enumerate(terms)}
    cells: dict[tuple[int, int], float] = {}
    forms: list[dict[str, float]] = []
    for row, (cluster, of_cluster) in enumerate(zip(clusters, weights, strict=True)):
        forms.append({})
        for stem, weight in of_cluster.items():  # the highest first: a word can have two stems, in two languages
            form = cluster.forms[stem]
            forms[-1].setdefault(spelling.get(form, form), weight)
            cells.setdefault((row, column_of[written[stem]]), weight)
    places = np.array(list(cells), np.intp).reshape(-1, 2).T
    matrix = coo_array((np.array(list(cells.values())), tuple(places)), shape=(len(clusters), len(terms)))
    return TermWeights(csr_array(matrix), terms, forms)


def _count(
    texts: Sequence[str], members: Sequence[Ints], counts: Ints, stop_words: Collection[str]
) -> tuple[list[dict[str, TermCounts]], list[Terms]]:
    """Count the terms of each cluster: in each language as they are written, and by their stems."""
    limit = min(MAX_TEXTS, max(MIN_TEXTS, TOTAL_TEXTS // max(1, len(members))))
    samples = [_sample(rows, counts[rows], limit) for rows in members]

    def counted_in(rows: Ints) -> dict[str, TermCounts]:
        known = {}
        if isinstance(texts, RememberedTexts) and len(rows) >= SMALL:
            known = texts.count_frequent(rows, _least(len(rows)), stop_words)
        return _frequent(known or count_terms((texts[row] for row in rows), stop_words), len(rows))

    counted = [counted_in(rows) for rows in samples]
    return counted, [_by_stem(terms, len(rows)) for terms, rows in zip(counted, samples, strict=True)]


def read_ahead(texts: RememberedTexts, members: Sequence[Ints], stop_words: Collection[str] = ()) -> None:
    """Read all texts, and the stems of what is frequent in some cluster, before other clusters are described."""
    for rows in members:
        _by_stem(texts.count_frequent(rows, _least(SMALL), stop_words), len(rows))


def _total_share(clusters: list[Terms]) -> defaultdict[str, float]:
    total: defaultdict[str, float] = defaultdict(float)
    for cluster in clusters:
        _add_shares(total, cluster)
    return total


def _sample(rows: Ints, times: Ints, limit: int) -> Ints:
    """Return each row as often as it counts; if there are too many, in proportion or a random sample."""
    # In a sample, every text stands for several, so the typical text counts once.
    ends = np.maximum(np.rint(times / max(np.median(times), 1)), 1).cumsum() if len(rows) else np.zeros(1)
    if ends[-1] > len(rows):
        n = min(int(ends[-1]), limit)
        return np.asarray(rows[np.searchsorted(ends, (np.arange(n) + 0.5) * ends[-1] / n)])
    return rows if len(rows) <= limit else np.sort(np.random.default_rng(0).choice(rows, limit, replace=False))


def _frequent(counts: dict[str, TermCounts], n_texts: int) -> dict[str, TermCounts]:
    """Drop the terms that can be neither keyword nor name. These are most terms: it saves memory and stemming."""
    total: Counter[str] = Counter()
    for terms in counts.values():
        total.update(terms.texts)

    def mean_count(term: str) -> float:
        of_words = [total[word] for word in term.rstrip("?").split(" ") if word in total]  # no stop words
        return sum(of_words) / max(1, len(of_words))

    kept = set(_drop_rare(total, n_texts))
    if n_texts < SMALL:
        rare = total.keys() - kept
        phrases = nlargest(RARE_PHRASES, ((mean_count(term), term) for term in rare if " " in term))
        # Words stay as well: they tell how special a word is that is frequent in other clusters.
        kept |= {term for _, term in phrases} | {term for term in rare if " " not in term}

    def known(counts: Counter[str]) -> Counter[str]:
        return Counter({term: n for term, n in counts.items() if term in kept})

    return {
        language: TermCounts(
            Counter({term: _texts_with(term, n, terms.rows) for term, n in known(terms.texts).items()}),
            Counter({pair: n for pair, n in terms.forms.items() if pair[0] in kept}),
            known(terms.open_ended), known(terms.linked), known(terms.continued), known(terms.led), defaultdict(int),
        )
        for language, terms in counts.items()
    }  # fmt: skip


def _texts_with(term: str, n: int, rows: Mapping[str, int]) -> int:
    """Return the number of texts that have all words of a phrase; at most three times those that have the phrase."""
    together = [] if term.endswith("?") else [rows[word] for word in term.split(" ") if word in rows]
    return min(reduce(and_, together).bit_count(), LOOSE_PHRASE * n) if len(together) > 1 else n


def _drop_rare(texts: Counter[str], n_texts: int) -> Counter[str]:
    """Return the terms that are in enough of `n_texts` texts for a keyword; all of them if none is."""
    least = _least(n_texts)
    return Counter({term: n for term, n in texts.items() if n >= least}) or texts


def _least(n_texts: int) -> int:
    return 1 if n_texts < 5 else 2 if n_texts < 500 else 3


def _by_stem(counts: dict[str, TermCounts], n_texts: int) -> Terms:
    texts: Counter[str] = Counter()
    best: dict[str, tuple[int, int, str]] = {}
    for language, terms in counts.items():
        stem_of = stemmer(language)
        for term, n in terms.texts.items():
            stem = " ".join([stem_of(word) for word in term.split(" ")])
            texts[stem] = min(n_texts, texts[stem] + n)  # a text may have two forms of a word
            rank = (-n, len(term), term)
            best[stem] = min(best.get(stem, rank), rank)
    return Terms(texts, {stem: term for stem, (_, _, term) in best.items()}, n_texts)


def _merged(left: Terms, right: Terms) -> Terms:
    """Join two clusters; the larger one decides the form of the terms that both have."""
    small, large = sorted((left, right), key=lambda terms: terms.n_texts)
    texts, forms, n_texts = left.texts + right.texts, small.forms | large.forms, left.n_texts + right.n_texts
    if n_texts >= SMALL:
        texts = _drop_rare(texts, n_texts)
        forms = {stem: forms[stem] for stem in texts}
    return Terms(texts, forms, n_texts)


def _add_shares(total: defaultdict[str, float], cluster: Terms, sign: int = 1) -> None:
    for stem, n in cluster.texts.items():
        total[stem] += sign * n / cluster.n_texts


def _spread_evenly(clusters: list[Terms], total_share: dict[str, float]) -> frozenset[str]:
    k = len(clusters)
    if k < MIN_CLUSTERS:
        return frozenset()
    frequent = [stem for stem, share in total_share.items() if share > EVERYWHERE * k and " " not in stem]
    shares = np.array([[cluster.texts[stem] / cluster.n_texts for stem in frequent] for cluster in clusters])
    even = np.median(shares, axis=0) > shares.mean(axis=0) / 2
    return frozenset(stem for stem, is_even in zip(frequent, even, strict=True) if is_even)


def _scores(cluster: Terms, total_share: dict[str, float], k: int, boring: frozenset[str]) -> list[tuple[str, float]]:
    """Return the stems of a cluster with their class-based TF-IDF, the highest first.

    It is the share of the texts that have the stem, times the log ratio of this share to the mean over all clusters.
    """
    stems = [stem for stem in cluster.texts if boring.isdisjoint(_ends(stem))]
    share = np.array([cluster.texts[stem] for stem in stems]) / cluster.n_texts
    total = np.array([total_share[stem] for stem in stems])
    # As if there were one more cluster without any of the terms: so a single cluster has keywords as well.
    scores = share * np.log(share * (k + 1) / total)
    return sorted(zip(stems, scores.tolist(), strict=True), key=lambda pair: (-pair[1], pair[0]))


def _ends(term: str) -> tuple[str, str]:
    return term.partition(" ")[0], term.rpartition(" ")[2]


def _keyword_scores(scored: list[tuple[str, float]], cluster: Terms) -> dict[str, float]:
    """Return the terms of one or two words that could be keywords, by their stems, with their scores."""
    texts = _drop_rare(cluster.texts, cluster.n_texts)
    return {stem: score for stem, score in scored if stem.count(" ") < 2 and stem in texts and score > 0}


def _pick_keywords(scored: list[tuple[str, float]], cluster: Terms, writing: Writing) -> list[Keyword]:
    """Return the best terms of one or two words; each has a word that the terms before it do not have."""
    texts, written = cluster.texts, {stem: cluster.forms[stem] for stem in _keyword_scores(scored, cluster)}
    spelled = {stem: writing.spelling.get(form, form) for stem, form in written.items()}
    # With an article, or if it is cut off, a phrase is only a part of another.
    parts_of = {
        stem: term_parts(stem)
        for stem, form in written.items()
        if " " not in form or (writing.can_be_name(form.split(" ")) and spelled[stem].count(" ") == 1)
    }
    swallowed = {
        part
        for stem, parts in parts_of.items()
        for part in parts
        if part != stem and texts[stem] > SWALLOWED * texts[part]
    }
    keywords: dict[str, Keyword] = {}
    seen: set[str] = set()
    for stem, parts in parts_of.items():
        # The same word can have another stem in another language.
        if stem not in swallowed and not parts <= seen and spelled[stem] not in keywords:
            keywords[spelled[stem]] = Keyword(spelled[stem], parts, texts[stem] / cluster.n_texts)
            seen |= parts
        if len(keywords) == KEYWORDS:
            break
    return list(keywords.values())
