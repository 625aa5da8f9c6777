"""The paper's models in a study, on random checkpoints of the same architectures, against literal pooling."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from study_factory import write_messages

from textspectra import load_model
from textspectra_study.run import run_study
from textspectra_study.tasks import TASKS

torch = pytest.importorskip("torch", reason="needs the extra transformers")
transformers = pytest.importorskip("transformers", reason="needs the extra transformers")
pytest.importorskip("sentence_transformers", reason="needs the extra transformers")

pytestmark = pytest.mark.xdist_group("torch")  # one process, because loading it takes long

START, END, PAD, UNKNOWN = "<s>", "</s>", "<pad>", "<unk>"
INSTRUCTION = "Instruct: Identify the topic or theme of the given text\nQuery:"
TEXTS = ["I forgot my password", "cancel", "please cancel my subscription today", "reset the password of my account"]
WORDS = sorted({word for text in (*TEXTS, "Instruct Query Identify topic or theme given text : the of") for word in
                text.split()})  # fmt: skip
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
DECODER = SIZES | {"num_key_value_heads": 2, "head_dim": 8}

MODELS = {
    "multilingual-e5-large-instruct": ("XLMRoberta", SIZES, "mean", f"{INSTRUCTION} ", [START, "$A", END]),
    "Qwen3-Embedding-0.6B": ("Qwen3", DECODER, "lasttoken", INSTRUCTION, ["$A", END]),
    "Qwen3-Embedding-8B": ("Qwen3", DECODER, "lasttoken", INSTRUCTION, ["$A", END]),
    "Linq-Embed-Mistral": ("Mistral", DECODER, "lasttoken", f"{INSTRUCTION} ", [START, "$A", END]),
}
"""Architecture, sizes, pooling, instruction and tokens of each model, as its card describes them."""


def write_model(folder, kind, sizes, pooling, template):
    """Write a small model with random weights as sentence-transformers stores it."""
    import tokenizers

    special = [START, PAD, END, UNKNOWN]
    numbers = {word: number for number, word in enumerate([*special, *WORDS])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(numbers, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single=" ".join(template), special_tokens=[(word, numbers[word]) for word in (START, END)]
    )
    names = {"bos_token": START, "pad_token": PAD, "eos_token": END, "unk_token": UNKNOWN}
    side = "right" if pooling == "mean" else "left"
    wrapped = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, padding_side=side, model_max_length=60, **names
    )
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=len(numbers), max_position_embeddings=64, pad_token_id=1, bos_token_id=0, eos_token_id=2,
        initializer_range=0.3, **sizes,
    )  # fmt: skip
    getattr(transformers, f"{kind}Model")(config).eval().save_pretrained(folder)
    wrapped.save_pretrained(folder)
    kinds = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
    modules = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{name}"}
        for number, (name, path) in enumerate(kinds.items())
    ]
    for path in kinds.values():
        (folder / path).mkdir(exist_ok=True)
    legacy = {"mean": "pooling_mode_mean_tokens", "lasttoken": "pooling_mode_lasttoken"}
    settings = {"word_embedding_dimension": sizes["hidden_size"], legacy[pooling]: True}
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(settings))
    return folder


def literal_vectors(folder, texts, kind, pooling, prompt):
    """Embed each text by itself, so that nothing is padded: the network, then the mean or the last of its tokens."""
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
    network = getattr(transformers, f"{kind}Model").from_pretrained(folder, dtype=torch.float32).eval()
    vectors = []
    for text in texts:
        tokens = tokenizer(prompt + text, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            hidden = network(tokens).last_hidden_state[0].numpy()
        pooled = hidden.mean(axis=0) if pooling == "mean" else hidden[-1]
        vectors.append(pooled / np.linalg.norm(pooled))
    return np.array(vectors)


@pytest.fixture(params=MODELS)
def model(request, tmp_path):
    kind, sizes, pooling, prompt, template = MODELS[request.param]
    folder = write_model(tmp_path / request.param, kind, sizes, pooling, template)
    return folder, lambda texts, prompt=prompt: literal_vectors(folder, texts, kind, pooling, prompt)


def test_a_model_is_pooled_with_its_instruction_as_its_card_says(model):
    folder, literal = model
    on_torch = folder.name != "multilingual-e5-large-instruct"
    backend = load_model(str(folder) if on_torch else f"float32:{folder}")
    assert type(backend).__name__ == ("SentenceTransformerBackend" if on_torch else "TransformerBackend")
    found = backend.embed(TEXTS)  # in one batch, so that shorter texts are padded
    assert np.allclose(found, literal(TEXTS), atol=1e-4)
    assert not np.allclose(found, literal(TEXTS, prompt=""), atol=1e-2)


def test_a_study_runs_with_a_model_whose_weights_are_there(model, tmp_path, monkeypatch):
    folder, literal = model
    monkeypatch.setenv("TEXTSPECTRA_CACHE", str(tmp_path / "cache"))
    for name in TASKS.keys() - {"kmeans_constant"}:
        monkeypatch.setitem(TASKS, name, TASKS[name]._replace(max_rows=1))
    write_messages(tmp_path / "data" / "messages.parquet", rows=30)
    results = run_study(tmp_path / "study", data=tmp_path / "data", models=[str(folder)])
    assert [cell.status for cell in results.of("kmeans_constant")] == ["ok"]
    (file,) = (tmp_path / "study" / "vectors").iterdir()
    texts = pq.read_table(tmp_path / "data" / "messages.parquet").column("text").to_pylist()
    cosines = np.sum(np.load(file) * literal(texts), axis=1)
    assert cosines.min() > 0.99  # int8 on CTranslate2
