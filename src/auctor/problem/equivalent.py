"""Problems that take the place of a given one with an l2 penalty."""

from __future__ import annotations

from auctor.core.protocols import Data, Loss
from auctor.core.types import FloatArray
from auctor.penalties import Separable
from auctor.problem.problem import Problem


def ridge_problem(
    problem: Problem, loss: Loss, l2: FloatArray, data: Data, *, fit_intercept: bool
) -> Problem:
    """Another loss and other data with l2 strengths per column; work is counted together.

    Parameters
    ----------
    problem : Problem
        Whose place it takes, and with whose work its own is counted.
    loss : Loss
    l2 : (n_columns,) array > 0
    data : Data
    fit_intercept : bool

    Returns
    -------
    Problem
    """
    return Problem(loss, Separable(l2=l2), data, fit_intercept=fit_intercept, counts=problem.counts)
