"""Penalties that no default uses."""

from auctor.lab.penalties.overlap import OverlapL2

__all__ = ["OverlapL2"]
