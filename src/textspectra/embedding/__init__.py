"""Texts into vectors: one file a back end, a registry that picks one by name, and the cache."""

from typing import Any

from .base import Backend
from .cache import EmbeddingCache
from .embed import embed_texts
from .registry import DEFAULT_MODEL, ModelInfo, known_models, load_backend

Encoder = Any


def as_backend(model: Any) -> Backend:
    return load_backend(model) if isinstance(model, str) else model


__all__ = [
    "DEFAULT_MODEL",
    "Backend",
    "EmbeddingCache",
    "ModelInfo",
    "embed_texts",
    "known_models",
    "load_backend",
]
