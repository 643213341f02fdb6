"""The one loop: arguments, budgets, statuses, callbacks, trace."""

import dataclasses
import math
import time
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

from auctor.core.errors import ConvergenceWarning, DataError, IncompatibleError, ParameterError
from auctor.core.result import Solution, Status, Trace
from auctor.covariance.solve import resolve_solver as resolve_graph_solver
from auctor.data import as_data
from auctor.lab.solvers import GradientDescent
from auctor.losses import Exponential, Hinge, Logistic, Squared
from auctor.minimise import check_solver, minimise
from auctor.penalties import L1, L2, NoPenalty
from auctor.problem import Problem
from auctor.problem.needs import NOTHING
from auctor.solvers import Exact, Newton, choose, resolve
from auctor.solvers.base import State

RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 3))
Y = np.where(X[:, 0] + RNG.normal(size=60) > 0.5, 1.0, -1.0)


def logistic(strength=0.01):
    return Problem(Logistic(), L2(strength), as_data(X, Y))


@dataclass(frozen=True)
class Scripted:
    """Visits given points one by one, then stays; may wait, and may call itself stalled."""

    points: tuple = ()
    wait: float = 0.0
    stall_at: int = 10**9

    needs = NOTHING

    def init(self, problem, w, rng):
        return _Visit(problem.evaluate(w))

    def step(self, problem, state):
        time.sleep(self.wait)
        k = min(state.k, len(self.points) - 1)
        point = problem.evaluate(np.asarray(self.points[k])) if self.points else state.point
        return _Visit(point, k=state.k + 1, stalled=state.k + 1 >= self.stall_at)


@dataclass(frozen=True)
class _Visit(State):
    k: int = 0


# --- arguments ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"tol": -1e-3}, ParameterError, "tol"),
        ({"tol": math.nan}, ParameterError, "tol"),
        ({"tol": "small"}, ParameterError, "tol"),
        ({"max_iter": -1}, ParameterError, "max_iter"),
        ({"max_iter": 1.5}, ParameterError, "max_iter"),
        ({"max_seconds": -1.0}, ParameterError, "max_seconds"),
        ({"on_failure": "raise"}, ParameterError, "on_failure"),
        ({"w0": np.zeros(3)}, DataError, "w0"),
        ({"w0": np.full(4, np.nan)}, DataError, "w0"),
        ({"rng": "seed"}, ParameterError, "random_state"),
    ],
)
def test_bad_arguments_are_refused(options, error, words):
    with pytest.raises(error, match=words):
        minimise(logistic(), Newton(), **options)


def test_the_refusal_says_who_lacks_what_and_who_can():
    problem = Problem(Hinge(), L1(0.1), as_data(X, Y))
    with pytest.raises(IncompatibleError, match="Newton needs a differentiable loss, a loss with"):
        minimise(problem, Newton())
    with pytest.raises(IncompatibleError, match="Solvers that can: proximal_point, continuation"):
        resolve(Newton(), problem)
    with pytest.raises(IncompatibleError, match="Hinge with L1 on Dense data"):
        resolve("newton", problem)
    assert problem.counts.passes == 0


# --- outcomes -----------------------------------------------------------------------------------


def test_a_converged_solution_has_every_field():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = minimise(logistic(), Newton(), tol=1e-8)
    assert solution.status is Status.CONVERGED
    assert solution.converged
    assert solution.certified
    assert solution.gap <= solution.tol
    assert solution.solver == "Newton"
    assert solution.advice() == ""
    assert solution.coef.shape == (3,)
    assert solution.n_iter == len(solution.trace) - 1
    assert solution.seconds >= solution.trace.seconds[-1]
    assert all(getattr(solution, field.name) is not None for field in dataclasses.fields(Solution))


def test_stopping_early_warns_with_the_gap_and_one_thing_to_do():
    with pytest.warns(ConvergenceWarning, match=r"GradientDescent stopped after 2 .*certified gap"):
        solution = minimise(logistic(), GradientDescent(), tol=1e-12, max_iter=2)
    assert solution.status is Status.MAX_ITER
    assert "max_iter" in solution.advice()
    assert f"{solution.gap:.3g}" in solution.advice()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        minimise(logistic(), GradientDescent(), tol=1e-12, max_iter=2, on_failure="ignore")


def test_the_best_point_is_returned_not_the_last():
    far = np.array([9.0, 9.0, 9.0, 9.0])
    near = np.array([0.9, 0.0, 0.0, -0.5])
    solution = minimise(
        logistic(), Scripted((near, far, far)), max_iter=3, tol=1e-9, on_failure="ignore"
    )
    np.testing.assert_array_equal(solution.coef, near[:3])
    assert solution.value <= min(solution.trace.value)
    assert solution.trace.value[-1] > solution.value


def test_a_solver_that_gives_up_is_stalled():
    solution = minimise(logistic(), Scripted(stall_at=2), tol=0.0, on_failure="ignore")
    assert solution.status is Status.STALLED
    assert solution.n_iter == 2


def test_the_gap_is_recomputed_never_taken_from_the_solver():
    """A dual point that belongs to another problem cannot make a wrong point look right."""
    problem, w = logistic(), np.array([3.0, -2.0, 1.0, 0.0])
    optimum = minimise(logistic(), Newton(), tol=1e-12)
    best = problem.evaluate(problem.join(optimum.coef, optimum.intercept))

    class Borrowing(Scripted):
        def step(self, problem, state):
            return State(problem.evaluate(w), dual=best)

    solution = minimise(problem, Borrowing(), w0=w, max_iter=2, on_failure="ignore")
    assert not solution.converged
    assert solution.value - optimum.value <= solution.gap * (1 + 1e-9)


def test_no_data_in_the_columns_is_solved_at_once():
    problem = Problem(Logistic(), L2(0.1), as_data(np.zeros((60, 2)), Y))
    solution = minimise(problem, Newton())
    assert solution.converged
    assert solution.n_iter == 0
    up = np.mean(Y > 0)
    assert solution.intercept == pytest.approx(np.log(up / (1 - up)), rel=1e-10)


def test_an_objective_that_overflows_is_not_finite_with_finite_coefficients():
    problem = Problem(Exponential(), L2(0.01), as_data(X, Y))
    with pytest.warns(ConvergenceWarning, match="stopped being finite"):
        solution = minimise(problem, Newton(), w0=np.array([-1e4, 0.0, 0.0, 0.0]))
    assert solution.status is Status.NOT_FINITE
    assert np.isfinite(solution.coef).all()
    assert math.isfinite(solution.value)


# --- budgets, interrupts, callbacks -------------------------------------------------------------


def test_the_time_budget_ends_a_slow_solve():
    begin = time.perf_counter()
    solution = minimise(
        logistic(), Scripted(wait=0.02), tol=0.0, max_seconds=0.1, on_failure="ignore"
    )
    assert solution.status is Status.MAX_SECONDS
    assert 1 <= solution.n_iter <= 6
    assert 0.1 <= time.perf_counter() - begin < 2.0
    assert "max_seconds" in solution.advice()


def test_an_interrupt_before_the_first_point_returns_the_start():
    class Impatient(Scripted):
        def init(self, problem, w, rng):
            raise KeyboardInterrupt

    w0 = np.array([0.5, 0.0, 0.0, 0.1])
    solution = minimise(logistic(), Impatient(), w0=w0, on_failure="ignore")
    assert solution.status is Status.INTERRUPTED
    np.testing.assert_array_equal(solution.coef, w0[:3])
    assert solution.n_iter == 0
    assert "warm_start" in solution.advice()


def test_callbacks_see_every_step_and_can_stop():
    seen = []

    def watch(step):
        seen.append((step.iteration, step.value, step.gap, step.passes, step.w.copy()))
        return step.iteration == 3

    solution = minimise(logistic(), GradientDescent(), tol=0.0, on_step=watch, on_failure="ignore")
    assert solution.status is Status.STOPPED
    assert [s[0] for s in seen] == [0, 1, 2, 3]
    assert tuple(s[1] for s in seen) == solution.trace.value
    assert tuple(s[2] for s in seen) == solution.trace.gap
    np.testing.assert_array_equal(seen[-1][4][:3], solution.coef)


def test_errors_of_a_callback_are_the_users():
    def broken(step):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        minimise(logistic(), Newton(), on_step=broken)


def test_tolerances_are_relative_to_the_null_model():
    for factor in (1e-6, 1.0, 1e6):
        problem = Problem(Squared(), L2(0.1), as_data(X, factor * (X[:, 0] + Y)))
        solution = minimise(problem, GradientDescent(), tol=1e-3)
        assert solution.tol == pytest.approx(1e-3 * problem.null.loss, rel=1e-12)
        assert solution.n_iter == pytest.approx(8, abs=8)


def test_work_is_that_of_this_solve():
    problem = logistic()
    assert problem.unit > 0.0  # the null model is evaluated once, by whoever asks first
    before = problem.counts.passes
    first, again = minimise(problem, Newton()), minimise(problem, Newton())
    assert again.passes == first.passes
    assert again.evaluations <= first.evaluations
    assert again.trace.passes == first.trace.passes
    assert problem.counts.passes == before + first.passes + again.passes


@pytest.mark.parametrize("hidden", [True, False])
def test_an_interrupt_that_compiled_code_hides_is_one(hidden):
    class Breaks(Newton):
        def step(self, problem, state):
            try:
                raise KeyboardInterrupt if hidden else ValueError
            except BaseException as error:
                raise SystemError("returned a result with an exception set") from error

    if hidden:
        assert minimise(logistic(), Breaks(), on_failure="ignore").status is Status.INTERRUPTED
    else:
        with pytest.raises(SystemError):
            minimise(logistic(), Breaks())


def test_a_trace_is_made_of_columns():
    assert len(Trace()) == 0
    solution = minimise(logistic(), Newton())
    trace = solution.trace
    assert len({len(getattr(trace, field.name)) for field in dataclasses.fields(trace)}) == 1


# --- the decision table -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "penalty", "name"),
    [
        (Squared(), L2(0.1), "Newton"),
        (Squared(), NoPenalty(), "Newton"),
        (Logistic(), L2(0.1), "Newton"),
        (Squared(), L1(0.1), "ProximalNewton"),
        (Logistic(), L1(0.1), "ProximalNewton"),
        (Hinge(), L2(0.1), "ProximalPoint"),
        (Hinge(), L1(0.1), "ProximalPoint"),
    ],
)
def test_the_default_solver(loss, penalty, name):
    assert type(choose(Problem(loss, penalty, as_data(X, Y)))).__name__ == name


def test_solvers_resolve_from_names_and_objects():
    problem = Problem(Squared(), L2(0.1), as_data(X, Y))
    assert resolve("auto", problem) == Newton()
    assert resolve("lbfgs", problem) == type(resolve("lbfgs", problem))()
    assert resolve(Exact(direct=False), problem) == Exact(direct=False)
    with pytest.raises(ParameterError, match="'auto', 'exact'"):
        resolve("no_such_solver", problem)


@pytest.mark.parametrize("given", ["newtonn", 3, None, object()])
def test_a_solver_is_a_name_or_an_object_with_its_methods(given):
    with pytest.raises(ParameterError, match="needs solver to be 'auto', 'a' or a solver obj"):
        check_solver(given, ("a",))
    for fine in ("auto", "a", Newton()):
        check_solver(fine, ("a",))


def test_a_class_of_solvers_is_answered_with_its_instance():
    for resolves in (
        lambda: check_solver(Newton, ()),
        lambda: resolve(Newton, logistic()),
        lambda: resolve_graph_solver(Newton),
    ):
        with pytest.raises(ParameterError, match=r"Pass Newton\(\)\."):
            resolves()
