from .clustering.tree import MergeTree
from .errors import UserError
from .estimators import AutoAgglomerative, AutoKMeans
from .granularity.estimate import KEstimate, Suggestion, estimate_k
from .granularity.laplacian import laplacian_eigenvalues
from .granularity.spectral import k_from_spectrum
from .metrics.cohesion import ClusterCohesion, CohesionReport, cohesion_ratio, cohesion_report
from .metrics.evaluation import evaluate
from .report import write_report
from .texts.pipeline import cluster_texts
from .texts.result import TextClustering

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
    "write_report",
]

__version__: str
