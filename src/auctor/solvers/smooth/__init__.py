"""Solvers for smooth losses and smooth penalties."""
