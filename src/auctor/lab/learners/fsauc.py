"""FSAUC: saddle-point steps in stages, in shrinking balls."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.types import CompressedColumns, FloatArray
from auctor.lab.kernels import saddle as kernels
from auctor.lab.kernels.saddle import Saddle
from auctor.streaming.estimators.online import OnlineClassifier, State, pad_columns


@dataclass(eq=False, repr=False)
class Fsauc(OnlineClassifier):
    """Linear AUC learner by stages of descent-ascent steps around the average of the last stage.

    Minimises ``mean over pairs of (1 - w.(x+ - x-))^2`` over a ball around 0. From stage to stage
    the step size halves, and so does the radius of the ball in which the iterates stay. `fit` has
    stages of equal length, whose number depends on the number of rows; `partial_fit`, which does
    not know that number, doubles their length. The threshold of `predict` is the midpoint between
    the mean scores of the classes.

    Time per row is O(non-zeros), or O(d) for ``norm="l1"``, memory O(d). Step sizes depend on the
    norms of the rows: a row with a larger norm than all others together makes steps too short to
    learn, and a `DataWarning` is issued.

    Parameters
    ----------
    radius : float > 0
    norm : "l2" or "l1"
        Which norm of w is at most ``radius``.
    step : "halving" or "theory"
        Step size ``rate / 2^k`` in stage k, for w divided by the mean squared norm of the rows; or
        ``rate`` times that of the theorem, which takes the longest row for the bound on all rows.
    rate : float > 0
    stage : int >= 1
        Rows of the first stage in `partial_fit`.
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
    >>> Fsauc(passes=100).fit(X, [0, 0, 1, 1]).score(X, [0, 0, 1, 1])
    1.0

    References
    ----------
    Liu, Zhang, Chen, Wang, Yang, Fast stochastic AUC maximization with O(1/n)-convergence rate,
    2018.
    """

    radius: float = 10.0
    _: KW_ONLY
    norm: str = "l2"
    step: str = "halving"
    rate: float = 1.0
    stage: int = 500

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from scratch: ``passes`` passes over the rows, in their order."""
        self.check_params()
        self._expected = self.passes * np.asarray(y).size
        try:
            super().fit(X, y, sample_weight)
        finally:
            del self._expected
        return self

    # --- parts ----------------------------------------------------------------------------------

    def check_params(self) -> None:
        """Raise ``ParameterError`` for invalid parameters."""
        super().check_params()
        check_real("radius", self.radius, low=0.0, open_low=True)
        check_real("rate", self.rate, low=0.0, open_low=True)
        check_int("stage", self.stage, low=1)
        check_choice("norm", self.norm, ("l2", "l1"))
        check_choice("step", self.step, ("halving", "theory"))

    def fresh_state(self, d: int, rng: np.random.Generator) -> State:
        """State before the first row, for d columns."""
        state: State = {"table": np.zeros((d, 5)), "scalars": np.zeros(len(Saddle))}
        s, expected = state["scalars"], getattr(self, "_expected", None)
        s[Saddle.SCALE] = s[Saddle.CENTRE] = 1.0
        s[Saddle.GOAL], s[Saddle.GROWTH] = self.stage, 2.0
        if expected is not None:
            s[Saddle.GOAL], s[Saddle.GROWTH] = max(expected // stages(expected), 1), 1.0
        return state

    def _ruled_by_one_row(self, state: State) -> bool:
        return kernels.dominated_by_one_row(state["scalars"])

    def _widen(self, state: State, extra: int) -> None:
        pad_columns(state, {"table": (0,)}, extra)

    def _learn(
        self, state: State, rows: CompressedColumns, y: FloatArray, weight: FloatArray
    ) -> None:
        radius, rate = float(self.radius), float(self.rate)
        theory, l1 = self.step == "theory", self.norm == "l1"
        table, scalars = state["table"], state["scalars"]
        kernels.fsauc(*rows, y, weight, radius, rate, theory, l1, table, scalars)

    def _weights(self, state: State) -> FloatArray:
        """The average of this stage if at least half of it is done, else of the last stage."""
        table, s = state["table"], state["scalars"]
        done = s[Saddle.DONE]
        if done == 0.0 or (s[Saddle.STAGE] > 0.0 and 2.0 * done < s[Saddle.GOAL]):
            return table[:, 2].copy()
        # Lazy sums of the iterates: multiples of the centre and of the row sums, minus corrections.
        total = s[Saddle.SUM_CENTRE] * table[:, 2] + s[Saddle.SUM_SCALE] * table[:, 0]
        return np.asarray((total - table[:, 1]) / done)

    def _threshold(self, state: State) -> float:
        table, s = state["table"], state["scalars"]
        positive = s[Saddle.POSITIVE]
        negative = s[Saddle.TOTAL] - positive
        if not min(positive, negative) > 0.0:
            return 0.0
        middle = table[:, 3] / positive + table[:, 4] / negative
        return 0.5 * float(self._weights(state) @ middle)


def stages(n: int) -> int:
    """Number of stages for n rows.

    Examples
    --------
    >>> stages(60000)
    5
    """
    if n < 4:
        return 1
    return max(math.floor(0.5 * math.log2(2.0 * n / math.log2(n))) - 1, 1)
