"""Changes of groups between two files, and the digests that recognize a file."""

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import textspectra as ts
from textspectra.errors import UserError
from textspectra.texts.history import DIGESTS, check_not_taken_in, columns_of, content_digest, find_changes
from textspectra.words.describe import Cluster


@given(
    st.lists(st.tuples(st.text(max_size=3), st.none() | st.integers(0, 9)), min_size=1, max_size=6),
    st.integers(0, 6), st.integers(0, 6),
)  # fmt: skip
def test_a_digest_is_about_content_and_not_about_how_it_lies_in_memory(rows, cut, first):
    texts, numbers = [text for text, _ in rows], [number for _, number in rows]
    table = pa.table({"text": texts, "n": pa.array(numbers, pa.int64())})
    pieces = pa.concat_tables([table[:cut], table[cut:]])
    inside = pa.concat_tables([table, table]).combine_chunks()[len(rows) :]
    assert content_digest(table) == content_digest(pieces) == content_digest(inside)
    changed = [*texts]
    changed[first % len(texts)] += "x"
    assert content_digest(table) != content_digest(table.set_column(0, "text", [changed]))
    assert content_digest(table) != content_digest(table.rename_columns(["text", "m"]))


def test_changes_of_a_small_file_are_chance():
    clusters = [Cluster(label, 0, (), (), str(label)) for label in range(3)]
    changes = find_changes(clusters, np.array([500, 300, 200]), np.array([3, 0, 2]))
    assert {change.status for change in changes} == {"steady"}


def changes_of(before, after):
    """Return the changes by the name of the group; groups beyond those of `before` are new."""
    clusters = [Cluster(label, 0, (), (), str(label)) for label in range(len(after))]
    return {change.name: change for change in find_changes(clusters, np.array(before), np.array(after))}


def test_what_is_said_of_old_groups_holds_when_new_ones_fill_the_file():
    # Most old groups vanish, one of them nearly so, and one keeps its number of texts.
    changes = changes_of([697, 912, 588, 803, 400, 600, 100], [0, 4, 1, 8, 0, 3, 100, 3000, 800])
    assert [change.status for change in changes.values()] == [
        "gone", "shrinking", "shrinking", "shrinking", "gone", "shrinking", "steady", "new", "new",
    ]  # fmt: skip
    doubled = changes_of([100] * 10, [100] * 10 + [1000])
    kept = [doubled[str(label)] for label in range(10)]
    assert {change.status for change in kept} == {"shrinking"}
    assert all(change.keeps_count for change in kept)
    assert kept[0].figures == "10.0% → 5.0%, 100 → 100 texts"


@pytest.mark.parametrize(
    ("before", "after", "figures"),
    [
        ([3, 99_997], [2, 99_998], "0.003% → 0.002%, 3 → 2 texts"),
        ([300, 99_700], [0, 100_000], "0.3% → 0%, 300 → 0 texts"),
        ([40_020, 59_980], [39_980, 60_020], "40.02% → 39.98%, 40,020 → 39,980 texts"),
        ([50, 50], [50, 50], "50.0% → 50.0%, 50 → 50 texts"),
    ],
)
def test_printed_shares_differ_if_the_shares_do(before, after, figures):
    assert changes_of(before, after)["0"].figures == figures


counts = st.integers(0, 2000)


@given(
    old=st.lists(st.tuples(counts, counts), min_size=1, max_size=30), new=st.lists(st.integers(10, 3000), max_size=5)
)
@example(old=[(173, 2), (20, 0), (500, 300), (7, 9), (100, 2), (200, 4)], new=[3000])
def test_a_status_never_contradicts_the_shares(old, new):
    before, after = [pair[0] for pair in old], [pair[1] for pair in old]
    assume(sum(before) and sum(after) + sum(new))
    changes = changes_of(before, after + new)
    assert [change.status for change in changes.values()][len(old) :] == ["new"] * len(new)
    for change in list(changes.values())[: len(old)]:
        rises = change.share_after > change.share_before
        assert change.status != ("shrinking" if rises else "growing")
        assert change.status != "gone" or (change.after == 0 and change.before > 0)
        assert (change.p < 0.05) == (change.status != "steady")
        assert not re.search(r"\b0\.0+%", change.figures)
    # The order of the groups does not matter.
    order = np.random.default_rng(len(old)).permutation(len(old))
    shuffled = changes_of([before[i] for i in order], [after[i] for i in order] + new)
    assert [shuffled[str(at)].status for at in range(len(old))] == [changes[str(i)].status for i in order]


@given(others=st.lists(st.tuples(st.integers(1, 200), st.integers(0, 200)), min_size=1, max_size=40), data=st.data())
def test_a_group_that_is_missing_where_20_texts_were_expected_is_gone(others, data):
    before, after = [pair[0] for pair in others], [pair[1] for pair in others]
    rest = data.draw(st.integers(max(500 - sum(after), 0), 3000))
    n_after = sum(after) + rest
    own = -(-20 * max(sum(before), 480) // (n_after - 20)) + 20  # its share before is at least 20 of n_after
    changes = changes_of([own, *before, 480], [0, *after, rest])
    assert changes["0"].share_before * n_after >= 20
    assert changes["0"].status == "gone"


def test_changes_of_a_table_begin_with_the_new_groups():
    clusters = [Cluster(label, 0, (), (), f"group {label}") for label in range(4)]
    table = columns_of(find_changes(clusters, np.array([500, 300, 200]), np.array([200, 500, 200, 90])))
    assert table["status"] == ["new", "growing", "shrinking", "steady"]
    assert (table["cluster"], table["size_after"]) == ([3, 1, 0, 2], [90, 500, 200, 200])


def test_a_file_counts_once():
    result = ts.cluster_texts(["a b", "x y"], embeddings=[[1, 0], [0, 1]], n_clusters=2)
    result.recipe[DIGESTS] = "1 2"
    check_not_taken_in(result, {"'c.csv'": "3"}, "--again")
    with pytest.raises(UserError, match=r"^'a.csv' is in this model from the start, and every text would count twice"):
        check_not_taken_in(result, {"'a.csv'": "1"}, "--again")
    with pytest.raises(UserError, match=r"^'d.csv' has the same content as 'c.csv', .* use --again"):
        check_not_taken_in(result, {"'c.csv'": "3", "'d.csv'": "3"}, "--again")
