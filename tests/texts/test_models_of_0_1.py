"""Models that version 0.1 saved, kept as they were written: every later version loads and uses them."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import textspectra as ts

FOLDER = Path(__file__).parent / "models_0_1"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
VECTORS = np.array(EXPECTED["vectors"], np.float32)


@pytest.mark.parametrize("name", ["clustered", "updated"])
def test_a_model_of_0_1_is_what_it_was(name):
    model, expected = ts.TextClustering.load(FOLDER / name), EXPECTED[name]
    assert model.labels.tolist() == expected["labels"]
    assert [[cluster.label, cluster.name, cluster.size] for cluster in model.clusters] == expected["topics"]
    assert (list(model.k_estimate.interval) if model.k_estimate else None) == expected["k_interval"]
    assert (model.cohesion.ratio if model.cohesion else None) == expected["cohesion_ratio"]
    assert list(model.notes) == expected["notes"]
    assert model.predict(list("abcd"), embeddings=VECTORS).tolist() == expected["predicted"]


def test_what_a_model_of_0_1_can_do_it_still_can(tmp_path):
    shutil.copytree(FOLDER / "clustered", tmp_path / "model")
    model = ts.TextClustering.load(tmp_path / "model")
    assert sum(model.over_time()["texts"]) == 59
    assert sum(model.by("channel")["texts"]) == 59
    texts = [f"invoice {i}" for i in range(20)] + [f"parcel {i}" for i in range(20)]
    X = np.repeat(VECTORS[[3, 0]], 20, axis=0) + np.random.default_rng(0).normal(0, 0.15, (40, 6))
    later = model.update(texts, embeddings=X)
    assert later.labels[:60].tolist() == model.labels.tolist()
    later.save(tmp_path / "model", overwrite=True)
    assert ts.TextClustering.load(tmp_path / "model").labels.tolist() == later.labels.tolist()
