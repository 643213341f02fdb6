"""A classifier for raw tables, which does what ``auctor train`` does to files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from auctor.additive.parameters import log_loss_trained
from auctor.core.checks import named_parameters
from auctor.core.errors import DataError, speaks, warn
from auctor.core.types import Array, FloatArray
from auctor.data.coerce import refuse_swapped
from auctor.fit.calibrate import log_odds
from auctor.fit.model import model_of
from auctor.fit.parameters import parameters_of
from auctor.fit.reasons import Reasons
from auctor.fit.result import ClassifierResult
from auctor.fit.train_model import kind_for, train_model
from auctor.linear.choose import AutoParameters
from auctor.linear.estimators.base import check_columns
from auctor.linear.estimators.classifier import MetricClassifier, check_has_probabilities
from auctor.linear.estimators.table_blocks import fit_blocks
from auctor.linear.estimators.table_curves import TableCurves
from auctor.linear.from_model import as_estimator, unfitted
from auctor.linear.offered import offered_if
from auctor.linear.table_parameters import TableParameters, model_parameters
from auctor.tables.arrow import ArrowFile
from auctor.tables.blocks import Block
from auctor.tables.encode import Encoder
from auctor.tables.frame import labels_of, table_in_memory
from auctor.tables.gather import gathered
from auctor.tables.infer import Note
from auctor.tables.lost import lost_warnings, refuse_lost
from auctor.tables.options import ReadOptions
from auctor.tables.read import encode_table
from auctor.tables.schema import Schema

#: Arguments of `fit` whose columns are no columns of the model.
ASIDE = ("sample_weight", "groups", "apart", "times")
#: Name, in messages, of a table without a file name.
TABLE = "the table"


@named_parameters
@dataclass(eq=False, repr=False)
class TableClassifier(TableCurves, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifier of a raw table of numbers, text, dates and missing values.

    Columns are encoded as in `auctor.tables.read_table`: numbers and booleans stay, text becomes a
    column of zeros and ones per category, dates become days since 1 January 1970. Then a
    `MetricClassifier` is trained on the metric, by default with the strength that
    `MetricClassifierCV` picks. ``auctor train`` does the same to files.

    Parameters
    ----------
    metric : str or loss object
        As in `MetricClassifier`.
    model : {"auto", "linear", "additive"}
        The model of the encoded columns: `MetricClassifier`, or `AdditiveClassifier` with a curve
        for each column. With "auto" a linear model, curves, and curves with pairs of columns are
        compared by the metric on the same folds, and the simplest is taken whose lag behind the
        best is at most one standard error, and in AUC at most two. A parameter that only one of
        the two has decides, such as ``penalty`` and ``strength`` for linear models, ``monotone``
        for curves.
    n_bins, monotone, shape, cuts, interactions, exclude, members
        Parameters of `AdditiveClassifier`. Columns have their names in the table, or those of the
        encoded columns ("city=Oslo").
    strength : "auto" or float >= 0
        Multiplier of the penalty; "auto" picks it by cross-validation.
    n_strengths, cv, rule
        Parameters of that search, as in `MetricClassifierCV`.
    reading : ReadOptions, optional
        How to read the columns: which to ``drop``, which text is a category, an amount or a date,
        the encoding of categories, and what missing and unreadable values become. By default
        missing numbers and dates are the median for linear models; additive models keep missing
        values, which have a parameter of their own; missing text has no category.
    surrogate, penalty, l1_ratio, solver, standardise, fit_intercept, threshold, threshold_cv
        As in `MetricClassifier`.
    class_weight, calibrate, prior, average, pos_label, tol, max_iter, max_seconds, n_threads
        As in `MetricClassifier`.
    verbose
        As in `MetricClassifier`.
    random_state : int, optional
        As in `MetricClassifier`.
    warm_start : bool
        Start from the previous fit if it had the same columns.

    Attributes
    ----------
    classes_, pos_label_, coef_, intercept_
        As in `MetricClassifier`; the coefficients are those of the encoded columns, which
        `get_feature_names_out` names.
    model_ : MetricClassifier or MetricClassifierCV
        The model of the encoded columns.
    schema_ : auctor.tables.Schema
        The encoding of the columns.
    model_kind_ : {"linear", "curves", "curves with pairs"}
        The kind of model that was fitted.
    candidate_scores_ : dict
        With "auto": the metric on the held-out rows of each fold, for each kind of model.
    fold_scores_ : array
        The same for the model that was fitted, where its fit had folds.
    names_, importances_
        Of additive models, as in `AdditiveClassifier`.
    notes_ : list of str
        Remarks on how the table was read, each with the parameter that changes it: columns read as
        dates, identifiers, codes such as zip codes, columns that give the label away.

    Notes
    -----
    At prediction, columns are found by name; their order and further columns do not matter.
    Categories that did not occur in `fit` become zeros, and missing values are imputed as in
    `fit`. In tables without names, such as arrays, columns are found by position.

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

    metric: Any = "auc"
    _: KW_ONLY
    model: str = "auto"
    surrogate: str = "auto"
    penalty: Any = "l2"
    strength: Any = "auto"
    l1_ratio: float | None = None
    n_strengths: int | None = None
    cv: Any = 5
    rule: str = "best"
    n_bins: int | None = None
    monotone: Any = None
    shape: Any = None
    cuts: Any = None
    interactions: Any = "auto"
    exclude: Any = None
    members: int = 8
    solver: Any = "auto"
    fit_intercept: bool = True
    standardise: bool | str = "auto"
    threshold: float | str = "auto"
    threshold_cv: int | None = None
    class_weight: Any = None
    calibrate: str | None = None
    prior: float | None = None
    average: str = "macro"
    pos_label: Any = None
    reading: ReadOptions | None = None
    tol: float = 1e-4
    max_iter: int = 1000
    max_seconds: float | None = None
    n_threads: int | None = None
    warm_start: bool = False
    random_state: Any = None
    verbose: int = 0

    model_: MetricClassifier = field(init=False)
    schema_: Schema = field(init=False)
    notes_: list[str] = field(init=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        reading = self._reading()
        tags.input_tags.allow_nan = reading.missing != "refuse"
        tags.input_tags.categorical = tags.input_tags.string = reading.categorical != "refuse"
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    @property
    def gives_log_odds(self) -> bool:
        """Whether scores are log-odds, so that there are probabilities without calibration."""
        if hasattr(self, "model_"):
            return bool(self.model_.gives_log_odds)
        params = parameters_of(TableParameters, self)
        curves = params.kind_of_model == "additive" and log_loss_trained(params)
        return curves or log_odds(self.metric, None)

    @speaks
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, **facts: Any
    ) -> Self:
        """Fit to a table.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, array, or path
            The path of a file with columns, or of a folder of Parquet files, is read in blocks, so
            that it may be larger than memory; the model then has curves.
        y : str or labels
            The name of the label column in X, or a label per row.
        sample_weight : array, optional
        groups : array, optional
            As in `MetricClassifier.fit`.
        **facts
            ``apart``, ``times``, ``gap``, ``cost_fp`` and ``cost_fn`` of `MetricClassifier.fit`.

        Notes
        -----
        Weights, groups, times and costs may be names of columns of X. These are no columns of the
        model, except those of costs, such as an amount.
        """
        params = parameters_of(TableParameters, self)
        model_parameters(params)  # raises for invalid parameters before anything is read
        facts |= {"sample_weight": sample_weight, "groups": groups}
        if isinstance(X, str | os.PathLike):
            found, schema, notes = fit_blocks(params, X, y, facts)
            if hasattr(self, "n_features_in_"):
                del self.n_features_in_
            self.adopt(found, schema)
            return self._noted(notes)
        refuse_swapped(X, y)
        label = y if isinstance(y, str) else None
        aside = [name for role, name in facts.items() if isinstance(name, str) and role in ASIDE]
        facts = {k: labels_of(X, v) if isinstance(v, str) else v for k, v in facts.items()}
        reading = self._reading()
        dropped = [reading.drop] if isinstance(reading.drop, str) else list(reading.drop)
        reading = replace(reading, drop=(*dropped, *dict.fromkeys(aside)))
        frame = table_in_memory(X, reading, without=label)
        self._check_columns(X, frame, reset=True)
        labels = self._labels(X, y)
        notes = []
        options = replace(reading, check=frame.named)
        # Labels are only for remarks on columns that give them away, in tables with names.
        known = np.asarray(labels) if frame.named else None
        table = encode_table(frame, TABLE, options, np.float64, notes, known)
        made = model_parameters(params, table.schema)
        schema, inputs = table.schema, (table.matrix, labels)
        if isinstance(made, AutoParameters):
            rows, start = unfitted(made.curves()).inputs(*inputs, **facts)
            plan = kind_for(made).choose(made, rows, schema, start)
            result = train_model(plan.params, plan.rows, plan.options)
            model, schema = as_estimator(result).take(result), plan.schema
        else:
            model = unfitted(made)
            # A warm start needs the same encoded columns.
            last = getattr(self, "model_", None)
            if self.warm_start and last is not None and self.schema_ == schema:
                model = last.set_params(**model.get_params(deep=False))
            model.fit(*inputs, **facts)
        self.adopt(model, schema)
        return self._noted(notes)

    def _noted(self, notes: Sequence[Note]) -> Self:
        """Keep remarks on how a table was read, and warn of some."""
        self.notes_ = [str(note.warning()) for note in notes]
        for note in notes:
            if note.warns:
                warn(note.warning())
        return self

    @speaks
    def adopt(self, model: MetricClassifier, schema: Schema) -> Self:
        """Use a fitted model of encoded columns and the schema that encodes them."""
        self.model_, self.schema_, self.notes_ = model, schema, []
        if not hasattr(self, "n_features_in_"):  # a model from a file, without a fit
            names = [column.name for column in schema.columns]
            self.n_features_in_ = len(names)
            self.feature_names_in_ = np.array(names, dtype=object)
        return self

    @property
    def classes_(self) -> Array:
        """Labels in increasing order."""
        check_is_fitted(self)
        return self.model_.classes_

    @property
    def pos_label_(self) -> Any:
        """The positive one of two classes; ``None`` for several."""
        check_is_fitted(self)
        return self.model_.pos_label_

    @property
    def model_kind_(self) -> str:
        """The kind of model that was fitted: "linear", "curves" or "curves with pairs"."""
        check_is_fitted(self)
        return self.model_.model_.kind

    @property
    def candidate_scores_(self) -> dict[str, FloatArray]:
        """The metric on the held-out rows of each fold, for each kind that competed."""
        choice = self._result().choice
        if choice is None:
            raise AttributeError("candidate_scores_ is that of a fit with model='auto'")
        return dict(zip(choice.names, choice.scores, strict=True))

    @property
    def fold_scores_(self) -> FloatArray:
        """The metric on the held-out rows of each fold, for the model that was fitted."""
        scores = self._result().fold_scores
        if scores is None:
            raise AttributeError("fold_scores_ is that of a fit with folds")
        return scores

    def _result(self) -> ClassifierResult:
        """The result of the last fit."""
        check_is_fitted(self)
        return self.model_.result_

    @property
    def n_iter_(self) -> int:
        """Largest number of iterations over the problems."""
        check_is_fitted(self)
        return self.model_.n_iter_

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

    @speaks
    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the encoded columns; ``input_features`` is ignored, for scikit-learn's API."""
        check_is_fitted(self)
        return np.array(self.schema_.feature_names, dtype=object)

    @speaks
    def encode(self, X: Any) -> Any:
        """The matrix of encoded columns, the input of ``model_``.

        A `DataWarning` counts dates and amounts that cannot be read, and columns whose categories
        are all unknown; with ``ReadOptions(unreadable="refuse")`` they are a `DataError`.
        """
        encoder, block = self._encoder(X)
        encoder.refuses = self._reading().unreadable == "refuse"
        matrix = encoder(block)
        if encoder.refuses:
            refuse_lost(encoder.lost, TABLE)
        for warning in lost_warnings(encoder.lost, block.n_rows, unseen=False):
            warn(warning)
        return matrix

    def _encoder(self, X: Any) -> tuple[Encoder, Block]:
        """The encoder of a table and the block of its rows; raises without rows."""
        check_is_fitted(self)
        reading = self._reading()
        frame = table_in_memory(X, reading)
        self._check_columns(X, frame, reset=False)
        encoder = Encoder(self.schema_, frame, TABLE)
        block = gathered(frame, encoder.kinds, reading)
        if not block.n_rows:
            raise DataError(
                "some rows; got 0 sample(s) (shape=(0, ...)) while a minimum of 1 is required. "
                "Pass some data."
            )
        return encoder, block

    @speaks
    def check(self, X: Any) -> list[str]:
        """Remarks on a table before prediction: values that the model cannot use.

        These are dates and amounts that cannot be read, and categories that did not occur in `fit`.
        """
        encoder, block = self._encoder(X)
        encoder(block)
        return [str(one) for one in lost_warnings(encoder.lost, block.n_rows)]

    @speaks
    def decision_function(self, X: Any) -> FloatArray:
        """Scores minus the threshold: (n,) for two classes, else (n, n_classes)."""
        matrix = self.encode(X)
        return self.model_.decision_function(matrix)

    @speaks
    def predict(self, X: Any) -> Array:
        """Labels: by the threshold for two classes, by the highest score for more."""
        matrix = self.encode(X)
        return self.model_.predict(matrix)

    @offered_if(check_has_probabilities)
    @speaks
    def predict_proba(self, X: Any) -> FloatArray:
        """Calibrated probabilities, (n, n_classes)."""
        matrix = self.encode(X)
        shares: FloatArray = self.model_.predict_proba(matrix)
        return shares

    @speaks
    def score(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> float:
        """The metric, greater is better, as in `MetricClassifier.score`.

        y may be the name of the label column in X.
        """
        matrix = self.encode(X)
        return self.model_.score(matrix, self._labels(X, y), sample_weight, groups)

    @speaks
    def reasons(
        self,
        X: Any,
        k: int = 4,
        *,
        baseline: str = "mean",
        texts: Mapping[str, str] = MappingProxyType({}),
    ) -> Reasons:
        """The k columns of the table, or pairs, that raise the score of each row most.

        Parameters and result are those of `MetricClassifier.reasons`; a column of text counts as a
        whole, and its values are words.
        """
        matrix = self.encode(X)
        model = replace(model_of(self), schema=self.schema_.to_json())
        reasons: Reasons = model.reasons_in(matrix, k, baseline, texts)
        return reasons

    def _reading(self) -> ReadOptions:
        """How to read a table."""
        return parameters_of(TableParameters, self).read_options()

    # --- inputs of a fit ----------------------------------------------------------------------

    def _labels(self, X: Any, y: Any) -> Any:
        """One label per row, from the column of that name where y is text."""
        return labels_of(X, y) if isinstance(y, str) else y

    def _check_columns(self, X: Any, frame: ArrowFile, *, reset: bool) -> None:
        """Store the columns of a fit; later, without names, check the number of columns."""
        if reset:
            self.n_features_in_ = len(frame.names)
            if hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            if frame.named:
                self.feature_names_in_ = np.array(frame.names, dtype=object)
        elif not frame.named:
            check_columns(self, np.asarray(X), reset=False)
