"""Groups over time and by segment: planted changes are found, chance is not, and counts follow the groups."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import textspectra as ts
from textspectra.errors import UserError
from textspectra.texts.details import MISSING, OTHER, Segment, choose_period, period_starts, periods_between
from textspectra.texts.sentences import change_in_words, segments_in_words, trends_in_words, volume_in_words
from textspectra.texts.tally import Tally, find_trends, tally_rows

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
            "text": [f"topic{cluster} number{row}" for row, cluster in enumerate(truth)],
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
        changes += set(other.tally.trends.kind) != {"steady"}
        differences += (other.by("channel")["represented"] != "as expected").any()
    # At a rate of 5%, more than 10 of 100 have a probability of 1%.
    assert changes <= 10
    assert differences <= 10


def tally_of(counts, every="month"):
    months = np.arange("2000-01", "2020-01", dtype="datetime64[M]")[: len(counts[0])]
    return Tally("sent", every, months.astype("datetime64[D]"), np.array(counts))


def changed(counts, cluster=0):
    """Return the words about a group, or None if it is steady."""
    changes = find_trends(tally_of(counts))
    return None if changes.kind[cluster] == "steady" else change_in_words(changes, cluster, tally_of(counts))


def test_a_difference_that_is_neither_trend_nor_burst_is_said_with_its_counts():
    steady = [[100, 104, 97, 101, 99, 103, 98, 102, 96]] * 6
    comes_and_goes = [30, 150, 140, 28, 31, 148, 155, 33, 29]
    assert changed([comes_and_goes, *steady]) == (
        "uneven, from 4.4% (28 of 634 texts, Apr 2000) to 21% (155 of 743, Jul 2000)"
    )
    assert changed([comes_and_goes, *steady], cluster=3) is None


def bursty_counts(rng, n_clusters, n_periods, n_texts, copies):
    """Counts of steady groups whose texts arrive in bursts; `copies` is the mean size of a burst of each group."""
    shares, volumes = rng.dirichlet(np.full(n_clusters, 2)), rng.dirichlet(np.full(n_periods, 5))
    bursts = rng.poisson(n_texts * np.outer(shares / copies, volumes))
    return bursts + rng.negative_binomial(np.maximum(bursts, 1), 1 / copies[:, None]) * (bursts > 0)


BURSTY = {"none": [1], "all": [3], "half": [1, 8], "a tenth": [8, *[1] * 9], "different": [1, 1, 2, 3, 5, 9]}


@pytest.mark.parametrize("copies", BURSTY.values(), ids=BURSTY)
@pytest.mark.parametrize(
    ("n_clusters", "n_periods", "n_texts"),
    [(30, 3, 1000), (40, 6, 1500), (12, 9, 2000), (10, 9, 150), (60, 26, 1500), (50, 24, 20000)],
)
def test_steady_groups_are_rarely_said_to_change(n_clusters, n_periods, n_texts, copies):
    rng = np.random.default_rng(4)
    sizes = np.resize(copies, n_clusters).astype(float)
    tallies = [tally_of(bursty_counts(rng, n_clusters, n_periods, n_texts, sizes)) for _ in range(40)]
    assert sum(set(find_trends(tally).kind) != {"steady"} for tally in tallies) <= 6


@pytest.mark.parametrize("copies", [1, 2, 4])
def test_two_periods_are_rarely_different_if_all_groups_are_equally_bursty(copies):
    rng = np.random.default_rng(4)
    tallies = [tally_of(bursty_counts(rng, 30, 2, 1500, np.full(30, float(copies)))) for _ in range(40)]
    assert sum(set(find_trends(tally).kind) != {"steady"} for tally in tallies) <= 6


def test_a_group_that_falls_and_recovers_within_nine_days_is_found():
    rng = np.random.default_rng(5)
    counts = np.array([0, 36, 25, 28, 27, 44, 20, 20, 18])  # 18.5% on one day, 3.9% on another
    totals = np.array([3, 190, 167, 171, 190, 238, 516, 438, 178])
    wrong = 0
    for _ in range(20):
        others = np.array([rng.multinomial(n, rng.dirichlet(np.full(9, 500))) for n in totals - counts]).T
        kinds = find_trends(tally_of([counts, *others])).kind
        assert kinds[0] in {"uneven", "shrinking"}  # both are true of it
        wrong += sum(kind != "steady" for kind in kinds[1:])
    assert wrong <= 2  # of 180


def test_ends_of_a_trend_have_enough_texts():
    counts = [[1, 90, 80, 60, 40, 30, 21, 20, 0]] + [[0, 100, 100, 102, 99, 101, 98, 100, 2]] * 6
    assert changed(counts) == (
        "shrinking from 12% (171 of 1,371 texts, first third) to 3.3% (41 of 1,241, last third), Jan to Sep 2000"
    )
    one_text = [[1, 0, 0, 0], [0, 400, 390, 410]]
    assert changed(one_text) is None


def test_a_period_with_far_more_texts_is_named():
    totals = [160, 171, 158, 516, 149, 163, 155, 0]
    tally = tally_of([[n // 2 for n in totals], [n - n // 2 for n in totals]])
    assert volume_in_words(find_trends(tally), tally) == [
        "Texts per month: 0 to 516 (median 159).",
        "Apr 2000: 516 texts, 3.2 times the usual 159",
        "Aug 2000: 0 texts, usually about 159 (it may be incomplete)",
    ]


tables = st.integers(1, 7).flatmap(
    lambda periods: st.lists(st.lists(st.integers(0, 300), min_size=periods, max_size=periods), min_size=1, max_size=8)
)


@given(tables)
def test_kinds_say_what_the_counts_say(counts):
    changes = find_trends(tally_of(counts))
    totals, periods = np.sum(counts, axis=0), tally_of(counts).periods.tolist()
    for cluster, kind in enumerate(changes.kind):
        before, after = changes.before[cluster], changes.after[cluster]
        if kind == "shrinking":
            assert after < before
        elif kind != "steady":
            assert after > before
        if kind != "steady":
            assert changes.p[cluster] < 0.05
            assert min(changes.total_before[cluster], changes.total_after[cluster]) >= 10
        if kind == "uneven":
            low, high = periods.index(changes.start[cluster]), periods.index(changes.end[cluster])
            assert (before, after) == (counts[cluster][low] / totals[low], counts[cluster][high] / totals[high])
    assert set(changes.volume) <= {"more", "fewer", "usual"}


@given(tables, st.randoms())
def test_the_order_of_groups_does_not_matter(counts, random):
    order = random.sample(range(len(counts)), len(counts))
    kinds, shuffled = (find_trends(tally_of(one)).kind for one in (counts, [counts[cluster] for cluster in order]))
    assert shuffled == [kinds[cluster] for cluster in order]


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
        assert row.volume == ("fewer" if row.period == pd.Timestamp("2025-06-30") else "usual")
        assert row.cluster_name == result.clusters[row.cluster].name
    assert frame["texts"].sum() == N


def test_by_compares_with_all_other_texts(result, tickets):
    for row in result.by("channel").itertuples():
        here = tickets["channel"] == row.value
        inside = result.labels == row.cluster
        assert (row.texts, row.total) == ((here & inside).sum(), here.sum())
        assert row.lift == pytest.approx((here & inside).sum() / here.sum() / inside.mean())
        assert row.lift_low <= row.lift <= row.lift_high


def test_words_name_the_surest_first(result, tickets, monkeypatch):
    names = {planted: result.clusters[group_of(result, tickets["truth"], planted)].name for planted in range(4)}
    lines = trends_in_words(result)
    assert lines[0].startswith("Texts per week: ")
    assert lines[1].startswith("week of 30 Jun 2025: ")
    assert lines[1].endswith(" (it may be incomplete)")
    assert {line.partition(":")[0] for line in lines[2:-1]} == {names[0], names[1], names[2]}
    assert any(line.startswith(f"{names[2]}: burst, weeks of ") for line in lines)
    assert any(
        line.startswith(f"{names[0]}: growing from ") and line.endswith("), weeks of 30 Dec 2024 to 30 Jun 2025")
        for line in lines
    )
    assert lines[-1] == (
        "Tested: trends, bursts and any other difference between weeks, for 12 groups, and the number of texts per "
        "week; corrected for the number of tests."
    )
    monkeypatch.setattr("textspectra.texts.sentences._STRONGEST", 1)
    assert trends_in_words(result)[3] == "and 2 more groups change"
    assert segments_in_words(result)[0].startswith(f"{names[3]}: ")
    assert " of texts with channel mail, 8.3% (200 of 2,400) overall" in segments_in_words(result)[0]


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
    assert trends_in_words(one) == []
    assert one.notes == (
        "1 row has no date that can be read, in 'sent'; the first is 'soon' in row 3.",
        "1 row has nothing in 'sent'.",
        "All dates are in one month (Jan 2025), which shows no change over time, unless periods are shorter: "
        '--every day (in Python, every="day").',
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time": "snt"}, "unknown column 'snt'; did you mean 'sent'? The columns are: 'text', 'sent', 'n'"),
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
    with pytest.raises(UserError, match=r"^'sent' names a column of a data frame, but texts is not one; give"):
        ts.cluster_texts(["a b", "x y", "a c", "x z"], time="sent", **SMALL)
    plain = ts.cluster_texts(FRAME, **SMALL)
    with pytest.raises(UserError, match=r"not counted over time; name a column with time= \(--time\)"):
        plain.trends()
    with pytest.raises(UserError, match=r"not counted by segments; name columns with by= \(--by\)"):
        plain.by("n")
    with pytest.raises(UserError, match=r"The segment 'm' is unknown; the segments of this result are: 'n'\.$"):
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
    ("span", "n_texts", "n_clusters", "expected"),
    [(10, 300, 5, "day"), (10, 20, 20, "day"), (180, 100_000, 60, "week"), (180, 3_000, 60, "month"),
     (700, 1_000, 60, "quarter"), (36_000, 10**6, 5, "year"), (0, 5, 2, "day")],
)  # fmt: skip
def test_the_period_suits_the_span_and_the_number_of_texts(span, n_texts, n_clusters, expected):
    first = np.datetime64("2020-01-01")
    assert choose_period(first, first + span, n_texts, n_clusters) == expected


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
