"""Regularisation paths: one problem at many strengths, each solved from the one before."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.errors import ConvergenceWarning, ParameterError, speaks_as, warn
from auctor.core.result import Solution, Status
from auctor.core.rng import as_rng
from auctor.core.types import FloatArray, IntArray
from auctor.kernels.runtime.parallel import quiet_blas
from auctor.minimise import OnStep, Solver, minimise
from auctor.problem import Problem
from auctor.problem.memory import WarmStart
from auctor.solvers.base import SolverMemory
from auctor.solvers.choose import resolve
from auctor.solvers.sparse.models.columns import score_change
from auctor.solvers.sparse.strengths import check_strengths, strength_max

__all__ = ["Path", "check_strengths", "regularisation_path", "strength_max"]

#: Called after every point with its strength and solution; returning True ends the path.
OnPoint = Callable[[float, Solution], bool | None]


@dataclass(frozen=True)
class Path:
    """Solutions along decreasing strengths.

    Attributes
    ----------
    strengths : (n,) array
        The strengths that were solved, decreasing.
    solutions : tuple of Solution
        One per strength.
    complete : bool
        Whether every requested strength was solved; a time limit, a callback or Ctrl-C may have
        ended the path early.
    """

    strengths: FloatArray
    solutions: tuple[Solution, ...] = field(repr=False)
    complete: bool = True

    def __len__(self) -> int:
        return len(self.solutions)

    @property
    def coef(self) -> FloatArray:
        """Coefficients, (n, columns): one row per strength."""
        return np.vstack([s.coef for s in self.solutions])

    @property
    def intercept(self) -> FloatArray:
        """Intercepts, (n,)."""
        return np.array([s.intercept for s in self.solutions])

    @property
    def n_nonzero(self) -> IntArray:
        """Numbers of nonzero coefficients, (n,)."""
        return np.array([np.count_nonzero(s.coef) for s in self.solutions])

    @property
    def gap(self) -> FloatArray:
        """Certified gaps, or optimality violations, (n,)."""
        return np.array([s.gap for s in self.solutions])

    @property
    def value(self) -> FloatArray:
        """Objectives, (n,)."""
        return np.array([s.value for s in self.solutions])

    @property
    def converged(self) -> bool:
        """Whether every point met the tolerance."""
        return all(s.converged for s in self.solutions)


@speaks_as("regularisation_path")
def regularisation_path(
    problem: Problem,
    *,
    strengths: Sequence[float] | FloatArray | None = None,
    n: int = 100,
    ratio: float = 1e-3,
    solver: str | Solver[Any] | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
    max_seconds: float | None = None,
    w0: FloatArray | None = None,
    on_point: OnPoint | None = None,
    rng: int | np.random.Generator | None = None,
    on_failure: str = "warn",
) -> Path:
    """Solve a problem at many strengths, from the largest down.

    Each point starts at the linear extrapolation of the last two.

    Parameters
    ----------
    problem : Problem
        Its penalty is used with each strength in turn; its own strength does not matter. All points
        share the data, their caches, and the counts.
    strengths : sequence of floats >= 0, optional
        Used in decreasing order, each once; by default ``n`` in geometric progression from
        `strength_max`.
    n : int >= 1
        Number of default strengths.
    ratio : float in (0, 1)
        Smallest default strength over the largest.
    solver : str or Solver, optional
        By default `choose` decides at each strength.
    tol, max_iter
        Tolerance and iteration limit of each point, as in `minimise`.
    max_seconds : float, optional
        Time limit of the whole path, which then ends.
    w0 : array, optional
        Starting point at the first strength; zero by default.
    on_point : callable, optional
        Receives each strength with its `Solution`; returning True ends the path.
    on_failure : {"warn", "ignore"}
        Whether to give one warning for all points that missed the tolerance.

    Returns
    -------
    Path
        Ctrl-C returns the points solved so far, if any; the last is the interrupted one, with
        status INTERRUPTED.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.data import as_data
    >>> from auctor.losses import Squared
    >>> from auctor.penalties import L1
    >>> data = as_data(np.eye(2), [3.0, 1.0])
    >>> problem = Problem(Squared(), L1(), data, fit_intercept=False)
    >>> path = regularisation_path(problem, strengths=[0.2, 1.5, 1.0])
    >>> path.coef.round(6)
    array([[0. , 0. ],
           [1. , 0. ],
           [2.6, 0.6]])
    """
    check_real("tol", tol, low=0.0)
    check_choice("on_failure", on_failure, ("warn", "ignore"))
    if max_seconds is not None:
        check_real("max_seconds", max_seconds, low=0.0)
    # One solve per strength; Ctrl-C between points keeps those that are done.
    levels = _levels(problem, strengths, n, ratio)
    run = PathRun(problem, solver, tol, max_iter, as_rng(rng), max_seconds, w0, on_point)
    with quiet_blas():
        for strength in levels:
            try:
                if not run.point(float(strength)):
                    break
            except KeyboardInterrupt:
                if not run.solutions:
                    raise
                run.stopped = True
                break
    done = tuple(run.solutions)
    path = Path(levels[: len(done)], done, len(done) == levels.size and not run.stopped)
    if on_failure == "warn" and not path.converged:
        warn(_advice(path))
    return path


class PathRun:
    """A path in progress."""

    def __init__(
        self,
        problem: Problem,
        solver: str | Solver[Any] | None,
        tol: float,
        max_iter: int,
        rng: np.random.Generator,
        max_seconds: float | None,
        w0: FloatArray | None,
        on_point: OnPoint | None,
        begin: Callable[[Problem], tuple[FloatArray | None, OnStep | None]] | None = None,
    ) -> None:
        # Where each solve goes on after an interruption, and the callback of its steps.
        self.begin = begin
        self.memory = SolverMemory()
        self.problem, self.w0, self.on_point = problem.with_memory(self.memory), w0, on_point
        self.solver = "auto" if solver is None else solver
        self.options: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "rng": rng}
        self.end = math.inf if max_seconds is None else time.perf_counter() + max_seconds
        self.trail: list[tuple[float, WarmStart]] = []  # the last two points
        self.solutions: list[Solution] = []
        self.stopped = False

    def start(self, strength: float) -> FloatArray | None:
        """Turn to a strength; returns the parameters from which it is solved."""
        self.problem = self.problem.with_penalty(self.problem.penalty.with_strength(strength))
        # Solvers may stop inner loops at the gap that this point needs.
        self.memory.target_gap = self.problem.tolerance(self.options["tol"])
        return self.predict(strength)

    def point(self, strength: float) -> bool:
        """Solve at one strength; returns whether the path continues."""
        if self.solutions and self.end <= time.perf_counter():
            return False
        return self.solve(strength, self.start(strength))

    def solve(self, strength: float, w0: FloatArray | None) -> bool:
        """Solve at the strength of `start`; returns whether the path continues."""
        seconds = self.end - time.perf_counter()
        start, on_step = (None, None) if self.begin is None else self.begin(self.problem)
        solution = minimise(
            self.problem,
            resolve(self.solver, self.problem),
            w0=w0 if start is None else start,
            on_step=on_step,
            max_seconds=None if math.isinf(seconds) else max(seconds, 0.0),
            on_failure="ignore",
            **self.options,
        )
        self.trail = [*self.trail[-1:], (strength, self.warm_start_of(solution))]
        self.solutions.append(solution)
        stop = self.on_point is not None and self.on_point(strength, solution)
        self.stopped = solution.status in (Status.INTERRUPTED, Status.MAX_SECONDS)
        return not (stop or self.stopped)

    def warm_start_of(self, solution: Solution) -> WarmStart:
        """The parameters of a solution, with their scores, or NaN if the solver kept none."""
        w = self.problem.join(solution.coef, solution.intercept)
        stored = self.memory.warm_start
        if stored is not None and np.array_equal(stored.w, w):
            return stored
        return WarmStart(w, np.full(self.problem.data.n_rows, np.nan))

    def predict(self, strength: float) -> FloatArray | None:
        """Linear extrapolation of the last two points, as lasso paths are piecewise linear.

        Coefficients that would change sign keep their value.
        """
        if len(self.trail) < 2:
            return self.trail[-1][1].w if self.trail else self.w0
        (before, old), (last, now) = self.trail
        factor = min((last - strength) / (before - last), 1.0)
        change = factor * (now.w - old.w)
        moving = np.flatnonzero(self.problem.coef(change))
        flips = moving[np.sign(now.w[moving] + change[moving]) != np.sign(now.w[moving])]
        # Scores are extrapolated like w; the part of the coefficients that stay is subtracted.
        scores = now.scores + factor * (now.scores - old.scores)
        if flips.size and np.isfinite(scores).all():
            undone = np.zeros_like(change)
            undone[flips] = change[flips]
            scores -= score_change(self.problem, undone)
        change[flips] = 0.0
        new: FloatArray = now.w + change
        self.memory.warm_start = WarmStart(new, scores)
        return new


def _levels(
    problem: Problem, strengths: Sequence[float] | FloatArray | None, n: int, ratio: float
) -> FloatArray:
    """The strengths of a path, checked and decreasing."""
    if strengths is None:
        check_int("n", n, low=1)
        check_real("ratio", ratio, low=0.0, high=1.0, open_low=True, open_high=True)
        largest = strength_max(problem)
        if not 0.0 < largest < math.inf:
            raise ParameterError(
                "a column that lowers the loss, to find the largest strength; got a null model "
                f"that is optimal at strength {largest:g}. Pass strengths."
            )
        return np.geomspace(largest, largest * ratio, n)
    return check_strengths(strengths)


def _advice(path: Path) -> ConvergenceWarning:
    """A warning about the points that missed the tolerance, with advice for the worst one."""
    missed = [k for k, s in enumerate(path.solutions) if not s.converged]
    worst = max((path.solutions[k] for k in missed), key=lambda s: s.gap / (s.tol or 1.0))
    return worst.warning(
        before=f"missed the tolerance at {len(missed)} of {len(path)} points of a regularisation "
        f"path, the first at strength {path.strengths[missed[0]]:.3g},"
    )
