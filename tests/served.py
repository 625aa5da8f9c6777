"""A model folder with its table and its page, a server of it, and requests to that."""

import csv
import http.client
import json
import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from report_data import quick_map

import textspectra as ts
from textspectra.cli.cluster import run_cluster
from textspectra.cli.output import Stages
from textspectra.report.build import corpus_fingerprint, grouping_mark
from textspectra.report.serving import OpenModel, PageServer
from textspectra.report.state import FORMAT
from textspectra.report.tree import report_levels

WORDS = ["parcel", "password", "refund", "invoice", "battery", "delivery"]


def make_model(folder, planted, n=120):
    """Write x.csv, and group it into x.model, x.clusters.csv and x.report.html."""
    X, truth = planted(6, n, d=24, noise=0.1)
    lines = [f"my {WORDS[cluster]} number {i}" for i, cluster in enumerate(truth)]
    (folder / "x.csv").write_text("\n".join(["message", *lines, ""]), encoding="utf-8")
    np.save(folder / "x.npy", X)
    with quick_map():
        options = {"embeddings": str(folder / "x.npy"), "clusters": "6", "overwrite": True}
        run_cluster([str(folder / "x.csv")], Stages(None), **options)
    return folder / "x.model"


def load(model):
    return ts.TextClustering.load(model, embeddings=np.load(model.with_name("x.npy")))


def names_in_table(model):
    """Return the names of the groups by their labels, from the table beside a model."""
    with model.with_name("x.clusters.csv").open(encoding="utf-8", newline="") as file:
        return {int(row["cluster"]): row["cluster_name"] for row in csv.DictReader(file)}


def state_of(result, names=None, base=None, **changed):
    """Return the state of a page that shows a cut of the base, with some groups renamed."""
    clusters = [
        {"cluster": cluster.label, "name": (names or {}).get(cluster.label, cluster.name), "size": cluster.size}
        for cluster in result.clusters
    ]
    marks = {"fingerprint": corpus_fingerprint(result.corpus), "grouping": grouping_mark(base or result)}
    return json.dumps({"format": FORMAT, **marks, "edited": False, "clusters": clusters, **changed})


def edited_content(result, clusters):
    """Return what the page writes for groups made by hand, each a label, a name and distinct texts."""
    levels, finest = report_levels(result)
    shares = np.array([np.bincount(finest[texts], minlength=levels.k) for _, _, texts in clusters])
    entries = []
    for number, (label, name, texts) in enumerate(clusters):
        parts = np.flatnonzero(shares.argmax(axis=0) == number).tolist()
        moved = [text for text in texts if finest[text] not in parts]
        entries.append({
            "cluster": label, "name": name, "size": int(result.corpus.counts[texts].sum()),
            "parts": [[code, code + 1] for code in parts], "moved": result.corpus.first_rows[moved].tolist(),
        })  # fmt: skip
    marks = {"fingerprint": corpus_fingerprint(result.corpus), "grouping": grouping_mark(result)}
    return {"format": FORMAT, **marks, "edited": True, "clusters": entries}


@contextmanager
def serving(model, **options):
    """Serve a model folder whose embeddings are beside it; yield the server."""
    with quick_map(), PageServer(OpenModel(Path(model), lambda: load(model)), **options) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.is_ending.set()
            server.shutdown()
            thread.join()


def ask(server, method, name="", body=None, *, token=None, path=None, version=None, **headers):
    """Send a request, as our page does unless headers say otherwise; return the status, the answer and its headers."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    usual = {"Host": server.hosts[0]}
    if method == "POST":
        usual |= {"Origin": f"http://{server.hosts[0]}", "Model-Version": version or server.model.version}
        usual["Content-Length"] = str(len(body or ""))
    given = {key.replace("_", "-"): value for key, value in headers.items()}
    connection.putrequest(method, path or f"/{token or server.token}/{name}", skip_host=True, skip_accept_encoding=True)
    for key, value in (usual | given).items():
        if value is not None:
            connection.putheader(key, value)
    connection.endheaders((body or "").encode())
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    is_json = answer.headers["Content-Type"] == "application/json"
    return answer.status, json.loads(content) if is_json else content.decode(), answer.headers
