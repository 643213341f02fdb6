"""A classifier of raw tables: what ``auctor train`` does, as one estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from auctor.core.errors import DataError, DataTypeError, Option, ParameterError
from auctor.core.types import Array, FloatArray
from auctor.estimators.additive import AdditiveClassifier
from auctor.estimators.base import offered_if, sentence
from auctor.estimators.classifier import MetricClassifier, wants_probabilities
from auctor.estimators.search import MetricClassifierCV
from auctor.tables.blocks import Block
from auctor.tables.check import unseen_note
from auctor.tables.encode import Encoder
from auctor.tables.frame import Frame, labels_of
from auctor.tables.infer import Note
from auctor.tables.options import ReadOptions
from auctor.tables.read import encode_table
from auctor.tables.schema import KEEP, Schema
from auctor.training.additive import AdditiveParameters, read_monotone
from auctor.training.model import LinearModel
from auctor.training.parameters import ClassifierParameters, parameters_of
from auctor.training.registry import known

#: What messages call a table that has no file name.
TABLE = "the table"


@dataclass(eq=False, repr=False, kw_only=True)
class TableParameters(ClassifierParameters):
    """Parameters of `TableClassifier`."""

    model: str = "linear"
    n_bins: int = 32
    monotone: Any = None
    interactions: int = 0
    strength: Any = "auto"
    n_strengths: int | None = None
    cv: Any = 5
    rule: str = "best"
    categorical: str = "one_hot"
    buckets: int = 1024
    missing: str = "auto"
    drop: Any = None
    as_category: Any = None
    as_number: Any = None
    date: Any = None
    decimal: str = "."

    def missing_rule(self) -> str:
        """What becomes of a missing number: "auto" keeps it where the model can take it."""
        keeps = self.model == "additive" and self.missing == "auto"
        return KEEP if keeps else self.missing


def linear(given: TableParameters) -> MetricClassifier:
    """A linear classifier; it looks for the strength itself where that is "auto"."""
    who = type(given).__name__
    for name in ("n_bins", "monotone", "interactions"):
        if getattr(given, name) != getattr(TableParameters, name):
            raise _of_curves(who, f"curves for {name}", f"{name} with model='linear'")
    if given.missing == KEEP:
        raise _of_curves(who, "values in every row for a linear model", "missing='keep'")
    params = vars(parameters_of(ClassifierParameters, given))
    strength = params.pop("strength")
    if isinstance(strength, str) and strength == "auto":
        if given.penalty != "none":
            search = {"n_strengths": given.n_strengths, "cv": given.cv, "rule": given.rule}
            return MetricClassifierCV(**params, **search)
        strength = 0.0
    return MetricClassifier(**params, strength=strength)


def additive(given: TableParameters) -> MetricClassifier:
    """A curve for each column; its penalty is the one of curves unless another is named."""
    params = vars(parameters_of(ClassifierParameters, given))
    for name in ("l1_ratio", "standardise"):
        value = params.pop(name)
        if value not in (None, False, getattr(ClassifierParameters, name)):
            raise ParameterError(
                type(given).__name__,
                needs=f"{name} to be left alone with curves, whose bins scale the columns",
                got=f"{name}={value!r}",
                todo="Drop it, or use {option}.",
                option=Option("model", "linear"),
            )
    params |= {name: getattr(given, name) for name in ("n_bins", "monotone", "interactions")}
    if params["threshold_cv"] is None:
        del params["threshold_cv"]
    if params["penalty"] == ClassifierParameters().penalty:
        params["penalty"] = AdditiveParameters().penalty
    if given.n_strengths is not None:
        params["n_strengths"] = given.n_strengths
    return AdditiveClassifier(**params, cv=given.cv, rule=given.rule)


def _of_curves(who: str, needs: str, got: str) -> ParameterError:
    todo, option = "Use {option}, or drop it.", Option("model", "additive")
    return ParameterError(who, needs=needs, got=got, todo=todo, option=option)


#: Kinds of models by name: what makes an unfitted classifier of encoded columns from parameters.
MODELS: dict[str, Callable[[TableParameters], MetricClassifier]] = {
    "linear": linear,
    "additive": additive,
}


class TableClassifier(ClassifierMixin, BaseEstimator, TableParameters):  # type: ignore[misc]
    """Classifier of a raw table of numbers, text, dates and missing values.

    Columns become numbers as `auctor.tables.read_table` makes them: numbers and truth values stay,
    text becomes a column of zeros and ones per category, dates the days since 1 January 1970. Then
    a `MetricClassifier` is trained on the metric, by default at the strength that
    `MetricClassifierCV` picks. ``auctor train`` does the same to files.

    Parameters
    ----------
    metric : str or loss object
        As in `MetricClassifier`.
    model : {"linear", "additive"}
        The kind of model that is trained on the encoded columns: `MetricClassifier`, or a curve for
        each column, `AdditiveClassifier`.
    n_bins, monotone, interactions
        Of curves, as in `AdditiveClassifier`; monotone columns are named as in the table, or as
        encoded ("city=Oslo").
    strength : "auto" or float >= 0
        Of the penalty; "auto" finds it by cross-validation.
    n_strengths, cv, rule
        Of that search, as in `MetricClassifierCV`.
    categorical : {"one_hot", "hash", "refuse"}
        What becomes of columns of text: a column of zeros and ones per category, or ``buckets``
        columns that its categories share by their hash.
    buckets : int
    missing : {"auto", "refuse", "mean", "median", "zero", "most_frequent", "keep"}
        What a missing number or date becomes; "auto" is the median, but curves keep it: they have a
        level for missing values. Missing text becomes the most frequent category, with "auto",
        "zero" and "keep" no category at all.
    drop, as_category, as_number : list of str, optional
        Columns to leave out, columns to take as categories even if they spell numbers, and columns
        of amounts, such as $1,200 or 45 %, to take as numbers.
    date : dict, optional
        Columns of dates and how they are written, as in `datetime.strptime`: "%d/%m/%Y".
    decimal : {".", ","}
        Decimal sign of numbers that are text; columns in ``as_number`` whose values have the other
        one are read by that.
    surrogate, penalty, l1_ratio, solver, standardise, fit_intercept, threshold, threshold_cv
        As in `MetricClassifier`.
    class_weight, calibrate, average, pos_label, tol, max_iter, max_seconds, n_threads, verbose
        As in `MetricClassifier`.
    random_state : int, optional
        As in `MetricClassifier`.
    warm_start : bool
        Start from the previous fit, where that had the same columns.

    Attributes
    ----------
    classes_, pos_label_, coef_, intercept_
        As in `MetricClassifier`; the coefficients are those of the encoded columns, which
        `get_feature_names_out` names.
    model_ : MetricClassifier or MetricClassifierCV
        The model of the encoded columns.
    schema_ : auctor.tables.Schema
        How columns become numbers.
    notes_ : list of str
        What was done to the table that may be worth knowing, each with the parameter that changes
        it: columns read as dates, ids, codes such as zip codes, columns that know the label.

    Notes
    -----
    At prediction, columns are found by name, in any order and among others; categories that `fit`
    has not seen become zeros, and missing values what they became in `fit`. Tables without names,
    such as arrays, go by position.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({
    ...     "age": [31, 45, None, 52, 28, 60] * 10,
    ...     "city": ["Oslo", "Rome", "Rome", None, "Oslo", "Rome"] * 10,
    ...     "bought": ["no", "yes", "yes", "yes", "no", "no"] * 10,
    ... })
    >>> model = TableClassifier("auc", strength=0.01).fit(table, "bought")
    >>> model.get_feature_names_out().tolist()
    ['age', 'city=Oslo', 'city=Rome']
    >>> model.predict(pd.DataFrame({"city": ["Oslo", "Bonn"], "age": [30, None]})).tolist()
    ['no', 'yes']
    """

    classes_: Array
    pos_label_: Any
    model_: MetricClassifier
    schema_: Schema
    notes_: list[str]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "refuse"
        tags.input_tags.categorical = tags.input_tags.string = self.categorical != "refuse"
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    @property
    def _who(self) -> str:
        return type(self).__name__

    def make_model(self, schema: Schema | None = None) -> MetricClassifier:
        """The unfitted model of the encoded columns; refuses parameters that `fit` would.

        With a schema, monotone columns are numbered as they are encoded.
        """
        kind = MODELS[known(self._who, "model", self.model, MODELS)]
        if isinstance(self.strength, str) and self.strength != "auto":
            raise ParameterError(
                self._who,
                needs="strength to be a number or 'auto'",
                got=f"{self.strength!r}",
                todo="Pass one of these.",
            )
        made = kind(self)
        made.check_parameters()
        if schema is not None and self.monotone is not None:
            signs = read_monotone(self._who, self.monotone, schema.feature_names, schema.n_features)
            made.set_params(monotone={int(j): int(signs[j]) for j in np.flatnonzero(signs)})
        return made

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit to a table.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array
        y : str or labels
            The name of the label column in X, or a label per row.
        sample_weight : array, optional
        groups : array, optional
            As in `MetricClassifier.fit`.
        """
        self.make_model()  # refuses what cannot be used before anything is read
        label = y if isinstance(y, str) else None
        frame = Frame(X, self._who, without=label, decimal=self.decimal)
        self._check_columns(X, frame, reset=True)
        labels = self._labels(X, y)
        notes: list[Note] = []
        options = ReadOptions(
            self._who,
            categorical=self.categorical,
            buckets=self.buckets,
            missing=self.missing_rule(),
            drop=self._listed("drop"),
            as_category=self._listed("as_category"),
            as_number=self._listed("as_number"),
            date=self._dates(),
            decimal=self.decimal,
            check=frame.named,
        )
        known = np.asarray(labels) if frame.named else None
        table = encode_table(frame, TABLE, options, np.float64, notes, known)
        model = self.make_model(table.schema)
        last = getattr(self, "model_", None)
        if self.warm_start and last is not None and self.schema_ == table.schema:
            model = last.set_params(**model.get_params(deep=False))
        model.fit(table.matrix, labels, sample_weight, groups)
        self.adopt(model, table.schema)
        self.notes_ = [str(note.warning(self._who)) for note in notes]
        for note in notes:
            if note.warns:
                warnings.warn(note.warning(self._who), stacklevel=2)
        return self

    def adopt(self, model: MetricClassifier, schema: Schema) -> Self:
        """Take over a fitted model of encoded columns and how they are encoded."""
        self.model_, self.schema_ = model, schema
        self.classes_, self.pos_label_ = model.classes_, model.pos_label_
        self.n_iter_ = model.n_iter_
        self.notes_ = []
        if not hasattr(self, "n_features_in_"):
            names = [column.name for column in schema.columns]
            self.n_features_in_ = len(names)
            self.feature_names_in_ = np.array(names, dtype=object)
        return self

    @property
    def coef_(self) -> FloatArray:
        """Weights of the encoded columns."""
        check_is_fitted(self)
        return self.model_.coef_

    @property
    def intercept_(self) -> FloatArray:
        """Fitted intercept minus the threshold."""
        check_is_fitted(self)
        return self.model_.intercept_

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the encoded columns; ``input_features`` is there for scikit-learn alone."""
        check_is_fitted(self)
        return np.array(self.schema_.feature_names, dtype=object)

    def encode(self, X: Any) -> Any:
        """The matrix of encoded columns, as the model sees them."""
        encoder, block = self._encoder(X)
        return encoder(block)

    def _encoder(self, X: Any) -> tuple[Encoder, Block]:
        """What encodes a table, and its rows."""
        check_is_fitted(self)
        frame = Frame(X, self._who, decimal=self.decimal)
        self._check_columns(X, frame, reset=False)
        encoder = Encoder(self.schema_, frame, TABLE, self._who)
        (block,) = frame.blocks(encoder.kinds)
        if not block.n_rows:
            raise DataError(
                self._who,
                needs="some rows",
                got="0 sample(s) (shape=(0, ...)) while a minimum of 1 is required",
                todo="Pass some data.",
            )
        return encoder, block

    def check(self, X: Any) -> list[str]:
        """What is worth knowing before a table is predicted: categories that `fit` did not see."""
        encoder, block = self._encoder(X)
        encoder(block)
        return [unseen_note(encoder.unseen, block.n_rows)] if encoder.unseen else []

    def decision_function(self, X: Any) -> FloatArray:
        """Scores minus the threshold: (n,) for two classes, else (n, n_classes)."""
        matrix = self.encode(X)
        return self.model_.decision_function(matrix)

    def predict(self, X: Any) -> Array:
        """Labels: by the threshold for two classes, the highest score for more."""
        matrix = self.encode(X)
        return self.model_.predict(matrix)

    @offered_if(wants_probabilities)
    def predict_proba(self, X: Any) -> FloatArray:
        """Calibrated probabilities, (n, n_classes)."""
        matrix = self.encode(X)
        found: FloatArray = self.model_.predict_proba(matrix)
        return found

    def score(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> float:
        """The metric, greater is better, as in `MetricClassifier`; y may name the label column."""
        matrix = self.encode(X)
        return self.model_.score(matrix, self._labels(X, y), sample_weight, groups)

    def to_model(self) -> LinearModel:
        """The fitted numbers as a model of encoded columns that predicts without scikit-learn."""
        check_is_fitted(self)
        return self.model_.to_model()

    # --- what a fit reads ---------------------------------------------------------------------

    def _listed(self, name: str) -> list[str]:
        """The columns that a parameter names; one of them may stand alone."""
        given = getattr(self, name)
        return [given] if isinstance(given, str) else list(given or ())

    def _dates(self) -> dict[str, str]:
        """How dates are written, by column."""
        if self.date is not None and not isinstance(self.date, Mapping):
            raise ParameterError(
                self._who,
                needs="date to map columns to patterns",
                got=f"{self.date!r}",
                todo="Pass such as {'sold': '%d/%m/%Y'}.",
            )
        return dict(self.date or {})

    def _labels(self, X: Any, y: Any) -> Any:
        """One label per row, from the column of that name where y is text."""
        return labels_of(X, y, self._who) if isinstance(y, str) else y

    def _check_columns(self, X: Any, frame: Frame, *, reset: bool) -> None:
        """Remember the columns of a fit; without names, refuse another number of columns."""
        if reset:
            self.n_features_in_ = len(frame.names)
            if hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            if frame.named:
                self.feature_names_in_ = np.array(frame.names, dtype=object)
        elif not frame.named:
            try:
                validate_data(self, np.asarray(X), reset=False, skip_check_array=True)
            except ValueError as error:
                raise DataError(f"{sentence(error)}. Pass the columns used in fit.") from error
            except TypeError as error:
                raise DataTypeError(f"{error} Rename the columns.") from error
