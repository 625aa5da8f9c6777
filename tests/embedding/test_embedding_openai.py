"""The openai back end against a real server on this machine."""

import email.utils
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

pytest.importorskip("httpx", reason="needs the extra openai")

from textspectra.embedding import embed_texts, load_backend
from textspectra.embedding.openai import OpenAIBackend
from textspectra.embedding.openai_http import OpenAIServer
from textspectra.errors import UserError


def vector(text):
    return [float(len(text)), float(sum(map(ord, text))), 1.0]


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, request, dict(self.headers)))
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
        content = json.dumps(body(request) if callable(body) else body).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """Keep quiet."""


@pytest.fixture
def server(monkeypatch):
    """Start a server that answers right, but for the troubles put into its list."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.requests, running.troubles, running.waits = [], [], []
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
    return OpenAIBackend("tiny", server=OpenAIServer(server.url, "secret-key", sleep=server.waits.append))


def error(message, **more):
    return {"error": {"message": message, **more}}


def test_vectors_are_in_order_and_the_request_is_what_the_api_wants(server, cache):
    backend = load_backend("openai:tiny")
    assert (backend.name, backend.settings) == ("openai:tiny", {"model": "tiny", "base_url": server.url})
    texts = ["one", "three", "seven", "one"]
    assert np.array_equal(embed_texts(texts, backend, cache=cache), [vector(text) for text in texts])
    [(path, request, headers)] = server.requests
    assert path == "/v1/embeddings"
    assert request == {"model": "tiny", "input": ["three", "seven", "one"]}
    assert headers["Authorization"] == "Bearer secret-key"
    embed_texts(texts, load_backend("openai:tiny"), cache=cache)
    assert len(server.requests) == 1


def test_batches(server, backend, cache):
    texts = [str(number) for number in range(300)]
    assert np.array_equal(embed_texts(texts, backend, cache=cache), [vector(text) for text in texts])
    assert [len(request["input"]) for _, request, _ in server.requests] == [128, 128, 44]


def test_requests_that_would_be_too_long_are_split(server, backend):
    texts = ["x" * 150_000, "y" * 150_000, "z" * 150_000]
    assert np.array_equal(backend.embed(texts), np.array([vector(text) for text in texts], np.float32))
    assert [len(request["input"]) for _, request, _ in server.requests] == [1, 2]


def test_blank_texts_are_not_sent_and_get_zeros(server, backend):
    assert np.array_equal(backend.embed(["a", "", " \n"]), [vector("a"), [0, 0, 0], [0, 0, 0]])
    assert server.requests[0][1]["input"] == ["a"]
    assert np.array_equal(backend.embed([""]), [[0, 0, 0]])


@pytest.mark.parametrize("trouble", [(500, {}, {}), (502, {}, {}), (503, {}, "busy"), (504, {}, []), (429, {}, {}),
                                     "cut", "cut in the answer"])  # fmt: skip
def test_passing_troubles_are_tried_again_with_growing_waits(server, backend, trouble):
    server.troubles = [trouble] * 4
    assert np.array_equal(backend.embed(["a"]), [vector("a")])
    assert len(server.requests) == 5
    assert all(2**n / 2 <= wait <= 2**n for n, wait in enumerate(server.waits))
    assert len(server.waits) == 4


def test_retry_after_is_honoured_in_seconds_and_as_a_date(server, backend):
    soon = email.utils.formatdate(time.time() + 100, usegmt=True)
    server.troubles = [
        (429, {"Retry-After": "7"}, {}),
        (503, {"Retry-After": soon}, {}),
        (429, {"Retry-After": "?"}, {}),
    ]
    backend.embed(["a"])
    assert server.waits[0] == 7
    assert 90 < server.waits[1] <= 100
    assert 2 <= server.waits[2] <= 4


def test_a_server_that_stays_busy_is_given_up_and_what_is_done_is_kept(server, backend, cache):
    texts = [str(number) for number in range(300)]
    server.troubles = [None, None] + [(503, {}, error("overloaded"))] * 6
    with pytest.raises(UserError, match=r"did not answer in 6 tries; the last problem: 503 overloaded\..*run it again"):
        embed_texts(texts, backend, cache=cache)
    assert cache.size().entries == 256
    server.requests.clear()
    assert np.array_equal(embed_texts(texts, backend, cache=cache), [vector(text) for text in texts])
    assert [len(request["input"]) for _, request, _ in server.requests] == [44]


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        ((401, {}, error("Incorrect API key provided.")), r"401 Incorrect API key provided\. Check the key in"),
        ((404, {}, error("The model `tiny` does not exist")), "404 The model `tiny` does not exist. Check the name"),
        ((400, {}, {"detail": "too long"}), "400 too long. What was done so far is kept"),
        ((422, {}, ["odd"]), r"422 \['odd'\]"),
        ((429, {}, error("You exceeded your quota", code="insufficient_quota")), "The quota is used up"),
        ((429, {"Retry-After": "86400"}, error("Daily limit")), "429 Daily limit. The quota is used up"),
    ],
)  # fmt: skip
def test_what_no_try_can_mend_is_an_error_at_once(server, backend, trouble, message):
    server.troubles = [trouble]
    with pytest.raises(UserError, match=message) as caught:
        backend.embed(["a"])
    assert "secret-key" not in str(caught.value)
    assert len(server.requests) == 1
    assert server.waits == []


def data(*vectors):
    return {"data": [{"index": index, "embedding": list(vector)} for index, vector in enumerate(vectors)]}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (data([1, 2]), "gave 1 vectors for 2 texts"),
        (data([1, 2], [1, 2], [1, 2]), "gave 3 vectors for 2 texts"),
        (data([1, 2], [1, 2, 3]), r"vectors of different lengths \(2, 3\)"),
        (data([[1]], [[1]]), "vectors of different lengths"),
        ({"data": [{"index": 0}]}, "without vectors for openai:tiny"),
        ({"object": "list"}, "without vectors for openai:tiny"),
        (["what"], "something else than a JSON object"),
    ],
)
def test_an_answer_that_makes_no_sense_is_explained(server, backend, body, message):
    server.troubles = [(200, {}, body)]
    with pytest.raises(UserError, match=message):
        backend.embed(["a", "b"])


def test_a_dimension_that_changes_during_a_run_is_an_error(server, backend):
    backend.embed(["a"])
    server.troubles = [(200, {}, data([1, 2]))]
    with pytest.raises(UserError, match=r"different lengths \(2, 3\) for openai:tiny: its model was changed"):
        backend.embed(["b"])


def test_a_server_that_is_not_there_is_an_error_that_names_the_address():
    waits = []
    nobody = OpenAIServer("http://name:word@127.0.0.1:1/v1", tries=3, sleep=waits.append)
    with pytest.raises(UserError, match=r"http://127.0.0.1:1/v1/chat/completions did not answer in 3 tries") as caught:
        nobody.post("chat/completions", {})
    assert "word" not in str(caught.value)
    assert len(waits) == 2


def test_no_key_is_sent_to_a_server_that_needs_none(server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    load_backend("openai:tiny").embed(["a"])
    monkeypatch.setenv("OPENAI_API_KEY", "meant for another server")
    OpenAIServer(server.url).post("embeddings", {"input": []})
    assert not any("Authorization" in headers for _, _, headers in server.requests)


def test_what_is_missing_or_wrong_in_the_environment_is_named(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UserError, match="set OPENAI_API_KEY"):
        load_backend("openai:text-embedding-3-small")
    monkeypatch.setenv("OPENAI_BASE_URL", "localhost:8080")
    with pytest.raises(UserError, match="must start with https:// or http://"):
        load_backend("openai:text-embedding-3-small")
    with pytest.raises(UserError, match="openai needs the name of a model after a colon, such as openai:text-emb"):
        load_backend("openai")
