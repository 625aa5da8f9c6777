from .clustering import AutoAgglomerative, AutoKMeans, MergeTree
from .cohesion import ClusterCohesion, CohesionReport, cohesion_ratio, cohesion_report
from .errors import UserError
from .evaluation import evaluate
from .kestimate import KEstimate, estimate_k, k_from_spectrum
from .pipeline import cluster_texts
from .result import TextClustering
from .spectrum import laplacian_eigenvalues

__all__ = [
    "AutoAgglomerative",
    "AutoKMeans",
    "ClusterCohesion",
    "CohesionReport",
    "KEstimate",
    "MergeTree",
    "TextClustering",
    "UserError",
    "cluster_texts",
    "cohesion_ratio",
    "cohesion_report",
    "estimate_k",
    "evaluate",
    "k_from_spectrum",
    "laplacian_eigenvalues",
]

__version__: str
