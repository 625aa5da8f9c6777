"""Edits of a reader in a model folder, its table and its page."""

import pytest
from report_data import quick_map
from served import load, names_in_table

from textspectra.errors import UserError
from textspectra.report.saving import edits_in_words, find_table, made_with, model_version, report_path, save_edits
from textspectra.report.state import EditCounts


def renamed(model, name):
    before = load(model)
    return before, before.rename(0, name)


def test_the_version_is_that_of_what_the_folder_holds(model):
    before = model_version(model)
    load(model).save(model, overwrite=True)
    assert model_version(model) == before
    with quick_map():
        saved = save_edits(model, lambda: renamed(model, "mine"))
    assert saved.version == model_version(model) != before
    assert saved.changes == EditCounts(unchanged=5, renamed=1)
    assert model_version(model / "missing") == ""


def test_an_edit_that_fails_changes_nothing(model):
    before = {path: path.read_bytes() for path in model.parent.rglob("*") if path.is_file()}

    def edit():
        raise UserError("no")

    with pytest.raises(UserError, match="no"):
        save_edits(model, edit)
    assert {path: path.read_bytes() for path in model.parent.rglob("*") if path.is_file()} == before


def test_what_is_beside_the_model_is_found_and_what_is_not_is_told(model):
    assert [path.name for path in made_with(model)] == ["x.report.html", "x.clusters.csv"]
    report_path(model).unlink()
    saved = save_edits(model, lambda: renamed(model, "mine"))
    assert saved.blocks is None
    assert saved.notes == [f"every text with its group: {model.with_name('x.clusters.csv')}"]
    assert names_in_table(model)[0] == "mine"
    model.with_name("x.clusters.csv").unlink()
    [note] = save_edits(model, lambda: renamed(model, "yours")).notes
    assert note == f"no table of its texts is beside it; get one with: textspectra predict {model} FILE"


def test_a_table_that_was_read_ahead_is_read_again_if_it_changed(model):
    path = model.with_name("x.clusters.csv")
    assert find_table(model, load(model)).is_current
    path.write_text(path.read_text(encoding="utf-8").replace("number 1,", "number one,"), encoding="utf-8")
    assert find_table(model, load(model)) is None
    path.unlink()
    assert find_table(model, load(model)) is None


def test_edits_are_counted_in_words():
    changes = EditCounts(unchanged=1, renamed=2, merged=(3, 1), split=(1, 2))
    words = "2 groups renamed, 3 groups merged into 1, 1 group split into 2, 1 group unchanged"
    assert edits_in_words(changes) == words
