"""Score maps: functions from parameters to scores, with products of the Jacobian.

A linear model is the map with a constant Jacobian, the data matrix.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from auctor.core.protocols import Data
from auctor.core.types import FloatArray, IntArray, Target


class Tangent(Data, Protocol):
    """The linearisation of a score map at a point: data whose matrix is the Jacobian there."""

    @property
    def value(self) -> FloatArray:
        """Scores at the point."""


class ScoreMap(Protocol):
    """Scores that are any differentiable function of the parameters."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def n_params(self) -> int:
        """Number of parameters."""

    @property
    def target(self) -> Target:
        """Target and weights of the rows."""

    @property
    def has_rows(self) -> bool:
        """Whether ``rows`` can be used, which batches need."""

    def rows(self, index: IntArray) -> ScoreMap:
        """The same map for some of the rows, if ``has_rows``."""

    def start(self, rng: np.random.Generator) -> FloatArray:
        """Starting parameters."""

    def at(self, w: FloatArray) -> Tangent:
        """Scores at w, and the two products with the Jacobian there."""


class ProductTangent:
    """Base class of tangents: sizes and the target."""

    def __init__(self, value: FloatArray, n_params: int, target: Target) -> None:
        self.value, self.n_columns, self.target = value, n_params, target

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.value.size)


class MapRows:
    """The rows of a map as data; the products are those of the Jacobian at the start."""

    def __init__(self, score_map: ScoreMap, start: FloatArray) -> None:
        self._map, self._start = score_map, start
        self.n_rows, self.n_columns = score_map.n_rows, score_map.n_params
        self.target = score_map.target

    def scores(self, w: FloatArray, offset: float = 0.0) -> FloatArray:
        """Jacobian at the start times a direction."""
        return self._map.at(self._start).scores(w, offset)

    def gradient(self, dscores: FloatArray) -> FloatArray:
        """Transposed Jacobian at the start times derivatives in the scores."""
        return self._map.at(self._start).gradient(dscores)


class MatrixTangent(ProductTangent):
    """A tangent with the Jacobian as a matrix."""

    def __init__(self, value: FloatArray, jacobian: FloatArray, target: Target) -> None:
        super().__init__(value, jacobian.shape[1], target)
        self.jacobian = jacobian

    def scores(self, w: FloatArray, offset: float = 0.0) -> FloatArray:
        """Jacobian times a direction."""
        change: FloatArray = self.jacobian @ w + offset
        return change

    def gradient(self, dscores: FloatArray) -> FloatArray:
        """Transposed Jacobian times derivatives in the scores."""
        pulled: FloatArray = self.jacobian.T @ dscores
        return pulled
