"""Losses: functions of the score vector and the target."""

from auctor.losses.average_precision import AveragePrecision
from auctor.losses.base import BaseLoss
from auctor.losses.contingency import Prbep, PrecisionAtK, RecallAtK
from auctor.losses.fscore import FBeta
from auctor.losses.gamma import Gamma
from auctor.losses.gaussian import ExpectedAuc, ExpectedError, GaussianAuc
from auctor.losses.pairwise import (
    PairwiseExponential,
    PairwiseHinge,
    PairwiseSquare,
    PairwiseSquaredHinge,
)
from auctor.losses.pairwise_logistic import PairwiseLogistic
from auctor.losses.partial import PartialPairwiseHinge
from auctor.losses.pointwise import (
    Exponential,
    Hinge,
    Logistic,
    PinballHinge,
    SmoothedHinge,
    SquaredHinge,
)
from auctor.losses.rankopt import RankOpt
from auctor.losses.regression import Absolute, EpsilonInsensitive, Huber, Poisson, Quantile, Squared
from auctor.losses.two_way import TwoWayPairwiseHinge

__all__ = [
    "Absolute",
    "AveragePrecision",
    "BaseLoss",
    "EpsilonInsensitive",
    "ExpectedAuc",
    "ExpectedError",
    "Exponential",
    "FBeta",
    "Gamma",
    "GaussianAuc",
    "Hinge",
    "Huber",
    "Logistic",
    "PairwiseExponential",
    "PairwiseHinge",
    "PairwiseLogistic",
    "PairwiseSquare",
    "PairwiseSquaredHinge",
    "PartialPairwiseHinge",
    "PinballHinge",
    "Poisson",
    "Prbep",
    "PrecisionAtK",
    "Quantile",
    "RankOpt",
    "RecallAtK",
    "SmoothedHinge",
    "Squared",
    "SquaredHinge",
    "TwoWayPairwiseHinge",
]
