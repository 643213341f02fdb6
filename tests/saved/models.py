"""Models that are saved, and what it means that two values are the same."""

import io
import json
import zipfile
from dataclasses import replace

import numpy as np
from sklearn.base import clone

import auctor
from auctor import MetricClassifier, MetricClassifierCV, losses, penalties, streaming
from auctor import solvers as solver_module
from auctor.core.archive import write_members
from auctor.lab import learners

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 5))
TWO = (X[:, 0] + 0.5 * rng.normal(size=120) > 0.3).astype(int)
THREE = np.digitize(X[:, 0] + 0.3 * rng.normal(size=120), [-0.5, 0.5])
NUMBERS = X @ [1.0, -2.0, 0.0, 0.5, 0.0] + rng.normal(size=120)

LEARNERS = [
    learners.AdaOam(),
    learners.Fsauc(),
    learners.MiniBatchAuc(random_state=1),
    learners.Oam(random_state=1, buffer=7),
    learners.OnlineGaussianAuc(),
    learners.Opauc(),
    learners.Opauc(rank=3, random_state=2),
    learners.PassiveAggressive(),
    learners.RegSolam(),
    learners.Solam(),
    learners.Spam(),
    learners.Spam(penalty="l1", strength=0.01),
    learners.Spam(penalty=penalties.ElasticNet(0.01, 0.5, weights=[1.0, 0.0, 2.0, 1.0, 1.0])),
    learners.Spam(means="data"),
    learners.Spam(means=(0.4, np.zeros(5), np.full(5, 0.1))),
    streaming.StreamingAUC(window=50, trace_every=20),
    streaming.StreamingAUC(strength=0.1, forget=100.0, window=50),
    streaming.StreamingAUC(max_exact_columns=3, window=50),
    streaming.StreamingAUC(grow=True, max_exact_columns=7, window=50),
    learners.UniExp(),
]

MODELS = [
    MetricClassifier("auc", strength=0.01),
    MetricClassifier("f1", surrogate="logistic", threshold="recall(0.8)"),
    MetricClassifier("log_loss", penalty="l1", strength=0.05, class_weight={0: 1.0, 1: 2.0}),
    MetricClassifier("auc", calibrate="sigmoid", strength=0.01),
    MetricClassifier("auc", calibrate="isotonic", threshold_cv=3, strength=0.01),
    MetricClassifier(losses.PairwiseHinge(0.1), solver=solver_module.Lbfgs()),
    MetricClassifier(
        "log_loss",
        penalty=penalties.GroupL2(0.01, np.array([0, 0, 1, 1, 2]), weights=[1.0, 2.0, 0.5]),
    ),
    MetricClassifierCV("auc", strengths=[1.0, 0.01], cv=3),
    MetricClassifierCV("log_loss", penalty="l1", strengths=np.array([0.1, 0.01]), cv=3),
    MetricClassifierCV(
        "error", strengths=[0.1, 0.01], cv=3, calibrate="sigmoid", rule="one_standard_error"
    ),
]


def same(a, b):
    """Whether two values are the same, bit by bit, whatever they are made of."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        assert type(a) is type(b)
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        return a.tolist() == b.tolist() if a.dtype.kind == "O" else a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, float):
        return a == b or (a != a and b != b)
    if hasattr(a, "__dict__") and type(a).__module__.startswith("auctor") and not callable(a):
        assert type(a) is type(b)
        hidden = ("_spec", "_tree", "_spec_columns", "_n_groups")
        left, right = ({k: v for k, v in vars(x).items() if k not in hidden} for x in (a, b))
        return same(left, right)
    return a == b


def without_solutions(model, **changed):
    """The estimator with other values in its model, and without the solutions of its fit."""
    result = model.result_
    model.result_ = replace(result, model=replace(result.model, **changed), solutions=[])
    return model


def roundtrip(model, path):
    auctor.save(model, path)
    return auctor.load(path)


def fitted(model, y=TWO):
    return clone(model).fit(X, y)


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    del members["checksum"]
    return members


def place(meta, path):
    """The dict or list of a description, and its key, that a path leads to.

    After "fitted" and "params" comes the argument of an object, which is looked for: among those
    that were fitted, and among the parameters.
    """
    if path[0] not in ("fitted", "params"):
        return _walked(meta, path)
    content = meta["content"]["arguments"]
    model = content["model"]["arguments"]
    given = "params"
    if len(path) == 1:
        return (model, given) if path[0] == "params" else (content, "model")
    if path[0] == "params":
        waiting = [model[given]]
    else:
        waiting = [{"arguments": {name: model[name] for name in model if name != given}}]
    while waiting:
        value = waiting.pop(0)
        if isinstance(value, dict):
            if path[1] in value.get("arguments", {}):
                # The arguments of the model itself, and not of the copy without parameters.
                arguments = value["arguments"]
                inside = path[0] == "fitted" and path[1] in model
                return _walked(model if inside else arguments, path[1:])
            for pair in value.get("dict", []):
                if pair[0] == path[1]:
                    return pair, 1
            value = list(value.values())
        waiting += [one for one in value if isinstance(one, dict | list)]
    return model, path[1]


def _walked(holder, path):
    for key in path[:-1]:
        holder = holder[key]
        if isinstance(holder, dict) and "arguments" in holder:
            holder = holder["arguments"]
    return holder, path[-1]


def array_name(meta, name):
    """The name of an array in a file, by its end."""
    known = [one for one in meta["arrays"] if one == name or one.endswith(f".{name}")]
    return min(known, key=len, default=name)


def forged(model, path, change, arrays=None):
    """A file with a right checksum whose description and arrays were changed."""
    auctor.save(model, path)
    members = members_of(path)
    meta = json.loads(members["meta.json"])
    for end, array in (arrays or {}).items():
        name = array_name(meta, end)
        file = io.BytesIO()
        np.save(file, np.asarray(array))
        members[f"arrays/{name}.npy"] = file.getvalue()
        meta["arrays"][name] = [np.asarray(array).dtype.str, list(np.shape(array))]
    change(meta)
    members["meta.json"] = json.dumps(meta).encode()
    with open(path, "wb") as file:
        write_members(file, members)


def put(*path, value):
    def change(meta):
        holder, key = place(meta, path)
        holder[key] = value

    return change


def drop(*path):
    def change(meta):
        holder, key = place(meta, path)
        if path[0] == "arrays":
            key = array_name(meta, key)
        del holder[key]

    return change
