"""A back end that knows what it was asked, which child processes can import too, and the words of the tiny models."""

import hashlib

import numpy as np

WORDS = ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]", "red", "green", "blue", "cat", "dog", "Instruct", "Query"]


class CountingBackend:
    name = "counting"

    def __init__(self, *, batch_size=10, dimension=8, settings=None, fail_after=None):
        self.batch_size, self.dimension = batch_size, dimension
        self.settings = settings or {}
        self.fail_after = fail_after
        self.seen = []

    def embed(self, texts):
        if self.fail_after is not None and len(self.seen) >= self.fail_after:
            raise RuntimeError("the machine is on fire")
        self.seen += texts
        return np.array([vector_of(text, self.dimension) for text in texts], np.float32)


def vector_of(text, dimension=8):
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return np.resize(np.frombuffer(digest, np.uint8), dimension).astype(np.float32)


def expected(texts, dimension=8):
    return np.array([vector_of(text, dimension) for text in texts])
