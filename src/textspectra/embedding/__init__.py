"""Texts into vectors: back ends, a registry, and the cache."""
