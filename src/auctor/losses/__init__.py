"""Losses: functions of the score vector and the target."""

from auctor.losses.base import BaseLoss
from auctor.losses.pairwise import PairwiseHinge, PairwiseSquare
from auctor.losses.pointwise import (
    Absolute,
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Huber,
    Logistic,
    Poisson,
    Quantile,
    SmoothedHinge,
    Squared,
    SquaredHinge,
)

__all__ = [
    "Absolute",
    "BaseLoss",
    "EpsilonInsensitive",
    "Exponential",
    "Hinge",
    "Huber",
    "Logistic",
    "PairwiseHinge",
    "PairwiseSquare",
    "Poisson",
    "Quantile",
    "SmoothedHinge",
    "Squared",
    "SquaredHinge",
]
