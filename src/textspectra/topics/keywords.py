"""The keywords of clusters: class-based TF-IDF over words and two-word phrases, without repetition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .words import TermCounts, count_terms, term_parts

MAX_TEXTS = 2_000
"""Texts of a cluster that are counted for its keywords; of more, as many are drawn at random, always the same ones."""

TOTAL_TEXTS = 300_000
"""Texts that are counted in all; many clusters share them, with at least `MIN_TEXTS` for each."""

MIN_TEXTS = 100
"""See `TOTAL_TEXTS`."""

EVERYWHERE = 0.05
"""A word in this share of the texts, and in over half of its mean share in half of the clusters, is a stop word."""

MIN_CLUSTERS = 6
"""With fewer clusters, an even spread may be chance."""

SWALLOWED = 0.5
"""A word that is in a phrase more often than this is shown as the phrase: "machine learning", not "machine"."""


def rank_keywords(
    texts: Sequence[str],
    members: Sequence[NDArray[np.intp]],
    n_keywords: int,
    merges: Sequence[tuple[int, int]] = (),
) -> list[list[str]]:
    """Return the keywords of each cluster, the most telling first, in the form in which they are usually written.

    Parameters
    ----------
    texts : sequence of str
        All texts.
    members : sequence of k arrays of int
        The rows of each cluster, numbered 0 to k - 1.
    n_keywords : int
        At most so many for each cluster.
    merges : sequence of pairs of int
        The two clusters that merge number j makes cluster k + j of. These get keywords too, against the
        clusters that exist beside them.

    Examples
    --------
    >>> import numpy as np
    >>> texts = ["no WiFi", "my WiFi is slow", "slow refund", "a refund"]
    >>> members = [np.array([0, 1]), np.array([2, 3])]
    >>> rank_keywords(texts, members, 2)
    [['WiFi', 'slow'], ['refund', 'slow refund']]
    >>> rank_keywords(texts, members, 2, merges=[(0, 1)])[2]
    ['refund', 'slow']
    """
    counts, sizes = _count(texts, members)
    forms = _usual_forms(counts)
    total_share: dict[str, float] = {}
    for count, size in zip(counts, sizes, strict=True):
        _add_shares(total_share, count.texts, size)
    boring = _spread_evenly(counts, sizes, total_share)
    k = len(members)
    terms = [count.texts for count in counts]
    scored = [_scores(found, size, total_share, k, boring) for found, size in zip(terms, sizes, strict=True)]
    for step, (one, other) in enumerate(merges):
        _add_shares(total_share, terms[one], sizes[one], sign=-1)
        _add_shares(total_share, terms[other], sizes[other], sign=-1)
        terms.append(terms[one] + terms[other])
        sizes.append(sizes[one] + sizes[other])
        _add_shares(total_share, terms[-1], sizes[-1])
        scored.append(_scores(terms[-1], sizes[-1], total_share, k - step - 1, boring))
    ranked = [_pick(scores, found, n_keywords) for scores, found in zip(scored, terms, strict=True)]
    return [[forms.get(term, term) for term in words] for words in ranked]


def _count(texts: Sequence[str], members: Sequence[NDArray[np.intp]]) -> tuple[list[TermCounts], list[int]]:
    """Count the terms of each cluster, in a sample of the large ones; with the number of texts that were counted."""
    limit = min(MAX_TEXTS, max(MIN_TEXTS, TOTAL_TEXTS // max(1, len(members))))
    samples = [_sample(rows, limit) for rows in members]
    counts = [_frequent(count_terms(texts[row] for row in rows), len(rows)) for rows in samples]
    return counts, [len(rows) for rows in samples]


def _add_shares(total: dict[str, float], texts: Counter[str], n_texts: int, *, sign: int = 1) -> None:
    for term, n in texts.items():
        total[term] = total.get(term, 0.0) + sign * n / n_texts


def _sample(rows: NDArray[np.intp], limit: int) -> NDArray[np.intp]:
    return rows if len(rows) <= limit else np.sort(np.random.default_rng(0).choice(rows, limit, replace=False))


def _frequent(counts: TermCounts, n_texts: int) -> TermCounts:
    """Leave out the terms that are too rare to be keywords, which are most of them, before they fill the memory."""
    least = 1 if n_texts < 5 else 2 if n_texts < 500 else 3
    texts = Counter({term: n for term, n in counts.texts.items() if n >= least}) or counts.texts
    return TermCounts(texts, Counter({pair: n for pair, n in counts.forms.items() if pair[0] in texts}))


def _spread_evenly(counts: list[TermCounts], sizes: list[int], total_share: dict[str, float]) -> frozenset[str]:
    k = len(counts)
    if k < MIN_CLUSTERS:
        return frozenset()
    frequent = [term for term, share in total_share.items() if share > EVERYWHERE * k and " " not in term]
    shares = np.array(
        [[count.texts[term] / size for term in frequent] for count, size in zip(counts, sizes, strict=True)]
    )
    even = np.median(shares, axis=0) > shares.mean(axis=0) / 2
    return frozenset(term for term, is_even in zip(frequent, even, strict=True) if is_even)


def _usual_forms(counts: list[TermCounts]) -> dict[str, str]:
    """Return the most frequent written form of each term that is not usually in lower case."""
    plain: Counter[str] = Counter()
    forms: dict[str, Counter[str]] = {}
    for count in counts:
        plain.update(count.texts)
        for (term, form), n in count.forms.items():
            plain[term] -= n
            if form:
                forms.setdefault(term, Counter())[form] += n
    best = {term: min(found, key=lambda form: (-found[form], form)) for term, found in forms.items()}
    return {term: form for term, form in best.items() if forms[term][form] > plain[term]}


def _scores(
    texts: Counter[str], n_texts: int, total_share: dict[str, float], k: int, boring: frozenset[str]
) -> list[tuple[str, float]]:
    """Return the terms of a cluster with their class-based TF-IDF, the highest first."""
    terms = [term for term in texts if boring.isdisjoint(term.split())]
    share = np.array([texts[term] for term in terms]) / n_texts
    total = np.array([total_share[term] for term in terms])
    # As if there were one more cluster that has none of the terms: a single cluster has keywords as well.
    scores = share * np.log(share * (k + 1) / total)
    return sorted(zip(terms, scores.tolist(), strict=True), key=lambda pair: (-pair[1], pair[0]))


def _pick(scored: list[tuple[str, float]], texts: Counter[str], n_keywords: int) -> list[str]:
    """Return the best terms of which each says something that those before it do not."""
    swallowed = {
        part
        for term, score in scored
        for part in term_parts(term)
        if score > 0 and part != term and texts[term] > SWALLOWED * texts[part]
    }
    picked: list[str] = []
    seen: set[str] = set()
    for term, score in scored:
        if len(picked) == n_keywords or score <= 0:
            break
        parts = term_parts(term)
        if term in swallowed or all(any(same_word(part, other) for other in seen) for part in parts):
            continue
        picked.append(term)
        seen |= parts
    return picked


def same_word(one: str, other: str) -> bool:
    """Tell whether two words look like inflections of one.

    Examples
    --------
    >>> same_word("refund", "refunds"), same_word("battery", "batteries"), same_word("password", "passport")
    (True, True, False)
    """
    short, long = sorted((one, other), key=len)
    extra = len(long) - len(short)
    if not long.startswith(short[:-1]) or extra > 4:
        return False
    if long.startswith(short):
        return extra == 0 or long in (f"{short}s", f"{short}es") or (len(short) >= 4 and extra <= 3) or len(short) >= 6
    return (len(short) >= 5 and extra in (2, 3)) or (len(short) >= 7 and extra == 0)
