"""The tables about the settings of the rivals and about the Cohesion Ratio itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from ..algorithms import TITLES
from ..results import Cell
from .blocks import Block, Heading, Paragraph, Row, Table
from .findings import Findings
from .wording import NOTHING, number

READINGS = {
    "mu_global": "μ_G",
    "mu_intra": "μ_I",
    "ratio": "ρ",
    "ratio_unrectified": "ρ, negative cosines kept",
    "permuted_mean": "ρ of permuted labels",
    "pmi_nearest": "PMI, most similar 5%",
    "silhouette": "Silhouette",
}
"""The readings of a clustering that the table shows, with their headings."""

TIMES = {
    "ratio_formula": "ρ by the formula",
    "silhouette_formula": "Silhouette by the formula",
    "ratio": "ρ here",
    "ratio_linear": "ρ unrectified, O(n·d)",
    "silhouette": "Silhouette in scikit-learn",
}
"""The times that the table shows, with their headings."""


def settings(findings: Findings) -> list[Block]:
    """Return how the rivals do in each configuration that the paper compared: its Appendix A."""
    cells = findings.ok("settings")
    if not cells:
        return []
    rows = [
        Row((TITLES[rival], setting, *_means([cell.values[rival][setting] for cell in cells], ("ari", "nmi", "k"))))
        for rival, by_setting in cells[0].values.items()
        for setting in by_setting
    ]
    return [
        Heading(2, "Settings of the rivals"),
        Paragraph(
            "min_cluster_size of HDBSCAN, min_samples of OPTICS, and the graph of Leiden, on up to 2,000 rows of one "
            "sample of each dataset with each model. The paper chose the first of each. On the raw graph, Leiden makes "
            "nearly every row a cluster of its own, which NMI rewards and ARI does not."
        ),
        Table("Means over datasets and models.", ("Algorithm", "Setting", "ARI", "NMI", "k"), rows),
    ]


def readings(findings: Findings) -> list[Block]:
    """Return the readings of the Cohesion Ratio that the paper gives in Section 3.6."""
    rows_of: dict[str, list[Mapping[str, Any]]] = {}
    for cell in findings.ok("readings"):
        for row in cell.values["clusterings"]:
            rows_of.setdefault(row["of"], []).append(row)
    if not rows_of:
        return []
    rows = [
        Row((TITLES.get(name, "Classes"), f"{len(values):,}", *_means(values, tuple(READINGS))))
        for name, values in rows_of.items()
    ]
    return [
        Heading(2, "Readings of the Cohesion Ratio"),
        Paragraph(
            "Up to 2,000 rows of one sample of each dataset with each model. μ_G is the mean similarity of all pairs, "
            "μ_I is the mean similarity of pairs inside clusters, and ρ = μ_I / μ_G. Labels are permuted 99 times. "
            "PMI is the pointwise mutual information between two events: two rows are similar, and they share a "
            "cluster."
        ),
        Table("Means over datasets and models.", ("Clusters of", "Cells", *READINGS.values()), rows),
    ]


def times(findings: Findings) -> list[Block]:
    """Return how long the Cohesion Ratio and the silhouette take: the paper's Appendix C."""
    rows = [row for cell in findings.ok("times") for row in _times_rows(cell)]
    if not rows:
        return []
    return [
        Heading(2, "Time of the Cohesion Ratio"),
        Paragraph(
            "Both formulas start from a matrix of similarities or distances that is given. As implemented, ρ uses "
            "sampled pairs above 4,096 rows, and scikit-learn’s silhouette uses all pairs. Rows are repeated where the "
            "sample has fewer."
        ),
        Table("Seconds of CPU time.", ("Model", "n", "Clusters", *TIMES.values()), rows),
    ]


def _times_rows(cell: Cell) -> list[Row]:
    return [
        Row((cell.model, f"{row['n']:,}", f"{row['k']:,}", *(number(row[name], 4) for name in TIMES)))
        for row in cell.values["metrics"]
    ]


def _means(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    known = {name: [row[name] for row in rows if row[name] is not None] for name in names}
    return [number(fmean(values), 0 if name == "k" else 3) if values else NOTHING for name, values in known.items()]
