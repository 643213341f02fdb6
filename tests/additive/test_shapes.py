"""Shapes that people must guarantee: directions, bends, flat ranges, own cut points."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize as optimise

import auctor
from auctor import AdditiveClassifier, AdditiveRegressor
from auctor.additive.directed import directed_basis
from auctor.additive.newton import BlockNewton
from auctor.additive.scorecard import card_points
from auctor.core.errors import AuctorError, ParameterError
from auctor.core.types import Target
from auctor.data import Binned
from auctor.data.binned import BinnedMatrix, pack
from auctor.data.codebook import BasisBook
from auctor.losses import Logistic
from auctor.minimise import minimise
from auctor.penalties import BoundedElasticNet
from auctor.problem import Problem
from tests.additive.directions import steps_back

pytestmark = pytest.mark.filterwarnings("ignore::auctor.ConvergenceWarning")

#: Largest rounding error of the levels of a curve.
ROUNDING = 1e-13


def check_shape(values, level, sign, shape):
    """Assert that a curve has a direction and a bend."""
    if sign:
        assert (sign * np.diff(level) >= 0.0).all()
    if shape in ("concave", "convex"):
        slopes = np.diff(level) / np.diff(values)
        bend = np.diff(slopes) * (1.0 if shape == "convex" else -1.0)
        noise = ROUNDING * (1.0 + np.abs(level).max()) / np.diff(values)  # of the levels, in slopes
        assert (bend >= -noise[1:] - noise[:-1]).all()


def _problem(rng):
    """Rows whose labels pull against the shapes as often as not."""
    n = int(rng.integers(80, 250))
    X = rng.normal(size=(n, 3)).round(int(rng.integers(0, 3)))
    X[rng.random((n, 3)) < 0.1] = np.nan
    Z = np.nan_to_num(X)
    pull = np.sin(3 * Z[:, 0]) + Z @ rng.normal(size=3) + rng.normal() * Z[:, 1] ** 2
    return X, pull + rng.normal(size=n)


def _fit(rng, k):
    X, y = _problem(rng)
    signs = {j: int(rng.integers(-1, 2)) for j in range(3)}
    shapes = {j: str(rng.choice(["concave", "convex"])) for j in range(3) if rng.random() < 0.5}
    options = {
        "members": int(rng.integers(1, 4)),
        "monotone": {j: sign for j, sign in signs.items() if sign},
        "shape": shapes,
        "strength": 10 ** rng.uniform(-5, -1),
        "penalty": ("fused", "smooth")[k % 2],
        "random_state": k,
    }
    kind = AdditiveRegressor if k % 3 == 0 else AdditiveClassifier
    target = y if kind is AdditiveRegressor else y > np.median(y)
    model = kind(**options).fit(X, target)
    for j in range(3):
        check_shape(*model.curve(j), signs[j], shapes.get(j))
        assert not signs[j] or not steps_back(model, X, j, signs[j], k)
    paired = {j for pair in model.bins_.pairs for j in (pair.first, pair.second)}
    assert not paired & set(shapes)


def test_shapes_hold_in_ten_problems():
    rng = np.random.default_rng(0)
    for k in range(10):
        _fit(rng, k)


@pytest.mark.slow
def test_shapes_hold_in_a_thousand_problems():
    rng = np.random.default_rng(1)
    for k in range(1000):
        _fit(rng, k)


def _paired(rng, k, penalty):
    """Maps of monotone columns on labels whose slopes change sign with the other column."""
    X, y = _problem(rng)
    Z = np.nan_to_num(X)
    y = y + 3.0 * rng.normal() * Z[:, 0] * Z[:, 1] + 3.0 * rng.normal() * np.abs(Z[:, 1]) * Z[:, 2]
    signs = [int(rng.choice([-1, 1])), *(int(sign) for sign in rng.integers(-1, 2, size=2))]
    kind = AdditiveRegressor if k % 2 else AdditiveClassifier
    model = kind(
        members=int(rng.integers(1, 4)),
        monotone=signs,
        interactions=[(0, 1), (1, 2)] if k % 4 < 2 else 3,
        strength=10 ** rng.uniform(-5, -1),
        penalty=penalty,
        max_iter=20_000,
        random_state=k,
    ).fit(X, y if kind is AdditiveRegressor else y > np.median(y))
    for j in np.flatnonzero(signs):
        assert not steps_back(model, X, j, signs[j], k)
        check_shape(*model.curve(int(j)), signs[j], None)
    solutions = model.solution_ if isinstance(model.solution_, list) else [model.solution_]
    assert all(one.certified for one in solutions)
    late = [one for one in solutions if one.gap > one.tol]
    moved = [np.abs(model.pair_map((p.first, p.second))).max() for p in model.bins_.pairs]
    return max(moved), late


def test_maps_of_monotone_columns_never_turn_in_six_problems():
    rng = np.random.default_rng(2)
    size, late = zip(*(_paired(rng, k, ("fused", "smooth")[k % 2]) for k in range(6)), strict=True)
    assert np.median(size) > 0.05  # there are maps
    assert not any(late)


@pytest.mark.slow
def test_maps_of_monotone_columns_never_turn_in_a_thousand_problems():
    rng = np.random.default_rng(3)
    late = [_paired(rng, k, ("fused", "smooth", "fused", "group")[k % 4])[1] for k in range(1000)]
    assert sum(map(bool, late)) <= 1  # groups with signs go to Fista, which may stall


def test_a_map_finds_a_slope_that_the_other_column_steers():
    rng = np.random.default_rng(4)
    X = rng.uniform(-1.0, 1.0, size=(1500, 2))
    y = 4.0 * np.maximum(X[:, 0], 0.0) * (X[:, 1] > 0.0) - X[:, 1]
    table, seen = pd.DataFrame(X, columns=["a", "b"]), slice(0, 1000)
    fits = [
        AdditiveRegressor(members=3, monotone={"a": 1}, interactions=count).fit(
            table[seen], y[seen]
        )
        for count in (0, "auto")
    ]
    curves, maps = (model.score(table[1000:], y[1000:]) for model in fits)
    assert curves < 0.9
    assert maps > 0.93
    assert fits[1].names_ == ["a", "b", "a x b"]


def test_points_and_edits_keep_the_direction_of_curves_and_maps_together():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(500, 2))
    y = X[:, 0] * (1.0 + X[:, 1]) + rng.normal(size=500) > 0.0
    model = AdditiveClassifier(members=2, monotone={0: 1}, interactions=[(0, 1)]).fit(X, y)
    card = model.scorecard(points_to_double_odds=5, X=X, y=y)
    rows = np.repeat(X[:40], 60, axis=0)
    rows[:, 0] = np.tile(np.linspace(-3.0, 3.0, 60), 40)
    points = card_points(card, model.bins_, model.names_, rows).reshape(40, -1)
    assert np.ptp(points[0]) > 3
    assert (np.diff(points, axis=1) >= 0.0).all()
    cells = model.pair_map((0, 1))
    with pytest.raises(AuctorError, match="direction"):
        model.edit((0, 1), cells[::-1] - np.arange(cells.shape[0])[:, None])
    with pytest.raises(AuctorError, match="direction"):  # the map alone turns
        model.edit(0, drop=True)
    model.edit((0, 1), drop=True)
    assert not steps_back(model, X, 0, 1)


def test_the_certificate_of_a_map_with_bounds_holds_against_an_independent_solver():
    rng = np.random.default_rng(6)
    basis, lower = directed_basis((4, 3), (1, 0))
    cells = rng.integers(0, 12, size=200)
    y = np.where(np.sin(cells) + 0.2 * cells + rng.normal(size=200) > 1.0, 1.0, -1.0)
    data = Binned(BinnedMatrix(pack(cells[None].astype(np.uint8)), [BasisBook(basis)]), Target(y))
    penalty = BoundedElasticNet(1.0, 0.0, np.full(lower.size, 1e-3), lower=lower)
    found = minimise(Problem(Logistic(), penalty, data), BlockNewton(), tol=1e-9)
    assert found.certified
    assert found.converged
    X = basis[cells]

    def objective(z):
        margin = y * (X @ z[:-1] + z[-1])
        slope = -y / (1.0 + np.exp(margin)) / y.size
        value = np.logaddexp(0.0, -margin).mean() + 5e-4 * z[:-1] @ z[:-1]
        return value, np.append(X.T @ slope + 1e-3 * z[:-1], slope.sum())

    bounds = [(None if np.isinf(low) else low, None) for low in [*lower, -np.inf]]
    other = optimise(
        objective, np.zeros(lower.size + 1), jac=True, method="L-BFGS-B", bounds=bounds,
        options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-10},
    )  # fmt: skip
    assert found.value == pytest.approx(other.fun, abs=1e-8)
    assert (found.coef >= lower).all()
    assert 0 < np.count_nonzero(found.coef[np.isfinite(lower)]) < np.isfinite(lower).sum()


@pytest.mark.parametrize(("sign", "shape"), [(1, "concave"), (-1, "convex"), (1, "convex")])
def test_a_curve_that_has_the_shape_is_found(sign, shape):
    rng = np.random.default_rng(2)
    X = rng.uniform(0.0, 1.0, size=(600, 1))
    # sqrt rises and is concave; the others are its mirror images.
    t = X[:, 0] if shape == "concave" or sign < 0 else 1.0 - X[:, 0]
    y = (1.0 if shape == "concave" else -1.0) * np.sqrt(t)
    model = AdditiveRegressor(members=2, monotone={0: sign}, shape={0: shape}).fit(X, y)
    assert model.score(X, y) > 0.99
    check_shape(*model.curve(0), sign, shape)


def test_bent_curves_are_certified():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 2))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] ** 2 + rng.normal(size=300) > 0.5
    model = AdditiveClassifier(members=3, shape={0: "concave", 1: "convex"}, tol=1e-5).fit(X, y)
    assert all(one.certified and one.gap <= one.tol for one in model.solution_)


def test_a_flat_range_adds_nothing():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(500, 2))
    y = X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=500) > 0.0
    model = AdditiveClassifier(members=2, shape={0: ("flat", -0.5, 1.0)}).fit(X, y)
    rows = np.column_stack([np.linspace(-0.499, 1.0, 50), np.zeros(50)])
    assert (model.explain(rows)[:, 0] == 0.0).all()
    assert model.explain([[-2.0, 0.0]])[0, 0] < 0.0 < model.explain([[2.0, 0.0]])[0, 0]
    parts = model.explain(X).sum(axis=1) + model.intercept_
    np.testing.assert_allclose(parts, model.decision_function(X), atol=1e-12)


def test_own_cuts_are_the_only_places_of_change():
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.integers(18, 80, 600), rng.normal(size=600)]).astype(float)
    y = (X[:, 0] > 40) + 0.3 * rng.normal(size=600) > 0.5
    cuts = [25.0, 40.0, 65.0]
    model = AdditiveClassifier(members=2, interactions=0, cuts={0: cuts}).fit(X, y)
    np.testing.assert_array_equal(model.bins_.columns[0].cuts, cuts)
    ages = np.arange(18.0, 80.0)
    level = model.explain(np.column_stack([ages, np.zeros(62)]))[:, 0]
    groups = np.searchsorted(cuts, ages)
    assert all(np.ptp(level[groups == g]) == 0.0 for g in range(4))
    assert level[ages == 41] - level[ages == 40] > 1.0


def test_a_table_takes_shapes_and_cuts_by_name():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"city": rng.choice(["Oslo", "Rome"], 400), "a": rng.normal(size=400)})
    rows = rows.assign(b=rng.normal(size=400), c=rng.normal(size=400))
    late = rows["a"] * rows["b"] - rows["c"] ** 2 + rng.normal(size=400) > -1.0
    given = {"shape": {"c": "concave"}, "cuts": {"a": [-1.0, 0.0, 1.0]}, "exclude": [("a", "city")]}
    model = auctor.TableClassifier(model="additive", members=2, **given).fit(rows, late)
    values, level = model.curve("c")
    assert (np.diff(np.diff(level) / np.diff(values)) <= 1e-9).all()
    assert model.model_.bins_.columns[1].edges.tolist() == [-1.0, 0.0, 1.0]
    assert "a x city" not in model.names_
    assert "city x a" not in model.names_
    assert model.curve_bands().keys() == {0, 1, 2, 3}
    with pytest.raises(ParameterError, match="model='additive'"):
        auctor.TableClassifier(model="linear", cuts={"a": [0.0]}).fit(rows, late)
    with pytest.raises(ParameterError, match="to name one of the columns"):
        auctor.TableClassifier(model="additive", cuts={"d": [0.0]}).fit(rows, late)
