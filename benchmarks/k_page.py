"""Write ``k_recovery.md`` from the cells: every constant is chosen without the family that it is scored on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from harness import ROOT
from k_recovery import MODELS, NOISE, NOISY, REFINED_SIZES, SMALL_SIZES, SUBSETS, Cells, Task
from k_rivals import RIVALS
from scipy.stats import rankdata

from textspectra.core import agreement, estimate
from textspectra.core.agreement import Agreement

POWERS = (8, 10, 12, 14, 16)
POSITIONS = [(low / 10, high / 10) for low in range(3, 7) for high in range(4, 9) if high >= low]
AVERAGED = 5
WIDTHS = np.arange(0.5, 4.01, 0.1).round(1).tolist()
FACTORS = (2.0, 2.25, 2.5)
STABLE, STABLE_SHARE = 1.6, 0.9
"""A set is stable if the 90th percentile of k over subsets is at most this multiple of the 10th."""

CONSTANTS, NAIVE = (12, 25, 34), (7, 20, 80)
BINS = (0, 0.15, 0.3, 0.45, 0.6, 0.85, 1)
LIBRARY = (agreement.WEIGHT_POWER, agreement.POSITION)
OURS, LEFT_IN = "**ours**, families left out", "ours, constants of the library"


class Answer(NamedTuple):
    """What we say about a set, with constants that were chosen without it."""

    k: int
    confidence: float
    interval: tuple[int, int]
    levels: tuple[int, ...]


def read(cell: dict[str, Any], power: float, position: tuple[float, ...]) -> agreement.BestK:
    """Read a measured curve with other constants than the library."""
    if "ks" not in cell or cell["k"] == 1:
        return agreement.BestK(cell["k"], cell["confidence"])
    agreement.WEIGHT_POWER, agreement.POSITION = power, position  # type: ignore[assignment]
    return agreement.read_curve(np.array(cell["ks"]), np.array(cell["halves"]))


def distance(k: float, truth: float) -> float:
    return abs(math.log(max(k, 1) / truth))


def near(k: float, truth: float) -> bool:
    return distance(k, truth) <= math.log(1.5) + 1e-9


def by_family(tasks: Iterable[Task], value: Callable[[Task], float]) -> float:
    """Return the mean in which each family counts once."""
    parts: dict[tuple[str, str], list[float]] = {}
    for task in tasks:
        parts.setdefault((task.model, task.family), []).append(value(task))
    return float(np.mean([np.mean(part) for part in parts.values()])) if parts else math.nan


class Study:
    """The sets, their truth, and our answers with each family left out in turn."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self.sets = sorted(task for task in cells if task.what == "curve" and task.part == 0)
        self.truth = {task: cells[task]["truth"] for task in self.sets}
        self.families = sorted({task.family for task in self.sets})
        self.error = {
            (power, position): {task: self.off(task, power, position) for task in self.of("minilm")}
            for power in POWERS
            for position in POSITIONS
        }
        self.constants = {family: self.choose(family) for family in [*self.families, ""]}
        self.answers = {task: self.answer(task, *self.constants[task.family]) for task in self.sets}

    def of(self, model: str) -> list[Task]:
        return [task for task in self.sets if task.model == model]

    def off(self, task: Task, power: float, position: tuple[float, ...]) -> float:
        return distance(read(self.cells[task], power, position).k, self.truth[task])

    def choose(self, family: str) -> tuple[float, tuple[float, ...], float, float]:
        """Return power, position, width of the interval and factor of the levels, chosen on all other families."""
        others = [task for task in self.sets if task.family != family]
        default = [task for task in others if task.model == "minilm"]
        for power in reversed(POWERS):
            order = sorted(POSITIONS, key=lambda p, power=power: by_family(default, self.error[power, p].__getitem__))
            position = tuple(np.mean(order[:AVERAGED], axis=0).round(2).tolist())
            if np.mean([self.spread(task, power, position) <= STABLE for task in others]) >= STABLE_SHARE:
                break

        def covers(task: Task, width: float) -> bool:
            low, high = self.answer(task, power, position, width, 2).interval
            return low <= self.truth[task] <= high

        def hit(task: Task, factor: float) -> bool:
            return any(near(k, self.truth[task]) for k in self.answer(task, power, position, 1, factor).levels)

        halves = [[task for task in others if task.model == model] for model in MODELS]
        width = next(
            (w for w in WIDTHS if min(np.mean([covers(task, w) for task in half]) for half in halves) >= 0.95),
            WIDTHS[-1],
        )
        return power, position, width, max(FACTORS, key=lambda f: by_family(others, lambda task: hit(task, f)))

    def spread(self, task: Task, power: float, position: tuple[float, ...]) -> float:
        """Return the 90th percentile of k over subsets of the rows, as a multiple of the 10th."""
        parts = [self.cells[task._replace(part=part)] for part in range(1, SUBSETS + 1)]
        low, high = np.quantile([read(cell, power, position).k for cell in parts], [0.1, 0.9])
        return float(high / low)

    def answer(self, task: Task, power: float, position: tuple[float, ...], width: float, factor: float) -> Answer:
        cell = self.cells[task]
        k, confidence = read(cell, power, position)
        if "ks" not in cell or k == 1:
            return Answer(k, confidence, tuple(cell["interval"]), tuple(cell["levels"]))
        estimate.APART = factor
        halves = np.array(cell["halves"])
        levels = estimate.suggest(Agreement(np.array(cell["ks"]), halves, halves, 1.0), k, confidence, cell["n"])
        interval = estimate.interval_around(k, confidence, cell["n"], width)
        return Answer(k, confidence, interval, tuple(level.k for level in levels))

    def methods(self) -> dict[str, dict[Task, int]]:
        """Return what each method says about each set."""
        return {
            OURS: {task: answer.k for task, answer in self.answers.items()},
            LEFT_IN: {task: read(self.cells[task], *LIBRARY).k for task in self.sets},
            **{f"always {k}": dict.fromkeys(self.sets, k) for k in CONSTANTS},
            **{name: {task: self.cells[task._replace(what=name)]["k"] for task in self.sets} for name in RIVALS},
            "the true k": self.truth,
        }

    def quality(self, task: Task, k: int) -> tuple[float, float]:
        """Return ARI and AMI of AutoKMeans at k."""
        cell = self.cells[task._replace(what="groups", part=min(k, self.cells[task]["n"]))] if k > 1 else {}
        return cell.get("ari", 0.0), cell.get("ami", 0.0)


def ks_of_all(cells: Cells) -> dict[tuple[str, str], set[int]]:
    """Return for each model and set the numbers of groups at which groups are needed."""
    study = Study(cells)
    answers = study.methods().values()
    return {(task.model, task.name): {min(ks[task], cells[task]["n"]) for ks in answers} for task in study.sets}


def rank(tasks: Sequence[Task], ks: dict[Task, int], truth: dict[Task, int]) -> float:
    """Return Spearman's correlation, with each family counted once."""
    sizes = [sum(other.family == task.family for other in tasks) for task in tasks]
    ranks = [rankdata([values[task] for task in tasks]) for values in (ks, truth)]
    (a, ab), (_, b) = np.cov(*ranks, aweights=1 / np.array(sizes))
    return float(ab / math.sqrt(a * b)) if a else math.nan


def table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in [head, ["---"] * len(head), *rows])


def both(value: Callable[[str], float], form: str = ".2f") -> str:
    """Return the values of both models, MiniLM first."""
    return " / ".join("–" if math.isnan(v) else format(v, form) for v in map(value, MODELS))


def methods_table(study: Study) -> str:
    def row(name: str, ks: dict[Task, int]) -> list[object]:
        def mean(value: Callable[[Task], float]) -> Callable[[str], float]:
            return lambda model: by_family(study.of(model), value)

        few = [task for task in study.sets if ks[task] <= 3 and study.truth[task] >= 10]
        return [
            name,
            both(mean(lambda task: distance(ks[task], study.truth[task]))),
            both(lambda model: rank(study.of(model), ks, study.truth)),
            both(mean(lambda task: near(ks[task], study.truth[task])), ".0%"),
            both(mean(lambda task: abs(ks[task] / study.truth[task] - 1))),
            both(lambda model: sum(task.model == model for task in few), "d"),
            both(mean(lambda task: study.quality(task, ks[task])[0]), ".3f"),
            both(mean(lambda task: study.quality(task, ks[task])[1]), ".3f"),
        ]

    def own(name: str, score: str) -> str:
        clusters = {task: study.cells[task._replace(what=name)] for task in study.sets}
        return both(lambda model: by_family(study.of(model), lambda task: clusters[task][score]), ".3f")

    rows = [row(name, ks) for name, ks in study.methods().items()]
    grouping = [name for name in RIVALS if "ari" in study.cells[study.sets[0]._replace(what=name)]]
    rows += [[f"{name}, its own groups", *[""] * 5, own(name, "ari"), own(name, "ami")] for name in grouping]
    return table(["method", "log error", "rank", "within × 1.5", "RE", "≤ 3 of ≥ 10", "ARI", "AMI"], rows)


def measures_table(study: Study) -> str:
    def share(hit: Callable[[Task], bool]) -> str:
        return both(lambda model: by_family(study.of(model), hit), ".0%")

    answers, truth = study.answers, study.truth
    spread = {task: study.spread(task, *study.constants[task.family][:2]) for task in study.sets}

    def covered(task: Task) -> bool:
        return answers[task].interval[0] <= truth[task] <= answers[task].interval[1]

    def width(task: Task) -> float:
        return math.sqrt(answers[task].interval[1] / answers[task].interval[0])

    rows = [
        ["one of our levels within × 1.5", share(lambda task: any(near(k, truth[task]) for k in answers[task].levels))],
        ["one of 7, 20 and 80 within × 1.5", share(lambda task: any(near(k, truth[task]) for k in NAIVE))],
        ["the 95% interval includes the truth", share(covered)],
        ["half the width of the interval, median factor", both(lambda m: np.median([width(t) for t in study.of(m)]))],
        [f"stable to × {STABLE} over ten 80% subsets", share(lambda task: spread[task] <= STABLE)],
        ["the least stable set", both(lambda m: max(spread[task] for task in study.of(m)))],
    ]
    return table(["measure, families left out", "MiniLM / wordllama"], rows)


def confidence_table(study: Study) -> str:
    rows = []
    for low, high in pairwise(BINS):
        read_off = {task: answer for task, answer in study.answers.items() if "ks" in study.cells[task]}
        tasks = [task for task, a in read_off.items() if a.k > 1 and low <= a.confidence < high + (high == 1)]
        if tasks:
            errors = [distance(study.answers[task].k, study.truth[task]) for task in tasks]
            hits = np.mean([near(study.answers[task].k, study.truth[task]) for task in tasks])
            rows.append([f"{low:.2f} to {high:.2f}", len(tasks), f"{np.mean(errors):.2f}", f"{hits:.0%}"])
    return table(["confidence", "sets", "log error", "within × 1.5"], rows)


def small_table(cells: Cells) -> str:
    def error(name: str, model: str, n: int) -> float:
        def off(task: Task) -> float:
            rules = {"n / 8": n / 8, "√n": math.sqrt(n), "always 5": 5}
            truths = cells[task]["truth"]
            ks = [rules[name]] * len(truths) if name in rules else cells[task][name]
            return float(np.mean([distance(k, truth) for k, truth in zip(ks, truths, strict=True)]))

        return by_family((t for t in cells if (t.what, t.model, t.part) == ("small", model, n)), off)

    names = ("ours", "spectral", "halves", "modularity", "n / 8", "√n", "always 5")
    rows = [[name, *(both(lambda m, name=name, n=n: error(name, m, n)) for n in SMALL_SIZES)] for name in names]
    return table(["log error", *(f"{n} rows" for n in SMALL_SIZES)], rows)


def refined_table(cells: Cells) -> str:
    def gain(model: str, n: int, score: int) -> float:
        tasks = (t for t in cells if (t.what, t.model, t.part) == ("refined", model, n))
        return by_family(tasks, lambda task: cells[task]["gain"][score])

    rows = [
        [f"{label}, {model}", *(f"{gain(model, n, score):+.3f}" for n in REFINED_SIZES)]
        for score, label in enumerate(("ARI", "AMI"))
        for model in MODELS
    ]
    return table(["gain by refining", *(f"{n} rows" for n in REFINED_SIZES)], rows)


def noise_table(cells: Cells) -> str:
    kinds = [kind for kind in NOISE if kind != "plain"]
    rows = []
    for model in MODELS:
        row: list[object] = [model]
        for kind in kinds:
            ks = {name: [cells[Task("noise", model, name, k)]["k"] for k in ("plain", kind)] for name in NOISY[model]}
            worst = max(ks, key=lambda name, ks=ks: distance(*ks[name]))
            row.append(
                f"{sum(near(*pair) for pair in ks.values())} of {len(ks)} ({worst} {ks[worst][0]} → {ks[worst][1]})"
            )
        rows.append(row)
    return table(["within × 1.5 (the worst)", *kinds], rows)


def sets_table(study: Study) -> str:
    rows = []
    for name in sorted({task.name for task in study.sets}):
        pair = [Task("curve", model, name) for model in MODELS]
        row: list[object] = [name, study.truth[pair[0]]]
        for task in pair:
            answer = study.answers[task]
            low, high = answer.interval
            others = ", ".join(str(k) for k in answer.levels if k != answer.k)
            ratio = study.spread(task, *study.constants[task.family][:2])
            row += [f"**{answer.k}** ({others})", f"{low} to {high}", f"{answer.confidence:.2f}", f"{ratio:.2f}"]
        rows.append(row)
    return table(["set", "classes", *("k (levels)", "interval", "confidence", "spread") * 2], rows)


def against(study: Study, rival: dict[Task, int], model: str) -> str:
    """Return how much larger the rival's log error is than ours, with its 95% bootstrap interval over families."""
    rng = np.random.default_rng(0)
    gaps = [
        np.mean(
            [
                distance(rival[task], study.truth[task]) - distance(study.answers[task].k, study.truth[task])
                for task in study.of(model)
                if task.family == family
            ]
        )
        for family in study.families
    ]
    low, high = np.quantile([rng.choice(gaps, len(gaps)).mean() for _ in range(2000)], [0.025, 0.975])
    return f"{np.mean(gaps):.2f} ({low:.2f} to {high:.2f})"


def write(cells: Cells) -> None:
    study = Study(cells)
    methods = study.methods()
    powers, positions, widths, factors = zip(*(study.constants[family] for family in study.families), strict=True)
    power, position, width, factor = study.constants[""]
    beside = [
        f"{name} {' / '.join(against(study, methods[name], model) for model in MODELS)}"
        for name in ("always 25", "paper's rule", "EVoC")
    ]
    template = (ROOT / "benchmarks" / "k_recovery.in.md").read_text()
    text = template.format(
        n_sets=len(study.sets) // 2, n_families=len(study.families), n_texts=len(study.sets) // 2 - 12,
        powers=", ".join(map(str, POWERS)), averaged=AVERAGED, n_positions=len(POSITIONS),
        n_forms=len(POWERS) * len(POSITIONS), factors=", ".join(map(str, FACTORS)), share=f"{STABLE_SHARE:.0%}",
        power_span=span(powers), low_span=span([low for low, _ in positions]), width_span=span(widths),
        high_span=span([high for _, high in positions]), factor_span=span(factors), power=power, position=position,
        width=width, factor=factor, library=LEFT_IN, library_power=LIBRARY[0], library_position=LIBRARY[1],
        methods=methods_table(study), beside="\n".join(f"- {line}" for line in beside), measures=measures_table(study),
        confidence=confidence_table(study), noise=noise_table(cells), small=small_table(cells),
        refined=refined_table(cells), sets=sets_table(study),
    )  # fmt: skip
    (ROOT / "benchmarks" / "k_recovery.md").write_text(text)
    print(text)


def span(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"
