"""Bring the groups and names that a reader set in the page back into the result."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..core import Ints
from ..core.kmeans import same_clusters
from ..errors import UserError
from ..texts.clustered import Theme
from ..texts.grouping import with_colors
from ..texts.result import TextClustering
from .build import APPLIED, corpus_fingerprint, grouping_mark
from .downloads import newest_state
from .tree import report_levels

FORMAT = "textspectra-state-4"  # changes with the meaning of the content
MAX_STATE_BYTES = 2**26  # a group takes a few hundred, and a moved text ten
META = re.compile(rb'id="block-meta">([A-Za-z0-9+/=]+)<')
DAMAGED = "The state is damaged: its clusters cannot be read. Download the JSON file from the report again."
CHANGED = "The state does not fit the model, whose groups have changed since the report was made."

Parsed = TypeVar("Parsed")


def what_only_it_has(path: Path, result: TextClustering) -> str:
    """Say why a page should not be replaced by a new one of this result; an empty string if it may be."""
    meta = read_meta(_read(path))
    try:
        known, classes, changes = meta["about"]["fingerprint"], meta["profile"]["classes"], meta["changes"]
    except (KeyError, TypeError):  # another file, or a page of an older version
        known = classes = changes = None
    if known != corpus_fingerprint(result.corpus):
        return "is not a report of these texts"
    if classes is not None:
        return "compares with a ground truth, which the model does not have"
    return "" if changes is None else "says what changed, which the model does not know"


def read_meta(page: bytes) -> Any:
    """Return the block ``meta`` of a page; an empty dictionary if it is something else."""
    match = META.search(page)
    try:
        return json.loads(zlib.decompress(base64.b64decode(match[1]))) if match else {}
    except (ValueError, zlib.error):
        return {}


def shows(page: bytes, result: TextClustering) -> bool:
    """Return True if a page of this version has the groups and the names of a result, and no others."""
    from .. import __version__

    meta = read_meta(page)
    try:
        about, names = meta["about"], meta["nodes"]["name"]
        known = [about["version"], about["fingerprint"], about["grouping"], meta["changes"]]
        page_names = [names[node] for node in meta["base"]["nodes"]]
    except (LookupError, TypeError):
        return False
    expected = [__version__, corpus_fingerprint(result.corpus), grouping_mark(result), None]
    return known == expected and page_names == [cluster.name for cluster in result.clusters]


def _read(path: Path, limit: int = -1) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(limit)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None


class StateCluster(NamedTuple):
    """A group of a state."""

    label: int
    name: str
    size: int
    parts: list[tuple[int, int]]  # ranges of finest clusters of the report, if the groups were edited
    moved: list[int]  # for each of its texts that was moved by hand, a row of the data
    color: int | None = None  # by its number; older pages do not have it


class State(NamedTuple):
    """The part of the file from "Download JSON" of a report that a model needs."""

    fingerprint: str  # of the texts
    grouping: str  # of the groups that the report was made of
    edited: bool  # whether the groups are more than a cut of the tree
    clusters: list[StateCluster]


def read_state(path: Path) -> State:
    """Read the JSON file that "Download JSON" of a report wrote; a UserError names the mistake in it."""
    stored = _read(path, MAX_STATE_BYTES + 1)
    if len(stored) > MAX_STATE_BYTES:
        raise UserError(f"{path} has more than {MAX_STATE_BYTES // 2**20} MB, which no report downloads.")
    return decode_state(stored, str(path))


def decode_state(stored: bytes, name: str) -> State:
    """Read the JSON of a state; errors call it `name`."""
    try:
        content = json.loads(stored.decode(), parse_constant=int)  # raises for NaN and Infinity, which are not JSON
    except (ValueError, RecursionError):
        raise UserError(f"{name} is not JSON; use the file that “Download JSON” of a report writes.") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise UserError(f"{name} was not written by “Download JSON” of a report of this version.")
    return parse_state(content)


def parse_state(content: dict[str, object]) -> State:
    """Check the type of every value that a state needs."""
    edited = _typed(content.get("edited"), bool)
    clusters = [_cluster(_typed(cluster, dict), edited) for cluster in _typed(content.get("clusters"), list)]
    labels, names = ([getattr(cluster, key) for cluster in clusters] for key in ("label", "name"))
    _check(0 < len(set(labels)) == len(labels))
    is_named = all(name.strip() for name in names) and len(set(names)) == len(names)
    _check(is_named, "The names in the state are blank or not all different.")
    return State(_typed(content.get("fingerprint"), str), _typed(content.get("grouping"), str), edited, clusters)


def _cluster(cluster: dict[str, object], edited: bool) -> StateCluster:
    parts, moved = (_typed(cluster.get(key), list) if edited else [] for key in ("parts", "moved"))
    _check(all(type(part) is list and len(part) == 2 for part in parts))
    color = _typed(cluster["color"], int) if "color" in cluster else None
    _check(color is None or 0 <= color < 2**31)
    return StateCluster(
        _typed(cluster.get("cluster"), int),
        _typed(cluster.get("name"), str),
        _typed(cluster.get("size"), int),
        [(_typed(first, int), _typed(end, int)) for first, end in parts],
        [_typed(row, int) for row in moved],
        color,
    )


def _check(is_sound: bool, problem: str = DAMAGED) -> None:
    if not is_sound:
        raise UserError(problem)


def _typed(value: object, kind: type[Parsed]) -> Parsed:
    """Return a value of exactly this type: True is not a number."""
    if type(value) is not kind:
        raise UserError(DAMAGED)
    return value


def apply_state(
    result: TextClustering, state: State | str | Path | None = None, *, saved: TextClustering | None = None
) -> TextClustering:
    """Return `result`, which a report shows, with the groups and the names of a state, or of the file that has it.

    Without a state, it is the newest one of these texts in the folder where browsers save files.

    A cluster whose texts stay the same keeps its label. So does one that others were merged into, or that single texts
    left or joined. The others get new labels. A result of the same state stays as it is, so that the same command can
    be run again. `saved` is what an earlier state of the same report led to: new clusters that it also has keep the
    labels that they have there, and no label is given twice.

    See Also
    --------
    write_report : Write the report.

    Examples
    --------
    >>> import textspectra as ts
    >>> result = ts.cluster_texts(["a b", "x y"], embeddings=[[1, 0], [0, 1]], n_clusters=2)
    >>> ts.apply_state(result, "no.json")
    Traceback (most recent call last):
        ...
    textspectra.errors.UserError: no.json cannot be read: No such file or directory
    """
    fingerprint = corpus_fingerprint(result.corpus)
    if not isinstance(state, State):
        state = read_state(newest_state(fingerprint) if state is None else Path(state))
    if state.fingerprint != fingerprint:
        raise UserError(
            "The state comes from a report of other texts than the model has: of another model, of a comparison, "
            "or from before an update. Make the page of the model with `textspectra report`, and set the groups there."
        )
    if state.grouping != grouping_mark(result):
        if result.recipe.get(APPLIED) == _mark(result, state):
            return result
        raise UserError(CHANGED)
    changed, labels = (_regrouped if state.edited else _cut)(result, state.clusters, saved or result)
    changed = changed.rename(dict(zip(labels, (cluster.name for cluster in state.clusters), strict=True)))
    first: dict[int, int] = {}  # the group that has a color: the first one of the state
    for position, cluster in zip(map(changed.position, labels), state.clusters, strict=True):
        first.setdefault(changed.clusters[position].color if cluster.color is None else cluster.color, position)
    kept = {position: color for color, position in first.items()}
    moved = result.corpus.codes[np.array([row for cluster in state.clusters for row in cluster.moved], np.intp)]
    changed = replace(
        changed,
        clusters=with_colors(changed.clusters, kept),
        next_label=max(changed.next_label, (saved or result).next_label),
        moved_by_hand=np.union1d(result.moved_by_hand, moved),
        themes=_kept_themes(result, changed, moved) if state.edited else changed.themes,
    )
    return replace(changed, recipe={**changed.recipe, APPLIED: _mark(changed, state)})


def _kept_themes(before: TextClustering, after: TextClustering, moved: Ints) -> tuple[Theme, ...]:
    """Return the themes of `before` with the clusters of `after` whose texts are of one theme, as the page shows them.

    Single texts that were moved do not count, unless a cluster has no others.
    """
    number = {label: place for place, theme in enumerate(before.themes) for label in theme.clusters}
    then = np.append([number.get(cluster.label, -1) for cluster in before.clusters], -1)[before.distinct_codes]
    clusters: dict[int, list[int]] = {}
    for code, cluster in enumerate(after.clusters):
        texts = np.flatnonzero(after.distinct_codes == code)
        stayed = np.setdiff1d(texts, moved)
        theme, *others = np.unique(then[stayed if len(stayed) else texts]).tolist()
        if not others:
            clusters.setdefault(theme, []).append(cluster.label)
    places = enumerate(before.themes)
    return tuple(theme._replace(clusters=tuple(clusters[place])) for place, theme in places if place in clusters)


def _mark(result: TextClustering, state: State) -> str:
    """Return a digest of a state, and of the groups and the names that it led to.

    Models have it in their recipe, so its form does not change; colors do not count.
    """
    clusters = ", ".join(
        f"StateCluster(label={label}, name={name!r}, size={size}, parts={parts}, moved={moved})"
        for label, name, size, parts, moved, _ in state.clusters
    )
    about = f"fingerprint={state.fingerprint!r}, grouping={state.grouping!r}, edited={state.edited}"
    names = [cluster.name for cluster in result.clusters]
    outcome = f"(State({about}, clusters=[{clusters}]), {grouping_mark(result)!r}, {names})"
    return hashlib.sha256(outcome.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _cut(
    result: TextClustering, clusters: Sequence[StateCluster], saved: TextClustering
) -> tuple[TextClustering, list[int]]:
    """Return the cut of the tree into as many clusters as a state has, and the label of each."""
    changed = result if len(clusters) == result.n_clusters else result.cut(len(clusters))
    expected = [(cluster.label, cluster.size) for cluster in clusters]
    _check([(cluster.label, cluster.size) for cluster in changed.clusters] == expected, CHANGED)
    state_labels = [cluster.label for cluster in clusters]
    labels = _labels_since(saved, result, changed.distinct_codes, state_labels)
    if labels != state_labels:
        again = result.with_hierarchy().regroup(changed.distinct_codes, dict(enumerate(labels)))
        changed = replace(again, recipe=changed.recipe).with_themes()
    return changed, labels


def _labels_since(saved: TextClustering, result: TextClustering, codes: Ints, labels: list[int]) -> list[int]:
    """Return the labels of clusters, where new ones have the labels of `saved`, or the next ones after it."""
    result_labels = {cluster.label for cluster in result.clusters}
    known = {new: saved.clusters[old].label for new, old in same_clusters(saved.distinct_codes, codes).items()}
    given = {new: label for new, label in known.items() if label not in result_labels}
    given |= {new: label for new, label in enumerate(labels) if label in result_labels}
    others = sorted((new for new in range(len(labels)) if new not in given), key=labels.__getitem__)
    given |= dict(zip(others, count(saved.next_label), strict=False))
    return [given[new] for new in range(len(labels))]


def _regrouped(
    result: TextClustering, clusters: Sequence[StateCluster], saved: TextClustering
) -> tuple[TextClustering, list[int]]:
    """Return the groups of a state that were made by hand, and the label of each."""
    base = result.with_hierarchy()
    codes = _codes(base, clusters)
    grouped = codes >= 0
    sizes = np.bincount(codes[grouped], result.corpus.counts[grouped], len(clusters))
    _check(sizes.tolist() == [cluster.size for cluster in clusters] and bool(sizes.all()), CHANGED)
    position = {cluster.label: number for number, cluster in enumerate(result.clusters)}
    labels = dict(enumerate(cluster.label for cluster in clusters))
    continued = {number: position[label] for number, label in labels.items() if label in position}
    new = {number: label for number, label in labels.items() if label not in position}
    same = same_clusters(result.distinct_codes, codes)
    # A group with all texts of another one has its label, and new labels are the next ones.
    _check(all(continued.get(number) == old for number, old in same.items()))
    _check(sorted(new.values()) == list(range(result.next_label, result.next_label + len(new))))
    numbers = _labels_since(saved, result, codes, list(labels.values()))
    return base.regroup(codes, dict(enumerate(numbers))), numbers


def _codes(result: TextClustering, clusters: Sequence[StateCluster]) -> Ints:
    """Return the cluster of each distinct text: the one of its part, unless it was moved."""
    levels, finest = report_levels(result)
    owner = np.full(levels.k, -1)
    for number, cluster in enumerate(clusters):
        for first, end in cluster.parts:
            _check(0 <= first < end <= levels.k and not (owner[first:end] >= 0).any())
            owner[first:end] = number
    _check(not (owner < 0).any())
    codes = np.append(owner, -1)[finest]
    rows = [row for cluster in clusters for row in cluster.moved]
    _check(all(0 <= row < len(result.corpus.rows) for row in rows))
    texts = result.corpus.codes[np.array(rows, np.intp)]
    _check(not (texts < 0).any() and not (finest[texts] < 0).any() and len(np.unique(texts)) == len(texts))
    codes[texts] = np.repeat(np.arange(len(clusters)), [len(cluster.moved) for cluster in clusters])
    return codes


class EditCounts(NamedTuple):
    """How many groups differ between two groupings of the same texts."""

    unchanged: int  # the same texts and the same name
    renamed: int  # the same texts and another name
    merged: tuple[int, int] = (0, 0)  # how many groups were merged, and into how many
    split: tuple[int, int] = (0, 0)  # how many were split, and into how many
    mixed: tuple[int, int] = (0, 0)  # how many exchanged texts, and how many they are now

    def regrouped(self) -> dict[str, tuple[int, int]]:
        """Return how many groups with other texts there were and are, by kind of edit."""
        return {"merged": self.merged, "split": self.split, "mixed": self.mixed}


def count_changes(before: TextClustering, after: TextClustering) -> EditCounts:
    """Count the groups that were renamed, merged, split or mixed between two results for the same texts."""
    same = same_clusters(before.distinct_codes, after.distinct_codes)
    renamed = sum(before.clusters[old].name != after.clusters[new].name for new, old in same.items())
    # A family is a set of old and new groups that share texts with no others.
    grouped = before.distinct_codes >= 0
    old, new = before.distinct_codes[grouped], before.n_clusters + after.distinct_codes[grouped]
    n = before.n_clusters + after.n_clusters
    _, family = connected_components(coo_array((np.ones(len(old), np.int8), (old, new)), shape=(n, n)), directed=False)
    sides = family[: before.n_clusters], family[before.n_clusters :]
    families = np.column_stack([np.bincount(side, minlength=family.max() + 1) for side in sides])
    n_old, n_new = families.T
    kinds = ((n_old > 1) & (n_new == 1), (n_old == 1) & (n_new > 1), (n_old > 1) & (n_new > 1))
    merged, split, mixed = ((int(was), int(now)) for was, now in (families[kind].sum(axis=0) for kind in kinds))
    return EditCounts(len(same) - renamed, renamed, merged, split, mixed)
