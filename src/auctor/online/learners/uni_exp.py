"""Exponential loss of single rows, each class counting one half."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from auctor.core.checks import check_real
from auctor.core.types import Columns, FloatArray
from auctor.kernels.online import aggressive as kernels
from auctor.online.base import OnlineClassifier, State, pad_columns
from auctor.online.learners.oam import last_or_average


@dataclass(eq=False, repr=False)
class UniExp(OnlineClassifier):
    """Linear scorer by the exponential loss of rows, weighted so that classes count alike.

    Stochastic steps on ``(mean_pos exp(-w.x) + mean_neg exp(w.x)) / 2 + strength/2 |w|^2``, whose
    square is a bound of the pairwise exponential loss: a loss for AUC without pairs. The shares of
    the classes are those of the rows so far; before both were seen there is no step. Returns the
    average of the iterates, the t-th counted t times. A row costs O(its entries).

    Parameters
    ----------
    strength : float >= 0
    rate : float > 0
        Step t is ``rate / sqrt(t)`` over the mean squared length of the rows so far.
    passes : int
        How often `fit` reads all rows.
    grow : bool
        Whether columns may be added later.
    missing : "raise" or "skip"
        What to do with rows that have NaN or infinity.
    random_state : None
        Nothing is random.

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
        """Refuse parameters that make no sense."""
        super().check_params()
        check_real(self._who, "strength", self.strength, low=0.0)
        check_real(self._who, "rate", self.rate, low=0.0, open_low=True)

    def fresh_state(self, d: int, rng: np.random.Generator) -> State:
        """State before the first row, for d columns."""
        state: State = {"table": np.zeros((d, 2)), "scalars": np.zeros(kernels.SCALARS)}
        state["scalars"][kernels.SCALE] = 1.0
        return state

    def _widen(self, state: State, extra: int) -> None:
        pad_columns(state, {"table": (0,)}, extra)

    def _learn(self, state: State, rows: Columns, y: FloatArray, weight: FloatArray) -> None:
        given = float(self.strength), float(self.rate)
        kernels.uni_exp(*rows, y, weight, *given, state["table"], state["scalars"])

    def _weights(self, state: State) -> FloatArray:
        return last_or_average(state, True)
