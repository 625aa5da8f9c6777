"""Models by name: the built-in ones, folders, the Hugging Face hub, and other packages."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

from safetensors import SafetensorError, safe_open

from ..errors import TextspectraError, UsageError
from .base import ENCODER_PREFIX, Backend, Encoder, EncoderBackend, encoder_by_name
from .hub import HUB_MODELS, MULTILINGUAL, full_hub_name, in_megabytes, is_offline, local_folder, read_json
from .libraries import Model2VecBackend, SentenceTransformerBackend, WordLlamaBackend
from .server import OpenAIBackend
from .transformer import FLOAT32, INSTALL_MINILM, MINILM_ON_HUB, MINILM_PACKAGE, PACKAGES, load_transformer

DEFAULT_MODEL = "auto"

# Up to this number of distinct texts, ``auto`` is minilm, which gives better groups; above, the faster wordllama.
FEW_TEXTS = 50_000
INSTALL_FAST = 'pip install "textspectra[wordllama]"'
INSTALL_GOOD = f'pip install "textspectra[minilm]" and {INSTALL_MINILM}'
STATIC_MODEL = "minishlab/potion-base-8M"

Model = str | Backend | Encoder | Callable[[list[str]], object]
"""A name, a back end, an object with ``encode(texts)``, or a function from a list of texts to an array."""

BUILT_IN: dict[str, Callable[[], Backend]] = {
    "wordllama": WordLlamaBackend,
    "minilm": partial(load_transformer, "minilm"),
}

# Names that a folder cannot take; it can still be given as ./minilm.
PRESETS = (DEFAULT_MODEL, *BUILT_IN, *(known.preset for known in HUB_MODELS if known.preset))
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
    """A model that can be chosen by name.

    Attributes
    ----------
    name : str
        The value for ``model=``.
    summary : str
        A description in one line.
    dimension : int or None
        Length of a vector, if it is known beforehand.
    status : {"ready", "download", "missing"}
        "download" means that the first use downloads it; "missing" means that a package or a key is missing.
    needs : str
        The size of the download, the command that installs the package, or the key to set; empty if it is ready.

    Examples
    --------
    >>> list_models()[0].name
    'auto'
    """

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
        and ``sentence-transformers:NAME`` runs any model with PyTorch. int8 vectors are reproducible on one machine,
        and equal up to rounding on a machine with another kind of processor; float32 avoids the difference. Other
        packages add names through the entry-point group ``textspectra.embeddings``, chosen as ``NAME`` or
        ``NAME:ARGUMENT``.

    Raises
    ------
    UserError
        If the model is unknown or cannot be loaded; the message says what to do.
    ExternalError
        If the model cannot be downloaded.
    ModuleNotFoundError
        If an optional package is missing; the message has the command that installs it.

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
    is_folder = bool(name) and name.lower() not in PRESETS and folder.is_dir()
    if is_folder and any((folder / file).is_file() for file in ("modules.json", "config.json")):
        return Model2VecBackend(name) if _is_static(folder) else load_transformer(name)
    prefix, _, argument = name.partition(":")
    if prefix.lower() in PREFIXED:
        build, example = PREFIXED[prefix.lower()]
        if not argument:
            raise UsageError(f"{prefix} needs the name of a model after a colon, such as {prefix.lower()}:{example}.")
        return build(argument)
    if name.lower() in BUILT_IN:
        return BUILT_IN[name.lower()]()
    plugin = _plugins().get(prefix)
    if plugin is not None:
        return _load_plugin(plugin, argument or None)
    hub_name = full_hub_name(name)
    if hub_name:
        return load_transformer(hub_name)
    raise _unknown(name)


def as_backend(model: Model) -> Backend:
    """Return the back end for any value of ``model=`` except ``"auto"``.

    Parameters
    ----------
    model : str, Backend, encoder or callable
        A name for :func:`load_model`; a :class:`Backend`; an object with ``encode(texts)``, such as a model of
        sentence-transformers or model2vec; or a function from a list of texts to an array.

    Raises
    ------
    UserError
        If it is none of these.

    Examples
    --------
    >>> as_backend("wordllama").name
    'wordllama'
    >>> as_backend(lambda texts: [[len(text)] for text in texts]).embed(["one"])
    array([[3.]], dtype=float32)
    """
    if isinstance(model, str):
        return load_model(model)
    return model if isinstance(model, Backend) and not isinstance(model, type) else EncoderBackend(model)


def _is_static(folder: Path) -> bool:
    """Return True if a folder holds a model of model2vec: a table of vectors without a network."""
    kind = read_json(folder / "config.json", dict).get("model_type")
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
    hub_names = [known.preset or known.hub_name.partition("/")[2] for known in HUB_MODELS]
    by_lower = {known.lower(): known for known in (*BUILT_IN, *PREFIXED, *_plugins(), *hub_names)}
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
    torch = _missing("transformers", "sentence_transformers")
    light = torch and _missing("minilm", *PACKAGES)
    good = _minilm_info(light)
    fast = _info("wordllama", "token vectors, fast, offline", 256, _missing("wordllama", "wordllama"))
    infos = [_auto_info(good, fast), good, fast]
    for known in HUB_MODELS:
        summary = "from the Hugging Face hub" + (", with its prompt" if known.prompt else "")
        if known.preset:
            summary = f"{known.hub_name.partition('/')[2]}, a small transformer for 50 languages, {summary}"
        missing = torch if known.needs_torch else light
        files = (known.hub_name, SentenceTransformerBackend.complete_file, known.megabytes)
        infos.append(_info(known.preset or known.hub_name, summary, known.dimension, missing, files))
    static = _missing("model2vec", "model2vec")
    files = (STATIC_MODEL, Model2VecBackend.complete_file, 30)
    infos.append(
        _info(f"model2vec:{STATIC_MODEL}", "token vectors, or any other model of model2vec", 256, static, files)
    )
    has_server = os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL")
    openai = _missing("openai", "openai") or ("" if has_server else "the key OPENAI_API_KEY")
    summary = "or any other model of an OpenAI-compatible server"
    infos.append(_info("openai:text-embedding-3-small", summary, 1536, openai))
    plugins = sorted(_plugins().items())
    return infos + [_info(name, f"from the package {_package(plugin)}", None, "") for name, plugin in plugins]


def _missing(extra: str, *modules: str) -> str:
    """Return the command that installs an extra, or nothing if its modules are installed."""
    return "" if all(map(find_spec, modules)) else f'pip install "textspectra[{extra}]"'


def _info(
    name: str, summary: str, dimension: int | None, missing: str, files: tuple[str, str, int] | None = None
) -> ModelInfo:
    """Describe a model; `files` are its name on the hub, the file of a complete download, and megabytes."""
    if missing:
        return ModelInfo(name, summary, dimension, "missing", missing)
    if files is None or local_folder(*files[:2]):
        return ModelInfo(name, summary, dimension, "ready", "")
    if is_offline():
        return ModelInfo(name, summary, dimension, "missing", "a download, and HF_HUB_OFFLINE is set")
    return ModelInfo(name, summary, dimension, "download", in_megabytes(files[2] * 10**6))


def _minilm_info(missing: str) -> ModelInfo:
    files = (MINILM_ON_HUB, SentenceTransformerBackend.complete_file, 91)
    if not missing and not find_spec(MINILM_PACKAGE) and is_offline() and not local_folder(*files[:2]):
        missing = INSTALL_MINILM
    summary = "all-MiniLM-L6-v2, a small transformer for English"
    return _info("minilm", summary, 384, missing, None if find_spec(MINILM_PACKAGE) else files)


def _auto_info(good: ModelInfo, fast: ModelInfo) -> ModelInfo:
    """Describe what ``auto`` chooses here."""
    if good.status == fast.status == "missing":
        return ModelInfo(DEFAULT_MODEL, "the default", None, "missing", INSTALL_GOOD)
    if "missing" in (good.status, fast.status):
        only = fast if good.status == "missing" else good
        return ModelInfo(DEFAULT_MODEL, f"the default; here always {only.name}", None, only.status, only.needs)
    summary = f"the default; here {good.name} for up to {FEW_TEXTS:,} distinct texts, {fast.name} for more"
    return ModelInfo(DEFAULT_MODEL, summary, None, good.status, good.needs)


class Chosen(NamedTuple):
    """A back end, and the reason for choosing it, which is empty if the user chose it."""

    backend: Backend
    reason: str


def chosen_backend(model: Model, n_texts: int, *, is_foreign: bool = False) -> Chosen:
    """Return the back end for any value of ``model=``.

    ``"auto"`` is MiniLM for up to 50,000 distinct texts and wordllama for more, or else the one that can be used. Both
    read only English; if most texts are in other languages (`is_foreign`), it is the multilingual MiniLM.
    """
    if not is_auto(model):
        return Chosen(as_backend(model), "")
    if is_foreign:
        try:
            return Chosen(load_model(str(MULTILINGUAL.preset)), "chosen because most of the texts are not English")
        except (TextspectraError, ModuleNotFoundError) as error:
            backend, reason = chosen_backend(model, n_texts)
            return Chosen(backend, f"{reason}; {MULTILINGUAL.preset} cannot be used here: {error}")
    has_fast = find_spec("wordllama") is not None
    many = f"there are more than {FEW_TEXTS:,} distinct texts"
    if n_texts > FEW_TEXTS and has_fast:
        return Chosen(load_model("wordllama"), f"chosen because {many}")
    if not (has_fast or all(map(find_spec, PACKAGES)) or find_spec("sentence_transformers")):
        raise ModuleNotFoundError(f"No embedding model is installed: {INSTALL_GOOD}")
    try:
        good = load_model("minilm")
    except (TextspectraError, ModuleNotFoundError) as error:
        if not has_fast:
            raise
        return Chosen(load_model("wordllama"), f"chosen because minilm cannot be used here: {error}")
    if n_texts <= FEW_TEXTS:
        return Chosen(good, f"chosen because there are at most {FEW_TEXTS:,} distinct texts")
    return Chosen(good, f"chosen although {many}, because the faster model is not installed: {INSTALL_FAST}")


def is_auto(model: Model) -> bool:
    """Return True if the number of texts decides the model."""
    return isinstance(model, str) and model.lower() == DEFAULT_MODEL


def knows_only_english(model: str) -> bool:
    """Return True if a model is known to have learned only English."""
    last = re.split(r"[:/\\]", model.lower())[-1]
    return any(re.fullmatch(pattern, last) for pattern in ENGLISH)
