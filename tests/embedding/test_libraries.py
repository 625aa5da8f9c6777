"""Models that other libraries run, in folders and packages."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from embedding_helpers import WORDS

from textspectra.embedding.embed import embed_texts
from textspectra.embedding.registry import as_backend, load_model
from textspectra.errors import UsageError, UserError

pytestmark = pytest.mark.xdist_group("torch")  # one process, because loading it takes long


def test_a_folder_of_sentence_transformers(transformer_folder, cache):
    backend = load_model(f"sentence-transformers:{transformer_folder}")
    assert backend.name == f"sentence-transformers:{transformer_folder}"
    texts = ["red cat", "blue dog", "red cat dog"]
    vectors = embed_texts(texts, backend, cache=cache)
    from sentence_transformers import SentenceTransformer

    own = SentenceTransformer(str(transformer_folder), device="cpu").encode(texts, show_progress_bar=False)
    assert np.allclose(vectors, own, atol=1e-5)
    assert np.allclose(embed_texts(texts, f"float32:{transformer_folder}", cache=cache), own, atol=1e-4)
    again = load_model(backend.name)
    assert (again.name, again.settings) == (backend.name, backend.settings)
    assert np.array_equal(embed_texts(texts, again, cache=cache), vectors)


def test_a_folder_whose_weights_change_is_another_model(transformer_folder, tmp_path):
    copy = shutil.copytree(transformer_folder, tmp_path / "copy")
    before = load_model(str(copy)).settings
    assert before == load_model(str(transformer_folder)).settings
    weights = next(copy.rglob("*.safetensors"))
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert load_model(str(copy)).settings != before


def test_a_folder_with_the_name_of_a_known_model_gets_its_prompt(transformer_folder, tmp_path):
    copy = shutil.copytree(transformer_folder, tmp_path / "Qwen3-Embedding-0.6B")
    backend = load_model(str(copy))
    prompt = "Instruct: Identify the topic or theme of the given text\nQuery:"
    assert backend.settings["prompt"] == prompt
    plain = load_model(str(transformer_folder))
    assert np.allclose(backend.embed(["cat"]), plain.embed([prompt + "cat"]), atol=1e-5)
    assert not np.allclose(backend.embed(["cat"]), plain.embed(["cat"]), atol=1e-3)


def test_an_incomplete_folder_is_an_error_that_says_so(tmp_path):
    pytest.importorskip("sentence_transformers", reason="needs the extra transformers")
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(UserError, match=r"could not be loaded by sentence-transformers .*a complete copy of a model"):
        load_model(str(tmp_path)).embed(["a"])


def test_a_folder_of_model2vec_is_recognized_and_embeds(static_folder, cache):
    backend = load_model(str(static_folder))
    assert backend.name == f"model2vec:{static_folder}"
    vectors = embed_texts(["red cat", "", "unheard"], backend, cache=cache)
    assert vectors[0, [WORDS.index("red"), WORDS.index("cat")]].tolist() == [0.5, 0.5]
    assert vectors[0].sum() == 1
    assert not vectors[1:].any()
    again = load_model(backend.name)
    assert (again.name, again.settings) == (backend.name, backend.settings)


def test_code_in_a_folder_is_not_run(transformer_folder, tmp_path):
    folder = shutil.copytree(transformer_folder, tmp_path / "model")
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'was run')!r}, 'w')\nclass Module: pass\n")
    modules = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps([{**modules[0], "type": "evil.Module"}, *modules[1:]]))
    with pytest.raises(UserError, match="could not be loaded by sentence-transformers"):
        load_model(str(folder)).embed(["parcel"])
    assert not (tmp_path / "was run").exists()


def test_an_older_package_that_would_run_it_is_refused(transformer_folder, monkeypatch):
    library = pytest.importorskip("sentence_transformers")
    monkeypatch.setattr(library, "__version__", "5.7.0")
    with pytest.raises(UsageError, match=r"sentence-transformers 5\.7\.0 may run code that comes with a model"):
        load_model(f"sentence-transformers:{transformer_folder}").embed(["parcel"])


def test_a_pickle_is_not_read(transformer_folder, tmp_path):
    folder = shutil.copytree(transformer_folder, tmp_path / "model")
    torch = pytest.importorskip("torch")
    weights = safetensors.numpy.load_file(folder / "model.safetensors")
    torch.save({name: torch.from_numpy(value) for name, value in weights.items()}, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(UserError, match=r"no file named model\.safetensors"):
        load_model(str(folder)).embed(["parcel"])


def test_models_of_other_libraries(transformer_folder, static_folder):
    from model2vec import StaticModel
    from sentence_transformers import SentenceTransformer

    texts = ["red cat", "blue dog"]
    transformer = SentenceTransformer(str(transformer_folder), device="cpu")
    assert as_backend(transformer).name == "encoder:SentenceTransformer"
    same = embed_texts(texts, f"sentence-transformers:{transformer_folder}")
    assert np.allclose(embed_texts(texts, transformer), same, atol=1e-5)
    static = embed_texts(texts, StaticModel.from_pretrained(static_folder))
    assert static[0, WORDS.index("cat")] == 0.5


def test_wordllama_gives_the_vectors_of_its_own_library_bit_for_bit():
    wordllama = pytest.importorskip("wordllama", reason="needs the extra wordllama")

    model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    texts = ["How do I reset my password?", "", "a", "naïve café \U0001f600", "word " * 3000, "\0", "x"]
    assert np.array_equal(embed_texts(texts, "wordllama", cache=False), model.embed(texts, norm=False))


def test_wordllama_does_not_set_up_logging_for_the_program():
    pytest.importorskip("wordllama", reason="needs the extra wordllama")
    code = (
        "import logging; from textspectra import load_model; load_model('wordllama').embed(['a']);"
        "print(logging.getLogger().level, logging.getLogger().handlers)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.split() == ["30", "[]"]
