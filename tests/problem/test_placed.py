"""Losses evaluated where the rows are: the numbers of all scores in one place, less traffic."""

import pickle

import numpy as np
import pytest

import auctor.losses
from auctor.core.errors import DataError
from auctor.core.protocols import Splits
from auctor.core.types import Target
from auctor.data import Dense, Sharded
from auctor.data.placed import PlacedRows
from auctor.data.spread import Spread
from auctor.data.workers import MemoryWorkers
from auctor.losses import (
    AveragePrecision,
    FBeta,
    Hinge,
    Logistic,
    PairwiseHinge,
    PairwiseSquaredHinge,
    PartialPairwiseHinge,
    Prbep,
    PrecisionAtK,
    SquaredHinge,
)
from auctor.minimise import minimise
from auctor.penalties import L1, L2
from auctor.problem import Problem
from auctor.problem.placed_loss import PlacedLoss
from auctor.problem.placed_pairs import PlacedPairs
from auctor.problem.placed_sum import PlacedSum
from auctor.problem.placed_threshold import PlacedThreshold
from auctor.solvers import Lbfgs, choose
from auctor.testing import discover
from auctor.testing.streams import SOLVED, train_everything

SHARDS = 3


class Far(MemoryWorkers):
    """Workers that everything travels to and from, as it does between machines."""

    gather_below = 0

    def each(self, method, arguments):
        answers = super().each(method, pickle.loads(pickle.dumps(arguments)))
        return pickle.loads(pickle.dumps(answers))


def rows(kind, *, n=600, d=5, weighted=False, rare=0.08, parts=SHARDS, real=False):
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(n, d)), 2)
    signal = X @ rng.normal(size=d) + 2.0 * rng.normal(size=n)
    y = np.where(signal > np.quantile(signal, 1.0 - rare), 1.0, -1.0)
    if real:
        y = np.exp(0.1 * signal)
    weight = np.round(rng.uniform(0.0, 2.0, size=n), 1) if weighted else None
    pieces = np.array_split(np.arange(n), parts)
    shards = [
        Dense(X[i], Target(y[i], None if weight is None else weight[i]), n_threads=1)
        for i in pieces
    ]
    return Sharded(kind(shards))


def splitting():
    for kind in discover.losses(auctor.losses):
        for loss in discover.examples(kind):
            if loss.splits is not Splits.NOT:
                yield loss


@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weights"])
@pytest.mark.parametrize("loss", list(splitting()), ids=discover.label)
def test_every_loss_that_splits_is_the_same_on_workers(loss, weighted):
    real = loss.targets == "real"
    near, far = (
        Problem(loss, L2(0.1), rows(kind, weighted=weighted, real=real))
        for kind in (MemoryWorkers, Far)
    )
    assert isinstance(far.loss, PlacedLoss)
    assert not isinstance(near.loss, PlacedLoss)
    rng = np.random.default_rng(1)
    w = 0.3 * rng.normal(size=near.n_params)
    here, there = near.evaluate(w), far.evaluate(w)
    assert isinstance(there.dscores, Spread)
    assert there.loss == pytest.approx(here.loss, rel=1e-13)
    np.testing.assert_allclose(there.gradient, here.gradient, rtol=1e-11, atol=1e-14)
    # At a quantile the slope of the one row in it is a difference of sums over all rows.
    np.testing.assert_allclose(np.asarray(there.dscores), here.dscores, rtol=1e-8, atol=1e-14)
    if near.certifiable:
        ours, wanted = far.certificate(there), near.certificate(here)
        assert ours.gap == pytest.approx(wanted.gap, rel=1e-9, abs=1e-13)
    shrunk, target = 0.5 * here.dscores, near.data.target
    ours = far.loss.conjugate(0.5 * there.dscores, target)
    wanted = loss.conjugate(shrunk, target)
    assert ours == wanted if wanted is None else ours == pytest.approx(wanted, rel=1e-10)
    moved, still = far.with_best_intercept(there), near.with_best_intercept(here)
    np.testing.assert_allclose(moved.w, still.w, rtol=1e-10, atol=1e-12)
    if loss.order >= 2:
        v = rng.normal(size=near.n_params)
        ours, theirs = far.hessian(there), near.hessian(here)
        np.testing.assert_allclose(ours.matvec(v), theirs.matvec(v), rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(ours.diagonal(), theirs.diagonal(), rtol=1e-10, atol=1e-13)


@pytest.mark.sample(3)
@pytest.mark.parametrize("penalty", [L2(1e-2), L1(1e-2)], ids=repr)
@pytest.mark.parametrize(
    "loss", [Logistic(), Hinge(), PairwiseHinge(), PairwiseSquaredHinge(), Prbep()], ids=repr
)
def test_the_solution_is_that_of_scores_in_one_place(loss, penalty):
    near, far = (Problem(loss, penalty, rows(kind)) for kind in (MemoryWorkers, Far))
    solver = choose(near)
    assert type(choose(far)) is type(solver)
    found, wanted = (
        minimise(one, solver, tol=1e-4, max_iter=300, rng=0, on_failure="ignore")
        for one in (far, near)
    )
    assert found.n_iter == wanted.n_iter
    np.testing.assert_allclose(found.coef, wanted.coef, rtol=1e-10, atol=1e-12)
    assert found.value == pytest.approx(wanted.value, rel=1e-12)


def traffic(loss, penalty, solver, data):
    """Numbers that travel for an evaluation, once the target is known to the workers."""
    problem, seen = Problem(loss, penalty, data), []

    def note(step):
        seen.append((data.holder.traffic.floats, step.evaluations))

    minimise(problem, solver, tol=1e-10, max_iter=12, on_step=note, on_failure="ignore")
    (first, before), (last, after) = seen[1], seen[-1]
    assert after - before >= 10
    return (last - first) / (after - before)


def test_row_losses_move_two_numbers_for_a_parameter_and_shard():
    data = rows(Far, n=3000, d=40)
    bound = SHARDS * (2 * 40 + 16)
    assert traffic(Logistic(), L2(1e-3), Lbfgs(), data) <= bound
    assert traffic(SquaredHinge(), L2(1e-3), Lbfgs(), data) <= bound


def test_pair_losses_move_three_numbers_for_a_rare_row_and_shard():
    data = rows(Far, n=3000, d=40, rare=0.02)
    bound = SHARDS * (2 * 40 + 3 * 60 + 16)
    assert bound < 2 * 3000
    assert traffic(PairwiseSquaredHinge(), L2(1e-3), Lbfgs(), data) <= bound


def test_the_rule_names_who_evaluates():
    rare, even, here = rows(Far), rows(Far, rare=0.5), rows(MemoryWorkers)
    chosen = [
        (Logistic(), even, PlacedSum),
        (PairwiseHinge(), rare, PlacedPairs),
        (PairwiseHinge(), even, None),  # 3 shards * 3 * 300 numbers against 2 * 600
        (Prbep(), even, PlacedThreshold),
        (PrecisionAtK(0.1), rare, PlacedThreshold),
        (FBeta(), rare, None),
        (AveragePrecision(), rare, None),
        (PartialPairwiseHinge(0.2), rare, None),
        (Logistic(), here, None),
    ]
    for loss, data, kind in chosen:
        problem = Problem(loss, L2(1e-2), data)
        if kind is None:
            assert problem.loss is loss
            assert not isinstance(problem.data, PlacedRows)
        else:
            assert type(problem.loss) is kind


def test_the_same_bits_for_any_number_of_workers():
    found = []
    for threads in (1, 2, 3):
        data = rows(lambda shards, k=threads: Far(shards, k), parts=6)
        problems = [Problem(loss, L2(1e-2), data) for loss in (Logistic(), PairwiseSquaredHinge())]
        found.append([minimise(problem, Lbfgs(), tol=1e-8).coef for problem in problems])
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_vectors_that_are_forgotten_are_dropped_by_the_workers():
    data = rows(Far)
    placed = PlacedRows(data)
    for _ in range(20):
        scores = placed.scores(np.ones(5))
    assert float(scores.sum()) == pytest.approx(float(data.scores(np.ones(5)).sum()))
    assert len(data.workers.held[0].results) <= 2


def test_arithmetic_is_that_of_numpy():
    data = rows(Far)
    a = PlacedRows(data).scores(np.ones(5), 0.5)
    plain = np.asarray(a)
    b = 2.0 * a - plain / 4.0
    wanted = 2.0 * plain - plain / 4.0
    np.testing.assert_array_equal(np.asarray(b), wanted)
    np.testing.assert_array_equal(a[np.array([5, 0])], plain[[5, 0]])
    c = b
    c += 1.0
    np.testing.assert_array_equal(np.asarray(c), wanted + 1.0)
    np.testing.assert_array_equal(np.asarray(b), wanted)
    assert b.shape == plain.shape
    assert float(a @ b) == pytest.approx(float(plain @ wanted), rel=1e-13)
    assert float(plain @ b) == pytest.approx(float(plain @ wanted), rel=1e-13)
    assert np.abs(b).sum() == pytest.approx(np.abs(wanted).sum(), rel=1e-13)
    assert (np.abs(b).max(initial=0.0), b.min()) == (np.abs(wanted).max(), wanted.min())
    assert np.isfinite(b).all()
    assert not np.isfinite(b * np.nan).all()
    np.testing.assert_array_equal(np.exp(a), np.exp(plain))  # what workers do not know, numpy does


@pytest.mark.slow
def test_every_loss_and_penalty_is_solved_or_refused_on_workers():
    def build(X, target, n_threads):
        parts = np.array_split(np.arange(X.shape[0]), 3)
        return Sharded(Far([Dense(X[i], target.take(i), n_threads=1) for i in parts]))

    outcomes = train_everything(build)
    assert outcomes["Logistic()", "group"] == outcomes["Prbep(width=0.0)", "l2"] == SOLVED
    refused = {loss for (loss, _), outcome in outcomes.items() if outcome != SOLVED}
    no_forms = {"AveragePrecision()", "ExpectedAuc()", "ExpectedError()"}
    assert refused == {*no_forms, "TwoWayPairwiseHinge(max_fpr=0.3,min_tpr=0.5)"}


def test_one_class_is_refused_before_any_pass():
    data = rows(Far)
    one = data.with_target(Target(np.ones(600)))
    before = data.holder.traffic.calls
    for loss in (PairwiseHinge(), Prbep()):
        with pytest.raises(DataError, match="both classes"):
            Problem(loss, L2(1e-2), one)
    assert data.holder.traffic.calls == before
