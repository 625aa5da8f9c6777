"""The server of a page: what it saves, what it refuses, and when it ends."""

import http.client
import json
import shutil
import socket
import threading
import tracemalloc
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from report_data import quick_map, read_page
from served import ask, edited_content, load, make_model, names_in_table, serving, state_of

from textspectra import TextClustering
from textspectra.errors import UserError
from textspectra.files import lock
from textspectra.report import serving as module
from textspectra.report.saving import model_version, report_path
from textspectra.report.serving import MAX_CONNECTIONS, OpenModel, serve_report
from textspectra.report.tree import report_levels


@pytest.fixture
def server(model):
    with serving(model) as server:
        yield server


def contents(model):
    return {path: path.read_bytes() for path in sorted(model.parent.rglob("*")) if path.is_file()}


def test_a_save_reaches_the_model_the_table_and_the_page(server, model):
    before = load(model)
    status, told, _ = ask(server, "POST", "save", state_of(before, {2: "my <b>own</b> name"}))
    assert (status, told["message"]) == (200, "1 group renamed, 5 groups unchanged")
    assert told["notes"] == [f"every text with its group: {model.with_name('x.clusters.csv')}"]
    assert told["version"] == model_version(model) == server.model.version
    assert told["labels"] == [[cluster.label, cluster.name] for cluster in load(model).clusters]
    assert load(model).clusters[2].name == "my <b>own</b> name"
    assert names_in_table(model)[2] == "my <b>own</b> name"
    meta = read_page(report_path(model))[0]
    assert meta["nodes"]["name"][meta["base"]["nodes"][2]] == "my <b>own</b> name"
    assert [path.name for path in model.parent.iterdir() if path.name.startswith(".")] == []


def test_a_page_goes_on_after_a_save_with_the_groups_that_it_was_opened_with(server, model):
    before = load(model)
    ask(server, "GET")
    status, told, _ = ask(server, "POST", "save", state_of(before.cut(8), base=before))
    assert (status, told["message"]) == (200, "2 groups split into 4, 4 groups unchanged")
    first = {cluster.label: cluster.size for cluster in load(model).clusters}
    # A finer cut splits other groups, too; those that were saved keep their labels, and no label has two meanings.
    status, told, _ = ask(server, "POST", "save", state_of(before.cut(10), base=before))
    assert status == 200
    second = load(model)
    texts = {cluster.label: set((second.labels == cluster.label).nonzero()[0]) for cluster in second.clusters}
    assert second.n_clusters == 10
    for label in set(first) & set(texts):
        assert len(texts[label]) == first[label]
    assert second.next_label == max(texts) + 1
    status, told, _ = ask(server, "POST", "save", state_of(before))
    assert status == 200
    assert [cluster.label for cluster in load(model).clusters] == list(range(6))
    assert load(model).next_label == second.next_label
    assert server.model.saves == 3


def test_what_is_prepared_while_nothing_is_saved_changes_nothing(planted, tmp_path):
    (tmp_path / "first").mkdir()
    model = make_model(tmp_path / "first", planted, n=1200)
    shutil.copytree(tmp_path / "first", tmp_path / "second")
    merged = load(model).merge(0, 3)
    groups = [
        (cluster.label, f"{cluster.name}!", np.flatnonzero(merged.distinct_codes == code))
        for code, cluster in enumerate(merged.clusters)
    ]
    state = json.dumps(edited_content(load(model), groups)).encode()
    results = []
    with quick_map():
        for folder in ("first", "second"):
            model = tmp_path / folder / "x.model"
            opened = OpenModel(model, lambda model=model: load(model))
            for _ in range(2 if folder == "second" else 0):
                opened.prepare()
            saved = opened.save(state, opened.version)
            results.append((saved.blocks, saved.version, names_in_table(model)))
    assert results[0] == results[1]
    assert saved.changes.merged == (2, 1)


def test_a_page_is_shown_while_vectors_are_made_and_a_save_waits_for_them(model, monkeypatch):
    opened = OpenModel(model, lambda: replace(load(model), known_embeddings=None))
    started, go_on = threading.Event(), threading.Event()
    vectors = load(model).embedded()

    def embedded(result):
        started.set()
        go_on.wait()
        return vectors

    monkeypatch.setattr(TextClustering, "embedded", embedded)
    preparing = threading.Thread(target=opened.prepare)
    preparing.start()
    started.wait()
    assert opened.page()
    saving = threading.Thread(target=opened.save, args=(state_of(load(model), {0: "other"}).encode(), opened.version))
    saving.start()
    assert not opened.saves
    go_on.set()
    preparing.join()
    saving.join()
    assert opened.saves == 1


def test_an_error_while_a_save_is_prepared_is_not_told(server, model, monkeypatch, caplog):
    monkeypatch.setattr(module, "find_table", lambda *_: 1 / 0)
    assert ask(server, "POST", "save", state_of(load(model), {0: "other"}))[0] == 200
    server.model.prepare()
    assert not [record for record in caplog.records if record.levelname != "DEBUG"]


def test_nothing_is_sent_to_a_server_unasked(model):
    result = load(model)
    elsewhere = replace(result, known_embeddings=None, source=result.source._replace(model="openai:some", given=False))
    opened = OpenModel(model, lambda: elsewhere)
    opened.prepare()
    assert opened._result is elsewhere


def test_the_second_page_is_told_that_the_model_has_changed(server, model):
    before, version = load(model), server.model.version
    assert ask(server, "POST", "save", state_of(before, {0: "first"}))[0] == 200
    saved = contents(model)
    status, told, _ = ask(server, "POST", "save", state_of(before, {0: "second"}), version=version)
    assert (status, told) == (409, {"message": module.MODEL_CHANGED})
    assert contents(model) == saved
    page = ask(server, "GET")[1]
    assert f'<meta name="model-version" content="{server.model.version}">' in page
    assert ask(server, "POST", "save", state_of(load(model), {0: "second"}))[0] == 200
    assert load(model).clusters[0].name == "second"


def test_a_change_by_another_command_is_noticed(server, model):
    before, version = load(model), server.model.version
    before.rename(0, "from outside").save(model, overwrite=True)
    status, told, _ = ask(server, "POST", "save", state_of(before, {1: "mine"}))
    assert (status, told) == (409, {"message": module.MODEL_CHANGED})
    assert load(model).clusters[0].name == "from outside"
    # The page beside the model shows other names, so that a new one is made.
    assert ask(server, "GET")[0] == 200
    assert server.model.version == model_version(model) != version
    assert ask(server, "POST", "save", state_of(load(model), {1: "mine"}))[0] == 200
    assert [cluster.name for cluster in load(model).clusters[:2]] == ["from outside", "mine"]


def test_while_another_process_writes_nothing_is_saved(server, model):
    with lock(model):
        status, told, _ = ask(server, "POST", "save", state_of(load(model), {1: "mine"}))
    assert status == 503
    assert told["message"].endswith("is being changed by another process; try again when that has ended.")


def test_a_model_that_is_gone_is_a_message(server, model):
    state = state_of(load(model), {1: "mine"})
    shutil.rmtree(model)
    assert ask(server, "POST", "save", state)[:2] == (409, {"message": module.MODEL_CHANGED})
    assert ask(server, "GET")[0] == 400


def test_answers_forbid_storing_guessing_and_other_servers(server):
    status, page, headers = ask(server, "GET")
    policy = headers["Content-Security-Policy"]
    assert status == 200
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.endswith("img-src data: blob:; connect-src 'self'; frame-ancestors 'none'")
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "connect-src &#39;self&#39;" in page
    assert "connect-src" not in report_path(server.model.folder).read_text(encoding="utf-8").partition("<style>")[0]
    headers = ask(server, "GET", path="/other/")[2]
    assert headers["Content-Security-Policy"] == "default-src 'none'"
    assert "Python" not in headers["Server"]


ADDRESS = "This is not the address that textspectra opened."
NAME, ELSEWHERE = "This server has another name.", "This request comes from another page."
LENGTH, NOTHING = "The request does not say how long it is.", "There is nothing here."
NO_JSON = "What the page sent is not JSON; use the file that “Download JSON” of a report writes."
HOSTILE = {
    "wrong token": ({"token": "A" * 32}, 403, ADDRESS),
    "no token": ({"path": "/save"}, 403, ADDRESS),
    "other host": ({"Host": "evil.example"}, 403, NAME),
    "other port": ({"Host": "127.0.0.1:1"}, 403, NAME),
    "no host": ({"Host": None}, 403, NAME),
    "other origin": ({"Origin": "https://evil.example"}, 403, ELSEWHERE),
    "origin of a file": ({"Origin": "null"}, 403, ELSEWHERE),
    "no origin": ({"Origin": None}, 403, ELSEWHERE),
    "1 GB": ({"Content_Length": str(10**9)}, 413, "The request has more than 64 MB."),
    "many digits": ({"Content_Length": "9" * 5000}, 413, "The request has more than 64 MB."),
    "no length": ({"Content_Length": None}, 411, LENGTH),
    "negative": ({"Content_Length": "-1"}, 411, LENGTH),
    "chunks": ({"Transfer_Encoding": "chunked"}, 411, LENGTH),
    "traversal": ({"name": "../../../etc/passwd"}, 404, NOTHING),
    "encoded traversal": ({"name": "%2e%2e/%2e%2e/etc/passwd"}, 404, NOTHING),
    "a file of the model": ({"name": "x.model/clustering.json"}, 404, NOTHING),
    "garbage": ({"body": "\x00{"}, 400, NO_JSON),
    "deep": ({"body": "[" * 10**6}, 400, NO_JSON),
    "deep and closed": ({"body": '{"format": ' + "[" * 10**6 + "]" * 10**6 + "}"}, 400, NO_JSON),
    "two lengths": ({"Content_Length": "5, 5"}, 411, LENGTH),
    "absolute address": ({"path": "http://evil.example/save"}, 403, ADDRESS),
    "traversal before the token": ({"path": "/../../etc/passwd"}, 403, ADDRESS),
    "zero byte": ({"name": "save%00.html"}, 404, NOTHING),
    "question": ({"name": "save?file=/etc/passwd"}, 404, NOTHING),
    "another format": (
        {"body": "{}"}, 400, "What the page sent was not written by “Download JSON” of a report of this version.",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("request_", "status", "message"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_requests_are_refused(server, model, request_, status, message):
    before = contents(model)
    sent = {"name": "save", "body": state_of(load(model), {0: "evil"}), **request_}
    assert ask(server, "POST", **sent)[:2] == (status, {"message": message})
    assert contents(model) == before
    assert server.model.saves == 0


def test_a_state_of_another_model_is_refused(server, model):
    before = contents(model)
    status, told, _ = ask(server, "POST", "save", state_of(load(model), {0: "x"}, fingerprint="0" * 16))
    assert status == 400
    assert told["message"].startswith("The state comes from a report of other texts than the model has")
    status, told, _ = ask(server, "POST", "save", state_of(load(model), {0: "x"}, grouping="0" * 16))
    assert (status, told["message"]) == (
        400, "The state does not fit the model, whose groups have changed since the report was made.",
    )  # fmt: skip
    assert contents(model) == before


UNFIT = "The state does not fit the model, whose groups have changed since the report was made."
DAMAGED = "The state is damaged: its clusters cannot be read. Download the JSON file from the report again."
WRONG_EDITS = {
    "a group that does not exist": ({"cluster": 99}, DAMAGED),
    "a negative group": ({"cluster": -1}, DAMAGED),
    "a group that is text": ({"cluster": "0"}, DAMAGED),
    "parts that do not exist": ({"parts": [[0, 10**9]]}, DAMAGED),
    "parts of another group": ({"parts": [[0, 2**62]]}, DAMAGED),
    "no parts": ({"parts": [], "moved": []}, DAMAGED),
    "a row that does not exist": ({"moved": [10**9]}, DAMAGED),
    "a negative row": ({"moved": [-1]}, DAMAGED),
    "a huge row": ({"moved": [10**30]}, DAMAGED),
    "a row twice": ({"moved": [3, 3]}, DAMAGED),
    "another size": ({"size": 1}, UNFIT),
    "a huge size": ({"size": 10**400}, UNFIT),
    "a blank name": ({"name": " \t"}, "The names in the state are blank or not all different."),
}


@pytest.mark.parametrize(("change", "message"), WRONG_EDITS.values(), ids=WRONG_EDITS)
def test_edits_of_what_does_not_exist_are_refused(server, model, change, message):
    before, result = contents(model), load(model)
    levels, finest = report_levels(result)
    codes = [int(result.distinct_codes[finest == leaf][0]) for leaf in range(levels.k)]
    state = json.loads(state_of(result, edited=True))
    for number, cluster in enumerate(state["clusters"]):
        cluster |= {"parts": [[leaf, leaf + 1] for leaf, code in enumerate(codes) if code == number], "moved": []}
    state["clusters"][0] |= change
    assert ask(server, "POST", "save", json.dumps(state))[:2] == (400, {"message": message})
    assert contents(model) == before


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(server, method):
    assert ask(server, method)[:2] == (501, {"message": "This request is not understood."})


def talk(server, *pieces):
    """Send bytes, and return all that comes back."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as connection:
        for piece in pieces:
            connection.sendall(piece)
        answer = b""
        while part := connection.recv(65_536):
            answer += part
    return answer


def test_what_is_not_http_is_refused(server):
    assert b"This request is not understood." in talk(server, b"\x16\x03\x01 hello TLS\r\n\r\n")
    assert b"403" in talk(server, b"GET /\r\n\r\n")
    hosts = f"Host: {server.hosts[0]}\r\nHost: evil.example\r\n"
    assert NAME.encode() in talk(server, f"GET /{server.token}/ HTTP/1.1\r\n{hosts}\r\n".encode())
    assert b"403" in talk(server, b"GET /\xff\xfe\xc3/ HTTP/1.1\r\n\r\n")


def test_a_slow_client_is_cut_off(model):
    with serving(model, request_seconds=0.2) as server:
        head = f"POST /{server.token}/save HTTP/1.1\r\nHost: {server.hosts[0]}\r\n".encode()
        assert talk(server, head) == b""  # the head never ends
        origin = f"Origin: http://{server.hosts[0]}\r\nContent-Length: 100\r\n\r\n".encode()
        assert talk(server, head + origin, b"{") == b""  # nor does the body
        assert server.model.saves == 0
        assert ask(server, "GET")[0] == 200


def test_a_client_that_does_not_read_is_cut_off(model, monkeypatch):
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.1)
    with serving(model) as server, socket.create_connection(("127.0.0.1", server.server_port)) as connection:
        monkeypatch.setattr(server.model, "page", lambda: "x" * 2**26)  # more than the buffers of the system take
        connection.sendall(f"GET /{server.token}/ HTTP/1.1\r\nHost: {server.hosts[0]}\r\n\r\n".encode())
        assert connection.recv(4) == b"HTTP"
        for thread in threading.enumerate():
            if "process_request_thread" in thread.name:
                thread.join(20)
                assert not thread.is_alive()


def test_of_requests_that_come_together_only_the_first_counts(server, model):
    def post(name):
        body = state_of(load(model), {0: name})
        head = f"POST /{server.token}/save HTTP/1.1\r\nHost: {server.hosts[0]}\r\nOrigin: http://{server.hosts[0]}\r\n"
        return f"{head}Model-Version: {server.model.version}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()

    assert talk(server, post("first") + post("second")).count(b"HTTP/1.") == 1
    assert load(model).clusters[0].name == "first"
    assert server.model.saves == 1


def test_a_large_body_is_not_read(server):
    head = f"POST /{server.token}/save HTTP/1.1\r\nHost: {server.hosts[0]}\r\nOrigin: http://{server.hosts[0]}\r\n"
    for length, chunk in ((f"Content-Length: {2**30}", b"x" * 2**20), ("Transfer-Encoding: chunked", CHUNK)):
        sent = 0
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as connection:
            connection.sendall(f"{head}{length}\r\n\r\n".encode())
            with suppress(ConnectionError):
                while sent < 2**30:
                    sent += connection.send(chunk)
        assert sent < 2**26  # what the buffers of the system take


CHUNK = b"100000\r\n" + b"x" * 2**20 + b"\r\n"


def test_many_hostile_requests_leave_nothing_behind(server):
    wrong = [{"token": "A" * 32}, {"Host": "evil.example"}, {"Content_Length": str(10**9)}, {"body": "[" * 10_000}]

    def attack(times):
        for _ in range(times):
            for request in wrong:
                ask(server, "POST", **{"name": "save", "body": "", **request})
        talk(server, b"\xff\r\n\r\n")  # the threads of the others have ended by now, or nearly so

    attack(5)
    threads = threading.active_count()
    tracemalloc.start()
    attack(1)
    before = tracemalloc.get_traced_memory()[0]
    attack(50)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 2**20
    assert threading.active_count() <= threads + 2


def test_more_connections_than_pages_need_are_refused(server):
    idle = [socket.create_connection(("127.0.0.1", server.server_port)) for _ in range(MAX_CONNECTIONS)]
    assert talk(server) == b""
    for connection in idle:
        connection.close()
    while not (answer := talk(server, b"GET / HTTP/1.1\r\n\r\n")):  # until they are noticed
        pass
    assert ADDRESS.encode() in answer


class Page:
    """An open page: a request to `alive` that goes on."""

    def __init__(self, address):
        _, _, host, token, _ = address.split("/")
        self.connection = http.client.HTTPConnection(host, timeout=30)
        self.connection.request("POST", f"/{token}/alive", headers={"Origin": f"http://{host}", "Content-Length": "0"})
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200

    def close(self):
        self.answer.close()
        self.connection.close()


def test_it_ends_when_the_page_is_closed(model):
    def opened(address):
        threading.Thread(target=lambda: Page(address).close()).start()
        return True

    assert serve_report(model, opened, load=lambda: load(model), grace=0.05) == ("closed", 0)


def test_a_page_that_is_loaded_again_stays_open(model):
    with serving(model) as server:
        first = Page(server.address)
        second = Page(server.address)
        first.close()
        waiting = threading.Thread(target=server.wait, args=(0.05, 0.05))
        waiting.start()
        waiting.join(0.3)
        assert waiting.is_alive()
        second.close()
        waiting.join()


def test_it_ends_if_no_browser_opens_the_page(model):
    options = {"load": lambda: load(model), "patience": 0.05}
    assert serve_report(model, lambda address: True, **options) == ("not opened", 0)
    assert serve_report(model, lambda address: False, **options) == ("no browser", 0)


def test_ctrl_c_ends_it_and_the_page_learns_it(model):
    pages = []

    def opened(address):
        pages.append(Page(address))
        raise KeyboardInterrupt

    assert serve_report(model, opened, load=lambda: load(model)) == ("stopped", 0)
    pages[0].close()


def test_a_page_of_other_groups_is_made_again(model):
    load(model).rename(0, "from outside").save(model, overwrite=True)
    with quick_map():
        page = OpenModel(model, lambda: load(model)).page()
    path = model.with_name("served.html")
    path.write_text(page, encoding="utf-8")
    meta = read_page(path)[0]
    assert meta["nodes"]["name"][meta["base"]["nodes"][0]] == "from outside"


def test_only_the_data_of_a_page_are_served(server, model):
    path = report_path(model)
    page = path.read_text(encoding="utf-8")
    page = page.replace("<body>", "<body><script>hacked = 1</script>").replace(
        "default-src &#39;none&#39;", "default-src *"
    )
    path.write_text(page, encoding="utf-8")
    served = OpenModel(model, lambda: load(model)).page()
    assert "hacked" not in served
    assert "default-src *" not in served
    assert len(served) > len(page) - 1000


def test_a_model_without_its_embeddings_cannot_show_a_page_of_other_groups(model):
    load(model).rename(0, "from outside").save(model, overwrite=True)
    with pytest.raises(UserError, match="embeddings"):
        serve_report(model, lambda address: True)
