"""Embed texts: each distinct text once, and only those that are not in the cache."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from ..errors import UserError
from .base import Backend, EncoderBackend, text_keys
from .cache import CachedVectors, EmbeddingCache, Found
from .registry import DEFAULT_MODEL, INSTALL_FAST, Model, chosen_backend

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
    """Return a duration in a unit that a person would choose."""
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 4800 else f"{seconds / 3600:.1f} hours"


STORE_TEXTS = 4096
"""Texts that are written to the cache together ..."""

STORE_SECONDS = 5.0
"""... or fewer, when they took this long. A killed run loses no more than that."""

COPY_ROWS = 4096
"""Rows of repeated texts that are copied at a time."""

logger = logging.getLogger(__name__)

Progress = Callable[[int, int], None]


def embed_texts(
    texts: Sequence[str],
    model: Model = DEFAULT_MODEL,
    *,
    cache: EmbeddingCache | bool = True,
    progress: Progress | None = None,
) -> NDArray[np.float32]:
    """Return one vector for each text, in order.

    Identical texts are embedded once. Texts whose vectors are in the cache are not embedded again. New
    vectors are written to the cache during the run, so a run that was killed continues where it stopped.

    Parameters
    ----------
    texts : sequence of str
        The texts. An empty one is allowed; most models give it a row of zeros.
    model : str, Backend, encoder or callable, default="auto"
        "auto" is minilm for up to 50,000 distinct texts, and wordllama for more. Or anything that :func:`as_backend`
        takes: a name, an object with ``encode(texts)``, or a function from a list of texts to an array.
    cache : EmbeddingCache or bool
        Where to keep the vectors: True for the user's own cache, False for none. The vectors of encoders and
        functions are not cached, because nothing tells whether they are still the same the next time.
    progress : callable, optional
        Called as ``progress(done, total)`` while the work goes on; both count distinct texts. With it, the logger
        ``textspectra`` also gets the time that is left, once, if it is more than half a minute.

    Returns
    -------
    ndarray of float32, shape (len(texts), dimension)

    Raises
    ------
    UserError
        If `texts` is not a sequence of strings, the model is unknown, or it does not give one finite
        vector per text.

    Examples
    --------
    >>> vectors = embed_texts(["good morning", "good evening", "good morning"], "wordllama", cache=False)
    >>> vectors.shape
    (3, 256)
    >>> bool((vectors[0] == vectors[2]).all())
    True
    """
    distinct, codes = _distinct(texts)
    backend = chosen_backend(model, len(distinct)).backend
    if not distinct:
        return np.zeros((0, 0), np.float32)
    cache = EmbeddingCache() if cache is True else cache
    run = _Run(backend, distinct, codes, progress)
    if cache and not isinstance(backend, EncoderBackend):
        with cache.open(backend) as stored:
            run.take_known(stored)
            run.embed_missing(stored)
    else:
        run.embed_missing(None)
    return run.spread()


class _Run:
    """The state of one call: which distinct texts have a vector already, and the vectors."""

    def __init__(self, backend: Backend, texts: list[str], codes: NDArray[np.intp], progress: Progress | None) -> None:
        self.backend, self.texts, self.codes = backend, texts, codes
        self.first_rows = np.empty(len(texts), np.intp)
        # Backwards, so that the first of several rows with the same text is written last.
        self.first_rows[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
        self.result = np.zeros((0, 0), np.float32)
        self.known = np.zeros(len(texts), bool)
        self.keys = np.zeros((0, 2), np.uint64)
        self._progress = progress

    def take_known(self, stored: CachedVectors) -> None:
        self.keys = text_keys(self.backend, self.texts)
        for positions, vectors in stored.find(self.keys):
            self._fill(positions, vectors)
        self._report()

    def embed_missing(self, stored: CachedVectors | None) -> None:
        """Embed the missing texts in batches of similar length, and store each group as soon as it is done."""
        missing = np.flatnonzero(~self.known)
        lengths = np.fromiter(map(len, self.texts), np.intp, len(self.texts))[missing]
        missing = missing[np.argsort(-lengths, kind="stable")]
        size = max(1, int(self.backend.batch_size))
        finished: list[Found] = []
        since = time.monotonic()
        forecast = Forecast(self.backend.name)
        if len(missing) and "base_url" in self.backend.settings:
            logger.info("Sending %s texts to %s.", f"{len(missing):,}", self.backend.settings["base_url"])
        try:
            for start in _order(len(missing), size):
                positions = missing[start : start + size]
                batch = [self.texts[position] for position in positions]
                vectors = _check_vectors(self.backend.embed(batch), batch, self.backend.name)
                self._fill(positions, vectors)
                finished.append((positions, vectors))
                self._report(forecast)
                if len(finished) * size >= STORE_TEXTS or time.monotonic() - since > STORE_SECONDS:
                    self._store(stored, finished)
                    since = time.monotonic()
        finally:  # an error or Ctrl-C in a later batch must not lose the earlier ones
            self._store(stored, finished)

    def _store(self, stored: CachedVectors | None, finished: list[Found]) -> None:
        if stored is not None and finished:
            positions = np.concatenate([one for one, _ in finished])
            vectors = np.concatenate([one for _, one in finished])
            stored.add(self.keys[positions], vectors)
        finished.clear()

    def _fill(self, positions: NDArray[np.intp], vectors: NDArray[np.float32]) -> None:
        if not self.known.any():
            self.result = np.zeros((len(self.codes), vectors.shape[1]), np.float32)
        if vectors.shape[1] != self.result.shape[1]:
            raise UserError(
                f"{self.backend.name} gave vectors of length {self.result.shape[1]} and of length {vectors.shape[1]}; "
                "the model has changed. If the old vectors are from the cache, delete them with "
                "`textspectra cache --clear`, or run once with cache=False."
            )
        self.result[self.first_rows[positions]] = vectors
        self.known[positions] = True

    def _report(self, forecast: Forecast | None = None) -> None:
        if self._progress is not None:
            step = int(self.known.sum()), len(self.known)
            self._progress(*step)
            if forecast is not None:
                forecast(*step)

    def spread(self) -> NDArray[np.float32]:
        """Copy vectors to the rows of repeated texts, in place: a second array would double the memory."""
        sources = self.first_rows[self.codes]
        repeats = np.flatnonzero(sources != np.arange(len(sources)))
        for start in range(0, len(repeats), COPY_ROWS):
            some = repeats[start : start + COPY_ROWS]
            self.result[some] = self.result[sources[some]]
        return self.result


def _order(n_texts: int, size: int) -> list[int]:
    """Return where batches of texts, sorted by length, start: the longest texts first, the others in random order.

    So a run that needs too much memory fails at the start, and the speed of the next batches is that of the rest.
    """
    starts = np.arange(0, n_texts, size)
    np.random.default_rng(0).shuffle(starts[1:])
    return starts.tolist()


def _distinct(texts: Sequence[str]) -> tuple[list[str], NDArray[np.intp]]:
    """Return the distinct texts in order of appearance, and for each row its position among them."""
    if isinstance(texts, str | bytes):
        raise UserError("texts is a single string; give a list of strings, even for one text.")
    strange = {kind for kind in set(map(type, texts)) if not issubclass(kind, str)}
    if strange:
        row, text = next((row, text) for row, text in enumerate(texts) if type(text) in strange)
        raise UserError(
            f"texts has {text!r} at row {row}, which is not a string ({type(text).__name__}); "
            "remove such rows, or convert them to strings."
        )
    positions = {text: position for position, text in enumerate(dict.fromkeys(texts))}
    return list(positions), np.fromiter(map(positions.__getitem__, texts), np.intp, len(texts))


def _check_vectors(vectors: NDArray[np.float32], batch: list[str], name: str) -> NDArray[np.float32]:
    checked = np.asarray(vectors, np.float32)
    if checked.ndim != 2 or len(checked) != len(batch):
        raise UserError(
            f"{name} gave an array of shape {checked.shape} for {len(batch):,} texts; it must have one row per text."
        )
    finite = np.isfinite(checked).all(axis=1)
    if not finite.all():
        raise UserError(
            f"{name} gave a NaN or infinity for {batch[int(finite.argmin())][:60]!r}; remove that text, or use another "
            "model."
        )
    return checked
