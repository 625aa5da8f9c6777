"""How good a clustering is, with and without ground truth."""
