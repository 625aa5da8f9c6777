"""The cache: damage, many processes, killed processes, a full disk."""

import errno
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from embedding_helpers import CountingBackend, expected

from textspectra.embedding import EmbeddingCache, embed_texts
from textspectra.embedding import cache as cache_module
from textspectra.embedding.segments import segment_paths

HERE = Path(__file__).parent

unix_only = pytest.mark.skipif(sys.platform == "win32", reason="needs the signals and limits of Unix")


def texts_of(count, start=0):
    return [f"text {number}" for number in range(start, start + count)]


def known(cache, backend, texts):
    """Return a dict from text to the vector that the cache has for it."""
    found = {}
    for positions, vectors in cache.lookup(backend, texts):
        assert vectors.dtype == np.float32
        found |= {texts[position]: vector for position, vector in zip(positions, vectors, strict=True)}
    return found


def check_all_right(cache, texts, *, embedded):
    """Check that a run gives the right vectors and embeds exactly that many texts, and the next one none."""
    backend = CountingBackend()
    assert np.array_equal(embed_texts(texts, backend, cache=cache), expected(texts))
    assert len(backend.seen) == embedded
    fresh = EmbeddingCache(cache.folder)
    assert np.array_equal(embed_texts(texts, CountingBackend(fail_after=0), cache=fresh), expected(texts))


def segments(cache):
    return [path for folder in cache.folder.glob("embeddings/*") for path in segment_paths(folder)]


def start(code, cache, **options):
    environment = os.environ | {"PYTHONPATH": str(HERE), "TEXTSPECTRA_CACHE": str(cache.folder)}
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True, **options
    )


def test_a_vector_is_found_only_under_its_own_text_name_and_settings(cache, backend):
    cache.store(backend, ["a"], expected(["a"]))
    assert list(known(cache, backend, ["b", "a"])) == ["a"]
    assert not known(cache, CountingBackend(settings={"prompt": "x"}), ["a"])
    other = CountingBackend()
    other.name = "other"
    assert not known(cache, other, ["a"])


def test_the_newest_vector_of_a_text_is_found(cache, backend):
    cache.store(backend, ["a", "b"], expected(["a", "b"]))
    cache.store(backend, ["a"], 2 * expected(["a"]))
    found = known(cache, backend, ["a", "b"])
    assert np.array_equal(found["a"], 2 * expected(["a"])[0])
    assert np.array_equal(found["b"], expected(["b"])[0])


def test_size_and_clear(cache, backend):
    assert cache.size() == cache_module.CacheSize(0, 0, ())
    cache.store(backend, texts_of(5), expected(texts_of(5)))
    cache.store(CountingBackend(settings={"x": 1}), ["a"], expected(["a"]))
    size = cache.size()
    assert (size.entries, size.models) == (6, ("counting",))
    assert size.bytes == sum(path.stat().st_size for path in cache.folder.rglob("*") if path.is_file())
    mine = cache.folder / "notes.txt"
    mine.write_text("keep me")
    cache.clear()
    assert cache.size() == cache_module.CacheSize(0, 0, ())
    assert mine.exists()
    assert not known(cache, backend, texts_of(5))
    check_all_right(cache, texts_of(5), embedded=5)


@pytest.mark.parametrize(
    ("place", "lost"),
    [(0, 1), (3 * 32 + 5, 1), (20 * 32 + 1, 20), (20 * 32 + 20 * 16 + 1, 20), (-1, 20), (-20, 20), (-30, 20)],
    ids=["first vector", "fourth vector", "a key", "a checksum", "the mark", "checksum of the index", "the count"],
)
def test_flipped_bits_are_noticed_and_only_what_is_lost_is_made_again(cache, place, lost):
    check_all_right(cache, texts_of(20), embedded=20)
    [path] = segments(cache)
    content = bytearray(path.read_bytes())
    content[place] ^= 0x10
    path.write_bytes(content)
    check_all_right(EmbeddingCache(cache.folder), texts_of(20), embedded=lost)


@pytest.mark.parametrize("length", [0, 7, 100, 1000, -1])
def test_a_truncated_segment_is_noticed_and_made_again(cache, length):
    check_all_right(cache, texts_of(20), embedded=20)
    [path] = segments(cache)
    path.write_bytes(path.read_bytes()[:length])
    check_all_right(EmbeddingCache(cache.folder), texts_of(20), embedded=20)


def test_a_segment_that_is_truncated_under_an_open_cache_is_noticed(cache):
    check_all_right(cache, texts_of(20), embedded=20)
    [path] = segments(cache)
    assert len(known(cache, CountingBackend(), texts_of(20))) == 20
    os.truncate(path, 64)
    assert known(cache, CountingBackend(), texts_of(20)) == {}


def test_zeros_where_vectors_were_are_noticed(cache):
    check_all_right(cache, texts_of(20), embedded=20)
    [path] = segments(cache)
    content = path.read_bytes()
    path.write_bytes(bytes(10 * 32) + content[10 * 32 :])
    check_all_right(EmbeddingCache(cache.folder), texts_of(20), embedded=10)


def test_many_small_segments_become_one_and_lose_nothing(cache, backend, monkeypatch):
    monkeypatch.setattr(cache_module, "MERGE_ABOVE", 5)
    texts = texts_of(60)
    for first in range(0, 60, 5):  # each overlaps the one before it
        some = texts[max(0, first - 2) : first + 5]
        cache.store(backend, some, expected(some))
    assert len(segments(cache)) <= 6
    assert not list(cache.folder.rglob("*.lock"))
    check_all_right(cache, texts, embedded=0)


def test_merging_leaves_damaged_vectors_out(cache, backend, monkeypatch):
    for first in range(0, 12, 3):
        cache.store(backend, texts_of(3, first), expected(texts_of(3, first)))
    path = segments(cache)[1]
    content = bytearray(path.read_bytes())
    content[0] ^= 1
    path.write_bytes(content)
    monkeypatch.setattr(cache_module, "MERGE_ABOVE", 4)
    cache.store(backend, texts_of(3, 12), expected(texts_of(3, 12)))
    assert len(segments(cache)) == 1
    assert cache.size().entries == 14
    check_all_right(cache, texts_of(15), embedded=1)


def test_large_segments_are_not_merged_again(cache, backend, monkeypatch):
    monkeypatch.setattr(cache_module, "MERGE_ABOVE", 3)
    monkeypatch.setattr(cache_module, "SMALL_BYTES", 1000)
    for first in range(0, 400, 100):
        cache.store(backend, texts_of(100, first), expected(texts_of(100, first)))
    assert len(segments(cache)) == 4


def test_a_reader_whose_segments_are_merged_away_looks_again(cache, backend, monkeypatch):
    for first in range(0, 50, 10):
        cache.store(backend, texts_of(10, first), expected(texts_of(10, first)))
    reading = cache.lookup(backend, texts_of(50))
    found = [next(reading)]
    monkeypatch.setattr(cache_module, "MERGE_ABOVE", 2)
    EmbeddingCache(cache.folder).store(backend, ["one more"], expected(["one more"]))
    found += reading
    assert len(segments(cache)) == 1
    assert sorted(np.concatenate([positions for positions, _ in found])) == list(range(50))
    for positions, vectors in found:
        assert np.array_equal(vectors, expected([texts_of(50)[position] for position in positions]))


def test_the_lock_of_a_dead_process_is_ignored_after_a_while(cache, backend, monkeypatch):
    monkeypatch.setattr(cache_module, "MERGE_ABOVE", 2)
    cache.store(backend, ["a"], expected(["a"]))
    lock = segments(cache)[0].parent / "merge.lock"
    lock.touch()
    for text in "bcd":
        cache.store(backend, [text], expected([text]))
    assert len(segments(cache)) == 4
    old = time.time() - 2 * cache_module.STALE_SECONDS
    os.utime(lock, (old, old))
    cache.store(backend, ["e"], expected(["e"]))
    assert len(segments(cache)) == 1
    assert len(known(cache, backend, list("abcde"))) == 5


def test_what_dead_processes_left_is_swept_and_what_living_ones_write_is_not(cache, backend):
    cache.store(backend, ["a"], expected(["a"]))
    dead, living = (segments(cache)[0].with_name(name) for name in ("1-dead.part", "2-living.part"))
    for path in (dead, living):
        path.write_bytes(b"half")
    old = time.time() - 2 * cache_module.STALE_SECONDS
    os.utime(dead, (old, old))
    EmbeddingCache(cache.folder).store(backend, ["b"], expected(["b"]))
    assert not dead.exists()
    assert living.exists()


def test_clearing_while_another_process_writes_costs_it_nothing(cache, backend):
    cache.store(backend, ["a"], expected(["a"]))
    EmbeddingCache(cache.folder).clear()
    cache.store(backend, ["b"], expected(["b"]))
    assert list(known(cache, backend, ["a", "b"])) == ["b"]


TWO_PROCESSES = """
import sys
from embedding_helpers import CountingBackend, expected
from textspectra.embedding import EmbeddingCache, embed_texts, cache as module
module.MERGE_ABOVE = 4
cache = EmbeddingCache()
print("ready", flush=True)
sys.stdin.readline()
for first in range(0, 1500, 25):
    texts = [f"text {number}" for number in range(max(0, first - 50), first + 25)]
    assert (embed_texts(texts, CountingBackend(), cache=cache) == expected(texts)).all()
"""


def test_processes_that_write_and_merge_at_the_same_time_do_not_disturb_each_other(cache):
    processes = [start("import warnings; warnings.simplefilter('error')" + TWO_PROCESSES, cache, stdin=subprocess.PIPE)
                 for _ in range(2)]  # fmt: skip
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=60)
        assert process.returncode == 0
    check_all_right(cache, texts_of(1500), embedded=0)
    assert not list(cache.folder.rglob("*.part"))


KILLED = """
import os, signal
from embedding_helpers import CountingBackend
from textspectra.embedding import embed_texts, embed
embed.STORE_TEXTS = 20

def die_at_310(done, total):
    if done == 310:
        os.kill(os.getpid(), signal.SIGKILL)

embed_texts([f"text {number}" for number in range(1000)], CountingBackend(), progress=die_at_310)
"""


@unix_only
def test_a_killed_run_goes_on_where_it_stopped(cache):
    process = start(KILLED, cache)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    check_all_right(cache, texts_of(1000), embedded=700)  # 15 groups of 20 were written, the last 10 texts not yet


@unix_only
def test_a_run_killed_in_the_middle_of_a_write_leaves_nothing_that_disturbs(cache):
    code = (
        "import os, signal\nfrom embedding_helpers import *\nfrom textspectra.embedding import *\n"
        "from textspectra.embedding import segments\n"
        "segments.row_checksums = lambda vectors: os.kill(os.getpid(), signal.SIGKILL)\n"  # the vectors are out by then
        "embed_texts([f'text {number}' for number in range(1000)], CountingBackend())"
    )
    process = start(code, cache)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert len(list(cache.folder.rglob("*.part"))) == 1
    check_all_right(cache, texts_of(1000), embedded=1000)


FULL = """
import resource, signal, warnings
from embedding_helpers import CountingBackend, expected
from textspectra.embedding import EmbeddingCache, embed_texts, embed
embed.STORE_TEXTS = 100
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
texts = [f"text {number}" for number in range(1000)]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert (embed_texts(texts, CountingBackend()) == expected(texts)).all()
print(len(caught), caught[0].message)
"""


@unix_only
def test_a_disk_that_takes_no_more_costs_one_warning_and_the_caching(cache):
    output, _ = start(FULL, cache).communicate(timeout=60)
    assert output.startswith(f"1 The embedding cache in {cache.folder} cannot be written (File too large)")
    assert not list(cache.folder.rglob("*.part"))
    assert cache.size().entries == 0


def test_a_full_disk_is_named_and_what_was_written_before_stays(cache, backend, monkeypatch):
    cache.store(backend, ["a"], expected(["a"]))

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cache_module, "write_segment", full)
    with pytest.warns(RuntimeWarning, match=r"cannot be written \(No space left on device\), so this run goes on"):
        result = embed_texts(["a", "b"], backend, cache=cache)
    assert np.array_equal(result, expected(["a", "b"]))
    monkeypatch.undo()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.store(backend, ["c"], expected(["c"]))  # this cache object has given up writing
    assert list(known(EmbeddingCache(cache.folder), backend, ["a", "b", "c"])) == ["a"]


def test_a_folder_that_cannot_be_made_costs_one_warning(tmp_path, backend):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.warns(RuntimeWarning, match="cannot be written"):
        result = embed_texts(["a"], backend, cache=EmbeddingCache(blocked))
    assert np.array_equal(result, expected(["a"]))
    assert EmbeddingCache(blocked).size().entries == 0
