"""Render blocks as Markdown, and as one self-contained HTML file."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files

from .blocks import Block, Bullets, Code, Figures, Heading, Paragraph, Span, Table, Text, spans
from .drawing import INK, LINE, MUTED, PAPER, Picture, inline

FIGURES = "figures"
"""The folder of the figures, beside the Markdown file."""

THEME = {INK: "var(--ink)", MUTED: "var(--muted)", LINE: "var(--line)", PAPER: "var(--paper)"}
MARKS = {"holds": "✓ ", "part": "◐ ", "fails": "✗ ", "unknown": "– "}
"""Verdicts have a sign as well as a color, for color-blind readers."""


def to_markdown(blocks: Sequence[Block]) -> str:
    r"""Return the blocks as Markdown; pictures are files in the folder of figures.

    Examples
    --------
    >>> print(to_markdown([Heading(2, "k & ρ"), Paragraph(("is ", Span("a|b", "strong")))]))
    ## k &amp; ρ
    <BLANKLINE>
    is **a\|b**
    <BLANKLINE>
    """
    return "\n\n".join(_markdown_block(block) for block in blocks) + "\n"


def _markdown_block(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"{'#' * level} {_escape(text)}"
        case Paragraph(text):
            return _wrapped(_markdown(text))
        case Bullets(items):
            return "\n".join(_wrapped(f"- {_markdown(item)}", indent="  ") for item in items)
        case Code(text):
            return f"```sh\n{text}\n```"
        case Figures(pictures, caption):
            images = "\n".join(f"![{_escape(p.alt)}]({FIGURES}/{p.name}.svg)" for p in pictures)
            return f"{images}\n\n{_wrapped(f'*{_escape(caption)}*')}"
        case Table():
            return _markdown_table(block)


def _markdown_table(table: Table) -> str:
    right = [False] + [not table.wordy] * (len(table.columns) - 1)
    lines = [
        _line(map(_escape, table.columns)),
        _line("--:" if on_right else "---" for on_right in right),
        *(_line(map(_markdown, row.cells)) for row in table.rows),
    ]
    caption = [_wrapped(f"*{_escape(table.caption)}*"), ""] if table.caption else []
    return "\n".join([*caption, *lines])


def _wrapped(text: str, *, indent: str = "") -> str:
    """Break long lines, so that a diff of two pages can be read."""
    return textwrap.fill(text, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown(text: Text) -> str:
    return "".join(map(_markdown_span, spans(text)))


def _markdown_span(span: Span) -> str:
    if span.style == "code":
        return f"`{span.text.replace('`', '')}`"
    text = MARKS.get(span.style, "") + _escape(span.text)
    if span.link:
        return f"[{text}]({span.link})"
    mark = {"strong": "**", "em": "*", "holds": "**", "part": "**", "fails": "**"}.get(span.style, "")
    return f"{mark}{text}{mark}" if text.strip() else text


def _escape(text: str) -> str:
    """Escape all characters that Markdown or HTML would interpret."""
    text = " ".join(text.split()) if "\n" in text or "\r" in text else text
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~#$])", r"\\\1", text)


def to_html(title: str, blocks: Sequence[Block]) -> str:
    """Return the blocks as one HTML file with embedded pictures and without scripts or requests.

    Examples
    --------
    >>> page = to_html("A study", [Paragraph("<b>")])
    >>> "&lt;b&gt;" in page, "<script" in page
    (True, False)
    """
    from jinja2 import Environment, PackageLoader
    from markupsafe import Markup

    def picture(figure: Picture) -> Markup:
        return Markup(inline(figure, THEME))  # noqa: S704 - drawn by us; matplotlib escapes the texts in it

    environment = Environment(
        loader=PackageLoader(__package__, "assets"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"spans": spans, "anchor": anchor, "picture": picture}
    environment.tests |= {
        name: _of(kind)
        for name, kind in {
            "heading": Heading,
            "paragraph": Paragraph,
            "bullets": Bullets,
            "code_block": Code,
            "table": Table,
            "figures": Figures,
        }.items()
    }
    style = (files(__package__) / "assets" / "style.css").read_text(encoding="utf-8")
    return environment.get_template("page.html").render(
        title=title,
        blocks=blocks,
        marks=MARKS,
        style=Markup(style),  # noqa: S704 - our own file, not data
    )


def _of(kind: type) -> Callable[[object], bool]:
    return lambda block: isinstance(block, kind)


def anchor(text: str) -> str:
    """Return the id of a heading, for links.

    Examples
    --------
    >>> anchor("The window w")
    'the-window-w'
    """
    return re.sub(r"\W+", "-", text.lower()).strip("-")
