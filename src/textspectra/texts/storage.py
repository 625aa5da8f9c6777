"""A clustering as a folder: arrays in safetensors, texts in Parquet, the rest in JSON, all with checksums."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from ..core.agreement import Agreement
from ..core.cohesion import ClusterCohesion, CohesionReport
from ..core.estimate import NAMES, KEstimate, Suggestion
from ..core.kmeans import LinearRule
from ..core.spectral import Spectrum
from ..core.ward import MergeTree
from ..errors import UsageError, UserError
from ..files import read_folder, replacing_folder
from ..tables.columns import holds_text
from ..tables.parquet import check_table, read_parquet
from ..tables.source import MAX_SUMMARY, check_bytes
from ..words.describe import Cluster
from .checking import check_name_length, is_sound
from .clustered import ClusteredTexts, Hierarchy, Theme
from .corpus import Corpus, EmbeddingSource, Totals
from .details import Details, Segment
from .history import update_from
from .novelty import Reference, draw_reference
from .tally import Crosstab, Tally

TIME, BY, SHOW = "time", "by:", "show:"
"""Names of the columns beside the texts; those of segments and shown columns are prefixes."""


def add_details(texts: pa.Table, details: Details | None) -> pa.Table:
    """Append the details as columns to the table of texts."""
    if details is None:
        return texts
    if details.days is not None:
        texts = texts.append_column(TIME, pa.array(details.days))
    for name, segment in details.segments.items():
        texts = texts.append_column(BY + name, pa.DictionaryArray.from_arrays(segment.codes, segment.values))
    for name, values in details.shown.items():
        texts = texts.append_column(SHOW + name, pa.array(values, pa.large_string()))
    return texts


def details_from(texts: pa.Table, stored: Mapping[str, Any] | None) -> Details | None:
    """Read what :func:`add_details` appended."""
    if stored is None:
        return None
    names = texts.column_names
    segments = {}
    for name in names:
        if name.startswith(BY):
            column = texts[name].combine_chunks()
            segments[name.removeprefix(BY)] = Segment(column.indices.to_numpy(), column.dictionary.to_pylist())
    shown = {name.removeprefix(SHOW): texts[name].to_pylist() for name in names if name.startswith(SHOW)}
    days = texts[TIME].cast(pa.int32()) if TIME in names else None
    if days is not None:
        numbers = pc.fill_null(days, 0).to_numpy().astype("datetime64[D]")
        numbers[np.asarray(days.is_null())] = np.datetime64("NaT")
        days = numbers
    return Details(stored["time"], days, segments, shown)


def tally_arrays(tally: Tally) -> dict[str, NDArray[Any]]:
    """Return the arrays of the counts."""
    crosstabs = {f"tally.by.{number}": one.counts for number, one in enumerate(tally.segments.values())}
    return {"tally.periods": tally.periods.astype(np.int64), "tally.by_period": tally.by_period, **crosstabs}


def describe_tally(tally: Tally) -> dict[str, Any]:
    """Return all else that belongs to the counts."""
    values = [[name, one.values] for name, one in tally.segments.items()]
    return {"time": tally.time, "every": tally.every, "by": values}


def tally_from(arrays: Mapping[str, NDArray[Any]], stored: Mapping[str, Any] | None) -> Tally | None:
    """Put the counts together again."""
    if stored is None:
        return None
    crosstabs = {
        name: Crosstab(values, arrays[f"tally.by.{number}"]) for number, (name, values) in enumerate(stored["by"])
    }
    periods = arrays["tally.periods"].astype("datetime64[D]")
    return Tally(stored["time"], stored["every"], periods, arrays["tally.by_period"], crosstabs)


FORMAT_VERSION, OLDEST_FORMAT = 5, 3
"""The format that is written, and the oldest that is read."""

EVIDENCE = {"agreement": ("k", "halves", "score"), "spectrum": ("eigenvalues", "deltas")}
"""The arrays in what an estimate of k rests on; the rest of it is plain numbers."""

DAMAGE = (
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    OverflowError,
    OSError,
    SafetensorError,
    pa.ArrowException,
)
"""What reading raises if a part is not what it should be; Arrow has an OSError for damaged Parquet."""

SUMMARY, ARRAYS, TEXTS = "clustering.json", "arrays.safetensors", "texts.parquet"

TOO_LARGE = "A model is never that large: fetch it again, or cluster the texts again."
NOT_SAVED = "A model cannot be that large. Cluster the texts as several files: their model keeps a sample of them."


def save_clustering(result: ClusteredTexts, folder: Path, *, overwrite: bool) -> None:
    """Write `result` to a folder, which is complete or not there."""
    model_folder_free(folder, overwrite=overwrite)
    with replacing_folder(folder) as temporary:
        write_clustering(result, temporary)


def write_clustering(result: ClusteredTexts, folder: Path) -> None:
    """Write `result` to an empty folder."""
    try:
        save_file(_arrays(result), folder / ARRAYS)
    except SafetensorError as error:
        raise OSError(0, str(error)) from error
    texts = add_details(texts_table(result.corpus), result.details)
    check_table(texts, "The table of texts", NOT_SAVED)
    pq.write_table(texts, folder / TEXTS, compression="zstd")
    summary = _summary(result)
    summary["sha256"] = {name: _digest(folder / name) for name in (ARRAYS, TEXTS)}
    summary["sha256"][SUMMARY] = _digest_of_summary(summary)
    (folder / SUMMARY).write_text(json.dumps(summary, ensure_ascii=False, indent=1), encoding="utf-8")
    _check_sizes(folder, NOT_SAVED)


def model_folder_free(folder: Path, *, overwrite: bool) -> None:
    """Raise if a model cannot be written to `folder` because something is there already."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"'{folder}' is a file; a model needs a folder of its own.")
    if folder.exists() and not overwrite:
        raise UsageError(f"'{folder}' exists already; overwrite it (--overwrite) or choose another place.")
    if folder.exists() and any(folder.iterdir()) and not (folder / SUMMARY).is_file():
        raise UsageError(f"'{folder}' holds something else than a model; it is not overwritten.")


def load_fields(folder: Path) -> dict[str, Any]:
    """Read the fields of a :class:`TextClustering` from a folder, after checking every file in it.

    Nothing is written. If the folder is being replaced, the fields are all from the old one or all from the new one.
    """
    try:
        return read_folder(folder, lambda: _read_fields(folder))
    except PermissionError:
        raise UserError(f"{folder} cannot be read: no permission. Ask its owner, or change it with chmod.") from None


def _read_fields(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise UserError(f"There is no model folder at {folder}.")
    summary = _checked_summary(folder)
    texts = read_parquet(folder / TEXTS, name=str(folder / TEXTS), advice=TOO_LARGE)
    try:
        fields = _fields(summary, load_file(folder / ARRAYS), texts)
        sound = is_sound(fields)
    except DAMAGE:
        sound = False
    if not sound:
        raise UserError(f"{folder / SUMMARY} is damaged: it is not what textspectra wrote.")
    for cluster in fields["clusters"]:
        check_name_length(cluster.name, f"{folder}: ")
    return fields


def _fields(summary: dict[str, Any], arrays: dict[str, NDArray[Any]], texts: pa.Table) -> dict[str, Any]:
    tree = arrays.get("linkage")
    described = summary["topics" if summary["format"] < 5 else "clusters"]
    return {
        "corpus": _corpus_from(texts, keep_all=summary.get("keep_all", True)),  # older folders group all texts
        "details": details_from(texts, summary.get("details")),
        "tally": tally_from(arrays, summary.get("tally")),
        "totals": Totals(**summary["totals"]),
        "distinct_codes": arrays["labels" if summary["format"] == 3 else "codes"],
        "distinct_similarity": arrays["similarity"],
        "centers": arrays["centers"],
        "rule": LinearRule(arrays["rule.directions"], arrays["rule.offsets"], arrays.get("rule.clusters")),
        "clusters": tuple(
            Cluster(
                **{
                    **cluster,
                    "keywords": tuple(cluster["keywords"]),
                    "representatives": tuple(cluster["representatives"]),
                }
            )
            for cluster in described
        ),
        "next_label": summary.get("next_label", len(described)),  # format 3 has labels from 0 on
        "cohesion": _cohesion_from(summary["cohesion"]),
        "k_estimate": _estimate_from(summary["k_estimate"], arrays),
        "algorithm": summary["algorithm"],
        "source": EmbeddingSource(**summary["embedding"]),
        "hierarchy": None if tree is None else Hierarchy(MergeTree(tree), arrays["leaves"]),
        "recipe": summary["recipe"],
        "reference": _reference_from(arrays),
        "history": tuple(update_from(entry) for entry in summary.get("history", ())),
        "notes": tuple(summary.get("notes", ())),  # older folders have none
        "themes": tuple(
            Theme(**{**theme, "clusters": tuple(theme["clusters"])}) for theme in summary.get("themes", ())
        ),
        "languages": summary.get("languages", {}),
    }


def texts_table(corpus: Corpus) -> pa.Table:
    """Return the texts of all rows, or of a sample with the number of rows that each stands for."""
    # Half a surrogate pair is not valid text, but scraped data has some, and it must not stop the save.
    rows = [row.encode("utf-8", "backslashreplace").decode() for row in corpus.rows]
    columns = {"text": pa.array(rows, pa.large_string())}
    # Which texts say something is not decided again: a later version may have other lists.
    return pa.table({**columns, **({"counts": corpus.codes >= 0} if corpus.has_all_rows else {"count": corpus.counts})})


def _corpus_from(table: pa.Table, *, keep_all: bool) -> Corpus:
    column = table["text"]
    if not holds_text(table.schema.field("text")) or column.null_count:
        raise TypeError("texts are strings")
    rows = column.to_pylist()
    if "count" not in table.column_names:
        if "counts" not in table.column_names:
            return Corpus.from_texts(rows, keep_all=True)
        return Corpus.from_rows(rows, table["counts"].to_pylist(), keep_all=keep_all)
    counts = table["count"].to_numpy()
    if counts.dtype.kind not in "iu" or (len(counts) and (counts.min() < 0 or counts.sum(dtype=float) >= 2**53)):
        raise ValueError("counts are whole numbers")
    return Corpus.from_counts(rows, counts, keep_all=keep_all)


def _arrays(result: ClusteredTexts) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {
        "codes": result.distinct_codes,
        "similarity": result.distinct_similarity,
        "centers": result.centers,
        **{f"rule.{name}": array for name, array in result.rule._asdict().items() if array is not None},
    }
    if result.k_estimate is not None:
        arrays["replicates"] = result.k_estimate.replicates
        for part, names in EVIDENCE.items():
            evidence = getattr(result.k_estimate, part)
            if evidence is not None:
                arrays |= {f"{part}.{name}": getattr(evidence, name) for name in names}
    if result.tally is not None:
        arrays |= tally_arrays(result.tally)
    reference = result.reference or _drawn(result)
    if reference is not None:
        # Half precision is enough to compare with, and halves the folder.
        arrays |= {"reference.positions": reference.positions, "reference.units": reference.units.astype(np.float16)}
    if result.hierarchy is not None:
        arrays |= {"linkage": result.hierarchy.tree.linkage, "leaves": result.hierarchy.leaves}
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def _drawn(result: ClusteredTexts) -> Reference | None:
    """Draw the sample of vectors if they are in memory; otherwise it can be drawn when it is needed."""
    return None if result.known_embeddings is None else draw_reference(result.embedded(), result.distinct_codes)


def _reference_from(arrays: dict[str, NDArray[Any]]) -> Reference | None:
    if "reference.positions" not in arrays:
        return None
    units = arrays["reference.units"].astype(np.float32)
    return Reference(arrays["reference.positions"], units / np.linalg.norm(units, axis=1, keepdims=True))


def _summary(result: ClusteredTexts) -> dict[str, Any]:
    from .. import __version__

    estimate = result.k_estimate
    return {
        "format": FORMAT_VERSION,
        "written_by": f"textspectra {__version__}",
        "algorithm": result.algorithm,
        "totals": result.totals._asdict(),
        "keep_all": result.corpus.keep_all,
        "recipe": result.recipe,
        "history": [asdict(entry) for entry in result.history],
        "notes": list(result.notes),
        "languages": result.languages,
        "details": None if result.details is None else {"time": result.details.time},
        "tally": None if result.tally is None else describe_tally(result.tally),
        "embedding": result.source._asdict(),
        "next_label": result.next_label,
        "clusters": [asdict(cluster) for cluster in result.clusters],
        "themes": [theme._asdict() for theme in result.themes],
        "cohesion": None if result.cohesion is None else asdict(result.cohesion),
        "k_estimate": None if estimate is None else _numbers_of(estimate),
    }


def _numbers_of(estimate: KEstimate) -> dict[str, Any]:
    numbers = {name: getattr(estimate, name) for name in ("k", "interval", "confidence", "method", "n_samples")}
    numbers["suggestions"] = [suggestion._asdict() for suggestion in estimate.suggestions]
    for part, arrays in EVIDENCE.items():
        evidence = getattr(estimate, part)
        numbers[part] = None if evidence is None else {n: v for n, v in vars(evidence).items() if n not in arrays}
    return numbers


def _estimate_from(numbers: dict[str, Any] | None, arrays: dict[str, NDArray[Any]]) -> KEstimate | None:
    if numbers is None:
        return None
    kinds: dict[str, Callable[..., Any]] = {"agreement": Agreement, "spectrum": Spectrum}
    parts = {
        part: kinds[part](**numbers[part], **{name: arrays[f"{part}.{name}"] for name in names})
        if numbers[part]
        else None
        for part, names in EVIDENCE.items()
    }
    return KEstimate(
        **{
            **numbers,
            **parts,
            "interval": tuple(numbers["interval"]),
            # Earlier versions had levels called coarsest and finest.
            "suggestions": tuple(Suggestion(**one) for one in numbers["suggestions"] if one["name"] in NAMES),
            "replicates": arrays["replicates"],
        }
    )


def _cohesion_from(stored: dict[str, Any] | None) -> CohesionReport | None:
    if stored is None:
        return None
    return CohesionReport(**{**stored, "per_cluster": tuple(ClusterCohesion(**part) for part in stored["per_cluster"])})


def _checked_summary(folder: Path) -> dict[str, Any]:
    for name in (SUMMARY, ARRAYS, TEXTS):
        if not (folder / name).is_file():
            raise UserError(f"{folder} is not a complete model folder: {name} is missing.")
    _check_sizes(folder, TOO_LARGE)
    try:
        summary: dict[str, Any] = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
        version, digests = summary["format"], dict(summary["sha256"])
        digest_of_summary = _digest_of_summary(summary)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UserError(f"{folder / SUMMARY} is damaged: it is not what textspectra wrote.") from None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise UserError(f"{folder / SUMMARY} is damaged: it is not what textspectra wrote.")
    if version < OLDEST_FORMAT:
        raise UserError(
            f"{folder} was written by {summary.get('written_by', 'an earlier textspectra')} in format {version}, which "
            "this version does not read; cluster the texts again."
        )
    if version > FORMAT_VERSION:
        raise UserError(
            f"{folder} was written by {summary.get('written_by', 'a newer textspectra')} in format {version}, and "
            f"this version reads up to format {FORMAT_VERSION}; upgrade with: pip install --upgrade textspectra"
        )
    actual = {SUMMARY: digest_of_summary, **{name: _digest(folder / name) for name in (ARRAYS, TEXTS)}}
    for name, digest in actual.items():
        if digests.get(name) != digest:
            raise UserError(f"{folder / name} was changed or cut short after it was written; its checksum differs.")
    return summary


def _check_sizes(folder: Path, advice: str) -> None:
    """Raise a UserError for a file that would need too much memory; a sparse file takes no room on the disk."""
    for name in (ARRAYS, TEXTS):
        check_bytes((folder / name).stat().st_size, str(folder / name), advice)
    if (folder / SUMMARY).stat().st_size > MAX_SUMMARY:
        raise UserError(f"{folder / SUMMARY} holds more than {MAX_SUMMARY // 2**20} MB. {advice}")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest_of_summary(summary: dict[str, Any]) -> str:
    digests = {name: digest for name, digest in summary["sha256"].items() if name != SUMMARY}
    canonical = json.dumps({**summary, "sha256": digests}, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()
