"""Write the report of a result: collect the data, pack it, write the page."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.rows import CountedRows
from ..core.validation import check_labels, is_missing
from ..errors import UsageError, UserError
from ..files import replacing_file
from ..parallel import one_blas_thread
from ..tables.write import output_paths_free
from ..texts.comparison import Comparison
from ..texts.corpus import Corpus
from ..texts.history import DIGESTS, ClusterChange
from ..texts.result import TextClustering
from ..texts.sentences import LOOSE
from ..words.languages import STOP_WORDS
from .answers import answers_at, describe_changes, why_this_k
from .counts import describe_rows, describe_tally, tally_nodes
from .map import project
from .nodes import FinestClusters, Nodes, describe_nodes, describe_parts
from .page import none_if_nan, pack_array, pack_json, packed_library, palette, render_page, shares_as_u2
from .profile import SILHOUETTE_ROWS, Z_LIMIT, agreement, silhouettes, similarity_matrix
from .tree import MAX_CHARACTERS, Levels, Rows, Shown, choose_shown, cut_texts, exported_rows, report_levels

Progress = Callable[[str, int, int], None]

APPLIED = "applied"
"""The entry of a result's recipe that tells which edits of its page were applied last; no reader needs it."""


def write_report(
    result: TextClustering,
    path: str | Path | None = None,
    *,
    truth: ArrayLike | Sequence[Hashable] | None = None,
    changes: Comparison | Iterable[ClusterChange] | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> str | None:
    """Write a page to explore a clustering in a browser: one HTML file that needs no network.

    The page has a map of the texts, the groups at every number of clusters, and the evidence for the number that
    was chosen. It needs the embeddings, which come from memory, the cache or the model.

    Parameters
    ----------
    result : TextClustering
        From :func:`cluster_texts` or :meth:`TextClustering.load`.
    path : path, optional
        The HTML file; without it, the page is returned.
    truth : sequence of hashable, optional
        The ground truth: one class per text. The page then shows how well each number of clusters agrees with it.
    changes : Comparison or iterable of ClusterChange, optional
        How the groups changed since last time. The page begins with it.
    overwrite : bool, default=False
        Replace a file that exists already.
    progress : callable, optional
        Called as ``progress(stage, done, total)``; the stages are "mapping" and "reporting".

    Examples
    --------
    >>> import tempfile, textspectra as ts
    >>> result = ts.cluster_texts(["a b", "x y"], embeddings=[[1, 0], [0, 1]], n_clusters=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "report.html")
    ...     ts.write_report(result, path)
    ...     path.read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    if path is None:
        return report_page(result, truth=truth, changes=changes, progress=progress)
    path = Path(path)
    output_paths_free([path], overwrite=overwrite)
    if not path.absolute().parent.is_dir():
        raise UsageError(f"There is no folder {path.absolute().parent} to write the report to.")
    page = report_page(result, truth=truth, changes=changes, progress=progress)
    with replacing_file(path) as temporary:
        temporary.write_bytes(page.encode())
    return None


def report_page(
    result: TextClustering,
    *,
    truth: ArrayLike | Sequence[Hashable] | None = None,
    changes: Comparison | Iterable[ClusterChange] | None = None,
    progress: Progress | None = None,
) -> str:
    """Return the page that :func:`write_report` writes."""
    return render_page(report_blocks(result, truth=truth, changes=changes, progress=progress))


def report_blocks(
    result: TextClustering,
    *,
    truth: ArrayLike | Sequence[Hashable] | None = None,
    changes: Comparison | Iterable[ClusterChange] | None = None,
    progress: Progress | None = None,
) -> dict[str, str]:
    """Return the packed data blocks of the page, by name."""
    classes = _classes(truth, len(result.corpus.rows))
    with one_blas_thread(), ThreadPoolExecutor(1) as aside:
        aside.submit(packed_library)
        return _blocks(result, classes, changes, progress or (lambda stage, done, total: None), aside)


def _blocks(
    result: TextClustering,
    classes: list[Any] | None,
    changes: Comparison | Iterable[ClusterChange] | None,
    report_progress: Progress,
    aside: Executor,
) -> dict[str, str]:
    """Return the blocks; eigenvalues and compression, which need no Python, run aside meanwhile."""
    X = result.embedded().X
    levels, finest = report_levels(result)
    shown = choose_shown(result, levels, finest)
    counted = CountedRows(X, result.corpus.counts * (finest >= 0))
    evidence = None if result.k_estimate is None else aside.submit(why_this_k, result.k_estimate, counted)
    report_progress("mapping", 0, 1)
    points = project(X, shown.order, progress=lambda done, total: report_progress("mapping", done, total))
    report_progress("reporting", 0, 1)
    nodes = describe_nodes(result, X, levels, finest, shown)
    rows = exported_rows(result.corpus, shown, finest >= 0)
    texts, cut_at = _texts(result.corpus, shown, rows)
    tally, tally_blocks = describe_tally(result, tally_nodes(result, levels, finest, nodes.base))
    details, detail_blocks = describe_rows(result.details, rows)
    parts, part_blocks = describe_parts(result, FinestClusters(X, levels, finest, shown))
    matrix = similarity_matrix(X, shown)
    profile = _profile(result, X, levels, finest, nodes, classes)
    meta = {
        "about": _about(result, shown, cut_at),
        "answers": answers_at(result, profile["curves"], given=changes is not None),
        "levels": {"k": levels.k, "merges": levels.merges.tolist(), "ranges": shown.ranges.tolist()},
        "base": {
            "k": result.n_clusters,
            "nodes": nodes.base,
            "labels": [cluster.label for cluster in result.clusters],
            "next": result.next_label,
        },
        "nodes": _node_table(nodes, points, shown),
        "profile": profile,
        "evidence": evidence and evidence.result(),
        "palette": palette(levels.k),
        "changes": describe_changes(result, changes, nodes.base),
        "compared": changes.in_words if isinstance(changes, Comparison) else "",
        "tally": tally,
        "details": details,
        "parts": parts,
        "stop_words": _stop_words(nodes.keywords),
        "matrix": {"positions": matrix.positions.tolist(), "low": matrix.low, "high": matrix.high, "z": Z_LIMIT},
    }
    return {
        "meta": pack_json(meta),
        "points": pack_array(shares_as_u2(points.T), "u2"),
        "similarity": pack_array(shares_as_u2(np.concatenate(nodes.similarity)), "u2"),
        "likeness": pack_array(shares_as_u2(nodes.likeness) >> 8, "u1"),
        "counts": pack_array(result.corpus.counts[shown.order], "u4"),
        "rows": pack_array(np.concatenate([rows.numbers, rows.positions]), "u4"),
        "texts": pack_json(texts),
        "raw": pack_array(matrix.raw, "u1"),
        "rectified": pack_array(matrix.rectified, "u1"),
        **tally_blocks,
        **detail_blocks,
        **part_blocks,
    }


def fingerprint(corpus: Corpus) -> str:
    """Return a digest of the texts, which tells one model from another."""
    digest = hashlib.sha256()
    for row in corpus.rows:
        # A model folder stores half a surrogate pair as its escape, so the digest must do the same.
        digest.update(row.encode("utf-8", "backslashreplace") + b"\0")
    return digest.hexdigest()[:16]


def _classes(truth: ArrayLike | Sequence[Hashable] | None, n_texts: int) -> list[Any] | None:
    """Return the ground truth of each text; texts without a class form a class of their own."""
    if truth is None:
        return None
    values: list[Any] = list(truth)  # type: ignore[arg-type]
    if len(values) != n_texts:
        raise UserError(f"truth has {len(values):,} entries, but there are {n_texts:,} texts.")
    return ["" if is_missing(value) else value for value in values]


def grouping_mark(result: TextClustering) -> str:
    """Return a digest of the groups and their labels, which tells one state of a model from another."""
    digest = hashlib.sha256(np.ascontiguousarray(result.distinct_codes, "<i8").tobytes())
    digest.update(repr([cluster.label for cluster in result.clusters] + [result.next_label]).encode())
    return digest.hexdigest()[:16]


def _about(result: TextClustering, shown: Shown, cut_at: int | None) -> dict[str, Any]:
    from .. import __version__

    totals = result.totals
    return {
        "version": __version__,
        "texts": totals.rows,
        "grouped": totals.grouped,
        "blank": totals.blank,
        "unknown": totals.unknown,
        "distinct": totals.distinct,
        "shown": len(shown.order),
        "cut_at": cut_at,
        "model": result.source.model or "given embeddings",
        "algorithm": result.algorithm,
        "read": result.reading,
        "notes": [note for note in result.notes if note != result.language_doubt],
        "loose": LOOSE,
        "recipe": {name: value for name, value in result.recipe.items() if name not in (APPLIED, DIGESTS, "read")},
        "fingerprint": fingerprint(result.corpus),
        "grouping": grouping_mark(result),
    }


def _stop_words(keywords: list[list[str]]) -> list[str]:
    """Return the stop words of all languages but those that are a keyword here, such as the verb "die"."""
    used = {word.lower() for some in keywords for word in some}
    return sorted(frozenset().union(*STOP_WORDS.values()) - used)


def _texts(corpus: Corpus, shown: Shown, rows: Rows) -> tuple[list[str], int | None]:
    return cut_texts([*(corpus.distinct[i] for i in shown.order), *rows.others], MAX_CHARACTERS)


def _node_table(nodes: Nodes, points: NDArray[np.float32], shown: Shown) -> dict[str, Any]:
    middles = [np.median(points[start:end], axis=0) if end > start else (0, 0) for start, end in shown.ranges]
    return {
        "size": nodes.sizes.tolist(),
        "first": nodes.first.tolist(),
        "cohesion": none_if_nan(nodes.cohesion),
        "keywords": nodes.keywords,
        "name": nodes.names,
        "typical": nodes.typical,
        "middle": [[round(float(value), 4) for value in middle] for middle in middles],
    }


def _profile(
    result: TextClustering, X: NDArray[Any], levels: Levels, finest: NDArray[np.intp], nodes: Nodes,
    truth: list[Any] | None,
) -> dict[str, Any]:  # fmt: skip
    curves = {"cohesion": none_if_nan(nodes.ratios), "silhouette": none_if_nan(silhouettes(X, levels, finest))}
    n_classes = None
    if truth is not None:
        of_row = result.corpus.spread(finest, -1)
        usable = np.flatnonzero(of_row >= 0)
        codes, names = check_labels([truth[row] for row in usable], usable)
        found = agreement(levels, of_row[usable], codes)
        curves |= {name: none_if_nan(values) for name, values in found.items()}
        n_classes = len(names)
    rows = min(SILHOUETTE_ROWS, int((finest >= 0).sum()))
    return {"curves": curves, "classes": n_classes, "silhouette_rows": rows}
