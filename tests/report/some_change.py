"""A change of a group, with the fields that the page reads."""

from typing import NamedTuple


class SomeChange(NamedTuple):
    label: int
    name: str
    status: str
    before: int
    after: int
    share_before: float
    share_after: float
    p: float
