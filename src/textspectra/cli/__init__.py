"""The command line: thin commands that parse, call and print."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the `textspectra` command; Ctrl-C is a line and exit code 130 from the first import on."""
    try:
        from .main import run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("stopped. What is finished is kept: the same command goes on from there.\n")
        sys.exit(130)
