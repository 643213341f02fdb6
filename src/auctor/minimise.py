"""The only solver loop: checks needs, limits iterations and time, keeps the trace."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Protocol, Self, TypeVar

import numpy as np

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.errors import DataLost, IncompatibleError, ParameterError, speaks_as, warn
from auctor.core.result import Solution, Status, Step, Trace
from auctor.core.rng import as_rng
from auctor.core.types import FloatArray
from auctor.kernels.runtime.parallel import quiet_blas
from auctor.problem import Point, Problem
from auctor.problem.certificate import Certificate
from auctor.problem.needs import Need, describe

#: Parameters in the trace: none are stored, because there may be millions per step.
NO_WEIGHTS: FloatArray = np.empty(0)
#: Factor on the objective at the start, or on 1 if that is larger, above which a solve ends.
DIVERGED = 1e10
#: Called after every step; returning True stops the solve.
OnStep = Callable[[Step], bool | None]


class StateLike(Protocol):
    """The fields of a solver's state that the loop reads; defaults in `solvers.base.State`."""

    @property
    def point(self) -> Point:
        """The current point, evaluated."""

    @property
    def dual(self) -> Point | None:
        """A point whose gradient gives a better dual point than the current one's."""

    @property
    def lower(self) -> float | None:
        """A lower bound of min J that the solver has proved; replaces the duality gap."""

    @property
    def violation(self) -> float | None:
        """Optimality violation under the solver's own model of the data; replaces the gap."""

    @property
    def stalled(self) -> bool:
        """Whether no further progress is possible."""

    def learned(self) -> object:
        """What another solve of the same problem can go on with, or ``None``."""

    def resumed(self, learned: object) -> Self:
        """The state at a new start with what an earlier solve has learned."""


S = TypeVar("S", bound=StateLike)


class Solver(Protocol[S]):
    """Turns a problem into a solution by steps; the loop lives in `minimise`."""

    @property
    def needs(self) -> Need:
        """What the problem must provide."""

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> S:
        """State at the starting point."""

    def step(self, problem: Problem, state: S) -> S:
        """One outer iteration; no I/O, no loop control."""


def is_solver(thing: object) -> bool:
    """Whether an object has the methods of a solver; a class of solvers is none."""
    return not isinstance(thing, type) and hasattr(thing, "init") and hasattr(thing, "step")


def check_solver(solver: object, names: Iterable[str]) -> None:
    """Raise `ParameterError` unless ``solver`` is 'auto', one of the names or a solver object."""
    known = ("auto", *names)
    if solver in known if isinstance(solver, str) else is_solver(solver):
        return
    raise ParameterError(
        f"{{option}} to be {', '.join(map(repr, known))} or a solver object",
        got=repr(solver),
        todo=f"Pass {solver.__name__}()." if isinstance(solver, type) else "Pass one of these.",
        option="solver",
    )


def check_needs(problem: Problem, solver: Solver[S], alternatives: str = "") -> None:
    """Raise `IncompatibleError` if the problem does not provide what the solver needs."""
    missing = solver.needs & ~problem.provides
    if missing:
        advice = alternatives or "Choose another solver, or {option}"
        raise IncompatibleError(
            f"{describe(missing)}; got {problem.described}. {advice}.", part=type(solver).__name__
        )


@speaks_as("minimise")
def minimise(
    problem: Problem,
    solver: Solver[S],
    *,
    w0: FloatArray | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
    max_seconds: float | None = None,
    on_step: OnStep | None = None,
    rng: int | np.random.Generator | None = None,
    on_failure: str = "warn",
    learned: object = None,
) -> Solution:
    """Run a solver until the gap meets the tolerance or a limit is reached.

    Parameters
    ----------
    problem : Problem
    solver : Solver
    w0 : (n_params,) array, optional
        Starting point; zeros with the null model's intercept by default.
    tol : float >= 0
        The gap to reach, as a fraction of the null model's loss, or of its largest gradient entry
        if no certificate exists.
    max_iter : int >= 0
        Largest number of outer iterations.
    max_seconds : float, optional
        Limit of the wall time.
    on_step : callable, optional
        Receives a `Step` after the start and after every iteration; returning True stops.
    rng : int or Generator, optional
        Random numbers of the solver.
    on_failure : {"warn", "ignore"}
        Whether to warn if the solver stops before the tolerance is met.
    learned : object, optional
        Result of ``Step.learned`` in an earlier solve of the same problem by the same solver, which
        goes on at ``w0``. It never decides what is optimal: bounds and gaps are computed again. A
        solver ignores what does not fit.

    Returns
    -------
    Solution
        The best point of all steps, with a gap recomputed there; also after Ctrl-C.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.data import as_data
    >>> from auctor.losses import Squared
    >>> from auctor.penalties import L2
    >>> from auctor.solvers import Exact
    >>> data = as_data(np.array([[1.0], [2.0]]), [1.0, 2.0])
    >>> problem = Problem(Squared(), L2(0.5), data, fit_intercept=False)
    >>> minimise(problem, Exact()).coef.round(6)
    array([0.833333])
    """
    check_real("tol", tol, low=0.0)
    check_int("max_iter", max_iter)
    check_choice("on_failure", on_failure, ("warn", "ignore"))
    if max_seconds is not None:
        check_real("max_seconds", max_seconds, low=0.0)
    check_needs(problem, solver)
    run = _Solve(problem, solver, tol, on_step)
    budget = math.inf if max_seconds is None else max_seconds
    with quiet_blas():
        status = run.loop(problem.start(w0), max_iter, budget, as_rng(rng), learned)
        solution = run.finish(status)
    if not solution.converged and on_failure == "warn":
        warn(solution.warning())
    return solution


def _interrupted(error: BaseException | None) -> bool:
    """Whether the error is Ctrl-C; compiled code may wrap that in a SystemError."""
    while isinstance(error, SystemError):
        error = error.__cause__ or error.__context__
    return isinstance(error, KeyboardInterrupt)


class _Solve:
    """One solve in progress: the best point, the trace, the clock."""

    def __init__(
        self, problem: Problem, solver: Solver[S], tol: float, on_step: OnStep | None
    ) -> None:
        self.problem, self.solver, self.tol, self.on_step = problem, solver, tol, on_step
        self.clock = time.perf_counter()
        self.before = replace(problem.counts)
        self.steps: list[Step] = []
        self.best: Point | None = None
        self.best_dual: Point | None = None
        self.best_certificate = Certificate(math.inf, False)
        self.bound = -math.inf
        self.final: tuple[Point, Certificate] | None = None

    def loop(
        self,
        w: FloatArray,
        max_iter: int,
        max_seconds: float,
        rng: np.random.Generator,
        learned: object = None,
    ) -> Status:
        """Take steps until a condition ends the solve; returns that condition."""
        try:
            # Step until a status ends the solve; limits are checked between steps.
            state = self.solver.init(self.problem, w, rng)
            if learned is not None:
                state = state.resumed(learned)
            status = self.observe(state)
            while status is None:
                if len(self.steps) > max_iter:
                    return Status.MAX_ITER
                if time.perf_counter() - self.clock > max_seconds:
                    return Status.MAX_SECONDS
                state = self.solver.step(self.problem, state)
                status = self.observe(state)
            return status
        except (KeyboardInterrupt, SystemError) as error:
            if not _interrupted(error):
                raise
            if self.best is None:
                self.best = self.problem.evaluate(w)
            return Status.INTERRUPTED
        except DataLost:
            if self.best is None:
                raise
            return Status.LOST

    def observe(self, state: StateLike) -> Status | None:
        """Record a state; returns a status if the solve is over, otherwise None."""
        point = state.point
        if not math.isfinite(point.value):
            if self.best is None:
                self.best = self.problem.evaluate(self.problem.start())
            return Status.NOT_FINITE
        if self.steps and point.value > DIVERGED * max(1.0, abs(self.steps[0].value)):
            return Status.DIVERGED
        # Solvers need not be monotone: the best point is returned.
        if self.best is None or point.value <= self.best.value:
            self.best, self.best_dual = point, state.dual
        certificate = self.assess(state)
        if self.best is point:
            self.best_certificate = certificate
        own = state.violation is not None
        if self.meets(certificate) and not certificate.certified and not own:
            # Do not stop at an uncertified gap: minimise over the intercept, and check again.
            point, certificate = self.problem.certify(point, state.dual)
            certificate = self.tighten(point, certificate)
        met = self.meets(certificate)
        self.final = point, certificate
        stop = self.record(point, certificate, state)
        if met:
            return Status.CONVERGED
        self.final = None
        if stop:
            return Status.STOPPED
        return Status.STALLED if state.stalled else None

    def assess(self, state: StateLike) -> Certificate:
        """The gap at a state: from the solver's own lower bound if it has one, or by duality."""
        if state.violation is not None:
            return Certificate(state.violation, False)
        if state.lower is None:
            return self.tighten(state.point, self.problem.certificate(state.point, state.dual))
        gap = max(state.point.value - state.lower, 0.0)
        return self.tighten(state.point, Certificate(gap, True))

    def tighten(self, point: Point, certificate: Certificate) -> Certificate:
        """The smaller of a gap and the gap to the best lower bound of all steps."""
        if certificate.certified:
            self.bound = max(self.bound, point.value - certificate.gap)
        proved = max(point.value - self.bound, 0.0)
        # A gap that is no number, or infinite, proves nothing.
        return certificate if certificate.gap < proved else Certificate(proved, proved < math.inf)

    def meets(self, certificate: Certificate) -> bool:
        """Whether a gap is within the tolerance."""
        return certificate.gap <= self.problem.tolerance(self.tol)

    def work(self) -> tuple[float, int]:
        """Passes and evaluations of this solve; the problem's counter includes earlier solves."""
        now, before = self.problem.counts, self.before
        return now.passes - before.passes, now.evaluations - before.evaluations

    def record(self, point: Point, certificate: Certificate, state: StateLike) -> bool:
        """Append to the trace and call ``on_step``; returns whether that asks to stop."""
        passes, evaluations = self.work()
        step = Step(
            iteration=len(self.steps),
            value=point.value,
            gap=certificate.gap,
            certified=certificate.certified,
            seconds=time.perf_counter() - self.clock,
            passes=passes,
            evaluations=evaluations,
            w=point.w,
        )
        self.steps.append(replace(step, w=NO_WEIGHTS))
        if self.on_step is None:
            return False
        return bool(self.on_step(replace(step, learned=state.learned)))

    def finish(self, status: Status) -> Solution:
        """The best point with a gap recomputed there."""
        if self.final is None and status is Status.LOST:
            assert self.best is not None  # the data are gone: its last gap cannot be recomputed
            self.final = self.best, self.best_certificate
        if self.final is None:
            assert self.best is not None
            point, certificate = self.problem.certify(self.best, self.best_dual)
            self.final = point, self.tighten(point, certificate)
        point, certificate = self.final
        # The recomputed gap of the best point may meet the tolerance after all.
        if not status.success and status is not Status.NOT_FINITE and self.meets(certificate):
            status = Status.CONVERGED
        problem, (passes, evaluations) = self.problem, self.work()
        return Solution(
            coef=problem.coef(point.w).copy(),
            intercept=problem.intercept(point.w),
            value=point.value,
            gap=certificate.gap,
            certified=certificate.certified,
            tol=problem.tolerance(self.tol),
            status=status,
            n_iter=max(0, len(self.steps) - 1),
            passes=passes,
            evaluations=evaluations,
            seconds=time.perf_counter() - self.clock,
            solver=type(self.solver).__name__,
            trace=Trace.from_steps(self.steps),
        )
