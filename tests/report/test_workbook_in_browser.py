"""Download Excel: the workbook that the page writes has what the screen has, and nothing in it is a formula."""

import datetime as dt
import io
import shlex
import sys
import zipfile

import pytest
from browser import needs_browser
from in_browser import PAYLOAD, download
from report_data import quick_map, read_page

import textspectra as ts
from textspectra.report.page import pack_json
from textspectra.tables.read import read_table

pytestmark = needs_browser

SIGNS = ["=1+1", "+1", "-1", "@x", "\t=1", "=HYPERLINK(\"http://x\")", "'=1", "12", "TRUE", "2026-01-01"]  # fmt: skip
ODD = [PAYLOAD, "]]>&amp;<x>", "_x0041_", "a\r\nb", "bell \a", " blanks ", "😀", "x" * 40_000, "ن" * 9, "\x85nel"]


@pytest.fixture(scope="module")
def texts():
    return [*SIGNS, *ODD, *(f"question number {i}" for i in range(40))]


@pytest.fixture(scope="module")
def report(planted, texts, tmp_path_factory):
    X, _ = planted(6, 60, noise=0.2)
    days = [None if i == 3 else f"{1900 if i == 4 else 2026}-0{i % 4 + 1}-11" for i in range(60)]
    by = {"=channel": [("web", "=phone")[i % 2] for i in range(60)]}
    result = ts.cluster_texts(texts, embeddings=X, n_clusters=6, keep_all=True, time=days, by=by, every="month")
    result = result.rename({0: "=name", 1: PAYLOAD})
    path = tmp_path_factory.mktemp("report") / "my survey.report.html"
    with quick_map():
        ts.write_report(result, path)
    return path


def sheets_of(content):
    """Return the rows of each sheet, as the reader of the package sees them; also that no part of it is damaged."""
    calamine = pytest.importorskip("python_calamine")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        assert not any(b"<f>" in archive.read(name) for name in archive.namelist())
    with calamine.CalamineWorkbook.from_filelike(io.BytesIO(content)) as workbook:
        return {name: workbook.get_sheet_by_name(name).to_python() for name in workbook.sheet_names}


def as_records(rows):
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


def test_texts_and_groups_are_as_on_the_screen(open_page, report, texts):
    page = open_page(report)
    for number in (0, 1):
        page.check(f".tick input >> nth={number}")
    page.click("#chosen button >> text=Merge")
    with page.expect_download() as waiting:
        page.click("#xlsx")
    assert waiting.value.suggested_filename == "my survey.groups.xlsx"
    assert page.inner_text("#done") == "Saved as my survey.groups.xlsx."
    sheets = sheets_of(waiting.value.path().read_bytes())
    assert list(sheets) == ["texts", "groups"]
    rows, groups = as_records(sheets["texts"]), as_records(sheets["groups"])
    assert [row["row"] for row in rows] == list(range(1, 61))
    cut = [text if len(text) < 40_000 else text[:32_766] + "…" for text in texts]
    assert [row["text"] for row in rows] == cut
    shown = page.evaluate(
        """() => {
            const { tree, state } = textspectra;
            return tree.cut(5).map((node) => [tree.labelsAt(5).get(node), state.nameOf(node), tree.nodes.size[node]]);
        }"""
    )
    assert sorted((group["cluster"], group["name"], group["size"]) for group in groups) == sorted(map(tuple, shown))
    names = {group["cluster"]: group["name"] for group in groups}
    assert {"=name", PAYLOAD} & set(names.values())
    assert [row["cluster_name"] for row in rows] == [names[row["cluster"]] for row in rows]
    assert sum(group["share"] for group in groups) == pytest.approx(1)
    for group in groups:
        assert sum(row["cluster"] == group["cluster"] for row in rows) == group["size"]
        assert {row["theme"] for row in rows if row["cluster"] == group["cluster"]} == {group["theme"]}
    assert {row["=channel"] for row in rows} == {"web", "=phone"}
    time = next(name for name in rows[0] if name not in ("row", "text", "theme", "similarity", "=channel")
                and not name.startswith("cluster"))  # fmt: skip
    assert [row[time] for row in rows[2:6]] == [dt.date(2026, 3, 11), "", "1900-01-11", dt.date(2026, 2, 11)]


def filter_channel(page):
    page.evaluate(
        """() => {
            const { state } = textspectra;
            const filter = Object.assign(Object.create(Object.getPrototypeOf(state.filter)), state.filter);
            filter.values = [1];
            state.set({ filter });
        }"""
    )


def test_a_filter_leaves_its_texts(open_page, report):
    page = open_page(report)
    filter_channel(page)
    assert page.evaluate("textspectra.counts.isFiltered")
    sheets = sheets_of(download(page, "#xlsx").read_bytes())
    rows, groups = as_records(sheets["texts"]), as_records(sheets["groups"])
    assert (len(rows), len({row["=channel"] for row in rows})) == (30, 1)
    assert sum(group["filtered"] for group in groups) == 30
    assert sum(group["size"] for group in groups) == 60


def test_the_package_reads_it(open_page, report, texts, tmp_path):
    pytest.importorskip("python_calamine")
    path = tmp_path / "x.xlsx"
    path.write_bytes(download(open_page(report), "#xlsx").read_bytes())
    table = read_table(path, text_column="text", sheet="texts")
    assert table.texts()[: len(SIGNS)] == SIGNS
    assert len(table.texts()) == len(texts)


def test_openpyxl_reads_it(open_page, report):
    openpyxl = pytest.importorskip("openpyxl")
    sheet = openpyxl.load_workbook(io.BytesIO(download(open_page(report), "#xlsx").read_bytes()))["texts"]
    assert [cell.value for cell in sheet["B"]][1 : len(SIGNS) + 1] == SIGNS
    assert {cell.data_type for cell in sheet["B"]} == {"s"}


def test_a_workbook_counts_as_saved_unless_a_filter_hides_texts(open_page, report):
    page = open_page(report)
    page.evaluate("textspectra.state.rename(textspectra.tree.base.nodes[0], 'mine')")
    asks = "!dispatchEvent(new Event('beforeunload', { cancelable: true }))"
    assert page.evaluate(asks)
    download(page, "#xlsx")
    assert not page.evaluate(asks)
    page.evaluate("textspectra.state.rename(textspectra.tree.base.nodes[0], 'ours')")
    filter_channel(page)
    for button in ("#xlsx", "#csv"):
        download(page, button)
        assert page.evaluate(asks)
    download(page, "#json")
    assert not page.evaluate(asks)


def test_more_rows_than_a_sheet_has_are_refused(open_page, report):
    page = open_page(report)
    page.evaluate("textspectra.takeAway.rows = () => Array(1_048_576).fill({ row: 0, text: '', cluster: 0 })")
    page.click("#xlsx")
    page.wait_for_function("document.getElementById('done').textContent.startsWith('An Excel sheet cannot hold')")


WORDS = {
    "survey.model": "survey.model",
    "Umfrage_März.model": "Umfrage_März.model",
    "my survey.model": '"my survey.model"',
    "a;b&c.model": '"a;b&c.model"',
    "it's $HOME.model": "'it'\\''s $HOME.model'",
    "-x.model": "./-x.model",
    'say "hi".model': "'say \"hi\".model'",
    "100 % `x`!.model": "'100 % `x`!.model'",
    None: "NAME.model",
}


def test_the_command_names_the_model_as_a_shell_reads_it(open_page, planted, tmp_path):
    X, _ = planted(2, 20, noise=0.2)
    result = ts.cluster_texts([f"text {i}" for i in range(20)], embeddings=X, n_clusters=2)
    path = tmp_path / "x.html"
    with quick_map():
        ts.write_report(result, path, model=tmp_path / "elsewhere" / "my survey.model")
    meta, _, blocks = read_page(path)
    assert meta["about"]["folder"] == "my survey.model"  # nothing of the path: a page is passed on
    page = path.read_text(encoding="utf-8")
    for folder, word in WORDS.items():
        meta["about"]["folder"] = folder
        path.write_text(page.replace(blocks["meta"], pack_json(meta)), encoding="utf-8")
        assert open_page(path).inner_text("#keeping-command") == f"textspectra apply {word}"
        if folder and not sys.platform.startswith("win"):
            assert shlex.split(word) == [f"./{folder}" if folder.startswith("-") else folder]
