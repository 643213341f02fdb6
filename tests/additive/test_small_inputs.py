"""Inputs that are too small, too wide or lopsided for additive models, one test each."""

import numpy as np
import pytest

import auctor
from auctor import AdditiveClassifier, AdditiveRegressor

pytestmark = pytest.mark.filterwarnings("ignore::auctor.ConvergenceWarning")


def _rows(n, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=n)


def test_a_class_with_fewer_rows_than_members_has_fewer_members():
    X, z = _rows(200)
    y = z > np.sort(z)[-4]  # three positives
    with pytest.warns(auctor.DataWarning, match="uses 3 members instead of 8"):
        model = AdditiveClassifier().fit(X, y)
    assert len(model.solution_) == 3
    assert np.isfinite(model.oof_scores_).all()


def test_a_class_with_one_row_is_fitted_without_folds():
    X, z = _rows(60)
    y = z == z.max()
    with pytest.warns(auctor.DataWarning, match="uses 1 members"):
        model = AdditiveClassifier().fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.solution_.certified


def test_groups_stay_together():
    X, z = _rows(240)
    groups = np.arange(240) // 20
    model = AdditiveClassifier(members=4).fit(X, z > 0.0, groups=groups)
    repeated = np.vstack([X, X])  # every row twice: a fold that splits a group knows the answer
    both = np.concatenate([groups, groups])
    y = np.random.default_rng(1).random(240) < 0.5
    honest = AdditiveClassifier(members=4).fit(repeated, np.tile(y, 2), groups=both)
    assert abs(honest.score_oof_ - 0.5) < 0.15
    assert np.isfinite(model.score_oof_)


def test_groups_are_for_every_metric():
    X, z = _rows(160)
    model = AdditiveClassifier("f1", members=3).fit(X, z > 0.0, groups=np.arange(160) // 10)
    assert model.score_oof_ > 0.6


def test_groups_that_swallow_a_class_leave_fewer_folds():
    X, z = _rows(120)
    y = z > 0.3
    groups = np.where(y, 0, np.arange(120))  # all positives are one group
    with pytest.warns(auctor.DataWarning, match="members instead of"):
        model = AdditiveClassifier(members=3).fit(X, y, groups=groups)
    assert np.isfinite(model.decision_function(X)).all()


def test_rows_without_weight_change_nothing():
    X, z = _rows(150)
    y = z > 0.0
    halves = [np.arange(150) % 3 == k for k in range(3)]
    folds = [(np.flatnonzero(~half), np.flatnonzero(half)) for half in halves]
    weight = np.ones(200)
    weight[150:] = 0.0
    wide = np.vstack([X, 100.0 + np.abs(X[:50])])
    wider = [
        (a, np.append(b, np.arange(150, 200)) if k == 0 else b) for k, (a, b) in enumerate(folds)
    ]
    one = AdditiveClassifier(cv=folds).fit(X, y)
    two = AdditiveClassifier(cv=wider).fit(wide, np.append(y, np.zeros(50, bool)), weight)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-8)


def test_a_fold_without_weight_is_no_member():
    X, z = _rows(150)
    folds = [
        (np.flatnonzero(np.arange(150) % 3 != k), np.flatnonzero(np.arange(150) % 3 == k))
        for k in range(3)
    ]
    weight = (np.arange(150) % 3 != 2).astype(float)
    with pytest.warns(auctor.DataWarning, match="2 of 3 folds"):
        model = AdditiveClassifier(cv=folds).fit(X, z > 0.0, weight)
    assert len(model.solution_) == 2
    assert np.isnan(model.oof_scores_).ravel()[2::3].all()


@pytest.mark.filterwarnings("ignore::auctor.DataWarning")
def test_two_rows_are_enough():
    model = AdditiveClassifier().fit([[0.0], [1.0]], [0, 1])
    assert model.predict([[0.0], [1.0]]).shape == (2,)
    assert AdditiveRegressor(members=2).fit([[0.0], [1.0]], [0.0, 1.0]).predict([[0.5]]).shape == (
        1,
    )


def test_more_pairs_than_there_are():
    X, z = _rows(200)
    model = AdditiveClassifier(members=2, interactions=50).fit(X, z > 0.0)
    assert 0 < len(model.bins_.pairs) <= 3
    alone = AdditiveClassifier(members=2, interactions=50).fit(X[:, :1], z > 0.0)
    assert not alone.bins_.pairs


def test_splits_in_time_leave_the_first_rows_without_scores():
    from sklearn.model_selection import TimeSeriesSplit

    X, z = _rows(200)
    model = AdditiveClassifier(cv=TimeSeriesSplit(3)).fit(X, z > 0.0)
    assert len(model.solution_) == 3
    assert np.isnan(model.oof_scores_[:50]).all()
    assert np.isfinite(model.oof_scores_[50:]).all()
    assert 0.5 < model.score_oof_ <= 1.0


def test_large_tables_try_strengths_on_a_few_folds(monkeypatch):
    from auctor.additive import members

    X, z = _rows(600)
    full = AdditiveClassifier(members=6).fit(X, z > 0.0)
    monkeypatch.setattr(members, "LARGE", 500)
    model = AdditiveClassifier(members=6).fit(X, z > 0.0)
    assert model.scores_.shape[0] == members.SCOUTS
    assert len(model.solution_) == 6
    assert all(one.certified and one.gap <= one.tol for one in model.solution_)
    assert np.isfinite(model.oof_scores_).all()
    assert abs(model.score_oof_ - full.score_oof_) < 0.02
