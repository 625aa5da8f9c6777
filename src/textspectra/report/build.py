"""Write the report of a result: collect the data, pack it, write the page."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

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
from .answers import answer_texts, describe_changes, why_this_k
from .counts import describe_counts, describe_rows, tally_nodes
from .map import project
from .nodes import describe_nodes, describe_parts
from .page import none_if_nan, pack_array, pack_json, packed_library, palette, render_page, shares_as_u2
from .tree import (
    MAX_TEXT_CHARACTERS,
    SILHOUETTE_SAMPLE,
    Z_LIMIT,
    ReportTree,
    agreement_curves,
    cut_texts,
    exported_rows,
    report_tree,
    silhouettes,
    similarity_matrix,
)

Truth = ArrayLike | Sequence[Hashable] | None
ReportChanges = Comparison | Iterable[ClusterChange] | None
ReportProgress = Callable[[str, int, int], None]

APPLIED = "applied"  # the entry of a recipe with the mark of the last edits that were applied; not for readers


def _silent(stage: str, done: int, total: int) -> None:
    """Report no progress."""


def write_report(
    result: TextClustering,
    path: str | Path | None = None,
    *,
    truth: Truth = None,
    changes: ReportChanges = None,
    overwrite: bool = False,
    progress: ReportProgress | None = None,
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
        return report_page(result, truth=truth, changes=changes, progress=progress or _silent)
    path = Path(path)
    output_paths_free([path], overwrite=overwrite)
    if not path.absolute().parent.is_dir():
        raise UsageError(f"The folder {path.absolute().parent} for the report does not exist.")
    page = report_page(result, truth=truth, changes=changes, progress=progress or _silent)
    with replacing_file(path) as temporary:
        temporary.write_bytes(page.encode())
    return None


def report_page(
    result: TextClustering, *, truth: Truth = None, changes: ReportChanges = None, progress: ReportProgress = _silent
) -> str:
    """Return the page that :func:`write_report` writes."""
    return render_page(report_blocks(result, truth=truth, changes=changes, progress=progress))


def report_blocks(
    result: TextClustering, *, truth: Truth = None, changes: ReportChanges = None, progress: ReportProgress = _silent
) -> dict[str, str]:
    """Return the packed data blocks of the page, by name."""
    classes = None if truth is None else _classes(list(truth), len(result.corpus.rows))  # type: ignore[arg-type]
    # Eigenvalues and compression release the interpreter, so they run beside the map.
    with one_blas_thread(), ThreadPoolExecutor(1) as background:
        background.submit(packed_library)
        tree = report_tree(result)
        levels = tree.levels
        counted = CountedRows(tree.X, result.corpus.counts * (tree.finest >= 0))
        evidence = None if result.k_estimate is None else background.submit(why_this_k, result.k_estimate, counted)
        progress("mapping", 0, 1)
        points = project(tree.X, tree.order, progress=partial(progress, "mapping"))
        progress("reporting", 0, 1)
        nodes = describe_nodes(tree)
        rows = exported_rows(tree)
        texts = [*(result.corpus.distinct[i] for i in tree.order), *rows.others]
        texts, cut_at = cut_texts(texts, MAX_TEXT_CHARACTERS)
        tally, tally_blocks = describe_counts(tally_nodes(tree))
        details, detail_blocks = describe_rows(result.details, rows)
        parts, part_blocks = describe_parts(tree)
        matrix = similarity_matrix(tree.X, tree.order)
        curves, profile = _profile(tree, nodes.ratios.tolist(), classes)
        middles = [np.median(points[start:end], axis=0) if end > start else (0, 0) for start, end in tree.ranges]
        keywords = {word.lower() for words in nodes.keywords for word in words}
        meta = {
            "about": _about(tree, cut_at),
            "answers": answer_texts(result, curves["cohesion"], curves["silhouette"], compared=changes is not None),
            "levels": {"k": levels.k, "merges": levels.merges.tolist(), "ranges": tree.ranges.tolist()},
            "base": {
                "k": result.n_clusters,
                "nodes": tree.base,
                "labels": [cluster.label for cluster in result.clusters],
                "next": result.next_label,
            },
            "nodes": {
                "size": nodes.sizes.tolist(),
                "first": nodes.first.tolist(),
                "cohesion": none_if_nan(nodes.cohesion),
                "keywords": nodes.keywords,
                "name": nodes.names,
                "typical": nodes.typical,
                "middle": [[round(float(value), 4) for value in middle] for middle in middles],
            },
            "profile": profile,
            "evidence": evidence and evidence.result(),
            "palette": palette(levels.k),
            "changes": describe_changes(result, changes, tree.base),
            "compared": changes.in_words if isinstance(changes, Comparison) else "",
            "tally": tally,
            "details": details,
            "parts": parts,
            # A stop word of any language may be a keyword here, such as the verb "die".
            "stop_words": sorted(frozenset().union(*STOP_WORDS.values()) - keywords),
            "matrix": {"positions": matrix.positions.tolist(), "low": matrix.low, "high": matrix.high, "z": Z_LIMIT},
        }
    return {
        "meta": pack_json(meta),
        "points": pack_array(shares_as_u2(points.T), "u2"),
        "similarity": pack_array(shares_as_u2(np.concatenate(nodes.similarity)), "u2"),
        "likeness": pack_array(shares_as_u2(nodes.likeness) >> 8, "u1"),
        "counts": pack_array(result.corpus.counts[tree.order], "u4"),
        "rows": pack_array(np.concatenate([rows.numbers, rows.positions]), "u4"),
        "texts": pack_json(texts),
        "raw": pack_array(matrix.raw, "u1"),
        "rectified": pack_array(matrix.rectified, "u1"),
        **tally_blocks,
        **detail_blocks,
        **part_blocks,
    }


def _classes(values: list[Hashable], n_texts: int) -> list[Hashable]:
    """Return the class of each text; texts without one form a class of their own."""
    if len(values) != n_texts:
        raise UserError(f"truth has {len(values):,} entries, but there are {n_texts:,} texts.")
    return ["" if is_missing(value) else value for value in values]


def _about(tree: ReportTree, cut_at: int | None) -> dict[str, object]:
    from .. import __version__

    result, totals = tree.result, tree.result.totals
    return {
        "version": __version__,
        "texts": totals.rows,
        "grouped": totals.grouped,
        "blank": totals.blank,
        "unknown": totals.unknown,
        "distinct": totals.distinct,
        "shown": len(tree.order),
        "cut_at": cut_at,
        "model": result.source.model or "given embeddings",
        "algorithm": result.algorithm,
        "read": result.reading,
        "notes": [note for note in result.notes if note != result.language_doubt],
        "loose": LOOSE,
        "recipe": {name: value for name, value in result.recipe.items() if name not in (APPLIED, DIGESTS, "read")},
        "fingerprint": corpus_fingerprint(result.corpus),
        "grouping": grouping_mark(result),
    }


def corpus_fingerprint(corpus: Corpus) -> str:
    """Return a digest of the texts, which identifies a model."""
    digest = hashlib.sha256()
    for row in corpus.rows:
        # A model folder stores half a surrogate pair as its escape, so the digest must do the same.
        digest.update(row.encode("utf-8", "backslashreplace") + b"\0")
    return digest.hexdigest()[:16]


def grouping_mark(result: TextClustering) -> str:
    """Return a digest of the groups and their labels, which identifies a state of a model."""
    digest = hashlib.sha256(np.ascontiguousarray(result.distinct_codes, "<i8").tobytes())
    digest.update(repr([cluster.label for cluster in result.clusters] + [result.next_label]).encode())
    return digest.hexdigest()[:16]


def _profile(
    tree: ReportTree, ratios: list[float], classes: list[Hashable] | None
) -> tuple[dict[str, list[float | None]], dict[str, object]]:
    """Return the scores at each number of clusters, by the name of the score, and all data of their chart."""
    levels, finest, n_classes = tree.levels, tree.finest, None
    curves = {"cohesion": ratios, "silhouette": silhouettes(tree.X, finest, levels.spans, levels.cuts)}
    if classes is not None:
        of_row = tree.result.corpus.spread(finest, -1)
        grouped = np.flatnonzero(of_row >= 0)
        codes, names = check_labels([classes[row] for row in grouped], grouped)
        curves |= agreement_curves(levels, of_row[grouped], codes)
        n_classes = len(names)
    plain = {name: none_if_nan(values) for name, values in curves.items()}
    n_rows = min(SILHOUETTE_SAMPLE, int((finest >= 0).sum()))
    return plain, {"curves": plain, "classes": n_classes, "silhouette_rows": n_rows}
