from .clustering import AutoAgglomerative, AutoKMeans
from .cohesion import ClusterCohesion, CohesionReport, cohesion_ratio, cohesion_report
from .errors import UserError
from .evaluation import evaluate
from .kestimate import KEstimate, Suggestion, estimate_k
from .pipeline import cluster_texts
from .result import TextClustering
from .spectral import k_from_spectrum
from .spectrum import laplacian_eigenvalues
from .tree import MergeTree

__all__ = [
    "AutoAgglomerative",
    "AutoKMeans",
    "ClusterCohesion",
    "CohesionReport",
    "KEstimate",
    "MergeTree",
    "Suggestion",
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
