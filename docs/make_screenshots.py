"""Takes docs/report.png and docs/report-dark.png: the report of the example, for the README. Run by `make picture`."""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from textspectra.cli.cluster import run
from textspectra.cli.common import Stages

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from browser import launch

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "customer_messages.csv"

with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
    outputs = run([str(EXAMPLE)], Stages(None), out=folder).outputs
    browser = launch(playwright)
    for name, scheme in (("report", "light"), ("report-dark", "dark")):
        page = browser.new_page(viewport={"width": 1440, "height": 960}, color_scheme=scheme)
        page.goto(outputs["report"].as_uri())
        page.wait_for_selector("html[data-ready]")
        if scheme == "dark":
            page.click(".card >> nth=2")
            page.wait_for_function("!textspectra.map.painting")
        page.screenshot(path=str(ROOT / "docs" / f"{name}.png"))
    browser.close()
