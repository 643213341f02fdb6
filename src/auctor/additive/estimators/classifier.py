"""Additive models: a curve for each column, trained on the metric you report."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from auctor.additive.estimators.curves import CurveEstimator
from auctor.additive.model import AdditiveModel
from auctor.additive.offset import read_offset
from auctor.additive.parameters import AdditiveParameters, log_loss_trained
from auctor.additive.rounding import JUDGED_ROWS, RoundingJudge
from auctor.additive.scorecard import Scorecard, card_points, make_scorecard
from auctor.core.checks import named_parameters
from auctor.core.errors import DataError, speaks
from auctor.core.types import FloatArray, IntArray
from auctor.fit.metric import resolve_metric
from auctor.fit.parameters import parameters_of
from auctor.fit.result import FitOptions
from auctor.fit.surrogate import BEST
from auctor.fit.targets import Rows, read_groups
from auctor.linear.estimators.base import OfFit, read_target, read_weight, taken
from auctor.linear.estimators.classifier import MetricClassifier
from auctor.linear.estimators.search import splits_of


@named_parameters
@dataclass(eq=False, repr=False)
class AdditiveClassifier(CurveEstimator, MetricClassifier):
    """Classifier with a curve for each column and maps of pairs, for the metric that you report.

    The score of a row is a sum of curves, one for each column, and of maps, one for each of some
    pairs of columns. A curve is a straight line plus jumps between bins, and a constant for missing
    values. Each member of the model is the solution of one convex problem on the rows of all folds
    but one, with a certified gap; the model is the mean of the members. The rows that a member
    leaves out choose the strengths and the threshold, say whether pairs help, and give an honest
    estimate of the metric.

    Parameters
    ----------
    metric : str or loss object
        What is reported, as in `MetricClassifier`: it decides the threshold and `score_oof_`. A
        loss object is minimised itself.
    surrogate : str
        The loss that is minimised. "auto" is the log-loss, jointly for several classes, so that
        scores are log-odds; other surrogates are those of `MetricClassifier`. "best" fits members
        by the log-loss and by the metric's own smooth surrogate, and takes the latter if the metric
        of held-out rows is better by more than one standard error.
    interactions : "auto", int >= 0, or list of pairs
        The pairs of columns: at most three per column, if they lower the loss of held-out rows; the
        best ones of a number; or pairs of names or numbers. Of more than 50 columns, only the 50
        whose curves vary most are tried.
    exclude : list of pairs, optional
        Pairs that the model must not have.
    pair_penalty : {"ridge", "both"}
        "ridge" is a ridge on the steps of the maps. With "both" every member is the mean of that
        optimum and of its twin with an l1 penalty in place of the ridge, each certified, with a
        strength of its own; it takes two to five times as long.
    members : int >= 1
        Number of members. With 1 the model is one certified optimum on all rows, and folds only
        choose the strengths.
    monotone : dict, optional
        Direction of columns by name or number, ``{"age": 1, "income": -1}``; or one of -1, 0 and 1
        per column. 1 means that the score of the positive class never falls as the value grows, -1
        that it never rises; maps of pairs included. Two classes only.
    shape : dict, optional
        Shape of columns by name or number: "concave" or "convex", a continuous curve; or ``("flat",
        low, high)``, a curve that adds 0 for these values. Columns with a shape are not paired. Two
        classes only.
    cuts : dict, optional
        Own boundaries between the bins of columns, ``{"age": [25, 40, 65]}``; a value on a boundary
        belongs to the bin below it.
    categorical : "auto" or list of columns
        Columns whose numbers stand for levels of a category, each with an effect of its own. Levels
        with fewer than five rows, and unknown ones, share one effect. With more than 254 levels,
        the column is one curve of the mean of the target of its level, made without the row's own
        label and those that a member leaves out.
    n_bins : int in [2, 254], optional
        Bins of a column: a value that alone has ``1 / n_bins`` of the weight has its own bin, the
        others are cut by equal weight. By default 64 below 5,000 rows, and 128 from there on.
        Values outside the training range fall into the first or last bin.
    penalty : {"fused", "group", "smooth"}
        "fused" is the l1 norm of the jumps, the total variation of a curve, which leaves few jumps;
        lines have a small l1 weight and a ridge. "group" drops whole columns. "smooth" is a ridge
        on the jumps.
    strength : "auto" or float >= 0
        Multiplier of that penalty. "auto" is the one of least loss on held-out rows.
    n_strengths : int
        Number of strengths that "auto" tries.
    cv : int >= 2, splitter or iterable of (train, test) rows, optional
        Folds of the members; a number is used with one member only.
    rule : {"best", "one_standard_error"}
        As in `MetricClassifierCV`.
    solver, fit_intercept, threshold, class_weight, calibrate, prior, average, tol, max_iter
        As in `MetricClassifier`; threshold and calibration use held-out rows.
    max_seconds, n_threads, warm_start, random_state, verbose
        As in `MetricClassifier`.

    Attributes
    ----------
    bins_ : Bins
        The bins of columns and pairs.
    coef_ : (1, p) array, or (n_classes, p)
        What every code of each column, and every cell of each pair, adds to the score.
    error_ : array like ``coef_``, optional
        Standard errors of these, from the members.
    oof_scores_ : (n, 1) array, or (n, n_classes)
        Scores of the training rows by the members that leave them out, before the threshold; NaN
        where there is none.
    score_oof_ : float
        The metric of these scores, greater is better.
    strength_ : float
    odds_slope_ : float
        Increase of the log-odds per unit of score, with two classes; the scale of `scorecard`.
    strengths_, scores_, best_index_
        The strengths that "auto" tried, decreasing; minus the loss by fold and strength; the
        position of the chosen strength.
    names_, importances_
        Names of columns and pairs, and the standard deviation of what each adds to the score over
        the training rows.
    classes_, intercept_, threshold_, gap_, n_iter_, solution_
        As in `MetricClassifier`; ``solution_`` has one solution per member, ``gap_`` is the
        largest.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor import AdditiveClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = np.abs(X[:, 0]) + 0.3 * rng.normal(size=500) > 1.2
    >>> model = AdditiveClassifier(members=3).fit(X, y)
    >>> model.score_oof_ > 0.9
    True
    >>> values, level = model.curve(0)
    >>> bool(level[0] > level[len(level) // 2])
    True
    """

    _: KW_ONLY
    penalty: Any = "fused"
    strength: Any = "auto"
    l1_ratio: None = field(default=None, init=False)
    standardise: bool = field(default=False, init=False)
    threshold_cv: None = field(default=None, init=False)
    device: None = field(default=None, init=False)
    n_bins: int | None = None
    interactions: Any = "auto"
    exclude: Any = None
    pair_penalty: str = "ridge"
    members: int = 8
    monotone: Any = None
    shape: Any = None
    cuts: Any = None
    categorical: Any = "auto"
    n_strengths: int = 15
    cv: Any = None
    rule: str = "best"

    _parameters = AdditiveParameters

    odds_slope_ = OfFit[float](lambda result: result.odds_slope)

    @speaks
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        init_score: Any = None,
        **facts: Any,
    ) -> Self:
        """Fit to rows X, in which values may be missing, and labels y.

        Parameters
        ----------
        X : table, array or sparse matrix
            Columns of text, and of categories, of a pandas or polars table are categories.
        y : labels
        sample_weight : array, optional
        groups : array, optional
            A label per row, such as a customer or a day: rows of one group are held out together.
            Losses on pairs compare only rows of the same group.
        init_score : (n,) array, or (n, n_classes), optional
            Scores to which those of the model are added, such as those of another model. The
            threshold is that of the sum, so add them to `decision_function`.
        **facts
            ``apart``, ``times``, ``gap``, ``cost_fp``, ``cost_fn`` of `MetricClassifier.fit`. With
            times the model has one member, fitted to all rows, and folds choose its strengths.
        """
        self._offset = init_score
        return super().fit(X, y, sample_weight, groups, **facts)

    @property
    def gives_log_odds(self) -> bool:
        """Whether scores are log-odds: the log-loss is minimised, whatever the metric."""
        return log_loss_trained(parameters_of(AdditiveParameters, self))

    def _options(self, rows: Rows) -> FitOptions:
        splits = None
        if self.cv is not None:
            splits = splits_of(self.cv, rows.labels, rows.groups, classifier=True)
        offset = read_offset(taken(self, "_offset"), rows.codes.size)
        labels = taken(self, "_labels") or {}
        return replace(super()._options(rows), splits=splits, offset=offset, labels=labels)

    def _groups(self, groups: Any, n: int) -> IntArray | None:
        surrogate = "auto" if self.surrogate == BEST else self.surrogate
        goal = resolve_metric(self.metric, surrogate)
        return read_groups(groups, goal, n, for_folds=True)

    @speaks
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
            Number of points that doubles the odds of the positive class.
        base : float
            Points of a row at the threshold, where the decision value is 0.
        rounded : bool
            Whether to round points to whole numbers; neighbouring ranges with equal points are
            then merged. Otherwise points are a linear function of the decision value.
        X, y, sample_weight : rows, labels and weights, optional
            Rows on which the rounding is chosen so that the metric falls least, and on which that
            fall is measured. Without them, the rounding with the least mean squared change of the
            training rows' points.
        """
        check_is_fitted(self)
        model = self.model_
        names = self.names_[: len(self.bins_.columns)]
        judge = matrix = labels = weight = None
        if (X is None) != (y is None):
            raise DataError(
                "rows X together with their labels y",
                got="one without the other",
                todo="Pass both, or none.",
            )
        if X is not None:  # rows on which the rounding is chosen and measured
            matrix = self._read(X, reset=False)
            labels = read_target(y, matrix.shape[0])
            weight = read_weight(sample_weight, matrix.shape[0])
            if rounded and model.binary:
                judge = _judge(model, matrix, labels, weight)
        card = make_scorecard(
            model,
            names,
            getattr(self, "odds_slope_", 1.0),
            points_to_double_odds=points_to_double_odds,
            base=base,
            rounded=rounded,
            judge=judge,
        )
        if matrix is None or labels is None:
            return card
        # The metric of the model and of the points, mapped back to decision values.
        decision = model.decision_function(matrix)
        points = (card_points(card, model.bins, names, matrix) - base) / card.factor
        pair = tuple(model.score_at(s, labels, weight) for s in (decision, points))
        return replace(card, metric=(pair[0], pair[1]))


def _judge(
    model: AdditiveModel, matrix: Any, labels: Any, weight: FloatArray | None
) -> RoundingJudge:
    """The metric of the model on at most `JUDGED_ROWS` rows, to choose the rounding by."""
    every = slice(None, None, -(-matrix.shape[0] // JUDGED_ROWS))  # evenly spaced rows
    labels = labels[every]
    weight = None if weight is None else weight[every]

    def measure(decision: FloatArray) -> float:
        return model.score_at(decision, labels, weight)

    return RoundingJudge(model.bins.codes(matrix[every]), measure)
