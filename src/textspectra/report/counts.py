"""The counts of every node of the tree over time and by segments, the tests of them, and the details of each row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import special

from ..core import F64, Bools, Ints
from ..tables.frames import free_name
from ..texts.details import MOST_PERIODS, Details, name_period
from ..texts.sentences import change_in_words, ends_in_words, note_on_tests, volume_in_words
from ..texts.shares import LEVEL, adjusted
from ..texts.tally import Crosstab, Tally, Trends, by_segment, find_trends, tally_rows
from .page import Section, pack_array, pack_json
from .tree import ReportTree, cut_texts


def describe_counts(tree: ReportTree) -> Section:
    """Return the data of the page on time and segments, and the blocks with the counts of the nodes.

    The clusters of the result have its own tests, all other nodes one together.
    """
    tally = tree.result.tally
    if tally is None:
        return {"time": None, "segments": [], "known": []}, {}
    nodes, known = tally_nodes(tree, tally)
    base, others = np.array(tree.base), np.setdiff1d(np.flatnonzero(known), tree.base)
    time, blocks = None, {}
    if tally.every is not None:
        tests = [(base, tally.trends)]
        if len(nodes.periods) <= MOST_PERIODS:  # over more, a burst could lie at too many places
            rest = replace(nodes, by_period=nodes.by_period[others])
            tests.append((others, find_trends(rest, nodes.by_period[base].sum(axis=0))))
        time = _describe_time(tally, nodes, tests)
        blocks["periods"] = pack_array(nodes.by_period, "u4")
    for number, (name, (_, counts)) in enumerate(nodes.segments.items()):
        p = np.ones(counts.shape)
        p[base] = by_segment(tally, name)["p"].reshape(len(base), -1)
        p[others] = adjusted(binomial_p(counts[others], counts[base].sum(axis=0)).ravel()).reshape(len(others), -1)
        blocks[f"segment{number}"] = pack_array(counts, "u4")
        blocks[f"marks{number}"] = pack_array(np.packbits(p < LEVEL, bitorder="little"), "u1")
    segments = [{"name": name, "values": segment.values} for name, segment in nodes.segments.items()]
    return {"time": time, "segments": segments, "known": known.tolist()}, blocks


def tally_nodes(tree: ReportTree, tally: Tally) -> tuple[Tally, Bools]:
    """Return the counts of all nodes, and which nodes are known; the others have 0.

    If the result knows its rows, the finest clusters are counted. Otherwise only the clusters of the result and those
    that they merge into are known.
    """
    details, levels = tree.result.details, tree.levels
    rows = tree.result.corpus.spread(tree.finest, -1)
    parts = None if details is None else tally_rows(details, rows, levels.k, tally.every)
    first, last = levels.spans[tree.base if parts is None else np.arange(levels.k)].T
    parts = parts or tally
    inside = (first >= levels.spans[:, :1]) & (last <= levels.spans[:, 1:])
    known = inside @ (last - first) == levels.spans[:, 1] - levels.spans[:, 0]
    join = (inside & known[:, None]).astype(np.int64)
    segments = {name: Crosstab(values, join @ counts) for name, (values, counts) in parts.segments.items()}
    return replace(parts, by_period=join @ parts.by_period, segments=segments), known


def _describe_time(tally: Tally, nodes: Tally, tests: list[tuple[Ints, Trends]]) -> dict[str, object]:
    """Return the data of the page on time, given which nodes were tested, and how they change."""
    assert nodes.every is not None  # noqa: S101 - for the type checker
    n = len(nodes.by_period)
    kind: list[str | None] = [None] * n
    p, change, words, ends = np.ones(n), np.zeros(n), [""] * n, [""] * n
    for tested, trends in tests:
        p[tested], change[tested] = trends.p, trends.after - trends.before
        for cluster, node in enumerate(tested.tolist()):
            kind[node] = trends.kind[cluster]
            if kind[node] != "steady":
                words[node], ends[node] = change_in_words(trends, cluster, nodes), ends_in_words(trends, cluster)
    return {
        "column": nodes.time,
        "every": nodes.every,
        "starts": nodes.periods.astype(np.int64).tolist(),
        "days": np.datetime_as_string(nodes.periods).tolist(),
        "names": [name_period(day, day, nodes.every) for day in nodes.periods],
        "volume": volume_in_words(tally.trends, tally),
        "tested": note_on_tests(tally),
        "kind": kind,
        "p": [float(f"{value:.3g}") for value in p],
        "change": np.round(change, 5).tolist(),
        "words": words,
        "ends": ends,
    }


def binomial_p(counts: Ints, totals: Ints) -> F64:
    """Return two-sided p-values of the counts of groups, given the totals of all texts with each value.

    The texts of a group count as independent draws. They vary less, because none is drawn twice, so the test is more
    conservative than Fisher's, which takes 16 seconds for the nodes of 100,000 texts and a segment of 50 values.
    """
    sizes, share = counts.sum(axis=1, keepdims=True), totals / max(totals.sum(), 1)
    below = np.where(counts > 0, special.bdtr(np.maximum(counts - 1, 0), sizes, share), 0)
    lower = (below + special.bdtr(counts, sizes, share)) / 2
    upper = (special.bdtrc(counts - 1, sizes, share) + special.bdtrc(counts, sizes, share)) / 2
    return np.asarray(np.minimum(2 * np.minimum(lower, upper), 1))


MAX_CELL_CHARACTERS = 4_000_000  # of all values of the shown columns together; if there are more, long values are cut
NO_DAY = -(2**31)  # a row without a date
EXPORT_COLUMNS = ("row", "text", "cluster", "cluster_name", "similarity")  # of every download


def describe_rows(details: Details | None, numbers: Ints) -> Section:
    """Return the further columns of the downloads, and the blocks with their values in the rows of these numbers.

    A column that is also shown is taken from there, because the values there are unchanged.
    """
    details = details or Details()
    time = [(details.time, "time", 0)] if details.time is not None and details.days is not None else []
    segments = [(name, "segment", number) for number, name in enumerate(details.segments)]
    cells = [(name, "shown", number) for number, name in enumerate(details.shown)]
    taken, columns, blocks = set(EXPORT_COLUMNS), [], {}
    for name, kind, at in [*(column for column in time + segments if column[0] not in details.shown), *cells]:
        free = free_name(name, taken)
        taken.add(free)
        columns.append({"name": free, "title": name, "kind": kind, "at": at})
    if details.days is not None:
        days = details.days[numbers]
        blocks["days"] = pack_array(np.where(np.isnat(days), NO_DAY, days.astype(np.int64)), "i4")
    if details.segments:
        codes = np.array([segment.codes[numbers] for segment in details.segments.values()])
        blocks["codes"] = pack_array(codes, "u1")
    cut_at = None
    if details.shown:
        rows = numbers.tolist()
        values = [column[row] for column in details.shown.values() for row in rows]
        values, cut_at = cut_texts(values, MAX_CELL_CHARACTERS)
        blocks["cells"] = pack_json(values)
    return {"columns": columns, "cut_at": cut_at, "filters": details.is_counted}, blocks
