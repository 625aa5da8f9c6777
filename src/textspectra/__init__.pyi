from .core.cohesion import CohesionReport, cohesion_ratio, cohesion_report
from .core.estimate import KEstimate, estimate_k, spectral_k
from .core.estimators import AutoAgglomerative, AutoKMeans
from .core.metrics import evaluate
from .core.spectral import k_from_spectrum, laplacian_eigenvalues
from .embedding.base import Backend
from .embedding.cache import EmbeddingCache
from .embedding.embed import embed_texts
from .embedding.registry import list_models, load_model
from .errors import ExternalError, UsageError, UserError
from .report.build import write_report
from .report.state import apply_state
from .tables.read import read_table
from .texts.comparison import Comparison
from .texts.labels import describe_texts
from .texts.many_files import cluster_files
from .texts.pipeline import cluster_texts
from .texts.result import TextClustering
from .words.describe import Cluster

__all__ = [
    "AutoAgglomerative",
    "AutoKMeans",
    "Backend",
    "Cluster",
    "CohesionReport",
    "Comparison",
    "EmbeddingCache",
    "ExternalError",
    "KEstimate",
    "TextClustering",
    "UsageError",
    "UserError",
    "apply_state",
    "cluster_files",
    "cluster_texts",
    "cohesion_ratio",
    "cohesion_report",
    "describe_texts",
    "embed_texts",
    "estimate_k",
    "evaluate",
    "k_from_spectrum",
    "laplacian_eigenvalues",
    "list_models",
    "load_model",
    "read_table",
    "spectral_k",
    "write_report",
]

__version__: str
