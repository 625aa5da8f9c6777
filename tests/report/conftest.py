"""A result of each algorithm, and the data of its report."""

import pytest
from report_data import contents

import textspectra as ts


@pytest.fixture(scope="session")
def data(planted):
    X, truth = planted(6, 700, noise=0.5)
    words = ["parcel", "password", "refund", "invoice", "battery", "delivery"]
    texts = [f"{words[group]} number {i // 2 if i < 40 else i}" for i, group in enumerate(truth)]
    return texts, X, truth


@pytest.fixture(scope="session", params=["kmeans", "hac"])
def result(request, data):
    texts, X, _ = data
    return ts.cluster_texts(texts, embeddings=X, n_clusters=9, algorithm=request.param)


@pytest.fixture(scope="session")
def page_data(result):
    return contents(result)
