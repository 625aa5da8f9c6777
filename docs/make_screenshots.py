"""Takes the pictures of the example's report: on a screen, in the dark, on a phone, on paper. Run by `make picture`."""

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from textspectra.cli.cluster import run_cluster
from textspectra.cli.output import Stages

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from browser import launch

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "customer_messages.csv"

SCREEN, PHONE, A4 = ({"width": width, "height": height} for width, height in ((1440, 900), (390, 844), (794, 1123)))


def open_a_group(page: Page) -> None:
    """Open one of the large groups, and point at nothing."""
    page.click(".card >> nth=2")
    page.mouse.move(0, 0)


def print_it(page: Page) -> None:
    """Lay the page out as on paper; with the margin of the sheet."""
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.evaluate("document.body.style.margin = '12mm'")
    page.set_viewport_size(A4)


def with_frequent_colors(picture: Image.Image) -> Image.Image:
    """Keep the 256 most frequent colors: a third of the size, and all areas stay what they are."""
    counted = sorted(picture.getcolors(picture.width * picture.height), reverse=True)[:256]
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for _, color in counted for part in color])
    return picture.quantize(palette=palette, dither=Image.Dither.NONE)


PICTURES = {
    "report": ({"viewport": SCREEN}, lambda page: None),
    "report-dark": ({"viewport": SCREEN, "color_scheme": "dark"}, open_a_group),
    "report-phone": ({"viewport": PHONE, "is_mobile": True, "has_touch": True}, lambda page: None),
    "report-print": ({"viewport": SCREEN}, print_it),
}

with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
    outputs = run_cluster([str(EXAMPLE)], Stages(None), out=folder).outputs
    browser = launch(playwright)
    for name, (screen, prepare) in PICTURES.items():
        page = browser.new_page(**screen)
        page.goto(outputs["report"].as_uri())
        page.wait_for_selector("html[data-ready]")
        prepare(page)
        page.wait_for_function("!textspectra.map.painting")
        picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        with_frequent_colors(picture).save(ROOT / "docs" / f"{name}.png", optimize=True)
        page.close()
    browser.close()
