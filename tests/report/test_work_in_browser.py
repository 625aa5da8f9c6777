"""Search, merge, split, move, undo, compare and lasso in a browser, and what becomes of them in the model."""

import csv
import io
import json

import numpy as np
import pytest
from browser import needs_browser
from in_browser import PAYLOAD, card_texts, download, map_point, move_to, painted
from report_data import quick_map

import textspectra as ts
from textspectra.report.state import apply_state, read_state

pytestmark = needs_browser

WORDS = ["parcel", "password", "refund", "invoice", "battery", "delivery"]
GROUPS = """textspectra.tree.cut(textspectra.state.k).map((node) => ({
    node, name: textspectra.state.nameOf(node), size: textspectra.tree.nodes.size[node],
    label: textspectra.tree.labelsAt(textspectra.state.k).get(node),
}))"""


@pytest.fixture(scope="module")
def result(planted):
    X, truth = planted(6, 480, noise=0.4, seed=3)
    texts = [f"{WORDS[cluster]} question number {i}" for i, cluster in enumerate(truth)]
    texts[50:60] = [texts[0]] * 10
    X[50:60] = X[0]
    channel = [("web", "phone")[i % 2] for i in range(480)]
    days = [f"2026-0{i % 4 + 1}-11" for i in range(480)]
    return ts.cluster_texts(texts, embeddings=X, n_clusters=6, time=days, by={"channel": channel}, every="month")


def search(page, query):
    page.fill("#search", query)
    page.wait_for_function("(query) => textspectra.state.query === query", arg=query)
    painted(page)


def headline(page):
    return page.inner_text("#headline b")


def select(page, *numbers):
    for number in numbers:
        page.check(f".tick input >> nth={number}")


def applied(page, result, path):
    """Return the model with what the page has, after a check that the page's own labels and sizes are the same."""
    path.write_bytes(download(page, "#json").read_bytes())
    after = apply_state(result, read_state(path))
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    assert [row["cluster"] for row in rows] == after.labels.tolist()
    assert [row["cluster_name"] for row in rows] == list(after.names)
    shown = {cluster["label"]: (cluster["name"], cluster["size"]) for cluster in page.evaluate(GROUPS)}
    assert shown == {cluster.label: (cluster.name, cluster.size) for cluster in after.clusters}
    return after


def test_search_lists_marked_texts_by_group(open_page, report, result):
    page = open_page(report)

    def expected(found):
        return sum(map(found, result.corpus.rows))

    for query, found in {
        "REFUND number": lambda text: "refund" in text,
        '"number 1"': lambda text: "number 1" in text,
        "number -refund -question": lambda text: False,
        'question -refund -"number 1" -': lambda text: "refund" not in text and "number 1" not in text and "-" in text,
        "question -refund": lambda text: "refund" not in text,
        "7 invoice": lambda text: "invoice" in text and "7" in text,
    }.items():
        search(page, query)
        assert page.inner_text("#found").startswith(f"{expected(found)} text")
    search(page, "7 invoice")
    rows = page.locator("#list .hit-texts .text")
    marked = rows.first.locator("mark").all_text_contents()
    assert {"invoice", "7"} == set(marked)
    hits = [int(text.split()[0]) for text in card_texts(page, ".hits")]
    assert hits == sorted(hits, reverse=True)
    assert page.locator(".without-hits").count() == hits.count(0)
    page.click(".hit-texts .link >> nth=0")
    page.wait_for_selector(".virtual li")
    assert all("invoice" in text and "7" in text for text in page.locator(".virtual .text").all_text_contents())
    assert page.locator(".virtual mark").count() >= 2
    search(page, "number")
    assert page.locator("#group-view").is_visible()
    assert "Also found in" in page.inner_text("#group-view")
    page.click("#found .link")
    assert page.inner_text("#work-view .muted >> nth=0").startswith("480 texts, 470 different, in 6 groups")
    search(page, "")
    assert page.locator("#list-view").is_visible()
    assert page.locator("mark").count() == 0


def test_a_merge_changes_all_that_the_page_says_and_undo_changes_it_back(open_page, report, result, tmp_path):
    page = open_page(report)

    def said():
        return page.inner_text("#headline"), page.inner_text("#worth"), page.locator("#list .card").all_inner_texts()

    before = said()
    clusters = page.evaluate(GROUPS)
    first, second = clusters[2], clusters[0]
    select(page, 2, 0)
    assert page.inner_text("#chosen .muted") == "2 selected"
    page.click("#chosen button >> text=Merge")
    assert headline(page) == "5 groups"
    assert page.input_value("#k") == "5"
    assert sorted(painted(page)) == sorted(
        page.evaluate(
            "textspectra.tree.cut(5).map((node) => textspectra.tree.pieces(node).reduce((n, [a, b]) => n + b - a, 0))"
        )
    )
    assert page.locator("#edited").is_visible()
    assert "not known" in page.inner_text("#worth")
    after = applied(page, result, tmp_path / "state.json")
    expected = result.merge(first["label"], second["label"])
    assert (after.labels == expected.labels).all()
    assert [cluster.name for cluster in after.clusters] == [cluster.name for cluster in expected.clusters]
    ratio = page.evaluate("textspectra.measures.ratio(textspectra.tree.cut(5))")
    assert ratio == pytest.approx(expected.cohesion.ratio, rel=0.02)
    assert f"Cohesion Ratio {ratio:.2f}" in page.inner_text("#worth")
    share = page.locator("#heat tbody tr").count()
    assert share == 5
    page.wait_for_function("location.hash.includes('edits')")
    fragment = page.evaluate("location.hash")
    page.click("#undo")
    assert said() == before
    assert page.is_disabled("#undo")
    page.keyboard.press("Control+Shift+Z")
    assert headline(page) == "5 groups"
    page.keyboard.press("Control+z")
    assert said() == before

    again = open_page(report, fragment)
    assert headline(again) == "5 groups"
    assert {cluster["name"] for cluster in again.evaluate(GROUPS)} == {cluster.name for cluster in after.clusters}
    page.click("#undo")
    assert headline(page) == "6 groups"


def test_the_first_sentence_follows_names_edits_and_filters(open_page, report, result):
    page = open_page(report)
    lines = [line for line in page.inner_text("main").splitlines() if line]
    assert lines[:2] == ["textspectra", page.inner_text("h1")]
    clusters = sorted(page.evaluate(GROUPS), key=lambda cluster: -cluster["size"])
    page.evaluate("(node) => textspectra.state.rename(node, 'a <b>name</b>')", clusters[0]["node"])
    assert "The largest: a <b>name</b> (" in page.inner_text("h1")
    page.evaluate("(nodes) => textspectra.editing.merge(nodes)", [cluster["node"] for cluster in clusters[:2]])
    share = round(100 * (clusters[0]["size"] + clusters[1]["size"]) / 480)
    assert page.inner_text("h1").startswith(f"5 groups. The largest: a <b>name</b> ({share}%), ")
    assert page.locator(".unfiltered >> visible=true").count() == 0
    page.select_option("#filters select >> nth=0", index=1)
    page.select_option("#filters select >> nth=1", index=1)
    page.wait_for_function("textspectra.counts.isFiltered")
    shown = page.evaluate(
        """textspectra.tree.cut(5).map((node) => [textspectra.state.nameOf(node), textspectra.counts.nodes[node]])"""
    )
    left = sorted((pair for pair in shown if pair[1]), key=lambda pair: -pair[1])
    total = sum(size for _, size in left)
    name, size = left[0]
    expected = f"{len(left)} groups in the filtered texts. The largest: {name} ({round(100 * size / total)}%), "
    assert page.inner_text("h1").startswith(expected)
    # The quality, the cohesion and the evidence are about all texts.
    assert page.locator(".unfiltered >> visible=true").count() == 3
    page.click("#clear-filter")
    assert page.locator(".unfiltered >> visible=true").count() == 0
    assert page.inner_text("h1").startswith(f"5 groups. The largest: a <b>name</b> ({share}%), ")


def test_splits_moves_and_the_slider_are_steps(open_page, report, result, tmp_path):
    page = open_page(report)
    select(page, 1)
    page.click("#chosen button >> text=Split")
    assert headline(page) == "7 groups"
    after = applied(page, result, tmp_path / "state.json")
    assert [cluster.label for cluster in after.clusters] == [0, 2, 3, 4, 5, 6, 7]
    page.click(".card >> nth=0")
    page.click(".virtual .text-row >> nth=0")
    text = page.inner_text("#reader-text")
    target = page.locator("#reader-group option").nth(3).text_content()
    page.select_option("#reader-group", index=3)
    assert not page.evaluate("document.getElementById('reader').open")
    assert headline(page) == "7 groups"
    assert "The Cohesion Ratio is not known" in page.inner_text("#worth")
    after = applied(page, result, tmp_path / "state.json")
    assert after.names[after.corpus.rows.index(text)] == target
    saved = list(csv.DictReader(io.StringIO(download(page, "#csv").read_text(encoding="utf-8-sig"), newline="")))
    assert {row["similarity"] for row in saved if row["cluster_name"] == target} == {""}
    line = page.locator(f".card:has-text('{target}') .spark, .spark").first
    assert line.count() == 1
    page.fill(".rename input", "by hand")
    page.press(".rename input", "Enter")
    move_to(page, 9)
    page.click("#dropping button >> text=Drop them")
    assert page.locator("#edited").is_hidden()
    assert page.input_value("#slider") != ""
    assert "edited" not in page.inner_text("#worth")
    for number in (7, 7, 7, 6):
        page.click("#undo")
        assert headline(page) == f"{number} groups"
    assert page.is_disabled("#undo")
    for _ in range(4):
        page.click("#redo")
    assert headline(page) == "9 groups"
    page.click("#undo")
    assert "by hand" in {cluster["name"] for cluster in page.evaluate(GROUPS)}


def test_a_lasso_selects_saves_and_names(open_page, report, result, tmp_path):
    page = open_page(report)
    x, y = map_point(page, 40)
    page.click("#lasso-button")
    page.mouse.move(x - 60, y - 60)
    page.mouse.down()
    for right, down in ((60, -60), (60, 60), (-60, 60)):
        page.mouse.move(x + right, y + down, steps=4)
    page.mouse.up()
    picked = page.evaluate("textspectra.state.work.positions")
    near = page.evaluate(
        """([x, y]) => Array.from(textspectra.map.x.keys()).filter((i) => {
            const { plot, x: xs, y: ys } = textspectra.map;
            const box = plot.getBoundingClientRect();
            const at = (value, [low, high]) => (value - low) / (high - low);
            const { xaxis, yaxis } = plot.layout;
            const px = box.left + at(xs[i], xaxis.range) * box.width;
            const py = box.bottom - at(ys[i], yaxis.range) * box.height;
            return Math.abs(px - x) < 60 && Math.abs(py - y) < 60;
        })""",
        [x, y],
    )
    assert picked == near
    assert 40 in picked
    texts = {page.evaluate("(i) => textspectra.map.texts[i]", i) for i in picked}
    with page.expect_download() as waiting:
        page.click("#work-view button >> text=Download CSV")
    content = waiting.value.path().read_text(encoding="utf-8")
    assert {row["text"] for row in csv.DictReader(io.StringIO(content, newline=""))} == texts
    assert page.locator(".lasso").is_hidden()
    page.click("#work-view button >> text=Create group")
    assert page.inner_text("#work-view .problem") == "Enter a name."
    page.fill("#work-view input", "my own")
    page.click("#work-view button >> text=Create group")
    assert page.input_value(".rename input") == "my own"
    after = applied(page, result, tmp_path / "state.json")
    made = next(cluster for cluster in after.clusters if cluster.name == "my own")
    assert made.label == result.next_label
    node = page.evaluate("textspectra.state.selected")
    shares = page.evaluate("(node) => textspectra.groups.trends.shares(node).map((one) => one.texts)", node)
    frame = after.over_time()
    assert shares == frame.loc[frame["cluster"] == made.label, "texts"].tolist()
    frame = after.by("channel")
    row = page.locator("#heat tbody tr:has-text('my own') td b").all_text_contents()
    lift = frame.loc[frame["cluster"] == made.label, "lift"].tolist()
    assert [float(cell.rstrip("×")) for cell in row] == pytest.approx(lift, abs=0.06)
    assert {
        after.corpus.distinct[i] for i in np.flatnonzero(after.distinct_codes == after.position(made.label))
    } == texts


def test_two_groups_side_by_side(open_page, report, result):
    page = open_page(report)
    names = card_texts(page, ".name")[:2]
    select(page, 0, 1)
    page.click("#chosen button >> text=Compare")
    assert page.locator(".side b").all_text_contents() == names
    words = [column.locator("li span:first-child").all_text_contents() for column in page.locator(".differing").all()]
    assert all(set(name.split()) & set(column) for name, column in zip(names, words, strict=True))
    one, other = (cluster for name in names for cluster in result.clusters if cluster.name == name)
    units = result.centers / np.linalg.norm(result.centers, axis=1, keepdims=True)
    shown = float(page.inner_text("#work-view .edit-actions b"))
    assert shown == pytest.approx(units[one.label] @ units[other.label], abs=0.02)
    X = result.embedded().X
    cosines = X / np.linalg.norm(X, axis=1, keepdims=True) @ units.T
    margin = cosines[:, one.label] - cosines[:, other.label]
    mine = np.flatnonzero(result.distinct_codes == one.label)
    border = page.locator("#work-view .texts").first.locator(".text").all_text_contents()
    nearest = {result.corpus.distinct[i] for i in mine[np.argsort(margin[mine])][:16]}
    assert len(nearest & set(border)) >= 6  # similarities to the other group are known about
    page.click("#work-view .back")
    page.click("#chosen button >> text=Clear")
    assert page.is_visible("#misfits")


def test_similarities_of_groups_made_by_hand_are_close(open_page, report, result):
    page = open_page(report)
    nodes = [cluster["node"] for cluster in page.evaluate(GROUPS)]
    moved = page.evaluate("(node) => textspectra.tree.ranges[node][0]", nodes[3])
    page.evaluate(
        """([one, other, text]) => {
            const { state, tree } = textspectra;
            state.edit("", state.grouping().merge([one, other]));
            state.edit("", state.grouping().move([text], tree.ownersAt(5)[tree.ranges[one][0]]));
        }""",
        [nodes[0], nodes[1], moved],
    )
    node = page.evaluate("(i) => textspectra.tree.ownersAt(5)[i]", moved)
    members = page.evaluate("(node) => textspectra.groups.members(node)", node)
    found = page.evaluate("([node, all]) => all.map((i) => textspectra.measures.similarity(node, i))", [node, members])
    texts = [page.evaluate("(i) => textspectra.map.texts[i]", i) for i in members]
    at = [result.corpus.distinct.index(text) for text in texts]
    X = result.embedded().X[at] / np.linalg.norm(result.embedded().X[at], axis=1, keepdims=True)
    center = (X * result.corpus.counts[at, None]).sum(axis=0)
    exact = X @ center / np.linalg.norm(center)
    np.testing.assert_allclose(found, exact, atol=0.1)
    assert np.abs(found - exact).mean() < 0.03


def test_links_with_wrong_edits_are_ignored(open_page, report):
    page = open_page(report)
    mark = page.evaluate("textspectra.state.mark")
    written = page.evaluate("textspectra.state.grouping().write()")
    clusters = json.loads(written)

    def changed(*places):
        other = json.loads(written)
        for cluster, field, value in places:
            other[cluster][field] = value
        return json.dumps(other)

    wrong = [
        "[", "null", "[[]]", "7", json.dumps(clusters[1:]), changed((0, 1, " ")), changed((0, 1, clusters[1][1])),
        changed((0, 0, 99)), changed((0, 0, clusters[1][0])), changed((0, 3, clusters[1][3])),
        changed((0, 3, "zzzzzz")),
        changed((0, 4, "0-zzzzzz")), changed((0, 4, "0"), (1, 4, "0")), changed((0, 1, 7)), "[" * 5000,
    ]  # fmt: skip
    for edits in wrong:
        page.evaluate("([edits, of]) => location.hash = new URLSearchParams({ edits, of })", [edits, mark])
        page.wait_for_function("(edits) => location.hash.includes(encodeURIComponent(edits).slice(0, 3))", arg=edits)
        assert page.evaluate("textspectra.state.edits") is None
        assert headline(page) == "6 groups"
    page.evaluate("(edits) => location.hash = new URLSearchParams({ edits, of: 'another' })", written)
    page.wait_for_selector("#other-link:not([hidden])")
    assert page.evaluate("textspectra.state.edits") is None


def test_more_groups_than_the_palette_has_colors_have_different_ones(open_page, report, result, tmp_path):
    page = open_page(report)
    palette, colors = page.evaluate(
        """(({ state, tree }) => {
            const n = tree.palette.length;
            const edits = JSON.parse(state.grouping().write());
            for (let i = 0; i < tree.leaves.length; i++) edits.push([null, `text ${i}`, 0, "", i.toString(36)]);
            state.restore("", `${new URLSearchParams({ edits: JSON.stringify(edits) })}`);
            return [n, tree.cut(state.k).map((node) => tree.colors[node])];
        })(textspectra)"""
    )
    assert len(set(colors)) == len(colors) > palette
    assert {len(color) for color in colors} == {len("#rrggbb")}
    after = applied(page, result, tmp_path / "state.json")
    assert len({cluster.color for cluster in after.clusters}) == len(colors)


def test_nothing_in_the_new_places_is_markup_or_a_formula(open_page, planted, tmp_path):
    X, truth = planted(3, 60, noise=0.3)
    labels = np.where(np.arange(60) % 9 == 2, (truth + 1) % 3, truth)  # some fit badly
    signs = ["=1+1", " +1", "\u200b-1", '"@x', "＝1", "\t=1", "\ufeff＋2", "plain -1"]
    texts = [f"{PAYLOAD} <b>{i}</b> {'word' * (i % 3)}" for i in range(52)] + signs
    result = ts.describe_texts(texts, labels, embeddings=X, show={PAYLOAD: [PAYLOAD] * 60})
    result = result.rename({0: PAYLOAD, 1: "<b>bold</b>", 2: "</script><script>globalThis.hacked=1</script>"})
    path = tmp_path / "hostile.html"
    with quick_map():
        ts.write_report(result, path)
    page = open_page(path)
    search(page, '<img -<i> "<b>1"')
    assert page.locator("#list mark").count() > 0
    page.click("#found .link")
    assert PAYLOAD in page.inner_text("#work-view")
    page.fill("#work-view input", f"{PAYLOAD} 2")
    page.click("#work-view button >> text=Create group")
    search(page, "")
    page.click("#misfits")
    page.click("#work-view .text-row >> nth=0")
    assert PAYLOAD in page.text_content("#reader-group")
    page.keyboard.press("Escape")
    page.click("#work-view .back")
    select(page, 0, 1)
    page.click("#chosen button >> text=Compare")
    page.click("#work-view button >> text=Merge these groups")
    assert page.locator("body img, main b:has-text('bold') b, body i").count() == 0
    assert page.evaluate("document.querySelectorAll('script').length") == 2
    safe = list(csv.DictReader(io.StringIO(download(page, "#csv").read_bytes().decode("utf-8-sig"), newline="")))
    assert [row["text"] for row in safe] == [*texts[:52], *(f"'{sign}" for sign in signs[:-1]), signs[-1]]
    page.uncheck("#safe")
    plain = list(csv.DictReader(io.StringIO(download(page, "#csv").read_bytes().decode("utf-8-sig"), newline="")))
    assert [row["text"] for row in plain] == texts
    page.wait_for_function("location.hash.includes('edits')")
    open_page(path, page.evaluate("location.hash"))
