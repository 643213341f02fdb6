"""Precision matrices for a list of strengths, each started from the one before."""

from __future__ import annotations

from typing import Any

import numpy as np

from auctor.core.checks import check_real
from auctor.core.errors import ParameterError
from auctor.core.types import FloatArray
from auctor.covariance.inputs import check_covariance, penalties
from auctor.covariance.solve import Budget, GraphSolution, solve_graph

#: Strengths of a path, when only their number is not said.
N_STRENGTHS = 20
#: The smallest strength of a path, as a share of the one that leaves the graph empty.
SMALLEST_SHARE = 0.1


def strength_of_empty_graph(S: FloatArray, weights: FloatArray | None = None) -> float:
    """The smallest strength at which no pair of variables is connected.

    Examples
    --------
    >>> import numpy as np
    >>> strength_of_empty_graph(np.array([[1.0, 0.3], [0.3, 1.0]]))
    0.3
    """
    size = np.abs(S - np.diag(S.diagonal()))
    if weights is not None:
        penalised = (weights > 0.0) & np.isfinite(weights)
        size = np.divide(size, weights, out=np.zeros_like(size), where=penalised)
    return float(size.max())


def path_strengths(S: FloatArray, weights: FloatArray | None, count: int) -> FloatArray:
    """Strengths from that of the empty graph downwards, evenly spaced on a log scale."""
    top = strength_of_empty_graph(S, weights)
    if top == 0.0:
        return np.zeros(1)
    spaced: FloatArray = top * np.geomspace(1.0, SMALLEST_SHARE, count)
    return spaced


def covariance_path(
    S: Any,
    strengths: Any = None,
    *,
    weights: Any = None,
    penalise_diagonal: bool = False,
    solver: Any = "auto",
    tol: float = 1e-4,
    max_iter: int = 200,
    max_seconds: float | None = None,
    n_threads: int | None = None,
) -> list[GraphSolution]:
    """Solve the graphical lasso for decreasing strengths, each from the solution before.

    Parameters
    ----------
    S : (p, p) array
        Empirical covariance.
    strengths : array, optional
        Decreasing strengths; by default 20 from that of the empty graph down to a tenth of it.
    weights : (p, p) array, optional
        Factors of the strength: 0 leaves an entry free, infinity forbids it.
    penalise_diagonal : bool
    solver, tol, max_iter, max_seconds, n_threads
        As for `SparseInverseCovariance`.

    Examples
    --------
    >>> import numpy as np
    >>> S = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 1.0]])
    >>> [solution.n_edges for solution in covariance_path(S, [0.5, 0.3, 0.1])]
    [0, 2, 2]
    """
    who = "covariance_path"
    S = check_covariance(who, S)
    given = penalties(who, weights, S.shape[0], penalise_diagonal)
    if strengths is None:
        strengths = path_strengths(S, given, N_STRENGTHS)
    grid = np.atleast_1d(np.asarray(strengths, dtype=np.float64))
    for strength in grid:
        check_real(who, "strengths", float(strength), low=0.0)
    if grid.size == 0 or (np.diff(grid) > 0.0).any():
        raise ParameterError(
            who,
            needs="strengths in decreasing order, at least one",
            got=f"{grid.tolist()[:4]}",
            todo="Sort them: each solve starts from the one before.",
        )
    budget = Budget(tol, max_iter, max_seconds, n_threads)
    found: list[GraphSolution] = []
    start: FloatArray | None = None
    for strength in grid:
        solution = solve_graph(
            S, scaled(given, float(strength)), solver=solver, start=start, budget=budget, who=who
        )
        start = solution.precision
        found.append(solution)
    return found


def scaled(weights: FloatArray, strength: float) -> FloatArray:
    """Penalties of all entries; a forbidden pair stays forbidden at any strength."""
    return np.where(np.isinf(weights), np.inf, np.where(np.isinf(weights), 0.0, weights) * strength)
