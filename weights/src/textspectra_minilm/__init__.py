"""The weights of all-MiniLM-L6-v2 for textspectra, in the folder ``model``."""
