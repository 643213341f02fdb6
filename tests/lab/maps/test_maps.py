"""Score maps: derivatives, agreement with linear data, and training on smooth losses."""

from __future__ import annotations

import numpy as np
import pytest

from auctor.core.errors import DataError, IncompatibleError, ParameterError
from auctor.data import as_data
from auctor.lab.maps import CallableMap, LinearMap, MapProblem, Mlp
from auctor.lab.maps.activations import ACTIVATIONS
from auctor.lab.solvers import Adam, GradientDescent, Sgd, StochasticLbfgs, SubsampledNewton
from auctor.lab.solvers.stochastic import Batches
from auctor.losses import FBeta, Hinge, Logistic, PairwiseLogistic, PairwiseSquare, Squared
from auctor.losses.softmax import Softmax, one_hot
from auctor.metrics import auc
from auctor.minimise import minimise
from auctor.penalties import L1, L2
from auctor.problem import Problem
from auctor.solvers import Bmrm, Lbfgs, Newton, choose


def petals(twist: float, seed: int, rows: int = 40):
    """The Swiss roll of the spec: six petals with alternating labels."""
    rng = np.random.default_rng(seed)
    k = np.repeat(np.arange(6), rows)
    r = rng.uniform(size=k.size)
    angle = k * np.pi / 3 + twist * r
    noise = 0.1 * r[:, None] * rng.normal(size=(k.size, 2))
    return np.stack((r * np.cos(angle), r * np.sin(angle)), axis=1) + noise, (-1.0) ** k


def differences(f, w, h=1e-6):
    return np.stack([(f(w + s) - f(w - s)) / (2 * h) for s in h * np.eye(w.size)], axis=-1)


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
@pytest.mark.parametrize("hidden", [(), (3,), (4, 3, 2)])
def test_products_are_those_of_the_jacobian(activation, hidden):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(7, 2)), np.array([1, -1, 1, -1, 1, 1, -1])
    network = Mlp(X, y, hidden=hidden, activation=activation)
    w = network.start(rng) + 0.1 * rng.normal(size=network.n_params)
    tangent = network.at(w)
    J = differences(lambda v: network.at(v).value, w)
    v, d = rng.normal(size=w.size), rng.normal(size=7)
    np.testing.assert_allclose(tangent.scores(v), J @ v, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(tangent.gradient(d), J.T @ d, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(tangent.value, network.scores(w, X))


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_derivatives_of_activations(name):
    one, z, h = ACTIVATIONS[name], np.array([-2.0, -0.3, 0.4, 3.0]), 1e-5
    for lower, higher in (
        (one.value, lambda z: one.first(one.value(z))),
        (lambda z: one.first(one.value(z)), lambda z: one.second(one.value(z))),
        (lambda z: one.second(one.value(z)), lambda z: one.third(one.value(z))),
    ):
        numeric = (lower(z + h) - lower(z - h)) / (2 * h)
        np.testing.assert_allclose(higher(z), numeric, atol=1e-8)
    assert np.isfinite(one.value(np.array([-1e4, 1e4]))).all()


LOSSES = [Logistic(), Squared(), PairwiseLogistic(), PairwiseSquare(), FBeta().smoothed(0.1)]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_gradient_of_every_kind_of_loss(loss):
    X, y = petals(0.5, seed=1, rows=5)
    problem = MapProblem(loss, L2(0.01), Mlp(X, y, hidden=(3,)))
    w = problem.start() + 0.1
    numeric = differences(lambda v: np.array(problem.evaluate(v).value), w)
    found = problem.total_gradient(problem.evaluate(w))
    np.testing.assert_allclose(found, numeric, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize(
    "solver",
    [
        pytest.param(Lbfgs(), id="lbfgs"),
        pytest.param(Newton(), id="newton", marks=pytest.mark.slow),
    ],
)
def test_networks_train_on_every_smooth_loss(loss, solver):
    X, y = petals(0.5, seed=2)
    network = Mlp(X, y, hidden=(16, 8))
    problem = MapProblem(loss, L2(1e-4), network)
    if solver.needs & ~problem.provides:
        with pytest.raises(IncompatibleError):
            minimise(problem, solver)
        return
    before = problem.evaluate(problem.start()).value
    found = minimise(problem, solver, max_iter=150, on_failure="ignore")
    assert found.value < before
    assert not found.certified
    assert (np.diff(found.trace.value) <= 1e-12).all()
    scores = network.scores(found.coef, X)
    assert auc(y, scores) > 0.9
    # No linear model comes near.
    linear = minimise(Problem(Logistic(), L2(1e-4), as_data(X, y)), Lbfgs())
    assert auc(y, X @ linear.coef) < 0.75


@pytest.mark.parametrize("solver", [Lbfgs(), Newton(), GradientDescent()])
def test_linear_data_are_the_constant_map(solver):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 4)), np.sign(rng.normal(size=60))
    data = as_data(X, y)
    plain = minimise(Problem(Logistic(), L2(0.1), data), solver, tol=1e-12)
    mapped = MapProblem(Logistic(), L2(0.1), LinearMap(data))
    found = minimise(mapped, solver, tol=1e-8)
    np.testing.assert_allclose(found.coef, plain.coef, atol=1e-5)
    assert found.intercept == pytest.approx(plain.intercept, abs=1e-5)


def test_default_solver_and_what_is_refused():
    X, y = petals(0.5, seed=4, rows=4)
    network = Mlp(X, y)
    assert isinstance(choose(MapProblem(Logistic(), L2(0.1), network)), Lbfgs)
    for loss, penalty in ((Logistic(), L1(0.1)), (Hinge(), L2(0.1))):
        with pytest.raises(IncompatibleError):
            minimise(MapProblem(loss, penalty, network), Lbfgs())
    with pytest.raises(IncompatibleError):
        minimise(MapProblem(Hinge(), L2(0.1), network), Bmrm())


def test_starts_have_the_stated_variance():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(10, 200)), np.tile([1, -1], 5)
    for activation, init, variance in (
        ("relu", "auto", 2 / 200),
        ("tanh", "auto", 2 / 500),
        ("tanh", "he", 2 / 200),
    ):
        network = Mlp(X, y, hidden=(300,), activation=activation, init=init)
        first = network.unpack(network.start(np.random.default_rng(0)))[0]
        assert first.weights.var() == pytest.approx(variance, rel=0.03)
        assert not first.offsets.any()


def test_same_seed_same_network():
    X, y = petals(0.5, seed=6, rows=5)
    one, two, other = (
        minimise(
            MapProblem(Logistic(), L2(0.01), Mlp(X, y), seed=seed),
            Lbfgs(),
            max_iter=20,
            on_failure="ignore",
        )
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one.coef, two.coef)
    assert not np.array_equal(one.coef, other.coef)


def test_bad_input_is_named():
    with pytest.raises(ParameterError, match="hidden"):
        Mlp([[1.0], [2.0]], [1, -1], hidden=(0,))
    with pytest.raises(ParameterError, match="activation"):
        Mlp([[1.0], [2.0]], [1, -1], activation="sine")
    wrong = CallableMap(lambda w: w, lambda w: np.eye(2), y=[1.0, -1.0, 1.0], start=[0.0, 0.0])
    with pytest.raises(DataError, match="scores and Jacobian"):
        MapProblem(Squared(), L2(0.1), wrong)


@pytest.mark.parametrize("kind", ["network", "linear", "callable"])
def test_batches_of_a_map_are_its_rows(kind):
    X, y = petals(0.5, seed=1, rows=5)
    weight = np.linspace(0.5, 2.0, y.size)
    network = Mlp(X, y, hidden=(3,), weight=weight)
    maps = {
        "network": network,
        "linear": LinearMap(as_data(X, y, weight=weight)),
        "callable": CallableMap(
            lambda w: X @ w, lambda w: X, y=y, start=np.zeros(2), weight=weight
        ),
    }
    problem = MapProblem(Logistic(), L2(0.1), maps[kind])
    w = problem.start() + 0.1
    batches = Batches(problem, np.random.default_rng(0))
    parts = [batches.draw(6) for _ in range(5)]  # all 30 rows, each once
    totals = [part.data.target.weight.sum() / weight.sum() for part in parts]
    mean = sum(
        t * part.total_gradient(part.evaluate(w)) for t, part in zip(totals, parts, strict=True)
    )
    np.testing.assert_allclose(mean, problem.total_gradient(problem.evaluate(w)), rtol=1e-9)


@pytest.mark.parametrize(
    "solver",
    [Adam(batch=16), Sgd(batch=16, momentum=0.5), SubsampledNewton(batch=32), StochasticLbfgs()],
    ids=lambda solver: type(solver).__name__,
)
def test_networks_train_by_batches(solver):
    X, y = petals(0.5, seed=2)
    problem = MapProblem(Logistic(), L2(1e-4), Mlp(X, y, hidden=(16, 8)))
    found = minimise(problem, solver, rng=0, tol=1e-3, max_iter=60, on_failure="ignore")
    assert found.value < 0.5 * problem.evaluate(problem.start()).value
    assert np.isfinite(found.coef).all()


def test_adam_separates_the_swiss_roll():
    """T-09 at twist 1.0: test accuracy of at least 0.98, where the linear rule has 0.95 at most."""
    X, y = petals(1.0, seed=0, rows=100)
    X_test, y_test = petals(1.0, seed=1, rows=300)
    network = Mlp(X, y, hidden=(64, 64, 64))
    problem = MapProblem(Logistic(), L2(0.0), network)
    adam = Adam(step_size=3e-3, batch=64, schedule="constant")
    found = minimise(problem, adam, rng=0, tol=0.0, max_iter=60, on_failure="ignore")
    scores = network.scores(found.coef, X_test) + found.intercept
    assert np.mean(np.sign(scores) == y_test) >= 0.98


def test_losses_of_pairs_have_no_batches():
    X, y = petals(0.5, seed=2, rows=5)
    with pytest.raises(IncompatibleError):
        minimise(MapProblem(PairwiseSquare(), L2(0.1), Mlp(X, y)), Adam())


def three_classes(n, seed):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return X, np.digitize((X**2).sum(axis=1), [0.9, 2.2])


def test_a_network_with_an_output_per_class():
    (X, codes), (A, wanted) = three_classes(400, 0), three_classes(300, 1)
    Y = np.where(codes[:, None] == np.arange(3), 1.0, -1.0)
    np.testing.assert_array_equal(Y.ravel(), one_hot(codes, 3).y)
    network = Mlp(X, Y, hidden=(12,))
    problem = MapProblem(Softmax(3, offsets=False), L2(1e-4), network, fit_intercept=False)
    found = minimise(problem, Lbfgs(), tol=3e-2, max_iter=500)
    scores = network.scores(found.coef, A)
    assert scores.shape == (300, 3)
    assert (scores.argmax(axis=1) == wanted).mean() > 0.93
    linear = Mlp(X, Y, hidden=())
    straight = minimise(
        MapProblem(Softmax(3, offsets=False), L2(1e-4), linear, fit_intercept=False), Lbfgs()
    )
    assert (linear.scores(straight.coef, A).argmax(axis=1) == wanted).mean() < 0.6
    w = problem.start() + 0.1
    numeric = differences(lambda v: np.array(problem.evaluate(v).value), w)
    np.testing.assert_allclose(problem.total_gradient(problem.evaluate(w)), numeric, atol=1e-6)


def test_squared_loss_on_several_outputs_is_least_squares():
    rng = np.random.default_rng(0)
    X, Y, weight = rng.normal(size=(60, 3)), rng.normal(size=(60, 2)), rng.uniform(0.5, 2.0, 60)
    network = Mlp(X, Y, hidden=(), weight=weight)
    for solver in (Lbfgs(), Newton()):
        problem = MapProblem(Squared(), L2(0.0), network, fit_intercept=False)
        found = minimise(problem, solver, tol=1e-10, max_iter=500)
        root, design = np.sqrt(weight)[:, None], np.column_stack((X, np.ones(60)))
        exact = np.linalg.lstsq(root * design, root * Y, rcond=None)[0]
        np.testing.assert_allclose(network.scores(found.coef, X), design @ exact, atol=1e-6)
    # A hidden layer of both outputs is shared: it fits what both depend on.
    Y = np.column_stack((np.tanh(X @ [1.0, -1.0, 0.5]), 2.0 * np.tanh(X @ [1.0, -1.0, 0.5]) - 1.0))
    shared = Mlp(X, Y, hidden=(1,))
    problem = MapProblem(Squared(), L2(1e-9), shared, fit_intercept=False)
    found = minimise(problem, Lbfgs(), tol=1e-8, max_iter=2000)
    np.testing.assert_allclose(shared.scores(found.coef, X), Y, atol=1e-3)


def test_batches_need_a_single_output():
    X, codes = three_classes(20, 0)
    network = Mlp(X, np.where(codes[:, None] == np.arange(3), 1.0, -1.0))
    with pytest.raises(IncompatibleError, match="row access"):
        minimise(MapProblem(Squared(), L2(0.1), network), Adam())
