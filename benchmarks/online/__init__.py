"""What the sections on online learning share: the thesis's data sets and printed numbers."""
