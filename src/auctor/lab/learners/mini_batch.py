"""MBA: moments of random pairs, then a convex problem that needs no step size."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from auctor.core.checks import check_int, check_real
from auctor.core.linalg import spd_solve
from auctor.core.types import CompressedColumns, FloatArray
from auctor.kernels.descent.coordinate import descend_matrix
from auctor.kernels.runtime.parallel import quiet_blas
from auctor.lab.kernels.reservoir import draw_pairs, draw_rounds
from auctor.streaming.estimators.online import OnlineClassifier, State, pad_columns
from auctor.streaming.state import all_between, require_that

#: Axes of the arrays of the state that have one entry per column.
AXES = {"contrast": (0,), "squares": (0, 1), "kept": (2,)}
#: Arrays of the state in the order of the kernel's arguments.
NAMES = ("kept", "kept_weight", "seen", "mass", "contrast", "squares", "random")
#: Sweeps of coordinate descent, at most.
MOST_SWEEPS = 10_000
#: Violation at which coordinate descent stops, as a share of the largest gradient at zero.
VIOLATION_SHARE = 1e-10


@dataclass(eq=False, repr=False)
class MiniBatchAuc(OnlineClassifier):
    """Minimise the pairwise square loss of randomly drawn pairs, with ridge and lasso penalties.

    The objective is ``mean over drawn pairs of (1 - w.(x+ - x-))^2 + strength/2 |w|^2 + l1 |w|_1``.
    Every row is compared with ``pairs`` rows of the other class, drawn from a uniform sample (a
    reservoir) of its rows so far; or, with ``rounds``, pairs are drawn from all rows. Of the pairs
    only the mean and the second moment of the differences are stored. Weights are solved for on
    demand, by a factorisation or, with ``l1``, by coordinate descent. The threshold of `predict` is
    the midpoint between the mean scores of the sampled rows of each class.

    Time per row is O(pairs d^2), memory O(d^2 + buffer d). `StreamingAUC` needs no random pairs.

    Parameters
    ----------
    strength, l1 : float >= 0
    pairs : int
        Pairs drawn for each row, or in each round.
    rounds : int, optional
        Rounds of each call of `fit` or `partial_fit`: pairs of its rows are drawn uniformly, with
        replacement, in proportion to the weights of the rows, as published.
    buffer : int
        Rows kept of each class.
    passes : int
        Number of passes of `fit` over all rows.
    grow : bool
        Whether columns may be added later.
    missing : "raise" or "skip"
        Whether rows with NaN or infinity raise an error or are left out.
    random_state : int, optional
        Seed of the draws.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
    >>> MiniBatchAuc().fit(X, [0, 0, 1, 1]).score(X, [0, 0, 1, 1])
    1.0

    References
    ----------
    Gultekin, Saha, Ratnaparkhi, Paisley, MBA: mini-batch AUC optimization, 2020.
    """

    strength: float = 1e-4
    _: KW_ONLY
    l1: float = 0.0
    pairs: int = 4
    rounds: int | None = None
    buffer: int = 200

    def check_params(self) -> None:
        """Raise ``ParameterError`` for invalid parameters."""
        super().check_params()
        check_real("strength", self.strength, low=0.0)
        check_real("l1", self.l1, low=0.0)
        check_int("pairs", self.pairs, low=1)
        check_int("buffer", self.buffer, low=1)
        if self.rounds is not None:
            check_int("rounds", self.rounds, low=1)

    def fresh_state(self, d: int, rng: np.random.Generator) -> State:
        """State before the first row, for d columns."""
        return {
            "kept": np.zeros((2, self.buffer, d)),
            "kept_weight": np.zeros((2, self.buffer)),
            "seen": np.zeros(2, dtype=np.int64),
            "mass": np.zeros(1),
            "contrast": np.zeros(d),
            "squares": np.zeros((d, d)),
            "random": rng.integers(1, 2**63, size=1, dtype=np.uint64),
        }

    def state_numbers(self, d: int) -> int:
        """Approximate number of floats in a state of d columns."""
        return d * d + 2 * self.buffer * d

    def check_state(self, state: State, d: int) -> None:
        """Raise ``ValueError`` if arrays from a file are no valid state."""
        require_that(all_between(state["kept_weight"], 0, np.inf), "weights of at least zero")

    def _widen(self, state: State, extra: int) -> None:
        pad_columns(state, AXES, extra)

    def _learn(
        self, state: State, rows: CompressedColumns, y: FloatArray, weight: FloatArray
    ) -> None:
        arrays = [state[name] for name in NAMES]
        if self.rounds is None:
            draw_pairs(*rows, y, weight, self.pairs, *arrays)
            return
        up, down = (np.flatnonzero((side * y > 0.0) & (weight > 0.0)) for side in (1.0, -1.0))
        if min(up.size, down.size):
            sums = np.cumsum(weight[up]), np.cumsum(weight[down])
            draw_rounds(*rows, up, down, *sums, self.pairs, self.rounds, *arrays)

    def _weights(self, state: State) -> FloatArray:
        mass = float(state["mass"][0])
        d = state["contrast"].size
        if mass == 0.0:
            return np.zeros(d)
        contrast = state["contrast"] / mass
        # Half the objective: w'(M + ridge) w / 2 - contrast.w + l1/2 |w|_1, M the second moment, of
        # which the kernel fills the upper triangle.
        matrix = (np.triu(state["squares"]) + np.triu(state["squares"], 1).T) / mass
        ridge = 0.5 * self.strength
        if self.l1 == 0.0:
            matrix[np.diag_indices_from(matrix)] += ridge
            with quiet_blas():
                return spd_solve(matrix)(contrast)
        w, change = np.zeros(d), np.empty(d)
        l1, l2, bound = np.full(d, 0.5 * self.l1), np.full(d, ridge), np.full(d, np.inf)
        tol = VIOLATION_SHARE * float(np.abs(contrast).max())
        descend_matrix(matrix, -contrast, w, l1, l2, -bound, bound, change, MOST_SWEEPS, tol)
        return change

    def _threshold(self, state: State) -> float:
        w = self._weights(state)
        means = []
        for rows, weight in zip(state["kept"], state["kept_weight"], strict=True):
            total = float(weight.sum())
            means.append(float(weight @ rows @ w) / total if total > 0.0 else 0.0)
        return 0.5 * (means[0] + means[1])
