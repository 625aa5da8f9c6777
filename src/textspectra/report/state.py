"""Bring what a reader set in the page, the groups and their names, back into the result."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..core.kmeans import same_clusters
from ..errors import UserError
from ..texts.result import TextClustering
from .tree import report_levels
from .write import APPLIED, fingerprint, grouping_mark

META = re.compile(rb'id="block-meta">([A-Za-z0-9+/=]+)<')


def what_only_it_has(path: Path, result: TextClustering) -> str:
    """Say why a page should not be replaced by a new one of this result; an empty string if there is no reason."""
    meta = _read_meta(path)
    try:
        known, classes, changes = meta["about"]["fingerprint"], meta["profile"]["classes"], meta["changes"]
    except (KeyError, TypeError):  # another file, or a page of an older version
        return "is no report of these texts"
    if known != fingerprint(result.corpus):
        return "is no report of these texts"
    if classes is not None:
        return "compares with a ground truth, which the model does not have"
    return "" if changes is None else "says what changed, which the model does not know"


def _read_meta(path: Path) -> Any:
    """Return the data about a report; None if the file is none."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    found = META.search(content)
    try:
        return None if found is None else json.loads(zlib.decompress(base64.b64decode(found[1])))
    except (ValueError, zlib.error):
        return None


FORMAT = "textspectra-state-4"
"""Changes with the meaning of what the file holds."""

MAX_BYTES = 2**26
"""Bytes of a state that are read; a group has some hundred, and a moved text ten."""

DAMAGED = "The state is damaged: its clusters cannot be read. Download the JSON file from the report again."
CHANGED = "The state does not fit the model, whose groups have changed since the report was made."


class Changes(NamedTuple):
    """How many groups differ between two groupings of the same texts."""

    unchanged: int  # the same texts and the same name
    renamed: int  # the same texts and another name
    merged: tuple[int, int] = (0, 0)  # how many groups were merged, and into how many
    split: tuple[int, int] = (0, 0)  # how many were split, and into how many
    mixed: tuple[int, int] = (0, 0)  # how many exchanged texts, and how many they are now

    def regrouped(self) -> dict[str, tuple[int, int]]:
        """Return how many groups with other texts there were and are, by what happened to them."""
        return {"merged": self.merged, "split": self.split, "mixed": self.mixed}


class StateCluster(NamedTuple):
    """A group of a state."""

    label: int
    name: str
    size: int
    parts: list[tuple[int, int]]  # ranges of finest clusters of the report, if the groups were edited
    moved: list[int]  # for each text that was moved into it, a row of the data


class State(NamedTuple):
    """What "Download JSON" of a report writes, as far as a model needs it."""

    fingerprint: str  # of the texts
    grouping: str  # of the groups that the report was made of
    edited: bool  # whether the groups are more than a cut of the tree
    clusters: list[StateCluster]


def read_state(path: Path) -> State:
    """Read the JSON file that "Download JSON" of a report wrote; a UserError says what is wrong with it."""
    try:
        with path.open("rb") as file:
            stored = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    if len(stored) > MAX_BYTES:
        raise UserError(f"{path} has more than {MAX_BYTES // 2**20} MB, which no report downloads.")
    try:
        content = json.loads(stored.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise UserError(f"{path} is not JSON; use the file that “Download JSON” of a report writes.") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise UserError(f"{path} was not written by “Download JSON” of a report of this version.")
    return parse_state(content)


def _refuse(constant: str) -> NoReturn:
    """Refuse NaN and Infinity, which are not JSON."""
    raise ValueError(constant)


def parse_state(content: dict[str, Any]) -> State:
    """Check the types of all that a state needs."""
    edited = _typed(content.get("edited"), bool)
    given = _typed(content.get("clusters"), list)
    clusters = [_cluster(_typed(one, dict), edited) for one in given]
    labels = [cluster.label for cluster in clusters]
    if not clusters or len(set(labels)) < len(labels):
        raise UserError(DAMAGED)
    names = [cluster.name for cluster in clusters]
    if not all(name.strip() for name in names) or len(set(names)) < len(names):
        raise UserError("The names in the state are blank or not all different.")
    return State(_typed(content.get("fingerprint"), str), _typed(content.get("grouping"), str), edited, clusters)


def _cluster(one: dict[str, Any], edited: bool) -> StateCluster:
    parts = [_pair(part) for part in _typed(one.get("parts"), list)] if edited else []
    moved = [_typed(row, int) for row in _typed(one.get("moved"), list)] if edited else []
    label, name, size = (_typed(one.get(key), kind) for key, kind in (("cluster", int), ("name", str), ("size", int)))
    return StateCluster(label, name, size, parts, moved)


def _pair(part: Any) -> tuple[int, int]:
    first, end = part if isinstance(part, list) and len(part) == 2 else (None, None)
    return _typed(first, int), _typed(end, int)


def _typed(value: Any, kind: type) -> Any:
    """Return a value of exactly this type: True is no number."""
    if type(value) is not kind:
        raise UserError(DAMAGED)
    return value


def apply_state(result: TextClustering, state: State | str | Path) -> TextClustering:
    """Return `result`, which a report shows, with the groups and the names of a state, or of the file that has it.

    A cluster whose texts stay the same keeps its label. So does one that others were merged into, or that single texts
    left or joined. The others have new labels. A result of the same state stays as it is, so that the same command can
    be run again.
    """
    state = state if isinstance(state, State) else read_state(Path(state))
    if state.fingerprint != fingerprint(result.corpus):
        raise UserError(
            "The state comes from a report of other texts than those of the model: of another model, of a comparison, "
            "or from before an update. Make the page of the model with `textspectra report`, and set the groups there."
        )
    if state.grouping != grouping_mark(result):
        if result.recipe.get(APPLIED) == _mark(result, state):
            return result
        raise UserError(CHANGED)
    changed = _regrouped(result, state.clusters) if state.edited else _cut(result, state.clusters)
    changed = changed.rename({cluster.label: cluster.name for cluster in state.clusters})
    return replace(changed, recipe={**changed.recipe, APPLIED: _mark(changed, state)})


def _mark(result: TextClustering, state: State) -> str:
    """Return a digest of a state, and of the groups and the names that it led to."""
    outcome = state, grouping_mark(result), [cluster.name for cluster in result.clusters]
    return hashlib.sha256(repr(outcome).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _cut(result: TextClustering, clusters: Sequence[StateCluster]) -> TextClustering:
    """Return the result at another level of its tree."""
    changed = result if len(clusters) == result.n_clusters else result.cut(len(clusters))
    if [(cluster.label, cluster.size) for cluster in changed.clusters] != [(one.label, one.size) for one in clusters]:
        raise UserError(CHANGED)
    return changed


def _regrouped(result: TextClustering, clusters: Sequence[StateCluster]) -> TextClustering:
    """Return the result with groups that were edited by hand."""
    base = result.with_hierarchy()
    codes = _codes(base, clusters)
    grouped = codes >= 0
    sizes = np.bincount(codes[grouped], result.corpus.counts[grouped], len(clusters))
    if sizes.tolist() != [cluster.size for cluster in clusters] or not sizes.all():
        raise UserError(CHANGED)
    position = {cluster.label: number for number, cluster in enumerate(result.clusters)}
    goes_on = {number: position[cluster.label] for number, cluster in enumerate(clusters) if cluster.label in position}
    new = {number: cluster.label for number, cluster in enumerate(clusters) if number not in goes_on}
    same = same_clusters(result.distinct_codes, codes)
    # A group with all texts of another one has its label, and new labels are the next ones.
    has_own_label = all(goes_on.get(number) == old for number, old in same.items())
    if not has_own_label or sorted(new.values()) != list(range(result.next_label, result.next_label + len(new))):
        raise UserError(DAMAGED)
    return base.regroup(codes, goes_on, new)


def _codes(result: TextClustering, clusters: Sequence[StateCluster]) -> NDArray[np.intp]:
    """Return the number of the cluster of each distinct text: that of its part, unless it was moved."""
    levels, finest = report_levels(result)
    owner = np.full(levels.k, -1)
    for number, cluster in enumerate(clusters):
        for first, end in cluster.parts:
            if not 0 <= first < end <= levels.k or (owner[first:end] >= 0).any():
                raise UserError(DAMAGED)
            owner[first:end] = number
    if (owner < 0).any():
        raise UserError(DAMAGED)
    codes = np.append(owner, -1)[finest]
    moved = [(row, number) for number, cluster in enumerate(clusters) for row in cluster.moved]
    rows = [row for row, _ in moved]
    if any(not 0 <= row < len(result.corpus.rows) for row in rows):
        raise UserError(DAMAGED)
    texts = result.corpus.codes[np.array(rows, np.intp)]
    if (texts < 0).any() or (finest[texts] < 0).any() or len(np.unique(texts)) < len(texts):
        raise UserError(DAMAGED)
    codes[texts] = [number for _, number in moved]
    return codes


def count_changes(before: TextClustering, after: TextClustering) -> Changes:
    """Count the groups that were renamed, merged, split or mixed between two results for the same texts."""
    same = same_clusters(before.distinct_codes, after.distinct_codes)
    renamed = sum(before.clusters[old].name != after.clusters[new].name for new, old in same.items())
    counts = {"merged": np.zeros(2, int), "split": np.zeros(2, int), "mixed": np.zeros(2, int)}
    for n_before, n_after in _families(before.distinct_codes, after.distinct_codes):
        kind = "merged" if n_after == 1 else "split" if n_before == 1 else "mixed"
        if (n_before, n_after) != (1, 1):
            counts[kind] += n_before, n_after
    merged, split, mixed = ((int(was), int(now)) for was, now in counts.values())
    return Changes(len(same) - renamed, renamed, merged, split, mixed)


def _families(before: NDArray[np.intp], after: NDArray[np.intp]) -> list[tuple[int, int]]:
    """Return how many old and new groups there are in each set of groups that have no texts of others."""
    grouped = before >= 0
    old, new = before[grouped], after[grouped]
    n_old, n_new = int(old.max()) + 1, int(new.max()) + 1
    links = coo_array((np.ones(len(old), np.int8), (old, n_old + new)), shape=(n_old + n_new, n_old + n_new))
    n, family = connected_components(links, directed=False)
    sides = (np.bincount(side, minlength=n).tolist() for side in (family[:n_old], family[n_old:]))
    return list(zip(*sides, strict=True))
