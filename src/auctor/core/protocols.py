"""Protocols of losses, penalties and data sets."""

from __future__ import annotations

from enum import Enum, Flag, auto
from typing import Protocol

from auctor.core.types import BlockSpec, FloatArray, SeparableSpec, Target, TreeSpec


class Coupling(Flag):
    """Whether a loss is a sum over rows or depends on several rows jointly (pairs, sets)."""

    ROW = auto()
    GLOBAL = auto()


class Splits(Enum):
    """How a loss can be computed from parts of the rows, without all scores in one place.

    ``ROWS``: as the weighted mean of the losses of the parts. ``PAIRS``: as the weighted mean over
    the pairs of each part of one class with all rows of the other. ``THRESHOLD``: as a sum over
    rows once a threshold is known, which is found by sums over the parts. ``NOT``: it needs all
    scores.
    """

    ROWS = auto()
    PAIRS = auto()
    THRESHOLD = auto()
    NOT = auto()


class Data(Protocol):
    """A design matrix with its target: sizes, a target and two products.

    Nothing else may be assumed of a data set; `auctor.core.data_capabilities` has what it may offer
    besides.
    """

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def n_columns(self) -> int:
        """Number of columns."""

    @property
    def target(self) -> Target:
        """Target and weights of the rows."""

    def scores(self, w: FloatArray, offset: float = 0.0) -> FloatArray:
        """``X @ w + offset``."""

    def gradient(self, dscores: FloatArray) -> FloatArray:
        """``X.T @ dscores``."""


class Loss(Protocol):
    """A function of scores and target; independent of X, w, storage and threads.

    It has a value, a gradient and the facts below; `auctor.core.capabilities` has what it may offer
    besides. `BaseLoss` has the defaults.
    """

    @property
    def coupling(self) -> Coupling:
        """Whether it is a sum over rows or depends on several rows jointly."""

    @property
    def splits(self) -> Splits:
        """How it can be computed from parts of the rows."""

    @property
    def order(self) -> int:
        """0 value only, 1 gradient, 2 curvature."""

    @property
    def smooth(self) -> bool:
        """Whether the gradient is continuous."""

    @property
    def convex(self) -> bool:
        """Whether it is convex in the scores."""

    @property
    def quadratic(self) -> bool:
        """Whether the curvature is constant."""

    @property
    def low_rank(self) -> bool:
        """Whether the curvature is a diagonal plus a few columns."""

    @property
    def shift_invariant(self) -> bool:
        """Whether a constant added to all scores does not change it (so it needs no intercept)."""

    @property
    def scale_invariant(self) -> bool:
        """Whether a positive factor on all scores does not change it (a ridge adds variance)."""

    @property
    def weights(self) -> str:
        """Weights it allows: any for "row" (as in `BaseLoss`), equal within a class for "class"."""

    @property
    def exchangeable(self) -> bool:
        """Whether it is the same for any order of the rows (the default of `BaseLoss`: yes)."""

    def check_target(self, target: Target) -> None:
        """Raise ``DataError`` if the target is outside the domain of the loss."""

    def value(self, scores: FloatArray, target: Target) -> float:
        """Weighted mean loss."""

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Weighted mean loss and its gradient in the scores."""

    def infimum(self, target: Target) -> float:
        """Largest known lower bound of R over all scores."""

    def conjugate(self, dscores: FloatArray, target: Target) -> float | None:
        """``sup_s dscores.s - R(s)``, which gives a certificate; ``None`` without closed form."""

    def smoothed(self, width: float) -> Loss | None:
        """A smooth lower bound within O(width) of a loss with kinks; ``None`` if it has none."""

    def tangent(self, scores: FloatArray, target: Target) -> float | None:
        """C such that ``gradient.s + C`` is below the loss that this one smooths, if known."""

    def response(self, scores: FloatArray) -> FloatArray:
        """Prediction in the units of the target (the inverse link)."""


class Penalty(Protocol):
    """A function of w: value, prox, violation."""

    @property
    def smooth(self) -> bool:
        """Whether it is a quadratic function of w, so that solvers may differentiate it."""

    def value(self, w: FloatArray) -> float:
        """Value of the penalty at w."""

    def prox(self, v: FloatArray, step: float) -> FloatArray:
        """``argmin_x penalty(x) + |x - v|^2 / (2 step)``."""

    def violation(self, w: FloatArray, grad: FloatArray) -> FloatArray:
        """Distance of ``-grad`` to the subdifferential at w, one entry per coordinate."""

    def conjugate(self, v: FloatArray) -> float:
        """``sup_w v.w - penalty(w)``; may be infinite."""

    def dual_scale(self, v: FloatArray) -> float:
        """Largest c in [0, 1] with a finite ``conjugate(c v)``."""

    @property
    def levels(self) -> SeparableSpec | None:
        """l1, l2 and bounds of a sum over coordinates, one number or array each; else ``None``."""

    def separable(self, d: int) -> SeparableSpec | None:
        """The arrays of a penalty that is a sum over coordinates, else ``None``."""

    def blocks(self, d: int) -> BlockSpec | None:
        """The arrays of a penalty on disjoint groups of coordinates, else ``None``."""

    def tree(self, d: int) -> TreeSpec | None:
        """The arrays of a penalty on disjoint or nested groups of coordinates, else ``None``."""

    def with_strength(self, strength: float) -> Penalty:
        """A copy with another strength; raises if the penalty has none."""
