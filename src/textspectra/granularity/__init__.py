"""How many groups: the finest that two halves of the data agree on, or the last jump of the paper's spectrum."""
