"""What was set in the page, back in the result."""

import hashlib
from collections import namedtuple
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from report_data import cut_labels
from served import edited_content

import textspectra as ts
from textspectra.errors import UserError
from textspectra.report.build import APPLIED, grouping_mark
from textspectra.report.state import FORMAT, EditCounts, apply_state, count_changes, parse_state, read_state
from textspectra.report.tree import report_levels
from textspectra.texts.clustered import Theme


def content_at(meta, k, names=None):
    """Return what the page writes at k, with some groups renamed."""
    nodes = meta["nodes"]
    clusters = [
        {"cluster": label, "name": (names or {}).get(label, nodes["name"][node]), "size": nodes["size"][node]}
        for label, node in cut_labels(meta, k)[1].items()
    ]
    about = {key: meta["about"][key] for key in ("fingerprint", "grouping")}
    return {"format": FORMAT, **about, "edited": False, "clusters": clusters}


def state_at(meta, k, names=None):
    return parse_state(content_at(meta, k, names))


def members(result):
    return {
        cluster.label: np.flatnonzero(result.distinct_codes == code) for code, cluster in enumerate(result.clusters)
    }


def clusters_of(result):
    return {
        cluster.label: (cluster.name, frozenset(texts))
        for cluster, texts in zip(result.clusters, members(result).values(), strict=True)
    }


def test_a_state_that_changes_nothing(result, page_data):
    same = apply_state(result, state_at(page_data[0], 9))
    assert (same.labels == result.labels).all()
    assert same.clusters == result.clusters
    assert count_changes(result, same) == EditCounts(unchanged=9, renamed=0)


def test_names_reach_the_groups_that_were_renamed(result, page_data):
    renamed = apply_state(result, state_at(page_data[0], 9, {2: "second", 7: "seventh"}))
    assert (renamed.labels == result.labels).all()
    expected = [{2: "second", 7: "seventh"}.get(cluster.label, cluster.name) for cluster in result.clusters]
    assert [cluster.name for cluster in renamed.clusters] == expected
    assert count_changes(result, renamed) == EditCounts(unchanged=7, renamed=2)


@pytest.mark.parametrize("k", [4, 8, 10, 12])
def test_groups_that_stay_the_same_keep_number_and_name(result, page_data, k):
    changed = apply_state(result, state_at(page_data[0], k))
    clusters = {
        cluster.label: frozenset((changed.labels == cluster.label).nonzero()[0]) for cluster in changed.clusters
    }
    assert len(clusters) == k
    old = {label: frozenset((result.labels == label).nonzero()[0]) for label in range(9)}
    same = [label for label, rows in old.items() if rows in clusters.values()]
    assert same
    for label in same:
        assert clusters[label] == old[label]
        assert changed.clusters[changed.position(label)].name == result.clusters[label].name
    assert sorted(set(clusters) - set(same)) == list(range(9, 9 + k - len(same)))
    others = (9 - len(same), k - len(same))
    assert count_changes(result, changed) == EditCounts(len(same), 0, **{"merged" if k < 9 else "split": others})


def test_a_merge_by_hand_is_that_of_the_model(result):
    texts = members(result)
    names = {cluster.label: cluster.name for cluster in result.clusters}
    clusters = [(label, names[label], rows) for label, rows in texts.items() if label not in (3, 7)]
    both = np.sort(np.append(texts[7], texts[3]))
    changed = apply_state(result, parse_state(edited_content(result, [*clusters, (7, names[7], both)])))
    assert clusters_of(changed) == clusters_of(result.merge(7, 3))
    assert changed.next_label == result.next_label
    assert count_changes(result, changed) == EditCounts(unchanged=7, renamed=0, merged=(2, 1))


def test_split_parts_get_new_labels_and_moved_texts_change_none(result):
    texts = members(result)
    names = {cluster.label: cluster.name for cluster in result.clusters}
    _, finest = report_levels(result)
    half = np.isin(finest[texts[0]], np.unique(finest[texts[0]])[::2])
    small, large = sorted((texts[0][half], texts[0][~half]), key=len)
    went = texts[1][:3]
    clusters = [
        (9, "larger", large), (10, "smaller", small), (1, names[1], texts[1][3:]),
        (2, "renamed", np.sort(np.append(texts[2], went))),
        *((label, names[label], texts[label]) for label in range(3, 9)),
    ]  # fmt: skip
    changed = apply_state(result, parse_state(edited_content(result, clusters)))
    assert clusters_of(changed) == {label: (name, frozenset(rows)) for label, name, rows in clusters}
    assert changed.next_label == 11
    assert count_changes(result, changed) == EditCounts(unchanged=6, renamed=0, split=(1, 2), mixed=(2, 2))


def test_a_state_can_be_applied_again_after_a_kill_but_not_to_other_groups(result, page_data):
    texts = members(result)
    went, came = texts[0][:1], texts[1][:1]
    moved = {0: texts[0][1:], 1: np.sort(np.append(texts[1], went))}
    clusters = [
        (cluster.label, cluster.name, moved.get(cluster.label, texts[cluster.label])) for cluster in result.clusters
    ]
    for state in (parse_state(edited_content(result, clusters)), state_at(page_data[0], 4)):
        once = apply_state(result, state)
        assert apply_state(once, state) is once
    once = apply_state(result, parse_state(edited_content(result, clusters)))
    back = {0: np.sort(np.append(texts[0][1:], came)), 1: np.sort(np.append(np.setdiff1d(texts[1], came), went))}
    swapped = [
        (cluster.label, cluster.name, back.get(cluster.label, texts[cluster.label])) for cluster in result.clusters
    ]
    with pytest.raises(UserError, match="does not fit the model"):
        apply_state(once, parse_state(edited_content(result, swapped)))


def test_a_state_that_a_version_without_colors_applied_can_be_applied_again(result, page_data):
    # As it was digested then.
    State = namedtuple("State", "fingerprint grouping edited clusters")
    StateCluster = namedtuple("StateCluster", "label name size parts moved")
    texts = members(result)
    texts[0], texts[1] = texts[0][1:], np.sort(np.append(texts[1], texts[0][:1]))
    groups = [(cluster.label, f"{cluster.name}'s \\ “ü”", texts[cluster.label]) for cluster in result.clusters]
    for content in (content_at(page_data[0], 4), edited_content(result, groups)):
        state = parse_state(content)
        once = apply_state(result, state)
        before = State(*state[:3], [StateCluster(*cluster[:5]) for cluster in state.clusters])
        outcome = before, grouping_mark(once), [cluster.name for cluster in once.clusters]
        assert once.recipe[APPLIED] == hashlib.sha256(repr(outcome).encode()).hexdigest()[:16]
        colored = [{**one, "color": color} for color, one in enumerate(content["clusters"], start=20)]
        assert apply_state(once, parse_state({**content, "clusters": colored})) is once


def test_a_state_is_not_taken_for_applied_if_the_groups_changed_since(result, page_data):
    state = state_at(page_data[0], 4)
    once = apply_state(result, state)
    single = once.corpus.counts == 1
    first, second = (np.flatnonzero((once.distinct_codes == code) & single)[:1] for code in (0, 1))
    codes = once.distinct_codes.copy()
    codes[first], codes[second] = 1, 0
    names = {cluster.label: cluster.name for cluster in once.clusters}
    swapped = once.regroup(codes, dict(enumerate(names))).rename(names)
    assert [(cluster.label, cluster.size) for cluster in swapped.clusters] == [
        (cluster.label, cluster.size) for cluster in once.clusters
    ]
    with pytest.raises(UserError, match="does not fit the model"):
        apply_state(swapped, state)


def test_states_that_do_not_fit(result, page_data):
    content = content_at(page_data[0], 4)
    with pytest.raises(UserError, match="The state comes from a report of other texts than the model has"):
        apply_state(result, parse_state({**content, "fingerprint": "0" * 16}))
    with pytest.raises(UserError, match="The state does not fit the model, whose groups have changed since the report"):
        apply_state(result, parse_state({**content, "grouping": "0" * 16}))
    for name in ("x", " "):
        with pytest.raises(UserError, match="The names in the state are blank or not all different"):
            parse_state({**content, "clusters": [{**cluster, "name": name} for cluster in content["clusters"]]})
    half = [{**content["clusters"][0], "name": "half \ud800"}, *content["clusters"][1:]]
    with pytest.raises(UserError, match=r"The name 'half \\ud800' holds half of a character"):
        apply_state(result, parse_state({**content, "clusters": half}))
    sizes = [{**content["clusters"][0], "size": 1}, *content["clusters"][1:]]
    with pytest.raises(UserError, match="The state does not fit the model, whose groups have changed since the report"):
        apply_state(result, parse_state({**content, "clusters": sizes}))


WRONG = [0, True, None, "x", [], {}, 1.5, -1, 10**9, [[0]], [[0, 0]], [[1, 0]], [["0", 1]], [[0, 10**9]], [True], [-1]]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_state_gives_a_message_and_no_traceback(result, data):
    """Whatever one value is replaced by, the file is applied or refused with one of the messages."""
    clusters = [(label, f"group {label}", rows) for label, rows in members(result).items()]
    content = edited_content(result, clusters)
    at = data.draw(st.sampled_from(["", "clusters"]))
    target = content if not at else content["clusters"][data.draw(st.integers(0, 8))]
    key = data.draw(st.sampled_from(sorted(target)))
    before, target[key] = target[key], data.draw(st.sampled_from(WRONG))
    message, changed = None, result
    try:
        changed = apply_state(result, parse_state(content))
    except UserError as error:
        message = str(error)
    assert message is None or message.startswith(("The state ", "The names in the state "))
    assert message or key in ("format", "name", "moved") or target[key] == before
    assert clusters_of(changed).keys() == clusters_of(result).keys()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "state.json is not JSON; use the file that “Download JSON” of a report writes."),
        ("[" * 100_000, "state.json is not JSON; use the file that “Download JSON” of a report writes."),
        ('{"format": NaN}', "state.json is not JSON; use the file that “Download JSON” of a report writes."),
        ('{"format": Infinity}', "state.json is not JSON; use the file that “Download JSON” of a report writes."),
        ("[]", "state.json was not written by “Download JSON” of a report of this version."),
        ('{"format": "other"}', "state.json was not written by “Download JSON” of a report of this version."),
        (f'{{"format": "{FORMAT}"}}', "The state is damaged: its clusters cannot be read. Download the JSON file"),
        (f'{{"format": "{FORMAT}", "edited": false, "clusters": []}}', "The state is damaged: its clusters cannot be"),
    ],
)  # fmt: skip
def test_other_files_are_no_states(tmp_path, text, message):
    path = tmp_path / "state.json"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        read_state(path)


def test_texts_that_were_moved_by_hand_stay_remembered(result, tmp_path):
    groups = members(result)
    content = edited_content(result, [
        (cluster.label, cluster.name, groups[cluster.label]) for cluster in result.clusters
    ])  # fmt: skip
    rows = {label: result.corpus.first_rows[texts[:2]].tolist() for label, texts in groups.items()}
    first, second, *_ = content["clusters"]
    first["moved"], second["moved"] = rows[first["cluster"]], rows[second["cluster"]]  # moved, and back where they were
    expected = sorted(result.corpus.codes[first["moved"] + second["moved"]].tolist())
    changed = apply_state(result, parse_state(content))
    assert np.array_equal(changed.distinct_codes, result.distinct_codes)
    assert result.moved_by_hand.tolist() == []
    changed.save(tmp_path / "model")
    loaded = replace(ts.TextClustering.load(tmp_path / "model"), known_embeddings=result.known_embeddings)
    new = [result.corpus.rows[first["moved"][0]], "a new text"]
    X = result.embeddings()[[first["moved"][0], 5]]
    updated = loaded.update(new, embeddings=X)
    merged = updated.merge([cluster.label for cluster in updated.clusters[:2]])
    for later in (changed, loaded, updated, merged, merged.cut(4), loaded.rename(0, "other")):
        assert later.moved_by_hand.tolist() == expected
        assert [later.corpus.distinct[text] for text in expected] == [result.corpus.distinct[text] for text in expected]
    again = apply_state(loaded, parse_state(content))
    assert again.moved_by_hand.tolist() == expected
    assert loaded.compare(new, embeddings=X).result.moved_by_hand.tolist() == [0]


def test_colors_of_the_page_reach_the_groups_and_places_stay(result, page_data):
    content = content_at(page_data[0], 12)
    for color, cluster in enumerate(content["clusters"], start=20):
        cluster["color"] = color
    changed = apply_state(result, parse_state(content))
    assert {cluster.label: cluster.color for cluster in changed.clusters} == {
        cluster["cluster"]: cluster["color"] for cluster in content["clusters"]
    }
    assert changed.row_map is result.row_map
    for cluster, color in zip(content["clusters"], (2, 7, 2, 2, 0), strict=False):  # no two groups have the same
        cluster["color"] = color
    shown = {cluster.label: cluster.color for cluster in apply_state(result, parse_state(content)).clusters}
    first = [shown[cluster["cluster"]] for cluster in content["clusters"][:5]]
    assert (first[:2], sorted(first[2:4]), first[4]) == ([2, 7], [1, 3], 0)
    assert len(set(shown.values())) == 12
    older = apply_state(result, state_at(page_data[0], 12))  # of a page without colors
    assert len({cluster.color for cluster in older.clusters}) == 12
    for color in (-1, 2**31, True, None, "red"):
        content["clusters"][0]["color"] = color
        with pytest.raises(UserError, match="The state is damaged: its clusters cannot be read"):
            parse_state(content)


def test_themes_outlast_edits(result):
    labels = [cluster.label for cluster in result.clusters]
    themes = (
        Theme(0, "one", tuple(labels[:4])),
        Theme(1, "other", tuple(labels[4:7])),
        Theme(2, "rest", tuple(labels[7:])),
    )
    result = replace(result.with_hierarchy(), themes=themes)
    groups = members(result)
    a, b, c, d, e, *others = labels
    finest = report_levels(result)[1]
    # It moves to a group of another theme, which stays in its theme.
    text = next(text for text in groups[e] if (finest == finest[text]).sum() > 2)
    edited = [
        (a, "a and b", np.concatenate([groups[a], groups[b]])),
        (c, "c", np.append(groups[c], text)),
        (d, "across", np.concatenate([groups[d], groups[others[-1]]])),
        (e, "e", groups[e][groups[e] != text]),
        *((label, f"group {label}", groups[label]) for label in others[:-1]),
    ]
    content = edited_content(result, edited)
    changed = apply_state(result, parse_state(content))
    assert content["clusters"][1]["moved"] == [result.corpus.first_rows[text]]
    assert changed.themes == (
        Theme(0, "one", (a, c)), Theme(1, "other", (e, *others[:2])), Theme(2, "rest", (others[-2],)),
    )  # fmt: skip
