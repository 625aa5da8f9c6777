"""Tells how many groups are in a pile of short texts, what they are, and how far to trust it.

Everything public is re-exported here and loaded on first use, so that ``import textspectra``
costs next to nothing. The list of names is in ``__init__.pyi``.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
