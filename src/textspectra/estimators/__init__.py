"""K-Means and Ward clustering that find their own number of clusters."""

from .agglomerative import AutoAgglomerative
from .kmeans import AutoKMeans

__all__ = ["AutoAgglomerative", "AutoKMeans"]
