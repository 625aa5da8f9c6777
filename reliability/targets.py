"""What the program does with an input of each kind. A UserError is a good answer; any other exception is a finding."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from textspectra.errors import UserError

GROUPS = np.repeat([0, 1, 2], 8)
VECTORS = (np.eye(3, 6)[GROUPS] + 0.1 * np.random.default_rng(0).uniform(size=(24, 6))).astype(np.float32)
MESSAGES = [f"{('parcel', 'password', 'refund')[group]} number {i}" for i, group in enumerate(GROUPS)]


_watched: list[str] = []
"""The folder in which a case may write, if it is watched."""

CHANGES = {"os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def _on_event(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watched:
        return
    if event == "socket.connect" or event.startswith(("subprocess.", "os.system", "os.exec")):
        raise AssertionError(f"{event}{arguments}")
    if event in CHANGES or (event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING):
        paths = [path for path in arguments if isinstance(path, str | bytes | os.PathLike)]
        for path in map(os.fsdecode, paths[: 2 if event in ("os.rename", "os.link", "os.symlink") else 1]):
            # shutil.rmtree names what it deletes relative to an open folder
            if Path(path).is_absolute() and not f"{Path(path).resolve()}{os.sep}".startswith(_watched[0]):
                raise AssertionError(f"{event} outside of its folder: {path}")


@contextmanager
def watched(folder: Path) -> Iterator[None]:
    """Raise an AssertionError if Python code writes or deletes outside of a folder, connects or starts a program."""
    _install_watch()
    _watched.append(f"{folder.resolve()}{os.sep}")
    try:
        yield
    finally:
        _watched.clear()


@cache
def _install_watch() -> None:
    sys.addaudithook(_on_event)


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
    from textspectra.report.levels import report_levels
    from textspectra.report.state import FORMAT
    from textspectra.report.write import fingerprint, grouping_mark

    levels, finest = report_levels(result)
    group_of_part = np.empty(levels.k, int)
    group_of_part[finest] = result.distinct_codes
    moved = int(np.flatnonzero(result.labels == result.topics[1].label)[0])
    n_moved = int(result.corpus.counts[result.corpus.codes[moved]])
    groups = [
        {
            "cluster": topic.label,
            "name": f"group {topic.label}",
            "size": topic.size + (n_moved if number == 0 else -n_moved if number == 1 else 0),
            "parts": [[int(part), int(part) + 1] for part in np.flatnonzero(group_of_part == number)],
            "moved": [moved] if number == 0 else [],
        }
        for number, topic in enumerate(result.topics)
    ]
    marks = {"format": FORMAT, "fingerprint": fingerprint(result.corpus), "grouping": grouping_mark(result)}
    return json.dumps({**marks, "edited": True, "clusters": groups})


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
    from textspectra.embedding import EmbeddingCache, embed_texts

    with tempfile.TemporaryDirectory() as place:
        embed_texts(MESSAGES, Lengths(), cache=EmbeddingCache(place))
        [path] = Path(place, "embeddings").glob("*.sqlite")
        _cache_name.append(path.name)
        return path.read_bytes()


_cache_name: list[str] = []


def use_table(folder: Path, name: str, content: bytes) -> None:
    """Read a table, and write it in the other formats."""
    from textspectra.io import TableFormat, read_table, write_table
    from textspectra.texts.corpus import Corpus

    path = folder / name
    path.write_bytes(content)
    table = read_table(path)
    Corpus.from_texts(table.texts())
    for form in (TableFormat.CSV, TableFormat.JSONL, TableFormat.PARQUET, TableFormat.XLSX):
        with suppress(UserError):
            write_table(table.table, folder / f"out.{form}", format=form, overwrite=True, spreadsheet_safe=True)


def use_npy(folder: Path, name: str, content: bytes) -> None:
    """Read a matrix, and check it as every command does."""
    from textspectra.io import read_embeddings
    from textspectra.validation import check_embeddings

    (folder / name).write_bytes(content)
    check_embeddings(read_embeddings(folder / name), minimum=1)


def use_model(folder: Path, name: str, content: bytes) -> None:
    """Load a model folder with a valid checksum, and do what commands do with it."""
    from textspectra import TextClustering
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
    for use in (loaded.to_frame, loaded.topics_frame, loaded.over_time, loaded.trends, lambda: loaded.by("channel")):
        with suppress(UserError):
            use()
    loaded.predict(["parcel", "refund"], embeddings=VECTORS[:2])
    loaded.cut(2)
    json.dumps(summarize(loaded, "a.csv", "text", {}, {}))
    loaded.save(folder / "b.model")


def use_bomb(folder: Path, name: str, content: bytes) -> None:
    """Load a model folder with a part that claims to be huge; smaller limits make the cases quick."""
    from textspectra.io import limits

    before = limits.MAX_ROWS, limits.MAX_BYTES
    limits.MAX_ROWS, limits.MAX_BYTES = 100_000, 2**24
    try:
        with watched(folder):
            use_model(folder, name, content)
    finally:
        limits.MAX_ROWS, limits.MAX_BYTES = before


def use_cache(folder: Path, name: str, content: bytes) -> None:
    """Embed with a damaged cache: the vectors must be right."""
    from textspectra.embedding import EmbeddingCache, embed_texts

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
    import click

    from textspectra.cli.main import group

    rows = [f"{i},{text},2026-0{1 + i % 4}-03" for i, text in enumerate(MESSAGES)]
    (folder / "a.csv").write_text("\n".join(["id,text,when", *rows]))
    np.save(folder / "v.npy", VECTORS)
    options = json.loads(content)
    if "--embeddings" not in options and "--model" not in options:
        options += ["--embeddings", "v.npy"]
    before = Path.cwd()
    os.chdir(folder)
    try:
        with (folder / "said").open("w") as said, redirect_stdout(said), redirect_stderr(said):
            group.main(
                ["cluster", "a.csv", "--no-report", "-q", *options], prog_name="textspectra", standalone_mode=False
            )
    except (click.ClickException, SystemExit, ModuleNotFoundError):
        pass
    except OSError as error:  # the command turns these into a line
        if error.errno not in (13, 28, 30):
            raise
    finally:
        os.chdir(before)


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
    from textspectra.embedding.openai import OpenAIBackend, OpenAIServer

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
    except UserError as error:
        if "very-secret-key" in str(error) or not str(error).isprintable():
            raise AssertionError(f"the message {error!r} is not fit to print") from None
        raise


TARGETS: dict[str, Callable[[Path, str, bytes], None]] = {
    "text": use_table, "parquet": use_table, "workbook": use_table, "npy": use_npy, "model": use_model,
    "bombs": use_bomb, "cache": use_cache, "state": use_state, "settings": use_settings, "server": use_server,
}  # fmt: skip


def try_case(kind: str, name: str, content: bytes) -> str:
    """Let the program have an input; return the name of the exception that it must not raise, or nothing."""
    folder = Path(tempfile.mkdtemp(prefix="textspectra-fuzz-"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            TARGETS[kind](folder, name, content)
    except UserError:
        return ""
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return ""
