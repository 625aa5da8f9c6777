"""The HTML report: one file to explore a clustering in a browser."""
