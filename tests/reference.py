"""The paper, word by word: slow, in float64, and written without a look at the package."""

import math

import numpy as np

EPSILON = 1e-6


def similarities(X):
    X = np.asarray(X, np.float64)
    n = len(X)
    S = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            S[i, j] = X[i] @ X[j] / (math.sqrt(X[i] @ X[i]) * math.sqrt(X[j] @ X[j]))
    return S


def compute_eigenvalues(X, zscore=False):
    S = similarities(X)
    n = len(X)
    if zscore and S.std() > 1e-7:
        S = (S - S.mean()) / S.std()
    S = np.maximum(S, 0)
    d = S.sum(axis=1)
    L = np.eye(n) - np.diag(d**-0.5) @ S @ np.diag(d**-0.5)
    return np.sort(np.linalg.eigvalsh(L))


def normalized_differences(eigenvalues, w):
    """{i: delta_i} for i = w+1 .. floor(n/2), counting from 1."""
    lam = [None, *[float(value) for value in eigenvalues]]
    n = len(eigenvalues)
    return {i: abs(lam[i] - lam[i - 1]) / (sum(lam[i - w : i]) / w + EPSILON) for i in range(w + 1, n // 2 + 1)}


def threshold_of(deltas):
    values = list(deltas.values())
    mean = sum(values) / len(values)
    std = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    return mean * (1 + std / (mean + EPSILON))


def k_of_spectrum(eigenvalues, w, default):
    deltas = normalized_differences(eigenvalues, w)
    if not deltas:
        return default
    threshold = threshold_of(deltas)
    for i in sorted(deltas, reverse=True):
        if deltas[i] > threshold:
            return i - 1
    return default


def is_close_call(eigenvalues, w, tolerance=1e-4):
    """Whether rounding could change the answer."""
    deltas = normalized_differences(eigenvalues, w)
    if not deltas:
        return False
    values = np.array(list(deltas.values()))
    threshold = threshold_of(deltas)
    return values.max() < tolerance or bool((np.abs(values - threshold) < tolerance * (1 + threshold)).any())


def distinct_rows(X):
    unit = np.asarray(X, float) / np.linalg.norm(X, axis=1, keepdims=True)
    return len(np.unique(unit.round(6), axis=0))


def cohesion(X, labels, rectify=True):
    X = np.asarray(X, np.float64)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    n = len(X)
    every, inside = [], []
    for i in range(n):
        for j in range(i + 1, n):
            value = float(X[i] @ X[j])
            value = max(value, 0.0) if rectify else value
            every.append(value)
            if labels[i] == labels[j]:
                inside.append(value)
    mu_global = sum(every) / len(every)
    singletons = sum(1 for label in set(labels) if list(labels).count(label) == 1)
    mu_intra = (sum(inside) + singletons * mu_global) / (len(inside) + singletons)
    return mu_global, mu_intra, mu_intra / mu_global


def nearest_other(result):
    """Return, by distinct text, how much higher its cosine with the nearest other center is than with its own.

    The name of that group comes with it; mixed groups are left out. One text and one center after another.
    """
    found = {}
    X = result.embedded().X.astype(float)
    for i, text in enumerate(result.corpus.distinct):
        own, others = None, []
        for code, center in enumerate(result.centers.astype(float)):
            cosine = float(X[i] @ center) / float(np.sqrt(X[i] @ X[i]) * np.sqrt(center @ center))
            if code == result.distinct_codes[i]:
                own = cosine
            elif not result.clusters[code].is_mixed:
                others.append((cosine, result.clusters[code].name))
        if own is not None and others:
            found[text] = max(others)[0] - own, max(others)[1]
    return found
