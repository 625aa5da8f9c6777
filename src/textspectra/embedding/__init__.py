"""Texts into vectors: one file per back end, a registry that picks one by name, and the cache."""

from .auto import chosen_backend, is_auto
from .base import Backend
from .cache import CacheSize, EmbeddingCache
from .embed import embed_texts
from .encoder import Encoder
from .registry import DEFAULT_MODEL, Model, ModelInfo, as_backend, known_models, load_backend

__all__ = [
    "DEFAULT_MODEL",
    "Backend",
    "CacheSize",
    "EmbeddingCache",
    "Encoder",
    "Model",
    "ModelInfo",
    "as_backend",
    "chosen_backend",
    "embed_texts",
    "is_auto",
    "known_models",
    "load_backend",
]
