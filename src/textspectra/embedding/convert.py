"""The weights of BERT and XLM-RoBERTa, from safetensors to CTranslate2, without PyTorch."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from ..errors import UserError
from ..packages import require
from .checkpoint import Checkpoint

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
