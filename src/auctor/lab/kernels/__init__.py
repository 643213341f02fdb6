"""Compiled loops of the parts of the lab."""
