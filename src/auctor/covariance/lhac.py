"""LHAC on the upper triangle of a precision matrix."""

from __future__ import annotations

from dataclasses import dataclass

from auctor.solvers import Lhac


@dataclass(frozen=True)
class LhacMatrix(Lhac):
    """Proximal quasi-Newton for the graphical lasso: `Lhac` on the upper triangle.

    It needs one Cholesky factor per trial and one inverse per step, and models the log-determinant
    by pairs of earlier steps and gradient changes, so that a coordinate step costs O(memory)
    instead of O(p). It starts at the best diagonal matrix, as zero is not positive definite. A
    trial that is not positive definite has an infinite value, which shortens the step. It stores
    ``3 memory`` matrices, more than `NewtonCd`, which is faster on most problems.

    Parameters
    ----------
    memory, rho, active_set, inner, inner_rate, order, theta_shrink, prox, growth
        As for `Lhac`.
    scaling : float in [0, 1]
        The model starts from the second derivatives at the best diagonal matrix, raised to this
        power: 0 is the identity.

    References
    ----------
    Scheinberg, Tang, Practical inexact proximal quasi-Newton method with global complexity
    analysis, 2016; Tang, Big data optimization in machine learning, Lehigh 2016, chapter 5.
    """

    scaling: float = 1.0
