"""`textspectra predict`: new texts into known groups."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from .changes import novelty_summary
from .common import (
    cache_option,
    given_embeddings,
    input_options,
    output_options,
    read_input,
    saved_model_options,
    stages,
    table_options,
)
from .comparing import novelty_columns
from .output import json_option, print_json, printing

if TYPE_CHECKING:
    from ..io import TableFormat

SURE = 0.001
"""Probability below which so many new texts are no chance."""


@click.command("predict")
@click.argument("model", metavar="MODEL")
@click.option("--out", metavar="FILE", help="The output table; FILE.predicted.* next to the input by default.")
@input_options
@click.option(
    "--embeddings", metavar="FILE_OR_COLUMN", help="Embeddings of the texts, where the model was made of such."
)
@saved_model_options
@cache_option
@table_options
@output_options
@json_option
def command(
    model: str, source: str, out: str | None, text_column: str | None, encoding: str | None, sheet: str | None,
    header_row: int | None, embeddings: str | None, no_cache: bool, table_format: TableFormat | None,
    spreadsheet_safe: bool, overwrite: bool, quiet: bool, as_json: bool,
) -> None:  # fmt: skip
    """Add cluster, cluster_name, similarity and novelty to the texts of FILE, by the saved MODEL folder.

    A novelty of 0 is usual, and nine tenths of the texts of the model are below 1. A warning tells if far more of the
    new texts are above 1: then the model no longer fits, and `textspectra compare` tells what is new.
    """
    from ..io import name_parts, output_format, output_paths_free, write_labelled
    from ..texts.clustered import groups_of
    from ..texts.comparison import novelty_of
    from ..texts.placing import place_texts, similarity_to_groups
    from ..texts.result import TextClustering

    with stages(quiet=quiet or as_json) as tell:
        tell("reading")
        clustering = TextClustering.load(model)
        table = read_input(source, text_column, encoding, sheet, header_row)
        stem, suffix = name_parts(source, table, table_format)
        path = Path(out) if out else Path(source).with_name(f"{stem}.predicted{suffix}")
        output_paths_free([path], overwrite=overwrite)
        form = output_format(path, table, table_format)
        tell("embedding")
        placed = place_texts(
            clustering, table.texts(), embeddings=given_embeddings(embeddings, table), cache=not no_cache,
            progress=lambda *step: tell("embedding", *step),
        )  # fmt: skip
        corpus, groups = placed.texts.corpus, groups_of(clustering)
        labels = corpus.spread(clustering.labels_of(placed.codes), -1)
        similarity = corpus.spread(similarity_to_groups(placed.texts, placed.codes, clustering.centers), np.nan)
        novelty = corpus.spread(novelty_of(clustering, placed.texts), np.nan)
        tell("writing")
        write_labelled(
            table, groups.columns(labels, similarity) | novelty_columns(novelty), path, chosen=form,
            groups=groups.count(labels), spreadsheet_safe=spreadsheet_safe, overwrite=overwrite,
        )  # fmt: skip
    summary = {
        "model": model, "input": source, "texts": len(labels), "without_group": int((labels < 0).sum()),
        "groups": len(set(labels[labels >= 0].tolist())), "novelty": novelty_summary(novelty),
        "drift": is_drift(novelty), "notes": list(placed.notes), "outputs": {"table": str(path)},
    }  # fmt: skip
    _warn(summary, clustering.reference is None)
    with printing([path]):
        if as_json:
            print_json(summary)
        elif not quiet:
            grouped = int((labels >= 0).sum())
            click.echo(
                f"{grouped:,} texts in {summary['groups']} groups, {summary['without_group']:,} without one, in {path}"
            )


def _warn(summary: Mapping[str, Any], lacks_vectors: bool) -> None:
    for note in summary["notes"]:
        warnings.warn(note, stacklevel=2)
    if lacks_vectors:
        warnings.warn(
            "this model was saved without the vectors that novelty is measured by; cluster its texts again to get it.",
            stacklevel=2,
        )
    if summary["drift"]:
        share = summary["novelty"]["share_above_1"]
        warnings.warn(
            f"{share:.0%} of the texts are newer than nine tenths of those of the model, where a tenth is expected; "
            f"see what is new with: textspectra compare {summary['model']} {summary['input']}",
            stacklevel=2,
        )


def is_drift(novelty: NDArray[np.float32]) -> bool:
    """Tell whether far more texts are new than in the model: twice the usual share, and no chance.

    Examples
    --------
    >>> is_drift(np.repeat(np.array([0, 2], np.float32), [70, 30])), is_drift(np.array([2], np.float32))
    (True, False)
    """
    from scipy.stats import binom

    from ..clustering.novelty import USUAL

    known = novelty[~np.isnan(novelty)]
    above = int((known > 1).sum())
    return bool(above > 2 * (1 - USUAL) * len(known) and binom.sf(above - 1, len(known), 1 - USUAL) < SURE)
