"""Solvers that take many steps for each pass, each on a few random rows."""
