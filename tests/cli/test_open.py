"""The report is opened in the browser that the user has."""

import pytest

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
    done = run("open", "tickets.march", PATH=str(tmp_path / "empty"), **EMPTY)
    message = "There is no browser here that could be opened; open this file in one: tickets.march.report.html\n"
    assert (done.out, done.err) == ("", message)


def test_without_a_report_it_is_said_how_to_make_one(run):
    expected = (
        "error: There is no report of 'tickets.csv', such as tickets.report.html. "
        "Make one with `textspectra cluster FILE` or `textspectra report MODEL`.\n"
    )
    assert run("open", "tickets.csv", code=3).err == expected


def test_cluster_opens_its_report(run, browser, tmp_path):
    pytest.importorskip("wordllama")
    (tmp_path / "few.txt").write_text("red wine\nwhite wine\nbread\nbutter\n", encoding="utf-8")
    options = ("--model", "wordllama", "--clusters", 2, "--quiet", "--open")
    assert "--open needs the report" in run("cluster", "few.txt", *options, "--no-report", code=2).err
    run("cluster", "few.txt", *options, **browser)
    assert (tmp_path / "opened").read_text(encoding="utf-8") == (tmp_path / "few.report.html").as_uri()
