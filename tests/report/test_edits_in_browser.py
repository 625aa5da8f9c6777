"""What the reader sees after an edit, in a browser, and texts that are nearer to another group."""

import pytest
from browser import needs_browser
from in_browser import move_to
from report_data import quick_map

import textspectra as ts

pytestmark = needs_browser

WORDS = [
    "parcel", "password", "refund", "invoice", "battery", "delivery", "return", "kettle", "coffee", "voucher",
    "speaker", "login",
]  # fmt: skip
IN_VIEW = """(node) => {
    const item = document.querySelector(`#list li:has([data-node="${node}"])`);
    const { top, bottom } = item.getBoundingClientRect();
    const panel = document.getElementById("panel").getBoundingClientRect();
    const [low, high] = [Math.max(panel.top, 0), Math.min(panel.bottom, innerHeight)];
    return top >= low && bottom <= high && item.querySelector(".toggle").getAttribute("aria-expanded") === "true";
}"""
FOCUSED = "Number(document.activeElement.dataset.node ?? -1)"


@pytest.fixture(scope="module")
def result(planted):
    X, truth = planted(12, 480, noise=0.5, seed=3)
    texts = [f"{WORDS[cluster]} question number {i}" for i, cluster in enumerate(truth)]
    channel = [("web", "phone")[i % 2] for i in range(480)]
    return ts.cluster_texts(texts, embeddings=X, n_clusters=40, by={"channel": channel})


@pytest.fixture(scope="module")
def report(result, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    with quick_map():
        ts.write_report(result, path)
    return path


def largest_first(page):
    return page.evaluate("textspectra.tree.largestFirst(textspectra.state.k)")


def notice(page):
    return page.text_content("#outcome")


def name_of(page, node):
    return page.evaluate("(node) => textspectra.state.nameOf(node)", node)


@pytest.mark.parametrize(("width", "height", "motion"), [(1440, 900, "no-preference"), (390, 844, "reduce")])
def test_a_merge_and_its_undo_show_the_groups_open_and_named(open_page, report, width, height, motion):
    page = open_page(report, width=width, height=height, reduced_motion=motion)
    page.evaluate("document.getElementById('list').classList.add('all')")
    nodes = largest_first(page)
    for node in nodes[-2:]:  # at the end of the list
        page.check(f"#list li:has([data-node='{node}']) .tick input")
    page.evaluate("scrollTo(0, 0); document.getElementById('panel').scrollTop = 0")
    page.evaluate("document.getElementById('list').classList.remove('all')")  # on a phone, the end is cut
    page.locator("#chosen button >> text=Merge").press("Enter")
    [merged] = set(largest_first(page)) - set(nodes)
    page.wait_for_function(IN_VIEW, arg=merged)
    assert page.evaluate(FOCUSED) == merged
    assert notice(page) == f"Result of merging 2 groups: {name_of(page, merged)}. 39 groups instead of 40."
    assert page.get_attribute("#outcome", "role") == "status"
    moving = page.evaluate("getComputedStyle(document.querySelector('.resulting')).animationName")
    assert moving == ("none" if motion == "reduce" else "resulting")
    page.evaluate("scrollTo(0, 0); document.getElementById('panel').scrollTop = 0")
    page.focus("#undo")
    page.keyboard.press("Enter")
    page.wait_for_function(IN_VIEW, arg=nodes[-2])
    named = ", ".join(name_of(page, node) for node in nodes[-2:])
    assert notice(page) == f"Undone: merging 2 groups: {named}. 40 groups instead of 39."
    assert page.evaluate(FOCUSED) == nodes[-2]  # the button is disabled now
    page.locator("#redo").press("Enter")
    assert notice(page).startswith("Redone: merging 2 groups: ")


def test_a_split_opens_both_parts_also_in_a_folded_theme(open_page, report):
    page = open_page(report)
    if page.is_visible("#fold"):
        page.click("#fold")
    nodes = largest_first(page)
    page.evaluate("(selected) => textspectra.state.set({ selected })", nodes[3])
    page.locator("#group-view button >> text=Split in two").press("Enter")
    parts = [node for node in largest_first(page) if node not in nodes]
    assert len(parts) == 2
    page.wait_for_function(IN_VIEW, arg=parts[0])
    assert page.locator("#list .toggle[aria-expanded=true]").count() == 2
    assert page.evaluate(FOCUSED) == parts[0]
    assert notice(page).startswith(f"Result of splitting a group: {name_of(page, parts[0])}, ")
    assert notice(page).endswith(" 41 groups instead of 40.")
    page.keyboard.press("Control+z")
    page.wait_for_function(IN_VIEW, arg=nodes[3])
    assert notice(page).endswith(" 40 groups instead of 41.")
    page.click("#more")
    page.click("#undo")
    assert notice(page) == "Undone: changing the number of groups. 40 groups instead of 41."


def test_moved_texts_are_shown_in_their_new_group(open_page, report):
    page = open_page(report)
    source, target, *_ = largest_first(page)
    page.evaluate("(selected) => textspectra.state.set({ selected })", source)
    page.click(".virtual .text-row >> nth=0")
    name = name_of(page, target)
    page.select_option("#reader-group", label=name)
    assert page.input_value(".rename input") == name
    assert notice(page) == f"Result of moving a text: {name}."
    assert page.get_attribute("#group-view", "aria-label") == name
    page.fill(".rename input", "by hand")
    page.press(".rename input", "Enter")
    assert notice(page) == f"Result of moving a text: {name}."
    page.click("#undo")
    assert notice(page) == "Undone: renaming a group: " + name + "."
    page.click("#undo")
    assert notice(page) == f"Undone: moving a text: {name_of(page, source)}."
    assert page.input_value(".rename input") == name_of(page, source)
    move_to(page, 5)
    page.locator(".back").click()
    one, other = largest_first(page)[:2]
    page.evaluate("(selected) => textspectra.state.set({ selected })", one)
    page.select_option("[aria-label='Merge with']", value=str(other))
    assert page.evaluate("document.activeElement.id") == "group-view"
    assert page.locator("#group-view").is_visible()
    assert notice(page).endswith(" 4 groups instead of 5.")
