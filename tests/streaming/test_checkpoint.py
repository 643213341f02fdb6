"""Checkpoints: whole or refused, nothing executed, the old one kept."""

import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest

from auctor import StreamingAUC
from auctor.core.archive import write_members
from auctor.core.errors import AuctorError, DataError, ParameterError
from auctor.lab.kernels import buckets
from auctor.lab.learners import MiniBatchAuc, Oam, Opauc, Spam
from auctor.penalties import L1, ElasticNet, Separable
from auctor.streaming import load_checkpoint, save_checkpoint

LEARNERS = [
    Spam(random_state=3),
    Oam(random_state=3),
    Opauc(),
    StreamingAUC(window=50),
    StreamingAUC(max_exact_columns=2, window=50),
]


@pytest.fixture
def trained():
    return train(StreamingAUC(window=20))


def train(learner, labels=(0, 1), n=100):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, n)
    return learner.partial_fit(rng.normal(size=(n, 6)) + y[:, None], np.array(labels)[y])


def same(a, b):
    assert a.state_.keys() == b.state_.keys()
    for name, array in a.state_.items():
        assert array.dtype == b.state_[name].dtype
        assert array.shape == b.state_[name].shape
        assert array.tobytes() == b.state_[name].tobytes(), name
    assert a.classes_.dtype == b.classes_.dtype
    for name in ("rows_seen_", "skipped_rows_", "n_features_in_"):
        assert getattr(a, name) == getattr(b, name)
    return a.classes_.tolist() == b.classes_.tolist()


def fresh(learner):
    return type(learner)(**learner.get_params(deep=False))


@pytest.mark.sample(3)
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
@pytest.mark.parametrize("labels", [(0, 1), (-1.0, 1.0), ("no", "yes"), (False, True)])
def test_what_is_loaded_is_what_was_saved(learner, labels, tmp_path):
    learner = train(fresh(learner), labels)
    save_checkpoint(tmp_path / "c", learner, 123)
    other = fresh(learner)
    assert load_checkpoint(tmp_path / "c", other) == 123
    assert same(learner, other)
    assert same(train(learner, labels, 60), train(other, labels, 60))
    assert os.listdir(tmp_path) == ["c"]


def test_loading_replaces_what_a_learner_knew(trained, tmp_path):
    save_checkpoint(tmp_path / "c", trained, 100)
    other = train(fresh(trained), n=40)
    load_checkpoint(tmp_path / "c", other)
    assert same(trained, other)


def test_a_learner_that_saw_nothing(tmp_path):
    save_checkpoint(tmp_path / "c", Spam(), 0)
    other = Spam()
    assert load_checkpoint(tmp_path / "c", other) == 0
    assert not hasattr(other, "state_")


def test_the_file_is_a_plain_archive(trained, tmp_path):
    save_checkpoint(tmp_path / "c.zip", trained, 100)
    with zipfile.ZipFile(tmp_path / "c.zip") as archive:
        meta = json.loads(archive.read("meta.json"))
        assert archive.testzip() is None
        for name, (dtype, shape) in meta["arrays"].items():
            file = io.BytesIO(archive.read(f"state/{name}.npy"))
            array = np.load(file, allow_pickle=False)
            assert (array.dtype.str, list(array.shape)) == (dtype, shape)
    assert meta["learner"] == "StreamingAUC"
    assert meta["params"]["window"] == 20
    assert (meta["row"], meta["rows_seen"]) == (100, 100)


# --- refusals -----------------------------------------------------------------------------------


def test_another_learner_is_named(trained, tmp_path):
    save_checkpoint(tmp_path / "c", trained, 100)
    with pytest.raises(ParameterError, match="of Spam; got one of StreamingAUC"):
        load_checkpoint(tmp_path / "c", Spam())


def test_other_parameters_are_named(trained, tmp_path):
    save_checkpoint(tmp_path / "c", trained, 100)
    other = StreamingAUC(strength=0.25, window=20, forget=np.inf)
    with pytest.raises(
        ParameterError, match=r"forget None \(now 'inf'\), strength None \(now 0.25\)"
    ):
        load_checkpoint(tmp_path / "c", other)
    assert not hasattr(other, "state_")


def test_parameters_may_be_objects(tmp_path):
    save_checkpoint(tmp_path / "c", train(Spam(penalty=L1(0.1))), 100)
    load_checkpoint(tmp_path / "c", Spam(penalty=L1(0.1)))
    for penalty in (L1(0.2), ElasticNet(0.1, 0.5), "l1"):
        with pytest.raises(ParameterError, match="penalty"):
            load_checkpoint(tmp_path / "c", Spam(penalty=penalty))
    bounded = Separable(0.1, upper=0.5)
    save_checkpoint(tmp_path / "d", train(Spam(penalty=bounded)), 100)
    load_checkpoint(tmp_path / "d", Spam(penalty=Separable(0.1, upper=0.5)))
    with pytest.raises(ParameterError, match="penalty"):
        load_checkpoint(tmp_path / "d", Spam(penalty=Separable(0.1, upper=0.6)))


def test_a_missing_file(tmp_path):
    with pytest.raises(DataError, match="needs a file"):
        load_checkpoint(tmp_path / "none", Spam())
    with pytest.raises(DataError):
        load_checkpoint(tmp_path, Spam())


def test_every_truncation_is_refused(trained, tmp_path):
    path = tmp_path / "c"
    save_checkpoint(path, trained, 100)
    whole = path.read_bytes()
    for size in {0, 1, 100, *range(0, len(whole), 997), len(whole) - 1}:
        path.write_bytes(whole[:size])
        with pytest.raises(DataError, match="whole"):
            load_checkpoint(path, fresh(trained))


def test_every_changed_byte_is_refused_or_harmless(trained, tmp_path):
    path = tmp_path / "c"
    save_checkpoint(path, trained, 100)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for where in rng.choice(len(whole), 300, replace=False).tolist():
        changed = bytearray(whole)
        changed[where] ^= 1 << int(rng.integers(8))
        path.write_bytes(changed)
        other = fresh(trained)
        try:
            load_checkpoint(path, other)
        except DataError:
            assert not hasattr(other, "state_")
        else:  # a byte of the archive that says nothing, such as a date
            assert same(trained, other)


def rewritten(trained, path, *, arrays=None, **changes):
    """A file with a right checksum that says something else."""
    save_checkpoint(path, trained, 100)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    del members["checksum"]
    meta = json.loads(members["meta.json"]) | changes
    for name, array in (arrays or {}).items():
        file = io.BytesIO()
        np.save(file, array)
        members[f"state/{name}.npy"] = file.getvalue()
        meta["arrays"][name] = [array.dtype.str, list(array.shape)]
    members["meta.json"] = json.dumps(meta).encode()
    with open(path, "wb") as file:
        write_members(file, members)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"format": 99}, "Update auctor"),
        ({"format": None}, "incomplete"),
        ({"row": "x"}, "incomplete"),
        ({"row": None}, "incomplete"),
        ({"row": -1}, "incomplete"),
        (
            {"n_features_in": 5},
            r"a damaged state \(needed: kept_coef of float64 and shape \[5\]\) in ",
        ),
        ({"n_features_in": 1 << 40}, "damaged"),
        ({"classes": {"dtype": "<i8", "values": [1, 0]}}, "incomplete"),
        ({"classes": {"dtype": "|O", "values": [1]}}, "incomplete"),
        ({"kind": "model"}, "needs a checkpoint"),
        ({"classes": [1]}, "incomplete"),
        ({"classes": {"dtype": "<f8", "values": [2]}}, "incomplete"),
        ({"classes": {"dtype": "|b1", "values": [True]}}, "incomplete"),
        ({"feature_names": list("abcde")}, "incomplete"),
        ({"feature_names": list("abcdee")}, "incomplete"),
        ({"feature_names": [1, 2, 3, 4, 5, 6]}, "incomplete"),
        ({"feature_names": "abcdef"}, "incomplete"),
        ({"params": 3}, "parameters"),
        (
            {"schema": {"columns": [], "label": 3, "n_features": 6}},
            r"the label 3 \(needed: the JSON that to_json writes\) in ",
        ),
    ],
)
def test_a_description_that_makes_no_sense(changes, word, trained, tmp_path):
    rewritten(trained, tmp_path / "c", **changes)
    other = fresh(trained)
    with pytest.raises(AuctorError, match=word):
        load_checkpoint(tmp_path / "c", other)
    assert not hasattr(other, "state_")


class Bomb:
    def __reduce__(self):
        return (os.abort, ())


def hostile(kind):
    file = io.BytesIO()
    if kind == "pickle":
        np.save(file, np.array([Bomb()], dtype=object), allow_pickle=True)
    elif kind == "huge":
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f8", "fortran_order": False, "shape": (1 << 50,)}
        )
    elif kind == "raw pickle":
        file.write(pickle.dumps(Bomb()))
    return file.getvalue()


@pytest.mark.parametrize("kind", ["pickle", "huge", "raw pickle", "empty"])
def test_a_hostile_array_is_refused(kind, trained, tmp_path, monkeypatch):
    content = hostile(kind)
    monkeypatch.setattr(
        np.lib.format, "write_array", lambda file, array, **options: file.write(content)
    )
    save_checkpoint(tmp_path / "c", trained, 100)
    with pytest.raises(DataError, match="incomplete"):
        load_checkpoint(tmp_path / "c", fresh(trained))


def test_compressed_members_are_refused(trained, tmp_path):
    save_checkpoint(tmp_path / "c", trained, 100)
    with (
        zipfile.ZipFile(tmp_path / "c") as old,
        zipfile.ZipFile(tmp_path / "d", "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, old.read(name))
    with pytest.raises(DataError, match="compressed"):
        load_checkpoint(tmp_path / "d", fresh(trained))


@pytest.mark.parametrize("call", ["replace", "fsync"])
def test_a_full_disk_keeps_the_old_checkpoint(call, trained, tmp_path, monkeypatch):
    path = tmp_path / "c"
    save_checkpoint(path, trained, 100)
    before = path.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.raises(ParameterError, match="No space left"):
            save_checkpoint(path, train(trained), 200)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["c"]


def test_places_that_cannot_be_written(trained, tmp_path):
    with pytest.raises(ParameterError, match="existing folder"):
        save_checkpoint(tmp_path / "no" / "c", trained, 100)
    with pytest.raises(ParameterError, match="file name"):
        save_checkpoint(tmp_path, trained, 100)


# --- states that kernels must not see ------------------------------------------------------------


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "changes",
    [
        lambda s: {"scatter": s["scatter"][:, :-1]},
        lambda s: {"scatter": s["scatter"].astype(np.float32)},
        lambda s: {"scatter": np.asfortranarray(s["scatter"] + 1.0)},
        lambda s: {"waiting": np.array([10_000])},
        lambda s: {"waiting": np.array([-1])},
        lambda s: {"chosen": np.array([6])},
        lambda s: {"trace_points": np.array([256])},
        lambda s: {"trace_every": np.array([0])},
        lambda s: {"refresh": s["rows"].copy()},
        lambda s: {"rows": np.array([1 << 62])},
        lambda s: {"window_score": np.zeros(3)},
        lambda s: {"extra": np.zeros(3)},
    ],
)
def test_a_state_that_would_lead_astray(changes, trained, tmp_path):
    rewritten(trained, tmp_path / "c", arrays=changes(trained.state_))
    other = fresh(trained)
    with pytest.raises(DataError, match=r"a damaged state \(needed: "):
        load_checkpoint(tmp_path / "c", other)
    assert not hasattr(other, "state_")


def changed(array, where, value):
    array = array.copy()
    array[where] = value
    return array


@pytest.mark.parametrize(
    ("learner", "name", "where", "value"),
    [
        (Oam(buffer=5), "kept", (0, 0, 0), 6),
        (Oam(buffer=5), "length", (1, 2), 7),
        (Oam(buffer=5), "length", (1, 2), -1),
        (Oam(buffer=5), "seen", 0, np.nan),
        (Oam(buffer=5), "scratch", 0, 1.0),
        (MiniBatchAuc(buffer=5), "seen", 0, -3),
        (MiniBatchAuc(buffer=5), "kept_weight", (0, 0), -1.0),
        (StreamingAUC(), "chosen", 0, 6),
        (Spam(penalty="l1"), "heads", 7, 3),
        (Spam(penalty="l1"), "heads", 7, -1),
        (Spam(penalty="l1"), "levels", (0, 0), 0.0),
        (Spam(penalty="l1"), "levels", (0, 0), np.nan),
        (Spam(penalty="l1"), "links", (slice(None), buckets.NEXT), 8),
        (Spam(penalty="l1"), "links", (slice(None), buckets.NEXT), -1),
        (Spam(penalty="l1"), "links", (slice(None), buckets.BUCKET), 5),
    ],
)
def test_places_outside_of_the_arrays(learner, name, where, value, tmp_path):
    learner = train(fresh(learner))
    array = changed(learner.state_[name], where, value)
    rewritten(learner, tmp_path / "c", arrays={name: array})
    with pytest.raises(DataError, match=r"a damaged state \(needed: "):
        load_checkpoint(tmp_path / "c", fresh(learner))


def test_lists_of_appointments_are_accepted_as_they_are(tmp_path):
    learner = Spam(penalty="l1", strength=1e-3)
    for n in (30, 50, 70):
        train(learner, n=n)
        save_checkpoint(tmp_path / "c", learner, n)
        load_checkpoint(tmp_path / "c", fresh(learner))
