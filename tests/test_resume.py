"""A solve that was ended goes on at its best point, with what its solver has learned."""

from dataclasses import replace

import numpy as np
import pytest

from auctor.core.errors import DataError, DataLost
from auctor.core.result import Status
from auctor.core.types import Target
from auctor.data import Dense, Sharded
from auctor.data.workers import MemoryWorkers
from auctor.fit.checkpoint import Checkpoint
from auctor.lab.solvers import OrthantWise
from auctor.losses import Logistic, PairwiseHinge, Prbep
from auctor.minimise import minimise
from auctor.penalties import L1, L2
from auctor.problem import Problem
from auctor.solvers import CutsFirst, Lbfgs, Lhac, choose

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1200, 40))
Y = np.where(X @ RNG.normal(size=40) + 3.0 * RNG.normal(size=1200) > 4.0, 1.0, -1.0)
GIVEN = {"tol": 1e-5, "max_iter": 500, "rng": 0, "on_failure": "ignore"}


def problem(loss, penalty):
    shards = [
        Dense(X[some], Target(Y[some]), n_threads=1) for some in np.array_split(np.arange(1200), 3)
    ]
    return Problem(loss, penalty, Sharded(MemoryWorkers(shards)))


def halves(loss, penalty, solver):
    """A whole solve, and the first and second half of one that was ended in the middle."""
    solver = solver or choose(problem(loss, penalty))
    whole = minimise(problem(loss, penalty), solver, **GIVEN)
    kept = []

    def end(step):
        kept[:] = [step.w.copy(), step.learned()]
        return step.iteration == whole.n_iter // 2

    first = minimise(problem(loss, penalty), solver, on_step=end, **GIVEN)
    assert first.status is Status.STOPPED
    second = minimise(problem(loss, penalty), solver, w0=kept[0], learned=kept[1], **GIVEN)
    return whole, first, second


@pytest.mark.parametrize(
    ("loss", "penalty", "solver"),
    [
        (Logistic(), L2(1e-4), Lbfgs()),
        (Logistic(), L1(1e-3), Lhac()),
        (Logistic(), L1(1e-3), OrthantWise()),
    ],
    ids=repr,
)
def test_quasi_newton_goes_on_as_one_solve(loss, penalty, solver):
    whole, first, second = halves(loss, penalty, solver)
    assert first.n_iter + second.n_iter == whole.n_iter
    assert first.evaluations + second.evaluations <= 1.1 * whole.evaluations
    np.testing.assert_allclose(second.coef, whole.coef, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("loss", "penalty", "solver"),
    [
        (PairwiseHinge(), L2(1e-3), CutsFirst()),
        (PairwiseHinge(), L2(1e-3), None),
        (Prbep(), L2(1e-2), None),
    ],
    ids=repr,
)
def test_other_solvers_start_again_at_the_point(loss, penalty, solver):
    whole, first, second = halves(loss, penalty, solver)
    assert second.trace.value[0] <= first.trace.value[-1] * (1.0 + 1e-12)
    assert second.status is Status.CONVERGED
    assert second.value <= whole.value + whole.gap


def learned_by(solver, penalty):
    kept = []

    def keep(step):
        kept[:] = [step.w.copy(), step.learned()]

    given = {**GIVEN, "tol": 1e-3, "max_iter": 20}
    minimise(problem(Logistic(), penalty), solver, on_step=keep, **given)
    return kept


@pytest.mark.parametrize(("solver", "penalty"), [(Lbfgs(), L2(1e-2)), (Lhac(), L1(1e-3))], ids=repr)
@pytest.mark.parametrize(
    "change",
    [
        lambda pairs: {"steps": pairs.steps[:, 1:]},
        lambda pairs: {"steps": pairs.steps[:1]},
        lambda pairs: {"steps": 2.0 * pairs.steps},
        lambda pairs: {"steps": np.full_like(pairs.steps, np.nan)},
        lambda pairs: {"changes": np.full_like(pairs.changes, np.inf)},
        lambda pairs: {"changes": -pairs.changes},
        lambda pairs: {"changes": 1e300 * pairs.changes},
        lambda pairs: {"changes": 1e-300 * pairs.changes},
        lambda pairs: {"changes": 1e9 * pairs.changes},
        lambda pairs: {"changes": 1e-9 * pairs.changes},
        lambda pairs: {"shrink": 1e-300},
        lambda pairs: {"shrink": -1.0},
        lambda pairs: {"iteration": 10**15},
        lambda pairs: {"streak": -(10**15)},
        lambda pairs: {"random": np.zeros(1, dtype=np.uint64)},
        lambda pairs: {"random": np.ones(3)},
    ],
)
def test_what_is_not_of_the_solve_does_not_change_its_result(solver, penalty, change):
    """Curvature that was made up may cost steps, never the optimum or its certificate."""
    w, pairs = learned_by(solver, penalty)
    other = replace(pairs, **change(pairs))
    wanted = minimise(problem(Logistic(), penalty), solver, **GIVEN)
    solution = minimise(problem(Logistic(), penalty), solver, w0=w, learned=other, **GIVEN)
    assert solution.status is Status.CONVERGED
    assert solution.certified
    assert abs(solution.value - wanted.value) <= wanted.gap + solution.gap


def test_a_solver_ignores_what_another_kind_of_thing_has_learned():
    one = problem(Logistic(), L2(1e-2))
    wanted = minimise(one, Lbfgs(), tol=1e-8)
    w = np.append(wanted.coef, wanted.intercept)
    for learned in (b"nonsense", {}, wanted):
        assert minimise(one, Lbfgs(), tol=1e-6, w0=w, learned=learned).n_iter == 0


class Leaves(MemoryWorkers):
    """Workers that are gone after some calls."""

    calls = 10**9

    def each(self, method, arguments):
        self.calls -= 1
        if self.calls < 0:
            raise DataLost("rows", got="none", todo="Start again.")
        return super().each(method, arguments)


def test_a_checkpoint_brings_a_lost_solve_to_its_end(tmp_path):
    from auctor import MetricClassifier

    shards = [Dense(X, Target(Y), n_threads=1)]
    data = Sharded(Leaves(shards))
    model = MetricClassifier("log_loss", solver="lbfgs", tol=1e-9, strength=1e-4)
    wanted = model.fit(data).solution_
    path = tmp_path / "run.ckpt"
    kept = Checkpoint(path, data.fingerprint(), {}, every=1)
    data.workers.calls = wanted.passes // 2
    with kept.keeping(), pytest.warns(UserWarning, match="no longer be read"):
        model.fit(data)
    lost = model.solution_
    assert lost.status is Status.LOST
    assert lost.coef.any()
    data.workers.calls = 10**9
    again = Checkpoint(path, data.fingerprint(), {})
    with again.keeping():
        model.continue_from(again).fit(data)
    done = model.solution_
    assert lost.n_iter + done.n_iter <= wanted.n_iter + 1
    assert lost.evaluations + done.evaluations <= 1.1 * wanted.evaluations + 2
    np.testing.assert_allclose(done.coef, wanted.coef, rtol=1e-6)
    other = Sharded(MemoryWorkers([Dense(X + 1e-9, Target(Y), n_threads=1)]))
    with pytest.raises(DataError, match="another checksum"):
        Checkpoint(path, other.fingerprint(), {})


@pytest.mark.parametrize("lower", [np.nan, -np.inf])
def test_a_bound_that_is_no_number_certifies_nothing(lower):
    class Claims(Lbfgs):
        def init(self, problem, w, rng):
            return replace(super().init(problem, w, rng), lower=lower)

        def step(self, problem, state):
            return replace(super().step(problem, state), lower=lower)

    one = Problem(Logistic(), L2(1e-2), Dense(X, Target(Y), n_threads=1))
    steps = []
    minimise(one, Claims(), max_iter=2, on_step=steps.append, on_failure="ignore")
    assert not any(step.certified for step in steps if not np.isfinite(step.gap))
    assert all(step.gap >= 0.0 for step in steps)
