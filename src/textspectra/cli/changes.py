"""What `compare` and `update` found: as data for --json, and as text for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .common import terminal
from .summary import count_of, group_table, one_line, print_outputs, where_all_are

if TYPE_CHECKING:
    from rich.console import Console

    from ..texts.comparison import Comparison, Drift
    from ..texts.history import GroupChange

OUTPUTS = {
    "report": "what changed, and all groups: open this in a browser",
    "table": "every text with its group and its novelty",
    "model": "the model, which has the new texts now (`textspectra report` makes its page)",
}

NAMED = 5
"""Groups and texts of a kind that the terminal names."""

NOTABLE = 0.1
"""Share of the texts in new groups that is said, because it lowers all other shares."""


def summarize_changes(
    found: Comparison, model: str, sources: Sequence[str], outputs: Mapping[str, Path], seconds: Mapping[str, float]
) -> dict[str, Any]:
    """Return the summary that --json prints."""
    result, totals = found.result, found.result.totals
    names = {topic.label: topic.name for topic in found.model.topics}
    mixed = {change.label for change in found.group_changes if change.mixed}
    return {
        "read": result.reading,
        "model": model,
        "input": " ".join(sources),
        "texts": totals.rows,
        "distinct_texts": totals.distinct,
        "blank_texts": totals.blank,
        "unknown_to_the_model": totals.unknown,
        "texts_without_content": totals.without_content,
        "texts_of_the_model": found.model.totals.rows,
        "groups_of_the_model": found.model.n_clusters,
        "compared": found.in_words,
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
                "mixed": topic.label in mixed,
            }
            for topic in found.new_topics
        ],
        "changes": [_change(change) for change in found.group_changes],
        "misfits": [result.corpus.distinct[position] for position in found.misfits],
        "splits": [{"cluster": label, "name": names[label]} for label in found.splits],
        **drift_summary(found.drift),
        "outdated": [str(path) for path in _outdated(Path(model))] if "model" in outputs else [],
        "notes": list(result.notes),
        "outputs": {name: str(path) for name, path in outputs.items()},
        "seconds": {stage: round(value, 3) for stage, value in seconds.items()},
    }


def _outdated(model: Path) -> list[Path]:
    """Return the page and the tables beside a model that do not have the texts of an update yet."""
    from .apply import table_paths
    from .report import report_path

    return [path for path in (report_path(model), *table_paths(model)) if path.exists()]


def _change(change: GroupChange) -> dict[str, Any]:
    from dataclasses import asdict

    fields = asdict(change)
    return {"cluster": fields.pop("label"), **fields, "same_count": change.keeps_count, "figures": change.figures}


def drift_summary(drift: Drift) -> dict[str, Any]:
    """Return the keys of --json that say how new the texts are on the whole, and whether the groups are out of date."""
    figures = drift._asdict()
    return {"drift": figures.pop("is_significant"), "novelty": figures}


def print_changes(summary: Mapping[str, Any], console: Console | None = None) -> None:
    """Print for a person what is new, what grows, what shrinks, and what fits nothing."""
    console = console or terminal()
    console.print()
    console.print(summary["read"], markup=False)
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


KINDS = {
    ("growing", False): "Growing",
    ("growing", True): "Larger share, about the same number of texts",
    ("shrinking", False): "Shrinking",
    ("shrinking", True): "Smaller share, about the same number of texts",
    ("gone", False): "Gone",
}
"""What is said of groups by their status, and by whether they have about the same number of texts."""


def _lines(summary: Mapping[str, Any]) -> list[str]:
    """Return what changed in the groups of the model, and which texts fit nothing, in words."""
    lines = [f"{summary['compared']}, by share of the texts:"]
    mixed = [group["name"] for group in summary["new_groups"] if group["mixed"]]
    if mixed:
        verb = "is" if len(mixed) == 1 else "are"
        lines.insert(0, f"{', '.join(mixed)} {verb} mixed: the name does not speak for all texts of the group.")
    share_of_new = sum(group["share"] for group in summary["new_groups"])
    if share_of_new >= NOTABLE:
        lines.append(f"New groups have {100 * share_of_new:.0f} % of the texts, which lowers the shares of the others.")
    for kind, words in KINDS.items():
        of_kind = [change for change in summary["changes"] if (change["status"], change["same_count"]) == kind]
        of_kind.sort(key=lambda change: -abs(change["share_after"] - change["share_before"]))
        named = [f"{change['name']} ({change['figures']})" for change in of_kind[:NAMED]]
        more = [f"and {len(of_kind) - NAMED} more"] if len(of_kind) > NAMED else []
        if of_kind:
            lines.append(f"{words}: {', '.join([*named, *more])}")
    steady = sum(change["status"] == "steady" for change in summary["changes"])
    if steady:
        other = "the other " if steady < len(summary["changes"]) else ""
        groups = f"{other}{count_of(steady, 'group')}" if steady > 1 or not other else "the other group"
        lines.append(f"No significant change in {groups}")
    if summary["misfits"]:
        verb = "fits" if len(summary["misfits"]) == 1 else "fit"
        lines.append(f"{count_of(len(summary['misfits']), 'text')} {verb} no group well, such as:")
        lines += [f"  · {one_line(text)}" for text in summary["misfits"][:3]]
    if summary["novelty"]["median"] is None:
        lines.append("The model has too few texts to tell what is new.")
    if summary["outdated"]:
        verb = "does" if len(summary["outdated"]) == 1 else "do"
        lines.append(f"{' and '.join(summary['outdated'])} {verb} not have the new texts.")
        lines.append(f"For a page of all texts: textspectra report {summary['model']} --overwrite")
    for split in summary["splits"]:
        lines.append(f"{split['name']!r} now looks like two groups. You can split it in the report.")
    return lines
