"""The samples of a dataset: which there are, and which rows they have."""

import hashlib
import json
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from textspectra_study.datasets import PAPER_SETS, Dataset
from textspectra_study.results import Variant
from textspectra_study.variants import plan_variants, variant_rows


def synthetic(name, n, classes, sizes):
    return Dataset(name, name, [""] * n, np.arange(n) % classes, sizes, "x", None, np.arange(n))


def test_the_full_sets_give_62_variants():
    instances = {"dbpedia_title": 560_000, "dbpedia_text": 560_000, "newsgroups": 11_314, "bless": 200}
    instances |= {"reddit": 420_464, "stackexchange": 373_850}
    # Datasets and samples are 100 times smaller here, to be fast.
    small = [
        synthetic(one.name, instances[one.name] // 100, 2, tuple(size // 100 for size in one.sizes))
        for one in PAPER_SETS
    ]
    variants = plan_variants(small)
    assert len(variants) == 62
    counts = {name: sum(variant.dataset == name for variant in variants) for name in instances}
    assert list(counts.values()) == [16, 16, 1, 1, 14, 14]


def test_a_small_set_has_fewer_variants_and_the_largest_can_be_left_out():
    small = synthetic("a", 1500, 3, (500, 1000, 2000))
    assert [variant.size for variant in plan_variants([small])] == [500, 500, 1000, 1000]
    assert [variant.size for variant in plan_variants([small], max_size=700)] == [500, 500]
    assert [variant.kind for variant in plan_variants([synthetic("b", 300, 3, (500,))], max_size=100)] == ["whole"]


def test_the_rows_of_a_variant_are_the_same_on_any_machine():
    labels = np.repeat([0, 1, 2], [600, 300, 100])
    digests = {
        kind: hashlib.sha256(variant_rows(Variant("a", kind, 200, 3, 7), labels).astype("<i8").tobytes()).hexdigest()
        for kind in ("random", "stratified")
    }
    expected = json.loads(Path(__file__).with_name("variant_rows.json").read_text())
    assert digests == expected


@given(st.lists(st.integers(1, 60), min_size=1, max_size=8), st.integers(1, 200), st.integers(0, 5))
def test_a_stratified_sample_keeps_every_class_in_proportion(members, size, seed):
    labels = np.repeat(np.arange(len(members)), members)
    size = min(max(size, len(members)), len(labels))
    rows = variant_rows(Variant("a", "stratified", size, 0, seed), labels)
    assert len(rows) == len(set(rows.tolist())) == size
    taken = np.bincount(labels[rows], minlength=len(members))
    assert (taken >= 1).all()
    shares = np.array(members) * size / len(labels)
    lifted = np.maximum(1 - shares, 0).sum()  # what the smallest classes get beyond their share
    assert (np.abs(taken - shares) <= 1 + lifted).all()
