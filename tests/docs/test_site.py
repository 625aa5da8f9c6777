"""The site builds without a warning, and every link in it leads somewhere."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from pages import ROOT
from sphinx.cmd.build import main as build


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    assert build(["--fail-on-warning", "--quiet", "-d", f"{folder}/doctrees", str(ROOT / "docs"), f"{folder}/html"]) == 0
    return folder / "html"


class Links(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, page):
        super().__init__()
        self.targets, self.anchors = set(), set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors.update(filter(None, (given.get("id"), given.get("name"))))
        self.targets.update(filter(None, (given.get("href"), given.get("src"))))


@pytest.mark.filterwarnings("default")  # Sphinx and its extensions warn of their own future
def test_every_link_leads_somewhere(site):
    pages = {page.resolve(): Links(page) for page in site.rglob("*.html")}
    broken, outside = [], []
    for page, links in pages.items():
        for target in links.targets:
            url = urlsplit(target)
            path = (page.parent / unquote(url.path)).resolve() if url.path else page
            if url.scheme or url.netloc:
                outside.append((page, target))
            elif not path.exists() or (path in pages and url.fragment and url.fragment not in pages[path].anchors):
                broken.append(f"{page.relative_to(site)}: {target}")
    assert not broken
    assert len(pages) > 50


@pytest.mark.filterwarnings("default")
def test_a_page_loads_nothing_from_elsewhere(site):
    for page in site.rglob("*.html"):
        loaded = Loads(page)
        assert not [what for what in loaded.targets if urlsplit(what).netloc], page


class Loads(Links):
    """What a browser fetches to show the page."""

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag in ("script", "img", "iframe") or (tag == "link" and "stylesheet" in (given.get("rel") or "")):
            self.targets.update(filter(None, (given.get("src"), given.get("href"))))
