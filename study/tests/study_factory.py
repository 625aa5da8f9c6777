"""Studies for tests: finished cells made of seeded numbers, and a small labeled dataset to run one on."""

import csv
import math
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from textspectra_study.algorithms import TITLES
from textspectra_study.page.paper import DATASETS, OVERALL
from textspectra_study.results import METRICS, Cell, DatasetFacts, Manifest, Results, Variant

NAMES = {
    "DBpedia Title": "dbpedia_title",
    "DBpedia Text": "dbpedia_text",
    "20 Newsgroups": "newsgroups",
    "BLESS": "bless",
    "Reddit": "reddit",
    "StackExchange": "stackexchange",
}
EXAMPLE = Path(__file__).parents[2] / "examples" / "customer_messages.csv"
SIZES = (500, 1000, 2000)
TAUS = (200, 500, 1000, 2000)


def make_results(seed=0, titles=tuple(NAMES), models=("wordllama", "minilm")):
    """Build a complete study whose numbers are close to the paper's."""
    rng = np.random.default_rng(seed)
    datasets = tuple(
        DatasetFacts(NAMES.get(title, title), title, *_facts(title), f"{NAMES.get(title, title)}.parquet", "0" * 16)
        for title in titles
    )
    variants = tuple(variant for facts in datasets for variant in _variants(facts))
    manifest = Manifest(datasets, variants, models, 0, versions={"numpy": "2.4.6"})
    cells = [cell for variant in variants for model in models for cell in _cells(rng, variant, model)]
    return Results(manifest, cells, len(cells))


def write_messages(path, *, rows=60):
    """Write a labeled dataset of `rows` messages with two intents, taken from the example and repeated if need be."""
    with EXAMPLE.open(newline="", encoding="utf-8") as file:
        found = [row for row in csv.DictReader(file) if row["intent"] in ("reset_password", "subscription_cancel")]
    found = [row for row in found if row["message"].strip()]
    found = list(islice(cycle(found), rows))
    path.parent.mkdir(exist_ok=True)
    table = {"text": [row["message"] for row in found], "label": [row["intent"] for row in found]}
    pq.write_table(pa.table(table), path)


def changed(results, change):
    """Replace each cell by the result of `change`; None drops it."""
    cells = [new for cell in results.cells if (new := change(cell)) is not None]
    return replace(results, cells=cells)


def with_values(cell, **values):
    return replace(cell, values={**cell.values, **values})


def _facts(title):
    return DATASETS.get(title, (900, 12, 5.0, 0.2))


def _variants(facts):
    if facts.name in ("bless", "newsgroups"):
        return [Variant(facts.name, "whole", facts.instances, facts.classes, 0)]
    return [Variant(facts.name, kind, size, facts.classes, 0) for size in SIZES for kind in ("random", "stratified")]


def _cells(rng, variant, model):
    yield from (_algorithm_cell(rng, variant, model, task) for task in TITLES)
    if variant.kind == "whole" or (variant.kind == "stratified" and variant.size == SIZES[-1]):
        yield from (_sweep_cell(rng, variant, model, zscore, tau) for zscore in (False, True) for tau in TAUS)
        yield from (_profile_cell(rng, variant, model, task) for task in ("profile-kmeans", "profile-hac"))
        yield _similarity_cell(rng, variant, model)
        yield _settings_cell(variant, model)
        yield _readings_cell(rng, variant, model)
    if variant.dataset == "bless":
        yield _spectrum_cell(variant, model)
    if variant.dataset == "newsgroups":
        yield _times_cell(variant, model)


def _algorithm_cell(rng, variant, model, task):
    if task == "affinity_propagation" and variant.size > 5000:
        return Cell(variant, model, task, "not run: n > 5,000")
    usual = OVERALL.get(task, OVERALL["kmeans_kest"])
    values = {metric: float(usual.get(metric, 0.5) + 0.02 * rng.standard_normal()) for metric in METRICS}
    values["k_relative_error"] = abs(float(usual["k_relative_error"] * math.exp(0.1 * rng.standard_normal())))
    k = round(variant.classes * (1 + values["k_relative_error"]))
    values |= {"k": 3 if task == "kmeans_eigengap" else k, "noise": 0.3 if "hdbscan" in task else 0.0}
    return Cell(variant, model, task, "ok", values, 0.01 * variant.size * rng.random(), 200 + 100 * rng.random())


def _sweep_cell(rng, variant, model, zscore, tau):
    rows = []
    for window in range(3, 16):
        error = (0.5 if zscore else 0.6) + 0.02 * window + 0.01 * rng.standard_normal()
        rows.append({"window": window, "k": variant.classes * (1 + error), "fallback": 0.03 * (window - 3)})
    values = {"zscore": zscore, "tau": tau, "windows": rows}
    name = f"sweep-{'zscore' if zscore else 'raw'}-{tau}"
    return Cell(variant, model, name, "ok", values, tau / 100 + rng.random(), 300.0)


def _profile_cell(rng, variant, model, task):
    grid = np.unique(np.geomspace(2, 200, 20).round().astype(int)).tolist()
    points = []
    for k in grid:
        near = math.exp(-(math.log(k / variant.classes) ** 2))
        points.append(
            {
                "k": k,
                "ari": 0.5 * near,
                "nmi": 0.6 * near,
                "homogeneity": 1 - 1 / k,
                "completeness": 1 / math.log2(k + 1),
                "fowlkes_mallows": 0.5 * near + 0.05,
                "silhouette": 0.1 * near + 0.001 * rng.standard_normal(),
                "cohesion_ratio": 1 + 0.2 * math.log(k),
            }
        )
    return Cell(variant, model, task, "ok", {"points": points}, 5.0, 250.0)


def _similarity_cell(rng, variant, model):
    of_row = np.arange(100) // 20
    raw = 0.2 + 0.3 * (of_row[:, None] == of_row) + 0.05 * rng.standard_normal((100, 100))
    raw = (raw + raw.T) / 2
    zscored = np.maximum((raw - raw.mean()) / raw.std(), 0)
    values = {"raw": raw.round(3).tolist(), "zscored": zscored.round(3).tolist(), "negative": 0.02}
    values |= {"contrast_raw": 1.0, "contrast_zscored": 1.2}
    return Cell(variant, model, "similarity", "ok", values, 1.0, 150.0)


def _spectrum_cell(variant, model):
    eigenvalues = np.sort(1 - 1 / np.arange(1, 101) ** 0.6)
    deltas = np.abs(np.diff(eigenvalues))[2:] / (eigenvalues[2:-1] + 1e-9)
    values = {
        "eigenvalues": eigenvalues.tolist(),
        "deltas": deltas.tolist(),
        "threshold": float(deltas.mean() + deltas.std()),
        "window": 3,
        "k": 17,
    }
    return Cell(variant, model, "spectrum", "ok", values, 0.1, 120.0)


def _settings_cell(variant, model):
    better, worse = ({"k": 9, "ari": value, "nmi": value} for value in (0.4, 0.3))
    three = {"2": better, "5": worse, "10": worse}
    values = {"hdbscan": three, "optics": three, "leiden": {"z-scored": better, "raw": worse}}
    return Cell(variant, model, "settings", "ok", values, 20.0, 300.0)


def _readings_cell(rng, variant, model):
    rows = []
    for name in ("classes", *OVERALL):
        ratio = 3 + rng.random()
        rows.append(
            {
                "of": name,
                "mu_global": 0.05,
                "mu_intra": 0.05 * ratio,
                "ratio": ratio,
                "ratio_unrectified": 1.1 * ratio,
                "ratio_with_singletons": 0.999 * ratio,
                "ratio_without_singletons": ratio,
                "permuted_mean": 1.0,
                "permuted_low": 0.99,
                "permuted_high": 1.01,
                "permuted_p": 0.01,
                "pmi_expected": math.log(ratio),
                "pmi_nearest": 2 * math.log(ratio),
                "silhouette": -0.02,
            }
        )
    return Cell(variant, model, "readings", "ok", {"clusterings": rows}, 30.0, 400.0)


def _times_cell(variant, model):
    metrics = [
        {"n": n, "k": k, "ratio_formula": 1e-8 * n**2, "silhouette_formula": 1e-7 * n**2, "ratio": 1e-6 * n,
         "ratio_linear": 1e-7 * n, "silhouette": 1e-8 * n**2 * math.log(k)}
        for n in (1000, 20_000) for k in (10, n // 20)
    ]  # fmt: skip
    estimates = [
        {"n": n, "estimate": math.log(n)} | ({"all_eigenvalues": 40.0} if n == 10_000 else {})
        for n in (2000, 10_000, 20_000)
    ]
    return Cell(variant, model, "times", "ok", {"metrics": metrics, "estimates": estimates}, 100.0, 5000.0)
