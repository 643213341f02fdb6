"""Quadratic models of the objective on a working set."""
