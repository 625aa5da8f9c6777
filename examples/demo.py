"""k, clusters and cohesion of embeddings that are made on the spot, with the truth beside them."""

import numpy as np

import textspectra as ts

rng = np.random.default_rng(0)
truth = rng.integers(0, 12, 5000)
X = rng.standard_normal((12, 64))[truth] + 1.2 * rng.standard_normal((5000, 64))

estimate = ts.estimate_k(X, random_state=0)
print(f"estimate: {estimate}")
for model in (ts.AutoKMeans(random_state=0), ts.AutoAgglomerative(random_state=0)):
    model.fit(X)
    score = ts.evaluate(X, model.labels_, truth, random_state=0)
    print(
        f"{type(model).__name__}: {model.n_clusters_} clusters, Cohesion Ratio {model.cohesion_ratio_:.2f}, "
        f"agreement with the planted groups (ARI) {score['ari']:.3f}"
    )
