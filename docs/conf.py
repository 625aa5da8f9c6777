"""Settings of the documentation site; `make docs` builds it. No extension fetches anything."""

import inspect
import re
import shutil
from dataclasses import is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

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
autodoc_typehints = "none"  # the docstrings say it in words
autosummary_generate = True
autosummary_context = {"own_members": lambda name: own_members(getattr(textspectra, name.rpartition(".")[2]))}
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
html_sidebars = {page: [] for page in ("start", "how", "faq")}  # they have no pages below them
html_theme_options = {
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


def own_members(kind: type) -> list[tuple[str, str]]:
    """Return the public methods and properties of a class that textspectra defines, and the directive of each."""
    members = []
    properties = (property, cached_property)
    for name, member in inspect.getmembers(kind, lambda member: callable(member) or isinstance(member, properties)):
        function = getattr(member, "fget", None) or getattr(member, "func", member)
        if not name.startswith("_") and (getattr(function, "__module__", None) or "").startswith("textspectra"):
            members.append((name, "autoproperty" if isinstance(member, properties) else "automethod"))
    return members


def without_signature(app: Any, what: str, name: str, thing: Any, *_: Any) -> tuple[str, None] | None:
    """Leave out the signature of a class that is only returned, never made by a user."""
    return ("", None) if what == "class" and (is_dataclass(thing) or hasattr(thing, "_fields")) else None


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
    app.connect("autodoc-process-signature", without_signature)
    for part in ("description", "options"):
        app.connect(f"sphinx-click-process-{part}", as_rst)
    app.add_event("sphinx-click-process-envars")  # sphinx-click 6.2 declares "envvars", and emits this
    for part in ("arguments", "envars", "envvars"):
        app.connect(f"sphinx-click-process-{part}", say_once)
