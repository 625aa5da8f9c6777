"""What was set in the page, back in the result."""

import json

import pytest
from report_data import cut_labels

from textspectra.errors import UserError
from textspectra.report.state import FORMAT, Changes, apply_state, count_changes, read_state


def state_at(meta, k, names=None):
    """Return the state of a page at k, with some groups renamed."""
    nodes = meta["nodes"]
    clusters = [
        {"cluster": label, "name": (names or {}).get(label, nodes["name"][node]), "size": nodes["size"][node]}
        for label, node in cut_labels(meta, k)[1].items()
    ]
    return {"fingerprint": meta["about"]["fingerprint"], "clusters": clusters}


def test_a_state_that_changes_nothing(result, page_data):
    same = apply_state(result, state_at(page_data[0], 9))
    assert (same.labels == result.labels).all()
    assert same.topics == result.topics
    assert count_changes(result, same) == Changes(unchanged=9, renamed=0, before=0, after=0)


def test_names_reach_the_groups_that_were_renamed(result, page_data):
    renamed = apply_state(result, state_at(page_data[0], 9, {2: "second", 7: "seventh"}))
    assert (renamed.labels == result.labels).all()
    expected = [{2: "second", 7: "seventh"}.get(topic.label, topic.name) for topic in result.topics]
    assert [topic.name for topic in renamed.topics] == expected
    assert count_changes(result, renamed) == Changes(unchanged=7, renamed=2, before=0, after=0)


@pytest.mark.parametrize("k", [4, 8, 10, 12])
def test_groups_that_stay_the_same_keep_number_and_name(result, page_data, k):
    changed = apply_state(result, state_at(page_data[0], k))
    groups = {topic.label: frozenset((changed.labels == topic.label).nonzero()[0]) for topic in changed.topics}
    assert len(groups) == k
    old = {label: frozenset((result.labels == label).nonzero()[0]) for label in range(9)}
    same = [label for label, rows in old.items() if rows in groups.values()]
    assert same
    for label in same:
        assert groups[label] == old[label]
        assert changed.topics[changed.position(label)].name == result.topics[label].name
    assert sorted(set(groups) - set(same)) == list(range(9, 9 + k - len(same)))
    assert count_changes(result, changed) == Changes(len(same), 0, 9 - len(same), k - len(same))


def test_states_that_do_not_fit(result, page_data):
    state = state_at(page_data[0], 4)
    with pytest.raises(UserError, match="The state comes from the report of another model: their texts differ"):
        apply_state(result, {**state, "fingerprint": "0" * 16})
    for name in ("x", " "):
        with pytest.raises(UserError, match="The names in the state are blank or not all different"):
            apply_state(result, {**state, "clusters": [{**cluster, "name": name} for cluster in state["clusters"]]})
    with pytest.raises(UserError, match="The state does not fit the model, whose groups have changed since the report"):
        apply_state(
            result,
            {**state, "clusters": [{"cluster": 0, "name": "a", "size": 1}, {"cluster": 1, "name": "b", "size": 2}]},
        )
    with pytest.raises(UserError, match="The state is damaged: its clusters cannot be read"):
        apply_state(result, {"fingerprint": ""})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "state.json is not JSON; use the file that “Download JSON” of a report writes."),
        ("[]", "state.json was not written by “Download JSON” of a report of this version."),
        ('{"format": "other"}', "state.json was not written by “Download JSON” of a report of this version."),
    ],
)
def test_other_files_are_no_states(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "state.json"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        read_state(path)
    path.write_text(json.dumps({"format": FORMAT, "clusters": []}))
    assert read_state(path) == {"format": FORMAT, "clusters": []}
