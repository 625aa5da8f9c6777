"""The site builds without a warning, and every link in it leads somewhere."""

import json
import re
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest
from pages import ROOT
from sphinx.cmd.build import main as build
from sphinx.search.en import SearchEnglish

import textspectra as ts

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # Sphinx's extensions use what a later Sphinx will not have
    pytest.mark.xdist_group("site"),  # it is built once
]


class Links(HTMLParser):
    """What a page links to, what a browser loads to show it, and its anchors."""

    def __init__(self, page):
        super().__init__()
        self.linked, self.loaded, self.anchors = set(), set(), set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = {name: value for name, value in attributes if value}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        targets = {given[name] for name in ("href", "src") if name in given}
        is_loaded = tag in ("script", "img", "iframe") or "stylesheet" in given.get("rel", "")
        (self.loaded if is_loaded else self.linked).update(targets)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site as `make docs` does, and return its folder."""
    folder = tmp_path_factory.mktemp("site")
    places = ["-d", f"{folder}/doctrees", str(ROOT / "docs"), f"{folder}/html"]
    assert build(["--fail-on-warning", "--quiet", *places]) == 0
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site):
    """Return the links of the pages, by their paths."""
    return {page.resolve(): Links(page) for page in site.rglob("*.html") if "_static" not in page.parts}


def leads_somewhere(target, page, pages):
    url = urlsplit(target)
    path = (page.parent / unquote(url.path)).resolve() if url.path else page
    return path.exists() and (not url.fragment or path not in pages or url.fragment in pages[path].anchors)


def test_every_link_leads_somewhere(pages):
    for page, links in pages.items():
        inside = [target for target in links.linked | links.loaded if not urlsplit(target).scheme]
        assert not [target for target in inside if not leads_somewhere(target, page, pages)], page


def test_a_page_loads_nothing_from_elsewhere(pages):
    for page, links in pages.items():
        assert not [target for target in links.loaded if urlsplit(target).netloc], page


@pytest.mark.parametrize(
    "query", ["probability", "coordinates", "LLM", "ollama", "duplicates", "stop words", "zero-shot", "MLflow"]
)
def test_the_search_of_the_site_finds_the_recipe(query, site):
    index = json.loads((site / "searchindex.js").read_text(encoding="utf-8")[len("Search.setIndex(") : -1])
    language = SearchEnglish({})
    stems = [language.stem(word.lower()) for word in re.findall(r"\w+", query)]
    on_pages = [{*as_list(index["terms"].get(stem)), *as_list(index["titleterms"].get(stem))} for stem in stems]
    assert "guides/recipes" in {index["docnames"][page] for page in set.intersection(*on_pages)}


def as_list(pages):
    """Return the numbers of pages in a search index, where one page is not a list."""
    return pages if isinstance(pages, list) else [] if pages is None else [pages]


def test_public_names_link_to_their_source_without_a_path_of_this_machine(site):
    page = (site / "reference" / "generated" / "textspectra.AutoKMeans.html").read_text(encoding="utf-8")
    assert "_modules/textspectra/core/estimators.html#AutoKMeans.fit" in page
    assert not [path for path in site.rglob("*.html") if str(ROOT) in path.read_text(encoding="utf-8")]


def test_every_method_of_a_text_clustering_belongs_to_a_task(site):
    page = (site / "reference" / "generated" / "textspectra.TextClustering.html").read_text(encoding="utf-8")
    methods = [name for name in vars(ts.TextClustering) if not name.startswith("_")]
    assert not [name for name in methods if f'id="textspectra.TextClustering.{name}"' not in page]


def test_everything_public_is_in_the_reference():
    named = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8").replace("`", " ").split()
    assert set(ts.__all__) <= set(named)


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "examples/README.md"])
def test_a_page_of_the_repository_links_to_files_that_are_there(page):
    targets = re.findall(r"\]\(([^)#\s]+)", (ROOT / page).read_text(encoding="utf-8"))
    missing = [
        target for target in targets if not urlsplit(target).scheme and not ((ROOT / page).parent / target).exists()
    ]
    assert not missing
