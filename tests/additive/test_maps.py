"""Maps of pairs: products against a dense design, purification, screening, the joint problem."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from auctor import AdditiveClassifier, AdditiveRegressor
from auctor.additive.bins import Bins, PairBins, levels_of
from auctor.additive.columns import ColumnBins
from auctor.additive.newton import BlockNewton
from auctor.additive.purify import centred, purified, raw_tables
from auctor.core.types import Target
from auctor.data import Binned
from auctor.data.binned import BinnedMatrix, pack
from auctor.data.codebook import Codebook, MapBook
from auctor.kernels.additive.screen import pair_gains, pair_sums
from auctor.losses import Gamma, Huber, Logistic, PairwiseLogistic, Poisson
from auctor.minimise import minimise
from auctor.penalties import BoundedElasticNet
from auctor.problem import Problem
from auctor.solvers import resolve


def _design(n=200, seed=0):
    """Coded columns and a map, with the dense matrix of their parameters."""
    rng = np.random.default_rng(seed)
    books = [
        Codebook(5, rng.normal(size=5), (1, 2, 4), (0,)),
        Codebook(4, None, (1, 2, 3)),
        MapBook((5, 4), (np.array([1.0, 0.6, 0.3, 0.1]), np.array([0.8, 0.0, 0.2]))),
        MapBook((16, 16), (np.linspace(0.9, 0.1, 15), np.linspace(0.95, 0.05, 15))),
    ]
    codes = np.array([rng.integers(0, book.size, n) for book in books], dtype=np.uint8)
    matrix = BinnedMatrix(pack(codes), books)
    by_hand = np.hstack([book.basis[line] for book, line in zip(books, codes, strict=True)])
    return matrix, by_hand


def test_products_are_those_of_the_dense_design():
    matrix, X = _design()
    rng = np.random.default_rng(1)
    data = Binned(matrix, Target(np.ones(200)), n_threads=1)
    w, r, h = rng.normal(size=X.shape[1]), rng.normal(size=200), rng.random(200)
    np.testing.assert_allclose(data.scores(w, 0.5), X @ w + 0.5, atol=1e-12)
    np.testing.assert_allclose(data.gradient(r), X.T @ r, atol=1e-11)
    np.testing.assert_allclose(data.square_gradient(h), (X**2).T @ h, atol=1e-11)
    np.testing.assert_allclose(data.row_lengths(w**2), (X**2) @ w**2, atol=1e-11)
    np.testing.assert_allclose(matrix.to_dense(), X, atol=0)


def test_a_map_is_steps_times_steps():
    """Cell by cell, from the formula."""
    means = np.array([0.7, 0.2]), np.array([0.5])
    theta = np.array([2.0, -3.0])
    table = MapBook((3, 2), means).table(theta).reshape(3, 2)
    for x, y in itertools.product(range(3), range(2)):
        wanted = sum(
            theta[i] * ((x >= i + 1) - means[0][i]) * ((y >= 1) - means[1][0]) for i in range(2)
        )
        assert table[x, y] == pytest.approx(wanted, abs=1e-15)


def test_results_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(600, 4))
    y = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=600) > 0.3
    one, two = (
        AdditiveClassifier(members=2, n_threads=threads, interactions=3).fit(X, y)
        for threads in (1, 2)
    )
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(one.oof_scores_, two.oof_scores_, rtol=1e-12, atol=1e-14)


# --- the joint problem ------------------------------------------------------------------------


def _pairs(s, y):
    """Mean logistic loss of the differences of scores over all pairs of a positive, a negative."""
    gap = s[y > 0.0][:, None] - s[y < 0.0]
    slope, out = -1.0 / (1.0 + np.exp(gap)) / gap.size, np.empty(y.size)
    out[y > 0.0], out[y < 0.0] = slope.sum(axis=1), -slope.sum(axis=0)
    return np.logaddexp(0.0, -gap).mean(), out


def _mean(value, slope):
    return lambda s, y: (value(s, y).mean(), slope(s, y) / y.size)


#: Losses with a formula of their own, and the target: labels, numbers or counts.
FORMULAS = {
    "logistic": (
        Logistic(),
        _mean(lambda s, y: np.logaddexp(0.0, -y * s), lambda s, y: -y / (1.0 + np.exp(y * s))),
        np.sign,
    ),
    "pairs": (PairwiseLogistic(), _pairs, np.sign),
    "huber": (
        Huber(0.5),
        _mean(
            lambda s, y: np.where(np.abs(s - y) < 0.5, (s - y) ** 2, np.abs(s - y) - 0.25) / 2.0,
            lambda s, y: (s - y).clip(-0.5, 0.5),
        ),
        np.array,
    ),
    "poisson": (
        Poisson(),
        _mean(lambda s, y: np.exp(s) - y * s, lambda s, y: np.exp(s) - y),
        lambda z: np.floor(np.exp(0.5 * z)),
    ),
    "gamma": (
        Gamma(),
        _mean(lambda s, y: s + y * np.exp(-s), lambda s, y: 1.0 - y * np.exp(-s)),
        lambda z: np.exp(0.5 * z),
    ),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_the_certificate_holds_against_an_independent_solver(name):
    loss, formula, made = FORMULAS[name]
    matrix, X = _design(150, 3)
    rng = np.random.default_rng(4)
    y = made(X[:, 0] + X[:, 12] + rng.normal(size=150))
    d, p = 8, X.shape[1]
    l1 = np.where(np.arange(p) < d, 0.02, 0.0)
    l2 = np.where(np.arange(p) < d, 0.01, 0.05)
    penalty = BoundedElasticNet(1.0, l1, l2, lower=np.where(np.arange(p) == 1, 0.0, -np.inf))
    free = name != "pairs"  # pairs do not see a constant
    data = Binned(matrix, Target(y), n_threads=1)
    problem = Problem(loss, penalty, data, fit_intercept=free)
    leading = Binned(_leading(matrix, 2), Target(y))
    solver = BlockNewton(leading) if free else resolve("auto", problem)
    found = minimise(problem, solver, tol=1e-9, max_iter=20_000)
    assert found.certified
    assert found.converged

    # The same problem with w = a - b, both at least 0, as a smooth one with bounds.
    def objective(z):
        w = z[:p] - z[p : 2 * p]
        value, slope = formula(X @ w + z[-1], y)
        gradient = X.T @ slope + l2 * w
        value += 0.5 * l2 @ w**2 + l1 @ (z[:p] + z[p : 2 * p])
        return value, np.concatenate([gradient + l1, l1 - gradient, [slope.sum()]])

    bounds = [(0.0, None)] * p + [(0.0, 0.0 if j == 1 else None) for j in range(p)]
    bounds.append((None, None) if free else (0.0, 0.0))
    other = minimize(
        objective, np.zeros(2 * p + 1), jac=True, method="L-BFGS-B", bounds=bounds,
        options={"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-10},
    )  # fmt: skip
    ours = objective(
        np.concatenate([found.coef.clip(0.0), -found.coef.clip(None, 0.0), [found.intercept]])
    )
    assert ours[0] <= other.fun + 1e-9
    assert other.fun - ours[0] <= found.gap + 1e-6
    assert found.coef[1] >= 0.0


def _leading(matrix, count):
    """The first columns of a matrix of codes."""
    return BinnedMatrix(pack(matrix.codes()[:count]), matrix.books[:count])


@pytest.mark.parametrize("members", [1, 3])
def test_every_member_is_certified(members):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 3))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=400) > 0.2
    model = AdditiveClassifier(members=members, interactions=2).fit(X, y)
    solutions = model.solution_ if isinstance(model.solution_, list) else [model.solution_]
    assert len(solutions) == members
    assert all(one.certified and one.gap <= one.tol for one in solutions)
    assert model.gap_ == max(one.gap for one in solutions)


@pytest.mark.parametrize("members", [1, 3])
def test_with_both_penalties_a_member_is_the_mean_of_two_certified_optima(members):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 3))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=400) > 0.2
    params = {"members": members, "interactions": 2, "tol": 1e-8}
    both = AdditiveClassifier(pair_penalty="both", **params).fit(X, y)
    alone = AdditiveClassifier(**params).fit(X, y)
    solutions = both.solution_
    assert len(solutions) == 2 * members
    assert all(one.certified and one.gap <= one.tol for one in solutions)
    assert both.gap_ == max(one.gap for one in solutions)
    # The first ones are those of a ridge alone; the maps of the twins are sparse.
    bins, first = both.bins_, alone.solution_
    first = first if isinstance(first, list) else [first]
    n_curves = sum(column.book.n_params for column in bins.columns)
    for ridge, one, twin in zip(first, solutions[:members], solutions[members:], strict=True):
        np.testing.assert_allclose(one.coef, ridge.coef, atol=1e-12)
        maps = twin.coef[n_curves:]
        assert 0 < np.count_nonzero(maps) < 0.5 * maps.size
        assert np.all(one.coef[n_curves:] != 0.0)
    # The model is the mean of all.
    codes = bins.codes(X)
    scores = [
        sum(table[line] for table, line in zip(raw_tables(bins, one.coef), codes, strict=True))
        + one.intercept
        for one in solutions
    ]
    decision = both.decision_function(X) + both.threshold_
    np.testing.assert_allclose(decision, np.mean(scores, axis=0), atol=1e-10)


def test_both_penalties_for_classes_numbers_directions_and_a_warm_start():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(300, 2))
    z = X[:, 0] * X[:, 1]
    params = {"members": 2, "interactions": 1, "pair_penalty": "both"}
    several = AdditiveClassifier("log_loss", **params).fit(X, np.digitize(z, [-0.5, 0.5]))
    assert several.gap_ <= several.tol
    assert several.score_oof_ > -1.0
    numbers = AdditiveRegressor(warm_start=True, **params).fit(X, z)
    before = numbers.coef_
    np.testing.assert_allclose(numbers.fit(X, z).coef_, before, atol=0.05)
    rising = AdditiveClassifier("log_loss", monotone=[1, 0], **params).fit(X, X[:, 0] + z > 0.0)
    low, high = X.copy(), X.copy()
    high[:, 0] += 1.0
    assert np.all(rising.decision_function(high) >= rising.decision_function(low))


# --- purification -----------------------------------------------------------------------------


def _fitted(seed=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 3))
    X[:, 2] = rng.integers(0, 3, size=500)
    X[rng.random((500, 3)) < 0.05] = np.nan
    Z = np.nan_to_num(X)
    y = Z[:, 0] * Z[:, 1] + Z[:, 2] + 0.3 * rng.normal(size=500) > 1.0
    return AdditiveClassifier(members=2, interactions=[(0, 1), (0, 2)]).fit(X, y), X


def test_scores_are_the_sum_of_the_terms_and_terms_are_centred():
    model, X = _fitted()
    parts = model.explain(X)
    np.testing.assert_allclose(
        parts.sum(axis=1) + model.intercept_, model.decision_function(X), atol=1e-12
    )
    np.testing.assert_allclose(parts.mean(axis=0), 0.0, atol=1e-12)
    # Rows and columns of a map have mean 0 under the weights of the training rows.
    tables = model.bins_.tables(model.coef_[0])[3:]
    for pair, table in zip(model.bins_.pairs, tables, strict=True):
        cells, share = table.reshape(pair.shape), pair.share.reshape(pair.shape)
        np.testing.assert_allclose((cells * share).sum(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose((cells * share).sum(axis=1), 0.0, atol=1e-12)
        assert np.abs(cells).max() > 0.0


def test_purification_keeps_the_scores():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(300, 2))
    X[rng.random(300) < 0.1, 0] = np.nan
    bins = Bins.of(X, n_bins=6)
    codes = bins.codes(X)
    levels = tuple(levels_of(column) for column in bins.columns)
    width = int(levels[1].max()) + 1
    cells = levels[0][codes[0]] * np.uint8(width) + levels[1][codes[1]]
    share = np.bincount(cells, minlength=(int(levels[0].max()) + 1) * width) / 300
    both = Bins(bins.columns, (PairBins(0, 1, levels, share),))
    theta = rng.normal(size=sum(book.n_params for book in both.books))
    tables = raw_tables(both, theta)
    every = [codes[0], codes[1], cells]
    before = sum(table[line] for table, line in zip(tables, every, strict=True))
    coef, offset = purified(both, tables)
    after = offset + sum(t[line] for t, line in zip(both.tables(coef), every, strict=True))
    np.testing.assert_allclose(after, before, atol=1e-12)


def test_a_sum_of_two_columns_leaves_no_map():
    rng = np.random.default_rng(8)
    share = rng.random((4, 5))
    share[2] = 0.0  # a level without rows
    share /= share.sum()
    one, two = rng.normal(size=4), rng.normal(size=5)
    cells, rows, columns, mean = centred(one[:, None] + two, share)
    np.testing.assert_allclose(cells, 0.0, atol=1e-12)
    seen = [0, 1, 3]
    np.testing.assert_allclose(
        (rows[:, None] + columns + mean)[seen], (one[:, None] + two)[seen], atol=1e-12
    )


# --- screening --------------------------------------------------------------------------------


def _gain_by_hand(first, second, slope, curve, sizes):
    """The best tree: a cut on one side, then a cut of the other in either half."""

    def value(mask):
        return slope[mask].sum() ** 2 / (curve[mask].sum() + 1.0)

    best = 0.0
    for (a, height), (b, width) in (
        ((first, sizes[0]), (second, sizes[1])),
        ((second, sizes[1]), (first, sizes[0])),
    ):
        for cut in range(1, height):
            total = 0.0
            for half in (a < cut, a >= cut):
                leaves = [value(half)]
                for at in range(1, width):
                    low, high = half & (b < at), half & (b >= at)
                    if low.sum() >= 5 and high.sum() >= 5:
                        leaves.append(value(low) + value(high))
                total += max(leaves)
            best = max(best, total)
    return max(0.0, best - value(np.ones(first.size, dtype=bool)))


def test_gains_are_those_of_the_best_tree():
    rng = np.random.default_rng(9)
    levels = np.array([rng.integers(0, size, 120) for size in (4, 5, 3)], dtype=np.uint8)
    sizes = np.array([4, 5, 3])
    slope, curve = rng.normal(size=(120, 2)), rng.random((120, 2))
    slope[::3, 1] = curve[::3, 1] = 0.0  # rows that a member leaves out
    moments = np.hstack([slope, curve]).astype(np.float32)
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    out = np.zeros((3, 2))
    sums, counts = np.zeros((3, 256, 4)), np.zeros((3, 256))
    pair_sums(levels, sizes, pairs, moments, np.ones(120), sums, counts, 0, 3)
    pair_gains(sums, counts, sizes, pairs, 1.0, 5, out, 0, 3)
    exact = moments.astype(np.float64)
    for q, (a, b) in enumerate(pairs):
        for k in range(2):
            wanted = _gain_by_hand(
                levels[a], levels[b], exact[:, k], exact[:, 2 + k], (sizes[a], sizes[b])
            )
            assert out[q, k] == pytest.approx(wanted, rel=1e-5)


def test_the_pair_that_matters_comes_first_and_excluded_ones_stay_out():
    rng = np.random.default_rng(10)
    X = rng.normal(size=(800, 5))
    y = X[:, 1] * X[:, 3] + 0.2 * rng.normal(size=800)
    model = AdditiveRegressor(members=2, interactions=1).fit(X, y)
    assert model.names_[-1] == "x1 x x3"
    assert model.score(X, y) > 0.9
    other = AdditiveRegressor(members=2, interactions=1, exclude=[(3, 1)]).fit(X, y)
    assert other.names_[-1] != "x1 x x3"


def test_no_pairs_where_there_are_none():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(600, 4))
    y = X.sum(axis=1) + 2.0 * rng.normal(size=600) > 0.0
    model = AdditiveClassifier(members=4).fit(X, y)
    plain = AdditiveClassifier(members=4, interactions=0).fit(X, y)
    assert not model.bins_.pairs or model.score_oof_ >= plain.score_oof_ - 1e-3
    assert not plain.bins_.pairs


def test_categories_are_one_column_of_the_model_and_of_pairs():
    rng = np.random.default_rng(12)
    n = 900
    town, age = rng.integers(0, 6, n).astype(float), rng.normal(size=n)
    effect = np.array([2.0, -1.0, 0.5, 1.5, -2.0, 0.0])[town.astype(int)]
    y = effect * np.sign(age) + 0.5 * rng.normal(size=n) > 0.0
    X = np.column_stack([age, town])
    model = AdditiveClassifier(members=3, categorical=[1]).fit(X, y)
    assert not isinstance(model.bins_.columns[1], ColumnBins)
    assert [(pair.first, pair.second) for pair in model.bins_.pairs] == [(0, 1)]
    assert model.score_oof_ > 0.9
    values, level = model.curve(1)
    np.testing.assert_array_equal(values, np.arange(6.0))
    assert level.size == 6
    unseen = model.explain(np.array([[0.0, 77.0]]))
    assert unseen[0, 1] == 0.0
