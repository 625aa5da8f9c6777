"""What texts that are repeated do to k and to the groups; ``make bench-groups`` runs it and rewrites ``repeats.md``.

Distinct texts of a labeled set are repeated at random, a few of them very often, as in a log of queries. Nothing is
chosen here: truth gives the k of the groups and the score.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from groups import load
from harness import ROOT
from sklearn.metrics import adjusted_rand_score

import textspectra as ts

SETS = ("banking77", "massive_intent", "dbpedia14", "searchsnippets", "reddit50_s", "m10")
SIZES = (300, 1000, 3000)
TIMES = 6
"""How often a text occurs on average."""

START = f"""# Repeated texts

Written by `benchmarks/repeats.py`, with MiniLM. Distinct texts are repeated {TIMES} times on average. The frequency of
the text with rank r falls as 1 / r^s, and s = 0 means no repetition. ARI is computed over all rows, at the true k.
The plain algorithm (`refine=False`) gives every repetition its weight, as scikit-learn's `KMeans` does.

| set | distinct texts | true k | k, s = 0 | k, s = 0.7 | k, s = 1 | ARI, s = 0.7 | plain | ARI, s = 1 | plain |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|
"""


def sample(name: str, size: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return distinct rows and their classes, of at most 20 classes if there are few rows."""
    X, truth = load("minilm", name)
    distinct = np.sort(np.unique(X, axis=0, return_index=True)[1])
    X, truth = X[distinct], truth[distinct]
    if size < max(SIZES):
        kept = np.isin(truth, rng.permutation(np.unique(truth))[:20])
        X, truth = X[kept], truth[kept]
    rows = rng.permutation(len(X))[:size]
    return X[rows], truth[rows]


def measure(name: str, size: int) -> tuple[list[float], list[float]]:
    """Return k without and with repetitions, and the ARI of refined and of plain groups."""
    rng = np.random.default_rng(size)
    X, truth = sample(name, size, rng)
    k = len(np.unique(truth))
    ks, scores = [len(X), k, ts.estimate_k(X).k], []
    for s in (0.7, 1.0):
        share = 1 / np.arange(1, len(X) + 1) ** s
        counts = 1 + rng.multinomial((TIMES - 1) * len(X), share / share.sum())
        rows = np.repeat(np.arange(len(X)), counts)
        ks.append(ts.estimate_k(X[rows]).k)
        for refine in (True, False):
            labels = ts.AutoKMeans(k, refine=refine).fit(X[rows]).labels_
            scores.append(float(adjusted_rand_score(truth[rows], labels)))
    return ks, scores


def main() -> None:
    """Measure every set at every size, and write the table with a line of means."""
    lines, scores = [], []
    for name in SETS:
        for size in SIZES:
            ks, found = measure(name, size)
            scores.append(found)
            lines.append(
                f"| {name} | {' | '.join(f'{k:,}' for k in ks)} | {' | '.join(f'{one:.3f}' for one in found)} |"
            )
            print(lines[-1], flush=True)
    lines.append(f"| mean | | | | | | {' | '.join(f'{one:.3f}' for one in np.mean(scores, axis=0))} |")
    (ROOT / "benchmarks" / "repeats.md").write_text(START + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
