"""The Save button of a page that is served, in Firefox."""

from firefox import firefox, needs_firefox
from served import load, names_in_table, serving


@needs_firefox
def test_edits_are_saved_in_firefox(model):
    with serving(model) as server, firefox() as tab:
        tab.open(server.address)
        tab.evaluate("[...document.querySelectorAll('.tick input')].slice(0, 2).forEach((box) => box.click())")
        tab.evaluate("[...document.querySelectorAll('button')].find((one) => one.textContent === 'Merge').click()")
        tab.evaluate("textspectra.state.rename(textspectra.tree.cut(5)[0], 'both') ?? null")
        tab.evaluate("document.getElementById('save').click()")
        tab.wait_for("document.getElementById('saved').textContent.startsWith('Saved: 2 groups merged into 1, 4')")
        assert load(model).n_clusters == 5
        assert "both" in names_in_table(model).values()
        assert tab.problems == []
