"""Time, segments, filters, shown columns and changes in a browser."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from browser import needs_browser
from in_browser import PAYLOAD, card_texts, download, map_point, move_to, painted
from report_data import quick_map

import textspectra as ts
from textspectra.report.state import apply_state, read_state
from textspectra.texts.history import ClusterChange
from textspectra.texts.sentences import change_in_words, ends_in_words, note_on_tests, volume_in_words

pytestmark = needs_browser

WORDS = ["parcel", "password", "refund", "invoice", "battery", "delivery"]
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun"]


@pytest.fixture(scope="module")
def columns(planted):
    X, truth = planted(6, 600, noise=0.25, seed=3)
    rng = np.random.default_rng(0)
    month = rng.integers(1, 7, 600)
    month[truth == 0] = np.cbrt(rng.integers(1, 343, (truth == 0).sum())).astype(int)
    texts = [f"{WORDS[cluster]} question number {i}" for i, cluster in enumerate(truth)]
    texts[50:60] = [texts[0]] * 10
    X[50:60] = X[0]
    channel = np.where(truth == 1, "phone", rng.choice(["web", "app"], 600)).astype(object)
    channel[7] = PAYLOAD
    days = [f"2026-{m:02d}-{i % 28 + 1:02d}" for i, m in enumerate(month)]
    days[9] = None
    return [*texts, ""], [*X, X[0]], [*days, days[0]], [*channel, "web"], [f"T-{i}" for i in range(601)]


@pytest.fixture(scope="module")
def result(columns):
    texts, X, days, channel, ids = columns
    by = {"channel": channel, "half": ["x", "y"] * 300 + ["x"]}
    return ts.cluster_texts(texts, embeddings=X, n_clusters=6, time=days, by=by, show={"id": ids}, every="month")


def choose(page, label, option):
    page.locator(f"#filters label:has-text('{label}') select").select_option(label=option)


def passing(columns, channel, months):
    """Return the rows of a channel in some months, among those in a group."""
    _, _, days, channels, _ = columns
    return [
        row
        for row in range(600)
        if channels[row] == channel and days[row] and int(days[row][5:7]) in months
    ]  # fmt: skip


def test_cards_have_trend_lines_with_words(open_page, report, result):
    page = open_page(report)
    changes = result.tally.trends
    kinds = changes.kind
    page.click("#open-all")
    assert page.locator("#list .spark").count() == 6
    for place, (cluster, kind) in enumerate(zip(result.clusters, kinds, strict=True)):
        node = page.evaluate("textspectra.tree.base.nodes")[cluster.label]
        steady = kind == "steady"
        words = "no significant change" if steady else change_in_words(changes, place, result.tally)
        assert page.get_attribute(f"#list li:has([data-node='{node}']) .spark", "aria-label") == words
        seen = page.locator(f"#list li:has([data-node='{node}']) .trend").text_content()
        assert seen.startswith("steady" if steady else ends_in_words(changes, place))
    assert kinds.count("growing") == 1
    page.click("#sorting button >> text=change")
    growing = result.clusters[kinds.index("growing")].name
    assert card_texts(page, ".name")[0] == growing
    move_to(page, 9)
    assert page.locator("#list .spark").count() == 9


def test_a_text_that_repeats_is_on_its_card_with_its_count(open_page, report, columns):
    page = open_page(report)
    page.click("#open-all")
    repeated = page.locator("#list .example[data-times]")
    assert repeated.all_text_contents() == [columns[0][0]]
    assert repeated.get_attribute("data-times") == "11 × "


def test_the_panel_shows_what_changes_then_what_is_chosen(open_page, report, result):
    page = open_page(report)
    growing = result.clusters[result.tally.trends.kind.index("growing")]
    chips = page.locator("#time-groups button")
    page.locator("#over-time").scroll_into_view_if_needed()
    page.wait_for_selector("#over-time .main-svg")
    assert growing.name in chips.all_text_contents()[0]
    frame = result.over_time()
    share = frame.loc[frame["cluster"] == growing.label]
    figure = page.evaluate("textspectra.overTime.figure().data.slice(0, 3)")
    for trace, column in zip(figure, ("low", "high", "share"), strict=True):
        np.testing.assert_allclose(trace["y"], share[column])
    assert figure[2]["x"] == [f"{month} 2026" for month in MONTHS]
    bars = page.evaluate("textspectra.overTime.figure().data.at(-1)")
    assert bars["y"] == share["total"].tolist()
    assert page.locator("#time-volume li").all_text_contents() == volume_in_words(result.tally.trends, result.tally)
    assert note_on_tests(result.tally) in page.text_content("#time-text")
    page.select_option("#time-add", index=1)
    before = chips.count()
    chips.first.click()
    assert chips.count() == before - 1
    page.click("#time-reset")
    assert growing.name in chips.all_text_contents()[0]
    page.click(".card >> nth=2")
    assert chips.count() == 1
    assert page.input_value(".rename input") in chips.first.text_content()


def test_the_heat_map_has_the_lifts(open_page, report, result):
    page = open_page(report)
    assert page.locator("#segment option").all_text_contents() == ["channel", "half"]
    frame = result.by("channel").set_index(["cluster_name", "value"])
    values = list(dict.fromkeys(result.by("channel")["value"]))
    rows = page.locator("#heat tbody tr")
    assert rows.count() == 6
    for at in range(6):
        name = rows.nth(at).locator("th").text_content()
        cells = rows.nth(at).locator("td")
        for number, value in enumerate(values):
            one = frame.loc[(name, value)]
            shown = cells.nth(number)
            ratio, figures = shown.locator("b").text_content(), shown.locator("small").text_content()
            assert float(ratio.rstrip("×")) == pytest.approx(one["lift"], abs=0.06)
            assert figures.startswith(f"{one['texts']} · ")
            assert float(figures.split(" · ")[1].rstrip("%")) == pytest.approx(100 * one["share"], abs=0.51)
            expected = one["overall"] * frame.xs(value, level="value")["texts"].sum()
            assert ("few" in shown.get_attribute("class").split()) == (expected < 10)
            assert ("marked" in shown.get_attribute("class")) == (one["represented"] != "as expected")
    strongest = rows.first.locator("td.over.marked")
    strongest.hover()
    assert page.inner_text("#heat-about").startswith(rows.first.locator("th").text_content())
    assert page.inner_text("#heat-about").endswith(": 98 texts, 99% of phone, 5.8× expected (significant)")
    assert page.inner_text("#segment-text").endswith("fewer than 10 texts are expected, so the ratio may be chance.")
    page.select_option("#segment", label="half")
    assert page.locator("#heat thead th").all_text_contents()[1:] == ["x300", "y300"]
    rows.nth(1).locator("th button").click()
    assert page.locator("#group-view").is_visible()


def test_filters_act_on_map_list_search_and_downloads(open_page, report, result, columns, tmp_path):
    page = open_page(report)
    choose(page, "channel", page.locator("#filters option:has-text('web (')").first.text_content())
    choose(page, "from", "Feb 2026")
    choose(page, "to", "Apr 2026")
    rows = passing(columns, "web", {2, 3, 4})
    texts = {columns[0][row] for row in rows}
    assert page.inner_text("#filtered").startswith(f"{len(rows)} of 600 texts, in ")
    sizes = np.bincount(result.labels[rows], minlength=6)
    found = dict(zip(card_texts(page, ".name"), map(int, card_texts(page, ".figures b")), strict=True))
    assert found == {cluster.name: sizes[cluster.label] for cluster in result.clusters if sizes[cluster.label]}
    painted(page)
    places = page.evaluate("[...textspectra.map.plot.data[0].x].filter((x) => !Number.isNaN(x)).length")
    assert places == len(texts)
    assert page.inner_text("#map-note").startswith(f"{len(texts)} different texts.")
    page.fill("#search", "refund")
    page.wait_for_function("document.getElementById('found').textContent")
    assert page.inner_text("#found").startswith(f"{sum('refund' in columns[0][row] for row in rows)} texts found")
    saved = list(csv.DictReader(io.StringIO(download(page, "#csv").read_text(encoding="utf-8-sig"), newline="")))
    assert [int(row["row"]) - 1 for row in saved] == rows
    page.wait_for_function("location.hash.includes('from') && location.hash.includes('q=')")
    fragment = page.evaluate("location.hash")
    path = tmp_path / "state.json"
    path.write_bytes(download(page, "#json").read_bytes())
    state = json.loads(path.read_text(encoding="utf-8"))
    assert state["filter"] == {"from": "2026-02-01", "to": "2026-04-01", "by": [["channel", "web"]]}
    assert [row["row"] for row in state["rows"]] == rows
    assert sum(cluster["filtered_size"] for cluster in state["clusters"]) == len(rows)
    assert (apply_state(result, read_state(path)).labels == result.labels).all()

    again = open_page(report, fragment)
    assert again.inner_text("#filtered").startswith(f"{len(rows)} of 600 texts")
    assert again.input_value("#search") == "refund"
    page.click("#clear-filter")
    assert sum(map(int, card_texts(page, ".figures b"))) == 600
    assert page.inner_text("#filtered") == ""
    assert page.locator("#clear-filter").is_hidden()


def test_a_filter_may_leave_nothing_and_addresses_may_be_wrong(open_page, report):
    wrong = '#from=2026-05-01&to=2026-01-01&by=[["channel","none"],["no","x"],7]'
    page = open_page(report, wrong)
    assert page.evaluate("textspectra.state.filter") == {"from": None, "to": None, "values": [None, None]}
    choose(page, "channel", page.locator("#filters option:has-text('<img')").text_content())
    assert page.locator(".card").count() == 1
    page.click(".card")
    page.select_option("#filters select >> nth=1", index=1)
    assert page.inner_text("#filtered") == "0 of 600 texts, in 0 groups"
    page.click(".back")
    assert page.locator(".card").count() == 0
    choose(page, "to", "Jan 2026")
    choose(page, "from", "Mar 2026")
    assert page.evaluate("textspectra.state.filter.to") == 2
    page.click("#clear-filter")
    assert page.locator(".card").count() == 6


def test_shown_columns_are_in_tooltip_lists_and_downloads(open_page, report, columns):
    page = open_page(report, width=1400, height=1000)
    texts, _, days, channels, ids = columns
    x, y = map_point(page, 100)
    page.mouse.move(x - 3, y)
    page.mouse.move(x, y)
    page.wait_for_selector("#tooltip:not([hidden])")
    # Each move is an event of its own, so both are read at once.
    part = "document.querySelector('#tooltip .{}').textContent"
    hovered, cells = page.evaluate(f"[{part.format('text')}, {part.format('cells')}]")
    assert cells == f"id {ids[texts.index(hovered)]}"
    page.fill("#search", f'"{texts[0]}"')
    page.wait_for_function("document.getElementById('found').textContent.startsWith('11 texts')")
    page.click(".card >> nth=0")
    assert page.inner_text(".virtual .cells") == "T-0"
    page.click(".virtual .text-row")
    table = [row.split("\t") for row in page.inner_text("#reader-rows table").splitlines()]
    assert table[0] == ["time", "channel", "half", "id"]
    assert [row[3] for row in table[1:]] == ["T-0", *(f"T-{i}" for i in range(50, 60))]
    page.keyboard.press("Escape")
    saved = list(csv.DictReader(io.StringIO(download(page, "#csv").read_text(encoding="utf-8-sig"), newline="")))
    assert [row["id"] for row in saved] == ids
    assert [row["time"] for row in saved] == [day or "" for day in days]
    assert [row["channel"] for row in saved] == channels
    rows = json.loads(download(page, "#json").read_text(encoding="utf-8"))["rows"]
    assert rows[9]["time"] is None
    assert [row["half"] for row in rows] == ["x", "y"] * 300 + ["x"]


def test_without_rows_there_are_lines_and_no_filters(open_page, result, tmp_path):
    with quick_map():
        ts.write_report(replace(result, details=None), tmp_path / "report.html")
    page = open_page(tmp_path / "report.html", '#by=[["channel","web"]]')
    assert page.locator("#filters").is_hidden()
    page.click("#open-all")
    assert page.locator("#list .spark").count() == 6
    assert page.locator("#heat tbody tr").count() == 6
    move_to(page, 8)
    assert 0 < page.locator("#list .spark").count() < 8
    assert page.locator("#heat tbody tr").count() == page.locator("#list .spark").count()
    move_to(page, 3)
    assert page.locator("#list .spark").count() == 3


def test_the_page_begins_with_what_changed(open_page, result, tmp_path):
    one, two, three, *others = result.clusters
    changes = [
        ClusterChange(one.label, one.name, "new", 0, one.size, 0, one.size / 600, 0),
        ClusterChange(two.label, two.name, "growing", 20, two.size, 0.031, 0.17, 0),
        ClusterChange(three.label, three.name, "shrinking", 400, three.size, 0.4, 0.17, 0),
        ClusterChange(77, PAYLOAD, "gone", 9, 0, 0.02, 0, 0),
        *(ClusterChange(cluster.label, cluster.name, "steady", 100, 100, 0.1, 0.1, 1) for cluster in others),
    ]
    with quick_map():
        ts.write_report(result, tmp_path / "report.html", changes=changes)
    page = open_page(tmp_path / "report.html")
    assert page.evaluate("document.getElementById('headline').nextElementSibling.id") == "changed"
    assert page.locator("#changed h3").all_text_contents() == ["New 1", "Growing 1", "Shrinking 1", "Gone 1"]
    assert page.inner_text("#keeping-command") == "textspectra report report.model"
    assert page.locator("#changed .name").all_text_contents() == [one.name, two.name, three.name, PAYLOAD]
    figures = page.locator("#changed .figures").all_text_contents()
    assert figures == [
        f"{one.size / 6:.1f}%, {one.size} texts", f"3.1% → 17.0%, 20 → {two.size} texts",
        f"40.0% → 17.0%, 400 → {three.size} texts", "2.0% → 0%, 9 → 0 texts",
    ]  # fmt: skip
    assert page.inner_text("#changed .example") == result.typical_texts(one)[0]
    assert page.inner_text("#changes > p") == "No significant change in the other 3 groups."
    assert page.locator("#changed button").count() == 3
    move_to(page, 3)
    page.click("#changed button >> nth=0")
    assert page.input_value("#k") == "6"
    assert page.input_value(".rename input") == one.name
    with quick_map():
        ts.write_report(result, tmp_path / "report.html", changes=changes[4:], overwrite=True)
    page = open_page(tmp_path / "report.html", width=360, height=740)
    assert page.inner_text("#changes > p >> nth=0") == "No group appeared, grew, shrank or disappeared."
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_hostile_columns_are_just_columns(open_page, planted, tmp_path):
    X, _ = planted(2, 40, noise=0.2)
    texts = [f"text {i}" for i in range(40)]
    values = [PAYLOAD, "</script><script>globalThis.hacked=1</script>"] * 20
    result = ts.cluster_texts(
        texts, embeddings=X, n_clusters=2, time=["2026-01-01", "2026-02-01", "2026-03-01", "2026-04-01"] * 10,
        by={PAYLOAD: values, "__proto__": values}, show={f"{PAYLOAD} id": values, "constructor": values},
    )  # fmt: skip
    result = result.rename({0: PAYLOAD, 1: "<b>bold</b>"})
    changes = [ClusterChange(0, PAYLOAD, "new", 0, 20, 0, 0.5, 0), ClusterChange(9, PAYLOAD, "gone", 5, 0, 0.5, 0, 0)]
    path = tmp_path / "hostile.html"
    with quick_map():
        ts.write_report(result, path, changes=changes)
    page = open_page(path)
    page.locator("#over-time").scroll_into_view_if_needed()
    page.wait_for_selector("#over-time .main-svg")
    page.locator("#over-time .xy .nsewdrag").hover()
    page.select_option("#segment", index=1)
    page.locator("#heat td").first.hover()
    page.select_option("#filters select >> nth=0", index=1)
    page.wait_for_function("location.hash.includes('by')")
    page.click(".card >> nth=0")
    page.click(".virtual .text-row >> nth=0")
    assert PAYLOAD in page.inner_text("#reader-rows")
    page.keyboard.press("Escape")
    saved = list(csv.DictReader(io.StringIO(download(page, "#csv").read_bytes().decode("utf-8-sig"), newline="")))
    assert {row["__proto__"] for row in saved} == {row["constructor"] for row in saved} == {PAYLOAD}
    assert json.loads(download(page, "#json").read_text())["rows"][0][f"{PAYLOAD} id"] == PAYLOAD
    assert page.locator("body img, body b:has-text('bold')").count() == 0
    assert page.evaluate("document.querySelectorAll('script').length") == 2
    open_page(path, page.evaluate("location.hash"))


def test_everything_has_a_name_and_fits_a_narrow_screen(open_page, report):
    page = open_page(report, width=360, height=740, color_scheme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    unnamed = page.evaluate(
        """[...document.querySelectorAll('button, input, select')].filter((one) =>
            !one.ariaLabel && !one.labels?.length && !(one.matches('button') && one.textContent.trim())).length"""
    )
    assert unnamed == 0
