"""``model="auto"``: the kinds of models compete on the same folds."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import auctor
from auctor.fit.folds import folds_by
from auctor.fit.parameters import fold_seed
from auctor.linear.choose import MOST_ENTRIES, AutoParameters, _sample, simplest
from auctor.tables.encode import one_hot_rows, one_hot_schema
from auctor.tables.options import ReadOptions
from auctor.tables.read import read_table


def _table(curved, n=600):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    rows["city"] = rng.choice(["Oslo", "Rome", "Bonn"], n)
    rows.loc[rng.random(n) < 0.1, "b"] = np.nan
    score = np.abs(rows["a"]) * 3 - 2.4 if curved else rows["a"]
    rows["late"] = np.where(score + (rows["city"] == "Oslo") + rng.logistic(size=n) > 0, "y", "n")
    return rows


@pytest.mark.parametrize("curved", [False, True])
def test_the_shape_of_the_effects_decides(curved, tmp_path):
    rows = _table(curved)
    model = auctor.TableClassifier("auc", random_state=0).fit(rows, "late")
    assert (model.model_kind_ == "linear") is not curved
    scores = model.candidate_scores_
    assert list(scores)[:2] == ["linear", "curves"]
    np.testing.assert_array_equal(model.fold_scores_, scores[model.model_kind_])
    explicit = "additive" if curved else "linear"
    fixed = auctor.TableClassifier("auc", model=explicit, random_state=0).fit(rows, "late")
    np.testing.assert_allclose(model.score(rows, "late"), fixed.score(rows, "late"), atol=0.02)
    assert hasattr(model, "curve") is curved
    auctor.save(model, tmp_path / "m.auctor")
    again = auctor.load(tmp_path / "m.auctor")
    np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))
    assert again.model_kind_ == model.model_kind_
    np.testing.assert_array_equal(again.candidate_scores_["linear"], scores["linear"])


def test_auc_decides_where_the_metric_of_few_rows_cannot():
    rng = np.random.default_rng(5)
    n = 2000
    rows = pd.DataFrame({"age": rng.uniform(18, 90, n), "income": rng.normal(size=n)})
    score = -3.4 + 1.3 * np.abs(rows["age"] - 54) / 18 - 0.5 * rows["income"]
    label = rng.random(n) < 1 / (1 + np.exp(-score))
    model = auctor.TableClassifier("precision_at_k(10)", random_state=0).fit(rows, label)
    scores = model.candidate_scores_
    # By the metric alone, the linear model would do.
    assert simplest(np.array(list(scores.values()))) == 0
    assert model.model_kind_ != "linear"


def test_a_kind_that_is_clearly_behind_in_auc_is_not_taken():
    equal = np.array([[0.5, 0.7, 0.6, 0.5], [0.6, 0.6, 0.6, 0.7], [0.6, 0.5, 0.6, 0.7]])
    behind = np.array([[0.70, 0.71, 0.70, 0.69], [0.80, 0.80, 0.81, 0.80], [0.8, 0.81, 0.8, 0.8]])
    assert simplest(equal) == 0
    assert simplest(equal, behind) == 1
    # No AUC, or one fold: the metric alone.
    assert simplest(equal, np.full_like(equal, np.nan)) == 0
    one = np.full_like(equal, np.nan)
    one[:, 0] = behind[:, 0]
    assert simplest(equal, one) == 0
    # A kind that the metric leaves out is not taken, whatever its AUC.
    worse = np.array([[0.9, 0.9, 0.9, 0.9], [0.6, 0.6, 0.6, 0.7], [0.6, 0.5, 0.6, 0.7]])
    assert simplest(worse, behind) == 0


def test_a_parameter_of_one_kind_decides():
    rows = _table(True)
    assert auctor.TableClassifier(strength=0.1).fit(rows, "late").model_kind_ == "linear"
    curves = auctor.TableClassifier(interactions=0, members=3).fit(rows, "late")
    assert curves.model_kind_ == "curves"
    with pytest.raises(AttributeError, match="model='auto'"):
        _ = curves.candidate_scores_


def test_folds_hold_groups_together_and_weights_count():
    rows = _table(True)
    rows = pd.concat([rows, rows])
    label = rows.pop("late")
    groups = np.tile(np.arange(600), 2)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 1200)
    model = auctor.TableClassifier("error").fit(rows, label, weight, groups)
    assert model.model_kind_ != "linear"


def test_the_linear_model_of_auto_is_that_of_its_search():
    rows = _table(False)
    auto = auctor.TableClassifier("log_loss", random_state=0).fit(rows, "late")
    assert auto.model_kind_ == "linear"
    strength = auto.model_.strength_
    fixed = auctor.TableClassifier("log_loss", model="linear", strength=strength).fit(rows, "late")
    np.testing.assert_allclose(auto.coef_, fixed.coef_, atol=1e-3)
    assert auto.schema_.feature_names == fixed.schema_.feature_names


def test_three_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = np.digitize(np.abs(X[:, 0]) + 0.2 * rng.normal(size=400), [0.4, 1.0])
    model = auctor.TableClassifier("error").fit(X, y)
    assert model.model_kind_.startswith("curves")
    assert model.score(X, y) > 0.7


def test_a_budget_ends_the_comparison():
    rows = _table(True)
    with pytest.warns(auctor.ConvergenceWarning):
        model = auctor.TableClassifier(max_seconds=1e-6).fit(rows, "late")
    assert np.isfinite(model.decision_function(rows)).all()


def test_the_simplest_within_one_standard_error():
    noise = np.array([0.01, -0.01, 0.01, -0.01])
    assert simplest(np.array([0.7 + noise, 0.69 - noise, 0.71 + noise])) == 2
    assert simplest(np.array([0.7 + noise, 0.701 - noise])) == 0
    assert simplest(np.array([np.full(4, np.nan), 0.7 + noise])) == 1


def test_one_hot_rows_are_those_of_a_linear_reading(tmp_path):
    rows = _table(False)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    how = {"label": "late", "missing": "keep", "categorical": "levels"}
    kept = read_table(tmp_path / "rows.csv", ReadOptions(**how))
    linear = read_table(tmp_path / "rows.csv", ReadOptions(label="late", missing="median"))
    schema = one_hot_schema(kept.schema, kept.matrix)
    found = one_hot_rows(kept.schema, schema, kept.matrix)
    assert schema.feature_names == linear.schema.feature_names
    np.testing.assert_array_equal(found, linear.matrix)
    assert one_hot_rows(linear.schema, linear.schema, linear.matrix) is linear.matrix
    many = pd.DataFrame(
        {"a": rows["a"], "w": [f"w{k % 40}" for k in range(600)], "y": rows["late"]}
    )
    many.to_csv(tmp_path / "many.csv", index=False)
    kept = read_table(tmp_path / "many.csv", ReadOptions(**(how | {"label": "y"})))
    linear = read_table(tmp_path / "many.csv", ReadOptions(label="y"))
    schema = one_hot_schema(kept.schema, kept.matrix)
    found = one_hot_rows(kept.schema, schema, kept.matrix)
    np.testing.assert_array_equal(found.toarray(), linear.matrix.toarray())


@pytest.mark.parametrize("parts", [2, 4, 5, 10, 12])
def test_every_fold_has_rows_of_the_sample_on_which_the_linear_model_is_tuned(parts):
    codes = np.arange(1000 * parts) % 2
    rows = SimpleNamespace(codes=codes, groups=None)
    params = AutoParameters()
    sample = _sample(rows, MOST_ENTRIES, params)
    assert sample.size == 1000
    for count in (2, 5, 8):
        for _, test in folds_by(codes, count, fold_seed(params), None, None):
            assert 0.5 < np.isin(test, sample).sum() * count / 1000 < 1.5
