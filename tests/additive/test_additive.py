"""Additive models: curves, directions, pairs, scorecards, files and bad input."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import auctor
from auctor import AdditiveClassifier, AdditiveRegressor, LinearRegressor, MetricClassifier
from auctor.core.errors import DataError, ParameterError
from auctor.tables import ReadOptions
from tests.additive.directions import steps_back

pytestmark = pytest.mark.filterwarnings("ignore::auctor.ConvergenceWarning")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::auctor.DataWarning")  # fewer rows of a class than members
@pytest.mark.parametrize("kind", [AdditiveClassifier, AdditiveRegressor])
def test_scikit_learn_checks_pass_on_the_defaults(kind):
    results = check_estimator(kind(), on_skip=None, on_fail=None)
    assert len(results) > 50
    # scikit-learn skips the array API unless scipy was imported for it; nothing may fail.
    # Repeated rows and weights agree within the tolerance of the solver, not to 1e-7: see below.
    allowed = {"check_array_api_input"}
    if kind is AdditiveRegressor:
        allowed |= {f"check_sample_weight_equivalence_on_{x}_data" for x in ("dense", "sparse")}
    assert {r["check_name"] for r in results if r["status"] != "passed"} <= allowed


def test_weights_of_a_regression_are_repeated_rows():
    rng = np.random.default_rng(0)
    X, times = rng.normal(size=(60, 6)), rng.integers(1, 5, size=60)
    y = X[:, 0] * X[:, 1] + rng.normal(size=60)
    again = np.repeat(np.arange(60), times)
    folds, repeated = (
        [(np.flatnonzero(rows % 3 != k), np.flatnonzero(rows % 3 == k)) for k in range(3)]
        for rows in (np.arange(60), again)
    )
    one = AdditiveRegressor(cv=folds, tol=1e-9).fit(X, y, sample_weight=times)
    two = AdditiveRegressor(cv=repeated, tol=1e-9).fit(X[again], y[again])
    assert one.names_ == two.names_
    np.testing.assert_allclose(one.predict(X), two.predict(X), atol=1e-5)


def test_curves_beat_the_straight_line(table):
    X, y = table(missing=0.0)
    linear = MetricClassifier("auc").fit(X, y).score(X, y)
    curved = AdditiveClassifier(members=3).fit(X, y)
    assert linear < 0.8
    assert curved.score(X, y) > 0.95
    assert curved.gap_ <= 1e-3
    values, level = curved.curve("age")
    assert (np.diff(values) > 0.0).all()
    assert level[0] > level[level.size // 2] < level[-1]


def test_a_strong_penalty_leaves_the_line():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 1))
    y = X[:, 0] + rng.normal(size=1000) > 0.0
    values, level = AdditiveClassifier("log_loss", strength=0.1, members=2).fit(X, y).curve(0)
    slopes = np.diff(level) / np.diff(values)
    assert np.ptp(slopes) < 1e-9 < slopes.min()
    values, level = AdditiveClassifier("log_loss", strength=1e-4, members=2).fit(X, y).curve(0)
    assert np.ptp(np.diff(level) / np.diff(values)) > 1.0


@pytest.mark.parametrize(
    ("metric", "surrogate"),
    [
        ("log_loss", "auto"),
        ("auc", "squared_hinge"),
        ("f1", "auto"),
        ("partial_auc(0.2)", "pairwise"),
    ],
)
def test_monotone_curves_never_turn(table, metric, surrogate):
    X, y = table(300)
    model = AdditiveClassifier(
        metric, strength=1e-3, members=2, surrogate=surrogate, monotone={"age": 1, "d": -1}
    ).fit(X, y)
    assert (np.diff(model.curve("age")[1]) >= 0.0).all()
    assert (np.diff(model.curve("d")[1]) <= 0.0).all()


@pytest.mark.parametrize("penalty", ["fused", "group", "smooth"])
def test_monotone_fits_are_certified_and_optimal(table, penalty):
    X, y = table(300)
    model = AdditiveClassifier(
        "log_loss", penalty=penalty, strength=3e-3, members=3, monotone=[1, 0, 0, -1], tol=1e-5
    ).fit(X, y)
    assert all(solution.certified and solution.converged for solution in model.solution_)
    assert (np.diff(model.curve("age")[1]) >= 0.0).all()
    assert (np.diff(model.curve("d")[1]) <= 0.0).all()


@pytest.mark.parametrize("penalty", ["fused", "group", "smooth"])
def test_a_column_against_its_direction_is_left_out(penalty):
    X = np.linspace(0.0, 1.0, 100)[:, None]
    falling = AdditiveClassifier(penalty=penalty, monotone=[1], n_strengths=3, members=2)
    assert not falling.fit(X, X[:, 0] < 0.5).coef_.any()


@pytest.mark.parametrize("penalty", ["fused", "group", "smooth"])
def test_every_penalty_fits(table, penalty):
    X, y = table(400)
    model = AdditiveClassifier("log_loss", penalty=penalty, n_strengths=5, members=2).fit(X, y)
    found = model.explain(X).std(axis=0)
    assert found[0] == found.max()
    strong = AdditiveClassifier("log_loss", penalty="group", strength=0.05, interactions=0).fit(
        X, y
    )
    assert (strong.explain(X).std(axis=0) > 0.0).sum() <= 2


def test_pairs_are_found_and_explained():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    y = X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=1500) > 0.5
    model = AdditiveClassifier("log_loss", members=3, interactions=1).fit(X, y)
    assert model.names_[-1] == "x1 x x2"
    assert model.score(X, y) > -0.45  # minus the log-loss
    parts = model.explain(X)
    assert parts.shape == (1500, 5)
    whole = parts.sum(axis=1) + model.intercept_
    np.testing.assert_allclose(whole, model.decision_function(X), atol=1e-12)
    np.testing.assert_allclose(parts.mean(axis=0), 0.0, atol=1e-9)


def test_weights_are_repeated_rows(table):
    X, y = table(200)
    times = np.random.default_rng(1).integers(1, 4, size=200)
    again = np.repeat(np.arange(200), times)
    halves = [np.flatnonzero(np.arange(200) % 2 == k) for k in (0, 1)]
    parts = [np.flatnonzero(again % 2 == k) for k in (0, 1)]
    pair = [("age", "d")]
    one = AdditiveClassifier(
        "log_loss", strength=1e-2, tol=1e-8, interactions=pair, cv=[halves, halves[::-1]]
    ).fit(X, y, sample_weight=times)
    two = AdditiveClassifier(
        "log_loss", strength=1e-2, tol=1e-8, interactions=pair, cv=[parts, parts[::-1]]
    ).fit(X.loc[again], y[again])
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-3)
    np.testing.assert_allclose(one.bins_.pairs[0].share, two.bins_.pairs[0].share)


def test_groups_several_classes_probabilities_and_pipelines(table):
    X, y = table(300)
    groups = np.arange(300) % 5
    assert (
        AdditiveClassifier("auc", strength=1e-2, members=3).fit(X, y, groups=groups).score(X, y)
        > 0.9
    )
    labels = np.where(y, "high", np.where(X["in come"].fillna(0) > 0, "mid", "low"))
    several = AdditiveClassifier("log_loss", strength=1e-2, members=2, interactions=0).fit(
        X, labels
    )
    assert several.predict_proba(X).shape == (300, 3)
    assert several.explain(X).shape == (300, 4, 3)
    piped = make_pipeline(StandardScaler(), AdditiveClassifier(strength=1e-2, members=2))
    assert piped.fit(X, y).score(X, y) > 0.9


def test_sparse_tables_are_binned_column_by_column(table):
    X, y = table(300, missing=0.0)
    X = X.where(X.abs() > 0.5, 0.0).to_numpy()
    model = AdditiveClassifier("log_loss", strength=1e-2, members=2)
    one = model.fit(X, y).decision_function(X)
    np.testing.assert_allclose(model.fit(csr_array(X), y).decision_function(csr_array(X)), one)


def test_regression_bends_where_the_line_cannot():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(500, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=500)
    model = AdditiveRegressor(members=3).fit(X, y)
    assert model.score(X, y) > 0.95 > LinearRegressor().fit(X, y).score(X, y) + 0.5
    rising = AdditiveRegressor(strength=1e-3, members=2, monotone={0: 1}).fit(X, y)
    assert (np.diff(rising.curve(0)[1]) >= 0.0).all()
    assert AdditiveRegressor(strength=1e-2, members=2, interactions=1).fit(X, y).bins_.pairs


def test_one_standard_error_is_a_larger_strength():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + rng.normal(size=200) > 0.0
    best = AdditiveRegressor(members=4).fit(X, y)
    simple = AdditiveRegressor(members=4, rule="one_standard_error").fit(X, y)
    assert simple.strength_ > best.strength_


# --- files and graphs -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        AdditiveClassifier(strength=1e-2, members=2, interactions=2, calibrate="sigmoid"),
        AdditiveClassifier("log_loss", n_strengths=3, members=2),
        AdditiveRegressor(strength=1e-2, members=2, interactions=[(0, 1)]),
    ],
    ids=repr,
)
def test_saved_models_and_graphs_score_alike(table, model, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    X, y = table(300)
    X["constant"] = 1.0
    model.fit(X, y)
    auctor.save(model, tmp_path / "model.auctor")
    again = auctor.load(tmp_path / "model.auctor")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.explain(X), model.explain(X))
    session = runtime.InferenceSession(auctor.to_onnx(model))
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(None, {"X": X.to_numpy()}), strict=True))
    if "scores" in found:
        np.testing.assert_allclose(found["scores"], model.decision_function(X), atol=1e-12)
    else:
        np.testing.assert_allclose(found["prediction"], model.predict(X), atol=1e-12)


def test_a_damaged_file_is_refused(table, tmp_path):
    from auctor.core.archive import read_archive, write_archive

    X, y = table(200)
    path = tmp_path / "model.auctor"
    auctor.save(AdditiveClassifier(strength=1e-2, members=2).fit(X, y), path)
    meta, arrays = read_archive(path, format=meta_format(path))
    name = next(name for name in arrays if name.endswith("cuts"))
    arrays[name] = arrays[name][::-1].copy()
    write_archive(path, meta, arrays)
    with pytest.raises(DataError, match="cuts"):
        auctor.load(path)


def meta_format(path):
    from auctor.saved.store import FORMAT

    return FORMAT


def test_real_data_give_a_good_model():
    X, y = load_breast_cancer(return_X_y=True)
    model = AdditiveClassifier(members=3).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.985


def test_raw_tables_get_curves(table, tmp_path):
    X, y = table(300)
    X["town"] = np.where(X["d"].fillna(0) > 0, "Oslo", "Bonn")
    model = auctor.TableClassifier(
        "auc",
        model="additive",
        strength=1e-2,
        n_bins=8,
        monotone={"in come": 1},
        interactions=1,
        members=2,
    ).fit(X, y)
    inner = model.model_
    assert isinstance(inner, AdditiveClassifier)
    assert model.score(X, y) > 0.9
    assert inner.signs_.tolist() == [0, 1, 0, 0, 0]  # a category is one column
    assert max(column.steps.size for column in inner.bins_.columns[:-1]) in (7, 8)
    assert len(inner.bins_.pairs) == 1
    assert inner.bins_.columns[0].has_missing  # kept, not filled
    auctor.save(model, tmp_path / "model.auctor")
    again = auctor.load(tmp_path / "model.auctor")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": "linear", "monotone": {"age": 1}}, "monotone"),
        ({"model": "linear", "n_bins": 8}, "n_bins"),
        ({"model": "linear", "reading": ReadOptions(missing="keep")}, "keep"),
        ({"model": "additive", "standardise": True}, "standardise"),
        ({"model": "additive", "monotone": {"nobody": 1}}, "nobody"),
    ],
)
def test_tables_refuse_what_the_model_lacks(table, changes, words):
    X, y = table(60)
    with pytest.raises(ParameterError, match=words):
        auctor.TableClassifier("auc", strength=0.1, **changes).fit(X, y)


def test_the_threshold_is_picked_on_rows_left_out(table):
    X, y = table(300)
    model = AdditiveClassifier("f1", members=3).fit(X, y)
    held = model.oof_scores_[:, 0]
    wanted = auctor.metrics.best_threshold(np.where(y, 1, -1), held, "fbeta", 1.0)
    assert model.threshold_ == wanted
    assert model.score_oof_ == auctor.metrics.fbeta(np.where(y, 1, -1), held > wanted, 1.0)


@pytest.mark.slow
def test_a_thousand_monotone_fits_never_turn_and_are_certified():
    rng, late = np.random.default_rng(0), []
    for k in range(1000):
        n = int(rng.integers(60, 200))
        X = rng.normal(size=(n, 3)).round(int(rng.integers(0, 3)))
        X[rng.random((n, 3)) < 0.1] = np.nan
        # The labels pull the other way as often as not.
        z = np.nan_to_num(X) @ rng.normal(size=3) + np.sin(3 * np.nan_to_num(X[:, 0]))
        y = z + rng.normal(size=n) > np.quantile(z, rng.uniform(0.3, 0.8))
        signs = [int(rng.choice([-1, 1])), 0, int(rng.choice([-1, 1]))]
        penalty = ("fused", "smooth", "group")[k % 3]
        model = AdditiveClassifier(
            "log_loss",
            strength=10 ** rng.uniform(-4, -1),
            penalty=penalty,
            monotone=signs,
            members=2,
            max_iter=20_000,  # groups with signs go to Fista, which takes thousands of steps
        ).fit(X, y)
        for j in (0, 2):
            assert (signs[j] * np.diff(model.curve(j)[1]) >= 0.0).all(), (k, j)
            assert not steps_back(model, X, j, signs[j], k), (k, j)
        assert all(one.certified for one in model.solution_)
        late += [(k, penalty) for one in model.solution_ if one.gap > one.tol]
    # Groups with signs go to Fista, which may stall above its tolerance, and says so.
    assert len(late) <= 1, late
    assert all(penalty == "group" for _, penalty in late)
