"""Finds how many groups a pile of short texts has, what they are, and how far to trust them.

Public names are loaded on first use, so ``import textspectra`` is quick. They are listed in ``__init__.pyi``.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
