"""Conformance of a solver: correct solutions, valid gaps, budgets, refusals."""

from __future__ import annotations

import copy
import math
from typing import Any, ClassVar

import numpy as np

from auctor.core.capabilities import Capability, Evaluation
from auctor.core.errors import IncompatibleError
from auctor.core.protocols import Coupling, Loss
from auctor.core.result import Solution, Status, Step
from auctor.core.types import FloatArray, Target
from auctor.minimise import Solver, minimise
from auctor.problem import Problem
from auctor.solvers.choose import able, resolve
from auctor.testing.problems import Reference, references
from auctor.testing.suite import Suite, Untouched, expect, expect_close

#: Tolerance of the solves, relative to the objective at the null model.
TOL = 1e-6
#: Iterations after which a solver is taken as not converging.
MAX_ITER = 5000
#: Iterations with a loss that becomes NaN.
NAN_STEPS = 15


class SolverSuite(Suite):
    """Tests of the `Solver` protocol and of `minimise`, on one solver.

    Parameters
    ----------
    problems : sequence of Reference, optional
        Problems with a known optimum; the built-in list by default. Those that do not provide what
        the solver ``needs`` must be refused.

    Examples
    --------
    >>> from auctor.solvers import Exact
    >>> len(SolverSuite(Exact()).run()) > 8
    True
    """

    def __init__(
        self, solver: Solver[Any], *, problems: tuple[Reference, ...] | None = None
    ) -> None:
        self.solver = solver
        problems_to_solve = references() if problems is None else problems
        can = {r.name: not solver.needs & ~r.problem().provides for r in problems_to_solve}
        self.doable = [r for r in problems_to_solve if can[r.name]]
        self.refused = [r for r in problems_to_solve if not can[r.name]]
        expect(self.doable, f"{type(solver).__name__} can do none of the reference problems")
        self._solved: dict[str, tuple[Solution, list[Step]]] = {}

    def solve(self, reference: Reference, **options: Any) -> Solution:
        """Solve to the tolerance of the suite, without warnings."""
        settings = {"tol": TOL, "max_iter": MAX_ITER, "rng": 0, "on_failure": "ignore", **options}
        problem = settings.pop("problem", None) or reference.problem()
        return minimise(problem, self.solver, **settings)

    def solved(self, reference: Reference) -> tuple[Solution, list[Step]]:
        """The solution of a problem and its steps; solved once for all checks.

        The ``w`` of a step belongs to the solver, which may have modified it later.
        """
        if reference.name not in self._solved:
            steps: list[Step] = []
            solution = self.solve(reference, on_step=steps.append)
            self._solved[reference.name] = solution, steps
        return self._solved[reference.name]

    # --- solutions --------------------------------------------------------------------------

    def check_optimum(self) -> None:
        """The solver reaches the known optimum of every problem it can solve."""
        for reference in self.doable:
            name, solution = reference.name, self.solved(reference)[0]
            expect(solution.converged, f"{name}: {solution.status.name}, gap {solution.gap:.3g}")
            expect(solution.gap <= solution.tol, f"{name}: converged with too large a gap")
            excess = solution.value - reference.optimum
            allowed = solution.tol if solution.certified else 1e-5 * abs(reference.optimum)
            expect(excess <= allowed + 1e-12, f"{name}: {excess:.3g} above the optimum")

    def check_minimiser(self) -> None:
        """If the objective is strongly convex, the coefficients are near the known ones."""
        for reference in self.doable:
            d = reference.X.shape[1]
            spec = reference.penalty.separable(d)
            solution = self.solved(reference)[0]
            if spec is None or not solution.certified or not spec.l2.min() > 0.0:
                continue
            # J(w) - J* >= l2/2 |w - w*|^2.
            apart = float(((solution.coef - reference.w[:d]) ** 2).sum())
            expect(
                0.5 * spec.l2.min() * apart <= 1.01 * solution.gap + 1e-9 * abs(reference.optimum),
                f"{reference.name}: coefficients off by {math.sqrt(apart):.3g}",
            )

    def check_value(self) -> None:
        """The reported value is the objective, as computed in plain numpy."""
        for reference in self.doable:
            solution = self.solve(reference, max_iter=3)
            wanted = reference.objective(solution.coef, solution.intercept)
            expect_close(solution.value, wanted, f"{reference.name}: value", rtol=1e-11)

    def check_gap_is_honest(self) -> None:
        """Every certified gap, during the solve and at its end, bounds ``J(w) - min J``."""
        for reference in self.doable:
            solution, steps = self.solved(reference)
            # Gaps of all steps, and of solves that were stopped after a few.
            certificates = [(s.value, s.gap) for s in steps if s.certified]
            for budget in (0, 1, 2, 7):
                early = self.solve(reference, max_iter=budget)
                certificates += [(early.value, early.gap)] if early.certified else []
            certificates += [(solution.value, solution.gap)] if solution.certified else []
            for value, gap in certificates:
                excess = value - reference.optimum
                expect(
                    excess <= gap * (1.0 + 1e-9) + 1e-12,
                    f"{reference.name}: {excess:.6g} from the optimum, certified {gap:.6g}",
                )

    def check_trace(self) -> None:
        """Iterations are consecutive; seconds, passes and evaluations never decrease."""
        for reference in self.doable:
            solution = self.solved(reference)[0]
            trace = solution.trace
            name = reference.name
            expect(len(trace) == solution.n_iter + 1, f"{name}: trace and n_iter disagree")
            expect(trace.iteration == tuple(range(len(trace))), f"{name}: iterations skip")
            for column in (trace.seconds, trace.passes, trace.evaluations):
                expect(all(np.diff(column) >= 0), f"{name}: work done falls")
            expect(solution.passes >= trace.passes[-1], f"{name}: passes disappear")
            # The point that met the tolerance is returned, the best one otherwise.
            slack = solution.tol if solution.certified else 1e-6
            expect(solution.value <= min(trace.value) + slack, f"{name}: not the best point seen")

    def check_start(self) -> None:
        """``w0`` is used and not modified."""
        for reference in self.doable:
            w0 = reference.w.copy()
            problem = reference.problem()
            if w0.size != problem.n_params:
                continue
            steps: list[Step] = []
            with Untouched([w0], freeze=True):
                self.solve(reference, w0=w0, on_step=steps.append, max_iter=2)
            near = np.linalg.norm(steps[0].w - w0) <= 1e-2 * (1.0 + np.linalg.norm(w0))
            expect(near, f"{reference.name}: the start is not used")

    def check_seed(self) -> None:
        """The same seed gives the same result, bit for bit."""
        for reference in self.doable:
            one, two = self.solved(reference)[0], self.solve(reference)
            expect(np.array_equal(one.coef, two.coef), f"{reference.name}: not reproducible")
            expect(one.intercept == two.intercept, f"{reference.name}: not reproducible")

    # --- refusals ---------------------------------------------------------------------------

    def check_refusals(self) -> None:
        """Other problems are refused before any work, with solvers that can in the message."""
        for reference in self.refused:
            problem = reference.problem()
            # Both ways to use a solver must refuse, without a pass over the data.
            for attempt in (
                lambda p=problem: resolve(self.solver, p),
                lambda p=problem: minimise(p, self.solver),
            ):
                try:
                    attempt()
                except IncompatibleError as error:
                    message = str(error)
                else:
                    raise AssertionError(f"{reference.name} is not refused")
                expect(type(self.solver).__name__ in message, f"who needs what? {message}")
            expect(problem.counts.passes == 0, "refused after work")
            try:
                resolve(self.solver, problem)
            except IncompatibleError as error:
                named = [name for name in able(problem) if name in str(error)]
                expect(named, f"{reference.name}: no alternative named in: {error}")

    # --- budgets and stops ------------------------------------------------------------------

    def _sound(self, reference: Reference, solution: Solution) -> None:
        """All fields of a solution are correct, also if it stopped early."""
        expect(np.isfinite(solution.coef).all(), f"{reference.name}: coefficients not finite")
        expect(math.isfinite(solution.intercept), f"{reference.name}: intercept not finite")
        wanted = reference.objective(solution.coef, solution.intercept)
        expect_close(solution.value, wanted, f"{reference.name}: value", rtol=1e-11)
        expect(not math.isnan(solution.gap), f"{reference.name}: gap is NaN")
        expect(solution.converged or solution.advice(), f"{reference.name}: no advice")

    def check_no_iterations(self) -> None:
        """``max_iter=0`` returns the start with its gap."""
        for reference in self.doable:
            solution = self.solve(reference, max_iter=0)
            self._sound(reference, solution)
            expect(solution.n_iter == 0, f"{reference.name}: iterated with max_iter=0")
            expect(solution.status in (Status.MAX_ITER, Status.CONVERGED), "wrong status")

    def check_iteration_budget(self) -> None:
        """``max_iter`` is never exceeded."""
        for reference in self.doable:
            solution = self.solve(reference, max_iter=2, tol=0.0)
            self._sound(reference, solution)
            expect(solution.n_iter <= 2, f"{reference.name}: {solution.n_iter} of 2 iterations")

    def check_no_time(self) -> None:
        """``max_seconds=0`` returns the start."""
        for reference in self.doable:
            solution = self.solve(reference, max_seconds=0.0, tol=0.0)
            self._sound(reference, solution)
            expect(solution.n_iter == 0, f"{reference.name}: iterated with no time")
            expect(solution.status in (Status.MAX_SECONDS, Status.CONVERGED), "wrong status")

    def check_interrupt(self) -> None:
        """Ctrl-C returns the best point so far."""

        def interrupt(step: Step) -> None:
            if step.iteration == 1:
                raise KeyboardInterrupt

        for reference in self.doable:
            solution = self.solve(reference, on_step=interrupt, tol=0.0)
            self._sound(reference, solution)
            expected = (Status.INTERRUPTED, Status.CONVERGED)
            expect(solution.status in expected, f"{reference.name}: {solution.status.name}")
            expect(solution.n_iter <= 1, f"{reference.name}: went on after an interrupt")

    def check_callback_stops(self) -> None:
        """A callback that returns True stops the solve there."""
        for reference in self.doable:
            solution = self.solve(reference, on_step=lambda s: s.iteration == 1, tol=0.0)
            self._sound(reference, solution)
            expect(solution.n_iter <= 1, f"{reference.name}: went on after the callback")
            if solution.n_iter == 1 and not solution.converged:
                expected = (Status.STOPPED, Status.STALLED)
                expect(solution.status in expected, f"{reference.name}: {solution.status.name}")

    def _scaled(self) -> list[Reference]:
        """Problems whose loss depends on the scale of the scores."""
        return [reference for reference in self.doable if not reference.loss.scale_invariant]

    # --- values that are not finite ---------------------------------------------------------

    def check_nan_on_the_way(self) -> None:
        """If the loss becomes NaN, the best finite point is returned, with a valid gap."""
        for reference in self._scaled():
            # The null model is just inside the region without NaN.
            null = reference.problem().null
            problem = reference.problem(loss=NanBeyond(reference.loss, abs(null.intercept) + 0.05))
            with np.errstate(all="ignore"):
                solution = self.solve(reference, problem=problem, max_iter=NAN_STEPS)
            self._sound(reference, solution)
            reached = np.abs(reference.X @ solution.coef + solution.intercept).max()
            expect(reached <= abs(null.intercept) + 0.06, f"{reference.name}: inside NaN")
            excess = solution.value - reference.optimum
            if solution.certified:
                bounded = excess <= solution.gap * (1 + 1e-9) + 1e-12
                expect(bounded, f"{reference.name}: the gap is too small")

    def check_nan_at_the_start(self) -> None:
        """A start without a finite value gives that status, with finite coefficients."""
        for reference in self._scaled():
            null = reference.problem().null
            problem = reference.problem(loss=NanBeyond(reference.loss, abs(null.intercept) + 0.05))
            far = np.zeros(problem.n_params)
            far[0] = 1e3 if not _bounded(problem) else float("nan")
            if math.isnan(far[0]):
                continue  # the start is projected into the box first
            with np.errstate(all="ignore"):
                solution = self.solve(reference, problem=problem, w0=far)
            expect(solution.status is Status.NOT_FINITE, f"{reference.name}: {solution.status}")
            self._sound(reference, solution)

    def check_copies(self) -> None:
        """A copy keeps the parameters."""
        twin = copy.deepcopy(self.solver)
        expect(repr(twin) == repr(self.solver), "a copy has other parameters")


def _bounded(problem: Problem) -> bool:
    spec = problem.penalty.separable(problem.n_columns)
    return spec is not None and bool(np.isfinite(spec.lower).any() or np.isfinite(spec.upper).any())


class NanBeyond:
    """A loss that is NaN if any score is larger than ``reach``, and equals ``loss`` otherwise."""

    coupling: ClassVar[Coupling]  # from the wrapped loss, as all attributes not defined here

    def __init__(self, loss: Loss, reach: float) -> None:
        self._loss, self._reach = loss, reach

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loss, name)

    def offers(self, capability: Capability[Any, Any]) -> bool:
        """Whether the wrapped loss has a capability."""
        return capability.has(self._loss)

    def value(self, scores: FloatArray, target: Target) -> float:
        """Weighted mean loss."""
        return self.value_grad(scores, target)[0]

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Weighted mean loss and its gradient in the scores."""
        value, grad = self._loss.value_grad(scores, target)
        if not np.abs(scores).max() <= self._reach:
            return math.nan, np.full_like(grad, math.nan)
        return value, grad

    def evaluation(
        self, scores: FloatArray, target: Target, near: Evaluation | None = None
    ) -> Evaluation:
        """An evaluation of this loss, not of the wrapped one."""
        return Evaluation(self, scores, target)

    def smoothed(self, width: float) -> NanBeyond | None:
        """The smoothed loss, NaN in the same places."""
        smooth = self._loss.smoothed(width)
        return None if smooth is None else NanBeyond(smooth, self._reach)
