"""Precision matrices for decreasing strengths, each started from the last one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from auctor.core.checks import check_real
from auctor.core.errors import ParameterError, speaks_as
from auctor.core.types import FloatArray
from auctor.covariance.inputs import Penalties, check_covariance, penalty_factors
from auctor.covariance.solve import GraphSolution, Limits, solve_graph

#: Number of strengths of a path by default.
N_STRENGTHS = 20
#: Smallest strength of a path by default, as a share of the one that leaves the graph empty.
SMALLEST_SHARE = 0.1


@speaks_as("strength_of_empty_graph")
def strength_of_empty_graph(S: Any, weights: Any = None) -> float:
    """The smallest strength at which no pair of variables is connected.

    Parameters
    ----------
    S : (p, p) array
        Empirical covariance.
    weights : (p, p) array, optional
        Factors of the strength. Pairs with 0 or infinity do not depend on it and are ignored.

    Examples
    --------
    >>> import numpy as np
    >>> strength_of_empty_graph(np.array([[1.0, 0.3], [0.3, 1.0]]))
    0.3
    """
    matrix = check_covariance(S)
    return empty_strength(matrix, penalty_factors(weights, matrix.shape[0], False))


def empty_strength(S: FloatArray, factors: Penalties) -> float:
    """`strength_of_empty_graph` for a checked covariance and penalty factors."""
    size = np.abs(S)
    np.fill_diagonal(size, 0.0)
    # Pair (i, j) is connected exactly if |S_ij| > strength * factor_ij.
    penalised = (factors.full > 0.0) & np.isfinite(factors.full)
    return float(np.max(size[penalised] / factors.full[penalised], initial=0.0))


def path_strengths(S: FloatArray, factors: Penalties, count: int) -> FloatArray:
    """Decreasing strengths from that of the empty graph, evenly spaced on a log scale."""
    largest = empty_strength(S, factors)
    if largest == 0.0:
        return np.zeros(1)
    spaced: FloatArray = largest * np.geomspace(1.0, SMALLEST_SHARE, count)
    return spaced


@speaks_as("covariance_path")
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
    """Solve the graphical lasso for decreasing strengths, each started from the last solution.

    All screening is safe: connected components are exact, and `NewtonCd` works on the entries that
    are nonzero or violate optimality, found anew in every step at a cost of O(p^2). A sequential
    strong rule would not help: it keeps every entry whose gradient at the last solution is at least
    ``2 * (new strength) - (old strength)`` in size, and these include the entries of `NewtonCd`.

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
    S = check_covariance(S)
    factors = penalty_factors(weights, S.shape[0], penalise_diagonal)
    if strengths is None:
        strengths = path_strengths(S, factors, N_STRENGTHS)
    grid = np.atleast_1d(np.asarray(strengths, dtype=np.float64))
    for strength in grid:
        check_real("strengths", float(strength), low=0.0)
    if grid.size == 0 or (np.diff(grid) > 0.0).any():
        raise ParameterError(
            f"`strengths` in decreasing order, at least one; got {grid.tolist()[:4]}. Sort them: "
            "each solve starts from the last solution."
        )
    budget = Limits(tol, max_iter, max_seconds, n_threads)
    return list(along_path(S, factors, grid, solver=solver, budget=budget))


def along_path(
    S: FloatArray, factors: Penalties, strengths: FloatArray, *, solver: Any, budget: Limits
) -> Iterator[GraphSolution]:
    """Solutions for decreasing strengths one by one, each started from the last one."""
    start: FloatArray | None = None
    for strength in strengths:
        solution = solve_graph(
            S, factors.times(float(strength)), solver=solver, start=start, budget=budget
        )
        start = solution.precision
        yield solution
