"""Data sets and independent objectives."""
