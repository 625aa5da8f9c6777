"""Texts in many files: embedded, grouped and written file by file, here or on the workers of a Dask cluster."""

from .run import ClusteredFiles, cluster_files

__all__ = ["ClusteredFiles", "cluster_files"]
