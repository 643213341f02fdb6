"""The strength from which on every coefficient is zero, and penalties with another strength."""

import numpy as np
import pytest
from scipy import sparse

from auctor.core.errors import ParameterError
from auctor.data import as_data
from auctor.losses import (
    Absolute,
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Huber,
    Logistic,
    PairwiseHinge,
    PairwiseSquare,
    Poisson,
    Quantile,
    SmoothedHinge,
    Squared,
    SquaredHinge,
)
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
from auctor.solvers import regularisation_path, strength_max
from tests.solvers.paths import D, at, make_data, make_problem

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
        return getattr(self._own, name)


def test_a_penalty_needs_no_base_class():
    ours, foreign = (make_problem(Logistic(), penalty) for penalty in (L1(), Foreign()))
    assert not isinstance(foreign.penalty, BasePenalty)
    assert strength_max(foreign) == strength_max(ours)
