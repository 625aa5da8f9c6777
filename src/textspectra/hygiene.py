"""Text hygiene: half surrogate pairs and plurals, in one place for all layers."""

from __future__ import annotations


def without_surrogates(text: str) -> str:
    """Replace half surrogate pairs, as in a text that was cut inside an emoji, with U+FFFD.

    They occur in scraped data but are not valid characters: no file or model accepts them.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def plural(number: int, singular: str, several: str | None = None) -> str:
    """Return a number with its noun, and with a verb if both forms are given."""
    return f"{number:,} {singular if number == 1 else several or f'{singular}s'}"
