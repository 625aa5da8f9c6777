"""A result of each algorithm, the data of its report, and a browser to open reports in."""

import shutil

import pytest
from browser import launch
from report_data import contents, quick_map
from served import make_model

import textspectra as ts


@pytest.fixture(scope="session")
def data(planted):
    X, truth = planted(6, 700, noise=0.5)
    words = ["parcel", "password", "refund", "invoice", "battery", "delivery"]
    texts = [f"{words[cluster]} number {i // 2 if i < 40 else i}" for i, cluster in enumerate(truth)]
    return texts, X, truth


@pytest.fixture(scope="session", params=["kmeans", "hac"])
def result(request, data):
    texts, X, _ = data
    return ts.cluster_texts(texts, embeddings=X, n_clusters=9, algorithm=request.param)


@pytest.fixture(scope="session")
def page_data(result):
    return contents(result)


@pytest.fixture(scope="module")
def report(result, tmp_path_factory):
    """Write the report of the result that a module has."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    with quick_map():
        ts.write_report(result, path)
    return path


@pytest.fixture(scope="session")
def made(planted, tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("made"), planted).parent


@pytest.fixture
def model(made, tmp_path):
    """Copy a model folder, x.model, with its table and its page."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "x.model"


@pytest.fixture(scope="module")
def tab():
    """Open the one tab that all tests share: a page that is loaded again there takes a quarter of the time."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as api:
        browser = launch(api)
        yield browser.new_context(offline=True, accept_downloads=True).new_page()
        browser.close()


@pytest.fixture
def open_page(tab):
    """Open a report and fail on any error, any request and any script that a text brought.

    A page that was opened before may ask before it is left, and what the browser keeps of it is deleted, unless it is
    to be kept.
    """
    problems = []

    def answer(dialog):
        if dialog.type != "beforeunload":
            problems.append(f"dialog: {dialog.message}")
        dialog.accept()

    listeners = {
        "pageerror": lambda error: problems.append(str(error)),
        "console": lambda line: problems.append(line.text) if line.type == "error" else None,
        "dialog": answer,
        "request": lambda request: (
            None if request.url.startswith(("file:", "blob:", "data:")) else problems.append(f"request: {request.url}")
        ),
    }
    for event, listener in listeners.items():
        tab.on(event, listener)

    def open_(path, fragment="", *, width=1280, height=720, keep=False, **media):
        leave(keep=keep)
        tab.set_viewport_size({"width": width, "height": height})
        tab.emulate_media(**{"media": "screen", "color_scheme": "light", "reduced_motion": "no-preference", **media})
        tab.goto(path.as_uri() + fragment)
        tab.wait_for_selector("html[data-ready]")
        return tab

    def leave(*, keep=False):
        assert tab.evaluate("globalThis.hacked") is None
        if not keep and tab.url.startswith("file:"):
            tab.evaluate("localStorage.clear()")
        tab.goto("about:blank")  # otherwise a new fragment would not load the page again

    yield open_
    leave()
    for event, listener in listeners.items():
        tab.remove_listener(event, listener)
    assert problems == []


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as api:
        browser = launch(api)
        yield browser
        browser.close()


@pytest.fixture
def open_served(browser):
    """Open a served page, and fail on any error and on any request to another server."""
    problems, contexts = [], []

    def answer(dialog):
        if dialog.type != "beforeunload":
            problems.append(f"dialog: {dialog.message}")
        dialog.accept()

    def open_(server):
        contexts.append(browser.new_context())
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", answer)
        page.on("request", lambda one: one.url.startswith((server.address, "blob:")) or problems.append(one.url))
        page.goto(server.address)
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_
    for context in contexts:
        context.close()
    assert problems == []
