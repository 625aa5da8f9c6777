"""Texts into vectors: one file per back end, a registry that picks one by name, and the cache."""

from typing import Any

from .base import Backend
from .cache import EmbeddingCache
from .embed import embed_texts
from .encoder import Encoder
from .registry import DEFAULT_MODEL, Model, ModelInfo, as_backend, known_models, load_backend

Encoder = Any


def as_backend(model: Any) -> Backend:
    return load_backend(model) if isinstance(model, str) else model


__all__ = [
    "DEFAULT_MODEL",
    "Backend",
    "EmbeddingCache",
    "Encoder",
    "Model",
    "ModelInfo",
    "as_backend",
    "embed_texts",
    "known_models",
    "load_backend",
]
