"""Hostile texts, names, segments, themes and file names in a page that is served, edited, saved and opened again."""

import json
from dataclasses import replace

import numpy as np
import pytest
from browser import needs_browser
from payloads import PAYLOADS
from report_data import quick_map
from served import load, serving

import textspectra as ts
from textspectra.report.saving import report_path
from textspectra.texts.clustered import Theme

FOLDER = "'\"><img src=x onerror=globalThis.hacked=1>`$(touch hacked)`.model"

ADDED = """[...document.querySelectorAll("*")].filter((one) => [...one.attributes].some(({ name, value }) =>
    name.startsWith("on") || name === "srcdoc" || (/^(href|src|action)$/.test(name) && /script:/i.test(value))) ||
    ["IMG", "IFRAME", "OBJECT", "EMBED", "BASE", "VIDEO", "AUDIO", "MARQUEE", "MATH", "TEXTAREA"].includes(one.tagName)
).map((one) => one.outerHTML.slice(0, 200))"""


@pytest.fixture
def hostile(tmp_path):
    """Write a model whose texts, groups, themes, columns, values and file names are payloads."""
    n = len(PAYLOADS)
    labels = np.arange(3 * n) % n
    X = np.eye(n)[labels] + 0.05 * np.random.default_rng(0).standard_normal((3 * n, n))
    labels[:5] = labels[5:10]  # some fit badly
    texts = [PAYLOADS[i] if i < n else f"{PAYLOADS[i % n]} {i // n}" for i in range(3 * n)]
    values = [PAYLOADS[i % 20] for i in range(3 * n)]
    result = ts.describe_texts(
        texts, labels, embeddings=X, by={PAYLOADS[0]: values, "__proto__": values}, show={PAYLOADS[-3]: texts},
        time=[f"2026-0{1 + i % 4}-01" for i in range(3 * n)],
    )  # fmt: skip
    names = {cluster.label: PAYLOADS[cluster.label] for cluster in result.clusters}
    themes = tuple(Theme(i, PAYLOADS[i], tuple(range(i, n, 9))) for i in range(9))
    recipe = {**result.recipe, "read": f"Read '{PAYLOADS[1]}.csv'", "command": f"textspectra cluster '{PAYLOADS[2]}'"}
    result = replace(result.rename(names), recipe=recipe, notes=tuple(PAYLOADS[:5]), themes=themes)
    np.save(tmp_path / "x.npy", X)
    model = tmp_path / FOLDER
    result.save(model)
    with quick_map():
        result.report(report_path(model))
    return model


def look_everywhere(page):
    """Open what shows texts, names and values."""
    nodes = page.evaluate("textspectra.tree.cut(textspectra.state.k)")
    for node in nodes:
        page.evaluate("(selected) => textspectra.state.set({ selected })", node)
    page.click(".virtual .text-row >> nth=0")
    page.keyboard.press("Escape")
    page.evaluate("(pair) => textspectra.editing.compare(...pair)", nodes[:2])
    page.evaluate("textspectra.state.set({ work: null })")
    page.click("#misfits")
    page.click("#work-view .back")
    page.fill("#search", "<script>")
    page.fill("#search", "")
    page.click("#open-all")
    page.locator("#over-time").scroll_into_view_if_needed()
    page.wait_for_selector("#over-time .main-svg")
    page.locator("#heat td").first.hover()
    for index in (1, 0):
        page.select_option("#filters select >> nth=0", index=index)
    assert page.evaluate("globalThis.hacked") is None
    assert page.evaluate(ADDED) == []
    assert page.evaluate("document.querySelectorAll('script').length") == 2


@needs_browser
def test_payloads_are_just_texts_in_a_page_that_saves(open_served, hostile):
    assert len(PAYLOADS) == 78
    with serving(hostile) as server:
        page = open_served(server)
        names = page.evaluate("textspectra.tree.cut(textspectra.state.k).map((node) => textspectra.state.nameOf(node))")
        assert names == PAYLOADS
        look_everywhere(page)
        page.evaluate(
            """(payloads) => {
                const { state, tree } = textspectra;
                const nodes = [...tree.cut(state.k)];
                nodes.forEach((node, i) => state.rename(node, `${payloads[(i + 1) % nodes.length]} 2`));
                textspectra.editing.merge(nodes.slice(-2));
            }""",
            PAYLOADS,
        )
        page.click("#save")
        page.wait_for_function("document.getElementById('saved').textContent.startsWith('Saved: ')")
        assert FOLDER in page.text_content("#saved")
        expected = [f"{name} 2".strip() for name in [*PAYLOADS[1:], PAYLOADS[0]]][:-1]
        assert [cluster.name for cluster in load(hostile).clusters] == expected
        look_everywhere(page)
        with page.expect_download() as waiting:
            page.click("#json")
        state = json.loads(waiting.value.path().read_text(encoding="utf-8"))
        assert [cluster["name"] for cluster in state["clusters"]] == expected
        page.reload()
        page.wait_for_selector("html[data-ready]")
        names = page.evaluate("textspectra.tree.cut(textspectra.state.k).map((node) => textspectra.state.nameOf(node))")
        assert names == expected
        look_everywhere(page)
    assert load(hostile).corpus.rows[: len(PAYLOADS)] == PAYLOADS
    assert not list(hostile.parent.glob("hacked*"))
