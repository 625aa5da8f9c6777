"""The command line: thin commands that parse, call and print."""

from __future__ import annotations

import signal
import sys
import time
from typing import Any

_interrupted = -1.0
"""When Ctrl-C was pressed last."""


def main() -> None:
    """Run the `textspectra` command; Ctrl-C is a line and exit code 130 from the first import on."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        from .main import run

        run()
    except KeyboardInterrupt:
        message = "stopped. What is finished is kept: the same command goes on from there."
        if "--json" in sys.argv[1:]:
            from .output import print_error

            print_error(130, "interrupted", message)
        else:
            sys.stderr.write(f"{message}\n")
        sys.exit(130)


def _interrupt(*_: Any) -> None:
    """Raise KeyboardInterrupt, but once a second: a second signal must not disturb the end of running threads."""
    global _interrupted
    before, _interrupted = _interrupted, time.monotonic()
    if before < 0 or _interrupted - before > 1:
        raise KeyboardInterrupt
