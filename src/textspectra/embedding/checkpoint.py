"""A model of sentence-transformers in a folder: what its files say, and whether it runs without PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import UserError
from .folders import read_json

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
    """Return the folder of the network, the kind of pooling, and whether vectors are normalised."""
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
