"""Serve the page of a saved model on this machine, so that its Save button writes to the model.

Three addresses exist, below a random token: the page (GET), ``save`` and ``alive`` (POST). The page keeps a request to
``alive`` open as long as it is, so the server knows when it was closed. A request must have the token, our Host and,
to post, our Origin, so that neither other pages nor names that point to 127.0.0.1 reach anything. No part of a request
is a path, and each has a deadline.
"""

from __future__ import annotations

import hmac
import json
import logging
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..errors import ExternalError, TextspectraError, UserError
from ..files import read_folder
from ..texts.result import TextClustering
from .build import ReportProgress, grouping_mark, report_blocks
from .page import blocks_of, page_policy, render_page
from .saving import SavedEdits, edits_in_words, find_table, model_version, report_path, save_edits
from .state import MAX_STATE_BYTES, apply_state, decode_state, shows
from .tree import MAX_POINTS

GRACE_SECONDS = 10.0  # seconds after which a closed page is not only being loaded again
OPENING_SECONDS = 60.0  # seconds that a browser may take to open the page
REQUEST_SECONDS = 10.0  # for a whole request, also if it comes in small pieces
ANSWER_SECONDS = 60.0  # for a whole answer
PULSE_SECONDS = 15.0  # between two signs of life; Firefox gives up after five minutes
MAX_CONNECTIONS = 32  # a page needs two

MODEL_CHANGED = (
    "The model has changed since this page was opened, so nothing was saved. Reload the page to see it as it is now."
)

log = logging.getLogger(__name__)


WhyEnded = Literal["closed", "stopped", "not opened", "no browser"]


class Served(NamedTuple):
    """How serving a page ended, and how often something was saved."""

    reason: WhyEnded
    saves: int


class ModelChangedError(UserError):
    """The folder holds another model than the page shows."""


class RefusedError(Exception):
    """A request that is not answered: the status, and why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class OpenModel:
    """A model folder that pages show and save to."""

    def __init__(
        self, folder: Path, load: Callable[[], TextClustering] | None = None, result: TextClustering | None = None
    ) -> None:
        self.folder, self.saves = folder, 0
        self.lock = threading.Lock()
        self._computing = threading.Lock()  # taken after the other one: two would share the threads of linear algebra
        self._load = load or (lambda: TextClustering.load(folder))
        self._blocks: dict[str, str] | None = None  # the data of the page
        self._open(result)

    def _open(self, result: TextClustering | None = None) -> None:
        """Read the folder, and the page beside it if that shows the same."""

        def read() -> tuple[str, TextClustering, bytes]:
            path = report_path(self.folder)
            page = path.read_bytes() if path.is_file() else b""
            return model_version(self.folder), result or self._load(), page

        self.version, self._result, page = read_folder(self.folder, read)
        self._shown = {grouping_mark(self._result): self._result}  # what the pages show that may save
        self._blocks = blocks_of(page) if shows(page, self._result) else None

    def page(self, progress: ReportProgress | None = None) -> str:
        """Return the page of the model as it is now."""
        with self.lock:
            if model_version(self.folder) != self.version or self._blocks is None:
                with self._computing:
                    if model_version(self.folder) != self.version:
                        self._open()
                    self._blocks = self._blocks or report_blocks(self._result, model=self.folder, progress=progress)
            self._shown.setdefault(grouping_mark(self._result), self._result)
            return render_page(self._blocks, version=self.version)

    def prepare(self) -> None:
        """Do what does not depend on the edits: get the vectors and the map, read the texts and the table.

        Of more texts than the map shows, a save reads only those that it needs. Nothing is sent to a server unasked.
        """
        result = self._result
        if result.source.is_elsewhere and result.known_embeddings is None:
            return
        with self._computing:
            try:
                result = self._in_memory(grouping_mark(result))
                find_table(self.folder, result)
                if len(result.corpus.distinct) <= MAX_POINTS:
                    result.corpus.read_ahead(result.distinct_codes, result.stop_words)
                    result.map_points()
            except Exception as error:  # saving tells what is wrong, and the program may end meanwhile
                log.debug("A save could not be prepared: %s", error)

    def _in_memory(self, mark: str) -> TextClustering:
        """Return the groups that a page shows, with the vectors, which each save needs."""
        result = self._shown.get(mark, self._result)
        if result.known_embeddings is None:
            with suppress(UserError):  # names can be saved without them
                result = self._shown[mark] = replace(result, known_embeddings=result.embedded().X)
        return result

    def save(self, stored: bytes, version: str) -> SavedEdits:
        """Save a state, of a page that shows this version of the model or saved it."""
        state = decode_state(stored, "What the page sent")
        with self.lock, self._computing:

            def edit() -> tuple[TextClustering, TextClustering]:
                if not version == self.version == model_version(self.folder):
                    raise ModelChangedError(MODEL_CHANGED)
                return self._result, apply_state(self._in_memory(state.grouping), state, saved=self._result)

            saved = save_edits(self.folder, edit)
            # A page that saves goes on with the groups that it was opened with; all others are told to reload.
            self._shown = {mark: result for mark, result in self._shown.items() if mark == state.grouping}
            self._result, self.version, self._blocks = saved.after, saved.version, saved.blocks
            self.saves += 1
            return saved


class PageServer(ThreadingHTTPServer):
    """A server of one page, on this machine only."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, model: OpenModel, *, request_seconds: float = REQUEST_SECONDS) -> None:
        super().__init__(("127.0.0.1", 0), PageHandler)
        self.model, self.request_seconds = model, request_seconds
        self.token = secrets.token_urlsafe(24)
        self.hosts = [f"{name}:{self.server_port}" for name in ("127.0.0.1", "localhost")]
        self.address = f"http://{self.hosts[0]}/{self.token}/"
        self._slots = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self._changed = threading.Condition()
        self._pages, self._quiet_since, self._was_open = 0, time.monotonic(), False
        self.is_ending = threading.Event()

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Refuse a connection if there are too many."""
        return self._slots.acquire(blocking=False)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer a request."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Note an error of a connection, such as a page that was closed; nobody waits for an answer."""
        log.debug("a connection failed", exc_info=True)

    @contextmanager
    def page_open(self) -> Iterator[None]:
        """Note that a page is open."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def _count(self, pages: int) -> None:
        with self._changed:
            self._pages += pages
            self._was_open, self._quiet_since = True, time.monotonic()
            self._changed.notify_all()

    def wait(self, grace: float, patience: float) -> bool:
        """Wait until no page has been open for a while; return False if none ever was."""
        with self._changed:
            while True:
                due = self._quiet_since + (grace if self._was_open else patience)
                left = 1.0 if self._pages or self.model.lock.locked() else due - time.monotonic()
                if left <= 0:
                    return self._was_open
                self._changed.wait(min(left, 1.0))  # Ctrl-C does not interrupt longer waits on Windows


class PageHandler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: PageServer
    server_version, sys_version = "textspectra", ""

    def setup(self) -> None:
        """Begin with a deadline: a client that sends a byte now and then would never run into a timeout."""
        super().setup()
        self._deadline = threading.Timer(self.server.request_seconds, self._hang_up)
        self._deadline.daemon = True
        self._deadline.start()

    def finish(self) -> None:
        """End the connection."""
        self._deadline.cancel()
        with suppress(OSError):
            super().finish()

    def _hang_up(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def do_GET(self) -> None:
        """Answer with the page."""
        with self._telling():
            self._check("")
            self._deadline.cancel()
            page = self.server.model.page()
            policy = f"{page_policy(is_served=True)}; frame-ancestors 'none'"
            self._answer(200, page.encode(), "text/html; charset=utf-8", policy)

    def do_POST(self) -> None:
        """Save, or stay connected with an open page."""
        is_saved = False
        with self._telling():
            name = self._check("save", "alive")
            if self.headers.get("Origin") not in [f"http://{host}" for host in self.server.hosts]:
                raise RefusedError(403, "This request comes from another page.")
            body = self._body()
            self._deadline.cancel()
            if name == "alive":
                self._stay()
                return
            saved = self.server.model.save(body, self.headers.get("Model-Version", ""))
            is_saved = True
            labels = [[cluster.label, cluster.name] for cluster in saved.after.clusters]
            notes = saved.notes[:1] if saved.blocks else saved.notes  # the reader has the page open
            misfits = saved.blocks and saved.blocks["misfits"]
            told = {"notes": notes, "version": saved.version, "labels": labels, "misfits": misfits}
            self._tell(200, edits_in_words(saved.changes), **told)
        if is_saved:
            self.server.model.prepare()  # for the next one

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Answer with an error, if there is one."""
        try:
            yield
        except RefusedError as refused:
            self._tell(refused.status, str(refused))
        except ModelChangedError as error:
            self._tell(409, str(error))
        except ExternalError as error:
            self._tell(503, str(error))
        except TextspectraError as error:
            self._tell(400, str(error))
        except OSError:  # the connection is lost
            raise
        except Exception:
            log.exception("The page could not be made or saved. This is a bug in textspectra; please report it.")
            self._tell(500, "This failed, and nothing was changed; the terminal says why.")

    def _check(self, *names: str) -> str:
        """Return which of these addresses is asked for; refuse a request that does not come from our page."""
        base = f"/{self.server.token}/"
        if not hmac.compare_digest(self.path[: len(base)].encode("utf-8", "backslashreplace"), base.encode()):
            raise RefusedError(403, "This is not the address that textspectra opened.")
        if self.headers.get_all("Host") not in [[host] for host in self.server.hosts]:
            raise RefusedError(403, "This server has another name.")
        if self.path[len(base) :] not in names:
            raise RefusedError(404, "There is nothing here.")
        return self.path[len(base) :]

    def _body(self) -> bytes:
        """Return what was posted."""
        length = self.headers.get("Content-Length", "")
        if "Transfer-Encoding" in self.headers or not (length.isascii() and length.isdecimal()):
            raise RefusedError(411, "The request does not say how long it is.")
        if len(length) > 12 or int(length) > MAX_STATE_BYTES:
            raise RefusedError(413, f"The request has more than {MAX_STATE_BYTES // 2**20} MB.")
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise RefusedError(400, "The request is incomplete.")
        return body

    def _stay(self) -> None:
        """Keep the request of an open page until either side ends it."""
        with self.server.page_open():
            self._begin(200, "text/plain")
            self.connection.settimeout(PULSE_SECONDS)
            while not self.server.is_ending.is_set():
                self.wfile.write(b"\n")
                with suppress(TimeoutError):
                    self.connection.recv(1)  # nothing more comes until the page is closed
                    return

    def _tell(self, status: int, message: str, **more: object) -> None:
        content = json.dumps({"message": message, **more})
        self._answer(status, content.encode(), "application/json")

    def _answer(self, status: int, content: bytes, kind: str, policy: str = "default-src 'none'") -> None:
        self._begin(status, kind, policy, length=len(content))
        self.connection.settimeout(ANSWER_SECONDS)
        self.wfile.write(content)

    def _begin(self, status: int, kind: str, policy: str = "default-src 'none'", *, length: int | None = None) -> None:
        self.request_version = self.protocol_version  # an older version has no headers
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Security-Policy": policy,
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "same-origin",
        }
        for name, value in (headers | ({} if length is None else {"Content-Length": str(length)})).items():
            self.send_header(name, value)
        self.end_headers()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a request that is not HTTP, or that has another method."""
        self._deadline.cancel()
        self.requestline, self.close_connection = "", True
        self._tell(code, "This request is not understood.")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        """Log a request."""
        log.debug(
            format.replace(self.server.token, "TOKEN"), *(str(part).replace(self.server.token, "…") for part in args)
        )


def serve_report(
    model: str | Path,
    opened: Callable[[str], bool],
    *,
    result: TextClustering | None = None,
    load: Callable[[], TextClustering] | None = None,
    grace: float | None = None,
    patience: float | None = None,
    progress: ReportProgress | None = None,
) -> Served:
    """Serve the page of a model folder until it is closed; its Save button changes the folder, its table and its page.

    Parameters
    ----------
    model : path
        The model folder.
    opened : callable
        Gets the address of the page, opens it, and returns False if it could not.
    result : TextClustering, optional
        What the folder holds, if it is in memory.
    load : callable, optional
        Loads the model, such as with its embeddings.
    grace, patience : float, optional
        Seconds that a page may be closed, and that it may take to open.
    progress : callable, optional
        Called as for :func:`write_report`, if the page beside the model does not show it as it is.
    """
    open_model = OpenModel(Path(model), load, result)
    open_model.page(progress)  # so that it can be shown
    with PageServer(open_model) as server:
        threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
        threading.Thread(target=open_model.prepare, daemon=True).start()
        try:
            reason: WhyEnded = "no browser"
            if opened(server.address):
                reason = "closed" if server.wait(grace or GRACE_SECONDS, patience or OPENING_SECONDS) else "not opened"
        except KeyboardInterrupt:
            reason = "stopped"
        finally:
            server.is_ending.set()
            server.shutdown()
        with open_model.lock:  # what is being saved is saved
            return Served(reason, open_model.saves)
