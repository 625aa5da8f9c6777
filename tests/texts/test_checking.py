"""A model folder with a valid checksum and wrong content is refused, or what it says can be used."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest

import textspectra as ts
from textspectra.cli.cluster import Done
from textspectra.cli.summary import print_summary, summarize
from textspectra.errors import UserError
from textspectra.texts.history import GroupChange, Update
from textspectra.texts.storage import SUMMARY, _digest_of_summary

WRONG = [None, True, -1, 10**30, 0.5, float("nan"), "", "x", "\ud800", [], [None], {}, {"a": [1]}, [[[]]]]

GROUPS = np.repeat([0, 1, 2], 20)
X = (np.eye(3, 8)[GROUPS] + 0.1 * np.random.default_rng(0).uniform(size=(60, 8))).astype(np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Save a model that has everything: an estimate, a tree, dates, segments, shown columns and a history."""
    from dataclasses import replace

    texts = [f"{('parcel', 'password', 'refund')[group]} number {i}" for i, group in enumerate(GROUPS)]
    result = ts.cluster_texts(
        texts, embeddings=X, algorithm="hac", time=[f"2026-{1 + i % 4:02}-03" for i in range(60)],
        by={"channel": ["web", "post"] * 30}, show={"id": [str(i) for i in range(60)]},
    )  # fmt: skip
    change = GroupChange(0, "parcel", "growing", 3, 9, 0.1, 0.3, 0.01)
    history = (Update("2026-01-31", 60, (change,)),)
    path = tmp_path_factory.mktemp("models") / "a.model"
    replace(result, history=history, notes=("A note.",)).save(path)
    return path


def places(value, at=()):
    """Yield the way to every value of nested objects and lists."""
    for key, one in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*at, key)
        if isinstance(one, dict | list):
            yield from places(one, (*at, key))


def edited(summary, place, value):
    changed = copy.deepcopy(summary)
    inner = changed
    for key in place[:-1]:
        inner = inner[key]
    if value is places:  # stands for nothing at all
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    changed["sha256"][SUMMARY] = _digest_of_summary(changed)
    return changed


def use(result):
    """Do what commands do with a model."""
    result.to_frame(), result.topics_frame(), result.by("channel"), result.over_time(), result.trends()
    str(result), result.changes
    summary = summarize(Done(result, "text", {"model": Path("a.model")}), "a.csv", {})
    json.dumps(summary)
    print_summary(summary)
    for topic in result.topics:
        result.typical_texts(topic)
        topic.name.encode()


def test_every_edit_of_the_summary_is_refused_or_harmless(folder, capsys):
    path = folder / SUMMARY
    before = path.read_text(encoding="utf-8")
    summary = json.loads(before)
    use(ts.TextClustering.load(folder, embeddings=X))
    n_edits = refused = 0
    rng = np.random.default_rng(0)
    for place in places(summary):
        if place[0] in ("sha256", "written_by") or any(isinstance(key, int) and key > 1 for key in place):
            continue
        for value in rng.permutation(len(WRONG) + 1)[:2]:
            changed = edited(summary, place, places if value == len(WRONG) else WRONG[value])
            path.write_text(json.dumps(changed), encoding="utf-8")
            n_edits += 1
            refused += 1
            try:
                result = ts.TextClustering.load(folder, embeddings=X)
                refused -= 1
                use(result)
            except UserError:
                pass
            except Exception as error:
                raise AssertionError(f"{place} = {WRONG[value] if value < len(WRONG) else 'gone'!r}") from error
    path.write_text(before, encoding="utf-8")
    assert refused > 0.7 * n_edits > 100


@pytest.mark.parametrize(
    "content", ["[" * 200_000, '{"format": Infinity, "sha256": {}}', '{"format": 4, "sha256": 7}', "7"]
)
def test_a_summary_that_is_no_summary(folder, tmp_path, content):
    import shutil

    copied = tmp_path / "b.model"
    shutil.copytree(folder, copied)
    (copied / SUMMARY).write_text(content)
    with pytest.raises(UserError, match="is damaged: it is not what textspectra wrote"):
        ts.TextClustering.load(copied)
