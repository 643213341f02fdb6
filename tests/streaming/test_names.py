"""Names of columns: kept from the first rows, compared ever after."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import auctor
from auctor import StreamingAUC
from auctor.core.errors import DataError, DataTypeError
from auctor.lab.learners import Oam, Spam
from auctor.streaming import learn, load_checkpoint, save_checkpoint

pd = pytest.importorskip("pandas")

NAMES = list("abcd")
LEARNERS = [StreamingAUC(), StreamingAUC(max_exact_columns=2), Spam(), Oam(random_state=1)]
learners = pytest.mark.parametrize("learner", LEARNERS, ids=repr)
TABLES = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}


def rows(n=120, d=4):
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.4).astype(int)
    return rng.normal(size=(n, d)) + 0.7 * np.arange(d) * y[:, None], y


def named(X, names=NAMES):
    return pd.DataFrame(X, columns=list(names))


def fitted(learner=None, **options):
    X, y = rows()
    return clone(learner or StreamingAUC(**options)).fit(named(X), y)


@learners
def test_columns_in_another_order_are_refused(learner):
    X, y = rows()
    table = named(X)
    model = fitted(learner)
    assert model.feature_names_in_.tolist() == NAMES
    other = table[list("badc")]
    before = pickle.dumps(model)
    for call in (
        lambda: model.score(other, y),
        lambda: model.predict(other),
        lambda: model.decision_function(other),
        lambda: model.partial_fit(other, y),
    ):
        with pytest.raises(DataError, match=r"needs the columns .*'b' for 'a'"):
            call()
    assert pickle.dumps(model) == before
    assert model.score(table, y) == clone(learner).fit(X, y).score(X, y)


@pytest.mark.parametrize("library", TABLES)
def test_tables_of_all_kinds(library):
    make = getattr(pytest.importorskip(library), TABLES[library])
    X, y = rows()
    columns = dict(zip(NAMES, X.T, strict=True))
    model = StreamingAUC().partial_fit(make(columns), y)
    assert model.feature_names_in_.tolist() == NAMES
    model.partial_fit(make(columns), y)
    with pytest.raises(DataError, match="'d' for 'a'"):
        model.partial_fit(make(dict(reversed(columns.items()))), y)


def test_other_names_and_widths_are_refused():
    X, y = rows()
    model = fitted()
    with pytest.raises(DataError, match="'e' for 'd'"):
        model.score(named(X, "abce"), y)
    with pytest.raises(DataError, match="needs 4 columns"):
        model.partial_fit(named(X[:, :3], "abc"), y)
    with pytest.raises(DataTypeError, match="Rename"):
        StreamingAUC().fit(named(X, [0, "b", "c", "d"]), y)


def test_names_on_one_side_warn_as_scikit_learn_does():
    X, y = rows()
    model = fitted()
    with pytest.warns(UserWarning, match="StreamingAUC was fitted with feature names"):
        model.score(X, y)
    with pytest.warns(UserWarning, match="StreamingAUC was fitted with feature names"):
        model.partial_fit(X, y)
    assert model.feature_names_in_.tolist() == NAMES
    model = StreamingAUC().fit(X, y)
    with pytest.warns(UserWarning, match="StreamingAUC was fitted without feature names"):
        model.partial_fit(named(X), y)
    assert not hasattr(model, "feature_names_in_")
    model = StreamingAUC().fit(pd.DataFrame(X), y)  # numbers are no names
    assert model.score(pd.DataFrame(X), y) == model.score(X, y)


def test_a_new_fit_forgets_the_names():
    X, y = rows()
    model = fitted()
    assert model.fit(named(X, "wxyz"), y).feature_names_in_.tolist() == list("wxyz")
    assert not hasattr(model.fit(X, y), "feature_names_in_")


@learners
def test_names_grow_with_the_columns(learner):
    X, y = rows()
    model = clone(learner).set_params(grow=True)
    model.partial_fit(named(X[:40, :2], "ab"), y[:40]).partial_fit(named(X[40:80]), y[40:80])
    assert model.feature_names_in_.tolist() == NAMES
    model.partial_fit(named(X[80:, :3], "abc"), y[80:])
    assert model.feature_names_in_.tolist() == NAMES
    assert model.n_features_in_ == 4
    model.decision_function(named(np.hstack([X, X[:, :1]]), "abcde"))
    with pytest.raises(DataError, match="'c' for 'b'"):
        model.partial_fit(named(X, "acbd"), y)
    wide = np.hstack([X, X])
    with (
        pytest.warns(UserWarning, match="with feature names"),
        pytest.raises(DataError, match="names for new columns"),
    ):
        model.partial_fit(wide, y)


@pytest.mark.sample(3)
@pytest.mark.parametrize("way", ["pickle", "save", "checkpoint"])
@learners
def test_names_survive(learner, way, tmp_path):
    X, y = rows()
    model = fitted(learner)
    if way == "pickle":
        other = pickle.loads(pickle.dumps(model))
    elif way == "save":
        auctor.save(model, tmp_path / "m.auctor")
        other = auctor.load(tmp_path / "m.auctor")
    else:
        save_checkpoint(tmp_path / "c", model, 120)
        other = clone(learner).fit(X, y)
        load_checkpoint(tmp_path / "c", other)
    assert other.feature_names_in_.tolist() == NAMES
    assert other.feature_names_in_.dtype == object
    other.partial_fit(named(X), y)
    with pytest.raises(DataError, match="'b' for 'a'"):
        other.partial_fit(named(X, "bacd"), y)


def test_a_checkpoint_without_names_clears_them(tmp_path):
    X, y = rows()
    save_checkpoint(tmp_path / "c", StreamingAUC().fit(X, y), 120)
    model = fitted()
    load_checkpoint(tmp_path / "c", model)
    assert not hasattr(model, "feature_names_in_")


def test_names_come_through_a_stream(tmp_path):
    X, y = rows()
    pairs = [(named(X[:50]), y[:50]), (named(X[50:]), y[50:])]
    whole, model, kept = StreamingAUC(), StreamingAUC(), tmp_path / "kept"
    learn(whole, pairs)
    assert whole.feature_names_in_.tolist() == NAMES
    learn(model, pairs, checkpoint=kept, limit=30)
    other = [(table[list("bacd")], labels) for table, labels in pairs]
    with pytest.raises(DataError, match="another order"):
        learn(StreamingAUC(), other, checkpoint=kept, resume=True)
    learn(model, pairs, checkpoint=kept, resume=True)
    assert model.score(named(X), y) == whole.score(named(X), y)
    file = tmp_path / "rows.csv"
    named(np.column_stack([X, y]), [*NAMES, "label"]).to_csv(file, index=False)
    learn(model := StreamingAUC(), file)
    assert model.feature_names_in_.tolist() == NAMES


def test_columns_that_are_only_counted_have_no_names():
    X, y = rows()
    learn(model := StreamingAUC(), [(pd.DataFrame(X), y)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.score(pd.DataFrame(X), y) == model.score(X, y)
