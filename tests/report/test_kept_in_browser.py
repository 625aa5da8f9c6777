"""Edits in a page that is a plain file: kept in the browser, and never dropped without a question."""

import re

import pytest
from browser import needs_browser
from in_browser import PAYLOAD, card_texts, download, move_to

import textspectra as ts
from textspectra.texts.clustered import framed

pytestmark = needs_browser

WORDS = ["parcel", "password", "refund", "invoice", "battery", "delivery"]
DAY = r"[A-Z][a-z]{2} \d{1,2}, \d{4}, \d{1,2}:\d\d\s[AP]M"
STORED = "Object.keys(localStorage).filter((key) => key.startsWith('textspectra '))"


@pytest.fixture(scope="module")
def result(planted):
    X, truth = planted(6, 240, noise=0.3, seed=3)
    return ts.cluster_texts(
        [f"{WORDS[cluster]} question number {i}" for i, cluster in enumerate(truth)], embeddings=X, n_clusters=6
    )


def headline(page):
    return page.inner_text("#headline b")


def merge_two(page):
    for number in (0, 1):
        page.check(f".tick input >> nth={number}")
    page.click("#chosen button >> text=Merge")


def rename_first(page, name):
    page.locator(".card").first.click()
    page.fill(".rename input", name)
    page.press(".rename input", "Enter")
    page.click(".back")


def asks_before_closing(page):
    """Return whether the page asks if it is left, after a click, without which no browser lets it ask."""
    page.click("#headline")
    return page.evaluate("!dispatchEvent(new Event('beforeunload', { cancelable: true }))")


def test_edits_are_back_when_the_page_is_opened_again(open_page, report):
    page = open_page(report)
    assert page.is_hidden("#kept")
    rename_first(page, PAYLOAD)
    merge_two(page)
    assert headline(page) == "5 groups"
    names = card_texts(page, ".name")
    assert page.is_hidden("#kept")
    page = open_page(report, keep=True)
    assert headline(page) == "5 groups"
    assert card_texts(page, ".name") == names
    assert re.fullmatch(rf"Your edits from {DAY}, as this browser kept them\. Start fresh", page.inner_text("#kept"))
    assert re.fullmatch(rf"Undo: showing your edits from {DAY}", page.get_attribute("#undo", "title"))
    page.click("#kept button")
    assert headline(page) == "6 groups"
    assert PAYLOAD not in card_texts(page, ".name")
    assert page.is_hidden("#kept")
    assert page.evaluate(STORED) == []
    page.click("#undo")
    assert card_texts(page, ".name") == names
    page = open_page(report, keep=True)
    assert headline(page) == "5 groups"
    page.click("#undo")
    assert headline(page) == "6 groups"
    page = open_page(report, keep=True)
    assert (headline(page), page.is_hidden("#kept")) == ("6 groups", True)


def test_names_alone_are_kept_and_the_slider_alone_is_not(open_page, report):
    page = open_page(report)
    move_to(page, 8)
    assert page.evaluate(STORED) == []
    assert not asks_before_closing(page)
    rename_first(page, "mine")
    page = open_page(report, keep=True)
    assert headline(page) == "8 groups"
    assert "mine" in card_texts(page, ".name")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert "mine" in card_texts(page, ".name")


def test_a_link_comes_before_kept_edits(open_page, report):
    page = open_page(report)
    merge_two(page)
    page = open_page(report, "#k=4", keep=True)
    assert headline(page) == "4 groups"
    said = page.inner_text("#kept")
    assert re.fullmatch(rf"This link does not show your edits from {DAY}\. Restore your edits", said)
    rename_first(page, "other")
    assert page.inner_text("#kept") == said
    page.click("#kept button")
    assert headline(page) == "5 groups"
    page.click("#undo")
    assert "other" in card_texts(page, ".name")


def test_a_link_in_the_address_bar_costs_no_edits(open_page, report):
    page = open_page(report)
    merge_two(page)
    page.evaluate("location.hash = 'k=4'")
    page.wait_for_selector("#kept:not([hidden])")
    assert headline(page) == "4 groups"
    assert page.inner_text("#kept").startswith("This link does not show your edits from ")
    page = open_page(report, keep=True)
    assert headline(page) == "5 groups"


def test_a_frame_of_a_notebook_says_that_it_keeps_nothing_and_asks(open_page, report, tmp_path):
    host = tmp_path / "notebook.html"
    frame = framed(report.read_text(encoding="utf-8"), 700)
    host.write_text(f"<!doctype html><html data-ready=yes><body>{frame}", encoding="utf-8")
    page = open_page(host).frames[1]
    page.wait_for_selector("html[data-ready]")
    merge_two(page)
    assert page.inner_text("#kept").startswith("This browser cannot keep your edits.")
    for answer, groups in {"Keep the edits": "5 groups", "Drop them": "6 groups"}.items():
        page.click("#more")
        page.click(f"#dropping button >> text={answer}")
        page.wait_for_selector(f"#headline:has-text('{groups}')")
        assert page.locator("#dropping").is_hidden()


def test_what_does_not_fit_is_not_shown(open_page, report):
    page = open_page(report)
    merge_two(page)
    [key] = page.evaluate(STORED)
    assert key.split()[1:] == page.evaluate("[textspectra.meta.about.fingerprint, textspectra.meta.about.grouping]")
    for content in ["", "null", "7", "{}", '{"edits": 3}', '{"edits": "edits=[", "at": 1}', '{"edits": "k=3", "at": 1}',
                    '{"edits": "k=3&names=[[0,7]]", "at": "x"}']:  # fmt: skip
        page.evaluate("([key, content]) => localStorage.setItem(key, content)", [key, content])
        page = open_page(report, keep=True)
        assert (headline(page), page.is_hidden("#kept")) == ("6 groups", True)


@pytest.mark.parametrize("fault", ["get: () => { throw new DOMException('no', 'SecurityError') }", "get: () => null",
                                   "get: () => ({ getItem: () => null, removeItem: () => {}, setItem: () => "
                                   "{ throw new DOMException('full', 'QuotaExceededError') } })"])  # fmt: skip
def test_a_browser_that_keeps_nothing_says_so(open_page, report, fault):
    page = open_page(report)
    page.evaluate("globalThis.real = Object.getOwnPropertyDescriptor(globalThis, 'localStorage')")
    page.evaluate(f"Object.defineProperty(globalThis, 'localStorage', {{ configurable: true, {fault} }})")
    assert page.is_hidden("#kept")
    merge_two(page)
    assert page.inner_text("#kept") == "This browser cannot keep your edits. Download them before you close the page."
    page.click("#undo")
    assert page.is_hidden("#kept")
    page.evaluate("Object.defineProperty(globalThis, 'localStorage', real)")


def test_the_page_asks_before_it_is_closed_with_edits_that_nobody_has(open_page, report, tab):
    page = open_page(report)
    assert not asks_before_closing(page)
    merge_two(page)
    assert asks_before_closing(page)
    seen = []
    tab.once("dialog", lambda dialog: seen.append(dialog.type))
    page.goto("about:blank")
    assert seen == ["beforeunload"]
    page = open_page(report, keep=True)
    assert asks_before_closing(page)
    download(page, "#json")
    assert not asks_before_closing(page)
    page = open_page(report, keep=True)
    assert not asks_before_closing(page)
    page.click("#undo")
    assert not asks_before_closing(page)  # nothing is left that could be lost
    page.click("#redo")
    assert not asks_before_closing(page)
    rename_first(page, "mine")
    assert asks_before_closing(page)
    download(page, "#csv")
    assert not asks_before_closing(page)


def test_edits_of_a_link_are_in_the_link(open_page, report):
    page = open_page(report)
    merge_two(page)
    fragment = page.evaluate("textspectra.state.address()")
    page = open_page(report, fragment)
    assert headline(page) == "5 groups"
    assert not asks_before_closing(page)
    rename_first(page, "mine")
    assert asks_before_closing(page)


def test_another_number_of_groups_asks_before_it_drops_edits(open_page, report):
    page = open_page(report)
    merge_two(page)
    place = page.input_value("#slider")
    for act in [lambda: page.press("#slider", "ArrowRight"), lambda: page.click("#fewer"), lambda: move_to(page, 9),
                lambda: page.click("#suggestions button >> nth=0"), lambda: page.click("#slider")]:  # fmt: skip
        act()
        assert page.locator("#dropping").is_visible()
        page.wait_for_function("document.activeElement.textContent === 'Keep the edits'")
        page.keyboard.press("Escape")
        page.wait_for_selector("#dropping", state="hidden")
        page.wait_for_function("place => document.getElementById('slider').value === place", arg=place)
        assert (headline(page), page.input_value("#k")) == ("5 groups", "5")
    page.focus("#slider")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert headline(page) == "5 groups"
    assert page.evaluate("document.activeElement.id") == "slider"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_function("!textspectra.state.edits")
    assert (headline(page), page.locator("#edited").is_hidden()) == ("6 groups", True)
    assert page.evaluate(STORED) == []
    page.keyboard.press("ArrowRight")  # there is nothing to drop
    assert headline(page) == "7 groups"
    page.click("#undo")
    assert headline(page) == "5 groups"
    page.fill("#k", "")
    page.press("#k", "Enter")
    assert page.locator("#dropping").is_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(open_page, report, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = open_page(report, color_scheme=scheme, reduced_motion="reduce")
    merge_two(page)
    page = open_page(report, color_scheme=scheme, reduced_motion="reduce", keep=True)
    found = axe.Axe().run(page).response["violations"]
    page.click("#more")
    found += axe.Axe().run(page).response["violations"]
    page.set_viewport_size({"width": 390, "height": 844})
    found += axe.Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
    page.keyboard.press("Escape")
