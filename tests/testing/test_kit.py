"""The kit finds the parts, and the faults it is for."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from auctor.core.types import Target
from auctor.data import Dense
from auctor.losses import Hinge, Logistic, Quantile, Squared, SquaredHinge
from auctor.penalties import L1, L2
from auctor.problem.needs import NOTHING
from auctor.solvers import Fista, Newton
from auctor.testing import DataSuite, LossSuite, PenaltySuite, SolverSuite, discover
from auctor.testing.problems import references
from auctor.testing.suite import Suite


def test_discovery_finds_the_concrete_parts_only():
    names = [kind.__name__ for kind in discover.losses()]
    assert "Logistic" in names
    assert not {"BaseLoss", "Pointwise", "Pairwise"} & set(names)
    assert [kind.__name__ for kind in discover.storages()] == [
        "Binned",
        "Dense",
        "Emptied",
        "Sharded",
        "Sparse",
        "Stacked",
    ]
    assert {"Newton", "Fista", "Continuation"} <= {kind.__name__ for kind in discover.solvers()}


def test_checks_are_listed_in_order_and_by_applicability():
    class Small(Suite):
        def check_b(self):
            """Run."""

        def check_a(self):
            """Run."""

    assert Small.checks() == ["check_b", "check_a"]
    assert Small().run() == ["check_b", "check_a"]
    assert "check_curvature" not in LossSuite(Hinge()).applicable()
    assert "check_curvature" in LossSuite(Logistic()).applicable()


# --- losses with one fault each ---------------------------------------------------------------


class WrongQuantile(Quantile):
    """River's fault: value and gradient use opposite quantiles; equal at the default 0.5."""

    def value_grad(self, scores, target):
        value, _ = super().value_grad(scores, target)
        return value, Quantile(1.0 - self.tau).value_grad(scores, target)[1]


class WrongCurvature(Logistic):
    def curvature(self, scores, target):
        return super().curvature(1.01 * scores, target)


class HalfConjugate(SquaredHinge):
    def conjugate(self, dscores, target):
        return 0.5 * super().conjugate(dscores, target)


class Unweighted(Squared):
    def value_grad(self, scores, target):
        return super().value_grad(scores, Target(target.y))


class NotConvex(Logistic):
    def value_grad(self, scores, target):
        value, grad = super().value_grad(scores, target)
        return value + 0.2 * float(np.sin(3 * scores[0])), grad + 0.0


class ClaimsShift(Logistic):
    shift_invariant = True


class SmoothedAbove(Hinge):
    def smoothed(self, width):
        return super().smoothed(width) and SquaredHinge()


class HidesNan(Squared):
    def value_grad(self, scores, target):
        return super().value_grad(np.nan_to_num(scores), target)


class Writes(Squared):
    def value_grad(self, scores, target):
        out = super().value_grad(scores, target)
        scores += 1.0
        return out


class HighInfimum(Logistic):
    def infimum(self, target):
        return 0.5


class ClaimsRows(Squared):
    def value_grad(self, scores, target):
        m = float(target.share @ (scores - target.y))
        return 0.5 * m * m, m * target.share


@pytest.mark.parametrize(
    ("loss", "check"),
    [
        (WrongQuantile(0.2), "check_gradient"),
        (WrongCurvature(), "check_curvature"),
        (HalfConjugate(), "check_fenchel_young"),
        (Unweighted(), "check_zero_weights"),
        (Unweighted(), "check_weights_are_repetition"),
        (NotConvex(), "check_convexity"),
        (NotConvex(), "check_gradient"),
        (ClaimsShift(), "check_shift_invariance"),
        (SmoothedAbove(), "check_smoothed"),
        (HidesNan(), "check_nan_is_not_hidden"),
        (Writes(), "check_inputs_untouched"),
        (HighInfimum(), "check_infimum"),
        (HighInfimum(), "check_conjugate_is_convex"),
        (ClaimsRows(), "check_row_coupling"),
    ],
    ids=lambda x: x if isinstance(x, str) else type(x).__name__,
)
def test_loss_faults_are_found(loss, check):
    suite = LossSuite(loss)
    assert check in suite.applicable()
    with pytest.raises(AssertionError):
        getattr(suite, check)()


# --- penalties, data, solvers -------------------------------------------------------------------


class LazyProx(L1):
    def prox(self, v, step):
        return super().prox(v, 0.9 * step)


class LazyViolation(L1):
    def violation(self, w, grad):
        return 0.9 * super().violation(w, grad)


class TimidScale(L1):
    def dual_scale(self, v):
        return 0.5 * super().dual_scale(v)


class WrongConjugate(L2):
    def conjugate(self, v):
        return 0.5 * super().conjugate(v)


class ClaimsSmooth(L1):
    smooth = True


@pytest.mark.parametrize(
    ("penalty", "check"),
    [
        (LazyProx(0.5), "check_prox_is_the_minimiser"),
        (LazyProx(0.5), "check_prox_by_golden_section"),
        (LazyProx(0.5), "check_violation_at_optimum"),
        (LazyViolation(0.5), "check_violation_is_the_distance"),
        (TimidScale(0.5), "check_dual_scale"),
        (WrongConjugate(0.5), "check_fenchel"),
        (ClaimsSmooth(0.5), "check_smooth_flag"),
    ],
    ids=lambda x: x if isinstance(x, str) else type(x).__name__,
)
def test_penalty_faults_are_found(penalty, check):
    with pytest.raises(AssertionError):
        getattr(PenaltySuite(penalty), check)()


class ThreadDependent(Dense):
    def gradient(self, dscores):
        parts = np.array_split(np.arange(self.n_rows), self.n_threads)
        X = self._lines if self.by_rows else self._lines.T
        return sum(X[part].T @ dscores[part] for part in parts)


class NoOffset(Dense):
    def scores(self, w, offset=0.0):
        return super().scores(w)


def test_data_faults_are_found():
    threads = DataSuite(lambda X, target, k: ThreadDependent(X, target, n_threads=k))
    threads.check_gradient()
    with pytest.raises(AssertionError, match="threads"):
        threads.check_threads()
    with pytest.raises(AssertionError, match="scores"):
        DataSuite(lambda X, target, k: NoOffset(X, target, n_threads=k)).check_scores()


@dataclass(frozen=True)
class Boaster(Newton):
    """Reports a lower value than it has."""

    def step(self, problem, state):
        out = super().step(problem, state)
        return replace(out, point=replace(out.point, loss=0.9 * out.point.loss))


@dataclass(frozen=True)
class Restless(Newton):
    """Draws from a generator of its own."""

    def init(self, problem, w, rng):
        return super().init(problem, w + 0.1 * np.random.default_rng().normal(size=w.shape), rng)


@dataclass(frozen=True)
class Greedy(Fista):
    """States less than it needs: a kinked loss stalls it."""

    needs = NOTHING


@pytest.mark.parametrize(
    ("solver", "check", "names"),
    [
        (Boaster(), "check_value", ("logistic-l2",)),
        (Boaster(), "check_iteration_budget", ("logistic-l2",)),
        (Restless(), "check_seed", ("logistic-l2",)),
        (Restless(), "check_start", ("logistic-l2",)),
        (Greedy(), "check_optimum", ("hinge-l2",)),
        (Newton(forcing=0.9), "check_refusals", ("logistic-l2", "lasso")),
    ],
    ids=lambda x: type(x).__name__ if isinstance(x, Newton | Fista) else "",
)
def test_solver_faults_are_found(solver, check, names, monkeypatch):
    if check == "check_refusals":  # a loop that lets anything pass
        monkeypatch.setattr("auctor.minimise.check_needs", lambda *_: None)
        monkeypatch.setattr("auctor.testing.solvers.resolve", lambda solver, _: solver)
    suite = SolverSuite(solver, problems=tuple(r for r in references() if r.name in names))
    with pytest.raises(AssertionError):
        getattr(suite, check)()


def test_a_wrong_reference_is_noticed():
    (right,) = (r for r in references() if r.name == "logistic-l2")
    wrong = replace(right, w=right.w + 0.1)
    with pytest.raises(AssertionError):
        SolverSuite(Newton(), problems=(wrong,)).check_minimiser()


def test_a_solver_that_can_do_nothing_is_noticed():
    with pytest.raises(AssertionError, match="none of the reference problems"):
        SolverSuite(Newton(), problems=tuple(r for r in references() if r.name == "hinge-l2"))
