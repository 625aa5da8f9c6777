"""The code blocks of a page of documentation, and how each kind of them is run."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]

FENCE = re.compile(
    r"^(?:<!-- (?P<remark>[^\n]+?) -->\n)?```(?P<language>python|sh)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE
)
"""A block, and a remark right above it: `not run: WHY`, or `needs: PACKAGE`."""


class Block(NamedTuple):
    """A block of code, the line of the page on which it begins, and the remark above it."""

    language: str
    code: str
    line: int
    remark: str


def blocks_of(page):
    """Return the blocks of Python and of shell on a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(found["language"], found["code"], text.count("\n", 0, found.start("code")) + 1, found["remark"] or "")
        for found in FENCE.finditer(text)
    ]


def run_block(block, page, names):
    """Run a block of the page of that name in the present folder; Python blocks of a page share their names."""
    if block.language == "sh":
        _run_shell(block, page)
    elif ">>>" in block.code:
        _run_doctest(block, page, names)
    else:
        # Blank lines before it make the lines of a traceback those of the page.
        exec(compile("\n" * (block.line - 1) + block.code, page, "exec"), names)  # noqa: S102


def _run_shell(block, page):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(  # noqa: S603
        ["/bin/bash", "-euo", "pipefail", "-c", block.code],
        env={**os.environ, "PATH": path, "COLUMNS": "120"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{page}, line {block.line}:\n{done.stdout}{done.stderr}"


def _run_doctest(block, page, names):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    test = doctest.DocTestParser().get_doctest(block.code, names, page, page, block.line - 1)
    told = []
    doctest.DocTestRunner(optionflags=flags).run(test, out=told.append, clear_globs=False)
    names.update(test.globs)  # the test has a copy
    assert not told, "".join(told)
