"""The command line: thin commands that parse, call and print."""

from __future__ import annotations

import signal
import sys
import threading
import time

_signal: int = signal.SIGINT  # that ended the run: Ctrl-C, or SIGTERM, by which systems and containers stop a process
_interrupted = -1.0  # when such a signal came last
AGAIN_SECONDS = 0.05  # after this time an interrupt that was lost is raised again


def main() -> None:
    """Run the `textspectra` command; Ctrl-C prints a line and exits with 130, also during imports, SIGTERM with 143."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)
    sys.unraisablehook = _unraisable
    try:
        from .main import run

        run()
    except KeyboardInterrupt:
        message = "stopped. Finished parts are kept and will not be computed again."
        if "--json" in sys.argv[1:]:
            from .output import print_error

            print_error(interrupted_code(), "interrupted", message)
        else:
            sys.stderr.write(f"{message}\n")
        sys.exit(interrupted_code())


def interrupted_code() -> int:
    """Return the exit code of a command that a signal has ended."""
    return 128 + _signal


def _interrupt(number: int, *_: object) -> None:
    """Raise KeyboardInterrupt, but once a second: a second signal must not disturb the end of running threads."""
    global _interrupted, _signal
    before, _interrupted = _interrupted, time.monotonic()
    if before < 0 or _interrupted - before > 1:
        _signal = number
        raise KeyboardInterrupt


def _unraisable(lost: sys.UnraisableHookArgs) -> None:
    """Raise an interrupt again that came where Python ignores exceptions, such as in a callback of an import."""
    global _interrupted
    if not isinstance(lost.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
        return
    _interrupted = -1.0
    timer = threading.Timer(AGAIN_SECONDS, _send_again)
    timer.daemon = True
    timer.start()


def _send_again() -> None:
    if sys.platform == "win32":
        signal.raise_signal(_signal)
    else:
        signal.pthread_kill(threading.main_thread().ident or 0, _signal)
