"""The page of a study: what its cells say together, beside what the paper printed."""

from .write import OUTPUTS, write_page

__all__ = ["OUTPUTS", "write_page"]
