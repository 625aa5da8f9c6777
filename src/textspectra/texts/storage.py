"""A clustering as a folder: arrays in safetensors, texts in Parquet, the rest in JSON, all with checksums.

One codec writes, reads and checks. It follows the declared types of :class:`ClusteredTexts`: an array goes to the file
of arrays under the path to it, and everything else becomes JSON.
"""

from __future__ import annotations

import hashlib
import json
import re
import types
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeGuard, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from ..core.estimate import NAMES
from ..core.map import FARTHEST, RowMap
from ..errors import UsageError, UserError
from ..files import read_folder
from ..tables.columns import holds_text
from ..tables.parquet import check_table, read_parquet
from ..tables.source import MAX_SUMMARY, check_bytes
from .clustered import ClusteredTexts, check_name_length
from .corpus import Corpus
from .details import Details, Segment
from .novelty import draw_reference

Stored = dict[str, Any]
Arrays = dict[str, NDArray[np.generic]]
Saved = TypeVar("Saved", bound=ClusteredTexts)

FORMAT_VERSION, OLDEST_FORMAT = 5, 3  # that is written, and the oldest that is read
SUMMARY, ARRAYS, TEXTS = "clustering.json", "arrays.safetensors", "texts.parquet"

# Fields of a result that are in JSON, some of them with arrays, and fields that are only arrays.
IN_SUMMARY = ("algorithm", "totals", "recipe", "history", "notes", "languages", "tally", "source", "next_label",
              "clusters", "themes", "cohesion", "k_estimate", "stop_words", "ignore_suggestion")  # fmt: skip
IN_ARRAYS = ("distinct_codes", "distinct_similarity", "centers", "rule", "hierarchy", "reference", "moved_by_hand")
SEGMENT, SHOWN = "by:", "show:"  # prefixes of the columns beside the texts; the column of dates is called time

# Stored kinds of arrays by declared type: they may be narrower or wider than declared, and days are numbers.
ARRAY_KINDS = {np.floating: "f", np.integer: "iu", np.datetime64: "iu"}

# The axes of the stored arrays: the same letter is the same length, such as n texts, k clusters and d dimensions.
ARRAY_AXES: dict[str, Sequence[str]] = {
    "codes": "n", "similarity": "n", "centers": "kd", "rule.directions": "rd", "rule.offsets": "r",
    "rule.clusters": "r", "leaves": "n", "linkage": "m4", "reference.positions": "s", "reference.units": "sd",
    "replicates": "b", "agreement.k": "a", "agreement.halves": "a", "agreement.score": "a",
    "spectrum.eigenvalues": "e", "spectrum.deltas": "j", "tally.periods": "p", "tally.by_period": "kp", "map": "n2",
    "moved_by_hand": "h",
}  # fmt: skip

# Bounds of days, because the periods between the first and the last are counted.
PLAUSIBLE = np.array(["1899-01-01", "2102-01-01"], "datetime64[D]")

# What reading raises if a part is not as it was written; Arrow raises OSError for damaged Parquet.
READ_ERRORS = (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError, OSError,
               SafetensorError, pa.ArrowException)  # fmt: skip

DAMAGED_MODEL = "{} is damaged: it is not what textspectra wrote."
TOO_LARGE = "A model is never that large: fetch it again, or cluster the texts again."
NOT_SAVED = "A model cannot be that large. Cluster the texts as several files: their model keeps a sample of them."


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
    texts = texts_table(result.corpus, result.details)
    check_table(texts, "The table of texts", NOT_SAVED)
    pq.write_table(texts, folder / TEXTS, compression="zstd")
    summary["sha256"] = {name: _digest(folder / name) for name in (ARRAYS, TEXTS)}
    summary["sha256"][SUMMARY] = _digest_of_summary(summary)
    (folder / SUMMARY).write_text(json.dumps(summary, ensure_ascii=False, indent=1), encoding="utf-8")
    _check_sizes(folder, NOT_SAVED)


def load_clustering(folder: Path, kind: type[Saved]) -> Saved:
    """Read a clustering from a folder after checking every file; all are from before or after a replacement of it."""

    def read() -> Saved:
        summary = _checked_summary(folder)
        texts = read_parquet(folder / TEXTS, name=str(folder / TEXTS), advice=TOO_LARGE)
        try:
            return _result(kind, summary, load_file(folder / ARRAYS), texts)
        except READ_ERRORS:
            raise UserError(DAMAGED_MODEL.format(folder / SUMMARY)) from None

    try:
        result = read_folder(folder, read)
    except PermissionError:
        raise UserError(f"{folder} cannot be read: no permission. Ask its owner, or change it with chmod.") from None
    for cluster in result.clusters:
        check_name_length(cluster.name, f"{folder}: ")
    return result


def _summary(result: ClusteredTexts, arrays: Arrays) -> Stored:
    """Return the part that is written as JSON, and put the rest into `arrays`."""
    from .. import __version__

    stored = {name: encode(getattr(result, name), name, arrays) for name in (*IN_SUMMARY, *IN_ARRAYS)}
    # Without vectors in memory, the sample that new texts are compared with can still be drawn when it is needed.
    if result.reference is None and result.known_embeddings is not None:
        encode(draw_reference(result.embedded(), result.distinct_codes), "reference", arrays)
    if "reference.units" in arrays:  # half precision is enough to compare with
        arrays["reference.units"] = arrays["reference.units"].astype(np.float16)
    if result.row_map.known is not None:
        arrays["map"] = result.row_map.known
    if stored["tally"] is not None:
        segments = stored["tally"].pop("segments")
        stored["tally"]["by"] = [[name, segment["values"]] for name, segment in segments.items()]
    return {
        "format": FORMAT_VERSION,
        "written_by": f"textspectra {__version__}",
        "keep_all": result.corpus.keep_all,
        "ignore": list(result.corpus.ignore),
        "details": None if result.details is None else {"time": result.details.time},
        **{"embedding" if name == "source" else name: stored[name] for name in IN_SUMMARY},
    }


def _result(kind: type[Saved], summary: Stored, arrays: Arrays, texts: pa.Table) -> Saved:
    """Put a result together; raise one of `READ_ERRORS` if the parts are not of the declared types or do not fit."""
    _upgrade(summary, arrays)
    stored = {**summary, "source": summary["embedding"], "rule": {}}
    stored["hierarchy"] = {"tree": {}} if "linkage" in arrays else None
    if stored["tally"] is not None:
        stored["tally"]["segments"] = {name: {"values": values} for name, values in stored["tally"]["by"]}
    if "reference.positions" in arrays:
        units = arrays["reference.units"].astype(np.float32)
        arrays["reference.units"] = units / np.linalg.norm(units, axis=1, keepdims=True)
        stored["reference"] = {}
    hints = _hints(ClusteredTexts)
    points = decode(None, NDArray[np.float32] | None, "map", arrays)
    result = kind(
        corpus=replace(
            _corpus(texts, keep_all=decode(summary["keep_all"], bool, "keep_all", arrays)),
            ignore=decode(summary["ignore"], tuple[str, ...], "ignore", arrays),
        ),
        details=_details(texts, summary["details"]),
        row_map=RowMap(None if points is None else points.astype(np.float32)),
        **{name: decode(stored.get(name), hints[name], name, arrays) for name in (*IN_SUMMARY, *IN_ARRAYS)},
    )
    if not all(_fits(result, arrays)):
        raise ValueError("the parts do not fit together")
    return result


def _upgrade(summary: Stored, arrays: Arrays) -> None:
    """Give a folder of an older format what the present one has."""
    if summary["format"] < 5:
        summary["clusters"] = summary["topics"]
        levels = summary["k_estimate"] or {}  # some had more levels: coarsest and finest
        levels["suggestions"] = [level for level in levels.get("suggestions", ()) if level["name"] in NAMES]
    for position, cluster in enumerate(summary["clusters"]):
        cluster.setdefault("color", position)
    if summary["format"] == 3:
        arrays["codes"] = arrays["labels"]  # labels were positions
        summary["next_label"] = len(summary["clusters"])
    arrays.setdefault("moved_by_hand", np.zeros(0, np.intp))
    absent: Stored = {"details": None, "tally": None, "history": [], "notes": [], "themes": [], "languages": {}}
    for name, value in (absent | {"keep_all": True, "ignore": [], "stop_words": [], "ignore_suggestion": []}).items():
        summary.setdefault(name, value)


def encode(value: object, path: str, arrays: Arrays) -> Any:
    """Return a value as JSON has it; arrays, also inside records, are put into `arrays` by the path to them."""
    if isinstance(value, np.ndarray):
        plain = value.astype(np.int64) if value.dtype.kind == "M" else value
        arrays[_key(path)] = np.ascontiguousarray(plain)
        return None
    kind: type = type(value)
    if _is_record(kind):
        parts = {name: getattr(value, name) for name in _hints(kind)}
        encoded = {name: encode(part, f"{path}.{name}", arrays) for name, part in parts.items()}
        return {name: part for name, part in encoded.items() if not isinstance(parts[name], np.ndarray)}
    if isinstance(value, dict):
        return {name: encode(part, f"{path}.{number}", arrays) for number, (name, part) in enumerate(value.items())}
    return [encode(part, path, arrays) for part in value] if isinstance(value, list | tuple) else value


def decode(value: object, hint: Any, path: str, arrays: Arrays) -> Any:
    """Return the value of a declared type that was encoded; raise one of `READ_ERRORS` if it is not of that type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):  # of a type and None
        is_none = value is None and _key(path) not in arrays
        return None if is_none else decode(value, arguments[0], path, arrays)
    if origin is np.ndarray:
        array, declared = arrays[_key(path)], get_args(arguments[1])[0]
        if not any(issubclass(declared, base) and array.dtype.kind in kinds for base, kinds in ARRAY_KINDS.items()):
            raise TypeError(f"{path} is an array of another kind")
        return array.astype("datetime64[D]") if declared is np.datetime64 else array
    if origin in (list, tuple) and isinstance(value, list):
        hints = arguments if origin is tuple and arguments[-1] is not ... else arguments[:1] * len(value)
        return origin(decode(part, item, path, arrays) for part, item in zip(value, hints, strict=True))
    if origin is dict and isinstance(value, dict):
        names = [decode(name, arguments[0], path, arrays) for name in value]
        parts = [decode(part, arguments[1], f"{path}.{i}", arrays) for i, part in enumerate(value.values())]
        return dict(zip(names, parts, strict=True))
    if _is_record(hint) and isinstance(value, dict):
        stored = {name for name in _hints(hint) if name in value or _key(f"{path}.{name}") in arrays}
        return hint(**{name: decode(value.get(name), _hints(hint)[name], f"{path}.{name}", arrays) for name in stored})
    if not (_depth(value) < 8 if hint is object else _is_plain(value, hint)):
        raise TypeError(f"{path} is not a {hint}")
    return value


def _key(path: str) -> str:
    """Return the name of a stored array, which leaves out what is clear without it."""
    short = re.sub(r"^(distinct_|k_estimate\.|hierarchy\.(tree\.)?)", "", path)
    return re.sub(r"^tally\.segments\.(\d+)\.counts$", r"tally.by.\1", short)


def _is_plain(value: object, hint: object) -> bool:
    if isinstance(value, str):
        value.encode()  # half of a surrogate pair cannot be written to any output
        return value in get_args(hint) if get_origin(hint) is Literal else hint in (str, Hashable)
    if isinstance(value, bool):
        return hint is bool
    if isinstance(value, int):
        return hint in (int, float, Hashable) and abs(value) < 2**53
    return hint is float and isinstance(value, float)


def _is_record(kind: object) -> TypeGuard[type]:
    return isinstance(kind, type) and (is_dataclass(kind) or hasattr(kind, "_fields"))


@cache  # a folder may hold many thousands of records of a type
def _hints(record: type) -> dict[str, object]:
    return get_type_hints(record)


def _depth(value: object) -> int:
    """Return the levels of JSON values; very deep ones, and half characters, could not be written again."""
    if isinstance(value, str):
        value.encode()
    parts = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, parts), default=0)


def texts_table(corpus: Corpus, details: Details | None = None) -> pa.Table:
    """Return the texts of all rows with their details, or a sample with the number of rows that each stands for."""
    # Half a surrogate pair is not valid text, but scraped data has some, and it must not stop the save.
    rows = [row.encode("utf-8", "backslashreplace").decode() for row in corpus.rows]
    # Which texts say something is not decided again: a later version may have other lists.
    counts = {"counts": corpus.codes >= 0} if corpus.has_all_rows else {"count": corpus.counts}
    columns = {"text": pa.array(rows, pa.large_string()), **counts}
    if details is not None:
        columns |= {} if details.days is None else {"time": pa.array(details.days)}
        for name, segment in details.segments.items():
            columns[SEGMENT + name] = pa.DictionaryArray.from_arrays(segment.codes, segment.values)
        columns |= {SHOWN + name: pa.array(values, pa.large_string()) for name, values in details.shown.items()}
    return pa.table(columns)


def _corpus(table: pa.Table, *, keep_all: bool) -> Corpus:
    rows = _checked_texts(table, "text").to_pylist()
    if "counts" in table.column_names:
        return Corpus.from_rows(rows, table["counts"].to_pylist(), keep_all=keep_all)
    if "count" not in table.column_names:  # as in early models
        return Corpus.from_texts(rows, keep_all=True)
    counts = table["count"].to_numpy()
    if counts.dtype.kind not in "iu" or (len(counts) and (counts.min() < 0 or counts.sum(dtype=float) >= 2**53)):
        raise ValueError("counts are whole numbers")
    return Corpus.from_counts(rows, counts, keep_all=keep_all)


def _details(table: pa.Table, stored: Stored | None) -> Details | None:
    if stored is None:
        return None
    segments: dict[str, Segment] = {}
    displayed: dict[str, list[str]] = {}
    for name in table.column_names:
        if name.startswith(SEGMENT):
            column = _checked_texts(table, name)
            segments[name.removeprefix(SEGMENT)] = Segment(column.indices.to_numpy(), column.dictionary.to_pylist())
        elif name.startswith(SHOWN):
            displayed[name.removeprefix(SHOWN)] = _checked_texts(table, name).to_pylist()
    days = table["time"].cast(pa.date32()).to_numpy() if "time" in table.column_names else None
    return Details(decode(stored["time"], str | None, "time", {}), days, segments, displayed)


def _checked_texts(table: pa.Table, name: str) -> pa.Array:
    """Return a column, which must hold a string in every row."""
    column = table[name].combine_chunks()
    if column.null_count or not holds_text(table.schema.field(name)):
        raise TypeError(f"{name} has values that are not strings")
    return column


def _fits(result: ClusteredTexts, arrays: Arrays) -> Iterator[bool]:
    """Say of one part after another whether it fits the others."""
    k, n_texts, n_rows = result.n_clusters, len(result.corpus.distinct), len(result)
    estimate, tally, details = result.k_estimate, result.tally, result.details or Details()
    labels = [cluster.label for cluster in result.clusters]
    yield labels == sorted(set(labels)) and 0 <= labels[0] <= labels[-1] < result.next_label
    yield all(cluster.size >= 0 and cluster.name.strip() for cluster in result.clusters)
    yield all(0 <= row < n_rows for cluster in result.clusters for row in cluster.representatives)
    yield min(result.totals) >= 0 and (result.cohesion is None or len(result.cohesion.per_cluster) == k)
    if estimate is not None:
        levels = [level.k for level in estimate.suggestions]
        yield min(estimate.k, estimate.n_samples, *estimate.interval, *levels) > 0
    sizes = {"n": n_texts, "k": k, "2": 2, "4": 4, **({} if "rule.clusters" in arrays else {"r": k})}
    axes = dict(ARRAY_AXES)
    for number, segment in enumerate(tally.segments.values() if tally else ()):
        axes[f"tally.by.{number}"], sizes[f"values {number}"] = ("k", f"values {number}"), len(segment.values)
    for name in axes.keys() & arrays.keys():
        # An array of 10**12 rows with nothing in them takes no bytes, but a loop over them would not end.
        yield all(sizes.setdefault(*pair) == pair[1] for pair in zip(axes[name], arrays[name].shape, strict=True))
    yield sizes["d"] > 0
    yield all(np.isfinite(array).all() for array in (result.centers, result.rule.directions, result.rule.offsets))
    yield _within(result.distinct_codes, -1, k) and _within(result.rule.clusters, 0, k)
    if result.hierarchy is not None:
        merges, n_merges = result.hierarchy.tree.linkage[:, :2], len(result.hierarchy.tree.linkage)
        made = np.arange(n_merges)[:, None] + n_merges + 1  # a merge joins clusters that were there before it
        yield bool(((merges >= 0) & (merges < made)).all()) and _within(result.hierarchy.leaves, -1, n_merges + 1)
        yield not (result.hierarchy.leaves[result.distinct_codes >= 0] < 0).any()  # each text of a group has a leaf
    yield result.reference is None or _within(result.reference.positions, 0, n_texts)
    yield _within(result.moved_by_hand, 0, n_texts)
    points = result.row_map.known
    if points is not None:
        lacks = np.isnan(points)
        yield _within(points[~lacks], -FARTHEST, FARTHEST) and bool((lacks[:, 0] == lacks[:, 1]).all())
    if tally is not None:
        yield (tally.every is None) == (not len(tally.periods)) and _within(tally.periods, *PLAUSIBLE)
        counts = [tally.by_period, *(segment.counts for segment in tally.segments.values())]
        yield all(_within(table, 0, result.totals.rows + 1) for table in counts)
    for column in details.segments.values():
        yield _within(column.codes, 0, len(column.values))
    yield details.days is None or _within(details.days[~np.isnat(details.days)], *PLAUSIBLE)


def _within(array: NDArray[Any] | None, low: Any, limit: Any) -> bool:
    return array is None or not array.size or bool(array.min() >= low and array.max() < limit)


def _checked_summary(folder: Path) -> Stored:
    if not folder.is_dir():
        raise UserError(f"No model folder at {folder}.")
    for name in (SUMMARY, ARRAYS, TEXTS):
        if not (folder / name).is_file():
            raise UserError(f"{folder} is not a complete model folder: {name} is missing.")
    _check_sizes(folder, TOO_LARGE)
    try:
        summary: Stored = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
        version, digests = summary["format"], dict(summary["sha256"])
        actual = {SUMMARY: _digest_of_summary(summary)}
    except (ValueError, KeyError, TypeError, RecursionError):
        version = None
    if type(version) is not int or version < 1:
        raise UserError(DAMAGED_MODEL.format(folder / SUMMARY))
    if not OLDEST_FORMAT <= version <= FORMAT_VERSION:
        old = "which this version does not read; cluster the texts again."
        new = f"and this version reads up to format {FORMAT_VERSION}; upgrade with: pip install --upgrade textspectra"
        origin = f"{folder} was written by {summary.get('written_by', 'another textspectra')} in format {version}"
        raise UserError(f"{origin}, {old if version < OLDEST_FORMAT else new}")
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


def _digest_of_summary(summary: Stored) -> str:
    digests = {name: digest for name, digest in summary["sha256"].items() if name != SUMMARY}
    canonical = json.dumps({**summary, "sha256": digests}, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()
