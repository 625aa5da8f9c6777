"""Count every node of the tree over time and by segments, and test which counts are no chance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ..tables.frames import free_name
from ..texts.details import MOST_PERIODS, Details, name_period
from ..texts.result import TextClustering
from ..texts.sentences import change_in_words, ends_in_words, note_on_tests, volume_in_words
from ..texts.shares import LEVEL, adjusted
from ..texts.tally import Crosstab, Tally, Trends, by_segment, find_trends, tally_rows
from .page import pack_array, pack_json
from .tree import Levels, Rows, cut_texts


class NodeTally(NamedTuple):
    """The counts of all nodes; those of a node that is not known are 0."""

    tally: Tally  # its rows are the nodes
    known: NDArray[np.bool_]
    base: list[int]  # the node of each cluster of the result


def tally_nodes(result: TextClustering, levels: Levels, finest: NDArray[np.intp], base: list[int]) -> NodeTally | None:
    """Count all nodes; None if the result has no counts.

    Where it knows the rows, the counts are those of the finest clusters, `finest` of each distinct text. Otherwise only
    the groups of the result and those that they merge into are known.
    """
    if result.tally is None:
        return None
    details = result.details
    if details is not None and details.is_counted:
        rows = result.corpus.spread(finest, -1)
        parts, spans = tally_rows(details, rows, levels.k, result.tally.every), levels.spans[: levels.k]
        assert parts is not None  # noqa: S101 - for the type checker
    else:
        parts, spans = result.tally, levels.spans[base]
    first, last = spans.T
    inside = (first >= levels.spans[:, :1]) & (last <= levels.spans[:, 1:])
    known = inside @ (last - first) == levels.spans[:, 1] - levels.spans[:, 0]
    join = (inside & known[:, None]).astype(np.int64)
    segments = {name: Crosstab(one.values, join @ one.counts) for name, one in parts.segments.items()}
    return NodeTally(replace(parts, by_period=join @ parts.by_period, segments=segments), known, base)


def describe_tally(result: TextClustering, nodes: NodeTally | None) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what the page knows of time and segments, and the blocks with the counts of the nodes."""
    if nodes is None:
        return {"time": None, "segments": [], "known": []}, {}
    blocks = {}
    tally, time = nodes.tally, None
    if tally.every is not None:
        time = _describe_time(result, nodes)
        blocks["periods"] = pack_array(tally.by_period, "u4")
    for number, (name, segment) in enumerate(tally.segments.items()):
        marks = np.packbits(_deviates(result, nodes, name), bitorder="little")
        blocks[f"segment{number}"] = pack_array(segment.counts, "u4")
        blocks[f"marks{number}"] = pack_array(marks, "u1")
    segments = [{"name": name, "values": segment.values} for name, segment in tally.segments.items()]
    return {"time": time, "segments": segments, "known": nodes.known.tolist()}, blocks


def _describe_time(result: TextClustering, nodes: NodeTally) -> dict[str, Any]:
    tally = nodes.tally
    every = tally.every
    assert every is not None  # noqa: S101 - for the type checker
    kind = np.full(len(nodes.known), None, object)
    p, change, words, ends = np.ones(len(kind)), np.zeros(len(kind)), [""] * len(kind), [""] * len(kind)
    tested = _changes(result, nodes)
    for where, changes in tested:
        kind[where], p[where], change[where] = changes.kind, changes.p, changes.after - changes.before
        for cluster, node in enumerate(where):
            if kind[node] != "steady":
                words[node], ends[node] = change_in_words(changes, cluster, tally), ends_in_words(changes, cluster)
    assert result.tally is not None  # noqa: S101 - for the type checker
    return {
        "column": tally.time,
        "every": every,
        "starts": tally.periods.astype(np.int64).tolist(),
        "days": np.datetime_as_string(tally.periods).tolist(),
        "names": [name_period(day, day, every) for day in tally.periods],
        "volume": volume_in_words(tested[0][1], result.tally),
        "tested": note_on_tests(result.tally),
        "kind": kind.tolist(),
        "p": [float(f"{value:.3g}") for value in p],
        "change": np.round(change, 5).tolist(),
        "words": words,
        "ends": ends,
    }


def _changes(result: TextClustering, nodes: NodeTally) -> list[tuple[NDArray[np.intp], Trends]]:
    """Return nodes and how they change. The groups of the result have its own tests, all other nodes one together.

    The others are not tested over very many periods, in which a burst may lie at so many places that it takes long.
    """
    assert result.tally is not None  # noqa: S101 - for the type checker
    others, base = _others(nodes), np.array(nodes.base, np.intp)
    tested = [(base, result.tally.trends)]
    if len(nodes.tally.periods) <= MOST_PERIODS:
        totals = nodes.tally.by_period[base].sum(axis=0)
        rest = replace(nodes.tally, by_period=nodes.tally.by_period[others])
        tested.append((others, find_trends(rest, totals)))
    return tested


def _deviates(result: TextClustering, nodes: NodeTally, name: str) -> NDArray[np.bool_]:
    """Tell for each node and value of a segment whether the node's share there differs by more than chance.

    The tests are divided as in :func:`_changes`.
    """
    assert result.tally is not None  # noqa: S101 - for the type checker
    counts = nodes.tally.segments[name].counts
    marks = np.zeros(counts.shape, bool)
    marks[nodes.base] = (by_segment(result.tally, name)["p"] < LEVEL).reshape(len(nodes.base), -1)
    others, totals = _others(nodes), counts[nodes.base].sum(axis=0)
    p = adjusted(binomial_p(counts[others], totals).ravel())
    marks[others] = (p < LEVEL).reshape(len(others), -1)
    return marks


def binomial_p(counts: NDArray[np.int64], totals: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return two-sided p-values of the counts of groups, which are some of all texts with each value.

    The texts of a group count as independent draws. They scatter less, because none is drawn twice, so the test errs
    on the safe side of Fisher's, which takes 16 seconds for the nodes of 100,000 texts and a segment of 50 values.
    """
    sizes, share = counts.sum(axis=1, keepdims=True), totals / max(totals.sum(), 1)
    below = np.where(counts > 0, special.bdtr(np.maximum(counts - 1, 0), sizes, share), 0)
    lower = (below + special.bdtr(counts, sizes, share)) / 2
    upper = (special.bdtrc(counts - 1, sizes, share) + special.bdtrc(counts, sizes, share)) / 2
    p: NDArray[np.float64] = np.minimum(2 * np.minimum(lower, upper), 1)
    return p


def _others(nodes: NodeTally) -> NDArray[np.intp]:
    return np.setdiff1d(np.flatnonzero(nodes.known), nodes.base)


MAX_CELLS = 4_000_000
"""Number of characters of all values of the shown columns together; if there are more, long values are cut."""

NO_DAY = -(2**31)
"""Stands for a row without a date."""

OWN_COLUMNS = ("row", "text", "cluster", "cluster_name", "similarity")
"""The columns that every download has."""


def describe_rows(details: Details | None, rows: Rows) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the further columns of the downloads, and the blocks with their values.

    A column that is also shown is taken from there, where it is as it came in.
    """
    details = details or Details()
    taken, columns, blocks = set(OWN_COLUMNS), [], {}
    for name, kind, at in _sources(details):
        free = free_name(name, taken)
        taken.add(free)
        columns.append({"name": free, "title": name, "kind": kind, "at": at})
    if details.days is not None:
        days = details.days[rows.numbers]
        blocks["days"] = pack_array(np.where(np.isnat(days), NO_DAY, days.astype(np.int64)), "i4")
    if details.segments:
        codes = [segment.codes[rows.numbers] for segment in details.segments.values()]
        blocks["codes"] = pack_array(np.array(codes), "u1")
    cut_at = None
    if details.shown:
        numbers = rows.numbers.tolist()
        cells, cut_at = cut_texts([values[row] for values in details.shown.values() for row in numbers], MAX_CELLS)
        blocks["cells"] = pack_json(cells)
    return {"columns": columns, "cut_at": cut_at, "filters": details.is_counted}, blocks


def _sources(details: Details) -> list[tuple[str, str, int]]:
    """Return the name of each column, which kind of detail it is, and its number among those."""
    time = [(details.time, "time", 0)] if details.time is not None and details.days is not None else []
    segments = [(name, "segment", number) for number, name in enumerate(details.segments)]
    shown = [(name, "shown", number) for number, name in enumerate(details.shown)]
    return [*(one for one in (*time, *segments) if one[0] not in details.shown), *shown]
