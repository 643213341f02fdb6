"""Data that offer nothing but two products train every metric, to the optimum found in memory."""

import numpy as np
import pytest

from auctor.core.data_capabilities import STORED
from auctor.core.errors import IncompatibleError
from auctor.core.result import Counts
from auctor.core.types import Target
from auctor.data import Dense
from auctor.lab.solvers import OrthantWise
from auctor.losses import (
    ExpectedError,
    FBeta,
    Logistic,
    PairwiseHinge,
    PairwiseSquare,
    PairwiseSquaredHinge,
    Prbep,
)
from auctor.minimise import minimise
from auctor.penalties import L1, L2, NoPenalty
from auctor.problem import Problem
from auctor.problem.columns import EXACT_COLUMNS, ConstantColumns
from auctor.problem.needs import Need
from auctor.solvers import (
    Bmrm,
    Continuation,
    DualCoordinateAscent,
    Exact,
    Fista,
    Lbfgs,
    Lhac,
    Newton,
    ProximalNewton,
)
from auctor.solvers.choose import choose
from auctor.testing.storages import TwoProducts

N, D = 160, 12
RNG = np.random.default_rng(19)
X = RNG.normal(size=(N, D)) * RNG.uniform(0.2, 3.0, size=D) + RNG.normal(size=D)
Y = np.where(X @ RNG.normal(size=D) + 2.0 * RNG.normal(size=N) > 1.5, 1.0, -1.0)
TARGET = Target(Y, RNG.uniform(0.5, 2.0, size=N))
#: Kinked losses under l1 go through many widths without a Gram matrix.
TOL = 1e-4
SMOOTH_TOL = 1e-7

LOSSES = {"auc": PairwiseHinge(), "prbep": Prbep(), "f1": FBeta(), "log_loss": Logistic()}
PENALTIES = {"l2": L2(0.05), "l1": L1(0.02)}


def in_memory(loss, penalty):
    return Problem(loss, penalty, Dense(X, TARGET))


def streamed(loss, penalty):
    return Problem(loss, penalty, TwoProducts(X, TARGET))


@pytest.fixture(scope="module")
def optimum():
    known = {}

    def find(loss, penalty, tol=TOL):
        key = repr(loss), repr(penalty), tol
        if key not in known:
            problem = in_memory(loss, penalty)
            known[key] = minimise(problem, choose(problem), tol=tol)
            assert known[key].converged
        return known[key]

    return find


def agree(problem, solver, wanted, *, tol=TOL):
    found = minimise(problem, solver, tol=tol, max_iter=5000, max_seconds=20.0)
    assert found.converged
    assert found.certified == wanted.certified
    # Both gaps are certified: the two values are no further apart than the larger of them.
    assert abs(found.value - wanted.value) <= max(found.gap, wanted.gap) + 1e-12


@pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_the_default_solver_finds_the_same_optimum(loss, penalty, optimum):
    problem = streamed(loss, penalty)
    assert not problem.provides & (Need.GRAM | Need.ROWS | Need.COLUMNS)
    agree(problem, choose(problem), optimum(loss, penalty))


SMOOTH = {
    "auc": PairwiseSquaredHinge(),
    "prbep": Prbep(width=0.5),
    "f1": FBeta(width=0.5),
    "log_loss": Logistic(),
}


@pytest.mark.parametrize("loss", SMOOTH.values(), ids=SMOOTH)
@pytest.mark.parametrize(
    ("solver", "penalty"),
    [
        (Lbfgs(), L2(0.05)),
        (Newton(), L2(0.05)),
        (Lhac(), L1(0.02)),
        (OrthantWise(), L1(0.02)),
        (Fista(), L1(0.02)),
    ],
    ids=lambda part: type(part).__name__,
)
def test_smooth_losses(loss, solver, penalty, optimum):
    wanted = optimum(loss, penalty, SMOOTH_TOL)
    agree(streamed(loss, penalty), solver, wanted, tol=SMOOTH_TOL)


@pytest.mark.parametrize("name", ["auc", "prbep", "f1"])
def test_cutting_planes(name, optimum):
    loss, penalty = LOSSES[name], PENALTIES["l2"]
    agree(streamed(loss, penalty), Bmrm(), optimum(loss, penalty))


@pytest.mark.sample(3)
@pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
@pytest.mark.parametrize("name", ["auc", "prbep", "f1"])
def test_smoothing(name, penalty, optimum):
    loss = LOSSES[name]
    wanted = optimum(loss, penalty)
    inner = Lbfgs() if penalty is PENALTIES["l2"] else Lhac()
    for solver in (Continuation(), Continuation(inner)):
        agree(streamed(loss, penalty), solver, wanted)


def test_other_losses(optimum):
    for loss in (PairwiseSquare(), ExpectedError()):
        wanted = optimum(loss, L2(0.05))
        problem = streamed(loss, L2(0.05))
        found = minimise(problem, choose(problem), tol=1e-8, max_iter=5000)
        assert found.converged
        assert found.value == pytest.approx(wanted.value, rel=1e-6)
    agree(streamed(PairwiseSquare(), L2(0.05)), Exact(), optimum(PairwiseSquare(), L2(0.05)))


@pytest.mark.parametrize(
    ("solver", "penalty", "what"),
    [
        (DualCoordinateAscent(), L2(0.1), "row access to the data"),
        (ProximalNewton(), L1(0.1), "column access to the data"),
    ],
)
def test_solvers_that_need_more_refuse_before_any_work(solver, penalty, what):
    problem = streamed(Logistic(), penalty)
    with pytest.raises(IncompatibleError, match=what):
        minimise(problem, solver)
    assert problem.counts.passes == 0


@pytest.mark.parametrize("columns", [EXACT_COLUMNS, 3 * EXACT_COLUMNS])
def test_squares_of_columns_through_the_two_products(columns):
    """Exact for few columns; for many an estimate that a scale of columns can be taken from."""
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(400, columns)) * rng.uniform(0.1, 10.0, size=columns) + 5.0
    target = Target(np.where(np.arange(400) % 2, 1.0, -1.0), rng.uniform(0.5, 2.0, size=400))
    exact = Problem(Logistic(), L2(0.1), Dense(wide, target))
    found = Problem(Logistic(), L2(0.1), TwoProducts(wide, target))
    for name in ("column_squares", "spread"):
        ratio = getattr(found, name) / getattr(exact, name)
        if columns <= EXACT_COLUMNS:
            np.testing.assert_allclose(ratio, 1.0, rtol=1e-10)
        else:
            assert 0.05 < ratio.min() < ratio.max() < 5.0
            assert np.median(ratio) == pytest.approx(1.0, abs=0.3)


def test_constant_columns_are_found_by_the_two_products():
    constant = X.copy()
    constant[:, 3], constant[:, 5] = 7.0, 0.0
    for data in (Dense(constant, TARGET), TwoProducts(constant, TARGET)):
        assert ConstantColumns(data, Counts()).among(np.arange(D)).tolist() == [3]
        problem = Problem(PairwiseSquare(), NoPenalty(), data)
        assert problem.dropped.tolist() == [3]
        np.testing.assert_array_equal(problem.data.scores(np.eye(D)[3]), 0.0)


def test_the_size_of_data_that_do_not_say():
    problem = streamed(Logistic(), L2(0.1))
    assert not STORED.has(problem.data)
    assert problem.n_entries == N * D
    assert problem.n_distinct == N
