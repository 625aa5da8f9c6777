"""What the tests of the page do and read there."""

from pathlib import Path

PAYLOAD = '<img src=x onerror="document.title=1;globalThis.hacked=1">'


def card_texts(page, part):
    return page.locator(f".card {part}").all_text_contents()


def visible_lines(page):
    """Return how many lines of the list, headings of themes included, are on the screen as a whole."""
    return page.evaluate(
        """[...document.querySelectorAll("#list > li")].filter((line) => {
            const { top, bottom, height } = line.getBoundingClientRect();
            const panel = document.getElementById("panel").getBoundingClientRect();
            return height > 0 && top >= panel.top && bottom <= Math.min(panel.bottom, innerHeight);
        }).length"""
    )


def move_to(page, k):
    page.fill("#k", str(k))
    page.press("#k", "Enter")
    page.wait_for_function("!textspectra.map.painting")


def painted(page):
    """Return how many points have each color on the map."""
    page.wait_for_function("!textspectra.map.painting")
    return page.evaluate(
        "Object.values(textspectra.map.plot.data[0].marker.color.reduce((n, c) => ({...n, [c]: (n[c] ?? 0) + 1}), {}))"
    )


def map_point(page, position):
    """Return where on the screen the point at a position is."""
    return page.evaluate(
        """(i) => {
            const { plot, x, y } = textspectra.map;
            const box = plot.getBoundingClientRect();
            const at = (value, [low, high]) => (value - low) / (high - low);
            const { xaxis, yaxis } = plot.layout;
            return [box.left + at(x[i], xaxis.range) * box.width, box.bottom - at(y[i], yaxis.range) * box.height];
        }""",
        position,
    )


def download(page, button):
    with page.expect_download() as waiting:
        page.click(button)
    return Path(waiting.value.path())
