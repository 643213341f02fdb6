"""Coordinate ascent on the dual problem."""
