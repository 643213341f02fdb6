"""Which solver trains a node.

`measured_rule` is what ``solver="auto"`` means for nodes. The other rules are published ones, for
problems with an l1 penalty; like any function that a user passes, they see the rows, the columns
and the depth of a node.
"""

from __future__ import annotations

from auctor.core.needs import Need
from auctor.problem import Problem

#: Rows for every column up to which dual coordinate ascent trains a node with an l2 penalty: the
#: usual advice is the dual problem where columns outnumber rows. With more rows, their steps undo
#: each other. Source: the guides of LIBLINEAR and scikit-learn; totals in hierarchy.md.
DUAL_ROWS = 1.0
#: Mean squared length of a row over the strength from which dual coordinate ascent pays: below, the
#: problem is round, and Newton's method ends in a few passes. Source: 20 newsgroups and the topics
#: of RCV1 at strengths of 1e-4 and 1e-2.
DUAL_REACH = 300.0
#: What a problem must provide for `measured_rule` to decide.
RULED = (
    Need.POINTWISE_LOSS
    | Need.SMOOTH_LOSS
    | Need.CURVATURE
    | Need.SMOOTH_PENALTY
    | Need.STRONG_PENALTY
    | Need.ROWS
)
#: Rows up to which the interior-point method is used by `size_rule`: its matrix has the side of the
#: rows. Source: Tang 2016, section 2.3: 300 rows are comfortable, 2,000 are not.
INTERIOR_ROWS = 300


def depth_rule(n_rows: int, n_columns: int, depth: int) -> str:
    """Proximal Newton (GLMNET) at the top level, interior points below (Tang 2016).

    Examples
    --------
    >>> depth_rule(2000, 47_000, 0), depth_rule(2000, 47_000, 1)
    ('proximal_newton', 'interior_point')
    """
    return "proximal_newton" if depth == 0 else "interior_point"


def size_rule(n_rows: int, n_columns: int, depth: int) -> str:
    """Interior points for nodes with few rows, proximal Newton (GLMNET) for the others.

    Examples
    --------
    >>> size_rule(200, 47_000, 1), size_rule(2000, 47_000, 1)
    ('interior_point', 'proximal_newton')
    """
    return "interior_point" if n_rows <= INTERIOR_ROWS else "proximal_newton"


def measured_rule(problem: Problem, squared_length: float) -> str:
    """Dual coordinate ascent or Newton's method, by the shape of a node's problem.

    Dual coordinate ascent trains nodes with few rows for their columns; Newton's method trains
    nodes with many rows, and round problems. This holds for smooth losses that are sums over rows,
    with an l2 penalty, at the loose tolerances that nodes are trained to. All other problems are
    left to the decision table of `auctor.solvers`, which is meant for tight tolerances; for l1 it
    takes proximal Newton at every node.

    Parameters
    ----------
    problem : Problem
    squared_length : float
        Mean squared length of the rows of all nodes.

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
    if RULED & ~problem.provides:
        return "auto"
    spec = problem.penalty.separable(problem.n_columns)
    if problem.data.n_rows > DUAL_ROWS * problem.n_columns or spec is None:
        return "newton"
    return "dual" if squared_length >= DUAL_REACH * float(spec.l2.mean()) else "newton"
