"""The model that `auto` stands for: the better one for few texts, the faster one for many, another for languages."""

from __future__ import annotations

from importlib.util import find_spec
from typing import NamedTuple

from ..errors import UserError
from .base import Backend
from .registry import DEFAULT_MODEL, FEW_TEXTS, INSTALL_FAST, INSTALL_GOOD, Model, as_backend, load_backend
from .sentence_transformer import MULTILINGUAL
from .transformer import can_run


class Chosen(NamedTuple):
    """A back end, and why it was chosen; the reason is empty if the user chose it."""

    backend: Backend
    reason: str


def chosen_backend(model: Model, n_texts: int, *, is_foreign: bool = False) -> Chosen:
    """Return the back end for anything that ``model=`` takes, including ``"auto"``.

    `is_foreign` says that most texts are not English.

    Examples
    --------
    >>> chosen_backend("wordllama", 7).reason
    ''
    >>> chosen_backend("auto", 50_001).reason
    'chosen because there are more than 50,000 distinct texts'
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

    Examples
    --------
    >>> choose_backend(1000).backend.name
    'minilm'
    """
    if is_foreign:
        try:
            return Chosen(load_backend(str(MULTILINGUAL.preset)), "chosen because most of the texts are not English")
        except (UserError, ModuleNotFoundError) as error:
            backend, reason = choose_backend(n_texts)
            return Chosen(backend, f"{reason}; {MULTILINGUAL.preset} cannot be used here: {error}")
    fast_is_there = find_spec("wordllama") is not None
    if n_texts > FEW_TEXTS and fast_is_there:
        return Chosen(load_backend("wordllama"), f"chosen because there are more than {FEW_TEXTS:,} distinct texts")
    if not (fast_is_there or can_run()):
        raise ModuleNotFoundError(f"No embedding model is installed: {INSTALL_GOOD}")
    try:
        good = load_backend("minilm")
    except (UserError, ModuleNotFoundError) as error:
        if not fast_is_there:
            raise
        return Chosen(load_backend("wordllama"), f"chosen because minilm cannot be used here: {error}")
    if n_texts <= FEW_TEXTS:
        return Chosen(good, f"chosen because there are no more than {FEW_TEXTS:,} distinct texts")
    return Chosen(
        good,
        f"chosen although there are more than {FEW_TEXTS:,} distinct texts, because the faster model is not installed: "
        f"{INSTALL_FAST}",
    )
