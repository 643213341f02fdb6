"""OPAUC: one gradient step per row, against the moments of the other class."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from auctor.core.checks import check_int, check_real
from auctor.core.types import CompressedColumns, FloatArray
from auctor.lab.kernels.opauc import opauc_rows, sketched_opauc_rows
from auctor.streaming.estimators.online import OnlineClassifier, State, pad_columns
from auctor.streaming.moments import midpoint

#: Axes of the arrays of the states of `Opauc` and `AdaOam` that have one entry per column.
AXES = {
    "mean": (1,),
    "scatter": (1, 2),
    "sketch": (1,),
    "w": (0,),
    "average": (0,),
    "squares": (0,),
}
#: Rows from which a single dominating row is reported as an outlier.
OUTLIER_ROWS = 100


@dataclass(eq=False, repr=False)
class Opauc(OnlineClassifier):
    """Linear AUC learner by a gradient step per row, on its pairs with all earlier rows.

    Minimises ``mean over pairs of (1 - w.(x+ - x-))^2 + strength/2 |w|^2``. The earlier rows of the
    other class are represented exactly by their mean and covariance, or with ``rank`` approximately
    by a random sketch. The threshold of `predict` is the midpoint between the mean scores of the
    classes.

    Time per row and memory are O(d^2), or O(d rank). Step sizes depend on the norms of the rows: a
    row with a larger norm than all others together makes steps too short to learn, and a
    `DataWarning` is issued.

    Parameters
    ----------
    strength : float >= 0
    rank : int, optional
        Number of columns of the sketches that replace the covariances, for data with many columns.
    step : float > 0, optional
        Constant step size for half the loss. By default it is ``1 / (strength t / 2 + 2 R)`` after
        t rows, with R the largest squared distance of a row from the mean of the other class.
    average : bool
        Whether to use the average of the iterates, with more weight on later ones, or the last one.
    passes : int
        Number of passes of `fit` over all rows.
    grow : bool
        Whether columns may be added later.
    missing : "raise" or "skip"
        Whether rows with NaN or infinity raise an error or are left out.
    random_state : int, optional
        Seed of the sketches.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
    >>> Opauc(passes=20).fit(X, [0, 0, 1, 1]).score(X, [0, 0, 1, 1])
    1.0

    References
    ----------
    Gao, Jin, Zhu, Zhou, One-pass AUC optimization, 2013. Two changes: the sketch is of centred
    rows, where the authors subtract a multiple of the mean; and it uses random signs, where the
    authors use normal variables.
    """

    wide_advice = "Pass rank=50 for a sketch of the covariances."

    strength: float = 1e-4
    _: KW_ONLY
    rank: int | None = None
    step: float | None = None
    average: bool = True

    def check_params(self) -> None:
        """Raise ``ParameterError`` for invalid parameters."""
        super().check_params()
        check_real("strength", self.strength, low=0.0)
        if self.rank is not None:
            check_int("rank", self.rank, low=1)
        if self.step is not None:
            check_real("step", self.step, low=0.0, open_low=True)

    def fresh_state(self, d: int, rng: np.random.Generator) -> State:
        """State before the first row, for d columns."""
        state: State = {
            "mass": np.zeros(2),
            "mean": np.zeros((2, d)),
            "w": np.zeros(d),
            "average": np.zeros(d),
            "largest": np.zeros(1),
            "clock": np.zeros(1, dtype=np.int64),
        }
        if self.rank is None:
            state["scatter"] = np.zeros((2, d, d))
        else:
            state["sketch"] = np.zeros((2, d, self.rank))
            state["drift"] = np.zeros((2, self.rank))
            state["random"] = rng.integers(1, 2**63, size=1, dtype=np.uint64)
        return state

    def state_numbers(self, d: int) -> int:
        """Approximate number of floats in a state of d columns."""
        return 2 * d * (d if self.rank is None else self.rank)

    def _ruled_by_one_row(self, state: State) -> bool:
        # The largest squared distance against the sum of all: trace of the scatter, or its sketch.
        if "scatter" in state:
            total = float(np.trace(state["scatter"], axis1=1, axis2=2).sum())
        else:
            total = float((state["sketch"] ** 2).sum())
        return int(state["clock"][0]) >= OUTLIER_ROWS and 2.0 * float(state["largest"][0]) > total

    def _widen(self, state: State, extra: int) -> None:
        pad_columns(state, AXES, extra)

    def _learn(
        self, state: State, rows: CompressedColumns, y: FloatArray, weight: FloatArray
    ) -> None:
        start = (*rows, y, weight, 0.5 * self.strength, self.step or 0.0)
        names = ["mass", "mean", "scatter", "w", "average", "largest", "clock"]
        if "scatter" in state:
            opauc_rows(*start, *[state[name] for name in names])
        else:
            names[2:3] = ["sketch", "drift"]
            sketched_opauc_rows(*start, *[state[name] for name in [*names, "random"]])

    def _weights(self, state: State) -> FloatArray:
        return state["average" if self.average else "w"].copy()

    def _threshold(self, state: State) -> float:
        return midpoint(state["mean"], self._weights(state))
