"""How many groups: the number that two halves of the data agree on, or the last jump of the paper's spectrum."""
