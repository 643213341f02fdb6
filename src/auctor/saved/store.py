"""Saving and loading models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from auctor.core.archive import broken, parse_json, read_archive, write_archive
from auctor.core.errors import AuctorError, ParameterError
from auctor.core.files import AnyPath, check_destination
from auctor.core.types import Array
from auctor.saved.models import describe, rebuild
from auctor.saved.values import free_json

#: Of the files that are written; older ones can be read.
FORMAT = 1
_TOP = {
    "format",
    "kind",
    "version",
    "arrays",
    "class",
    "params",
    "n_features_in",
    "feature_names",
    "fitted",
    "schema",
    "notes",
}
#: What nonsense in a file makes constructors, checks and look-ups raise.
_NONSENSE = (
    AuctorError,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)


class Saved(NamedTuple):
    """What a model file holds.

    Parameters
    ----------
    model : MetricClassifier, MetricClassifierCV, LinearRegressor or a learner of auctor.online
    schema : dict or None
        How the columns of a table become those of the model: `auctor.tables.Schema.to_json`.
    notes : dict
        Whatever came with the model, such as the command that trained it.
    meta : dict
        The whole description, with ``format`` and the ``version`` of auctor that wrote it.
    """

    model: Any
    schema: dict[str, Any] | None
    notes: dict[str, Any]
    meta: dict[str, Any]


def save(
    model: Any,
    path: AnyPath,
    *,
    schema: Mapping[str, Any] | None = None,
    notes: Mapping[str, Any] | None = None,
) -> None:
    """Write a fitted model to a file, whole or not at all.

    The file holds numbers and text only, so that reading one from a stranger runs nothing. Its
    format is described in ``docs/model-format.md``. Equal models make equal files.

    Parameters
    ----------
    model : MetricClassifier, MetricClassifierCV, LinearRegressor or a learner of auctor.online
        Parameters must be plain values, arrays or the losses, penalties and solvers of auctor.
    path : path
        By custom ending in ``.auctor``.
    schema : mapping, optional
        How the columns of a table become those of the model.
    notes : mapping, optional
        JSON to keep with the model; numbers that are NaN or infinite become null.

    Examples
    --------
    >>> import os, tempfile
    >>> import auctor
    >>> model = auctor.MetricClassifier("auc").fit([[0.0], [1.0], [2.0]], ["no", "no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.auctor")
    ...     auctor.save(model, path)
    ...     print(auctor.load(path).predict([[3.0]]))
    ['yes']
    """
    check_destination(path, who="save")
    arrays: dict[str, Array] = {}
    meta = {
        "format": FORMAT,
        **describe(model, arrays),
        "schema": None if schema is None else free_json(dict(schema), "schema"),
        "notes": free_json(dict(notes or {}), "notes"),
    }
    try:
        text = json.dumps(meta, allow_nan=False, ensure_ascii=False)
        rebuild(parse_json(text.encode()), dict(arrays))
    except _NONSENSE as error:
        raise ParameterError(
            "save",
            needs="a model that can be loaded again",
            got=f"{_short(error)}",
            todo="Correct the model first.",
        ) from error
    write_archive(path, meta, arrays, who="save")


def load(path: AnyPath) -> Any:
    """The model of a file that `save` wrote.

    Raises `DataError` for a file that is damaged, of a newer format, or makes no sense. Nothing
    in a file is executed.
    """
    return read_saved(path).model


def read_saved(path: AnyPath) -> Saved:
    """The model of a file with all that was saved along with it."""
    meta, arrays = read_archive(path, who="load", format=FORMAT)
    try:
        if meta.keys() != _TOP:
            raise ValueError(f"a description with {sorted(meta.keys() ^ _TOP)[:9]}")
        schema, notes = meta["schema"], meta["notes"]
        if not isinstance(schema, dict | None) or not isinstance(notes, dict):
            raise ValueError("a schema or notes that are not objects")
        with np.errstate(invalid="ignore"):  # comparisons of NaN with a signal are no news
            model = rebuild(meta, arrays)
    except _NONSENSE as error:
        raise broken(path, "load", _short(error)) from error
    return Saved(model, schema, notes, meta)


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split()).rstrip(".")[:200]
    return text if isinstance(error, ValueError) and text else f"{type(error).__name__} {text}"
