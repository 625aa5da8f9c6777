"""What `textspectra cluster` found, as data and as a page in the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from ..granularity.estimate import KEstimate
    from ..texts.result import TextClustering

OUTPUTS = {
    "report": "open this in a browser, the groups to explore",
    "table": "every text with its group",
    "model": "for `textspectra predict`, the model",
}

LOOSE = 1.1
"""A Cohesion Ratio below this is hardly above that of random groups."""

FAINT = 0.25
"""Below this agreement of two halves, the number of groups is a guess."""

SHOWN_GROUPS = 40
"""Groups in the table of the terminal, the largest ones."""


def summarize(
    result: TextClustering, source: str, text_column: str, outputs: Mapping[str, Path], seconds: Mapping[str, float]
) -> dict[str, Any]:
    """Return the machine-readable summary that --json prints."""
    totals, cohesion = result.totals, result.cohesion
    ratios = {part.label: part.ratio for part in cohesion.per_cluster} if cohesion else {}
    return {
        "input": source,
        "text_column": text_column,
        "texts": totals.rows,
        "distinct_texts": totals.distinct,
        "blank_texts": totals.blank,
        "unknown_to_the_model": totals.unknown,
        "model": result.source.model,
        "algorithm": result.algorithm,
        "k": result.n_clusters,
        **_estimate(result.k_estimate),
        "cohesion_ratio": cohesion.ratio if cohesion else None,
        "cohesion_ratio_se": cohesion.standard_error if cohesion else None,
        "clusters": [
            {
                "cluster": topic.label,
                "name": topic.name,
                "size": topic.size,
                "share": topic.size / totals.grouped,
                "keywords": list(topic.keywords),
                "cohesion": ratios.get(topic.label),
                "representatives": result.typical_texts(topic),
            }
            for topic in sorted(result.topics, key=lambda topic: -topic.size)
        ],
        "outputs": {name: str(path) for name, path in outputs.items()},
        "seconds": {stage: round(value, 3) for stage, value in seconds.items()},
    }


def _estimate(estimate: KEstimate | None) -> dict[str, Any]:
    return {
        "k_interval": list(estimate.interval) if estimate else None,
        "k_confidence": estimate.confidence if estimate else None,
        "k_suggestions": [suggestion._asdict() for suggestion in estimate.suggestions] if estimate else [],
        "k_found_by": estimate.method if estimate else None,
    }


def print_summary(
    summary: Mapping[str, Any], console: Console | None = None, *, shown_groups: int = SHOWN_GROUPS
) -> None:
    """Print the summary for a person: the answer, what it is worth, and the largest groups."""
    if console is None:
        from rich.console import Console

        console = Console(highlight=False)
    console.print()
    console.print(f"[bold]{_headline(summary)}[/bold]")
    if summary["cohesion_ratio"] is not None:
        ratio = summary["cohesion_ratio"]
        counted = "" if summary["distinct_texts"] == _grouped(summary) else " (each different text counted once)"
        console.print(f"Cohesion Ratio {ratio:.2f}{counted}: {cohesion_in_words(ratio)}")
    if len(summary["k_suggestions"]) > 1:
        console.print(granularities(summary["k_suggestions"]))
    for note in _notes(summary):
        console.print(note, style="yellow")
    console.print()
    console.print(_table(summary["clusters"][:shown_groups]))
    hidden = len(summary["clusters"]) - shown_groups
    if hidden > 0:
        console.print(f"and {hidden} smaller groups; all of them are in the output table")
    console.print()
    for name, meaning in OUTPUTS.items():
        if name in summary["outputs"]:
            console.print(f"{meaning}: ", end="")
            console.print(summary["outputs"][name], style="bold", markup=False, soft_wrap=True)


def cohesion_in_words(ratio: float) -> str:
    """Say what a Cohesion Ratio means.

    Examples
    --------
    >>> cohesion_in_words(2.04)
    'two texts of one group are 2.0 times as alike as any two texts.'
    """
    if ratio < LOOSE:
        return "texts of one group are hardly more alike than any two texts; do not lean on these groups."
    return f"two texts of one group are {ratio:.1f} times as alike as any two texts."


def granularities(suggestions: Sequence[Mapping[str, Any]]) -> str:
    """Say which granularities are suggested, and how well two halves of the texts agree on each.

    Examples
    --------
    >>> granularities([{"name": "suggested", "k": 9, "score": 0.712}, {"name": "fine", "k": 20, "score": 0.6}])
    'Granularity: suggested 9 (score 0.71), fine 20 (score 0.60); the score is how well two halves of the texts agree.'
    """
    each = ", ".join(f"{one['name']} {one['k']} (score {one['score']:.2f})" for one in suggestions)
    return f"Granularity: {each}; the score is how well two halves of the texts agree."


def _headline(summary: Mapping[str, Any]) -> str:
    grouped, total = _grouped(summary), summary["texts"]
    texts = count_of(total, "text") if grouped == total else f"{grouped:,} of {count_of(total, 'text')}"
    groups = count_of(summary["k"], "group")
    if summary["k_interval"] is None:
        return f"{texts} in {groups}, as you asked"
    low, high = summary["k_interval"]
    return f"{texts} in {groups} (95 % interval of the estimate {low} to {high})"


def _grouped(summary: Mapping[str, Any]) -> int:
    return int(summary["texts"] - summary["blank_texts"] - summary["unknown_to_the_model"])


def count_of(number: int, what: str) -> str:
    """Return a number and its noun.

    Examples
    --------
    >>> count_of(1, "group"), count_of(1200, "text")
    ('1 group', '1,200 texts')
    """
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _notes(summary: Mapping[str, Any]) -> list[str]:
    notes = []
    if summary["blank_texts"]:
        notes.append(f"{count_of(summary['blank_texts'], 'blank text')}: no group, the cluster is empty in the output.")
    if summary["unknown_to_the_model"]:
        unknown = count_of(summary["unknown_to_the_model"], "text")
        notes.append(f"{unknown} without a word that the model knows: no group either.")
    if summary["k_found_by"] == "spectral" and summary["k_confidence"] < 0.5 and summary["k"] > 1:
        notes.append("The spectrum shows no clear number of groups here; the number is a default, not a finding.")
    if summary["k_found_by"] == "reproducible":
        if summary["k"] == 1:
            notes.append("There is no structure here: the texts lie like one cloud, with no groups to tell apart.")
        elif summary["k_confidence"] < FAINT:
            notes.append("Two halves of these texts agree little on any groups: take them as a rough sketch.")
    loose = sum((cluster["cohesion"] or LOOSE) < LOOSE for cluster in summary["clusters"])
    if loose and summary["k"] > 1:
        notes.append(f"{count_of(loose, 'group')} with a cohesion near 1: leftovers rather than a topic.")
    return notes


def _table(clusters: list[dict[str, Any]]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("cohesion", justify="right", no_wrap=True)
    table.add_column("keywords", ratio=2, overflow="fold")
    table.add_column("typical texts", ratio=3, overflow="fold")
    for cluster in clusters:
        value = cluster["cohesion"]
        cohesion = "" if value is None else f"[yellow]{value:.2f}[/yellow]" if value < LOOSE else f"{value:.2f}"
        typical = "\n".join(f"· {_one_line(text)}" for text in cluster["representatives"][:2])
        table.add_row(
            str(cluster["cluster"]), f"{cluster['size']:,}", f"{cluster['share']:.1%}", cohesion,
            Text(", ".join(cluster["keywords"][:5])), Text(typical),
        )  # fmt: skip
    return table


def _one_line(text: str, width: int = 90) -> str:
    flat = "".join(character if character.isprintable() else " " for character in text)
    flat = " ".join(flat.split())
    return flat if len(flat) <= width else flat[: width - 1] + "…"
