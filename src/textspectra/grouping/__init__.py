"""How many groups, which row is in which, and how good are they, in one call."""
