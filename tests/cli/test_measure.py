"""`textspectra embed`, `estimate` and `score`, run as a person runs them."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest


def test_all_commands_agree_on_the_rows_that_count(run, tmp_path):
    """A blank text that has a vector counts nowhere."""
    pytest.importorskip("wordllama")
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(5), 40)
    X = (np.eye(5)[clusters] + 0.05 * rng.standard_normal((200, 5))).astype(np.float32)
    texts = [" " if cluster == 4 else f"text {row}" for row, cluster in enumerate(clusters)]
    columns = {"text": texts, "v": X.tolist(), "class": [f"c{cluster}" for cluster in clusters]}
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    given = ["x.parquet", "--embeddings", "v", "--json"]
    estimate = json.loads(run("estimate", *given).out)
    clustered = json.loads(run("cluster", *given, "--no-report").out)
    scores = json.loads(run("score", *given, "--labels", "class").out)
    assert estimate["k"] == clustered["k"] == scores["n_clusters"] == 4
    assert estimate["texts_used"] == scores["n_samples"] == clustered["distinct_texts"] == 160
    for ours, theirs in (("interval", "k_interval"), ("confidence", "k_confidence"), ("suggestions", "k_suggestions")):
        assert estimate[ours] == clustered[theirs]
    run("embed", "x.parquet", "x.npy", "--text-column", "text")
    zero = ~np.load(tmp_path / "x.npy").any(axis=1)
    assert zero.tolist() == [not text.strip() for text in texts]


def test_quiet_prints_the_bare_result(call, tmp_path):
    rows = [{"text": f"text {i}", "v": np.eye(3)[i % 3] + 0.01 * i, "class": i % 3} for i in range(30)]
    pq.write_table(pa.Table.from_pylist([{**row, "v": row["v"].tolist()} for row in rows]), tmp_path / "x.parquet")
    given = ["x.parquet", "--embeddings", "v", "--text-column", "text"]
    assert call("estimate", *given, "-q").out.strip().isdecimal()
    scores = call("score", *given, "--labels", "class", "-q").out
    assert "cohesion ratio" in scores
    assert call("score", *given, "--labels", "class").out.startswith(scores)
    assert "unknown column 'klass'" in call("score", *given, "--labels", "klass", code=3).err
