"""Checkpoints: the state of a learner in a file.

A checkpoint is an archive of `auctor.core.archive`: ``meta.json`` (learner, parameters, classes,
names of the columns, rows, shapes, version) and one ``state/<name>.npy`` per array of the state.
Nothing in it is executed. It is written to a temporary file in the same folder, which is then
renamed, so that a crash leaves the old file or the new one. A damaged file is refused.
"""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

import numpy as np

from auctor.core.archive import broken, read_archive, write_archive
from auctor.core.errors import DataError, ParameterError, speaks_as
from auctor.core.files import AnyPath
from auctor.core.types import Array
from auctor.streaming.estimators.online import OnlineClassifier
from auctor.streaming.state import check_state
from auctor.tables.schema import Schema

#: Version of the file format; files of other versions are refused.
FORMAT = 1
KIND = "checkpoint"
#: Numbers of rows in the metadata: of the stream, learned, left out.
COUNTS = ("row", "rows_seen", "skipped_rows")
#: Kinds of numpy dtypes without Python objects.
_PLAIN = "biufcSU"
#: Bytes of a label, at most: 1 MiB.
MAX_LABEL_BYTES = 1 << 20


class Origin(NamedTuple):
    """The source of the rows: name of the label column, and schema that encoded the columns."""

    label: str | None = None
    schema: Schema | None = None


@speaks_as("checkpoint")
def save_checkpoint(
    path: AnyPath, learner: OnlineClassifier, row: int, origin: Origin | None = None
) -> None:
    """Write the state of a learner after ``row`` rows of its stream, atomically."""
    origin = origin or Origin()
    state = getattr(learner, "state_", {})
    arrays = {name: np.asarray(array) for name, array in state.items()}
    classes = getattr(learner, "classes_", None)
    d = getattr(learner, "n_features_in_", None)
    names = getattr(learner, "feature_names_in_", None)
    meta = {
        "format": FORMAT,
        "learner": type(learner).__name__,
        "params": params_of(learner),
        "row": row,
        "rows_seen": int(getattr(learner, "rows_seen_", 0)),
        "skipped_rows": int(getattr(learner, "skipped_rows_", 0)),
        "n_features_in": None if d is None else int(d),
        "feature_names": None if names is None else [str(name) for name in names],
        "label": origin.label,
        "schema": None if origin.schema is None else origin.schema.to_json(),
        "classes": None if classes is None else _encoded(classes),
    }
    write_archive(path, meta, arrays, kind=KIND)


def load_checkpoint(path: AnyPath, learner: OnlineClassifier) -> int:
    """Restore the state of a learner; returns the number of rows that it had read.

    The learner must have the class and the parameters of the saved one.
    """
    return restore(path, learner)[0]


@speaks_as("checkpoint")
def restore(path: AnyPath, learner: OnlineClassifier) -> tuple[int, Origin]:
    """Restore the state of a learner; returns the rows it had read and the source of the rows."""
    meta, arrays = read_checkpoint(path)
    _check_same(path, meta, learner)
    try:
        row, rows_seen, skipped_rows = (_count(meta[name]) for name in COUNTS)
        classes = None if meta["classes"] is None else _decoded(meta["classes"])
        d = meta["n_features_in"]
        names = _names(meta.get("feature_names"), d)
        label = meta.get("label")
        if not isinstance(label, str | None):
            raise ValueError(f"{label!r:.40} as label")
        schema = meta.get("schema")
        origin = Origin(label, None if schema is None else Schema.from_json(schema))
        if d is not None:
            check_state(learner, arrays, d)
    except DataError as error:
        told = str(error) if error.got is None else f"{error.got} (needed: {error.needs})"
        raise broken(path, told) from error
    except (KeyError, TypeError, ValueError, MemoryError) as error:
        raise broken(path, f"an incomplete description ({error!r})") from error
    # Everything was checked: from here on nothing can fail half-way.
    learner.reset()
    learner.rows_seen_, learner.skipped_rows_ = rows_seen, skipped_rows
    if classes is not None:
        learner.classes_ = classes
    if d is not None:
        learner.adopt(arrays, d)
    if names is not None:
        learner.feature_names_in_ = names
    return row, origin


@speaks_as("checkpoint")
def read_checkpoint(path: AnyPath) -> tuple[dict[str, Any], dict[str, Array]]:
    """Metadata and arrays of a checkpoint, after a check of its checksum."""
    return read_archive(path, format=FORMAT, kind=KIND)


def _check_same(path: Any, meta: dict[str, Any], learner: OnlineClassifier) -> None:
    """Raise unless the learner has the class and the parameters of the checkpoint."""
    name = type(learner).__name__
    if meta.get("learner") != name:
        raise ParameterError(
            f"a checkpoint of {name}; got one of {meta.get('learner')} in {path}. Pass another."
        )
    now = json.loads(json.dumps(params_of(learner)))
    then = meta.get("params")
    then = then if isinstance(then, dict) else {}
    differs = [
        f"{key} {then.get(key)!r} (now {now.get(key)!r})"
        for key in sorted({*now, *then})
        if now.get(key) != then.get(key)
    ]
    if differs:
        raise ParameterError(
            f"the parameters of the checkpoint {path}; got {', '.join(differs)}. Set these."
        )


def params_of(learner: OnlineClassifier) -> dict[str, Any]:
    """Parameters of a learner as values that JSON can hold."""
    return {name: _plain(value) for name, value in learner.get_params(deep=False).items()}


def _plain(value: Any) -> Any:
    """A parameter as a JSON value, to compare; objects by class and attributes, without caches."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    # ``_spec`` is a cache of penalties, not a parameter.
    parts = {k: _plain(v) for k, v in getattr(value, "__dict__", {}).items() if k != "_spec"}
    return {"class": type(value).__name__, **parts}


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} rows")
    return value


def _names(names: Any, d: int | None) -> Array | None:
    """Names of the columns; checkpoints of older versions have none."""
    if names is None:
        return None
    good = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not good or len(set(names)) != d or len(names) != d:
        raise ValueError("a name for each column is missing")
    return np.array(names, dtype=object)


def _encoded(classes: Array) -> dict[str, Any]:
    return {"dtype": classes.dtype.str, "values": classes.tolist()}


def _decoded(classes: dict[str, Any]) -> Array:
    """The classes from the metadata; raises ValueError for anything but two increasing labels."""
    dtype = np.dtype(classes["dtype"])
    values: Array = np.array(classes["values"], dtype=object if dtype.kind == "O" else None)
    # A single class is allowed only as [1], before the first label 0 or -1.
    lone = values.shape == (1,) and dtype.kind in "iuf" and values[0] == 1
    if dtype.kind not in _PLAIN + "O" or dtype.itemsize > MAX_LABEL_BYTES:
        raise ValueError("labels are missing")
    if values.shape != (2,) and not lone:
        raise ValueError("two classes are missing")
    values = values.astype(dtype)
    if not lone and not values[0] < values[1]:
        raise ValueError("classes that do not increase")
    return values
