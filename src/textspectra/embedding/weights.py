"""A model of sentence-transformers in a folder: what its files say, and whether it runs without PyTorch."""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
import time
import warnings
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from ..errors import ExternalError, TextspectraError, UserError, require
from ..files import TEMPORARY, replacing_folder
from .hub import cache_folder, fingerprint, read_json

WEIGHTS, TOKENIZER, CONFIG, MODULES = "model.safetensors", "tokenizer.json", "config.json", "modules.json"
FILES = (WEIGHTS, TOKENIZER, CONFIG, MODULES)

FIRST_POSITION_AFTER_PADDING = {"bert": False, "roberta": True, "xlm-roberta": True}
"""The known architectures, and whether their positions start after the number of the padding token."""

ACTIVATIONS = {"gelu": "GELU", "gelu_new": "GELUTanh", "gelu_pytorch_tanh": "GELUTanh", "relu": "RELU"}
"""Names in ``config.json`` and in CTranslate2."""

POOLINGS = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}


NUMBERS: dict[str, tuple[type[int | float], float]] = {"pad_token_id": (int, 0), "layer_norm_eps": (float, 1e-30)}
"""Optional numbers, their type and the smallest value."""

LARGEST = 2**31

SIZES = ("num_hidden_layers", "num_attention_heads", "hidden_size", "vocab_size", "max_position_embeddings")


class NotSupportedError(Exception):
    """The reason why a model needs PyTorch, as the end of a sentence."""


@dataclass(frozen=True)
class Checkpoint:
    """What is needed to run a model: the sizes of its network, and what happens before and after it."""

    weights: Path
    tokenizer: Path
    n_layers: int
    n_heads: int
    width: int
    vocabulary: int
    n_positions: int
    first_position: int
    activation: str
    epsilon: float
    max_length: int
    lower_case: bool
    pooling: str
    normalized: bool
    prompt: str


def read_checkpoint(folder: Path) -> Checkpoint:
    """Read the configuration of a model; nothing in the folder is executed.

    Raises
    ------
    NotSupportedError
        If it has parts that only sentence-transformers can run.
    UserError
        If a size is missing or impossible.
    """
    network, pooling, normalized = _modules(folder)
    config = {key: value for key, value in read_json(network / CONFIG).items() if value is not None}
    _check_architecture(config)
    for file in (WEIGHTS, TOKENIZER):
        if not (network / file).is_file():
            raise NotSupportedError(f"it has no {file}")
    _check_numbers(network / CONFIG, config)
    first_position = 1 + config.get("pad_token_id", 1) if FIRST_POSITION_AFTER_PADDING[config["model_type"]] else 0
    positions = config["max_position_embeddings"] - first_position
    settings: dict[str, Any] = next(map(read_json, sorted(network.glob("sentence_*_config.json"))), {})
    limits = [settings.get("max_seq_length"), read_json(network / "tokenizer_config.json").get("model_max_length")]
    return Checkpoint(
        weights=network / WEIGHTS,
        tokenizer=network / TOKENIZER,
        n_layers=config["num_hidden_layers"],
        n_heads=config["num_attention_heads"],
        width=config["hidden_size"],
        vocabulary=config["vocab_size"],
        n_positions=config["max_position_embeddings"],
        first_position=first_position,
        activation=ACTIVATIONS[config.get("hidden_act", "gelu")],
        epsilon=config.get("layer_norm_eps", 1e-12),
        max_length=min(next((limit for limit in limits if isinstance(limit, int) and limit > 0), positions), positions),
        lower_case=bool(settings.get("do_lower_case", False)),
        pooling=pooling,
        normalized=normalized,
        prompt=_default_prompt(folder),
    )


def _modules(folder: Path) -> tuple[Path, str, bool]:
    """Return the folder of the network, the kind of pooling, and whether vectors are normalized."""
    listed = read_json(folder / MODULES, kind=list)
    modules = [module for module in listed if isinstance(module, dict)]
    kinds = [str(module.get("type", "")).rpartition(".")[2] for module in modules]
    if kinds[:2] != ["Transformer", "Pooling"] or kinds[2:] not in ([], ["Normalize"]):
        raise NotSupportedError(f"its modules are {', '.join(kinds)}" if kinds else f"it has no usable {MODULES}")
    network, pooling = (folder / str(module.get("path", "")) for module in modules[:2])
    settings = read_json(pooling / CONFIG)
    chosen = settings.get("pooling_mode") or [
        POOLINGS.get(key, key) for key, on in settings.items() if key.startswith("pooling_mode_") and on is True
    ]
    modes = list(map(str, chosen if isinstance(chosen, list) else [chosen]))
    if len(modes) != 1 or modes[0] not in POOLINGS.values() or settings.get("include_prompt") is False:
        raise NotSupportedError(f"it pools in another way than by the mean or the first token ({', '.join(modes)})")
    return network, modes[0], "Normalize" in kinds


def _check_architecture(config: Mapping[str, Any]) -> None:
    kind = str(config.get("model_type", ""))
    if kind not in FIRST_POSITION_AFTER_PADDING:
        raise NotSupportedError(f"its architecture is {kind}" if kind else f"its {CONFIG} names no architecture")
    # Models with code of their own call themselves "bert" too; their code is never run.
    plain = config.get("position_embedding_type", "absolute") == "absolute" and not config.get("is_decoder")
    if "auto_map" in config or not plain or str(config.get("hidden_act", "gelu")) not in ACTIVATIONS:
        raise NotSupportedError(f"it is an unusual variant of {kind}")


def _check_numbers(path: Path, config: Mapping[str, Any]) -> None:
    for key in (*SIZES, *(key for key in NUMBERS if key in config)):
        kind, smallest = NUMBERS.get(key, (int, 1))
        value = config.get(key)
        if not isinstance(value, kind) or isinstance(value, bool) or not smallest <= value < LARGEST:
            raise UserError(f"{path} has {key} = {value!r}, which is not possible; copy the model again.")
    if config["hidden_size"] % config["num_attention_heads"]:
        raise UserError(
            f"{path} says that {config['num_attention_heads']} attention heads share {config['hidden_size']} "
            "dimensions, which they cannot; copy the model again."
        )
    if config.get("pad_token_id", 1) + 1 >= config["max_position_embeddings"]:
        raise UserError(f"{path} leaves no position for a token; copy the model again.")


def _default_prompt(folder: Path) -> str:
    settings = read_json(folder / "config_sentence_transformers.json")
    prompts = settings.get("prompts")
    prompt = prompts.get(str(settings.get("default_prompt_name"))) if isinstance(prompts, dict) else None
    return prompt if isinstance(prompt, str) else ""


WORDS = "embeddings.word_embeddings.weight"
PREFIXES = ("", "bert.", "roberta.", "model.")
"""What the names of the tensors start with, depending on the class that was saved."""

LAYER = re.compile(r"\bencoder\.layer\.(\d{1,6})\.")


def converted_spec(checkpoint: Checkpoint, compute_type: str) -> Any:
    """Return the model as a specification of CTranslate2, whose method ``save`` writes it.

    Raises
    ------
    UserError
        If the weights are damaged, or are not those that ``config.json`` describes.
    """
    specs = _specs()
    with _reading(checkpoint.weights) as tensors:
        tensors.check_layers(checkpoint.n_layers)
        encoder = specs.TransformerEncoderSpec(
            checkpoint.n_layers,
            checkpoint.n_heads,
            pre_norm=False,
            activation=getattr(specs.Activation, checkpoint.activation),
            layernorm_embedding=True,
        )
        spec = specs.TransformerEncoderModelSpec(encoder)
        encoder.scale_embeddings = False
        _fill(encoder, tensors, checkpoint)
    spec.config.layer_norm_epsilon = checkpoint.epsilon
    spec.register_vocabulary([str(token) for token in range(checkpoint.vocabulary)])  # tokens are given by number
    spec.validate()
    spec.optimize(quantization=compute_type)
    return spec


def _specs() -> Any:
    """Import CTranslate2's specifications, which import PyTorch too if they find it; that takes seconds."""
    unused = "torch" not in sys.modules
    if unused:
        sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        return require("ctranslate2.specs", extra="minilm")
    finally:
        if unused:
            del sys.modules["torch"]


class _Tensors:
    """The arrays of a file of weights by name, checked."""

    def __init__(self, path: Path, file: Any) -> None:
        self.path, self._file, self._names = path, file, set(file.keys())
        prefixes = [prefix for prefix in PREFIXES if prefix + WORDS in self._names]
        if not prefixes:
            raise UserError(f"{path} has no tensor {WORDS}, so it is not the model that its config.json describes.")
        self._prefix = prefixes[0]

    def check_layers(self, expected: int) -> None:
        found = {int(match[1]) for match in (LAYER.search(name) for name in self._names) if match}
        if len(found) != expected or (found and max(found) != expected - 1):
            raise UserError(f"{self.path} has {len(found)} layers, but its config.json says {expected}.")

    def get(self, name: str, *shape: int | None) -> NDArray[np.float32]:
        """Return an array; None in the shape is any size."""
        if self._prefix + name not in self._names:
            raise UserError(f"{self.path} has no tensor {name}, so it is not the model that its config.json describes.")
        found = tuple(self._file.get_slice(self._prefix + name).get_shape())
        if len(found) != len(shape) or any(
            wanted not in (None, size) for wanted, size in zip(shape, found, strict=True)
        ):
            wanted = " x ".join("any" if size is None else str(size) for size in shape)
            raise UserError(
                f"{self.path} has {name} of size {' x '.join(map(str, found))}, but its config.json says {wanted}."
            )
        array: NDArray[np.float32] = self._file.get_tensor(self._prefix + name).astype(np.float32)
        if not np.isfinite(array).all():
            raise UserError(f"{self.path} is damaged: {name} has a value that is not a finite number.")
        return array


@contextmanager
def _reading(path: Path) -> Iterator[_Tensors]:
    try:
        with safe_open(path, "numpy") as file:
            yield _Tensors(path, file)
    except TypeError as error:  # a number format that numpy does not have
        raise UserError(
            f"{path} has weights in a number format that needs PyTorch ({error}); give the model as "
            f"sentence-transformers:{path.parent}."
        ) from error
    except (OSError, SafetensorError) as error:
        raise UserError(f"{path} cannot be read ({error}); copy the model again.") from error


def _fill(encoder: Any, tensors: _Tensors, sizes: Checkpoint) -> None:
    width = sizes.width
    encoder.embeddings[0].weight = tensors.get(WORDS, sizes.vocabulary, width)
    # A single text has token type 0 everywhere, so that its vector can be added to every position.
    positions = tensors.get("embeddings.position_embeddings.weight", sizes.n_positions, width)
    kinds = tensors.get("embeddings.token_type_embeddings.weight", None, width)
    encoder.position_encodings.encodings = positions[sizes.first_position :] + kinds[0]
    _fill_norm(encoder.layernorm_embedding, tensors, "embeddings.LayerNorm", width)
    for number, layer in enumerate(encoder.layer):
        start = f"encoder.layer.{number}"
        attention = [f"{start}.attention.self.{part}" for part in ("query", "key", "value")]
        _fill_linear(layer.self_attention.linear[0], tensors, attention, (width, width))
        _fill_linear(layer.self_attention.linear[1], tensors, [f"{start}.attention.output.dense"], (width, width))
        _fill_norm(layer.self_attention.layer_norm, tensors, f"{start}.attention.output.LayerNorm", width)
        _fill_linear(layer.ffn.linear_0, tensors, [f"{start}.intermediate.dense"], (None, width))
        inner = len(layer.ffn.linear_0.bias)
        _fill_linear(layer.ffn.linear_1, tensors, [f"{start}.output.dense"], (width, inner))
        _fill_norm(layer.ffn.layer_norm, tensors, f"{start}.output.LayerNorm", width)


def _fill_linear(spec: Any, tensors: _Tensors, names: list[str], shape: tuple[int | None, int]) -> None:
    weights = [tensors.get(f"{name}.weight", *shape) for name in names]
    spec.weight = np.concatenate(weights)
    spec.bias = np.concatenate(
        [tensors.get(f"{name}.bias", len(weight)) for name, weight in zip(names, weights, strict=True)]
    )


def _fill_norm(spec: Any, tensors: _Tensors, name: str, width: int) -> None:
    spec.gamma, spec.beta = (tensors.get(f"{name}.{part}", width) for part in ("weight", "bias"))


CHECKSUMS = "checksums.json"

LEFTOVER_SECONDS = 3600.0
"""Age of a temporary folder after which its process must be dead; a conversion takes seconds."""


def converted_files(checkpoint: Checkpoint, compute_type: str) -> dict[str, bytes]:
    """Return the files of the model in the format of CTranslate2; convert it if that has not been done yet.

    The files are checked against their checksums, and converted again if they are damaged. Any number of processes
    may do that at the same time: each writes a folder of its own, renames it, and uses what it has read.

    Parameters
    ----------
    checkpoint : Checkpoint
        The model.
    compute_type : {"int8", "float32"}
        The number format of the weights.

    Returns
    -------
    dict of str to bytes
        File names and contents, as ``ctranslate2.Encoder(files=...)`` takes them.

    Raises
    ------
    UserError
        If the model is damaged, or there is no space for the converted one in any folder.
    """
    # Another version of CTranslate2 may write another format.
    version = require("ctranslate2", extra="minilm").__version__
    source = fingerprint([checkpoint.weights, checkpoint.weights.with_name(CONFIG)])
    folder = weights_folder() / f"{source}-{compute_type}-{version}"
    files = _read(folder)
    if files is not None:
        return files
    spec = converted_spec(checkpoint, compute_type)
    _remove_leftovers()
    try:
        with replacing_folder(folder) as temporary:
            files = _write(spec, temporary)
    except TextspectraError as error:
        # If only the renaming failed, another process has put the same files there first.
        if files is None:
            warnings.warn(
                f"The converted weights cannot be kept, so every run converts them again: {str(error).rstrip('.')}. "
                "Set TEXTSPECTRA_CACHE to another folder to change that.",
                RuntimeWarning,
                stacklevel=2,
            )
            files = _write_elsewhere(spec)
    return files


def weights_folder() -> Path:
    """Return the folder of the converted weights, which may have to be made first."""
    return cache_folder() / "weights"


def weights_size() -> tuple[int, int]:
    """Return how many models are converted, and the bytes of all files in the folder."""
    folder = weights_folder()
    n_models = sum(not path.name.startswith(".") for path in folder.glob("*"))
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # another process has deleted it
            total += path.stat().st_size if path.is_file() else 0
    return n_models, total


def clear_weights() -> None:
    """Delete all converted weights, and what killed processes have left."""
    shutil.rmtree(weights_folder(), ignore_errors=True)


def _remove_leftovers() -> None:
    """Delete what conversions left that were killed; a young folder may belong to one that is under way."""
    for path in weights_folder().glob(f"{TEMPORARY}*"):
        with suppress(OSError):  # another process has deleted it
            if time.time() - path.stat().st_mtime > LEFTOVER_SECONDS:
                shutil.rmtree(path)


def _write(spec: Any, folder: Path) -> dict[str, bytes]:
    spec.save(str(folder))
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    (folder / CHECKSUMS).write_text(json.dumps({name: zlib.crc32(content) for name, content in files.items()}))
    return files


def _write_elsewhere(spec: Any) -> dict[str, bytes]:
    try:
        with tempfile.TemporaryDirectory() as folder:
            return _write(spec, Path(folder))
    except OSError as error:
        raise ExternalError(
            f"There is no space for the converted weights, not even in {tempfile.gettempdir()} ({error.strerror}); "
            "free some, or set TEXTSPECTRA_CACHE to a folder on another disk."
        ) from error


def _read(folder: Path) -> dict[str, bytes] | None:
    """Return the files, or None if they are not there or not what was written."""
    try:
        checksums = json.loads((folder / CHECKSUMS).read_text())
        files = {name: (folder / name).read_bytes() for name in checksums}
        sound = "model.bin" in files and all(zlib.crc32(files[name]) == checksums[name] for name in files)
    except (OSError, ValueError, TypeError):
        return None
    return files if sound else None
