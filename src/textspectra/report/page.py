"""The HTML page: our template, style and script, the plotting library, and the packed data."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files

from .pack import pack

SCRIPTS = (
    "data", "grouping", "tree", "filter", "state", "rows", "counts", "tallied", "trends", "measures", "density",
    "labels", "groupnames", "tooltip", "map", "answer", "slider", "words", "query", "textrows", "editing", "groups",
    "hover", "search", "picked", "compare", "lasso", "safecells", "why", "charts", "takeaway", "filterbar", "overtime",
    "segments", "changed", "main",
)  # fmt: skip
"""The modules of the page's script; each comes after those that it imports."""

STYLES = ("base", "answer", "controls", "map", "groups", "work", "chapters", "narrow", "print")
"""The style sheets of the page; a later one overrules an earlier one."""

IMPORT = re.compile(r"^import \{[^}]*\} from \"\./\w+\.js\";\n", re.MULTILINE)
EXPORT = re.compile(r"^export (?=async function|function|const|let|class)", re.MULTILINE)


def render_page(blocks: dict[str, str]) -> str:
    """Return the page that shows `blocks`.

    The security policy of the page allows two scripts, by their digests: ours and the plotting library. It forbids
    all network requests.
    """
    from jinja2 import Environment, PackageLoader
    from markupsafe import Markup

    environment = Environment(loader=PackageLoader(__package__, "assets"), autoescape=True, trim_blocks=True)
    script, library = page_script(), plotting_library()
    return environment.get_template("page.html").render(
        policy=_policy(script, library),
        style=Markup(page_style()),  # noqa: S704 - our own files, not data
        script=Markup(script),  # noqa: S704 - our own files, not data
        blocks={**blocks, "library": packed_library()},
    )


@cache
def page_script() -> str:
    """Join the modules of the script into one, without `import` and `export`."""
    parts = [EXPORT.sub("", IMPORT.sub("", _asset(f"{name}.js"))) for name in SCRIPTS]
    return "\n" + "\n".join(parts)


def page_style() -> str:
    """Join the style sheets."""
    return "\n" + "\n".join(_asset(f"{name}.css") for name in STYLES)


def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


@cache
def plotting_library() -> str:
    """Return Plotly's JavaScript, which comes with its Python package."""
    return (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")


@cache
def packed_library() -> str:
    """Return Plotly's JavaScript as a block of the page."""
    return pack(plotting_library().encode())


def _policy(*scripts: str) -> str:
    digests = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in scripts)
    # Plotly compiles code at run time (unsafe-eval), sets styles on elements, and exports pictures through data: and
    # blob: addresses. A script inside a text of the data has no digest here, so it could not run.
    return f"default-src 'none'; script-src {digests} 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:"
