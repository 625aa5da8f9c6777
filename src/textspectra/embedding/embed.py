"""Embed texts: each distinct text once, and only those that are not in the cache."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import count

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

    See Also
    --------
    cluster_texts : Embed texts and group them.
    list_models : The models that can be used.

    Examples
    --------
    >>> vectors = embed_texts(["good morning", "good evening", "good morning"], "wordllama", cache=False)
    >>> vectors.shape
    (3, 256)
    >>> bool((vectors[0] == vectors[2]).all())
    True
    """
    distinct, sources = _distinct(texts)
    backend = chosen_backend(model, len(distinct)).backend
    if not distinct:
        return np.zeros((0, 0), np.float32)
    cache = EmbeddingCache() if cache is True else cache
    run = _Run(backend, distinct, sources, progress)
    with cache.open(backend) if cache and not isinstance(backend, EncoderBackend) else nullcontext() as stored:
        run.embed(stored)
    # Vectors are copied to the rows of repeated texts in place, because a second array would double the memory.
    repeats = np.flatnonzero(sources != np.arange(len(sources)))
    for start in range(0, len(repeats), 4096):
        rows = repeats[start : start + 4096]
        run.result[rows] = run.result[sources[rows]]
    return run.result


def _distinct(texts: Sequence[str]) -> tuple[list[str], NDArray[np.intp]]:
    """Return the distinct texts in order of appearance, and for each row the first row with the same text."""
    if isinstance(texts, str | bytes):
        raise UserError("texts is a single string; give a list of strings, even for one text.")
    wrong = {kind for kind in set(map(type, texts)) if not issubclass(kind, str)}
    if wrong:
        row, text = next((row, text) for row, text in enumerate(texts) if type(text) in wrong)
        raise UserError(
            f"texts has {text!r} at row {row}, which is not a string ({type(text).__name__}); "
            "remove these rows, or convert them to strings."
        )
    first_rows: dict[str, int] = {}
    sources = np.fromiter(map(first_rows.setdefault, texts, count()), np.intp, len(texts))
    return list(first_rows), sources


class _Run:
    """The state of one call: the vectors in the first row of each text, and which texts have one already."""

    def __init__(
        self, backend: Backend, texts: list[str], sources: NDArray[np.intp],
        progress: Callable[[int, int], None] | None,
    ) -> None:  # fmt: skip
        self._backend, self._texts, self._n_rows = backend, texts, len(sources)
        self._rows = np.flatnonzero(sources == np.arange(len(sources)))
        self._reports = [progress] if progress else []
        self._known = np.zeros(len(texts), bool)
        self._finished: list[Hits] = []  # not in the cache yet
        self.result = np.zeros((0, 0), np.float32)

    def embed(self, stored: CachedVectors | None) -> None:
        """Take the vectors in the cache, and embed the other texts in batches of similar length."""
        if stored:
            self._keys = text_keys(self._backend, self._texts)
            for positions, vectors in stored.find(self._keys):
                self._fill(positions, vectors)
            self._report()
        missing = np.flatnonzero(~self._known)
        lengths = np.fromiter(map(len, self._texts), np.intp, len(self._texts))[missing]
        missing = missing[np.argsort(-lengths, kind="stable")]
        if len(missing) and "base_url" in self._backend.settings:
            _logger.info("Sending %s texts to %s.", f"{len(missing):,}", self._backend.settings["base_url"])
        if self._reports:
            self._reports.append(Forecast(self._backend.name))
        # The longest texts come first, so that a run that needs too much memory fails at once. The other batches come
        # in random order, so that the first ones predict the speed of the rest.
        size = max(1, int(self._backend.batch_size))
        starts = np.arange(0, len(missing), size)
        np.random.default_rng(0).shuffle(starts[1:])
        since = time.monotonic()
        try:
            for start in starts.tolist():
                positions = missing[start : start + size]
                vectors = self._vectors([self._texts[position] for position in positions])
                self._fill(positions, vectors)
                self._finished.append((positions, vectors))
                self._report()
                if len(self._finished) * size >= STORE_TEXTS or time.monotonic() - since > STORE_SECONDS:
                    self._store(stored)
                    since = time.monotonic()
        finally:  # an error or Ctrl-C in a later batch must not lose the earlier ones
            self._store(stored)

    def _vectors(self, batch: list[str]) -> NDArray[np.float32]:
        vectors = np.asarray(self._backend.embed(batch), np.float32)
        gave = f"{self._backend.name} gave"
        if vectors.ndim != 2 or len(vectors) != len(batch):
            shape = f"an array of shape {vectors.shape} for {len(batch):,} texts"
            raise UserError(f"{gave} {shape}; it must have one row per text.")
        finite = np.isfinite(vectors).all(axis=1)
        if not finite.all():
            text = batch[int(finite.argmin())][:60]
            raise UserError(f"{gave} a NaN or infinity for {text!r}; remove that text, or use another model.")
        return vectors

    def _fill(self, positions: NDArray[np.intp], vectors: NDArray[np.float32]) -> None:
        if not self._known.any():
            self.result = np.zeros((self._n_rows, vectors.shape[1]), np.float32)
        if vectors.shape[1] != self.result.shape[1]:
            raise UserError(
                f"{self._backend.name} gave vectors of length {self.result.shape[1]} and of length "
                f"{vectors.shape[1]}; the model has changed. If the old vectors are from the cache, delete them with "
                "`textspectra cache --clear`, or run once with cache=False."
            )
        self.result[self._rows[positions]] = vectors
        self._known[positions] = True

    def _report(self) -> None:
        for report in self._reports:
            report(int(self._known.sum()), len(self._known))

    def _store(self, stored: CachedVectors | None) -> None:
        if stored and self._finished:
            positions, vectors = map(np.concatenate, zip(*self._finished, strict=True))
            stored.add(self._keys[positions], vectors)
        self._finished.clear()


class Forecast:
    """Log the time that is left, once, if it is more than half a minute; the first call starts the clock."""

    def __init__(self, model: str) -> None:
        self._model, self._logged = model, False
        self._reports: list[tuple[float, int]] = []

    def __call__(self, done: int, total: int) -> None:
        """Record the progress."""
        self._reports.append((time.monotonic(), done))
        (start, done_before), (now, _) = self._reports[0], self._reports[-1]
        is_measured = len(self._reports) > 3 or now - start >= 5
        if self._logged or not is_measured or done == done_before:
            return
        left = (total - done) * (now - start) / (done - done_before)
        if left > 30:
            self._logged = True
            advice = "" if self._model == "wordllama" else " For a faster model with coarser groups: --model wordllama"
            _logger.info("Embedding with %s will take about %s more.%s", self._model, _duration(left), advice)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 4800 else f"{seconds / 3600:.1f} hours"
