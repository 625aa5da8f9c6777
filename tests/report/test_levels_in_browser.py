"""The levels are the same groups with the same names in the command, the table, the page and Python."""

import json
from collections import Counter
from pathlib import Path

import pyarrow.csv
import pytest
from browser import needs_browser
from in_browser import card_texts

import textspectra as ts

EXAMPLE = Path(__file__).parents[2] / "examples" / "customer_messages.csv"


@pytest.fixture
def cluster(call):
    pytest.importorskip("wordllama")

    def run(out, *options, code=0):
        return call("cluster", EXAMPLE, "--model", "wordllama", "--json", "--out", out, *options, code=code)

    return run


def named_sizes(summary):
    return [(cluster["name"], cluster["size"]) for cluster in summary["clusters"]]


def cards(page):
    return list(zip(card_texts(page, ".name"), map(int, card_texts(page, ".figures b")), strict=True))


@needs_browser
def test_a_level_is_the_same_in_the_command_the_page_the_table_and_python(cluster, open_page, tmp_path):
    default = json.loads(cluster("default").out)
    coarse = json.loads(cluster("coarse", "--clusters", "coarse").out)
    assert (default["level"], coarse["level"]) == ("suggested", "coarse")
    assert coarse["k"] < default["k"]
    assert default["k_suggestions"] == coarse["k_suggestions"]

    page = open_page(tmp_path / "default" / "customer_messages.report.html")
    buttons = page.locator("#suggestions button").all_inner_texts()
    assert buttons == [f"{one['name']} {one['k']}" for one in default["k_suggestions"]]
    page.click("#suggestions button >> text=coarse")
    assert sorted(cards(page)) == sorted(named_sizes(coarse))

    table = pyarrow.csv.read_csv(tmp_path / "default" / "customer_messages.clusters.csv")
    assert Counter(filter(None, table["cluster_coarse_name"].to_pylist())) == dict(named_sizes(coarse))
    shown_alone = pyarrow.csv.read_csv(tmp_path / "coarse" / "customer_messages.clusters.csv")
    assert table["cluster_coarse"].to_pylist() == shown_alone["cluster"].to_pylist()
    assert "cluster_coarse" not in shown_alone.column_names

    cut = ts.TextClustering.load(tmp_path / "default" / "customer_messages.model").cut("coarse")
    assert sorted((cluster.name, cluster.size) for cluster in cut.clusters) == sorted(named_sizes(coarse))

    page = open_page(tmp_path / "coarse" / "customer_messages.report.html")
    assert sorted(cards(page)) == sorted(named_sizes(coarse))
    page.click("#suggestions button >> text=suggested")
    assert sorted(cards(page)) == sorted(named_sizes(default))


@needs_browser
def test_a_number_that_was_asked_for_keeps_the_levels_and_the_evidence(cluster, open_page, tmp_path):
    summary = json.loads(cluster("given", "--clusters", "7").out)
    assert (summary["k"], summary["level"]) == (7, None)
    assert [one["name"] for one in summary["k_suggestions"]][:2] == ["coarse", "suggested"]
    page = open_page(tmp_path / "given" / "customer_messages.report.html")
    assert page.inner_text("h1").startswith("7 groups. The largest: ")
    names = [text.split()[0] for text in page.locator("#suggestions button").all_inner_texts()]
    assert names == [*(one["name"] for one in summary["k_suggestions"]), "given"]
    assert page.inner_text("#range").startswith("You asked for 7. About ")
    assert page.locator("#levels .level").count() == len(summary["k_suggestions"])
    assert page.locator("#agreement").is_visible()
    page.click("#suggestions button >> text=suggested")
    assert len(cards(page)) == summary["k_suggestions"][1]["k"]


def test_a_number_within_the_levels_is_a_cut_of_the_same_tree(cluster, tmp_path):
    default = json.loads(cluster("default", "--no-report").out)
    k = default["k"] - 5
    given = json.loads(cluster("given", "--no-report", "--clusters", str(k)).out)
    cut = ts.TextClustering.load(tmp_path / "default" / "customer_messages.model").cut(k)
    assert sorted((cluster.name, cluster.size) for cluster in cut.clusters) == sorted(named_sizes(given))


def test_a_level_that_does_not_exist_is_refused_before_anything_is_written(call, tmp_path):
    rows = "".join(f"{word} {i}\n" for i in range(10) for word in ("alpha", "omega"))
    (tmp_path / "two.txt").write_text(rows)
    done = call("cluster", "two.txt", "--model", "wordllama", "--clusters", "coarse", "--json", code=3)
    message = json.loads(done.err)["error"]["message"]
    assert message.startswith("This data has no coarser level: ")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "cache") == ["two.txt"]
