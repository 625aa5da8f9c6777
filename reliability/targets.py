"""What the program does with an input of each kind. An expected error is a good answer; any other is a finding."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import socket
import sqlite3
import sys
import tempfile
import threading
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from textspectra.errors import TextspectraError

GROUPS = np.repeat([0, 1, 2], 8)
VECTORS = (np.eye(3, 6)[GROUPS] + 0.1 * np.random.default_rng(0).uniform(size=(24, 6))).astype(np.float32)
MESSAGES = [f"{('parcel', 'password', 'refund')[cluster]} number {i}" for i, cluster in enumerate(GROUPS)]


ACTING = {
    "os.exec", "os.posix_spawn", "os.system", "socket.bind", "socket.connect", "socket.getaddrinfo", "socket.sendto",
    "subprocess.Popen", "webbrowser.open",
}  # fmt: skip
CHANGING = {
    "os.remove": (0,), "os.rename": (0, 1), "os.rmdir": (0,), "os.mkdir": (0,), "os.link": (0, 1), "os.symlink": (1,),
    "os.chmod": (0,), "os.chown": (0,), "os.truncate": (0,), "os.utime": (0,), "sqlite3.connect": (0,),
}  # fmt: skip
"""What Python announces of changes of files, beside the opening of one, and which details are their paths."""

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
TERMINAL = (os.devnull, "/dev/tty")


def changed_paths(event: str, details: tuple[Any, ...]) -> list[str]:
    """Return the files that an audit event is about to change."""
    if event == "open" and (set(str(details[1])) & set("wax+") or (details[2] or 0) & WRITING):
        return _resolved(details[:1])
    names = [details[place] for place in CHANGING.get(event, ())]
    if event == "sqlite3.connect":
        return _resolved(name for name in names if not str(name).startswith((":memory:", "file:")))  # only reads
    if event in ("os.chmod", "os.chown", "os.truncate", "os.utime"):
        return _resolved(names)
    # These change an entry of a folder, which may be an open one, and do not follow a link.
    paths = [Path(f"/proc/self/fd/{details[-1]}" if details[-1] > 0 else "", os.fsdecode(name)) for name in names]
    return [str(path.parent.resolve() / path.name) for path in paths]


def _resolved(names: Iterable[Any]) -> list[str]:
    return [os.path.realpath(os.fsdecode(name)) for name in names if not isinstance(name, int)]  # else an open file


class Watch:
    """Stops and notes what Python does outside a folder; one for all cases, as a hook cannot be taken away again."""

    def __init__(self) -> None:
        self.allowed, self.forbidden, self.trespasses = "", "", list[str]()
        sys.addaudithook(self._hear)

    def _hear(self, event: str, details: tuple[Any, ...]) -> None:
        if not self.allowed:
            return
        paths = [path for path in changed_paths(event, details) if path not in TERMINAL]
        trespasses = [path for path in paths if not f"{path}{os.sep}".startswith(self.allowed)]
        if event == "open" and self.forbidden and not paths:
            trespasses = [path for path in _resolved(details[:1]) if path.startswith(self.forbidden)]
        if event in ACTING:
            trespasses = [str(details[:2])]
        if trespasses:
            self.trespasses.append(f"{event} {trespasses[0]}")
            raise AssertionError(self.trespasses[-1])

    @contextmanager
    def __call__(self, allowed: Path, forbidden: Path | None = None) -> Iterator[None]:
        """Raise an AssertionError after a change outside a folder, a look into another, a connection or a program."""
        self.forbidden = f"{forbidden.resolve()}{os.sep}" if forbidden else ""
        self.trespasses, self.allowed = [], f"{allowed.resolve()}{os.sep}"
        bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            yield
        finally:
            self.allowed, sys.dont_write_bytecode = "", bytecode
            if self.trespasses:  # also if the program has caught the error
                raise AssertionError(f"done outside the folder: {self.trespasses[0]}")


@cache
def watch() -> Watch:
    """Return the watch of this process."""
    return Watch()


def tree(folder: Path) -> dict[str, Any]:
    """Return what is in a folder: files with their content and permissions, and where links lead."""
    content: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        inside = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        content[str(path.relative_to(folder))] = path.lstat().st_mode, inside
    return content


@cache
def clustering() -> Any:
    """Return a small result that has everything a model folder can hold."""
    import textspectra as ts

    return ts.cluster_texts(
        MESSAGES, embeddings=VECTORS, algorithm="hac", n_clusters=3,
        time=[f"2026-{1 + i % 4:02}-03" for i in range(24)], by={"channel": ["web", "post"] * 12},
        show={"id": [str(i) for i in range(24)]},
    )  # fmt: skip


@cache
def model_parts() -> dict[str, bytes]:
    """Return the files of a model folder."""
    with tempfile.TemporaryDirectory() as place:
        clustering().save(f"{place}/a.model")
        return {path.name: path.read_bytes() for path in Path(place, "a.model").iterdir()}


def downloaded_state(result: Any) -> str:
    """Return what "Download JSON" of a report writes after all groups were renamed and one text was moved."""
    from textspectra.report.build import corpus_fingerprint, grouping_mark
    from textspectra.report.state import FORMAT
    from textspectra.report.tree import report_levels

    levels, finest = report_levels(result)
    group_of_part = np.empty(levels.k, int)
    group_of_part[finest] = result.distinct_codes
    moved = int(np.flatnonzero(result.labels == result.clusters[1].label)[0])
    n_moved = int(result.corpus.counts[result.corpus.codes[moved]])
    clusters = [
        {
            "cluster": cluster.label,
            "name": f"group {cluster.label}",
            "size": cluster.size + (n_moved if number == 0 else -n_moved if number == 1 else 0),
            "parts": [[int(part), int(part) + 1] for part in np.flatnonzero(group_of_part == number)],
            "moved": [moved] if number == 0 else [],
        }
        for number, cluster in enumerate(result.clusters)
    ]
    marks = {"format": FORMAT, "fingerprint": corpus_fingerprint(result.corpus), "grouping": grouping_mark(result)}
    return json.dumps({**marks, "edited": True, "clusters": clusters})


@cache
def state_of_model() -> str:
    """Return the state that is damaged."""
    return downloaded_state(clustering())


class Lengths:
    """A model whose vectors can be checked."""

    name, batch_size, settings = "lengths", 8, {}

    def embed(self, texts: Any) -> Any:
        """Return the length and the sum of the letters of each text."""
        return np.array([[len(text), sum(map(ord, text))] for text in texts], np.float32)


@cache
def cache_database() -> bytes:
    """Return a cache that holds the vectors of all messages."""
    from textspectra.embedding.cache import EmbeddingCache
    from textspectra.embedding.embed import embed_texts

    with tempfile.TemporaryDirectory() as place:
        embed_texts(MESSAGES, Lengths(), cache=EmbeddingCache(place))
        [path] = Path(place, "embeddings").glob("*.sqlite")
        _cache_name.append(path.name)
        return path.read_bytes()


_cache_name: list[str] = []


def spoiled(content: bytes, statements: list[str]) -> bytes:
    """Change a cache by SQL, and give its blocks valid checksums."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "a.sqlite")
        path.write_bytes(content)
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.create_function("checksum", 2, lambda keys, vectors: zlib.crc32(vectors, zlib.crc32(keys)))
            for statement in statements:
                with suppress(sqlite3.Error):
                    database.executescript(statement)
            is_table = "SELECT 1 FROM sqlite_master WHERE name = 'block' AND type = 'table'"
            with suppress(sqlite3.Error):
                if database.execute(is_table).fetchone():
                    database.execute("UPDATE block SET checksum = checksum(keys, vectors)")
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return path.read_bytes()


def use_table(folder: Path, name: str, content: bytes) -> None:
    """Read a table, and write it in the other formats."""
    from textspectra.tables.read import read_table
    from textspectra.tables.source import TableFormat
    from textspectra.tables.write import write_labeled
    from textspectra.texts.corpus import Corpus

    path = folder / name
    path.write_bytes(content)
    table = read_table(path)
    Corpus.from_texts(table.texts())
    for form in (TableFormat.CSV, TableFormat.JSONL, TableFormat.PARQUET, TableFormat.XLSX):
        with suppress(TextspectraError):
            write_labeled(table, {}, folder / f"out.{form}", chosen=form, overwrite=True, spreadsheet_safe=True)


def use_npy(folder: Path, name: str, content: bytes) -> None:
    """Read a matrix, and check it as every command does."""
    from textspectra.core.validation import check_embeddings
    from textspectra.tables.parquet import read_embeddings

    (folder / name).write_bytes(content)
    check_embeddings(read_embeddings(folder / name), minimum=1)


def use_model(folder: Path, name: str, content: bytes) -> None:
    """Load a model folder with a valid checksum, and do what commands do with it."""
    from textspectra import TextClustering
    from textspectra.cli.cluster import Done
    from textspectra.cli.summary import summarize
    from textspectra.texts.storage import ARRAYS, SUMMARY, TEXTS, _digest_of_summary

    place = folder / "a.model"
    place.mkdir()
    parts = {**model_parts(), name: content}
    for part, inside in parts.items():
        (place / part).write_bytes(inside)
    with suppress(ValueError, TypeError, AttributeError, KeyError, RecursionError):  # then it has no valid checksum
        summary = json.loads(parts[SUMMARY])
        summary["sha256"] = {one: hashlib.sha256(parts[one]).hexdigest() for one in (ARRAYS, TEXTS)}
        summary["sha256"][SUMMARY] = _digest_of_summary(summary)
        (place / SUMMARY).write_text(json.dumps(summary), encoding="utf-8")
    loaded = TextClustering.load(place, embeddings=VECTORS)
    for use in (loaded.to_frame, loaded.cluster_table, loaded.over_time, loaded.trends, lambda: loaded.by("channel")):
        with suppress(TextspectraError):
            use()
    loaded.predict(["parcel", "refund"], embeddings=VECTORS[:2])
    loaded.cut(2)
    json.dumps(summarize(Done(loaded, "text", {}), "a.csv", {}))
    loaded.save(folder / "b.model")


def use_bomb(folder: Path, name: str, content: bytes) -> None:
    """Load a model folder with a part that claims to be huge; smaller limits make the cases quick."""
    from textspectra.tables import source as limits

    model_parts()  # made once, in a folder that the case may not use
    before = limits.MAX_ROWS, limits.MAX_BYTES
    limits.MAX_ROWS, limits.MAX_BYTES = 100_000, 2**24
    try:
        with watch()(folder):
            use_model(folder, name, content)
    finally:
        limits.MAX_ROWS, limits.MAX_BYTES = before


def use_cache(folder: Path, name: str, content: bytes) -> None:
    """Embed with a damaged cache: the vectors must be right."""
    from textspectra.embedding.cache import EmbeddingCache
    from textspectra.embedding.embed import embed_texts

    cache_database()
    (folder / "embeddings").mkdir()
    (folder / "embeddings" / _cache_name[0]).write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = embed_texts(MESSAGES, Lengths(), cache=EmbeddingCache(folder))
        EmbeddingCache(folder).size()
    if not np.array_equal(found, Lengths().embed(MESSAGES)):
        raise AssertionError("a wrong vector came out of the cache")


def use_state(folder: Path, name: str, content: bytes) -> None:
    """Apply what a report downloaded, and save the model."""
    from textspectra.report.state import apply_state, read_state

    (folder / name).write_bytes(content)
    apply_state(clustering(), read_state(folder / name)).save(folder / "b.model")


def use_settings(folder: Path, name: str, content: bytes) -> None:
    """Run `cluster` with strange options."""
    rows = [f"{i},{text},2026-0{1 + i % 4}-03" for i, text in enumerate(MESSAGES)]
    (folder / "a.csv").write_text("\n".join(["id,text,when", *rows]))
    np.save(folder / "v.npy", VECTORS)
    options = json.loads(content)
    if "--embeddings" not in options and "--model" not in options:
        options += ["--embeddings", "v.npy"]
    run_command(folder, ["cluster", "a.csv", "--no-report", "-q", *options])


def run_command(folder: Path, arguments: list[str]) -> None:
    """Run a command in a folder, in this process; a wrong use of it is no finding."""
    import click

    from textspectra.cli.main import root

    before = Path.cwd()
    os.chdir(folder)
    try:
        with (folder / "said").open("w") as said, redirect_stdout(said), redirect_stderr(said):
            root.main(arguments, prog_name="textspectra", standalone_mode=False)
    except (click.ClickException, SystemExit, ModuleNotFoundError):
        pass
    except OSError as error:  # the command turns these into a line
        if error.errno not in (13, 28, 30):
            raise
    finally:
        os.chdir(before)
        for handler in logging.getLogger("textspectra").handlers[1:]:
            logging.getLogger("textspectra").removeHandler(handler)


PROJECT_COMMANDS = (
    ["cluster", "a.csv", "--embeddings", "v.npy", "--no-report", "-q"],
    ["cluster", "*.csv", "--embeddings", "vector", "-q"],
    ["config"],
    ["cache"],
)


def use_project_settings(folder: Path, name: str, content: bytes) -> None:
    """Run commands in a folder with a settings file: nothing outside is read, changed, started or connected to."""
    victim, project = folder / "victim", folder / "project"
    for place in (victim / "a.model", project):
        place.mkdir(parents=True)
    for path in (victim / "notes.txt", victim / "a.csv", victim / "a.model" / "clustering.json"):
        path.write_text("precious")
    (project / "a.csv").write_text("\n".join(["text,channel", *(f"{text},web" for text in MESSAGES)]))
    np.save(project / "v.npy", VECTORS)
    (project / name).write_bytes(content.replace(b"VICTIM", str(victim).encode()))
    before = tree(victim)
    places = {"TEXTSPECTRA_CACHE": str(project / "cache"), "XDG_CONFIG_HOME": str(project / "config")}
    with patch.dict(os.environ, places), watch()(project, forbidden=victim):
        for command in PROJECT_COMMANDS:
            with suppress(TextspectraError):
                run_command(project, command)
    if tree(victim) != before or sorted(path.name for path in folder.iterdir()) != ["project", "victim"]:
        raise AssertionError("something outside the folder was changed")


def plant(work: Path, planted: list[dict[str, str]]) -> None:
    """Put hidden files of strangers into a folder."""
    for one in planted:
        path = work / one["name"]
        with suppress(OSError, ValueError):  # a name that cannot be, or two of the same name
            if os.path.lexists(path):
                continue
            if one["kind"] == "file":
                path.write_text(one["content"].replace("ABSOLUTE", str(work.parent)), encoding="utf-8")
            elif one["kind"] == "folder":
                path.mkdir()
                (path / "content").write_text("of a stranger")
                (path / "link").symlink_to(work.parent / "victim")
            elif one["kind"] == "model":
                shutil.copytree(work / "a.model", path)
            elif one["kind"] == "link":
                path.symlink_to(one["target"])
            elif one["kind"] == "hard link":
                path.hardlink_to(work.parent / "victim" / "Documents" / "letter.txt")
            else:
                os.mkfifo(path)
    statuses = [path.lstat() for path in work.parent.rglob("*")]
    numbers = " ".join(f"{status.st_dev:x}-{status.st_ino:x}" for status in statuses)
    for path in work.glob(".textspectra-commit-*"):
        if path.is_file() and not path.is_symlink() and path.read_bytes() == b"NUMBERS":
            path.write_text(numbers)  # of everything, as nobody could know them


COMMANDS: dict[str, tuple[list[str], list[str]]] = {
    "load": ([], []),
    "predict": (["a.model", "b.csv"], ["b.predicted.csv"]),
    "compare": (["a.model", "b.csv", "--no-report"], ["b.compared.csv"]),
    "update": (["a.model", "b.csv", "--no-report"], ["a.model", "b.updated.csv"]),
    "apply": (["state.json", "a.model"], ["a.model", "a.clusters.csv", "a.report.html"]),
    "cluster": (["a.csv", "--clusters", "3", "--no-report", "--overwrite"], ["a.model", "a.clusters.csv"]),
    "report": (["a.model"], ["a.report.html"]),
}
"""The arguments of each command, and its outputs: it may change these, and hidden files named after them."""


def use_journal(folder: Path, name: str, content: bytes) -> None:
    """Run a command in a folder that came with hidden files: nothing outside it, and nothing that it only reads."""
    from textspectra import TextClustering

    work, victim = folder / "work", folder / "victim"
    (victim / "Documents").mkdir(parents=True)
    (victim / "Documents" / "letter.txt").write_text("kept")
    work.mkdir()
    for part, inside in model_parts().items():
        (work / "a.model").mkdir(exist_ok=True)
        (work / "a.model" / part).write_bytes(inside)
    (work / "a.csv").write_text("\n".join(["text", *MESSAGES]))
    (work / "b.csv").write_text("\n".join(["text", *(f"{text} again" for text in MESSAGES)]))
    (work / "link").symlink_to(victim)
    (work / "state.json").write_text(state_of_model())
    np.save(work / "v.npy", VECTORS)
    plant(work, json.loads(content))
    before, beside = tree(victim), tree(work)
    arguments, outputs = COMMANDS[name]
    try:
        with watch()(work):
            if name == "load":
                TextClustering.load(work / "a.model")
            else:
                run_command(work, [name, *arguments, "--embeddings", "v.npy", "-q"])
    finally:
        after = tree(work)
        changed = [path for path in beside if after.get(path) != beside[path] and not any(o in path for o in outputs)]
        if changed or tree(victim) != before:
            raise AssertionError(f"{name} changed {changed} or the victim")


class Answering(threading.Thread):
    """A server that answers every request with the same bytes."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.content = b""
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/v1"
        self.start()

    def run(self) -> None:
        """Serve one connection after another."""
        while True:
            connection, _ = self._listening.accept()
            with connection, suppress(OSError):
                connection.settimeout(5)
                connection.recv(65536)
                connection.sendall(self.content)


@cache
def asked() -> tuple[Answering, Any]:
    """Return a server and the model behind it."""
    from textspectra.embedding.server import OpenAIBackend, OpenAIServer

    server = Answering()
    os.environ.update(OPENAI_BASE_URL=server.url, OPENAI_API_KEY="very-secret-key")
    backend = OpenAIBackend("tiny")
    backend._server = OpenAIServer(timeout=2, retries=0, patience=6)
    return server, backend


def use_server(folder: Path, name: str, content: bytes) -> None:
    """Ask a server for vectors."""
    server, backend = asked()
    server.content, backend._dimension = content, None
    try:
        backend.embed(["a", "b"])
    except TextspectraError as error:
        if "very-secret-key" in str(error) or not str(error).isprintable():
            raise AssertionError(f"the message {error!r} is not fit to print") from None
        raise


TARGETS: dict[str, Callable[[Path, str, bytes], None]] = {
    "text": use_table, "parquet": use_table, "workbook": use_table, "npy": use_npy, "model": use_model,
    "bombs": use_bomb, "cache": use_cache, "state": use_state, "settings": use_settings,
    "project settings": use_project_settings, "server": use_server, "journal": use_journal,
}  # fmt: skip


def try_case(kind: str, name: str, content: bytes) -> str:
    """Let the program have an input; return the name of the exception that it must not raise, or nothing."""
    folder = Path(tempfile.mkdtemp(prefix="textspectra-fuzz-"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            TARGETS[kind](folder, name, content)
    except TextspectraError:
        return ""
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return ""
