"""Back ends by name: the built-in ones, folders, the Hugging Face hub, and those of other packages."""

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
from typing import Any, Literal, NamedTuple

from ..errors import TextspectraError, UsageError, UserError
from .base import PREFIX, Backend, Encoder, EncoderBackend, encoder_by_name
from .hub import hub_revision, in_megabytes, is_model_folder, is_offline, is_static_model
from .sentence_transformer import (
    COMPLETE_FILE,
    HUB_MODELS,
    MULTILINGUAL,
    HubModel,
    SentenceTransformerBackend,
    full_hub_name,
)
from .server import OpenAIBackend
from .static import COMPLETE_FILE as STATIC_FILE
from .static import Model2VecBackend, WordLlamaBackend
from .transformer import (
    EXTRA,
    FLOAT32,
    MINILM,
    MINILM_LINE,
    MINILM_MEGABYTES,
    MINILM_ON_HUB,
    PACKAGES,
    can_run,
    load_transformer,
)

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
"""The last part of their names. The other models of the registry know many languages."""


def knows_only_english(model: str) -> bool:
    """Return True if a model is known to have learned only English."""
    last = re.split(r"[:/\\]", model.lower())[-1]
    return any(re.fullmatch(pattern, last) for pattern in ENGLISH)


DEFAULT_MODEL = "auto"

FEW_TEXTS = 50_000
"""Distinct texts up to which ``auto`` is minilm, which gives better groups, rather than the faster wordllama."""

INSTALL_FAST = 'pip install "textspectra[wordllama]"'
INSTALL_GOOD = f'pip install "textspectra[{EXTRA}]" and {MINILM_LINE}'

ENTRY_POINTS = "textspectra.embeddings"
"""The group in which other packages offer back ends: NAME -> callable(argument or None) -> Backend."""

STATIC_MODEL, STATIC_MEGABYTES = "minishlab/potion-base-8M", 30

Model = str | Backend | Encoder | Callable[[list[str]], Any]
"""A name, a back end, an object with ``encode(texts)``, or a function from a list of texts to an array."""

PLAIN: dict[str, Callable[[], Backend]] = {
    "wordllama": WordLlamaBackend,
    "minilm": partial(load_transformer, "minilm"),
}

PRESETS = (DEFAULT_MODEL, *PLAIN, *(known.preset for known in HUB_MODELS if known.preset))
"""Names that stand for models which are known beforehand. No folder can take their place: that would be ./minilm."""

PREFIXED: dict[str, tuple[Callable[[str], Backend], str]] = {
    "model2vec": (Model2VecBackend, STATIC_MODEL),
    "openai": (OpenAIBackend, "text-embedding-3-small"),
    "sentence-transformers": (SentenceTransformerBackend, "sentence-transformers/all-mpnet-base-v2"),
    FLOAT32: (partial(load_transformer, compute_type=FLOAT32), "minilm"),
    PREFIX: (encoder_by_name, "MyModel"),
}
"""What a prefix builds, and an example of what may follow it."""


@dataclass(frozen=True)
class ModelInfo:
    """A model that can be chosen by name.

    Attributes
    ----------
    name : str
        The value for ``model=``.
    summary : str
        What it is, in one line.
    dimension : int or None
        Length of a vector, if it is known beforehand.
    status : {"ready", "download", "missing"}
        "download" means that the first use downloads it; "missing", that a package or a key is missing.
    needs : str
        The size of the download, the line that installs the package, or the key to set; empty if it is ready.

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


def as_backend(model: Model) -> Backend:
    """Return the back end for anything that ``model=`` takes, but ``"auto"``.

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


def load_model(name: str) -> Backend:
    """Return the back end of that name.

    Parameters
    ----------
    name : str
        A name that :func:`list_models` lists, ``openai:MODEL``, ``model2vec:NAME_OR_FOLDER``, a model of
        sentence-transformers on the Hugging Face hub (``owner/name``, or only ``name`` for well-known ones), or a
        folder with a model of sentence-transformers or model2vec. Models with the architecture of BERT or
        XLM-RoBERTa run without PyTorch and with int8 weights; ``float32:NAME`` is the same model with float32 weights,
        and ``sentence-transformers:NAME`` runs any model with PyTorch. int8 vectors are the same twice on one machine,
        and up to rounding on a machine with another kind of processor; float32 avoids the difference. Other packages
        add names through the entry-point group ``textspectra.embeddings``, chosen as ``NAME`` or ``NAME:ARGUMENT``.

    Raises
    ------
    UserError
        If there is no such model, or it cannot be loaded; the message says what to do.
    ModuleNotFoundError
        If an optional package is missing; the message is the line that installs it.

    Examples
    --------
    >>> load_model("wordllama").name
    'wordllama'
    >>> load_model("wordlama")
    Traceback (most recent call last):
        ...
    textspectra.errors.UsageError: There is no model 'wordlama'. Did you mean wordllama? `textspectra models` lists all.
    """
    folder = Path(name).expanduser()
    if name and name.lower() not in PRESETS and folder.is_dir() and is_model_folder(folder):
        return Model2VecBackend(name) if is_static_model(folder) else load_transformer(name)
    prefix, _, argument = name.partition(":")
    if prefix.lower() in PREFIXED:
        build, example = PREFIXED[prefix.lower()]
        if not argument:
            raise UsageError(f"{prefix} needs the name of a model after a colon, such as {prefix.lower()}:{example}.")
        return build(argument)
    if name.lower() in PLAIN:
        return PLAIN[name.lower()]()
    plugin = _plugins().get(prefix)
    if plugin is not None:
        return _load_plugin(plugin, argument or None)
    hub_name = full_hub_name(name)
    if hub_name:
        return load_transformer(hub_name)
    raise _unknown(name)


def list_models() -> list[ModelInfo]:
    """Return well-known models, the default first, and for each whether it can be used here.

    Examples
    --------
    >>> [model.name for model in list_models()][:3]
    ['auto', 'minilm', 'wordllama']
    """
    torch = _missing("transformers", "sentence_transformers")
    light = torch and _missing(EXTRA, *PACKAGES)
    static = _missing("model2vec", "model2vec")
    openai = _missing("openai", "openai") or ("" if _has_openai_server() else "the key OPENAI_API_KEY")
    good = _info(
        "minilm",
        "all-MiniLM-L6-v2, a small transformer for English",
        384,
        light or _minilm_weights(),
        download=None if light or find_spec(MINILM) else (MINILM_ON_HUB, COMPLETE_FILE, MINILM_MEGABYTES),
    )
    fast = _info("wordllama", "token vectors, fast, offline", 256, _missing("wordllama", "wordllama"))
    return [
        _auto_info(good, fast),
        good,
        fast,
        *(_info(known.preset or known.hub_name, _summary(known), known.dimension, torch if known.needs_torch else light,
                download=(known.hub_name, COMPLETE_FILE, known.megabytes))
          for known in HUB_MODELS),
        _info(f"model2vec:{STATIC_MODEL}", "token vectors, or any other model of model2vec", 256, static,
              download=(STATIC_MODEL, STATIC_FILE, STATIC_MEGABYTES)),
        _info("openai:text-embedding-3-small", "or any other model of an OpenAI-compatible server", 1536, openai),
        *(_info(name, f"from the package {_package(plugin)}", None, "") for name, plugin in sorted(_plugins().items())),
    ]  # fmt: skip


def _summary(known: HubModel) -> str:
    if known.preset:
        return f"{known.hub_name.partition('/')[2]}, a small transformer for 50 languages, from the Hugging Face hub"
    return "from the Hugging Face hub" + (", with its prompt" if known.prompt else "")


def _info(
    name: str, summary: str, dimension: int | None, missing: str, *, download: tuple[str, str, int] | None = None
) -> ModelInfo:
    if missing:
        return ModelInfo(name, summary, dimension, "missing", missing)
    if download:
        hub_name, file, megabytes = download
        if hub_revision(hub_name, file=file) is None:
            if is_offline():
                return ModelInfo(name, summary, dimension, "missing", "a download, and HF_HUB_OFFLINE is set")
            return ModelInfo(name, summary, dimension, "download", in_megabytes(megabytes * 10**6))
    return ModelInfo(name, summary, dimension, "ready", "")


def _auto_info(good: ModelInfo, fast: ModelInfo) -> ModelInfo:
    """Describe what ``auto`` chooses here."""
    if good.status == fast.status == "missing":
        return ModelInfo(DEFAULT_MODEL, "the default", None, "missing", INSTALL_GOOD)
    if "missing" in (good.status, fast.status):
        only = fast if good.status == "missing" else good
        return ModelInfo(DEFAULT_MODEL, f"the default; here always {only.name}", None, only.status, only.needs)
    summary = f"the default; here {good.name} for up to {FEW_TEXTS:,} distinct texts, {fast.name} for more"
    return ModelInfo(DEFAULT_MODEL, summary, None, good.status, good.needs)


def _minilm_weights() -> str:
    """Return the line that installs the weights of minilm, or nothing if they are here or can be downloaded."""
    here = find_spec(MINILM) or not is_offline() or hub_revision(MINILM_ON_HUB, file=COMPLETE_FILE)
    return "" if here else MINILM_LINE


def _missing(extra: str, *modules: str) -> str:
    """Return the line that installs an extra, or nothing if its modules are there."""
    return "" if all(map(find_spec, modules)) else f'pip install "textspectra[{extra}]"'


def _has_openai_server() -> bool:
    return bool(os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL"))


def _plugins() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


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


def _unknown(name: str) -> UserError:
    if name.lower() == DEFAULT_MODEL:
        return UsageError(f"{DEFAULT_MODEL} is chosen by the number of texts; give the name of a model here.")
    folder = Path(name).expanduser()
    if name and folder.is_dir():
        return UsageError(f"The folder {name} holds no model: it has neither modules.json nor config.json.")
    if "/" in name or "\\" in name:
        return UsageError(f"There is no folder {name} here, and it is not a possible name on the Hugging Face hub.")
    hub_names = [known.preset or known.hub_name.partition("/")[2] for known in HUB_MODELS]
    names = [*PLAIN, *PREFIXED, *_plugins(), *hub_names]
    by_lower = {known.lower(): known for known in names}
    near = [by_lower[match] for match in difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=0.5)]
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return UsageError(f"There is no model {name!r}.{hint} `textspectra models` lists all.")


class Chosen(NamedTuple):
    """A back end, and why it was chosen; the reason is empty if the user chose it."""

    backend: Backend
    reason: str


def chosen_backend(model: Model, n_texts: int, *, is_foreign: bool = False) -> Chosen:
    """Return the back end for anything that ``model=`` takes, including ``"auto"``.

    `is_foreign` says that most texts are not English.
    """
    return choose_backend(n_texts, is_foreign=is_foreign) if is_auto(model) else Chosen(as_backend(model), "")


def is_auto(model: Model) -> bool:
    """Return whether the number of texts decides the model."""
    return isinstance(model, str) and model.lower() == DEFAULT_MODEL


def choose_backend(n_texts: int, *, is_foreign: bool = False) -> Chosen:
    """Return MiniLM for up to 50,000 distinct texts and wordllama for more, or else the one that can be used.

    Both read only English. If most texts are in other languages, it is the multilingual MiniLM. A MiniLM can be
    used if its packages are installed and its weights are on this machine or can be downloaded.

    Raises
    ------
    ModuleNotFoundError
        If neither is installed; the message has the lines that install MiniLM.
    UserError
        If wordllama is not installed and the weights of MiniLM cannot be downloaded.
    """
    if is_foreign:
        try:
            return Chosen(load_model(str(MULTILINGUAL.preset)), "chosen because most of the texts are not English")
        except (TextspectraError, ModuleNotFoundError) as error:
            backend, reason = choose_backend(n_texts)
            return Chosen(backend, f"{reason}; {MULTILINGUAL.preset} cannot be used here: {error}")
    fast_is_there = find_spec("wordllama") is not None
    if n_texts > FEW_TEXTS and fast_is_there:
        return Chosen(load_model("wordllama"), f"chosen because there are more than {FEW_TEXTS:,} distinct texts")
    if not (fast_is_there or can_run()):
        raise ModuleNotFoundError(f"No embedding model is installed: {INSTALL_GOOD}")
    try:
        good = load_model("minilm")
    except (TextspectraError, ModuleNotFoundError) as error:
        if not fast_is_there:
            raise
        return Chosen(load_model("wordllama"), f"chosen because minilm cannot be used here: {error}")
    if n_texts <= FEW_TEXTS:
        return Chosen(good, f"chosen because there are no more than {FEW_TEXTS:,} distinct texts")
    return Chosen(
        good,
        f"chosen although there are more than {FEW_TEXTS:,} distinct texts, because the faster model is not installed: "
        f"{INSTALL_FAST}",
    )
