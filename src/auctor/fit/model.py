"""Fitted linear models: coefficients and prediction, without scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from auctor.core.errors import DataError, speaks
from auctor.core.types import Array, FloatArray, Target
from auctor.data import as_matrix
from auctor.data.coerce import feature_names, stored
from auctor.fit.class_scores import ClassScores
from auctor.fit.reasons import ColumnRanges, Reasons, linear_reasons
from auctor.fit.registry import resolve_loss
from auctor.fit.solve import linear_scores
from auctor.tables.schema import Column, Schema

#: The simplest kind of model.
LINEAR = "linear"


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearBase:
    """Base of linear models: coefficients, and checks that the columns are those of the fit.

    Parameters
    ----------
    coef : (k, d) array
        Weights of the columns, one row for each of k scores.
    intercept : (k,) array
        For a classifier the fitted intercept minus ``threshold``.
    feature_names : tuple of str, optional
        Names of the columns, if the training data had names.
    schema : dict, optional
        How the columns of a table become those of the model: `auctor.tables.Schema.to_json`.
    ranges : ColumnRanges, optional
        Of the training rows; `reasons` of a linear model needs them.
    """

    coef: FloatArray
    intercept: FloatArray
    feature_names: tuple[str, ...] | None = None
    schema: dict[str, Any] | None = None
    n_threads: int | None = None
    ranges: ColumnRanges | None = None

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.coef.shape[1])

    @property
    def n_used(self) -> int:
        """Number of columns with a non-zero weight."""
        return int(np.count_nonzero(np.abs(self.coef).max(axis=0)))

    @property
    def sign(self) -> float:
        """Factor that turns scores into those of the positive one of two classes; else 1."""
        return 1.0

    @speaks
    def scores(self, X: Any) -> FloatArray:
        """``X @ coef.T + intercept``, shape (n, k)."""
        data = stored(self.matrix_of(X), Target(np.empty(0)), n_threads=self.n_threads)
        return linear_scores(data, self.coef, self.intercept)

    def matrix_of(self, X: Any) -> Any:
        """The matrix of X; raises unless its columns are those of the fit."""
        matrix = as_matrix(X)
        if matrix.shape[1] != self.n_features:
            raise DataError(f"{self.n_features} columns; got {matrix.shape[1]}. Pass those of fit.")
        names = feature_names(X)
        if names is not None and self.feature_names not in (None, tuple(names)):
            raise DataError(
                "the columns used in fit, in their order; got other names, such as "
                f"{_first_other(names, self.feature_names)!r}. Select the columns by name first."
            )
        return matrix

    @property
    def table_columns(self) -> tuple[Column, ...]:
        """The columns of the table: those of the schema, or numbers x0, x1 and so on."""
        if self.schema is not None and self.schema["columns"]:
            return Schema.from_json(self.schema).columns
        names = self.feature_names or (f"x{j}" for j in range(self.n_features))
        return tuple(Column(name, "number") for name in names)

    @speaks
    def reasons(
        self,
        X: Any,
        k: int = 4,
        *,
        baseline: str = "mean",
        texts: Mapping[str, str] = MappingProxyType({}),
    ) -> Reasons:
        """The k columns, or pairs, that raise the score of each row most above a baseline.

        Parameters
        ----------
        k : int
            Ties go to the column that comes first.
        baseline : {"mean", "best"}
            "mean" compares with the mean of the training rows, "best" with the lowest score that
            the columns can give, each for itself, at values of training rows: the best score that
            can be attained where the positive class is the bad event, as in notices of adverse
            action.
        texts : mapping, optional
            Texts of columns and pairs, by name.

        Returns
        -------
        Reasons
            Names, values and parts; the score of the baseline and all parts sum to the score.
        """
        return self.reasons_in(self.matrix_of(X), k, baseline, texts)

    def reasons_in(self, matrix: Any, k: int, baseline: str, texts: Mapping[str, str]) -> Reasons:
        """The `reasons` of the rows of a matrix, which has the columns of the fit."""
        if self.coef.shape[0] > 1:
            raise DataError(
                f"one score for reasons; got {self.coef.shape[0]} classes. Fit one class against "
                "the rest."
            )
        return self._parts(matrix, (k, baseline, texts, self.n_threads))

    def _parts(self, matrix: Any, how: tuple[Any, ...]) -> Reasons:
        coef, intercept = self.sign * self.coef[0], self.sign * float(self.intercept[0])
        return linear_reasons(matrix, coef, intercept, self.ranges, self.table_columns, *how)


def model_of(fitted: Any) -> Any:
    """The model of an estimator; a model is its own."""
    inner = getattr(fitted, "model_", fitted)
    return fitted if inner is fitted else model_of(inner)


def _first_other(names: Sequence[str], wanted: tuple[str, ...] | None) -> str:
    """The first name that differs from the wanted one."""
    pairs = zip(names, wanted or (), strict=False)
    return next((name for name, other in pairs if name != other), "")


@dataclass(frozen=True, eq=False, kw_only=True)
class RegressionModel(LinearBase):
    """A fitted linear regression.

    Parameters
    ----------
    loss : str or loss object
        Its inverse link turns scores into predictions.
    coef, intercept, feature_names, schema, n_threads
        As in `LinearBase`, with one score.
    """

    loss: Any = "squared"

    @speaks
    def predict(self, X: Any) -> FloatArray:
        """Predicted target."""
        return resolve_loss(self.loss).response(self.scores(X).ravel())


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearModel(ClassScores, LinearBase):
    """A fitted linear classifier: scores, labels, probabilities and the metric it was trained for.

    Parameters
    ----------
    classes, threshold, calibrators, positive, metric, surrogate, average
        As in `ClassScores`; the threshold is subtracted from the intercept.
    coef, intercept, feature_names, schema, n_threads
        As in `LinearBase`; k is 1 for two classes, else the number of classes.

    Examples
    --------
    >>> import numpy as np
    >>> model = LinearModel(
    ...     coef=np.array([[1.0, -1.0]]),
    ...     intercept=np.array([-0.5]),
    ...     classes=np.array(["no", "yes"]),
    ...     threshold=np.array([0.5]),
    ... )
    >>> model.predict([[2.0, 0.0], [0.0, 2.0]]).tolist()
    ['yes', 'no']
    """

    @property
    def kind(self) -> str:
        """The kind of model: "linear", "curves" or "curves with pairs"."""
        return LINEAR

    @speaks
    def decision_function(self, X: Any) -> FloatArray:
        """Scores minus the threshold: (n,) for two classes, else (n, n_classes)."""
        scores = self.scores(X)
        return scores.ravel() if self.binary else scores

    @speaks
    def predict(self, X: Any) -> Array:
        """Labels: by the threshold for two classes, by the highest score for more."""
        return self.labels_at(self.decision_function(X))

    @speaks
    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes, (n, n_classes)."""
        return self.probabilities_at(self.decision_function(X))

    @speaks
    def score(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> float:
        """The metric, greater is better; see `score_at`."""
        return self.score_at(self.decision_function(X), np.asarray(y), sample_weight, groups)
