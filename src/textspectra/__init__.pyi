from .core.agreement import Agreement
from .core.cohesion import ClusterCohesion, CohesionReport, cohesion_ratio, cohesion_report
from .core.estimate import KEstimate, Method, Suggestion, SuggestionName, estimate_k
from .core.estimators import AutoAgglomerative, AutoKMeans
from .core.metrics import evaluate
from .core.spectral import Spectrum, k_from_spectrum, laplacian_eigenvalues
from .core.validation import RandomState
from .core.ward import MergeTree
from .embedding.base import Backend, Encoder
from .embedding.cache import CacheSize, EmbeddingCache
from .embedding.embed import embed_texts
from .embedding.registry import Model, ModelInfo, as_backend, known_models, load_backend
from .errors import ExternalError, UsageError, UserError
from .report.state import apply_state
from .report.write import write_report
from .tables.columns import TextTable
from .tables.read import read_table
from .tables.source import TableFormat
from .texts.clustered import Hierarchy
from .texts.comparison import Comparison
from .texts.corpus import Corpus, EmbeddedTexts, EmbeddingSource, Totals
from .texts.history import ClusterChange, Update
from .texts.many_files import cluster_files
from .texts.pipeline import cluster_texts
from .texts.result import TextClustering
from .words.describe import Cluster

__all__ = [
    "Agreement",
    "AutoAgglomerative",
    "AutoKMeans",
    "Backend",
    "CacheSize",
    "Cluster",
    "ClusterChange",
    "ClusterCohesion",
    "CohesionReport",
    "Comparison",
    "Corpus",
    "EmbeddedTexts",
    "EmbeddingCache",
    "EmbeddingSource",
    "Encoder",
    "ExternalError",
    "Hierarchy",
    "KEstimate",
    "MergeTree",
    "Method",
    "Model",
    "ModelInfo",
    "RandomState",
    "Spectrum",
    "Suggestion",
    "SuggestionName",
    "TableFormat",
    "TextClustering",
    "TextTable",
    "Totals",
    "Update",
    "UsageError",
    "UserError",
    "apply_state",
    "as_backend",
    "cluster_files",
    "cluster_texts",
    "cohesion_ratio",
    "cohesion_report",
    "embed_texts",
    "estimate_k",
    "evaluate",
    "k_from_spectrum",
    "known_models",
    "laplacian_eigenvalues",
    "load_backend",
    "read_table",
    "write_report",
]

__version__: str
