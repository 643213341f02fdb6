"""Paths: the strength of the empty model, warm starts, budgets, interrupts."""

import numpy as np
import pytest
from scipy import sparse

from auctor.core.errors import AuctorError, ConvergenceWarning, DataError, ParameterError
from auctor.core.result import Status
from auctor.data import as_data
from auctor.losses import (
    Absolute,
    EpsilonInsensitive,
    Exponential,
    FBeta,
    Hinge,
    Huber,
    Logistic,
    PairwiseHinge,
    PairwiseSquare,
    Poisson,
    Prbep,
    PrecisionAtK,
    Quantile,
    SmoothedHinge,
    Squared,
    SquaredHinge,
)
from auctor.minimise import minimise
from auctor.penalties import (
    L1,
    L2,
    BasePenalty,
    Box,
    ElasticNet,
    GroupL2,
    NonNegative,
    NoPenalty,
    Separable,
    Sum,
    TreeL2,
)
from auctor.problem import Problem
from auctor.solvers import ProximalNewton, choose, regularisation_path, strength_max

N, D = 90, 6


def make_data(loss, *, weighted=False, store=np.asarray, n=N, d=D):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, d)) * rng.uniform(0.3, 3.0, size=d) + 0.4
    score = X @ np.r_[1.0, -1.0, 0.5, np.zeros(d - 3)] + rng.normal(size=n)
    y = {
        "binary": np.where(score > 0.5, 1.0, -1.0),
        "real": score,
        "counts": rng.poisson(np.exp(0.3 * np.clip(score, -3, 3))).astype(float),
    }["counts" if isinstance(loss, Poisson) else loss.targets]
    return as_data(store(X), y, weight=rng.integers(0, 4, n) if weighted else None)


def make_problem(loss, penalty=None, *, fit_intercept=True, **kwargs):
    penalty = L1() if penalty is None else penalty
    return Problem(loss, penalty, make_data(loss, **kwargs), fit_intercept=fit_intercept)


def at(problem, strength, **kwargs):
    """An independent solve."""
    changed = problem.with_penalty(problem.penalty.with_strength(strength))
    options = {"tol": 1e-9, "on_failure": "ignore", "rng": 0} | kwargs
    return minimise(changed, choose(changed), **options)


SMOOTH = [
    Logistic(),
    SquaredHinge(),
    SmoothedHinge(0.5),
    Exponential(),
    Squared(),
    Huber(0.7),
    Poisson(),
    PairwiseSquare(),
    PairwiseHinge(0.5),
]
PENALTIES = [
    L1(),
    L1(2.0, weights=[1.0, 5.0, 0.5, 2.0, 1.0, 3.0]),
    ElasticNet(1.0, 0.3),
    ElasticNet(0.1, 0.6, weights=[1.0, 5.0, 0.5, 2.0, 1.0, 3.0]),
    GroupL2(3.0, 2),
    GroupL2(1.0, [[0, 3], [1], [2, 4, 5]], weights=[2.0, 9.0, 0.1], l1_ratio=0.3),
    TreeL2(1.0, [-1, 0, 0, 1, -1, 4]),
    TreeL2(0.2, [-1, 0, 0, 1, -1, 4], weights=[0.2, 1.0, 3.0, 0.5, 1.0, 2.0]),
]


# --- the strength of the empty model ----------------------------------------------------------


def check_edge(problem):
    top = strength_max(problem)
    assert top > 0.0
    above, below = at(problem, 1.0001 * top), at(problem, 0.999 * top)
    assert not above.coef.any()
    assert below.coef.any()
    # Independently of any solver: 0 meets the conditions above, and not below.
    start = problem.evaluate(problem.start())
    grad, zero = problem.coef(start.gradient), np.zeros(problem.n_columns)
    violations = [
        np.linalg.norm(problem.penalty.with_strength(c * top).violation(zero, grad))
        for c in (1.0001, 0.999)
    ]
    assert violations[0] == 0.0
    assert violations[1] > 0.0
    assert start.imbalance == 0.0


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_it_is_where_the_first_column_enters(loss, weighted, fit_intercept):
    check_edge(make_problem(loss, weighted=weighted, fit_intercept=fit_intercept))


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("loss", [Logistic(), PairwiseSquare()], ids=repr)
def test_it_follows_the_dual_norm_of_the_penalty(loss, penalty):
    check_edge(make_problem(loss, penalty, weighted=True))


@pytest.mark.parametrize("scale", [1e-8, 1e8])
@pytest.mark.parametrize("penalty", [GroupL2(1.0, 2), TreeL2(1.0, [-1, 0, 0, 1, -1, 4])], ids=repr)
def test_it_scales_with_the_columns(penalty, scale):
    loss = Squared()
    data = make_data(loss)
    big = as_data(data.to_dense() * scale, data.target.y)
    ratio = strength_max(Problem(loss, penalty, big)) / strength_max(Problem(loss, penalty, data))
    assert ratio == pytest.approx(scale, rel=1e-9)


def test_it_does_not_depend_on_storage_or_own_strength():
    dense = strength_max(make_problem(Logistic(), L1(1.0)))
    assert strength_max(make_problem(Logistic(), L1(7.0), store=sparse.csr_array)) == pytest.approx(
        dense, rel=1e-12
    )


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(
    "loss", [Hinge(), Absolute(), Quantile(0.3), EpsilonInsensitive(0.2), PairwiseHinge()], ids=repr
)
def test_for_a_kinked_loss_it_is_an_upper_bound(loss, fit_intercept):
    problem = make_problem(loss, fit_intercept=fit_intercept)
    top = strength_max(problem)
    found = at(problem, top, tol=1e-5)
    empty = problem.with_penalty(L1(top))
    zero = empty.evaluate(empty.start()).value
    assert zero <= found.value + 1e-5 * abs(problem.null.loss)
    # And a useful one: half of it no longer holds the columns back.
    assert at(problem, 0.5 * top, tol=1e-4).coef.any()


@pytest.mark.parametrize(
    "penalty",
    [
        L2(),
        ElasticNet(1.0, 0.0),
        L1(weights=[1.0, 0.0, 1.0, 1.0, 1.0, 1.0]),
        GroupL2(1.0, [[0, 1], [2, 3, 4]], free=[5]),
        GroupL2(1.0, [[0, 1, 2], [3, 4, 5]], weights=[1.0, 0.0]),
        TreeL2(1.0, [-1, 0, 0, 1, -1, 4], weights=[1.0, 1.0, 1.0, 1.0, 0.0, 0.0]),
    ],
    ids=repr,
)
def test_a_column_without_a_kink_is_refused(penalty):
    problem = make_problem(Logistic(), penalty)
    with pytest.raises(ParameterError, match=r"strength_max needs a penalty with a kink.*\. Pass"):
        strength_max(problem)
    path = regularisation_path(problem, strengths=[1e-2, 1e-1], rng=0)
    assert path.converged


def test_columns_that_say_nothing():
    problem = Problem(Squared(), L1(), as_data(np.zeros((5, 2)), np.arange(5.0)))
    assert strength_max(problem) == 0.0
    with pytest.raises(ParameterError, match="Pass strengths"):
        regularisation_path(problem)
    groups = Problem(Squared(), GroupL2(1.0, 2), problem.data)
    assert strength_max(groups) == 0.0


# --- with_strength ------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [*PENALTIES, L2(2.0, weights=np.arange(6.0))], ids=repr)
def test_another_strength_scales_the_value(penalty):
    w = np.random.default_rng(0).normal(size=D)
    changed = penalty.with_strength(2.5 * penalty.strength)
    assert type(changed) is type(penalty)
    assert changed.value(w) == pytest.approx(2.5 * penalty.value(w))


@pytest.mark.parametrize(
    "penalty",
    [NoPenalty(), Box(-1.0, 1.0), NonNegative(), Separable(0.1), Sum(L1(0.1), NonNegative())],
    ids=repr,
)
def test_penalties_without_a_strength_are_refused(penalty):
    with pytest.raises(ParameterError, match="needs a penalty with a strength; got"):
        penalty.with_strength(1.0)
    with pytest.raises(ParameterError, match="strength"):
        regularisation_path(make_problem(Logistic(), penalty), strengths=[0.1])


class Foreign:
    """A penalty that derives from nothing of ours."""

    def __init__(self):
        self._own = L1()

    def __getattr__(self, name):
        if name == "with_strength":
            raise AttributeError(name)
        return getattr(self._own, name)


def test_a_foreign_penalty_is_refused_clearly():
    with pytest.raises(ParameterError, match="BasePenalty"):
        strength_max(make_problem(Logistic(), Foreign()))
    assert issubclass(L1, BasePenalty)


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
