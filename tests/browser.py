"""A real Chromium for the tests of the report, and what to do where there is none."""

import shutil

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = ("--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader")

BROWSER = next((path for path in map(shutil.which, NAMES) if path), None)

needs_browser = pytest.mark.skipif(
    BROWSER is None, reason="no Chromium or Chrome here; on Debian: sudo apt-get install chromium"
)


def launch(playwright):
    return playwright.chromium.launch(executable_path=BROWSER, args=list(FLAGS))
