"""Odd input of additive models that is fitted, one test each."""

import numpy as np
import pandas as pd
import pytest

import auctor
from auctor import AdditiveClassifier

pytestmark = pytest.mark.filterwarnings("ignore::auctor.ConvergenceWarning")


@pytest.mark.parametrize("value", [7.0, np.nan], ids=["constant", "all missing"])
def test_a_column_without_anything_to_learn_changes_nothing(table, value):
    X, y = table(200)
    alone = AdditiveClassifier("log_loss", strength=1e-2, tol=1e-9, members=2, interactions=0).fit(
        X, y
    )
    wide = X.assign(odd=value)
    beside = AdditiveClassifier("log_loss", strength=1e-2, tol=1e-9, members=2, interactions=0).fit(
        wide, y
    )
    found = beside.decision_function(wide.assign(odd=[1e9, np.nan] * 100))
    np.testing.assert_allclose(found, alone.decision_function(X), atol=1e-6)
    assert not beside.explain(wide)[:, -1].any()


def test_two_distinct_values_are_one_step():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(300, 1)).astype(float)
    y = rng.random(300) < 0.2 + 0.5 * X[:, 0]
    model = AdditiveClassifier("log_loss", strength=1e-6, tol=1e-10, members=1).fit(X, y)
    # Without penalty the two levels are the log-odds of the two kinds of rows.
    wanted = [np.log(y[X[:, 0] == v].mean() / (1 - y[X[:, 0] == v].mean())) for v in (0.0, 1.0)]
    found = model.decision_function(np.array([[0.0], [1.0]])) + model.threshold_
    np.testing.assert_allclose(found, wanted, atol=1e-3)


def test_values_outside_the_training_range_are_in_the_end_bins(table):
    X, y = table(300)
    model = AdditiveClassifier("log_loss", strength=1e-3, members=2).fit(X, y)
    ends = X.agg(["min", "max"])
    far = ends + np.array([[-1e9], [1e9]])
    np.testing.assert_array_equal(model.decision_function(far), model.decision_function(ends))


def test_missing_where_training_had_none_counts_as_the_average_row(table):
    X, y = table(300, missing=0.0)
    model = AdditiveClassifier("log_loss", strength=1e-3, members=2).fit(X, y)
    found = model.explain(pd.DataFrame([[np.nan] * 4], columns=X.columns))
    np.testing.assert_allclose(found, 0.0, atol=1e-12)


def test_more_bins_than_rows_or_values_are_as_many_as_there_are(table):
    X, y = table(60, missing=0.0)
    X["d"] = X["d"].round()  # few values
    model = AdditiveClassifier("log_loss", strength=1e-3, members=2, n_bins=200).fit(X, y)
    steps = [column.steps.size for column in model.bins_.columns]
    assert steps[:3] == [5, 5, 5]  # ten rows for each of six bins
    assert steps[3] <= X["d"].nunique() - 1
    assert np.isfinite(model.decision_function(X)).all()


def test_unseen_categories_are_no_category(table):
    X, y = table(300)
    X["town"] = np.where(X["d"].fillna(0) > 0, "Oslo", "Bonn")
    model = auctor.TableClassifier("auc", model="additive", strength=1e-2, members=2).fit(X, y)
    rows = X[:2].assign(town=["Rome", None])
    parts = model.model_.explain(model.encode(rows))
    assert (parts[:, -1] == 0.0).all()  # neither was in training: as much as the mean row
    assert np.isfinite(model.decision_function(rows)).all()
    assert "town" in model.check(rows)[0]
