"""Cutting planes first: models where there are any, a direction where there are none."""

import numpy as np
import pytest

from auctor.core.errors import IncompatibleError
from auctor.core.result import Status
from auctor.data import as_data
from auctor.losses import (
    FBeta,
    Hinge,
    Logistic,
    PairwiseHinge,
    PairwiseLogistic,
    PartialPairwiseHinge,
    Prbep,
    PrecisionAtK,
)
from auctor.metrics import auc
from auctor.minimise import minimise
from auctor.penalties import L1, L2
from auctor.problem import Problem
from auctor.solvers import Bmrm, Continuation, CutsFirst, SmoothFirst, choose
from auctor.solvers.kinked import cutting_planes as bmrm
from auctor.solvers.kinked import presets

RNG = np.random.default_rng(5)
X = RNG.normal(size=(500, 20))
SIGNAL = X @ RNG.normal(size=20)
CLEAR = np.where(SIGNAL + RNG.normal(size=500) > 3.0, 1.0, -1.0)
#: Rare positives behind noise: no model beats the empty one on these losses.
NOISY = SIGNAL + 7.0 * RNG.normal(size=500)
HIDDEN = np.where(np.quantile(NOISY, 0.95) < NOISY, 1.0, -1.0)
LOSSES = [FBeta(), PartialPairwiseHinge(0.1), Prbep(), PrecisionAtK(20)]


def problem_of(loss, y, strength=0.01):
    return Problem(loss, L2(strength), as_data(X, y))


def ranked():
    """AUC of the model that is trained on it, which no other loss can beat by much."""
    problem = problem_of(PairwiseLogistic(), HIDDEN)
    return auc(HIDDEN, X @ minimise(problem, choose(problem)).coef)


@pytest.mark.parametrize("loss", [*LOSSES, PairwiseHinge()], ids=repr)
def test_it_is_cutting_planes_where_there_is_a_model(loss):
    problem = problem_of(loss, CLEAR)
    found = minimise(problem, CutsFirst(), tol=1e-6)
    other = minimise(problem, Bmrm(), tol=1e-6)
    assert found.converged
    assert found.certified
    assert found.value == pytest.approx(other.value, abs=2e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_where_there_is_none_it_still_ranks(loss):
    problem = problem_of(loss, HIDDEN)
    assert isinstance(choose(problem), CutsFirst | SmoothFirst)
    assert not minimise(problem, Bmrm()).coef.any()
    found = minimise(problem, CutsFirst())
    assert found.converged
    assert found.certified
    assert auc(HIDDEN, X @ found.coef) > ranked() - 0.05


def test_an_empty_model_is_never_reported_as_solved_by_cuts():
    steps = []
    minimise(problem_of(FBeta(), HIDDEN), CutsFirst(), on_step=steps.append)
    for step in steps[:-1]:
        assert step.w[:-1].any() or step.gap > 0.9  # the bound is kept back until there is a model


def test_a_stall_of_the_cuts_goes_on_from_their_best_point():
    # At this strength the cuts drown in rounding.
    problem = problem_of(PairwiseHinge(), CLEAR, 1e-16)
    cuts = minimise(problem, Bmrm(), on_failure="ignore")
    assert not cuts.converged
    found = minimise(problem, CutsFirst())
    assert found.converged
    assert found.value < cuts.value + 1e-4  # the tolerance


def test_a_line_without_a_new_cut_is_not_the_end():
    found = minimise(problem_of(PairwiseHinge(), CLEAR, 1e-12), Bmrm())
    assert found.converged


SCALES = np.geomspace(1e-6, 1e6, X.shape[1])


@pytest.mark.parametrize("strength", [1e-6, 1e-9, 1e-15])
@pytest.mark.parametrize("loss", [*LOSSES, PairwiseHinge()], ids=repr)
def test_cuts_end_where_they_cannot_go_on(loss, strength):
    problem = Problem(loss, L2(strength), as_data(X * SCALES, CLEAR))
    cuts = minimise(problem, Bmrm(), tol=1e-10, on_failure="ignore")
    assert cuts.status in (Status.CONVERGED, Status.STALLED)


def test_first_lines_are_searched_bluntly(monkeypatch):
    accuracies = []
    search = bmrm.lowest_on
    monkeypatch.setattr(
        bmrm, "lowest_on", lambda *given: accuracies.append(given[2]) or search(*given)
    )
    problem, solver = problem_of(PairwiseHinge(), CLEAR, 1e-3), Bmrm()
    state, gaps = solver.init(problem, problem.start(), np.random.default_rng(0)), []
    for _ in range(6):
        before = state.best
        state = solver.step(problem, state)
        gaps.append(before.value - state.lower)
    shares = np.array(accuracies) / np.array(gaps)
    np.testing.assert_allclose(shares, [1.0] * bmrm.ROUGH_SEARCH_CUTS + [bmrm.SEARCH_ACCURACY] * 3)


def test_the_smoothing_solver_can_be_chosen():
    one = minimise(problem_of(Prbep(), HIDDEN), CutsFirst(Continuation()))
    assert one.converged
    assert one.coef.any()


def test_which_problems_it_is_for():
    assert isinstance(choose(problem_of(Prbep(), CLEAR, 1e-1)), CutsFirst)
    assert not isinstance(choose(problem_of(Prbep(), CLEAR, 1e-6)), CutsFirst)
    assert isinstance(choose(problem_of(FBeta(), CLEAR, 1e-1)), CutsFirst)
    assert not isinstance(choose(problem_of(PairwiseHinge(), CLEAR, 1e-3)), CutsFirst)
    assert not isinstance(choose(problem_of(Hinge(), CLEAR, 1.0)), CutsFirst)
    for loss, penalty in ((Logistic(), L2(0.1)), (Prbep(), L1(0.1))):
        with pytest.raises(IncompatibleError, match="CutsFirst needs"):
            minimise(Problem(loss, penalty, as_data(X, CLEAR)), CutsFirst())


def test_cuts_go_on_after_a_turn_of_smoothing(monkeypatch):
    monkeypatch.setattr(presets, "ZERO_MODEL_MOST_CUTS", 2)
    monkeypatch.setattr(presets, "SMOOTHING_TURN", 3)
    problem = problem_of(FBeta(), CLEAR)
    solver, seen = CutsFirst(), []
    state = solver.init(problem, problem.start(), np.random.default_rng(0))
    for _ in range(12):
        state = solver.step(problem, state)
        seen.append(state.stage == 1)
    first = seen.index(True)
    assert seen == [False] * first + [True] * 3 + [False] * (9 - first)
    found = minimise(problem, solver, tol=1e-6)
    assert found.converged
    assert found.value == pytest.approx(minimise(problem, Bmrm(), tol=1e-6).value, abs=2e-6)
