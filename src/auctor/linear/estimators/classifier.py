"""A linear classifier trained on the metric you report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from importlib import import_module
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from auctor.core.checks import named_parameters
from auctor.core.errors import DataError, NotOfferedError, speaks
from auctor.core.types import Array, FloatArray, IntArray
from auctor.data.coerce import in_shards, refuse_swapped
from auctor.fit.calibrate import Calibrator, log_odds
from auctor.fit.metric import resolve_metric
from auctor.fit.model import LinearModel
from auctor.fit.parameters import ClassifierParameters, parameters_of
from auctor.fit.reasons import Reasons
from auctor.fit.result import ClassifierResult, FitOptions
from auctor.fit.row_facts import read_costs, read_split
from auctor.fit.targets import Rows, encode, positive_code, read_groups
from auctor.fit.train_model import check_params, train_model
from auctor.linear.estimators.base import (
    OfFit,
    OfModel,
    as_shards,
    by_partition,
    issue_warnings,
    one_or_all,
    read_labels,
    read_matrix,
    read_target,
    read_weight,
    start_of,
    take_start,
)
from auctor.linear.offered import offered_if


def check_has_probabilities(estimator: Any) -> None:
    """Raise if a classifier has no `predict_proba`: neither calibrated nor trained on log-loss."""
    if estimator.calibrate is None and not estimator.gives_log_odds:
        raise NotOfferedError(
            "`calibrate='sigmoid'` or 'isotonic', or `metric='log_loss'`, for predict_proba; got "
            "calibrate=None. Set `calibrate` and fit again; decision_function gives scores "
            "without it.",
            part=type(estimator).__name__,
        )


# The decorator makes a constructor of these parameters, which `ClassifierParameters` has, too.
@named_parameters
@dataclass(eq=False, repr=False)
class MetricClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Linear classifier that is trained on the metric that you report.

    The weights minimise ``loss(X w) + strength * penalty(w)``. The loss, called the surrogate,
    replaces the metric, which is piecewise constant and therefore hard to optimise directly. With
    more than two classes each class is trained against the rest, except for "log_loss", which
    trains all classes jointly (multinomial logistic regression).

    Parameters
    ----------
    metric : str or loss object
        A name, with its number if it has one: ``"precision_at_k(100)"``. ``auctor list metrics``
        and the guide `docs/choose.md` have all names. A loss object such as
        ``auctor.losses.PairwiseHinge(0.1)`` is minimised itself.
    surrogate : str
        The loss that is minimised in place of the metric. "auto" is the first one that ``auctor
        list metrics`` shows for the metric.
        "gaussian" shrinks covariances (Ledoit-Wolf) where columns outnumber the rows of a class.
        "f1" is ``fbeta(1)``. A k that is a fraction, up to 1.0, is a share of the rows.
        ``cost(10)`` means that a false negative costs as much as ten false positives.
    penalty : {"l2", "l1", "elastic_net", "none"} or penalty object
        A penalty object has its own strength.
    strength : float >= 0
        Multiplier of the penalty; ``C = 1 / (n strength)``. `auctor.MetricClassifierCV` picks it
        by cross-validation.
    l1_ratio : float in [0, 1], optional
        Share of l1 in the elastic net, 0.5 by default.
    solver : str or solver object
        "auto" follows the table in `auctor.solvers.choose`.
    fit_intercept : bool
        The intercept is never penalised. Without it the threshold is 0.
    standardise : "auto" or bool
        Whether columns are scaled to unit standard deviation, with sample weights, before the fit.
        The penalty then acts on the scaled columns and does not depend on their units; ``coef_`` is
        always in the units of the data. Columns of 0 and 1, such as those of a one-hot encoding,
        and constant columns are not scaled. With an intercept, dense columns (and sparse ones that
        store every entry) are also centred, which does not change the solution but speeds up the
        solver. "auto" scales unless the columns already have mean 0 and deviation 1, the rows of a
        sparse matrix have unit norm, as those of tf-idf have, or the penalty bounds the weights.
        Scaled data are a copy; of a sparse matrix only the values are copied.
    threshold : "auto", float or str
        The score above which `predict` returns the positive class. "auto" is the best threshold
        for the metric on the training scores (for "auc", "partial_auc", "average_precision" and
        "prbep" the break-even point, which predicts as many positives as there are; for "log_loss"
        0, probability one half). A rule of `auctor.metrics.best_threshold` can be given instead:
        "precision(0.9)", "recall(0.8)", "cost(5)" or "top(100)". ``intercept_`` contains the
        threshold, so that `predict` is ``decision_function > 0``.
    threshold_cv : int, optional
        Number of stratified folds for the threshold: each fold is scored by a model trained on the
        others. By default the threshold is picked on the training scores.
    class_weight : None, "balanced" or dict
        Multipliers of the row weights by class. With two classes, "auc" and "partial_auc" do not
        depend on them, but their threshold does. The k of "precision_at_k" and "recall_at_k" counts
        weights in training. In the threshold and in `score` it counts rows, by their sample
        weights. Folds inside a fit use k as a share of all rows.
    calibrate : None, "sigmoid", "isotonic" or "venn_abers"
        How `predict_proba` turns scores into probabilities, fitted on out-of-fold scores of
        ``threshold_cv`` or five stratified folds. Without it there is no `predict_proba`, except
        for "log_loss", whose scores are log-odds.
    prior : float in (0, 1), optional
        Share of positives where the model is used, if it differs from that of the training rows
        (after subsampling, or class weights): probabilities are corrected for it.
    average : {"macro", "micro", "weighted"}
        How `score` averages over more than two classes, each against the rest: "macro" is the mean
        over the classes, "weighted" the mean weighted by the classes' rows, and "micro" the metric
        of the decision values of all classes together. With "macro", "balanced_error" gives the
        mean recall of `predict`, balanced accuracy. It has no effect on "error", the accuracy of
        `predict`, and on "log_loss", minus the log-loss of `predict_proba`.
    pos_label : label, optional
        The positive one of two classes, for the metric, the threshold and `score`. By default 1 if
        the other label is 0 or -1; true or yes, also as text, in upper or lower case; else the
        class with less weight; for equal weights the second class. It is stored as ``pos_label_``.
    device : str, optional
        "cuda" trains on a GPU by PyTorch, where tensors may already be; "cpu" takes the same path
        on the processor. Columns are not centred there, and there are no folds.
    tol : float
        Gap to reach, as a fraction of the loss of the best constant score.
    max_iter : int
        Largest number of iterations of a solve.
    max_seconds : float, optional
        Time limit of each problem (one per class with more than two classes).
    n_threads : int, optional
    warm_start : bool
        Start from the previous fit.
    random_state : int, optional
        Shuffles folds and seeds randomised solvers; None is the same seed every time.
    verbose : int
        1 writes a line per iteration to the error stream.

    Attributes
    ----------
    classes_ : array
    pos_label_ : label, or None for several classes
    coef_ : (1, d) array, or (n_classes, d)
        For two classes the weights of ``classes_[1]``, as in scikit-learn: `decision_function` is
        above 0 where that class is predicted, whichever class is positive.
    intercept_ : (1,) or (n_classes,) array
        Fitted intercept minus ``threshold_``.
    threshold_ : (1,) or (n_classes,) array
    gap_ : float
        Largest certified gap over the problems (see ``solution_.certified``).
    n_iter_ : int
        Largest number of iterations over the problems.
    solution_ : Solution, or a list of them
        Outcome of each solve, with its trace.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = X[:, 0] + 0.5 * rng.normal(size=200) > 1.2
    >>> model = MetricClassifier("auc").fit(X, y)
    >>> model.score(X, y) > 0.94
    True
    >>> model.gap_ < 1e-4
    True
    """

    metric: Any = "auc"
    _: KW_ONLY
    surrogate: str = "auto"
    penalty: Any = "l2"
    strength: float = 1e-4
    l1_ratio: float | None = None
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
    device: str | None = None
    tol: float = 1e-4
    max_iter: int = 1000
    max_seconds: float | None = None
    n_threads: int | None = None
    warm_start: bool = False
    random_state: Any = None
    verbose: int = 0

    #: The class of the parameters, which training functions take.
    _parameters: ClassVar[type[ClassifierParameters]] = ClassifierParameters
    _takes_missing: ClassVar[bool] = False
    result_: ClassifierResult = field(init=False)

    model_ = OfFit[LinearModel](lambda result: result.model)
    classes_ = OfModel[Array](lambda model: model.classes)
    coef_ = OfModel[FloatArray](lambda model: model.coef)
    intercept_ = OfModel[FloatArray](lambda model: model.intercept)
    threshold_ = OfModel[FloatArray](lambda model: model.threshold)
    gap_ = OfFit[float](lambda result: result.gap)
    n_iter_ = OfFit[int](lambda result: result.n_iter)
    solution_ = OfFit[Any](lambda result: one_or_all(result.solutions))
    calibrators_ = OfFit[list[Calibrator]](lambda result: result.calibrators)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    @property
    def pos_label_(self) -> Any:
        """The positive one of two classes; ``None`` for several."""
        return self.model_.classes[self.model_.positive] if self.model_.binary else None

    @speaks
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        apart: Any = None,
        times: Any = None,
        gap: float = 0.0,
        cost_fp: Any = None,
        cost_fn: Any = None,
    ) -> Self:
        """Fit to rows X and labels y.

        Parameters
        ----------
        X : table, array, sparse matrix, or data in shards
            Dask arrays and frames stay on the workers of the current client.
        y : labels
            Optional with `auctor.data.open_shards` and `auctor.data.spark`, whose rows have labels,
            and weights if ``sample_weight`` is not given.
        sample_weight : array, optional
        groups : array, optional
            A label per row, such as a query or a day: losses on pairs then compare only rows of
            the same group, and k of a metric ``per`` column counts rows of each.
        apart : array, optional
            A label per row, such as a customer, whose rows no fold tears apart.
        times : array, optional
            Dates or numbers: folds train on the past and test on the time after it.
        gap : float
            Time (days for dates) that folds leave out before the rows they test on, until whose
            start the labels of earlier rows may not be known.
        cost_fp, cost_fn : float or array, optional
            Cost of a false alarm, and of a missed positive, of each row: weights of the training
            and, with ``metric="cost(1)"``, of the threshold and the choice of strengths.

        Notes
        -----
        If a fit hardly lowers the loss, a second solve with almost no penalty checks whether any
        weights can lower the surrogate on these rows, and a warning is issued if none can. It takes
        at most as long as the fit, or one second.
        """
        params = parameters_of(self._parameters, self)
        check_params(params)
        rows, options = self.inputs(
            X, y, sample_weight, groups, apart=apart, times=times, gap=gap,
            cost_fp=cost_fp, cost_fn=cost_fn,
        )  # fmt: skip
        if "result_" in vars(self):  # an interrupt leaves no model of an earlier fit
            del self.result_
        return self.take(train_model(params, rows, options))

    def inputs(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        apart: Any = None,
        times: Any = None,
        gap: float = 0.0,
        cost_fp: Any = None,
        cost_fn: Any = None,
    ) -> tuple[Rows, FitOptions]:
        """The checked training rows, and what the fit uses besides; columns are stored."""
        rows = self._rows(X, y, sample_weight, groups)
        costs = read_costs(cost_fp, cost_fn, self._hits(rows, cost_fp, cost_fn))
        rows = replace(rows, by=read_split(apart, times, gap, rows.codes.size), cost=costs)
        return rows, self._options(rows)

    def take(self, result: ClassifierResult) -> Self:
        """Become the estimator of a result; its warnings are issued."""
        self.result_ = replace(result, warnings=[])
        if result.search is not None and not result.search.complete:
            raise KeyboardInterrupt  # the best model so far is kept
        issue_warnings(result.warnings)
        return self

    @speaks
    def check_parameters(self) -> None:
        """Raise ``ParameterError`` for parameters that `fit` would refuse."""
        check_params(parameters_of(self._parameters, self))

    @speaks
    def continue_from(self, other: Any) -> Self:
        """Start the next `fit` where another one stopped.

        Parameters
        ----------
        other : estimator or Checkpoint
            A fitted estimator, for a warm start; needs ``warm_start=True``. Its coefficients are
            ignored if that `fit` has another number of columns. Or a checkpoint of the same fit,
            as in `auctor.fit.checkpoint`.
        """
        self._start = start_of(other)
        return self

    @by_partition
    @speaks
    def decision_function(self, X: Any) -> FloatArray:
        """Scores minus the threshold: (n,) for two classes, else (n, n_classes)."""
        matrix = self._read(X, reset=False)
        return self.model_.decision_function(matrix)

    @by_partition
    @speaks
    def predict(self, X: Any) -> Array:
        """Labels: by the threshold for two classes, by the highest score for more."""
        matrix = self._read(X, reset=False)
        return self.model_.predict(matrix)

    @offered_if(check_has_probabilities)
    @by_partition
    @speaks
    def predict_proba(self, X: Any) -> FloatArray:
        """Calibrated probabilities, (n, n_classes)."""
        check_is_fitted(self, "calibrators_" if self.calibrate is not None else "coef_")
        matrix = self._read(X, reset=False)
        return self.model_.predict_proba(matrix)

    @speaks
    def score(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> float:
        """The metric, greater is better.

        Costs and log-loss are returned with a minus sign, error rates as one minus the rate. With
        ``groups`` it is the weighted mean over the groups in which the metric is defined.
        """
        decision = self.decision_function(X)
        labels = read_target(y, decision.shape[0])
        return self.model_.score_at(decision, labels, sample_weight, groups)

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
        X : rows, as for `predict`
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
            Names, values and parts; the score of the baseline and all parts sum to the score of
            the positive class, which `decision_function` returns where that is ``classes_[1]``.
        """
        return self.model_.reasons_in(self._read(X, reset=False), k, baseline, texts)

    # --- inputs of a fit ----------------------------------------------------------------------

    def _read(self, X: Any, *, reset: bool) -> Any:
        """The matrix of X; names and number of columns are stored, or checked against `fit`."""
        return read_matrix(self, X, reset=reset)

    def _rows(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Rows:
        """The checked training rows."""
        X, y = as_shards(X, y, missing=self._takes_missing)
        if self.device is not None:
            X, y = import_module("auctor.gpu").with_labels(X, y, self.device)
        refuse_swapped(X, y)
        matrix = self._read(X, reset=True)
        if y is None and in_shards(matrix):  # shards have their own labels and weights
            y = matrix.row_labels()
            sample_weight = matrix.target.weight if sample_weight is None else sample_weight
        n = matrix.shape[0]
        labels = read_labels(y, n, regressor="LinearRegressor")
        weight = read_weight(sample_weight, n)
        by_query = self._groups(groups, n)
        classes, codes = encode(labels, weight)
        positive = positive_code(classes, codes, pos_label=self.pos_label, weight=weight)
        return Rows(matrix, classes, codes, weight, by_query, positive)

    @property
    def gives_log_odds(self) -> bool:
        """Whether scores are log-odds, so that there are probabilities without calibration."""
        return log_odds(self.metric, None)

    def _groups(self, groups: Any, n: int) -> IntArray | None:
        """Group codes of the rows; raises if the loss cannot use groups."""
        return read_groups(groups, resolve_metric(self.metric, self.surrogate), n)

    def _hits(self, rows: Rows, *costs: Any) -> Array:
        """Which rows are positive; raises for costs of more than two classes."""
        if rows.classes.size > 2 and any(one is not None for one in costs):
            raise DataError(
                f"two classes for costs of rows; got {rows.classes.size}. Pass `sample_weight=`."
            )
        return np.asarray(rows.codes == rows.positive)

    def _options(self, rows: Rows) -> FitOptions:
        """What the fit uses besides parameters and rows."""
        return take_start(self)
