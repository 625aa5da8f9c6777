"""The page of a study: statistics of its cells beside the numbers that the paper prints."""

from .write import OUTPUTS, write_page

__all__ = ["OUTPUTS", "write_page"]
