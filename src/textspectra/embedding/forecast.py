"""How long embedding will take, logged once if it is long."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from importlib.util import find_spec

from .registry import INSTALL_FAST

LONG_SECONDS = 30.0
"""Work that takes no longer than this is not announced."""

MEASURED_REPORTS = 3
"""Reports of progress after which the speed is known ..."""

MEASURED_SECONDS = 5.0
"""... or this much time, if the reports are rare."""

logger = logging.getLogger(__name__)


class Forecast:
    """Log how long the rest of the work takes, once, if that is more than half a minute.

    Call it as ``forecast(done, total)``. The first call starts the clock, and the next ones give the speed.

    Examples
    --------
    >>> forecast = Forecast("minilm", clock=iter([0, 1, 2, 3]).__next__)
    >>> [forecast.seconds_left(done, 1000) for done in (100, 110, 120, 130)]
    [0.0, 0.0, 0.0, 87.0]
    """

    def __init__(self, model: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._model, self._clock = model, clock
        self._reports: list[tuple[float, int]] = []
        self._logged = False

    def __call__(self, done: int, total: int) -> None:
        """Take note of the progress."""
        left = self.seconds_left(done, total)
        if left > LONG_SECONDS and not self._logged:
            self._logged = True
            logger.info("Embedding with %s takes about %s from now on.%s", self._model, in_words(left), self._faster())

    def seconds_left(self, done: int, total: int) -> float:
        """Take note of the progress, and return how long the rest takes; 0 as long as the speed is unknown."""
        self._reports.append((self._clock(), done))
        (start, done_before), (now, _) = self._reports[0], self._reports[-1]
        measured = len(self._reports) > MEASURED_REPORTS or now - start >= MEASURED_SECONDS
        return (total - done) * (now - start) / (done - done_before) if measured and done > done_before else 0.0

    def _faster(self) -> str:
        if self._model == "wordllama":
            return ""
        first = "" if find_spec("wordllama") else f"{INSTALL_FAST} and "
        return f" For a faster model with coarser groups: {first}--model wordllama"


def in_words(seconds: float) -> str:
    """Return a duration in a unit that a person would choose.

    Examples
    --------
    >>> in_words(42.3), in_words(100), in_words(5000)
    ('42 seconds', '2 minutes', '1.4 hours')
    """
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 4800 else f"{seconds / 3600:.1f} hours"
