"""The default learner for streams: exact on few columns, sane on many."""

import pickle
import warnings
from functools import cache
from itertools import cycle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import auctor
from auctor import MetricClassifier, StreamingAUC, metrics
from auctor.core.errors import DataError, ParameterError
from auctor.lab.learners import AdaOam, MiniBatchAuc, OnlineGaussianAuc, Opauc
from auctor.streaming.running_auc import POINTS

LEARNERS = [
    StreamingAUC(),
    StreamingAUC(strength=1e-4),
    StreamingAUC(strength=1e-4, surrogate="square"),
    StreamingAUC(surrogate="square"),
    StreamingAUC(surrogate="logistic", memory=0.01),
    StreamingAUC(forget=100.0, trace_every=50, window=120),
    StreamingAUC(forget=100.0, memory=0.006),
    StreamingAUC(memory=0, max_exact_columns=3),
    StreamingAUC(memory=0.01, max_exact_columns=3),
    StreamingAUC(max_exact_columns=3),
    StreamingAUC(max_exact_columns=3, forget=50.0),
    OnlineGaussianAuc(),
    Opauc(),
    Opauc(rank=3),
    AdaOam(),
    MiniBatchAuc(),
]


def stream(n=700, d=6, seed=0, p=0.3):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < p, 1, -1)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 0.4 * y[:, None], y


def exact(X, y, strength, weight=None):
    model = MetricClassifier(
        "auc", surrogate="square", strength=strength, solver="exact", standardise=False
    )
    return model.fit(X, y, weight).coef_[0]


def same(one, two):
    assert one.state_.keys() == two.state_.keys()
    for name, array in one.state_.items():
        np.testing.assert_array_equal(array, two.state_[name], err_msg=name)


# --- all learners ---------------------------------------------------------------------------


@pytest.mark.sample(4)
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("density", [1.0, 0.2])
@pytest.mark.parametrize(
    ("n", "sizes"),
    [(240, (1, 7, 12)), pytest.param(700, (1,), marks=pytest.mark.slow)],
    ids=["few", "one by one"],
)
def test_chunks_give_the_same_state_as_one_call(learner, density, n, sizes):
    X, y = stream(n)
    X = X * (np.random.default_rng(1).random(X.shape) < density)
    X = X if density == 1.0 else sparse.csr_array(X)
    weight = np.random.default_rng(2).random(n)
    whole = clone(learner).partial_fit(X, y, sample_weight=weight)
    parts = clone(learner)
    low = 0
    for size in cycle(sizes):
        if low >= n:
            break
        part = slice(low, low + size)
        parts.partial_fit(X[part], y[part], sample_weight=weight[part])
        low += size
    same(whole, parts)
    np.testing.assert_array_equal(whole.coef_, parts.coef_)


@pytest.mark.sample(4)
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_a_copy_goes_on_like_the_original(learner):
    X, y = stream()
    model = clone(learner).partial_fit(X[:333], y[:333])
    copied = pickle.loads(pickle.dumps(model))
    same(model.partial_fit(X[333:], y[333:]), copied.partial_fit(X[333:], y[333:]))


@pytest.mark.sample(4)
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_one_class_so_far_scores_zero(learner):
    X, y = stream()
    model = clone(learner).partial_fit(X[y > 0], y[y > 0])
    assert (model.decision_function(X) + model.intercept_ == 0.0).all()
    model.partial_fit(X, y)
    both = clone(learner).partial_fit(X, y)
    assert model.score(X, y) == pytest.approx(both.score(X, y), abs=0.01)


@pytest.mark.sample(4)
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_new_columns_are_zero_before(learner):
    if getattr(learner, "memory", 0) and learner.memory < 1.0:
        learner = clone(learner).set_params(memory=1.0)  # rows with more columns take more room
    X, y = stream()
    X[:200, 4:] = 0.0
    grown = clone(learner).set_params(grow=True)
    grown.partial_fit(X[:200, :4], y[:200]).partial_fit(X[200:], y[200:])
    grown.partial_fit(X[:3, :2], y[:3])
    padded = np.vstack([X, np.pad(X[:3, :2], ((0, 0), (0, 4)))])
    whole = clone(learner).fit(padded, np.append(y, y[:3]))
    np.testing.assert_allclose(grown.coef_, whole.coef_, rtol=1e-6, atol=1e-9)
    assert grown.decision_function(X[:, :3]).shape == (700,)
    with pytest.raises(DataError, match="grow=True"):
        clone(learner).partial_fit(X[:, :4], y).partial_fit(X, y)


@pytest.mark.sample(4)
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_rows_with_missing_values_are_refused_or_skipped(learner):
    X, y = stream()
    bad = X.copy()
    bad[::10, 1] = np.nan
    with pytest.raises(DataError, match="NaN"):
        clone(learner).partial_fit(bad, y)
    model = clone(learner).set_params(missing="skip").partial_fit(bad, y)
    assert model.skipped_rows_ == 70
    keep = np.arange(700) % 10 != 0
    same(model, clone(learner).partial_fit(X[keep], y[keep]))


@pytest.mark.sample(4)
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_a_row_of_weight_zero_is_absent(learner):
    if isinstance(learner, StreamingAUC):
        learner = clone(learner).set_params(trace_every=10**9)
        if learner.max_exact_columns < 6 or learner.forget or learner.memory < 1.0:
            learner.set_params(memory=0)  # mixtures depend on how rows were ranked meanwhile
    X, y = stream()
    weight = np.where(np.arange(700) % 5 == 0, 0.0, 2.0)
    found = clone(learner).fit(X, y, weight).coef_
    expected = clone(learner).fit(X[weight > 0], y[weight > 0], weight[weight > 0]).coef_
    np.testing.assert_allclose(found, expected, rtol=1e-7)


#: One learner of each class; of StreamingAUC those with exact moments, with steps, and the default.
CHECKED = [
    StreamingAUC(),
    pytest.param(StreamingAUC(strength=1e-4, surrogate="square"), marks=pytest.mark.slow),
    pytest.param(StreamingAUC(max_exact_columns=3), marks=pytest.mark.slow),
    OnlineGaussianAuc(),
    pytest.param(Opauc(rank=3), marks=pytest.mark.slow),
    pytest.param(AdaOam(), marks=pytest.mark.slow),
    pytest.param(MiniBatchAuc(), marks=pytest.mark.slow),
]


@pytest.mark.slow  # test_row_learners.py runs these checks on a learner of the same base class
@pytest.mark.parametrize("learner", CHECKED, ids=repr)
def test_scikit_learn_checks(learner):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(clone(learner), on_fail=None, on_skip=None)
    failed = {r["check_name"] for r in results if r["status"] == "failed"}
    order_matters = {"check_sample_weight_equivalence_on_dense_data"}
    order_matters |= {"check_sample_weight_equivalence_on_sparse_data"}
    plain = isinstance(learner, OnlineGaussianAuc)
    if isinstance(learner, StreamingAUC):
        plain = learner.strength is not None and learner.surrogate == "square"
    assert failed <= (set() if plain else order_matters)


# --- exact route ----------------------------------------------------------------------------


@pytest.mark.parametrize("density", [1.0, 0.5, 0.15])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("strength", [1e-4, 0.3])
def test_weights_are_the_exact_minimiser_at_any_moment(density, weighted, strength):
    X, y = stream(d=12)
    rng = np.random.default_rng(1)
    X = X * (rng.random(X.shape) < density)
    weight = rng.integers(0, 3, size=700).astype(float) if weighted else None
    model = StreamingAUC(strength, surrogate="square")
    done = 0
    for rows in (100, 101, 390, 700):
        part = slice(done, rows)
        own = weight[part] if weighted else None
        if weighted and not own.any():
            own = own + 1.0
            weight[part] = own
        model.partial_fit(sparse.csr_array(X[part]), y[part], sample_weight=own)
        expected = exact(X[:rows], y[:rows], strength, weight[:rows] if weighted else None)
        np.testing.assert_allclose(model.coef_[0], expected, rtol=1e-8, atol=1e-10)
        done = rows


def test_a_strength_is_chosen_on_rows_not_yet_learned():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(300) < 0.5, 1, -1)
    X = rng.normal(size=(300, 60)) + 0.2 * y[:, None]
    strong = StreamingAUC(surrogate="square").fit(X, y)
    np.testing.assert_allclose(strong.coef_[0], exact(X, y, strong.strength_), rtol=1e-8)
    assert strong.strength_ > 0.1
    X, y = stream(n=3000)
    X = X * [1.0, 1.0, 1.0, 1.0, 1.0, 1000.0]
    weak = StreamingAUC(surrogate="square").fit(X, y)
    np.testing.assert_allclose(weak.coef_[0], exact(X, y, weak.strength_), rtol=1e-7)
    assert weak.score(X, y) > exact_auc(X, y) - 0.01
    assert StreamingAUC(0.3).fit(X, y).strength_ == 0.3


def test_prequential_auc_equals_a_replay():
    X, y = stream(n=400, p=0.2)
    model = StreamingAUC(strength=0.01, surrogate="square", window=90, trace_every=40)
    for low in range(0, 400, 13):
        model.partial_fit(X[low : low + 13], y[low : low + 13])
    scores, w, middle, due = [], np.zeros(6), np.zeros(6), 16
    for i in range(400):
        scores.append(float((X[i] - middle) @ w))
        if i + 1 == due:
            seen, labels = X[: i + 1], y[: i + 1]
            w = exact(seen, labels, 0.01)
            middle = 0.5 * (seen[labels > 0].mean(axis=0) + seen[labels < 0].mean(axis=0))
            due += max(16, int(due / 8))
    expected = []
    for rows in range(40, 401, 40):
        low = max(0, rows - 90)
        expected.append((rows, metrics.auc(y[low:rows], np.array(scores[low:rows]))))
    np.testing.assert_allclose(model.trace_, expected, atol=1e-12)
    assert model.auc_ == expected[-1][1]


@pytest.mark.parametrize("limit", [1000, 2])
def test_further_passes_leave_estimates_and_choices_as_they_are(limit):
    X, y = stream()
    once = StreamingAUC(max_exact_columns=limit, trace_every=100).fit(X, y)
    twice = StreamingAUC(max_exact_columns=limit, trace_every=100, passes=2).fit(X, y)
    assert twice.auc_ == once.auc_
    np.testing.assert_array_equal(twice.trace_, once.trace_)
    assert twice.strength_ == pytest.approx(once.strength_)
    assert twice.score(X, y) > once.score(X, y) - 0.01


def test_trace_thins_itself():
    X, y = stream(n=3000, d=2)
    model = StreamingAUC(trace_every=2, window=10).fit(X, y)
    assert len(model.trace_) < POINTS
    rows = model.trace_[:, 0]
    assert (np.diff(rows) == rows[0]).all()
    assert rows[-1] + rows[0] > 3000


def drift(n=6000, d=5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.3, 1, -1)
    turn = np.linspace(0.0, np.pi, n)
    X = rng.normal(size=(n, d))
    X[:, 0] += y * np.cos(turn)
    X[:, 1] += y * np.sin(turn)
    return X, y


@cache
def batch_auc():
    """AUC of the last 2000 rows of the drift, by models of the 500 rows before each 100 of them."""
    X, y = drift()
    scores = np.empty(2000)
    for low in range(4000, 6000, 100):
        before = slice(low - 500, low)
        model = MetricClassifier("auc", surrogate="square", strength=1e-3).fit(X[before], y[before])
        scores[low - 4000 : low - 3900] = model.decision_function(X[low : low + 100])
    return metrics.auc(y[4000:], scores)


def test_forgetting_follows_drift():
    X, y = drift()
    aucs = {
        forget: StreamingAUC(forget=forget, window=2000).fit(X, y).auc_ for forget in (None, 500.0)
    }
    assert aucs[500.0] > aucs[None] + 0.1


@pytest.mark.parametrize("forget", [None, 500.0])
def test_stochastic_steps_follow_slow_drift_anyway(forget):
    X, y = drift()
    model = StreamingAUC(forget=forget, window=2000, max_exact_columns=2).fit(X, y)
    assert model.auc_ > batch_auc() - 0.025


@pytest.mark.sample(3)
@pytest.mark.parametrize("memory", [0, 0.05, 64])
@pytest.mark.parametrize("limit", [1000, 2])
def test_forgetting_follows_drift_with_and_without_memory(memory, limit):
    X, y = drift()
    model = StreamingAUC(forget=500.0, window=2000, memory=memory, max_exact_columns=limit)
    assert model.fit(X, y).auc_ > batch_auc() - 0.025


def test_forgetting_is_the_exact_minimiser_of_aged_rows():
    X, y = stream()
    model = StreamingAUC(0.01, surrogate="square", forget=60.0).fit(X, y)
    age = (1.0 - 1.0 / 60.0) ** np.arange(699, -1, -1)
    np.testing.assert_allclose(model.coef_[0], exact(X, y, 0.01, age), rtol=1e-7)


# --- many columns ---------------------------------------------------------------------------


def text(n=6000, d=4000, per_row=40, seed=0, scale=1.0):
    """Rows of a few words; a tenth of the words tell the classes apart."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.2, 1, -1)
    popular = 1.0 / np.arange(1, d + 1)
    lean = np.exp(np.where(rng.random(d) < 0.1, rng.normal(size=d), 0.0))
    parts = []
    for label in (1, -1):
        p = popular * lean**label
        parts.append(rng.choice(d, size=(n, per_row), p=p / p.sum()))
    words = np.where((y > 0)[:, None], *parts)
    X = sparse.csr_array((np.ones(words.size), words.ravel(), np.arange(n + 1) * per_row))
    X.resize((n, d))
    X.sum_duplicates()
    return X * (scale / per_row), y


@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_many_columns_rank_well_without_tuning(scale):
    X, y = text(scale=scale)
    model = StreamingAUC().fit(X[:4000], y[:4000])
    assert "scatter" not in model.state_
    best = MetricClassifier("auc", surrogate="square", strength=1e-2 * scale**2, standardise=False)
    best.fit(X[:4000], y[:4000])
    assert model.score(X[4000:], y[4000:]) > best.score(X[4000:], y[4000:]) - 0.03
    assert abs(model.auc_ - model.score(X[4000:], y[4000:])) < 0.1


@pytest.mark.slow  # test_many_columns_rank_well_without_tuning has a memory, too
def test_many_columns_rank_as_well_with_a_memory():
    scores = []
    for seed in range(3):
        X, y = text(n=2000, per_row=6, seed=seed)
        for room in (0, 64):
            model = StreamingAUC(memory=room).fit(X[:1000], y[:1000])
            scores.append(model.score(X[1000:], y[1000:]))
    assert np.mean(scores[1::2]) > np.mean(scores[::2]) - 0.005


@pytest.mark.slow  # test_forgetting_follows_drift_with_and_without_memory forgets, too
def test_many_columns_forget_classes_that_were_exchanged():
    X, y = text(per_row=20)
    y[4000:] *= -1
    aucs = {
        forget: StreamingAUC(forget=forget, window=2000).fit(X, y).auc_ for forget in (None, 500.0)
    }
    assert aucs[500.0] > aucs[None] + 0.03


def test_many_columns_take_the_scale_of_row_weights_out():
    X, y = text(n=1000)
    one, two = (StreamingAUC().fit(X, y, np.full(1000, weight)) for weight in (1.0, 7.0))
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-6, atol=1e-9)


def test_growing_beyond_the_limit_goes_on_from_the_exact_minimiser():
    X, y = stream(d=8)
    model = StreamingAUC(grow=True, surrogate="square", max_exact_columns=6)
    model.partial_fit(X[:400, :6], y[:400])
    before, auc = model.coef_[0].copy(), model.auc_
    model.partial_fit(np.zeros((1, 8)), [1])
    assert "scatter" not in model.state_
    np.testing.assert_allclose(model.coef_[0, :6], before, rtol=1e-3)
    assert model.auc_ == pytest.approx(auc, abs=0.01)
    model.partial_fit(X[400:], y[400:])
    assert model.score(X, y) > exact_auc(X, y) - 0.03


def exact_auc(X, y):
    return metrics.auc(y, X @ exact(X, y, 1e-4))


def test_parameters_are_checked():
    X, y = stream(n=50)
    for wrong in (
        {"strength": -1},
        {"forget": 1.0},
        {"window": 0},
        {"trace_every": 0},
        {"memory": -1.0},
        {"memory": "all"},
        {"surrogate": "cubic"},
    ):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            StreamingAUC(**wrong).fit(X, y)


def test_it_is_a_public_name():
    assert "StreamingAUC" in auctor.__all__
    assert "StreamingAUC" in dir(auctor)


@pytest.mark.sample(2)
@pytest.mark.parametrize("limit", [1000, 0])
def test_columns_that_grow_give_the_same_state_whatever_the_chunks(limit):
    """A column counts from the row that first has it, not from the chunk."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 60)) * (rng.random((600, 60)) < 0.15)
    X *= np.arange(60) < 5 + np.arange(600)[:, None] / 10
    y = np.where(X[:, :3].sum(axis=1) + rng.normal(size=600) > 0, 1, -1)
    learners = []
    for size in (1, 7, 600):
        learner = StreamingAUC(grow=True, max_exact_columns=limit)
        for low in range(0, 600, size):
            part = X[low : low + size]
            wide = max(1, int(np.flatnonzero(part.any(axis=0)).max(initial=0)) + 1)
            chunk = sparse.csr_array(part[:, :wide])
            learner.partial_fit(chunk, y[low : low + size], classes=[-1, 1])
        learners.append(learner)
    for other in learners[1:]:
        same(learners[0], other)
        np.testing.assert_array_equal(learners[0].coef_, other.coef_)
