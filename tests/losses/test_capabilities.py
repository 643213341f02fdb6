"""Losses with a value and a gradient alone, and how capabilities are asked for."""

import numpy as np
import pytest

from auctor.core.capabilities import CENTRABLE, COMPILED, CURVED, PAIRED, SHIFTABLE, SORTING
from auctor.core.errors import IncompatibleError
from auctor.core.protocols import Coupling
from auctor.data import as_data
from auctor.lab.solvers import OrthantWise
from auctor.losses import FBeta, Hinge, Logistic, PairwiseHinge, PairwiseSquare, Prbep
from auctor.losses.base import BaseLoss
from auctor.minimise import minimise
from auctor.penalties import L1, L2
from auctor.problem import Problem
from auctor.problem.needs import Need
from auctor.solvers import Bmrm, Fista, Lbfgs, Lhac, choose
from auctor.testing import LossSuite

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4))
Y = np.where(X @ [1.0, -1.0, 0.5, 0.0] + RNG.normal(size=80) > 0.0, 1.0, -1.0)


class OnlyGradient(BaseLoss):
    """The logistic loss without any capability."""

    def value_grad(self, scores, target):
        return Logistic().value_grad(scores, target)


class OnlySubgradient(BaseLoss):
    """The hinge of pairs without any capability."""

    coupling = Coupling.GLOBAL
    smooth = False
    shift_invariant = True

    def value_grad(self, scores, target):
        return PairwiseHinge().value_grad(scores, target)


@pytest.mark.parametrize(
    ("penalty", "solver"),
    [(L2(0.1), Lbfgs()), (L1(0.02), Fista()), (L1(0.02), Lhac()), (L1(0.02), OrthantWise())],
    ids=["lbfgs", "fista", "lhac", "owlqn"],
)
def test_a_loss_with_a_gradient_alone_is_trained(penalty, solver):
    LossSuite(OnlyGradient()).run()
    data = as_data(X, Y)
    exact = Problem(Logistic(), penalty, data)
    wanted = minimise(exact, choose(exact), tol=1e-10)
    found = minimise(Problem(OnlyGradient(), penalty, data), solver, tol=1e-8, max_iter=5000)
    assert found.value == pytest.approx(wanted.value, rel=1e-8)


def test_a_loss_with_a_subgradient_alone_is_trained():
    data = as_data(X, Y)
    exact = Problem(PairwiseHinge(), L2(0.1), data)
    wanted = minimise(exact, choose(exact), tol=1e-8)
    found = minimise(Problem(OnlySubgradient(), L2(0.1), data), Bmrm(), tol=1e-5)
    assert found.value == pytest.approx(wanted.value, rel=1e-4)


def test_a_loss_has_the_capabilities_whose_protocols_it_implements():
    assert COMPILED.of(Hinge()).closed_prox
    assert COMPILED.find(PairwiseHinge()) is None
    assert PAIRED.of(PairwiseHinge()).per_pair == Hinge()
    assert SORTING.find(PairwiseSquare()) is None
    assert CENTRABLE.has(Prbep())
    assert not CENTRABLE.has(FBeta())
    assert CURVED.find(PairwiseHinge()) is None
    assert CURVED.has(PairwiseHinge(width=0.5))
    target = as_data(X, Y).target
    assert OnlyGradient().conjugate(np.zeros(80), target) is None
    assert OnlySubgradient().smoothed(0.1) is None
    assert FBeta(whole=True).smoothed(0.1) is None
    assert Prbep().smoothed(0.1) == Prbep(width=0.1)


def test_a_missing_capability_is_an_error_that_names_it():
    with pytest.raises(
        IncompatibleError, match="The solver needs a loss with curvature; got Hinge"
    ):
        CURVED.of(Hinge())
    with pytest.raises(IncompatibleError, match="Use another solver"):
        COMPILED.of(OnlyGradient())


class View:
    """A loss that answers for another one, and adds nothing."""

    def __init__(self, inner):
        self.inner = inner

    def offers(self, capability):
        return capability is not SORTING and capability.has(self.inner)

    def shifts(self, scores, target):
        return self.inner.shifts(scores, target)

    def evaluation(self, scores, target, near=None):
        return self.inner.evaluation(scores, target, near)


def test_a_view_says_which_of_its_methods_the_loss_behind_it_supports():
    assert SHIFTABLE.has(View(Hinge()))
    assert not SHIFTABLE.has(View(PairwiseHinge()))
    assert SORTING.has(PairwiseHinge())
    assert not SORTING.has(View(PairwiseHinge()))


def test_properties_are_not_computed_to_see_whether_they_are_there():
    class Costly(OnlyGradient):
        kind, param, closed_prox = 0, 0.0, False

        @property
        def width(self):
            raise AssertionError("computed")

    assert COMPILED.has(Costly())
    assert COMPILED.members == ("kind", "param", "width", "closed_prox")


def test_problems_provide_what_losses_offer():
    data = as_data(X, Y)
    plain = Problem(OnlyGradient(), L2(0.1), data).provides
    assert Need.SMOOTH_LOSS in plain
    assert not plain & (Need.CURVATURE | Need.POINTWISE_LOSS | Need.SMOOTHABLE_LOSS)
    kinked = Problem(Prbep(), L2(0.1), data).provides
    assert not (Need.SMOOTHABLE_LOSS | Need.CENTRED_SMOOTHING | Need.THRESHOLD_LOSS) & ~kinked


@pytest.mark.parametrize("fact", ["weights", "exchangeable"])
def test_the_kit_assumes_no_fact_that_a_loss_does_not_state(fact):
    """A loss without `BaseLoss` must say which weights and orders of rows it allows."""

    class Without:
        """The logistic loss, by delegation, but for one fact."""

        def __getattr__(self, name):
            if name == fact:
                raise AttributeError(name)
            return getattr(Logistic(), name)

    with pytest.raises(AttributeError, match=fact):
        LossSuite(Without()).run()
