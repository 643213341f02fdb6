"""Kernel machines: the same optimum as libsvm, every kind of kernel and storage, clear refusals."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC, SVR
from sklearn.utils.estimator_checks import check_estimator

from auctor import ConvergenceWarning, KernelClassifier, KernelRegressor
from auctor.core.errors import DataError, ParameterError
from auctor.kernel import dual as dual_module
from auctor.kernel import machine, points


@pytest.fixture
def blocks(monkeypatch):
    """Small blocks even on small data, so that rounds, caches and updates take part."""
    monkeypatch.setattr(machine, "EXACT_SIZE", 10)
    monkeypatch.setattr(dual_module, "BLOCK_VARIABLES", 32)


def moons(n, seed=0, d=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where((X[:, :2] ** 2).sum(axis=1) + 0.6 * rng.normal(size=n) > 1.4, 1, -1)
    return X, y


def objective(K, y, beta):
    return y @ beta - 0.5 * beta @ K @ beta


def both_objectives(model, other, K, y):
    found = np.zeros((2, y.size))
    for row, fitted in zip(found, (model, other), strict=True):
        row[fitted.support_] = np.ravel(fitted.dual_coef_)
    return [objective(K, y, beta) for beta in found]


@pytest.mark.parametrize(
    "estimator",
    [
        KernelClassifier(),
        KernelClassifier("linear", multiclass="ovr"),
        KernelRegressor(),
        KernelRegressor(loss="squared"),
    ],
    ids=repr,
)
def test_scikit_learn_checks(estimator):
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    wrong = [(r["check_name"], str(r["exception"])) for r in results if r["status"] == "failed"]
    assert wrong == []
    assert len(results) > 40


@pytest.mark.parametrize(("C", "gamma"), [(1.0, 0.5), (100.0, 2.0), (0.01, 0.1)])
def test_small_data_are_solved_exactly(C, gamma):
    X, y = moons(300)
    model = KernelClassifier(C=C, gamma=gamma).fit(X, y)
    other = SVC(C=C, gamma=gamma, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X), other.decision_function(X), atol=1e-5 * max(1.0, C)
    )
    assert model.gap_ < 1e-8


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("cache_bytes", [1 << 29, 60_000])
def test_blocks_reach_the_objective_of_libsvm(cache_bytes):
    X, y = moons(500)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    model = KernelClassifier(C=3.0, gamma=0.5, cache_bytes=cache_bytes).fit(X, y)
    ours, theirs = both_objectives(model, SVC(C=3.0, gamma=0.5).fit(X, y), K, y)
    assert ours == pytest.approx(theirs, rel=1e-6)
    assert model.dual_value_ == pytest.approx(ours, rel=1e-6)
    exact = SVC(C=3.0, gamma=0.5, tol=1e-9).fit(X, y)
    best = both_objectives(model, exact, K, y)[1]
    assert 0.0 <= best - ours + 1e-6 <= model.gap_ * 3.0 * y.size + 1e-5
    assert model.gap_ < 1e-3


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("rows", [2, 3, 5])
def test_a_cache_of_two_rows_is_enough(rows):
    X, y = moons(60)
    model = KernelClassifier(gamma=0.5, cache_bytes=rows * 60 * 4).fit(X, y)
    other = SVC(gamma=0.5).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), atol=5e-3)


@pytest.mark.usefixtures("blocks")
def test_the_storage_does_not_matter(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20)) * (rng.random((300, 20)) < 0.3)
    y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.2 * rng.normal(size=300) > 0.2, "b", "a")
    fit = KernelClassifier(C=2.0, gamma=0.2, tol=1e-6).fit
    wanted = fit(X, y).decision_function(X)
    for columns in (0, 10**9):  # compressed rows, then a dense copy
        monkeypatch.setattr(points, "SPARSE_COLUMNS", columns)
        for make in (sparse.csr_array, sparse.csc_array, sparse.coo_array):
            model = fit(make(X), y)
            np.testing.assert_allclose(model.decision_function(make(X)), wanted, atol=1e-5)
            np.testing.assert_allclose(model.decision_function(X), wanted, atol=1e-5)
    narrow = KernelClassifier(C=2.0, gamma=0.2, tol=1e-3).fit(X.astype(np.float32), y)
    assert narrow.model_.points.dtype == np.float32
    np.testing.assert_allclose(narrow.decision_function(X), wanted, atol=5e-3)


@pytest.mark.usefixtures("blocks")
def test_the_number_of_threads_does_not_matter():
    X, y = moons(400)
    one, two = (KernelClassifier(n_threads=t).fit(X, y).decision_function(X) for t in (1, 2))
    np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_every_way_to_state_a_kernel_is_the_same(kernel):
    X, y = moons(200)
    functions = {
        "rbf": lambda A, B: np.exp(-0.3 * ((A[:, None] - B[None]) ** 2).sum(axis=2)),
        "linear": lambda A, B: A @ B.T,
        "poly": lambda A, B: (0.3 * A @ B.T + 1.0) ** 2,
    }
    function = functions[kernel]
    named = KernelClassifier(kernel, gamma=0.3, degree=2, coef0=1.0).fit(X, y)
    called = KernelClassifier(function).fit(X, y)
    given = KernelClassifier("precomputed").fit(function(X, X), y)
    wanted = named.decision_function(X[:50])
    np.testing.assert_allclose(called.decision_function(X[:50]), wanted, atol=1e-6)
    np.testing.assert_allclose(given.decision_function(function(X[:50], X)), wanted, atol=1e-6)


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_many_classes(multiclass):
    X, y = load_iris(return_X_y=True)
    names = np.array(["x", "y", "z"])[y]
    model = KernelClassifier(multiclass=multiclass, calibrate="sigmoid").fit(X, names)
    assert model.decision_function(X).shape == (150, 3)
    assert model.score(X, names) > 0.95
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert (model.classes_[shares.argmax(axis=1)] == names).mean() > 0.9
    other = SVC().fit(X, names)
    if multiclass == "ovo":
        assert (model.predict(X) == other.predict(X)).mean() > 0.99


def test_digits_as_libsvm():
    X, y = load_digits(return_X_y=True)
    model, other = KernelClassifier().fit(X[:600], y[:600]), SVC().fit(X[:600], y[:600])
    assert (model.predict(X[600:]) == other.predict(X[600:])).mean() > 0.995


def test_weights_are_prices():
    X, y = moons(150)
    weight = np.random.default_rng(1).integers(0, 4, 150).astype(float)
    weighted = KernelClassifier(gamma=0.5).fit(X, y, weight)
    times = np.repeat(np.arange(150), weight.astype(int))
    repeated = KernelClassifier(gamma=0.5).fit(X[times], y[times])
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-6
    )
    assert set(weighted.support_) <= set(np.flatnonzero(weight))
    balanced = KernelClassifier(gamma=0.5, class_weight="balanced").fit(X, y)
    other = SVC(gamma=0.5, class_weight="balanced", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(balanced.decision_function(X), other.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("scale", [1.0, 50.0])
def test_regression_in_a_tube(scale):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (200, 1))
    y = scale * (np.sin(X.ravel()) + 0.1 * rng.normal(size=200))
    model = KernelRegressor(C=scale, epsilon=0.1 * scale, gamma=0.5).fit(X, y)
    other = SVR(C=scale, epsilon=0.1 * scale, gamma=0.5, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.predict(X), other.predict(X), atol=1e-5 * scale)
    assert model.gap_ < 1e-6 * scale


@pytest.mark.usefixtures("blocks")
def test_regression_on_blocks():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (300, 2))
    y = np.sin(X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=300)
    model = KernelRegressor(C=5.0, epsilon=0.05, gamma=0.5, tol=1e-5).fit(X, y)
    other = SVR(C=5.0, epsilon=0.05, gamma=0.5, tol=1e-7).fit(X, y)
    np.testing.assert_allclose(model.predict(X), other.predict(X), atol=1e-3)


def test_a_shift_moves_the_forecast_up_by_as_much():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (300, 1))
    y = np.sin(X.ravel()) + 0.2 * rng.normal(size=300)
    plain, up = (KernelRegressor(shift=shift).fit(X, y).predict(X) for shift in (0.0, 0.09))
    np.testing.assert_allclose(up - plain, 0.09, atol=1e-6)
    assert (y > up).mean() < (y > plain).mean() - 0.05


def test_kernel_ridge():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (120, 2))
    y = np.sin(X[:, 0]) + 7.0
    weight = rng.uniform(0.5, 2.0, 120)
    model = KernelRegressor(loss="squared", C=4.0, gamma=0.3).fit(X, y, weight)
    # Without an intercept it is scikit-learn's: take ours off the target.
    other = KernelRidge(alpha=0.25, kernel="rbf", gamma=0.3).fit(X, y - model.intercept_[0], weight)
    np.testing.assert_allclose(model.predict(X), other.predict(X) + model.intercept_[0], atol=1e-9)
    assert model.dual_coef_.sum() == pytest.approx(0.0, abs=1e-9)
    assert model.gap_ < 1e-12


def swiss_roll(seed, twist, each=100):
    """Six petals with alternating labels (spec E-13)."""
    rng = np.random.default_rng(seed)
    r = rng.random(6 * each)
    petal = np.repeat(np.arange(6), each)
    angle = petal * np.pi / 3 + twist * r
    X = np.column_stack((r * np.cos(angle), r * np.sin(angle)))
    return X + 0.1 * r[:, None] * rng.normal(size=X.shape), np.where(petal % 2, -1, 1)


def test_the_swiss_roll_by_kernel():
    """Spec T-09: sigma = 0.1 in exp(-|x - z|^2 / sigma^2), C = 1000."""
    X, y = swiss_roll(0, 1.0)
    test_X, test_y = swiss_roll(1, 1.0)
    model = KernelClassifier(C=1e3, gamma=100.0).fit(X, y)
    assert model.score(X, y) > 0.98
    assert model.score(test_X, test_y) > 0.96
    straight = KernelClassifier("linear", C=1e3, max_iter=50).fit(X, y)
    assert straight.score(test_X, test_y) < 0.65


def test_a_fit_that_stops_early_warns_and_says_by_how_much():
    X, y = moons(1500)
    with pytest.warns(ConvergenceWarning, match="violated by .* the tolerance is 0.001"):
        model = KernelClassifier(C=100.0, max_iter=1).fit(X, y)
    assert model.gap_ > 1e-3


def bad_kernel(A, B):
    return np.full((A.shape[0], B.shape[0]), np.nan)


@pytest.mark.parametrize(
    ("given", "X", "error", "words"),
    [
        ({"kernel": "cosine"}, None, ParameterError, "kernel to be one of"),
        ({"C": 0.0}, None, ParameterError, r"C in \(0"),
        ({"gamma": "wide"}, None, ParameterError, "gamma"),
        ({"gamma": -1.0}, None, ParameterError, "gamma"),
        ({"cache_bytes": 100, "kernel": "linear"}, (1500, 2), ParameterError, "two rows"),
        ({"kernel": "precomputed"}, (20, 3), DataError, "square kernel matrix"),
        ({"kernel": bad_kernel}, (20, 3), DataError, "finite numbers of shape"),
        ({"kernel": lambda A, B: A @ -B.T}, (20, 3), DataError, "eigenvalue -"),
        ({"kernel": lambda A, B: np.ones(3)}, (20, 3), DataError, r"shape \(20, 20\)"),
        ({"calibrate": "platt"}, None, ParameterError, "calibrate"),
    ],
)
def test_bad_input_is_refused_in_words(given, X, error, words):
    rng = np.random.default_rng(0)
    table = rng.normal(size=X or (20, 2))
    y = np.arange(table.shape[0]) % 2
    with pytest.raises(error, match=words):
        KernelClassifier(**given).fit(table, y)


def test_constant_labels_and_constant_columns():
    with pytest.raises(DataError, match="two classes"):
        KernelClassifier().fit(np.eye(4), [1, 1, 1, 1])
    model = KernelClassifier().fit(np.ones((6, 2)), [0, 1, 1, 1, 0, 1])
    assert model.predict(np.ones((1, 2))) == [1]


def test_probabilities_only_where_asked_for():
    X, y = moons(100)
    assert not hasattr(KernelClassifier(), "predict_proba")
    model = KernelClassifier(calibrate="isotonic").fit(X, y)
    assert model.predict_proba(X).shape == (100, 2)
    with pytest.raises(DataError, match="a class with one"):
        clone(model).fit(X[:10], [0] * 9 + [1])


def test_a_shift_of_the_squared_loss_is_refused():
    with pytest.raises(ParameterError, match="epsilon-insensitive loss for a shift"):
        KernelRegressor(loss="squared", shift=1.0).fit(np.eye(3), [1.0, 2.0, 3.0])


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_columns_of_zeros_and_constant_targets(store):
    X = store(np.random.default_rng(0).normal(size=(20, 3)))
    y = np.arange(20) % 2
    flat = KernelRegressor().fit(X, np.full(20, 3.0))
    assert flat.support_.size == 0
    np.testing.assert_allclose(flat.predict(X), 3.0)
    alike = KernelClassifier().fit(store(np.zeros((20, 3))), y)
    np.testing.assert_allclose(alike.decision_function(X), 0.0, atol=1e-6)
    for model in (KernelClassifier(), KernelRegressor()):
        with pytest.raises(DataError, match=r"some rows and columns.*0 feature"):
            model.fit(store(np.empty((20, 0))), y)
