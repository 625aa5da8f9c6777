"""What the tests on a real Dask cluster share."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from textspectra.dataset import cluster_files
from textspectra.io import matching_files

SIZES = (300, 0, 500, 400)
"""Of the chunks of 1,200 rows."""

MARKS = [
    pytest.mark.xdist_group("cluster"),  # one process, because more workers would only wait for each other
    # Workers come and go, and Dask speaks of each of them.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def read_all(folder):
    return pa.concat_tables([pq.read_table(path) for path in sorted(folder.iterdir())])


def group_files(texts, out, **options):
    pytest.importorskip("wordllama")
    return cluster_files(matching_files(f"{texts}/*.parquet"), out, n_clusters=9, cache=False, **options)
