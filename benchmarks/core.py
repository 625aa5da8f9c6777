"""Speed and memory of the numerical core, as ratios against rivals in the same run.

``make bench`` runs it and rewrites ``core.md``. Each measurement has a process of its own. The data are
988,908 titles (``stackexchange121`` in TEXTSPECTRA_DATA), embedded once by wordllama and kept in ``.cache``.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from harness import ROOT, TITLES, Row, main, process_seconds, seconds
from threadpoolctl import threadpool_limits

VECTORS = ROOT / ".cache" / "stackexchange121.npy"
LABELS = ROOT / ".cache" / "stackexchange121_labels.npy"


def embed_once() -> None:
    if VECTORS.exists() and LABELS.exists():
        return
    import pyarrow.parquet as pq
    import wordllama

    print("embedding 988,908 titles, once, about two minutes", flush=True)
    table = pq.read_table(TITLES)
    order = np.random.default_rng(0).permutation(len(table))
    texts, labels = table["text"].take(order).to_pylist(), table["label"].take(order).to_pylist()
    VECTORS.parent.mkdir(exist_ok=True)
    folder = Path(wordllama.__file__).parent
    model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    partial = VECTORS.with_suffix(".partial.npy")
    vectors = np.lib.format.open_memmap(partial, "w+", np.float32, (len(texts), 256))
    for start in range(0, len(texts), 8192):
        vectors[start : start + 8192] = model.embed(texts[start : start + 8192], norm=False)
    np.save(LABELS, np.unique(labels, return_inverse=True)[1])
    partial.rename(VECTORS)


def load(n: int | None = None) -> Any:
    return np.array(np.load(VECTORS, mmap_mode="r")[:n])


def memory_beyond(call: Callable[[], Any]) -> float:
    """Return the peak of resident memory during a call, in MB above what was there before."""
    status = Path("/proc/self/status")

    def field(name: str) -> int:
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith(name))

    before = field("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark
    call()
    return (field("VmHWM") - before) / 1024


def literal_estimate(X: Any, seed: int) -> int:
    """Algorithm 1 of the paper, word by word, on the same samples that estimate_k draws."""
    rng = np.random.default_rng(seed)
    estimates = []
    for _ in range(round(10 * np.log2(len(X)))):
        sample = X[rng.choice(len(X), 1000, replace=False, shuffle=False)].astype(np.float64)
        sample /= np.linalg.norm(sample, axis=1, keepdims=True)
        graph = np.maximum(sample @ sample.T, 0)
        root = np.sqrt(graph.sum(axis=1))
        values = np.linalg.eigvalsh(np.eye(1000) - graph / root[:, None] / root)
        deltas = {i: abs(values[i] - values[i - 1]) / (values[i - 3 : i].mean() + 1e-6) for i in range(3, 500)}
        mean, std = np.mean(list(deltas.values())), np.std(list(deltas.values()))
        above = [i for i in deltas if deltas[i] > mean * (1 + std / (mean + 1e-6))]
        estimates.append(max(above) if above else 5)
    return max(1, round(float(np.mean(estimates))))


def bench_estimate_literal() -> list[Row]:
    import textspectra as ts

    X = load(100_000)
    ts.estimate_k(X[:2000], method="spectral", random_state=0)
    ours, estimate = seconds(lambda: ts.estimate_k(X, method="spectral", random_state=0))
    theirs, k = seconds(lambda: literal_estimate(X, 0))
    return [
        ("`method=\"spectral\"` against the paper's algorithm word by word, n = 100,000: same k, faster by", "≥ 1.8×",
         f"{theirs / ours:.2f}×", f"k = {estimate.k} and {k}; {ours:.1f} s against {theirs:.1f} s"),
    ]  # fmt: skip


def bench_estimate_scale() -> list[Row]:
    import textspectra as ts

    X = load()
    ts.estimate_k(X[:2000], random_state=0)
    spectral, _ = seconds(lambda: ts.estimate_k(X, method="spectral", random_state=0))
    small, _ = seconds(lambda: ts.estimate_k(X[:10_000], random_state=0))
    large, _ = seconds(lambda: ts.estimate_k(X, random_state=0))
    megabytes = memory_beyond(lambda: ts.estimate_k(X, random_state=0))
    return [
        ("`estimate_k` at n = 988,908 against n = 10,000, time", "≤ 1.7×", f"{large / small:.2f}×",
         f"{large:.1f} s against {small:.1f} s"),
        ("the same against `method=\"spectral\"`, n = 988,908", "≤ 0.7×", f"{large / spectral:.2f}×",
         f"{large:.1f} s against {spectral:.1f} s"),
        ("memory of `estimate_k` beyond the input, n = 988,908", "≤ 200 MB", f"{megabytes:.0f} MB", ""),
    ]  # fmt: skip


def bench_cohesion() -> list[Row]:
    from sklearn.metrics import silhouette_score

    import textspectra as ts
    from textspectra.core import cohesion

    X = load()
    labels = ts.AutoKMeans(30, random_state=0).fit(X).labels_
    total, _ = seconds(lambda: X.sum(axis=0), 7)
    linear, _ = seconds(lambda: ts.cohesion_ratio(X, labels, rectify=False), 7)
    some, few = X[:20_000], labels[:20_000]
    rectified, value = seconds(lambda: ts.cohesion_ratio(some, few, random_state=0), 3)
    silhouette, _ = seconds(lambda: silhouette_score(some, few))
    cohesion.ALL_PAIRS_ROWS = len(some)
    exact = ts.cohesion_ratio(some, few)
    return [
        ("`cohesion_ratio(rectify=False)` at n = 988,908 against one `X.sum(axis=0)`, time", "≤ 4×",
         f"{linear / total:.2f}×", f"{linear:.2f} s against {total:.2f} s"),
        ("`cohesion_ratio` (rectified) against `silhouette_score`, n = 20,000: faster by", "≥ 20×",
         f"{silhouette / rectified:.0f}×", f"{rectified:.2f} s against {silhouette:.1f} s"),
        ("the same: distance from the exact value", "≤ 0.5%", f"{abs(value / exact - 1):.2%}",
         f"{value:.4f}, exact {exact:.4f}"),
    ]  # fmt: skip


def bench_kmeans() -> list[Row]:
    from sklearn.cluster import KMeans

    import textspectra as ts

    X = load()
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    ours, mine = seconds(lambda: ts.AutoKMeans(30, refine=False, random_state=0).fit(X))
    theirs, other = seconds(lambda: KMeans(30, n_init=1, random_state=0).fit(X))
    return [
        ("`AutoKMeans(refine=False)` against scikit-learn's `KMeans(n_init=1)`, k = 30, n = 988,908: faster by", "≥ 4×",
         f"{theirs / ours:.1f}×", f"{ours:.1f} s (Cohesion Ratio included) against {theirs:.1f} s"),
        ("the same: inertia against theirs", "≤ 1.01×", f"{mine.inertia_ / other.inertia_:.4f}×", ""),
    ]  # fmt: skip


def outcome(labels: Any, truth: Any) -> str:
    from sklearn.metrics import adjusted_rand_score

    clusters = len(set(labels.tolist()) - {-1})
    return f"{clusters} clusters, {np.mean(labels == -1):.0%} noise, ARI {adjusted_rand_score(truth, labels):.3f}"


def bench_rivals() -> list[Row]:
    import fast_hdbscan
    from evoc import EVoC

    import textspectra as ts

    X, truth = load(100_000), np.load(LABELS)[:100_000]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    rows: list[Row] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        EVoC().fit_predict(X[:5000])  # compiles, outside the measured time
        fast_hdbscan.HDBSCAN().fit_predict(X[:5000])
        ts.AutoKMeans().fit(X[:1000])
        for n, bar in ((1_000, "–"), (3_000, "≤ 4×"), (10_000, "≤ 1.5×"), (30_000, "≤ 0.6×"), (100_000, "≤ 0.2×")):
            repeat = 5 if n < 30_000 else 1
            evoc_time, evoc = seconds(lambda n=n: EVoC(random_state=0).fit_predict(X[:n]), repeat)
            ours, mine = seconds(lambda n=n: ts.AutoKMeans(random_state=0).fit(X[:n]), repeat)
            rows.append((
                f"`AutoKMeans`, estimate and clusters together, against EVoC, n = {n:,}, in a warm process: time", bar,
                f"{ours / evoc_time:.2f}×",
                f"{ours:.2f} s: {outcome(mine.labels_, truth[:n])}; EVoC {evoc_time:.2f} s: {outcome(evoc, truth[:n])}",
            ))  # fmt: skip
        hdbscan_time, hdbscan = seconds(lambda: fast_hdbscan.HDBSCAN().fit_predict(X))
    rows.append((
        "the same at n = 100,000 against `fast_hdbscan`: time", "–", f"{ours / hdbscan_time:.2f}×",
        f"{hdbscan_time:.1f} s: {outcome(hdbscan, truth)}",
    ))  # fmt: skip
    return rows


def bench_faiss() -> list[Row]:
    import faiss

    import textspectra as ts

    X, truth, k = load(100_000), np.load(LABELS)[:100_000], 32
    X /= np.linalg.norm(X, axis=1, keepdims=True)

    def run_faiss() -> Any:
        model = faiss.Kmeans(256, k, seed=0)
        model.train(X)
        distances, labels = model.index.search(X, 1)
        return distances.sum(), labels[:, 0]

    def run_ours(refine: bool, n_jobs: int | None = None) -> Any:
        return ts.AutoKMeans(k, refine=refine, random_state=0, n_jobs=n_jobs).fit(X)

    faiss_time, (faiss_inertia, faiss_labels) = seconds(run_faiss, repeat=9)
    timed = {refine: seconds(partial(run_ours, refine), repeat=9) for refine in (False, True)}
    with threadpool_limits(1):
        one_core = least_cpu(run_faiss)
        ratio = {refine: least_cpu(partial(run_ours, refine, n_jobs=1)) / one_core for refine in (False, True)}
    (plain_time, plain), (refined_time, refined) = timed[False], timed[True]
    return [
        (f"`AutoKMeans({k}, refine=False)` against `faiss.Kmeans({k})`, its defaults, n = 100,000: time", "≤ 6×",
         f"{plain_time / faiss_time:.1f}×",
         f"{plain_time:.2f} s against {faiss_time:.2f} s; "
         f"{outcome(plain.labels_, truth)}; faiss {outcome(faiss_labels, truth)}"),
        ("the same: CPU time on one core", "–", f"{ratio[False]:.1f}×", ""),
        ("the same: inertia against theirs", "≤ 1×", f"{plain.inertia_ / faiss_inertia:.4f}×", ""),
        (f"`AutoKMeans({k})`, refined, against the same: time", "≤ 6×", f"{refined_time / faiss_time:.1f}×",
         f"{refined_time:.2f} s; {outcome(refined.labels_, truth)}"),
        ("the same: CPU time on one core", "–", f"{ratio[True]:.1f}×", ""),
        ("the same: inertia against theirs", "≤ 1×", f"{refined.inertia_ / faiss_inertia:.4f}×", ""),
    ]  # fmt: skip


def least_cpu(call: Callable[[], Any], repeat: int = 5) -> float:
    """Return the lowest CPU time of some calls; unlike the time, it hardly depends on other work of the machine."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def bench_agglomerative() -> list[Row]:
    import textspectra as ts

    X = load()
    model = ts.AutoAgglomerative(30, random_state=0)
    start = time.perf_counter()
    megabytes = memory_beyond(lambda: model.fit(X))
    elapsed = time.perf_counter() - start
    cut, _ = seconds(lambda: model.cut(121))
    return [
        ("`AutoAgglomerative` at n = 988,908: memory beyond the input", "≤ 4 GB", f"{megabytes / 1024:.2f} GB",
         f"finished in {elapsed:.0f} s; another `cut` {cut:.2f} s"),
    ]  # fmt: skip


def bench_import() -> list[Row]:
    def fresh(statement: str) -> float:
        return process_seconds(sys.executable, "-c", statement)

    bare, theirs = fresh("pass"), fresh("import sklearn.cluster")
    ours, used = fresh("import textspectra"), fresh("import textspectra; textspectra.AutoKMeans")
    return [
        ("`import textspectra` against `import sklearn.cluster`, time of the process", "≤ 1.3×",
         f"{ours / theirs:.2f}×",
         f"{ours:.2f} s against {theirs:.2f} s, bare Python {bare:.2f} s; {used / theirs:.2f}× with `AutoKMeans`"),
    ]  # fmt: skip


PARTS = {name.removeprefix("bench_"): part for name, part in list(globals().items()) if name.startswith("bench_")}

if __name__ == "__main__":
    if len(sys.argv) == 1 and TITLES.exists():
        embed_once()
    main(__file__, "core.md", "The numerical core", PARTS)
