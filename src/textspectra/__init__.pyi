from .clustering.tree import MergeTree
from .embedding import Backend, EmbeddingCache, embed_texts, load_backend
from .errors import UserError
from .estimators import AutoAgglomerative, AutoKMeans
from .granularity.estimate import KEstimate, Suggestion, estimate_k
from .granularity.laplacian import laplacian_eigenvalues
from .granularity.spectral import k_from_spectrum
from .io import TableFormat, TextTable, read_table
from .metrics.cohesion import ClusterCohesion, CohesionReport, cohesion_ratio, cohesion_report
from .metrics.evaluation import evaluate
from .texts.pipeline import cluster_texts
from .texts.result import TextClustering

__all__ = [
    "AutoAgglomerative",
    "AutoKMeans",
    "Backend",
    "ClusterCohesion",
    "CohesionReport",
    "EmbeddingCache",
    "KEstimate",
    "MergeTree",
    "Suggestion",
    "TableFormat",
    "TextClustering",
    "TextTable",
    "UserError",
    "cluster_texts",
    "cohesion_ratio",
    "cohesion_report",
    "embed_texts",
    "estimate_k",
    "evaluate",
    "k_from_spectrum",
    "laplacian_eigenvalues",
    "load_backend",
    "read_table",
]

__version__: str
