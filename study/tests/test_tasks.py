"""The tasks of a study, and the variants that each is for."""

from textspectra_study.results import Variant
from textspectra_study.tasks import TASKS, tasks_of


def test_figures_show_one_sample_per_dataset():
    variants = [Variant("a", kind, size, 5, 0) for size in (500, 5000, 50_000) for kind in ("random", "stratified")]
    with_sweeps = [variant.name for variant in variants if "sweep-raw-1000" in tasks_of(variant, variants)]
    assert with_sweeps == ["a-stratified-5000"]


def test_every_task_knows_the_module_of_its_functions():
    found = {name: task.modules for name, task in TASKS.items()}
    assert found["optics"] == found["hac_true"] == ["textspectra_study.algorithms"]
    assert found["sweep-raw-200"] == found["similarity"] == ["textspectra_study.ablations"]
    assert {module for modules in found.values() for module in modules} == {
        "textspectra_study.ablations",
        "textspectra_study.algorithms",
        "textspectra_study.readings",
    }


def test_times_are_measured_once_on_the_largest_sample_of_a_figure():
    variants = [Variant(name, "stratified", size, 5, 0) for name, size in (("a", 500), ("b", 2000), ("c", 50_000))]
    assert [variant.name for variant in variants if "times" in tasks_of(variant, variants)] == ["b-stratified-2000"]
    assert [variant.name for variant in variants if "spectrum" in tasks_of(variant, variants)] == ["a-stratified-500"]
