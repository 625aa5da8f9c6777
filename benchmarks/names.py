"""Names of groups: how near they are to the names of the true classes, and what they cost.

``python benchmarks/names.py`` rewrites ``names.md``. The groups are the true classes, so only the names are measured. Of
each set it takes the 3,000 texts that have ready MiniLM vectors; the class names are the labels with blanks for underscores.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from harness import DATA, Row, main
from numpy.typing import NDArray

from textspectra import embed_texts
from textspectra.topics.describe import Topic, describe_clusters

SETS = ["banking77", "massive_intent", "stackexchange121_s", "reddit50_s", "dbpedia14"]
JUDGE = "minilm"
"""The model whose cosines compare names with the names of the classes."""

COSINE_BAR, NEAREST_BAR = "≥ 0.62", "≥ 0.70"


class LabelledTexts:
    """The texts of a set that have ready vectors, with their classes."""

    def __init__(self, name: str) -> None:
        table = pq.read_table(DATA / f"{name}.parquet").to_pydict()
        ready = np.load(DATA / "minilm" / f"{name}.npz")
        self.texts = [table["text"][row] for row in ready["row"]]
        classes, self.codes = np.unique([table["label"][row] for row in ready["row"]], return_inverse=True)
        self.classes = [label.replace("_", " ") for label in classes.tolist()]
        self.minilm = ready["embedding"].astype(np.float32)

    def vectors(self, model: str) -> NDArray[np.float32]:
        return self.minilm if model == JUDGE else embed_texts(self.texts, model)

    def describe(self, model: str, *, phrases: bool) -> tuple[list[Topic], float]:
        """Return the topics of the classes, and the CPU time that their names took."""
        spent = 0.0

        def embed(some: list[str]) -> NDArray[np.float32]:
            nonlocal spent
            start = time.process_time()
            found = embed_texts(some, model, cache=False)
            spent += time.process_time() - start
            return found

        return describe_clusters(self.texts, self.vectors(model), self.codes, embed=embed if phrases else None), spent


def judged(names: list[str], classes: list[str]) -> tuple[float, float]:
    """Return the mean cosine of names with their class names, and the share whose nearest class name is their own."""
    one, other = (unit(embed_texts(some, JUDGE)) for some in (names, classes))
    cosines = one @ other.T
    return float(np.diag(cosines).mean()), float((cosines.argmax(axis=1) == np.arange(len(names))).mean())


def unit(X: NDArray[Any]) -> NDArray[Any]:
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(np.float32).tiny)


def bench_quality(model: str, *, phrases: bool) -> list[Row]:
    sets = {name: LabelledTexts(name) for name in SETS}
    named = {name: some.describe(model, phrases=phrases)[0] for name, some in sets.items()}
    found = {name: judged([topic.name for topic in named[name]], some.classes) for name, some in sets.items()}
    cosine, nearest = np.mean(list(found.values()), axis=0)
    details = [", ".join(f"{name} {values[place]:.2f}" for name, values in found.items()) for place in (0, 1)]
    how = f"phrases, {model} vectors" if phrases else "three keywords, as without a model"
    bars = (COSINE_BAR, NEAREST_BAR) if phrases else ("shown", "shown")
    return [
        (f"{how}: mean cosine with the name of the class", bars[0], f"{cosine:.3f}", details[0]),
        (f"{how}: nearest class name is its own", bars[1], f"{nearest:.3f}", details[1]),
    ]


PARTS: dict[str, Callable[[], list[Row]]] = {
    "keywords": lambda: bench_quality(JUDGE, phrases=False),
    "minilm": lambda: bench_quality(JUDGE, phrases=True),
    "wordllama": lambda: bench_quality("wordllama", phrases=True),
}

if __name__ == "__main__":
    main(__file__, "names.md", "Names of groups, with the true classes as groups", PARTS)
