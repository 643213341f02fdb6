"""Conformance of a score map."""

from __future__ import annotations

from typing import Any

import numpy as np

from auctor.core.types import FloatArray
from auctor.testing.differences import disagreement
from auctor.testing.suite import Suite, expect, expect_close, when

#: Relative error allowed between a product with the Jacobian and a finite difference.
CLOSE = 1e-6


class MapSuite(Suite):
    """Tests of the `ScoreMap` protocol.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.lab.maps import Mlp
    >>> rows = np.random.default_rng(0).normal(size=(12, 2))
    >>> "check_jacobian" in MapSuite(Mlp(rows, np.sign(rows[:, 0]), hidden=(3,))).run()
    True
    """

    def __init__(self, score_map: Any) -> None:
        self.map = score_map
        self.rng = np.random.default_rng(0)

    def __repr__(self) -> str:
        return f"MapSuite({type(self.map).__name__})"

    def _point(self) -> FloatArray:
        start: FloatArray = self.map.start(np.random.default_rng(1))
        return start + 0.1 * self.rng.normal(size=start.size)

    def check_start(self) -> None:
        """The start is finite, of the stated size, and the same for the same seed."""
        one, two = (self.map.start(np.random.default_rng(3)) for _ in range(2))
        expect(one.shape == (self.map.n_params,), f"a start of shape {one.shape}")
        expect(np.isfinite(one).all(), "a start that is not finite")
        expect(np.array_equal(one, two), "a start that the seed does not decide")
        expect(one is not two, "two starts in one array")

    def check_sizes(self) -> None:
        """Scores, target and tangent have the stated numbers of rows and parameters."""
        tangent = self.map.at(self._point())
        expect(tangent.value.shape == (self.map.n_rows,), "scores for other rows")
        expect(self.map.target.n_rows == self.map.n_rows, "a target of other rows")
        sizes = (tangent.n_rows, tangent.n_columns)
        expect(sizes == (self.map.n_rows, self.map.n_params), f"a tangent of shape {sizes}")

    def check_jacobian(self) -> None:
        """The product with a direction is the derivative of the scores along it."""
        for _ in range(3):
            w, direction = self._point(), self.rng.normal(size=self.map.n_params)
            product = self.map.at(w).scores(direction)
            off = disagreement(lambda v: self.map.at(v).value, product, w, direction)
            scale = max(1.0, float(np.abs(product).max()))
            expect(off <= CLOSE * scale, f"Jacobian: off by {off / scale:.3g}")

    def check_transpose(self) -> None:
        """The two products are those of one matrix: ``d . (J v) = (J' d) . v``."""
        tangent = self.map.at(self._point())
        for _ in range(3):
            v, d = (self.rng.normal(size=k) for k in (self.map.n_params, self.map.n_rows))
            left, right = float(d @ tangent.scores(v)), float(tangent.gradient(d) @ v)
            size = float(np.abs(d) @ np.abs(tangent.scores(v)))
            expect_close(left, right, "transpose", rtol=1e-10, scale=max(size, 1e-300))

    def check_offset(self) -> None:
        """An offset is added to every product."""
        tangent, v = self.map.at(self._point()), self.rng.normal(size=self.map.n_params)
        expect_close(tangent.scores(v, 0.5), tangent.scores(v) + 0.5, "offset")

    def check_inputs_stay(self) -> None:
        """Inputs are not modified."""
        w, d = self._point(), self.rng.normal(size=self.map.n_rows)
        before = w.copy(), d.copy()
        tangent = self.map.at(w)
        tangent.scores(w)
        tangent.gradient(d)
        expect(np.array_equal(w, before[0]) and np.array_equal(d, before[1]), "inputs changed")

    @when(lambda suite: suite.map.has_rows)
    def check_rows(self) -> None:
        """Scores, gradients and targets of selected rows equal those among all rows."""
        index = np.flatnonzero(self.rng.random(self.map.n_rows) < 0.5)
        part, w = self.map.rows(index), self._point()
        whole, some = self.map.at(w), part.at(w)
        expect_close(some.value, whole.value[index], "scores of some rows")
        expect_close(part.target.y, self.map.target.y[index], "targets of some rows")
        slopes = self.rng.normal(size=index.size)
        spread = np.zeros(self.map.n_rows)
        spread[index] = slopes
        expect_close(some.gradient(slopes), whole.gradient(spread), "slopes of some rows")
