"""The HTML report of a clustering: one file to explore it in a browser."""

from .state import apply_state, read_state
from .write import write_report

__all__ = ["apply_state", "read_state", "write_report"]
