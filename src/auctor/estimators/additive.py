"""Additive models: a curve for each column, trained on the metric you report."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from auctor.core.checks import check_int
from auctor.core.errors import DataError, DataTypeError
from auctor.core.types import FloatArray, IntArray, Target
from auctor.estimators.base import LinearEstimator, tell
from auctor.estimators.classifier import MetricClassifier
from auctor.estimators.regressor import LinearRegressor
from auctor.estimators.search import splits_of
from auctor.training.additive import (
    AdditiveParameters,
    AdditiveRegressorParameters,
    check_additive,
    check_additive_regressor,
)
from auctor.training.additive_model import (
    AdditiveModel,
    AdditiveRegressionModel,
    TrainedCurves,
    curve_of,
    odds_slope,
    read_values,
    train_additive,
    train_additive_regressor,
)
from auctor.training.bins import Bins
from auctor.training.parameters import parameters_of
from auctor.training.scorecard import Scorecard, card_points, make_scorecard
from auctor.training.train import Trained, unconverged

#: Shares of the bootstrap curves between which a band lies: 95 % of them.
BAND = (0.025, 0.975)


class _Curves(LinearEstimator):
    """What additive classifiers and regressors share."""

    bins_: Bins
    signs_: IntArray
    strength_: float
    odds_slope_: float

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _read(self, X: Any, *, reset: bool) -> Any:
        """The matrix of a table, missing values allowed."""
        if not reset:
            check_is_fitted(self)
        matrix = read_values(X, self._who)
        try:
            validate_data(
                self, X if hasattr(X, "shape") else matrix, reset=reset, skip_check_array=True
            )
        except ValueError as error:
            message = " ".join(str(error).split())
            raise DataError(f"{message} Pass the columns used in fit.") from error
        except TypeError as error:
            raise DataTypeError(f"{error} Rename the columns.") from error
        return matrix

    def _keep_curves(self, found: TrainedCurves) -> None:
        self.bins_, self.signs_ = found.model.bins, found.model.signs
        self.strength_ = found.strength
        for name in ("strengths_", "scores_"):
            if hasattr(self, name):
                delattr(self, name)
        if found.strengths is not None and found.scores is not None:
            self.strengths_, self.scores_ = found.strengths, found.scores

    @property
    def names_(self) -> list[str]:
        """Names of the columns, then of the pairs, in the order of `explain`."""
        names = list(self._feature_names() or [f"x{j}" for j in range(len(self.bins_.columns))])
        return names + [f"{names[p.first]} x {names[p.second]}" for p in self.bins_.pairs]

    def curve(self, column: str | int, score: int = 0) -> tuple[FloatArray, FloatArray]:
        """Values of a column, one per bin, and what the column adds to the score there.

        Contributions are less their mean over the training rows.

        Parameters
        ----------
        column : name or number
        score : int
            Which class, where there are more than two.
        """
        check_is_fitted(self)
        j = self._column(column)
        bins = self.bins_.columns[j]
        level = curve_of(self.to_model(), j, score)
        return bins.middle + bins.scale * bins.line[1:], level[1:]

    def _column(self, column: str | int) -> int:
        names = self.names_[: len(self.bins_.columns)]
        if isinstance(column, str) and column in names:
            return names.index(column)
        if not isinstance(column, str) and 0 <= int(column) < len(names):
            return int(column)
        raise DataError(
            self._who,
            needs="a column of the model",
            got=f"{column!r}",
            todo=f"Columns: {', '.join(names[:10])}.",
        )

    def curve_bands(
        self, X: Any, y: Any, *, repeats: int = 20, score: int = 0
    ) -> dict[int, FloatArray]:
        """Bands of the curves: between which 95 % of those of bootstrap samples lie.

        Each of the ``repeats`` samples of the rows is fitted at the strength of this model.

        Returns
        -------
        dict from the number of a column to an array (2, m), for the m values of `curve`
        """
        check_is_fitted(self)
        check_int(self._who, "repeats", repeats, low=2)
        rng = np.random.default_rng(0 if self.random_state is None else self.random_state)
        n = len(y)
        found: dict[int, list[FloatArray]] = {j: [] for j in range(len(self.bins_.columns))}
        for _ in range(repeats):
            times = rng.multinomial(n, np.full(n, 1.0 / n)).astype(np.float64)
            other = clone(self).set_params(strength=self.strength_, warm_start=False)
            other.fit(X, y, sample_weight=times)
            tables = other.bins_.tables(np.atleast_2d(other.coef_)[score])
            for j, curves in found.items():
                values = self.curve(j)[0]
                table, bins = tables[j], other.bins_.columns[j]
                curves.append(table[bins.codes(values)] - float(bins.share @ table))
        return {j: np.quantile(np.array(curves), BAND, axis=0) for j, curves in found.items()}

    def explain(self, X: Any) -> FloatArray:
        """What each column and pair adds to the score of each row of X.

        Contributions are less their mean over the training rows, so that they say why a row scores
        more or less than the average one. ``names_`` has what the columns of the result are.

        Returns
        -------
        array of shape (n, columns and pairs), with a third axis for more than two classes
        """
        parts: FloatArray = self.to_model().explained(self._read(X, reset=False))
        return parts[:, :, 0] if parts.shape[2] == 1 else parts


class AdditiveClassifier(_Curves, AdditiveParameters, MetricClassifier):
    """Additive classifier that minimises a surrogate of the chosen metric.

    The score of a row is a sum of curves, one for each column: a straight line plus jumps between
    bins, and a level for missing values. A strong penalty leaves the lines, a weaker one bends
    them. The model is linear in lines and jumps, so that everything that holds for
    `MetricClassifier` holds here: all metrics, weights, groups and certified gaps.

    Parameters
    ----------
    metric : str or loss object
        As in `MetricClassifier`.
    n_bins : int in [2, 254]
        Bins of a column, by quantiles of its weighted values; a column with fewer distinct values
        keeps them all. Values outside the range of the training rows are in the end bins.
    penalty : {"fused", "group", "smooth"}
        "fused" is l1 on the jumps, the total variation of a curve: few jumps. "group" drops whole
        columns. "smooth" is a ridge on the jumps.
    strength : "auto" or float >= 0
        Multiplier of the penalty. "auto" picks it by the metric on ``cv`` folds.
    monotone : dict, optional
        Direction of some columns by name or number: ``{"age": 1, "income": -1}``; or one of
        -1, 0 and 1 per column. Such curves never go the other way. Two classes only.
    interactions : int >= 0
        Pairs of columns to add: those whose cells would lower the loss most. Monotone columns take
        no part.
    n_strengths : int
        Strengths that "auto" tries.
    cv : int >= 2
        Folds of "auto".
    rule : {"best", "one_se"}
        As in `MetricClassifierCV`.
    surrogate : str
        As in `MetricClassifier`, but that "auto" is a smooth loss wherever the metric has one.
    solver, fit_intercept, threshold, threshold_cv, class_weight, calibrate, average, tol, max_iter
        As in `MetricClassifier`.
    max_seconds, n_threads, warm_start, random_state, verbose
        As in `MetricClassifier`.

    Attributes
    ----------
    bins_ : Bins
        The bins of columns and pairs.
    coef_ : (1, p) array, or (n_classes, p)
        Weights of lines, jumps, missing values and cells.
    strength_ : float
    odds_slope_ : float
        Log-odds for a score more of 1, with two classes; the scale of `scorecard`.
    strengths_, scores_ : arrays
        What "auto" tried, decreasing, and the scores by fold.
    classes_, intercept_, threshold_, gap_, n_iter_, solution_
        As in `MetricClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor import AdditiveClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = np.abs(X[:, 0]) + 0.3 * rng.normal(size=500) > 1.2
    >>> model = AdditiveClassifier(n_bins=16, n_strengths=5, cv=3).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> values, level = model.curve(0)
    >>> bool(level[0] > level[len(level) // 2])
    True
    """

    def check_parameters(self) -> None:
        """Raise ``ParameterError`` for parameters that `fit` would refuse."""
        check_additive(self._who, self)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit to rows X, in which values may be missing, and labels y.

        Parameters are those of `MetricClassifier.fit`.
        """
        self.check_parameters()
        rows = self._rows(X, y, sample_weight, groups)
        given = parameters_of(AdditiveParameters, self)
        found = train_additive(
            self._who,
            given,
            rows,
            self._feature_names(),
            self._previous(),
            splits_of(self._who, self.cv, rows.labels, rows.groups, classifier=True),
        )
        self._keep(Trained(found.model, found.solutions, found.warnings))
        self._keep_curves(found)
        if hasattr(self, "odds_slope_"):
            del self.odds_slope_
        if self.classes_.size == 2:
            self.odds_slope_ = odds_slope(found.model, rows)
        searched = found.strengths is not None
        tell(([] if searched else unconverged(found.solutions)) + found.warnings)
        return self

    def scorecard(
        self,
        points_to_double_odds: float = 20.0,
        base: float = 600.0,
        *,
        rounded: bool = True,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
    ) -> Scorecard:
        """The model as a table of points, for two classes.

        Parameters
        ----------
        points_to_double_odds : float > 0
            Points more for which the odds of the positive class double.
        base : float
            Points of a row at the threshold, where the decision value is 0.
        rounded : bool
            Whole numbers, so that neighbouring ranges with equal points become one. Otherwise
            points are an exact straight line of the decision value.
        X, y, sample_weight : rows, labels and weights, optional
            Rows on which the loss of the metric by rounding is measured.
        """
        check_is_fitted(self)
        model = self.to_model()
        names = self.names_[: len(self.bins_.columns)]
        card = make_scorecard(
            model,
            names,
            getattr(self, "odds_slope_", 1.0),
            points_to_double_odds=points_to_double_odds,
            base=base,
            rounded=rounded,
        )
        if X is None or y is None:
            return card
        matrix = self._read(X, reset=False)
        labels = self._read_target(y, matrix.shape[0])
        decision = model.decision_function(matrix)
        points = (card_points(card, model.bins, names, matrix) - base) / card.factor
        pair = tuple(model.score_at(s, labels, sample_weight) for s in (decision, points))
        return replace(card, metric=(pair[0], pair[1]))

    def to_model(self) -> AdditiveModel:
        """The fitted curves as a model that predicts without scikit-learn."""
        linear = super().to_model()
        return AdditiveModel(bins=self.bins_, signs=self.signs_, **vars(linear))


class AdditiveRegressor(_Curves, AdditiveRegressorParameters, LinearRegressor):
    """Additive regression: a curve for each column, fitted by a chosen loss.

    Parameters
    ----------
    loss : str or loss object
        As in `LinearRegressor`.
    n_bins, penalty, strength, monotone, interactions, n_strengths, cv
        As in `AdditiveClassifier`; "auto" picks the strength by the loss of held-out rows.
    rule, solver, fit_intercept, tol, max_iter, max_seconds, n_threads, warm_start, random_state
        As in `AdditiveClassifier`.
    verbose : int
        As in `LinearRegressor`.

    Attributes
    ----------
    bins_, coef_, intercept_, strength_, gap_, n_iter_, solution_
        As in `AdditiveClassifier`, for one score.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor import AdditiveRegressor
    >>> X = np.linspace(-1, 1, 300)[:, None]
    >>> y = np.abs(X[:, 0])
    >>> AdditiveRegressor(n_strengths=5, cv=3).fit(X, y).score(X, y) > 0.95
    True
    """

    def check_parameters(self) -> None:
        """Raise ``ParameterError`` for parameters that `fit` would refuse."""
        check_additive_regressor(self._who, self)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X, in which values may be missing, and numbers y."""
        self.check_parameters()
        matrix = self._read(X, reset=True)
        n = matrix.shape[0]
        target = Target(self._read_numbers(y, n), self._read_weight(sample_weight, n))
        given = parameters_of(AdditiveRegressorParameters, self)
        found = train_additive_regressor(
            self._who,
            given,
            matrix,
            target,
            self._feature_names(),
            getattr(self, "solution_", None),
            splits_of(self._who, self.cv, target.y, classifier=False),
        )
        self.solution_ = found.solutions[0]
        self.coef_, self.intercept_ = self.solution_.coef, self.solution_.intercept
        self.gap_, self.n_iter_ = self.solution_.gap, self.solution_.n_iter
        self._keep_curves(found)
        tell(unconverged([self.solution_]))
        return self

    def to_model(self) -> AdditiveRegressionModel:
        """The fitted curves as a model that predicts without scikit-learn."""
        return AdditiveRegressionModel(
            bins=self.bins_,
            signs=self.signs_,
            coef=self.coef_[None, :],
            intercept=np.array([self.intercept_]),
            feature_names=self._feature_names(),
            loss=self.loss,
            n_threads=self.n_threads,
            who=self._who,
        )
