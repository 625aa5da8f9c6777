"""Embed texts: each distinct text once, and only those that are not in the cache."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import UserError
from .base import Backend, EncoderBackend, text_keys
from .cache import CachedVectors, EmbeddingCache, Hits
from .registry import DEFAULT_MODEL, Model, chosen_backend

# Texts are written to the cache in groups of this size, or after this time; a killed run loses no more than that.
STORE_TEXTS = 4096
STORE_SECONDS = 5.0

_logger = logging.getLogger(__name__)


def embed_texts(
    texts: Sequence[str],
    model: Model = DEFAULT_MODEL,
    *,
    cache: EmbeddingCache | bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> NDArray[np.float32]:
    """Return one vector for each text, in order.

    Identical texts are embedded once. Texts whose vectors are in the cache are not embedded again. New vectors are
    written to the cache during the run, so a run that was killed continues where it stopped.

    Parameters
    ----------
    texts : sequence of str
        The texts. An empty one is allowed; most models give it a row of zeros.
    model : str, Backend, encoder or callable, default="auto"
        "auto" is minilm for up to 50,000 distinct texts, and wordllama for more. Or anything that :func:`as_backend`
        takes: a name, an object with ``encode(texts)``, or a function from a list of texts to an array.
    cache : EmbeddingCache or bool
        Where to keep the vectors: True for the user's own cache, False for none. The vectors of encoders and
        functions are not cached, because nothing identifies them.
    progress : callable, optional
        Called as ``progress(done, total)`` during the run; both count distinct texts. With it, the logger
        ``textspectra`` also gets the time that is left, once, if it is more than half a minute.

    Returns
    -------
    ndarray of float32, shape (len(texts), dimension)

    Raises
    ------
    UserError
        If `texts` is not a sequence of strings, the model is unknown, or it does not give one finite vector per text.
    ExternalError
        If a server or a download fails.

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


def _distinct(texts: Sequence[str]) -> tuple[list[str], NDArray[np.intp]]:
    """Return the distinct texts in order of appearance, and the position of each row among them."""
    if isinstance(texts, str | bytes):
        raise UserError("texts is a single string; give a list of strings, even for one text.")
    wrong = {kind for kind in set(map(type, texts)) if not issubclass(kind, str)}
    if wrong:
        row, text = next((row, text) for row, text in enumerate(texts) if type(text) in wrong)
        raise UserError(
            f"texts has {text!r} at row {row}, which is not a string ({type(text).__name__}); "
            "remove these rows, or convert them to strings."
        )
    positions = {text: position for position, text in enumerate(dict.fromkeys(texts))}
    return list(positions), np.fromiter(map(positions.__getitem__, texts), np.intp, len(texts))


class _Run:
    """The state of one call: the vectors, and which distinct texts have one already."""

    def __init__(
        self,
        backend: Backend,
        texts: list[str],
        codes: NDArray[np.intp],
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self._backend, self._texts, self._codes, self._progress = backend, texts, codes, progress
        self._first_rows = np.empty(len(texts), np.intp)
        # Backward, so that the first of several rows with the same text is written last.
        self._first_rows[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
        self._result = np.zeros((0, 0), np.float32)
        self._known = np.zeros(len(texts), bool)
        self._keys = np.zeros((0, 2), np.uint64)

    def take_known(self, stored: CachedVectors) -> None:
        """Take the vectors that are in the cache."""
        self._keys = text_keys(self._backend, self._texts)
        for positions, vectors in stored.find(self._keys):
            self._fill(positions, vectors)
        self._report()

    def embed_missing(self, stored: CachedVectors | None) -> None:
        """Embed the missing texts in batches of similar length, and store them in groups."""
        missing = np.flatnonzero(~self._known)
        lengths = np.fromiter(map(len, self._texts), np.intp, len(self._texts))[missing]
        missing = missing[np.argsort(-lengths, kind="stable")]
        size = max(1, int(self._backend.batch_size))
        finished: list[Hits] = []
        since = time.monotonic()
        forecast = Forecast(self._backend.name)
        if len(missing) and "base_url" in self._backend.settings:
            _logger.info("Sending %s texts to %s.", f"{len(missing):,}", self._backend.settings["base_url"])
        # The longest texts come first, so that a run that needs too much memory fails at once. The other batches come
        # in random order, so that the first ones predict the speed of the rest.
        starts = np.arange(0, len(missing), size)
        np.random.default_rng(0).shuffle(starts[1:])
        try:
            for start in starts.tolist():
                positions = missing[start : start + size]
                batch = [self._texts[position] for position in positions]
                vectors = _check_vectors(self._backend.embed(batch), batch, self._backend.name)
                self._fill(positions, vectors)
                finished.append((positions, vectors))
                self._report(forecast)
                if len(finished) * size >= STORE_TEXTS or time.monotonic() - since > STORE_SECONDS:
                    self._store(stored, finished)
                    since = time.monotonic()
        finally:  # an error or Ctrl-C in a later batch must not lose the earlier ones
            self._store(stored, finished)

    def _store(self, stored: CachedVectors | None, finished: list[Hits]) -> None:
        if stored is not None and finished:
            positions, vectors = map(np.concatenate, zip(*finished, strict=True))
            stored.add(self._keys[positions], vectors)
        finished.clear()

    def _fill(self, positions: NDArray[np.intp], vectors: NDArray[np.float32]) -> None:
        if not self._known.any():
            self._result = np.zeros((len(self._codes), vectors.shape[1]), np.float32)
        if vectors.shape[1] != self._result.shape[1]:
            raise UserError(
                f"{self._backend.name} gave vectors of length {self._result.shape[1]} and of length "
                f"{vectors.shape[1]}; the model has changed. If the old vectors are from the cache, delete them with "
                "`textspectra cache --clear`, or run once with cache=False."
            )
        self._result[self._first_rows[positions]] = vectors
        self._known[positions] = True

    def _report(self, forecast: Forecast | None = None) -> None:
        if self._progress is not None:
            done, total = int(self._known.sum()), len(self._known)
            self._progress(done, total)
            if forecast is not None:
                forecast(done, total)

    def spread(self) -> NDArray[np.float32]:
        """Copy vectors to the rows of repeated texts, in place, because a second array would double the memory."""
        sources = self._first_rows[self._codes]
        repeats = np.flatnonzero(sources != np.arange(len(sources)))
        for start in range(0, len(repeats), 4096):
            rows = repeats[start : start + 4096]
            self._result[rows] = self._result[sources[rows]]
        return self._result


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


class Forecast:
    """Log the time that is left, once, if it is more than half a minute.

    Call it as ``forecast(done, total)``. The first call starts the clock, and the next ones measure the speed.
    """

    def __init__(self, model: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._model, self._clock = model, clock
        self._reports: list[tuple[float, int]] = []
        self._logged = False

    def __call__(self, done: int, total: int) -> None:
        """Record the progress."""
        self._reports.append((self._clock(), done))
        (start, done_before), (now, _) = self._reports[0], self._reports[-1]
        is_measured = len(self._reports) > 3 or now - start >= 5
        if self._logged or not is_measured or done == done_before:
            return
        left = (total - done) * (now - start) / (done - done_before)
        if left > 30:
            self._logged = True
            _logger.info(
                "Embedding with %s will take about %s more.%s", self._model, _duration(left), _faster(self._model)
            )


def _faster(model: str) -> str:
    return "" if model == "wordllama" else " For a faster model with coarser groups: --model wordllama"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 4800 else f"{seconds / 3600:.1f} hours"
