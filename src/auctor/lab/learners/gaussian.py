"""The largest AUC of Gaussian classes, from running moments."""

from __future__ import annotations

from dataclasses import dataclass

from auctor.core.checks import check_real
from auctor.core.types import FloatArray
from auctor.streaming.estimators.online import State
from auctor.streaming.moments import MomentClassifier, RunningMoments, ridge_solution


@dataclass(eq=False, repr=False)
class OnlineGaussianAuc(MomentClassifier):
    """Maximise the AUC of Gaussian classes with the means and covariances of the rows so far.

    With class means m and covariances S that AUC is ``Phi(w.(m+ - m-) / sqrt(w'(S+ + S-)w))``. For
    ``strength`` 0 it is largest at ``w = (S+ + S- + strength I)^-1 (m+ - m-)``. Weights are solved
    for on demand and cached until more rows are learned. The threshold of `predict` is the midpoint
    between the mean scores of the classes.

    Memory is O(d^2) for any number of rows. Time per row is O(d^2), or O(non-zeros^2) for sparse
    rows.

    Parameters
    ----------
    strength : float >= 0
        Ridge added to the covariances, as `L2` with the loss `GaussianAuc`.
    passes : int
        Number of passes of `fit` over all rows; more than one has no effect here.
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
    >>> OnlineGaussianAuc().fit(X, [0, 0, 1, 1]).score(X, [0, 0, 1, 1])
    1.0

    References
    ----------
    Ghanbari, Optimization Algorithms for Machine Learning Problems, 2019, Algorithm 11, with
    Welford's recursion for the covariances.
    """

    strength: float = 1e-4

    def check_params(self) -> None:
        """Raise ``ParameterError`` for invalid parameters."""
        super().check_params()
        check_real("strength", self.strength, low=0.0)

    def _solve(self, state: State, found: RunningMoments) -> FloatArray:
        return ridge_solution(found, self.strength, between=False)
