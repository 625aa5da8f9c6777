"""A result as HTML, for notebooks. Texts, names and keywords are escaped, so that they stay what they are."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ..granularity.estimate_html import levels_html

if TYPE_CHECKING:
    from .result import TextClustering

LARGEST = 10
"""Groups in the table."""

N_KEYWORDS = 6

SANDBOX = "allow-scripts allow-downloads"
"""What the report may do inside a notebook: run, and save files. It cannot reach the notebook around it."""


def result_html(result: TextClustering) -> str:
    """Return a result as HTML: its size, the number of groups with the levels, and the largest groups."""
    totals = result.totals
    texts = f"{totals.rows:,}" if totals.grouped == totals.rows else f"{totals.grouped:,} of {totals.rows:,}"
    ratio = f", Cohesion Ratio {result.cohesion.ratio:.2f}" if result.cohesion else ""
    groups = "group" if result.n_clusters == 1 else "groups"
    parts = [f"<b>{result.n_clusters:,} {groups}</b> in {texts} texts{ratio}"]
    if result.k_estimate is not None and len(result.k_estimate.suggestions) > 1:
        parts.append(levels_html(result.k_estimate.suggestions, result.n_clusters))
    parts += [f"<i>{escape(note)}</i>" for note in result.notes]
    largest = sorted(result.topics, key=lambda topic: -topic.size)[:LARGEST]
    cells = [
        [topic.label, topic.name, f"{topic.size:,}", f"{topic.size / max(1, totals.grouped):.1%}",
         " · ".join(topic.keywords[:N_KEYWORDS])]
        for topic in largest
    ]  # fmt: skip
    head = "".join(f"<th>{name}</th>" for name in ("cluster", "name", "size", "share", "keywords"))
    rows = "".join(
        "<tr>" + "".join(f'<td dir="auto" style="text-align: left">{escape(str(cell))}</td>' for cell in row) + "</tr>"
        for row in cells
    )
    parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")
    if result.n_clusters > LARGEST:
        parts.append(f"and {result.n_clusters - LARGEST:,} smaller; <code>show()</code> has all of them")
    return "".join(f"<div>{part}</div>" for part in parts)


def framed(page: str, height: int) -> str:
    """Put a page into a frame of its own, from which it cannot reach the page around it.

    Examples
    --------
    >>> framed('<p title="a">', 300)
    '<iframe title="textspectra report" sandbox="allow-scripts allow-downloads" style="width: 100%; height: 300px; \
border: 0" srcdoc="&lt;p title=&quot;a&quot;&gt;"></iframe>'
    """
    style = f"width: 100%; height: {height}px; border: 0"
    return f'<iframe title="textspectra report" sandbox="{SANDBOX}" style="{style}" srcdoc="{escape(page)}"></iframe>'
