"""`textspectra report` and `apply`: the page of a model, and the edits in it back into the model and its table."""

from __future__ import annotations

from pathlib import Path

from ..report.build import write_report
from ..report.saving import edits_in_words, report_path, save_edits
from ..report.state import apply_state, read_state
from ..tables.parquet import read_embeddings
from ..texts.result import TextClustering
from .inputs import check_outputs
from .output import present, stages


def report_command(model: str, out: str | None, embeddings: str | None, overwrite: bool) -> None:
    """Write the page of a model."""
    path = Path(out) if out else report_path(Path(model))
    with stages() as tell:
        tell("reading")
        check_outputs({"report": path}, overwrite=overwrite)
        write_report(load_saved(model, embeddings), path, overwrite=True, progress=tell)
    present({"model": model, "outputs": {"report": str(path)}}, f"open this in a browser: {path}")


def load_saved(model: str, embeddings: str | None) -> TextClustering:
    """Load a model folder, with its embeddings if a file of them is given."""
    return TextClustering.load(model, embeddings=None if embeddings is None else read_embeddings(Path(embeddings)))


def apply_command(state: str, model: str, embeddings: str | None, overwrite: bool) -> None:
    """Give a model, its table and its page the groups and the names of a state."""
    edits = read_state(Path(state))
    with stages() as tell:

        def edit() -> tuple[TextClustering, TextClustering]:
            tell("reading")
            before = load_saved(model, embeddings)
            return before, apply_state(before, edits)

        saved = save_edits(Path(model), edit, overwrite=overwrite, progress=tell)
    changes, notes = saved.changes, saved.notes
    summary = {
        "model": model,
        "unchanged": changes.unchanged,
        "renamed": changes.renamed,
        **{kind: {"before": was, "after": now} for kind, (was, now) in changes.regrouped().items()},
        "notes": notes,
    }
    present(summary, "\n".join([f"{model}: {edits_in_words(changes)}", *notes]))
