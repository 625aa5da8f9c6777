"""Colors for hundreds of clusters, distinct also for color-blind readers, on white and on black."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray


def pack(data: bytes) -> str:
    """Compress with zlib (`deflate` in a browser) and encode in base64."""
    return base64.b64encode(zlib.compress(data, 6)).decode()


def pack_json(value: Any) -> str:
    r"""Pack any JSON value; half a surrogate pair, which is not a valid character, is escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return pack(text.encode("utf-8", "backslashreplace"))


def pack_array(array: NDArray[Any], kind: str) -> str:
    """Pack an array as little-endian numbers of a type such as ``"u2"``."""
    return pack(np.ascontiguousarray(array, f"<{kind}").tobytes())


def shares_as_u2(values: NDArray[Any]) -> NDArray[np.uint16]:
    """Map numbers from -1 to 1 to whole numbers from 0 to 65,535."""
    return np.clip(np.round((np.asarray(values, np.float64) + 1) * 32767.5), 0, 65535).astype(np.uint16)


def none_if_nan(values: NDArray[Any] | list[float]) -> list[float | None]:
    """Return rounded numbers for JSON, which has no NaN."""
    return [round(float(value), 5) if np.isfinite(value) else None for value in values]


FIRST = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7")
"""The colors of Okabe and Ito, without black and without yellow, which is too pale on white."""

LIGHTNESS = (0.5, 0.8)
"""Range of the OKLab lightness of the colors: visible on white and on black."""

TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
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
    lightness = oklab(_linear(grid))[:, 0]
    grid = grid[(lightness >= LIGHTNESS[0]) & (lightness <= LIGHTNESS[1])]
    first = np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in FIRST], float)
    candidates = np.vstack([first, grid])
    seen = appearances(candidates)
    gap = np.full(len(candidates), np.inf)
    chosen: list[int] = []
    for number in range(n):
        best = number if number < len(first) else int(gap.argmax())
        chosen.append(best)
        gap = np.minimum(gap, color_distances(seen, seen[:, best]))
    return tuple("#" + "".join(f"{int(part):02x}" for part in candidates[i]) for i in chosen)


def oklab(linear: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert linear RGB to OKLab, where equal distances look about equally large."""
    lab: NDArray[np.float64] = np.cbrt(np.maximum(linear, 0) @ TO_LMS.T) @ TO_LAB.T
    return lab


def appearances(colors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return RGB colors (0 to 255) in OKLab for three kinds of color vision, shape (3, n, 3)."""
    linear = _linear(colors)
    return np.stack([oklab(linear), *(oklab(linear @ view.T) for view in DICHROMACY.values())])


def color_distances(seen: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance of colors to another one, for the kind of color vision that separates them worst."""
    gaps = np.linalg.norm(seen - other[:, None], axis=2)
    # Color blindness leaves less room for hundreds of colors, so half the distance has to be enough.
    distances: NDArray[np.float64] = np.minimum(gaps[0], 2 * gaps[1:].min(axis=0))
    return distances


def _linear(colors: NDArray[np.float64]) -> NDArray[np.float64]:
    share = colors / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


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
