"""Saving and loading model files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from auctor.core.archive import broken, parse_json, read_archive, write_archive
from auctor.core.errors import AuctorError, DataError, ParameterError
from auctor.core.files import AnyPath, check_destination
from auctor.core.json import as_json
from auctor.saved import hierarchical, kernel, models, pipelines
from auctor.saved.values import Arrays, Json, decoded, encoded, need, whole
from auctor.training.model import LinearModel, RegressionModel
from auctor.training.train_model import KINDS

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
#: Modules of estimators that are not linear models; each saves and loads whole estimators.
WHOLE = (hierarchical, kernel)
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

    def of_columns(self, who: str) -> Saved:
        """The contents with the inner model of encoded columns in place of a `TableClassifier`.

        Refuses a pipeline, because its steps are not part of ``schema``.
        """
        if self.meta.get("steps") is not None:
            raise of_pipeline(who)
        return self._replace(model=getattr(self.model, "model_", self.model))


def of_pipeline(who: str) -> DataError:
    """The error for a pipeline where a model of the columns of a file is needed."""
    return DataError(
        who,
        needs="a model of the columns of a file",
        got="a pipeline of scikit-learn",
        todo="Use it in Python, with auctor.load.",
    )


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
        HierarchicalMultiLabel, a learner of auctor.online, or a pipeline that ends in one of the
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
    check_destination(path, who="save")
    arrays: Arrays = {}
    described = _describe(model, arrays)
    schema = described.pop("schema") if schema is None else schema
    if notes is None and getattr(model, "notes_", None):
        notes = {"warnings": model.notes_}
    meta = {
        "format": FORMAT,
        **described,
        "schema": None if schema is None else as_json(dict(schema), who="save", where="schema"),
        "notes": as_json(dict(notes or {}), who="save", where="notes"),
    }
    # Reading the description back before writing refuses models that could not be loaded.
    try:
        text = json.dumps(meta, allow_nan=False, ensure_ascii=False)
        Content.read(parse_json(text.encode()), dict(arrays)).estimator()
    except _INVALID as error:
        raise ParameterError(
            "save",
            needs="a model that can be loaded again",
            got=f"{_short(error)}",
            todo="Correct the model first.",
        ) from error
    write_archive(path, meta, arrays, who="save")


def load(path: AnyPath) -> Any:
    """Read the estimator or learner that `save` wrote to a file.

    Raises `DataError` for a file that is damaged, inconsistent or of a newer format. Nothing in a
    file is executed. `read_model` reads a file without scikit-learn.
    """
    return read_saved(path).model


def read_saved(path: AnyPath) -> Saved:
    """The model of a file, as `load` returns it, with its schema, notes and description."""
    content = read_content(path)
    return Saved(content.estimator(), content.schema, content.notes, content.meta)


def read_model(path: AnyPath) -> LinearModel | RegressionModel:
    """The model of a file as arrays that predict, without scikit-learn.

    A learner of `auctor.online` is read as the linear model with which it predicts now; this needs
    scikit-learn, on which its class is based.
    """
    content = read_content(path)
    return replace(content.model(), schema=content.schema)


def read_content(path: AnyPath) -> Content:
    """The checked contents of a file."""
    meta, arrays = read_archive(path, who="load", format=FORMAT)
    try:
        if meta.keys() - _MORE != _TOP:
            raise ValueError(f"a description with {sorted((meta.keys() - _MORE) ^ _TOP)[:9]}")
        if not isinstance(meta["schema"], dict | None) or not isinstance(meta["notes"], dict):
            raise ValueError("a schema or notes that are not objects")
        with np.errstate(invalid="ignore"):  # comparisons with a signalling NaN warn
            return Content.read(meta, arrays)
    except _INVALID as error:
        raise broken(path, "load", _short(error)) from error


# --- the contents of a file -----------------------------------------------------------------------


def kinds() -> dict[str, type[Any]]:
    """The classes of models that can be saved, by their names in files."""
    from auctor.saved import learners

    made = {name: models.estimator_class(name) for name in KINDS}
    return made | learners.learners() | hierarchical.estimators() | kernel.estimators()


def _describe(model: Any, arrays: Arrays) -> Json:
    """The description of a fitted model; adds its arrays to ``arrays``."""
    name = type(model).__name__
    if name == "TableClassifier" and hasattr(model, "model_"):
        return _describe(model.model_, arrays) | {
            "schema": model.schema_.to_json(),
            "table": _encoded_params(model, "table", arrays)
            | {"named": hasattr(model, "feature_names_in_")},
        }
    if name == "Pipeline":
        return _describe(model[-1], arrays) | {"steps": pipelines.describe(model, arrays)}
    if kinds().get(name) is not type(model):
        raise ParameterError(
            "save",
            needs=f"one of {', '.join(kinds())}, a TableClassifier or a pipeline of such",
            got=name,
            todo="Pass one of these.",
        )
    if not any(hasattr(model, fitted) for fitted in ("coef_", "models_", "dual_coef_")):
        raise ParameterError(
            "save", needs="a fitted model", got=f"{name} that is not fitted", todo="Call fit first."
        )
    names = getattr(model, "feature_names_in_", None)
    return {
        "class": name,
        "params": _encoded_params(model, "params", arrays),
        "n_features_in": int(model.n_features_in_),
        "feature_names": None if names is None else [str(entry) for entry in names],
        "fitted": _home(name).describe(model, arrays),
        "schema": None,
    }


def _encoded_params(model: Any, where: str, arrays: Arrays) -> Json:
    """The parameters of a model as JSON; adds their arrays to ``arrays``."""
    params = model.get_params(deep=False)
    return {key: encoded(value, f"{where}.{key}", arrays) for key, value in params.items()}


def _home(name: str) -> Any:
    """The module that saves and loads a class."""
    from auctor.saved import learners

    if name in KINDS:
        return models
    return next((home for home in WHOLE if name in home.NAMES), learners)


@dataclass(frozen=True, eq=False)
class Content:
    """The contents of a file: ``fitted`` for a linear or additive model, ``learner`` for others."""

    meta: Json
    fitted: models.AnyFitted | None
    learner: Any
    n_features: int
    feature_names: tuple[str, ...] | None
    params: dict[str, Any]
    table: Json | None = None
    steps: list[Any] | None = None

    @classmethod
    def read(cls, meta: Json, arrays: Arrays) -> Content:
        """Check a description and its arrays; invalid ones raise an exception of `_INVALID`."""
        name, fitted, learner = meta["class"], None, None
        params = {key: decoded(value, arrays) for key, value in meta["params"].items()}
        d = whole(meta["n_features_in"], low=1)
        names = _checked_names(meta["feature_names"], d)
        rest = dict(meta["fitted"])
        if name in KINDS:
            fitted = models.read_fitted(name, params, d, names, rest, arrays)
        elif any(name in home.NAMES for home in WHOLE):
            learner = _home(name).read_estimator(name, params, d, rest, arrays)
        else:
            from auctor.saved.learners import learners, read_learner

            need(name in learners(), f"a class of this version, {name!r}")
            learner = read_learner(name, params, d, rest, arrays)
        table = meta.get("table")
        if table is not None:
            table = {key: decoded(value, arrays) for key, value in table.items()}
            need(isinstance(meta["schema"], dict), "a schema of its table")
        steps = meta.get("steps")
        steps = None if steps is None else pipelines.read(steps, arrays)
        # Reading removes entries and arrays: what is left belongs to nothing.
        need(not rest and not arrays, "all of it in place")
        return cls(meta, fitted, learner, d, names, params, table, steps)

    @property
    def schema(self) -> dict[str, Any] | None:
        """The schema of the table on which the model was trained."""
        found: dict[str, Any] | None = self.meta["schema"]
        return found

    @property
    def notes(self) -> dict[str, Any]:
        """The notes that were saved with the model."""
        return dict(self.meta["notes"])

    def estimator(self) -> Any:
        """The model as it was saved."""
        if self.fitted is not None:
            found = models.as_estimator(self.fitted)
        else:
            found = self.learner
            found.n_features_in_ = self.n_features
            if self.feature_names is not None:
                found.feature_names_in_ = np.array(self.feature_names, dtype=object)
        if self.table is not None:
            return models.as_table(found, self.table, self.schema)
        return found if self.steps is None else pipelines.made(self.steps, found)

    def model(self) -> LinearModel | RegressionModel:
        """The model as arrays that predict; refuses pipelines, hierarchies and kernel machines."""
        if self.steps is not None:
            raise DataError(
                "read_model",
                needs="a model without steps of scikit-learn before it",
                got="a pipeline",
                todo="Use auctor.load.",
            )
        if self.fitted is not None:
            return self.fitted.model
        if any(self.meta["class"] in home.NAMES for home in WHOLE):
            raise ParameterError(
                "read_model",
                needs="a linear model of two or more classes",
                got=self.meta["class"],
                todo="Use auctor.load.",
            )
        from auctor.saved.learners import as_model

        return as_model(self.learner, self.feature_names)


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
