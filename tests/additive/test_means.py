"""Categories with more levels than bins: out-of-fold means of the target as one curve."""

import sqlite3

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

import auctor
from auctor import AdditiveClassifier, AdditiveRegressor
from auctor.additive.means import LevelMeans, MeanBins, MeanColumn, row_groups
from auctor.additive.task import Fold
from auctor.core.errors import DataError, ParameterError
from auctor.evaluate.curves_info import column_curves, row_parts

LEVELS = 400


def table(seed, n, effect):
    """Rows with a name of many levels, whose effects are those given, and a number."""
    rng = np.random.default_rng(seed)
    level = rng.integers(0, LEVELS, n)
    x = rng.normal(size=n)
    late = x + effect[level] + rng.logistic(size=n) > 0.0
    names = np.array([f"O'Name {k}" for k in level], dtype=object)
    names[rng.random(n) < 0.05] = None
    return pd.DataFrame({"name": names, "x": x}), late


@pytest.fixture(scope="module")
def effect():
    return 1.5 * np.random.default_rng(1).normal(size=LEVELS)


@pytest.fixture(scope="module")
def model(effect):
    return AdditiveClassifier(members=4, random_state=0).fit(*table(0, 3000, effect))


@pytest.fixture(scope="module")
def new(effect):
    rows = table(2, 200, effect)[0]
    rows.loc[:3, "name"] = "Nobody"
    return rows


# --- codes of the training rows -------------------------------------------------------------------


@pytest.fixture(scope="module")
def levels():
    """Levels, outcomes, weights and groups of 300 rows, some missing or without weight."""
    rng = np.random.default_rng(3)
    values = rng.integers(0, 40, 300).astype(float)
    values[::50] = np.nan
    outcome = (values % 5)[:, None] + rng.normal(size=(300, 2))
    outcome[np.isnan(outcome)] = 0.0
    weight = rng.integers(0, 3, 300).astype(float)
    return values, outcome, weight, rng.integers(0, 4, 300)


def test_a_row_counts_only_rows_of_the_member_in_other_groups(levels):
    values, outcome, weight, group = levels
    means = LevelMeans(*levels)
    rows = np.random.default_rng(4).random(300) < 0.7
    found, _ = means.deviations(rows)
    assert np.isfinite(found.prior_rows)
    scale = weight.sum() / (weight @ weight)
    member = rows & (weight > 0.0) & ~np.isnan(values)
    mean = np.average(outcome[member], axis=0, weights=weight[member])
    expected = np.zeros_like(outcome)
    for i, value in enumerate(values):
        others = member & (values == value) & (group != group[i])
        w = scale * weight[others]
        expected[i] = w @ (outcome[others] - mean) / (w.sum() + found.prior_rows)
    np.testing.assert_allclose(means.left_out(rows), expected, atol=1e-12)


def test_codes_of_a_member_do_not_depend_on_labels_that_it_leaves_out(levels):
    values, outcome, weight, group = levels
    rows = group != 2
    other = outcome.copy()
    other[~rows] += 100.0
    before, after = (
        LevelMeans(values, one, weight, group).left_out(rows) for one in (outcome, other)
    )
    np.testing.assert_array_equal(before, after)


def test_two_labels_that_trade_places_change_no_code_of_their_own_rows(levels):
    values, outcome, weight, _ = levels
    weight = np.ones_like(weight)
    outcome = outcome[:, :1]
    i, j = 1, next(k for k in range(2, 300) if values[k] not in (values[1], np.nan))
    group = levels[3].copy()
    group[[i, j]] = 0
    swapped = outcome.copy()
    swapped[[i, j]] = outcome[[j, i]]
    every = np.ones(300, dtype=bool)
    found = []
    for one in (outcome, swapped):
        means = LevelMeans(values, one, weight, group)
        # The sums of others, without the credibility, which is a number for all rows.
        residual = means.deviations(every)[1]
        found.append(means._of_others(np.flatnonzero(means.there), residual[:, 0])[[i, j]])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-13)


def test_credibility_is_the_ratio_of_the_variances_within_and_between_levels():
    rng = np.random.default_rng(5)
    level = rng.integers(0, 3000, 30_000)
    y = 0.5 * rng.normal(size=3000)[level] + 2.0 * rng.normal(size=30_000)
    means = LevelMeans(level.astype(float), y[:, None], np.ones(30_000), level % 8)
    found, _ = means.deviations(np.ones(30_000, dtype=bool))
    assert found.prior_rows == pytest.approx(4.0 / 0.25, rel=0.15)


def test_levels_that_are_alike_have_no_deviations():
    apart = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        level, y = rng.integers(0, 700, 2000).astype(float), rng.random((2000, 1)) < 0.2
        means = LevelMeans(level, y.astype(float), np.ones(2000), rng.integers(0, 8, 2000))
        apart += bool(means.deviations(np.ones(2000, dtype=bool))[0].levels.any())
    assert apart <= 1


def test_two_folds_are_halved_and_groups_stay_together():
    n = 40
    folds = [Fold(np.arange(20, n), np.arange(20)), Fold(np.arange(20), np.arange(20, n))]
    assert np.unique(row_groups(folds, n, None, 0)[20:]).size == 2
    customers = np.arange(n) // 2
    group = row_groups(folds, n, customers, 0)
    assert (group[::2] == group[1::2]).all()


def test_members_have_codes_of_their_own_on_common_bins(levels):
    values, outcome, weight, group = levels
    column = MeanColumn(LevelMeans(values, outcome[:, :1], weight, group), 16, None)
    every = column.codes(np.ones(300, dtype=bool))
    member = column.codes(group != 1)
    assert (every != member).any()
    missing = np.isnan(values)
    assert not every[missing].any()
    assert not member[missing].any()


# --- models ---------------------------------------------------------------------------------------


def test_out_of_fold_metric_is_honest_and_names_help(model, effect):
    rows, late = table(9, 20_000, effect)
    auc = roc_auc_score(late, model.decision_function(rows))
    plain = AdditiveClassifier(members=4, random_state=0)
    X, y = table(0, 3000, effect)
    alone = roc_auc_score(late, plain.fit(X[["x"]], y).decision_function(rows[["x"]]))
    assert isinstance(model.bins_.columns[0], MeanBins)
    assert auc > alone + 0.06
    assert model.score_oof_ < auc + 0.01


def test_random_ids_get_a_flat_curve_and_no_optimism(effect):
    gains, gaps = [], []
    for seed in range(4):
        (X, y), (new, late) = table(seed, 2000, 0 * effect), table(seed + 50, 4000, 0 * effect)
        rng = np.random.default_rng(seed)
        X["name"] = [f"i{k}" for k in rng.integers(0, 5000, len(X))]
        new["name"] = [f"i{k}" for k in rng.integers(0, 5000, len(new))]
        found = []
        for columns in (["name", "x"], ["x"]):
            one = AdditiveClassifier(members=4, random_state=seed).fit(X[columns], y)
            scores = one.decision_function(X[columns]), one.decision_function(new[columns])
            gap = roc_auc_score(y, scores[0]) - roc_auc_score(late, scores[1])
            found.append((one.score_oof_, gap))
            if "name" in columns:
                assert one.importances_[0] == 0.0
        gains.append(found[0][0] - found[1][0])
        gaps.append(found[0][1] - found[1][1])
    assert max(gains) < 0.002
    assert max(gaps) < 0.002


def test_unknown_levels_are_at_the_mean_of_all_rows(model):
    column = model.bins_.columns[0]
    curve = model.bins_.tables(model.coef_[0])[0]
    part = model.explain(pd.DataFrame({"name": ["Nobody", None], "x": [0.0, 0.0]}))[:, 0]
    assert part[0] == curve[column.other]
    assert part[1] == curve[0]


def test_the_curve_is_by_the_mean_and_rows_name_their_level(model, new, effect):
    values, level = model.curve("name")
    assert 0.0 < values[0] < values[-1] < 1.0
    assert np.corrcoef(values, level)[0, 1] > 0.9
    (curve,) = (one for one in column_curves(model) if one.name == "name")
    assert curve.axis == "name, mean of the target of its level"
    known, unknown = row_parts(model, new, {"a": 10, "b": 0})
    texts = dict(zip(known.names, known.values, strict=True))
    assert texts["name"].startswith(f"{new['name'][10]} (0.")
    found = model.reasons(new[10:11], k=2)
    assert (
        dict(zip(found.names[0], found.values[0], strict=True)).get("name", new["name"][10])
        == (new["name"][10])
    )
    assert dict(zip(unknown.names, unknown.values, strict=True))["name"].startswith("other (0.")


def test_files_sql_python_and_onnx_score_alike(model, new, tmp_path):
    scores = model.decision_function(new)
    auctor.save(model, tmp_path / "model.auctor")
    again = auctor.load(tmp_path / "model.auctor")
    np.testing.assert_array_equal(again.decision_function(new), scores)
    with sqlite3.connect(":memory:") as base:
        new.to_sql("rows", base, index=False)
        found = pd.read_sql(auctor.to_sql(model), base)
    np.testing.assert_allclose(found["score"], scores, atol=1e-12)
    card = model.scorecard(rounded=False)
    scope = {}
    exec(card.to_python(), scope)
    points = [scope["points"](row) for row in new.to_dict("records")]
    np.testing.assert_allclose((np.array(points) - 600.0) / card.factor, scores, atol=1e-10)
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(auctor.to_onnx(model))
    given = {"x": new[["x"]].to_numpy(), "name": new[["name"]].fillna("").to_numpy(object)}
    np.testing.assert_allclose(session.run(["scores"], given)[0], scores, atol=1e-12)


def test_a_card_names_some_levels_of_each_line(model):
    lines = [row for row in model.scorecard().rows if row.columns == ("name",)]
    assert lines[0].text() == "missing"
    assert any("levels (O'Name" in row.text() for row in lines)
    assert sum("other levels" in row.text() for row in lines) == 1


def test_numbers_that_stand_for_levels(effect):
    X, y = table(0, 2000, effect)
    numbers = np.column_stack([X["name"].str[7:].astype(float), X["x"]])
    model = AdditiveClassifier(members=3, categorical=[0]).fit(numbers, y)
    assert isinstance(model.bins_.columns[0], MeanBins)
    assert model.score_oof_ > AdditiveClassifier(members=3).fit(numbers, y).score_oof_ + 0.03


def test_several_classes_and_numbers(effect):
    X, _ = table(0, 1500, effect)
    rng = np.random.default_rng(0)
    level = X["name"].str[7:].astype(float)
    y = np.where(level.isna(), 0.0, effect[level.fillna(0).astype(int)]) + rng.normal(size=len(X))
    label = np.digitize(y, [-1.0, 1.0])
    make = AdditiveClassifier(
        "log_loss", members=3, interactions=0, strength=0.003, n_bins=8, tol=0.01
    )
    several = clone(make).fit(X, label)
    alone = clone(make).fit(X[["x"]], label)
    assert several.score_oof_ > alone.score_oof_ + 0.1
    regressor = AdditiveRegressor(members=3).fit(X, y)
    assert isinstance(regressor.bins_.columns[0], MeanBins)
    assert -regressor.score_oof_ < 0.75 * np.var(y) / 2.0


def test_what_such_a_column_cannot_do(effect):
    X, y = table(0, 800, effect)
    with pytest.raises(ParameterError, match="at most 254 levels"):
        AdditiveClassifier(members=3, interactions=[("name", "x")]).fit(X, y)
    model = AdditiveClassifier(members=3).fit(X, y)
    with pytest.raises(DataError, match="training=False"):
        model.edit("name", drop=True, X=X, y=y)
    assert model.edit("name", drop=True, X=X, y=y, training=False).cost is not None
    with pytest.raises(DataError, match="numbers for flat"):
        model.edit("name", flat=(0.2, 0.4))


def test_a_table_says_what_it_does(effect):
    X, late = table(0, 1500, effect)
    model = auctor.TableClassifier(model="additive", members=3).fit(X, late)
    assert isinstance(model.model_.bins_.columns[0], MeanBins)
    (note,) = (one for one in model.notes_ if "levels" in one)
    assert "'name' as one category of" in note
    assert "the mean of the label of its level is used as one curve" in note
