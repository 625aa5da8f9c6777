"""Names of groups: how near they are to the names of the true classes, whether they are well-formed, what they cost.

``python benchmarks/names.py`` rewrites ``names.md``. Two kinds of groups are named: the true classes, so that only the
names are measured, and the groups of the product at the true number. Class names are the labels with blanks for
underscores. A set has up to 3,000 texts, with MiniLM.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import snowballstemmer
from harness import DATA, ROOT, Row, main
from numpy.typing import NDArray

from textspectra import AutoKMeans, embed_texts
from textspectra.core.rows import cluster_sums, cosines_to_centers
from textspectra.words.describe import Cluster, describe_clusters

FIVE = ["banking77", "massive_intent", "stackexchange121_s", "reddit50_s", "dbpedia14"]
SETS = [
    *FIVE, "agnews_title", "airline_complaints", "app_reviews", "bitext27", "book_titles", "covidq", "covidq_fine",
    "dbpedia14_titleonly", "github_issues", "job_titles", "massive_scenario", "netflix_genre", "ng20_train_clean",
    "nyt_frontpage", "recipe_cuisine", "stackexchange50val", "stance_tweets",
]  # fmt: skip
"""All sets with texts whose class names are words."""
MAX_TEXTS = 3_000
JUDGE = "minilm"
"""The model whose cosines compare names with the names of the classes, and with each other."""

# The check of a name. The lists are written for the check, and are not those of the package.
EDGES = frozenset([
    "a", "an", "the", "my", "your", "our", "his", "her", "its", "their", "this", "that", "these", "those", "i",
    "you", "he", "she", "it", "we", "they", "me", "him", "us", "them", "who", "whom", "which", "what", "how",
    "when", "where", "why", "of", "for", "to", "in", "on", "at", "by", "with", "from", "into", "about", "as",
    "than", "and", "or", "but", "if", "because", "can", "could", "will", "would", "shall", "should", "may",
    "might", "must", "do", "does", "did", "is", "are", "was", "were", "be", "been", "being", "have", "has", "had",
    "am", "im", "ive", "please", "soon", "there", "here", "very", "just", "also", "not", "no", "so", "too",
])  # fmt: skip
GREETINGS = frozenset([
    "hi", "hello", "hey", "dear", "please", "kindly", "thanks", "thank", "thx", "regards", "greetings",
])  # fmt: skip
LEAST_TEXTS, LEAST_SHARE = 3, 0.03
SAME = 0.9  # cosine of two names, from which they are near-duplicates

stem = cache(snowballstemmer.stemmer("english").stemWord)


def words_of(text: str) -> list[str]:
    return re.findall(r"[^\W_]+(?:['’][^\W_]+)?", text.lower())


def stems_of(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words_of(text) if word not in EDGES)


def problem_of(name: str, texts: Sequence[frozenset[str]], is_repeated: bool) -> str:
    """Return what is wrong with a name, given the stems of the texts of its group; empty if it is well-formed."""
    words, content = words_of(name), stems_of(name)
    if not content or " / " in name:
        return "not a phrase"
    if not name.endswith("?") and ({words[0], words[-1]} & EDGES):
        return "edge"
    if GREETINGS & set(words):
        return "greeting"
    n = sum(content <= text for text in texts)
    if n < LEAST_TEXTS and n < LEAST_SHARE * len(texts):
        return "few texts"
    return "near-duplicate" if is_repeated else ""


def problems_of(clusters: Sequence[Cluster], texts: Sequence[str], codes: NDArray[Any]) -> list[str]:
    """Return the problem of each name of a group that is not mixed; empty if it is well-formed."""
    stems = [stems_of(text) for text in texts]
    clear = [cluster for cluster in clusters if not cluster.is_mixed]
    vectors = unit(embed_texts([cluster.name for cluster in clear], JUDGE))
    cosines = vectors @ vectors.T - 2 * np.eye(len(clear))
    content = [stems_of(cluster.name) for cluster in clear]
    repeated = (cosines.max(axis=1) >= SAME) | [content.count(each) > 1 for each in content]
    return [
        problem_of(cluster.name, [stems[row] for row in np.flatnonzero(codes == cluster.label)], bool(flag))
        for cluster, flag in zip(clear, repeated, strict=True)
    ]


class LabeledTexts:
    """Texts of a set with their classes and vectors."""

    def __init__(self, name: str, model: str = JUDGE) -> None:
        table = pq.read_table(DATA / f"{name}.parquet").to_pydict()
        ready = DATA / "minilm" / f"{name}.npz"
        n = len(table["text"])
        if ready.exists():
            rows = np.load(ready)["row"]
        else:
            rows = np.sort(np.random.default_rng(0).choice(n, min(n, MAX_TEXTS), replace=False))
        self.texts = [str(table["text"][row] or "") for row in rows]
        classes, self.codes = np.unique([table["label"][row] for row in rows], return_inverse=True)
        self.classes = [str(label).replace("_", " ") for label in classes.tolist()]
        if ready.exists() and model == JUDGE:
            self.vectors = np.load(ready)["embedding"].astype(np.float32)
        else:
            self.vectors = embed_texts(self.texts, model)
        empty = ~self.vectors.any(axis=1)
        self.vectors[empty] = self.vectors[~empty].mean(axis=0)

    def describe(self, codes: NDArray[Any], embed: Any) -> list[Cluster]:
        centers = cluster_sums(self.vectors, codes, int(codes.max()) + 1).astype(np.float32)
        cosines = cosines_to_centers(self.vectors, codes, centers)
        counts = np.ones(len(self.texts), np.intp)
        return describe_clusters(self.texts, self.vectors, codes, centers, cosines, counts=counts, embed=embed)

    def product_groups(self) -> NDArray[Any]:
        return np.asarray(AutoKMeans(n_clusters=len(self.classes)).fit_predict(self.vectors))

    def judge(self, clusters: Sequence[Cluster], codes: NDArray[Any]) -> tuple[float, float]:
        """Return the mean cosine of names with the class of most of their texts, and how often it is the nearest."""
        usual = [np.bincount(self.codes[codes == cluster.label]).argmax() for cluster in clusters]
        names = [cluster.name for cluster in clusters]
        cosines = unit(embed_texts(names, JUDGE)) @ unit(embed_texts(self.classes, JUDGE)).T
        return float(cosines[np.arange(len(names)), usual].mean()), float((cosines.argmax(axis=1) == usual).mean())


def unit(X: NDArray[Any]) -> NDArray[Any]:
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(np.float32).tiny)


def bench_true_classes(model: str) -> list[Row]:
    results, clear = {}, {}
    for name in FIVE:
        texts = LabeledTexts(name, model)
        clusters = texts.describe(texts.codes, partial(embed_texts, model=model))
        results[name] = texts.judge(clusters, texts.codes)
        clear[name] = texts.judge([cluster for cluster in clusters if not cluster.is_mixed], texts.codes)
    rows: list[Row] = []
    for how, found in (("", results), (", without those that are called mixed", clear)):
        cosine, nearest = np.mean(list(found.values()), axis=0)
        details = [", ".join(f"{name} {values[place]:.2f}" for name, values in found.items()) for place in (0, 1)]
        bars = (COSINE_BAR, NEAREST_BAR) if model == JUDGE else ("–", "–")
        start = f"true classes of five sets, {model}{how}"
        rows += [
            (f"{start}: mean cosine with the name of the class", bars[0], f"{cosine:.3f}", details[0]),
            (f"{start}: nearest class name is its own", bars[1], f"{nearest:.3f}", details[1]),
        ]
    return rows


def bench_product_groups() -> list[Row]:
    judged, problems, mixed, n = {}, {}, 0, 0
    for name in SETS:
        texts = LabeledTexts(name)
        codes = texts.product_groups()
        clusters = texts.describe(codes, partial(embed_texts, model=JUDGE))
        judged[name] = texts.judge(clusters, codes)
        problems[name] = problems_of(clusters, texts.texts, codes)
        mixed, n = mixed + sum(cluster.is_mixed for cluster in clusters), n + len(clusters)
    cosine, nearest = np.mean(list(judged.values()), axis=0)
    kinds = [kind for found in problems.values() for kind in found]
    shares = {name: found.count("") / max(1, len(found)) for name, found in problems.items()}
    details = ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds) - {""}))
    below = ", ".join(f"{name} {share:.0%}" for name, share in shares.items() if share < 0.95)
    start = f"{n:,} groups of {len(SETS)} sets at the true number"
    return [
        (f"{start}: mean cosine with the name of the class", "–", f"{cosine:.3f}",
         ", ".join(f"{name} {values[0]:.2f}" for name, values in judged.items())),
        (f"{start}: nearest class name is its own", "–", f"{nearest:.3f}",
         ", ".join(f"{name} {values[1]:.2f}" for name, values in judged.items())),
        (f"{start}: well-formed names of those that are not mixed", "≥ 97%", f"{kinds.count('') / len(kinds):.1%}",
         f"{details or 'no problem'}; below 95%: {below or 'none'}"),
        (f"{start}: called mixed", "–", f"{mixed / n:.1%}", f"{mixed} groups"),
    ]  # fmt: skip


def bench_cost() -> list[Row]:
    texts = LabeledTexts("banking77")
    counts = []

    def embed(phrases: list[str]) -> NDArray[np.float32]:
        counts.append(len(phrases))
        return embed_texts(phrases, JUDGE, cache=False)

    embed(["warm up"])
    start = time.process_time()
    texts.describe(texts.codes, embed)
    named = time.process_time() - start
    start = time.process_time()
    embed_texts(texts.texts, JUDGE, cache=False)
    embedded = time.process_time() - start
    return [
        ("77 groups: CPU time of keywords, phrases and names against embedding the 3,000 texts (MiniLM)", "–",
         f"{named / embedded:.2f}×", f"{counts[-1]:,} phrases, {named:.1f} s against {embedded:.1f} s"),
    ]  # fmt: skip


COSINE_BAR, NEAREST_BAR = "≥ 0.64", "≥ 0.74"
PARTS = {f"true {model}": partial(bench_true_classes, model) for model in ("minilm", "wordllama")}
PARTS |= {"product": bench_product_groups, "cost": bench_cost}

if __name__ == "__main__":
    main(__file__, "names.md", "Names of groups", PARTS)
    if len(sys.argv) == 1:
        with (ROOT / "benchmarks" / "names.md").open("a") as file:
            file.write((ROOT / "benchmarks" / "names.in.md").read_text())
