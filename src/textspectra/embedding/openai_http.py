"""A server that speaks the OpenAI API: one request, tried again where that can help."""

from __future__ import annotations

import email.utils
import os
import random
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from ..errors import UserError
from ..validation import require

DEFAULT_URL = "https://api.openai.com/v1"

PASSING = {429, 500, 502, 503, 504}
"""Answers after which the same request may succeed."""

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
"""Seconds before the second try, doubled for each one after it, up to the longest."""

LONGEST_ASKED_WAIT = 600.0
"""A server that asks for more patience than this (a daily quota, mostly) is given up at once."""


class OpenAIServer:
    """A server that speaks the OpenAI API.

    Parameters
    ----------
    base_url : str, optional
        Where it is, up to and including the version: ``https://api.openai.com/v1``. Without it, address
        and key are those of ``OPENAI_BASE_URL`` (by default OpenAI's own) and ``OPENAI_API_KEY``.
    api_key : str, optional
        The key for `base_url`; servers on one's own machine mostly want none.
    timeout : float
        Seconds to wait for an answer.
    tries : int
        How often a request is sent before giving up.
    sleep : callable
        What to wait with; here for tests.

    Examples
    --------
    >>> OpenAIServer("http://127.0.0.1:8080/v1/").public_url
    'http://127.0.0.1:8080/v1'
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 60.0,
        *,
        tries: int = 6,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        httpx = require("httpx", extra="openai")
        if base_url is None:  # the user's key goes to the user's server and to no other
            base_url = os.environ.get("OPENAI_BASE_URL") or DEFAULT_URL
            api_key = api_key or os.environ.get("OPENAI_API_KEY")
        self.base_url = base_url.rstrip("/")
        if urlsplit(self.base_url).scheme not in ("http", "https"):
            raise UserError(f"The address {base_url!r} of the OpenAI server must start with https:// or http://.")
        if not api_key and self.base_url == DEFAULT_URL:
            raise UserError(
                "The OpenAI API needs a key: set OPENAI_API_KEY, or let OPENAI_BASE_URL name a server that needs none."
            )
        self._failures = httpx.TransportError
        self._tries, self._sleep = tries, sleep
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx.Client(headers=headers, timeout=timeout)
        weakref.finalize(self, self._client.close)

    @property
    def public_url(self) -> str:
        """The address without a user name or password that it may hold: fit to be stored and shown."""
        parts = urlsplit(self.base_url)
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))

    def post(self, path: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Send `payload` to ``base_url/path`` and return the answer.

        Busy servers (429, 500, 502, 503, 504) and connections that are cut or refused are tried again,
        after the time the server asks for, or else after waits that double and vary at random, so
        that many clients do not come back in the same second.

        Raises
        ------
        UserError
            If it still fails after the last try, or fails in a way that no further try can mend.
        """
        url = f"{self.base_url}/{path.lstrip('/')}"
        problem = ""
        for attempt in range(self._tries):
            asked = None
            try:
                answer = self._client.post(url, json=dict(payload))
            except self._failures as error:
                problem = str(error) or type(error).__name__
            else:
                if answer.status_code == 200:
                    return self._content(answer)
                problem = f"{answer.status_code} {_explanation(answer)}".rstrip()
                asked = _asked_wait(answer.headers.get("retry-after", ""))
                if answer.status_code not in PASSING or _is_final(answer, asked):
                    raise UserError(f"{self._name(path)} refused: {problem}. {_advice(answer.status_code)}")
            if attempt + 1 < self._tries:
                backoff = min(LONGEST_WAIT, FIRST_WAIT * 2**attempt) * random.uniform(0.5, 1)  # noqa: S311
                self._sleep(backoff if asked is None else asked)
        raise UserError(
            f"{self._name(path)} did not answer in {self._tries} tries; the last problem: {problem}. Is the address "
            "right (OPENAI_BASE_URL), and is the server up? What was done so far is kept: run it again to go on."
        )

    def _name(self, path: str) -> str:
        return f"{self.public_url}/{path.lstrip('/')}"

    def _content(self, answer: Any) -> dict[str, Any]:
        try:
            content = answer.json()
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise UserError(
                f"{self.public_url} answered with something else than a JSON object: {answer.text[:80]!r}. "
                "Does OPENAI_BASE_URL name an OpenAI-compatible server, with /v1 at its end?"
            )
        return content


def _error_part(answer: Any) -> Any:
    """Return what the server says about an error: {"error": {"message": ...}} with OpenAI, looser elsewhere."""
    try:
        content = answer.json()
    except ValueError:
        return answer.text
    return content.get("error", content.get("detail", content)) if isinstance(content, dict) else content


def _explanation(answer: Any) -> str:
    part = _error_part(answer)
    message = part.get("message", part) if isinstance(part, dict) else part
    return " ".join(str(message).split())[:300].rstrip(".")


def _is_final(answer: Any, asked: float | None) -> bool:
    part = _error_part(answer)
    out_of_money = isinstance(part, dict) and part.get("code") == "insufficient_quota"
    return out_of_money or (asked is not None and asked > LONGEST_ASKED_WAIT)


def _asked_wait(value: str) -> float | None:
    """Return the seconds that a Retry-After header asks for: a number, or a date; None if it asks for nothing.

    Examples
    --------
    >>> _asked_wait("7"), _asked_wait("Thu, 01 Jan 1970 00:00:00 GMT"), _asked_wait("soon"), _asked_wait("")
    (7.0, 0.0, None, None)
    """
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except (TypeError, ValueError):
            return None
    return max(0.0, seconds) if seconds == seconds else None


def _advice(status: int) -> str:
    if status in (401, 403):
        return "Check the key in OPENAI_API_KEY: it is missing, wrong, or not allowed to use this model."
    if status == 404:
        return "Check the name of the model, and that OPENAI_BASE_URL ends as the server wants it, mostly in /v1."
    if status == 429:
        return "The quota is used up; see to it with the provider and run this again: what was done so far is kept."
    return "What was done so far is kept."
