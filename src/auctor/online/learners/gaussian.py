"""The best AUC of Gaussian classes, from running moments."""

from __future__ import annotations

from dataclasses import dataclass

from auctor.core.checks import check_real
from auctor.core.types import FloatArray
from auctor.online.base import State
from auctor.online.streaming.moments import MomentClassifier, Moments, ridge_solution


@dataclass(eq=False, repr=False)
class OnlineGaussianAuc(MomentClassifier):
    """Maximise the AUC that Gaussian classes with the moments seen so far would have.

    With class means m and covariances S it is ``Phi(w.(m+ - m-) / sqrt(w'(S+ + S-)w))``, and
    ``w = (S+ + S- + strength I)^-1 (m+ - m-)`` has the largest (for ``strength`` 0). The moments
    equal those of all rows at once; weights are solved for when asked, and kept until more rows
    come. `predict` cuts in the middle between the mean scores of the classes.

    Memory is O(d^2) whatever the number of rows; a row costs O(d^2), or O(entries^2) if it has few.

    Parameters
    ----------
    strength : float >= 0
        Ridge added to the covariances, as `L2` with the loss `GaussianAuc`.
    passes : int
        How often `fit` reads all rows; more than one changes nothing here.
    grow : bool
        Whether columns may be added later.
    missing : "raise" or "skip"
        What to do with rows that have NaN or infinity.
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
        """Refuse parameters that make no sense."""
        super().check_params()
        check_real(self._who, "strength", self.strength, low=0.0)

    def _solve(self, state: State, found: Moments) -> FloatArray:
        return ridge_solution(found, self.strength, between=False)
