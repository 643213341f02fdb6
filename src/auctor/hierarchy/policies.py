"""Rules that choose the solver of a node.

`measured_rule` is the rule of ``solver="auto"``. The other rules are published ones, for problems
with an l1 penalty. Like any function that a user passes, they take the number of rows, the number
of columns and the depth of a node.
"""

from __future__ import annotations

from auctor.problem import Problem
from auctor.problem.needs import Need

#: Rows per column up to which dual coordinate ascent trains a node with an l2 penalty.
DUAL_ROWS = 1.0
#: Mean squared norm of a row over the strength from which dual coordinate ascent is used.
DUAL_CONDITION = 300.0
#: Properties of a problem that `measured_rule` applies to.
RULE_NEEDS = (
    Need.POINTWISE_LOSS
    | Need.SMOOTH_LOSS
    | Need.CURVATURE
    | Need.SMOOTH_PENALTY
    | Need.STRONG_PENALTY
    | Need.ROWS
)
#: Rows up to which `size_rule` uses the interior-point method.
INTERIOR_ROWS = 300


def depth_rule(n_rows: int, n_columns: int, depth: int) -> str:
    """Proximal Newton (GLMNET) at the top level, the interior-point method below (Tang 2016).

    Examples
    --------
    >>> depth_rule(2000, 47_000, 0), depth_rule(2000, 47_000, 1)
    ('proximal_newton', 'interior_point')
    """
    return "proximal_newton" if depth == 0 else "interior_point"


def size_rule(n_rows: int, n_columns: int, depth: int) -> str:
    """Interior-point method for nodes with few rows, proximal Newton (GLMNET) for the others.

    Examples
    --------
    >>> size_rule(200, 47_000, 1), size_rule(2000, 47_000, 1)
    ('interior_point', 'proximal_newton')
    """
    return "interior_point" if n_rows <= INTERIOR_ROWS else "proximal_newton"


def measured_rule(problem: Problem, squared_length: float) -> str:
    """Dual coordinate ascent or Newton's method, by the shape of a node's problem.

    Dual coordinate ascent is used for nodes with at most as many rows as columns, Newton's method
    for nodes with more rows and for well conditioned problems. The rule applies to smooth losses
    that are sums over rows, with an l2 penalty, at the loose tolerances of nodes. All other
    problems are left to the decision table of `auctor.solvers`, which is meant for tight
    tolerances; for l1 it chooses proximal Newton.

    Parameters
    ----------
    squared_length : float
        Mean squared norm of the rows of all nodes.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.data import as_data
    >>> from auctor.losses import Logistic
    >>> from auctor.penalties import L2
    >>> y = np.tile([1.0, -1.0], 50)
    >>> wide, tall = (as_data(np.ones((100, d)), y) for d in (200, 2))
    >>> [measured_rule(Problem(Logistic(), L2(1e-3), data), 1.0) for data in (wide, tall)]
    ['dual', 'newton']
    >>> measured_rule(Problem(Logistic(), L2(0.1), wide), 1.0)
    'newton'
    """
    if RULE_NEEDS & ~problem.provides:
        return "auto"
    spec = problem.penalty.separable(problem.n_columns)
    if problem.data.n_rows > DUAL_ROWS * problem.n_columns or spec is None:
        return "newton"
    return "dual" if squared_length >= DUAL_CONDITION * float(spec.l2.mean()) else "newton"
