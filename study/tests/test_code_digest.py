"""Which code decides a cell: a change of it gives new keys, and a change of other code does not."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import textspectra as ts
from textspectra_study import variants
from textspectra_study.code_digest import PACKAGES, code_digest, reached_files
from textspectra_study.tasks import TASKS


@pytest.fixture
def source(tmp_path):
    """Copy the code of both packages."""
    no_code = shutil.ignore_patterns("__pycache__", "assets", "data")
    for package in PACKAGES:
        shutil.copytree(package, tmp_path / package.name, ignore=no_code)
    return tmp_path


def packages_in(source):
    return tuple(source / package.name for package in PACKAGES)


def digests(source):
    """Return the digest of an algorithm and of an ablation, computed anew."""
    return {
        task: code_digest.__wrapped__(variants.__name__, *TASKS[task].modules, packages=packages_in(source))
        for task in ("optics", "similarity")
    }


def changed_tasks(source, change):
    before = digests(source)
    change()
    after = digests(source)
    return {task for task in before if before[task] != after[task]}


def replace_in(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("file", "tasks"),
    [
        ("textspectra/core/validation.py", {"optics", "similarity"}),
        ("textspectra_study/variants.py", {"optics", "similarity"}),
        ("textspectra_study/baselines.py", {"optics"}),
        ("textspectra_study/ablations.py", {"similarity"}),
        ("textspectra_study/page/write.py", set()),
        ("textspectra_study/run.py", set()),
        ("textspectra/__init__.pyi", set()),
        ("textspectra/cli/main.py", set()),
    ],
)
def test_a_change_gives_new_keys_to_the_tasks_that_import_the_file(source, file, tasks):
    def change():
        with (source / file).open("a") as stream:
            stream.write("# changed\n")

    assert changed_tasks(source, change) == tasks


def test_a_task_depends_on_the_rooms_that_compute_and_on_no_other():
    reached = reached_files(variants.__name__, *TASKS["optics"].modules, *TASKS["similarity"].modules)
    rooms = {name.split(".")[1] for name in reached if "." in name}
    assert rooms >= {"core", "parallel", "errors"}
    assert not rooms & {"cli", "embedding", "tables", "page", "report", "texts", "words", "command", "datasets"}


def test_the_generator_of_random_numbers_decides_every_cell(source):
    def change():
        replace_in(
            source / "textspectra" / "core" / "validation.py", "default_rng(make_seed(random_state))", "default_rng(1)"
        )

    assert changed_tasks(source, change) == {"optics", "similarity"}


def test_a_moved_file_gives_new_keys_and_is_followed(source):
    package = source / "textspectra"

    def move():
        shutil.move(package / "core" / "spectral.py", package / "core" / "eigenvalues.py")
        for path in [*package.rglob("*.py"), package / "__init__.pyi"]:
            path.write_text(path.read_text().replace(".spectral import", ".eigenvalues import"))

    def change():
        replace_in(package / "core" / "eigenvalues.py", "np.maximum(", "np.fmax(")

    assert changed_tasks(source, move) == {"optics", "similarity"}
    assert changed_tasks(source, change) == {"optics", "similarity"}


def test_a_module_that_became_a_package_is_followed(source):
    package = source / "textspectra" / "core" / "validation"

    def split():
        package.mkdir()
        shutil.move(package.with_suffix(".py"), package / "checks.py")
        replace_in(package / "checks.py", "from .", "from ..")
        (package / "__init__.py").write_text("from .checks import *\n")

    def change():
        replace_in(package / "checks.py", "default_rng(make_seed(random_state))", "default_rng(1)")

    assert changed_tasks(source, split) == {"optics", "similarity"}
    assert changed_tasks(source, change) == {"optics", "similarity"}


def test_an_import_without_a_file_is_an_error(source):
    (source / "textspectra" / "parallel.py").unlink()
    with pytest.raises(ModuleNotFoundError, match=r"^There is no source file of textspectra\.parallel\.$"):
        digests(source)


def test_the_whole_package_counts_as_all_of_its_public_names(source):
    (source / "textspectra_study" / "new.py").write_text("import textspectra as ts\n")
    reached = reached_files("textspectra_study.new", packages=packages_in(source))
    assert {"textspectra.texts.pipeline", "textspectra.core.cohesion", "textspectra.embedding"} <= reached.keys()


def test_imports_for_type_checkers_do_not_count(source):
    text = "if TYPE_CHECKING:\n    from .run import Progress\nfrom .results import OK\n"
    (source / "textspectra_study" / "new.py").write_text(text)
    assert reached_files("textspectra_study.new", packages=packages_in(source)).keys() == {
        "textspectra_study",
        "textspectra_study.new",
        "textspectra_study.results",
    }


RUN_TASKS = """
import sys
import numpy as np
from textspectra_study import ablations, algorithms, variants
X, truth = np.repeat(np.eye(4, dtype=np.float32), 10, axis=0) + np.eye(40, 4, dtype=np.float32) / 9, np.arange(40) // 10
for name in ("optics", "kmeans_kest", "hac_auto", "kmeans_silhouette", "kmeans_eigengap"):
    algorithms.scores(algorithms.ALGORITHMS[name].compute(X, truth, 0), X, truth, 0)
ablations.sweep(X, truth, 0, zscore=True, tau=20)
ablations.profile(X, truth, 0, cuts=ablations.hac_cuts)
ablations.spectrum(X, truth, 0)
ablations.similarity(X, truth, 0)
print(*(name for name in sys.modules if name.partition(".")[0] in ("textspectra", "textspectra_study")))
"""


def test_everything_that_the_tasks_really_import_is_found():
    done = subprocess.run([sys.executable, "-c", RUN_TASKS], capture_output=True, text=True, check=True)  # noqa: S603
    loaded = set(done.stdout.split())
    assert {"textspectra.core.validation", "textspectra.core.estimators", "textspectra_study.baselines"} <= loaded
    assert loaded <= reached_files(variants.__name__, *TASKS["optics"].modules, *TASKS["similarity"].modules).keys()


def test_the_packages_need_not_be_beside_each_other(source, tmp_path):
    before = digests(source)
    elsewhere = tmp_path / "elsewhere"
    shutil.move(source / "textspectra", elsewhere / "textspectra")
    packages = (elsewhere / "textspectra", source / "textspectra_study")
    modules = TASKS["optics"].modules
    assert code_digest.__wrapped__(variants.__name__, *modules, packages=packages) == before["optics"]


def test_the_study_uses_only_public_names_of_textspectra():
    used = set()
    for path in Path(variants.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert not [alias.name for alias in node.names if alias.name.startswith("textspectra.")], path
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module.startswith("textspectra"):
                assert node.module == "textspectra", path
                used |= {alias.name for alias in node.names}
    assert "estimate_k" in used
    assert used <= {*ts.__all__, "__version__"}
