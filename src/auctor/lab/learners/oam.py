"""OAM: each row is compared with a sample of the earlier rows of the other class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.types import CompressedColumns, FloatArray
from auctor.lab.kernels import aggressive as kernels
from auctor.lab.kernels.aggressive import Margin
from auctor.streaming.estimators.online import OnlineClassifier, State, pad_columns
from auctor.streaming.state import MOST_ROWS, all_between, require_that


@dataclass(eq=False, repr=False)
class Oam(OnlineClassifier):
    """Linear AUC learner by the pairwise hinge loss, with a buffer of rows per class.

    Every row is compared with the buffered rows of the other class, a uniform sample of its rows so
    far (reservoir sampling). Their cost is multiplied by the number of rows that each represents.
    The threshold of `predict` is the midpoint between the mean scores of the buffers.

    Time per row is O(non-zeros of the other buffer), memory O(d + non-zeros of the buffers).

    Parameters
    ----------
    C : float > 0
        Cost of a pair: one step on it moves w by at most ``C/2 |x+ - x-|``.
    method : "sequential" or "gradient"
        Exact steps on one pair after the other, or one subgradient step on all of them.
    buffer : int >= 1
        Rows kept of each class.
    average : bool
        Whether to return the average of all iterates, or the last one.
    passes : int
        Number of passes of `fit` over all rows.
    grow : bool
        Whether columns may be added later.
    missing : "raise" or "skip"
        Whether rows with NaN or infinity raise an error or are left out.
    random_state : int, optional
        Seed of the buffers.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
    >>> Oam(passes=20).fit(X, [0, 0, 1, 1]).score(X, [0, 0, 1, 1])
    1.0

    References
    ----------
    Zhao, Hoi, Jin, Yang, Online AUC maximization, 2011.
    """

    C: float = 1e-3
    _: KW_ONLY
    method: str = "sequential"
    buffer: int = 100
    average: bool = True

    free_axes: ClassVar[Mapping[str, int]] = {"kept": 2, "kept_values": 2}

    def check_params(self) -> None:
        """Raise ``ParameterError`` for invalid parameters."""
        super().check_params()
        check_real("C", self.C, low=0.0, open_low=True)
        check_choice("method", self.method, ("sequential", "gradient"))
        check_int("buffer", self.buffer, low=1)

    def fresh_state(self, d: int, rng: np.random.Generator) -> State:
        """State before the first row, for d columns."""
        return {
            "table": np.zeros((d, 2)),
            "scratch": np.zeros(d),
            "scalars": np.zeros(len(Margin)),
            "kept": np.zeros((2, self.buffer, 0), np.uint32),
            "kept_values": np.zeros((2, self.buffer, 0)),
            "length": np.zeros((2, self.buffer), np.int64),
            "seen": np.zeros(2),
            "random": rng.integers(1, 2**63, size=1).astype(np.uint64),
        }

    def check_state(self, state: State, d: int) -> None:
        """Raise ``ValueError`` if arrays from a file are no valid state."""
        kept, length = state["kept"], state["length"]
        require_that(
            kept.shape == state["kept_values"].shape, "as many values as columns of kept rows"
        )
        require_that(all_between(kept, 0, d), "kept rows with columns of the data")
        require_that(
            all_between(length, 0, kept.shape[2] + 1), "kept rows no longer than their room"
        )
        require_that(all_between(state["seen"], 0, MOST_ROWS), "a number of rows")
        require_that(not state["scratch"].any(), "a scratch of zeros")

    def _widen(self, state: State, extra: int) -> None:
        pad_columns(state, {"table": (0,), "scratch": (0,)}, extra)

    def _learn(
        self, state: State, rows: CompressedColumns, y: FloatArray, weight: FloatArray
    ) -> None:
        # The buffers are as wide as the longest row so far.
        longest = int(np.diff(rows.indptr.astype(np.int64)).max(initial=0))
        missing = longest - state["kept"].shape[2]
        if missing > 0:
            pad_columns(state, {"kept": (2,), "kept_values": (2,)}, missing)
        names = ("kept", "kept_values", "length", "seen", "random", "scratch", "table", "scalars")
        given = (float(self.C), self.method == "sequential")
        kernels.oam(*rows, y, weight, *given, *(state[name] for name in names))

    def _weights(self, state: State) -> FloatArray:
        return last_or_average(state, self.average)

    def _threshold(self, state: State) -> float:
        if not min(state["seen"]) > 0.0:
            return 0.0
        w, middle = self._weights(state), 0.0
        # Mean score of the rows in each buffer; entries beyond the length of a row are unused.
        for side in range(2):
            count = min(int(state["seen"][side]), state["kept"].shape[1])
            used = np.arange(state["kept"].shape[2]) < state["length"][side, :count, None]
            scores = w[state["kept"][side, :count]] * state["kept_values"][side, :count] * used
            middle += 0.5 * float(scores.sum()) / count
        return middle


def last_or_average(state: State, average: bool) -> FloatArray:
    """The last iterate, or the average of all iterates."""
    table, s = state["table"], state["scalars"]
    if not average or s[Margin.MASS] == 0.0:
        return table[:, 0].copy()
    return np.asarray((s[Margin.SUM_SCALE] * table[:, 0] - table[:, 1]) / s[Margin.MASS])
