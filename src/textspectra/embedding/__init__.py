"""Texts into vectors: one file a back end, a registry that picks one by name, and the cache."""

from .base import Backend
from .cache import EmbeddingCache
from .embed import embed_texts
from .registry import DEFAULT_MODEL, ModelInfo, known_models, load_backend

__all__ = [
    "DEFAULT_MODEL",
    "Backend",
    "EmbeddingCache",
    "ModelInfo",
    "embed_texts",
    "known_models",
    "load_backend",
]
