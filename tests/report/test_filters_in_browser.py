"""The cells of the heat map, and what follows a filter, in a browser."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest
from browser import needs_browser
from in_browser import card_texts, download, painted
from report_data import quick_map

import textspectra as ts

pytestmark = needs_browser

WORDS = ["parcel", "password", "refund", "invoice"]
FIGURES = "[...document.querySelectorAll('#heat tbody tr')].map((row) => [...row.cells].map((one) => one.innerText))"


@pytest.fixture(scope="module")
def columns(planted):
    """Return texts, vectors, regions and months; one text is in every region, and few texts are in the west."""
    X, truth = planted(4, 400, noise=0.25, seed=3)
    rng = np.random.default_rng(0)
    texts = [f"{WORDS[cluster]} question number {i}" for i, cluster in enumerate(truth)]
    same = np.flatnonzero(truth == 0)[:9]
    X[same] = X[same[0]]
    for row in same:
        texts[row] = "the same parcel question"
    region = np.where(truth == 0, "north", rng.choice(["north", "south", "west"], 400, p=[0.3, 0.65, 0.05]))
    region[same] = ["north", "south", "west"] * 3
    return texts, X, region, rng.integers(1, 5, 400)


@pytest.fixture(scope="module")
def result(columns):
    texts, X, region, months = columns
    by = {"region": region.tolist(), "plan": ["free", "paid"] * 200}
    days = [f"2026-0{month}-11" for month in months]
    return ts.cluster_texts(texts, embeddings=X, n_clusters=4, time=days, by=by, every="month")


def cell_of(page, name, value):
    at = page.locator("#heat thead th").all_text_contents()
    column = next(i for i, head in enumerate(at) if head.startswith(value))
    return page.locator(f"#heat tbody tr:has(button:text-is('{name}')) > :nth-child({column + 1})")


def rows_of(columns, result, cluster, value):
    return [i for i in range(400) if columns[2][i] == value and result.labels[i] == cluster.label]


def test_a_cell_opens_its_texts_and_back_leads_to_the_cell(open_page, report, result, columns):
    page = open_page(report, width=1440, height=900)
    (parcel,) = (cluster for cluster in result.clusters if "parcel" in cluster.name)
    cell, rows = cell_of(page, parcel.name, "south"), rows_of(columns, result, parcel, "south")
    same = [row for row in rows if columns[0][row] == "the same parcel question"]
    assert len(same) == 3
    cell.locator("button").click()
    view = page.locator("#work-view")
    assert view.locator("h2").inner_text() == f"{parcel.name}, region south"
    different = f"{len(rows)} texts, {len(rows) - 2} different, in 1 group"
    assert view.locator(".muted").first.inner_text() == f"{different}; moving them also moves 6 rows outside this list"
    assert page.evaluate("document.activeElement.id") == "work-view"
    assert page.locator("#work-view .back").evaluate(
        """(back) => {
            const { left, top } = back.getBoundingClientRect();
            return document.elementFromPoint(left + 15, top + 15) === back; // the bar above does not cover it
        }"""
    )
    view.locator(".text-row").first.wait_for()
    counted = [text.replace("\n", " ") for text in view.locator(".text-row").all_inner_texts()]
    (repeated,) = (text for text in counted if text.startswith("the same parcel question"))
    assert " 3× " in repeated
    saved = download(page, "#work-view button >> text=Download CSV").read_text(encoding="utf-8-sig")
    assert [int(row["row"]) - 1 for row in csv.DictReader(io.StringIO(saved, newline=""))] == rows
    lit = page.evaluate("Array.from(textspectra.map.matches).filter(Boolean).length")
    assert lit == len(rows) - 2
    page.click("#work-view .back")
    assert view.is_hidden()
    assert page.evaluate("document.activeElement.closest('td').title").startswith(f"{parcel.name}: {len(rows)} texts, ")
    assert cell.is_visible()


def test_keys_reach_every_cell_by_one_stop(open_page, report, result):
    page = open_page(report)
    assert page.locator("#heat [tabindex='0']").count() == 1
    page.locator("#heat tbody th button").first.focus()
    for key in ("ArrowUp", "ArrowLeft", "ArrowRight", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    place = page.evaluate("(({ cellIndex, parentElement }) => [parentElement.rowIndex, cellIndex])"
                          "(document.activeElement.closest('td'))")  # fmt: skip
    assert place == [2, 2]
    told = page.evaluate("document.activeElement.ariaLabel")
    assert page.inner_text("#heat-about") == told
    assert page.locator("#heat [tabindex='0']").count() == 1
    page.keyboard.press("Enter")
    assert page.locator("#work-view h2").is_visible()
    assert page.inner_text("#work-view .muted >> nth=0").split(" text")[0] == told.split(": ")[-1].split(" text")[0]
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "← by segment"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.ariaLabel") == told


def test_a_table_without_rows_opens_nothing(open_page, result, tmp_path):
    with quick_map():
        ts.write_report(replace(result, details=None), tmp_path / "report.html")
    page = open_page(tmp_path / "report.html")
    assert page.locator("#heat td").count() == 12
    assert page.locator("#heat td button").count() == 0
    assert "Select a cell" not in page.inner_text("#segment-text")


def test_pale_cells_are_those_with_few_expected_texts(open_page, report, result):
    page = open_page(report)
    frame = result.by("region").set_index(["cluster_name", "value"])
    for name, value in frame.index:
        one, cell = frame.loc[(name, value)], cell_of(page, name, value)
        few = one["overall"] * one["total"] < 10
        assert ("few" in cell.get_attribute("class").split()) == few
        assert cell.get_attribute("title").endswith(", fewer than 10 expected)") == few
    assert frame["texts"].min() > 0
    pale, plain = (page.locator(f"#heat td.over{kind}").first for kind in (".few", ":not(.few)"))
    assert pale.evaluate("(one) => getComputedStyle(one).getPropertyValue('--part')") == "0.15"
    assert plain.evaluate("(one) => Number(getComputedStyle(one).getPropertyValue('--part'))") >= 0.5
    assert page.inner_text("#segment-text").endswith("fewer than 10 texts are expected, so the ratio may be chance.")


def test_everything_follows_a_filter_or_says_that_it_does_not(open_page, report, result, columns):
    page = open_page(report, width=1440, height=900)
    everything = page.inner_text("#time-text")
    page.select_option("#filters select >> nth=1", label="paid (200)")
    page.select_option("#filters select >> nth=2", label="Feb 2026")
    page.select_option("#filters select >> nth=3", label="Mar 2026")
    texts, _, regions, months = columns
    left = [i for i in range(400) if i % 2 and months[i] in {2, 3}]
    sizes = np.bincount(result.labels[left], minlength=4)
    names = {cluster.label: cluster.name for cluster in result.clusters}

    # answer, title, cards
    ordered = sorted(names, key=lambda label: -sizes[label])
    first = f"{names[ordered[0]]} ({round(100 * sizes[ordered[0]] / len(left))}%)"
    assert page.inner_text("h1").startswith(f"4 groups in the filtered texts. The largest: {first}, ")
    assert page.title() == f"4 groups in {len(left)} texts · textspectra"
    words = f"Filter: plan paid, from Feb 2026 to Mar 2026: {len(left)} of 400 texts."
    assert page.inner_text("#read").startswith(words)
    assert sum(map(int, card_texts(page, ".figures b"))) == len(left)

    # heat map
    for label, name in names.items():
        for value in ("north", "south", "west"):
            here = [i for i in left if regions[i] == value]
            n = sum(result.labels[i] == label for i in here)
            ratio, figures = cell_of(page, name, value).inner_text().splitlines()
            assert float(ratio.rstrip("×")) == pytest.approx(n / (sizes[label] * len(here) / len(left)), abs=0.06)
            assert figures.split(" · ")[0] == str(n)
    assert page.locator("#heat .marked").count() == 0
    assert "not tested while there is a filter" in page.inner_text("#segment-text")
    page.select_option("#segment", label="plan")
    assert page.locator("#heat thead th").all_text_contents() == ["plan", f"paid{len(left)}"]
    assert "only one value here, so there is nothing to compare." in page.inner_text("#segment-text")

    # months
    figure = page.evaluate("textspectra.overTime.figure()")
    assert figure["data"][-1]["y"] == [
        sum(months[i] == month for i in left) * (month in {2, 3}) for month in range(1, 5)
    ]
    assert figure["layout"]["xaxis"]["range"] == [0.5, 2.5]
    label = ordered[0]
    shares = [np.mean([result.labels[i] == label for i in left if months[i] == month]) for month in (2, 3)]
    assert figure["data"][2]["y"] == [None, *(pytest.approx(share) for share in shares), None]
    assert page.inner_text("#time-text") != everything
    assert "Share of the filtered texts" in page.inner_text("#time-text")
    assert page.locator("#time-volume li").count() == 0

    # lists of texts
    different = {texts[i] for i in left}
    page.click("#misfits")
    page.wait_for_function("!document.querySelector('#work-view .muted').textContent.endsWith('…')")
    assert f"of {len(different)} different texts" in page.inner_text("#work-view .muted") or (
        page.inner_text("#work-view .muted").startswith("No text is nearer")
    )
    page.click("#work-view .back")
    page.evaluate("textspectra.editing.compare(...textspectra.tree.cut(4).slice(0, 2))")
    assert page.locator("#work-view .unfiltered").is_visible()
    page.click("#work-view .back")
    page.click(".card >> nth=0")
    assert page.locator("#group-view .unfiltered").is_visible()
    page.click("#group-view .back")
    marks = {"lead", "of-list", "h2"}
    shown = page.evaluate(
        "[...document.querySelectorAll('.unfiltered')].filter((one) => one.checkVisibility())"
        ".map((one) => one.classList[1] ?? one.parentElement.classList[0] ?? one.parentElement.localName)"
    )
    assert set(shown) == marks
    painted(page)
    page.click("#clear-filter")
    assert page.locator(".unfiltered >> visible=true").count() == 0
    assert page.inner_text("#time-text") == everything
    assert page.title() == "4 groups in 400 texts · textspectra"


def test_a_list_of_a_cell_follows_the_filter(open_page, report, result, columns):
    page = open_page(report)
    (refund,) = (cluster for cluster in result.clusters if "refund" in cluster.name)
    cell_of(page, refund.name, "south").locator("button").click()
    note = page.locator("#work-view .muted").first
    rows = rows_of(columns, result, refund, "south")
    assert note.inner_text() == f"{len(rows)} texts, in 1 group"
    page.select_option("#filters select >> nth=1", label="paid (200)")
    paid = sum(row % 2 for row in rows)
    assert note.inner_text() == f"{paid} texts, in 1 group"
    page.select_option("#filters select >> nth=0", label=page.locator("option:has-text('north (')").first.inner_text())
    assert note.inner_text() == "0 texts, in 0 groups"
    page.click("#work-view .back")
    assert page.locator("#work-view").is_hidden()


def test_texts_that_were_found_can_be_selected_on_a_phone(open_page, report):
    page = open_page(report, width=390, height=844)
    page.fill("#search", "refund")
    page.click("#found button")
    assert page.locator("#work-view h2").inner_text() == "Texts matching refund"


def test_one_month_and_no_texts_are_shown_too(open_page, report):
    everything = open_page(report).inner_text("#time-text")
    link = "#from=2026-02-01&to=2026-02-01"
    page = open_page(report, link)
    page.click("#clear-filter")
    assert page.inner_text("#time-text") == everything
    page = open_page(report, link)
    assert page.is_visible("#time")
    assert page.locator("#list .spark").count() == 0
    figure = page.evaluate("textspectra.overTime.figure()")
    assert [share is not None for share in figure["data"][2]["y"]] == [False, True, False, False]
    page.evaluate(
        "textspectra.counts.passing.fill(0); textspectra.counts.rows.passing = () => textspectra.counts.passing"
    )
    page.select_option("#filters select >> nth=3", label="Mar 2026")
    assert page.inner_text("h1") == "0 groups in the filtered texts."
    assert page.locator("#heat tbody tr").count() == 0
    assert page.evaluate("textspectra.overTime.figure().data.length") == 1


def test_a_link_has_a_filter_and_a_group_made_by_hand(open_page, report, result, columns):
    page = open_page(report)
    page.evaluate(
        """(({ state, tree }) => {
            const [one, other, third] = tree.base.nodes;
            const i = tree.ranges[third][0];
            state.edit("", state.grouping().merge([one, other]).move([i], third));
            state.rename(state.edits.all[0], "by hand");
        })(textspectra)"""
    )
    page.select_option("#filters select >> nth=1", label="paid (200)")
    shown = [page.inner_text("#time-text"), page.inner_text("#headline"), page.evaluate(FIGURES)]
    cards = card_texts(page, ".name"), card_texts(page, ".figures b")
    paid = sum(1 for i in range(1, 400, 2) if result.labels[i] in {0, 1})
    assert dict(zip(*cards, strict=True))["by hand"] == str(paid)
    page = open_page(report, page.evaluate("textspectra.state.address()"))
    assert [page.inner_text("#time-text"), page.inner_text("#headline"), page.evaluate(FIGURES)] == shown
    assert (card_texts(page, ".name"), card_texts(page, ".figures b")) == cards
    page.click("#clear-filter")
    whole = dict(zip(card_texts(page, ".name"), card_texts(page, ".figures b"), strict=True))
    assert whole["by hand"] == str(sum(cluster.size for cluster in result.clusters[:2]))
    page.evaluate("textspectra.misfits.all = []")
    page.click("#misfits")
    words = "No text is nearer to the center of another group: the cosine would be higher by 0.01 or more."
    assert page.inner_text("#work-view .muted").startswith(words)


PAPER = """() => {
    const shown = [...document.querySelectorAll("main *")].filter((one) => one.checkVisibility());
    const onPage = shown.filter((one) => !one.closest(".layer")); // the map is scaled
    const isCut = (one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflow !== "visible";
    const controls = "input, select, [role=toolbar], .zoom, #open-all, #fold, .toggle";
    return {
        right: Math.max(...onPage.map((one) => one.getBoundingClientRect().right)),
        cut: onPage.filter((one) => !one.children.length && !one.closest("svg, .hidden") && isCut(one)).length,
        controls: shown.filter((one) => one.matches(controls)).length,
    };
}"""


@pytest.mark.parametrize("width", [702, 725])  # A4 and Letter without their margins
def test_on_paper_nothing_is_cut_and_nothing_is_a_control(open_page, columns, width, tmp_path):
    texts, X, _, months = columns
    cities = [f"city {chr(97 + i % 14)}" for i in range(400)]
    days = [f"2026-0{month}-11" for month in months]
    wide = ts.cluster_texts(texts, embeddings=X, n_clusters=12, time=days, by={"city": cities}, every="month")
    with quick_map():
        ts.write_report(wide, tmp_path / "report.html")
    page = open_page(tmp_path / "report.html", width=1440, height=900)
    page.click("#fold")
    assert page.locator(".card >> visible=true").count() < 12
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": width, "height": 1032})
    found = page.evaluate(PAPER)
    assert (found["cut"], found["controls"]) == (0, 0)
    assert found["right"] <= width
    assert page.locator(".card >> visible=true").count() == 12
    assert [table.locator("thead th").count() for table in page.locator("#heat table").all()] == [9, 7]
    assert page.locator("#time-groups button >> visible=true").count() == 3
    assert page.locator("#over-time .main-svg").first.evaluate("(one) => one.getBoundingClientRect().width") == 660
    pages = page.pdf(format="A4" if width == 702 else "Letter").count(b"/Type /Page\n")
    assert 2 <= pages <= 4
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    assert page.locator("#heat table").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(open_page, report, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = open_page(report, color_scheme=scheme, reduced_motion="reduce")
    found = axe.Axe().run(page).response["violations"]
    page.select_option("#filters select >> nth=1", index=1)
    page.locator("#heat td button").nth(1).click()
    if scheme == "dark":
        page.set_viewport_size({"width": 390, "height": 844})
    found += axe.Axe().run(page).response["violations"]
    page.click("#work-view .back")
    page.click(".card >> nth=1")
    found += axe.Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
