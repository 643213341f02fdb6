"""Solve a graphical lasso: screen, solve the components apart, put them together."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from auctor.core.checks import check_int, check_real
from auctor.core.errors import ConvergenceWarning, DataError, ParameterError
from auctor.core.result import Status
from auctor.core.types import FloatArray, IntArray
from auctor.covariance.newton_cd import NewtonCd
from auctor.covariance.problem import GraphProblem, factorise
from auctor.covariance.screening import components, tree_solution
from auctor.kernels.runtime.parallel import available_threads, quiet_blas, run_tasks
from auctor.minimise import Solver, minimise
from auctor.solvers import Lhac

#: Solvers by the name a user types; "auto" is the first.
SOLVERS: dict[str, type[Any]] = {"newton_cd": NewtonCd, "lhac": Lhac}


@dataclass(frozen=True)
class GraphSolution:
    """The outcome of a graphical lasso; every field is always present.

    Attributes
    ----------
    precision : (p, p) array
        The estimated inverse covariance.
    covariance : (p, p) array
        Its inverse.
    value : float
        Objective F at the precision.
    gap : float
        Certified bound on F less its minimum, recomputed at the end.
    tol : float
        The gap that was asked for.
    status : Status
        Why the solve stopped.
    n_iter : int
        Most iterations over the components.
    component_sizes : tuple of int
        Variables of every connected component, largest first.
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
        """Pairs of variables that the precision connects."""
        return int(np.count_nonzero(np.triu(self.precision, 1)))


@dataclass(frozen=True)
class Budget:
    """How far and how long a solve goes.

    Parameters
    ----------
    tol : float
        Gap to reach for every variable, in units of the log-likelihood.
    max_iter : int
    max_seconds : float, optional
    n_threads : int, optional
        Components are solved side by side.
    """

    tol: float = 1e-4
    max_iter: int = 200
    max_seconds: float | None = None
    n_threads: int | None = None

    def check(self, who: str) -> Budget:
        """Refuse values outside their range."""
        check_real(who, "tol", self.tol, low=0.0)
        check_int(who, "max_iter", self.max_iter)
        if self.max_seconds is not None:
            check_real(who, "max_seconds", self.max_seconds, low=0.0)
        return self


@dataclass
class _Part:
    """One component: its variables, and what was found for them."""

    variables: IntArray
    precision: FloatArray
    covariance: FloatArray
    value: float
    gap: float
    status: Status = Status.CONVERGED
    n_iter: int = 0


def resolve_solver(who: str, solver: Any) -> Solver[Any]:
    """A solver object for a name, "auto" or an object."""
    if isinstance(solver, str):
        name = next(iter(SOLVERS)) if solver == "auto" else solver
        if name not in SOLVERS:
            raise ParameterError(
                who,
                needs=f"solver to be 'auto', {', '.join(map(repr, SOLVERS))} or a solver object",
                got=repr(solver),
                todo="Pass one of these.",
            )
        found: Solver[Any] = SOLVERS[name]()
        return found
    if isinstance(solver, type) or not hasattr(solver, "step"):
        raise ParameterError(
            who,
            needs="solver to be a name or a solver object",
            got=repr(solver),
            todo="Pass an instance, such as auctor.covariance.NewtonCd().",
        )
    chosen: Solver[Any] = solver
    return chosen


def solve_graph(
    S: FloatArray,
    strengths: FloatArray,
    *,
    solver: Any = "auto",
    start: FloatArray | None = None,
    budget: Budget | None = None,
    who: str = "solve_graph",
) -> GraphSolution:
    """Minimise ``-log det X + tr(S X) + sum_ij strengths_ij |X_ij|``.

    Parameters
    ----------
    S : (p, p) array
        Empirical covariance: symmetric, with a positive diagonal.
    strengths : (p, p) array
        Penalty of every entry: 0 leaves it free, infinity (off the diagonal) keeps it at zero.
    solver : str or solver object
    start : (p, p) array, optional
        A precision matrix to start from.
    budget : Budget, optional
    who : str
        Who asks, for messages.
    """
    clock = time.perf_counter()
    budget = (budget or Budget()).check(who)
    chosen = resolve_solver(who, solver)
    shifted = S + np.diag(strengths.diagonal())
    check_bounded(who, shifted, strengths)
    groups = components(shifted, strengths)
    parts: list[_Part | None] = [None] * len(groups)

    def one(at: int) -> None:
        parts[at] = _component(shifted, strengths, groups[at], chosen, start, budget)

    with quiet_blas():
        large = [at for at, group in enumerate(groups) if group.size > 1]
        tasks = [lambda at=at: one(at) for at in large]
        run_tasks(tasks, available_threads(budget.n_threads))
    for at in range(len(large), len(groups)):
        one(at)
    solution = _together(S.shape[0], [part for part in parts if part], budget, clock)
    if not solution.converged:
        warnings.warn(
            ConvergenceWarning(
                who,
                needs=f"a gap of {solution.tol:.3g}",
                got=f"{solution.gap:.3g} after {solution.n_iter} iterations",
                todo="Raise {option} or {option2}.",
                option=("max_iter", "tol"),
            ),
            stacklevel=3,
        )
    return solution


def _component(
    S: FloatArray,
    strengths: FloatArray,
    group: IntArray,
    solver: Solver[Any],
    start: FloatArray | None,
    budget: Budget,
) -> _Part:
    """Solve one component: in closed form where it has one."""
    if group.size == 1:
        variance = float(S[group[0], group[0]])
        one = np.array([[1.0 / variance]])
        return _Part(group, one, np.array([[variance]]), 1.0 + np.log(variance), 0.0)
    inside = np.ix_(group, group)
    graph = GraphProblem(np.ascontiguousarray(S[inside]), strengths[inside])
    triangle = graph.loss.triangle
    tree = tree_solution(graph.loss.S, graph.strengths)
    if tree is not None and factorise(tree) is not None:
        point = graph.evaluate(triangle.pack(tree))
        gap = graph.certificate(point).gap
        if gap <= graph.tolerance(budget.tol):
            return _Part(group, tree, graph.inverse_at(point), point.value, gap)
    w0 = None if start is None else triangle.pack(start[inside])
    if w0 is not None and factorise(triangle.unpack(w0)) is None:
        w0 = None
    found = minimise(
        graph,
        solver,
        w0=w0,
        tol=budget.tol,
        max_iter=budget.max_iter,
        max_seconds=budget.max_seconds,
        on_failure="ignore",
    )
    precision = triangle.unpack(found.coef)
    factor = factorise(precision)
    assert factor is not None  # every accepted point is positive definite
    return _Part(
        group, precision, factor.inverse(), found.value, found.gap, found.status, found.n_iter
    )


def _together(p: int, parts: Sequence[_Part], budget: Budget, clock: float) -> GraphSolution:
    """The block-diagonal solution of all components; gaps add up."""
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


def check_bounded(who: str, S: FloatArray, strengths: FloatArray) -> None:
    """Refuse a problem without a minimum: too few penalties for a covariance that is singular.

    There is one exactly when some positive definite Z has the diagonal of S and
    ``|Z_ij - S_ij| <= strength_ij``. Where every pair is penalised, S with all covariances made a
    little smaller is one.
    """
    away = ~np.eye(S.shape[0], dtype=bool)
    if not (strengths[away] == 0.0).any():
        return
    size = np.abs(S)
    share = np.where(strengths > 0.0, np.minimum(strengths / np.maximum(size, 1e-300), 0.5), 0.0)
    np.fill_diagonal(share, 0.0)
    Z = S * (1.0 - np.where(np.isinf(strengths), 1.0, share))
    np.fill_diagonal(Z, S.diagonal())
    if factorise(Z) is None:
        smallest = 1e-3 * float(size[away].max(initial=0.0))
        raise DataError(
            who,
            needs="a strength above 0 where the covariance is singular (F has no minimum)",
            got="pairs without a penalty",
            todo=f"Pass {{option}} of at least {smallest:.3g}, or more rows than variables.",
            option="strength",
        )
