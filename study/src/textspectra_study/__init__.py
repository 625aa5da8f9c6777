"""The experiments of the paper on our data and models, compared with the numbers that the paper prints."""

__version__ = "0.1.0"
