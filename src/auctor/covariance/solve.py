"""Solve a graphical lasso: find its connected components, solve each, combine the solutions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from auctor.core.checks import check_int, check_real
from auctor.core.errors import ConvergenceWarning, DataError, speaks_as, warn
from auctor.core.result import Status
from auctor.core.types import FloatArray, IntArray
from auctor.covariance.inputs import Penalties
from auctor.covariance.lhac import LhacMatrix
from auctor.covariance.newton_cd import NewtonCd
from auctor.covariance.problem import GraphProblem, factorise, pack, unpack
from auctor.covariance.screening import components, tree_solution
from auctor.kernels.runtime.parallel import available_threads, quiet_blas, run_tasks
from auctor.minimise import Solver, check_solver, minimise

#: Solvers by the name a user types; "auto" is the first.
SOLVERS: dict[str, type[Any]] = {"newton_cd": NewtonCd, "lhac": LhacMatrix}
#: Negative eigenvalue of a correlation matrix, in absolute value, up to which it counts as zero.
SINGULAR = 1e-10
#: Correlation of two columns from which a warning about convergence names them.
NEARLY_EQUAL = 0.99
#: Variances above this, or below its inverse, are scaled to about one.
FAR = 1e12
#: An error for an indefinite covariance proposes this many times the smallest safe strength.
ABOVE_LEAST = 1.5
#: Strength that an error proposes for a singular covariance, as a share of the largest covariance.
FIRST_TRY = 0.1


@dataclass(frozen=True)
class GraphSolution:
    """The solution of a graphical lasso.

    Attributes
    ----------
    precision : (p, p) array
        The estimated inverse covariance.
    covariance : (p, p) array
        Its inverse.
    value : float
        Objective at the precision, with the penalty.
    gap : float
        Certified upper bound of ``value`` minus the smallest objective, recomputed at the end.
    tol : float
        The requested gap.
    status : Status
        Why the solve stopped.
    n_iter : int
        Largest number of iterations of any component.
    component_sizes : tuple of int
        Number of variables of every connected component, largest first.
    seconds : float
        Wall time.
    """

    precision: FloatArray = field(repr=False)
    covariance: FloatArray = field(repr=False)
    value: float
    gap: float
    tol: float
    status: Status
    n_iter: int
    component_sizes: tuple[int, ...] = field(repr=False)
    seconds: float

    @property
    def converged(self) -> bool:
        """Whether the gap met the tolerance."""
        return self.status.success

    @property
    def n_edges(self) -> int:
        """Number of pairs of variables with a nonzero precision."""
        p = int(self.precision.shape[0])
        return (int(np.count_nonzero(self.precision)) - p) // 2


@dataclass(frozen=True)
class Limits:
    """Tolerance and limits of a solve.

    Parameters
    ----------
    tol : float
        Gap to reach per variable, in units of the log-likelihood.
    n_threads : int, optional
        Number of components that are solved at the same time.
    """

    tol: float = 1e-4
    max_iter: int = 200
    max_seconds: float | None = None
    n_threads: int | None = None

    def check(self) -> Limits:
        """Itself; raises `ParameterError` for values outside their range."""
        check_real("tol", self.tol, low=0.0)
        check_int("max_iter", self.max_iter)
        if self.max_seconds is not None:
            check_real("max_seconds", self.max_seconds, low=0.0)
        available_threads(self.n_threads)
        return self


@dataclass
class ComponentSolution:
    """The solution of one connected component, with the indices of its variables."""

    variables: IntArray
    precision: FloatArray
    covariance: FloatArray
    value: float
    gap: float
    status: Status = Status.CONVERGED
    n_iter: int = 0


def resolve_solver(solver: Any) -> Solver[Any]:
    """A solver object for a name, "auto" or an object."""
    check_solver(solver, SOLVERS)
    solver_object: Solver[Any] = solver
    if isinstance(solver, str):
        solver_object = SOLVERS[next(iter(SOLVERS)) if solver == "auto" else solver]()
    return solver_object


@speaks_as("solve_graph")
def solve_graph(
    S: FloatArray,
    penalties: Penalties,
    *,
    solver: Any = "auto",
    start: FloatArray | None = None,
    budget: Limits | None = None,
    screen: bool = True,
) -> GraphSolution:
    """Minimise ``-log det X + tr(S X) + sum_ij penalty_ij |X_ij|``.

    Parameters
    ----------
    S : (p, p) array
        Empirical covariance: symmetric, with a positive diagonal.
    penalties : Penalties
        Penalties of the pairs and of the diagonal.
    start : (p, p) array, optional
        A precision matrix to start from.
    screen : bool
        Whether connected components are solved separately; the solution is the same.
    """
    clock = time.perf_counter()
    budget = (budget or Limits()).check()
    solver_object = resolve_solver(solver)
    size = float(np.median(S.diagonal()))
    if not 1.0 / FAR <= size <= FAR:
        # Dividing S and the penalties by a power of two multiplies the precision by it.
        unit = 2.0 ** round(np.log2(size))
        scaled = solve_graph(
            S / unit, Penalties(penalties.pairs / unit, penalties.diagonal / unit),
            solver=solver_object, start=None if start is None else start * unit,
            budget=budget, screen=screen, )  # fmt: skip
        return replace(
            scaled,
            precision=scaled.precision / unit,
            covariance=scaled.covariance * unit,
            value=scaled.value + S.shape[0] * float(np.log(unit)),
        )
    check_free_pairs(S, penalties)
    # A penalty on the positive diagonal of X is linear: it adds to the diagonal of S.
    if penalties.diagonal.any():
        S = S + np.diag(penalties.diagonal)
    groups = components(S, penalties.pairs) if screen else [np.arange(S.shape[0])]
    parts: list[ComponentSolution | None] = [None] * len(groups)

    def one(at: int) -> None:
        parts[at] = solve_component(S, penalties, groups[at], solver_object, start, budget)

    # Groups are sorted by size: those of one variable, which have a closed form, come last.
    large = [at for at, group in enumerate(groups) if group.size > 1]
    with quiet_blas():
        tasks = [partial(one, at) for at in large]
        run_tasks(tasks, available_threads(budget.n_threads))
    for at in range(len(large), len(groups)):
        one(at)
    solution = combined(S.shape[0], [part for part in parts if part], budget, clock)
    if not solution.converged:
        check_bounded(S, penalties, solution)
        warn(
            ConvergenceWarning(
                f"a gap of {solution.tol:.3g}; got {solution.gap:.3g} after {solution.n_iter} "
                f"iterations{nearly_equal(S)}. Raise `max_iter=`, `tol=` or `strength=`."
            )
        )
    return solution


def solve_component(
    S: FloatArray,
    penalties: Penalties,
    group: IntArray,
    solver: Solver[Any],
    start: FloatArray | None,
    budget: Limits,
) -> ComponentSolution:
    """Solve one component, in closed form if it is a single variable or a tree."""
    if group.size == 1:
        variance = float(S[group[0], group[0]])
        one = np.array([[1.0 / variance]])
        return ComponentSolution(group, one, np.array([[variance]]), 1.0 + np.log(variance), 0.0)
    everything = group.size == S.shape[0]
    inside = np.ix_(group, group)
    graph = GraphProblem(S if everything else S[inside], penalties.inside(group))
    # The closed form of a tree, if its gap proves that it is optimal.
    tree = tree_solution(graph.loss.S, graph.penalty.strengths)
    if tree is not None:
        point = graph.evaluate(pack(tree))
        gap = graph.certificate(point).gap if np.isfinite(point.value) else np.inf
        if gap <= graph.tolerance(budget.tol):
            return ComponentSolution(group, tree, graph.inverse_at(point), point.value, gap)
    first = start if start is None or everything else start[inside]
    regular = None if graph.penalty.strengths.any() else factorise(graph.loss.S.copy())
    if regular is not None:  # no pair has a penalty: the minimum is the inverse of S
        first = regular.inverse()
    solution = minimise(
        graph,
        solver,
        w0=None if first is None else feasible_start(graph, first),
        tol=budget.tol,
        max_iter=budget.max_iter,
        max_seconds=budget.max_seconds,
        on_failure="ignore",
    )
    precision = unpack(solution.coef, graph.size)
    factor = factorise(precision.copy())
    assert factor is not None  # every accepted point is positive definite
    return ComponentSolution(
        group,
        precision,
        factor.inverse(),
        solution.value,
        solution.gap,
        solution.status,
        solution.n_iter,
    )


def feasible_start(graph: GraphProblem, start: FloatArray) -> FloatArray | None:
    """The packed triangle of a starting matrix; ``None`` if the objective is infinite there."""
    w = pack(start)
    factor = factorise(unpack(w, graph.size))
    if factor is None or not np.isfinite(graph.values(w, factor)).all():
        return None
    return w


def combined(
    p: int, parts: Sequence[ComponentSolution], budget: Limits, clock: float
) -> GraphSolution:
    """The block-diagonal solution of all components; values and gaps are sums."""
    if len(parts) == 1:
        precision, covariance = parts[0].precision, parts[0].covariance
    else:
        precision, covariance = np.zeros((p, p)), np.zeros((p, p))
        for part in parts:
            inside = np.ix_(part.variables, part.variables)
            precision[inside] = part.precision
            covariance[inside] = part.covariance
    worst = next((part.status for part in parts if not part.status.success), Status.CONVERGED)
    return GraphSolution(
        precision,
        covariance,
        float(sum(part.value for part in parts)),
        float(sum(part.gap for part in parts)),
        budget.tol * p,
        worst,
        max(part.n_iter for part in parts),
        tuple(part.variables.size for part in parts),
        time.perf_counter() - clock,
    )


def nearly_equal(S: FloatArray) -> str:
    """Text for a warning about the most correlated columns; empty below `NEARLY_EQUAL`."""
    root = np.sqrt(S.diagonal())
    correlation = np.abs(S / root / root[:, None])
    np.fill_diagonal(correlation, 0.0)
    i, j = sorted(map(int, np.unravel_index(int(correlation.argmax()), S.shape)))
    if correlation[i, j] < NEARLY_EQUAL:
        return ""
    return f", where columns {i} and {j} have a correlation of {S[i, j] / root[i] / root[j]:.6f}"


def positive_definite(matrix: FloatArray) -> bool:
    """Whether a matrix is positive definite beyond rounding error; overwrites the matrix."""
    variance = matrix.diagonal().copy()
    factor = factorise(matrix)
    if factor is None:
        return False
    rounding = 10.0 * matrix.shape[0] * np.finfo(np.float64).eps
    return bool((factor.upper.diagonal() ** 2 > rounding * variance).all())


def check_free_pairs(S: FloatArray, penalties: Penalties) -> None:
    """Raise `DataError` for a singular covariance without penalties: there is no minimum."""
    if penalties.pairs.any() or S.shape[0] == 1:
        return
    if not positive_definite(S + np.diag(penalties.diagonal)):
        raise unbounded(S)


def check_bounded(S: FloatArray, penalties: Penalties, solution: GraphSolution) -> None:
    """Raise `DataError` if the objective has no minimum; checked after a solve of infinite gap.

    There is a minimum exactly if some positive definite Z has the diagonal of S and
    ``|Z_ij - S_ij| <= strength_ij``. The candidate is S with all covariances reduced by the same
    share, as far as the penalties allow; it works whenever S has no negative eigenvalue.
    """
    if np.isfinite(solution.gap):
        return
    size = np.abs(S)
    np.fill_diagonal(size, 0.0)
    linked = size > 0.0
    share = float(np.min(penalties.full[linked] / size[linked], initial=1.0))
    candidate = (1.0 - share) * S
    np.fill_diagonal(candidate, S.diagonal())
    if not positive_definite(candidate):
        raise unbounded(S)


def unbounded(S: FloatArray) -> DataError:
    """The error for a problem without a minimum; proposes a strength that has one.

    ``(1 - t) S + t diag(S)`` is positive definite for ``t > -e / (1 - e)``, where e is the smallest
    eigenvalue of the correlations, and dual feasible for strengths of at least ``t max |S_ij|``.
    """
    root = np.sqrt(S.diagonal())
    least = min(float(np.linalg.eigvalsh(S / root / root[:, None])[0]), 0.0)
    largest = float(np.abs(S - np.diag(S.diagonal())).max())
    share = -least / (1.0 - least)
    enough = share * largest if share > SINGULAR else 0.0
    first = ABOVE_LEAST * enough if enough else FIRST_TRY * largest
    return DataError(
        "penalties under which the objective has a minimum; got a singular or indefinite "
        f"covariance with smaller ones: it falls without bound. Any `strength=` above {enough:.3g} "
        f"works for all pairs; try {first:.3g}."
    )
