"""The cache: damage, many processes, killed processes, a full disk, a read-only folder."""

import os
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import warnings
import zlib
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from embedding_helpers import CountingBackend, expected
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from textspectra.embedding import cache as module
from textspectra.embedding.base import text_keys
from textspectra.embedding.cache import BLOCK_ROWS, LIMIT_BYTES, PAGE_BYTES, CacheSize, EmbeddingCache
from textspectra.embedding.embed import embed_texts

HERE = Path(__file__).parent

unix_only = pytest.mark.skipif(sys.platform == "win32", reason="needs the signals and limits of Unix")


def texts_of(count, start=0):
    return [f"text {number}" for number in range(start, start + count)]


def known(cache, backend, texts):
    """Return a dict from text to its cached vector."""
    found = {}
    with cache.open(backend) as stored:
        for positions, vectors in stored.find(text_keys(backend, texts)):
            assert vectors.dtype == np.float32
            found |= {texts[position]: vector for position, vector in zip(positions, vectors, strict=True)}
    return found


def add(cache, backend, texts, vectors=None):
    with cache.open(backend) as stored:
        stored.add(text_keys(backend, texts), expected(texts) if vectors is None else vectors)


def check_all_right(cache, texts, *, embedded):
    """Check that a run gives the right vectors and embeds exactly that many texts, and the next one none."""
    backend = CountingBackend()
    assert np.array_equal(embed_texts(texts, backend, cache=cache), expected(texts))
    assert len(backend.seen) == embedded
    assert np.array_equal(embed_texts(texts, CountingBackend(fail_after=0), cache=cache), expected(texts))


def database(cache):
    [path] = cache.folder.rglob("*.sqlite")
    return path


def change(path, place, change):
    content = bytearray(path.read_bytes())
    content[place] = change(content[place]) & 0xFF
    path.write_bytes(content)


def start(code, cache, **options):
    environment = os.environ | {"PYTHONPATH": str(HERE), "TEXTSPECTRA_CACHE": str(cache.folder)}
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True, **options
    )


def test_a_vector_is_found_only_under_its_own_text_name_and_settings(cache, backend):
    add(cache, backend, ["a"])
    assert list(known(cache, backend, ["b", "a"])) == ["a"]
    assert not known(cache, CountingBackend(settings={"prompt": "x"}), ["a"])
    other = CountingBackend()
    other.name = "other"
    assert not known(cache, other, ["a"])


def test_the_newest_vector_of_a_text_is_found(cache, backend):
    add(cache, backend, ["a", "b"])
    add(cache, backend, ["a"], 2 * expected(["a"]))
    found = known(cache, backend, ["a", "b"])
    assert np.array_equal(found["a"], 2 * expected(["a"])[0])
    assert np.array_equal(found["b"], expected(["b"])[0])


@given(st.lists(st.lists(st.integers(0, 30), max_size=12), max_size=6), st.lists(st.integers(0, 35), max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_the_cache_is_a_dict_on_disk(tmp_path_factory, clusters, wanted):
    cache, backend, model = EmbeddingCache(tmp_path_factory.mktemp("cache")), CountingBackend(), {}
    for number, cluster in enumerate(clusters):
        texts = list(dict.fromkeys(map(str, cluster)))
        model |= {text: [number, int(text)] for text in texts}
        add(cache, backend, texts, np.array([model[text] for text in texts], np.float32).reshape(-1, 2))
    texts = list(map(str, wanted))
    assert {text: vector.tolist() for text, vector in known(cache, backend, texts).items()} == {
        text: model[text] for text in texts if text in model
    }


def test_vectors_keep_every_bit(cache, backend):
    vectors = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
    add(cache, backend, ["a", "b", "c"], vectors)
    assert np.array_equal(list(known(cache, backend, ["a", "b", "c"]).values()), vectors)


def test_size_and_clear(cache, backend):
    assert cache.size() == CacheSize(0, 0, ())
    add(cache, backend, texts_of(5))
    add(cache, CountingBackend(settings={"x": 1}), ["a"])
    size = cache.size()
    assert (size.entries, size.models) == (6, ("counting",))
    assert size.bytes == sum(path.stat().st_size for path in cache.folder.rglob("*") if path.is_file())
    mine = cache.folder / "notes.txt"
    mine.write_text("keep me")
    cache.clear()
    assert cache.size() == CacheSize(0, 0, ())
    assert [path for path in cache.folder.rglob("*") if path.is_file()] == [mine]
    check_all_right(cache, texts_of(5), embedded=5)


def test_a_lookup_creates_no_files(cache, backend):
    assert not known(cache, backend, ["a"])
    assert not cache.folder.exists()


def test_damaged_vectors_are_noticed_and_only_their_block_is_computed_again(cache):
    texts = texts_of(3 * BLOCK_ROWS)
    embed_texts(texts, CountingBackend(batch_size=1000), cache=cache)
    with sqlite3.connect(database(cache)) as stored:
        stored.execute("UPDATE block SET vectors = zeroblob(length(vectors)) WHERE id = 2")
    stored.close()
    with pytest.warns(RuntimeWarning, match=r"1 blocks of the embedding cache .* are damaged, so their vectors are"):
        check_all_right(cache, texts, embedded=BLOCK_ROWS)


@pytest.mark.parametrize("column", ["keys", "vectors"])
@pytest.mark.parametrize("value", ["NULL", "7", "'text'", "x'00'", "substr(keys, 17)"])
def test_values_of_another_type_or_length_are_damage_too(cache, column, value):
    check_all_right(cache, texts_of(20), embedded=20)
    with sqlite3.connect(database(cache)) as stored:
        stored.execute("ALTER TABLE block RENAME TO old")
        stored.execute("CREATE TABLE block (id INTEGER PRIMARY KEY, checksum, keys, vectors)")
        stored.execute("INSERT INTO block SELECT * FROM old")
        stored.execute(f"UPDATE block SET {column} = {value}")  # noqa: S608
    stored.close()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_all_right(cache, texts_of(20), embedded=20)


@pytest.mark.parametrize("seed", range(3))
def test_no_flipped_bit_ever_gives_a_wrong_vector(cache, seed):
    texts = texts_of(40)
    embed_texts(texts, CountingBackend(), cache=cache)
    path = database(cache)
    sound = path.read_bytes()
    rng = np.random.default_rng(seed)
    noticed = 0
    for place in rng.choice(np.flatnonzero(np.frombuffer(sound, np.uint8)), 40, replace=False):
        path.write_bytes(sound)
        change(path, place, lambda byte: byte ^ (1 << rng.integers(8)))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            backend = CountingBackend()
            assert np.array_equal(embed_texts(texts, backend, cache=cache), expected(texts))
        noticed += bool(caught)
        EmbeddingCache(cache.folder).clear()
    assert noticed >= 10


@pytest.mark.parametrize("length", [100, 10_000, 20_000, -1])
def test_a_truncated_database_is_noticed_and_made_again(cache, length):
    texts = texts_of(2000)
    embed_texts(texts, CountingBackend(), cache=cache)
    path = database(cache)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.warns(RuntimeWarning, match=r"(is|are) damaged.* vectors are computed again"):
        assert np.array_equal(embed_texts(texts, CountingBackend(), cache=cache), expected(texts))
    check_all_right(cache, texts, embedded=0)


def test_a_file_that_is_no_database_is_replaced(cache):
    check_all_right(cache, texts_of(20), embedded=20)
    database(cache).write_text("something else " * 1000)
    with pytest.warns(RuntimeWarning, match="is damaged"):
        check_all_right(cache, texts_of(20), embedded=20)


def test_a_database_with_other_tables_is_replaced(cache):
    check_all_right(cache, texts_of(20), embedded=20)
    with sqlite3.connect(database(cache)) as stored:
        stored.execute("ALTER TABLE block RENAME COLUMN keys TO keyz")
    stored.close()
    with pytest.warns(RuntimeWarning, match=r"is damaged \(it has tables, views or triggers that are not ours\)"):
        check_all_right(cache, texts_of(20), embedded=20)


def test_a_damaged_name_that_is_no_text_is_noticed(cache):
    check_all_right(cache, texts_of(20), embedded=20)
    path = database(cache)
    path.write_bytes(path.read_bytes().replace(b"model (name", b"model \x8ename"))
    assert cache.size().entries == 0
    with pytest.warns(RuntimeWarning, match="is damaged"):
        check_all_right(cache, texts_of(20), embedded=20)


def test_clearing_during_a_run_costs_no_more_than_its_vectors(cache, backend):
    with cache.open(backend) as stored:
        stored.add(text_keys(backend, ["a"]), expected(["a"]))
        EmbeddingCache(cache.folder).clear()
        add(EmbeddingCache(cache.folder), backend, ["b"])
        stored.add(text_keys(backend, ["c"]), expected(["c"]))
    check_all_right(cache, ["a", "b", "c"], embedded=2)


MANY_PROCESSES = """
import sys, warnings
warnings.simplefilter("error")
from embedding_helpers import CountingBackend, expected
from textspectra.embedding.cache import EmbeddingCache; from textspectra.embedding.embed import embed_texts
print("ready", flush=True)
sys.stdin.readline()
for first in range(0, 1000, 25):
    texts = [f"text {number}" for number in range(max(0, first - 50), first + 25)]
    assert (embed_texts(texts, CountingBackend(), cache=EmbeddingCache()) == expected(texts)).all()
"""


def test_processes_that_create_and_write_the_cache_at_the_same_time_do_not_disturb_each_other(cache):
    processes = [start(MANY_PROCESSES, cache, stdin=subprocess.PIPE) for _ in range(3)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=60)
        assert process.returncode == 0
    check_all_right(cache, texts_of(1000), embedded=0)


def test_a_process_waits_for_another_one_that_creates_the_same_database(cache, backend, monkeypatch):
    add(cache, backend, ["a"])
    path = database(cache)
    path.unlink()
    other = sqlite3.connect(path)
    other.execute("BEGIN IMMEDIATE")
    # The other process is done as soon as this one waits for it.
    monkeypatch.setattr("textspectra.embedding.cache.time.sleep", lambda _: other.rollback())
    add(cache, backend, ["b"])
    other.close()
    assert list(known(cache, backend, ["a", "b"])) == ["b"]


KILLED = """
import os, signal
from embedding_helpers import CountingBackend
from textspectra.embedding.embed import embed_texts; from textspectra.embedding import embed
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


KILLED_IN_A_WRITE = """
import os, signal
from embedding_helpers import CountingBackend
from textspectra.embedding.embed import embed_texts; from textspectra.embedding import cache
connect = cache._connect

def connect_and_die(path):
    connection = connect(path)
    connection.create_function("die", 0, lambda: os.kill(os.getpid(), signal.SIGKILL))
    connection.execute("CREATE TEMP TRIGGER late AFTER INSERT ON block WHEN new.id = 40 BEGIN SELECT die(); END")
    return connection

cache._connect = connect_and_die
embed_texts([f"text {number}" for number in range(10_000)], CountingBackend(dimension=256))
"""


@unix_only
def test_a_run_killed_in_the_middle_of_a_write_leaves_whole_groups(cache):
    process = start(KILLED_IN_A_WRITE, cache)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert cache.size().entries == 4100  # one group of the batches that reach 4,096 texts; the second is rolled back


FULL = """
import resource, signal, warnings
from embedding_helpers import CountingBackend, expected
from textspectra import EmbeddingCache, embed_texts
from textspectra.embedding import embed
embed.STORE_TEXTS = 1000
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (AT_MOST, AT_MOST))
texts = [f"text {number}" for number in range(10_000)]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert (embed_texts(texts, CountingBackend()) == expected(texts)).all()
print(len(caught), caught[0].message)
"""


@unix_only
@pytest.mark.parametrize(("limit", "kept"), [("2_000", 0), ("300_000", 1000)])
def test_a_disk_that_takes_no_more_costs_one_warning_and_the_caching(cache, limit, kept):
    output, _ = start(FULL.replace("AT_MOST", limit), cache).communicate(timeout=60)
    assert output.startswith(f"1 The embedding cache {cache.folder}")
    assert "cannot be used (disk I/O error), so this run goes on without it. Fix that, or set TEXTSPECTRA" in output
    assert cache.size().entries >= kept


def test_a_full_database_is_named_and_what_was_written_before_stays(cache, backend, monkeypatch):
    add(cache, backend, ["a"])

    def connect(path, real=module._connect):
        connection = real(path)
        connection.execute("PRAGMA max_page_count = 5")
        return connection

    monkeypatch.setattr(module, "_connect", connect)
    with pytest.warns(RuntimeWarning, match=r"cannot be used \(database or disk is full\), so this run goes on"):
        result = embed_texts(["a", *texts_of(5000)], backend, cache=cache)
    assert np.array_equal(result, expected(["a", *texts_of(5000)]))
    assert list(known(cache, backend, ["a", "text 1"])) == ["a"]


READ_ONLY = """
import os, warnings
from embedding_helpers import CountingBackend, expected
from textspectra.embedding.embed import embed_texts
if os.geteuid() == 0:
    os.seteuid(65534)  # root may write everywhere
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    backend = CountingBackend()
    assert (embed_texts(["a", "b"], backend) == expected(["a", "b"])).all()
print(backend.seen, *(warning.message for warning in caught))
"""


@unix_only
def test_a_read_only_cache_is_read(backend):
    folder = Path(tempfile.mkdtemp())
    try:
        cache = EmbeddingCache(folder)
        add(cache, backend, ["a"])
        for path in (folder, folder / "embeddings"):
            path.chmod(0o555)
        output, _ = start(READ_ONLY, cache).communicate(timeout=60)
        assert output.startswith("['b'] The embedding cache ")
        assert "cannot be used (attempt to write a readonly database)" in output
    finally:
        for path in (folder, folder / "embeddings"):
            path.chmod(0o755)
        shutil.rmtree(folder)


def test_a_folder_that_cannot_be_made_costs_one_warning(tmp_path, backend):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.warns(RuntimeWarning, match=r"cannot be used \(Not a directory\)") as caught:
        result = embed_texts(texts_of(5000), backend, cache=EmbeddingCache(blocked))
    assert len(caught) == 1
    assert np.array_equal(result, expected(texts_of(5000)))
    assert EmbeddingCache(blocked).size().entries == 0


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, {} FROM n"


def replace_table_by_view(path):
    with closing(sqlite3.connect(path)) as stored, stored:
        stored.execute("DROP TABLE block")
        columns = "0 AS checksum, zeroblob(0) AS keys, zeroblob(4) AS vectors"
        stored.execute(f"CREATE VIEW block AS {ENDLESS.format(columns)}")


def add_trigger(path):
    with closing(sqlite3.connect(path)) as stored, stored:
        stored.execute(f"CREATE VIEW endless AS {ENDLESS.format('1 AS one')}")
        stored.execute("CREATE TRIGGER slow BEFORE INSERT ON block BEGIN SELECT sum(id) FROM endless; END")


def make_tree_endless(path):
    """Let the tree of the blocks have 2,000 ** 12 leaves, which are all the same page."""
    with closing(sqlite3.connect(path)) as stored:
        [[root]] = stored.execute("SELECT rootpage FROM sqlite_master WHERE name = 'block'")
        stored.execute("PRAGMA journal_mode = DELETE")
    content = path.read_bytes()
    pages = [bytearray(content[start : start + PAGE_BYTES]) for start in range(0, len(content), PAGE_BYTES)]
    pages.append(pages[root - 1])
    child = len(pages)
    for _ in range(12):
        cells = [PAGE_BYTES - 5 * (number + 1) for number in range(2000)]
        header = struct.pack(">BHHHBI", 5, 0, len(cells), cells[-1], 0, child)
        page = bytearray(header + struct.pack(f">{len(cells)}H", *cells)).ljust(PAGE_BYTES, b"\0")
        for cell in cells:
            page[cell : cell + 5] = struct.pack(">IB", child, 1)
        pages.append(page)
        child = len(pages)
    pages[root - 1] = pages.pop()
    pages[0][28:32] = struct.pack(">I", len(pages))
    path.write_bytes(b"".join(pages))


@pytest.mark.parametrize("spoil", [replace_table_by_view, add_trigger, make_tree_endless])
def test_a_hostile_database_is_made_anew_and_never_endless(cache, spoil):
    check_all_right(cache, texts_of(300), embedded=300)
    spoil(database(cache))
    cache.size()
    with pytest.warns(RuntimeWarning, match="is damaged"):
        check_all_right(cache, texts_of(300), embedded=300)
    check_all_right(cache, texts_of(300), embedded=0)


def test_a_journal_cannot_name_a_file_to_delete(cache, tmp_path):
    check_all_right(cache, texts_of(3), embedded=3)
    path, victim = database(cache), tmp_path / "notes.txt"
    victim.write_text("precious")
    with closing(sqlite3.connect(path)) as stored:
        stored.execute("PRAGMA journal_mode = DELETE")
    name = str(victim).encode()
    # SQLite would take the victim for the journal of a transaction over several databases, and delete it.
    sector = bytes.fromhex("d9d505f920a163d7") + struct.pack(
        ">IIIII", 0, 0, path.stat().st_size // PAGE_BYTES, 512, PAGE_BYTES
    )
    locking = struct.pack(">I", 2**30 // PAGE_BYTES + 1)
    ending = struct.pack(">II", len(name), sum(name)) + bytes.fromhex("d9d505f920a163d7")
    path.with_name(path.name + "-journal").write_bytes(sector.ljust(512, b"\0") + locking + name + ending)
    with pytest.warns(RuntimeWarning, match="its journal names another file"):
        check_all_right(cache, texts_of(3), embedded=3)
    assert victim.read_text() == "precious"


def test_the_database_of_another_program_is_not_changed(cache, tmp_path):
    check_all_right(cache, texts_of(3), embedded=3)
    path, other = database(cache), tmp_path / "other.sqlite"
    with closing(sqlite3.connect(other)) as stored, stored:
        stored.execute("CREATE TABLE bookmarks (address TEXT)")
    before = other.read_bytes()
    path.unlink()
    path.symlink_to(other)
    cache.size()
    with pytest.warns(RuntimeWarning, match="tables, views or triggers that are not ours"):
        check_all_right(cache, texts_of(3), embedded=3)
    assert other.read_bytes() == before


INTERRUPTED = """
import signal, sqlite3, threading
from textspectra.embedding import cache
signal.signal(signal.SIGINT, signal.default_int_handler)
cache.STATEMENT_STEPS, cache._bytes = 1000, lambda path: 10**12
connection = sqlite3.connect(":memory:")
cache._limit_steps(connection, None)
threading.Timer(0.05, signal.raise_signal, [signal.SIGINT]).start()
numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000000)"
connection.execute(f"{numbers} SELECT count(*) FROM n").fetchone()
"""


@unix_only
def test_a_signal_during_a_statement_is_not_taken_for_damage(cache):
    process = start(INTERRUPTED, cache, stderr=subprocess.PIPE)
    _, said = process.communicate(timeout=60)
    assert said.strip().endswith("KeyboardInterrupt")


@pytest.mark.parametrize("vectors", [b"", b"\0" * 7, np.full(4, np.nan, "<f4").tobytes()])
def test_blocks_with_valid_checksums_and_impossible_vectors_are_damage(cache, vectors):
    check_all_right(cache, texts_of(4), embedded=4)
    with closing(sqlite3.connect(database(cache))) as stored, stored:
        [[keys]] = stored.execute("SELECT keys FROM block")
        stored.execute("UPDATE block SET vectors = ?, checksum = ?", (vectors, zlib.crc32(vectors, zlib.crc32(keys))))
    with pytest.warns(RuntimeWarning, match="1 blocks of the embedding cache"):
        check_all_right(cache, texts_of(4), embedded=4)


def test_the_size_is_told_without_reading_all_blocks(cache, backend, monkeypatch):
    monkeypatch.setattr("textspectra.embedding.cache.SAMPLE_BLOCKS", 3)
    for number in range(10):
        add(cache, backend, [f"{number} {text}" for text in range(5)])
    steps = []
    monkeypatch.setattr("textspectra.embedding.cache.STATEMENT_STEPS", 10)
    counting = SimpleNamespace(__next__=lambda: steps.append(1))
    monkeypatch.setattr("textspectra.embedding.cache.repeat", lambda *_: counting)
    assert cache.size().entries == 50
    assert len(steps) < 30  # 300 steps of SQLite, for any number of blocks


def named(name):
    backend = CountingBackend()
    backend.name = name
    return backend


def test_the_oldest_vectors_go_if_there_is_no_room(cache, monkeypatch):
    old, new = named("old"), named("new")
    monkeypatch.setenv("TEXTSPECTRA_CACHE_LIMIT", "300000")
    add(cache, old, ["a"])
    add(cache, new, ["a"])
    for path in cache.folder.rglob("old*.sqlite"):
        os.utime(path, (1, 1))
    for number in range(200):
        add(cache, new, [f"{number} {text}" for text in range(500)])
        assert cache.size().bytes <= 300_000 + 100_000  # a database may grow by what is written at once
    assert cache.size().models == ("new",)
    assert len(list(cache.folder.rglob("new*.sqlite"))) > 1
    newest = [f"199 {text}" for text in range(500)]
    assert np.array_equal(list(known(cache, new, newest).values()), expected(list(known(cache, new, newest))))
    assert len(known(cache, new, newest)) == 500


def test_what_is_used_stays(cache):
    used, unused = named("used"), named("unused")
    for one in (used, unused):
        add(cache, one, ["a"])
        for path in cache.folder.rglob(f"{one.name}-*.sqlite"):
            os.utime(path, (1, 1))
    assert known(cache, used, ["a"])
    cache.set_limit(cache.size().bytes - 1)
    assert cache.size().models == ("used",)
    assert cache.limit() == EmbeddingCache(cache.folder).limit() < LIMIT_BYTES
    (cache.folder / "limit").write_text("nonsense")
    assert cache.limit() == LIMIT_BYTES
