"""The tables of ``k_recovery.md``, from the cells that ``k_recovery.py`` measured."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from harness import ROOT
from k_recovery import MODELS, Case
from k_rivals import RIVALS
from k_structure import structure_table
from scipy.stats import spearmanr

from textspectra.granularity.curve import POSITION, read_curve
from textspectra.granularity.estimate import WIDTH, interval_around, suggest
from textspectra.granularity.reproducible import CLEAR_SCORE, STRUCTURE, Agreement

POSITIONS = (0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
WIDTHS = tuple(np.arange(0.5, 4.01, 0.1).round(1).tolist())
STABLE = 1.6
"""A set is stable if the 90th percentile of k over random subsets of its rows is at most this multiple of the 10th."""

NAIVE = (7, 20, 80)
CONSTANTS = {"constant 12": 12, "constant 34": 34}
Cells = dict[tuple[Case, str], dict[str, Any]]


class Answer(NamedTuple):
    """What we say about a case once the constants are chosen on the other families."""

    k: int
    confidence: float
    suggestions: tuple[int, ...]
    interval: tuple[int, int]
    position: float
    width: float


class Study:
    """The cells, the truth, and our answers with every family left out in turn."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        same_texts = {
            (Case(case.model, "massive_scenario"), method): cell
            for (case, method), cell in cells.items()
            if case.name == "massive_intent" and case.kind == "natural" and method != "groups"
        }
        truth_of = {case: cell["truth"] for (case, _), cell in cells.items()}
        self.cells = cells | same_texts
        self.cases = sorted(case for case, method in self.cells if method == "reproducible")
        self.truth = {case: truth_of[case] for case in self.cases}
        self.families = sorted({case.family for case in self.cases})
        self.fixed = {p: {case: self.k_at(case, p) for case in self.cases} for p in POSITIONS}
        self.answers = self.leave_families_out()

    def k_at(self, case: Case, position: float) -> int:
        return k_of(self.cells[case, "reproducible"], position)

    def spread(self, case: Case) -> tuple[float, float]:
        """Return the 10th and the 90th percentile of k over random subsets of the rows."""
        subsets = self.cells[case, "stability"]["subsets"]
        low, high = np.quantile([k_of(one, self.answers[case].position) for one in subsets], [0.1, 0.9])
        return float(low), float(high)

    def error(self, k: float, case: Case) -> float:
        return abs(math.log(max(k, 1) / self.truth[case]))

    def mean_error(self, ks: dict[Case, int], cases: Sequence[Case]) -> float:
        return mean_over_families(cases, lambda case: self.error(ks[case], case))

    def confidence(self, case: Case, k: int) -> float:
        cell = self.cells[case, "reproducible"]
        if k == 1 or "ks" not in cell:
            return 0.0
        return float(np.clip(cell["score"][cell["ks"].index(k)], 0, 1))

    def leave_families_out(self) -> dict[Case, Answer]:
        answers = {}
        for family in self.families:
            others = [case for case in self.cases if case.family != family]
            natural = [case for case in others if case.kind == "natural"]
            position = min(POSITIONS, key=lambda p, natural=natural: self.mean_error(self.fixed[p], natural))
            ks = self.fixed[position]
            width = next(width for width in WIDTHS if self.coverage(ks, natural, width) >= 0.95)
            for case in self.cases:
                if case.family == family:
                    answers[case] = self.answer(case, position, width)
        return answers

    def coverage(self, ks: dict[Case, int], cases: Sequence[Case], width: float) -> float:
        inside = [
            self.error(ks[case], case) <= width * math.sqrt(1 - self.confidence(case, ks[case])) + 1e-9
            for case in cases
        ]
        return float(np.mean(inside))

    def answer(self, case: Case, position: float, width: float) -> Answer:
        k = self.fixed[position][case]
        cell = self.cells[case, "reproducible"]
        confidence = self.confidence(case, k)
        suggestions: tuple[int, ...] = (k,)
        if k > 1 and "ks" in cell:
            score = np.array(cell["score"])
            suggestions = tuple(one.k for one in suggest(Agreement(np.array(cell["ks"]), score, score, score, 1.0), k))
        interval = interval_around(k, confidence, cell["n"], width) if k > 1 else (1, 1)
        return Answer(k, confidence, suggestions, interval, position, width)


def k_of(cell: dict[str, Any], position: float) -> int:
    """Return the k that a measured curve gives."""
    if "ks" not in cell:
        return int(cell["k"])
    if cell["nearness"] <= STRUCTURE and max(cell["score"]) <= CLEAR_SCORE:
        return 1
    return read_curve(np.array(cell["ks"]), np.array(cell["score"]), position)


def mean_over_families(cases: Sequence[Case], value: Callable[[Case], float]) -> float:
    parts: dict[tuple[str, str], list[float]] = {}
    for case in cases:
        parts.setdefault((case.model, case.family), []).append(value(case))
    return float(np.mean([np.mean(part) for part in parts.values()]))


def bootstrap(cases: Sequence[Case], statistic: Callable[[Sequence[Case]], float]) -> str:
    """Return the statistic with its 95 % interval over random draws of the families."""
    rng = np.random.default_rng(0)
    by_family: dict[str, list[Case]] = {}
    for case in cases:
        by_family.setdefault(case.family, []).append(case)
    families = list(by_family.values())
    drawn = [
        statistic([case for i in rng.integers(len(families), size=len(families)) for case in families[i]])
        for _ in range(400)
    ]
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return f"{statistic(cases):.2f} ({low:.2f} to {high:.2f})"


def within(k: float, truth: int) -> bool:
    return abs(math.log(max(k, 1) / truth)) <= math.log(1.5) + 1e-9


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def natural_cases(study: Study, model: str) -> list[Case]:
    """Return the sets both models have; the two large pools are the same families once more, and shown apart."""
    return [
        case
        for case in study.cases
        if case.model == model and case.kind == "natural" and case.name not in ("reddit50", "stackexchange121")
    ]


def quality(study: Study, case: Case, k: float) -> tuple[float, float]:
    scores = study.cells[case, "groups"]["scores"]
    nearest = min(scores, key=lambda grid: abs(math.log(int(grid) / max(k, 1))))
    return (0.0, 0.0) if k < 1.5 else tuple(scores[nearest])  # type: ignore[return-value]


def methods_table(study: Study, model: str) -> str:
    cases = natural_cases(study, model)
    ours = {case: float(study.answers[case].k) for case in cases}
    answers: dict[str, dict[Case, float]] = {
        "**auto** (families left out)": ours,
        "auto as it is in the library": {case: float(study.fixed[POSITION][case]) for case in cases},
        "paper (spectral)": {case: study.cells[case, "paper"]["k"] for case in cases},
        **{name: {case: study.cells[case, name]["k"] for case in cases} for name in RIVALS},
        **{name: dict.fromkeys(cases, k) for name, k in CONSTANTS.items()},
        "true k": {case: float(study.truth[case]) for case in cases},
    }
    rows = []
    for name, ks in answers.items():
        relative = {case: abs(ks[case] / study.truth[case] - 1) for case in cases}
        groups = {case: quality(study, case, ks[case]) for case in cases}

        def rank(drawn: Sequence[Case], ks: dict[Case, float] = ks) -> float:
            values = [ks[case] for case in drawn]
            return (
                float("nan") if len(set(values)) < 2 else float(spearmanr(values, [study.truth[c] for c in drawn])[0])
            )

        constant = name in CONSTANTS
        rows.append(
            [
                name,
                bootstrap(cases, lambda d, r=relative: float(np.mean([r[c] for c in d]))),
                f"{np.median(list(relative.values())):.2f}",
                bootstrap(cases, lambda d, k=ks: float(np.mean([study.error(k[c], c) for c in d]))),
                "–" if constant else bootstrap(cases, rank),
                f"{np.mean([within(ks[c], study.truth[c]) for c in cases]):.0%}",
                f"{np.mean([groups[c][0] for c in cases]):.3f}",
                f"{np.mean([groups[c][1] for c in cases]):.3f}",
                "" if (cases[0], seconds_of(name)) not in study.cells else
                f"{np.median([study.cells[c, seconds_of(name)]['seconds'] for c in cases]):.1f}",
            ]
        )  # fmt: skip
    head = ["method", "RE, mean", "RE, median", "log error", "rank", "within × 1.5", "ARI", "NMI", "s"]
    return table(head, rows)


def seconds_of(name: str) -> str:
    """Return the name under which the time of a row of the table was measured."""
    return "reproducible" if "auto" in name else "paper" if name == "paper (spectral)" else name


def sets_table(study: Study) -> str:
    rows = []
    for case in study.cases:
        if case.kind == "natural":
            answer, cell = study.answers[case], study.cells[case, "reproducible"]
            low, high = answer.interval
            rows.append(
                [case.name, case.model, f"{cell['n']:,}", study.truth[case], f"**{answer.k}**", f"{low} to {high}",
                 ", ".join(map(str, answer.suggestions)), f"{answer.confidence:.2f}",
                 round(study.cells[case, "paper"]["k"])]
            )  # fmt: skip
    head = ["set", "model", "n", "true k", "auto", "interval", "suggestions", "confidence", "paper"]
    return table(head, sorted(rows, key=lambda row: (str(row[0]), str(row[1]))))


def bars_table(study: Study) -> str:
    rows: list[list[object]] = []

    def each(what: str, value: Callable[[str], str]) -> None:
        rows.append([what, *(value(model) for model in MODELS)])

    def share(cases: Sequence[Case], hit: Callable[[Case], bool]) -> str:
        return f"{np.mean([hit(case) for case in cases]):.0%}"

    def suggested(model: str) -> str:
        cases = natural_cases(study, model)
        return share(cases, lambda c: any(within(k, study.truth[c]) for k in study.answers[c].suggestions))

    def naive(model: str) -> str:
        return share(natural_cases(study, model), lambda c: any(within(k, study.truth[c]) for k in NAIVE))

    def of_kind(model: str, kind: str, size: int | None = None) -> list[Case]:
        return [
            c for c in study.cases if (c.model, c.kind) == (model, kind) and size in (None, c.size)
        ]  # fmt: skip

    def ratio(model: str, n: int) -> str:
        pairs = [(study.answers[c].k, study.answers[Case(model, c.name)].k) for c in of_kind(model, "rows", n)]
        return f"{np.median([small / whole for small, whole in pairs]):.2f}"

    def inside(case: Case) -> bool:
        return covered(study, case)

    def log_error(cases: Sequence[Case]) -> str:
        return bootstrap(cases, lambda d: float(np.mean([study.error(study.answers[c].k, c) for c in d])))

    each("one of three suggestions within × 1.5", suggested)
    each("the same for 7, 20, 80", naive)
    each("log error, random subsets of the classes", lambda m: log_error(of_kind(m, "classes")))
    each("log error, subsets of 100 classes", lambda m: log_error(of_kind(m, "classes", 100)))
    for n in (300, 1000):
        each(f"k at n = {n:,} against all rows, median ratio", lambda m, n=n: ratio(m, n))
    each(
        "true k in the 95 % interval, natural sets",
        lambda m: share(natural_cases(study, m), lambda c: covered(study, c)),
    )
    each(
        "true k in the interval, subsets of classes",
        lambda m: share(of_kind(m, "classes"), lambda c: covered(study, c)),
    )
    each(f"stable sets: k differs by × {STABLE} at most", lambda m: stable_sets(study, m))
    each("the least stable set", lambda m: f"× {max(ratios(study, m)):.2f}")
    return table(["measure", *MODELS], rows)


def ratios(study: Study, model: str) -> list[float]:
    """Return for each set the 90th percentile of k over subsets of its rows, as a multiple of the 10th."""
    return [high / low for low, high in (study.spread(case) for case in natural_cases(study, model))]


def stable_sets(study: Study, model: str) -> str:
    found = ratios(study, model)
    return f"{sum(ratio <= STABLE for ratio in found)} of {len(found)}"


def stability_table(study: Study) -> str:
    rows = []
    for name in sorted({case.name for model in MODELS for case in natural_cases(study, model)}):
        cells: list[object] = [name]
        for model in MODELS:
            case = Case(model, name)
            low, high = study.spread(case)
            cells += [study.answers[case].k, f"{low:.0f} to {high:.0f}", f"{high / low:.2f}"]
        rows.append(cells)
    head = ["set", *(f"{what}, {model}" for model in MODELS for what in ("k", "10th to 90th percentile", "ratio"))]
    return table(head, rows)


def covered(study: Study, case: Case) -> bool:
    low, high = study.answers[case].interval
    return low <= study.truth[case] <= high


def confidence_table(study: Study) -> str:
    rows = []
    for low, high in ((0.0, 0.25), (0.25, 0.4), (0.4, 0.55), (0.55, 0.7), (0.7, 0.85), (0.85, 1.01)):
        chosen = [c for c in study.cases if study.answers[c].k > 1 and low <= study.answers[c].confidence < high]
        if chosen:
            errors = [study.error(study.answers[c].k, c) for c in chosen]
            hits = np.mean([within(study.answers[c].k, study.truth[c]) for c in chosen])
            inside = np.mean([covered(study, c) for c in chosen])
            rows.append(
                [
                    f"{low:.2f} to {min(high, 1):.2f}",
                    len(chosen),
                    f"{np.mean(errors):.2f}",
                    f"{hits:.0%}",
                    f"{inside:.0%}",
                ]
            )
    return table(["confidence", "cases", "log error", "within × 1.5", "true k in the interval"], rows)


def write(cells: Cells) -> None:
    study = Study(cells)
    chosen = {family: next(a for c, a in study.answers.items() if c.family == family) for family in study.families}
    constants = table(
        ["family left out", "position", "width of the interval"],
        [[family, answer.position, answer.width] for family, answer in chosen.items()],
    )
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}"
    template = (ROOT / "benchmarks" / "k_recovery.in.md").read_text()
    filled = template.format(
        machine=machine, position=POSITION, width=WIDTH, structure=STRUCTURE, bars=bars_table(study),
        wordllama=methods_table(study, "wordllama"), minilm=methods_table(study, "minilm"),
        confidence=confidence_table(study), clouds=structure_table(study.cells, STRUCTURE), sets=sets_table(study),
        constants=constants, stability=stability_table(study),
    )  # fmt: skip
    (ROOT / "benchmarks" / "k_recovery.md").write_text(filled)
    print(bars_table(study), methods_table(study, "wordllama"), methods_table(study, "minilm"), constants, sep="\n\n")
