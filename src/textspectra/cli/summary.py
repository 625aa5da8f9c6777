"""The result of `textspectra cluster`: as data for --json, and as text for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import narwhals
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..hygiene import plural
from ..texts import sentences
from ..texts.clustered import with_count
from ..texts.corpus import DataFrame, Totals
from ..texts.labels import MADE_ELSEWHERE
from ..texts.result import TextClustering
from ..texts.similar import pairs_in_words
from ..texts.verdict import unstated
from ..words.describe import Cluster
from .output import Summary, model_lines

_OUTPUTS = {
    "report": "to explore the groups, open this in a browser",
    "table": "every text with its group",
    "model": "the model, for `textspectra predict`",
}

_LISTED = 10  # groups in the table of the terminal: the largest ones
_LISTED_BY_THEME, _OF_THEME = 12, 3  # groups in it if they stand under their themes, and of each theme at first


class Done(NamedTuple):
    """What a run read and wrote."""

    result: TextClustering
    text_column: str
    outputs: dict[str, Path]
    sheet: str | None = None
    header_row: int | None = None


def summarize(done: Done, source: str, seconds: Mapping[str, float]) -> Summary:
    """Return the summary that --json prints."""
    result, cohesion, estimate = done.result, done.result.cohesion, done.result.k_estimate
    levels = [suggestion._asdict() for suggestion in estimate.suggestions] if estimate else []
    return {
        "read": result.reading,
        "input": source,
        "sheet": done.sheet,
        "header_row": done.header_row,
        "text_column": done.text_column,
        "languages": result.languages,
        **describe_totals(result.totals),
        "model": result.source.model,
        "model_reason": result.recipe.get("model_reason"),
        "algorithm": result.algorithm,
        "k": result.n_clusters,
        "level": {level["k"]: level["name"] for level in levels}.get(result.n_clusters),
        "k_interval": list(estimate.interval) if estimate else None,
        "k_confidence": estimate.confidence if estimate else None,
        "k_suggestions": levels,
        "k_found_by": estimate.method if estimate else None,
        "cohesion_ratio": cohesion.ratio if cohesion else None,
        "cohesion_ratio_se": cohesion.standard_error if cohesion else None,
        "verdict": result.verdict.sentence,
        "verdict_level": result.verdict.level,
        "verdict_reasons": list(result.verdict.reasons),
        "clusters": clusters_as_json(result, sorted(result.clusters, key=lambda cluster: -cluster.size)),
        "themes": _themes_as_json(result),
        "similar_clusters": _records(result.similar_clusters()),
        **_further_columns(result),
        "notes": list(result.notes),
        "ignore_suggestion": list(result.ignore_suggestion),
        **describe_run(done.outputs, seconds),
    }


def describe_totals(totals: Totals) -> Summary:
    """Return the keys of --json that say how many texts there are."""
    keys = ("texts", "distinct_texts", "blank_texts", "unknown_to_the_model", "texts_without_content",
            "texts_without_label")  # fmt: skip
    return dict(zip(keys, totals, strict=True))


def clusters_as_json(result: TextClustering, clusters: Iterable[Cluster]) -> list[Summary]:
    """Return clusters of a result as --json prints them."""
    cohesion = dict(zip((cluster.label for cluster in result.clusters), result.ratios, strict=True))
    return [
        {
            "cluster": cluster.label,
            "name": cluster.name,
            "size": cluster.size,
            "share": cluster.size / result.totals.grouped,
            "mixed": cluster.is_mixed,
            "keywords": list(cluster.keywords),
            "cohesion": cohesion[cluster.label],
            "representatives": result.typical_texts(cluster),
            "representative_counts": result.typical_counts(cluster),
        }
        for cluster in clusters
    ]


def _themes_as_json(result: TextClustering) -> list[Summary]:
    """Return the themes as --json prints them, the largest first."""
    by_label = {cluster.label: cluster for cluster in result.clusters}
    names = dict(result.coarse)
    themes = []
    for theme in result.themes:
        clusters = sorted((by_label[label] for label in theme.clusters), key=lambda cluster: -cluster.size)
        size = sum(cluster.size for cluster in clusters)
        share, labels = size / result.totals.grouped, [cluster.label for cluster in clusters]
        themes.append({
            "theme": theme.label, "name": names[theme.label], "size": size, "share": share, "clusters": labels,
        })  # fmt: skip
    return sorted(themes, key=lambda theme: -theme["size"])


def describe_run(outputs: Mapping[str, Path], seconds: Mapping[str, float]) -> Summary:
    """Return the keys of --json that say what a command wrote, and how long its stages took."""
    return {
        "outputs": {name: str(path) for name, path in outputs.items()},
        "seconds": {stage: round(value, 3) for stage, value in seconds.items()},
    }


def _further_columns(result: TextClustering) -> Summary:
    """Return the groups over time and by segments, and the strongest changes and differences in words."""
    tally, columns = result.tally, Summary()
    if tally is not None and tally.every:
        columns = {
            "every": tally.every,
            "over_time": _records(result.over_time()),
            "trends": _records(result.trends()),
            "changes": sentences.trends_in_words(result),
        }
    if tally is not None and tally.segments:
        columns["by"] = {name: _records(result.by(name)) for name in tally.segments}
        columns["differences"] = sentences.segments_in_words(result)
    return columns


def _records(frame: DataFrame) -> list[Summary]:
    """Return the rows of a data frame as JSON takes them: days as ISO dates."""
    rows = narwhals.from_native(frame).rows(named=True)
    return [{n: str(v)[:10] if hasattr(v, "isoformat") else v for n, v in row.items()} for row in rows]


class Terminal(Console):
    """The console for results; a reader that has gone is an error like any other, not the end of the process."""

    def on_broken_pipe(self) -> None:
        """Raise the error again."""
        raise BrokenPipeError


def print_summary(summary: Summary, console: Console | None = None) -> None:
    """Print the summary for a person: the answer, how good it is, and the largest groups."""
    console, is_doubt = console or Terminal(highlight=False), _is_doubt(summary)
    levels = [suggestion["k"] for suggestion in summary["k_suggestions"]]
    print_head(summary, _OUTPUTS, Text(_headline(summary), "bold"), console)
    lines = [Text(), Text(summary["verdict"], "yellow" if summary["verdict_level"] == "weak" else "")]
    if set(levels) - {summary["k"]} and not is_doubt:
        lines.append(Text(sentences.shown_in_words(summary["k"], levels)))
    alike = [(pair["cluster_name"], pair["other_name"]) for pair in summary["similar_clusters"]]
    lines += map(Text, [*model_lines(summary), *pairs_in_words(alike)])
    console.print(*lines, *(Text(note, "yellow") for note in _notes(summary)), sep="\n")
    rest = "other group" if summary["themes"] else "smaller group"
    print_clusters(summary["clusters"], rest, summary["outputs"], console, summary["themes"])
    for title, part in {"Over time": "changes", "By segment": "differences"}.items():
        if summary.get(part):
            console.print(Text(f"\n{title}", "bold"), *(Text(f"· {line}") for line in summary[part]), sep="\n")


def print_head(summary: Summary, meanings: Mapping[str, str], headline: Text, console: Console) -> None:
    """Print what was read, the headline, and where the outputs are, a line for each."""
    console.print()
    console.print(Text(summary["read"]))
    console.print(headline, soft_wrap=True)
    for name, meaning in meanings.items():
        if name in summary["outputs"]:
            console.print(Text.assemble(f"{meaning}: ", (summary["outputs"][name], "bold")), soft_wrap=True)


def _headline(summary: Summary) -> str:
    grouped, total = _grouped(summary), summary["texts"]
    texts = plural(total, "text") if grouped == total else f"{grouped:,} of {plural(total, 'text')}"
    # Without an estimate, groups were known, and their note says more.
    asked = ", as you asked" if summary["k_found_by"] else ""
    origin = ", by their labels" if summary["algorithm"] == MADE_ELSEWHERE else asked
    return f"{texts} in {plural(summary['k'], 'group')}{origin if summary['level'] is None else ''}"


def _grouped(summary: Summary) -> int:
    without = ("blank_texts", "unknown_to_the_model", "texts_without_content", "texts_without_label")
    return int(summary["texts"] - sum(summary[name] for name in without))


def _is_doubt(summary: Summary) -> bool:
    """Return True if the verdict is that the model does not read the language of the texts."""
    return summary["verdict"] in summary["notes"]


def _notes(summary: Summary) -> list[str]:
    notes = [note for note in summary["notes"] if note != summary["verdict"]]
    if summary["blank_texts"]:
        notes.append(f"{plural(summary['blank_texts'], 'blank text')} without a group.")
    if summary["unknown_to_the_model"]:
        unknown = plural(summary["unknown_to_the_model"], "text")
        notes.append(f"{unknown} without a group, because the model knows none of their words.")
    return notes + unstated(summary["verdict"], summary["verdict_reasons"])


def print_clusters(
    clusters: Sequence[Summary], rest: str, outputs: Mapping[str, str], console: Console,
    themes: Sequence[Summary] = (),
) -> None:  # fmt: skip
    """Print a table of the first clusters, under their themes if there are any, and which output has the `rest`."""
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    for name in ("", "size", "share", "cohesion"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("theme and group" if themes else "group", ratio=2, overflow="fold")
    table.add_column("typical texts", ratio=3, overflow="fold")
    n_listed = 0
    for theme, listed in _by_theme(clusters, themes):
        if theme is not None:
            title = Text.assemble((theme["name"], "underline"), f" ({plural(len(theme['clusters']), 'group')})")
            table.add_row("", f"{theme['size']:,}", f"{theme['share']:.1%}", "", title, "", style="bold")
        for cluster in listed:
            table.add_row(*_row(cluster, indent=0 if theme is None else 2))
        n_listed += len(listed)
    console.print()
    console.print(table)
    hidden = len(clusters) - n_listed
    if hidden > 0:
        place = outputs.get("report", outputs["table"])
        console.print(Text(f"and {plural(hidden, rest)}: all are in {place}"), soft_wrap=True)


def _by_theme(clusters: Sequence[Summary], themes: Sequence[Summary]) -> list[tuple[Summary | None, list[Summary]]]:
    """Return the clusters to list, by theme: three of each, the largest theme first, then more of them, up to twelve.

    A cluster that is a theme by itself, or has none, stands alone.
    """
    several = {label: theme for theme in themes if len(theme["clusters"]) > 1 for label in theme["clusters"]}
    if not several:
        return [(None, list(clusters[:_LISTED]))]
    groups: dict[tuple[str, int], list[Summary]] = {}
    for cluster in clusters:
        label = cluster["cluster"]
        key = ("theme", several[label]["theme"]) if label in several else ("cluster", label)
        groups.setdefault(key, []).append(cluster)
    by_size = sorted(groups.values(), key=lambda group: -sum(cluster["size"] for cluster in group))
    turns = [(rank // _OF_THEME, place, rank) for place, group in enumerate(by_size) for rank in range(len(group))]
    listed = {(place, rank) for _, place, rank in sorted(turns)[:_LISTED_BY_THEME]}
    chosen = [
        (several.get(group[0]["cluster"]), [cluster for rank, cluster in enumerate(group) if (place, rank) in listed])
        for place, group in enumerate(by_size)
    ]
    return [(theme, group) for theme, group in chosen if group]


def _row(cluster: Summary, indent: int) -> tuple[RenderableType, ...]:
    """Return a cluster as a row of the table."""
    value, words = cluster["cohesion"], (", ".join(cluster["keywords"][:5]), "dim")
    mark = [("mixed · ", "yellow")] if cluster["mixed"] else []
    texts, counts = cluster["representatives"][:2], cluster["representative_counts"]
    typical = "\n".join(f"· {with_count(one_line(text), n)}" for text, n in zip(texts, counts, strict=False))
    described = Text.assemble((cluster["name"], "bold"), "\n", *mark, words)
    return (
        str(cluster["cluster"]), f"{cluster['size']:,}", f"{cluster['share']:.1%}",
        "" if value is None else f"{value:.2f}", Padding(described, (0, 0, 0, indent)), Text(typical),
    )  # fmt: skip


def one_line(text: str, width: int = 90) -> str:
    """Return a text on one line, without control characters, and cut if it is long."""
    flat = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return flat if len(flat) <= width else flat[: width - 1] + "…"
