"""Penalties: functions of the weights."""

from auctor.penalties.base import BasePenalty
from auctor.penalties.compose import Sum
from auctor.penalties.group import GroupL2
from auctor.penalties.repeated import Repeated
from auctor.penalties.separable import (
    L1,
    L2,
    BoundedElasticNet,
    Box,
    ElasticNet,
    NonNegative,
    NoPenalty,
    Separable,
)
from auctor.penalties.signed_group import SignedGroupL2
from auctor.penalties.tree import TreeL2

__all__ = [
    "L1",
    "L2",
    "BasePenalty",
    "BoundedElasticNet",
    "Box",
    "ElasticNet",
    "GroupL2",
    "NoPenalty",
    "NonNegative",
    "Repeated",
    "Separable",
    "SignedGroupL2",
    "Sum",
    "TreeL2",
]
