"""The paper's six datasets with MiniLM embeddings: k, ARI and NMI as textspectra finds them.

Run as a script, it writes the table that test_paper_sets.py compares with.
"""

import csv
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from labeled_sets import DATA

import textspectra as ts

TABLE = Path(__file__).with_name("paper_sets.csv")
SETS = ["bless", "dbpedia14", "dbpedia14_titleonly", "ng20_train_clean", "reddit50_s", "stackexchange121_s"]


def measure(name):
    stored = np.load(DATA / "minilm" / f"{name}.npz")
    X = stored["embedding"]
    truth = pq.read_table(DATA / f"{name}.parquet")["label"].take(stored["row"]).to_pylist()
    models = {"kmeans": ts.AutoKMeans(method="spectral", refine=False), "hac": ts.AutoAgglomerative(method="spectral")}
    row = {"set": name, "rows": len(X), "classes": len(set(truth)), "k": ts.spectral_k(X).k}
    for algorithm, model in models.items():
        scores = ts.evaluate(X, model.fit_predict(X), truth)
        row |= {f"{algorithm}_{metric}": round(scores[metric], 3) for metric in ("ari", "nmi", "cohesion_ratio")}
    return row


if __name__ == "__main__":
    rows = [measure(name) for name in SETS]
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
