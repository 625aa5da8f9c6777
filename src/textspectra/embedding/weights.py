"""Checkpoints of sentence-transformers in a folder, and their conversion to the format of CTranslate2."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import sys
import tempfile
import warnings
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from ..errors import ExternalError, TextspectraError, UserError
from ..files import replacing_folder
from .hub import NotSupportedError, cache_folder, files_fingerprint, read_json

# The supported architectures, and whether positions start after the number of the padding token.
ARCHITECTURES = {"bert": False, "roberta": True, "xlm-roberta": True}
# Names in config.json and in CTranslate2.
ACTIVATIONS = {"gelu": "GELU", "gelu_new": "GELUTanh", "gelu_pytorch_tanh": "GELUTanh", "relu": "RELU"}
POOLINGS = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}
SIZES = ("num_hidden_layers", "num_attention_heads", "hidden_size", "vocab_size", "max_position_embeddings")
# Optional numbers with their type and smallest value.
OPTIONAL: dict[str, tuple[type[int | float], float]] = {"pad_token_id": (int, 0), "layer_norm_eps": (float, 1e-30)}
WORD_EMBEDDINGS = "embeddings.word_embeddings.weight"
CHECKSUMS = "checksums.json"

_Untyped = Any  # an object of a library without types: an open file, or a specification of CTranslate2


@dataclass(frozen=True)
class Checkpoint:
    """The files and the configuration of a network, and the steps before and after it."""

    weights: Path
    tokenizer: Path
    config: Mapping[str, Any]  # a checked config.json
    first_position: int
    max_length: int
    lower_case: bool
    pooling: str
    normalized: bool
    prompt: str


def read_checkpoint(folder: Path, weights: str = "model.safetensors") -> Checkpoint:
    """Read the configuration of a model without running any of its code.

    `weights` is the file of the weights, or a folder with converted ones. Raise a NotSupportedError if only
    sentence-transformers can run the model, and a UserError if its sizes are impossible.
    """
    network, pooling, normalized = _modules(folder)
    config = {key: value for key, value in read_json(network / "config.json", dict).items() if value is not None}
    _check_architecture(config)
    for file in (weights, "tokenizer.json"):
        if not (network / file).exists():
            raise NotSupportedError(f"it has no {file}")
    _check_numbers(network / "config.json", config)
    first_position = 1 + config.get("pad_token_id", 1) if ARCHITECTURES[config["model_type"]] else 0
    positions = config["max_position_embeddings"] - first_position
    settings = next((read_json(path, dict) for path in sorted(network.glob("sentence_*_config.json"))), {})
    tokenizer = read_json(network / "tokenizer_config.json", dict)
    limits = [settings.get("max_seq_length"), tokenizer.get("model_max_length")]
    prompts = read_json(folder / "config_sentence_transformers.json", dict)
    named = prompts.get("prompts")
    prompt = named.get(str(prompts.get("default_prompt_name"))) if isinstance(named, dict) else None
    return Checkpoint(
        weights=network / weights,
        tokenizer=network / "tokenizer.json",
        config=config,
        first_position=first_position,
        max_length=min(next((limit for limit in limits if isinstance(limit, int) and limit > 0), positions), positions),
        lower_case=bool(settings.get("do_lower_case", False)),
        pooling=pooling,
        normalized=normalized,
        prompt=prompt if isinstance(prompt, str) else "",
    )


def _modules(folder: Path) -> tuple[Path, str, bool]:
    """Return the folder of the network, the kind of pooling, and True if vectors are normalized."""
    modules = [module for module in read_json(folder / "modules.json", list) if isinstance(module, dict)]
    kinds = [str(module.get("type", "")).rpartition(".")[2] for module in modules]
    if kinds[:2] != ["Transformer", "Pooling"] or kinds[2:] not in ([], ["Normalize"]):
        raise NotSupportedError(f"its modules are {', '.join(kinds)}" if kinds else "it has no usable modules.json")
    network, pooling = (folder / str(module.get("path", "")) for module in modules[:2])
    settings = read_json(pooling / "config.json", dict)
    chosen = settings.get("pooling_mode") or [
        POOLINGS.get(key, key) for key, on in settings.items() if key.startswith("pooling_mode_") and on is True
    ]
    modes = list(map(str, chosen if isinstance(chosen, list) else [chosen]))
    if len(modes) != 1 or modes[0] not in POOLINGS.values() or settings.get("include_prompt") is False:
        raise NotSupportedError(f"it pools in another way than by the mean or the first token ({', '.join(modes)})")
    return network, modes[0], "Normalize" in kinds


def _check_architecture(config: Mapping[str, object]) -> None:
    kind = str(config.get("model_type", ""))
    if kind not in ARCHITECTURES:
        raise NotSupportedError(f"its architecture is {kind}" if kind else "its config.json names no architecture")
    # Models with their own code also call themselves "bert"; that code is never run.
    plain = config.get("position_embedding_type", "absolute") == "absolute" and not config.get("is_decoder")
    if "auto_map" in config or not plain or str(config.get("hidden_act", "gelu")) not in ACTIVATIONS:
        raise NotSupportedError(f"it is an unusual variant of {kind}")


def _check_numbers(path: Path, config: Mapping[str, Any]) -> None:
    for key in (*SIZES, *(key for key in OPTIONAL if key in config)):
        kind, smallest = OPTIONAL.get(key, (int, 1))
        value = config.get(key)
        if not isinstance(value, kind) or isinstance(value, bool) or not smallest <= value < 2**31:
            raise UserError(f"{path} has {key} = {value!r}, which is not possible; copy the model again.")
    if config["hidden_size"] % config["num_attention_heads"]:
        raise UserError(
            f"{path} says that {config['num_attention_heads']} attention heads share {config['hidden_size']} "
            "dimensions, which they cannot; copy the model again."
        )
    if config.get("pad_token_id", 1) + 1 >= config["max_position_embeddings"]:
        raise UserError(f"{path} leaves no position for a token; copy the model again.")


def converted_files(checkpoint: Checkpoint, compute_type: str) -> dict[str, bytes]:
    """Return the model as ``ctranslate2.Encoder(files=...)`` takes it, converted unless that has been done before.

    The files are checked against their checksums, and converted again if they are damaged. Any number of processes
    may do that at the same time: each writes its own folder, renames it, and uses the content that it has read.
    """
    folder = checkpoint.weights
    is_packaged = folder.is_dir()
    if not is_packaged:
        source = files_fingerprint([checkpoint.weights, checkpoint.weights.with_name("config.json")])
        # Another version of CTranslate2 may write another format.
        folder = weights_folder() / f"{source}-{compute_type}-{version('ctranslate2')}"
    files = _read(folder)
    if files is not None:
        return files
    if is_packaged:
        raise UserError(f"{folder} is damaged; install the package that it belongs to again.")
    spec = _convert(checkpoint, compute_type)
    try:
        with replacing_folder(folder) as temporary:
            files = _write(spec, temporary)
    except TextspectraError as error:
        if files is None:  # otherwise only renaming failed, because another process was faster
            warnings.warn(
                f"The converted weights cannot be kept, so every run converts them again: {str(error).rstrip('.')}. "
                "Set TEXTSPECTRA_CACHE to another folder to change that.",
                RuntimeWarning,
                stacklevel=2,
            )
            files = _write_elsewhere(spec)
    return files


def _write_elsewhere(spec: _Untyped) -> dict[str, bytes]:
    try:
        with tempfile.TemporaryDirectory() as folder:
            return _write(spec, Path(folder))
    except OSError as error:
        raise ExternalError(
            f"No space is left for the converted weights, not even in {tempfile.gettempdir()} ({error.strerror}); "
            "free some, or set TEXTSPECTRA_CACHE to a folder on another disk."
        ) from error


def _read(folder: Path) -> dict[str, bytes] | None:
    """Return the converted files, or None if they are missing or damaged."""
    try:
        checksums = json.loads((folder / CHECKSUMS).read_text())
        files = {name: (folder / name).read_bytes() for name in checksums}
        sound = "model.bin" in files and all(zlib.crc32(files[name]) == checksums[name] for name in files)
    except (OSError, ValueError, TypeError):
        return None
    return files if sound else None


def _write(spec: _Untyped, folder: Path) -> dict[str, bytes]:
    spec.save(str(folder))
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    (folder / CHECKSUMS).write_text(json.dumps({name: zlib.crc32(content) for name, content in files.items()}))
    return files


def weights_folder() -> Path:
    """Return the folder of the converted weights, which may not exist yet."""
    return cache_folder() / "weights"


def weights_size() -> tuple[int, int]:
    """Return the number of converted models, and the bytes of all files in the folder."""
    files = [path for path in weights_folder().rglob("*") if path.is_file()]
    total = 0
    for path in files:
        with suppress(OSError):  # another process has deleted it
            total += path.stat().st_size
    return sum(path.name == CHECKSUMS for path in files), total


def clear_weights() -> None:
    """Delete all converted weights, and the leftovers of killed processes."""
    shutil.rmtree(weights_folder(), ignore_errors=True)


def _convert(checkpoint: Checkpoint, compute_type: str) -> _Untyped:
    """Return the model as a specification of CTranslate2, whose method ``save`` writes it."""
    specs = _specs()
    path, config = checkpoint.weights, checkpoint.config
    try:
        with safe_open(path, "numpy") as file:
            tensors = _Tensors(path, file)
            tensors.check_layers(config["num_hidden_layers"])
            encoder = specs.TransformerEncoderSpec(
                config["num_hidden_layers"],
                config["num_attention_heads"],
                pre_norm=False,
                activation=getattr(specs.Activation, ACTIVATIONS[config.get("hidden_act", "gelu")]),
                layernorm_embedding=True,
            )
            spec = specs.TransformerEncoderModelSpec(encoder)
            encoder.scale_embeddings = False
            tensors.fill(encoder, config, checkpoint.first_position)
    except TypeError as error:  # a number format that numpy does not have
        raise UserError(
            f"{path} has weights in a number format that needs PyTorch ({error}); give the model as "
            f"sentence-transformers:{path.parent}."
        ) from error
    except (OSError, SafetensorError) as error:
        raise UserError(f"{path} cannot be read ({error}); copy the model again.") from error
    spec.config.layer_norm_epsilon = config.get("layer_norm_eps", 1e-12)
    spec.register_vocabulary([str(token) for token in range(config["vocab_size"])])  # tokens are given by number
    spec.validate()
    spec.optimize(quantization=compute_type)
    return spec


def _specs() -> ModuleType:
    """Import the specifications of CTranslate2 without PyTorch, which they would import; that takes seconds."""
    unused = "torch" not in sys.modules
    if unused:
        sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        return importlib.import_module("ctranslate2.specs")
    finally:
        if unused:
            del sys.modules["torch"]


class _Tensors:
    """The arrays of a file of weights by name, checked against the configuration."""

    def __init__(self, path: Path, file: _Untyped) -> None:
        self._path, self._file, self._names = path, file, set(file.keys())
        # The names start with the attribute of the class that was saved.
        prefixes = ("bert.", "roberta.", "model.")
        self._prefix = next((prefix for prefix in prefixes if prefix + WORD_EMBEDDINGS in self._names), "")

    def check_layers(self, expected: int) -> None:
        matches = (re.search(r"\bencoder\.layer\.(\d{1,6})\.", name) for name in self._names)
        layers = {int(match[1]) for match in matches if match}
        if len(layers) != expected or (layers and max(layers) != expected - 1):
            raise UserError(f"{self._path} has {len(layers)} layers, but its config.json says {expected}.")

    def get(self, name: str, *shape: int | None) -> NDArray[np.float32]:
        """Return an array; None in the shape is any size."""
        if self._prefix + name not in self._names:
            raise UserError(
                f"{self._path} has no tensor {name}, so it is not the model that its config.json describes."
            )
        actual = tuple(self._file.get_slice(self._prefix + name).get_shape())
        if len(actual) != len(shape) or any(
            expected not in (None, size) for expected, size in zip(shape, actual, strict=True)
        ):
            expected = " x ".join("any" if size is None else str(size) for size in shape)
            raise UserError(
                f"{self._path} has {name} of size {' x '.join(map(str, actual))}, but its config.json says {expected}."
            )
        array: NDArray[np.float32] = self._file.get_tensor(self._prefix + name).astype(np.float32)
        if not np.isfinite(array).all():
            raise UserError(f"{self._path} is damaged: {name} has a value that is not a finite number.")
        return array

    def fill(self, encoder: _Untyped, config: Mapping[str, Any], first_position: int) -> None:
        width = config["hidden_size"]
        encoder.embeddings[0].weight = self.get(WORD_EMBEDDINGS, config["vocab_size"], width)
        # A single text has token type 0 everywhere, so that its vector can be added to every position.
        positions = self.get("embeddings.position_embeddings.weight", config["max_position_embeddings"], width)
        kinds = self.get("embeddings.token_type_embeddings.weight", None, width)
        encoder.position_encodings.encodings = positions[first_position:] + kinds[0]
        self._fill_norm(encoder.layernorm_embedding, "embeddings.LayerNorm", width)
        for number, layer in enumerate(encoder.layer):
            start = f"encoder.layer.{number}"
            attention = [f"{start}.attention.self.{part}" for part in ("query", "key", "value")]
            self._fill_linear(layer.self_attention.linear[0], attention, (width, width))
            self._fill_linear(layer.self_attention.linear[1], [f"{start}.attention.output.dense"], (width, width))
            self._fill_norm(layer.self_attention.layer_norm, f"{start}.attention.output.LayerNorm", width)
            self._fill_linear(layer.ffn.linear_0, [f"{start}.intermediate.dense"], (None, width))
            inner = len(layer.ffn.linear_0.bias)
            self._fill_linear(layer.ffn.linear_1, [f"{start}.output.dense"], (width, inner))
            self._fill_norm(layer.ffn.layer_norm, f"{start}.output.LayerNorm", width)

    def _fill_linear(self, spec: _Untyped, names: list[str], shape: tuple[int | None, int]) -> None:
        weights = [self.get(f"{name}.weight", *shape) for name in names]
        biases = [self.get(f"{name}.bias", len(weight)) for name, weight in zip(names, weights, strict=True)]
        spec.weight, spec.bias = np.concatenate(weights), np.concatenate(biases)

    def _fill_norm(self, spec: _Untyped, name: str, width: int) -> None:
        spec.gamma, spec.beta = (self.get(f"{name}.{part}", width) for part in ("weight", "bias"))
