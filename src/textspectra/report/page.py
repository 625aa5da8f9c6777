"""The page: packed data, colors for hundreds of clusters, and one HTML file with its script and style."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Section = tuple[dict[str, Any], dict[str, str]]
"""A part of the page: its entry in the block ``meta``, and its packed blocks by name."""


def pack(data: bytes) -> str:
    """Compress with zlib (`deflate` in a browser) and encode in base64."""
    return base64.b64encode(zlib.compress(data, 6)).decode()


def pack_json(value: object) -> str:
    """Pack a JSON value; half a surrogate pair, which is not a valid character, is escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return pack(text.encode("utf-8", "backslashreplace"))


def pack_array(array: NDArray[np.generic], kind: str) -> str:
    """Pack an array as little-endian numbers of a type such as ``"u2"``."""
    return pack(np.ascontiguousarray(array, f"<{kind}").tobytes())


def shares_as_u2(values: ArrayLike) -> NDArray[np.uint16]:
    """Map numbers from -1 to 1 to whole numbers from 0 to 65,535."""
    return np.clip(np.round((np.asarray(values, np.float64) + 1) * 32767.5), 0, 65535).astype(np.uint16)


def none_if_nan(values: Iterable[float]) -> list[float | None]:
    """Return rounded numbers for JSON, which has no NaN."""
    return [round(float(value), 5) if np.isfinite(value) else None for value in values]


FIRST_COLORS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7")
"""The colors of Okabe and Ito, without black and without yellow, which is too pale on white."""

LIGHTNESS = (0.5, 0.8)  # range of the OKLab lightness of the colors: visible on white and on black
TO_LMS = np.array([
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
])  # fmt: skip
TO_LAB = np.array([
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
])  # fmt: skip
DICHROMACY = {
    "protan": np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]]),
    "deutan": np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]]),
}
"""Linear RGB as seen by people who lack one kind of cone cells (Viénot, Brettel and Mollon 1999)."""


@cache
def palette(n: int) -> tuple[str, ...]:
    """Return `n` colors, each as different as possible from those before it.

    After the first six, each color is the candidate that is farthest from all colors before it. The distance of two
    colors is the smallest over normal vision and, with half the weight, the two frequent kinds of color blindness.
    """
    steps = np.linspace(0, 255, 18).round()
    grid = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
    lightness = appearances(grid)[0, :, 0]
    grid = grid[(lightness >= LIGHTNESS[0]) & (lightness <= LIGHTNESS[1])]
    first = np.array([list(bytes.fromhex(color[1:])) for color in FIRST_COLORS], float)
    candidates = np.vstack([first, grid])
    seen = appearances(candidates)
    gap = np.full(len(candidates), np.inf)
    chosen: list[int] = []
    for number in range(n):
        chosen.append(number if number < len(first) else int(gap.argmax()))
        gap = np.minimum(gap, color_distances(seen, seen[:, chosen[-1]]))
    return tuple(f"#{bytes(color).hex()}" for color in candidates[chosen].astype(np.uint8))


def appearances(colors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return RGB colors (0 to 255) in OKLab for three kinds of color vision, shape (3, n, 3).

    In OKLab, equal distances look about equally large.
    """
    share = colors / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    views = np.stack([linear, *(linear @ view.T for view in DICHROMACY.values())])
    return np.asarray(np.cbrt(np.maximum(views, 0) @ TO_LMS.T) @ TO_LAB.T)


def color_distances(seen: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance of colors to another one, for the kind of color vision that separates them worst."""
    gaps = np.linalg.norm(seen - other[:, None], axis=2)
    # Color blindness leaves less room for hundreds of colors, so half the distance has to be enough.
    return np.asarray(np.minimum(gaps[0], 2 * gaps[1:].min(axis=0)))


SCRIPT_MODULES = (
    "data", "grouping", "tree", "filter", "state", "unsaved", "kept", "rows", "counts", "trends", "measures",
    "density", "labels", "groupnames", "tooltip", "map", "answer", "slider", "words", "query", "textrows",
    "editing", "themes", "lines", "groups", "search", "picked", "compare", "misfits", "outcome", "lasso",
    "workbook", "why", "charts", "takeaway", "saving", "filterbar", "overtime", "segments", "changed", "main",
)  # fmt: skip
"""The modules of the page's script; each comes after those that it imports."""

STYLE_SHEETS = ("base", "answer", "controls", "map", "groups", "work", "chapters", "narrow", "print")
"""A later style sheet overrules an earlier one."""

IMPORT = re.compile(r"^import \{[^}]*\} from \"\./\w+\.js\";\n", re.MULTILINE)
BLOCK = re.compile(rb'id="block-(\w+)">([A-Za-z0-9+/=]*)<')
EXPORT = re.compile(r"^export (?=async function|function|const|let|class)", re.MULTILINE)


def render_page(blocks: dict[str, str], *, version: str = "") -> str:
    """Return the page that shows `blocks`, for a server if a `version` of a model is given."""
    from jinja2 import Environment, PackageLoader
    from markupsafe import Markup

    environment = Environment(loader=PackageLoader(__package__, "assets"), autoescape=True, trim_blocks=True)
    return environment.get_template("page.html").render(
        policy=page_policy(is_served=bool(version)),
        version=version,
        style=Markup(_joined_assets(STYLE_SHEETS, "css")),  # noqa: S704 - our own files, not data
        script=Markup(_script()),  # noqa: S704 - our own files, not data
        blocks={**blocks, "library": packed_library()},
    )


@cache
def _joined_assets(names: tuple[str, ...], suffix: str) -> str:
    folder = files(__package__) / "assets"
    return "\n" + "\n".join((folder / f"{name}.{suffix}").read_text(encoding="utf-8") for name in names)


def _script() -> str:
    """Return one script instead of modules, without `import` and `export`: a page on disk cannot load modules."""
    return EXPORT.sub("", IMPORT.sub("", _joined_assets(SCRIPT_MODULES, "js")))


@cache
def plotting_library() -> str:
    """Return Plotly's JavaScript, which comes with its Python package."""
    return (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")


@cache
def packed_library() -> str:
    """Return Plotly's JavaScript as a block of the page."""
    return pack(plotting_library().encode())


def page_policy(*, is_served: bool = False) -> str:
    """Return the security policy of the page: it allows two scripts, by their digests, ours and the plotting library.

    It forbids all requests, except those of a page that is served to its own server.
    """
    scripts = (_script(), plotting_library())
    digests = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in scripts)
    # Plotly compiles code at run time (unsafe-eval), sets styles on elements, and exports pictures through data: and
    # blob: addresses. A script inside a text of the data has no digest here, so it could not run.
    policy = f"default-src 'none'; script-src {digests} 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:"
    return f"{policy}; connect-src 'self'" if is_served else policy


def blocks_of(page: bytes) -> dict[str, str]:
    """Return the data blocks of a page, by name; nothing else of it is used."""
    return {name.decode(): data.decode() for name, data in BLOCK.findall(page) if name != b"library"}
