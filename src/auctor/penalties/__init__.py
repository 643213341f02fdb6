"""Penalties: functions of the weights."""

from auctor.penalties.base import BasePenalty
from auctor.penalties.compose import Sum
from auctor.penalties.separable import L1, L2, Box, ElasticNet, NonNegative, NoPenalty, Separable

__all__ = [
    "L1",
    "L2",
    "BasePenalty",
    "Box",
    "ElasticNet",
    "NoPenalty",
    "NonNegative",
    "Separable",
    "Sum",
]
