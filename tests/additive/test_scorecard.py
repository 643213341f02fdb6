"""Scorecards: points, their rounding, and functions that need no library."""

import sqlite3

import numpy as np
import pytest

import auctor
from auctor import AdditiveClassifier
from auctor.additive.rounding import SHIFTS
from auctor.core.errors import DataError
from auctor.reports import column_curves

pytestmark = pytest.mark.filterwarnings("ignore::auctor.ConvergenceWarning")


def test_exact_points_are_a_line_of_the_decision_value(table):
    X, y = table(400)
    model = AdditiveClassifier("log_loss", strength=2e-3, interactions=1).fit(X, y)
    card = model.scorecard(points_to_double_odds=30, base=500, rounded=False)
    wanted = 500 + 30 / np.log(2) * model.decision_function(X)
    np.testing.assert_allclose(_python(card, X), wanted, atol=1e-8)
    np.testing.assert_allclose(_sql(card, X), wanted, atol=1e-8)


def test_whole_points_lose_little_and_say_how_much(table):
    X, y = table(400)
    model = AdditiveClassifier(strength=2e-3).fit(X, y)
    card = model.scorecard(X=X, y=y)
    points = _python(card, X)
    assert (points == np.round(points)).all()
    np.testing.assert_array_equal(points, _sql(card, X))
    assert card.metric[0] == pytest.approx(model.score(X, y))
    assert card.metric_loss < 0.005
    exact = _python(model.scorecard(rounded=False), X)
    assert np.abs(_centred(points) - _centred(exact)).max() <= 2 * card.largest_error
    assert len(card.to_dataframe()) == len(card.rows) + 1
    assert card.to_csv().count("\n") == len(card.rows) + 2
    assert "q&quot;t" in card.to_html()
    printed = str(card).split("\n\n")[0].splitlines()
    single = [r for r in card.records() if " x " not in r["column"]]
    assert [line.split()[-1] for line in printed] == [str(r["points"]) for r in single]
    assert len({len(line) for line in printed}) == 1  # aligned
    assert "CardRow" not in repr(card)


def test_the_rounding_is_the_one_that_loses_least(table):
    """Against all shifts of three columns, tried by brute force."""
    X, y = table(150)
    X = X.iloc[:, :3]
    model = AdditiveClassifier(strength=3e-3).fit(X, y)
    wide = {"points_to_double_odds": 1.5}  # coarse, so that rounding costs something
    chosen = model.scorecard(X=X, y=y, **wide)
    factor = chosen.factor
    codes = model.bins_.codes(X.to_numpy())
    exact = [factor * t for t in model.bins_.tables(model.coef_[0])]
    whole = [
        np.array([np.round(points + shift)[line] for shift in SHIFTS])
        for points, line in zip(exact, codes, strict=True)
    ]
    best = max(
        auctor.metrics.auc(y, a + b + c) for a in whole[0] for b in whole[1] for c in whole[2]
    )
    assert chosen.metric[1] == pytest.approx(best, abs=5e-4)
    assert chosen.metric[1] >= auctor.metrics.auc(y, _python(model.scorecard(**wide), X))


def test_whole_points_of_a_monotone_curve_are_monotone(table):
    X, y = table(300)
    model = AdditiveClassifier(strength=1e-3, monotone={"age": 1}).fit(X, y)
    card = model.scorecard(points_to_double_odds=3, X=X, y=y)
    points = [r.points for r in card.rows if r.columns == ("age",) and not r.ranges[0].missing]
    assert points == sorted(points)
    assert len(points) > 2


def _python(card, X):
    space = {}
    exec(card.to_python(), space)
    return np.array([space["points"](dict(row)) for _, row in X.iterrows()])


def _sql(card, X):
    with sqlite3.connect(":memory:") as base:
        X.to_sql("rows", base, index=False)
        return np.array([row[0] for row in base.execute(f"SELECT {card.to_sql()} FROM rows")])


def test_the_positive_class_may_be_the_first_of_the_two(table):
    X, y = table(300)
    labels = np.where(y, "bad", "good")  # bad comes first and is the rarer one
    model = AdditiveClassifier("log_loss", strength=1e-3, monotone={"age": 1}).fit(X, labels)
    assert model.classes_.tolist() == ["bad", "good"]
    assert model.pos_label_ == "bad"
    # The score of "bad" rises; decision values are those of "good".
    assert (np.diff(model.curve("age")[1]) <= 0.0).all()
    assert np.ptp(model.curve("age")[1]) > 0.0
    shown = {curve.name: curve for curve in column_curves(model)}["age"]
    assert (np.diff(shown.level) >= 0.0).all()
    card = model.scorecard(X=X, y=labels)
    assert card.metric_loss < 0.01
    high = _python(card, X) > np.median(_python(card, X))
    assert y[high].mean() > y[~high].mean()


def test_rows_and_labels_come_together(table):
    X, y = table(60)
    model = AdditiveClassifier(strength=0.1).fit(X, y)
    with pytest.raises(DataError, match="together"):
        model.scorecard(X=X)


def _centred(values):
    return values - values.mean()


def test_pairs_are_cross_tables(table):
    X, y = table(400)
    X = X.assign(town=np.where(X.iloc[:, 0] > X.iloc[:, 0].median(), "O|slo", "Rome"))
    names = list(X.columns)
    pairs = [(names[0], names[1]), ("town", names[1])]
    model = AdditiveClassifier(members=2, strength=2e-3, interactions=pairs).fit(X, y)
    for rounded in (True, False):
        card = model.scorecard(rounded=rounded)
        assert {one.columns for one in card.maps} == {(names[0], names[1]), (names[1], "town")}
        listed = {(r.columns, *(one.short() for one in r.ranges)): r.points for r in card.rows}
        cells = 0
        for cross in card.maps:
            frame = cross.to_dataframe()
            assert (frame.index.name, frame.columns.name) == cross.columns
            for one in frame.index:
                for two in frame.columns:
                    wanted = listed.get((cross.columns, one, two), 0)
                    assert frame.loc[one, two] == wanted
                    cells += wanted != 0
        assert cells == sum(len(row.columns) == 2 and row.points != 0 for row in card.rows)
    card = model.scorecard()
    assert str(card).count("\n\n") == 2
    town = next(one for one in card.maps if "town" in one.columns)
    assert "O\\|slo" in town.to_markdown()
    assert len(town.to_markdown().splitlines()) == len(town.down) + 2
    assert town.to_markdown() in card.to_markdown()
    assert card.to_html().count("<table>") == 3
    assert "<h4>" in card.to_html()
    assert card.renamed({one: one + "!" for one in X}).maps[0].title.endswith("!")


def test_points_beyond_whole_numbers_are_refused(table):
    X, y = table(200)
    model = AdditiveClassifier(members=2, interactions=0).fit(X, y)
    with pytest.raises(DataError, match=r"below 2\^53 to round; got .*e\+\d+. Pass rounded=False"):
        model.scorecard(points_to_double_odds=1e300)
    assert "e+" in str(model.scorecard(points_to_double_odds=1e300, rounded=False))
