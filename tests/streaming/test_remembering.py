"""Weights of `StreamingAUC` from a bounded memory of rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from auctor import MetricClassifier, StreamingAUC, metrics
from auctor.core.rng import as_rng
from auctor.core.types import CompressedColumns
from auctor.data import as_data
from auctor.losses import PairwiseHinge
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import choose
from auctor.streaming import memory, remembering
from auctor.streaming.checkpoint import load_checkpoint, save_checkpoint


def noisy(n=2000, d=5, seed=0, outliers=0.05):
    """Two Gaussians; a few rows far out on the right side, which the square loss counts against."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1, -1)
    X = rng.normal(size=(n, d))
    X[:, 0] += y
    far = rng.random(n) < outliers
    X[far, 0] += 20.0 * y[far]
    X[:, 1] += 0.6 * y
    return X, y


def minimum(X, y, strength, penalty=None, weight=None):
    penalty = L2(strength, weights=penalty)
    data = as_data(X, y, weight=weight)
    problem = Problem(PairwiseHinge(width=1.0), penalty, data, fit_intercept=False)
    return minimise(problem, choose(problem), tol=1e-10, on_failure="ignore").coef


def filled(rows, labels, *, room, latest=False, sizes=(10**9,), weight=None):
    """A memory after rows in chunks of the sizes, the last one again and again."""
    state = memory.fresh_memory(as_rng(0))
    weight = np.ones(len(labels)) if weight is None else weight
    low, sizes = 0, list(sizes)
    while low < len(labels):
        high = min(len(labels), low + (sizes.pop(0) if len(sizes) > 1 else sizes[0]))
        part = as_data(rows[low:high], labels[low:high]).row_lines()
        own = np.asarray(labels[low:high], dtype=float)
        args = (own, weight[low:high], 0, high - low)
        memory.add_rows(state, CompressedColumns(*part), *args, room=room, latest=latest)
        low = high
    return state


def same(one, two):
    assert one.state_.keys() == two.state_.keys()
    for name, array in one.state_.items():
        np.testing.assert_array_equal(array, two.state_[name], err_msg=name)


# --- the minimiser --------------------------------------------------------------------------


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("limit", [1000, 0])
@pytest.mark.parametrize("weighted", [False, True])
def test_weights_minimise_the_hinge_over_all_rows_that_fit(storage, limit, weighted):
    X, y = noisy(n=640)
    weight = np.random.default_rng(1).integers(0, 3, 640).astype(float) if weighted else None
    if weighted:  # answers rest on a multiple of 16 rows that have weight
        last = np.flatnonzero(weight)[np.count_nonzero(weight) // 16 * 16 - 1] + 1
        X, y, weight = X[:last], y[:last], weight[:last]
    model = StreamingAUC(0.05, max_exact_columns=limit).fit(storage(X), y, weight)
    model.state_["blend"][:] = 0.0, 1.0  # with many columns others have a part
    used = slice(None) if weight is None else weight > 0.0
    expected = minimum(X[used], y[used], 0.05, weight=None if weight is None else weight[used])
    np.testing.assert_allclose(model.coef_[0], expected, rtol=1e-2, atol=1e-3)
    square = StreamingAUC(0.05, surrogate="square").fit(X, y, weight).coef_[0]
    assert abs(model.coef_[0] - square).max() > 0.05


def test_the_chosen_penalty_follows_the_deviations_of_the_columns():
    X, y = noisy(n=640)
    X = X * [1.0, 3.0, 1.0, 10.0, 0.1]
    model = StreamingAUC().fit(X, y)
    pos, neg = X[y > 0], X[y < 0]
    apart = pos.mean(axis=0) - neg.mean(axis=0)
    deviation = np.sqrt(pos.var(axis=0) + neg.var(axis=0) + 0.01 * apart**2)
    expected = minimum(X, y, model.strength_, deviation / deviation.mean())
    np.testing.assert_allclose(model.coef_[0], expected, rtol=2e-3, atol=1e-4)


def test_it_ranks_better_than_the_square_loss_where_rows_lie_far_out():
    X, y = noisy(n=6000)
    best = metrics.auc(y[3000:], X[3000:, 1])
    aucs = {
        name: StreamingAUC(surrogate=name).fit(X[:3000], y[:3000]).score(X[3000:], y[3000:])
        for name in ("hinge", "logistic", "square")
    }
    assert aucs["hinge"] > aucs["square"] + 0.02
    assert aucs["logistic"] > aucs["square"] + 0.01
    assert aucs["hinge"] > best


@pytest.mark.parametrize("other", [{"memory": 0}, {"surrogate": "square"}])
def test_without_memory_it_is_the_square_loss(other):
    X, y = noisy(n=500)
    model = StreamingAUC(0.1, **other).fit(X, y)
    exact = MetricClassifier(
        "auc", surrogate="square", strength=0.1, solver="exact", standardise=False
    ).fit(X, y)
    np.testing.assert_allclose(model.coef_, exact.coef_, rtol=1e-8)
    assert not any(name.startswith("kept") for name in model.state_)


def test_noise_gets_a_strong_penalty_and_what_hides_in_it_a_weak_one():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(400) < 0.5, 1, -1)
    noise = rng.normal(size=(400, 80))
    noise[:, 0] += y
    strong = StreamingAUC().fit(noise, y).state_["level"][0]
    hidden = np.stack([noise[:, 0] + 30.0 * noise[:, 1], noise[:, 1] * 30.0], axis=1)
    weak = StreamingAUC().fit(hidden, y).state_["level"][0]
    assert weak > strong + 2


# --- a memory that is full ------------------------------------------------------------------


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("latest", [False, True])
def test_a_full_memory_is_the_same_whatever_the_chunks(dense, latest):
    X, y = noisy(n=900)
    rows = X if dense else sparse.csr_array(X * (np.random.default_rng(3).random(X.shape) < 0.5))
    one = filled(rows, y, room=6000, latest=latest)
    for sizes in ((1,), (7,), (500, 13)):
        two = filled(rows, y, room=6000, latest=latest, sizes=sizes)
        for name, array in one.items():
            np.testing.assert_array_equal(array, two[name], err_msg=name)
    assert memory.used(one) <= 6000
    assert memory.used(one) > 3000
    assert not memory.complete(one)


def test_a_full_memory_holds_rows_of_the_stream_in_their_order():
    X, y = noisy(n=900)
    kept = memory.remembered(filled(X, y, room=10_000), 0, 900)
    np.testing.assert_array_equal(kept.lines.values.reshape(-1, 5), X[kept.place - 1])
    np.testing.assert_array_equal(kept.signed, y[kept.place - 1])
    assert (np.diff(kept.place) > 0).all()


def test_the_sample_is_fair_and_the_rare_class_stays():
    X, y = noisy(n=20_000)
    stay = (y < 0) | (np.arange(20_000) % 20 == 0)
    X, y = X[stay], y[stay]
    kept = memory.remembered(filled(X, y, room=100_000), 0, 20_000)
    assert np.count_nonzero(kept.signed > 0) == np.count_nonzero(y > 0)
    place = kept.place[kept.signed < 0]
    halves = np.count_nonzero(place <= y.size // 2) / place.size
    assert halves == pytest.approx(0.5, abs=0.05)


def test_with_forgetting_the_latest_rows_stay():
    X, y = noisy(n=5000)
    kept = memory.remembered(filled(X, y, room=20_000, latest=True), 0, 5000)
    place = kept.place[kept.signed < 0]
    expected = np.flatnonzero(y < 0)[-place.size :] + 1
    np.testing.assert_array_equal(place, expected)


def test_rows_with_gaps_come_after_rows_without():
    X, y = noisy(n=200)
    holes = X.copy()
    holes[120:, 2] = 0.0
    rows = sparse.csr_array(holes)
    state = filled(rows, y, room=1e6, sizes=(50, 100, 50))
    kept = memory.remembered(state, 0, 200)
    found = sparse.csr_array((kept.lines.values, kept.lines.indices, kept.lines.indptr)).toarray()
    np.testing.assert_array_equal(found, holes)
    assert filled(X, y, room=1e6)["kept_columns"].size == 0


def test_a_row_that_is_too_long_is_left_out():
    X, y = noisy(n=40, d=300)
    short = sparse.csr_array(X * (np.arange(300) < np.where(np.arange(40) == 20, 300, 3)[:, None]))
    state = filled(short, y, room=5000)
    kept = memory.remembered(state, 0, 40)
    assert kept.place.tolist() == [k for k in range(1, 41) if k != 21]
    assert not memory.complete(state)


def test_another_seed_keeps_other_rows():
    X, y = noisy(n=900)
    one, two = (
        StreamingAUC(memory=0.01, random_state=seed).fit(X, y).state_["kept_place"].tolist()
        for seed in (0, 1)
    )
    assert one != two


@pytest.mark.slow  # thousands of rows
@pytest.mark.parametrize("limit", [1000, 0])
def test_a_small_memory_does_no_harm(limit):
    """The other weights, which know all rows, take over as the memory gets too small."""
    X, y = noisy(n=8000, d=20)
    scores = {}
    for room in (64.0, 0.2, 0.02, 0.001, 0.0):
        model = StreamingAUC(memory=room, max_exact_columns=limit).fit(X[:6000], y[:6000])
        scores[room] = model.score(X[6000:], y[6000:])
    better = 0.01 if limit else -0.001
    assert scores[64.0] > scores[0.0] + better
    assert scores[0.2] > scores[0.0] + better
    assert scores[0.02] > scores[0.0] - 0.005
    assert scores[0.001] == pytest.approx(scores[0.0], abs=1e-12)


def test_a_mixture_has_part_of_both():
    X, y = noisy(n=4000, d=20)
    model = StreamingAUC(memory=0.05).fit(X, y)
    model.state_["blend"][:] = 0.5, 2.0
    other = clone(model).set_params(memory=0).fit(X, y)
    kept = remembering.ranked(
        model.state_, model._objective, remembering.settled_rows(model.state_, None)
    )
    expected = 0.5 * other.coef_[0] + 2.0 * kept.coef
    np.testing.assert_allclose(model.coef_[0], expected, rtol=1e-9)
    middle = 0.5 * (X[y > 0].mean(axis=0) + X[y < 0].mean(axis=0))
    assert -model.intercept_[0] == pytest.approx(middle @ expected)


def test_memory_stays_within_its_bounds():
    rng = np.random.default_rng(0)
    model, sizes = StreamingAUC(memory=0.2, window=500), []
    for _ in range(30):
        y = np.where(rng.random(2000) < 0.3, 1, -1)
        model.partial_fit(rng.normal(size=(2000, 8)) + 0.3 * y[:, None], y)
        sizes.append(sum(array.nbytes for array in model.state_.values()))
    assert memory.used(model.state_) <= 0.2e6
    assert max(sizes) == sizes[2]
    assert max(sizes) < 0.6e6


# --- going on -------------------------------------------------------------------------------


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "learner",
    [
        StreamingAUC(),
        StreamingAUC(memory=0.01),
        StreamingAUC(memory=0.01, forget=80.0),
        StreamingAUC(memory=0.01, max_exact_columns=2),
    ],
    ids=repr,
)
def test_a_checkpoint_goes_on_bit_for_bit(learner, tmp_path):
    X, y = noisy(n=900)
    model = clone(learner).partial_fit(X[:517], y[:517])
    save_checkpoint(tmp_path / "c", model, 517)
    resumed = clone(learner)
    load_checkpoint(tmp_path / "c", resumed)
    np.testing.assert_array_equal(resumed.coef_, model.coef_)
    for part in (model, resumed):
        part.partial_fit(X[517:], y[517:])
    same(model, resumed)
    np.testing.assert_array_equal(resumed.coef_, model.coef_)
    assert resumed.strength_ == model.strength_


def test_reading_weights_changes_nothing():
    X, y = noisy(n=400)
    read, quiet = StreamingAUC(memory=0.008), StreamingAUC(memory=0.008)
    for i in range(400):
        read.partial_fit(X[i : i + 1], y[i : i + 1], classes=[-1, 1])
        weights = read.coef_.copy()
        quiet.partial_fit(X[i : i + 1], y[i : i + 1], classes=[-1, 1])
    same(read, quiet)
    np.testing.assert_array_equal(weights, quiet.coef_)


def test_predictions_after_every_row_solve_now_and_then(monkeypatch):
    X, y = noisy(n=1500)
    model = StreamingAUC(0.1).partial_fit(X[:1000], y[:1000])
    calls = []
    solve = remembering.ranked
    monkeypatch.setattr(remembering, "ranked", lambda *args: (calls.append(1), solve(*args))[1])
    for i in range(1000, 1500):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        model.predict(X[:1])
    assert 1 < len(calls) < 40


def test_answers_rest_on_nearly_all_rows():
    for counted in (1, 40, 63, 64, 1000, 12_345, 10**6):
        state = {"counted": np.array([counted]), "renewed": np.zeros(1), "thinned": np.zeros(1)}
        assert counted * 31 / 32 <= remembering.settled_rows(state, None) <= counted
        if counted < 64:
            assert remembering.settled_rows(state, None) == counted


def test_columns_beyond_the_limit_keep_the_memory():
    X, y = noisy(n=900, d=8)
    model = StreamingAUC(grow=True, max_exact_columns=6).partial_fit(X[:450, :6], y[:450])
    kept = model.state_["kept_rows"][0]
    model.partial_fit(X[450:], y[450:])
    assert "scatter" not in model.state_
    assert model.state_["kept_rows"][0] == 900 > kept
    assert model.score(X, y) > StreamingAUC(surrogate="square").fit(X, y).score(X, y)


def test_later_passes_do_not_fill_the_memory_twice():
    X, y = noisy(n=700)
    twice = StreamingAUC(passes=2).fit(X, y)
    np.testing.assert_array_equal(twice.coef_, StreamingAUC().fit(X, y).coef_)
    assert twice.state_["kept_rows"][0] == 700


@pytest.mark.parametrize("forget", [None, 80.0])
def test_rows_without_entries_take_room_too(forget):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(600) < 0.5, 1, -1)
    X = sparse.csr_array(np.where(rng.random((600, 20)) < 0.1, 1.0, 0.0) * (y < 0)[:, None])
    model = StreamingAUC(memory=0.005, forget=forget).fit(X, y)
    batch = MetricClassifier("auc", surrogate="hinge", strength=1e-3).fit(X, y)
    assert model.score(X, y) == pytest.approx(batch.score(X, y), abs=0.005)
    assert model.auc_ > batch.score(X, y) - 0.06  # scored before the rows were learned
