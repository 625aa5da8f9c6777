"""How many groups there are: by what two halves agree on, or by the paper's spectrum."""
