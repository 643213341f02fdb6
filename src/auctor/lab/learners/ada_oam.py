"""AdaOAM: OPAUC with a separate step size for every column."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass

import numpy as np
import scipy

from auctor.core.checks import check_choice, check_real
from auctor.core.types import CompressedColumns, FloatArray
from auctor.kernels.runtime.parallel import quiet_blas
from auctor.lab.kernels.opauc import (
    ada_oam_rows,
    add_covariance,
    dense_row,
    observe,
    pair_slope,
    project_ball,
)
from auctor.lab.learners.opauc import AXES
from auctor.streaming.estimators.online import OnlineClassifier, State, pad_columns
from auctor.streaming.moments import midpoint


@dataclass(eq=False, repr=False)
class AdaOam(OnlineClassifier):
    """`Opauc` with AdaGrad's step sizes, which adapt to the gradients of each column.

    Minimises ``mean over pairs of (1 - w.(x+ - x-))^2 + strength/2 |w|^2`` over the ball
    ``|w| <= sqrt(2 / strength)``, which contains the minimiser. A step divides the gradient,
    coordinate by coordinate, by the root of the sum of its squares so far, or by the root of the
    sum of its outer products. The threshold of `predict` is the midpoint between the mean scores of
    the classes.

    Time per row and memory are O(d^2), time O(d^3) for ``scaling="full"``.

    Parameters
    ----------
    strength : float >= 0
    step : float > 0
        Size of the first step of every coordinate, in units of its weight.
    damping : float > 0
        Added to the divisor of the gradient, as a share of the root mean square of the divisors. It
        bounds the steps of columns whose gradients were almost zero so far.
    scaling : "diagonal", "euclidean" or "full"
        Step sizes of the columns and the projection on the ball in their metric; the same steps and
        the nearest point of the ball; or the root of the full matrix of outer products and the
        projection in its metric.
    passes : int
        Number of passes of `fit` over all rows.
    grow : bool
        Whether columns may be added later.
    missing : "raise" or "skip"
        Whether rows with NaN or infinity raise an error or are left out.
    random_state : int, optional
        Not used.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
    >>> AdaOam(passes=20).fit(X, [0, 0, 1, 1]).score(X, [0, 0, 1, 1])
    1.0

    References
    ----------
    Ding, Zhao, Hoi, Ong, An adaptive gradient method for online AUC maximization, 2015.
    """

    strength: float = 1e-4
    _: KW_ONLY
    step: float = 0.5
    damping: float = 1e-6
    scaling: str = "diagonal"

    def check_params(self) -> None:
        """Raise ``ParameterError`` for invalid parameters."""
        super().check_params()
        check_real("strength", self.strength, low=0.0)
        check_real("step", self.step, low=0.0, open_low=True)
        check_real("damping", self.damping, low=0.0, open_low=True)
        check_choice("scaling", self.scaling, ("diagonal", "euclidean", "full"))

    def fresh_state(self, d: int, rng: np.random.Generator) -> State:
        """State before the first row, for d columns."""
        return {
            "mass": np.zeros(2),
            "mean": np.zeros((2, d)),
            "scatter": np.zeros((2, d, d)),
            "w": np.zeros(d),
            "squares": np.zeros((d, d) if self.scaling == "full" else d),
            "clock": np.zeros(1, dtype=np.int64),
        }

    def state_numbers(self, d: int) -> int:
        """Approximate number of floats in a state of d columns."""
        return (3 if self.scaling == "full" else 2) * d * d

    def _widen(self, state: State, extra: int) -> None:
        pad_columns(state, AXES | {"squares": tuple(range(state["squares"].ndim))}, extra)

    def _learn(
        self, state: State, rows: CompressedColumns, y: FloatArray, weight: FloatArray
    ) -> None:
        radius = math.sqrt(2.0 / self.strength) if self.strength > 0.0 else math.inf
        if self.scaling == "full":
            self._learn_full(state, rows, y, weight, radius)
            return
        names = ("mass", "mean", "scatter", "w", "squares", "clock")
        how = 0.5 * self.strength, float(self.step), float(self.damping), radius
        euclidean = self.scaling == "euclidean"
        ada_oam_rows(*rows, y, weight, *how, euclidean, *[state[name] for name in names])

    def _learn_full(
        self,
        state: State,
        rows: CompressedColumns,
        y: FloatArray,
        weight: FloatArray,
        radius: float,
    ) -> None:
        """As the compiled loop, with the eigenvectors of the outer products as coordinates."""
        mass, mean, scatter, w = (state[name] for name in ("mass", "mean", "scatter", "w"))
        x, slope = np.empty(w.size), np.empty(w.size)
        for i in np.flatnonzero(weight):
            side = 0 if y[i] > 0.0 else 1
            dense_row(*rows, int(i), x)
            observe(x, weight[i], side, mass, mean, scatter)
            state["clock"] += 1
            if mass[1 - side] == 0.0:
                continue
            pair_slope(x, y[i], 0.5 * self.strength, w, mean[1 - side], slope)
            add_covariance(scatter[1 - side], mass[1 - side], w, slope)
            slope *= weight[i] * state["clock"] / mass.sum()
            state["squares"] += np.outer(slope, slope)
            with quiet_blas():
                values, vectors = scipy.linalg.eigh(state["squares"], check_finite=False)
            roots = np.sqrt(np.maximum(values, 0.0))
            metric = roots + self.damping * math.sqrt(max(values.mean(), 0.0))
            if metric[-1] > 0.0:
                u = vectors.T @ w - self.step * (vectors.T @ slope) / metric
                project_ball(u, metric, radius)
                w[:] = vectors @ u

    def _weights(self, state: State) -> FloatArray:
        return state["w"].copy()

    def _threshold(self, state: State) -> float:
        return midpoint(state["mean"], state["w"])
