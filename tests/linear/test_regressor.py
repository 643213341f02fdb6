import pickle

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from sklearn.base import clone
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LinearRegression,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
)
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from auctor import ConvergenceWarning, LinearRegressor
from auctor.losses import EpsilonInsensitive, Huber, Quantile

LOSSES = ["squared", "huber", "absolute", "quantile", "epsilon_insensitive", "poisson"]


def target(rows, loss):
    return np.round(np.abs(rows.t)) if loss == "poisson" else rows.t


def plain(*args, **params):
    """A regressor whose penalty acts on the columns as they are, as other libraries have it."""
    return LinearRegressor(*args, standardise=False, **params)


def same(a, b, tol=1e-8):
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=tol, atol=tol)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=tol, atol=tol)


# --- against other solvers ----------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_squared_l2_is_ridge(rows, store, fit_intercept, weighted):
    weight = rows.weight.astype(float) if weighted else np.ones(300)
    ours = plain(strength=0.1, fit_intercept=fit_intercept).fit(
        store(rows.X), rows.t, sample_weight=weight
    )
    theirs = Ridge(alpha=0.1 * weight.sum(), fit_intercept=fit_intercept, tol=1e-12).fit(
        rows.X, rows.t, sample_weight=weight
    )
    same(ours, theirs, tol=1e-9)
    np.testing.assert_allclose(ours.predict(store(rows.X)), theirs.predict(rows.X), atol=1e-8)
    assert ours.score(rows.X, rows.t) == pytest.approx(theirs.score(rows.X, rows.t))
    assert isinstance(ours.intercept_, float)
    assert ours.coef_.shape == (5,)


@pytest.mark.parametrize("params", [{"penalty": "none"}, {"strength": 0.0}])
def test_squared_without_penalty_is_least_squares(rows, params):
    ours = plain(**params).fit(rows.X, rows.t)
    same(ours, LinearRegression().fit(rows.X, rows.t), tol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ratio", [1.0, 0.3])
def test_l1_and_elastic_net(wide_rows, store, ratio, weighted):
    rows, strength = wide_rows, 0.2
    weight = rows.weight + 0.5 if weighted else None
    named = {"penalty": "l1"} if ratio == 1.0 else {"penalty": "elastic_net", "l1_ratio": ratio}
    ours = plain(strength=strength, tol=1e-10, max_iter=5000, **named).fit(
        store(rows.X), rows.t, sample_weight=weight
    )
    kind = Lasso(alpha=strength, tol=1e-12, max_iter=100_000)
    if ratio < 1.0:
        kind = ElasticNet(alpha=strength, l1_ratio=ratio, tol=1e-12, max_iter=100_000)
    theirs = kind.fit(rows.X, rows.t, sample_weight=weight)
    same(ours, theirs, tol=1e-5)
    assert np.array_equal(ours.coef_ == 0.0, theirs.coef_ == 0.0)
    assert 0 < (ours.coef_ == 0.0).sum() < 40


def test_elastic_net_mixes_half_and_half_by_default(rows):
    one = plain(penalty="elastic_net", strength=0.1, tol=1e-9).fit(rows.X, rows.t)
    same(one, ElasticNet(alpha=0.1, l1_ratio=0.5, tol=1e-12).fit(rows.X, rows.t), tol=1e-4)


@pytest.mark.parametrize("delta", [0.5, 1.0, 3.0])
def test_huber_by_another_minimiser(rows, delta):
    strength = 0.05

    def objective(p):
        r = np.abs(rows.X @ p[:-1] + p[-1] - rows.t)
        loss = np.where(r <= delta, 0.5 * r**2, delta * (r - 0.5 * delta))
        return loss.mean() + 0.5 * strength * p[:-1] @ p[:-1]

    best = minimize(objective, np.zeros(6), method="BFGS", options={"gtol": 1e-7})
    ours = plain(Huber(delta), strength=strength, tol=1e-10).fit(rows.X, rows.t)
    assert ours.solution_.value == pytest.approx(best.fun, abs=1e-9)
    np.testing.assert_allclose(np.r_[ours.coef_, ours.intercept_], best.x, atol=1e-4)


@pytest.mark.parametrize("tau", [0.2, 0.5, 0.9])
def test_quantile_l1(rows, tau):
    strength = 0.05
    theirs = QuantileRegressor(quantile=tau, alpha=strength).fit(rows.X, rows.t)
    r = rows.t - theirs.predict(rows.X)
    best = np.maximum(tau * r, (tau - 1.0) * r).mean() + strength * np.abs(theirs.coef_).sum()
    ours = plain(Quantile(tau), penalty="l1", strength=strength).fit(rows.X, rows.t)
    assert best - 1e-9 <= ours.solution_.value <= best + ours.gap_ + 1e-9
    assert ours.gap_ <= ours.solution_.tol
    below = (rows.t < ours.predict(rows.X)).mean()
    assert below == pytest.approx(tau, abs=0.05)


@pytest.mark.parametrize(("loss", "epsilon"), [("absolute", 0.0), (EpsilonInsensitive(0.8), 0.8)])
def test_absolute_and_epsilon_insensitive_as_linear_programmes(rows, loss, epsilon):
    X, t, strength = rows.X, rows.t, 0.05
    n, d = X.shape
    cost = np.r_[np.full(2 * d, strength), 0.0, 0.0, np.full(n, 1.0 / n)]
    side = np.c_[X, -X, np.ones(n), -np.ones(n)]
    A = np.r_[np.c_[side, -np.eye(n)], np.c_[-side, -np.eye(n)]]
    best = linprog(cost, A_ub=A, b_ub=np.r_[t + epsilon, epsilon - t]).fun
    ours = plain(loss, penalty="l1", strength=strength).fit(X, t)
    assert best - 1e-9 <= ours.solution_.value <= best + ours.gap_ + 1e-9
    assert ours.gap_ <= ours.solution_.tol


@pytest.mark.parametrize("scale", [1.0, 1e5])
@pytest.mark.parametrize("weighted", [False, True])
def test_poisson(rows, store, weighted, scale):
    rng = np.random.default_rng(0)
    counts = rng.poisson(scale * np.exp(0.3 * rows.X[:, 0])).astype(float)
    weight = rows.weight + 0.5 if weighted else None
    strength = 0.1 * scale
    ours = plain("poisson", strength=strength, tol=1e-11).fit(
        store(rows.X), counts, sample_weight=weight
    )
    theirs = PoissonRegressor(alpha=strength, tol=1e-10 * scale, max_iter=10_000).fit(
        rows.X, counts, sample_weight=weight
    )
    same(ours, theirs, tol=1e-5)
    np.testing.assert_allclose(ours.predict(rows.X), theirs.predict(rows.X), rtol=1e-4)
    # The response is on the scale of the counts, through the exponential.
    np.testing.assert_allclose(
        ours.predict(rows.X), np.exp(rows.X @ ours.coef_ + ours.intercept_), rtol=1e-12
    )


# --- weights, ways and stopping -----------------------------------------------------------------


@pytest.mark.sample(4)
@pytest.mark.filterwarnings("ignore::auctor.ConvergenceWarning")
@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("data", ["rows", "wide_rows"])
@pytest.mark.parametrize("loss", LOSSES)
def test_weights_equal_repetition(request, store, data, penalty, loss):
    rows = request.getfixturevalue(data)
    X, t, again = store(rows.X), target(rows, loss), rows.repeated()
    model = LinearRegressor(loss, penalty=penalty, strength=0.01)
    one = clone(model).fit(X, t, sample_weight=rows.weight)
    other = clone(model).fit(X[again], t[again])
    if loss == "absolute" and penalty == "l1":
        # Rows sit on kinks, and rounding decides on which side: the optimum is the same.
        assert abs(one.solution_.value - other.solution_.value) <= max(one.gap_, other.gap_)
    else:
        same(one, other)


@pytest.mark.parametrize("loss", LOSSES)
def test_scale_of_weights_does_not_matter(rows, loss):
    t, model = target(rows, loss), LinearRegressor(loss, strength=0.01)
    one = clone(model).fit(rows.X, t, sample_weight=np.full(300, 1e-30))
    same(one, clone(model).fit(rows.X, t, sample_weight=np.full(300, 1e60)))


@pytest.mark.filterwarnings("ignore::auctor.ConvergenceWarning")
@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_gap_is_honest(rows, loss, penalty):
    model = LinearRegressor(loss, penalty=penalty, strength=0.05)
    t = target(rows, loss)
    best = clone(model).set_params(tol=1e-10).fit(rows.X, t).solution_.value
    for stop in ({"max_iter": 2}, {"tol": 0.1}, {"tol": 1e-2}, {"tol": 1e-4}):
        part = clone(model).set_params(**stop).fit(rows.X, t)
        assert part.solution_.certified
        assert part.solution_.value - best <= part.gap_ + 1e-12


@pytest.mark.parametrize("loss", LOSSES)
def test_predicts_a_constant(rows, loss):
    model = LinearRegressor(loss).fit(rows.X, np.full(300, 3.0))
    np.testing.assert_allclose(model.predict(rows.X), 3.0, atol=0.2)
    model = LinearRegressor(loss).fit(np.zeros((300, 2)), target(rows, loss))
    assert model.coef_.tolist() == [0.0, 0.0]
    assert np.ptp(model.predict(np.zeros((3, 2)))) == 0.0


def test_one_row():
    model = LinearRegressor().fit([[1.0, 2.0]], [3.0])
    assert model.predict([[1.0, 2.0]]).tolist() == [3.0]


@pytest.mark.parametrize("loss", LOSSES)
def test_warm_start(rows, loss):
    t = target(rows, loss)
    model = LinearRegressor(loss, strength=0.01, warm_start=True).fit(rows.X, t)
    first, value = model.n_iter_, model.solution_.value
    model.fit(rows.X, t)
    # A continuation starts at its widest smoothing again, so it need not be shorter.
    assert model.n_iter_ < first or loss in ("absolute", "quantile", "epsilon_insensitive")
    assert model.solution_.value <= value * (1.0 + 1e-12) + model.gap_
    model.fit(rows.X[:, :2], t)
    assert model.coef_.shape == (2,)


def test_ways_of_scikit_learn(rows):
    model = LinearRegressor("huber", strength=0.1).fit(rows.X, rows.t)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(rows.X), model.predict(rows.X))
    assert clone(model).get_params() == model.get_params()
    pipe = make_pipeline(StandardScaler(), LinearRegressor("absolute"))
    assert (cross_val_score(pipe, rows.X, rows.t, cv=3) > 0.2).all()
    search = GridSearchCV(LinearRegressor(), {"strength": [1e-3, 1e3]}, cv=3)
    assert search.fit(rows.X, rows.t).best_params_ == {"strength": 1e-3}


@pytest.mark.parametrize("loss", ["huber", "absolute", "poisson"])
def test_stopping_early_warns_and_returns_a_model(rows, loss):
    model = LinearRegressor(loss, max_iter=1, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="max_iter") as caught:
        model.fit(rows.X, target(rows, loss))
    assert caught[0].filename == __file__
    assert np.isfinite(model.coef_).all()
    assert model.n_iter_ == 1
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        LinearRegressor(loss, max_seconds=0.0).fit(rows.X, target(rows, loss))


def test_verbose_writes_to_the_error_stream_only(rows, capsys):
    LinearRegressor("huber", verbose=1).fit(rows.X, rows.t)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("objective") == len(err.splitlines()) > 1


@pytest.mark.parametrize("loss", ["squared", "huber", "absolute"])
def test_threads_do_not_matter(store, loss):
    rng = np.random.default_rng(0)
    X = store(rng.normal(size=(6000, 20)))
    t = X @ rng.normal(size=20) + rng.normal(size=6000)
    one, two = (LinearRegressor(loss, n_threads=k, tol=1e-3).fit(X, t) for k in (1, 2))
    same(one, two, tol=0.0)
