"""Texts with their vectors, from one file or many, to the result and its folder on disk."""
