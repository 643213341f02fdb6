"""Saving and loading model files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from auctor.core.archive import broken, parse_json, read_archive, write_archive
from auctor.core.codec import Arrays, Json, as_json
from auctor.core.errors import AuctorError, DataError, ParameterError, speaks_as
from auctor.core.files import AnyPath, check_destination
from auctor.fit.model import LinearModel, RegressionModel
from auctor.fit.parameters import parameters_of
from auctor.fit.result import FitResult
from auctor.fit.train_model import kinds
from auctor.linear.table_parameters import TableParameters
from auctor.saved import models, pipelines
from auctor.saved.classes import CLASSES, FORECAST, HIERARCHICAL, KERNEL, TREES, class_of
from auctor.saved.forecast import SavedForecaster
from auctor.saved.hierarchical import SavedHierarchy
from auctor.saved.kernel import SavedKernel
from auctor.saved.learners import SavedLearner
from auctor.saved.pipelines import SavedStep
from auctor.saved.trees import SavedTree
from auctor.saved.values import CODEC, need
from auctor.saved.whole import SavedEstimator
from auctor.tables.schema import Schema

#: Version of the file format; files of other versions are refused.
FORMAT = 2
#: Keys of the description of a file.
_KEYS = {"format", "kind", "version", "arrays", "class", "content", "schema", "notes"}
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
        "a model of the columns of a file; got a pipeline of scikit-learn. Use auctor.load."
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
        HierarchicalMultiLabel, LoadForecaster, AucTreeClassifier of auctor.lab, a learner of
        auctor.streaming, or a pipeline that ends in one of the first three. Parameters must be
        plain values, arrays or losses, penalties and solvers of auctor. The other steps of a
        pipeline may be StandardScaler, MinMaxScaler,
        MaxAbsScaler, SimpleImputer and OneHotEncoder of scikit-learn, and "passthrough".
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
    content = Content.of(model)
    if schema is None and content.table is not None:
        schema = model.schema_.to_json()
    if notes is None and getattr(model, "notes_", None):
        notes = {"warnings": model.notes_}
    _write(path, content, schema, notes)


@speaks_as("save")
def save_fitted(
    result: models.AnyFitted,
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
    schema : Schema, optional
        How the columns of a table become those of the model.
    table : TableParameters, optional
        Parameters of the `TableClassifier` that the file is loaded as; needs ``schema``.
    notes : mapping, optional
        As in `save`.
    """
    check_destination(path)
    columns = None if schema is None else schema.to_json()
    _write(path, Content(model=models.stored(result), table=table), columns, notes)


def _write(
    path: AnyPath,
    content: Content,
    schema: Mapping[str, Any] | None,
    notes: Mapping[str, Any] | None,
) -> None:
    """Write the contents of a file, if they can be read again."""
    arrays: Arrays = {}
    meta = {
        "format": FORMAT,
        "class": content.name,
        "content": CODEC.encode(content, "", arrays),
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

    A learner of a stream is read as the linear model with which it predicts now.
    """
    content = read_content(path)
    return replace(content.linear(), schema=content.schema)


@speaks_as("load")
def read_content(path: AnyPath) -> Content:
    """The checked contents of a file."""
    meta, arrays = read_archive(path, format=FORMAT)
    with _refusing(path):
        if meta.keys() != _KEYS:
            raise ValueError(f"a description with {sorted(meta.keys() ^ _KEYS)[:9]}")
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


@dataclass(frozen=True, eq=False, kw_only=True)
class Content:
    """The contents of a file.

    Parameters
    ----------
    model : FitResult or SavedEstimator
        A linear or additive model, or an estimator of another kind.
    table : TableParameters, optional
        Of the `TableClassifier` around the model; ``named`` says whether its columns had names.
    steps : list of SavedStep, optional
        Of the pipeline that ends in the model, which is the step called ``last``.
    whole : estimator, optional
        The estimator of a `SavedEstimator` that is no learner; not in the file.
    meta : dict
        The description of the file.
    """

    model: FitResult[Any, Any] | SavedEstimator
    table: TableParameters | None = None
    named: bool = True
    steps: list[SavedStep] | None = None
    last: str = ""
    whole: Any = None
    meta: Json = field(default_factory=dict)

    @classmethod
    def of(cls, model: Any) -> Content:
        """What a file has of a fitted model."""
        name = type(model).__name__
        if name == "TableClassifier" and hasattr(model, "model_"):
            table = parameters_of(TableParameters, model)
            named = hasattr(model, "feature_names_in_")
            return replace(cls.of(model.model_), table=table, named=named)
        if name == "Pipeline":
            steps, last = pipelines.stored(model)
            return replace(cls.of(model[-1]), steps=steps, last=last)
        if name not in CLASSES or class_of(name) is not type(model):
            raise ParameterError(
                f"one of {', '.join(CLASSES)}, a TableClassifier or a pipeline of such; got "
                f"{name}. Pass one of these."
            )
        if not any(
            hasattr(model, attribute)
            for attribute in ("coef_", "models_", "dual_coef_", "history_", "tree_")
        ):
            raise ParameterError(f"a fitted model; got {name} that is not fitted. Call fit first.")
        if name in kinds():
            from auctor.linear.from_model import as_result

            return cls(model=models.stored(as_result(model)))
        saved: dict[str, Any] = dict.fromkeys(HIERARCHICAL, SavedHierarchy)
        saved |= dict.fromkeys(KERNEL, SavedKernel) | dict.fromkeys(FORECAST, SavedForecaster)
        saved |= dict.fromkeys(TREES, SavedTree)
        return cls(model=saved.get(name, SavedLearner).of(model))

    @classmethod
    def read(cls, meta: Json, arrays: Arrays) -> Content:
        """Check a description and its arrays; invalid ones raise an exception of `_INVALID`."""
        content = CODEC.read(cls, meta["content"], arrays)
        need(not arrays, "all of it in place")
        model, whole = content.model, None
        if isinstance(model, FitResult):
            model = models.checked(model)
        elif isinstance(model, SavedLearner):
            model.check()
        else:
            whole = model.estimator()
        content = replace(content, model=model, whole=whole, meta=meta)
        need(content.name == meta["class"], f"the class {meta['class']!r}")
        if content.table is not None:
            models.check_table(content.table, meta["schema"], content.n_features)
        return content

    @property
    def fitted(self) -> models.AnyFitted | None:
        """The linear or additive model, if it is one."""
        return self.model if isinstance(self.model, FitResult) else None

    @property
    def learner(self) -> SavedLearner | None:
        """The learner of a stream, if it is one."""
        return self.model if isinstance(self.model, SavedLearner) else None

    @property
    def name(self) -> str:
        """Class of the model."""
        model = self.model
        name = model.params.estimator_name if isinstance(model, FitResult) else model.name
        return str(name)

    @property
    def params(self) -> dict[str, Any]:
        """Parameters of the model."""
        if isinstance(self.model, FitResult):
            return models.parameter_values(self.model.params)
        return self.model.params

    @property
    def n_features(self) -> int:
        """Number of columns."""
        of = self.model.model if isinstance(self.model, FitResult) else self.model
        return int(of.n_features)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns."""
        of = self.model.model if isinstance(self.model, FitResult) else self.model
        names: tuple[str, ...] | None = of.feature_names
        return names

    @property
    def schema(self) -> dict[str, Any] | None:
        """The schema of the table on which the model was trained."""
        schema: dict[str, Any] | None = self.meta["schema"]
        return schema

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
        if isinstance(self.model, FitResult):
            estimator = models.as_estimator(self.model)
        else:
            estimator = self.model.estimator() if self.whole is None else self.whole
        if self.table is not None:
            return models.as_table(estimator, self.table, self.schema, named=self.named)
        return estimator if self.steps is None else pipelines.made(self.steps, self.last, estimator)

    def linear(self) -> LinearModel | RegressionModel:
        """The model as arrays that predict; refuses pipelines, hierarchies and kernel machines."""
        if self.steps is not None:
            raise DataError("a model without steps before it; got a pipeline. Use auctor.load.")
        if isinstance(self.model, FitResult):
            model: LinearModel | RegressionModel = self.model.model
            return model
        if isinstance(self.model, SavedLearner):
            return self.model.model()
        raise ParameterError(f"a linear or additive model; got {self.name}. Use auctor.load.")


def _short(error: BaseException) -> str:
    """The first 200 characters of an error's message, for another message."""
    text = " ".join(str(error).split()).rstrip(".")[:200]
    return text if isinstance(error, ValueError) and text else f"{type(error).__name__} {text}"
