"""Words that should not decide: what is suggested on each set, and what that does to the groups.

``python benchmarks/ignore.py`` rewrites ``ignore.md``; its text is in ``ignore.in.md``. Each set has up to 3,000 random
texts. The adjusted Rand index (ARI) compares the groups of ``cluster_texts`` with the classes, before and after
``ignore=result.ignore_suggestion``, at the number of groups that it finds and at the number of classes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import pyarrow.parquet as pq
from harness import DATA, ROOT, Row, main
from sklearn.metrics import adjusted_rand_score

from textspectra import TextClustering, cluster_texts
from textspectra.texts import pipeline

N_TEXTS = 3_000
NUISANCES = ["airline_complaints", "bitext27"]
TOPICS = [
    "banking77", "massive_intent", "massive_scenario", "reddit50_s", "dbpedia14", "dbpedia14_titleonly",
    "stackexchange50val", "stackexchange121_s", "searchsnippets", "googlenews_t", "huffpost41", "m10", "arxiv_titles",
    "job_titles", "book_titles", "recipe_cuisine", "covidq", "covidq_fine", "nyt_frontpage", "agnews_title",
    "stance_tweets", "app_reviews", "github_issues", "netflix_genre",
]  # fmt: skip
PLANTED = {
    "assistants in massive_intent": ("massive_intent", "hey {word} {text}", "alexa siri cortana google bixby"),
    "cards in banking77": ("banking77", "{text} I have a {word} card.", "Visa Mastercard Maestro Amex Discover"),
    "programs in github_issues": ("github_issues", "[{word}] {text}", "Photoshop Excel Outlook Chrome Spotify"),
    "apps in app_reviews": ("app_reviews", "{word}: {text}", "Evernote Dropbox Netflix Skype Instagram"),
    "countries in covidq": ("covidq", "In {word}, {text}", "Germany Japan Brazil Kenya Canada"),
    "phones in bitext27": ("bitext27", "{text} on my {word}", "iPhone Pixel Galaxy Nokia Xperia"),
    "accounts in stackexchange50val": ("stackexchange50val", "@{word} {text}", "Apple Amazon Spotify Delta Xbox"),
    "people in massive_intent": ("massive_intent", "{text} thanks {word}", "Maria Peter Ahmed Yuki Olga"),
}
"""A set, how one of five words is added to 80% of its texts at random, and these words."""


class Labeled(NamedTuple):
    """Texts and their classes."""

    texts: list[str]
    classes: list[str]

    @classmethod
    def load(cls, name: str, n_texts: int | None = N_TEXTS, seed: int = 0) -> Labeled:
        table = pq.read_table(DATA / f"{name}.parquet").to_pydict()
        rows = np.sort(np.random.default_rng(seed).permutation(len(table["text"]))[:n_texts])
        return cls([table["text"][row] for row in rows], [table["label"][row] for row in rows])

    @classmethod
    def planted(cls, name: str) -> Labeled:
        source, template, words = PLANTED[name]
        plain, rng = cls.load(source, 2_000), np.random.default_rng(1)
        drawn = rng.choice(words.split(), len(plain.texts))
        is_changed = rng.random(len(plain.texts)) < 0.8
        cells = zip(plain.texts, drawn.tolist(), is_changed.tolist(), strict=True)
        texts = [template.format(text=text, word=word) if change else text for text, word, change in cells]
        return cls(texts, plain.classes)

    def index(self, result: TextClustering) -> float:
        has_group = result.labels >= 0
        return float(adjusted_rand_score(np.array(self.classes)[has_group], result.labels[has_group]))


def compare(labeled: Labeled, model: str, k: int | Literal["auto"]) -> tuple[float, float, str]:
    """Return the ARI at k before and after what is suggested is ignored, and the suggestion."""
    result = cluster_texts(labeled.texts, model=model, n_clusters=k)
    before = after = labeled.index(result)
    suggestion = result.ignore_suggestion
    if suggestion:
        after = labeled.index(cluster_texts(labeled.texts, model=model, n_clusters=k, ignore=suggestion))
    return before, after, f"at {result.n_clusters} groups {', '.join(suggestion) or 'none'}"


def bench_nuisance(title: str, labeled: Labeled, model: str = "minilm") -> list[Row]:
    rows: list[Row] = []
    levels: dict[str, int | Literal["auto"]] = {"the k it finds": "auto", "the true k": len(set(labeled.classes))}
    for level, k in levels.items():
        before, after, suggestion = compare(labeled, model, k)
        what = f"{title}: ARI at {level} if that is ignored"
        rows.append((what, f"≥ {before:.3f}", f"{after:.3f}", f"suggested {suggestion}; ARI before {before:.3f}"))
    return rows


def bench_topics(model: str, seed: int) -> list[Row]:
    """Return a row for each set whose words are topics, and how many have a suggestion that lowers the ARI."""
    rows: list[Row] = []
    n_lower = 0
    for name in TOPICS:
        before, after, suggestion = compare(Labeled.load(name, seed=seed), model, "auto")
        n_lower += after < before
        is_none = suggestion.endswith(" none")
        details = f"suggested {suggestion}; ARI before {before:.3f}"
        rows.append((f"{name}, {model}: suggestions", "≤ 0", f"{1 - is_none}", details))
        print(rows[-1], file=sys.stderr, flush=True)
    what = f"topic sets, {model}, sample {seed}: with a suggestion that lowers the ARI"
    return [*rows, (what, "≤ 1", f"{n_lower}", f"of {len(TOPICS)} sets")]


def bench_cost() -> list[Row]:
    rows: list[Row] = []
    decide = pipeline.words_that_decide
    for name in ("airline_complaints", "banking77"):
        spent = []

        def timed(*given: object, spent: list[float] = spent) -> object:
            start = time.process_time()
            found = decide(*given)  # type: ignore[arg-type]
            spent.append(time.process_time() - start)
            return found

        pipeline.words_that_decide = timed  # type: ignore[assignment]
        texts = Labeled.load(name).texts
        cluster_texts(texts[:100], model="minilm", cache=False)
        spent.clear()
        start = time.process_time()
        cluster_texts(texts, model="minilm", cache=False)
        total = time.process_time() - start
        what = f"{name}: share of the CPU time of cluster_texts with MiniLM, 3,000 texts"
        share = 100 * spent[0] / (total - spent[0])
        rows.append((what, "≤ 15%", f"{share:.1f}%", f"{spent[0]:.2f} s of {total:.1f} s"))
    return rows


PARTS: dict[str, Callable[[], list[Row]]] = {}
for name in NUISANCES:
    PARTS[name] = lambda name=name: bench_nuisance(name, Labeled.load(name))
PARTS["topics"] = partial(bench_topics, "minilm", 0)
for name in PLANTED:
    PARTS[name] = lambda name=name: bench_nuisance(name, Labeled.planted(name))
PARTS["cost"] = bench_cost
for name in NUISANCES:
    title = f"{name}, wordllama, another sample"
    PARTS[title] = lambda name=name, title=title: bench_nuisance(title, Labeled.load(name, seed=1), "wordllama")
PARTS["topics wordllama"] = partial(bench_topics, "wordllama", 1)

if __name__ == "__main__":
    main(__file__, "ignore.md", "Words that should not decide", PARTS)
    if len(sys.argv) == 1:
        notes = (ROOT / "benchmarks" / "ignore.in.md").read_text()
        with (ROOT / "benchmarks" / "ignore.md").open("a") as file:
            file.write(f"\n{notes}")
