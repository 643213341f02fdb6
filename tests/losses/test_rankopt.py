"""RankOpt: the pairs it takes, and what training on them gives."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from auctor.core.errors import ParameterError
from auctor.core.types import Target
from auctor.data import as_data
from auctor.lab.solvers import GradientDescent
from auctor.losses import PairwiseSquare, RankOpt
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import Exact, Lbfgs


def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))


def coupling(p, q):
    """Overlap of the cells of two divisions of [0, 1]."""
    a, b = np.cumsum(np.append(0.0, p)), np.cumsum(np.append(0.0, q))
    top = np.minimum(a[1:, None], b[None, 1:])
    return np.maximum(top - np.maximum(a[:-1, None], b[None, :-1]), 0.0)


@pytest.mark.parametrize("cycles", [1, 2, 5])
def test_every_positive_meets_as_many_negatives(cycles):
    """With a whole ratio these are the published pairs, up to the order of the negatives."""
    rng = np.random.default_rng(0)
    pos, neg = rng.normal(size=4), rng.normal(size=4 * cycles)
    y = np.append(np.ones(4), -np.ones(4 * cycles))
    published = np.mean([sigmoid(neg[k] - pos[k % 4]) for k in range(neg.size)])
    reordered = neg.reshape(cycles, 4).T.ravel()
    value = RankOpt().value(np.append(pos, reordered), Target(y))
    assert value == pytest.approx(published, rel=1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_equals_the_overlap_of_cumulative_weights(seed):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(30) < 0.3, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    weight, scores = rng.uniform(0.1, 2.0, size=30), rng.normal(size=30)
    target = Target(y, weight)
    p, q = (weight[y == s] / weight[y == s].sum() for s in (1.0, -1.0))
    mass = coupling(p, q)
    assert np.count_nonzero(mass > 1e-15) <= 29
    z = (scores[y < 0][None, :] - scores[y > 0][:, None]) / 0.5
    assert RankOpt(0.5).value(scores, target) == pytest.approx((mass * sigmoid(z)).sum(), rel=1e-12)


def test_groups_are_coupled_inside():
    rng = np.random.default_rng(1)
    y = np.where(np.arange(24) % 3 == 0, 1.0, -1.0)
    groups, scores = np.repeat([0, 1], 12), rng.normal(size=24)
    whole = RankOpt().value(scores, Target(y, groups=groups))
    halves = [RankOpt().value(scores[groups == g], Target(y[groups == g])) for g in (0, 1)]
    assert whole == pytest.approx(np.mean(halves), rel=1e-14)


@pytest.mark.parametrize("solver", [Lbfgs(), GradientDescent()], ids=repr)
def test_few_pairs_rank_as_well_as_all(solver):
    """Within 0.01 of the AUC that the square loss over all pairs reaches."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2000, 8))
    scores = X @ rng.normal(size=8) + 2.0 * rng.normal(size=2000)
    y = np.where(scores > np.quantile(scores, 0.9), 1.0, -1.0)
    data = as_data(X, y)
    found = minimise(
        Problem(RankOpt(), L2(1e-3), data), solver, max_iter=200, tol=1e-3, on_failure="ignore"
    )
    square = minimise(Problem(PairwiseSquare(), L2(1e-3), data), Exact())
    assert roc_auc_score(y, X @ found.coef) >= roc_auc_score(y, X @ square.coef) - 0.01


def test_the_penalty_bounds_the_scale():
    """Separable data: without a penalty the best scale is infinite."""
    X = np.array([[1.0], [2.0], [-1.0], [-2.0]])
    problem = Problem(RankOpt(), L2(0.01), as_data(X, [1, 1, -1, -1]))
    norm = abs(minimise(problem, Lbfgs(), tol=1e-8).coef[0])
    stronger = problem.with_penalty(L2(0.1))
    assert 0.0 < abs(minimise(stronger, Lbfgs(), tol=1e-8).coef[0]) < norm < 10.0


def test_a_width_of_zero_is_refused():
    with pytest.raises(ParameterError, match="RankOpt needs width"):
        RankOpt(0.0)
