"""Losses of additive models with pairs: weights are repeated rows, offsets are scores to add."""

import numpy as np
import pytest

from auctor import AdditiveClassifier, AdditiveRegressor
from auctor.fit.surrogate import own_surrogate

pytestmark = pytest.mark.filterwarnings("ignore::auctor.ConvergenceWarning")

N = 80
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3)).round(1)
SCORE = X[:, 0] * X[:, 1] + X[:, 2]
TIMES = RNG.integers(1, 4, N)
AGAIN = np.repeat(np.arange(N), TIMES)
TARGETS = {
    "huber": SCORE + RNG.standard_cauchy(N).clip(-3.0, 3.0),
    "poisson": RNG.poisson(np.exp(0.5 * SCORE)).astype(float),
    "gamma": np.exp(0.5 * SCORE) * RNG.gamma(3.0, 1.0 / 3.0, N) + 1e-3,
    "logistic": SCORE > 0.0,
    "square": SCORE > 0.0,
    "gaussian": SCORE > 0.0,
    "several": np.digitize(SCORE, [-0.5, 0.5]),
}


def _fit(name, row, weight=None, offset=None):
    halves = [(np.flatnonzero(row % 2 != k), np.flatnonzero(row % 2 == k)) for k in (0, 1)]
    given = {"strength": 1e-2, "tol": 1e-5, "interactions": [(0, 1)], "cv": halves}
    y = TARGETS[name][row]
    if name in ("huber", "poisson", "gamma"):
        return AdditiveRegressor(name, **given).fit(X[row], y, weight, init_score=offset)
    metric = {"metric": "log_loss"} if name == "several" else {"metric": "auc", "surrogate": name}
    return AdditiveClassifier(**metric, **given).fit(X[row], y, weight, init_score=offset)


@pytest.mark.parametrize("name", TARGETS)
def test_weights_are_repeated_rows(name):
    one, two = _fit(name, np.arange(N), TIMES), _fit(name, AGAIN)
    assert all(fit.certified for fit in one.solution_)
    assert one.bins_.pairs
    np.testing.assert_allclose(one.coef_, two.coef_, atol=2e-3)
    np.testing.assert_allclose(one.error_, two.error_, atol=2e-3)


@pytest.mark.parametrize("name", TARGETS)
def test_a_constant_offset_moves_the_intercept_alone(name):
    rows = np.arange(N)
    shift = np.array([0.3, 0.2, -1.0]) if name == "several" else np.array([0.7])
    offset = np.tile(shift, (N, 1))
    one = _fit(name, rows, None, offset if name == "several" else offset.ravel())
    two = _fit(name, rows)
    np.testing.assert_allclose(one.coef_, two.coef_, atol=2e-3)
    if name in ("huber", "poisson", "gamma"):
        np.testing.assert_allclose(one.intercept_, two.intercept_ - 0.7, atol=2e-3)


# --- the metric's own surrogate, where held-out rows agree ----------------------------------------


def test_the_surrogate_of_the_metric_is_taken_where_held_out_rows_agree():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=300) > 1.2
    given = {"members": 4, "interactions": 0, "n_strengths": 4}
    taken = {}
    for name in ("auto", "squared_hinge", "best"):
        model = AdditiveClassifier("cost(5)", surrogate=name, **given).fit(X, y)
        taken[name] = model.coef_, model.result_.fold_scores
    lead = taken["squared_hinge"][1] - taken["auto"][1]
    clear = lead.mean() > lead.std(ddof=1) / 2.0
    np.testing.assert_array_equal(taken["best"][0], taken["squared_hinge" if clear else "auto"][0])


def test_a_metric_without_a_smooth_surrogate_of_its_own_keeps_the_log_loss():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 2))
    y = X[:, 0] > 0.3
    one, two = (
        AdditiveClassifier("log_loss", surrogate=name, members=2, n_strengths=3).fit(X, y).coef_
        for name in ("auto", "best")
    )
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("metric", "name"),
    [("auc", "logistic"), ("f1", "pairwise"), ("cost(5)", "squared_hinge"), ("log_loss", None)],
)
def test_own_surrogates_are_smooth_and_no_log_loss(metric, name):
    assert own_surrogate(metric) == name
