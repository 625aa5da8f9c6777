"""Write the report of a result: collect the data, pack it, write the page."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ..core.cohesion import LOOSE
from ..core.estimate import KEstimate, spectral_estimate
from ..core.rows import CountedRows
from ..core.spectral import Rule
from ..core.validation import is_missing
from ..errors import UsageError, UserError
from ..files import replacing_file
from ..hygiene import plural
from ..parallel import one_blas_thread
from ..tables.write import output_paths_free
from ..texts.comparison import Comparison
from ..texts.corpus import Corpus
from ..texts.history import DIGESTS, ClusterChange
from ..texts.known import KNOWN
from ..texts.result import TextClustering
from ..texts.sentences import estimate_in_words, level_in_words
from ..texts.verdict import overriding_doubt, verdict_at
from ..words.languages import STOP_WORDS
from ..words.tokens import clean_text
from .counts import describe_counts, describe_rows
from .nodes import describe_nodes, describe_parts, node_cohesion, pack_misfits
from .page import pack_array, pack_json, packed_library, palette, render_page, shares_as_u2
from .tree import ReportTree, describe_matrix, describe_profile, describe_shown_texts, report_tree

Truth = ArrayLike | Sequence[Hashable] | None
ReportChanges = Comparison | Iterable[ClusterChange] | None
ReportProgress = Callable[[str, int, int], None]

OF_A_MODEL = "These are the groups of the model that the texts were compared with, and the new ones."
SPECTRA = 8  # random samples behind a spectrum that is only shown; the paper's estimate takes several hundred
MOST_COLORS = 2000  # of a palette; a color may be left from a time when there were more groups
MAX_QUOTE = 160  # characters of the typical text of a new group
APPLIED = "applied"  # the entry of a recipe with the mark of the last edits that were applied; not for readers
NOT_SHOWN = (APPLIED, DIGESTS, KNOWN, "read")  # entries of a recipe that the page does not list


def write_report(
    result: TextClustering,
    path: str | Path | None = None,
    *,
    truth: Truth = None,
    changes: ReportChanges = None,
    model: str | Path | None = None,
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
    model : path, optional
        The folder of the result, whose name is in the page's commands and downloads. By default ``NAME.model`` for a
        page ``NAME.report.html`` or ``NAME.html``.
    overwrite : bool, default=False
        Replace a file that exists already.
    progress : callable, optional
        Called as ``progress(stage, done, total)``; the stages are "mapping" and "reporting".

    See Also
    --------
    apply_state : Take over what a reader changed in the report.

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
    if path is not None:
        path = Path(path)
        output_paths_free([path], overwrite=overwrite)
        if not path.absolute().parent.is_dir():
            raise UsageError(f"The folder {path.absolute().parent} for the report does not exist.")
        model = model or f"{path.name.removesuffix('.html').removesuffix('.report')}.model"
    page = render_page(report_blocks(result, truth=truth, changes=changes, model=model, progress=progress))
    if path is None:
        return page
    with replacing_file(path) as temporary:
        temporary.write_bytes(page.encode())
    return None


def report_blocks(
    result: TextClustering,
    *,
    truth: Truth = None,
    changes: ReportChanges = None,
    model: str | Path | None = None,
    progress: ReportProgress | None = None,
) -> dict[str, str]:
    """Return the packed data blocks of the page, by name."""
    progress = progress or (lambda stage, done, total: None)
    values: list[Hashable] | None = None if truth is None else list(truth)  # type: ignore[arg-type]
    classes = values and ["" if is_missing(value) else value for value in values]
    if classes is not None and len(classes) != len(result.corpus.rows):
        raise UserError(f"truth has {len(classes):,} entries, but there are {len(result.corpus.rows):,} texts.")
    # Eigenvalues and compression release the interpreter, so they run beside the map. More threads of BLAS gain little
    # on a few thousand points, and slow down on a busy machine.
    with one_blas_thread(), ThreadPoolExecutor(1) as background:
        background.submit(packed_library)
        tree = report_tree(result)
        levels = tree.levels
        counted = CountedRows(tree.X, result.corpus.counts * (tree.finest >= 0))
        evidence = None if result.k_estimate is None else background.submit(why_this_k, result.k_estimate, counted)
        progress("mapping", 0, 1)
        texts = np.flatnonzero(result.distinct_codes >= 0)
        result.row_map.find(tree.X, texts, tree.order, progress=partial(progress, "mapping"))
        points = result.row_map.points(tree.order)
        progress("reporting", 0, 1)
        cohesion, ratios = node_cohesion(tree)
        rows, cut_at, text_blocks = describe_shown_texts(tree)
        sections = {
            "nodes": describe_nodes(tree, points, cohesion),
            "tally": describe_counts(tree),
            "details": describe_rows(result.details, rows),
            "parts": describe_parts(tree),
            "matrix": describe_matrix(tree),
        }
        n_colors = max(levels.k, min(MOST_COLORS, 1 + max(cluster.color for cluster in result.clusters)))
        profile = describe_profile(tree, ratios.tolist(), classes)
        keywords = {word.lower() for words in sections["nodes"][0]["keywords"] for word in words}
        meta = {
            "about": _about(tree, cut_at, model),
            "answers": answer_texts(result, profile["curves"], compared=changes is not None),
            "levels": {"k": levels.k, "merges": levels.merges.tolist(), "ranges": tree.ranges.tolist()},
            "base": {
                "k": result.n_clusters,
                "nodes": tree.base,
                "labels": [cluster.label for cluster in result.clusters],
                "next": result.next_label,
                "colors": [cluster.color % n_colors for cluster in result.clusters],
            },
            "corner": (result.row_map.corner / (result.row_map.corner.max() or 1)).tolist(),
            "themes": describe_themes(result, tree.base),
            "similar": [[tree.base[pair.cluster], tree.base[pair.other]] for pair in result.similar_pairs],
            "profile": profile,
            "evidence": evidence and evidence.result(),
            "palette": palette(n_colors),
            "changes": describe_changes(result, changes, tree.base),
            "compared": changes.in_words if isinstance(changes, Comparison) else "",
            # A stop word of any language may be a keyword here, such as the verb "die".
            "stop_words": sorted(frozenset().union(*STOP_WORDS.values()) - keywords),
            **{name: data for name, (data, _) in sections.items()},
        }
    blocks = {"meta": pack_json(meta), "points": pack_array(shares_as_u2(points.T), "u2"), **text_blocks}
    blocks["misfits"] = pack_misfits(tree)
    for _, further in sections.values():
        blocks |= further
    return blocks


def describe_themes(result: TextClustering, base: list[int]) -> list[dict[str, object]]:
    """Return the name of each theme, and the nodes of its groups."""
    node_of = dict(zip((cluster.label for cluster in result.clusters), base, strict=True))
    return [{"name": theme.name, "nodes": [node_of[label] for label in theme.clusters]} for theme in result.themes]


def _about(tree: ReportTree, cut_at: int | None, model: str | Path | None) -> dict[str, object]:
    from .. import __version__

    result, totals, source = tree.result, tree.result.totals, tree.result.source
    return {
        "version": __version__,
        "texts": totals.rows,
        "grouped": totals.grouped,
        "blank": totals.blank,
        "unknown": totals.unknown,
        "distinct": totals.distinct,
        "shown": len(tree.order),
        "cut_at": cut_at,
        "model": " and ".join(filter(None, ["given embeddings" if source.is_given else "", source.model])),
        "algorithm": result.algorithm,
        "read": result.reading,
        "notes": [note for note in result.notes if note != result.language_doubt],
        "loose": LOOSE,
        "recipe": {
            name: value for name, value in result.recipe.items() if name not in (APPLIED, DIGESTS, KNOWN, "read")
        },
        "fingerprint": corpus_fingerprint(result.corpus),
        "grouping": grouping_mark(result),
        "folder": model and Path(model).absolute().name,  # without the path: a page is passed on
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


def answer_texts(result: TextClustering, curves: dict[str, list[float | None]], *, compared: bool) -> dict[str, object]:
    """Say which numbers of groups are plausible, and how good the cuts into 1, 2, ... groups are by their curves.

    If the texts were `compared` with a model, nothing was estimated.
    """
    cuts = enumerate(zip(curves["cohesion"], curves["silhouette"], strict=True), start=1)
    worth = [verdict_at(result, k, *scores, compared=compared).sentence for k, scores in cuts]
    origin = OF_A_MODEL if compared else _origin(result) or estimate_in_words(result.k_estimate, result.n_clusters)
    return {"range": "" if overriding_doubt(result, compared=compared) else origin, "worth": worth}


def _origin(result: TextClustering) -> str:
    """Say where the groups come from if their number was neither estimated nor given."""
    parts = []
    if KNOWN in result.recipe:
        parts.append("Some groups were known by examples; the others were found in the rest of the texts.")
    if result.history:
        added = sum(change.status == "new" for entry in result.history for change in entry.changes)
        updates, new = plural(len(result.history), "update"), plural(added, "new group") if added else "no group"
        parts.append(f"The groups were found in the first texts of the model; {updates} since then added {new}.")
    if result.is_edited:
        parts.append(f"The groups were {'also ' if parts else ''}edited by hand.")
    return " ".join(parts)


def why_this_k(estimate: KEstimate, rows: CountedRows) -> dict[str, object]:
    """Return the estimate, its interval, the suggestions and the curves behind them, ready for JSON.

    The page always shows a spectrum; it is computed here if the estimate was made without one.
    """
    agreement = estimate.agreement
    return {
        "k": estimate.k,
        "method": estimate.method,
        "interval": list(estimate.interval),
        "suggestions": [
            {"name": name, "k": k, "score": round(score, 4), "words": level_in_words(name, score)}
            for name, k, score in estimate.suggestions
        ],
        "agreement": agreement and {
            "k": agreement.k.tolist(),
            "halves": agreement.halves.round(4).tolist(),
            "score": agreement.score.round(4).tolist(),
        },
        "spectrum": _spectrum(estimate, rows),
    }  # fmt: skip


def _spectrum(estimate: KEstimate, rows: CountedRows) -> dict[str, object]:
    spectrum = estimate.spectrum
    if spectrum is None:
        return _spectrum(spectral_estimate(rows, Rule(n_replicates=SPECTRA)), rows)
    values, counts = np.unique(estimate.replicates, return_counts=True)
    return {
        "k": estimate.k,
        "interval": list(estimate.interval),
        "fallback": spectrum.fallback_fraction,
        "sample": len(spectrum.eigenvalues),
        "eigenvalues": spectrum.eigenvalues[: len(spectrum.eigenvalues) // 2].astype(float).round(6).tolist(),
        "deltas": spectrum.deltas.astype(float).round(6).tolist(),
        "threshold": spectrum.threshold,
        "window": spectrum.window,
        "replicates": {"k": values.tolist(), "count": counts.tolist()},
    }


def describe_changes(result: TextClustering, changes: ReportChanges, base: list[int]) -> list[dict[str, object]] | None:
    """Return the changes with the nodes of their groups, and with a text of each new one; the largest come first."""
    if changes is None:
        return None
    changes = changes.cluster_changes if isinstance(changes, Comparison) else changes
    place_of = {cluster.label: place for place, cluster in enumerate(result.clusters)}
    described: list[dict[str, object]] = []
    for change in sorted(changes, key=lambda change: -abs(change.share_after - change.share_before)):
        place = None if change.status == "gone" else place_of.get(change.label)
        texts = [] if place is None or change.status != "new" else result.typical_texts(result.clusters[place])
        # A share may change while the number of texts stays.
        same_count = change.keeps_count and change.status in ("growing", "shrinking")
        described.append({
            "node": None if place is None else base[place],
            "name": change.name,
            "status": change.status,
            "figures": f"{change.figures} (about the same number)" if same_count else change.figures,
            "shares": [round(change.share_before, 5), round(change.share_after, 5)],
            "text": clean_text(texts[0], limit=MAX_QUOTE) if texts else "",
        })  # fmt: skip
    return described
