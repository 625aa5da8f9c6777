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
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .output import log_to_file, log_to_standard_error, remember

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..tables.columns import TextTable
    from ..tables.source import TableFormat

PREFIX = "TEXTSPECTRA_"


class Setting(click.Option):
    """An option, and what a settings file may do with it.

    Attributes
    ----------
    shared : bool
        Whether a file in the working folder, which may come from a stranger with the data, can set it: it changes the
        result, and not where anything is read, written or sent. An option is not shared until somebody decides so.
    protects : bool
        Whether such a file may switch it on, but not off.
    recipe : bool
        Whether it belongs to the command that makes the same result again.
    """

    def __init__(
        self, *flags: str, shared: bool = False, protects: bool = False, recipe: bool = False, **attributes: Any
    ) -> None:
        super().__init__(flags, **attributes)
        self.shared, self.protects, self.recipe = shared or protects, protects, recipe

    @property
    def key(self) -> str:
        """The name in a settings file: the long flag, without the dashes."""
        return max(self.opts, key=len).lstrip("-")


def _choice(*names: str) -> click.Choice[str]:
    return click.Choice(names)


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


FILE = click.Argument(["source"], metavar="FILE")
FILES = click.Argument(["sources"], metavar="FILE...", nargs=-1, required=True)
SAVED_MODEL = click.Argument(["model"], metavar="MODEL")
NAME = click.Argument(["name"], metavar="[COMMAND]", required=False)

READING = (
    Setting(
        "--text-column", metavar="NAME", shared=True, recipe=True,
        help="The column that holds the texts, if it is not obvious.",
    ),
    Setting(
        "--encoding", metavar="NAME", shared=True, recipe=True,
        help="Character encoding of a text file, if not UTF-8 or cp1252.",
    ),
    Setting(
        "--sheet", metavar="NAME_OR_NUMBER", shared=True, recipe=True,
        help="The sheet of a workbook; by default the one with the most texts.",
    ),
    Setting(
        "--header-row", type=click.IntRange(min=0), metavar="N", shared=True, recipe=True,
        help="The row with the column names, from 1, if it is not found; 0 if there is none.",
    ),
)  # fmt: skip
OFFLINE = Setting(
    "--offline", is_flag=True, expose_value=False, callback=_switch_on("HF_HUB_OFFLINE", "TEXTSPECTRA_OFFLINE"),
    protects=True, help="Never download a model, and send nothing to a server.",
)  # fmt: skip
LOADING = (
    OFFLINE,
    Setting(
        "--allow-server", is_flag=True, expose_value=False, callback=_switch_on("TEXTSPECTRA_ALLOW_SERVER"),
        help="Send texts to your server (OPENAI_BASE_URL) if the model was made with one.",
    ),
)  # fmt: skip
MODEL = (
    Setting(
        "--model", default="auto", show_default=True, metavar="NAME", shared=True, recipe=True,
        help="See `textspectra models`.",
    ),
    OFFLINE,
)  # fmt: skip
NO_CACHE = Setting("--no-cache", is_flag=True, help="Neither read nor write the cache of embeddings.")
EMBEDDING = (
    *MODEL,
    Setting(
        "--embeddings", metavar="FILE_OR_COLUMN", recipe=True,
        help="Skip the model: a .npy or .parquet file with one row per text, or a list column of the input.",
    ),
    NO_CACHE,
)  # fmt: skip
NEW_EMBEDDINGS = Setting(
    "--embeddings", metavar="FILE_OR_COLUMN",
    help="Embeddings of the new texts, if the model was built from precomputed embeddings.",
)  # fmt: skip
KNOWN_EMBEDDINGS = Setting(
    "--embeddings", metavar="FILE", help="The embeddings that the model was made from, if they were given as a file."
)
KEEP_ALL = Setting(
    "--keep-all", is_flag=True, shared=True, recipe=True, help='Group texts that say nothing, too: "n/a", "-", emoji.'
)
SEED = Setting(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, shared=True, recipe=True,
    help="The same seed gives the same result.",
)  # fmt: skip
_FORMATS = _choice("xlsx", "csv", "excel-csv", "tsv", "jsonl", "parquet")
TABLE = (
    Setting(
        "--format", "table_format", type=_FORMATS, callback=_table_format, shared=True,
        help="Format of the output table; by default that of the input.",
    ),
    Setting(
        "--excel-csv", "table_format", type=_FORMATS, flag_value="excel-csv", callback=_table_format,
        help="Short for --format excel-csv: CSV with a mark by which Excel recognizes UTF-8, and spreadsheet-safe.",
    ),
    Setting(
        "--spreadsheet-safe", is_flag=True, protects=True,
        help="Escape cells of CSV and TSV output that a spreadsheet would run.",
    ),
)  # fmt: skip
NO_REPORT = Setting(
    "--no-report", is_flag=True, shared=True, help="Leave out the report, which takes longest for many texts."
)
OVERWRITE = Setting("--overwrite", is_flag=True, help="Replace outputs that exist already.")
QUIET = Setting(
    "--quiet",
    "-q",
    is_flag=True,
    expose_value=False,
    callback=remember,
    help="Print nothing but errors and warnings; commands that only print: nothing but the bare result.",
)
JSON = Setting(
    "--json",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=remember,
    help="Print the result as JSON (see `textspectra schema`), and an error as JSON on standard error.",
)
LOG = (
    Setting(
        "--verbose", "-v", is_flag=True, expose_value=False, callback=log_to_standard_error,
        help="Log events with their times, line by line, on standard error.",
    ),
    Setting(
        "--log-file", metavar="FILE", expose_value=False, callback=log_to_file,
        help="Append events with their times, line by line, to a file.",
    ),
)  # fmt: skip
WRITING = (OVERWRITE, QUIET, JSON)
MEASURING = (SEED, QUIET, JSON)


def _out(what: str, metavar: str = "FILE", **attributes: Any) -> Setting:
    return Setting("--out", metavar=metavar, help=what, **attributes)


CLUSTERING = (
    Setting(
        "--algorithm", type=_choice("kmeans", "hac"), default="kmeans", show_default=True, shared=True, recipe=True
    ),
    Setting(
        "--clusters", default="auto", show_default=True, metavar="auto|coarse|suggested|fine|N", shared=True,
        recipe=True, help="The level to show (auto is suggested), or a number that overrules it.",
    ),
    *EMBEDDING,
    KEEP_ALL,
    Setting(
        "--name-with", metavar="MODEL", recipe=True,
        help="Name groups by a chat model (OPENAI_BASE_URL, OPENAI_API_KEY).",
    ),
    SEED,
    *TABLE,
    Setting(
        "--time", metavar="COLUMN", shared=True, recipe=True,
        help="A column of dates: say which groups grow, shrink, burst or vary.",
    ),
    Setting(
        "--every", type=_choice("day", "week", "month", "quarter", "year"), shared=True, recipe=True,
        help="The periods for --time; by default they suit the dates and the number of texts.",
    ),
    Setting(
        "--by", metavar="COLUMN", multiple=True, shared=True, recipe=True,
        help="A column of categories to compare groups by; repeatable.",
    ),
    Setting(
        "--show", metavar="COLUMN", multiple=True, shared=True, recipe=True,
        help="A column to show with each text; repeatable.",
    ),
    Setting(
        "--truth", metavar="COLUMN", shared=True, recipe=True,
        help="A column of true classes, to compare with in the report.",
    ),
    NO_REPORT,
    Setting("--open", "open_it", is_flag=True, help="Open the report in the browser."),
    Setting(
        "--scheduler", metavar="tcp://HOST:PORT|local", help="For many files: let the workers of Dask do the work."
    ),
)  # fmt: skip
COMPARING = (
    SAVED_MODEL, FILES, _out("Where outputs go; next to the input by default.", "FOLDER"), *READING, NEW_EMBEDDINGS,
    *LOADING, NO_CACHE, *TABLE, NO_REPORT, *WRITING,
)  # fmt: skip


class Command(NamedTuple):
    """A command: its module, its line in --help, its arguments and its options."""

    module: str
    summary: str
    parameters: Sequence[click.Parameter] = ()


COMMANDS = {
    "cluster": Command(
        "cluster", "Group the texts of a file: how many groups, what they are, which text is in which.",
        (FILES, _out("Where outputs go; next to the input by default.", "FOLDER"), *READING, *CLUSTERING, *WRITING),
    ),
    "estimate": Command(
        "measure", "Estimate how many groups there are, and nothing else.",
        (
            FILE, *READING, *EMBEDDING, KEEP_ALL,
            Setting(
                "--method", type=_choice("auto", "reproducible", "spectral"), default="auto", show_default=True,
                shared=True,
                help="How to find k: by the agreement of two halves of the data, or by the paper's spectrum.",
            ),
            *MEASURING,
        ),
    ),
    "embed": Command(
        "measure", "Turn texts into embeddings (.npy or .parquet).",
        (FILE, click.Argument(["target"], metavar="OUT"), *READING, *MODEL, NO_CACHE, *WRITING),
    ),
    "score": Command(
        "measure", "Score a clustering that you have, by its labels.",
        (
            FILE,
            Setting(
                "--labels", required=True, metavar="COLUMN", shared=True,
                help="The column that holds the cluster of each text.",
            ),
            Setting(
                "--truth", metavar="COLUMN", shared=True, help="A column of true classes; adds ARI, NMI and others."
            ),
            *READING, *EMBEDDING, *MEASURING,
        ),
    ),
    "predict": Command(
        "months", "Put new texts into the groups of a saved model.",
        (
            SAVED_MODEL, FILE, _out("The output table; FILE.predicted.* next to the input by default."), *READING,
            NEW_EMBEDDINGS, *LOADING, NO_CACHE, *TABLE, *WRITING,
        ),
    ),
    "compare": Command("months", "Say what is new in a file, compared with a saved model.", COMPARING),
    "update": Command(
        "months", "Take a new file into a saved model, and say what is new.",
        (
            *COMPARING,
            Setting(
                "--again", is_flag=True,
                help="Take in a file again that the model has already, so that it counts twice.",
            ),
        ),
    ),
    "report": Command(
        "report", "Make the page to explore a saved model in a browser.",
        (
            SAVED_MODEL, _out("The page; NAME.report.html next to the folder NAME.model by default."),
            KNOWN_EMBEDDINGS, *LOADING, *WRITING,
        ),
    ),
    "open": Command("cluster", "Open a report in the browser.", (click.Argument(["name"], metavar="NAME"),)),
    "apply": Command(
        "report", "Give a model the number of groups and the names that you set in its report.",
        (click.Argument(["state"], metavar="STATE.json"), SAVED_MODEL, KNOWN_EMBEDDINGS, *LOADING, *WRITING),
    ),
    "study": Command("study", "Compare clusterings on labeled sets, as the paper does."),
    "models": Command("system", "List the embedding models that can be used, and what each needs.", (JSON,)),
    "cache": Command(
        "system", "Show or clear the cache of embeddings and converted models.",
        (
            Setting("--clear", is_flag=True, help="Delete all of it."),
            Setting(
                "--limit", metavar="SIZE", callback=_size,
                allow_from_autoenv=False,  # TEXTSPECTRA_CACHE_LIMIT is a limit for now, this one is kept
                help="Maximum size of the embeddings, such as 500MB or 20GB; 5GB by default. The least recently used "
                "go first.",
            ),
            JSON,
        ),
    ),
    "config": Command(
        "system", "Show the settings that hold here, and where each comes from.", (NAME, JSON)
    ),
    "schema": Command("system", "Print the JSON Schema of what --json prints.", (NAME,)),
    "doctor": Command("system", "Say what is installed, what is missing, and the line that installs it.", (JSON,)),
    "demo": Command(
        "cluster", "Run `cluster` on the example that comes with the package.",
        (_out("Where outputs go.", "FOLDER", default="textspectra-demo", show_default=True), JSON),
    ),
}  # fmt: skip


def options_of(name: str) -> dict[str, Setting]:
    """Return the options of a command that can be set, by their keys."""
    options = [parameter for parameter in (*COMMANDS[name].parameters, *LOG) if isinstance(parameter, Setting)]
    return {option.key: option for option in options if not option.is_flag or option.is_bool_flag}


def variables_of(name: str, key: str) -> list[str]:
    """Return the variables of an option, the one for this command first."""
    return [PREFIX + variable.upper().replace("-", "_") for variable in (f"{name}_{key}", key)]


def defaults_of(name: str) -> dict[str, Any]:
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


def read_input(source: str, options: Mapping[str, Any], *, warn: bool = True) -> TextTable:
    """Read a table of texts from a file or standard input; warn of what was not sure."""
    from ..tables.read import read_table

    reading = {str(option.name): options[str(option.name)] for option in READING}
    table = read_table(source, **reading, stdin=sys.stdin.buffer)
    for note in table.notes if warn else ():
        warnings.warn(note, stacklevel=2)
    return table


def given_embeddings(embeddings: str | None, table: TextTable) -> NDArray[Any] | None:
    """Return the embeddings that --embeddings names: a file, or a list column of the table."""
    if embeddings is None:
        return None
    from ..tables.vectors import list_column, read_embeddings

    if embeddings in table.table.column_names:
        return list_column(table.table, embeddings)
    return read_embeddings(Path(embeddings))


def check_outputs(outputs: Mapping[str, Path], *, overwrite: bool, table_is_folder: bool = False) -> None:
    """Raise unless all outputs can be written; from now on, nobody asks again."""
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
        raise UsageError(f"There is no permission to write to '{there}'; choose another place.")
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
