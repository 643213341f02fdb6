"""SOLAM and regSOLAM: descent-ascent on the saddle-point form of the pairwise square loss."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from auctor.core.checks import check_real
from auctor.core.errors import speaks
from auctor.core.linalg import spd_solve
from auctor.core.types import CompressedColumns, FloatArray, Target
from auctor.data import as_data
from auctor.data.coerce import check_weight
from auctor.lab.kernels import saddle as kernels
from auctor.lab.kernels.saddle import Saddle
from auctor.lab.learners.steps import step_power
from auctor.solvers.gaussian.moments import class_moments
from auctor.streaming.estimators.labels import flat_labels, signs
from auctor.streaming.estimators.online import OnlineClassifier, State, pad_columns


class _Saddle(OnlineClassifier):
    """Gradient descent in (w, a, b) and ascent in alpha, with steps ``rate / t ** step``.

    The iterates are averaged, with the step sizes as weights.
    """

    rate: float
    step: str | float

    def check_params(self) -> None:
        """Raise ``ParameterError`` for invalid parameters."""
        super().check_params()
        check_real("rate", self.rate, low=0.0, open_low=True)
        step_power(self.step)

    def _bounds(self) -> tuple[float, float]:
        """Strength of the ridge and radius of the ball."""
        raise NotImplementedError

    def fresh_state(self, d: int, rng: np.random.Generator) -> State:
        """State before the first row, for d columns."""
        state: State = {"table": np.zeros((d, 2)), "scalars": np.zeros(len(Saddle))}
        state["scalars"][Saddle.SCALE] = 1.0
        return state

    def _ruled_by_one_row(self, state: State) -> bool:
        return kernels.dominated_by_one_row(state["scalars"])

    def _widen(self, state: State, extra: int) -> None:
        pad_columns(state, {"table": (0,)}, extra)

    def _learn(
        self, state: State, rows: CompressedColumns, y: FloatArray, weight: FloatArray
    ) -> None:
        table, scalars = state["table"], state["scalars"]
        steps = step_power(self.step), float(self.rate)
        kernels.solam(*rows, y, weight, *self._bounds(), *steps, table, scalars)

    def _weights(self, state: State) -> FloatArray:
        table, s = state["table"], state["scalars"]
        total: FloatArray = s[Saddle.SUM_SCALE] * table[:, 0] - table[:, 1]
        return total / (s[Saddle.MASS] or 1.0)

    def _threshold(self, state: State) -> float:
        s = state["scalars"]
        middle = 0.5 * (s[Saddle.SUM_A] + s[Saddle.SUM_B])
        return float(middle / (s[Saddle.MASS] or 1.0))

    @property
    def saddle_(self) -> FloatArray:
        """Averages of a, b and alpha: mean scores of the classes, and their difference."""
        s = self.state_["scalars"]
        sums = s[[Saddle.SUM_A, Saddle.SUM_B, Saddle.SUM_ALPHA]]
        return np.asarray(sums / (s[Saddle.MASS] or 1.0))


@dataclass(eq=False, repr=False)
class Solam(_Saddle):
    """Linear AUC learner by stochastic descent-ascent, with w projected on a ball.

    Minimises ``mean over pairs of (1 - w.(x+ - x-))^2`` over ``|w| <= radius``. There are no steps
    until both classes have rows. The threshold of `predict` is the midpoint between the estimated
    mean scores of the classes.

    Time per row is O(non-zeros), memory O(d). Step sizes depend on the norms of the rows: a row
    with a larger norm than all others together makes steps too short to learn, and a `DataWarning`
    is issued.

    Parameters
    ----------
    radius : float > 0
    rate : float > 0
        Step t is ``rate / sqrt(t)``; for w it is divided by the mean squared norm of the rows.
    step : "sqrt", "constant" or float in (0, 1)
        Power of t in the step sizes, 1/2 by default and 0 for "constant".
    passes : int
        Number of passes of `fit` over all rows.
    grow : bool
        Whether columns may be added later.
    missing : "raise" or "skip"
        Whether rows with NaN or infinity raise an error or are left out.
    random_state : None
        Not used.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
    >>> Solam(passes=20).fit(X, [0, 0, 1, 1]).score(X, [0, 0, 1, 1])
    1.0

    References
    ----------
    Ying, Wen, Lyu, Stochastic online AUC maximization, 2016, with gradient ascent in alpha.
    """

    radius: float = 10.0
    _: KW_ONLY
    rate: float = 1.0
    step: str | float = "sqrt"

    def check_params(self) -> None:
        """Raise ``ParameterError`` for invalid parameters."""
        super().check_params()
        check_real("radius", self.radius, low=0.0, open_low=True)

    def _bounds(self) -> tuple[float, float]:
        return 0.0, float(self.radius)


@dataclass(eq=False, repr=False)
class RegSolam(_Saddle):
    """`Solam` with a ridge in place of a given radius.

    Minimises ``mean over pairs of (1 - w.(x+ - x-))^2 + strength/2 |w|^2``, whose minimiser has
    ``|w| <= sqrt(2 / strength)``.

    Parameters
    ----------
    strength : float > 0
    rate : float > 0
        Step t is ``rate / sqrt(t)``; for w it is divided by the mean squared norm of the rows.
    step : "sqrt", "constant" or float in (0, 1)
        Power of t in the step sizes, 1/2 by default and 0 for "constant".
    passes : int
        Number of passes of `fit` over all rows.
    grow : bool
        Whether columns may be added later.
    missing : "raise" or "skip"
        Whether rows with NaN or infinity raise an error or are left out.
    random_state : None
        Not used.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
    >>> learner = RegSolam(1.0, passes=2000).fit(X, [0, 0, 1, 1])
    >>> learner.score(X, [0, 0, 1, 1]), round(learner.duality_gap(X, [0, 0, 1, 1]), 3)
    (1.0, 0.012)

    References
    ----------
    Natole, Fast optimization algorithms for AUC maximization, Albany 2020, chapter 3, with the
    ridge scaled like the loss.
    """

    strength: float = 1e-2
    _: KW_ONLY
    rate: float = 1.0
    step: str | float = "sqrt"

    def check_params(self) -> None:
        """Raise ``ParameterError`` for invalid parameters."""
        super().check_params()
        check_real("strength", self.strength, low=0.0, open_low=True)

    def _bounds(self) -> tuple[float, float]:
        return float(self.strength), math.sqrt(2.0 / self.strength)

    @speaks
    def duality_gap(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Duality gap of the averages of (w, a, b) and alpha on these rows, in O(n d^2 + d^3).

        With f the saddle function of the mean over rows, in units of the objective, it is
        ``max f(w, a, b, .) - min f(., alpha)``, at least the objective at w less its minimum. Both
        are over all numbers; at the saddle point the bounds of the steps hold anyhow.
        """
        w = self.coef_[0]
        data = as_data(X, signs(flat_labels(y), self.classes_))
        if sample_weight is not None:
            data = data.with_target(Target(data.target.y, check_weight(sample_weight, data.n_rows)))
        moments = class_moments(data, reduce=False)
        (a, b, alpha), ridge = self.saddle_, 0.5 * self.strength
        mean, variance = moments.scores(w)
        apart = mean[0] - mean[1]
        primal = (mean[0] - a) ** 2 + (mean[1] - b) ** 2 + variance.sum() + (1.0 - apart) ** 2
        total = moments.covariance.sum(axis=0) + ridge * np.eye(w.size)
        reach = moments.contrast @ spd_solve(total)(moments.contrast)
        dual = 1.0 - alpha**2 - (1.0 + alpha) ** 2 * reach
        return float(primal + ridge * (w @ w) - dual)
