"""A user's program, as strict as it can be typed: `make lint` checks it with mypy and pyright.

What is wrong in it is marked; a mark that is not needed is an error too, so the types refuse neither too much nor too
little.
"""

import sys
from pathlib import Path
from typing import assert_type

import numpy as np
import pandas
from numpy.typing import NDArray

import textspectra as ts


def cluster(texts: list[str], folder: Path) -> ts.TextClustering:
    """Group texts, save the model, and write the report."""
    result = ts.cluster_texts(texts, model="wordllama", n_clusters="coarse", random_state=0)
    assert_type(result, ts.TextClustering)
    assert_type(result.n_clusters, int)
    for cluster in result.clusters:
        assert_type(cluster, ts.Cluster)
        print(cluster.label, cluster.name.upper(), cluster.size, ", ".join(cluster.keywords))
    if result.k_estimate is not None:
        low, high = result.k_estimate.interval
        assert_type((low, high), tuple[int, int])
    if result.cohesion is not None:
        assert_type(result.cohesion.ratio, float)
    print(result.cluster_table())
    assert_type(result.labels, NDArray[np.intp])
    result.save(folder / "my.model", overwrite=True)
    ts.write_report(result, folder / "report.html", overwrite=True)
    return result.rename({0: "refunds"})


def tonight(folder: Path, texts: list[str]) -> list[str]:
    """Return the names of the groups that are new tonight."""
    model = ts.TextClustering.load(folder / "my.model")
    found = model.compare(texts)
    assert_type(found, ts.Comparison)
    return [cluster.name for cluster in found.new_clusters]


def as_pandas(result: ts.TextClustering) -> pandas.DataFrame:
    """Return the texts of a result that came in a data frame of pandas."""
    frame = result.to_frame()
    if not isinstance(frame, pandas.DataFrame):
        raise TypeError("the texts came in something else")
    return frame


def own_embeddings(X: NDArray[np.float32]) -> int:
    """Use embeddings of one's own."""
    estimate = ts.estimate_k(X, method="spectral")
    assert_type(estimate, ts.KEstimate)
    clusterer = ts.AutoKMeans(n_clusters=estimate.k).fit(X)
    assert_type(clusterer.n_clusters_, int)
    ratio = ts.cohesion_ratio(X, clusterer.labels_)
    assert_type(ratio, float)
    return estimate.k


class Lengths:
    """A model of one's own: anything with `encode`."""

    def encode(self, texts: list[str]) -> NDArray[np.float32]:
        """Return one row for each text."""
        return np.array([[len(text), 1] for text in texts], np.float32)


def own_model(texts: list[str]) -> ts.TextClustering:
    """Use a model of one's own."""
    return ts.cluster_texts(texts, model=Lengths())


def main() -> int:
    """Retry what may succeed later, and report the rest."""
    try:
        cluster(sys.stdin.read().splitlines(), Path.cwd())
    except ts.ExternalError as error:
        print(f"try again later: {error}", file=sys.stderr)
        return error.exit_code
    except ts.UserError as error:
        return error.exit_code
    return 0


def mistakes(texts: list[str], X: NDArray[np.float32]) -> None:
    """Hold what the types refuse."""
    ts.cluster_texts(texts, algorithm="dbscan")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ts.estimate_k(X, method="elbow")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ts.cluster_texts(texts, n_cluster=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    ts.kmeans(X)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
