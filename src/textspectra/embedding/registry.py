"""Models by name: the built-in ones, folders, the Hugging Face hub, and other packages."""

from __future__ import annotations

import difflib
import logging
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

from safetensors import SafetensorError, safe_open

from ..errors import TextspectraError, UsageError
from . import hub
from .base import ENCODER_PREFIX, Backend, Encoder, EncoderBackend, encoder_by_name
from .libraries import Model2VecBackend, SentenceTransformerBackend, WordLlamaBackend
from .server import OpenAIBackend
from .transformer import FLOAT32, INSTALL_MINILM, load_transformer, minilm_folder

DEFAULT_MODEL = "auto"

# Up to this number of distinct texts, ``auto`` is minilm, which gives better groups; above, the faster wordllama.
FEW_TEXTS = 50_000
LESS_ACCURATE = (  # see benchmarks/groups.md
    "its groups agree less with human labels (adjusted Rand index .34 instead of .47 on 14 labeled sets). For minilm: "
    f"{INSTALL_MINILM}"
)
STATIC_MODEL = "minishlab/potion-base-8M"

_logger = logging.getLogger(__name__)
_failures: dict[tuple[str, bool], TextspectraError] = {}

Model = str | Backend | Encoder | Callable[[list[str]], object]
"""A name, a back end, an object with ``encode(texts)``, or a function from a list of texts to an array."""

# Names that a folder cannot take; it can still be given as ./minilm.
PRESETS = (DEFAULT_MODEL, WordLlamaBackend.name, *(known.preset for known in hub.HUB_MODELS if known.preset))
PREFIXED: dict[str, tuple[Callable[[str], Backend], str]] = {
    "model2vec": (Model2VecBackend, STATIC_MODEL),
    "openai": (OpenAIBackend, "text-embedding-3-small"),
    "sentence-transformers": (SentenceTransformerBackend, "sentence-transformers/all-mpnet-base-v2"),
    FLOAT32: (partial(load_transformer, compute_type=FLOAT32), "minilm"),
    ENCODER_PREFIX: (encoder_by_name, "MyModel"),
}
"""The back end of each prefix, and an example of what may follow it."""

ENGLISH = (
    r"wordllama|minilm",
    r"potion-(base|retrieval)-\d+m",
    r"all-(minilm|mpnet|distilroberta|roberta)-.+",
    r"(paraphrase|multi-qa)-(minilm|mpnet)-.+",
    r"bge-(small|base|large)-en(-v1\.5)?",
    r"gte-(small|base|large)",
    r"e5-(small|base|large)(-v2)?",
    r"mxbai-embed-(large|xsmall)-v1",
    r"snowflake-arctic-embed-(xs|s|m|m-long|m-v1\.5|l)",
)
"""The last part of the names of models that were trained on English only."""


@dataclass(frozen=True)
class ModelInfo:
    """A model that can be chosen by name; `needs` is the size of its download, an install command, or a key to set."""

    name: str
    summary: str
    dimension: int | None
    status: Literal["ready", "download", "missing"]
    needs: str


def load_model(name: str) -> Backend:
    """Return the back end of a model.

    Parameters
    ----------
    name : str
        A name that :func:`list_models` returns, ``openai:MODEL``, ``model2vec:NAME_OR_FOLDER``, a model of
        sentence-transformers on the Hugging Face hub (``owner/name``, or only ``name`` for well-known ones), or a
        folder with a model of sentence-transformers or model2vec. Models with the architecture of BERT or
        XLM-RoBERTa run without PyTorch and with int8 weights; ``float32:NAME`` is the same model with float32 weights,
        and ``sentence-transformers:NAME`` runs any model with PyTorch. int8 vectors differ by rounding between kinds of
        processors; float32 avoids that. Other packages add names through the entry-point group
        ``textspectra.embeddings``, chosen as ``NAME`` or ``NAME:ARGUMENT``.

    Raises
    ------
    UserError
        If the model is unknown or cannot be loaded; the message says what to do. If an optional package is missing,
        it is an ImportError, too.
    ExternalError
        If the model cannot be downloaded.

    Examples
    --------
    >>> load_model("wordllama").name
    'wordllama'
    >>> load_model("wordlama")
    Traceback (most recent call last):
        ...
    textspectra.errors.UsageError: Unknown model 'wordlama'. Did you mean wordllama? `textspectra models` lists all.
    """
    folder = Path(name).expanduser()
    is_model = any((folder / file).is_file() for file in ("modules.json", "config.json"))
    if is_model and name and name.lower() not in PRESETS:
        return Model2VecBackend(name) if _is_static(folder) else load_transformer(name)
    prefix, _, argument = name.partition(":")
    if prefix.lower() in PREFIXED:
        build, example = PREFIXED[prefix.lower()]
        if not argument:
            raise UsageError(f"{prefix} needs the name of a model after a colon, such as {prefix.lower()}:{example}.")
        return build(argument)
    if name.lower() == WordLlamaBackend.name:
        return WordLlamaBackend()
    plugin = _plugins().get(prefix)
    if plugin is not None:
        return _load_plugin(plugin, argument or None)
    hub_name = hub.full_hub_name(name)
    if hub_name:
        return load_transformer(hub_name)
    raise _unknown(name)


def as_backend(model: Model) -> Backend:
    """Return the back end for any value of ``model=`` except ``"auto"``, or raise a UserError."""
    if isinstance(model, str):
        return load_model(model)
    return model if isinstance(model, Backend) and not isinstance(model, type) else EncoderBackend(model)


def _is_static(folder: Path) -> bool:
    """Return True if a folder holds a model of model2vec: a table of vectors without a network."""
    kind = hub.read_json(folder / "config.json", dict).get("model_type")
    if kind is not None:
        return bool(kind == "model2vec")
    try:
        with safe_open(folder / "model.safetensors", "numpy") as file:
            return "embeddings" in file.keys()  # noqa: SIM118  it is not a mapping
    except (OSError, SafetensorError):
        return False


def _plugins() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group="textspectra.embeddings")}


def _package(plugin: EntryPoint) -> str:
    return plugin.dist.name if plugin.dist else plugin.module


def _load_plugin(plugin: EntryPoint, argument: str | None) -> Backend:
    backend = plugin.load()(argument)
    if not isinstance(backend, Backend):
        raise TypeError(
            f"{plugin.value} of the package {_package(plugin)} gave {backend!r} for the model {plugin.name!r}, but a "
            "back end has name, settings, batch_size and embed. Report this to the authors of that package."
        )
    return backend


def _unknown(name: str) -> UsageError:
    if name.lower() == DEFAULT_MODEL:
        return UsageError(f"{DEFAULT_MODEL} is chosen by the number of texts; give the name of a model here.")
    if name and Path(name).expanduser().is_dir():
        return UsageError(f"The folder {name} holds no model: it has neither modules.json nor config.json.")
    if "/" in name or "\\" in name:
        return UsageError(f"The folder {name} does not exist, and this is not a possible name on the Hugging Face hub.")
    hub_names = [known.preset or known.hub_name.partition("/")[2] for known in hub.HUB_MODELS]
    by_lower = {known.lower(): known for known in (WordLlamaBackend.name, *PREFIXED, *_plugins(), *hub_names)}
    near = [by_lower[match] for match in difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=0.5)]
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return UsageError(f"Unknown model {name!r}.{hint} `textspectra models` lists all.")


def list_models() -> list[ModelInfo]:
    """Return well-known models, the default first, and whether each can be used here.

    Examples
    --------
    >>> [model.name for model in list_models()][:3]
    ['auto', 'minilm', 'wordllama']
    """
    torch, static = _missing("transformers", "sentence_transformers"), _missing("model2vec", "model2vec")
    file = SentenceTransformerBackend.complete_file
    minilm, *others = (
        _info(
            known.preset or known.hub_name,
            f"{known.summary}{', with its prompt' if known.prompt else ''}",
            known.dimension,
            torch if known.needs_torch else "",
            (minilm_folder() if known is hub.MINILM else hub.local_folder(known.hub_name, file), known.megabytes),
        )
        for known in hub.HUB_MODELS
    )
    unavailable = "" if find_spec("wordllama") else "a package for this Python or platform"
    summary = f"the default; here minilm for up to {FEW_TEXTS:,} distinct texts, wordllama for more"
    if unavailable:
        summary = "the default; here always minilm"
    auto = replace(minilm, name=DEFAULT_MODEL, summary=summary, dimension=None)
    if minilm.status == "missing" and not unavailable:
        auto = replace(auto, summary="the default; here always wordllama", status="ready", needs="")
    has_server = os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL")
    openai = _missing("openai", "openai") or ("" if has_server else "the key OPENAI_API_KEY")
    files = (hub.local_folder(STATIC_MODEL, Model2VecBackend.complete_file), 30)
    return [
        auto,
        minilm,
        _info("wordllama", "token vectors, fast, offline", 256, unavailable),
        *others,
        _info(f"model2vec:{STATIC_MODEL}", "token vectors, or any other model of model2vec", 256, static, files),
        _info("openai:text-embedding-3-small", "or any other model of an OpenAI-compatible server", 1536, openai),
        *(_info(name, f"from the package {_package(plugin)}", None) for name, plugin in sorted(_plugins().items())),
    ]


def _missing(extra: str, module: str) -> str:
    """Return the command that installs an extra, or nothing if its module is installed."""
    return "" if find_spec(module) else f'pip install "textspectra[{extra}]"'


def _info(
    name: str, summary: str, dimension: int | None, missing: str = "", files: tuple[Path | None, int] | None = None
) -> ModelInfo:
    """Describe a model; `files` are its folder, None if it has to be downloaded, and the megabytes of the download."""
    if missing:
        return ModelInfo(name, summary, dimension, "missing", missing)
    if files is None or files[0]:
        return ModelInfo(name, summary, dimension, "ready", "")
    if hub.is_offline():
        needs = INSTALL_MINILM if name == hub.MINILM.preset else f"a download, and {hub.OFFLINE} is set"
        return ModelInfo(name, summary, dimension, "missing", needs)
    return ModelInfo(name, summary, dimension, "download", hub.in_megabytes(files[1] * 10**6))


class Chosen(NamedTuple):
    """A back end, and the reason for choosing it, which is empty if the user chose it."""

    backend: Backend
    reason: str


def chosen_backend(model: Model, n_texts: int, *, is_foreign: bool = False) -> Chosen:
    """Return the back end for any value of ``model=``.

    ``"auto"`` is MiniLM for up to 50,000 distinct texts, if it is here or can be downloaded, and otherwise wordllama.
    Both read only English; if most texts are in other languages (`is_foreign`), it is the multilingual MiniLM.
    """
    if not is_auto(model):
        return Chosen(as_backend(model), "")
    if is_foreign:
        try:
            return Chosen(_load_once(str(hub.MULTILINGUAL.preset)), "chosen because most of the texts are not English")
        except TextspectraError as error:
            backend, reason = chosen_backend(model, n_texts)
            return Chosen(backend, f"{reason}; {hub.MULTILINGUAL.preset} cannot be used here: {error}")
    if n_texts > FEW_TEXTS and find_spec("wordllama"):
        return Chosen(load_model("wordllama"), f"chosen because there are more than {FEW_TEXTS:,} distinct texts")
    try:
        good = _load_once("minilm")
    except TextspectraError:
        if not find_spec("wordllama"):
            raise
        reason = "chosen because the weights of minilm are not on this machine and could not be downloaded"
        return Chosen(load_model("wordllama"), f"{reason}; {LESS_ACCURATE}")
    if n_texts > FEW_TEXTS:
        return Chosen(good, "chosen because wordllama, which is faster, is not available for this Python or platform")
    return Chosen(good, f"chosen because there are at most {FEW_TEXTS:,} distinct texts")


def _load_once(name: str) -> Backend:
    """Load a model for ``auto``; a failed download, which can take seconds, is not tried again by this process."""
    attempt = name, hub.is_offline()
    try:
        with hub.no_downloads(hub.is_offline() or attempt in _failures):
            return load_model(name)
    except TextspectraError as error:
        if attempt not in _failures:
            _logger.warning("%s is not on this machine and cannot be downloaded, so another model is used.", name)
        raise _failures.setdefault(attempt, error) from None


def is_auto(model: Model) -> bool:
    """Return True if the number of texts decides the model."""
    return isinstance(model, str) and model.lower() == DEFAULT_MODEL


def knows_only_english(model: str) -> bool:
    """Return True if a model is known to have learned only English."""
    last = re.split(r"[:/\\]", model.lower())[-1]
    return any(re.fullmatch(pattern, last) for pattern in ENGLISH)
