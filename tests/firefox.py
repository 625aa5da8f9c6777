"""A real Firefox, as Debian has it, driven over WebDriver BiDi, and what to do where there is none."""

import json
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

FIREFOX = next((path for path in map(shutil.which, ("firefox-esr", "firefox")) if path), None)

needs_firefox = pytest.mark.skipif(
    FIREFOX is None, reason="no Firefox here; on Debian: sudo apt-get install firefox-esr"
)

PREFERENCES = {
    "app.normandy.enabled": False,
    "browser.download.alwaysOpenPanel": False,
    "browser.download.folderList": 2,  # the folder that `firefox` names
    "browser.aboutwelcome.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.proxy.type": 1,  # to a proxy that is not there: no page reaches a network
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "webgl.force-enabled": True,
}


class Firefox:
    """One tab of a Firefox, and the errors that its pages told."""

    def __init__(self, socket, loop):
        self.socket, self.loop, self.last, self.problems = socket, loop, 0, []
        self.call("session.new", capabilities={})
        self.call("session.subscribe", events=["log.entryAdded"])
        self.tab = self.call("browsingContext.getTree")["contexts"][0]["context"]

    def call(self, method, **parameters):
        """Send a command and return its result; what the page logs meanwhile is kept."""
        self.last += 1
        message = json.dumps({"id": self.last, "method": method, "params": parameters})
        self.loop.run_sync(lambda: self.socket.write_message(message))
        while True:
            answer = json.loads(self.loop.run_sync(self.socket.read_message))
            if answer.get("method") == "log.entryAdded" and answer["params"]["level"] == "error":
                self.problems.append(answer["params"]["text"])
            if answer.get("id") == self.last:
                assert answer["type"] == "success", answer
                return answer["result"]

    def open(self, path):
        address = path if isinstance(path, str) else path.as_uri()
        self.call("browsingContext.navigate", context=self.tab, url=address, wait="complete")
        self.wait_for("document.documentElement.dataset.ready")

    def evaluate(self, code):
        """Return the JSON value of an expression; a promise is awaited."""
        found = self.call(
            "script.evaluate", target={"context": self.tab}, awaitPromise=True,
            expression=f"(async () => JSON.stringify((await ({code})) ?? null))()",
        )  # fmt: skip
        assert found["type"] == "success", found["exceptionDetails"]["text"]
        return json.loads(found["result"]["value"])

    def wait_for(self, condition):
        """Wait in the page until an expression is true."""
        look = f"const look = () => ({condition}) ? done(true) : setTimeout(look, 20)"
        self.evaluate(f"new Promise((done) => {{ {look}; look(); }})")


@contextmanager
def firefox(downloads=None):
    """Start Firefox with a new profile; files that are downloaded go to a folder."""
    websocket, ioloop = pytest.importorskip("tornado.websocket"), pytest.importorskip("tornado.ioloop")
    with tempfile.TemporaryDirectory() as profile:
        preferences = {**PREFERENCES, "browser.download.dir": str(downloads or profile)}
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in preferences.items()]
        Path(profile, "user.js").write_text("\n".join(lines), encoding="utf-8")
        command = [FIREFOX, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)  # noqa: S603
        try:
            said = next(line for line in process.stderr if "WebDriver BiDi listening on" in line)
            loop = ioloop.IOLoop(make_current=False)
            address = f"{said.split()[-1]}/session"
            socket = loop.run_sync(lambda: websocket.websocket_connect(address, max_message_size=1 << 28))
            yield Firefox(socket, loop)
            socket.close()
            loop.close()
        finally:
            process.terminate()
            process.communicate()
