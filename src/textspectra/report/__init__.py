"""The one-file HTML report of a clustering: what it shows, and the page that shows it."""

from .state import apply_state, read_state
from .write import write_report

__all__ = ["apply_state", "read_state", "write_report"]
