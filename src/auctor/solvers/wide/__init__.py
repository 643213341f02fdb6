"""Solvers for data with more columns than rows."""
