"""The folder of a study: what is stored is read again, and nothing stale or foreign is."""

import json
import sys

import pytest

from textspectra import UserError, __version__
from textspectra_study.results import OK, Manifest, Variant
from textspectra_study.store import Planned, Store, cell_key


def one_cell(folder, **changes):
    variant = Variant("bless", "whole", 200, 17, 0)
    planned = Planned(variant, "wordllama", "optics", cell_key(variant, "source", "optics"))
    store = Store(folder)
    store.check()
    store.begin(Manifest((), (variant,), ("wordllama",), 0), [planned])
    described = json.loads((folder / "study.json").read_text())
    (folder / "study.json").write_text(json.dumps(described | changes))
    return store, planned


def test_a_cell_that_is_stored_is_read_again(tmp_path):
    store, planned = one_cell(tmp_path / "s")
    assert store.get(planned) is None
    store.put(planned, {"status": OK, "values": {"k": 3}, "seconds": 1.5, "peak_mb": 9.0})
    results = Store(tmp_path / "s").read()
    assert results.n_planned == 1
    assert results.cells[0].values == {"k": 3}
    assert next(results.of("optics")).ok


def test_a_store_of_another_version_is_not_mixed_with_this_one(tmp_path):
    one_cell(tmp_path / "s", textspectra="0.0.1")
    with pytest.raises(
        UserError, match=rf"was written by textspectra 0.0.1, and this is {__version__}; a study must not mix"
    ):
        one_cell(tmp_path / "s")
    assert len(Store(tmp_path / "s").read().cells) == 0


def test_a_store_in_another_format_is_not_read(tmp_path):
    one_cell(tmp_path / "s", format=99)
    with pytest.raises(
        UserError, match=r"in format 99, but this is .* Choose another folder, or install that version.$"
    ):
        Store(tmp_path / "s").read()


def test_a_damaged_cell_is_computed_again(tmp_path):
    store, planned = one_cell(tmp_path / "s")
    store.put(planned, {"status": OK, "values": {}, "seconds": 1.5, "peak_mb": 9.0})
    file = next((tmp_path / "s" / "cells").iterdir())
    for content in (b"", file.read_bytes()[:20], b"[]", b'{"status": "ok", "more": 1}'):
        file.write_bytes(content)
        assert store.get(planned) is None


@pytest.mark.parametrize("content", ["", "[]", "{}", json.dumps({"format": 1, "textspectra": __version__})])
def test_a_damaged_manifest_is_reported_and_its_advice_works(tmp_path, content):
    store, _ = one_cell(tmp_path / "s")
    (tmp_path / "s" / "study.json").write_text(content)
    with pytest.raises(UserError, match=r"study.json is damaged. Remove it and run the study again; finished cells"):
        store.read()
    (tmp_path / "s" / "study.json").unlink()
    one_cell(tmp_path / "s")


def test_a_folder_with_other_things_is_not_written_to(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(UserError, match="holds other files; choose a new or an empty folder for the study"):
        one_cell(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="nobody can tell there whether a file is being written")
def test_a_study_whose_first_run_was_killed_at_its_manifest_goes_on(tmp_path):
    left = [tmp_path / place / ".0123456789abcdef.tmp" for place in ("", "cells", "vectors")]
    for path in left:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"{")
    one_cell(tmp_path)
    assert not any(path.exists() for path in left)


def test_the_key_follows_inputs_and_code(monkeypatch):
    variant = Variant("bless", "whole", 200, 17, 0)
    key = cell_key(variant, "source", "leiden")
    assert key == cell_key(variant, "source", "leiden")
    others = {
        cell_key(variant._replace(seed=1), "source", "leiden"),
        cell_key(variant, "other vectors", "leiden"),
        cell_key(variant, "source", "optics"),
    }
    monkeypatch.setattr("textspectra_study.store.code_digest", lambda *modules: "other code")
    others.add(cell_key(variant, "source", "leiden"))
    monkeypatch.undo()
    monkeypatch.setattr("textspectra_study.store.version", lambda name: "99")
    others.add(cell_key(variant, "source", "leiden"))
    assert len(others - {key}) == 5
