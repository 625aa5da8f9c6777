"""What changed since last time, as the page has it."""

from dataclasses import replace

from report_data import contents

import textspectra as ts
from textspectra.texts.history import GroupChange


def test_changes_point_to_their_groups():
    X = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0.1, 0]]
    result = ts.cluster_texts(["a b", "c\n d", "e f", "a b c"], embeddings=X, n_clusters=3)
    first, second, third = result.topics
    changes = [
        GroupChange(third.label, third.name, "steady", 10, 10, 0.1, 0.11, 0.8),
        GroupChange(second.label, second.name, "new", 0, 1, 0.0, 0.25, 0.001),
        GroupChange(99, "old", "gone", 4, 0, 0.02, 0.0, 0.01),
        GroupChange(first.label, first.name, "growing", 1, 2, 0.1, 0.5, 0.01),
    ]
    meta = contents(result, changes=changes)[0]
    found = meta["changes"]
    assert [one["status"] for one in found] == ["growing", "new", "gone", "steady"]
    nodes = meta["base"]["nodes"]
    assert [one["node"] for one in found] == [nodes[0], nodes[1], None, nodes[2]]
    assert [one["text"] for one in found] == ["", result.typical_texts(second)[0].replace("\n ", " "), "", ""]
    assert found[0] == {
        "node": nodes[0], "name": first.name, "status": "growing", "shares": [0.1, 0.5], "text": "",
        "figures": "10.0 % → 50.0 %, 1 → 2 texts",
    }  # fmt: skip
    assert contents(result, changes=[])[0]["changes"] == []


def test_the_page_says_what_is_compared_and_what_a_share_hides(planted):
    X, _ = planted(3, 240, noise=0.1)
    model = ts.cluster_texts([f"a {i}" for i in range(120)], embeddings=X[:120], n_clusters=3)
    found = model.compare([f"b {i}" for i in range(120)], embeddings=X[120:])
    change = GroupChange(0, "a", "shrinking", 40, 41, 0.5, 0.25, 0.0)
    meta = contents(found.result, changes=replace(found, group_changes=(change,)))[0]
    assert meta["compared"] == "the new file (120 texts) compared with the model (120 texts)"
    assert meta["changes"][0]["figures"] == "50.0 % → 25.0 %, 40 → 41 texts (about the same number)"
    assert contents(model)[0]["compared"] == ""
