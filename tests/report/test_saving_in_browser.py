"""The Save button of a page that is served, in Chromium."""

import numpy as np
import pytest
from browser import needs_browser
from reference import nearest_other
from report_data import quick_map
from served import load, names_in_table, serving

import textspectra as ts
from textspectra.report.saving import report_path
from textspectra.report.serving import MODEL_CHANGED


def merge_two(page):
    for box in page.locator(".tick input").all()[:2]:
        box.check()
    page.get_by_role("button", name="Merge", exact=True).click()


RENAME = "([at, name]) => textspectra.state.rename(textspectra.tree.cut(textspectra.state.k)[at], name)"


def rename(page, at, name):
    page.evaluate(RENAME, [at, name])


def saved(page, words):
    page.click("#save")
    page.wait_for_function("words => document.getElementById('saved').textContent.startsWith(words)", arg=words)


@needs_browser
def test_edits_are_saved_and_the_page_stays_as_it_is(open_served, model):
    with serving(model) as server:
        page = open_served(server)
        assert page.is_disabled("#save")
        assert page.is_hidden("#keep")
        assert page.is_hidden("#keeping-command")
        merge_two(page)
        rename(page, 1, "my <b>own</b> name")
        groups = page.evaluate(
            "textspectra.tree.cut(textspectra.state.k).map((node) => textspectra.state.nameOf(node))"
        )
        page.evaluate("globalThis.sameLoad = true")
        saved(page, "Saved: 1 group renamed, 2 groups merged into 1, 3 groups unchanged; every text with its group: ")
        assert page.is_disabled("#save")
        assert page.evaluate("sameLoad")
        assert [cluster.name for cluster in load(model).clusters] == groups
        assert set(names_in_table(model).values()) == set(groups)
        numbers = page.evaluate("textspectra.takeAway.rows().map(({ cluster }) => cluster)")
        assert sorted(numbers) == sorted(load(model).labels.tolist())
        # What is done afterwards is saved, too: also to undo all.
        for _ in range(2):
            page.click("#undo")
        saved(page, "Saved: 1 group renamed, 1 group split into 2, 3 groups unchanged; ")
        assert load(model).n_clusters == 6
        rename(page, 0, "another name")
        page.keyboard.press("Control+s")
        page.wait_for_function("document.getElementById('saved').textContent.startsWith('Saved: 1 group renamed, 5')")
        page.reload()
        page.wait_for_selector("html[data-ready]")
        assert page.evaluate("textspectra.state.nameOf(textspectra.tree.cut(6)[0])") == "another name"
        assert page.is_hidden("#other-link")
        assert page.is_disabled("#save")


LISTED = """Object.fromEntries(textspectra.misfits.find().map(({ i, node, margin }) =>
    [textspectra.map.texts[i], [margin, textspectra.state.nameOf(node)]]))"""


def check_misfits(page, model, moved=()):
    """Check that the page lists what is nearer to another group of the model, except texts that were moved."""
    exact = {text: found for text, found in nearest_other(load(model)).items() if found[0] >= 0.01}
    listed = page.evaluate(LISTED)
    assert listed == {
        text: [pytest.approx(margin, abs=1e-4), name] for text, (margin, name) in exact.items() if text not in moved
    }
    return list(listed)


def spoil(model):
    """Put every eighth text of a model into another group."""
    result = load(model)
    codes = np.where(np.arange(120) % 8, result.codes, (result.codes + 1) % 6)
    spoiled = ts.describe_texts(result.corpus.rows, codes, embeddings=np.load(model.with_name("x.npy")))
    spoiled.save(model, overwrite=True)
    with quick_map():
        spoiled.report(report_path(model), overwrite=True)


@needs_browser
def test_texts_that_fit_badly_are_compared_again_when_they_are_saved(open_served, model):
    spoil(model)
    with serving(model) as server:
        page = open_served(server)
        first = check_misfits(page, model)
        assert len(first) >= 10
        page.click("#misfits")
        for box in page.locator(".misfits input").all()[:4]:
            box.check()
        page.click("#work-view .edit-actions button")
        assert "when this page was made." in page.text_content("#work-view .muted")
        saved(page, "Saved: ")
        assert "as they were" not in page.text_content("#work-view .muted")
        moved = first[:4]
        second = check_misfits(page, model, moved)
        assert not set(second) & set(moved)
        # Merged, and reloaded; then a text is moved to a group where it does not belong.
        page.click("#work-view .back")
        merge_two(page)
        saved(page, "Saved: ")
        check_misfits(page, model, moved)
        page.reload()
        page.wait_for_selector("html[data-ready]")
        check_misfits(page, model, moved)
        wrong = page.evaluate(
            """() => {
                const { state, tree, misfits, map } = textspectra;
                const i = tree.ranges[tree.base.nodes[0]][0];
                state.edit("", state.grouping().move([i], tree.base.nodes[1]), [i]);
                return map.texts[i];
            }"""
        )
        saved(page, "Saved: ")
        check_misfits(page, model, [*moved, wrong])
        assert len(load(model).moved_by_hand) == 5


@needs_browser
def test_without_a_report_beside_the_model_they_are_as_when_the_page_was_made(open_served, model):
    spoil(model)
    report_path(model).unlink()
    with serving(model) as server:
        page = open_served(server)
        listed = page.evaluate(LISTED)
        page.click("#misfits")
        page.check(".misfits input >> nth=0")
        page.click("#work-view .edit-actions button")
        saved(page, "Saved: ")
        assert list(page.evaluate(LISTED)) == list(listed)[1:]
        assert page.text_content("#work-view .muted").endswith(
            " Groups are compared as they were when this page was made."
        )
        rename(page, 0, "another name")
        saved(page, "Saved: 1 group renamed")


@needs_browser
def test_a_save_counts_also_if_the_texts_that_fit_badly_cannot_be_compared(browser, model):
    with serving(model) as server:
        page = browser.new_context().new_page()
        page.goto(server.address)
        page.wait_for_selector("html[data-ready]")
        page.evaluate("() => { textspectra.misfits.take = () => { throw new Error('broken'); }; }")
        rename(page, 0, "first")
        with page.expect_event("pageerror"):
            saved(page, "Saved: 1 group renamed")
        assert (page.inner_text("#save"), page.is_disabled("#save")) == ("Save", True)
        assert page.evaluate("!location.hash.includes('names')")
        rename(page, 0, "second")
        saved(page, "Saved: 1 group renamed")
        assert load(model).clusters[0].name == "second"
        page.context.close()


@needs_browser
def test_the_second_page_is_told(open_served, model):
    with serving(model) as server:
        first, second = open_served(server), open_served(server)
        rename(first, 0, "first")
        saved(first, "Saved: 1 group renamed")
        rename(second, 0, "second")
        saved(second, MODEL_CHANGED)
        assert load(model).clusters[0].name == "first"
        second.reload()
        second.wait_for_selector("html[data-ready]")
        rename(second, 0, "second")
        saved(second, "Saved: 1 group renamed")
        assert load(model).clusters[0].name == "second"


@needs_browser
def test_the_page_says_when_it_can_no_longer_save(open_served, model, monkeypatch):
    monkeypatch.setattr("textspectra.report.serving.PULSE_SECONDS", 0.2)
    with serving(model) as server:
        page = open_served(server)
        rename(page, 0, "first")
    server.server_close()
    page.wait_for_function("document.getElementById('saved').textContent.startsWith('textspectra has stopped')")
    assert page.is_disabled("#save")


@needs_browser
def test_a_name_that_the_model_refuses_is_told(open_served, model):
    with serving(model) as server:
        page = open_served(server)
        rename(page, 0, "x" * 5000)
        page.click("#save")
        page.wait_for_function("document.getElementById('saved').textContent")
        assert "characters" in page.text_content("#saved")
        assert page.is_enabled("#save")


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_controls_are_accessible(open_served, model, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with serving(model) as server:
        page = open_served(server)
        page.emulate_media(color_scheme=scheme)
        merge_two(page)
        for _ in range(2):
            assert axe.run(page).response["violations"] == []
            saved(page, "Saved: ")
            rename(page, 0, "another name")
            page.evaluate("document.getElementById('saved').textContent = 'Saved'")


@needs_browser
def test_a_page_opened_as_a_file_has_no_button(model, browser):
    page = browser.new_context(offline=True).new_page()
    page.goto(model.with_name("x.report.html").as_uri())
    page.wait_for_selector("html[data-ready]")
    assert page.locator("#save").count() == 0
    assert page.is_visible("#keeping-command")
    page.context.close()
