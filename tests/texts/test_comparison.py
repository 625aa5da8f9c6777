"""New texts against a model: what changed, what is new, and what stays as it was."""

import io
from dataclasses import replace
from datetime import datetime
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import textspectra as ts
from textspectra.cli.months import print_changes, summarize_changes
from textspectra.core import map as core_map
from textspectra.core.map import RowMap
from textspectra.errors import UserError
from textspectra.texts import novelty
from textspectra.texts.comparison import Drift, compare_texts, updated
from textspectra.texts.novelty import draw_reference

WORDS = ["parcel", "password", "refund", "invoice", "battery", "delivery", "warranty", "coupon"]


def rows_of(classes, seed):
    """Return texts and vectors of classes: directions with noise."""
    rng = np.random.default_rng(seed)
    centers = np.random.default_rng(99).standard_normal((20, 48))
    texts = [f"my {WORDS[one % 8]} question number {seed}-{row}" for row, one in enumerate(classes)]
    return texts, centers[classes] + 0.6 * rng.standard_normal((len(classes), 48))


def test_the_page_says_what_was_read_of_which_file(result):
    model = replace(result, recipe={**result.recipe, "read": "'january.csv', column 'text'"})
    texts, X = rows_of(np.arange(90) % 6, 1)
    found = compare_texts(model, texts, embeddings=X, source="february.csv")
    assert found.result.reading.startswith("Read february.csv: 90 rows")
    after = updated(model, found, ["digest"])
    assert after.reading.startswith("Read 'january.csv', column 'text', and 1 update: 690 rows")
    german = [f"Wo ist mein Paket mit der Nummer {n} und wann kommt es an?" for n in range(90)]
    assert next(iter(compare_texts(model, german, embeddings=X).result.languages)) == "German"


@pytest.fixture(scope="module")
def result():
    texts, X = rows_of(np.arange(600) % 6, 0)
    return ts.cluster_texts(texts, embeddings=X, n_clusters=6)


@pytest.fixture(scope="module")
def news():
    """200 texts: one class four times as frequent as before, one gone, and 40 texts of a class that is new."""
    return rows_of(np.concatenate([np.zeros(100, int), np.arange(60) % 4 + 1, np.full(40, 7)]), 1)


@pytest.fixture(scope="module")
def found(result, news):
    return result.compare(news[0], embeddings=news[1])


def test_a_comparison_finds_what_was_planted(result, news, found):
    changes = found.changes.set_index("cluster")
    (new,) = changes.index[changes["status"] == "new"]
    assert new == 6
    assert found.is_new[160:].mean() > 0.9
    assert not found.is_new[:160].any()
    grown = result.predict([news[0][0]], embeddings=news[1][:1])[0]
    gone = result.labels[5]  # no new text is of class 5
    assert changes.loc[grown, "status"] == "growing"
    assert changes.loc[gone, "status"] == "gone"
    assert changes["size_after"].sum() == 200
    assert changes.loc[grown, "share_before"] == pytest.approx(1 / 6)
    assert found.new_clusters[0].name == "coupon"
    assert found.novelty[160:].min() > np.median(found.novelty[:160])


def test_the_frame_has_the_columns_of_the_table(result, news):
    texts, X = news
    frame = result.compare(pd.DataFrame({"id": range(200), "text": texts}), embeddings=X).to_frame()
    of_clusters = ["cluster", "cluster_name", "similarity", "cluster_coarse", "cluster_coarse_name"]
    assert list(frame) == ["id", "text", *of_clusters, "novelty", "is_new"]
    assert set(frame.loc[frame["is_new"], "cluster"]) == {6}
    plain = result.compare(texts, embeddings=X).to_frame()
    assert list(plain) == ["text", *of_clusters, "novelty", "is_new"]


def test_an_update_keeps_every_label_and_name(result, news, tmp_path):
    own = result.rename(2, "my own name")
    after = own.update(news[0], embeddings=news[1])
    assert (after.labels[:600] == own.labels).all()
    assert [cluster.name for cluster in after.clusters[:6]] == [cluster.name for cluster in own.clusters]
    assert (after.centers[:6] == own.centers).all()
    assert after.n_clusters == 7
    assert after.totals.rows == len(after) == 800
    assert sum(cluster.size for cluster in after.clusters) == 800
    assert all("coupon" in text for text in after.typical_texts(after.clusters[6]))
    assert after.changes["status"].tolist() == own.compare(news[0], embeddings=news[1]).changes["status"].tolist()
    after.save(tmp_path / "model")
    again = ts.TextClustering.load(tmp_path / "model")
    assert (again.labels == after.labels).all()
    assert again.history == after.history
    assert (again.predict(news[0], embeddings=news[1]) == after.labels[600:]).mean() > 0.95


@pytest.mark.parametrize("kind", ["texts", "frame"])
def test_the_same_texts_again_are_refused(result, news, kind, tmp_path):
    texts, X = news
    taken = texts if kind == "texts" else pd.DataFrame({"text": texts, "id": range(len(texts))})
    result.update(taken, embeddings=X).save(tmp_path / "model")
    after = ts.TextClustering.load(tmp_path / "model")
    with pytest.raises(UserError) as caught:
        after.update(taken, embeddings=X)
    assert str(caught.value) == (
        f"This input went into this model on {after.history[0].date} already, and every text would count twice. "
        "If that is what you want, use again=True."
    )
    twice = after.update(taken, embeddings=X, again=True)
    assert len(twice) == len(after) + 200
    assert twice.history[0].digests == twice.history[1].digests
    other = texts[::-1] if kind == "texts" else taken.assign(id=taken["id"] + 1)
    assert len(after.update(other, embeddings=X[::-1] if kind == "texts" else X)) == len(after) + 200


def test_a_model_of_before_there_were_digests_takes_texts_in(result, news):
    once = result.update(*news[:1], embeddings=news[1])
    older = replace(once, history=(replace(once.history[0], digests=()),))
    assert len(older.update(news[0], embeddings=news[1])) == len(once) + 200


def test_a_clock_that_goes_back_changes_only_the_dates(result, news, monkeypatch, tmp_path):
    class Earlier(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime(1999, 12, 31, tzinfo=tz)

    once = result.update(news[0], embeddings=news[1])
    monkeypatch.setattr("textspectra.texts.comparison.datetime", Earlier)
    texts, X = rows_of(np.arange(200) % 6, 2)
    once.update(texts, embeddings=X).save(tmp_path / "model")
    twice = ts.TextClustering.load(tmp_path / "model")
    assert [entry.date for entry in twice.history] == [once.history[0].date, "1999-12-31"]
    for taken in (news[0], texts):
        with pytest.raises(UserError, match="already"):
            twice.update(taken, embeddings=X)


def test_a_second_update_compares_with_the_last_file_and_gives_new_labels(result, news):
    once = result.update(news[0], embeddings=news[1])
    texts, X = rows_of(np.concatenate([np.arange(160) % 6, np.full(40, 9)]), 2)
    twice = once.update(texts, embeddings=X)
    assert [entry.rows for entry in twice.history] == [200, 200]
    changes = twice.changes.set_index("cluster")
    assert changes.index[changes["status"] == "new"].tolist() == [7]
    assert changes.loc[6, "status"] == "gone"
    merged = twice.merge(6, 7)
    assert merged.next_label == 8
    assert [cluster.label for cluster in merged.clusters] == list(range(7))


def test_texts_of_the_model_keep_their_group_and_are_not_new(result):
    some = result.corpus.rows[:100]
    found = result.compare(some, embeddings=result.embeddings()[:100])
    assert (found.result.labels == result.labels[:100]).all()
    assert not found.is_new.any()
    updated = result.update(some, embeddings=result.embeddings()[:100])
    assert len(updated.corpus.distinct) == 600
    assert updated.totals.distinct == 600
    assert len(updated) == 700


def test_dates_and_segments_go_on(news):
    texts, X = rows_of(np.arange(600) % 6, 0)
    frame = pd.DataFrame({"text": texts, "sent": "2026-09-03", "channel": "web"})
    frame.loc[::2, "sent"] = "2026-08-05"
    result = ts.cluster_texts(frame, embeddings=X, n_clusters=6, time="sent", by="channel", every="month")
    new = pd.DataFrame({"text": news[0], "sent": "2026-10-07"})
    after = result.update(new, embeddings=news[1])
    assert after.over_time()["period"].nunique() == 3
    assert set(after.by("channel")["value"]) == {"web", "(missing)"}
    assert "The column 'channel' of the model is missing in these texts." in after.notes
    assert after.details.days[-1] == np.datetime64("2026-10-07")


def test_blank_texts_are_no_texts(result, news):
    found = result.compare([*news[0][:50], "", None], embeddings=np.vstack([news[1][:50], np.zeros((2, 48))]))
    assert found.result.labels[-2:].tolist() == [-1, -1]
    assert np.isnan(found.novelty[-2:]).all()
    with pytest.raises(
        UserError, match="None of the 2 texts can be compared: all are blank, say nothing or are unknown"
    ):
        result.compare(["", " "], embeddings=np.zeros((2, 48)))
    with pytest.raises(UserError, match="These embeddings have 3 dimensions, but the clusters were found in 48"):
        result.compare(["a"], embeddings=np.ones((1, 3)))


def test_a_model_without_vectors_says_so(result, news, tmp_path):
    result.save(tmp_path / "model")
    loaded = ts.TextClustering.load(tmp_path / "model")
    assert loaded.compare(*news[:1], embeddings=news[1]).new_clusters
    bare = replace(loaded, reference=None)
    with pytest.raises(UserError, match="made from given embeddings, which are not saved with it"):
        bare.compare(news[0], embeddings=news[1])


def test_a_group_that_falls_in_two_is_suggested_and_not_split():
    texts, X = rows_of(np.arange(400) % 4, 0)
    result = ts.cluster_texts(texts, embeddings=X, n_clusters=4)
    # Half of the new texts of class 0 have moved a little, but stay nearest to it.
    more, Y = rows_of(np.zeros(150, int), 1)
    Y[::2] += 0.9 * np.random.default_rng(5).standard_normal(48) * 2
    found = result.compare(more, embeddings=Y)
    assert set(found.splits) <= {int(result.labels[0])}
    assert result.update(more, embeddings=Y).n_clusters == 4 + len(found.new_clusters)


def test_drift_is_judged_in_one_place(result, news, found):
    assert found.drift == Drift.of(found.novelty)
    assert found.drift.is_significant
    assert found.result.notes[0] == (
        f"{100 * found.drift.share_above_1:.0f}% of the new texts are unlike the texts of the model, where 10% is "
        "usual: its groups are out of date. Cluster the old and the new texts together for groups that fit."
    )
    assert result.update(news[0], embeddings=news[1]).notes[0] == found.result.notes[0]
    texts, X = rows_of(np.arange(150) % 6, 3)
    calm = result.compare(texts, embeddings=X)
    assert not calm.drift.is_significant
    assert not calm.result.notes
    assert Drift.of(np.array([2], np.float32)).in_words() == ""
    assert Drift.of(np.array([np.nan], np.float32)) == (None, None, 0.1, False)
    assert Drift.of(np.repeat(np.array([0, 2], np.float32), [70, 30])).is_significant


def test_drift_is_one_call_for_a_fresh_and_for_a_loaded_model(result, news, found, tmp_path):
    assert result.drift(news[0], embeddings=news[1]) == found.drift
    result.save(tmp_path / "model")
    loaded = ts.TextClustering.load(tmp_path / "model")
    assert loaded.drift(news[0], embeddings=news[1]).is_significant
    assert replace(loaded, reference=None).drift(news[0], embeddings=news[1]).median is None


def test_a_comparison_names_what_it_compares(news):
    texts, X = rows_of(np.arange(600) % 6, 0)
    frame = pd.DataFrame({"text": texts, "sent": "2026-09-03"})
    frame.loc[::2, "sent"] = "2026-08-05"
    result = ts.cluster_texts(frame, embeddings=X, n_clusters=6, time="sent")
    october = pd.DataFrame({"text": news[0], "sent": "2026-10-07"})
    found = compare_texts(result, october, embeddings=news[1], source="october.csv")
    model = "the model (600 texts, 5 Aug to 3 Sep 2026)"
    assert found.in_words == f"october.csv (200 texts, 7 Oct 2026) compared with {model}"
    after = updated(result, found, [])
    assert after.history[-1].source == "october.csv"
    texts, X = rows_of(np.arange(90) % 6, 4)
    again = after.compare(texts, embeddings=X)
    assert again.in_words == "the new file (90 texts) compared with october.csv (200 texts, 7 Oct 2026)"


def test_groups_merged_since_the_last_file_have_their_sizes_in_it(result, news):
    after = result.update(news[0], embeddings=news[1])
    last = after.labels[600:]
    merged = after.merge(0, 1)
    changes = merged.compare(news[0], embeddings=news[1]).changes.set_index("cluster")
    assert changes.loc[0, "size_before"] == changes.loc[0, "size_after"] == np.isin(last, [0, 1]).sum()
    assert set(changes["status"]) == {"steady"}


def test_a_mixed_group_says_so_wherever_it_is_named(result, found):
    (new,) = found.new_clusters
    assert not new.is_mixed
    assert not found.cluster_changes[-1].mixed
    loose = replace(found.cluster_changes[-1], mixed=True)
    assert loose.figures.endswith(" texts, mixed")
    marked = replace(new, is_mixed=True)
    mixed = replace(found, cluster_changes=(*found.cluster_changes[:-1], loose), new_clusters=(marked,))
    assert mixed.changes.set_index("cluster").loc[new.label, "mixed"]
    summary = summarize_changes(mixed, "m.model", ["october.csv"], {}, {})
    assert [cluster["mixed"] for cluster in summary["new_clusters"]] == [True]
    said = Console(record=True, width=200, file=io.StringIO())
    print_changes({**summary, "outputs": {"table": "t.csv"}}, said)
    assert "coupon is mixed: the name does not speak for all texts of the group." in said.export_text()
    after = updated(result, mixed, [])
    assert after.history[-1].changes[-1].mixed
    assert [cluster.label for cluster in after.clusters if cluster.is_mixed] == [new.label]


def test_new_texts_are_placed_on_the_map_of_the_model(result, news, tmp_path):
    model = replace(result, row_map=RowMap())
    assert model.update(news[0], embeddings=news[1]).row_map.known is None  # there is no map to keep
    before = model.map_points()
    model.save(tmp_path / "model")
    X = np.concatenate([result.embeddings(), news[1]])
    for one in (model, ts.TextClustering.load(tmp_path / "model")):  # the folder has a sample of the vectors
        comparison = one.compare([result.corpus.rows[0], *news[0]], embeddings=np.concatenate([X[:1], news[1]]))
        beside = comparison.result.map_points()
        np.testing.assert_array_equal(beside[0], before[0])  # a text that the model has is where it was
        near = np.argsort(np.linalg.norm(beside[1:161, None] - before, axis=2), axis=1)[:, :5]
        known = comparison.result.labels[1:161]
        assert (result.labels[near] == known[:, None]).mean() > 0.9
        after = updated(one, comparison, ["digest"])
        np.testing.assert_array_equal(after.row_map.points(), np.concatenate([before, beside[1:]]))
        assert [cluster.color for cluster in after.clusters] == [0, 1, 2, 3, 4, 5, 6]
        assert comparison.new_clusters[0].color == 6


def test_an_update_after_a_map_that_was_given_up(result, news, monkeypatch):
    model = replace(result, row_map=RowMap())
    with monkeypatch.context() as patch:
        patch.setattr(core_map, "arrange", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            model.map_points()
    after = model.update(news[0], embeddings=news[1])
    assert after.row_map.known is None
    X = np.concatenate([result.embeddings(), news[1]])
    expected = ts.cluster_texts([*result.corpus.rows, *news[0]], embeddings=X, n_clusters=6)
    np.testing.assert_array_equal(after.map_points(), expected.map_points())


def test_the_sample_of_a_model_in_memory_is_drawn_once_for_a_comparison(result, news, monkeypatch):
    drawn = []
    monkeypatch.setattr(novelty, "draw_reference", lambda *of: drawn.append(of) or draw_reference(*of))
    result.map_points()
    assert result.compare(news[0], embeddings=news[1]).result.row_map.is_beside
    assert len(drawn) == 1


def test_colors_places_and_moves_by_hand_go_through_all_edits(result, news, tmp_path):
    by_hand = np.array([3, 500])
    model = replace(result, row_map=RowMap(), moved_by_hand=by_hand)
    points = model.map_points()
    first, second, *others = (cluster.label for cluster in model.clusters)
    merged = model.merge(first, second)
    cut = merged.cut(4)
    after = cut.update(news[0], embeddings=news[1])
    after.save(tmp_path / "model")
    loaded = ts.TextClustering.load(tmp_path / "model")
    colors = [{cluster.label: cluster.color for cluster in one.clusters} for one in (model, merged, cut, after, loaded)]
    assert colors[1] == {label: color for label, color in colors[0].items() if label != second}
    assert colors[2].keys() & set(others)  # some groups are the same before and after the cut
    for earlier, later in pairwise(colors):
        assert all(later[label] == earlier[label] for label in later.keys() & earlier.keys())
        assert len(set(later.values())) == len(later)
    assert len(colors[3]) == len(colors[2]) + 1
    assert colors[4] == colors[3]
    for one in (merged, cut, after, loaded):
        assert one.moved_by_hand.tolist() == by_hand.tolist()
        np.testing.assert_array_equal(one.map_points()[:600], points)
    np.testing.assert_array_equal(loaded.map_points(), after.map_points())
    assert not np.isnan(loaded.map_points()).any()
