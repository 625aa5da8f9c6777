"""The openai back end against a real server on this machine."""

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

pytest.importorskip("openai", reason="needs the extra openai")

from textspectra.embedding.embed import embed_texts
from textspectra.embedding.registry import load_model
from textspectra.embedding.server import OpenAIBackend, OpenAIServer
from textspectra.errors import ExternalError, TextspectraError, UsageError, UserError
from textspectra.texts.corpus import EmbeddingSource
from textspectra.texts.result import TextClustering


def vector(text):
    return [float(len(text)), float(sum(map(ord, text))), 1.0]


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, request, self.headers))
        if self.server.together is not None:
            self.server.together.wait()
        trouble = self.server.troubles.pop(0) if self.server.troubles else None
        if trouble == "cut":
            self.connection.close()
            return
        if trouble == "cut in the answer":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'{"data"')
            self.close_connection = True
            return
        status, headers, body = trouble or (200, {}, None)
        if body is None:
            data = [{"index": i, "embedding": vector(text)} for i, text in enumerate(request["input"])]
            body = {"data": data[::-1]}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        # The wait before the next try, in milliseconds: the package honors it.
        fixed = {"Content-Length": str(len(content)), "Content-Type": "application/json", "retry-after-ms": "1"}
        for name, value in (fixed | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """Keep quiet."""


@pytest.fixture
def server(monkeypatch):
    """Start a server that answers right, but for the troubles put into its list."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.requests, running.troubles, running.together = [], [], None
        running.handle_error = lambda *_: None  # a client that hangs up is part of the tests
        running.url = f"http://127.0.0.1:{running.server_port}/v1"
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def backend(server):
    return OpenAIBackend("tiny")


def error(message, **more):
    return {"error": {"message": message, **more}}


def test_vectors_are_in_order_and_the_request_is_what_the_api_wants(server, cache):
    backend = load_model("openai:tiny")
    assert (backend.name, backend.settings) == ("openai:tiny", {"model": "tiny", "base_url": server.url})
    texts = ["one", "three", "seven", "one"]
    assert np.array_equal(embed_texts(texts, backend, cache=cache), [vector(text) for text in texts])
    [(path, request, headers)] = server.requests
    assert path == "/v1/embeddings"
    assert request == {"model": "tiny", "input": ["three", "seven", "one"], "encoding_format": "float"}
    assert headers["Authorization"] == "Bearer secret-key"
    embed_texts(texts, load_model("openai:tiny"), cache=cache)
    assert len(server.requests) == 1


def test_several_requests_are_under_way_at_a_time_and_the_order_is_kept(server, backend, cache):
    server.together = threading.Barrier(8, timeout=60)  # no request is answered before eight have arrived
    texts = [str(number) for number in range(2000)]
    assert np.array_equal(embed_texts(texts, backend, cache=cache), [vector(text) for text in texts])
    assert sorted(len(request["input"]) for _, request, _ in server.requests) == [80] + [128] * 15


def test_long_texts_are_sent_in_more_requests(server, backend):
    texts = ["x" * 150_000, "y" * 150_000, "z" * 150_000]
    assert np.array_equal(backend.embed(texts), np.array([vector(text) for text in texts], np.float32))
    assert sorted(len(request["input"]) for _, request, _ in server.requests) == [1, 2]


def test_blank_texts_are_not_sent_and_get_zeros(server, backend):
    assert np.array_equal(backend.embed(["a", "", " \n"]), [vector("a"), [0, 0, 0], [0, 0, 0]])
    assert server.requests[0][1]["input"] == ["a"]
    assert np.array_equal(backend.embed([""]), [[0, 0, 0]])


@pytest.mark.parametrize("trouble", [(500, {}, {}), (502, {}, {}), (503, {}, "busy"), (504, {}, []), (429, {}, {}),
                                     "cut", "cut in the answer"])  # fmt: skip
def test_passing_troubles_are_tried_again(server, backend, trouble):
    server.troubles = [trouble]
    assert np.array_equal(backend.embed(["a"]), [vector("a")])
    assert len(server.requests) == 2


def test_a_server_that_stays_busy_is_given_up_and_what_is_done_is_kept(server, backend, cache):
    texts = [str(number) for number in range(1500)]
    server.troubles = [None] * 8 + [(503, {}, error("overloaded"))] * 100
    with pytest.raises(ExternalError, match=r"/v1 refused: 503 overloaded\. Finished work is kept"):
        embed_texts(texts, backend, cache=cache)
    assert cache.size().entries == 1024
    server.requests.clear()
    server.troubles = []
    assert np.array_equal(embed_texts(texts, backend, cache=cache), [vector(text) for text in texts])
    assert sorted(len(request["input"]) for _, request, _ in server.requests) == [92, 128, 128, 128]


@pytest.mark.parametrize(
    ("trouble", "message", "requests"),
    [
        ((401, {}, error("Incorrect API key provided.")), r"401 Incorrect API key provided\. Check the key in", 1),
        ((404, {}, error("The model `tiny` does not exist")), "404 The model `tiny` does not exist. Check the name", 1),
        ((400, {}, {"detail": "too long"}), "400 too long. Finished work is kept", 1),
        ((422, {}, ["odd"]), r"422 \['odd'\]", 1),
        ((418, {}, b""), "418 I'm a Teapot. Finished", 1),
        ((429, {}, error("You exceeded your quota")), "429 You exceeded your quota. The quota is used up", 6),
    ],
)  # fmt: skip
def test_a_refusal_is_an_error_with_advice_and_without_the_key(server, backend, trouble, message, requests):
    server.troubles = [trouble] * 6
    with pytest.raises(TextspectraError, match=message) as caught:
        backend.embed(["a"])
    assert "secret-key" not in str(caught.value)
    assert len(server.requests) == requests


def data(*vectors):
    return {"data": [{"index": index, "embedding": list(vector)} for index, vector in enumerate(vectors)]}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (data([1, 2]), "gave 1 vectors for 2 texts"),
        (data([1, 2], [1, 2], [1, 2]), "gave 3 vectors for 2 texts"),
        (data([1, 2], [1, 2, 3]), r"vectors of different lengths \(2, 3\)"),
        (data([[1]], [[1]]), "vectors of different lengths"),
        ({"data": [{"index": 0}]}, "gave no vectors for openai:tiny"),
        ({"data": [{"index": 0, "embedding": ["?"]}]}, "gave no vectors for openai:tiny"),
        ({"object": "list"}, "gave no vectors for openai:tiny"),
        (["what"], "gave no vectors for openai:tiny .* with /v1 at its end"),
        (b"<html>", "did not answer with JSON .* with /v1 at its end"),
    ],
)
def test_an_answer_that_makes_no_sense_is_explained(server, backend, body, message):
    server.troubles = [(200, {}, body)]
    with pytest.raises(ExternalError, match=message):
        backend.embed(["a", "b"])


def test_an_answer_that_is_a_web_page_is_explained(server, backend):
    server.troubles = [(200, {"Content-Type": "text/html"}, b"<html>")]
    with pytest.raises(ExternalError, match=r"gave no vectors for openai:tiny .* with /v1 at its end"):
        backend.embed(["a"])


def test_a_dimension_that_changes_during_a_run_is_an_error(server, backend):
    backend.embed(["a"])
    server.troubles = [(200, {}, data([1, 2]))]
    with pytest.raises(ExternalError, match=r"different lengths \(2, 3\) for openai:tiny: its model changed"):
        backend.embed(["b"])


def test_a_server_that_is_not_there_is_an_error_that_names_the_address(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://name:word@127.0.0.1:1/v1")
    message = r"^http://127.0.0.1:1/v1 did not answer in 1 tries \(.*Connection refused.*\). Is the address right"
    with pytest.raises(ExternalError, match=message) as caught:
        OpenAIServer(retries=0).chat("tiny", [])
    assert "word" not in str(caught.value)


def test_a_server_that_takes_too_long_is_an_error(server):
    server.together = threading.Barrier(2, timeout=60)  # the test is the second, once it has lost its patience
    with pytest.raises(ExternalError, match=r"did not answer in 1 tries \(timed out\)"):
        OpenAIServer(timeout=0.05, retries=0).embed("tiny", ["a"])
    server.together.wait()


@pytest.mark.parametrize("where", ["head", "body"])
def test_an_answer_that_drips_is_given_up(server, monkeypatch, where):
    hung_up = threading.Event()
    monkeypatch.setattr(Handler, "do_POST", dripping(where, hung_up))
    with pytest.raises(ExternalError, match=r"did not answer in 0 seconds"):
        OpenAIServer(retries=0, patience=0.3).embed("tiny", ["a"])
    hung_up.set()


def dripping(where, hung_up):
    def answer(self):
        start = b"HTTP/1.1 200 OK\r\nX-Long: " if where == "head" else b"HTTP/1.1 200 OK\r\n\r\n"
        self.wfile.write(start)
        while not hung_up.wait(0.01):
            self.wfile.write(b" ")
        self.close_connection = True

    return answer


@pytest.mark.parametrize("encoding", [None, "gzip"])
def test_an_answer_without_end_is_not_read_to_its_end(server, backend, monkeypatch, encoding):
    monkeypatch.setattr("textspectra.embedding.server.ANSWER_BYTES", 2**20)
    body = b" " * 2**24
    headers = {} if encoding is None else {"Content-Encoding": "gzip"}
    for status in (200, 400):
        server.troubles = [(status, headers, body if encoding is None else gzip.compress(body))]
        with pytest.raises(ExternalError, match=r"/v1 cannot be used: the answer is larger than 1 MB\. Finished work"):
            backend.embed(["a"])


def test_a_server_cannot_ask_for_a_long_wait(server, backend):
    server.troubles = [(503, {"retry-after-ms": "", "Retry-After": "599"}, error("come back later"))]
    with pytest.raises(ExternalError, match=r"refused: 503 come back later\. Finished work is kept"):
        backend.embed(["a"])


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({}, b"[" * 100_000),
        ({"Content-Encoding": "gzip"}, b"not gzip at all"),
        ({}, b'{"data": [{"index": Infinity, "embedding": [1]}]}'),
        ({}, b'{"data": [{"index": 0, "embedding": [1' + b"0" * 400 + b"]}]}"),
        ({}, b'{"data": [{"index": 0, "embedding": ' + b"[" * 500 + b"]" * 500 + b"}]}"),
        ({"Content-Type": "application/json; charset=none"}, b"\xff\xfe"),
    ],
)
def test_an_answer_that_cannot_be_parsed_is_a_message(server, headers, body):
    server.troubles = [(200, headers, body)] * 2
    backend = OpenAIBackend("tiny")
    backend._server = OpenAIServer(retries=0)
    with pytest.raises(ExternalError):
        backend.embed(["a"])


def test_what_a_server_says_is_printable_and_without_the_key(server, backend):
    server.troubles = [(400, {}, error("\x1b[2J\u202e bad key secret-key\n\r\x07" + "x" * 10_000))]
    with pytest.raises(UserError) as caught:
        backend.embed(["a"])
    told = str(caught.value)
    assert told.isprintable()
    assert "bad key [key]" in told
    assert len(told) < 500


def test_a_name_cannot_repeat_the_key(server):
    server.troubles = [(200, {}, {"choices": [{"message": {"content": "secret-key"}}]})]
    assert OpenAIServer().chat("tiny", []).choices[0].message.content == "[key]"


def test_a_server_of_ones_own_needs_no_key(server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    load_model("openai:tiny").embed(["a"])
    [(_, _, headers)] = server.requests
    assert headers["Authorization"] == "Bearer none"


def test_what_is_missing_or_wrong_in_the_environment_is_named(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UsageError, match="set OPENAI_API_KEY"):
        load_model("openai:text-embedding-3-small")
    monkeypatch.setenv("OPENAI_BASE_URL", "localhost:8080")
    with pytest.raises(UsageError, match="must start with https:// or http://"):
        load_model("openai:text-embedding-3-small")
    with pytest.raises(UsageError, match="openai needs the name of a model after a colon, such as openai:text-emb"):
        load_model("openai")


@pytest.mark.parametrize(("status", "code"), [(401, 2), (404, 2), (400, 3), (429, 4), (503, 4)])
def test_the_exit_code_tells_a_wrong_key_from_texts_that_are_refused_and_a_server_that_is_down(server, status, code):
    server.troubles = [(status, {}, error("no"))]
    with pytest.raises(TextspectraError) as caught:
        OpenAIServer(retries=0).embed("tiny", ["a"])
    assert caught.value.exit_code == code


@pytest.fixture
def received(server, call, tmp_path):
    """Make a model folder whose embedding is a server, and a file of further texts."""
    rows = [f"{word} {number}" for word in ("parcel", "password") for number in range(20)]
    (tmp_path / "a.csv").write_text("\n".join(["text", *rows]))
    (tmp_path / "b.csv").write_text("\n".join(["text", *(f"{row} again" for row in rows)]))
    told = call("cluster", "a.csv", "--model", "openai:tiny", "--no-report", "--clusters", "2").err
    assert f"Sending 40 texts to {server.url}." in told  # who names a server on the command line has agreed
    server.requests.clear()
    return tmp_path / "a.model"


@pytest.mark.parametrize(
    "command", ["predict a.model b.csv", "compare a.model b.csv", "update a.model b.csv", "report a.model"]
)
def test_a_received_model_does_not_decide_that_texts_leave_the_machine(call, server, received, command):
    said = call(*command.split(), code=2).err
    assert said == (
        f"error: This model folder was made with openai:tiny, so texts would be sent to {server.url}. The folder may "
        "come from somebody else. Allow it with --allow-server, TEXTSPECTRA_ALLOW_SERVER=1 or, in your own settings, "
        "allow-server = true; in Python, with TextClustering.load(folder, allow_server=True).\n"
    )
    assert not server.requests


def test_texts_leave_the_machine_if_the_user_allows_it_and_that_is_told_before(call, server, received, monkeypatch):
    told = call("predict", "a.model", "b.csv", "--allow-server").err
    assert f"Sending 40 texts to {server.url}." in told
    assert sum(len(request["input"]) for _, request, _ in server.requests) == 40
    monkeypatch.setenv("TEXTSPECTRA_ALLOW_SERVER", "1")
    call("compare", "a.model", "b.csv", "--no-report")


@pytest.mark.parametrize("flag", ["--offline", "TEXTSPECTRA_OFFLINE"])
def test_offline_forbids_servers_even_if_they_are_allowed(call, server, received, flag, monkeypatch):
    if flag != "--offline":
        monkeypatch.setenv(flag, "1")
    flags = [flag] * (flag == "--offline")
    said = call("predict", "a.model", "b.csv", "--allow-server", *flags, code=2).err
    assert said == f"error: Nothing is sent to {server.url}, because --offline is set (TEXTSPECTRA_OFFLINE).\n"
    call("cluster", "b.csv", "--model", "openai:tiny", *flags, code=2)
    assert not server.requests


def test_the_hub_can_be_switched_off_without_the_server(server, backend, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert OpenAIBackend("tiny").embed(["a"]).shape == (1, 3)


def test_in_python_a_received_model_needs_permission(server, received):
    with pytest.raises(UsageError, match="so texts would be sent to"):
        TextClustering.load(received).predict(["parcel"])
    assert not server.requests
    assert len(TextClustering.load(received, allow_server=True).predict(["parcel"])) == 1
    assert len(TextClustering.load(received, model="openai:tiny").predict(["parcel"])) == 1


@pytest.mark.parametrize(
    "name", ["OpenAI:tiny", "openai:tiny", "//host/share/model", r"\\host\share", r"model2vec:\\host\share"]
)
def test_names_that_lead_elsewhere_are_recognized(name):
    with pytest.raises(UsageError, match="allow-server"):
        EmbeddingSource(name, {}).load()
