"""The result of `textspectra cluster`: as data for --json, and as text for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .output import Summary, terminal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..texts.corpus import DataFrame
    from ..texts.result import TextClustering
    from ..words.describe import Cluster
    from .cluster import Done

_OUTPUTS = {
    "report": "to explore the groups, open this in a browser",
    "table": "every text with its group",
    "model": "the model, for `textspectra predict`",
}

_LISTED = 10
"""Groups in the table of the terminal: the largest ones."""


def summarize(done: Done, source: str, seconds: Mapping[str, float]) -> Summary:
    """Return the summary that --json prints."""
    from ..report.tree import silhouette
    from ..texts.sentences import verdict

    result = done.result
    totals, cohesion = result.totals, result.cohesion
    return {
        "read": result.reading,
        "input": source,
        "sheet": done.sheet,
        "header_row": done.header_row,
        "text_column": done.text_column,
        "languages": result.languages,
        "texts": totals.rows,
        "distinct_texts": totals.distinct,
        "blank_texts": totals.blank,
        "unknown_to_the_model": totals.unknown,
        "texts_without_content": totals.without_content,
        "model": result.source.model,
        "model_reason": result.recipe.get("model_reason"),
        "algorithm": result.algorithm,
        "k": result.n_clusters,
        **_estimate(result),
        "cohesion_ratio": cohesion.ratio if cohesion else None,
        "cohesion_ratio_se": cohesion.standard_error if cohesion else None,
        "verdict": verdict(result, silhouette(result.embedded().X, result.distinct_codes)),
        "clusters": clusters_as_json(result, sorted(result.clusters, key=lambda cluster: -cluster.size)),
        **_further_columns(result),
        "notes": list(result.notes),
        **describe_run(done.outputs, seconds),
    }


def clusters_as_json(result: TextClustering, clusters: Iterable[Cluster]) -> list[Summary]:
    """Return clusters of a result as --json prints them."""
    cohesion = dict(zip((cluster.label for cluster in result.clusters), result.ratios, strict=True))
    return [
        {
            "cluster": cluster.label,
            "name": cluster.name,
            "size": cluster.size,
            "share": cluster.size / result.totals.grouped,
            "keywords": list(cluster.keywords),
            "cohesion": cohesion[cluster.label],
            "representatives": result.typical_texts(cluster),
            "representative_counts": result.typical_counts(cluster),
        }
        for cluster in clusters
    ]


def describe_run(outputs: Mapping[str, Path], seconds: Mapping[str, float]) -> Summary:
    """Return the keys of --json that say what a command wrote, and how long its stages took."""
    return {
        "outputs": {name: str(path) for name, path in outputs.items()},
        "seconds": {stage: round(value, 3) for stage, value in seconds.items()},
    }


def _further_columns(result: TextClustering) -> Summary:
    """Return the groups over time and by segments, and the strongest changes and differences in words."""
    from ..texts.sentences import segments_in_words, trends_in_words

    tally = result.tally
    if tally is None:
        return {}
    columns: Summary = {}
    if tally.every:
        columns |= {
            "every": tally.every,
            "over_time": _records(result.over_time()),
            "trends": _records(result.trends()),
            "changes": trends_in_words(result),
        }
    if tally.segments:
        columns |= {
            "by": {name: _records(result.by(name)) for name in tally.segments},
            "differences": segments_in_words(result),
        }
    return columns


def _records(frame: DataFrame) -> list[Summary]:
    """Return the rows of a data frame as JSON takes them: days as ISO dates, and undefined values as null."""
    import narwhals

    columns = {
        name: [str(value)[:10] if hasattr(value, "isoformat") else value for value in column.to_list()]
        for name, column in narwhals.from_native(frame).to_dict(as_series=True).items()
    }
    rows = zip(*columns.values(), strict=True)
    return [{n: None if v != v else v for n, v in zip(columns, row, strict=True)} for row in rows]


def _estimate(result: TextClustering) -> Summary:
    estimate = result.k_estimate
    levels = {suggestion.k: suggestion.name for suggestion in estimate.suggestions} if estimate else {}
    return {
        "level": levels.get(result.n_clusters),
        "k_interval": list(estimate.interval) if estimate else None,
        "k_confidence": estimate.confidence if estimate else None,
        "k_suggestions": [suggestion._asdict() for suggestion in estimate.suggestions] if estimate else [],
        "k_found_by": estimate.method if estimate else None,
    }


def print_summary(summary: Summary, console: Console | None = None) -> None:
    """Print the summary for a person: the answer, how good it is, and the largest groups."""
    from ..texts.sentences import shown_in_words

    console = console or terminal()
    levels = [suggestion["k"] for suggestion in summary["k_suggestions"]]
    console.print()
    console.print(summary["read"], markup=False)
    console.print(f"[bold]{_headline(summary)}[/bold]")
    print_outputs(summary["outputs"], _OUTPUTS, console)
    console.print()
    console.print(summary["verdict"], markup=False, style="yellow" if _is_doubt(summary) else "")
    if set(levels) - {summary["k"]} and not _is_doubt(summary):
        console.print(shown_in_words(summary["k"], levels))
    if summary["model_reason"]:
        console.print(model_line(summary["model"], summary["model_reason"]), markup=False)
    for note in _notes(summary):
        console.print(note, style="yellow", markup=False)
    print_clusters(summary["clusters"], "smaller group", summary["outputs"], console)
    for title, part in {"Over time": "changes", "By segment": "differences"}.items():
        if summary.get(part):
            console.print(f"\n[bold]{title}[/bold]")
            for line in summary[part]:
                console.print(f"· {line}", markup=False)


def model_line(model: str | None, reason: str) -> str:
    """Return a line that names the model and why it was chosen."""
    return f"Model {model}, {reason.rstrip('.')}."


def print_outputs(outputs: Mapping[str, str], meanings: Mapping[str, str], console: Console) -> None:
    """Print where the outputs are, a line for each."""
    for name, meaning in meanings.items():
        if name in outputs:
            console.print(f"{meaning}: ", end="")
            console.print(outputs[name], style="bold", markup=False, soft_wrap=True)


def _headline(summary: Summary) -> str:
    grouped, total = _grouped(summary), summary["texts"]
    texts = count_of(total, "text") if grouped == total else f"{grouped:,} of {count_of(total, 'text')}"
    return f"{texts} in {count_of(summary['k'], 'group')}{', as you asked' if summary['level'] is None else ''}"


def _grouped(summary: Summary) -> int:
    without = ("blank_texts", "unknown_to_the_model", "texts_without_content")
    return int(summary["texts"] - sum(summary[name] for name in without))


def count_of(number: int, noun: str) -> str:
    """Return a number and its noun: '1 group', '1,200 texts'."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _is_doubt(summary: Summary) -> bool:
    """Return True if the verdict is that the model does not read the language of the texts."""
    return summary["verdict"] in summary["notes"]


def _notes(summary: Summary) -> list[str]:
    from ..texts.sentences import doubt_about_k, leftovers_in_words, without_clusters

    notes = [note for note in summary["notes"] if note != summary["verdict"]]
    if summary["blank_texts"]:
        notes.append(f"{count_of(summary['blank_texts'], 'blank text')} without a group.")
    if summary["unknown_to_the_model"]:
        unknown = count_of(summary["unknown_to_the_model"], "text")
        notes.append(f"{unknown} without a group, because the model knows none of their words.")
    estimated = summary["level"] == "suggested"
    if without_clusters(_grouped(summary), summary["distinct_texts"], estimated=estimated):
        return notes
    suggested = next((level["k"] for level in summary["k_suggestions"] if level["name"] == "suggested"), 0)
    doubt = doubt_about_k(summary["k_found_by"], suggested, summary["k_confidence"])
    if doubt and not _is_doubt(summary):
        notes.append(doubt)
    if summary["k"] > 1 and not _is_doubt(summary):
        loose = [cluster["name"] for cluster in summary["clusters"] if _is_leftover(cluster)]
        notes += filter(None, [leftovers_in_words(loose)])
    return notes


def _is_leftover(cluster: Summary) -> bool:
    """Return True if a group has no common theme. One repeated text is not mixed."""
    from ..texts.sentences import LOOSE

    most = max((count or 0 for count in cluster["representative_counts"]), default=0)
    return bool((cluster["cohesion"] or LOOSE) < LOOSE and 2 * most <= cluster["size"])


def print_clusters(clusters: Sequence[Summary], rest: str, outputs: Mapping[str, str], console: Console) -> None:
    """Print a table of the first clusters, and which output has the `rest`."""
    console.print()
    console.print(_table(clusters[:_LISTED]))
    hidden = len(clusters) - _LISTED
    if hidden > 0:
        place = outputs.get("report", outputs["table"])
        console.print(f"and {count_of(hidden, rest)}: all are in {place}", markup=False, soft_wrap=True)


def _table(clusters: Sequence[Summary]) -> Table:
    from rich.table import Table
    from rich.text import Text

    from ..texts.clustered import with_count
    from ..texts.sentences import LOOSE

    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    for name in ("", "size", "share", "cohesion"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("group", ratio=2, overflow="fold")
    table.add_column("typical texts", ratio=3, overflow="fold")
    for cluster in clusters:
        value = cluster["cohesion"]
        cohesion = "" if value is None else f"[yellow]{value:.2f}[/yellow]" if value < LOOSE else f"{value:.2f}"
        texts, counts = cluster["representatives"][:2], cluster["representative_counts"]
        typical = "\n".join(f"· {with_count(one_line(text), n)}" for text, n in zip(texts, counts, strict=False))
        table.add_row(
            str(cluster["cluster"]), f"{cluster['size']:,}", f"{cluster['share']:.1%}", cohesion,
            Text.assemble((cluster["name"], "bold"), "\n", (", ".join(cluster["keywords"][:5]), "dim")), Text(typical),
        )  # fmt: skip
    return table


def one_line(text: str, width: int = 90) -> str:
    """Return a text on one line, without control characters, and cut if it is long."""
    flat = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return flat if len(flat) <= width else flat[: width - 1] + "…"
