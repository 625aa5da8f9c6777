"""The paper's datasets give the k, ARI and NMI on record."""

import csv

import pytest
from labeled_sets import needs_data
from paper_sets import SETS, TABLE, measure


@needs_data
@pytest.mark.parametrize("name", SETS)
def test_k_ari_and_nmi_are_those_on_record(name):
    with TABLE.open(newline="") as file:
        recorded = {row["set"]: row for row in csv.DictReader(file)}[name]
    measured = measure(name)
    assert measured["k"] == pytest.approx(int(recorded["k"]), abs=1)
    for column in ("kmeans_ari", "kmeans_nmi", "hac_ari", "hac_nmi"):
        assert measured[column] == pytest.approx(float(recorded[column]), abs=0.03), column
