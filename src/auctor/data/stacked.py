"""One matrix for several scores per row, without a copy."""

from __future__ import annotations

from typing import Any

import numpy as np

from auctor.core.capabilities import Capability
from auctor.core.data_capabilities import SECOND_ORDER
from auctor.core.protocols import Data
from auctor.core.types import FloatArray, Target
from auctor.data.blocks import InMemory


class Stacked:
    """The same matrix once per class: ``kron(X, I)``, up to the order of its columns.

    A row of X becomes ``times`` adjacent rows, one per class; the columns of the first class come
    first. No copy is made: a product takes one product with X per class, all in one pass over the
    rows if the matrix is in memory.

    Parameters
    ----------
    data : Data
        The matrix; its own target is not used.
    target : Target
        Target of all ``n_rows * times`` rows.
    times : int
        Number of classes.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.data import as_data
    >>> data = as_data(np.array([[1.0, 2.0]]), [1.0])
    >>> Stacked(data, Target(np.array([1.0, -1.0])), 2).scores(np.array([1.0, 0.0, 0.0, 10.0]))
    array([ 1., 20.])
    """

    def __init__(self, data: Data, target: Target, times: int) -> None:
        self._data, self.target, self._times = data, target, times
        self.n_rows, self.n_columns = data.n_rows * times, data.n_columns * times

    def offers(self, capability: Capability[Data, Any]) -> bool:
        """Second-order sums, if the matrix has them."""
        return SECOND_ORDER.has(self._data) and capability.implemented(self)

    @property
    def n_entries(self) -> int:
        """Number of stored entries that one pass reads, once per class."""
        return SECOND_ORDER.of(self._data).n_entries * self._times

    def scores(self, w: FloatArray, offset: float = 0.0) -> FloatArray:
        """``X @ w + offset``."""
        parts = np.ascontiguousarray(w).reshape(self._times, -1)
        if isinstance(self._data, InMemory):
            out = self._data.several_scores(parts)
        else:
            out = np.column_stack([self._data.scores(part.copy()) for part in parts])
        return out.ravel() + offset if offset else out.ravel()

    def gradient(self, dscores: FloatArray) -> FloatArray:
        """``X.T @ dscores``."""
        slopes = np.ascontiguousarray(dscores).reshape(-1, self._times)
        if isinstance(self._data, InMemory):
            return self._data.several_gradients(slopes).ravel()
        return np.concatenate([self._data.gradient(slope.copy()) for slope in slopes.T])

    def square_gradient(self, h: FloatArray) -> FloatArray:
        """Diagonal of ``X.T @ diag(h) @ X``."""
        one = SECOND_ORDER.of(self._data)
        weights = np.ascontiguousarray(h.reshape(-1, self._times).T)
        return np.concatenate([one.square_gradient(weight) for weight in weights])

    def sandwich(self, h: FloatArray, v: FloatArray, offset: float) -> tuple[FloatArray, float]:
        """``X.T @ z`` and ``z.sum()`` with ``z = h * (X @ v + offset)``."""
        z = h * self.scores(v, offset)
        return self.gradient(z), float(z.sum())

    @classmethod
    def examples(cls, X: FloatArray, target: Target, n_threads: int | None) -> dict[str, Data]:
        """Instances the conformance kit tests: the matrix itself, once."""
        from auctor.data.dense import Dense

        return {"once": cls(Dense(X, target, n_threads=n_threads), target, 1)}
