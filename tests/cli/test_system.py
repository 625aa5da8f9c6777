"""The report in the browser; what is installed, what is missing, and the line that installs it."""

import http.client
import json
import platform
import re
import shutil
import threading
from importlib.metadata import PackageNotFoundError, version

import pytest
from served import load, make_model, state_of

from textspectra.cli import system
from textspectra.report import serving
from textspectra.report.saving import model_version


def test_what_is_here_is_told(call, tmp_path):
    found = json.loads(call("doctor", "--json").out)
    assert found["python"] == platform.python_version()
    assert found["packages"]["numpy"] == version("numpy")
    assert found["cores"]["machine"] >= found["cores"]["usable"] >= 1
    assert found["blas"]
    assert found["cache"]["folder"] == str(tmp_path / "cache")
    assert found["cache"]["writable"]
    text = call("doctor").out
    assert f"textspectra {found['textspectra_version']}, Python {found['python']}" in text
    assert f"numpy {found['packages']['numpy']}" in text


def test_what_is_missing_has_its_install_line(call, monkeypatch):
    def installed(name):
        if name in ("openai", "xlsxwriter"):
            raise PackageNotFoundError(name)
        return "1.0"

    lines = [
        "click>=8.1",
        'openai>=2; extra == "openai"',
        'python-calamine>=0.4; extra == "excel"',
        "xlsxwriter>=3.2; extra == 'excel'",
        'textspectra[excel,openai]; extra == "all"',
    ]
    monkeypatch.setattr(system, "requires", lambda _: lines)
    monkeypatch.setattr(system, "version", installed)
    monkeypatch.setattr("textspectra.embedding.registry.list_models", list)
    found = json.loads(call("doctor", "--json").out)
    assert found["packages"] == {"click": "1.0", "python-calamine": "1.0"}
    assert found["missing"] == [
        {"name": "excel", "install": 'pip install "textspectra[excel]"'},
        {"name": "openai", "install": 'pip install "textspectra[openai]"'},
    ]
    assert 'missing: excel: pip install "textspectra[excel]"' in call("doctor").out


def test_a_cache_that_cannot_be_written_is_told(call, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TEXTSPECTRA_CACHE", str(tmp_path / "file" / "below"))
    assert "which cannot be written" in call("doctor").out


def test_the_cache_has_a_limit_that_is_remembered(call, tmp_path):
    assert json.loads(call("cache", "--json").out)["limit_bytes"] == 5 * 10**9
    assert call("cache", "--limit", "much", code=2).err == "error: 'much' is not a size such as 500MB or 5GB.\n"
    assert "0 embeddings, 0.0 MB of at most 20.0 GB, in" in call("cache", "--limit", "20GB").out
    assert json.loads(call("doctor", "--json").out)["cache"]["limit_bytes"] == 20 * 10**9
    assert (tmp_path / "cache" / "limit").read_text() == "20000000000"


def test_a_limit_that_cannot_be_kept_is_told(call, tmp_path):
    (tmp_path / "cache").write_text("a file")
    said = call("cache", "--limit", "1GB", code=2).err
    assert said == f"error: The limit cannot be kept in '{tmp_path / 'cache'}': File exists.\n"


EMPTY = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": ""}


@pytest.fixture
def report(tmp_path):
    path = tmp_path / "tickets.march.report.html"
    path.write_text("<!doctype html>", encoding="utf-8")
    return path


@pytest.fixture
def browser(tmp_path):
    """Name a program that notes which address it was given."""
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\nprintf %s "$1" > {tmp_path}/opened', encoding="utf-8")
    script.chmod(0o755)
    return {"BROWSER": f"{script} %s"}


@pytest.mark.parametrize(
    "name", ["tickets.march.report.html", "tickets.march.csv.gz", "tickets.march.model", "tickets.march"]
)
def test_the_report_of_a_name_is_opened(run, report, browser, name):
    run("open", name, **browser)
    assert (report.parent / "opened").read_text(encoding="utf-8") == report.as_uri()


def test_without_a_browser_the_file_is_named(run, report, tmp_path):
    done = run("open", "tickets.march", "--no-save", PATH=str(tmp_path / "empty"), **EMPTY)
    message = "No browser could be opened; open this file in one: tickets.march.report.html\n"
    assert (done.out, done.err) == ("", message)


def test_without_a_report_it_is_said_how_to_make_one(run):
    expected = (
        "error: No report found for 'tickets.csv', such as tickets.report.html. "
        "Make one with `textspectra cluster FILE` or `textspectra report MODEL`.\n"
    )
    assert run("open", "tickets.csv", code=3).err == expected


def test_cluster_opens_its_report(run, browser, tmp_path):
    pytest.importorskip("wordllama")
    (tmp_path / "few.txt").write_text("red wine\nwhite wine\nbread\nbutter\n", encoding="utf-8")
    options = ("--model", "wordllama", "--clusters", 2, "--quiet", "--open")
    assert "--open needs the report" in run("cluster", "few.txt", *options, "--no-report", code=2).err
    run("cluster", "few.txt", *options, "--no-save", **browser)
    assert (tmp_path / "opened").read_text(encoding="utf-8") == (tmp_path / "few.report.html").as_uri()


@pytest.fixture
def clustered(tmp_path, planted):
    return make_model(tmp_path, planted)


@pytest.fixture
def visit(monkeypatch, clustered):
    """Let the browser save a new name, and close the page; return what it was told."""
    told = []
    monkeypatch.setattr(serving, "GRACE_SECONDS", 0.05)

    def read(address):
        host, token = address.split("/")[2:4]
        page = http.client.HTTPConnection(host, timeout=30)
        page.request("POST", f"/{token}/alive", "", {"Origin": f"http://{host}"})
        alive = page.getresponse()
        headers = {"Origin": f"http://{host}", "Model-Version": model_version(clustered)}
        saving = http.client.HTTPConnection(host, timeout=30)
        saving.request("POST", f"/{token}/save", state_of(load(clustered), {0: "mine"}), headers)
        told.append(json.loads(saving.getresponse().read()))
        for connection in (saving, alive, page):
            connection.close()

    def open_(address):
        threading.Thread(target=read, args=(address,)).start()
        return True

    monkeypatch.setattr(system.webbrowser, "open", open_)
    return told


def test_open_saves_until_the_page_is_closed(call, clustered, visit):
    said = call("open", "x", "--embeddings", "x.npy")
    address, end = said.err.splitlines()
    assert re.fullmatch(
        r"The report is at http://127\.0\.0\.1:\d+/[\w-]{32}/ and saves into x\.model\. "
        r"Close it or press Ctrl-C to end\.",
        address,
    )
    assert (said.out, end) == ("", "The page was closed; saved once.")
    assert visit[0]["message"] == "1 group renamed, 5 groups unchanged"
    assert load(clustered).clusters[0].name == "mine"
    assert call("open", "x", "--quiet", "--embeddings", "x.npy").err == ""


def test_cluster_saves_until_the_page_is_closed(call, clustered, visit):
    options = ("--embeddings", "x.npy", "--clusters", 6, "--overwrite", "--open", "--json")
    said = call("cluster", "x.csv", *options)
    assert json.loads(said.out)["outputs"]["model"] == "x.model"
    assert said.err.splitlines()[-1] == "The page was closed; saved once."
    assert load(clustered).clusters[0].name == "mine"


def test_ctrl_c_ends_it(call, clustered, monkeypatch):
    def open_(address):
        raise KeyboardInterrupt

    monkeypatch.setattr(system.webbrowser, "open", open_)
    assert call("open", "x.csv", "--embeddings", "x.npy", code=130).err == "Stopped; nothing was saved.\n"


def test_what_cannot_save_is_opened_as_a_file(call, clustered, monkeypatch):
    opened = []
    monkeypatch.setattr(system.webbrowser, "open", lambda address: opened.append(address) or True)
    load(clustered).rename(0, "from outside").save(clustered, overwrite=True)
    said = call("open", "x").err  # the page shows another name, and without the embeddings no other can be made
    assert said.endswith(" So the report is opened as a file, which cannot save.\n")
    shutil.rmtree(clustered)
    said = call("open", "x").err
    assert said == "The folder x.model is not there, so the report is opened as a file, which cannot save.\n"
    assert opened == [(clustered.parent / "x.report.html").as_uri()] * 2


def test_without_a_browser_nothing_is_served(call, clustered, monkeypatch):
    monkeypatch.setattr(system.webbrowser, "open", lambda address: False)
    said = call("open", "x", "--embeddings", "x.npy").err
    assert said == "No browser could be opened; open this file in one: x.report.html\n"
