from .clustering.tree import MergeTree
from .embedding import (
    Backend,
    CacheSize,
    EmbeddingCache,
    Encoder,
    Model,
    ModelInfo,
    as_backend,
    embed_texts,
    known_models,
    load_backend,
)
from .errors import OutsideError, UsageError, UserError
from .estimators import AutoAgglomerative, AutoKMeans
from .granularity.estimate import KEstimate, Method, Suggestion, SuggestionName, estimate_k
from .granularity.laplacian import laplacian_eigenvalues
from .granularity.reproducible import Agreement
from .granularity.spectral import Spectrum, k_from_spectrum
from .io import TableFormat, TextTable, read_table
from .metrics.cohesion import ClusterCohesion, CohesionReport, cohesion_ratio, cohesion_report
from .metrics.evaluation import evaluate
from .report import write_report
from .texts.comparison import Comparison
from .texts.corpus import Corpus, Totals
from .texts.embedded import EmbeddedTexts, EmbeddingSource
from .texts.hierarchy import Hierarchy
from .texts.history import GroupChange, Update
from .texts.pipeline import cluster_texts
from .texts.result import TextClustering
from .topics.describe import Topic
from .validation import RandomState

__all__ = [
    "Agreement",
    "AutoAgglomerative",
    "AutoKMeans",
    "Backend",
    "CacheSize",
    "ClusterCohesion",
    "CohesionReport",
    "Comparison",
    "Corpus",
    "EmbeddedTexts",
    "EmbeddingCache",
    "EmbeddingSource",
    "Encoder",
    "GroupChange",
    "Hierarchy",
    "KEstimate",
    "MergeTree",
    "Method",
    "Model",
    "ModelInfo",
    "OutsideError",
    "RandomState",
    "Spectrum",
    "Suggestion",
    "SuggestionName",
    "TableFormat",
    "TextClustering",
    "TextTable",
    "Topic",
    "Totals",
    "Update",
    "UsageError",
    "UserError",
    "as_backend",
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
