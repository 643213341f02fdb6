"""Score maps: from parameters to scores, with products by the Jacobian and its transpose.

A linear model is the map with a constant Jacobian: the data matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from auctor.core.checks import check_vector
from auctor.core.errors import DataError
from auctor.core.needs import Access
from auctor.core.protocols import Data
from auctor.core.types import FloatArray, Target
from auctor.data import as_data


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


class LinearTangent(ProductTangent):
    """The tangent of linear data, which is the data itself."""

    def __init__(self, data: Data, w: FloatArray) -> None:
        super().__init__(data.scores(w), data.n_columns, data.target)
        self._data = data

    def scores(self, w: FloatArray, offset: float = 0.0) -> FloatArray:
        """Scores of a direction."""
        return self._data.scores(w, offset)

    def gradient(self, dscores: FloatArray) -> FloatArray:
        """Slopes in the weights."""
        return self._data.gradient(dscores)


class LinearMap:
    """Linear data as a score map: the Jacobian is the same everywhere.

    Parameters
    ----------
    data : Data
    """

    def __init__(self, data: Data) -> None:
        self.data, self.target = data, data.target
        self.n_rows, self.n_params = data.n_rows, data.n_columns

    def start(self, rng: np.random.Generator) -> FloatArray:
        """Zeros."""
        return np.zeros(self.n_params)

    def at(self, w: FloatArray) -> Tangent:
        """The data, with the scores of w."""
        return LinearTangent(self.data, w)


class CallableMap:
    """Any function with a Jacobian as a score map.

    Parameters
    ----------
    scores : callable
        ``scores(w)``, one number for each row.
    jacobian : callable
        ``jacobian(w)``, one row for each score and one column for each parameter.
    y : (n,) array
        Target.
    start : (p,) array
        Parameters to begin with.
    weight : (n,) array, optional

    Examples
    --------
    >>> import numpy as np
    >>> t = np.array([0.0, 1.0, 2.0])
    >>> growth = CallableMap(
    ...     lambda w: np.exp(w[0] * t),
    ...     lambda w: (t * np.exp(w[0] * t))[:, None],
    ...     y=[1.0, 2.0, 4.0],
    ...     start=[0.0],
    ... )
    >>> growth.at(np.zeros(1)).gradient(np.ones(3))
    array([3.])
    """

    def __init__(
        self,
        scores: Callable[[FloatArray], Any],
        jacobian: Callable[[FloatArray], Any],
        *,
        y: Any,
        start: Any,
        weight: Any = None,
    ) -> None:
        self._scores, self._jacobian = scores, jacobian
        self._start = check_vector("CallableMap", "start", start)
        right = np.asarray(y)
        self.target = as_data(np.zeros((right.shape[0], 1)), right, weight=weight).target
        self.n_rows, self.n_params = int(right.shape[0]), int(self._start.size)

    def start(self, rng: np.random.Generator) -> FloatArray:
        """The given start."""
        return self._start.copy()

    def at(self, w: FloatArray) -> Tangent:
        """Scores and Jacobian at w, with their shapes checked."""
        value = np.asarray(self._scores(w), dtype=np.float64)
        jacobian = np.asarray(self._jacobian(w), dtype=np.float64)
        shapes = ((self.n_rows,), (self.n_rows, self.n_params))
        if (value.shape, jacobian.shape) != shapes:
            raise DataError(
                "CallableMap",
                needs=f"scores and Jacobian of shapes {shapes[0]} and {shapes[1]}",
                got=f"{value.shape} and {jacobian.shape}",
                todo="Return one row for each target and one column for each parameter.",
            )
        return MatrixTangent(value, jacobian, self.target)
