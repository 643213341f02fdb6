"""Solvers for losses with kinks: smoothing and cutting planes."""
