"""What the reader sees after an edit, in a browser, and texts that are nearer to another group."""

import numpy as np
import pytest
from browser import needs_browser
from in_browser import move_to
from reference import nearest_other
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
    assert page.evaluate("textspectra.state.hovered") is None  # the map shows all groups
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


@pytest.fixture(scope="module")
def wrong(planted):
    """Return 12 groups; 60 of the 480 texts are in a group that is not theirs."""
    X, truth = planted(12, 480, noise=0.3, seed=3)
    texts = [f"{WORDS[cluster]} question number {i}" for i, cluster in enumerate(truth)]
    labels = np.where(np.arange(480) % 8 == 0, (truth + 1) % 12, truth)
    channel = [("web", "phone")[i // 8 % 2] for i in range(480)]
    return ts.describe_texts(texts, labels, embeddings=X, by={"channel": channel})


@pytest.fixture(scope="module")
def wrong_report(wrong, tmp_path_factory):
    path = tmp_path_factory.mktemp("wrong") / "report.html"
    with quick_map():
        ts.write_report(wrong, path)
    return path


LISTED = """[...document.querySelectorAll(".misfits input")].map((box) => Number(box.dataset.text))"""


def open_misfits(page):
    page.click("#misfits")
    page.wait_for_function("document.querySelector('#work-view .muted')?.textContent.includes('nearer')")


def listed_texts(page):
    """Return the texts in the list, each with how much nearer it is and the name of the nearer group."""
    return page.evaluate(
        """Object.fromEntries(textspectra.misfits.find().map(({ i, node, margin }) =>
            [textspectra.map.texts[i], [margin, textspectra.state.nameOf(node)]]))"""
    )


def test_texts_that_fit_badly_are_nearer_to_another_group(open_page, wrong_report, wrong):
    page = open_page(wrong_report)
    open_misfits(page)
    found = page.evaluate("textspectra.misfits.find()")
    note = page.inner_text("#work-view .muted")
    assert note.startswith(f"{len(found)} of 480 different texts are nearer to the center of another group: ")
    assert note.endswith("Texts that you moved are not listed.")
    margins = [one["margin"] for one in found]
    assert margins == sorted(margins, reverse=True)
    expected = {text: margin for text, margin in nearest_other(wrong).items() if margin[0] >= 0.01}
    listed = listed_texts(page)
    assert {text: (pytest.approx(margin, abs=1e-4), name) for text, (margin, name) in expected.items()} == {
        text: tuple(entry) for text, entry in listed.items()
    }
    texts = list(listed)
    assert page.locator(".misfits .text").all_text_contents() == texts[:50]
    assert page.evaluate("document.activeElement.id") == "work-view"
    assert len(found) > 50
    page.locator("#work-view button >> text=more").press("Enter")
    assert page.evaluate(LISTED) == [one["i"] for one in found]
    assert page.evaluate("Number(document.activeElement.dataset.text)") == found[50]["i"]
    page.select_option("#filters select", index=1)
    page.wait_for_function("document.querySelector('#work-view .muted').textContent.includes('of 240 different')")
    passing = page.evaluate("[...textspectra.counts.texts]")
    assert all(passing[i] for i in page.evaluate(LISTED))
    page.click("#work-view .back")
    assert page.evaluate("document.activeElement.id") == "misfits"


def test_checked_texts_move_to_their_nearer_groups_in_one_step_and_do_not_come_back(open_page, wrong_report):
    page = open_page(wrong_report)
    open_misfits(page)
    found = page.evaluate("textspectra.misfits.find()")
    assert page.is_disabled("#work-view .edit-actions button")
    page.check(".misfits input >> nth=0")
    assert page.evaluate("document.querySelector('#work-view .safe input').indeterminate")
    page.check("#work-view .safe input")
    assert page.locator(".misfits input:checked").count() == 50
    page.uncheck("#work-view .safe input")
    for row in (0, 2, 3):
        page.locator(".misfits input").nth(row).press("Space")
    assert page.inner_text("#work-view .edit-actions button") == "Move 3 texts to the nearer groups"
    chosen = [found[row] for row in (0, 2, 3)]
    page.locator("#work-view .edit-actions button").press("Enter")
    names = page.evaluate(
        "(texts) => texts.map((i) => textspectra.state.nameOf(textspectra.tree.ownersAt(textspectra.state.k)[i]))",
        [one["i"] for one in chosen],
    )
    assert names == [name_of(page, one["node"]) for one in chosen]
    assert notice(page).startswith(f"Result of moving 3 texts: {names[0]}")
    assert page.evaluate("document.activeElement.id") == "work-view"
    moved = {one["i"] for one in chosen}
    page.wait_for_function("(i) => !document.querySelector(`.misfits [data-text='${i}']`)", arg=chosen[0]["i"])
    left = {one["i"] for one in page.evaluate("textspectra.misfits.find()")}
    assert left
    assert not left & moved
    # Moved to any other group, or back by hand, or with all texts of their finest group, they stay out of the list.
    page.evaluate(
        """([i, node]) => {
            const { state, tree } = textspectra;
            state.edit("", state.grouping().move([i], tree.ownersAt(state.k)[tree.ranges[node][0]]), [i]);
        }""",
        [chosen[0]["i"], chosen[0]["own"]],
    )
    assert not {one["i"] for one in page.evaluate("textspectra.misfits.find()")} & moved
    page.click("#undo")
    page.click("#undo")
    page.wait_for_function("(i) => document.querySelector(`.misfits [data-text='${i}']`)", arg=chosen[0]["i"])
    assert page.evaluate("textspectra.state.edits") is None
    assert [one["i"] for one in page.evaluate("textspectra.misfits.find()")] == [one["i"] for one in found]
    page.click("#redo")
    page.wait_for_function("location.hash.includes('edits')")
    again = open_page(wrong_report, page.evaluate("location.hash"))
    assert not {one["i"] for one in again.evaluate("textspectra.misfits.find()")} & moved


MOVE = """([i, node]) => {
    const { state, tree } = textspectra;
    state.edit("", state.grouping().move([i], tree.ownersAt(state.k)[tree.ranges[node][0]]), [i]);
}"""


def test_a_text_that_was_moved_and_moved_back_is_not_listed_again(open_page, wrong_report):
    page = open_page(wrong_report)
    first, *others = page.evaluate("textspectra.misfits.find()")
    page.evaluate(MOVE, [first["i"], first["node"]])
    page.evaluate(MOVE, [first["i"], first["own"]])
    assert page.evaluate("textspectra.misfits.find()") == others  # the groups are the same as before
    page.wait_for_function("location.hash.includes('edits')")
    page = open_page(wrong_report, page.evaluate("location.hash"))
    assert page.evaluate("textspectra.misfits.find()") == others
    page.evaluate(
        "([one, other]) => textspectra.state.edit('', textspectra.state.grouping().merge([one, other]))",
        [first["own"], first["node"]],
    )
    left = {one["i"] for one in page.evaluate("textspectra.misfits.find()")}
    assert left < {one["i"] for one in others}
    for _ in range(2):
        page.click("#undo")
    assert page.evaluate("textspectra.misfits.find()[0].i") == first["i"]


def test_the_list_says_which_groups_it_compares(open_page, wrong_report):
    page = open_page(wrong_report)
    open_misfits(page)
    found = page.evaluate("textspectra.misfits.find()")
    page.evaluate(MOVE, [found[0]["i"], found[0]["node"]])
    as_of = " Groups are compared as they were when this page was made"
    assert page.inner_text("#work-view .muted").endswith(f"{as_of}.")
    left = page.evaluate("textspectra.misfits.find()")
    assert [one["i"] for one in left] == [one["i"] for one in found[1:]]
    pair = [left[0]["own"], left[0]["node"]]
    page.evaluate("(pair) => textspectra.state.edit('', textspectra.state.grouping().merge(pair))", pair)
    assert page.inner_text("#work-view .muted").endswith(f"{as_of}, without 1 newer group.")
    listed = page.evaluate("textspectra.misfits.find()")
    assert 0 < len(listed) < len(left)
    assert not {node for one in listed for node in (one["own"], one["node"])} & set(pair)


@pytest.mark.parametrize("width", [1440, 390])
def test_no_control_does_nothing(open_page, report, width):
    page = open_page(report, width=width, height=900)
    assert page.is_hidden("#sorting [data-key=change]")  # no group changes
    lowest, highest = page.evaluate("[textspectra.tree.lowest, textspectra.tree.k]")
    for k, disabled in ((lowest, (True, False)), (20, (False, False)), (highest, (False, True))):
        move_to(page, k)
        assert (page.is_disabled("#fewer"), page.is_disabled("#more")) == disabled
        assert page.is_visible("#list-all") == (width < 500 and page.locator("#list > li").count() > 25)
    page.check(".tick input >> nth=0")  # a finest group cannot be split
    assert page.locator("#chosen button").all_text_contents() == ["Clear"]
    page.click(".toggle >> nth=0")
    assert page.locator(".line-details button").all_text_contents()[1:] == ["Rename"]
    page.click(".card >> nth=0")
    assert page.locator("#group-view button >> text=Split in two").count() == 0
    page.click(".back")
    while page.locator("#list .theme-name[aria-expanded=true]").count():
        page.click("#fold")
    assert page.is_visible("#open-all") == (page.locator("#list .card").count() > 0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(open_page, wrong_report, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = open_page(wrong_report, color_scheme=scheme, reduced_motion="reduce")
    open_misfits(page)
    page.check(".misfits input >> nth=1")
    found = axe.Axe().run(page).response["violations"]
    page.click("#work-view .edit-actions button")
    page.click("#work-view .back")
    page.select_option("#filters select", index=1)
    page.click("#open-all")
    page.evaluate("(nodes) => textspectra.editing.merge(nodes)", largest_first(page)[:2])
    if scheme == "dark":
        page.set_viewport_size({"width": 390, "height": 844})
    found += axe.Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
