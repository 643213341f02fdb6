"""Passive-aggressive learning: the smallest change that classifies each row with a margin."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass

import numpy as np

from auctor.core.checks import check_real
from auctor.core.types import CompressedColumns, FloatArray
from auctor.lab.kernels import aggressive as kernels
from auctor.lab.kernels.aggressive import Margin
from auctor.lab.learners.oam import last_or_average
from auctor.streaming.estimators.online import OnlineClassifier, State, pad_columns


@dataclass(eq=False, repr=False)
class PassiveAggressive(OnlineClassifier):
    """Linear classifier that moves, for each row, to the nearest w without hinge loss on it.

    The step is ``w += t y x`` with ``t = max(0, 1 - y w.x) / |x|^2``, at most C. There is no
    intercept; a column of ones serves as one. Time per row is O(non-zeros).

    Parameters
    ----------
    C : float > 0, optional
        Largest t, times the row's weight over the mean weight; ``None`` for no bound, which suits
        data without noise.
    average : bool
        Whether to return the average of all iterates, or the last one.
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
    >>> X = np.array([[-1.0, 1.0], [-1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
    >>> PassiveAggressive(None).fit(X, [0, 0, 1, 1]).predict(X)
    array([0, 0, 1, 1])

    References
    ----------
    Crammer, Dekel, Keshet, Shalev-Shwartz, Singer, Online passive-aggressive algorithms, 2006.
    """

    C: float | None = 1.0
    _: KW_ONLY
    average: bool = True

    def check_params(self) -> None:
        """Raise ``ParameterError`` for invalid parameters."""
        super().check_params()
        if self.C is not None:
            check_real("C", self.C, low=0.0, open_low=True)

    def fresh_state(self, d: int, rng: np.random.Generator) -> State:
        """State before the first row, for d columns."""
        return {"table": np.zeros((d, 2)), "scalars": np.zeros(len(Margin))}

    def _widen(self, state: State, extra: int) -> None:
        pad_columns(state, {"table": (0,)}, extra)

    def _learn(
        self, state: State, rows: CompressedColumns, y: FloatArray, weight: FloatArray
    ) -> None:
        cost = math.inf if self.C is None else float(self.C)
        kernels.passive_aggressive(*rows, y, weight, cost, state["table"], state["scalars"])

    def _weights(self, state: State) -> FloatArray:
        return last_or_average(state, self.average)
