"""Tuning that needs few evaluations: a model-based trust region and its faces."""

from auctor.tune.engine import DfoTr

__all__ = ["DfoTr"]
