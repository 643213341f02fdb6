"""Problems that replace a given one: on other data, or on some of its columns."""

from __future__ import annotations

from auctor.core.data_capabilities import SUBSETS
from auctor.core.protocols import Data, Loss, Penalty
from auctor.core.result import Counts
from auctor.core.types import FloatArray, IntArray, TreeSpec
from auctor.penalties import Separable
from auctor.penalties.tree import TreeNorm
from auctor.problem.problem import Problem


def ridge_problem(
    problem: Problem, loss: Loss, l2: FloatArray, data: Data, *, fit_intercept: bool
) -> Problem:
    """A problem with another loss, other data and l2 strengths per column.

    Parameters
    ----------
    problem : Problem
        The problem that it replaces; both share one counter of passes and evaluations.
    l2 : (n_columns,) array > 0

    Returns
    -------
    Problem
    """
    return Problem(loss, Separable(l2=l2), data, fit_intercept=fit_intercept, counts=problem.counts)


def column_problem(problem: Problem, columns: IntArray, tree: TreeSpec) -> Problem:
    """The problem on some columns, with the others at zero, and with its own counter of passes.

    Parameters
    ----------
    problem : Problem
        Its penalty is one of nested groups, or a sum over columns.
    tree : TreeSpec
        The nested groups of these columns.

    Returns
    -------
    Problem
    """
    spec = problem.penalty.separable(problem.n_columns)
    penalty: Penalty = TreeNorm(tree, columns.size)
    if spec is not None:
        penalty = Separable(spec.l1[columns], spec.l2[columns])
    data = SUBSETS.of(problem.data).only(columns)
    return Problem(
        problem.loss, penalty, data, fit_intercept=problem.fit_intercept, counts=Counts()
    )
