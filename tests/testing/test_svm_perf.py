"""SVM-perf's separations by brute force, and its optimum in auctor's units."""

import itertools

import numpy as np
import pytest

from auctor.data import as_data
from auctor.losses import Hinge, PairwiseHinge
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import Bmrm
from tests.fixtures.svm_perf import auc_separation, one_slack, table_separation

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5))
Y = np.where(X[:, 0] + RNG.normal(size=60) > 0.5, 1.0, -1.0)


def f1_loss(tp, fp, fn, tn):
    return 100.0 * (1.0 - 2.0 * tp / (2.0 * tp + fp + fn)) if tp + fp + fn else 0.0


def errors(tp, fp, fn, tn):
    return float(fp + fn)


@pytest.mark.parametrize("delta", [f1_loss, errors])
@pytest.mark.parametrize("seed", range(5))
def test_the_table_separation_is_the_best_of_all_labellings(delta, seed):
    rng = np.random.default_rng(seed)
    y = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0])
    scores = rng.normal(size=7) * 10.0**seed
    best = -np.inf
    for z in itertools.product((-1.0, 1.0), repeat=7):
        z = np.array(z)
        tp, fp = ((z > 0) & (y > 0)).sum(), ((z > 0) & (y < 0)).sum()
        best = max(best, delta(tp, fp, 3 - tp, 4 - fp) - scores @ (y - z))
    found = table_separation(delta)(scores, y)
    assert found.loss - scores @ found.change == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("scale", [0.0, 0.1, 1.0, 10.0])
def test_the_auc_separation_is_the_sum_of_pair_hinges(scale):
    """With its factor 2 on the margin; ties and exact margins included."""
    for scores in (scale * X[:, 0], np.round(scale * X[:, 0], 1)):
        found = auc_separation(scores, Y)
        margins = 1.0 - 2.0 * (scores[Y > 0][:, None] - scores[Y < 0])
        wanted = np.maximum(0.0, margins).sum()
        assert found.loss - scores @ found.change == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("strength", [1.0, 1e-2, 1e-4])
def test_one_slack_is_the_pairwise_hinge(strength):
    pairs = int((Y > 0).sum() * (Y < 0).sum())
    C = 1.0 / (4.0 * strength * pairs)
    theirs = one_slack(X, Y, C, auc_separation)
    ours = minimise(
        Problem(PairwiseHinge(), L2(strength), as_data(X, Y)), Bmrm(line_search=False), tol=1e-10
    )
    assert theirs.objective / (C * pairs) == pytest.approx(ours.value, rel=1e-9)
    np.testing.assert_allclose(2.0 * theirs.w, ours.coef, atol=1e-6)
    assert theirs.slack / pairs == pytest.approx(
        ours.value - 0.5 * strength * float(ours.coef @ ours.coef), rel=1e-6
    )


@pytest.mark.parametrize("strength", [1.0, 1e-2])
def test_one_slack_of_the_error_rate_is_the_hinge(strength):
    C = 1.0 / (4.0 * strength * 60)
    theirs = one_slack(X, Y, C, table_separation(errors))
    problem = Problem(Hinge(), L2(strength), as_data(X, Y), fit_intercept=False)
    ours = minimise(problem, Bmrm(line_search=False), tol=1e-10)
    assert theirs.objective / (C * 60) == pytest.approx(ours.value, rel=1e-9)
    np.testing.assert_allclose(2.0 * theirs.w, ours.coef, atol=1e-6)


def test_the_slack_bounds_the_training_loss():
    found = one_slack(X, Y, 1e-2, auc_separation)
    scores = X @ found.w
    swapped = (scores[Y > 0][:, None] <= scores[Y < 0]).sum()
    assert found.slack >= swapped
    assert found.cuts < 100
