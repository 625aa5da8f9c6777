"""Every command and option, declared once for click, for settings files, for variables and for `config`.

Nothing here imports a command, so a settings file can be checked before one of them runs.
"""

from __future__ import annotations

import copy
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from .output import Options, log_to_file, log_to_standard_error, remember

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..tables.columns import TextTable
    from ..tables.source import TableFormat

VARIABLE_PREFIX = "TEXTSPECTRA_"

Role = Literal["result", "shared", "protection", "recipe", ""]
"""What an option changes: the result, its form, or only where a result comes from; or it protects the user."""


class Setting(click.Option):
    """An option such as "--seed N" or "--every day|week", and its role.

    Attributes
    ----------
    shared : bool
        Whether a file in the working folder, which may come from a stranger with the data, can set it: it changes the
        result or its form, and not where anything is read, written or sent. No option is shared until somebody decides.
    protects : bool
        Whether such a file may switch it on, but not off.
    recipe : bool
        Whether it belongs to the command that makes the same result again.
    """

    def __init__(self, usage: str, text: str, role: Role = "", *, name: str | None = None, **attributes: Any) -> None:
        flags = [word for word in usage.split() if word.startswith("-")]
        value = usage.split()[-1].removeprefix(flags[-1])
        if not value:
            attributes.setdefault("is_flag", True)
        elif value.islower() and "|" in value and ":" not in value:
            attributes.setdefault("type", click.Choice(value.split("|")))
        else:
            attributes["metavar"] = value
        super().__init__([*flags, *filter(None, [name])], help=text, show_default="default" in attributes, **attributes)
        self.shared, self.protects = role in ("result", "shared", "protection"), role == "protection"
        self.recipe = role in ("result", "recipe")

    @property
    def key(self) -> str:
        """The name in a settings file: the long flag, without the dashes."""
        return max(self.opts, key=len).lstrip("-")


def _switch_on(*variables: str) -> Callable[[click.Context, click.Parameter, bool], None]:
    """Return the callback of a flag that the library knows as environment variables."""

    def switch(context: click.Context, option: click.Parameter, chosen: bool) -> None:
        if chosen:
            os.environ.update(dict.fromkeys(variables, "1"))

    return switch


def _table_format(context: click.Context, option: click.Parameter, chosen: str | None) -> TableFormat | None:
    from ..tables.source import TableFormat

    return TableFormat(chosen) if chosen else None


def _size(context: click.Context, option: click.Parameter, chosen: str | None) -> int | None:
    from ..embedding.cache import parse_size

    return None if chosen is None else parse_size(chosen)


def _argument(name: str, metavar: str, **attributes: Any) -> click.Argument:
    return click.Argument([name], metavar=metavar, **attributes)


_AT_LEAST_0 = click.IntRange(min=0)
_FILE, _FILES = _argument("source", "FILE"), _argument("sources", "FILE...", nargs=-1, required=True)
_SAVED_MODEL, _NAME = _argument("model", "MODEL"), _argument("name", "[COMMAND]", required=False)

READING = (
    Setting("--text-column NAME", "The column that holds the texts, if it is not obvious.", "result"),
    Setting("--encoding NAME", "Character encoding of a text file, if not UTF-8 or cp1252.", "result"),
    Setting("--sheet NAME_OR_NUMBER", "The sheet of a workbook; by default the one with the most texts.", "result"),
    Setting(
        "--header-row N", "The row with the column names, from 1, if it is not found; 0 if there is none.", "result",
        type=_AT_LEAST_0,
    ),
)  # fmt: skip
_OFFLINE = Setting(
    "--offline", "Never download a model, and send nothing to a server.", "protection",
    expose_value=False, callback=_switch_on("HF_HUB_OFFLINE", "TEXTSPECTRA_OFFLINE"),
)  # fmt: skip
_ALLOW_SERVER = Setting(
    "--allow-server", "Send texts to your server (OPENAI_BASE_URL) if the model was made with one.",
    expose_value=False, callback=_switch_on("TEXTSPECTRA_ALLOW_SERVER"),
)  # fmt: skip
_LOADING = (_OFFLINE, _ALLOW_SERVER)
_MODEL = (Setting("--model NAME", "See `textspectra models`.", "result", default="auto"), _OFFLINE)
_NO_CACHE = Setting("--no-cache", "Neither read nor write the cache of embeddings.")
_EMBEDDINGS = Setting(
    "--embeddings FILE_OR_COLUMN",
    "Skip the model: a .npy or .parquet file with one row per text, or a list column of the input.", "recipe",
)  # fmt: skip
_EMBEDDING = (*_MODEL, _EMBEDDINGS, _NO_CACHE)
_NEW_EMBEDDINGS = Setting(
    "--embeddings FILE_OR_COLUMN",
    "Embeddings of the new texts, if the model was built from precomputed embeddings.",
)
_KNOWN_EMBEDDINGS = Setting(
    "--embeddings FILE", "The embeddings that the model was made from, if they were given as a file."
)
_KEEP_ALL = Setting("--keep-all", 'Group texts that say nothing, too: "n/a", "-", emoji.', "result")
_SEED = Setting("--seed N", "The same seed gives the same result.", "result", type=_AT_LEAST_0, default=0)
_FORMAT = Setting(
    "--format xlsx|csv|excel-csv|tsv|jsonl|parquet",
    "Format of the output table; by default the format of the input.", "shared",
    name="table_format", callback=_table_format,
)  # fmt: skip
_EXCEL_CSV = Setting(
    "--excel-csv",
    "Short for --format excel-csv: CSV with a mark that lets Excel recognize UTF-8, and spreadsheet-safe.",
    name="table_format", type=_FORMAT.type, flag_value="excel-csv", callback=_table_format,
)  # fmt: skip
_SAFE = Setting("--spreadsheet-safe", "Escape cells of CSV and TSV output that a spreadsheet would run.", "protection")
_TABLE = (_FORMAT, _EXCEL_CSV, _SAFE)
_NO_REPORT = Setting("--no-report", "Leave out the report, which takes longest for many texts.", "shared")
_OVERWRITE = Setting("--overwrite", "Replace outputs that exist already.")
_QUIET = Setting(
    "--quiet -q", "Print nothing but errors and warnings, or nothing but the bare result.", expose_value=False,
    callback=remember,
)  # fmt: skip
_JSON = Setting(
    "--json", "Print the result as JSON (see `textspectra schema`), and an error as JSON on standard error.",
    is_eager=True, expose_value=False, callback=remember,
)  # fmt: skip
LOG = (
    Setting(
        "--verbose -v", "Log events with their times, line by line, on standard error.", expose_value=False,
        callback=log_to_standard_error,
    ),
    Setting(
        "--log-file FILE", "Append events with their times, line by line, to a file.", expose_value=False,
        callback=log_to_file,
    ),
)  # fmt: skip
_WRITING = (_OVERWRITE, _QUIET, _JSON)
_MEASURING = (_SEED, _QUIET, _JSON)
_OUT_FOLDER = Setting("--out FOLDER", "Where outputs go; next to the input by default.")
_CLUSTERING = (
    Setting("--algorithm kmeans|hac", "How texts are grouped.", "result", default="kmeans"),
    Setting(
        "--clusters auto|coarse|suggested|fine|N",
        "The level to show (auto is suggested), or a number that overrules it.", "result", default="auto",
    ),
    *_EMBEDDING,
    _KEEP_ALL,
    Setting("--name-with MODEL", "Name groups by a chat model (OPENAI_BASE_URL, OPENAI_API_KEY).", "recipe"),
    _SEED,
    *_TABLE,
    Setting("--time COLUMN", "A column of dates: say which groups grow, shrink, burst or vary.", "result"),
    Setting(
        "--every day|week|month|quarter|year",
        "The periods for --time; by default they suit the dates and the number of texts.", "result",
    ),
    Setting("--by COLUMN", "A column of categories to compare groups by; repeatable.", "result", multiple=True),
    Setting("--show COLUMN", "A column to show with each text; repeatable.", "result", multiple=True),
    Setting("--truth COLUMN", "A column of true classes, to compare with in the report.", "result"),
    _NO_REPORT,
    Setting("--open", "Open the report in the browser.", name="open_it"),
    Setting("--scheduler tcp://HOST:PORT|local", "For many files: let the workers of Dask do the work."),
)  # fmt: skip
_COMPARING = (
    _SAVED_MODEL, _FILES, _OUT_FOLDER, *READING, _NEW_EMBEDDINGS, *_LOADING, _NO_CACHE, *_TABLE, _NO_REPORT, *_WRITING
)  # fmt: skip


class Command(NamedTuple):
    """A command: its module, its line in --help, its arguments and its options."""

    module: str
    summary: str
    parameters: Sequence[click.Parameter] = ()


COMMANDS = {
    "cluster": Command(
        "cluster", "Group the texts of a file: how many groups, what they are, which text is in which.",
        (_FILES, _OUT_FOLDER, *READING, *_CLUSTERING, *_WRITING),
    ),
    "estimate": Command(
        "measure", "Estimate how many groups there are, and nothing else.",
        (
            _FILE, *READING, *_EMBEDDING, _KEEP_ALL,
            Setting(
                "--method auto|reproducible|spectral",
                "How to find k: by the agreement of two halves of the data, or by the paper's spectrum.", "shared",
                default="auto",
            ),
            *_MEASURING,
        ),
    ),
    "embed": Command(
        "measure", "Turn texts into embeddings (.npy or .parquet).",
        (_FILE, _argument("target", "OUT"), *READING, *_MODEL, _NO_CACHE, *_WRITING),
    ),
    "score": Command(
        "measure", "Score a clustering that you have, by its labels.",
        (
            _FILE,
            Setting("--labels COLUMN", "The column that holds the cluster of each text.", "shared", required=True),
            Setting("--truth COLUMN", "A column of true classes; adds ARI, NMI and others.", "shared"),
            *READING, *_EMBEDDING, *_MEASURING,
        ),
    ),
    "predict": Command(
        "months", "Put new texts into the groups of a saved model.",
        (
            _SAVED_MODEL, _FILE,
            Setting("--out FILE", "The output table; FILE.predicted.* next to the input by default."),
            *READING, _NEW_EMBEDDINGS, *_LOADING, _NO_CACHE, *_TABLE, *_WRITING,
        ),
    ),
    "compare": Command("months", "Say what is new in a file, compared with a saved model.", _COMPARING),
    "update": Command(
        "months", "Take a new file into a saved model, and say what is new.",
        (*_COMPARING, Setting("--again", "Take in a file that the model has already, so that it counts twice.")),
    ),
    "report": Command(
        "report", "Make the page to explore a saved model in a browser.",
        (
            _SAVED_MODEL, Setting("--out FILE", "The page; NAME.report.html next to the folder NAME.model by default."),
            _KNOWN_EMBEDDINGS, *_LOADING, *_WRITING,
        ),
    ),
    "open": Command("cluster", "Open a report in the browser.", (_argument("name", "NAME"),)),
    "apply": Command(
        "report", "Give a model the number of groups and the names that you set in its report.",
        (_argument("state", "STATE.json"), _SAVED_MODEL, _KNOWN_EMBEDDINGS, *_LOADING, *_WRITING),
    ),
    "models": Command("system", "List the embedding models that can be used, and what each needs.", (_JSON,)),
    "cache": Command(
        "system", "Show or clear the cache of embeddings and converted models.",
        (
            Setting("--clear", "Delete all of it."),
            Setting(
                "--limit SIZE",
                "Room for embeddings, such as 500MB or 20GB; 5GB by default. The least recently used go first.",
                callback=_size,
                allow_from_autoenv=False,  # TEXTSPECTRA_CACHE_LIMIT is a limit for now, this one is kept
            ),
            _JSON,
        ),
    ),
    "config": Command("system", "Show the settings that hold here, and where each comes from.", (_NAME, _JSON)),
    "schema": Command("system", "Print the JSON Schema of what --json prints.", (_NAME,)),
    "doctor": Command("system", "Say what is installed, what is missing, and the line that installs it.", (_JSON,)),
    "demo": Command(
        "cluster", "Run `cluster` on the example that comes with the package.",
        (Setting("--out FOLDER", "Where outputs go.", default="textspectra-demo"), _JSON),
    ),
}  # fmt: skip


def options_of(name: str) -> dict[str, Setting]:
    """Return the options of a command that can be set, by their keys."""
    options = [parameter for parameter in (*COMMANDS[name].parameters, *LOG) if isinstance(parameter, Setting)]
    return {option.key: option for option in options if not option.is_flag or option.is_bool_flag}


def variables_of(name: str, key: str) -> list[str]:
    """Return the variables of an option, the one for this command first."""
    return [VARIABLE_PREFIX + variable.upper().replace("-", "_") for variable in (f"{name}_{key}", key)]


def defaults_of(name: str) -> Options:
    """Return what the function of a command gets if no option is given."""
    options = [option for option in options_of(name).values() if option.expose_value]
    return {str(option.name): () if option.multiple else option.to_info_dict()["default"] for option in options}


def command(name: str) -> Callable[[Callable[..., object]], click.Command]:
    """Make a function the command `name`: with its parameters, the options of a log, and variables for all options."""
    parameters = []
    for declared in (*COMMANDS[name].parameters, *LOG):
        parameter = copy.copy(declared)
        if isinstance(parameter, Setting) and parameter.allow_from_autoenv and parameter.key in options_of(name):
            parameter.envvar = variables_of(name, parameter.key)
        parameters.append(parameter)
    return click.command(name, params=parameters)


def read_input(source: str, options: Options, *, warn: bool = True) -> TextTable:
    """Read a table of texts from a file or standard input; warn of guesses."""
    from ..tables.read import read_table

    reading = {str(option.name): options[str(option.name)] for option in READING}
    table = read_table(source, **reading, stdin=sys.stdin.buffer)
    for note in table.notes if warn else ():
        warnings.warn(note, stacklevel=2)
    return table


def given_embeddings(embeddings: str | None, table: TextTable) -> NDArray[np.generic] | None:
    """Return the embeddings that --embeddings names: a file, or a list column of the table."""
    if embeddings is None:
        return None
    from ..tables.parquet import list_column, read_embeddings

    if embeddings in table.table.column_names:
        return list_column(table.table, embeddings)
    return read_embeddings(Path(embeddings))


def check_outputs(outputs: Mapping[str, Path], *, overwrite: bool, table_is_folder: bool = False) -> None:
    """Raise unless all outputs can be written; no later step asks again."""
    from ..errors import UsageError
    from ..tables.write import output_paths_free
    from ..texts.many_files import folder_free
    from ..texts.storage import model_folder_free

    folder = next(iter(outputs.values())).parent
    try:
        there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    except OSError as error:  # such as a name that is too long
        raise UsageError(f"'{folder}' cannot be a folder for the outputs: {error.strerror}.") from None
    if not there.is_dir():
        raise UsageError(f"'{folder}' cannot be a folder for the outputs, because '{there}' is a file.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise UsageError(f"You have no permission to write to '{there}'; choose another place.")
    if "model" in outputs:
        model_folder_free(outputs["model"], overwrite=overwrite)
    if table_is_folder:
        folder_free(outputs["table"], overwrite=overwrite)
    files = [path for name, path in outputs.items() if name != "model" and not (name == "table" and table_is_folder)]
    output_paths_free(files, overwrite=overwrite)


def make_folder(folder: Path) -> None:
    """Make the folder of the outputs, if it is missing."""
    from ..errors import cannot_write

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(f"The folder '{folder}' cannot be made: {error.strerror}.", error) from error
