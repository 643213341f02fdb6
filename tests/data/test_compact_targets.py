"""Targets of shards: one byte a row, evaluated in parts, with the numbers of float64."""

import tracemalloc

import numpy as np
import pytest

import auctor.core.types as types
from auctor import losses
from auctor.core.capabilities import CENTRABLE
from auctor.core.shift import shifts_of
from auctor.core.types import Target, absolute_sum
from auctor.data import Dense, Sharded
from auctor.data.workers import MemoryWorkers
from auctor.kernels.losses import (
    average_precision,
    cells,
    coupling,
    fscore,
    gaussian,
    logistic,
    pairs,
    partial,
    pointwise,
    thresholds,
)
from auctor.losses.pointwise import Pointwise
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import Lbfgs, Newton
from auctor.solvers.line_search import Ray
from auctor.testing import discover

ROWS = 5000
RNG = np.random.default_rng(3)
X = RNG.normal(size=(ROWS, 6))
Y = np.where(X @ RNG.normal(size=6) + RNG.normal(size=ROWS) > 0.8, 1.0, -1.0)
WEIGHT = RNG.integers(0, 4, size=ROWS).astype(float)
BINARY = [
    loss for kind in discover.losses() for loss in kind.examples() if loss.targets == "binary"
]
BY_ROWS = [loss for loss in BINARY if isinstance(loss, Pointwise)]


@pytest.fixture
def small_parts(monkeypatch):
    """Parts of so few rows that there are many."""
    monkeypatch.setattr(types, "PART_ROWS", 700)


def sharded(y=Y, weight=None):
    parts = np.array_split(np.arange(ROWS), 4)
    shards = [
        Dense(X[part], Target(y[part], None if weight is None else weight[part]), n_threads=1)
        for part in parts
    ]
    return Sharded(MemoryWorkers(shards))


def kept_bytes(target):
    """Bytes of all arrays that a target holds on to."""
    found, todo = {}, [vars(target)]
    while todo:
        given = todo.pop()
        if isinstance(given, np.ndarray):
            found[given.ctypes.data] = given.size * abs(given.strides[0]) if given.ndim else 8
        elif isinstance(given, dict | tuple):
            todo += given.values() if isinstance(given, dict) else given
    return sum(found.values())


@pytest.mark.parametrize(
    "loss", [losses.Logistic(), losses.SquaredHinge(), losses.PairwiseHinge(0.5)], ids=repr
)
def test_a_target_of_shards_keeps_a_byte_a_row(loss):
    problem = Problem(loss, L2(0.01), sharded())
    minimise(problem, Lbfgs(), max_iter=3, on_failure="ignore")
    problem.certificate(problem.evaluate(problem.start()))
    assert problem.data.target.y.dtype == np.int8
    assert kept_bytes(problem.data.target) == ROWS
    assert kept_bytes(Target(Y)) == 8 * ROWS


def test_numbers_that_are_no_labels_stay_as_they_are():
    numbers = RNG.normal(size=ROWS)
    assert np.array_equal(sharded(numbers).target.y, numbers)
    counts = np.arange(ROWS) % 5.0
    assert sharded(counts).target.y.dtype == np.float64
    given = Target(numbers)
    assert given.compacted() is given


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
@pytest.mark.parametrize("loss", BY_ROWS, ids=repr)
def test_losses_over_rows_in_parts(loss, weight, small_parts):
    target, scores = Target(Y, weight), RNG.normal(size=ROWS)
    compact = target.compacted()
    assert len(list(compact.parts())) == 8
    (value, grad), (wanted, wanted_grad) = (
        loss.value_grad(scores, one) for one in (compact, target)
    )
    assert value == pytest.approx(wanted, rel=1e-14)
    assert np.array_equal(grad, wanted_grad)
    assert loss.conjugate(0.5 * grad, compact) == pytest.approx(
        loss.conjugate(0.5 * grad, target), rel=1e-13
    )
    if (kinked := CENTRABLE.find(loss)) is not None:
        assert np.array_equal(kinked.centre(grad, compact), kinked.centre(grad, target))
    if loss.order >= 2:
        ours, theirs = (loss.curvature(scores, one).diagonal for one in (compact, target))
        assert np.array_equal(ours, theirs)
    for t in (0.0, 0.7):
        ours, theirs = (shifts_of(loss, scores, one).at(t) for one in (compact, target))
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("solver", [Lbfgs(), Newton()], ids=lambda solver: type(solver).__name__)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
def test_a_solve_in_parts_is_the_solve_of_all_rows(solver, weight, small_parts, monkeypatch):
    problem = Problem(losses.Logistic(), L2(0.01), sharded(weight=weight))
    ours = minimise(problem, solver, tol=1e-8)
    monkeypatch.setattr(types, "PART_ROWS", ROWS)
    whole = minimise(Problem(losses.Logistic(), L2(0.01), sharded(weight=weight)), solver, tol=1e-8)
    monkeypatch.setattr(Target, "compacted", lambda target: target)
    plain = minimise(Problem(losses.Logistic(), L2(0.01), sharded(weight=weight)), solver, tol=1e-8)
    assert ours.converged
    assert ours.n_iter == plain.n_iter
    for other in (whole, plain):
        np.testing.assert_allclose(ours.coef, other.coef, rtol=1e-9)
        assert ours.intercept == pytest.approx(other.intercept, rel=1e-9)


def test_a_trial_in_parts_has_the_numbers_of_its_point(small_parts):
    problem = Problem(losses.SquaredHinge(), L2(0.1), sharded())
    point = problem.evaluate(problem.start())
    ray = Ray(problem, point, -problem.total_gradient(point))
    trial = ray.at(0.3)
    assert not isinstance(trial.source, type(point))
    assert trial.value == pytest.approx(trial.point.value, rel=1e-14)
    slope = float(problem.total_gradient(trial.point) @ ray.direction)
    assert trial.slope == pytest.approx(slope, rel=1e-10)
    wanted = problem.with_best_intercept(trial.point)
    found = trial.with_best_intercept()
    np.testing.assert_allclose(found.w, wanted.w, rtol=1e-12)
    assert found.value == pytest.approx(wanted.value, rel=1e-14)


def test_no_kernel_is_compiled_for_compact_labels():
    """Bytes would be another type of argument, for which every kernel is compiled once more."""
    modules = (
        average_precision, cells, coupling, fscore, gaussian, logistic, pairs, partial, pointwise,
        thresholds,
    )  # fmt: skip
    kernels = {
        f"{module.__name__}.{name}": one
        for module in modules
        for name, one in vars(module).items()
        if hasattr(one, "signatures")
    }

    def use(target):
        scores = np.random.default_rng(1).normal(size=ROWS)
        for loss in BINARY:
            grad = loss.value_grad(scores, target)[1]
            loss.conjugate(grad, target)
            shifts = shifts_of(loss, scores, target)
            shifts.at(0.1), shifts.root()
            if loss.order >= 2:
                loss.curvature(scores, target).matvec(scores)

    use(Target(Y))
    before = {name: len(one.signatures) for name, one in kernels.items()}
    assert sum(before.values()) > 20
    use(Target(Y).compacted())
    assert {name: len(one.signatures) for name, one in kernels.items()} == before


def test_sums_of_sizes_in_parts(small_parts):
    values = RNG.normal(size=ROWS)
    assert absolute_sum(values) == pytest.approx(float(np.abs(values).sum()), rel=1e-14)
    assert absolute_sum(np.empty(0)) == 0.0


@pytest.mark.parametrize(
    ("loss", "most"), [(losses.Logistic(), 40.0), (losses.PairwiseHinge(0.5), 104.0)], ids=repr
)
def test_a_solve_allocates_few_bytes_a_row(loss, most, small_parts):
    """Arrays of numpy alone, at their peak; `benchmarks` measures those of kernels as well."""
    n = 60_000
    X = np.random.default_rng(0).normal(size=(n, 2))
    y = np.where(X[:, 0] > 1.0, 1.0, -1.0)
    parts = np.array_split(np.arange(n), 20)
    shards = [Dense(X[part], Target(y[part]), n_threads=1) for part in parts]
    problem = Problem(loss, L2(0.1), Sharded(MemoryWorkers(shards)))
    minimise(problem, Lbfgs(), max_iter=2, on_failure="ignore")  # compiles
    tracemalloc.start()
    try:
        minimise(problem, Lbfgs(), tol=0.0, max_iter=3, on_failure="ignore")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak / n <= most
