"""Passes up and down a taxonomy, row by row."""
