"""The Save button of a page that is served, in Firefox."""

from firefox import firefox, needs_firefox
from served import load, names_in_table, serving

from textspectra.report.serving import MODEL_CHANGED

pytestmark = needs_firefox

SAVED = "document.getElementById('saved').textContent.startsWith('{}')"


def rename(tab, at, name):
    tab.evaluate(f"textspectra.state.rename(textspectra.tree.cut(textspectra.state.k)[{at}], '{name}') ?? null")


def save(tab, words):
    tab.evaluate("document.getElementById('save').click()")
    tab.wait_for(SAVED.format(words))


def load_again(tab):
    """Load the page again; what it would lose is not asked for without a reader."""
    tab.call("browsingContext.reload", context=tab.tab, wait="complete")
    tab.wait_for("document.documentElement.dataset.ready")


def test_edits_are_saved_in_firefox(model):
    with serving(model) as server, firefox() as tab:
        tab.open(server.address)
        tab.evaluate("[...document.querySelectorAll('.tick input')].slice(0, 2).forEach((box) => box.click())")
        tab.evaluate("[...document.querySelectorAll('button')].find((one) => one.textContent === 'Merge').click()")
        rename(tab, 0, "both")
        save(tab, "Saved: 2 groups merged into 1, 4")
        assert load(model).n_clusters == 5
        assert "both" in names_in_table(model).values()
        assert tab.evaluate("document.getElementById('save').disabled")
        # Undone and saved again, by the keyboard; then the page is loaded again.
        for _ in range(2):
            tab.evaluate("document.getElementById('undo').click()")
        tab.evaluate("document.dispatchEvent(new KeyboardEvent('keydown', { key: 's', ctrlKey: true }))")
        tab.wait_for(SAVED.format("Saved: 1 group split into 2, 4 groups unchanged"))
        assert load(model).n_clusters == 6
        rename(tab, 1, "last name")
        save(tab, "Saved: 1 group renamed, 5")
        load_again(tab)
        assert tab.evaluate("textspectra.state.nameOf(textspectra.tree.cut(6)[1])") == "last name"
        assert tab.evaluate("document.getElementById('save').disabled")
        assert tab.problems == []


def test_texts_that_were_moved_are_saved_in_firefox(model):
    with serving(model) as server, firefox() as tab:
        tab.open(server.address)
        text = tab.evaluate(
            """(() => {
                const { state, tree, map } = textspectra;
                const i = tree.ranges[tree.base.nodes[0]][0];
                state.edit("", state.grouping().move([i], tree.base.nodes[1]), [i]);
                return map.texts[i];
            })()"""
        )
        save(tab, "Saved: 2 groups rearranged into 2, 4 groups unchanged")
        saved = load(model)
        assert [saved.corpus.distinct[i] for i in saved.moved_by_hand] == [text]
        assert saved.codes[saved.corpus.rows.index(text)] == 1
        listed = "textspectra.misfits.find().map(({ i }) => textspectra.map.texts[i])"
        assert text not in tab.evaluate(listed)
        load_again(tab)
        assert text not in tab.evaluate(listed)
        assert tab.problems == []


def test_the_second_page_is_told_in_firefox(model):
    with serving(model) as server, firefox() as tab:
        tab.open(server.address)
        first = tab.tab
        tab.tab = tab.call("browsingContext.create", type="tab")["context"]
        tab.open(server.address)
        rename(tab, 0, "second")
        save(tab, "Saved: 1 group renamed")
        tab.tab = first
        rename(tab, 0, "first")
        save(tab, MODEL_CHANGED)
        assert load(model).clusters[0].name == "second"


def test_the_page_says_in_firefox_when_it_can_no_longer_save(model, monkeypatch):
    monkeypatch.setattr("textspectra.report.serving.PULSE_SECONDS", 0.2)
    with firefox() as tab:
        with serving(model) as server:
            tab.open(server.address)
            rename(tab, 0, "x" * 300)
            save(tab, "The name")
            assert not tab.evaluate("document.getElementById('save').disabled")
        server.server_close()
        tab.wait_for(SAVED.format("textspectra has stopped"))
        assert tab.evaluate("document.getElementById('save').disabled")
