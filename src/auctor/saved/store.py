"""Saving and loading model files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from auctor.core.archive import broken, parse_json, read_archive, write_archive
from auctor.core.errors import AuctorError, DataError, ParameterError, speaks_as
from auctor.core.files import AnyPath, check_destination
from auctor.core.json import as_json
from auctor.fit.model import LinearModel, RegressionModel
from auctor.fit.parameters import parameters_of
from auctor.fit.train_model import kinds
from auctor.linear.table_parameters import TableParameters
from auctor.saved import hierarchical, kernel, models, pipelines
from auctor.saved import learners as learner_files
from auctor.saved.classes import CLASSES, HIERARCHICAL, KERNEL, class_of
from auctor.saved.values import CODEC, Arrays, Json, need, whole
from auctor.tables.schema import Schema

#: Version of the file format that is written; older versions can be read.
FORMAT = 1
#: Keys of the description in every file.
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
#: Optional keys: the parameters of a `TableClassifier`, the steps of a pipeline.
_MORE = {"table", "steps"}
#: Modules that save and load whole estimators, by class: these are not linear models.
WHOLE = {**dict.fromkeys(HIERARCHICAL, hierarchical), **dict.fromkeys(KERNEL, kernel)}
#: Exceptions that invalid contents of a file may cause in constructors, checks and look-ups.
_INVALID = (
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
    """The contents of a model file.

    Parameters
    ----------
    model : classifier, regressor, learner or pipeline
    schema : dict or None
        The schema of the table on which the model was trained: `auctor.tables.Schema.to_json`.
    notes : dict
        The notes that were saved with the model, such as the command that trained it.
    meta : dict
        The whole description, with ``format`` and the ``version`` of auctor that wrote it.
    """

    model: Any
    schema: dict[str, Any] | None
    notes: dict[str, Any]
    meta: dict[str, Any]


def of_pipeline() -> DataError:
    """The error for a pipeline where a model of the columns of a file is needed."""
    return DataError(
        "a model of the columns of a file",
        got="a pipeline of scikit-learn",
        todo="Use it in Python, with auctor.load.",
    )


@speaks_as("save")
def save(
    model: Any,
    path: AnyPath,
    *,
    schema: Mapping[str, Any] | None = None,
    notes: Mapping[str, Any] | None = None,
) -> None:
    """Write a fitted model to a file; if that fails, no file is left.

    The file holds only numbers and text: loading a file from a stranger executes no code. The
    format is described in ``docs/model-format.md``. Equal models give equal files.

    Parameters
    ----------
    model : classifier, regressor, learner or pipeline
        MetricClassifier, MetricClassifierCV, LinearRegressor, AdditiveClassifier,
        AdditiveRegressor, TableClassifier, KernelClassifier, KernelRegressor, TopDownClassifier,
        HierarchicalMultiLabel, a learner of auctor.streaming, or a pipeline that ends in one of the
        first three. Parameters must be plain values, arrays or losses, penalties and solvers of
        auctor. The other steps of a pipeline may be StandardScaler, MinMaxScaler, MaxAbsScaler,
        SimpleImputer and OneHotEncoder of scikit-learn, and "passthrough".
    path : path
        Usually ending in ``.auctor``.
    schema : mapping, optional
        The schema of the table on which the model was trained; by default that of a
        `TableClassifier`.
    notes : mapping, optional
        JSON to save with the model; NaN and infinite numbers become null. By default the warnings
        that a `TableClassifier` noted about its table, which ``auctor report`` shows.

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
    check_destination(path)
    arrays: Arrays = {}
    described = _describe(model, arrays)
    schema = described.pop("schema") if schema is None else schema
    if notes is None and getattr(model, "notes_", None):
        notes = {"warnings": model.notes_}
    _write(path, described, arrays, schema, notes)


@speaks_as("save")
def save_fitted(
    fitted: models.AnyFitted,
    path: AnyPath,
    *,
    schema: Schema | None = None,
    table: TableParameters | None = None,
    notes: Mapping[str, Any] | None = None,
) -> None:
    """Write what a training function returned, as `save` writes its estimator.

    Nothing of scikit-learn is imported.

    Parameters
    ----------
    fitted : Fitted
        Of `auctor.fit.train_model`.
    path : path
    schema : Schema, optional
        How the columns of a table become those of the model.
    table : TableParameters, optional
        Parameters of the `TableClassifier` that the file is loaded as; needs ``schema``.
    notes : mapping, optional
        As in `save`.
    """
    check_destination(path)
    arrays: Arrays = {}
    described = _described_fit(fitted, arrays)
    if table is not None:
        described["table"] = _described_table(table, arrays, named=True)
    columns = None if schema is None else schema.to_json()
    _write(path, described, arrays, columns, notes)


def _write(
    path: AnyPath,
    described: Json,
    arrays: Arrays,
    schema: Mapping[str, Any] | None,
    notes: Mapping[str, Any] | None,
) -> None:
    """Write a description and its arrays, if they can be read again."""
    meta = {
        "format": FORMAT,
        **described,
        "schema": None if schema is None else as_json(dict(schema), where="schema"),
        "notes": as_json(dict(notes or {}), where="notes"),
    }
    # Reading the description back before writing refuses models that could not be loaded.
    try:
        text = json.dumps(meta, allow_nan=False, ensure_ascii=False)
        Content.read(parse_json(text.encode()), dict(arrays)).check()
    except _INVALID as error:
        raise ParameterError(
            "a model that can be loaded again", got=_short(error), todo="Correct the model first."
        ) from error
    write_archive(path, meta, arrays)


@speaks_as("load")
def load(path: AnyPath) -> Any:
    """Read the estimator or learner that `save` wrote to a file.

    Raises `DataError` for a file that is damaged, inconsistent or of a newer format. Nothing in a
    file is executed. `read_model` reads a file without scikit-learn.
    """
    return read_saved(path).model


@speaks_as("load")
def read_saved(path: AnyPath) -> Saved:
    """The model of a file, as `load` returns it, with its schema, notes and description."""
    content = read_content(path)
    with _refusing(path):
        return Saved(content.estimator(), content.schema, content.notes, content.meta)


@speaks_as("read_model")
def read_model(path: AnyPath) -> LinearModel | RegressionModel:
    """The model of a file as arrays that predict, without scikit-learn.

    A learner of a stream is read as the linear model with which it predicts now. Older files
    of learners have no weights: these need scikit-learn, on which the class of a learner is based.
    """
    content = read_content(path)
    return replace(content.model(), schema=content.schema)


@speaks_as("load")
def read_content(path: AnyPath) -> Content:
    """The checked contents of a file."""
    meta, arrays = read_archive(path, format=FORMAT)
    with _refusing(path):
        if meta.keys() - _MORE != _TOP:
            raise ValueError(f"a description with {sorted((meta.keys() - _MORE) ^ _TOP)[:9]}")
        if not isinstance(meta["schema"], dict | None) or not isinstance(meta["notes"], dict):
            raise ValueError("a schema or notes that are not objects")
        return Content.read(meta, arrays)


@contextmanager
def _refusing(path: AnyPath) -> Iterator[None]:
    """Turn the errors of invalid contents into the error of a damaged file."""
    try:
        with np.errstate(invalid="ignore"):  # comparisons with a signalling NaN warn
            yield
    except _INVALID as error:
        raise broken(path, _short(error)) from error


# --- the contents of a file -----------------------------------------------------------------------


def _describe(model: Any, arrays: Arrays) -> Json:
    """The description of a fitted model; adds its arrays to ``arrays``."""
    name = type(model).__name__
    if name == "TableClassifier" and hasattr(model, "model_"):
        named = hasattr(model, "feature_names_in_")
        table = parameters_of(TableParameters, model)
        return _describe(model.model_, arrays) | {
            "schema": model.schema_.to_json(),
            "table": _described_table(table, arrays, named=named),
        }
    if name == "Pipeline":
        return _describe(model[-1], arrays) | {"steps": pipelines.describe(model, arrays)}
    if name not in CLASSES or class_of(name) is not type(model):
        raise ParameterError(
            f"one of {', '.join(CLASSES)}, a TableClassifier or a pipeline of such",
            got=name,
            todo="Pass one of these.",
        )
    if not any(hasattr(model, fitted) for fitted in ("coef_", "models_", "dual_coef_")):
        raise ParameterError(
            "a fitted model", got=f"{name} that is not fitted", todo="Call fit first."
        )
    if name in kinds():
        from auctor.linear.from_model import as_result

        return _described_fit(as_result(model), arrays)
    names = getattr(model, "feature_names_in_", None)
    return {
        "class": name,
        "params": _encoded(model.get_params(deep=False), "params", arrays),
        "n_features_in": int(model.n_features_in_),
        "feature_names": None if names is None else [str(entry) for entry in names],
        "fitted": WHOLE.get(name, learner_files).describe(model, arrays),
        "schema": None,
    }


def _described_fit(fitted: models.AnyFitted, arrays: Arrays) -> Json:
    """The description of a linear or additive model."""
    names = fitted.model.feature_names
    return {
        "class": fitted.params.estimator_name,
        "params": _encoded(models.parameter_values(fitted.params), "params", arrays),
        "n_features_in": fitted.model.n_features,
        "feature_names": None if names is None else list(names),
        "fitted": models.describe(fitted, arrays),
        "schema": None,
    }


def _described_table(table: TableParameters, arrays: Arrays, *, named: bool) -> Json:
    """The description of a `TableClassifier`, beside that of its model."""
    return _encoded(models.parameter_values(table), "table", arrays) | {"named": named}


def _encoded(params: Mapping[str, Any], where: str, arrays: Arrays) -> Json:
    """Parameters as JSON; adds their arrays to ``arrays``."""
    return {key: CODEC.encode(value, f"{where}.{key}", arrays) for key, value in params.items()}


@dataclass(frozen=True, eq=False)
class Content:
    """The contents of a file.

    One of the three is not ``None``: ``fitted`` for a linear or additive model, ``learner`` for one
    of auctor.streaming, ``whole`` for the estimator itself, if it is of another kind.
    """

    meta: Json
    fitted: models.AnyFitted | None
    learner: learner_files.SavedLearner | None
    whole: Any
    n_features: int
    feature_names: tuple[str, ...] | None
    params: dict[str, Any]
    table: TableParameters | None = None
    named: bool = True
    steps: list[Any] | None = None

    @classmethod
    def read(cls, meta: Json, arrays: Arrays) -> Content:
        """Check a description and its arrays; invalid ones raise an exception of `_INVALID`."""
        name, fitted, learner, estimator = meta["class"], None, None, None
        need(name in CLASSES, f"a class of this version, {name!r}")
        params = {key: CODEC.decode(value, arrays) for key, value in meta["params"].items()}
        d = whole(meta["n_features_in"], low=1)
        names = _checked_names(meta["feature_names"], d)
        rest = dict(meta["fitted"])
        if name in kinds():
            fitted = models.read_fitted(name, params, d, names, rest, arrays)
        elif name in WHOLE:
            estimator = WHOLE[name].read_estimator(name, params, d, rest, arrays)
        else:
            learner = learner_files.SavedLearner.read(name, params, d, rest, arrays)
        entry, table, named = meta.get("table"), None, True
        if entry is not None:
            entry = {key: CODEC.decode(value, arrays) for key, value in entry.items()}
            table, named = models.checked_table(entry, meta["schema"], d)
        steps = meta.get("steps")
        steps = None if steps is None else pipelines.read(steps, arrays)
        # Reading removes entries and arrays: what is left belongs to nothing.
        need(not rest and not arrays, "all of it in place")
        return cls(meta, fitted, learner, estimator, d, names, params, table, named, steps)

    @property
    def name(self) -> str:
        """Class of the model."""
        found: str = self.meta["class"]
        return found

    @property
    def schema(self) -> dict[str, Any] | None:
        """The schema of the table on which the model was trained."""
        found: dict[str, Any] | None = self.meta["schema"]
        return found

    @property
    def notes(self) -> dict[str, Any]:
        """The notes that were saved with the model."""
        return dict(self.meta["notes"])

    def check(self) -> None:
        """Raise if the model could not be loaded; a linear or additive one was checked already."""
        if self.fitted is None or self.steps is not None:
            self.estimator()

    def estimator(self) -> Any:
        """The model as it was saved; imports scikit-learn."""
        if self.fitted is not None:
            found = models.as_estimator(self.fitted)
        else:
            found = self.whole if self.learner is None else self.learner.learner()
            found.n_features_in_ = self.n_features
            if self.feature_names is not None:
                found.feature_names_in_ = np.array(self.feature_names, dtype=object)
        if self.table is not None:
            return models.as_table(found, self.table, self.schema, named=self.named)
        return found if self.steps is None else pipelines.made(self.steps, found)

    def model(self) -> LinearModel | RegressionModel:
        """The model as arrays that predict; refuses pipelines, hierarchies and kernel machines."""
        if self.steps is not None:
            raise DataError(
                "a model without steps of scikit-learn before it",
                got="a pipeline",
                todo="Use auctor.load.",
            )
        if self.fitted is not None:
            return self.fitted.model
        if self.learner is not None:
            return self.learner.model(self.feature_names)
        raise ParameterError(
            "a linear or additive model", got=self.name, todo="Use it in Python, with auctor.load."
        )


def _checked_names(names: Any, d: int) -> tuple[str, ...] | None:
    """The names of the columns, checked; None if the model has none."""
    if names is None:
        return None
    need(isinstance(names, list) and len(names) == d, "a name for each column")
    need(all(isinstance(entry, str) for entry in names), "names that are text")
    return tuple(names)


def _short(error: BaseException) -> str:
    """The first 200 characters of an error's message, for another message."""
    text = " ".join(str(error).split()).rstrip(".")[:200]
    return text if isinstance(error, ValueError) and text else f"{type(error).__name__} {text}"
