"""The map in Chromium: which groups have a name, what stays after edits and updates, and the picture of it."""

import struct
from dataclasses import replace
from urllib.parse import unquote
from urllib.request import urlopen

import numpy as np
import pytest
from browser import needs_browser
from in_browser import PAYLOAD, download, move_to
from report_data import quick_map
from served import load, serving

import textspectra as ts

pytestmark = needs_browser

# Where each text is, and the color of each group by its label.
PLACES = """Object.fromEntries(textspectra.map.texts.slice(0, textspectra.map.x.length).map((text, i) =>
    [text, [textspectra.map.x[i], textspectra.map.y[i]].map((value) => value.toFixed(4)).join(" ")]))"""
COLORS = """Object.fromEntries([...textspectra.tree.labelsAt(textspectra.state.k)].map(([node, label]) =>
    [textspectra.takeAway.saved?.get(textspectra.state.nameOf(node)) ?? label, textspectra.tree.colors[node]]))"""
LABELED = "textspectra.map.names.labels.map(({ node }) => node)"


@pytest.fixture(scope="module")
def report(planted, tmp_path_factory):
    """Write a page of groups that mix on the map: of most of them, the middle is full of points."""
    X, truth = planted(12, 1500, noise=0.9, seed=5)
    words = ["parcel", "password", "refund", "invoice", "battery", "delivery"]
    texts = [f"{words[group % 6]} question number {i}" for i, group in enumerate(truth)]
    result = ts.cluster_texts(texts, embeddings=X, n_clusters=12)
    hostile = replace(result.clusters[0], name=PAYLOAD)
    path = tmp_path_factory.mktemp("report") / "report.html"
    with quick_map():
        ts.write_report(replace(result, clusters=(hostile, *result.clusters[1:])), path)
    return path


def sizes_and_order(page):
    order = page.evaluate("textspectra.tree.largestFirst(textspectra.state.k)")
    return {node: page.evaluate("(node) => textspectra.counts.nodes[node]", node) for node in order}, order


@pytest.mark.parametrize("width", [1280, 390])
def test_the_largest_groups_have_names(open_page, report, width):
    page = open_page(report, width=width)
    sizes, order = sizes_and_order(page)
    usual = np.mean(list(sizes.values()))
    labeled = page.evaluate(LABELED)
    large = [node for node in order if sizes[node] >= usual]
    assert set(large[: 3 if width == 390 else 12]) <= set(labeled)
    assert labeled == sorted(labeled, key=order.index)


def test_names_that_would_overlap_are_dropped_the_smallest_first(open_page, report):
    page = open_page(report)
    page.evaluate("textspectra.map.kind = { ...textspectra.map.kind, most: 100 }; textspectra.map.paint()")
    page.wait_for_function("!textspectra.map.painting")
    page.evaluate("textspectra.tree.nodes.middle.fill([0, 0]); textspectra.map.label()")
    labeled, (_, order) = page.evaluate(LABELED), sizes_and_order(page)
    assert 0 < len(labeled) < 12
    assert labeled == order[: len(labeled)]


def svg_texts(page):
    """Return the picture of the map as SVG, and the words of its legend."""
    page.wait_for_function("!textspectra.map.painting")
    address = page.evaluate("textspectra.map.picture('svg')")
    svg = urlopen(address).read().decode() if ";base64" in address else unquote(address.split(",", 1)[1])  # noqa: S310 - data
    return svg, page.evaluate(
        """(svg) => [...new DOMParser().parseFromString(svg, "image/svg+xml").querySelectorAll(".annotation-text")]
            .map((text) => text.textContent).filter((text) => / · [\\d,]+$/.test(text))""",
        svg,
    )


def in_window(page, condition="true"):
    """Return the legend that is expected: the names of groups with texts in the window, and how many."""
    return page.evaluate(
        """(condition) => {
            const { map, state, counts } = textspectra, { x, y } = map.ranges(), sums = {};
            map.texts.slice(0, map.x.length).forEach((text, i) => {
                if (!(map.x[i] >= x[0] && map.x[i] <= x[1] && map.y[i] >= y[0] && map.y[i] <= y[1])) return;
                if (condition !== "true" && !text.includes(condition)) return;
                const name = state.nameOf(map.owners[i]).slice(0, 34);
                sums[name] = (sums[name] ?? 0) + counts.texts[i];
            });
            return sums;
        }""",
        condition,
    )


def parsed(legend):
    pairs = [entry.rsplit(" · ", 1) for entry in legend]
    assert [int(n.replace(",", "")) for _, n in pairs] == sorted(
        (int(n.replace(",", "")) for _, n in pairs), reverse=True
    )
    return {name.removesuffix("…"): int(n.replace(",", "")) for name, n in pairs}


def test_the_picture_is_the_screen_with_a_legend(open_page, report, tmp_path):
    page = open_page(report)
    svg, legend = svg_texts(page)
    assert parsed(legend) == in_window(page)
    assert len(legend) == 12
    assert "<img" not in svg
    whole = page.evaluate("[textspectra.map.plot.clientWidth, textspectra.map.plot.clientHeight]")
    size = struct.unpack(">II", download(page, "#png").read_bytes()[16:24])
    assert size[0] == 2 * whole[0]
    assert size[1] > 2 * whole[1]  # the legend is below the map
    for _ in range(5):
        page.click("#zoom-in")
    zoomed = parsed(svg_texts(page)[1])
    assert zoomed == in_window(page)
    assert sum(zoomed.values()) < 1500
    page.fill("#search", "refund")
    page.wait_for_function("textspectra.map.matches")
    found = parsed(svg_texts(page)[1])
    assert found == in_window(page, "refund")
    assert sum(found.values()) < sum(zoomed.values())
    names = page.locator("#labels span").all_text_contents()
    drawn = page.evaluate(
        """(svg) => [...new DOMParser().parseFromString(svg, "image/svg+xml").querySelectorAll(".annotation-text")]
            .map((text) => text.textContent)""",
        svg_texts(page)[0],
    )
    assert set(names) <= set(drawn)
    anchors = page.evaluate("textspectra.map.names.drawn('#000000').annotations.map(({ xanchor }) => xanchor)")
    assert anchors == ["center"] * len(names) + ["left"] * len(found)
    page.fill("#search", "")
    page.click("#zoom-all")
    page.click(".card >> nth=0")
    selected = parsed(svg_texts(page)[1])
    assert len(selected) == 1


def test_an_empty_window_has_a_picture_without_a_legend(open_page, report):
    page = open_page(report)
    page.fill("#search", "nothing has this")
    page.wait_for_function("textspectra.map.matches")
    assert svg_texts(page)[1] == []


def test_a_merged_group_has_the_color_of_the_larger_one(open_page, report):
    page = open_page(report)
    _, order = sizes_and_order(page)
    large, small = order[0], order[-1]
    colors = page.evaluate("textspectra.tree.colors")
    page.evaluate("(pair) => textspectra.editing.merge(pair)", [small, large])
    assert (
        page.evaluate("textspectra.tree.colors[textspectra.tree.largestFirst(textspectra.state.k)[0]]") == colors[large]
    )
    page.click("#undo")
    for k in (2, 12, 40):  # at every number of groups, no two have the same color
        move_to(page, k)
        assert (
            page.evaluate(
                "new Set(textspectra.tree.cut(textspectra.state.k).map((n) => textspectra.tree.colors[n])).size"
            )
            == k
        )


def opened(page, address):
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    return page.evaluate(PLACES), page.evaluate(COLORS)


def test_places_and_colors_stay_after_saving_and_an_update(tab, model, planted):
    page = tab.context.browser.new_page()
    with serving(model) as server:
        places, colors = opened(page, server.address)
        page.evaluate("textspectra.editing.split(textspectra.tree.largestFirst(6)[0])")
        page.evaluate("textspectra.editing.merge(textspectra.tree.largestFirst(textspectra.state.k).slice(1, 3))")
        page.click("#save")
        page.wait_for_function("document.getElementById('saved').textContent.startsWith('Saved: ')")
        edited = page.evaluate(COLORS)
        assert len(set(edited.values())) == 6
        assert set(edited) != set(colors)
        assert opened(page, server.address) == (places, edited)
    texts = [f"a new text {i}" for i in range(30)]
    after = load(model).update(texts, embeddings=planted(6, 150, d=24, noise=0.1)[0][120:])
    after.report(model.with_name("after.html"))
    later, colors = opened(page, model.with_name("after.html").as_uri())
    assert {text: later[text] for text in places} == places
    assert set(later) - set(places) == set(texts)
    assert {label: colors[label] for label in edited} == edited
    page.close()
