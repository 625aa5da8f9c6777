"""Texts with their vectors: the pipeline, the result, months, many files, storage."""
