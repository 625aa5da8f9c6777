"""Texts in many files: embedded, grouped and written file by file, here or on the workers of a Dask cluster."""

from .run import ClusteredFiles, cluster_files
from .working import clear_work

__all__ = ["ClusteredFiles", "clear_work", "cluster_files"]
