"""Solvers for losses of Gaussian scores."""
