"""The report in a browser, from the disk and without a network, as a reader has it."""

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
from textspectra.texts.sentences import estimate_in_words
from textspectra.texts.verdict import judge, score_at

pytestmark = needs_browser

WORDS = ["parcel", "password", "refund", "invoice", "battery"]
HOSTILE = [
    "<script>globalThis.hacked=1</script>",
    "</script><script>globalThis.hacked=1</script>",
    '"><img src=x onerror=globalThis.hacked=1>',
    "javascript:globalThis.hacked=1",
    "<svg onload=globalThis.hacked=1>",
    "{{ 7 * 7 }} ${7 * 7} <!-- <![CDATA[",
    "right \u202e to \u2066 left",
    "nul \x00 and bell \x07",
    "emoji 🦄👩‍👩‍👧 and é",
    "half a pair \ud800",
    "long " + "x" * 99_000,
    "\n\r\t many\nlines, with \"quotes\" and, commas",
    "=cmd|' /C calc'!A0",
]  # fmt: skip


@pytest.fixture(scope="module")
def truth_and_result(planted):
    X, truth = planted(5, 600, noise=0.25, seed=3)
    texts = [f"{WORDS[cluster]} question number {i}" for i, cluster in enumerate(truth)]
    texts[50:60] = [texts[0]] * 10
    X[50:60] = X[0]
    texts += ["", "  "]
    result = ts.cluster_texts(texts, embeddings=[*X, X[0], X[0]], n_clusters=5)
    return [*truth, 0, 0], replace(result, k_estimate=ts.estimate_k(X, random_state=0), notes=("a <b>note</b>",))


@pytest.fixture(scope="module")
def result(truth_and_result):
    return truth_and_result[1]


@pytest.fixture(scope="module")
def report(truth_and_result, tmp_path_factory):
    truth, result = truth_and_result
    path = tmp_path_factory.mktemp("report") / "report.html"
    ts.write_report(result, path, truth=truth)
    return path


def test_the_answer_is_at_the_top(open_page, report, result):
    page = open_page(report)
    largest = sorted(result.clusters, key=lambda cluster: -cluster.size)[:3]
    named = ", ".join(f"{cluster.name} ({round(100 * cluster.size / 600)}%)" for cluster in largest)
    assert page.inner_text("h1") == f"5 groups. The largest: {named}."
    assert page.inner_text("#read").startswith("600 of 602 texts have a group.")
    silhouette = page.evaluate("textspectra.meta.profile.curves.silhouette")[4]
    score = score_at(result.k_estimate, 5)
    expected = judge(result.cohesion.ratio, 5, score=score, silhouette=silhouette)
    assert page.inner_text("#worth") == expected.sentence
    assert page.inner_text("#notes summary") == "a <b>note</b>\nand 1 more note"
    page.click("#notes summary")
    assert page.locator("#notes .note").all_inner_texts() == ["a <b>note</b>", "2 blank texts without a group"]
    assert "random_state=0" in page.inner_text("#command")
    shown = sorted(zip(card_texts(page, ".name"), map(int, card_texts(page, ".figures b")), strict=True))
    assert shown == sorted((cluster.name, cluster.size) for cluster in result.clusters)


def test_the_slider_follows_the_tree(open_page, report, result):
    page = open_page(report)
    for k in (2, 3, 17):
        move_to(page, k)
        cut = result.cut(k)
        assert sorted(map(int, card_texts(page, ".figures b"))) == sorted(t.size for t in cut.clusters)
        assert page.inner_text("h1").startswith(f"{k} groups. The largest: " if k > 3 else f"{k} groups: ")
        assert page.title().startswith(f"{k} groups in ")
        assert f"Cohesion Ratio {cut.cohesion.ratio:.2f}" in page.inner_text("#worth")
        assert page.inner_text("#truth").startswith("Agreement with the ground truth, which has 5 classes: ARI ")
        sizes = np.bincount(cut.distinct_codes[cut.distinct_codes >= 0])
        assert sorted(painted(page)) == sorted(sizes.tolist())


def test_keys_move_the_slider_by_one(open_page, report, result):
    page = open_page(report)
    page.focus("#slider")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert page.input_value("#k") == "6"
    assert page.get_attribute("#slider", "aria-valuetext") == "6 groups"
    page.click("#more")
    assert page.locator(".card").count() == 7
    page.click("#suggestions button >> nth=0")
    assert page.locator(".card").count() == result.k_estimate.suggestions[0].k


def test_hover_shows_the_text_and_click_selects_its_group(open_page, report):
    page = open_page(report, width=1400, height=1000)
    x, y = map_point(page, 100)
    page.mouse.move(x - 3, y)
    page.mouse.move(x, y)
    page.wait_for_selector("#tooltip:not([hidden])")
    # Each move is an event of its own, so both are read at once.
    page.wait_for_function(
        "document.querySelector('#tooltip .text').textContent === textspectra.map.texts[textspectra.map.hovered]"
    )
    node = page.evaluate("textspectra.map.owners[textspectra.map.hovered]")
    page.mouse.click(x, y)
    page.wait_for_selector("#group-view:not([hidden])")
    assert page.evaluate("textspectra.state.selected") == node
    assert len(painted(page)) == 2
    assert page.inner_text("#tooltip .tip-name").startswith(page.input_value(".rename input"))


def test_a_group_has_its_texts_neighbors_and_extremes(open_page, report, result):
    page = open_page(report)
    page.click(".card >> nth=1")
    assert page.input_value(".rename input") == result.clusters[1].name
    assert page.locator(".near button").count() == 4
    members = np.flatnonzero(result.distinct_codes == 1)
    by_similarity = members[np.argsort(-result.distinct_similarity[members], kind="stable")]
    rows = page.locator(".virtual li")
    assert 0 < rows.count() < len(members)
    assert rows.first.locator(".text").inner_text() == result.corpus.distinct[by_similarity[0]]
    page.evaluate("document.querySelector('.virtual').scrollTop = 1e6")
    page.wait_for_function(
        "((last) => last.ariaPosInSet === last.ariaSetSize)(document.querySelector('.virtual li:last-child'))"
    )
    assert rows.last.locator(".text").inner_text() == result.corpus.distinct[by_similarity[-1]]
    least = page.locator(".texts").nth(1).locator(".text").first.inner_text()
    assert least == result.corpus.distinct[by_similarity[-1]]
    rows.last.locator("button").click()
    assert page.inner_text("#reader-text") == result.corpus.distinct[by_similarity[-1]]
    page.keyboard.press("Escape")
    page.click(".back")
    assert page.evaluate("document.activeElement.dataset.node") is not None


def test_search_finds_as_one_types(open_page, report, result):
    page = open_page(report)
    page.keyboard.press("/")
    page.keyboard.type("REFUND")
    page.wait_for_function("textspectra.state.query === 'REFUND' && document.getElementById('found').textContent")
    rows = sum("refund" in row for row in result.corpus.rows)
    distinct = sum("refund" in text for text in result.corpus.distinct)
    assert page.inner_text("#found").startswith(f"{rows} texts found")
    assert max(painted(page)) == len(result.corpus.distinct) - distinct
    hits = [int(text.split()[0]) for text in card_texts(page, ".hits")]
    assert sum(hits) == rows
    page.keyboard.press("Escape")
    assert page.inner_text("#found") == ""


def test_the_list_can_be_sorted(open_page, report, result):
    page = open_page(report)
    page.click("#sorting button >> text=name")
    assert card_texts(page, ".name") == sorted(cluster.name for cluster in result.clusters)
    page.click("#sorting button >> text=cohesion")
    values = [float(text) for text in card_texts(page, ".bar .value")]
    assert values == sorted(values, reverse=True)
    page.click("#sorting button >> text=cohesion")
    assert [float(text) for text in card_texts(page, ".bar .value")] == sorted(values)


def test_names_and_labels_go_out_and_come_back(open_page, report, result, tmp_path):
    page = open_page(report)
    move_to(page, 7)
    page.click(f".card[data-node='{page.evaluate('textspectra.tree.cut(7)[2]')}']")
    page.fill(".rename input", page.evaluate("textspectra.state.nameOf(textspectra.tree.cut(7)[0])"))
    page.press(".rename input", "Enter")
    assert page.inner_text(".problem") == "Another group has this name."
    page.fill(".rename input", f"my, “own” {PAYLOAD}")
    page.press(".rename input", "Enter")
    cut = result.cut(7)
    rows = list(csv.DictReader(io.StringIO(download(page, "#csv").read_text(encoding="utf-8-sig"), newline="")))
    frame = cut.to_frame()
    # Excel needs the mark to show accents, and counts rows from 1.
    assert download(page, "#csv").read_bytes().startswith(b"\xef\xbb\xbfrow,text,")
    assert [row["row"] for row in rows[:2]] == ["1", "2"]
    assert [row["text"] for row in rows] == frame["text"].tolist()
    assert [row["cluster"] for row in rows] == ["" if label < 0 else str(label) for label in frame["cluster"]]
    names = {row["cluster_name"] for row in rows if row["cluster"] == str(cut.clusters[2].label)}
    assert names == {f"my, “own” {PAYLOAD}"}
    similarity = [float(row["similarity"] or "nan") for row in rows]
    np.testing.assert_allclose(similarity, frame["similarity"], atol=1e-4)

    path = tmp_path / "state.json"
    path.write_bytes(download(page, "#json").read_bytes())
    changed = apply_state(result, read_state(path))
    assert (changed.labels == cut.labels).all()
    assert changed.clusters[2].name == f"my, “own” {PAYLOAD}"
    assert [row["cluster"] for row in json.loads(path.read_text())["rows"]][:600] == cut.labels[:600].tolist()
    assert download(page, "#png").read_bytes()[:4] == b"\x89PNG"
    svg = download(page, "#svg").read_text()
    assert svg.startswith("<svg")
    assert "<img" not in svg


def test_the_address_holds_the_view(open_page, report):
    page = open_page(report)
    move_to(page, 9)
    page.fill("#search", "invoice & <b>")
    page.wait_for_function("document.getElementById('found').textContent")
    page.click(".card >> nth=3")
    page.fill(".rename input", "Ünïcode & more")
    page.press(".rename input", "Enter")
    page.wait_for_function("location.hash.includes('names')")
    fragment = page.evaluate("location.hash")
    again = open_page(report, fragment)
    assert again.input_value("#k") == "9"
    assert again.input_value("#search") == "invoice & <b>"
    assert again.input_value(".rename input") == "Ünïcode & more"
    for broken in ("#k=-4&group=99999&names=[[1,", "#k=1e9&names=%5B%5B0,5%5D%5D", "#%E0%A4%A"):
        page.evaluate("(hash) => location.hash = hash", broken)
        page.wait_for_function("document.getElementById('k').value === '5'")
        assert page.evaluate("textspectra.state.names.size") == 0
        page.evaluate("location.hash = 'k=9'")
        page.wait_for_function("document.getElementById('k').value === '9'")


def test_hostile_texts_are_just_texts(open_page, planted, tmp_path):
    X, _ = planted(2, len(HOSTILE), noise=0.2)
    result = ts.cluster_texts(HOSTILE, embeddings=X, n_clusters=2)
    recipe = {**result.recipe, "command": f"textspectra cluster --text-column '{PAYLOAD}' x.csv"}
    result = replace(result.rename(0, PAYLOAD).rename(1, "</script><b>\u202e"), recipe=recipe)
    path = tmp_path / "hostile.html"
    with quick_map():
        ts.write_report(result, path)
    page = open_page(path)
    assert set(card_texts(page, ".name")) == {PAYLOAD, "</script><b>\u202e"}
    assert PAYLOAD in page.inner_text("#command")
    cards = page.locator(".card").count()
    for cluster in range(cards):
        page.click(f".card >> nth={cluster}")
        page.click(".virtual .text-row >> nth=0")
        page.keyboard.press("Escape")
        page.click(".back")
    page.uncheck("#safe")
    rows = list(csv.DictReader(io.StringIO(download(page, "#csv").read_bytes().decode("utf-8-sig"), newline="")))
    assert [row["text"] for row in rows][:9] == HOSTILE[:9]
    assert [row["text"] for row in rows][10:] == HOSTILE[10:]
    assert page.locator("main img, main svg:not(.main-svg):not([class])").count() == 0
    assert page.evaluate("document.querySelectorAll('script').length") == 2
    download(page, "#svg")
    hashed = "#names=" + json.dumps([[0, PAYLOAD]])
    open_page(path, hashed)


def test_light_and_dark(open_page, report):
    page = open_page(report, color_scheme="dark")
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        ink, paper = page.evaluate(
            "['--ink', '--paper'].map((name) => getComputedStyle(document.body).getPropertyValue(name).trim())"
        )
        assert (int(ink[1:3], 16) < int(paper[1:3], 16)) == (scheme == "light")
    page.click(".card")
    assert len(painted(page)) == 2


def test_a_narrow_screen_scrolls_only_down(open_page, report):
    page = open_page(report, width=360, height=740, reduced_motion="reduce")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.click(".card >> nth=0")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert page.locator(".virtual li").count() > 0


def test_charts_appear_and_the_page_prints(open_page, report, result):
    page = open_page(report)
    page.click("#experts summary")
    for chart in ("agreement", "halves", "spectrum", "replicates", "profile", "raw", "rectified"):
        page.locator(f"#{chart}").scroll_into_view_if_needed()
        page.wait_for_selector(f"#{chart} .main-svg")
    spectrum = page.evaluate("textspectra.meta.evidence.spectrum")
    low, high = spectrum["interval"]
    assert f"95% of them are between {low} and {high}; the estimate is {spectrum['k']}." in page.inner_text(
        "#replicates-text"
    )
    assert page.inner_text("#range") == estimate_in_words(result.k_estimate, result.n_clusters)
    assert "5 classes of the ground truth" in page.inner_text("#profile-text")
    assert "completeness" in page.text_content("#profile")
    assert page.pdf().count(b"/Type /Page\n") >= 2


def test_keys_reach_everything(open_page, report):
    page = open_page(report)
    page.focus("#plot")
    before = page.evaluate("textspectra.map.plot.layout.xaxis.range")
    for key in ("+", "ArrowLeft", "ArrowUp", "-", "0"):
        page.keyboard.press(key)
    np.testing.assert_allclose(page.evaluate("textspectra.map.plot.layout.xaxis.range"), before, atol=1e-6)
    page.focus(".card >> nth=1")
    page.keyboard.press("Enter")
    assert page.locator("#group-view").is_visible()
    unnamed = page.evaluate(
        """[...document.querySelectorAll('button, input')].filter((one) =>
            !one.textContent.trim() && !one.ariaLabel && !one.labels?.length).length"""
    )
    assert unnamed == 0


def test_labels_do_not_overlap(open_page, report):
    page = open_page(report)
    move_to(page, 40)
    boxes = page.evaluate(
        """[...document.querySelectorAll('#labels span')].map((one) => {
            const { left, top, right, bottom } = one.getBoundingClientRect();
            return [left, top, right, bottom];
        })"""
    )
    assert len(boxes) >= 3
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            assert not (a[0] < b[2] - 1 and b[0] < a[2] - 1 and a[1] < b[3] - 1 and b[1] < a[3] - 1)


def test_one_text_is_a_report_too(open_page, tmp_path):
    ts.write_report(ts.cluster_texts(["alone"], embeddings=[[1, 0]]), tmp_path / "alone.html")
    page = open_page(tmp_path / "alone.html")
    assert page.inner_text("h1").startswith("1 group: ")
    assert page.inner_text("h1").endswith(" (100%).")
    assert page.inner_text("#read") == "1 text. 1 row."
    assert page.inner_text("#worth") == "There is only one text."
    assert page.inner_text("#range") == ""
    assert page.is_disabled("#slider")
