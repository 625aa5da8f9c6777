"""`textspectra report` and `apply`: the page of a model, and the edits in it back into the model and its table."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from ..errors import UsageError, UserError
from ..report.build import corpus_fingerprint, write_report
from ..report.downloads import newest_state
from ..report.saving import edits_in_words, report_path, save_edits
from ..report.state import State, apply_state, read_state
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
        write_report(load_saved(model, embeddings), path, model=model, overwrite=True, progress=tell)
    present({"model": model, "outputs": {"report": str(path)}}, f"open this in a browser: {path}")


def load_saved(model: str, embeddings: str | None) -> TextClustering:
    """Load a model folder, with its embeddings if a file of them is given."""
    return TextClustering.load(model, embeddings=None if embeddings is None else read_embeddings(Path(embeddings)))


def apply_command(paths: tuple[str, ...], embeddings: str | None, overwrite: bool) -> None:
    """Give a model, its table and its page the groups and the names of a state."""
    given, model = _state_and_model(paths)
    edits = None if given is None else read_state(given)  # before anything is locked
    path, chosen = given, list[str]()
    with stages() as tell:

        def edit() -> tuple[TextClustering, TextClustering]:
            nonlocal path
            tell("reading")
            before = load_saved(model, embeddings)
            if path is None:
                path = newest_state(corpus_fingerprint(before.corpus))
                chosen.append(f"the newest state of the model: {path}, saved {_moment(path)}")
            return before, _applied(before, edits, path)

        saved = save_edits(Path(model), edit, overwrite=overwrite, progress=tell)
    changes, notes = saved.changes, saved.notes
    summary = {
        "model": model,
        "state": str(path),
        "unchanged": changes.unchanged,
        "renamed": changes.renamed,
        **{kind: {"before": was, "after": now} for kind, (was, now) in changes.regrouped().items()},
        "notes": notes,
    }
    present(summary, "\n".join([*chosen, f"{model}: {edits_in_words(changes)}", *notes]))


def _state_and_model(paths: tuple[str, ...]) -> tuple[Path | None, str]:
    """Return the state, if one is given, and the model folder."""
    *states, model = paths
    if len(states) > 1:
        raise UsageError(f"apply takes one state and one model, but got {len(paths)} names: {', '.join(paths)}")
    if states and Path(states[0]).is_dir() and not Path(model).is_dir():
        raise UsageError(f"The state comes before the model: textspectra apply {model} {states[0]}")
    if not states and Path(model).is_file():
        raise UsageError(f"{model} is not a model folder. If it is a state: textspectra apply {model} MODEL")
    return Path(states[0]) if states else None, model


def _applied(before: TextClustering, edits: State | None, path: Path) -> TextClustering:
    """Apply a state that was given, or the one of a file that was found; then, an error names the file."""
    if edits is not None:
        return apply_state(before, edits)
    try:
        return apply_state(before, path)
    except UserError as error:
        told = str(error)
        raise UserError(told if str(path) in told else f"{path} is the newest state of the model. {told}") from None


def _moment(path: Path) -> str:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
