"""The report in Firefox: it opens, and what a reader does first works."""

import pytest
from firefox import firefox, needs_firefox
from report_data import quick_map

import textspectra as ts

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
        ts.write_report(ts.cluster_texts(texts, embeddings=X, n_clusters=5), path)
    return path


def merge_two(browser):
    boxes = "document.querySelectorAll('.tick input')"
    if not browser.evaluate(f"{boxes}.length"):
        return  # this page cannot merge
    cards = browser.evaluate("document.querySelectorAll('.card').length")
    browser.evaluate(f"[...{boxes}].slice(0, 2).forEach((box) => box.click())")
    browser.evaluate("[...document.querySelectorAll('button')].find((one) => one.textContent === 'Merge').click()")
    assert browser.evaluate("document.querySelectorAll('.card').length") == cards - 1


def test_map_slider_search_and_groups_work(report):
    with firefox() as browser:
        browser.open(report)
        assert browser.evaluate("document.getElementById('headline').textContent") == "5 groups in 300 texts"
        browser.evaluate("textspectra.map.painting")
        assert browser.evaluate("textspectra.map.plot.data[0].x.length") == 300
        assert browser.evaluate("document.querySelectorAll('#plot .point, #plot canvas').length") > 0
        assert "WebGL" not in browser.evaluate("document.getElementById('plot').textContent")
        assert browser.evaluate("document.querySelectorAll('#labels span').length") >= 3
        browser.evaluate(f"{TYPE}(document.getElementById('k'), 9)")
        assert browser.evaluate("document.querySelectorAll('.card').length") == 9
        assert browser.evaluate("document.getElementById('headline').textContent") == "9 groups in 300 texts"
        browser.evaluate(f"{TYPE}(document.getElementById('search'), 'refund')")
        browser.wait_for("document.getElementById('found').textContent.startsWith('60 texts')")
        browser.evaluate("document.querySelector('.card').click()")
        assert browser.evaluate("document.getElementById('group-view').hidden") is False
        browser.evaluate("document.querySelector('.back').click()")
        merge_two(browser)
        browser.evaluate("document.getElementById('experts').open = true")
        browser.evaluate("document.getElementById('profile').scrollIntoView()")
        browser.wait_for("document.querySelector('#profile .main-svg')")
        assert browser.problems == []
