"""Numbers and lists as readable text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ..results import LOWER_IS_BETTER

METRIC_TITLES = {
    "ari": "ARI",
    "nmi": "NMI",
    "homogeneity": "Homogeneity",
    "completeness": "Completeness",
    "fowlkes_mallows": "F-M",
    "k_relative_error": "RE of k",
    "silhouette": "Silhouette",
    "davies_bouldin": "DBI",
    "calinski_harabasz": "CHI",
    "cohesion_ratio": "ρ",
}
"""Column headings of the metrics."""

NOTHING = "–"
NOT_ENOUGH = "not enough data"


def signed_title(metric: str) -> str:
    """Return the title of a metric, with a minus if it is negated because lower is better.

    Examples
    --------
    >>> signed_title("davies_bouldin"), signed_title("ari")
    ('−DBI', 'ARI')
    """
    return f"{'−' if metric in LOWER_IS_BETTER else ''}{METRIC_TITLES[metric]}"


def number(value: float | None, digits: int = 2) -> str:
    """Format a number with fixed decimals; None is a dash.

    Examples
    --------
    >>> number(12345.678), number(-0.25), number(-0.001), number(None)
    ('12,345.68', '−0.25', '0.00', '–')
    """
    if value is None or not math.isfinite(value):
        return NOTHING
    text = f"{value:,.{digits}f}"
    if not text.strip("-0.,"):
        text = text.lstrip("-")
    return text.replace("-", "−")


def count(n: int, noun: str, plural: str | None = None) -> str:
    """Format a count with its noun.

    Examples
    --------
    >>> count(1, "cell"), count(1200, "cell"), count(2, "study", "studies")
    ('1 cell', '1,200 cells', '2 studies')
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def p_value(p: float | None) -> str:
    """Format a p-value.

    Examples
    --------
    >>> p_value(1e-9), p_value(0.0312), p_value(None)
    ('p < 0.001', 'p = 0.031', 'not enough data')
    """
    if p is None:
        return NOT_ENOUGH
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def listing(names: Iterable[str]) -> str:
    """Join names.

    Examples
    --------
    >>> listing(["a"]), listing(["a", "b", "c"]), listing([])
    ('a', 'a, b and c', 'none')
    """
    items = list(names)
    if len(items) < 2:
        return items[0] if items else "none"
    return f"{', '.join(items[:-1])} and {items[-1]}"


def share(part: int, whole: int) -> str:
    """Format a share of a total.

    Examples
    --------
    >>> share(3, 4)
    '3 of 4'
    """
    return f"{part:,} of {whole:,}"


def span(values: Sequence[float], digits: int = 2) -> str:
    """Format the range of some values.

    Examples
    --------
    >>> span([3, 1, 2], 0), span([1.0, 1.0], 1)
    ('1 to 3', '1.0')
    """
    low, high = number(min(values), digits), number(max(values), digits)
    return low if low == high else f"{low} to {high}"
