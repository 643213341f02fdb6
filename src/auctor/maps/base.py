"""Score maps: from parameters to scores, with products by the Jacobian and its transpose.

A linear model is the map with a constant Jacobian: the data matrix.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from auctor.core.needs import Access
from auctor.core.protocols import Data
from auctor.core.types import FloatArray, IntArray, Target


class Tangent(Data, Protocol):
    """A score map near one point: data whose columns are the derivatives of the scores."""

    @property
    def value(self) -> FloatArray:
        """Scores at the point itself."""


class ScoreMap(Protocol):
    """Scores that are any differentiable function of the parameters."""

    @property
    def n_rows(self) -> int:
        """Rows."""

    @property
    def n_params(self) -> int:
        """Parameters."""

    @property
    def target(self) -> Target:
        """Target and weights of the rows."""

    @property
    def access(self) -> Access:
        """`Access.ROWS` where ``rows`` gives the map of some rows, which batches need."""

    def rows(self, index: IntArray) -> ScoreMap:
        """The same map of some rows, where ``access`` has `Access.ROWS`."""

    def start(self, rng: np.random.Generator) -> FloatArray:
        """Parameters to begin with."""

    def at(self, w: FloatArray) -> Tangent:
        """Scores at w, and the two products with the Jacobian there."""


class ProductTangent:
    """What tangents share: sizes, the target, and no access beyond the two products."""

    access = Access.PRODUCTS

    def __init__(self, value: FloatArray, n_params: int, target: Target) -> None:
        self.value, self.n_columns, self.target = value, n_params, target

    @property
    def n_rows(self) -> int:
        """Rows."""
        return int(self.value.size)


class MapRows:
    """The rows of a map as data; the products are those of the Jacobian at the start."""

    access = Access.PRODUCTS

    def __init__(self, score_map: ScoreMap, start: FloatArray) -> None:
        self._map, self._start = score_map, start
        self.n_rows, self.n_columns = score_map.n_rows, score_map.n_params
        self.target = score_map.target

    def scores(self, w: FloatArray, offset: float = 0.0) -> FloatArray:
        """Jacobian at the start times a direction."""
        return self._map.at(self._start).scores(w, offset)

    def gradient(self, dscores: FloatArray) -> FloatArray:
        """Transpose of the Jacobian at the start times slopes."""
        return self._map.at(self._start).gradient(dscores)


class MatrixTangent(ProductTangent):
    """A tangent whose Jacobian is known as a matrix."""

    def __init__(self, value: FloatArray, jacobian: FloatArray, target: Target) -> None:
        super().__init__(value, jacobian.shape[1], target)
        self.jacobian = jacobian

    def scores(self, w: FloatArray, offset: float = 0.0) -> FloatArray:
        """Jacobian times a direction."""
        change: FloatArray = self.jacobian @ w + offset
        return change

    def gradient(self, dscores: FloatArray) -> FloatArray:
        """Transpose of the Jacobian times slopes."""
        pulled: FloatArray = self.jacobian.T @ dscores
        return pulled
