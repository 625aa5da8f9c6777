"""A clustering as a folder: arrays in safetensors, texts in Parquet, the rest in JSON, all with checksums.

One codec writes, reads and checks. It follows the declared types of :class:`ClusteredTexts`: an array goes to the file
of arrays under the path to it, and everything else becomes JSON.
"""

from __future__ import annotations

import hashlib
import json
import re
import types
from collections.abc import Hashable
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from ..core.estimate import NAMES
from ..errors import UsageError, UserError
from ..files import read_folder, replacing_folder
from ..tables.columns import holds_text
from ..tables.parquet import check_table, read_parquet
from ..tables.source import MAX_SUMMARY, check_bytes
from .clustered import ClusteredTexts, check_name_length
from .corpus import Corpus
from .details import Details, Segment
from .novelty import draw_reference

Json = dict[str, Any]
Arrays = dict[str, NDArray[Any]]
Result = TypeVar("Result", bound=ClusteredTexts)

FORMAT_VERSION, OLDEST_FORMAT = 5, 3
"""The format that is written, and the oldest that is read."""

SUMMARY, ARRAYS, TEXTS = "clustering.json", "arrays.safetensors", "texts.parquet"

IN_SUMMARY = ("algorithm", "totals", "recipe", "history", "notes", "languages", "tally", "source", "next_label",
              "clusters", "themes", "cohesion", "k_estimate")  # fmt: skip
IN_ARRAYS = ("distinct_codes", "distinct_similarity", "centers", "rule", "hierarchy", "reference")
"""Fields of a result that are in JSON, some of them with arrays, and fields that are only arrays."""

IMPLIED = re.compile(r"^(distinct_|k_estimate\.|hierarchy\.(tree\.)?)")
"""The beginning of a path that the name of a stored array leaves out."""

TIME, BY, SHOW = "time", "by:", "show:"
"""Columns beside the texts; segments and shown columns have their names after the prefix."""

KINDS = {np.floating: "f", np.integer: "iu", np.datetime64: "iu"}
"""Stored kinds of arrays by declared type; they may be narrower or wider than declared, and days are numbers."""

DEEPEST = 8
"""Levels of a model's settings: JSON that is much deeper could not be written again."""

DAMAGE = (LookupError, TypeError, ValueError, AttributeError, OverflowError, OSError, SafetensorError,
          pa.ArrowException)  # fmt: skip
"""What reading raises if a part is not as it was written; Arrow raises OSError for damaged Parquet."""

FINITE = (np.finfo(np.float64).min, np.inf)
PLAUSIBLE = (np.datetime64("1899-01-01"), np.datetime64("2102-01-01"))
"""Bounds of numbers; and of days, because the periods between the first and the last are counted."""

TOO_LARGE = "A model is never that large: fetch it again, or cluster the texts again."
NOT_SAVED = "A model cannot be that large. Cluster the texts as several files: their model keeps a sample of them."


def save_clustering(result: ClusteredTexts, folder: Path, *, overwrite: bool) -> None:
    """Write `result` to a folder, which is complete or not there."""
    model_folder_free(folder, overwrite=overwrite)
    with replacing_folder(folder) as temporary:
        write_clustering(result, temporary)


def model_folder_free(folder: Path, *, overwrite: bool) -> None:
    """Raise if a model cannot be written to `folder` because something is there already."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"'{folder}' is a file; a model needs a folder of its own.")
    if folder.exists() and not overwrite:
        raise UsageError(f"'{folder}' exists already; overwrite it (--overwrite) or choose another place.")
    if folder.exists() and any(folder.iterdir()) and not (folder / SUMMARY).is_file():
        raise UsageError(f"'{folder}' holds something else than a model; it is not overwritten.")


def write_clustering(result: ClusteredTexts, folder: Path) -> None:
    """Write `result` to an empty folder."""
    arrays: Arrays = {}
    summary = _summary(result, arrays)
    try:
        save_file(arrays, folder / ARRAYS)
    except SafetensorError as error:
        raise OSError(0, str(error)) from error
    texts = _with_details(texts_table(result.corpus), result.details)
    check_table(texts, "The table of texts", NOT_SAVED)
    pq.write_table(texts, folder / TEXTS, compression="zstd")
    summary["sha256"] = {name: _digest(folder / name) for name in (ARRAYS, TEXTS)}
    summary["sha256"][SUMMARY] = _digest_of_summary(summary)
    (folder / SUMMARY).write_text(json.dumps(summary, ensure_ascii=False, indent=1), encoding="utf-8")
    _check_sizes(folder, NOT_SAVED)


def load_clustering(folder: Path, kind: type[Result]) -> Result:
    """Read a clustering from a folder, after checking every file in it.

    Nothing is written. If the folder is being replaced, everything is from the old one or everything from the new one.
    """
    try:
        return read_folder(folder, lambda: _read(folder, kind))
    except PermissionError:
        raise UserError(f"{folder} cannot be read: no permission. Ask its owner, or change it with chmod.") from None


def _read(folder: Path, kind: type[Result]) -> Result:
    if not folder.is_dir():
        raise UserError(f"There is no model folder at {folder}.")
    summary = _checked_summary(folder)
    texts = read_parquet(folder / TEXTS, name=str(folder / TEXTS), advice=TOO_LARGE)
    try:
        result = _result(kind, summary, load_file(folder / ARRAYS), texts)
    except DAMAGE:
        raise _damage(folder) from None
    for cluster in result.clusters:
        check_name_length(cluster.name, f"{folder}: ")
    return result


def _summary(result: ClusteredTexts, arrays: Arrays) -> Json:
    """Return what is written as JSON, and put the rest into `arrays`."""
    from .. import __version__

    stored = {name: encode(getattr(result, name), name, arrays) for name in (*IN_SUMMARY, *IN_ARRAYS)}
    # Without vectors in memory, the sample that new texts are compared with can still be drawn when it is needed.
    if result.reference is None and result.known_embeddings is not None:
        encode(draw_reference(result.embedded(), result.distinct_codes), "reference", arrays)
    if "reference.units" in arrays:  # half precision is enough to compare with
        arrays["reference.units"] = arrays["reference.units"].astype(np.float16)
    if stored["tally"] is not None:
        segments = stored["tally"].pop("segments")
        for number, name in enumerate(segments):
            arrays[f"tally.by.{number}"] = arrays.pop(f"tally.segments.{name}.counts")
        stored["tally"]["by"] = [[name, segment["values"]] for name, segment in segments.items()]
    return {
        "format": FORMAT_VERSION,
        "written_by": f"textspectra {__version__}",
        "keep_all": result.corpus.keep_all,
        "details": None if result.details is None else {"time": result.details.time},
        **{"embedding" if name == "source" else name: stored[name] for name in IN_SUMMARY},
    }


def _result(kind: type[Result], summary: Json, arrays: Arrays, texts: pa.Table) -> Result:
    """Put a result together; raise one of `DAMAGE` if the parts are not of the declared types or do not fit."""
    _upgrade(summary, arrays)
    stored = {**summary, "source": summary["embedding"], "rule": {}}
    stored["hierarchy"] = {"tree": {}} if "linkage" in arrays else None
    stored["reference"] = {} if "reference.positions" in arrays else None
    if stored["tally"] is not None:
        stored["tally"]["segments"] = {name: {"values": values} for name, values in stored["tally"]["by"]}
        for number, name in enumerate(stored["tally"]["segments"]):
            arrays[f"tally.segments.{name}.counts"] = arrays[f"tally.by.{number}"]
    if stored["reference"] is not None:
        units = arrays["reference.units"].astype(np.float32)
        arrays["reference.units"] = units / np.linalg.norm(units, axis=1, keepdims=True)
    hints = _hints(ClusteredTexts)
    result = kind(
        corpus=_corpus(texts, keep_all=summary["keep_all"]),
        details=_details(texts, summary["details"]),
        **{name: decode(stored.get(name), hints[name], name, arrays) for name in (*IN_SUMMARY, *IN_ARRAYS)},
    )
    if not all(check(result) for check in (_clusters_fit, _arrays_fit, _numbers_fit)):
        raise ValueError("the parts do not fit together")
    return result


def _upgrade(summary: Json, arrays: Arrays) -> None:
    """Give a folder of an older format what the present one has."""
    if summary["format"] < 5:
        summary["clusters"] = summary["topics"]
        levels = summary["k_estimate"] or {}  # some had more levels: coarsest and finest
        levels["suggestions"] = [level for level in levels.get("suggestions", ()) if level["name"] in NAMES]
    if summary["format"] == 3:
        arrays["codes"] = arrays["labels"]  # labels were positions
        summary["next_label"] = len(summary["clusters"])
    absent: Json = {"details": None, "tally": None, "history": [], "notes": [], "themes": [], "languages": {}}
    for name, value in (absent | {"keep_all": True}).items():
        summary.setdefault(name, value)


def encode(value: Any, path: str, arrays: Arrays) -> Any:
    """Return a value as JSON has it; arrays, also inside records, are put into `arrays` by the path to them."""
    if isinstance(value, np.ndarray):
        plain = value.astype(np.int64) if value.dtype.kind == "M" else value
        arrays[IMPLIED.sub("", path)] = np.ascontiguousarray(plain)
        return None
    if _is_record(type(value)):
        parts = {name: getattr(value, name) for name in _hints(type(value))}
        encoded = {name: encode(part, f"{path}.{name}", arrays) for name, part in parts.items()}
        return {name: part for name, part in encoded.items() if not isinstance(parts[name], np.ndarray)}
    if isinstance(value, dict):
        return {name: encode(part, f"{path}.{name}", arrays) for name, part in value.items()}
    return [encode(part, path, arrays) for part in value] if isinstance(value, list | tuple) else value


def decode(value: Any, hint: Any, path: str, arrays: Arrays) -> Any:
    """Return the value of a declared type that was encoded; raise one of `DAMAGE` if it is not of that type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):  # of a type and None
        is_none = value is None and IMPLIED.sub("", path) not in arrays
        return None if is_none else decode(value, arguments[0], path, arrays)
    if origin is np.ndarray:
        return _decode_array(arrays[IMPLIED.sub("", path)], get_args(arguments[1])[0])
    if origin in (list, tuple) and isinstance(value, list):
        items = arguments if origin is tuple and arguments[-1] is not ... else arguments[:1] * len(value)
        return origin(decode(part, item, path, arrays) for part, item in zip(value, items, strict=True))
    if origin is dict and isinstance(value, dict):
        return {decode(name, arguments[0], path, arrays): decode(part, arguments[1], f"{path}.{name}", arrays)
                for name, part in value.items()}  # fmt: skip
    if _is_record(hint) and isinstance(value, dict):
        stored = {name for name in _hints(hint) if name in value or IMPLIED.sub("", f"{path}.{name}") in arrays}
        return hint(**{name: decode(value.get(name), _hints(hint)[name], f"{path}.{name}", arrays) for name in stored})
    if hint is Any:
        _check_depth(value, DEEPEST)
    elif not _is_plain(value, hint, arguments):
        raise TypeError(f"{path} is not a {hint}")
    return value


def _decode_array(array: NDArray[Any], declared: Any) -> NDArray[Any]:
    if declared is not Any and not any(array.dtype.kind in KINDS[base] for base in KINDS if issubclass(declared, base)):
        raise TypeError("an array of another kind")
    return array.astype("datetime64[D]") if declared is np.datetime64 else array


def _is_plain(value: Any, hint: Any, choices: tuple[Any, ...]) -> bool:
    if isinstance(value, str):
        value.encode()  # half of a surrogate pair cannot be written to any output
        return value in choices if get_origin(hint) is Literal else hint in (str, Hashable)
    if isinstance(value, bool):
        return hint is bool
    if isinstance(value, int):
        return hint in (int, float, Hashable) and abs(value) < 2**53
    return hint is float and isinstance(value, float)


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and (is_dataclass(kind) or hasattr(kind, "_fields"))


@cache  # a folder may hold many thousands of records of a type
def _hints(record: Any) -> dict[str, Any]:
    return get_type_hints(record)


def _check_depth(value: Any, levels: int) -> None:
    if not levels:
        raise ValueError("too many levels")
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _check_depth(part, levels - 1)


def texts_table(corpus: Corpus) -> pa.Table:
    """Return the texts of all rows, or of a sample with the number of rows that each stands for."""
    # Half a surrogate pair is not valid text, but scraped data has some, and it must not stop the save.
    rows = [row.encode("utf-8", "backslashreplace").decode() for row in corpus.rows]
    # Which texts say something is not decided again: a later version may have other lists.
    counts = {"counts": corpus.codes >= 0} if corpus.has_all_rows else {"count": corpus.counts}
    return pa.table({"text": pa.array(rows, pa.large_string()), **counts})


def _corpus(table: pa.Table, *, keep_all: bool) -> Corpus:
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


def _with_details(texts: pa.Table, details: Details | None) -> pa.Table:
    """Append the details as columns to the table of texts."""
    if details is None:
        return texts
    columns = {} if details.days is None else {TIME: pa.array(details.days)}
    for name, segment in details.segments.items():
        columns[BY + name] = pa.DictionaryArray.from_arrays(segment.codes, segment.values)
    columns |= {SHOW + name: pa.array(values, pa.large_string()) for name, values in details.shown.items()}
    for name, column in columns.items():
        texts = texts.append_column(name, column)
    return texts


def _details(texts: pa.Table, stored: Json | None) -> Details | None:
    if stored is None:
        return None
    columns = {name: texts[name].combine_chunks() for name in texts.column_names}
    if not all(holds_text(texts.schema.field(name)) for name in columns if name.startswith((BY, SHOW))):
        raise TypeError("segments and shown columns are strings")
    segments = {
        name.removeprefix(BY): Segment(column.indices.to_numpy(), column.dictionary.to_pylist())
        for name, column in columns.items() if name.startswith(BY)
    }  # fmt: skip
    shown = {name.removeprefix(SHOW): columns[name].to_pylist() for name in columns if name.startswith(SHOW)}
    days = None
    if TIME in columns:
        numbers = columns[TIME].cast(pa.int32())
        days = pc.fill_null(numbers, 0).to_numpy(zero_copy_only=False).astype("datetime64[D]")
        days[np.asarray(numbers.is_null())] = np.datetime64("NaT")
    return Details(decode(stored["time"], str | None, "", {}), days, segments, shown)


def _clusters_fit(result: ClusteredTexts) -> bool:
    labels = [cluster.label for cluster in result.clusters]
    rows = [row for cluster in result.clusters for row in cluster.representatives]
    return (
        labels == sorted(set(labels))
        and 0 <= labels[0] <= labels[-1] < result.next_label
        and all(cluster.size >= 0 and cluster.name.strip() for cluster in result.clusters)
        and all(0 <= row < len(result.corpus.rows) for row in rows)
        and min(result.totals) >= 0
        and (result.cohesion is None or len(result.cohesion.per_cluster) == len(labels))
    )


def _arrays_fit(result: ClusteredTexts) -> bool:
    """Return True if each array has its shape, and values from a lowest one to below a limit."""
    n_rows, n_texts, k, n_dimensions = len(result), len(result.corpus.distinct), *result.centers.shape
    rule, hierarchy, reference, tally, details = (
        result.rule, result.hierarchy, result.reference, result.tally, result.details
    )  # fmt: skip
    n_directions = k if rule.clusters is None else len(rule.clusters)
    arrays: list[tuple[Any, ...]] = [
        (result.distinct_codes, (n_texts,), -1, k),
        (result.distinct_similarity, (n_texts,)),
        (result.centers, (result.n_clusters, max(n_dimensions, 1)), *FINITE),
        (rule.directions, (n_directions, n_dimensions), *FINITE),
        (rule.offsets, (n_directions,), *FINITE),
        *([] if rule.clusters is None else [(rule.clusters, (n_directions,), 0, k)]),
    ]
    if hierarchy is not None:
        merged, n_merges = hierarchy.tree.linkage[:, :2], len(hierarchy.tree.linkage)
        later = merged - np.arange(n_merges)[:, None] - n_merges  # a merge joins clusters that were there before it
        arrays += [(hierarchy.leaves, (n_texts,), -1, n_merges + 1), (merged, (n_merges, 2), 0, np.inf)]
        arrays += [(hierarchy.tree.linkage, (n_merges, 4)), (later, (n_merges, 2), -np.inf, 1)]
    if reference is not None:
        arrays.append((reference.positions, (len(reference.positions),), 0, n_texts))
        arrays.append((reference.units, (len(reference.positions), n_dimensions)))
    if tally is not None:
        tables = [(tally.by_period, len(tally.periods))]
        tables += [(segment.counts, len(segment.values)) for segment in tally.segments.values()]
        arrays += [(counts, (k, n_values), 0, result.totals.rows + 1) for counts, n_values in tables]
        arrays.append((tally.periods, (len(tally.periods),), *PLAUSIBLE))
    if details is not None:
        arrays += [(segment.codes, (n_rows,), 0, len(segment.values)) for segment in details.segments.values()]
        arrays += [(np.array(values, object), (n_rows,)) for values in details.shown.values()]
        if details.days is not None:
            dated = details.days[~np.isnat(details.days)]
            arrays += [(details.days, (n_rows,)), (dated, dated.shape, *PLAUSIBLE)]
    # An array of 10**12 rows with nothing in them takes no bytes, but a loop over them would not end.
    estimate = result.k_estimate
    if estimate is not None:
        arrays.append((estimate.replicates, (estimate.replicates.size,)))
    if estimate is not None and estimate.agreement is not None:
        curve = estimate.agreement
        arrays += [(values, (curve.k.size,)) for values in (curve.k, curve.halves, curve.score)]
    if estimate is not None and estimate.spectrum is not None:
        arrays += [(values, (values.size,)) for values in (estimate.spectrum.eigenvalues, estimate.spectrum.deltas)]
    return all(_fits(*expected) for expected in arrays)


def _fits(array: NDArray[Any], shape: tuple[int, ...], low: Any = None, limit: Any = None) -> bool:
    within = low is None or not array.size or (array.min() >= low and array.max() < limit)
    return array.shape == shape and bool(within)


def _numbers_fit(result: ClusteredTexts) -> bool:
    estimate, tally = result.k_estimate, result.tally
    is_counted = tally is None or (tally.every is None) == (not len(tally.periods))
    if estimate is None:
        return is_counted
    levels = [level.k for level in estimate.suggestions]
    return is_counted and min(estimate.k, estimate.n_samples, *estimate.interval, *levels) > 0


def _damage(folder: Path) -> UserError:
    return UserError(f"{folder / SUMMARY} is damaged: it is not what textspectra wrote.")


def _checked_summary(folder: Path) -> Json:
    for name in (SUMMARY, ARRAYS, TEXTS):
        if not (folder / name).is_file():
            raise UserError(f"{folder} is not a complete model folder: {name} is missing.")
    _check_sizes(folder, TOO_LARGE)
    try:
        summary: Json = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
        version, digests = summary["format"], dict(summary["sha256"])
        actual = {SUMMARY: _digest_of_summary(summary)}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _damage(folder) from None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise _damage(folder)
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
    actual |= {name: _digest(folder / name) for name in (ARRAYS, TEXTS)}
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


def _digest_of_summary(summary: Json) -> str:
    digests = {name: digest for name, digest in summary["sha256"].items() if name != SUMMARY}
    canonical = json.dumps({**summary, "sha256": digests}, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()
