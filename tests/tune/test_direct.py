"""Exact metrics over the weights of a linear model."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_classification

from auctor import MetricClassifier
from auctor.core.errors import AuctorError
from auctor.metrics import auc, prbep
from auctor.tune import DfoTr, maximise_metric
from auctor.tune.direct import NestedSample, tangent_basis

X, y = make_classification(
    400, 6, n_informative=4, flip_y=0.2, weights=[0.8], random_state=1, shuffle=False
)
X = X / X.std(axis=0)


def test_the_plane_is_at_right_angles():
    for seed in range(5):
        w = np.random.default_rng(seed).normal(size=7)
        w /= np.linalg.norm(w)
        basis = tangent_basis(w)
        np.testing.assert_allclose(basis.T @ basis, np.eye(6), atol=1e-12)
        np.testing.assert_allclose(basis.T @ w, 0.0, atol=1e-12)


def test_the_metric_rises_and_the_weights_stay_on_the_sphere():
    start = np.eye(6)[0]
    found = maximise_metric(X, y, start=start, budget=150)
    assert np.linalg.norm(found.coef) == pytest.approx(1.0)
    assert found.value == auc(y, X @ found.coef)
    assert found.value > auc(y, X @ start) + 0.02
    assert found.evaluations <= 150


def test_it_is_no_worse_than_the_pairwise_solution_on_its_own_rows():
    pairwise = MetricClassifier("auc").fit(X, y).coef_[0]
    found = maximise_metric(X, y, start=pairwise, budget=200)
    assert found.value >= auc(y, X @ pairwise)


def test_any_metric_of_the_ranking_can_be_maximised():
    start = np.eye(6)[0]
    found = maximise_metric(X, y, metric=prbep, start=start, budget=150)
    assert found.value > prbep(y, X @ start)


def test_one_column_has_two_directions():
    found = maximise_metric(-X[:, :1] * 0 + np.where(y, -1.0, 1.0)[:, None], y, start=[1.0])
    assert found.coef.tolist() == [-1.0]
    assert found.value == 1.0


def test_samples_are_nested_and_grow_as_printed():
    target = np.repeat([-1.0, 1.0], [15360, 640])
    sample = NestedSample(target)
    sizes = [(int((sample.rows(k) >= 15360).sum()), int((sample.rows(k) < 15360).sum()))
             for k in (0, 12, 50, 100, 300)]  # fmt: skip
    assert sizes[0] == sizes[1] == (64, 1536)
    assert sizes[2:] == [(140, 3360), (240, 5760), (640, 15360)]
    assert set(sample.rows(12)) <= set(sample.rows(50))


def test_growing_samples_come_close_to_all_rows():
    many = np.vstack([X + 0.3 * np.random.default_rng(k).normal(size=X.shape) for k in range(10)])
    labels = np.tile(y, 10)
    start = np.eye(6)[0]
    whole = maximise_metric(many, labels, start=start, budget=150)
    part = maximise_metric(many, labels, start=start, budget=150, subsample=True)
    assert part.value == auc(labels, many @ part.coef)
    assert part.value > whole.value - 0.005


def test_an_evaluation_on_a_sample_costs_its_share_of_the_rows():
    target = np.repeat([-1.0, 1.0], [9000, 3000])
    sample = NestedSample(target, 0)
    sizes = [sample.rows(k).size for k in range(300)]
    for steps in (0, 1, 40, 300):
        assert sample.spent(steps) == pytest.approx(sum(sizes[:steps]) / 12_000)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(12_000, 5)) + 0.5 * (target[:, None] > 0)
    engine = DfoTr(kind="stepwise", restarts=False, last_radius=1e-9)
    found = maximise_metric(rows, target, budget=30, engine=engine, subsample=True)
    assert found.evaluations > 60
    assert sample.spent(found.evaluations - 1) < 30.0 <= sample.spent(found.evaluations)


def test_the_classifier_trains_on_the_exact_metric():
    A, b = load_breast_cancer(return_X_y=True)
    A, b = A[:, :8], b
    solver = DfoTr(kind="stepwise", restarts=False, last_radius=5e-3)
    first = MetricClassifier("auc").fit(A, b)
    exact = MetricClassifier("auc", surrogate="exact", solver=solver, max_iter=600).fit(A, b)
    assert exact.score(A, b) >= first.score(A, b)
    assert exact.solution_.solver == "DfoTr"
    assert not exact.solution_.certified
    assert exact.solution_.value == pytest.approx(1.0 - exact.score(A, b))
    labels = MetricClassifier("auc", surrogate="exact", solver=solver, max_iter=600).fit(A, b)
    np.testing.assert_array_equal(labels.coef_, exact.coef_)


@pytest.mark.parametrize("solver", ["auto", "newton", DfoTr])
def test_exact_training_needs_a_solver_without_derivatives(solver):
    with pytest.raises(AuctorError, match="DfoTr"):
        MetricClassifier("auc", surrogate="exact", solver=solver).fit(X, y)


@pytest.mark.parametrize("metric", ["error", "log_loss", "f1"])
def test_metrics_that_see_the_length_have_no_exact_form(metric):
    with pytest.raises(AuctorError, match="exact"):
        MetricClassifier(metric, surrogate="exact", solver=DfoTr()).fit(X, y)


@pytest.mark.parametrize(
    "change",
    [{"y": np.zeros(400)}, {"y": y[:10]}, {"start": [1.0]}, {"budget": 0}, {"y": np.arange(400)}],
)
def test_bad_input_is_refused(change):
    with pytest.raises(AuctorError):
        maximise_metric(**({"X": X, "y": y} | change))
