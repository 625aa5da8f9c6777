"""A result in a notebook: a table of the largest groups, and the page in a frame."""

from __future__ import annotations

from html import escape

from ..core.estimate import levels_html
from .clustered import ClusteredTexts

N_LARGEST, N_WORDS = 10, 6
"""Groups in the table that a notebook shows, and keywords of each."""

SANDBOX = "allow-scripts allow-downloads"
"""What the page may do inside a notebook: run, and save files. It cannot reach the notebook around it."""


def result_html(result: ClusteredTexts) -> str:
    """Return what a notebook shows: the size, the number of groups with the levels, and the largest groups."""
    totals, k = result.totals, result.n_clusters
    texts = f"{totals.rows:,}" if totals.grouped == totals.rows else f"{totals.grouped:,} of {totals.rows:,}"
    ratio = f", Cohesion Ratio {result.cohesion.ratio:.2f}" if result.cohesion else ""
    parts = [f"<b>{k:,} {'group' if k == 1 else 'groups'}</b> in {texts} texts{ratio}"]
    if result.k_estimate is not None and len(result.k_estimate.suggestions) > 1:
        parts.append(levels_html(result.k_estimate.suggestions, k))
    parts += [f"<i>{escape(note)}</i>" for note in result.notes]
    rows = [
        (cluster.label, cluster.name, f"{cluster.size:,}", f"{cluster.size / max(1, totals.grouped):.1%}",
         " · ".join(cluster.keywords[:N_WORDS]))
        for cluster in sorted(result.clusters, key=lambda cluster: -cluster.size)[:N_LARGEST]
    ]  # fmt: skip
    cells = [[f'<td dir="auto" style="text-align: left">{escape(str(cell))}</td>' for cell in row] for row in rows]
    head = "".join(f"<th>{name}</th>" for name in ("cluster", "name", "size", "share", "keywords"))
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
    parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    if k > N_LARGEST:
        parts.append(f"and {k - N_LARGEST:,} smaller; <code>show()</code> has all of them")
    return "".join(f"<div>{part}</div>" for part in parts)


def framed(page: str, height: int) -> str:
    """Put a page into a frame of its own, from which it cannot reach the page around it."""
    style = f"width: 100%; height: {height}px; border: 0"
    return f'<iframe title="textspectra report" sandbox="{SANDBOX}" style="{style}" srcdoc="{escape(page)}"></iframe>'
