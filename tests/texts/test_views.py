"""The tables of a result: map, keywords with weights, near-duplicates and the tree of groups, in every library."""

from collections import Counter
from dataclasses import replace

import narwhals
import numpy as np
import pytest

import textspectra as ts
from textspectra.errors import UserError
from textspectra.texts import views
from textspectra.texts.notes import notes_on_repeats
from textspectra.words import keywords as keywords_module

WORDS = ["parcel", "password", "refund", "invoice", "battery", "delivery", "voucher", "camera"]


@pytest.fixture(scope="module")
def messages():
    """Return 160 texts of eight groups in four pairs, a blank one, and their vectors."""
    rng = np.random.default_rng(0)
    groups = np.arange(160) % 8
    X = 3 * np.eye(12)[groups // 2] + np.eye(12)[4 + groups] + 0.05 * rng.standard_normal((160, 12))
    return [*(f"my {WORDS[group]} is number {i}" for i, group in enumerate(groups)), ""], np.append(X, X[:1], axis=0)


@pytest.fixture(scope="module")
def result(messages):
    texts, X = messages
    found = ts.cluster_texts(texts, embeddings=X)
    assert (found.n_clusters, len(found.themes)) == (8, 4)
    return found


def rows_of(frame):
    return narwhals.from_native(frame, eager_only=True).rows(named=True)


def check_tree(frame, result):
    """Check that the frame is one tree whose sizes add up, with every cluster in it; return its rows by node."""
    rows = rows_of(frame)
    nodes = {row["node"]: row for row in rows}
    assert len(nodes) == len(rows)
    assert [row["level"] for row in rows if row["parent"] is None or np.isnan(row["parent"])] == ["root"]
    assert rows[0]["level"] == "root"
    assert rows[0]["size"] == sum(cluster.size for cluster in result.clusters)
    sizes = Counter()
    seen = {rows[0]["node"]}
    for row in rows[1:]:
        assert row["parent"] in seen
        seen.add(row["node"])
        sizes[row["parent"]] += row["size"]
    assert all(sizes[row["node"]] == row["size"] for row in rows if row["level"] != "cluster")
    clusters = {row["node"]: (row["name"], row["size"]) for row in rows if row["level"] == "cluster"}
    assert clusters == {cluster.label: (cluster.name, cluster.size) for cluster in result.clusters}
    return nodes


def clusters_below(nodes, top):
    def parents(node):
        while node is not None and not np.isnan(node):
            yield node
            node = nodes[node]["parent"]

    return {node for node, row in nodes.items() if row["level"] == "cluster" and top in parents(node)}


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_views_are_frames_of_the_library_of_the_texts(library, messages):
    pytest.importorskip(library)
    texts, X = messages
    frame = narwhals.from_dict({"text": texts}, backend=library).to_native()
    result = ts.cluster_texts(frame, embeddings=X, n_clusters=8)
    for view, columns in {
        "map": ["x", "y"],
        "keywords": ["cluster", "cluster_name", "keyword", "weight"],
        "hierarchy_frame": ["node", "parent", "size", "name", "level"],
    }.items():
        shown = getattr(result, view)()
        assert type(shown) is type(frame)
        assert narwhals.from_native(shown, eager_only=True).columns == columns
    check_tree(result.hierarchy_frame(), result)


def test_the_map_has_a_point_for_each_row_and_does_not_depend_on_the_groups(messages, result):
    texts, X = messages
    points = result.map().to_numpy()
    assert np.isnan(points[-1]).all()
    assert np.abs(points[:-1]).max() == pytest.approx(1)
    twice = ts.cluster_texts([*texts, texts[5]], embeddings=np.append(X, X[5:6], axis=0)).map().to_numpy()
    np.testing.assert_array_equal(twice[:-1], points)
    np.testing.assert_array_equal(twice[-1], points[5])
    np.testing.assert_array_equal(result.cut(3).map(), points)


def test_weights_are_the_class_based_tf_idf_of_the_definition(result):
    matrix, terms = result.term_matrix()
    assert matrix.shape == (8, len(terms))
    assert len(set(terms)) == len(terms)
    counted = [[f" {word} " in f" {text} " for text in result.corpus.distinct] for word in WORDS]
    shares = np.array([np.bincount(result.distinct_codes, has, 8) / 20 for has in counted])
    for word, share in zip(WORDS, shares, strict=True):
        expected = [s * np.log(s * 9 / share.sum()) if s else 0 for s in share]
        np.testing.assert_allclose(matrix[:, [terms.index(word)]].toarray().ravel(), expected)
    assert matrix.data.min() > 0


def test_keywords_have_the_weights_that_rank_them(result):
    frame = result.keywords()
    matrix, terms = result.term_matrix()
    for row, cluster in enumerate(result.clusters):
        mine = frame[frame["cluster"] == cluster.label]
        assert tuple(mine["keyword"]) == cluster.keywords
        assert set(mine["cluster_name"]) == {cluster.name}
        assert mine["weight"].is_monotonic_decreasing
        columns = [terms.index(word) for word in cluster.keywords]
        np.testing.assert_array_equal(matrix[[row], :][:, columns].toarray().ravel(), mine["weight"])
        assert matrix[[row], :].toarray().max() == mine["weight"].iloc[0]


def test_a_word_of_two_languages_has_one_column():
    dutch = ["Ik wil mijn abonnement opzeggen en het geld terug"] * 3
    french = ["Je veux suspendre mon abonnement et je ne le paie pas"] * 3
    others = [f"the lamp is broken {i}" for i in range(6)]
    members = [np.arange(6), np.arange(6, 12)]
    weights = keywords_module.weigh_terms(dutch + french + others, members, np.ones(12))
    assert weights.terms.count("abonnement") == 1
    assert weights.forms[0]["abonnement"] == weights.matrix[0, weights.terms.index("abonnement")] > 0


def test_a_keyword_that_is_rare_or_common_by_now_has_the_weight_0(result):
    first, *others = result.clusters
    changed = replace(result, clusters=(replace(first, keywords=("unheard of",)), *others))
    assert changed.keywords()["weight"].iloc[0] == 0


def test_the_tree_has_the_themes_and_the_merges_between(result):
    nodes = check_tree(result.hierarchy_frame(), result)
    assert Counter(row["level"] for row in nodes.values()) == {"cluster": 8, "coarse": 4, "merge": 2, "root": 1}
    themes = {row["name"]: clusters_below(nodes, node) for node, row in nodes.items() if row["level"] == "coarse"}
    assert themes == {theme.name: set(theme.clusters) for theme in result.themes}
    merge = next(row["name"] for row in nodes.values() if row["level"] == "merge")
    assert any(word in merge for word in WORDS)
    assert len({row["name"] for row in nodes.values()}) == len(nodes)


def test_the_tree_of_finer_groups_has_the_suggested_level(result):
    finer = result.cut(12)
    nodes = check_tree(finer.hierarchy_frame(), finer)
    levels = Counter(row["level"] for row in nodes.values())
    assert (levels["cluster"], levels["suggested"], levels["coarse"]) == (12, 8, 4)
    suggested = {row["name"]: row["size"] for row in nodes.values() if row["level"] == "suggested"}
    assert suggested == {cluster.name: cluster.size for cluster in result.clusters}


def test_trees_of_edited_and_updated_groups(result):
    first, second, *_ = (cluster.label for cluster in result.clusters)
    for edited in (result.merge(first, second), result.rename(first, "something else"), result.cut(1)):
        check_tree(edited.hierarchy_frame(), edited)
    new = np.random.default_rng(1).standard_normal((60, 12)) * 0.05 + np.eye(12)[3] - np.eye(12)[0]
    updated = result.update([f"a lamp in room {i}" for i in range(60)], embeddings=new)
    assert updated.n_clusters > 8
    nodes = check_tree(updated.hierarchy_frame(), updated)
    assert sum(row["level"] == "coarse" for row in nodes.values()) == 4
    assert len(updated.map()) == 221
    assert len(updated.keywords()) == sum(len(cluster.keywords) for cluster in updated.clusters)


def test_views_of_a_single_text():
    result = ts.cluster_texts(["hello there"], embeddings=[[1, 0]])
    assert result.map().to_numpy().tolist() == [[0, 0]]
    nodes = check_tree(result.hierarchy_frame(), result)
    assert len(nodes) == 2


@pytest.fixture
def parcels():
    texts = ["", "late parcel", "late parcel!", "late parcel", "password", "so late, the parcel", "passwords"]
    X = [[1, 1], [1, 0], [1, 0.1], [1, 0], [0, 1], [1, 0.2], [0.2, 1]]
    return ts.cluster_texts(texts, embeddings=X, n_clusters=2)


def test_each_text_is_listed_once_by_its_first_row(parcels):
    frame = parcels.duplicates()
    assert list(frame.columns) == ["row", "duplicate_of", "similarity", "text"]
    assert frame[["row", "duplicate_of", "text"]].values.tolist() == [
        [2, 1, "late parcel!"], [5, 1, "so late, the parcel"], [6, 4, "passwords"],
    ]  # fmt: skip
    assert frame["similarity"].tolist() == pytest.approx([1 / 1.01**0.5, 1 / 1.04**0.5, 1 / 1.04**0.5])
    assert parcels.duplicates(0.99)["row"].tolist() == [2]
    assert parcels.duplicates(1)["row"].tolist() == []


def test_very_many_texts_are_compared_within_groups(parcels, monkeypatch):
    everything = parcels.duplicates(0.1)["row"].tolist()
    assert everything == [2, 4, 5, 6] or everything == [2, 5, 6]
    monkeypatch.setattr(views, "COMPARED_TEXTS", 2)
    assert parcels.duplicates(0.1)["row"].tolist() == [2, 5, 6]
    assert parcels.duplicates()["row"].tolist() == [2, 5, 6]


@pytest.mark.parametrize("threshold", [0, 1.01, -1, float("nan"), "high", True])
def test_a_threshold_is_a_cosine(parcels, threshold):
    expected = f"threshold must be a number above 0 and at most 1, but it is {threshold!r}."
    with pytest.raises(UserError) as error:
        parcels.duplicates(threshold)
    assert str(error.value) == expected


def test_a_note_says_that_many_texts_nearly_repeat():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 50))

    def encoder(texts):
        return X[[int(word) if word.isdigit() else 199 for text in texts for word in text.split()[-1:]]]

    texts = [f"text number {row}" for row in range(200)]
    X[:40] = X[40:80] + 0.01 * rng.standard_normal((40, 50))
    share = "About 40% of the different texts nearly repeat another one"
    note = f"{share}, so the groups may look clearer than they are; in Python, result.duplicates() lists them."
    result = ts.cluster_texts(texts, model=encoder, n_clusters=3, cache=False)
    assert note in result.notes
    assert len(result.duplicates()) == 40
    # In given vectors, a high cosine may be usual.
    assert note not in ts.cluster_texts(texts, embeddings=X, n_clusters=3).notes
    X[:10] = rng.standard_normal((10, 50))
    assert notes_on_repeats(ts.cluster_texts(texts, embeddings=X, n_clusters=3).embedded()) == ()
    few = ts.cluster_texts(texts[:99], embeddings=X[40:139] * 0 + 1, n_clusters=1)
    assert notes_on_repeats(few.embedded()) == ()


def test_the_map_has_the_index_of_the_given_frame(messages):
    import pandas as pd

    texts, X = messages
    frame = pd.DataFrame({"text": texts, "v": list(X)}).iloc[3:40]
    result = ts.cluster_texts(frame, text_column="text", embeddings="v", n_clusters=3)
    assert result.map().index.equals(frame.index)
    assert result.to_frame().join(result.map())["x"].notna().all()
