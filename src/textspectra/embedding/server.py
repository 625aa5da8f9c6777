"""Models behind any server with the OpenAI API, through the `openai` package."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

import numpy as np
from numpy.typing import NDArray

from ..errors import ExternalError, TextspectraError, UsageError, UserError, require
from .hub import NO_SERVER, is_on

DEFAULT_URL = "https://api.openai.com/v1"
ANSWER_BYTES = 2**26  # largest decompressed answer; 128 vectors of 4,096 numbers take 15 MB
REQUEST_TEXTS, REQUEST_CHARACTERS = 128, 400_000  # to stay below the 300,000 tokens that OpenAI accepts per request
PARALLEL_REQUESTS = 8

NO_API = "Does OPENAI_BASE_URL name an OpenAI-compatible server, with /v1 at its end?"
KEPT = "Finished work is kept."
CONTINUE = "Run this again to continue: finished work is kept."
WRONG_KEY = "Check the key in OPENAI_API_KEY: it is missing, wrong, or not allowed to use this model."
REFUSALS: dict[int, tuple[type[TextspectraError], str]] = {
    401: (UsageError, WRONG_KEY),
    403: (UsageError, WRONG_KEY),
    404: (UsageError, "Check the name of the model, and the end of OPENAI_BASE_URL, which is /v1 for most servers."),
    408: (ExternalError, KEPT),
    409: (ExternalError, KEPT),
    429: (ExternalError, f"The quota is used up, or requests come too fast. Run this again later: {KEPT.lower()}"),
}
"""The error and the advice for a status; for others, the server is busy or refuses the texts."""

Question = TypeVar("Question")
Answer = TypeVar("Answer")


def _url() -> str:
    return (os.environ.get("OPENAI_BASE_URL") or DEFAULT_URL).rstrip("/")


def public_url() -> str:
    """Return the address of the server without its password."""
    parts = urlsplit(_url())
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


class OpenAIServer:
    """The server of ``OPENAI_BASE_URL`` (by default OpenAI), with the key of ``OPENAI_API_KEY``.

    The `openai` package sends the requests, and retries them with growing waits if that can help. This class turns its
    errors into messages for users. `timeout` is the time without any data, and `patience` the time for all tries.
    """

    def __init__(self, *, timeout: float = 60.0, retries: int = 5, patience: float = 300.0) -> None:
        self._openai = require("openai", extra="openai")
        url = _url()
        # The address is stored with the vectors and appears in messages, so it must not hold a password.
        self.public_url = public_url()
        if is_on(NO_SERVER):
            raise UsageError(f"Nothing is sent to {self.public_url}, because --offline is set ({NO_SERVER}).")
        if not url.lower().startswith(("http://", "https://")):
            raise UsageError(f"OPENAI_BASE_URL is {url!r}, but it must start with https:// or http://.")
        key = os.environ.get("OPENAI_API_KEY", "")
        if not key and url == DEFAULT_URL:
            raise UsageError(
                "The OpenAI API needs a key: set OPENAI_API_KEY, or set OPENAI_BASE_URL to a server that needs none."
            )
        self._tries, self._patience = retries + 1, patience
        self._client = self._openai.OpenAI(
            api_key=key or "none",  # the package insists on a key
            base_url=url,
            timeout=timeout,
            max_retries=retries,
            http_client=_limited_client(self._openai.DefaultHttpxClient, key),
        )
        weakref.finalize(self, self._client.close)

    def embed(self, model: str, texts: list[str]) -> Any:
        """Return the answer to a request for embeddings."""
        # Not every server knows the base64 format that the package requests by default.
        return self._ask(self._client.embeddings.create, model=model, input=texts, encoding_format="float")

    def chat(self, model: str, messages: list[dict[str, str]]) -> Any:
        """Return the answer to a chat."""
        return self._ask(self._client.chat.completions.create, model=model, messages=messages)

    def _ask(self, create: Callable[..., Any], **request: object) -> Any:
        try:
            return _within(self._patience, partial(create, **request))
        except Exception as error:  # the package may fail in any way on an answer that it does not expect
            kind, message = self._explanation(error)
            raise kind(f"{self.public_url} {message}") from error

    def _explanation(self, error: Any) -> tuple[type[TextspectraError], str]:
        if isinstance(error, self._openai.APIStatusError):
            status, body = error.status_code, error.body
            if isinstance(body, dict):  # {"error": {"message": ...}}, or less structured
                body = body.get("message", body.get("detail", body))
            reason = printable(body or error.response.text or error.response.reason_phrase).rstrip(".")
            kind, advice = REFUSALS.get(status, (ExternalError if status >= 500 else UserError, KEPT))
            return kind, f"refused: {status} {reason}. {advice}"
        if isinstance(error, self._openai.APIConnectionError):
            tried = f"did not answer in {self._tries} tries ({printable(error.__cause__ or error)})"
            return ExternalError, f"{tried}. Is the address right (OPENAI_BASE_URL), and is the server up? {CONTINUE}"
        if isinstance(error, ExternalError):
            return ExternalError, f"cannot be used: {error}. {KEPT}"
        if isinstance(error, TimeoutError):
            return ExternalError, f"did not answer in {self._patience:.0f} seconds. {CONTINUE}"
        return ExternalError, f"did not answer with JSON ({printable(error)}). {NO_API}"


def _limited_client(base: Any, key: str) -> Any:
    """Return an HTTP client that limits the size of answers, and redacts the key in case a server repeats it."""

    class Limited(base):  # type: ignore[misc]
        def send(self, request: object, **options: object) -> object:
            content = bytearray()
            with closing(super().send(request, **{**options, "stream": True})) as answer:
                for piece in answer.iter_bytes():
                    content += piece
                    if len(content) > ANSWER_BYTES:
                        raise ExternalError(f"the answer is larger than {ANSWER_BYTES // 2**20} MB")
            if len(key) >= 6:  # shorter keys occur in any answer
                content = content.replace(key.encode(), b"[key]")
            stale = ("content-encoding", "content-length", "transfer-encoding")
            headers = [(name, value) for name, value in answer.headers.multi_items() if name not in stale]
            reason = {name: value for name, value in answer.extensions.items() if name == "reason_phrase"}
            complete = {"headers": headers, "content": bytes(content), "request": request, "extensions": reason}
            return type(answer)(answer.status_code, **complete)

    # The body of a redirect would be read before this class sees it.
    return Limited(follow_redirects=False)


def _within(seconds: float, call: Callable[[], object]) -> Any:
    """Return the result of a function, or raise a TimeoutError; the function goes on in a daemon thread."""
    outcome: Future[object] = Future()

    def run() -> None:
        try:
            outcome.set_result(call())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return outcome.result(seconds)


def printable(text: object, limit: int = 300) -> str:
    """Return a text from elsewhere as one line of printable characters."""
    line = "".join(letter if letter.isprintable() else " " for letter in str(text)[: 4 * limit])
    return " ".join(line.split())[:limit]


def in_parallel(ask: Callable[[Question], Answer], questions: Iterable[Question]) -> Iterator[Answer]:
    """Yield the answer to each question, in order, with several requests at a time."""
    with ThreadPoolExecutor(PARALLEL_REQUESTS) as pool:
        yield from pool.map(ask, questions)


class OpenAIBackend:
    """A model of an OpenAI-compatible server, chosen as ``openai:MODEL``.

    Blank texts are not sent, because OpenAI refuses them; they get a row of zeros.
    """

    batch_size = REQUEST_TEXTS * PARALLEL_REQUESTS

    def __init__(self, model: str) -> None:
        self.name = f"openai:{model}"
        self._model, self._server = model, OpenAIServer()
        self.settings: Mapping[str, object] = {"model": model, "base_url": self._server.public_url}
        self._dimension: int | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text; a blank text gives zeros."""
        filled = [row for row, text in enumerate(texts) if text.strip()]
        # If all texts are blank, one word is sent to learn the length of a vector.
        requests = _requests([texts[row] for row in filled] or ["text"])
        vectors = [vector for answer in in_parallel(self._request, requests) for vector in answer]
        shapes = {vector.shape for vector in vectors} | ({(self._dimension,)} if self._dimension else set())
        if len(shapes) > 1 or vectors[0].ndim != 1:
            lengths = ", ".join(str(shape).strip("(,)") for shape in sorted(shapes))
            raise ExternalError(
                f"{self._server.public_url} gave vectors of different lengths ({lengths}) for {self.name}: its model "
                "changed during this run. Run this again when the server keeps to one model."
            )
        self._dimension = len(vectors[0])
        result = np.zeros((len(texts), self._dimension), np.float32)
        result[filled] = np.stack(vectors)[: len(filled)]
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
