"""Paths of strengths: warm starts, budgets, interrupts."""

import numpy as np
import pytest
from scipy import sparse

from auctor.core.errors import AuctorError, ConvergenceWarning, DataError, ParameterError
from auctor.core.result import Status
from auctor.data import as_data
from auctor.losses import (
    Absolute,
    FBeta,
    Hinge,
    Logistic,
    PairwiseHinge,
    PairwiseSquare,
    Poisson,
    Prbep,
    PrecisionAtK,
    Squared,
    SquaredHinge,
)
from auctor.minimise import minimise
from auctor.penalties import L1, L2, ElasticNet, GroupL2, NoPenalty, TreeL2
from auctor.problem import Problem
from auctor.solvers import ProximalNewton, choose, regularisation_path, strength_max
from tests.solvers.paths import D, at, make_problem

# --- paths --------------------------------------------------------------------------------------


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("loss", "penalty"),
    [
        (Logistic(), L1()),
        (Squared(), ElasticNet(1.0, 0.5)),
        (SquaredHinge(), L1()),
        (Poisson(), L1()),
        (PairwiseSquare(), L1()),
        (PairwiseHinge(0.5), L1()),
        (Absolute(), L1()),
        (Logistic(), GroupL2(1.0, 2)),
        (Squared(), TreeL2(1.0, [-1, 0, 0, 1, -1, 4])),
    ],
    ids=repr,
)
def test_a_path_equals_independent_solves(loss, penalty):
    problem = make_problem(loss, penalty, weighted=True)
    ratio = 1e-2 if loss.smooth else 0.1
    path = regularisation_path(problem, n=8, ratio=ratio, tol=1e-5, rng=0)
    assert len(path) == 8
    assert path.complete
    assert path.converged
    assert (np.diff(path.strengths) < 0).all()
    assert path.strengths[0] == pytest.approx(strength_max(problem))
    assert path.strengths[-1] == pytest.approx(ratio * path.strengths[0])
    if loss.smooth:
        assert path.n_nonzero[0] == 0
    assert path.n_nonzero[-1] > 0
    slack = 2e-5 * abs(problem.null.loss)
    for strength, solution in zip(path.strengths, path.solutions, strict=True):
        alone = at(problem, strength, tol=1e-7)
        assert solution.certified
        assert solution.value - alone.value <= solution.gap + 1e-12
        assert solution.value == pytest.approx(alone.value, abs=slack)


def test_columns_of_the_result():
    problem = make_problem(Logistic())
    path = regularisation_path(problem, n=5, rng=0)
    assert path.coef.shape == (5, D)
    assert path.intercept.shape == path.gap.shape == path.value.shape == (5,)
    assert (path.n_nonzero == (path.coef != 0).sum(axis=1)).all()
    for k, solution in enumerate(path.solutions):
        changed = problem.with_penalty(L1(path.strengths[k]))
        w = problem.join(path.coef[k], path.intercept[k])
        assert changed.evaluate(w).value == pytest.approx(path.value[k], rel=1e-12)
        assert path.gap[k] == solution.gap <= solution.tol
    assert "solutions" not in repr(path)


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_warm_starts_need_fewer_passes_than_cold_ones(store):
    problem = make_problem(Logistic(), store=store, n=200, d=40)
    path = regularisation_path(problem, n=30, tol=1e-6, rng=0)
    cold = sum(at(problem, s, tol=1e-6).passes for s in path.strengths)
    assert sum(s.passes for s in path.solutions) < 0.8 * cold


def test_data_and_counts_are_shared():
    problem = make_problem(Logistic())
    before = problem.counts.passes
    seen = []
    path = regularisation_path(problem, n=4, on_point=lambda s, _: seen.append(s), rng=0)
    assert seen == path.strengths.tolist()
    # One pass finds the largest strength, one the gap of the null model: the unit of tolerances.
    assert problem.counts.passes - before == 2 + sum(s.passes for s in path.solutions)
    other = problem.with_penalty(L2(0.1))
    assert other.data is problem.data
    assert other.null is problem.null
    assert other.penalty.strength == 0.1
    assert problem.penalty.strength == 1.0


def test_another_penalty_forgets_what_depended_on_the_first():
    problem = make_problem(Logistic(), L2(0.5))
    l1 = problem.with_penalty(L1(0.5))
    free = problem.with_penalty(NoPenalty())
    for known in (problem, l1, free):
        assert known.tolerance(1.0) > 0.0
    assert problem.certifiable
    assert not free.certifiable
    assert free.with_penalty(L1(0.5)).tolerance(1.0) == l1.tolerance(1.0)
    assert problem.with_penalty(NoPenalty()).tolerance(1.0) == free.tolerance(1.0)
    assert not problem.with_penalty(L1(0.5)).ridge.any()
    assert problem.ridge.any()
    assert problem.provides != problem.with_penalty(L1(0.5)).provides


def test_given_strengths_are_sorted_and_used_once():
    path = regularisation_path(make_problem(Logistic()), strengths=[0.01, 0.1, 0.05, 0.1], rng=0)
    assert path.strengths.tolist() == [0.1, 0.05, 0.01]


def test_a_solver_can_be_named_or_passed():
    problem = make_problem(Logistic())
    for solver in ("fista", ProximalNewton()):
        path = regularisation_path(problem, n=3, solver=solver, rng=0)
        names = {s.solver for s in path.solutions}
        assert names == {"Fista" if solver == "fista" else "ProximalNewton"}
    with pytest.raises(AuctorError, match="solver"):
        regularisation_path(problem, solver="nope")


@pytest.mark.parametrize(
    ("kwargs", "kind"),
    [
        ({"strengths": []}, ParameterError),
        ({"strengths": 3}, ParameterError),
        ({"strengths": [-1.0]}, ParameterError),
        ({"strengths": [np.nan]}, DataError),
        ({"strengths": [np.inf]}, DataError),
        ({"strengths": "many"}, DataError),
        ({"strengths": [[0.1]]}, DataError),
        ({"n": 0}, ParameterError),
        ({"n": 2.5}, ParameterError),
        ({"ratio": 0.0}, ParameterError),
        ({"ratio": 1.0}, ParameterError),
        ({"tol": -1.0}, ParameterError),
        ({"max_iter": -1}, ParameterError),
        ({"max_seconds": -1.0}, ParameterError),
        ({"on_failure": "shout"}, ParameterError),
        ({"rng": "seed"}, ParameterError),
    ],
    ids=repr,
)
def test_bad_parameters(kwargs, kind):
    with pytest.raises(kind, match=r"; got .*\. [A-Z]"):
        regularisation_path(make_problem(Logistic()), **kwargs)


# --- ends ---------------------------------------------------------------------------------------


def test_one_warning_for_a_path():
    problem = make_problem(Logistic())
    with pytest.warns(ConvergenceWarning, match=r"\d of 6 points") as caught:
        path = regularisation_path(problem, n=6, tol=1e-12, max_iter=1, rng=0)
    assert len(caught) == 1
    assert not path.converged
    assert path.complete
    assert regularisation_path(problem, n=6, max_iter=0, rng=0, on_failure="ignore").complete


def test_an_interrupt_in_a_solve_keeps_what_is_done():
    problem = make_problem(Logistic())
    solver = Interrupting(after=6)
    with pytest.warns(ConvergenceWarning, match="1 of"):
        path = regularisation_path(problem, n=20, ratio=1e-4, solver=solver, tol=1e-8, rng=0)
    assert 1 <= len(path) < 20
    assert len(path.strengths) == len(path)
    assert not path.complete
    assert path.solutions[-1].status is Status.INTERRUPTED
    assert all(s.converged for s in path.solutions[:-1])


class Interrupting(ProximalNewton):
    """Ctrl-C at a given step."""

    def __init__(self, after):
        super().__init__()
        object.__setattr__(self, "left", [after])

    def step(self, problem, state):
        self.left[0] -= 1
        if not self.left[0]:
            raise KeyboardInterrupt
        return super().step(problem, state)


class Fragile(L1):
    """Ctrl-C between two points."""

    def with_strength(self, strength):
        if strength < 0.02:
            raise KeyboardInterrupt
        return Fragile(strength)


def test_an_interrupt_between_points():
    problem = make_problem(Logistic(), Fragile())
    path = regularisation_path(problem, strengths=[0.1, 0.05, 0.01], rng=0)
    assert path.strengths.tolist() == [0.1, 0.05]
    assert not path.complete
    assert path.converged
    with pytest.raises(KeyboardInterrupt):
        regularisation_path(problem, strengths=[0.01])


def test_time_ends_the_path():
    problem = make_problem(Logistic())
    path = regularisation_path(problem, max_seconds=0.0, on_failure="ignore", rng=0)
    assert len(path) < 100
    assert not path.complete
    assert regularisation_path(problem, n=3, max_seconds=60.0, rng=0).complete


def test_a_callback_ends_the_path():
    path = regularisation_path(
        make_problem(Logistic()), n=10, on_point=lambda s, x: np.count_nonzero(x.coef) >= 2, rng=0
    )
    assert 1 < len(path) < 10
    assert path.n_nonzero[-1] >= 2
    assert (path.n_nonzero[:-1] < 2).all()
    assert not path.complete


KINKED = [Prbep(), PrecisionAtK(0.3), FBeta(), Hinge(), Absolute(), PairwiseHinge()]


@pytest.mark.sample(3)
@pytest.mark.parametrize("penalty", [L1(), ElasticNet(1.0, 0.6)], ids=repr)
@pytest.mark.parametrize("loss", KINKED, ids=repr)
def test_the_largest_strength_of_a_kinked_loss_is_exact(loss, penalty):
    """Just above it the empty model is optimal, just below it is not."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 4))
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=40) > 0.7, 1.0, -1.0)
    problem = Problem(loss, penalty, as_data(X, y))
    top = strength_max(problem)
    for factor, empty in ((1.01, True), (0.99, False)):
        at = problem.with_penalty(penalty.with_strength(factor * top))
        found = minimise(at, choose(at), tol=1e-7, max_iter=2000)
        assert found.certified
        assert (found.value + found.gap >= at.null.loss) == empty


@pytest.mark.parametrize("d", [20, 700])
def test_a_path_leaves_nothing_behind_in_the_problem(d):
    problem = make_problem(Logistic(), n=80, d=d)
    first = regularisation_path(problem, n=15, rng=0)
    assert problem.memory is None
    np.testing.assert_array_equal(regularisation_path(problem, n=15, rng=0).coef, first.coef)
