"""Which models have learned only English."""

from __future__ import annotations

import re

ENGLISH = (
    r"wordllama|minilm",
    r"potion-(base|retrieval)-\d+m",
    r"all-(minilm|mpnet|distilroberta|roberta)-.+",
    r"(paraphrase|multi-qa)-(minilm|mpnet)-.+",
    r"bge-(small|base|large)-en(-v1\.5)?",
    r"gte-(small|base|large)",
    r"e5-(small|base|large)(-v2)?",
    r"mxbai-embed-(large|xsmall)-v1",
    r"snowflake-arctic-embed-(xs|s|m|m-long|m-v1\.5|l)",
)
"""The last part of their names. The other models of the registry know many languages."""


def knows_only_english(model: str) -> bool:
    """Return whether a model is known to have learned only English; nothing is claimed about models outside the table.

    Examples
    --------
    >>> knows_only_english("float32:minilm"), knows_only_english("BAAI/bge-small-en-v1.5")
    (True, True)
    >>> knows_only_english("multilingual"), knows_only_english("owner/a-model-of-ours")
    (False, False)
    """
    last = re.split(r"[:/\\]", model.lower())[-1]
    return any(re.fullmatch(pattern, last) for pattern in ENGLISH)
