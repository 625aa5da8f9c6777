"""embed_texts: order, repeats, the cache, errors, memory."""

import logging
import subprocess
import sys
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from embedding_helpers import CountingBackend, expected
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from textspectra.embedding.cache import EmbeddingCache
from textspectra.embedding.embed import Forecast, embed_texts
from textspectra.embedding.registry import load_model
from textspectra.errors import UserError


@given(st.lists(st.text(alphabet="ab\u00e9\ud800\0 ", max_size=3), min_size=1, max_size=60), st.integers(0, 60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
def test_rows_are_in_order_whatever_repeats_and_whatever_is_cached(tmp_path_factory, texts, n_cached):
    cache = EmbeddingCache(tmp_path_factory.mktemp("cache"))
    embed_texts(texts[:n_cached], CountingBackend(batch_size=3), cache=cache)
    backend = CountingBackend(batch_size=3)
    result = embed_texts(texts, backend, cache=cache)
    assert result.dtype == np.float32
    assert np.array_equal(result, expected(texts))
    assert sorted(backend.seen) == sorted(set(texts) - set(texts[:n_cached]))
    assert np.array_equal(embed_texts(texts, CountingBackend(fail_after=0), cache=cache), result)


def test_identical_texts_are_embedded_once_without_a_cache_too(backend):
    result = embed_texts(["b", "a", "b", "b"], backend, cache=False)
    assert sorted(backend.seen) == ["a", "b"]
    assert np.array_equal(result, expected(["b", "a", "b", "b"]))
    assert EmbeddingCache().size().entries == 0


def test_the_default_cache_is_where_the_environment_says(backend, tmp_path):
    embed_texts(["a", "b"], backend)
    assert EmbeddingCache(tmp_path / "default-cache").size().entries == 2


def test_progress_counts_distinct_texts_and_starts_with_the_cached_ones(backend, cache):
    embed_texts(["1", "2", "3"], backend, cache=cache)
    calls = []
    texts = [str(number % 25) for number in range(100)]
    embed_texts(texts, backend, cache=cache, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(3, 25), (13, 25), (23, 25), (25, 25)]


def test_the_longest_texts_come_first_and_batches_have_the_size_that_the_back_end_wants(cache):
    sizes = []

    class Sized(CountingBackend):
        def embed(self, texts):
            sizes.append([len(text) for text in texts])
            return super().embed(texts)

    embed_texts(["x" * n for n in range(1, 8)], Sized(batch_size=3), cache=cache)
    assert sizes[0] == [7, 6, 5]
    assert sorted(sizes[1:]) == [[1], [4, 3, 2]]


def test_an_error_in_a_later_batch_keeps_the_earlier_ones(cache):
    texts = [f"text {number}" for number in range(60)]
    with pytest.raises(RuntimeError, match="on fire"):
        embed_texts(texts, CountingBackend(fail_after=30), cache=cache)
    assert cache.size().entries == 30
    again = CountingBackend()
    assert np.array_equal(embed_texts(texts, again, cache=cache), expected(texts))
    assert len(again.seen) == 30


@pytest.mark.parametrize("kind", [tuple, np.array, pd.Series, lambda texts: pd.Series(texts, index=[7, 7])])
def test_any_sequence_of_strings_will_do(kind, backend):
    assert np.array_equal(embed_texts(kind(["a", "b"]), backend, cache=False), expected(["a", "b"]))


def test_no_texts_give_no_rows(backend):
    assert embed_texts([], backend).shape == (0, 0)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one text", "texts is a single string; give a list of strings"),
        (["a", None], "texts has None at row 1, which is not a string"),
        (["a", "b", 3.5], r"texts has 3.5 at row 2, which is not a string \(float\)"),
    ],
)
def test_what_is_no_list_of_strings_is_an_error_that_says_where(texts, message, backend):
    with pytest.raises(UserError, match=message):
        embed_texts(texts, backend)


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.zeros((1, 4)), r"shape \(1, 4\) for 2 texts"),
        (np.zeros(2), r"shape \(2,\) for 2 texts"),
        (np.array([[1, 2], [np.nan, 1]]), "NaN or infinity for 'b'"),
    ],
)
def test_a_back_end_that_breaks_its_promise_is_named(vectors, message, backend, cache):
    backend.embed = lambda texts: vectors
    with pytest.raises(UserError, match="counting gave .*" + message):
        embed_texts(["a", "b"], backend, cache=cache)
    assert cache.size().entries == 0


def test_a_model_that_changed_its_dimension_is_an_error_that_says_what_to_do(cache):
    embed_texts(["a"], CountingBackend(dimension=4), cache=cache)
    with pytest.raises(UserError, match="vectors of length 4 and of length 8"):
        embed_texts(["a", "b"], CountingBackend(dimension=8), cache=cache)
    result = embed_texts(["a", "b"], CountingBackend(dimension=8), cache=False)
    assert result.shape == (2, 8)


def test_no_second_copy_of_the_result_is_ever_in_memory(cache):
    class Cheap(CountingBackend):
        def embed(self, texts):
            return np.ones((len(texts), 512), np.float32)

    texts = [str(number // 2) for number in range(80_000)]
    for _ in ("to the cache", "from the cache"):
        tracemalloc.start()
        result = embed_texts(texts, Cheap(batch_size=1000), cache=cache)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1.3 * result.nbytes


def test_what_is_cached_needs_no_model_in_memory(cache):
    pytest.importorskip("wordllama", reason="needs the extra wordllama")
    first = embed_texts(["a", "b"], "wordllama", cache=cache)
    backend = load_model("wordllama")
    assert np.array_equal(embed_texts(["b", "a"], backend, cache=cache), first[::-1])
    assert "_model" not in vars(backend)


def test_importing_the_package_imports_no_model_library():
    code = (
        "import sys, textspectra as ts; ts.list_models();"
        "heavy = {'torch', 'wordllama', 'sentence_transformers', 'model2vec', 'openai', 'transformers'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "[]"


@pytest.fixture
def forecast(caplog, monkeypatch):
    """Report progress of the given sizes, each after so many seconds."""

    def call(model, seconds, steps, total=50_000):
        times = iter(np.cumsum([0, *seconds]).tolist())
        monkeypatch.setattr("textspectra.embedding.embed.time", SimpleNamespace(monotonic=times.__next__))
        report = Forecast(model)
        for done in np.cumsum([1000, *steps]):
            report(int(done), total)

    caplog.set_level(logging.INFO, "textspectra")
    return call


def test_long_work_is_announced_once_with_the_faster_model(caplog, forecast):
    forecast("minilm", [1] * 10, [1000] * 10)
    assert caplog.messages == [
        "Embedding with minilm will take about 46 seconds more. "
        "For a faster model with coarser groups: --model wordllama"
    ]


def test_the_speed_of_rare_reports_is_known_after_some_seconds(caplog, forecast):
    forecast("minilm", [60], [1], total=1003)  # files rather than texts
    assert caplog.messages[0].startswith("Embedding with minilm will take about 2 minutes more.")


def test_short_work_is_not_announced(caplog, forecast):
    forecast("minilm", [0.5] * 40, [1000] * 40)
    forecast("minilm", [0.0] * 40, [1000] * 40)
    forecast("minilm", [1.0] * 5, [0] * 5)
    assert not caplog.messages


def test_the_fastest_model_is_suggested_to_others(caplog, forecast):
    forecast("wordllama", [1] * 10, [1000] * 10)
    forecast("minilm", [1] * 10, [1000] * 10)
    assert caplog.messages[0].endswith(" more.")
    assert caplog.messages[1].endswith("For a faster model with coarser groups: --model wordllama")
