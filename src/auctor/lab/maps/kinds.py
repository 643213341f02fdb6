"""Score maps of linear data and of a user's function with its Jacobian."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from auctor.core.checks import check_vector
from auctor.core.data_capabilities import ROWS
from auctor.core.errors import DataError, speaks_for_itself
from auctor.core.protocols import Data
from auctor.core.types import FloatArray, IntArray
from auctor.data import as_data
from auctor.lab.maps.base import MatrixTangent, ProductTangent, Tangent


class LinearTangent(ProductTangent):
    """The tangent of linear data: the data itself."""

    def __init__(self, data: Data, w: FloatArray) -> None:
        super().__init__(data.scores(w), data.n_columns, data.target)
        self._data = data

    def scores(self, w: FloatArray, offset: float = 0.0) -> FloatArray:
        """Change of the scores along a direction, ``X @ w + offset``."""
        return self._data.scores(w, offset)

    def gradient(self, dscores: FloatArray) -> FloatArray:
        """Gradient in the parameters, ``X.T @ dscores``."""
        return self._data.gradient(dscores)


class LinearMap:
    """Linear data as a score map: the Jacobian is the same everywhere."""

    def __init__(self, data: Data) -> None:
        self.data, self.target = data, data.target
        self.n_rows, self.n_params = data.n_rows, data.n_columns
        self.has_rows = ROWS.has(data)

    @classmethod
    def examples(cls) -> list[LinearMap]:
        """Instances the conformance kit tests."""
        rng = np.random.default_rng(0)
        y = np.array([1.0, -1.0, 1.0, 1.0, -1.0])
        weight = np.linspace(0.5, 2.0, 5)
        return [cls(as_data(rng.normal(size=(5, 3)), y)), cls(as_data(np.eye(5), y, weight=weight))]

    def rows(self, index: IntArray) -> LinearMap:
        """Some rows of the data."""
        return LinearMap(ROWS.of(self.data).rows(index))

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
        Starting parameters.
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

    has_rows = True

    @speaks_for_itself
    def __init__(
        self,
        scores: Callable[[FloatArray], Any],
        jacobian: Callable[[FloatArray], Any],
        *,
        y: Any,
        start: Any,
        weight: Any = None,
    ) -> None:
        self.scores_at, self.jacobian_at = scores, jacobian
        self._start = check_vector("start", start)
        right = np.asarray(y)
        self.target = as_data(np.zeros((right.shape[0], 1)), right, weight=weight).target
        self.n_rows, self.n_params = int(right.shape[0]), int(self._start.size)

    @classmethod
    def examples(cls) -> list[CallableMap]:
        """Instances the conformance kit tests."""
        t = np.linspace(0.0, 1.0, 6)
        return [
            cls(
                lambda w: w[0] * np.exp(w[1] * t),
                lambda w: np.column_stack((np.exp(w[1] * t), w[0] * t * np.exp(w[1] * t))),
                y=1.0 + t,
                start=[1.0, 0.5],
            )
        ]

    def rows(self, index: IntArray) -> CallableMap:
        """The map of some rows; the user's functions still compute all of them."""
        part = copy(self)
        part.scores_at = lambda w: np.asarray(self.scores_at(w))[index]
        part.jacobian_at = lambda w: np.asarray(self.jacobian_at(w))[index]
        part.target, part.n_rows = self.target.take(index), int(index.size)
        return part

    def start(self, rng: np.random.Generator) -> FloatArray:
        """A copy of the given starting parameters."""
        return self._start.copy()

    @speaks_for_itself
    def at(self, w: FloatArray) -> Tangent:
        """Scores and Jacobian at w, with their shapes checked."""
        value = np.asarray(self.scores_at(w), dtype=np.float64)
        jacobian = np.asarray(self.jacobian_at(w), dtype=np.float64)
        shapes = ((self.n_rows,), (self.n_rows, self.n_params))
        if (value.shape, jacobian.shape) != shapes:
            raise DataError(
                f"scores and Jacobian of shapes {shapes[0]} and {shapes[1]}; got {value.shape} and "
                f"{jacobian.shape}. Return one row for each target and one column for each "
                "parameter."
            )
        return MatrixTangent(value, jacobian, self.target)
