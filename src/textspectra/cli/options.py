"""Every command and option, declared once for click, for settings files, for variables and for `config`.

Nothing here imports a command, so help is instant, and a settings file is checked before anything heavy is loaded.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import click

from .output import Options, log_to_file, remember

VARIABLE_PREFIX = "TEXTSPECTRA_"

Role = Literal["result", "shared", "protection", "recipe", ""]
"""What an option changes: the result, its form, or only where a result comes from; or it protects the user."""


Callback = Callable[[click.Context, click.Parameter, Any], object]


class Setting(click.Option):
    """An option such as "--seed N" or "--every day|week", and its role.

    A file in the working folder, which may come from a stranger with the data, can set an option only if it is
    `shared`: it changes the result or its form, and not where anything is read, written or sent. Such a file may switch
    on an option that `protects`, but not off. `recipe` options belong to the command that makes the same result again.
    """

    def __init__(
        self, usage: str, text: str, role: Role = "", *, name: str = "", act: Callback | None = None, **attributes: Any
    ) -> None:
        if act is not None:  # the command itself does not get the value
            attributes |= {"callback": act, "expose_value": False}
        flags = [word for word in usage.split() if word.startswith("-")]
        value = usage.split()[-1].removeprefix(flags[-1])
        if not value:
            attributes.setdefault("is_flag", True)
        elif value.islower() and "|" in value and ":" not in value:
            attributes.setdefault("type", click.Choice(value.split("|")))
        else:
            attributes["metavar"] = value
            attributes.setdefault("type", click.IntRange(min=0) if value == "N" else None)
        super().__init__([*flags, *filter(None, [name])], help=text, show_default="default" in attributes, **attributes)
        self.shared, self.protects = role in ("result", "shared", "protection"), role == "protection"
        self.recipe = role in ("result", "recipe")

    @property
    def key(self) -> str:
        """The name in a settings file: the long flag, without the dashes."""
        return max(self.opts, key=len).lstrip("-")


def _switch_on(context: click.Context, option: click.Parameter, chosen: bool) -> None:
    """Set the environment variables by which the library knows a flag."""
    variables = {"offline": ("HF_HUB_OFFLINE", "TEXTSPECTRA_OFFLINE"), "allow_server": ("TEXTSPECTRA_ALLOW_SERVER",)}
    if chosen:
        os.environ.update(dict.fromkeys(variables[str(option.name)], "1"))


def _table_format(context: click.Context, option: click.Parameter, chosen: str | None) -> object:
    from ..tables.source import TableFormat

    return TableFormat(chosen) if chosen else None


def _argument(name: str, metavar: str, **attributes: Any) -> click.Argument:
    return click.Argument([name], metavar=metavar, **attributes)


_FILE, _FILES = _argument("source", "FILE"), _argument("sources", "FILE...", nargs=-1, required=True)
_SAVED_MODEL, _NAME = _argument("model", "MODEL"), _argument("name", "[COMMAND]", required=False)

READING = (
    Setting("--text-column NAME", "The column that holds the texts, if it is not obvious.", "result"),
    Setting("--encoding NAME", "Character encoding of a text file, if not UTF-8 or cp1252.", "result"),
    Setting("--sheet NAME_OR_NUMBER", "The sheet of a workbook; by default the one with the most texts.", "result"),
    Setting(
        "--header-row N", "The row with the column names, from 1, if it is not found; 0 if there is none.", "result",
    ),
)  # fmt: skip
_OFFLINE = Setting(
    "--offline", "Never download a model, and send nothing to a server.", "protection",
    act=_switch_on,
)  # fmt: skip
_ALLOW_SERVER = Setting(
    "--allow-server", "Send texts to your server (OPENAI_BASE_URL) if the model was made with one.",
    act=_switch_on,
)  # fmt: skip
_LOADING = (_OFFLINE, _ALLOW_SERVER)
_MODEL = (Setting("--model NAME", "See `textspectra models`.", "result", default="auto"), _OFFLINE)
_NO_CACHE = Setting("--no-cache", "Neither read nor write the cache of embeddings.")
_EMBEDDINGS = Setting(
    "--embeddings FILE_OR_COLUMN",
    "Vectors to use instead of a model's: a .npy or .parquet file with one row per text, or a list column of the "
    "input. A --model of the same length still names groups and embeds new texts.", "recipe",
)  # fmt: skip
_EMBEDDING = (*_MODEL, _EMBEDDINGS, _NO_CACHE)
_NEW_EMBEDDINGS = Setting(
    "--embeddings FILE_OR_COLUMN", "Embeddings of the new texts, if the model was built from precomputed embeddings."
)
_KNOWN_EMBEDDINGS = Setting(
    "--embeddings FILE", "The embeddings that the model was made from, if they were given as a file."
)
_KEEP_ALL = Setting("--keep-all", 'Group texts that say nothing, too: "n/a", "-", emoji.', "result")
_IGNORE = Setting(
    "--ignore WORD_OR_/REGEX/",
    "A word that should not decide, such as freemium: it is not embedded, and in no keyword or name; repeatable. Or a "
    "phrase, '@*', an expression such as '/order [0-9]+/', or a kind: handles, urls, numbers or emails (the word: "
    "'/numbers/').",
    "result", multiple=True,
)  # fmt: skip
_STOP_WORDS = Setting(
    "--stop-words FILE", "Words that are neither keywords nor at the ends of names: one word per line.", "recipe"
)
_SEED = Setting("--seed N", "The same seed gives the same result.", "result", default=0)
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
_QUIET = Setting("--quiet -q", "Print nothing but errors and warnings, or nothing but the bare result.", act=remember)
_JSON = Setting(
    "--json", "Print the result as JSON (see `textspectra schema`), and an error as JSON on standard error.",
    is_eager=True, act=remember,
)  # fmt: skip
LOG = (
    Setting("--verbose -v", "Log events with their times, line by line, on standard error.", act=remember),
    Setting("--log-file FILE", "Append events with their times, line by line, to a file.", act=log_to_file),
)
_WRITING = (_OVERWRITE, _QUIET, _JSON)
_MEASURING = (_SEED, _QUIET, _JSON)
_OUT_FOLDER = Setting("--out FOLDER", "Where outputs go; next to the input by default.")
_METHOD = Setting(
    "--method auto|spectral",
    "How to estimate their number: by the agreement of two halves of the texts, or by the paper's spectrum.", "result",
    default="auto",
)  # fmt: skip
_NAME_WITH = Setting("--name-with MODEL", "Name groups by a chat model (OPENAI_BASE_URL, OPENAI_API_KEY).", "recipe")
_COLUMNS = (
    Setting("--time COLUMN", "A column of dates: say which groups grow, shrink, burst or vary.", "result"),
    Setting(
        "--every day|week|month|quarter|year",
        "The periods for --time; by default they suit the dates and the number of texts.", "result",
    ),
    Setting("--by COLUMN", "A column of categories to compare groups by; repeatable.", "result", multiple=True),
    Setting("--show COLUMN", "A column to show with each text; repeatable.", "result", multiple=True),
)  # fmt: skip
_MAP = Setting("--map", "Add map_x and map_y to the table: the place of each text on the map of the report.", "result")
_NO_SAVE = Setting("--no-save", "Open the report as a file, without a button to save what is edited in it.")
_OPEN = (
    Setting("--open", "Open the report in the browser; edits can be saved there until it is closed.", name="open_it"),
    _NO_SAVE,
)
_CLUSTERING = (
    Setting("--algorithm kmeans|hac", "How texts are grouped.", "result", default="kmeans"),
    Setting(
        "--clusters auto|coarse|suggested|fine|N",
        "The level to show (auto is suggested), or a number that overrules it.", "result", default="auto",
    ),
    _METHOD,
    Setting(
        "--known FILE", "Groups that you know: a table with columns name and example, one example per row.", "recipe",
    ),
    *_EMBEDDING,
    _KEEP_ALL,
    _IGNORE,
    _STOP_WORDS,
    _NAME_WITH,
    _SEED,
    *_TABLE,
    *_COLUMNS,
    Setting("--truth COLUMN", "A column of true classes, to compare with in the report.", "result"),
    _MAP,
    _NO_REPORT,
    *_OPEN,
    Setting("--scheduler tcp://HOST:PORT|local", "For many files: let the workers of Dask do the work."),
)  # fmt: skip
_COMPARING = (
    _SAVED_MODEL, _FILES, _OUT_FOLDER, *READING, _NEW_EMBEDDINGS, *_LOADING, _NO_CACHE, *_TABLE, _NO_REPORT, *_WRITING
)  # fmt: skip


class Command(NamedTuple):
    """A command: its module, its line in the list of commands, its arguments and options, and its help."""

    module: str
    summary: str
    parameters: Sequence[click.Parameter]
    help: str


COMMANDS = {
    "cluster": Command(
        "cluster", "Group the texts of a file: how many groups, what they are, which text is in which.",
        (_FILES, _OUT_FOLDER, *READING, *_CLUSTERING, *_WRITING),
        """Group the texts of FILE (CSV, TSV, JSON Lines, Parquet, Excel, text; compressed too; - for standard input).

        Writes FILE.clusters.* (every column of the input, and cluster, cluster_name and similarity, and with
        cluster_coarse and cluster_coarse_name the broader theme of each group; --map adds map_x and map_y),
        FILE.report.html (a page to explore the groups in a browser) and the folder FILE.model, and
        prints a summary.

        Several files, or a pattern in quotes such as 'folder/*.csv', are grouped together and need not fit into
        memory. The folder NAME.clusters gets a table for each of them. A run that was stopped finds the vectors that it
        computed in the cache.
        With --scheduler, Dask workers that see the same folders share the work.
        """,
    ),
    "describe": Command(
        "cluster", "Name, score and explore groups that you have: of another clustering, or made by hand.",
        (
            _FILE,
            Setting("--labels COLUMN", "The column that holds the group of each text.", "result", required=True),
            _OUT_FOLDER, *READING, *_EMBEDDING, _IGNORE, _STOP_WORDS, _NAME_WITH, _SEED, *_TABLE, *_COLUMNS, _MAP,
            _NO_REPORT, *_OPEN, *_WRITING,
        ),
        """Describe the groups in a column of FILE: names, keywords, scores, the report and a model for new texts.

        Whole numbers stay the labels of the groups, and other values are their names. Texts whose label is missing,
        blank or negative have no group. Writes the same outputs as `textspectra cluster`, and predict, compare and
        update take the model.
        """,
    ),
    "estimate": Command(
        "measure", "Estimate how many groups there are, and nothing else.",
        (
            _FILE, *READING, *_EMBEDDING, _KEEP_ALL, _IGNORE,
            _METHOD, *_MEASURING,
        ),
        "Estimate how many groups the texts of FILE have, with the interval of the estimate.",
    ),
    "embed": Command(
        "measure", "Turn texts into embeddings (.npy or .parquet).",
        (_FILE, _argument("target", "OUT"), *READING, *_MODEL, _NO_CACHE, *_WRITING),
        """Write the embeddings of the texts of FILE to OUT: .npy, or .parquet with the texts beside them.

        There is one row per text. Blank texts get a row of zeros, which no other command counts.
        """,
    ),
    "score": Command(
        "measure", "Score a clustering that you have, by its labels.",
        (
            _FILE,
            Setting("--labels COLUMN", "The column that holds the cluster of each text.", "shared", required=True),
            Setting("--truth COLUMN", "A column of true classes; adds ARI, NMI and others.", "shared"),
            *READING, *_EMBEDDING, *_MEASURING,
        ),
        "Score the clustering in a column of FILE: the Cohesion Ratio and every other metric.",
    ),
    "predict": Command(
        "measure", "Put new texts into the groups of a saved model.",
        (
            _SAVED_MODEL, _FILE,
            Setting("--out FILE", "The output table; FILE.predicted.* next to the input by default."),
            *READING, _NEW_EMBEDDINGS, *_LOADING, _NO_CACHE, *_TABLE, *_WRITING,
        ),
        """Add cluster, cluster_name, similarity and novelty to the texts of FILE, by the saved MODEL folder.

        A novelty of 0 is usual, and nine tenths of the texts of the model are below 1. A warning tells if far more of
        the new texts are above 1: then the model no longer fits, and `textspectra compare` tells what is new.
        """,
    ),
    "compare": Command(
        "months", "Say what is new in a file, compared with a saved model.", _COMPARING,
        """Say what is new in FILE, compared with the saved MODEL folder, which stays as it is.

        Finds new groups, groups that grow, shrink or are gone since the last file of the model, and texts that fit
        nothing. Writes FILE.compared.* (every column of the input, and cluster, cluster_name, similarity, novelty and
        is_new) and FILE.compared.html, a page that begins with what changed. Several files, or a pattern in quotes, are
        compared together. A novelty of 0 is usual, and nine tenths of the texts of the model are below 1.
        """,
    ),
    "update": Command(
        "months", "Take a new file into a saved model, and say what is new.",
        (*_COMPARING, Setting("--again", "Take in a file that the model has already, so that it counts twice.")),
        """Take the texts of FILE into the saved MODEL folder, and say what is new, as `textspectra compare` does.

        Texts that fit a group of the model join it. New groups get new labels; a label never changes its meaning. Names
        that you gave are kept, and the model records what changed. Writes FILE.updated.* and FILE.updated.html. The
        model is replaced when all is complete; if the update is interrupted, it stays as it was. A file that the model
        took in before is refused, so that a job can be run again.
        """,
    ),
    "report": Command(
        "report", "Make the page to explore a saved model in a browser.",
        (
            _SAVED_MODEL, Setting("--out FILE", "The page; NAME.report.html next to the folder NAME.model by default."),
            _KNOWN_EMBEDDINGS, *_LOADING, *_WRITING,
        ),
        "Write a page to explore the saved MODEL folder in a browser: one HTML file that needs no network.",
    ),
    "open": Command(
        "system", "Open a report in the browser, and save what you edit there.",
        (_argument("name", "NAME"), _KNOWN_EMBEDDINGS, *_LOADING, _NO_SAVE, _QUIET),
        """Open the report of NAME in the browser.

        NAME is the report itself, the file that was clustered, the folder NAME.model, or what their names begin with.
        The button Save in the report gives its groups and names to the folder NAME.model, the table NAME.clusters.* and
        the report, as `textspectra apply` does. The command ends when the page is closed, or with Ctrl-C. Only this
        machine can reach the page, at an address that nobody else knows. With --no-save, or without the folder, the
        report is opened as a file.
        """,
    ),
    "apply": Command(
        "report", "Give a model the number of groups and the names that you set in its report.",
        (
            _argument("paths", "[STATE.json] MODEL", nargs=-1, required=True), _KNOWN_EMBEDDINGS, *_LOADING, *_WRITING,
        ),
        """Give the saved MODEL folder the groups and the names of STATE.json.

        STATE.json is the file that "Download JSON" of a report writes; by default the newest one of this model in your
        downloads folder. Groups whose texts stay the same keep their
        number. A merged group keeps the number of the first, and parts of a split group get new ones. The new groups
        also go into the table NAME.clusters.* next to the folder NAME.model, if it has the texts of the model in the
        same order, and into the page NAME.report.html. If the table has other groups than the model, or if the page
        compares with a ground truth, they need --overwrite.
        """,
    ),
    "models": Command(
        "system", "List the embedding models that can be used, and what each needs.", (_JSON,),
        "List the embedding models that can be used, and what each needs.",
    ),
    "cache": Command(
        "system", "Show or clear the cache of embeddings and converted models.",
        (
            Setting("--clear", "Delete all of it."),
            Setting(
                "--limit SIZE",
                "Room for embeddings, such as 500MB or 20GB; 5GB by default. The least recently used go first.",
                allow_from_autoenv=False,  # TEXTSPECTRA_CACHE_LIMIT is a limit for now, this one is kept
            ),
            _JSON,
        ),
        "Show the folder and the size of the cache of embeddings and converted models; --clear empties it.",
    ),
    "config": Command(
        "system", "Show the settings that hold here, and where each comes from.", (_NAME, _JSON),
        """Show the settings that hold in this folder, and where each comes from.

        Without COMMAND, all that differ from the defaults are shown; with it, all settings of that command. They come
        from your own settings file, then from textspectra.toml in this folder (or [tool.textspectra] in
        pyproject.toml), then from variables such as TEXTSPECTRA_MODEL or TEXTSPECTRA_CLUSTER_MODEL, then from flags;
        the last one counts. The file in this folder may come from somebody else, so it can set only what changes the
        result.
        """,
    ),
    "schema": Command(
        "system", "Print the JSON Schema of what --json prints.", (_NAME,),
        """Print the JSON Schema of what COMMAND --json prints, or of all commands.

        `error` is the schema of an error. New keys keep the schema_version; it is raised if a key goes, or gets another
        name or type.
        """,
    ),
    "doctor": Command(
        "system", "Say what is installed, what is missing, and the line that installs it.", (_JSON,),
        "Say which versions, models, cores and BLAS are here, what is missing, and the line that installs it.",
    ),
    "demo": Command(
        "cluster", "Run `cluster` on the example that comes with the package.",
        (Setting("--out FOLDER", "Where outputs go.", default="textspectra-demo"), _JSON),
        "Group 1,019 customer messages that come with the package, and say what to open.",
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


def parameters_of(name: str) -> list[click.Parameter]:
    """Return the parameters of a command, with the options of a log, and with variables for all options."""
    parameters = []
    for declared in (*COMMANDS[name].parameters, *LOG):
        parameter = copy.copy(declared)
        if isinstance(parameter, Setting) and parameter.allow_from_autoenv and parameter.key in options_of(name):
            parameter.envvar = variables_of(name, parameter.key)
        parameters.append(parameter)
    return parameters
