"""Every test has a cache of its own, and small real models in folders."""

import sys

import numpy as np
import pytest
from embedding_helpers import WORDS, CountingBackend, Hiding, write_checkpoint
from hub_server import Hub

from textspectra.embedding.cache import EmbeddingCache


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TEXTSPECTRA_CACHE", str(tmp_path / "default-cache"))


@pytest.fixture
def cache(tmp_path):
    return EmbeddingCache(tmp_path / "cache")


@pytest.fixture
def backend():
    return CountingBackend()


@pytest.fixture(scope="session")
def tiny_tokenizer():
    tokenizers = pytest.importorskip("tokenizers", reason="needs the extra model2vec or transformers")
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]")  # noqa: S106
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return tokenizer


@pytest.fixture(scope="session")
def static_folder(tmp_path_factory, tiny_tokenizer):
    """Save a model of model2vec with one direction for each word."""
    model2vec = pytest.importorskip("model2vec", reason="needs the extra model2vec")
    folder = tmp_path_factory.mktemp("static")
    model2vec.StaticModel(np.eye(len(WORDS), dtype=np.float32), tiny_tokenizer).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def transformer_folder(tmp_path_factory, tiny_tokenizer):
    """Save a model of sentence-transformers with one layer and random weights."""
    sentence_transformers = pytest.importorskip("sentence_transformers", reason="needs the extra transformers")
    import transformers
    from sentence_transformers.sentence_transformer import modules as models

    base = tmp_path_factory.mktemp("bert")
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    transformers.set_seed(0)
    transformers.BertModel(transformers.BertConfig(vocab_size=len(WORDS), **size)).save_pretrained(base)
    special = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tiny_tokenizer, **special).save_pretrained(base)
    folder = tmp_path_factory.mktemp("sentence") / "tiny"
    network = models.Transformer(str(base), max_seq_length=32)
    pooling = models.Pooling(16)
    sentence_transformers.SentenceTransformer(modules=[network, pooling], device="cpu").save(str(folder))
    return folder


@pytest.fixture
def hide(monkeypatch):
    def call(*modules):
        for loaded in [loaded for loaded in sys.modules if loaded.partition(".")[0] in modules]:
            monkeypatch.delitem(sys.modules, loaded)
        monkeypatch.setattr(sys, "meta_path", [Hiding(finder, modules) for finder in sys.meta_path])

    return call


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """Publish a model on a hub of our own, with files that nobody needs."""
    constants = pytest.importorskip("huggingface_hub.constants")
    folder = write_checkpoint(tmp_path / "published", prompt="green ", max_length=20)
    for unwanted in ("pytorch_model.bin", "onnx/model.onnx", "onnx/config.json"):
        (folder / unwanted).parent.mkdir(exist_ok=True)
        (folder / unwanted).write_bytes(b"large")
    hub = Hub(folder, "somebody/tiny")
    monkeypatch.setattr(constants, "ENDPOINT", hub.url)
    template = f"{hub.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub-cache"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    yield hub
    hub.server.shutdown()
    hub.server.server_close()
