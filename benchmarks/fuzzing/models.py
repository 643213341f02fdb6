"""The model loader against broken and forged files: refusals, or models that work.

Files of several models are damaged, or taken apart, changed and put together again with a right
checksum, which is where wrong models could slip in. A file must be refused, or give a model whose
predictions are numbers, which can be saved and learn on; one whose members are those of a saved
model must give that model.
"""

from __future__ import annotations

import atexit
import inspect
import io
import json
import resource
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import auctor
from auctor import (
    LinearRegressor,
    MetricClassifier,
    MetricClassifierCV,
    losses,
    penalties,
    streaming,
)
from auctor.core.archive import write_members
from auctor.core.errors import AuctorError
from auctor.lab import learners
from auctor.saved import read_saved
from auctor.saved.values import parts
from benchmarks.fuzz import Case
from benchmarks.fuzzing.mutate import mutated

D = 5
#: Bytes of memory that a case may take.
MEMORY = 8 << 30
#: Scores of weights larger than this may overflow.
LARGE = 1e100
#: Wider models are not used.
WIDE = 1000

Members = dict[str, bytes]
_FOLDER = tempfile.TemporaryDirectory()
atexit.register(_FOLDER.cleanup)
PATH, AGAIN = Path(_FOLDER.name) / "case.auctor", Path(_FOLDER.name) / "again.auctor"
X = np.random.default_rng(1).normal(size=(60, D))
Y = (X[:, 0] + X[:, 1] ** 2 > 0.7).astype(int)


def cases(rng: np.random.Generator) -> Iterator[Case]:
    """Files of models, changed."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
    change = Change(rng, seeds())
    while True:
        kind, data = change.case()
        yield Case(kind, data, {})


def check(case: Case) -> str:
    """ "refused" or "accepted"; anything that is wrong raises."""
    PATH.write_bytes(case.data)
    try:
        saved = read_saved(PATH)
    except AuctorError:
        return "refused"
    members = members_of(case.data)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for origin in seeds():
            if members == members_of(origin):
                PATH.write_bytes(origin)
                assert scores_of(saved.model, X) == scores_of(auctor.load(PATH), X), "another model"
                return "accepted"
        use(saved.model)
    return "accepted"


def use(model: Any) -> None:
    """Predict, save and load, learn on."""
    d = model.n_features_in_
    if d > WIDE:
        return
    rows = np.tile(X, (1, d // D + 1))[:, :d]
    table = rows
    if hasattr(model, "feature_names_in_"):
        table = pd.DataFrame(rows, columns=model.feature_names_in_)
    largest = float(np.abs(model.coef_).max())
    small = max(largest, float(np.abs(model.intercept_).max())) < LARGE
    if isinstance(model, LinearRegressor):
        scores = model.predict(table)
    else:
        scores = model.decision_function(table)
        assert np.isin(model.predict(table), model.classes_).all(), "other labels"
        if getattr(model, "calibrate", None) is not None and hasattr(model, "calibrators_"):
            chances = model.predict_proba(table)
            assert not small or np.allclose(chances.sum(axis=1), 1.0), "no probabilities"
    assert not small or np.isfinite(scores).all(), "scores that are no numbers"
    auctor.save(model, AGAIN)
    assert scores_of(auctor.load(AGAIN), table) == scores_of(model, table), "another model"
    if isinstance(model, streaming.OnlineClassifier):
        try:
            model.partial_fit(rows, model.classes_[np.arange(len(rows)) % 2])
            model.partial_fit(rows[:7], model.classes_[np.arange(7) % 2])
            model.decision_function(rows)
        except AuctorError:
            pass


def scores_of(model: Any, table: Any) -> bytes:
    """What a model makes of rows, bit by bit."""
    if isinstance(model, LinearRegressor):
        return bytes(model.predict(table).tobytes())
    return bytes(model.decision_function(table).tobytes())


@cache
def seeds() -> tuple[bytes, ...]:
    """Files of all kinds of models."""
    made = []
    for model in models():
        auctor.save(model, PATH, notes={"n": 1})
        made.append(PATH.read_bytes())
    return tuple(made)


def models() -> Iterator[Any]:
    """Fitted models."""
    three = Y + (X[:, 2] > 0.5)
    yield MetricClassifier("auc", strength=0.01).fit(X, Y)
    yield MetricClassifier("log_loss", penalty="l1", strength=0.1).fit(X, Y)
    yield MetricClassifier("auc", calibrate="isotonic").fit(X, np.array(["a", "b", "c"])[three])
    yield MetricClassifier("f1", calibrate="sigmoid", class_weight={0: 1.0, 1: 2.0}).fit(X, Y)
    group = penalties.GroupL2(0.01, np.array([0, 0, 1, 1, 2]), weights=[1.0, 2.0, 0.5])
    yield MetricClassifier(losses.Logistic(), penalty=group).fit(X, Y)
    both = penalties.Sum(penalties.L1(0.01), penalties.Box(-np.ones(D), 1.0))
    yield MetricClassifier("log_loss", penalty=both).fit(X, np.array(["n", "y"], object)[Y])
    yield MetricClassifierCV("auc", penalty="l1", n_strengths=3, cv=2).fit(X, Y)
    yield LinearRegressor("huber").fit(X, X[:, 0])
    yield LinearRegressor(losses.Quantile(0.9)).fit(X, X[:, 0])
    fresh = (
        learners.AdaOam(),
        learners.Fsauc(),
        learners.MiniBatchAuc(buffer=9),
        learners.Oam(buffer=9),
        learners.OnlineGaussianAuc(),
        learners.Opauc(rank=2),
        learners.PassiveAggressive(),
        learners.Solam(),
        learners.Spam(penalty="l1", strength=0.01),
        learners.Spam(penalty=penalties.ElasticNet(0.01, 0.5, weights=np.ones(D))),
        streaming.StreamingAUC(window=30, trace_every=7, grow=True),
        streaming.StreamingAUC(window=30, max_exact_columns=2),
        learners.UniExp(),
    )
    for learner in fresh:
        yield learner.fit(X, Y)


class Change:
    """Makes cases of the seeds."""

    def __init__(self, rng: np.random.Generator, seeds: tuple[bytes, ...] = ()) -> None:
        self.rng, self.seeds = rng, seeds

    def case(self) -> tuple[str, bytes]:
        """How a file was changed, and the file."""
        origin = self._one(self.seeds)
        if self.rng.random() < 0.2:
            return "bytes", mutated(origin, self.seeds, self.rng)
        members = members_of(origin) or {}
        for _ in range(1 + int(self.rng.integers(3))):
            change = self._one(("json", "json", "array", "array", "member", "byte"))
            members = getattr(self, f"change_{change}")(members)
        file = io.BytesIO()
        write_members(file, members)
        return "forged", file.getvalue()

    def change_byte(self, members: Members) -> Members:
        name = self._one(sorted(members))
        data = bytearray(members[name])
        if data:
            at = int(self.rng.integers(len(data)))
            data[at] = int(self.rng.integers(256))
        return members | {name: bytes(data)}

    def change_member(self, members: Members) -> Members:
        name = self._one(sorted(members))
        members = dict(members)
        content = members.pop(name)
        match int(self.rng.integers(4)):
            case 0:
                members[f"arrays/{self._one(['x', '../x', 'coef', ''])}.npy"] = content
            case 1:
                members[name] = members[self._one(sorted(members))] if members else b""
            case 2:
                members[name] = content[: int(self.rng.integers(len(content) + 1))]
            case _:
                pass
        return members

    def change_json(self, members: Members) -> Members:
        try:
            meta = json.loads(members.get("meta.json", b"{}"))
        except ValueError:
            return members
        spots = list(_spots(meta))
        if not spots:
            return members
        inside, key = spots[self.rng.integers(len(spots))]
        match int(self.rng.integers(6)):
            case 0:
                del inside[key]
            case 1:
                other, its = spots[self.rng.integers(len(spots))]
                inside[key] = json.loads(json.dumps(other[its])) if its in _keys(other) else None
            case 2 if isinstance(inside[key], int | float) and not isinstance(inside[key], bool):
                with np.errstate(all="ignore"):
                    inside[key] = self._number(inside[key])
            case 3 if isinstance(inside, dict):
                inside[self._one(["x", "strength", "coef", "array", "part"])] = self._value()
            case _:
                inside[key] = self._value()
        return members | {"meta.json": json.dumps(meta).encode()}

    def _number(self, number: Any) -> Any:
        changed = [number + 1, number - 1, -number, number * 2, number * 1e300, number * 1.5, 0]
        return self._one(changed)

    def _value(self) -> Any:
        plain = [
            *(None, True, False, 0, 1, -1, 2, 7, 1 << 31, 1 << 62, 1 << 70, 10**30, 0.5, -0.5),
            *(1e308, -1e308, 1e-320, "", "x", "auc", "l1", "sigmoid", "auto", "ü", "a" * 5000),
            *([], {}, [1, 2], [[]], [None] * 5, {"float": "nan"}, {"float": "inf"}, {"tuple": []}),
            *({"dict": [[0, 1]]}, {"array": "coef"}, {"array": "classes"}, {"array": "trace"}),
            *({"objects": ["a", "b"]}, {"objects": [1, "b"]}, {"sparse": "coef", "shape": [1, D]}),
            float("nan"),
        ]
        if self.rng.random() < 0.2:
            name = self._one(sorted(parts()))
            given = {key: self._one(plain) for key in _arguments(parts()[name])}
            return {"part": name, "arguments": given}
        return self._one(plain)

    def change_array(self, members: Members) -> Members:
        names = [name for name in sorted(members) if name.endswith(".npy")]
        if not names:
            return members
        name = self._one(names)
        try:
            array = np.load(io.BytesIO(members[name]), allow_pickle=False)
            meta = json.loads(members.get("meta.json", b"{}"))
            array = self._array(array)
            file = io.BytesIO()
            np.save(file, array, allow_pickle=False)
        except Exception:  # an array that an earlier change has broken
            return members
        members = members | {name: file.getvalue()}
        shapes = meta.get("arrays") if isinstance(meta, dict) else None
        key = name.removeprefix("arrays/").removesuffix(".npy")
        if isinstance(shapes, dict) and self.rng.random() < 0.9:
            shapes[key] = [array.dtype.str, list(array.shape)]
            members["meta.json"] = json.dumps(meta).encode()
        return members

    def _array(self, array: Any) -> Any:
        rng = self.rng
        if array.dtype.kind not in "biuf":
            return array[::-1] if rng.random() < 0.5 else array.astype("U1")
        match int(rng.integers(9)):
            case 0:
                return array[:-1] if array.ndim else array
            case 1:
                return np.concatenate([array, array]) if array.ndim else array
            case 2:
                return array.ravel() if rng.random() < 0.5 else array[None]
            case 3:
                return np.asfortranarray(array) if array.ndim > 1 else array[::-1]
            case 4:
                with np.errstate(all="ignore"):
                    return array.astype(
                        self._one(["<f4", "<i4", "<i8", "<u8", "<f8", "|b1", "<U8"])
                    )
            case 5:
                return rng.permutation(array) if array.ndim else array
            case _:
                made = array.copy()
                if made.size:
                    few = [
                        0,
                        1,
                        -1,
                        2,
                        3,
                        1e308,
                        -1e308,
                        np.nan,
                        np.inf,
                        1e-300,
                        1 << 40,
                        0.5,
                        4096,
                    ]
                    few += [made.flat[rng.integers(made.size)], made.size, -made.size]
                    with np.errstate(all="ignore"), warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        value = np.array(self._one(few)).astype(made.dtype)
                    made.flat[rng.integers(made.size)] = value
                    if rng.random() < 0.2:
                        made[...] = value
                return made

    def _one(self, choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]


def members_of(content: bytes) -> Members | None:
    """Members of an archive but the checksum."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
            return {name: archive.read(name) for name in names if name != "checksum"}
    except Exception:  # what cannot be read has no members
        return None


def _spots(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value: container and key."""
    for key in _keys(value):
        yield value, key
        yield from _spots(value[key])


def _keys(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value)
    return list(range(len(value))) if isinstance(value, list) else []


def _arguments(part: type[Any]) -> list[str]:
    return list(inspect.signature(part).parameters)
