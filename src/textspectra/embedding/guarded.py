"""A client for HTTP that trusts no server: it limits the time and the size of an answer, and the wait for the next try.

The package `openai` retries and times out, but its timeouts are for single reads, and it reads any answer to its end.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from ..errors import UserError

ANSWER_BYTES = 2**26
"""Size of an answer, decompressed. 128 vectors of 4,096 numbers take 15 MB."""

WAIT_SECONDS = 30.0
"""The longest wait that a server can ask for before the next try."""

SHORTEST_KEY = 6
"""Characters of a key from which on it is blotted out; shorter ones occur in any answer."""

BLOT = b"[key]"

Answer = TypeVar("Answer")


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

    Examples
    --------
    >>> within(60, lambda: 7)
    7
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
    r"""Return a text from elsewhere as one line of printable characters.

    Examples
    --------
    >>> printable("\x1b[31mred\u202e\n alert")
    '[31mred alert'
    """
    shown = "".join(letter if letter.isprintable() else " " for letter in str(text)[: 4 * limit])
    return " ".join(shown.split())[:limit]
