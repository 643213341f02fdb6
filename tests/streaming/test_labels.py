"""Labels of streams: which are accepted, which are missing, and when both are known."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from auctor import StreamingAUC
from auctor.core.errors import DataError
from auctor.lab.learners import MiniBatchAuc, Oam, Spam
from auctor.streaming import learn, load_checkpoint, save_checkpoint

pd = pytest.importorskip("pandas")

LEARNERS = [
    StreamingAUC(window=50, trace_every=20),
    StreamingAUC(max_exact_columns=2),
    Spam(random_state=1),
    Oam(random_state=1),
    MiniBatchAuc(random_state=1),
]
learners = pytest.mark.parametrize("learner", LEARNERS, ids=repr)
KINDS = {
    "0/1": np.array([0, 1]),
    "0/1 bytes": np.array([0, 1], dtype=np.uint8),
    "0/1 floats": np.array([0.0, 1.0]),
    "-1/+1": np.array([-1, 1]),
    "bool": np.array([False, True]),
    "objects": np.array([0, 1], dtype=object),
    "bool objects": np.array([False, True], dtype=object),
}


def rows(n=100, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(int)
    return rng.normal(size=(n, 4)) + y[:, None], y


def same(one, two):
    assert one.state_.keys() == two.state_.keys()
    for name, array in one.state_.items():
        np.testing.assert_array_equal(array, two.state_[name], err_msg=name)
    assert one.classes_.dtype == two.classes_.dtype
    assert one.classes_.tolist() == two.classes_.tolist()
    assert (one.rows_seen_, one.skipped_rows_) == (two.rows_seen_, two.skipped_rows_)


# --- one class at first -------------------------------------------------------------------------


@pytest.mark.sample(4)
@learners
@pytest.mark.parametrize("labels", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("size", [pytest.param(1, marks=pytest.mark.slow), 7])
def test_one_class_at_first_gives_the_same_as_one_call(learner, labels, first, size):
    X, y = rows()
    order = np.argsort(y != first, kind="stable")
    X, y = X[order], labels[y[order]]
    whole, parts = clone(learner).partial_fit(X, y), clone(learner)
    for low in range(0, 100, size):
        parts.partial_fit(X[low : low + size], y[low : low + size])
    same(whole, parts)
    assert parts.predict(X).dtype == parts.classes_.dtype
    assert set(parts.predict(X).tolist()) == set(labels.tolist())
    pairs = [(X[low : low + size], y[low : low + size]) for low in range(0, 100, size)]
    learn(streamed := clone(learner), pairs)
    same(whole, streamed)


@pytest.mark.sample(3)
@pytest.mark.parametrize("negative", [0, -1])
@pytest.mark.parametrize("way", ["pickle", "checkpoint"])
@learners
def test_a_lone_one_survives(learner, negative, way, tmp_path):
    X, y = rows()
    X, y = X[np.argsort(-y, kind="stable")], np.where(np.sort(-y) < 0, 1, negative)
    model = clone(learner).partial_fit(X[:9], y[:9])
    assert model.classes_.tolist() == [1]
    assert model.predict(X).tolist() == [1] * 100
    if way == "pickle":
        other = pickle.loads(pickle.dumps(model))
    else:
        save_checkpoint(tmp_path / "c", model, 9)
        load_checkpoint(tmp_path / "c", other := clone(learner))
    same(model, other)
    same(other.partial_fit(X[9:], y[9:]), clone(learner).partial_fit(X, y))


def test_a_stream_of_ones_longer_than_the_look_ahead(monkeypatch, tmp_path):
    monkeypatch.setattr("auctor.streaming.run.LOOK_AHEAD", 5)
    X, y = rows()
    X, y = X[np.argsort(-y, kind="stable")], -np.sort(-y)
    pairs = [(X[k : k + 3], y[k : k + 3]) for k in range(0, 100, 3)]
    learn(StreamingAUC(), pairs, checkpoint=tmp_path / "c", limit=20)
    learn(model := StreamingAUC(), pairs, checkpoint=tmp_path / "c", resume=True)
    same(model, StreamingAUC().partial_fit(X, y))


def test_what_may_follow_a_lone_one():
    X = np.eye(3)
    start = StreamingAUC().partial_fit(X, [1, 1, 1])
    for later in ([2, 1, 1], [0, -1, 1], ["no", "no", "no"], [0.5, 1.0, 1.0], [np.nan, 1.0, 1.0]):
        model = pickle.loads(pickle.dumps(start))
        with pytest.raises(DataError):
            model.partial_fit(X, later)
        assert (model.classes_.tolist(), model.rows_seen_) == ([1], 3)
    with pytest.raises(DataError, match=r"either -1 or 0; got .* Pass both labels as classes"):
        start.partial_fit(X, [2, 1, 1])
    with pytest.raises(DataError, match=r"among \[1\]; got \[0\]"):
        start.score(X, [0, 1, 1])
    with pytest.raises(DataError):
        start.partial_fit(X, [1, 1, 1], classes=[1, 2])
    start.partial_fit(X, [1, 1, 1], classes=[0, 1])
    assert start.classes_.tolist() == [0, 1]
    with pytest.raises(DataError, match="needs two classes"):
        StreamingAUC().fit(X, [1, 1, 1])


def test_refused_labels_decide_nothing():
    X = np.eye(2)
    model = StreamingAUC()
    with pytest.raises(DataError, match=r"among \[0, 1\]; got \[2\]"):
        model.partial_fit(X, [2, 1], classes=[0, 1])
    assert model.partial_fit(X, [2, 1]).classes_.tolist() == [1, 2]


# --- unknown and missing labels -----------------------------------------------------------------


@learners
def test_scores_need_labels_that_are_known(learner):
    X, y = rows()
    model = clone(learner).fit(X, y)
    for wrong in (7, np.nan, None, pd.NA, "1", np.inf):
        labels = y.astype(object)
        labels[3] = wrong
        with pytest.raises(DataError, match=r"needs labels among|needs a label in every row"):
            model.score(X, labels)
    with pytest.raises(DataError, match="in 1 of 100"):
        model.score(X, np.where(np.arange(100) == 3, np.nan, y))
    assert model.score(X, y.astype(object)) == model.score(X, y.tolist()) == model.score(X, y)
    assert model.score(X, y.astype(float)[:, None].ravel()) == model.score(X, y)


@pytest.mark.sample(4)
@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, np.inf], ids=repr)
@pytest.mark.parametrize(
    "labels", [(0, 1), pytest.param((False, True), marks=pytest.mark.slow), ("no", "yes")]
)
@learners
def test_missing_labels_are_skipped_or_refused(learner, labels, missing):
    X, y = rows()
    clean = np.array(labels, dtype=object)[y]
    holes = clean.copy()
    holes[::10] = missing
    keep = np.arange(100) % 10 > 0
    skipping = clone(learner).set_params(missing="skip")
    models = [clone(skipping).fit(X, holes), clone(skipping).partial_fit(X, holes)]
    learn(streamed := clone(skipping), [(X, holes)])
    expected = clone(skipping).fit(X[keep], clean[keep])
    for model in (*models, streamed):
        assert model.skipped_rows_ == 10
        model.skipped_rows_ = 0
        same(model, expected)
    for call in (clone(learner).fit, clone(learner).partial_fit):
        with pytest.raises(DataError, match=r"needs a label in every row.* 10 of 100"):
            call(X, holes)


def test_masked_labels_are_refused():
    X, y = rows()
    masked = np.ma.array(y, mask=np.arange(100) == 3)
    model = StreamingAUC().fit(X, y)
    for call in (StreamingAUC().fit, model.partial_fit, model.score):
        with pytest.raises(DataError, match="masked array with 1"):
            call(X, masked)


def test_labels_of_several_types():
    X = np.eye(3)
    for call in (StreamingAUC().fit, StreamingAUC().partial_fit):
        with pytest.raises(DataError, match="one type"):
            call(X, np.array([0, "a", 1], dtype=object))
    with pytest.raises(DataError, match="one type"):
        learn(StreamingAUC(), [(X, np.array([0, "a", 1], dtype=object))])


def test_tables_of_labels_with_missing_entries():
    X, y = rows()
    labels = pd.Series(y, dtype="Int64")
    labels[4] = pd.NA
    model = StreamingAUC(missing="skip").fit(X, labels)
    assert model.skipped_rows_ == 1
    assert model.classes_.tolist() == [0, 1]
