"""Exponential loss of single rows, with equal total weight of both classes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from auctor.core.checks import check_real
from auctor.core.types import CompressedColumns, FloatArray
from auctor.lab.kernels import aggressive as kernels
from auctor.lab.kernels.aggressive import Margin
from auctor.lab.learners.oam import last_or_average
from auctor.streaming.estimators.online import OnlineClassifier, State, pad_columns


@dataclass(eq=False, repr=False)
class UniExp(OnlineClassifier):
    """Linear AUC learner by the exponential loss of single rows, with equal class weights.

    Stochastic steps on ``(mean_pos exp(-w.x) + mean_neg exp(w.x)) / 2 + strength/2 |w|^2``. The
    square of the loss bounds the pairwise exponential loss, so that it needs no pairs. Class shares
    are those of the rows so far; there are no steps until both classes have rows. The weights are
    the average of the iterates, the t-th with weight t. Time per row is O(non-zeros).

    Parameters
    ----------
    strength : float >= 0
    rate : float > 0
        Step t is ``rate / sqrt(t)`` divided by the mean squared norm of the rows so far.
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
    >>> UniExp(passes=20).fit(X, [0, 0, 1, 1]).score(X, [0, 0, 1, 1])
    1.0

    References
    ----------
    Kotlowski, Dembczynski, Huellermeier, Bipartite ranking through minimization of univariate loss,
    2011.
    """

    strength: float = 1e-4
    _: KW_ONLY
    rate: float = 1.0

    def check_params(self) -> None:
        """Raise ``ParameterError`` for invalid parameters."""
        super().check_params()
        check_real("strength", self.strength, low=0.0)
        check_real("rate", self.rate, low=0.0, open_low=True)

    def fresh_state(self, d: int, rng: np.random.Generator) -> State:
        """State before the first row, for d columns."""
        state: State = {"table": np.zeros((d, 2)), "scalars": np.zeros(len(Margin))}
        state["scalars"][Margin.SCALE] = 1.0
        return state

    def _widen(self, state: State, extra: int) -> None:
        pad_columns(state, {"table": (0,)}, extra)

    def _learn(
        self, state: State, rows: CompressedColumns, y: FloatArray, weight: FloatArray
    ) -> None:
        given = float(self.strength), float(self.rate)
        kernels.uni_exp(*rows, y, weight, *given, state["table"], state["scalars"])

    def _weights(self, state: State) -> FloatArray:
        return last_or_average(state, True)
