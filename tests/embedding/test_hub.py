"""Downloads from a hub on this machine: complete, interrupted, damaged and forbidden."""

import logging

import numpy as np
import pytest
from hub_server import REVISION

from textspectra.embedding.hub import HUB_MODELS, announce_download, is_offline, no_downloads
from textspectra.embedding.registry import load_model
from textspectra.errors import ExternalError, UserError


def test_a_hub_model_is_downloaded_once_and_only_the_files_that_are_needed(hub):
    backend = load_model("somebody/tiny")
    assert backend.settings["revision"] == REVISION
    assert sorted(hub.asked) == [
        "1_Pooling/config.json", "config.json", "config_sentence_transformers.json", "model.safetensors",
        "modules.json", "sentence_bert_config.json", "tokenizer.json", "tokenizer_config.json",
    ]  # fmt: skip
    assert hub.asked[-1] == "modules.json"
    assert np.array_equal(backend.embed(["red"]), load_model(str(hub.folder)).embed(["red"]))
    hub.asked.clear()
    assert load_model("somebody/tiny").settings == backend.settings
    assert not hub.asked


def test_a_download_that_was_interrupted_goes_on(hub):
    hub.fails_at = "model.safetensors"
    with pytest.raises(ExternalError, match="could not be downloaded from the Hugging Face hub"):
        load_model("somebody/tiny")
    hub.fails_at = None
    assert load_model("somebody/tiny").embed(["red"]).shape == (1, 32)


def test_a_download_that_is_not_what_the_hub_has_is_deleted(hub):
    hub.damages = "model.safetensors"
    with pytest.raises(ExternalError) as caught:
        load_model("somebody/tiny")
    assert str(caught.value) == (
        "The download of model.safetensors is damaged: its checksum is not the one of the Hugging Face hub. It is "
        "deleted; run this again."
    )
    hub.damages = None
    assert load_model("somebody/tiny").embed(["red"]).shape == (1, 32)


def test_a_download_for_pytorch_is_compared_with_the_hub_too(hub):
    hub.damages = "tokenizer_config.json"
    with pytest.raises(ExternalError, match=r"The download of tokenizer_config\.json is damaged"):
        load_model("sentence-transformers:somebody/tiny")


def test_the_size_is_that_of_the_files_that_are_downloaded(caplog):
    caplog.set_level(logging.INFO, "textspectra")
    sizes = {"model.safetensors": 90_000_000, "tokenizer.json": 1_000_000, "README.md": 7_000_000,
             "pytorch_model.bin": 90_000_000, "onnx/model.bin": 50_000_000, "onnx/config.json": 5_000_000}  # fmt: skip
    announce_download("a/b", sizes)
    del sizes["model.safetensors"]
    announce_download("a/b", sizes)
    assert ["(91 MB)" in message for message in caplog.messages] == [True, True]


@pytest.mark.parametrize("prefix", ["", "sentence-transformers:", "model2vec:"])
@pytest.mark.parametrize("value", ["1", "on", "True", "YES"])
def test_nothing_is_downloaded_while_the_hub_is_switched_off(hub, monkeypatch, prefix, value):
    pytest.importorskip("sentence_transformers")
    pytest.importorskip("model2vec")
    monkeypatch.setenv("HF_HUB_OFFLINE", value)
    message = (
        r"is not on this machine, and downloads are switched off .* `hf download somebody/tiny --local-dir FOLDER`"
    )
    with pytest.raises(UserError, match=message):
        load_model(f"{prefix}somebody/tiny")
    assert not hub.asked


@pytest.mark.parametrize("before", [None, "0", "1"])
def test_downloads_are_forbidden_for_a_while(monkeypatch, before):
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    if before:
        monkeypatch.setenv("HF_HUB_OFFLINE", before)
    with no_downloads(False):
        assert is_offline() == (before == "1")
    with no_downloads(True):
        assert is_offline()
    assert is_offline() == (before == "1")


def test_known_models_have_the_prompts_of_their_model_cards():
    prompts = {known.hub_name: known.prompt for known in HUB_MODELS}
    assert prompts["intfloat/multilingual-e5-large-instruct"].endswith("\nQuery: ")
    assert prompts["Linq-AI-Research/Linq-Embed-Mistral"].endswith("\nQuery: ")
    assert prompts["Qwen/Qwen3-Embedding-8B"].endswith("\nQuery:")
    assert prompts["intfloat/multilingual-e5-small"] == prompts["intfloat/e5-small-v2"] == "query: "
    assert prompts["BAAI/bge-small-en-v1.5"] is None
