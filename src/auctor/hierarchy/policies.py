"""Which solver trains a node: policies are functions of its rows, columns and depth.

``solver="auto"`` asks the decision table of `auctor.solvers` at every node, which knows the loss,
the penalty and the size of the node's own problem: that is the measured rule (hierarchy.md). The
rules below are the published ones, for problems with an l1 penalty.
"""

from __future__ import annotations

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
