"""Every code block of the documentation runs."""

import shutil

import pytest
from pages import ROOT, blocks_of, run_block

SLOW = {
    f"docs/guides/{name}.md"
    for name in ("dask", "million", "nightly", "offline", "own_embeddings", "queries", "tickets")
}
PAGES = sorted(
    str(page.relative_to(ROOT))
    for page in (*ROOT.glob("*.md"), *ROOT.glob("examples/*.md"), *ROOT.glob("docs/**/*.md"))
    if not {"_build", "study"} & set(page.parts) and blocks_of(page)
)


@pytest.mark.parametrize("page", [pytest.param(page, marks=pytest.mark.slow if page in SLOW else ()) for page in PAGES])
def test_code_blocks_run(page, tmp_path, monkeypatch, cache_folder):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TEXTSPECTRA_CACHE", str(cache_folder))
    monkeypatch.setenv("MPLBACKEND", "agg")
    shutil.copy(ROOT / "examples" / "customer_messages.csv", tmp_path)
    names = {"__name__": "__main__"}
    for block in blocks_of(ROOT / page):
        kind, _, what = block.remark.partition(": ")
        if kind == "needs":
            pytest.importorskip(what)
        if kind != "not run":
            run_block(block, page, names)
