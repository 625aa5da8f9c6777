"""Groups over time and by segment: planted changes are found, chance is not, and counts follow the groups."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import textspectra as ts
from textspectra.errors import UserError
from textspectra.texts.details import MISSING, OTHER, Segment
from textspectra.texts.periods import choose_period, period_starts, periods_between
from textspectra.texts.tally import tally_rows
from textspectra.texts.trend_words import changes_in_words, segments_in_words
from textspectra.texts.trends import find_changes

K, N = 12, 2400


@pytest.fixture(scope="module")
def tickets():
    """Twelve groups over six months: 0 grows, 1 shrinks, 2 bursts in April, and 3 comes by mail."""
    rng = np.random.default_rng(0)
    truth = np.arange(N) % K
    day = rng.integers(0, 181, N)
    root = np.sqrt(rng.random(N))
    day = np.where(truth == 0, 180 * root, np.where(truth == 1, 180 * (1 - root), day)).astype(int)
    day = np.where((truth == 2) & (rng.random(N) < 0.5), 90 + day % 20, day)
    channel = np.where((truth == 3) & (rng.random(N) < 0.6), "mail", rng.choice(["web", "phone", "mail"], N))
    return pd.DataFrame(
        {
            "text": [f"topic{group} number{row}" for row, group in enumerate(truth)],
            "received": pd.Timestamp("2025-01-01") + pd.to_timedelta(day, unit="D"),
            "channel": channel,
            "id": np.arange(N) + 1000,
            "truth": truth,
        }
    )


@pytest.fixture(scope="module")
def vectors(tickets):
    noise = np.random.default_rng(1).standard_normal((N, K))
    return (np.eye(K)[tickets["truth"]] + 0.05 * noise).astype(np.float32)


@pytest.fixture(scope="module")
def result(tickets, vectors):
    return ts.cluster_texts(tickets, embeddings=vectors, n_clusters=K, time="received", by="channel", show=["id"])


def group_of(result, truth, planted):
    """Return the number of the group that holds a planted one."""
    return int(np.bincount(result.labels[truth == planted]).argmax())


def test_planted_changes_and_only_they_are_reported(result, tickets):
    kinds = {planted: result.trends()["kind"][group_of(result, tickets["truth"], planted)] for planted in range(K)}
    assert kinds == {0: "growing", 1: "shrinking", 2: "burst", **dict.fromkeys(range(3, K), "steady")}
    burst = result.trends().iloc[group_of(result, tickets["truth"], 2)]
    assert burst["start"] <= pd.Timestamp("2025-04-01") <= burst["end"] + pd.Timedelta(days=31)
    assert burst["after"] > 2 * burst["before"]
    found = result.by("channel")
    different = found[found["represented"] == "over"]
    assert different[["cluster", "value"]].values.tolist() == [[group_of(result, tickets["truth"], 3), "mail"]]


def test_shuffled_dates_and_segments_are_rarely_a_finding(result):
    changes = differences = 0
    segment = result.details.segments["channel"]
    for seed in range(100):
        order = np.random.default_rng(seed).permutation(N)
        shuffled = replace(
            result.details,
            days=result.details.days[order],
            segments={"channel": segment._replace(codes=segment.codes[order])},
        )
        other = replace(result, tally=tally_rows(shuffled, result.labels, K, None))
        changes += set(find_changes(other.tally).kind) != {"steady"}
        differences += (other.by("channel")["represented"] != "as expected").any()
    # At a rate of 5 %, more than 10 of 100 have a probability of 1 %.
    assert changes <= 10
    assert differences <= 10


def test_the_recipe_names_the_columns(result):
    assert result.recipe["command"].endswith("random_state=0, time='received', by=('channel',), show=('id',))")


def test_over_time_counts_the_rows(result, tickets):
    frame = result.over_time()
    assert result.tally.every == "week"
    monday = tickets["received"] - pd.to_timedelta(tickets["received"].dt.day_of_week, unit="D")
    expected = tickets.groupby([result.labels, monday]).size()
    for row in frame.sample(40, random_state=0).itertuples():
        assert row.texts == expected.get((row.cluster, row.period), 0)
        assert row.total == (monday == row.period).sum()
        assert row.low <= row.share <= row.high
        assert row.cluster_name == result.topics[row.cluster].name
    assert frame["texts"].sum() == N


def test_by_compares_with_all_other_texts(result, tickets):
    for row in result.by("channel").itertuples():
        here = tickets["channel"] == row.value
        inside = result.labels == row.cluster
        assert (row.texts, row.total) == ((here & inside).sum(), here.sum())
        assert row.lift == pytest.approx((here & inside).sum() / here.sum() / inside.mean())
        assert row.lift_low <= row.lift <= row.lift_high


def test_words_name_the_surest_first(result, tickets):
    names = {planted: result.topics[group_of(result, tickets["truth"], planted)].name for planted in range(4)}
    lines = changes_in_words(result)
    assert {line.partition(":")[0] for line in lines} == {names[0], names[1], names[2]}
    assert any(line.startswith(f"{names[2]}: a burst of ") for line in lines)
    assert any(
        line.startswith(f"{names[0]}: ") and line.endswith(" of texts, weeks of 30 Dec 2024 to 30 Jun 2025")
        for line in lines
    )
    assert changes_in_words(result, 1)[1] == "and 2 more groups change"
    assert segments_in_words(result)[0].startswith(f"{names[3]}: ")
    assert " of texts with channel mail, 8.3 % overall" in segments_in_words(result)[0]


def test_counts_follow_when_groups_are_merged_cut_renamed_and_saved(result, tmp_path):
    merged = result.rename(0, "first").merge(0, 5)
    assert merged.over_time()["texts"].sum() == N
    both = result.tally.by_period[0] + result.tally.by_period[5]
    assert (merged.tally.by_period == both).all(axis=1).any()
    assert "first" in set(merged.over_time()["cluster_name"])
    assert result.cut(20).by("channel")["texts"].sum() == N
    merged.save(tmp_path / "model")
    loaded = ts.TextClustering.load(tmp_path / "model")
    for frame, again in ((merged.over_time(), loaded.over_time()), (merged.trends(), loaded.trends())):
        pd.testing.assert_frame_equal(frame, again)
    pd.testing.assert_frame_equal(merged.by("channel"), loaded.by("channel"))
    assert loaded.details.time == "received"
    assert (loaded.details.days == result.details.days).all()
    assert loaded.details.shown["id"] == [str(number) for number in range(1000, 1000 + N)]
    assert loaded.details.segments["channel"].values == result.details.segments["channel"].values


def test_counts_without_rows_can_be_added_but_not_split(result):
    counted = replace(result, details=None)
    assert (counted.merge(0, 5).tally.by_period == result.merge(0, 5).tally.by_period).all()
    split = counted.cut(20)
    assert split.tally is None
    with pytest.raises(UserError, match=r"not counted over time"):
        split.over_time()


def test_values_may_be_given_beside_texts_or_in_any_frame(tickets, vectors, result):
    given = {"time": tickets["received"], "by": {"channel": tickets["channel"].to_numpy()}}
    options = {"embeddings": vectors, "n_clusters": K}
    beside = ts.cluster_texts(tickets["text"].tolist(), **given, **options)
    assert beside.tally.time == "received"
    strings = tickets.assign(received=tickets["received"].dt.strftime("%m/%d/%Y %I:%M %p"))
    for frame in (strings, pl.from_pandas(tickets), pa.Table.from_pandas(tickets)):
        other = ts.cluster_texts(frame, time="received", by=["channel"], **options)
        assert (other.tally.by_period == result.tally.by_period).all()
        assert type(other.over_time()).__module__.partition(".")[0] == type(frame).__module__.partition(".")[0]
    assert (beside.tally.by_period == result.tally.by_period).all()
    polars = ts.cluster_texts(tickets["text"].tolist(), time=pl.Series(tickets["received"]), **options)
    assert (polars.tally.by_period == result.tally.by_period).all()


SMALL = {"embeddings": [[1, 0], [0, 1], [1, 0], [0, 1]], "n_clusters": 2}
FRAME = pd.DataFrame(
    {"text": ["a b", "x y", "a c", "x z"], "sent": ["1/2/2025", "1/30/2025", "soon", None], "n": [1, 2, 3, 4]}
)


def test_one_period_shows_no_change_and_says_so():
    one = ts.cluster_texts(FRAME, time="sent", every="month", **SMALL)
    assert one.over_time()["texts"].tolist() == [1, 1]
    assert one.trends()["kind"].tolist() == ["steady", "steady"]
    assert changes_in_words(one) == []
    assert one.notes == (
        "1 row has no date that can be read, in 'sent'; the first is 'soon' in row 3.",
        "1 row has nothing in 'sent'.",
        "All dates are in one month (Jan 2025), which shows no change over time, unless periods are shorter: "
        '--every day (in Python, every="day").',
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time": "snt"}, "there is no column 'snt'; did you mean 'sent'? The columns are: 'text', 'sent', 'n'"),
        ({"time": "text"}, "the column 'text' holds no dates; its first value is 'a b'. Dates are in: 'sent'"),
        ({"by": ["n", "n"]}, "the column 'n' is named twice; each can be used once."),
        ({"time": "sent", "by": "sent"}, "the column 'sent' is named twice; each can be used once."),
        ({"every": "week"}, "weeks need dates: name their column with --time (in Python, time=)."),
        ({"time": "sent", "every": "hour"}, "every must be one of day, week, month, quarter, year, but it is 'hour'."),
        ({"by": {"x": [1, 2]}}, "There are 4 texts but 2 values of 'x'; give one per text."),
        ({"by": {"x": [1, 2]}, "time": "sent"}, "There are 4 texts but 2 values of 'x'; give one per text."),
    ],
)
def test_what_makes_no_sense_is_explained(options, message):
    with pytest.raises(UserError) as error:
        ts.cluster_texts(FRAME, **options, **SMALL)
    assert str(error.value) == message


def test_columns_need_a_frame_and_views_need_columns():
    with pytest.raises(UserError, match=r"^'sent' names a column of a data frame, but texts is none; give its values"):
        ts.cluster_texts(["a b", "x y", "a c", "x z"], time="sent", **SMALL)
    plain = ts.cluster_texts(FRAME, **SMALL)
    with pytest.raises(UserError, match=r"not counted over time; name a column with time= \(--time\)"):
        plain.trends()
    with pytest.raises(UserError, match=r"not counted by segments; name columns with by= \(--by\)"):
        plain.by("n")
    with pytest.raises(UserError, match=r"There is no segment 'm'; the segments of this result are: 'n'\.$"):
        ts.cluster_texts(FRAME, by="n", **SMALL).by("m")


def test_dates_that_are_all_left_out_leave_nothing_to_follow():
    frame = FRAME.assign(sent=["2999-01-01"] * 4)
    found = ts.cluster_texts(frame, time="sent", by="n", **SMALL)
    assert found.notes == (
        "4 rows have a date in the future, which is left out, in 'sent'; the first is '2999-01-01' in row 1.",
    )
    with pytest.raises(UserError, match="not counted over time"):
        found.over_time()
    assert len(found.by("n")) == 8


def test_a_segment_with_ten_thousand_values_is_compared_by_its_largest():
    values = [f"v{number % 40}" for number in range(4_000)] + [f"w{number}" for number in range(10_000)] + [None] * 3
    texts = [f"text {number % 2}" for number in range(len(values))]
    X = np.eye(2)[np.arange(len(values)) % 2]
    found = ts.cluster_texts(texts, embeddings=X, n_clusters=2, by={"customer": values})
    segment = found.details.segments["customer"]
    assert len(segment.values) == 51
    assert segment.values[-1] == OTHER
    assert set(segment.values[:40]) == {f"v{number}" for number in range(40)}
    assert found.tally.segments["customer"].values == segment.values
    assert found.tally.segments["customer"].counts.sum() == len(values)
    assert found.notes[-1] == (
        "'customer' has 10,041 different values; the 50 with the most texts are compared, and the rest counts as "
        "(other)."
    )


def test_a_missing_value_is_a_value_and_the_last_one():
    segment = Segment.of(pa.chunked_array([["b", None, " "], ["a", "b", None]])).in_order()
    assert segment.values == ["b", "a", MISSING]
    assert segment.codes.tolist() == [0, 2, 2, 1, 0, 2]


def test_periods_begin_where_the_calendar_says():
    days = np.arange("2023-12-25", "2025-02-10", dtype="datetime64[D]")
    for every, rule in {"week": "W-SUN", "month": "M", "quarter": "Q", "year": "Y", "day": "D"}.items():
        expected = pd.PeriodIndex(pd.DatetimeIndex(days), freq=rule).start_time.values.astype("datetime64[D]")
        assert (period_starts(days, every) == expected).all()
        assert (periods_between(days[0], days[-1], every) == np.unique(expected)).all()


@pytest.mark.parametrize(
    ("span", "n_texts", "n_groups", "expected"),
    [(10, 300, 5, "day"), (10, 20, 20, "day"), (180, 100_000, 60, "week"), (180, 3_000, 60, "month"),
     (700, 1_000, 60, "quarter"), (36_000, 10**6, 5, "year"), (0, 5, 2, "day")],
)  # fmt: skip
def test_the_period_suits_the_span_and_the_number_of_texts(span, n_texts, n_groups, expected):
    first = np.datetime64("2020-01-01")
    assert choose_period(first, first + span, n_texts, n_groups) == expected


def test_blank_texts_count_in_no_period():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ts.cluster_texts(
            ["a b", "", "x y"],
            embeddings=[[1, 0], [0, 0], [0, 1]],
            n_clusters=2,
            time=["2025-01-01"] * 3,
            by={"c": "uvw"},
        )
    assert found.over_time()["total"].tolist() == [2, 2]
    assert found.by("c")["total"].tolist() == [1, 1, 0] * 2
