"""Every code block of the documentation runs, but those that say why they do not."""

import shutil

import pytest
from pages import ROOT, blocks_of, run_block

SLOW = ("dask", "million", "nightly", "offline", "own_embeddings", "queries", "tickets")
"""Guides that `make test-slow` runs."""


def pages_to_run():
    """Yield the pages that have a block to run; those of the study are written by it."""
    for path in sorted((*ROOT.glob("*.md"), *ROOT.glob("examples/*.md"), *ROOT.glob("docs/**/*.md"))):
        page = path.relative_to(ROOT)
        if not {"_build", "study"} & set(page.parts) and any(map(is_run, blocks_of(path))):
            is_slow = page.parent.name == "guides" and page.stem in SLOW
            yield pytest.param(str(page), marks=pytest.mark.slow if is_slow else ())


def is_run(block):
    return not block.remark.startswith("not run: ")


@pytest.mark.xdist_group("pages")  # they share the vectors of the example
@pytest.mark.parametrize("page", list(pages_to_run()))
def test_code_blocks_run(page, tmp_path, monkeypatch, cache_folder):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TEXTSPECTRA_CACHE", str(cache_folder))
    monkeypatch.setenv("MPLBACKEND", "agg")
    shutil.copy(ROOT / "examples" / "customer_messages.csv", tmp_path)
    names = {"__name__": "__main__"}
    for block in filter(is_run, blocks_of(ROOT / page)):
        if block.remark.startswith("needs: "):
            pytest.importorskip(block.remark.removeprefix("needs: "))
        run_block(block, page, names)
