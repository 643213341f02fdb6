"""One sorting of the classes serves the value, the gradient and the curvature at a point."""

import numpy as np
import pytest

from auctor.core.types import Target
from auctor.data import as_data
from auctor.losses import PairwiseHinge, PairwiseLogistic, PairwiseSquaredHinge
from auctor.losses.sorted_pairs import SortedClasses
from auctor.penalties import L2
from auctor.problem import Problem

RNG = np.random.default_rng(2)
X = RNG.normal(size=(40, 3))
Y = np.where(X[:, 0] + RNG.normal(size=40) > 0.0, 1.0, -1.0)


@pytest.fixture
def sortings(monkeypatch):
    """The scores that were sorted."""
    found, sort = [], SortedClasses.of.__func__

    def counted(cls, scores, target, margin):
        found.append(scores)
        return sort(cls, scores, target, margin)

    monkeypatch.setattr(SortedClasses, "of", classmethod(counted))
    return found


@pytest.mark.parametrize("loss", [PairwiseSquaredHinge(), PairwiseHinge(0.5), PairwiseLogistic()])
def test_a_point_is_sorted_once(loss, sortings):
    problem = Problem(loss, L2(0.1), as_data(X, Y))
    point = problem.evaluate(np.ones(3))
    problem.hessian(point).matvec(np.ones(3))
    assert len(sortings) == 1
    problem.evaluate(2.0 * np.ones(3))
    assert len(sortings) == 2


def test_other_widths_share_it_and_other_margins_do_not(sortings):
    problem = Problem(PairwiseHinge(), L2(0.1), as_data(X, Y))
    point = problem.evaluate(np.ones(3))
    smoothed = problem.with_loss(PairwiseHinge(0.5))
    assert smoothed.evaluate(point.w, scores=point.scores).loss < point.loss
    assert len(sortings) == 1
    logistic = problem.with_loss(PairwiseLogistic())
    found = logistic.evaluate(point.w, scores=point.scores)
    assert len(sortings) == 2
    assert found.loss == PairwiseLogistic().value(point.scores, Target(Y))


def test_scores_that_were_written_into_are_sorted_again():
    problem = Problem(PairwiseSquaredHinge(), L2(0.1), as_data(X, Y))
    scores = X @ np.ones(3)
    problem.evaluate(np.ones(3), scores=scores)
    scores *= -1.0
    found = problem.evaluate(-np.ones(3), scores=scores)
    assert found.loss == PairwiseSquaredHinge().value(scores, problem.data.target)
    assert not any("last" in name for name in vars(problem.data.target))
