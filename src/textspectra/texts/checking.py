"""What a model folder must hold: fields of the declared types, and arrays whose sizes fit together."""

from __future__ import annotations

import types
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import is_dataclass, replace
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from ..core.kmeans import LinearRule
from ..errors import UserError
from ..tables.source import MAX_CLUSTER_NAME
from ..words.describe import Cluster
from .clustered import ClusteredTexts

KINDS: dict[Any, str] = {np.floating: "f", np.integer: "iu", np.datetime64: "M"}
"""The kinds of arrays that a declared type allows: a number may be narrower or wider than declared."""


PLAIN = (str, float, int, type(None))

DATES = np.array(["1899-01-01", "2102-01-01"], "datetime64[D]")
"""Days that can be read from a file, and starts of their periods, lie between these."""


DEEPEST = 8
"""Levels of the recipe and of a model's settings."""


def is_sound(fields: Mapping[str, Any]) -> bool:
    """Tell whether the fields of a :class:`ClusteredTexts` have the declared types, and fit together."""
    hints = get_type_hints(ClusteredTexts)
    if not all(conforms(value, hints[name]) for name, value in fields.items() if name != "corpus"):
        return False
    checks = (_is_shallow, _codes_fit, _labels_fit, _estimate_fits, _hierarchy_fits, _reference_fits, _counts_fit)
    return all(check(fields) for check in checks)


def conforms(value: Any, hint: Any) -> bool:
    """Tell whether a value is of a declared type, with all that it holds."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if hint is Hashable:
        return conforms(value, int | str)
    if origin in (Union, types.UnionType):
        return any(conforms(value, one) for one in arguments)
    if origin is Literal:
        return isinstance(value, str) and value in arguments
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _is_of_kind(value, get_args(arguments[1])[0])
    if origin is tuple:
        of_items = arguments[:1] * len(value) if isinstance(value, tuple) and arguments[-1] is ... else arguments
        return isinstance(value, tuple) and len(value) == len(of_items) and all(map(conforms, value, of_items))
    if origin is list:
        return isinstance(value, list) and all(conforms(one, arguments[0]) for one in value)
    if origin is dict:
        parts = [] if not isinstance(value, dict) else [*value.items()]
        return isinstance(value, dict) and all(
            conforms(key, arguments[0]) and conforms(one, arguments[1]) for key, one in parts
        )
    return _is_plain(value, hint) if hint in PLAIN else _is_record(value, hint)


def _is_of_kind(array: Any, declared: Any) -> bool:
    if declared is Any:
        return True
    return any(array.dtype.kind in kinds for base, kinds in KINDS.items() if issubclass(declared, base))


def _is_plain(value: Any, hint: Any) -> bool:
    if hint is str:
        return isinstance(value, str) and (value.isascii() or _is_encodable(value))
    if hint is float:
        return isinstance(value, float) or _is_plain(value, int)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53
    return value is None


def _is_encodable(text: str) -> bool:
    """Tell whether a text has no half of a surrogate pair, which can be written to no output."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def _is_record(value: Any, hint: Any) -> bool:
    """Tell whether a value is a dataclass or a named tuple with fields of the declared types."""
    if not (isinstance(hint, type) and isinstance(value, hint)):
        return False
    if not (is_dataclass(hint) or hasattr(hint, "_fields")):
        return True
    return all(conforms(getattr(value, name), one) for name, one in _hints(hint).items())


@cache  # a folder may hold many thousands of records of a type
def _hints(record: type) -> dict[str, Any]:
    return get_type_hints(record)


def _within(codes: Any, lowest: int, n: int) -> bool:
    return not len(codes) or (int(codes.min()) >= lowest and int(codes.max()) < n)


def _is_shallow(fields: Mapping[str, Any]) -> bool:
    """Tell whether what may hold anything has at most a few levels: JSON that is deeper cannot be written again."""
    level: list[Any] = [fields["recipe"], fields["source"].settings]
    for _ in range(DEEPEST):
        level = [inner for one in level for inner in (one.values() if isinstance(one, dict) else one)]
        level = [one for one in level if isinstance(one, dict | list)]
    return not level


def _codes_fit(fields: Mapping[str, Any]) -> bool:
    n_texts, n_clusters = len(fields["corpus"].distinct), len(fields["clusters"])
    codes, centers, rule = fields["distinct_codes"], fields["centers"], fields["rule"]
    return bool(
        n_clusters > 0
        and codes.shape == fields["distinct_similarity"].shape == (n_texts,)
        and _within(codes, -1, n_clusters)
        and centers.ndim == 2
        and centers.size
        and centers.shape[0] == n_clusters
        and rule.directions.shape == (len(rule.offsets), centers.shape[1])
        and rule.offsets.ndim == 1
        and (len(rule.offsets) == n_clusters if rule.clusters is None else _clusters_fit(rule, n_clusters))
        and all(np.isfinite(array).all() for array in (centers, rule.directions, rule.offsets))
        and min(fields["totals"]) >= 0
        and (fields["cohesion"] is None or len(fields["cohesion"].per_cluster) == n_clusters)
    )


def _clusters_fit(rule: LinearRule, n_clusters: int) -> bool:
    """Return True if each direction of a rule belongs to one of the groups."""
    clusters = rule.clusters
    return clusters is not None and clusters.shape == rule.offsets.shape and _within(clusters, 0, n_clusters)


def _labels_fit(fields: Mapping[str, Any]) -> bool:
    n_rows, labels = len(fields["corpus"].rows), [cluster.label for cluster in fields["clusters"]]
    return (
        labels == sorted(set(labels))
        and min(labels) >= 0
        and max(labels) < fields["next_label"]
        and all(cluster.size >= 0 and cluster.name.strip() for cluster in fields["clusters"])
        and all(0 <= row < n_rows for cluster in fields["clusters"] for row in cluster.representatives)
    )


def _estimate_fits(fields: Mapping[str, Any]) -> bool:
    estimate = fields["k_estimate"]
    if estimate is None:
        return True
    parts = [estimate.agreement] if estimate.agreement is not None else []
    shapes = [{part.k.shape, part.halves.shape, part.score.shape} for part in parts]
    counts = [estimate.k, *estimate.interval, *(one.k for one in estimate.suggestions)]
    vectors = [estimate.replicates, *(part.k for part in parts)]
    if estimate.spectrum is not None:
        vectors += [estimate.spectrum.eigenvalues, estimate.spectrum.deltas]
    # An array of 10**12 rows with nothing in them takes no bytes, but a loop over them would not end.
    are_vectors = all(array.ndim == 1 for array in vectors)
    return are_vectors and min(counts) > 0 and estimate.n_samples > 0 and all(len(found) == 1 for found in shapes)


def _hierarchy_fits(fields: Mapping[str, Any]) -> bool:
    hierarchy = fields["hierarchy"]
    if hierarchy is None:
        return True
    linkage, leaves = hierarchy.tree.linkage, hierarchy.leaves
    if linkage.ndim != 2 or linkage.shape[1] != 4 or leaves.shape != fields["distinct_codes"].shape:
        return False
    made = np.arange(len(linkage)) + len(linkage) + 1
    return bool(((linkage[:, :2] >= 0) & (linkage[:, :2] < made[:, None])).all() and _within(leaves, -1, made[0]))


def _reference_fits(fields: Mapping[str, Any]) -> bool:
    reference = fields["reference"]
    if reference is None:
        return True
    positions, units = reference.positions, reference.units
    fits = positions.ndim == 1 and units.shape == (len(positions), fields["centers"].shape[1])
    return fits and _within(positions, 0, len(fields["corpus"].distinct))


def _counts_fit(fields: Mapping[str, Any]) -> bool:
    n_clusters, n_rows = len(fields["clusters"]), len(fields["corpus"].rows)
    tally, details = fields["tally"], fields["details"]
    if tally is not None:
        tables = [(tally.by_period, tally.periods), *((one.counts, one.values) for one in tally.segments.values())]
        if any(counts.shape != (n_clusters, len(values)) for counts, values in tables):
            return False
        if not all(_within(counts.ravel(), 0, fields["totals"].rows + 1) for counts, _ in tables):
            return False
        if (tally.every is None) != (not len(tally.periods)) or not _are_dates(tally.periods):
            return False
    if details is None:
        return True
    of_rows = [*(one.codes for one in details.segments.values()), *details.shown.values()]
    if details.days is not None:
        of_rows.append(details.days)
        if not _are_dates(details.days[~np.isnat(details.days)]):
            return False
    return all(len(one) == n_rows for one in of_rows) and all(
        _within(one.codes, 0, len(one.values)) for one in details.segments.values()
    )


def _are_dates(days: Any) -> bool:
    """Tell whether all days are plausible: what lies between the first and the last is counted by period."""
    return bool(((days >= DATES[0]) & (days < DATES[1])).all())


def numbered(
    codes: NDArray[np.intp], counts: NDArray[Any], label_of: Mapping[int, int], next_label: int
) -> tuple[NDArray[np.intp], list[int]]:
    """Order groups by their labels; groups that have none get the next ones, the largest first.

    Parameters
    ----------
    codes : ndarray of int
        The group of each distinct text, -1 for none.
    counts : ndarray of int
        How often each text occurs.
    label_of : mapping from int to int
        The labels of groups that have one.
    next_label : int
        The first label that was never used.

    Returns
    -------
    positions : ndarray of int
        The position of the group of each distinct text in the new order.
    labels : list of int
        The label at each position.
    """
    usable = np.flatnonzero(codes >= 0)
    sizes = np.bincount(codes[usable], counts[usable])
    first = usable[np.unique(codes[usable], return_index=True)[1]]
    fresh = [int(code) for code in np.lexsort((first, -sizes)) if int(code) not in label_of]
    labels = dict(label_of) | {code: next_label + number for number, code in enumerate(fresh)}
    order = sorted(labels, key=labels.__getitem__)
    positions = np.append(np.argsort(order), -1)[codes]
    return positions, [labels[code] for code in order]


def renamed(clusters: Sequence[Cluster], names: Mapping[int, Any]) -> tuple[Cluster, ...]:
    """Give some groups, by their labels, other names; a UserError says which name cannot be."""
    known = {cluster.name for cluster in clusters}
    for new in names.values():
        if not isinstance(new, str) or not new.strip():
            raise UserError(f"A cluster's name must be a text that is not blank, but it is {new!r}.")
        if new not in known and not conforms(new, str):
            raise UserError(f"The name {new!r} holds half of a character, which cannot be written to a file.")
        if new not in known:
            check_name_length(new)
    changed = tuple(replace(cluster, name=names.get(cluster.label, cluster.name)) for cluster in clusters)
    for new in names.values():
        namesakes = [cluster.label for cluster in changed if cluster.name == new]
        if len(namesakes) > 1:
            raise UserError(
                f"Clusters {namesakes[0]} and {namesakes[1]} would both be called {new!r}; merge them, or choose "
                "another name."
            )
    return changed


def check_name_length(name: str, where: str = "") -> None:
    """Raise a UserError if a name is too long for a group."""
    if len(name) > MAX_CLUSTER_NAME:
        raise UserError(
            f"{where}The name {name[:40]!r}... has {len(name):,} characters; the name of a group has at most "
            f"{MAX_CLUSTER_NAME}."
        )


def listed(labels: Sequence[int]) -> str:
    """Say which labels there are: a range where none is missing."""
    if len(labels) > 2 and labels[-1] - labels[0] == len(labels) - 1:
        return f"{labels[0]} to {labels[-1]}"
    return " and ".join(filter(None, [", ".join(map(str, labels[:-1])), str(labels[-1])]))
