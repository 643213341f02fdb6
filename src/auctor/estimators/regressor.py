"""Linear regression with any of the regression losses."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from auctor.core.errors import DataError
from auctor.core.types import FloatArray, Target
from auctor.data import wrap
from auctor.data.coerce import LARGEST, NOT_NUMBERS
from auctor.estimators.base import LinearEstimator
from auctor.training.registry import resolve_loss


class LinearRegressor(RegressorMixin, LinearEstimator):  # type: ignore[misc]
    """Linear model ``X w + intercept`` fitted by a chosen loss and penalty.

    Minimises the weighted mean of the loss plus ``strength`` times the penalty.

    Parameters
    ----------
    loss : str or loss object
        "squared", "huber", "absolute", "quantile", "epsilon_insensitive", "poisson" (log link), or
        an object such as ``auctor.losses.Quantile(0.9)``.
    penalty : {"l2", "l1", "elastic_net", "none"} or penalty object
        An object carries its own strength.
    strength : float >= 0
        Multiplier of the penalty.
    l1_ratio : float in [0, 1], optional
        Share of l1 in the elastic net, 0.5 by default.
    solver : str or solver object
        "auto" follows the table in `auctor.solvers.choose`.
    fit_intercept : bool
        The intercept is never penalised.
    tol : float
        Gap to reach, as a fraction of the loss of the best constant prediction.
    max_iter : int
    max_seconds : float, optional
    n_threads : int, optional
    warm_start : bool
        Start from the previous fit.
    random_state : int, optional
        Seeds randomised solvers; None always the same way.
    verbose : int
        1 writes a line per iteration to the error stream.

    Attributes
    ----------
    coef_ : (d,) array
    intercept_ : float
    gap_ : float
        Certified bound on the distance to the optimal objective (see ``solution_.certified``).
    n_iter_ : int
    solution_ : Solution

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(6.0).reshape(-1, 1)
    >>> LinearRegressor("absolute", penalty="none").fit(X, 2 * X.ravel() + 1).coef_.round(3)
    array([2.])
    """

    def __init__(
        self,
        loss: Any = "squared",
        *,
        penalty: Any = "l2",
        strength: float = 1e-4,
        l1_ratio: float | None = None,
        solver: Any = "auto",
        fit_intercept: bool = True,
        tol: float = 1e-4,
        max_iter: int = 1000,
        max_seconds: float | None = None,
        n_threads: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.strength = strength
        self.l1_ratio = l1_ratio
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.n_threads = n_threads
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X, numbers y and optional row weights."""
        self._check_params()
        loss = resolve_loss(self._who, self.loss)
        matrix = self._read(X, reset=True)
        n = matrix.shape[0]
        numbers = self._read_numbers(y, n)
        weight = self._read_weight(sample_weight, n)
        data = wrap(matrix, Target(numbers, weight), n_threads=self.n_threads)
        start = self._start(getattr(self, "solution_", None), loss)
        self.solution_ = self._solve(data, loss, start)
        self.coef_ = self.solution_.coef
        self.intercept_ = self.solution_.intercept
        self.gap_ = self.solution_.gap
        self.n_iter_ = self.solution_.n_iter
        self._warn([self.solution_])
        return self

    def predict(self, X: Any) -> FloatArray:
        """Predicted target, through the inverse link of the loss."""
        matrix = self._read(X, reset=False)
        scores = self._linear(matrix, self.coef_[None, :], np.array([self.intercept_]))
        return resolve_loss(self._who, self.loss).response(scores.ravel())

    def _read_numbers(self, y: Any, n: int) -> FloatArray:
        """Finite targets whose squares do not overflow."""
        target = self._read_target(y, n)
        try:
            if target.dtype.kind in NOT_NUMBERS:
                raise TypeError
            numbers = np.ascontiguousarray(target, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(
                self._who,
                needs="numeric targets",
                got=target.dtype,
                todo="Use MetricClassifier for labels.",
            ) from error
        largest = float(np.abs(numbers).max())
        if not largest <= LARGEST:
            raise DataError(
                self._who,
                needs=f"finite targets below {LARGEST:g} in size",
                got=f"{largest:g}",
                todo="Drop or rescale them.",
            )
        return numbers
