"""Static models of model2vec: a table of token vectors, from a folder or the hub."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..packages import require
from .folders import (
    announce_download,
    cannot_load,
    check_installed,
    check_on_hub,
    checked_revision,
    folder_fingerprint,
    hub_revision,
)

COMPLETE_FILE = "config.json"


class Model2VecBackend:
    """A model of model2vec in a folder or on the Hugging Face hub, chosen as ``model2vec:NAME_OR_FOLDER``.

    A folder is loaded when the first text is embedded. A hub model that is not on this machine is downloaded at once.
    """

    batch_size = 4096

    def __init__(self, source: str) -> None:
        check_installed("model2vec", extra="model2vec")
        folder = Path(source).expanduser()
        if folder.is_dir():
            self._source = str(folder.resolve())
            version: dict[str, str | None] = {"fingerprint": folder_fingerprint(folder)}
        else:
            self._source = source
            version = {"revision": hub_revision(source, file=COMPLETE_FILE) or self._fetch()}
        self.name = f"model2vec:{self._source}"
        self.settings: Mapping[str, Any] = version

    def _fetch(self) -> str | None:
        announce_download(self._source, check_on_hub(self._source))
        try:
            self._model  # noqa: B018  loading downloads it
        except Exception as error:  # the connection can fail in the ways of several HTTP libraries
            checked_revision(self._source, COMPLETE_FILE)  # damaged files are the better reason
            raise cannot_load(self._source, error) from error
        return checked_revision(self._source, COMPLETE_FILE)

    @cached_property
    def _model(self) -> Any:
        static = require("model2vec", extra="model2vec").StaticModel
        return static.from_pretrained(self._source, force_download=False)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text; a text without any known token gives zeros."""
        return np.asarray(self._model.encode(list(texts), use_multiprocessing=False), np.float32)
