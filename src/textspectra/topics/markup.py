"""What of a text is not language: HTML tags, entities and web addresses."""

from __future__ import annotations

import html
import re

_ADDRESS = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_NAMES = (
    "a|abbr|article|b|big|blockquote|body|br|button|center|code|dd|del|div|dl|dt|em|font|footer|form|h[1-6]|head|header|"
    "hr|html|i|iframe|img|input|ins|label|li|link|main|mark|meta|nav|o:p|ol|option|p|pre|q|s|script|section|select|small|"
    "span|strike|strong|style|sub|sup|table|tbody|td|textarea|tfoot|th|thead|title|tr|tt|u|ul|video"
)
_ATTRIBUTE = r"""\s+[\w:-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>]+)"""
_TAG = re.compile(rf"</?(?:{_NAMES})(?:{_ATTRIBUTE})*\s*/?>|<!--[^<>]*-->", re.IGNORECASE)
"""A tag of HTML, as opposed to ``a < b``, ``<3`` and placeholders such as ``<name>``."""


def plain_text(text: str) -> str:
    """Return what a text says: without tags and web addresses, and with characters in the place of entities."""
    # Few texts have any of it, and a search for a character is fast.
    if "&" in text:
        text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    if "<" in text:
        text = _TAG.sub(" ", text)
    if "://" in text or "www." in text.lower():
        text = _ADDRESS.sub(" ", text)
    return text
