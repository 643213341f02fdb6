"""Objectives and metrics for boosted trees; LightGBM and XGBoost themselves where installed."""

import numpy as np
import pytest

import auctor.boost as ab
from auctor import metrics
from auctor.boost.objective import BOUNDS
from auctor.boost.rows import signed
from auctor.core.errors import DataError, DataTypeError, IncompatibleError, ParameterError
from auctor.core.types import Target


class Rows:
    """What the libraries pass, without a library."""

    def __init__(self, label, weight=None):
        self.label, self.weight = label, weight

    def get_label(self):
        return self.label

    def get_weight(self):
        return self.weight


NAMES = {
    "auc": ("logistic", "hinge", "squared_hinge", "square"),
    "partial_auc(0.2)": ("hinge",),
    "precision@0.2": ("max_margin",),
    "recall_at_k(0.2)": ("max_margin",),
    "prbep": ("max_margin",),
    "fbeta(2)": ("max_margin",),
}
CASES = [(name, one) for name, some in NAMES.items() for one in some]


def rows(n=40, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(float)
    y[:2] = 0.0, 1.0
    return spread * rng.normal(size=n), y, rng.random(n) + 0.2


@pytest.mark.parametrize(("name", "surrogate"), CASES)
def test_gradient_is_that_of_the_loss_and_twice_the_bound_is_above_its_hessian(name, surrogate):
    for seed, spread in ((0, 0.05), (1, 0.3), (2, 1.0)):
        scores, y, weight = rows(seed=seed, spread=spread)
        objective = ab.lightgbm(name, y=y, weight=weight, surrogate=surrogate)
        target, n = Target(signed(y), weight), y.size
        gradient, bound = objective(scores, Rows(y, weight))
        assert np.array_equal(gradient, n * objective.loss.value_grad(scores, target)[1])
        assert (bound > 0).all()
        step = 1e-5 * np.eye(n)
        change = [objective.loss.value_grad(scores + one, target)[1] for one in (*step, *-step)]
        hessian = n * (np.array(change[:n]) - np.array(change[n:])) / 2e-5
        scaled = 0.5 * (hessian + hessian.T) / np.sqrt(np.outer(bound, bound))
        assert np.linalg.eigvalsh(scaled)[-1] <= 2.0 * (1.0 + 1e-4)


def test_every_loss_with_a_bound_is_tested():
    tested = {type(ab.lightgbm(name, y=[0, 1], surrogate=one).loss) for name, one in CASES}
    assert tested == set(BOUNDS)


def test_groups_compare_rows_of_the_same_group():
    scores, y, _ = rows()
    group = np.arange(40) % 5
    objective = ab.lightgbm("auc", y=y, group=group)
    wanted = objective.loss.value_grad(scores, Target(signed(y), None, group))[1]
    assert np.array_equal(objective(scores, Rows(y))[0], 40 * wanted)
    with pytest.raises(IncompatibleError, match="a loss on pairs"):
        ab.lightgbm("fbeta", y=y, group=group)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("auc", metrics.auc),
        ("precision@5", lambda y, s, **o: metrics.precision_at_k(y, s, 5, **o)),
        ("auc@0.2", lambda y, s, **o: metrics.partial_auc(y, s, 0.2, standardised=True, **o)),
    ],
)
def test_metrics_are_those_of_the_library(name, function):
    scores, y, weight = rows()
    for given in (None, weight):
        wanted = function(y, scores, weight=given)
        assert ab.metric(name)(scores, Rows(y, given))[1:] == (wanted, True)
        assert ab.metric(name, library="xgboost")(scores, Rows(y, given))[1:] == (wanted,)


@pytest.mark.parametrize("name", ["f1", "error", "balanced_error", "cost(5)"])
def test_metrics_of_labels_take_the_best_threshold(name):
    scores, y, weight = rows()
    measure = ab.metric(name)
    found = measure(scores, Rows(y, weight))[1]
    cuts = [*np.sort(scores), scores.min() - 1.0]
    best = max(measure.goal.measure(signed(y), scores - cut, weight) for cut in cuts)
    assert found == pytest.approx(best, rel=1e-12)
    odds = 1.0 / (1.0 + np.exp(-scores))  # probabilities have the same labels
    assert measure(odds, Rows(y, weight))[1] == pytest.approx(best, rel=1e-12)


# --- bad input ------------------------------------------------------------------------------------


def test_rows_must_be_those_of_the_objective():
    scores, y, weight = rows()
    plain, weighted = ab.lightgbm("auc", y=y), ab.lightgbm("auc", y=y, weight=weight)
    with pytest.raises(DataError, match="the 40 rows of y in their order"):
        plain(scores, Rows(y[::-1]))
    with pytest.raises(DataError, match="39 rows with other labels"):
        plain(scores[1:], Rows(y[1:]))
    with pytest.raises(DataError, match="the weights of the objective"):
        plain(scores, Rows(y, weight))
    with pytest.raises(DataError, match="the weights of the objective"):
        weighted(scores, Rows(y, weight[::-1]))
    with pytest.raises(DataError, match="rows with labels"):
        plain(scores, Rows(None))
    weighted(scores, Rows(y.astype(np.float32), weight.astype(np.float32)))
    weighted(scores, Rows(2 * y - 1))  # without weights the rows have those of the objective


def test_several_classes_and_scores_that_cannot_be_used_are_refused():
    scores, y, _ = rows()
    objective = ab.lightgbm("auc", y=y)
    for call in (objective, ab.metric("auc")):
        with pytest.raises(DataError, match="num_class"):
            call(np.zeros((40, 3)), Rows(y))
        with pytest.raises(DataTypeError, match="an array of NumPy"):  # such as one of CuPy
            call(scores.tolist(), Rows(y))
    for bad in (np.nan, np.inf):
        scores[3] = bad
        with pytest.raises(DataError, match="finite scores"):
            objective(scores, Rows(y))


def test_labels_weights_and_names_that_cannot_be_used_are_refused():
    _, y, weight = rows()
    for labels in (y + 1, 0.5 * y, np.where(np.arange(40) % 3, y, -1.0), y[:, None], y * np.nan):
        with pytest.raises(DataError, match="0 and 1 or -1 and \\+1"):
            ab.lightgbm("auc", y=labels)
    with pytest.raises(DataError, match="both classes"):
        ab.lightgbm("auc", y=np.ones(5))
    for some in (-weight, 0.0 * weight, weight[1:]):
        with pytest.raises(DataError):
            ab.lightgbm("auc", y=y, weight=some)
    for name in ("log_loss", "error", "cost(3)"):
        with pytest.raises(IncompatibleError, match=r"a loss over pairs or sets|a metric of the"):
            ab.lightgbm(name, y=y)
    with pytest.raises(IncompatibleError, match="a bound of its curvature"):
        ab.xgboost("average_precision", y=y)
    with pytest.raises(ParameterError, match="'lightgbm' or 'xgboost'"):
        ab.metric("auc", library="catboost")
    with pytest.raises(ParameterError, match="metric"):
        ab.metric("auuc")
    with pytest.raises(IncompatibleError, match="blocks of about a thousand rows"):
        ab.catboost("auc")


# --- the libraries --------------------------------------------------------------------------------


def table(n=600):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    y = (X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=n) > 1.0).astype(float)
    return X, y, rng.random(n) + 0.5


@pytest.mark.parametrize("name", ["auc", "auc@0.1", "precision@50", "f1"])
def test_lightgbm_trains_and_stops_by_the_metric(name):
    lgb = pytest.importorskip("lightgbm", reason="the extra boosting is not installed")
    X, y, weight = table()
    train = lgb.Dataset(X[:400], y[:400], weight=weight[:400])
    test = lgb.Dataset(X[400:], y[400:], reference=train)
    history = {}
    objective = ab.lightgbm(name, y=y[:400], weight=weight[:400])
    options = {"metric": "none", "num_leaves": 7, "verbose": -1, "num_threads": 1}
    model = lgb.train(
        options | {"objective": objective}, train, 40, [test], feval=objective.evaluate,
        callbacks=[lgb.early_stopping(20, verbose=False), lgb.record_evaluation(history)],
    )  # fmt: skip
    values = history["valid_0"][objective.evaluate.name]
    scores = model.predict(X[400:], raw_score=True)
    assert objective.evaluate(scores, test)[1] == pytest.approx(max(values), abs=1e-9)
    assert metrics.auc(y[400:], scores) > 0.75


def test_lightgbm_refusals_reach_the_user():
    lgb = pytest.importorskip("lightgbm", reason="the extra boosting is not installed")
    X, y, _ = table(200)
    objective = ab.lightgbm("auc", y=y)
    options = {"objective": objective, "verbose": -1, "num_threads": 1}
    with pytest.raises(DataError, match="in their order"):
        lgb.train(options, lgb.Dataset(X[::-1], y[::-1]), 2)
    with pytest.raises(DataError, match="num_class"):
        lgb.train(options | {"num_class": 3}, lgb.Dataset(X, y), 2)


def test_xgboost_trains_and_stops_by_the_metric():
    xgb = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    X, y, weight = table()
    train = xgb.DMatrix(X[:400], y[:400], weight=weight[:400])
    test = xgb.DMatrix(X[400:], y[400:])
    objective = ab.xgboost("auc", y=y[:400], weight=weight[:400])
    stop = xgb.callback.EarlyStopping(rounds=20, maximize=True, save_best=True)
    options = {"max_depth": 3, "nthread": 1, "base_score": 0.0, "disable_default_eval_metric": 1}
    history = {}
    model = xgb.train(
        options, train, 40, obj=objective, custom_metric=objective.evaluate, callbacks=[stop],
        evals=[(test, "test")], evals_result=history, verbose_eval=False,
    )  # fmt: skip
    found = metrics.auc(y[400:], model.predict(test, output_margin=True))
    assert found == pytest.approx(max(history["test"]["auc"]), abs=1e-6)
    assert found > 0.75
