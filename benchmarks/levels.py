"""Levels as cuts of one tree against groups found at each number; ``make bench-groups`` rewrites ``levels.md``.

Nothing is chosen here. Truth gives the score alone: the levels are a factor of 2.25 from the number in the middle.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from groups import load
from harness import DATA, ROOT
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

import textspectra as ts

FAMILIES = {
    "dbpedia14_titleonly": "dbpedia14", "massive_scenario": "massive_intent", "trec6": "trec50", "battig83": "bless",
    "esslli2008": "bless",
}  # fmt: skip
MIDDLES = (12, 30)
APART = 2.25
"""Factor between the levels."""

START = f"""# Levels

Written by `benchmarks/levels.py`, with MiniLM on up to 3,000 rows of 26 labeled sets; each family counts once.
The coarse and the fine level are cuts of the tree around the groups at the number in the middle, {APART} times away.
Beside them are the groups that `AutoKMeans` finds at the same number directly.

| middle | level | sets | AMI, cut | AMI, found directly | difference | ARI, cut | ARI, found directly |
|---|---|---:|---:|---:|---:|---:|---:|
"""


def pool() -> Iterator[tuple[str, Any, Any]]:
    """Yield the name of each set, its vectors and its classes."""
    for path in sorted((DATA / "minilm").glob("*.npz")):
        yield path.stem, *load("minilm", path.stem)
    for path in sorted((DATA / "vectors").glob("*.npz")):
        stored = np.load(path)
        yield path.stem, stored["minilm"].astype(np.float32), np.unique(stored["y_minilm"], return_inverse=True)[1]


def measure(X: Any, truth: Any, middle: int) -> dict[str, list[float]]:
    """Return AMI of the cut and of the fit, then ARI of both, for each level around a number."""
    result = ts.cluster_texts([f"text {row}" for row in range(len(X))], embeddings=X, n_clusters=middle)
    scores = {}
    for level, number in {"coarse": round(middle / APART), "fine": round(middle * APART)}.items():
        if 2 <= number <= len(X) // 3:
            both = (result.cut(number).labels, ts.AutoKMeans(number).fit(X).labels_)
            metrics = (adjusted_mutual_info_score, adjusted_rand_score)
            scores[level] = [metric(truth, labels) for metric in metrics for labels in both]
    return scores


def table() -> Iterator[str]:
    """Yield a line for each level around each number."""
    found: dict[tuple[int, str], dict[str, list[list[float]]]] = {}
    for name, X, truth in pool():
        for middle in MIDDLES:
            if middle > len(X) // 5:
                continue
            for level, scores in measure(X, truth, middle).items():
                of_family = found.setdefault((middle, level), {}).setdefault(FAMILIES.get(name, name), [])
                of_family.append(scores)
        print(name, flush=True)
    for (middle, level), families in sorted(found.items()):
        cut, fit, *ari = np.mean([np.mean(scores, axis=0) for scores in families.values()], axis=0)
        values = [*(f"{value:.3f}" for value in (cut, fit)), f"{cut - fit:+.3f}", *(f"{value:.3f}" for value in ari)]
        yield f"| {middle} | {level} | {sum(map(len, families.values()))} | {' | '.join(values)} |"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    (ROOT / "benchmarks" / "levels.md").write_text(START + "\n".join(table()) + "\n")
