"""Feeding learners: chunks, checkpoints, resuming after any kind of stop."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from auctor import StreamingAUC
from auctor.core.errors import DataError, ParameterError
from auctor.lab.learners import Oam, Spam
from auctor.streaming import learn, load_checkpoint
from auctor.streaming.checkpoint import read_checkpoint
from auctor.streaming.registry import learners
from auctor.tables import ReadOptions, open_stream


def make_rows(n=500, d=12, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(np.int64)
    return (rng.normal(size=(n, d)) + y[:, None]) * (rng.random((n, d)) < 0.6), y


@pytest.fixture
def path(tmp_path):
    X, y = make_rows()
    dump_svmlight_file(sparse.csr_matrix(X), y, str(tmp_path / "rows.svm"), zero_based=False)
    return tmp_path / "rows.svm"


def same(a, b):
    assert a.state_.keys() == b.state_.keys()
    for name, array in a.state_.items():
        assert array.tobytes() == b.state_[name].tobytes(), name
    for name in ("rows_seen_", "skipped_rows_", "n_features_in_"):
        assert getattr(a, name) == getattr(b, name)
    return a.classes_.tolist() == b.classes_.tolist()


MAKERS = {
    "spam": lambda: Spam(grow=True, random_state=1),
    "oam": lambda: Oam(grow=True, random_state=1),
    "streaming": lambda: StreamingAUC(grow=True, window=100),
    "wide": lambda: StreamingAUC(grow=True, window=100, max_exact_columns=3),
}
makers = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())


@makers
def test_a_stream_is_learned_as_its_rows_are(make, path):
    whole = make()
    X, y = load_svmlight_file(str(path))
    whole.partial_fit(X, y)
    learner = make()
    done = learn(learner, path)
    assert (done.rows, done.new_rows, done.skipped_rows) == (500, 500, 0)
    assert same(learner, whole)
    assert (done.auc is None) == (not hasattr(learner, "auc_"))


@pytest.mark.sample(3)
@makers
@pytest.mark.parametrize(
    ("chunk_rows", "stop"),
    [(37, 1), (37, 333), (1000, 150)]
    + [pytest.param(1, stop, marks=pytest.mark.slow) for stop in (1, 150, 333, 500)]
    + [pytest.param(37, stop, marks=pytest.mark.slow) for stop in (150, 500)]
    + [pytest.param(1000, stop, marks=pytest.mark.slow) for stop in (1, 333, 500)],
)
def test_resuming_is_as_if_nothing_had_happened(make, chunk_rows, stop, path, tmp_path):
    def source():
        return open_stream(path, ReadOptions(chunk_rows=chunk_rows, n_features=12))

    whole = make()
    learn(whole, source())
    kept = tmp_path / "kept"
    learn(make(), source(), checkpoint=kept, every=100, limit=stop)
    learner = make()
    done = learn(learner, source(), checkpoint=kept, every=100, resume=True)
    assert (done.rows, done.new_rows) == (500, 500 - stop)
    assert same(learner, whole)
    again = make()
    assert learn(again, source(), checkpoint=kept, resume=True).new_rows == 0
    assert same(again, whole)


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", learners().values(), ids=learners())
def test_every_learner_resumes(kind, path, tmp_path):
    def source():
        return open_stream(path, ReadOptions(chunk_rows=37, n_features=12))

    whole, learner, kept = kind(random_state=1), kind(random_state=1), tmp_path / "kept"
    learn(whole, source())
    learn(kind(random_state=1), source(), checkpoint=kept, every=70, limit=150)
    learn(learner, source(), checkpoint=kept, every=70, resume=True)
    assert same(learner, whole)


@pytest.mark.sample(3)
@makers
@pytest.mark.parametrize("stop", [1, 150, 333])
def test_resuming_while_columns_are_added(make, stop, tmp_path):
    X, y = make_rows()
    X *= np.arange(12) < 2 + np.arange(500)[:, None] // 50
    path, kept = str(tmp_path / "rows.svm"), tmp_path / "kept"
    dump_svmlight_file(sparse.csr_matrix(X), y, path, zero_based=False)

    def source():
        return open_stream(path, ReadOptions(chunk_rows=60))

    whole, learner = make(), make()
    learn(whole, source(), every=100)
    assert whole.n_features_in_ == 11
    learn(make(), source(), checkpoint=kept, every=100, limit=stop)
    learn(learner, source(), checkpoint=kept, every=100, resume=True)
    assert same(learner, whole)


@pytest.mark.parametrize("chunk_rows", [7, 100, 1000])
def test_checkpoints_are_made_exactly_every_so_many_rows(chunk_rows, path, tmp_path, monkeypatch):
    saved = []
    monkeypatch.setattr(
        "auctor.streaming.run.save_checkpoint",
        lambda place, learner, row, label: saved.append((row, learner.rows_seen_)),
    )
    learn(
        Spam(grow=True),
        open_stream(path, ReadOptions(chunk_rows=chunk_rows)),
        checkpoint=tmp_path / "c",
        every=120,
    )
    assert saved == [(row, row) for row in (120, 240, 360, 480, 500)]


def test_progress_and_limit(path):
    told = []
    learner = StreamingAUC(grow=True)
    done = learn(
        learner, open_stream(path, ReadOptions(chunk_rows=90)), limit=200, progress=told.append
    )
    assert [progress.rows for progress in told] == [90, 180, 200]
    assert done.rows == learner.rows_seen_ == 200
    assert done.auc == learner.auc_
    assert done.rows_per_second > 0


def test_a_limit_asks_for_no_more_than_it_needs():
    def pairs():
        yield np.eye(2), [0, 1]
        pytest.fail("it read on")

    assert learn(Spam(), pairs(), limit=2).rows == 2


KILLED = textwrap.dedent(
    """
    import sys, time
    from auctor.tables import ReadOptions, open_stream
    from auctor.lab.learners import Oam
    from auctor.streaming import learn
    from auctor.streaming.checkpoint import read_checkpoint

    def slow():
        for chunk in open_stream(sys.argv[1], ReadOptions(chunk_rows=13, n_features=12)):
            time.sleep(0.01)
            yield chunk

    learn(Oam(random_state=1), slow(), checkpoint=sys.argv[2], every=20)
    """
)


def wait_for(path, process):
    deadline = time.monotonic() + 60
    while not path.exists():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.slow  # a process; resuming is tested without one
def test_kill_in_the_middle(path, tmp_path):
    whole = Oam(random_state=1)
    learn(whole, open_stream(path, ReadOptions(n_features=12)))
    kept = tmp_path / "kept"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path), str(kept)], stderr=subprocess.PIPE, text=True
    )
    try:
        wait_for(kept, process)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    meta, _ = read_checkpoint(kept)
    assert meta["row"] % 20 == 0 or meta["row"] == 500
    (tmp_path / ".kept.99999.tmp").write_bytes(b"half")
    learner = Oam(random_state=1)
    done = learn(
        learner,
        open_stream(path, ReadOptions(chunk_rows=50, n_features=12)),
        checkpoint=kept,
        every=20,
        resume=True,
    )
    assert done.rows == 500
    assert same(learner, whole)
    assert sorted(os.listdir(tmp_path)) == ["kept", "rows.svm"]


def test_an_interrupt_keeps_what_was_learned(path, tmp_path):
    kept = tmp_path / "kept"

    def interrupted():
        for chunk in open_stream(path, ReadOptions(chunk_rows=60)):
            if chunk.first_row == 180:
                os.kill(os.getpid(), signal.SIGINT)
            yield chunk

    before = signal.getsignal(signal.SIGINT)
    first = Spam(grow=True)
    with pytest.raises(KeyboardInterrupt):
        learn(first, interrupted(), checkpoint=kept)
    assert signal.getsignal(signal.SIGINT) is before
    assert load_checkpoint(kept, Spam(grow=True)) == first.rows_seen_ == 180


def test_an_interrupt_waits_for_the_rows_in_hand(path, tmp_path, monkeypatch):
    learner = Spam(grow=True)
    step = learner._learn

    def slow(*given):
        os.kill(os.getpid(), signal.SIGINT)
        step(*given)

    monkeypatch.setattr(learner, "_learn", slow)
    with pytest.raises(KeyboardInterrupt):
        learn(learner, open_stream(path, ReadOptions(chunk_rows=60)), checkpoint=tmp_path / "kept")
    other = Spam(grow=True)
    assert load_checkpoint(tmp_path / "kept", other) == 60
    assert same(learner, other)


def test_a_bad_line_keeps_what_was_learned(path, tmp_path):
    with open(path, "a") as file:
        file.write("oops\n")
    with pytest.raises(DataError, match="line 50"):
        learn(
            Spam(grow=True),
            open_stream(path, ReadOptions(chunk_rows=60)),
            checkpoint=tmp_path / "kept",
        )
    assert load_checkpoint(tmp_path / "kept", Spam(grow=True)) == 480


# --- bad input ----------------------------------------------------------------------------------


def test_a_checkpoint_is_not_overwritten_by_accident(path, tmp_path):
    kept = tmp_path / "kept"
    learn(Spam(grow=True), path, checkpoint=kept)
    with pytest.raises(ParameterError, match="resume=True"):
        learn(Spam(grow=True), path, checkpoint=kept)
    with pytest.raises(ParameterError, match="strength"):
        learn(Spam(strength=9.0, grow=True), path, checkpoint=kept, resume=True)
    kept.write_bytes(kept.read_bytes()[:-9])
    with pytest.raises(DataError, match="whole"):
        learn(Spam(grow=True), path, checkpoint=kept, resume=True)


def test_a_source_that_became_shorter(path, tmp_path):
    kept = tmp_path / "kept"
    learn(Spam(grow=True), path, checkpoint=kept)
    X, y = make_rows(100)
    with pytest.raises(DataError, match="100 rows where 500"):
        learn(Spam(grow=True), [(X, y)], checkpoint=kept, resume=True)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"every": 0}, "every"),
        ({"limit": 0}, "limit"),
        ({"resume": True}, "checkpoint="),
        ({"checkpoint": "no/such/place"}, "existing folder"),
    ],
)
def test_bad_options(options, word):
    with pytest.raises(ParameterError, match=word):
        learn(Spam(), [(np.eye(2), [0, 1])], **options)


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), ("no", "yes"), (3, 7)])
@pytest.mark.parametrize("chunk_rows", [1, 30, 1000])
def test_one_class_for_a_while(labels, chunk_rows, tmp_path):
    """Which label is ranked first does not depend on how many rows come at a time."""
    X, y = make_rows(100)
    order = np.argsort(-y, kind="stable")
    X, y = X[order], np.array(labels)[y[order]]
    pairs = [(X[k : k + chunk_rows], y[k : k + chunk_rows]) for k in range(0, 100, chunk_rows)]
    learner = Spam()
    learn(learner, pairs)
    assert learner.classes_.tolist() == list(labels)
    assert same(learner, Spam().partial_fit(X, y))


def test_one_class_only():
    X = np.ones((4, 2))
    learner = Spam()
    learn(learner, [(X, [1, 1, 1, 1])])
    assert learner.classes_.tolist() == [1]
    with pytest.raises(DataError, match="two classes"):
        learn(Spam(), [(X, [5, 5, 5, 5])])
    learn(learner := Spam(), [(X, [5, 5, 5, 5])], classes=[5, 6])
    assert learner.rows_seen_ == 4


def test_new_columns_grow_or_are_refused(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1\n-1 2:1\n1 9:1\n")
    learner = Spam(grow=True)
    learn(learner, open_stream(path, ReadOptions(chunk_rows=1)))
    assert learner.n_features_in_ == 9
    with pytest.raises(DataError, match="grow=True"):
        learn(Spam(), open_stream(path, ReadOptions(chunk_rows=1)))
    with pytest.raises(DataError, match="line 3"):
        learn(Spam(), open_stream(path, ReadOptions(n_features=4)))


@pytest.mark.parametrize("chunk_rows", [1, 1000])
def test_missing_values_are_skipped_or_refused(chunk_rows, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,y\n,1,0\n1,2,0\n3,4,1\n5,inf,1\n7,8,\n9,1,1\n")
    learner = Spam(missing="skip")
    done = learn(learner, open_stream(path, ReadOptions(chunk_rows=chunk_rows)))
    assert (done.rows, done.skipped_rows, learner.rows_seen_) == (6, 3, 3)
    with pytest.raises(DataError, match="NaN"):
        learn(Spam(), open_stream(path, ReadOptions(chunk_rows=chunk_rows)))


@pytest.mark.parametrize("later", [["yes", "no"], [2, 0], [0.5, 1.0]])
def test_labels_that_change_type(later):
    X = np.eye(2)
    with pytest.raises(DataError, match="after 2 rows"):
        learn(Spam(), [(X, [0, 1]), (X, later)])


def test_resume_with_skipped_rows(tmp_path):
    X, y = make_rows(200)
    X[::7, 3] = np.nan
    whole = Spam(missing="skip")
    learn(whole, [(X, y)])
    kept = tmp_path / "kept"
    learn(Spam(missing="skip"), [(X, y)], checkpoint=kept, limit=111)
    learner = Spam(missing="skip")
    assert learn(learner, [(X, y)], checkpoint=kept, resume=True).rows == 200
    assert same(learner, whole)
