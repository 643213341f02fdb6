"""Rows on other machines whose scores are stored there too."""

from __future__ import annotations

from functools import cached_property
from typing import Any, cast

import numpy as np

from auctor.core.types import FloatArray
from auctor.data.sharded import Sharded
from auctor.data.spread import Leaf, Spread


class PlacedRows(Sharded):
    """Shards whose scores are a `Spread`: a vector stored on the workers.

    Products accept such vectors, and numpy arrays, which are sent to the workers.
    """

    def __init__(self, rows: Sharded) -> None:
        self.rows = rows
        super().__init__(rows.workers, **rows.settings() | {"target": rows.target})

    def constant(self, value: float) -> FloatArray:
        """The same score for every row."""
        return self._spread("constant", value)

    def spread(self, values: FloatArray) -> FloatArray:
        """A vector of all rows, sent to the workers that have the rows."""
        return cast(FloatArray, Spread(self.holder, self.holder.sent(values)))

    def scores(self, w: FloatArray, offset: float = 0.0) -> FloatArray:
        """``X @ w + offset``."""
        return self._spread("scores", self._times(w), offset)

    def gradient(self, dscores: FloatArray) -> FloatArray:
        """``X.T @ dscores``."""
        return self._times(self.holder.total("gradient", self._sent(dscores)))

    def square_gradient(self, h: FloatArray) -> FloatArray:
        """Diagonal of ``X.T @ diag(h) @ X``."""
        squares = self.holder.total("square_gradient", self._sent(h))
        return self._times(self._times(squares))

    def sandwich(self, h: FloatArray, v: FloatArray, offset: float) -> tuple[FloatArray, float]:
        """``X.T @ z`` and ``z.sum()`` with ``z = h * (X @ v + offset)``."""
        answers = self.holder.ask("sandwich", self._sent(h), self._times(v), offset)
        return self._joined(answers)

    def gram(self, h: FloatArray) -> FloatArray:
        """``X.T @ diag(h) @ X`` for ``h >= 0``."""
        return self._times(self._times(self.holder.total("gram", self._sent(h))).T)

    def _spread(self, method: str, *arguments: Any) -> FloatArray:
        """A vector stored on the workers; solvers use it like a numpy array."""
        return cast(FloatArray, Spread(self.holder, self.holder.keep(method, *arguments)))

    def _sent(self, values: FloatArray) -> Any:
        """A vector as an argument of a call: stored, sent once, or split by shards."""
        if isinstance(values, Spread):
            return values
        if values is self.target.share:  # used often and never written to: sent once
            return self._share
        return self.holder.split(np.asarray(values))

    @cached_property
    def _share(self) -> Leaf:
        return self.holder.sent(self.target.share)
