"""Settings of the documentation site; `make docs` builds it. No extension fetches anything."""

import inspect
import re
import shutil
from dataclasses import is_dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from sphinx.pycode import ModuleAnalyzer

import textspectra
from textspectra.report.state import FORMAT
from textspectra.texts.storage import FORMAT_VERSION, OLDEST_FORMAT

HERE = Path(__file__).parent

project = "textspectra"
author = "The textspectra authors"
project_copyright = author
version = release = textspectra.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_nb",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_design",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]

smartquotes = False  # two hyphens begin an option
toc_object_entries_show_parents = "hide"
autodoc_typehints_format = "short"
TYPES = ("ArrayLike", "DataFrame", "Level", "Method", "Model", "RandomState", "Texts")  # the reference explains them
autodoc_type_aliases = {name: name for name in TYPES} | {"PerRow": "ndarray"}
python_display_short_literal_types = True
python_maximum_signature_line_length = 100
autosummary_generate = True
autosummary_context = {"tasks_of": lambda name: tasks_of(getattr(textspectra, name.rpartition(".")[2]))}
numpydoc_show_class_members = False  # the template of classes lists them
numpydoc_xref_param_type = False

myst_enable_extensions = ["colon_fence", "deflist", "substitution"]
myst_substitutions = {
    "model_format": FORMAT_VERSION,
    "oldest_model_format": OLDEST_FORMAT,
    "state_format": FORMAT,
}
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]  # the function of autosummary_context cannot be pickled
nb_execution_mode = "off"  # outputs are kept in the notebooks; the tests execute them

html_theme = "pydata_sphinx_theme"
html_title = "textspectra"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
PAGES = ("start", "how", "faq", "glossary", "changelog", "citation")  # they have no pages below them
html_sidebars = {page: [] for page in PAGES}
html_theme_options = {
    "header_links_before_dropdown": 7,
    "logo": {"text": "textspectra"},
    "navbar_align": "left",
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
copybutton_exclude = ".linenos, .gp, .go"

TASKS = {
    "Read the groups": ("cluster_table", "to_frame", "n_clusters", "typical_texts", "keywords", "term_matrix"),
    "Judge them": ("verdict", "scores", "duplicates", "map", "embeddings"),
    "Change them": ("rename", "merge", "cut", "name", "apply", "hierarchy_frame"),
    "Time and segments": ("over_time", "trends", "by"),
    "New texts": ("predict", "compare", "update", "drift", "changes"),
    "Save and show": ("save", "load", "report", "show"),
}
"""The methods and properties of `TextClustering`, by task; a test compares them with the class."""


def own_members(kind: type) -> list[tuple[str, str]]:
    """Return the public methods and properties of a class that textspectra defines, and the directive of each."""
    members = []
    properties = (property, cached_property)
    for name, member in inspect.getmembers(kind, lambda member: callable(member) or isinstance(member, properties)):
        function = getattr(member, "fget", None) or getattr(member, "func", member)
        if not name.startswith("_") and (getattr(function, "__module__", None) or "").startswith("textspectra"):
            members.append((name, "autoproperty" if isinstance(member, properties) else "automethod"))
    return members


def tasks_of(kind: type) -> dict[str, list[tuple[str, str]]]:
    """Return the public members of a class and the directive of each, by task if there are many."""
    members = dict(own_members(kind))
    if kind is not textspectra.TextClustering:
        return {"Properties and methods": list(members.items())} if members else {}
    return {task: [(name, members[name]) for name in names if name in members] for task, names in TASKS.items()}


def plain_signature(
    app: Any, what: str, name: str, thing: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Write types as the source does, and leave out the signature of a class that is never made by a user."""
    if what == "class" and (is_dataclass(thing) or hasattr(thing, "_fields")):
        return "", None
    for pattern, plain in (
        (r"TypeAliasForwardRef\('(\w+)'\)", r"\1"),
        (r"ndarray\[tuple\[.*?\], dtype\[\w+\]\]", "ndarray"),
    ):
        signature, returned = (part and re.sub(pattern, plain, part) for part in (signature, returned))
    return signature, returned


def find_source(app: Any, module: str) -> tuple[str, dict[str, tuple[str, int, int]]]:
    """Return the source of a module, and the lines of what it has; an inherited method has the lines of its base."""
    analyzer = ModuleAnalyzer.for_module(module)
    tags = dict(analyzer.find_tags())
    classes = [kind for kind in vars(import_module(module)).values() if inspect.isclass(kind)]
    for kind in classes:
        for base in kind.__mro__[1:]:
            for name in vars(base):
                if base.__module__ == module and f"{base.__name__}.{name}" in tags:
                    tags.setdefault(f"{kind.__name__}.{name}", tags[f"{base.__name__}.{name}"])
    return analyzer.code, tags


def copy_notebooks() -> None:
    """Bring the notebooks of `examples/` into the tree that Sphinx reads."""
    folder = HERE / "notebooks"
    folder.mkdir(exist_ok=True)
    for notebook in (HERE.parent / "examples").glob("*.ipynb"):
        shutil.copy(notebook, folder)


def as_rst(app: Any, context: Any, lines: list[str]) -> None:
    """Turn the plain text of a command's help into reStructuredText: `code`, and escape stars."""
    lines[:] = [re.sub(r"`([^`]+)`", r"``\1``", line.replace("*", r"\*")) for line in lines]


def say_once(app: Any, context: Any, lines: list[str]) -> None:
    """Leave out arguments, which the usage line has, and variables, which a guide explains."""
    lines.clear()


def setup(app: Any) -> None:
    """Prepare what Sphinx cannot find or read by itself."""
    copy_notebooks()
    app.connect("autodoc-process-signature", plain_signature)
    app.connect("viewcode-find-source", find_source)
    for part in ("description", "options"):
        app.connect(f"sphinx-click-process-{part}", as_rst)
    app.add_event("sphinx-click-process-envars")  # sphinx-click 6.2 declares "envvars", and emits this
    for part in ("arguments", "envars", "envvars"):
        app.connect(f"sphinx-click-process-{part}", say_once)
