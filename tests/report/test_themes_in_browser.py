"""Themes, mixed groups and groups that look alike, in a browser."""

from dataclasses import replace

import numpy as np
import pytest
from browser import needs_browser
from in_browser import PAYLOAD, card_texts, download, move_to
from report_data import contents, quick_map

import textspectra as ts
from textspectra.report.state import apply_state, read_state
from textspectra.texts.similar import SimilarPair

pytestmark = needs_browser

WORDS = ["parcel", "password", "refund", "invoice", "battery", "delivery", "voucher", "camera"]


@pytest.fixture(scope="module")
def result():
    """Return 8 groups of 10 to 31 texts in 4 themes of two; one of the groups is mixed."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(8), [31, 28, 25, 22, 19, 16, 13, 10])
    X = 3 * np.eye(12)[groups // 2] + np.eye(12)[4 + groups] + 0.05 * rng.standard_normal((len(groups), 12))
    texts = [f"my {WORDS[group]} is number {i}" for i, group in enumerate(groups)]
    found = ts.cluster_texts(texts, embeddings=X)
    assert (found.n_clusters, sorted(map(len, (theme.clusters for theme in found.themes)))) == (8, [2, 2, 2, 2])
    clusters = [replace(cluster, is_mixed=cluster.label == 3) for cluster in found.clusters]
    return replace(found, clusters=tuple(clusters))


def headings(page):
    return page.locator("#list .theme-name").all_text_contents()


def listed(page):
    """Return what the list shows, in its order: headings in brackets, and names of groups."""
    return page.evaluate(
        """[...document.querySelectorAll("#list > li")].map((item) => {
            const name = item.querySelector(".name").textContent;
            return item.matches(".theme") ? `[${name}]` : name;
        })"""
    )


def test_groups_stand_under_their_themes_the_largest_first(open_page, report, result):
    page = open_page(report)
    names = {cluster.label: cluster.name for cluster in result.clusters}
    expected = []
    for theme in result.themes:  # the largest first, and so are labels
        expected += [f"[{theme.name}]", *(names[label] for label in sorted(theme.clusters))]
    assert listed(page) == expected
    assert headings(page)[0] == f"{result.themes[0].name}2 groups · 59 · 36%"
    page.click("#sorting [data-key=name]")
    assert listed(page) == sorted(names.values())  # without headings
    assert page.is_hidden("#fold")
    page.click("#sorting [data-key=size]")
    assert listed(page) == expected
    page.click("#sorting [data-key=size]")
    assert listed(page)[:3] == [f"[{result.themes[3].name}]", names[7], names[6]]


def test_a_theme_can_be_folded_and_stays_so_at_other_numbers_of_groups(open_page, report, result):
    page = open_page(report)
    button = page.locator("#list .theme-name").nth(1)
    assert button.get_attribute("aria-expanded") == "true"
    button.press("Enter")
    folded = page.locator("#list .theme-name").nth(1)
    assert folded.get_attribute("aria-expanded") == "false"
    assert page.evaluate("document.activeElement.dataset.theme") == "1"
    assert page.locator(".card").count() == 6
    move_to(page, 10)
    assert f"[{result.themes[1].name}]" in listed(page)
    assert page.locator("#list .theme-name[aria-expanded=false]").count() == 1
    move_to(page, 8)
    assert page.locator(".card").count() == 6
    node = page.evaluate("textspectra.tree.base.nodes[2]")  # opened on the map, for example
    page.evaluate("(selected) => textspectra.state.set({ selected })", node)
    page.click(".back")
    assert page.evaluate("document.activeElement.dataset.theme") == "1"
    page.keyboard.press("Space")
    assert page.locator(".card").count() == 8
    page.click("#fold")
    assert (page.locator(".card").count(), page.inner_text("#fold")) == (0, "Unfold themes")
    page.fill("#search", "voucher")
    page.wait_for_function("textspectra.state.query === 'voucher'")
    assert headings(page)[0].endswith("· 13 found")
    page.click("#fold")
    assert page.locator(".card").count() == 8


def test_there_are_headings_as_long_as_themes_have_several_groups(open_page, report, result):
    page = open_page(report)
    counts = {2: 0, 3: 0, 4: 0, 6: 2, 8: 4, 12: 4}
    for k, n in counts.items():
        move_to(page, k)
        assert (len(headings(page)), page.locator(".card").count()) == (n, k)
    move_to(page, 4)
    assert set(card_texts(page, ".name")) == {theme.name for theme in result.themes}
    assert page.is_hidden("#fold")
    move_to(page, 8)
    merged = [page.evaluate(f"textspectra.tree.base.nodes[{place}]") for place in (0, 2)]  # of two themes
    page.evaluate("(nodes) => textspectra.editing.merge(nodes)", merged)
    assert (len(headings(page)), page.locator(".card").count()) == (2, 7)
    page.click("#undo")
    assert len(headings(page)) == 4


def applied(page, result, path):
    """Return the model with what the page has, after a check that both have the same themes."""
    path.write_bytes(download(page, "#json").read_bytes())
    after = apply_state(result, read_state(path))
    shown = page.evaluate(
        """(({ groups, state, tree }) => [...tree.labelsAt(state.k)].map(([node, label]) =>
            [label, groups.themes.of(node) < 0 ? null : groups.themes.nameOf(groups.themes.of(node))]))(textspectra)"""
    )
    themes = {label: theme.name for theme in after.themes for label in theme.clusters}
    assert dict(shown) == {cluster.label: themes.get(cluster.label) for cluster in after.clusters}
    return after


def test_moved_texts_leave_a_group_in_its_theme_also_all_of_a_finest_one(open_page, report, result, tmp_path):
    page = open_page(report)
    place = page.evaluate(
        """(({ state, tree }) => {
            const [one, other] = tree.base.nodes.filter((_, place) => place % 3 === 0); // of two themes
            const leaf = tree.spans[one][0];
            const texts = Array.from({ length: tree.distinct[leaf] }, (_, i) => tree.ranges[leaf][0] + i);
            state.edit("", state.grouping().move(texts, other), texts);
            return state.edits.groups.findIndex(({ leaves }) => leaves.includes(leaf));
        })(textspectra)"""
    )
    assert place == 3  # the whole finest group went there
    after = applied(page, result, tmp_path / "state.json")
    assert sorted(len(theme.clusters) for theme in after.themes) == [2, 2, 2, 2]
    assert len(headings(page)) == 4
    # The same groups, not made of single texts.
    page.evaluate(
        """(at) => {
            const { state } = textspectra;
            const edits = JSON.parse(state.edits.write());
            edits[at][4] = "";
            state.restore("", `${new URLSearchParams({ k: 8, edits: JSON.stringify(edits) })}`);
        }""",
        place,
    )
    assert len(headings(page)) == 3
    applied(page, result, tmp_path / "state.json")
    page.click("#undo")
    assert len(headings(page)) == 4


def test_a_mixed_group_says_so_in_words(open_page, report, result):
    page = open_page(report)
    marked = page.locator(".card:has(.mixed)")
    assert marked.locator(".name").all_text_contents() == [result.clusters[3].name]
    assert marked.locator(".mixed").inner_text() == "mixed"
    marked.click()
    assert page.locator("#group-view").inner_text().count("mixed: its texts have no common theme") == 1
    page.evaluate("textspectra.tree.nodes.mixed[textspectra.tree.base.nodes[0]] = true")
    move_to(page, 9)
    move_to(page, 8)
    assert page.inner_text("h1").startswith(f"8 groups. The largest: {result.clusters[0].name} (mixed, 19%), ")


def test_groups_at_other_numbers_have_the_mark_by_the_rule_of_python(result):
    nodes = contents(result)[0]["nodes"]
    assert len(nodes["mixed"]) == len(nodes["name"])
    assert sum(nodes["mixed"]) >= 1


def test_names_of_themes_are_not_markup(open_page, result, tmp_path):
    first, *others = result.themes
    hostile = replace(result, themes=(first._replace(name=PAYLOAD), *others))
    with quick_map():
        ts.write_report(hostile, tmp_path / "hostile.html")
    page = open_page(tmp_path / "hostile.html")
    assert page.locator("#list .theme-name .name").first.text_content() == PAYLOAD


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(open_page, alike_report, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = open_page(alike_report, color_scheme=scheme, reduced_motion="reduce")
    page.click("#alike summary")
    page.click("#open-all")
    found = axe.Axe().run(page).response["violations"]
    page.click("#list .theme-name >> nth=1")
    page.set_viewport_size({"width": 390, "height": 844})
    found += axe.Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


@pytest.fixture(scope="module")
def alike(result):
    """Return the same groups, of which five pairs look alike: the first, the second and the third group share two."""
    pairs = [(0, 1), (1, 2), (2, 0), (4, 6), (5, 7)]
    found = replace(result)
    found.__dict__["similar_pairs"] = tuple(SimilarPair(*pair, 0.9, "texts") for pair in pairs)
    return found


@pytest.fixture(scope="module")
def alike_report(alike, tmp_path_factory):
    path = tmp_path_factory.mktemp("alike") / "report.html"
    with quick_map():
        ts.write_report(alike, path)
    return path


def offers(page):
    return page.locator("#alike-pairs li > span").all_text_contents() if page.is_visible("#alike") else []


def test_groups_that_look_alike_are_merged_by_one_click(open_page, alike_report, alike, tmp_path):
    page = open_page(alike_report)
    names = [cluster.name for cluster in alike.clusters]
    first = [f"{names[0]} and {names[1]}", f"{names[1]} and {names[2]}", f"{names[0]} and {names[2]}"]
    assert offers(page) == first
    assert page.inner_text("#alike summary") == "These groups look alike (3 of 5)"
    assert page.is_hidden("#alike-pairs")
    page.click("#alike summary")
    page.click("#alike-pairs button >> nth=0")
    assert page.inner_text("#headline b") == "7 groups"
    assert offers(page) == [f"{names[4]} and {names[6]}", f"{names[5]} and {names[7]}"]  # the others have group 0 or 1
    assert page.inner_text("#alike summary") == "These groups look alike"
    path = tmp_path / "clusters.json"
    path.write_bytes(download(page, "#json").read_bytes())
    after = apply_state(alike, read_state(path))
    assert after.clusters[0].size == alike.clusters[0].size + alike.clusters[1].size
    page.focus("#alike-pairs button >> nth=1")
    page.keyboard.press("Enter")
    assert page.inner_text("#headline b") == "6 groups"
    page.click("#undo")
    page.click("#undo")
    assert offers(page) == first
    move_to(page, 4)
    assert offers(page) == []
    move_to(page, 8)
    page.evaluate("textspectra.state.rename(textspectra.tree.base.nodes[0], 'a <b>name</b>')")
    assert offers(page)[0] == f"a <b>name</b> and {names[1]}"
    page.click("#alike summary")
    assert page.is_hidden("#alike-pairs")


def test_there_is_no_offer_without_groups_that_look_alike(open_page, report, result):
    assert result.similar_pairs == ()
    assert open_page(report).is_hidden("#alike")
