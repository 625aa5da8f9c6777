from .clustering.tree import MergeTree
from .embedding import embed_texts
from .errors import UserError
from .estimators import AutoAgglomerative, AutoKMeans
from .granularity.estimate import KEstimate, Method, Suggestion, SuggestionName, estimate_k
from .granularity.laplacian import laplacian_eigenvalues
from .granularity.reproducible import Agreement
from .granularity.spectral import Spectrum, k_from_spectrum
from .metrics.cohesion import ClusterCohesion, CohesionReport, cohesion_ratio, cohesion_report
from .metrics.evaluation import evaluate
from .texts.pipeline import cluster_texts
from .texts.result import TextClustering
from .validation import RandomState

__all__ = [
    "Agreement",
    "AutoAgglomerative",
    "AutoKMeans",
    "ClusterCohesion",
    "CohesionReport",
    "KEstimate",
    "MergeTree",
    "Method",
    "RandomState",
    "Spectrum",
    "Suggestion",
    "SuggestionName",
    "TextClustering",
    "UserError",
    "cluster_texts",
    "cohesion_ratio",
    "cohesion_report",
    "embed_texts",
    "estimate_k",
    "evaluate",
    "k_from_spectrum",
    "laplacian_eigenvalues",
]

__version__: str
