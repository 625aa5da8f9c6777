"""How the report looks and reads: on a screen, on a phone, on paper, by keyboard and by screen reader."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from browser import needs_browser
from in_browser import PAYLOAD, card_texts, map_point, move_to, painted, visible_lines
from report_data import quick_map

import textspectra as ts
from textspectra.texts.clustered import framed

pytestmark = needs_browser

WORDS = [
    "parcel", "password", "refund", "invoice", "battery", "delivery", "return", "kettle", "coffee", "voucher",
    "speaker", "login",
]  # fmt: skip

BOXES = """(selector) => [...document.querySelectorAll(selector)].map((one) => {
    const { left, top, right, bottom } = one.getBoundingClientRect();
    return [left, top, right, bottom];
})"""


@pytest.fixture(scope="module")
def result(planted):
    X, truth = planted(12, 500, noise=0.25, seed=3)
    texts = [f"{WORDS[cluster]} question number {i} with some more words" for i, cluster in enumerate(truth)]
    result = ts.cluster_texts(texts, embeddings=X, n_clusters=12)
    return replace(result, k_estimate=ts.estimate_k(X, random_state=0), notes=("a note " * 40,))


@pytest.fixture(scope="module")
def report(result, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    ts.write_report(result, path)
    return path


def test_map_and_list_are_above_the_fold_and_the_bar_is_aligned(open_page, report):
    page = open_page(report, width=1440, height=900)
    for box in page.evaluate(BOXES, ".map, .panel"):
        assert box[3] <= 900
        assert box[3] - box[1] > 560
    middles = [(top + bottom) / 2 for _, top, _, bottom in page.evaluate(BOXES, ".track, #k, .suggestions, #search")]
    assert max(middles) - min(middles) < 1
    ticks = sorted(page.evaluate(BOXES, "#ticks span"))
    assert len(ticks) > 4
    assert all(right[0] - left[2] > 4 for left, right in pairwise(ticks))


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)])
def test_a_group_is_one_line_and_opens(open_page, report, size):
    page = open_page(report, width=size[0], height=size[1])
    move_to(page, 40)
    heights = {round(bottom - top) for _, top, _, bottom in page.evaluate(BOXES, "#list > li") if bottom > top}
    assert heights == {22 if size[0] > 1000 else 34}
    if size[0] > 1000:
        assert visible_lines(page) >= 25
        assert page.is_hidden("#list-all")  # all groups are shown
    line = page.locator("#list > li:has(.card)").nth(1)
    toggle = line.locator(".toggle")
    name = line.locator(".name").text_content()
    parts = [line.locator(part).text_content() for part in (".figures b", ".share", ".bar .value")]
    assert all(float(part.removesuffix("%")) > 0 for part in parts)
    assert (toggle.get_attribute("aria-expanded"), toggle.get_attribute("aria-label")) == (
        "false",
        f"Details of {name}",
    )
    toggle.press("Enter")
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    assert line.locator(".keywords").text_content()
    assert line.locator(".example").count() == 2
    page.click("#open-all")
    assert page.locator(".toggle[aria-expanded=false]").count() == 0
    page.fill("#search", "number 7")
    page.wait_for_selector(".hit-texts")
    assert page.locator(".toggle[aria-expanded=false]").count() == 0
    page.fill("#search", "")
    page.wait_for_function("!document.querySelector('.hit-texts')")
    toggle.press("Enter")
    assert page.locator(".toggle[aria-expanded=false]").count() == 1
    assert page.inner_text("#open-all") == "Close all"
    page.click("#open-all")
    assert page.locator(".line-details").count() == 0
    toggle.press("Space")
    line.locator("text=Rename").click()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Group name, editable"
    assert page.input_value(".rename input") == name


def test_the_map_fills_its_box(open_page, report):
    page = open_page(report)
    (left, top, right, bottom), *_ = page.evaluate(BOXES, "#plot")
    points = np.array([map_point(page, i) for i in range(500)])
    across, down = np.ptp(points, axis=0)
    assert across > 0.9 * (right - left)
    assert down > 0.85 * (bottom - top)


def test_only_labels_of_large_groups_hide_points_and_near_the_map_more_groups_have_one(open_page, report):
    page = open_page(report)
    shares = []
    for steps in (0, 4):
        for _ in range(steps):
            page.click("#zoom-in")
        move_to(page, 40)
        radius = page.evaluate("textspectra.map.size") / 2
        points = np.array([map_point(page, i) for i in range(500)])
        sizes = page.evaluate("textspectra.map.names.labels.map(({ node }) => textspectra.counts.nodes[node])")
        boxes = [box for box, size in zip(page.evaluate(BOXES, "#labels span"), sizes, strict=True) if size < 500 / 40]
        assert boxes
        for left, top, right, bottom in boxes:
            x, y = points.T
            hidden = (x > left - radius) & (x < right + radius) & (y > top - radius) & (y < bottom + radius)
            assert not hidden.any()
        (left, top, right, bottom), *_ = page.evaluate(BOXES, "#plot")
        owners = np.array(page.evaluate("[...textspectra.map.owners]"))
        inside = (points > [left, top]).all(axis=1) & (points < [right, bottom]).all(axis=1)
        shares.append(page.locator("#labels span").count() / len(set(owners[inside])))
    assert shares[1] > shares[0] > 0.2


def test_pointing_at_a_card_or_a_point_makes_its_group_stand_out(open_page, report):
    page = open_page(report, width=1400, height=1000)
    drawn = "document.getElementById('spot').getContext('2d').getImageData(0, 0, 3000, 3000).data.some(Boolean)"
    assert not page.evaluate(drawn)
    page.hover(".card >> nth=2")
    assert page.locator(".map.hovering").count() == 1
    assert page.evaluate(drawn)
    name = card_texts(page, ".name")[2]
    assert page.locator("#labels span:not(.other)").all_text_contents() in ([name], [])
    page.hover("h1")
    assert page.locator(".map.hovering").count() == 0
    assert not page.evaluate(drawn)
    x, y = map_point(page, 100)
    page.mouse.move(x - 3, y)
    page.mouse.move(x, y)
    page.wait_for_selector(".map.hovering")
    page.wait_for_function(
        "document.querySelector('.pointed')?.dataset.node === String(textspectra.map.owners[textspectra.map.hovered])"
    )


def test_many_texts_are_a_density_far_away_and_points_near(open_page, report):
    page = open_page(report)
    page.evaluate("textspectra.map.kind = { ...textspectra.map.kind, most: 100 }; textspectra.map.paint()")
    page.wait_for_function("!textspectra.map.painting")
    assert page.locator("#density").is_visible()
    assert page.evaluate("textspectra.map.plot.data[0].x.length") == 0
    page.evaluate("textspectra.map.label()")
    assert page.locator("#labels span").count() > 3
    x, y = map_point(page, 100)
    page.mouse.move(x, y)
    node = page.evaluate("textspectra.map.owners[textspectra.map.hovered]")
    assert page.inner_text("#tooltip .tip-name") == page.evaluate("(node) => textspectra.state.nameOf(node)", node)
    page.mouse.click(x, y)
    assert page.evaluate("textspectra.state.selected") == node
    page.click(".back")
    for _ in range(4):
        page.click("#zoom-in")
    page.wait_for_function("!textspectra.map.painting")
    assert page.locator("#density").is_hidden()
    shown = page.evaluate("[...textspectra.map.shown]")
    assert 0 < len(shown) < 500
    assert sum(painted(page)) == len(shown)


def test_texts_are_quoted_and_typical_ones_sorted(open_page, report):
    page = open_page(report)
    page.click("#open-all")
    marks = page.evaluate(
        "['::before', '::after'].map((part) => getComputedStyle(document.querySelector('.example'), part).content)"
    )
    assert marks == ['"“"', '"”"']
    assert card_texts(page, ".bar")[0].startswith("cohesion")
    page.click(".card >> nth=0")
    similarity = [float(text) for text in page.locator(".texts").first.locator(".similarity").all_text_contents()]
    assert similarity == sorted(similarity, reverse=True)


def test_the_levels_say_what_they_are_and_experts_find_the_rest(open_page, report, result):
    page = open_page(report)
    levels = page.locator(".level")
    assert [text.split()[0] for text in levels.locator("b").all_text_contents()] == [
        str(one.k) for one in result.k_estimate.suggestions
    ]
    assert page.locator("#spectrum").is_hidden()
    levels.first.click()
    k = result.k_estimate.suggestions[0].k
    assert page.inner_text("h1").startswith(f"{k} groups")
    assert levels.first.get_attribute("aria-pressed") == "true"
    page.locator("#agreement").scroll_into_view_if_needed()
    page.wait_for_selector("#agreement .xtick")
    assert set(page.locator("#agreement .xtick").all_text_contents()) <= {"2", "5", "10", "20", "50"}
    page.wait_for_function(f"document.getElementById('agreement').textContent.includes('shown: {k}')")
    (_, top, _, _), *_ = page.evaluate(BOXES, "#agreement .nsewdrag")
    names = page.evaluate(BOXES, "#agreement .annotation-text")
    assert all(bottom < top + 2 for *_, bottom in names)
    assert all(right[0] > left[2] or right[1] != left[1] for left, right in pairwise(sorted(names)))


def test_a_phone_has_the_map_on_its_first_screen_and_a_group_opens_in_place(open_page, report):
    page = open_page(report, width=390, height=844)
    (_, _, _, bottom), *_ = page.evaluate(BOXES, ".map")
    assert bottom <= 844
    assert page.evaluate("document.documentElement.scrollHeight") < 5000
    card = page.locator(".card >> nth=6")
    card.scroll_into_view_if_needed()
    before = page.evaluate("[scrollY, document.querySelectorAll('.card')[6].getBoundingClientRect().top]")
    card.click()
    assert page.evaluate(BOXES, "#group-view") == [[0, 0, 390, 844]]
    page.click(".back")
    assert page.evaluate("[scrollY, document.querySelectorAll('.card')[6].getBoundingClientRect().top]") == before
    assert page.evaluate("document.activeElement.className") == "card"
    assert page.is_hidden("#list-all")
    move_to(page, 40)
    assert page.locator("#list > li >> visible=true").count() == 25
    page.click("#list-all")
    assert page.locator(".card >> visible=true").count() == 40
    assert page.is_hidden("#list-all")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_paper_the_answer_is_on_the_first_page(open_page, report, scheme):
    page = open_page(report, width=1440, height=900, color_scheme=scheme)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print", color_scheme=scheme)
    page.set_viewport_size({"width": 702, "height": 1032})  # A4 without its margins
    (_, _, right, bottom), *_ = page.evaluate(BOXES, ".map")
    assert right <= 702
    assert bottom < 700
    assert all(bottom <= 1032 for *_, bottom in page.evaluate(BOXES, ".card"))
    assert page.locator("#list .keywords >> visible=true").count() == 12
    assert page.locator(".toggle >> visible=true").count() == 0
    assert page.evaluate("getComputedStyle(document.querySelector('.swatch')).printColorAdjust") == "exact"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(29, 33, 41)"
    assert all(right <= 702 for _, _, right, _ in page.evaluate(BOXES, ".chart:not(details *)"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(open_page, report, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = open_page(report, color_scheme=scheme, reduced_motion="reduce")
    page.click("#experts summary")
    page.wait_for_selector("#halves .main-svg")
    page.click("#open-all")
    found = axe.Axe().run(page).response["violations"]
    if scheme == "dark":
        page.set_viewport_size({"width": 390, "height": 844})
    page.locator(".card").nth(1).click()
    found += axe.Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


def test_a_notebook_shows_the_page_in_a_frame_and_runs_nothing(open_page, planted, tmp_path):
    X, _ = planted(3, 30, noise=0.2)
    result = ts.cluster_texts([f"{PAYLOAD} {i}" for i in range(30)], embeddings=X, n_clusters=3)
    result = replace(result.rename({0: PAYLOAD, 1: f"</iframe>{PAYLOAD}", 2: f'">{PAYLOAD}'}), notes=(PAYLOAD,))
    with quick_map():
        frame = framed(result.report(), 700)
    host = tmp_path / "notebook.html"
    parts = [result._repr_html_(), ts.estimate_k(X)._repr_html_(), frame]
    host.write_text(f"<!doctype html><html data-ready=yes><body>{''.join(parts)}", encoding="utf-8")
    page = open_page(host)
    assert page.locator("img, script").count() == 0
    assert page.locator("td:nth-child(2)").all_text_contents() == [cluster.name for cluster in result.clusters]
    inner = page.frames[1]
    inner.wait_for_selector("html[data-ready]")
    inner.fill("#k", "5")
    inner.press("#k", "Enter")
    assert inner.inner_text("h1").startswith("5 groups. The largest: ")
    inner.wait_for_timeout(300)  # after which a page with an address writes it there
    assert inner.evaluate("globalThis.hacked") is None
    assert inner.locator("main img").count() == 0
