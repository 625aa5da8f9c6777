"""The command line: thin commands that parse, call and print."""

from .main import main

__all__ = ["main"]
