"""A small Hugging Face hub on this machine: one model in a folder, and what was asked for."""

import hashlib
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

REVISION = "89abcdef0123456789abcdef0123456789abcdef"


class Hub:
    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        self.asked = []
        self.fails_at = None
        self.damages = None
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self):
                hub.answer(self, body=False)

            def do_GET(self):
                hub.answer(self, body=True)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, request, *, body):
        path = request.path.partition("?")[0]
        file = path.partition("/resolve/")[2].partition("/")[2]
        files = sorted(path for path in self.folder.rglob("*") if path.is_file())
        names = [path.relative_to(self.folder).as_posix() for path in files]
        if path.startswith(f"/api/models/{self.name}/tree/"):
            sizes = [path.stat().st_size for path in files]
            listed = [
                {"type": "file", "path": name, "size": size, "oid": REVISION}
                for name, size in zip(names, sizes, strict=True)
            ]
            content = json.dumps(listed).encode()
        elif path.startswith(f"/api/models/{self.name}"):
            siblings = [
                {"rfilename": name, "size": path.stat().st_size} for name, path in zip(names, files, strict=True)
            ]
            content = json.dumps({"id": self.name, "sha": REVISION, "siblings": siblings}).encode()
        elif path.startswith(f"/{self.name}/resolve/") and (self.folder / file).is_file() and file != self.fails_at:
            if body:
                self.asked.append(file)
            content = (self.folder / file).read_bytes()
        else:
            request.send_error(404)
            return
        request.send_response(200)
        request.send_header("Content-Length", str(len(content)))
        request.send_header("X-Repo-Commit", REVISION)
        request.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        request.end_headers()
        if body:
            request.wfile.write(bytes(len(content)) if file and file == self.damages else content)
