"""What a study will take, against what it took."""

import pytest
from study_factory import write_messages

from textspectra import UserError
from textspectra_study.page.write import resources_csv
from textspectra_study.plan import plan_study
from textspectra_study.run import run_study
from textspectra_study.tasks import TASKS

pytest.importorskip("wordllama")

OPTIONS = {"sets": None, "models": ["wordllama"], "max_size": None, "max_size_of": None, "seed": 0}


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Make a dataset of which only two tasks run, and the function that runs it."""
    for name in TASKS.keys() - {"kmeans_true", "similarity"}:
        monkeypatch.setitem(TASKS, name, TASKS[name]._replace(max_rows=1))
    write_messages(tmp_path / "data" / "messages.parquet", rows=1100)
    options = OPTIONS | {"data": tmp_path / "data"}

    def run(**changes):
        return run_study(tmp_path / "s", **(options | changes))

    return tmp_path / "s", options, run


def test_a_plan_without_a_measurement_says_how_to_make_one(study, tmp_path):
    folder, options, _ = study
    with pytest.raises(UserError) as found:
        plan_study(folder, **options)
    assert str(found.value) == (
        f"Nothing is measured yet. Run the smallest samples first, `textspectra-study run {folder} --max-size 1000`, "
        "or name the resources.csv of another study with --measured."
    )
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    for file in (tmp_path / "other.csv", tmp_path / "missing.csv"):
        with pytest.raises(UserError) as found:
            plan_study(folder, measured=file, **options)
        assert str(found.value) == f"{file} is not the resources.csv of a study; give another --measured."
    assert not folder.exists()


def test_a_plan_counts_what_is_left_and_finds_what_it_takes(study):
    folder, options, run = study
    small = run(max_size=500)
    before = sorted(folder.rglob("*"))
    found = plan_study(folder, jobs=2, **options)
    assert sorted(folder.rglob("*")) == before  # nothing is written
    assert found.cells == 3  # at 1,000 rows: k-means twice, and the picture of the stratified sample
    assert found.planned == run().n_planned
    assert found.unknown == []
    texts, seconds = found.embedding["wordllama"]
    assert 1000 <= texts <= 1100
    assert seconds > 0
    assert 4 * 256 * 1000 <= found.disk <= 4 * 256 * 1100 + 3 * 4096
    peaks = [cell.peak_mb for cell in small.of("kmeans_true")]
    assert min(peaks) / 2 < found.largest[1] < 3 * max(peaks)
    assert found.megabytes <= 2 * found.largest[1]
    assert found.slowest[1] <= found.seconds


def test_a_plan_of_a_finished_study_has_nothing_to_do(study):
    folder, options, run = study
    results = run()
    found = plan_study(folder, **options)
    assert (found.cells, found.embedding, found.seconds, found.disk) == (0, {}, 0.0, 0)
    measured = folder.parent / "resources.csv"
    measured.write_text(resources_csv(results))
    assert plan_study(folder.parent / "new", measured=measured, **options).cells == 5
