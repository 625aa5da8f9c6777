"""Text hygiene: half surrogate pairs and plurals, in one place for all layers."""

from __future__ import annotations


def without_surrogates(text: str) -> str:
    r"""Replace half surrogate pairs, as in a text that was cut inside an emoji, with U+FFFD.

    They occur in scraped data but are not valid characters: no file or model accepts them.

    Examples
    --------
    >>> without_surrogates("cut \ud83d") == "cut \ufffd"
    True
    """
    if has_surrogates(text):
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def has_surrogates(text: str) -> bool:
    """Return True if a text has half a surrogate pair, so that it cannot be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def plural(number: int, singular: str, several: str | None = None) -> str:
    """Return a number with its noun, and with a verb if both forms are given.

    Examples
    --------
    >>> plural(1, "text"), plural(2000, "text"), plural(1, "row has", "rows have")
    ('1 text', '2,000 texts', '1 row has')
    """
    return f"{number:,} {singular if number == 1 else several or f'{singular}s'}"
