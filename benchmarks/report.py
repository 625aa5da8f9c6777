"""The report: the size of the file, the time until the map is there, the slider, search and edits, the time to make it.

``make bench`` runs it and rewrites ``report.md``. The data are titles of ``stackexchange121``; the browser is Chromium
with WebGL by software, and the bare page has the same library, the same points and nothing else.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
from harness import ROOT, TITLES, Row, main, process_cpu, process_seconds

import textspectra as ts
from textspectra.embedding.embed import embed_texts
from textspectra.report.page import plotting_library
from textspectra.report.tree import report_levels

sys.path.insert(0, str(ROOT / "tests"))
from browser import launch
from served import edited_content

REPEAT = 7
SLIDES = 15

BARE = """<!doctype html><meta charset="utf-8"><div id="plot" style="width:920px;height:690px"></div>
<script>%s</script><script>
const decode = (letters, Kind) => new Kind(Uint8Array.from(atob(letters), (c) => c.charCodeAt(0)).buffer);
const [x, y, labels] = [decode("%s", Float32Array), decode("%s", Float32Array), decode("%s", Uint16Array)];
const palette = %s;
const colors = (shift) => Array.from(labels, (label) => palette[(label + shift) %% palette.length]);
const plot = document.getElementById("plot");
const axis = { visible: false, range: [-1.1, 1.1], autorange: false };
const marker = { size: 3, opacity: 0.7, color: colors(0) };
const trace = { type: "scattergl", mode: "markers", x, y, hoverinfo: "none", marker };
const layout = { margin: { l: 0, r: 0, t: 0, b: 0 }, xaxis: axis, yaxis: axis };
Plotly.newPlot(plot, [trace], layout).then(() => performance.mark("map"));
const slide = (step) => Plotly.restyle(plot, { "marker.color": [colors(step)] });
</script>"""

SEARCHES = ("error", "windows install", '"how to" -python', "water", "the best")

SEARCH = """([query, word]) => {
    const { state, map: { texts } } = textspectra;
    const start = performance.now();
    state.set({ query });
    document.getElementById("list").getBoundingClientRect();
    const found = performance.now();
    let hits = 0;
    for (const text of texts) hits += text.toLowerCase().includes(word);
    return [found - start, performance.now() - found];
}"""
"""Until the list of hits is in the page and laid out; then one plain pass over the strings."""

MERGE = """async (step) => {
    const { editing, map, state, tree } = textspectra;
    editing.merge(tree.cut(state.k).slice(0, 2));
    await map.painting;
}"""
UNDO = "async (step) => { textspectra.state.undo(); await textspectra.map.painting; }"

SLIDE = "async (step) => { textspectra.state.set({ k: 20 + step }); await textspectra.map.painting; }"

TIMED = """async (step) => {
    const start = performance.now();
    await (%s)(step);
    await new Promise((shown) => requestAnimationFrame(() => setTimeout(shown)));
    return performance.now() - start;
}"""
"""Until the frame after the change is on its way to the screen."""


@cache
def titles(n: int) -> tuple[list[str], np.ndarray]:
    table = pq.read_table(TITLES, columns=["text"])
    rows = np.sort(np.random.default_rng(0).choice(len(table), n, replace=False))
    texts = table["text"].take(rows).to_pylist()
    return texts, embed_texts(texts, "wordllama")


def write(n: int, folder: str) -> Path:
    texts, X = titles(n)
    path = Path(folder, "report.html")
    ts.write_report(ts.cluster_texts(texts, embeddings=X), path)
    return path


def megabytes(path: Path) -> float:
    return path.stat().st_size / 1e6


def bench_size() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        size = megabytes(write(10_000, folder))
    return [
        ("report of 10,000 texts: file size", "≤ 12 MB", f"{size:.1f} MB", "titles of 9 words; Plotly is 2.0 MB of it")
    ]


def bench_browser() -> list[Row]:
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as api:
        path = write(100_000, folder)
        browser = launch(api)
        page = open_page(browser, path)
        bare = Path(folder, "bare.html")
        bare.write_text(bare_page(page), encoding="utf-8")
        page.context.close()
        times: dict[str, list[float]] = {"ours": [], "bare": []}
        for _ in range(REPEAT):
            for name, one in (("ours", path), ("bare", bare)):
                page = open_page(browser, one)
                mark = "performance.getEntriesByName('map')[0].startTime"
                times[name].append(page.evaluate(mark))
                page.context.close()
        slides = {
            "ours": slide_times(browser, path, SLIDE),
            "bare": slide_times(browser, bare, "(step) => slide(step)"),
        }
        edits = edit_times(browser, path)
        searches = search_times(browser, path)
        size = megabytes(path)
        browser.close()
    first = {name: float(np.median(values)) for name, values in times.items()}
    slide = {name: float(np.median(values)) for name, values in slides.items()}
    return [
        ("report of 100,000 texts: file size", "≤ 12 MB", f"{size:.1f} MB", ""),
        (
            "100,000 texts: time to the first interactive map, against a bare Plotly page with the same points",
            "≤ 1.5×",
            f"{first['ours'] / first['bare']:.2f}×",
            f"{first['ours']:,.0f} ms against {first['bare']:,.0f} ms, medians of {REPEAT} loads in turn",
        ),
        (
            "100,000 texts: moving the slider by one, against one bare recoloring of the same points",
            "≤ 2×",
            f"{slide['ours'] / slide['bare']:.2f}×",
            f"{slide['ours']:,.0f} ms against {slide['bare']:,.0f} ms, medians of {SLIDES}",
        ),
        *(
            (
                f"100,000 texts: {what}, against one bare recoloring of the same points",
                "≤ 2×",
                f"{np.median(times) / slide['bare']:.2f}×",
                f"{np.median(times):,.0f} ms against {slide['bare']:,.0f} ms, medians of {SLIDES}",
            )
            for what, times in edits.items()
        ),
        (
            "100,000 texts: a search until its hits are listed, against one plain pass over the strings in JavaScript",
            "≤ 3×",
            f"{np.median(searches[0]) / np.median(searches[1]):.2f}×",
            f"{np.median(searches[0]):,.0f} ms against {np.median(searches[1]):,.0f} ms, medians of {SLIDES} over "
            f"{len(SEARCHES)} queries; the map follows as after a move of the slider",
        ),
    ]


def edit_times(browser: Any, path: Path) -> dict[str, list[float]]:
    """Merge two groups and undo it, in turn."""
    page = ready_page(browser, path)
    times: dict[str, list[float]] = {"merging two groups": [], "undoing a merge": []}
    for step in range(SLIDES):
        for code, found in zip((MERGE, UNDO), times.values(), strict=True):
            found.append(page.evaluate(TIMED % code, step))
    page.context.close()
    return times


def search_times(browser: Any, path: Path) -> np.ndarray:
    """Return the times of searches, and of plain passes over the same texts, in turn; the first one prepares."""
    page = ready_page(browser, path)
    found = []
    for step in range(SLIDES + 1):
        query = SEARCHES[step % len(SEARCHES)]
        found.append(page.evaluate(SEARCH, [query, query.strip('"').split('"')[0]]))
        page.wait_for_function("!textspectra.map.painting", timeout=120_000)
    page.context.close()
    return np.array(found[1:]).T


def ready_page(browser: Any, path: Path) -> Any:
    page = open_page(browser, path)
    page.wait_for_selector("html[data-ready]", timeout=120_000)
    page.wait_for_timeout(2000)  # until what loading left to do is done
    return page


def open_page(browser: Any, path: Path) -> Any:
    page = browser.new_context(offline=True, viewport={"width": 1440, "height": 900}).new_page()
    page.goto(path.as_uri())
    page.wait_for_function("performance.getEntriesByName('map').length", timeout=120_000)
    return page


def bare_page(page: Any) -> str:
    page.wait_for_selector("html[data-ready]", timeout=120_000)
    x, y = (np.array(page.evaluate(f"Array.from(textspectra.map.{axis})"), "<f4") for axis in "xy")
    owners = np.array(page.evaluate("Array.from(textspectra.map.owners)"))
    labels = np.unique(owners, return_inverse=True)[1].astype("<u2")
    palette = json.dumps(page.evaluate("textspectra.meta.palette").copy()[: int(labels.max()) + 1])
    letters = [base64.b64encode(array.tobytes()).decode() for array in (x, y, labels)]
    return BARE % (plotting_library(), *letters, palette)


def slide_times(browser: Any, path: Path, slide: str) -> list[float]:
    page = open_page(browser, path)
    page.wait_for_timeout(2000)  # the rest of the report loads after the map
    times = [page.evaluate(TIMED % slide, step) for step in range(1, SLIDES + 1)]
    page.context.close()
    return times


REPORT = """import sys, numpy as np, textspectra as ts
X = np.load(f"{sys.argv[1]}/X.npy")
ts.write_report(ts.TextClustering.load(f"{sys.argv[1]}/model", embeddings=X), f"{sys.argv[1]}/report.html")"""

UMAP = """import sys, numpy as np, umap
umap.UMAP(metric="cosine").fit_transform(np.load(f"{sys.argv[1]}/X.npy"))"""


def bench_making() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        texts, X = titles(10_000)
        np.save(Path(folder, "X.npy"), X)
        ts.cluster_texts(texts, embeddings=X).save(Path(folder, "model"))
        ours, umap = (process_seconds(sys.executable, "-c", code, folder, repeat=1) for code in (REPORT, UMAP))
    return [
        (
            "making the report of 10,000 texts, against umap-learn projecting the same embeddings, in fresh processes",
            "≤ 0.25×",
            f"{ours / umap:.2f}×",
            f"{ours:.0f} s for the whole report against {umap:.0f} s",
        )
    ]


SAVE = """import sys, time; from pathlib import Path; from textspectra.report.serving import OpenModel
model = OpenModel(Path(sys.argv[1], "titles.model"))
model.page()
model.prepare()
start = time.process_time()
saved = model.save(Path(sys.argv[1], "state.json").read_bytes(), model.version)
print(time.process_time() - start)
assert saved.blocks and len(saved.notes) == 2, saved.notes"""
"""The Save button of a page that has been open for some seconds."""


def bench_saving() -> list[Row]:
    command = Path(sys.executable).with_name("textspectra")
    with tempfile.TemporaryDirectory() as folder:
        pc.write_csv(pa.table({"text": titles(100_000)[0]}), Path(folder, "titles.csv"))
        cluster = [command, "cluster", Path(folder, "titles.csv"), "--model", "wordllama"]
        subprocess.run(cluster, check=True, capture_output=True)  # noqa: S603
        model = Path(folder, "titles.model")
        Path(folder, "state.json").write_text(json.dumps(hundred_edits(ts.TextClustering.load(model))))
        report = process_cpu(str(command), "report", str(model), "--overwrite", repeat=2)
        save = float(subprocess.run([sys.executable, "-c", SAVE, folder], check=True, capture_output=True).stdout)  # noqa: S603
    return [
        (
            "saving 100 edits of 100,000 texts, against `textspectra report` of the same",
            "≤ 0.5×",
            f"{save / report:.2f}×",
            f"{save:.0f} s of CPU time until model, table and page are written, against {report:.0f} s",
        )
    ]


def hundred_edits(result: ts.TextClustering) -> dict[str, object]:
    """Return the state of a page after 3 merges, 5 splits, 5 topics from a search, 67 moved texts and 20 new names."""
    rng, codes, (_, finest) = np.random.default_rng(0), result.distinct_codes.copy(), report_levels(result)
    by_size = np.argsort(np.bincount(codes[codes >= 0])).tolist()
    for one, other in zip(by_size[:3], by_size[3:6], strict=True):
        codes[codes == one] = other
    for number, group in enumerate(by_size[-5:]):
        _, part = np.unique(finest[codes == group], return_inverse=True)
        codes[codes == group] = len(by_size) + 2 * number + (part > part.max() / 2)
    for number, word in enumerate(("python", "water", "error", "music", "game"), start=len(by_size) + 10):
        hits = [word in text.lower() for text in result.corpus.distinct]
        codes[np.flatnonzero(hits & (codes >= 0))] = number
    moved = rng.choice(np.flatnonzero(codes >= 0), 67, replace=False)
    codes[moved] = rng.choice(np.unique(codes[codes >= 0]), 67)
    labels = [cluster.label for cluster in result.clusters] + [*range(result.next_label, result.next_label + 15)]
    names = {code: cluster.name for code, cluster in enumerate(result.clusters)}
    groups = [
        (labels[code], f"mine {code}" if number < 20 else names.get(code, f"new {code}"), np.flatnonzero(codes == code))
        for number, code in enumerate(np.unique(codes[codes >= 0]).tolist())
    ]
    return edited_content(result, groups)


if __name__ == "__main__":
    parts = {"size": bench_size, "browser": bench_browser, "saving": bench_saving, "making": bench_making}
    main(__file__, "report.md", "The report", parts)
