"""What `compare` and `update` found: as data for --json, and as text for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .common import terminal
from .summary import count_of, group_table, one_line, print_outputs, where_all_are

if TYPE_CHECKING:
    from rich.console import Console

    from ..texts.comparison import Comparison

OUTPUTS = {
    "report": "what changed, and all groups: open this in a browser",
    "table": "every text with its group and its novelty",
    "model": "the model, which has the new texts now (`textspectra report` makes its page)",
}

NAMED = 5
"""Groups and texts of a kind that the terminal names."""


def summarize_changes(
    found: Comparison, model: str, sources: Sequence[str], outputs: Mapping[str, Path], seconds: Mapping[str, float]
) -> dict[str, Any]:
    """Return the summary that --json prints."""
    from dataclasses import asdict

    result, totals = found.result, found.result.totals
    names = {topic.label: topic.name for topic in found.model.topics}
    return {
        "model": model,
        "input": " ".join(sources),
        "texts": totals.rows,
        "distinct_texts": totals.distinct,
        "blank_texts": totals.blank,
        "unknown_to_the_model": totals.unknown,
        "texts_without_content": totals.without_content,
        "texts_of_the_model": found.model.totals.rows,
        "groups_of_the_model": found.model.n_clusters,
        "new_groups": [
            {
                "cluster": topic.label,
                "name": topic.name,
                "size": topic.size,
                "share": topic.size / totals.grouped,
                "cohesion": result.ratios[result.position(topic.label)],
                "keywords": list(topic.keywords),
                "representatives": result.typical_texts(topic),
                "representative_counts": result.typical_counts(topic),
            }
            for topic in found.new_topics
        ],
        "changes": [
            {"cluster": change.pop("label"), **change} for change in (asdict(one) for one in found.group_changes)
        ],
        "misfits": [result.corpus.distinct[position] for position in found.misfits],
        "splits": [{"cluster": label, "name": names[label]} for label in found.splits],
        "novelty": novelty_summary(found.novelty),
        "notes": list(result.notes),
        "outputs": {name: str(path) for name, path in outputs.items()},
        "seconds": {stage: round(value, 3) for stage, value in seconds.items()},
    }


def novelty_summary(novelty: Any) -> dict[str, float | None]:
    """Return the median novelty, and the share of texts above 1, where a tenth is expected."""
    import numpy as np

    from ..clustering.novelty import USUAL

    known = novelty[~np.isnan(novelty)]
    expected = round(1 - USUAL, 3)
    if not len(known):
        return {"median": None, "share_above_1": None, "expected_above_1": expected}
    return {
        "median": round(float(np.median(known)), 3),
        "share_above_1": round(float((known > 1).mean()), 4),
        "expected_above_1": expected,
    }


def print_changes(summary: Mapping[str, Any], console: Console | None = None) -> None:
    """Print for a person what is new, what grows, what shrinks, and what fits nothing."""
    console = console or terminal()
    console.print()
    new = summary["new_groups"]
    texts = f"{count_of(summary['texts'], 'text')} against {count_of(summary['groups_of_the_model'], 'group')}"
    headline = f"{count_of(len(new), 'new group')}" if new else "Nothing new"
    console.print(f"[bold]{headline}[/bold] in {texts} of {summary['model']}", soft_wrap=True)
    print_outputs(summary["outputs"], OUTPUTS, console)
    for note in summary["notes"]:
        console.print(note, style="yellow", markup=False)
    if new:
        console.print()
        console.print(group_table(new[: 2 * NAMED]))
        if len(new) > 2 * NAMED:
            rest = f"and {count_of(len(new) - 2 * NAMED, 'smaller new group')}"
            console.print(f"{rest}: all are in {where_all_are(summary)}", markup=False, soft_wrap=True)
    console.print()
    for line in _lines(summary):
        console.print(line, markup=False)


def _lines(summary: Mapping[str, Any]) -> list[str]:
    """Return what changed in the groups of the model, and which texts fit nothing, in words."""
    lines = []
    kinds = {"growing": "Growing", "shrinking": "Shrinking", "gone": "Gone"}
    for status, word in kinds.items():
        of_kind = [change for change in summary["changes"] if change["status"] == status]
        of_kind.sort(key=lambda change: -abs(change["share_after"] - change["share_before"]))
        named = [
            f"{change['name']} ({change['share_before']:.1%} to {change['share_after']:.1%} of texts)"
            for change in of_kind[:NAMED]
        ]
        more = [f"and {len(of_kind) - NAMED} more"] if len(of_kind) > NAMED else []
        if of_kind:
            lines.append(f"{word}: {', '.join([*named, *more])}")
    steady = sum(change["status"] == "steady" for change in summary["changes"])
    if steady:
        lines.append(f"{count_of(steady, 'group')} without a change that is more than chance")
    if summary["misfits"]:
        lines.append(f"{count_of(len(summary['misfits']), 'text')} that fit no group well, such as:")
        lines += [f"  · {one_line(text)}" for text in summary["misfits"][:3]]
    if summary["novelty"]["median"] is None:
        lines.append("The model has too few texts to tell what is new.")
    for split in summary["splits"]:
        lines.append(f"The group {split['name']!r} would now better be two; nothing was split.")
    return lines
