"""Models behind any server that speaks the OpenAI API, through the `openai` package."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlsplit, urlunsplit

import numpy as np
from numpy.typing import NDArray

from ..errors import ExternalError, TextspectraError, UsageError, UserError, require
from .hub import NO_SERVER, is_on

ANSWER_BYTES = 2**26
"""Size of an answer, decompressed. 128 vectors of 4,096 numbers take 15 MB."""

WAIT_SECONDS = 30.0
"""The longest wait that a server can ask for before the next try."""

SHORTEST_KEY = 6
"""Characters of a key from which on it is blotted out; shorter ones occur in any answer."""

BLOT = b"[key]"


def guarded_client(openai: Any, *, key: str, seconds: float) -> Any:
    """Return a client for ``OpenAI(http_client=...)``; an answer must be complete after `seconds`.

    The key is blotted out in every answer, so that no message and no name can repeat it.
    """
    base: Any = openai.DefaultHttpxClient
    secret = key.encode() if len(key) >= SHORTEST_KEY else b""

    class Guarded(base):  # type: ignore[misc]
        """Reads answers itself, piece by piece."""

        def send(self, request: Any, **options: Any) -> Any:
            """Send a request, and return a complete answer."""
            deadline = time.monotonic() + seconds
            answer = super().send(request, **{**options, "stream": True})
            try:
                content = _limited(answer, deadline)
            finally:
                answer.close()
            content = content.replace(secret, BLOT) if secret else content
            headers = [(name, value) for name, value in answer.headers.multi_items() if name not in _REPLACED]
            headers += _shortened_wait(answer.headers)
            reason = {name: value for name, value in answer.extensions.items() if name == "reason_phrase"}
            return type(answer)(
                answer.status_code, headers=headers, content=content, request=request, extensions=reason
            )

    # A redirected answer would be read to its end before this class sees it.
    return Guarded(follow_redirects=False)


_REPLACED = ("content-encoding", "content-length", "transfer-encoding", "retry-after", "retry-after-ms")


def _limited(answer: Any, deadline: float) -> bytes:
    pieces, size = [], 0
    for piece in answer.iter_bytes():
        size += len(piece)
        if size > ANSWER_BYTES:
            raise UserError(f"the answer is larger than {ANSWER_BYTES // 2**20} MB")
        if time.monotonic() > deadline:
            raise UserError("the answer came so slowly that it was given up")
        pieces.append(piece)
    return b"".join(pieces)


def _shortened_wait(headers: Any) -> list[tuple[str, str]]:
    """Return the header that says when to try again, with a wait that is not too long."""
    for name, scale in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            wait = float(headers[name]) / scale
        except (KeyError, ValueError):
            continue
        if wait >= 0:
            return [("retry-after-ms", f"{min(wait, WAIT_SECONDS) * 1000:.0f}")]
    return []


def within(seconds: float, call: Callable[[], Answer]) -> Answer:
    """Return what a function returns, or raise a TimeoutError if that takes too long.

    The function goes on in a thread that ends with the process at the latest.
    """
    outcome: Future[Answer] = Future()

    def settle() -> None:
        try:
            outcome.set_result(call())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=settle, daemon=True).start()
    return outcome.result(seconds)


def printable(text: object, limit: int = 300) -> str:
    r"""Return a text from elsewhere as one line of printable characters."""
    shown = "".join(letter if letter.isprintable() else " " for letter in str(text)[: 4 * limit])
    return " ".join(shown.split())[:limit]


DEFAULT_URL = "https://api.openai.com/v1"

NO_KEY = "none"
"""What is sent to a server that needs no key: the package insists on one."""

PARALLEL_REQUESTS = 8
"""Requests that are under way at the same time."""

REQUEST_TEXTS = 128
REQUEST_CHARACTERS = 400_000
"""Texts and characters per request, to stay below the 300,000 tokens that OpenAI accepts in one request."""

RETRIES = 5
"""How often a request is sent again: after 0.5 s, then after twice as long each time, or when the server says."""

ALL_SECONDS = 300.0
"""The longest time for a request with all its tries."""

NO_API = "Does OPENAI_BASE_URL name an OpenAI-compatible server, with /v1 at its end?"

Question = TypeVar("Question")
Answer = TypeVar("Answer")


def _address() -> tuple[str, SplitResult]:
    url = (os.environ.get("OPENAI_BASE_URL") or DEFAULT_URL).rstrip("/")
    return url, urlsplit(url)


def public_url() -> str:
    """Return the address of the server, without a password that it may have."""
    _, parts = _address()
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


class OpenAIServer:
    """The server of ``OPENAI_BASE_URL`` (by default OpenAI's own), with the key of ``OPENAI_API_KEY``.

    The package `openai` sends the requests and retries them where that can help. This class turns its errors
    into messages for users. An answer must be complete after `timeout` seconds, and all tries after `patience`.
    """

    def __init__(self, *, timeout: float = 60.0, retries: int = RETRIES, patience: float = ALL_SECONDS) -> None:
        self._openai = require("openai", extra="openai")
        url, parts = _address()
        # The address is stored with the vectors and shown in messages, so it must not hold a password.
        self.public_url = public_url()
        if is_on(NO_SERVER):
            raise UsageError(f"Nothing is sent to {self.public_url}, because --offline is set ({NO_SERVER}).")
        if parts.scheme not in ("http", "https"):
            raise UsageError(f"OPENAI_BASE_URL is {url!r}, but it must start with https:// or http://.")
        key = os.environ.get("OPENAI_API_KEY")
        if not key and url == DEFAULT_URL:
            raise UsageError(
                "The OpenAI API needs a key: set OPENAI_API_KEY, or set OPENAI_BASE_URL to a server that needs none."
            )
        self._tries = retries + 1
        self._patience = patience
        self._client = self._openai.OpenAI(
            api_key=key or NO_KEY, base_url=url, timeout=timeout, max_retries=retries,
            http_client=guarded_client(self._openai, key=key or "", seconds=timeout),
        )  # fmt: skip
        weakref.finalize(self, self._client.close)

    def embed(self, model: str, texts: list[str]) -> Any:
        """Return the server's answer to a request for embeddings."""
        # Not every server knows the base64 format that the package asks for by default.
        return self._ask(lambda: self._client.embeddings.create(model=model, input=texts, encoding_format="float"))

    def chat(self, model: str, messages: list[dict[str, str]]) -> Any:
        """Return the server's answer to a chat."""
        return self._ask(lambda: self._client.chat.completions.create(model=model, messages=messages))

    def _ask(self, request: Callable[[], Answer]) -> Answer:
        try:
            return within(self._patience, request)
        except self._openai.APIStatusError as error:
            raise _refusal(error.status_code)(
                f"{self.public_url} refused: {error.status_code} {_explanation(error)}. {_advice(error.status_code)}"
            ) from error
        except self._openai.APIConnectionError as error:
            reason = printable(error.__cause__ or error)
            raise ExternalError(
                f"{self.public_url} did not answer in {self._tries} tries ({reason}). Is the "
                "address right (OPENAI_BASE_URL), and is the server up? Run this again to continue: finished work is "
                "kept."
            ) from error
        except UserError as error:
            raise ExternalError(f"{self.public_url} cannot be used: {error}. Finished work is kept.") from None
        except TimeoutError:
            raise ExternalError(
                f"{self.public_url} did not answer in {self._patience:.0f} seconds. Run this again to continue: "
                "finished work is kept."
            ) from None
        except Exception as error:  # what the package makes of an answer is not under our control
            raise ExternalError(f"{self.public_url} did not answer with JSON ({printable(error)}). {NO_API}") from error


def _explanation(error: Any) -> str:
    """Return what the server says about an error: {"error": {"message": ...}}, or less structured."""
    body = error.body
    if isinstance(body, dict):
        body = body.get("message", body.get("detail", body))
    return printable(body or error.response.text or error.response.reason_phrase).rstrip(".")


def _refusal(status: int) -> type[TextspectraError]:
    """Return the kind of error: a wrong key or name, a server that may answer later, or texts that it does not take."""
    if status in (401, 403, 404):
        return UsageError
    return ExternalError if status >= 500 or status in (408, 409, 429) else UserError


def _advice(status: int) -> str:
    if status in (401, 403):
        return "Check the key in OPENAI_API_KEY: it is missing, wrong, or not allowed to use this model."
    if status == 404:
        return "Check the name of the model, and the end of OPENAI_BASE_URL, which is /v1 for most servers."
    if status == 429:
        return "The quota is used up, or requests come too fast. Run this again later: finished work is kept."
    return "Finished work is kept."


def in_parallel(ask: Callable[[Question], Answer], questions: Iterable[Question]) -> Iterator[Answer]:
    """Yield the answer to each question, in order, with several requests at a time."""
    with ThreadPoolExecutor(PARALLEL_REQUESTS) as pool:
        yield from pool.map(ask, questions)


class OpenAIBackend:
    """A model of an OpenAI-compatible server, chosen as ``openai:MODEL``.

    Blank texts are not sent, since OpenAI refuses them; they get a row of zeros.
    """

    batch_size = REQUEST_TEXTS * PARALLEL_REQUESTS

    def __init__(self, model: str) -> None:
        self.name = f"openai:{model}"
        self._model = model
        self._server = OpenAIServer()
        self.settings: Mapping[str, Any] = {"model": model, "base_url": self._server.public_url}
        self._dimension: int | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text; a blank text gives zeros."""
        filled = [row for row, text in enumerate(texts) if text.strip()]
        # If all texts are blank, one word is sent to learn the length of a vector.
        sent = [texts[row] for row in filled] or ["text"]
        vectors = self._stack([vector for some in in_parallel(self._request, _requests(sent)) for vector in some])
        result = np.zeros((len(texts), vectors.shape[1]), np.float32)
        result[filled] = vectors[: len(filled)]
        return result

    def _request(self, texts: list[str]) -> list[NDArray[np.float32]]:
        answer = self._server.embed(self._model, texts)
        try:
            rows = {int(entry.index): np.asarray(list(entry.embedding), np.float32) for entry in answer.data}
        except (AttributeError, TypeError, ValueError, OverflowError) as error:
            raise ExternalError(
                f"{self._server.public_url} gave no vectors for {self.name} ({printable(error)}). {NO_API}"
            ) from error
        if sorted(rows) != list(range(len(texts))):
            raise ExternalError(
                f"{self._server.public_url} gave {len(rows):,} vectors for {len(texts):,} texts, so it is not clear "
                "which vector belongs to which text. The server or its model does not support lists of texts."
            )
        return [rows[row] for row in range(len(texts))]

    def _stack(self, vectors: list[NDArray[np.float32]]) -> NDArray[np.float32]:
        lengths = {vector.shape for vector in vectors} | ({(self._dimension,)} if self._dimension else set())
        if len(lengths) > 1 or vectors[0].ndim != 1:
            found = ", ".join(str(shape).strip("(,)") for shape in sorted(lengths))
            raise ExternalError(
                f"{self._server.public_url} gave vectors of different lengths ({found}) for {self.name}: its model "
                "changed during this run. Run this again when the server keeps to one model."
            )
        self._dimension = len(vectors[0])
        return np.stack(vectors)


def _requests(texts: list[str]) -> list[list[str]]:
    """Split texts into requests that are not too long."""
    requests: list[list[str]] = []
    characters = 0
    for text in texts:
        characters += len(text)
        if not requests or len(requests[-1]) == REQUEST_TEXTS or characters > REQUEST_CHARACTERS:
            requests.append([])
            characters = len(text)
        requests[-1].append(text)
    return requests
