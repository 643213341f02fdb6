"""Shapes that people must guarantee: directions, bends, flat ranges, own cut points."""

import numpy as np
import pytest

from auctor import AdditiveClassifier, AdditiveRegressor
from auctor.core.errors import AuctorError, ParameterError

pytestmark = pytest.mark.filterwarnings("ignore::auctor.ConvergenceWarning")

#: Largest rounding error of a second difference of a curve, relative to the curve.
ROUNDING = 1e-12


def check_shape(values, level, sign, shape):
    """Assert that a curve has a direction and a bend."""
    if sign:
        assert (sign * np.diff(level) >= 0.0).all()
    if shape in ("concave", "convex"):
        slopes = np.diff(level) / np.diff(values)
        bend = np.diff(slopes) * (1.0 if shape == "convex" else -1.0)
        assert (bend >= -ROUNDING * (1.0 + np.abs(slopes).max())).all()


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
    paired = {j for pair in model.bins_.pairs for j in (pair.first, pair.second)}
    assert not paired & ({j for j, sign in signs.items() if sign} | set(shapes))


def test_shapes_hold_in_fifty_problems():
    rng = np.random.default_rng(0)
    for k in range(50):
        _fit(rng, k)


@pytest.mark.slow
def test_shapes_hold_in_a_thousand_problems():
    rng = np.random.default_rng(1)
    for k in range(1000):
        _fit(rng, k)


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


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"shape": {"age": "round"}}, "concave"),
        ({"shape": {"age": 3}}, "concave"),
        ({"shape": {"age": ("flat", 2.0, 1.0)}}, "flat"),
        ({"shape": {"nobody": "convex"}}, "nobody"),
        ({"shape": "convex"}, "dict"),
        ({"cuts": {"age": []}}, "cuts"),
        ({"cuts": {"age": [1.0, np.inf]}}, "cuts"),
        ({"cuts": {"age": ["x"]}}, "cuts"),
        ({"cuts": {"age": [1.0]}, "shape": {"age": ("flat", 0.0, 1.0)}}, "one of the two"),
        ({"categorical": ["d"], "shape": {"d": "convex"}}, "a category"),
        ({"categorical": ["d"], "monotone": {"d": 1}}, "a category"),
        ({"interactions": [("age", "d")], "monotone": {"age": 1}}, "'age'"),
        ({"interactions": [("age", "d")], "shape": {"d": "convex"}}, "'d'"),
        ({"interactions": [("age", "age")]}, "two different"),
        ({"interactions": ["age"]}, "two different"),
        ({"interactions": [("age", "nobody")]}, "nobody"),
        ({"exclude": [("age", "agee")]}, "Did you mean 'age'"),
        ({"interactions": "some"}, "auto"),
        ({"members": 0}, "members"),
        ({"categorical": ["nobody"]}, "nobody"),
    ],
)
def test_contradictions_are_named(table, changes, words):
    X, y = table(60)
    with pytest.raises((ParameterError, AuctorError), match=words):
        AdditiveClassifier(**changes).fit(X, y)
