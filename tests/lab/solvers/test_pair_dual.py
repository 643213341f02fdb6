"""Coordinate ascent on the dual of all pairs."""

import numpy as np
import pytest
import scipy.sparse as sp

from auctor.core.errors import IncompatibleError, ParameterError
from auctor.core.types import Target
from auctor.data import Dense, as_data
from auctor.lab.solvers import PairDualAscent
from auctor.lab.solvers.pair_dual import every_pair
from auctor.losses import Hinge, PairwiseHinge, PairwiseSquare
from auctor.minimise import minimise
from auctor.penalties import L1, L2, ElasticNet
from auctor.problem import Problem
from auctor.solvers import Bmrm, Continuation, Lbfgs

RNG = np.random.default_rng(3)
X = RNG.normal(size=(80, 4))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=80) > 0.6, 1.0, -1.0)


@pytest.mark.parametrize("strength", [1.0, 1e-2, 1e-3])
@pytest.mark.parametrize("build", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_same_minimum_as_continuation_and_cutting_planes(build, strength):
    problem = Problem(PairwiseHinge(), L2(strength), as_data(build(X), Y))
    found = minimise(problem, PairDualAscent(), tol=1e-9, max_iter=20000, rng=0)
    assert found.converged
    assert found.certified
    smoothed = minimise(problem, Continuation(), tol=1e-8, max_iter=5000)
    assert found.value == pytest.approx(smoothed.value, abs=1e-8)
    assert found.value == pytest.approx(
        minimise(problem, Bmrm(line_search=False), tol=1e-10).value, abs=1e-9
    )


def test_weights_and_a_smoothed_hinge():
    weight = RNG.uniform(0.5, 2.0, size=80)
    problem = Problem(PairwiseHinge(0.4), L2(0.02), as_data(X, Y, weight=weight))
    found = minimise(problem, PairDualAscent(), tol=1e-9, max_iter=5000, rng=0)
    best = minimise(problem, Lbfgs(), tol=1e-12)
    assert found.converged
    assert found.value == pytest.approx(best.value, abs=1e-9)


def test_an_l1_part():
    problem = Problem(PairwiseHinge(), ElasticNet(0.05, 0.5), as_data(X, Y))
    found = minimise(problem, PairDualAscent(), tol=1e-8, max_iter=20000, rng=0)
    other = minimise(problem, Continuation(), tol=1e-5, max_iter=5000, on_failure="ignore")
    assert found.converged
    assert found.value <= other.value + found.gap
    assert other.value - found.value <= other.gap


def test_pairs_stay_inside_groups():
    groups = np.arange(80) % 3
    target = Target(Y, groups=groups)
    first, second, weight = every_pair(target, 10**6)
    assert (groups[first] == groups[second]).all()
    assert ((Y[first] > 0) & (Y[second] < 0)).all()
    assert weight.sum() == pytest.approx(1.0)
    margins = 1.0 - X[first, 0] + X[second, 0]
    wanted = float(weight @ np.maximum(margins, 0.0))
    assert PairwiseHinge().value(X[:, 0].copy(), target) == pytest.approx(wanted)
    problem = Problem(PairwiseHinge(), L2(0.05), Dense(X, target))
    found = minimise(problem, PairDualAscent(), tol=1e-8, max_iter=5000, rng=0)
    assert found.value == pytest.approx(
        minimise(problem, Bmrm(line_search=False), tol=1e-9).value, abs=1e-8
    )


def test_too_many_pairs_are_refused_before_any_work():
    problem = Problem(PairwiseHinge(), L2(0.1), as_data(X, Y))
    with pytest.raises(IncompatibleError, match="at most 100 pairs; got"):
        minimise(problem, PairDualAscent(max_pairs=100))
    assert problem.counts.passes == 0


def test_other_losses_and_penalties_are_refused():
    for loss, penalty, words in (
        (Hinge(), L2(0.1), "over pairs"),
        (PairwiseSquare(), L2(0.1), "over pairs"),
        (PairwiseHinge(), L1(0.1), "l2 part"),
    ):
        with pytest.raises(IncompatibleError, match=words):
            minimise(Problem(loss, penalty, as_data(X, Y)), PairDualAscent())
    with pytest.raises(ParameterError):
        PairDualAscent(max_pairs=0)
