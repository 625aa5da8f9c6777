"""A back end that knows what it was asked, tiny models, and what child processes can import too."""

import hashlib
import json
from pathlib import Path

import numpy as np

WORDS = ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]", "red", "green", "blue", "cat", "dog", "Instruct", "Query"]

PIECES = ["▁", "赤い", "猫", "▁كلب", "▁кот", "▁Katze", "s", "い"]


class CountingBackend:
    name = "counting"

    def __init__(self, *, batch_size=10, dimension=8, settings=None, fail_after=None):
        self.batch_size, self.dimension = batch_size, dimension
        self.settings = settings or {}
        self.fail_after = fail_after
        self.seen = []

    def embed(self, texts):
        if self.fail_after is not None and len(self.seen) >= self.fail_after:
            raise RuntimeError("the machine is on fire")
        self.seen += texts
        return np.array([vector_of(text, self.dimension) for text in texts], np.float32)


class Hiding:
    """A finder of modules that does not find some of them, as if they were not installed."""

    def __init__(self, finder, hidden):
        self.finder, self.hidden = finder, hidden

    def find_spec(self, name, *more):
        return None if name.partition(".")[0] in self.hidden else self.finder.find_spec(name, *more)

    def __getattr__(self, name):  # packages that are not hidden are still described
        return getattr(self.finder, name)


def vector_of(text, dimension=8):
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return np.resize(np.frombuffer(digest, np.uint8), dimension).astype(np.float32)


def expected(texts, dimension=8):
    return np.array([vector_of(text, dimension) for text in texts])


def write_checkpoint(folder, kind="bert", *, pooling="mean", normalized=True, prompt=None, max_length=None, act="gelu"):
    """Write a model of sentence-transformers with two layers and random weights, without PyTorch."""
    import tokenizers
    from safetensors.numpy import save_file

    folder = Path(folder)
    (folder / "1_Pooling").mkdir(parents=True)
    config = {
        "model_type": kind,
        "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
        "vocab_size": len(WORDS), "max_position_embeddings": 40, "type_vocab_size": 2 if kind == "bert" else 1,
        "pad_token_id": 1, "hidden_act": act, "layer_norm_eps": 1e-5,
    }  # fmt: skip
    save_file(random_weights(config), folder / "model.safetensors")
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]")  # noqa: S106
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(word, WORDS.index(word)) for word in ("[CLS]", "[SEP]")]
    )
    tokenizer.enable_padding(length=20, pad_id=1, pad_token="[PAD]")  # noqa: S106  which real ones have, and is not used
    tokenizer.save(str(folder / "tokenizer.json"))
    special = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    kinds = ["Transformer", "Pooling", *(["Normalize"] if normalized else [])]
    paths = ["", "1_Pooling", "2_Normalize"]
    modules = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for number, (kind, path) in enumerate(zip(kinds, paths, strict=False))
    ]
    written = {
        "config.json": config,
        "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 30, **special},
        "modules.json": modules,
        "sentence_bert_config.json": {"max_seq_length": max_length, "do_lower_case": False} if max_length else {},
        "1_Pooling/config.json": {
            "word_embedding_dimension": 32,
            "pooling_mode_cls_token": pooling == "cls",
            "pooling_mode_mean_tokens": pooling == "mean",
        },
        "config_sentence_transformers.json": {"prompts": {"topic": prompt}, "default_prompt_name": "topic"}
        if prompt
        else {},
    }
    for name, content in written.items():
        (folder / name).write_text(json.dumps(content))
    return folder


def use_unigram_tokenizer(folder):
    """Replace the tokenizer of a checkpoint by one like that of XLM-RoBERTa, with pieces in several scripts."""
    import tokenizers

    special = {"cls_token": "<s>", "pad_token": "<pad>", "sep_token": "</s>", "unk_token": "<unk>"}
    pieces = [*special.values(), *PIECES]
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.Unigram([(piece, -float(number)) for number, piece in enumerate(pieces)], unk_id=3)
    )
    tokenizer.normalizer = tokenizers.normalizers.NFKC()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 30, **special}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


def random_weights(config):
    rng = np.random.default_rng(0)
    width, inner = config["hidden_size"], config["intermediate_size"]
    tensors = {}

    def add(name, *shape):
        tensors[f"{name}.weight"] = (0.3 * rng.standard_normal(shape)).astype(np.float32)
        if not name.endswith("embeddings"):
            tensors[f"{name}.bias"] = (0.3 * rng.standard_normal(shape[0])).astype(np.float32)

    add("embeddings.word_embeddings", config["vocab_size"], width)
    add("embeddings.position_embeddings", config["max_position_embeddings"], width)
    add("embeddings.token_type_embeddings", config["type_vocab_size"], width)
    add("embeddings.LayerNorm", width)
    for layer in range(config["num_hidden_layers"]):
        start = f"encoder.layer.{layer}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            add(f"{start}.attention.{part}", width, width)
        add(f"{start}.attention.output.LayerNorm", width)
        add(f"{start}.intermediate.dense", inner, width)
        add(f"{start}.output.dense", width, inner)
        add(f"{start}.output.LayerNorm", width)
    add("pooler.dense", width, width)
    return tensors
