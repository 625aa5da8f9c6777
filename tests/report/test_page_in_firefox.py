"""The report in Firefox: it opens, and what a reader does first works."""

import re
import time
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from firefox import firefox, needs_firefox
from report_data import quick_map

import textspectra as ts
from textspectra.texts.similar import SimilarPair

pytestmark = needs_firefox

TYPE = """((input, text) => {
    input.value = text;
    for (const kind of ["input", "change"]) input.dispatchEvent(new Event(kind, { bubbles: true }));
})"""


@pytest.fixture(scope="module")
def report(planted, tmp_path_factory):
    X, truth = planted(5, 300, noise=0.25, seed=3)
    words = ["parcel", "password", "refund", "invoice", "battery"]
    texts = [f"{words[cluster]} question number {i}" for i, cluster in enumerate(truth)]
    path = tmp_path_factory.mktemp("report") / "report.html"
    with quick_map():
        by = {"region": ["north", "south", "south"] * 100}
        ts.write_report(ts.cluster_texts(texts, embeddings=X, n_clusters=5, by=by), path)
    return path


def merge_two(browser):
    boxes = "document.querySelectorAll('.tick input')"
    if not browser.evaluate(f"{boxes}.length"):
        return  # this page cannot merge
    cards = browser.evaluate("document.querySelectorAll('.card').length")
    browser.evaluate(f"[...{boxes}].slice(0, 2).forEach((box) => box.click())")
    browser.evaluate("[...document.querySelectorAll('button')].find((one) => one.textContent === 'Merge').click()")
    assert browser.evaluate("document.querySelectorAll('.card').length") == cards - 1


def move_a_misfit(browser):
    browser.evaluate("document.getElementById('misfits').click()")
    browser.wait_for("document.querySelector('.misfits input')")
    i, node = browser.evaluate("textspectra.misfits.find().map(({ i, node }) => [i, node])[0]")
    name = browser.evaluate(f"textspectra.state.nameOf({node})")
    browser.evaluate("document.querySelector('.misfits input').click()")
    browser.evaluate("document.querySelector('#work-view .edit-actions button').click()")
    owner = f"textspectra.tree.ownersAt(textspectra.state.k)[{i}]"
    assert browser.evaluate(f"textspectra.state.nameOf({owner})") == name
    browser.wait_for(f"document.getElementById('outcome').textContent === 'Result of moving 1 text: {name}.'")


def test_map_slider_search_and_groups_work(report):
    with firefox() as browser:
        browser.open(report)
        assert browser.evaluate("document.getElementById('headline').textContent").startswith("5 groups. The largest: ")
        browser.evaluate("textspectra.map.painting")
        assert browser.evaluate("textspectra.map.plot.data[0].x.length") == 300
        assert browser.evaluate("document.querySelectorAll('#plot .point, #plot canvas').length") > 0
        assert "WebGL" not in browser.evaluate("document.getElementById('plot').textContent")
        assert browser.evaluate("document.querySelectorAll('#labels span').length") >= 3
        browser.evaluate(f"{TYPE}(document.getElementById('k'), 9)")
        assert browser.evaluate("document.querySelectorAll('.card').length") == 9
        assert browser.evaluate("document.getElementById('headline').textContent").startswith("9 groups. The largest: ")
        browser.evaluate(f"{TYPE}(document.getElementById('search'), 'refund')")
        browser.wait_for("document.getElementById('found').textContent.startsWith('60 texts')")
        browser.evaluate("textspectra.map.painting")
        svg = browser.evaluate("textspectra.map.picture('svg').then(decodeURIComponent)")
        assert sum(map(int, re.findall(r" · (\d+)</text>", svg))) == 60  # the legend has what the search found
        browser.evaluate("document.querySelector('.toggle').click()")
        assert browser.evaluate("document.querySelector('.toggle').getAttribute('aria-expanded')") == "true"
        assert browser.evaluate("document.querySelectorAll('.line-details .example').length") == 2
        assert browser.evaluate("document.querySelector('.without-hits').getBoundingClientRect().height") == 22
        browser.evaluate("document.getElementById('open-all').click()")
        assert browser.evaluate("document.querySelectorAll('.line-details').length") == 9
        browser.evaluate("document.querySelector('.card').click()")
        assert browser.evaluate("document.getElementById('group-view').hidden") is False
        browser.evaluate("document.querySelector('.back').click()")
        merge_two(browser)
        browser.wait_for("document.getElementById('outcome').textContent.endsWith('8 groups instead of 9.')")
        move_a_misfit(browser)
        browser.evaluate("document.getElementById('experts').open = true")
        browser.evaluate("document.getElementById('profile').scrollIntoView()")
        browser.wait_for("document.querySelector('#profile .main-svg')")
        assert browser.problems == []


def test_a_cell_of_the_heat_map_opens_its_texts(report):
    button, view = "document.querySelector('#heat td button')", "document.getElementById('work-view')"
    with firefox() as browser:
        browser.open(report)
        words = browser.evaluate(f"{button}.ariaLabel")
        browser.evaluate(f"{button}.click()")
        texts = browser.evaluate(f"{view}.querySelector('.muted').textContent")
        assert words.split(": ")[1].split(",")[0] == texts.split(",")[0]
        assert browser.evaluate("document.activeElement.id") == "work-view"
        browser.wait_for(f"{view}.querySelector('.text-row')")
        browser.evaluate(f"{view}.querySelector('.back').click()")
        assert browser.evaluate("document.activeElement.ariaLabel") == words
        browser.evaluate(f"{TYPE}(document.querySelector('#filters select'), 0)")
        assert browser.evaluate("document.querySelectorAll('#heat thead th').length") == 2
        assert browser.evaluate("document.title").startswith("5 groups in ")
        assert browser.problems == []


def test_themes_fold_and_groups_that_look_alike_merge(tmp_path):
    groups = np.arange(160) % 8
    noise = 0.05 * np.random.default_rng(0).standard_normal((160, 12))
    X = 3 * np.eye(12)[groups // 2] + np.eye(12)[4 + groups] + noise
    result = ts.cluster_texts([f"text {i}" for i in range(160)], embeddings=X)
    result = replace(result, clusters=(replace(result.clusters[0], is_mixed=True), *result.clusters[1:]))
    result.__dict__["similar_pairs"] = (SimilarPair(0, 1, 0.9, "texts"), SimilarPair(2, 3, 0.9, "names"))
    with quick_map():
        ts.write_report(result, tmp_path / "report.html")
    cards = "document.querySelectorAll('.card').length"
    with firefox() as browser:
        browser.open(tmp_path / "report.html")
        assert browser.evaluate(cards) == 8
        browser.evaluate("document.querySelector('.theme-name').click()")
        assert browser.evaluate("document.querySelector('.theme-name').getAttribute('aria-expanded')") == "false"
        assert browser.evaluate(cards) == 6
        browser.evaluate("document.querySelector('.theme-name').click()")
        assert browser.evaluate("document.querySelectorAll('.mixed').length") == 1
        browser.evaluate("document.querySelector('#alike-pairs button').click()")
        assert browser.evaluate(cards) == 7
        assert browser.evaluate("document.querySelectorAll('#alike-pairs li').length") == 1
        assert browser.problems == []


def test_edits_are_back_and_are_not_dropped_without_a_question(report):
    heading = "document.getElementById('headline').textContent"
    with firefox() as browser:
        browser.open(report)
        merge_two(browser)
        assert browser.evaluate(heading).startswith("4 groups. ")
        browser.call("browsingContext.navigate", context=browser.tab, url="about:blank", wait="complete")
        browser.open(report)
        assert browser.evaluate(heading).startswith("4 groups. ")
        assert browser.evaluate("document.getElementById('kept').textContent").startswith("Your edits from ")
        browser.evaluate("document.getElementById('more').click()")
        assert browser.evaluate("document.getElementById('dropping').open") is True
        browser.wait_for("document.activeElement.textContent === 'Keep the edits'")
        browser.evaluate("document.activeElement.click()")
        assert browser.evaluate(heading).startswith("4 groups. ")
        browser.evaluate("document.getElementById('more').click()")
        browser.evaluate("document.querySelector('#dropping [value=drop]').click()")
        browser.wait_for(f"{heading}.startsWith('5 groups. ')")
        assert browser.problems == []


def test_a_workbook_is_downloaded(report, tmp_path):
    calamine = pytest.importorskip("python_calamine")
    with firefox(downloads=tmp_path) as browser:
        browser.open(report)
        browser.evaluate("document.getElementById('xlsx').click()")
        browser.wait_for("document.getElementById('done').textContent === 'Saved as report.groups.xlsx.'")
        path, end = tmp_path / "report.groups.xlsx", time.monotonic() + 20
        while not (path.exists() and zipfile.is_zipfile(path)):  # the browser writes it on its own
            assert time.monotonic() < end
            browser.evaluate("new Promise(requestAnimationFrame)")
        with calamine.CalamineWorkbook.from_path(path) as workbook:
            sizes = {name: len(workbook.get_sheet_by_name(name).to_python()) for name in workbook.sheet_names}
        assert sizes == {"texts": 301, "groups": 6}
        assert browser.problems == []
