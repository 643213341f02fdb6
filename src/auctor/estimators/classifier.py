"""A linear classifier trained on the metric you report."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from auctor import metrics
from auctor.core.checks import check_choice, check_real
from auctor.core.errors import DataError, ParameterError
from auctor.core.protocols import Loss
from auctor.core.result import Solution
from auctor.core.types import Array, FloatArray, Target
from auctor.data import Dense, Sparse, wrap
from auctor.data.convert import check_weight
from auctor.estimators.base import LinearEstimator, sentence
from auctor.estimators.calibrate import Calibrator, fit_calibrators
from auctor.estimators.registry import resolve_metric


def _wants_probabilities(estimator: MetricClassifier) -> bool:
    if estimator.calibrate is None:
        raise AttributeError(
            "MetricClassifier has predict_proba only with calibrate='sigmoid' or 'isotonic'; "
            "got calibrate=None. Set calibrate and fit again."
        )
    return True


class MetricClassifier(ClassifierMixin, LinearEstimator):  # type: ignore[misc]
    """Linear classifier that minimises a surrogate of the chosen metric.

    The scores ``X w`` are trained by ``surrogate loss + strength * penalty``; several classes are
    handled one against the rest.

    Parameters
    ----------
    metric : str or loss object
        "auc", "error" or "log_loss", or an object such as ``auctor.losses.PairwiseHinge(0.1)``.
    surrogate : str
        The loss that stands in for the metric; "auto" is the first of

        ========  ==============================================
        metric    surrogates
        ========  ==============================================
        auc       "hinge" (pairwise), "square" (pairwise, exact)
        error     "hinge", "logistic", "squared_hinge"
        log_loss  "logistic"
        ========  ==============================================
    penalty : {"l2", "l1", "elastic_net", "none"} or penalty object
        An object carries its own strength.
    strength : float >= 0
        Multiplier of the penalty; ``C = 1 / (n strength)``.
    l1_ratio : float in [0, 1], optional
        Share of l1 in the elastic net, 0.5 by default.
    solver : str or solver object
        "auto" follows the table in `auctor.solvers.choose`.
    fit_intercept : bool
        The intercept is never penalised. Without it the threshold is 0.
    threshold : "auto" or float
        Where `predict` cuts the scores. "auto" chooses it on the training scores: for "error" the
        cut with the fewest errors; for "auc", which has no threshold of its own, the break-even cut
        that predicts as many positives as there are; for "log_loss" 0, probability one half.
        ``intercept_`` contains it, so that `predict` is ``decision_function > 0``.
    class_weight : None, "balanced" or dict
        Multipliers of the row weights by class. Ranking losses do not depend on them.
    calibrate : None, "sigmoid" or "isotonic"
        How `predict_proba` turns scores into probabilities, fitted on out-of-fold scores of five
        stratified folds; None leaves `predict_proba` out.
    tol : float
        Gap to reach, as a fraction of the loss of the best constant score.
    max_iter : int
    max_seconds : float, optional
        Per problem (per class with more than two).
    n_threads : int, optional
    warm_start : bool
        Start from the previous fit.
    random_state : int, optional
        Shuffles the calibration folds and seeds randomised solvers.
    verbose : int
        1 writes a line per iteration to the error stream.

    Attributes
    ----------
    classes_ : array
    coef_ : (1, d) array, or (n_classes, d)
    intercept_ : (1,) or (n_classes,) array
        Fitted intercept minus ``threshold_``.
    threshold_ : (1,) or (n_classes,) array
    gap_ : float
        Largest certified gap over the problems (see ``solution_.certified``).
    n_iter_ : int
        Most iterations over the problems.
    solution_ : Solution, or a list of them
        With the trace.

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

    def __init__(
        self,
        metric: Any = "auc",
        *,
        surrogate: str = "auto",
        penalty: Any = "l2",
        strength: float = 1e-4,
        l1_ratio: float | None = None,
        solver: Any = "auto",
        fit_intercept: bool = True,
        threshold: float | str = "auto",
        class_weight: Any = None,
        calibrate: str | None = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        max_seconds: float | None = None,
        n_threads: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.metric = metric
        self.surrogate = surrogate
        self.penalty = penalty
        self.strength = strength
        self.l1_ratio = l1_ratio
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.threshold = threshold
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.n_threads = n_threads
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X, labels y and optional row weights."""
        self._check_params()
        loss, rule = resolve_metric(self._who, self.metric, self.surrogate)
        matrix = self._read(X, reset=True)
        labels = self._read_labels(y, matrix.shape[0])
        weight = self._read_weight(sample_weight, matrix.shape[0])
        codes = self._encode(labels, weight)
        row_weight = self._row_weight(codes, weight)
        data = wrap(matrix, Target(np.empty(0)), n_threads=self.n_threads)
        positives = [1] if self.classes_.size == 2 else range(self.classes_.size)
        previous = self._previous(len(positives), matrix.shape[1])
        fits = [
            self._fit_one(data, Target(np.where(codes == k, 1.0, -1.0), row_weight), loss, rule, s)
            for k, s in zip(positives, previous, strict=True)
        ]
        solutions = [solution for solution, _ in fits]
        self.threshold_ = np.array([threshold for _, threshold in fits])
        self.coef_ = np.vstack([solution.coef for solution in solutions])
        self.intercept_ = np.array([s.intercept for s in solutions]) - self.threshold_
        self.gap_ = max(solution.gap for solution in solutions)
        self.n_iter_ = max(solution.n_iter for solution in solutions)
        self.solution_ = solutions[0] if self.classes_.size == 2 else solutions
        self._warn(solutions)
        if hasattr(self, "calibrators_"):
            del self.calibrators_  # of an earlier fit
        if self.calibrate is not None:
            self.calibrators_: list[Calibrator] = fit_calibrators(self, matrix, labels, weight)
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Scores minus the threshold: (n,) for two classes, else (n, n_classes)."""
        matrix = self._read(X, reset=False)
        scores = self._linear(matrix, self.coef_, self.intercept_)
        return scores.ravel() if self.classes_.size == 2 else scores

    def predict(self, X: Any) -> Array:
        """Labels: by the threshold for two classes, the highest score for more."""
        decision = self.decision_function(X)
        if decision.ndim == 1:
            labels: Array = self.classes_[(decision > 0.0).astype(np.intp)]
        else:
            labels = self.classes_[decision.argmax(axis=1)]
        return labels

    @available_if(_wants_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Calibrated probabilities, (n, n_classes)."""
        check_is_fitted(self, "calibrators_")
        decision = self.decision_function(X)
        columns = decision[:, None] if decision.ndim == 1 else decision
        positive = np.column_stack(
            [c.probability(s) for c, s in zip(self.calibrators_, columns.T, strict=True)]
        )
        if decision.ndim == 1:
            return np.hstack([1.0 - positive, positive])
        positive += 1e-300  # all zero means all equal
        shares: FloatArray = positive / positive.sum(axis=1, keepdims=True)
        return shares

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The metric, greater is better: AUC (mean over classes), minus log-loss, or accuracy."""
        ranking = not isinstance(self.metric, str) and self.metric.shift_invariant
        if self.metric == "auc" or ranking:
            decision = self.decision_function(X)
            columns = [decision] if decision.ndim == 1 else list(decision.T)
            classes = self.classes_[-1:] if decision.ndim == 1 else self.classes_
            y = np.asarray(y)
            values = [
                metrics.auc(y == k, s, weight=sample_weight)
                for k, s in zip(classes, columns, strict=True)
            ]
            return float(np.mean(values))
        if self.metric == "log_loss" and self.classes_.size == 2:
            positive = np.asarray(y) == self.classes_[1]
            scores = self.decision_function(X) + self.threshold_[0]
            return -metrics.log_loss(positive, scores, weight=sample_weight)
        return float(super().score(X, y, sample_weight))

    # --- fitting, step by step ----------------------------------------------------------------

    def _check_params(self) -> None:
        super()._check_params()
        if self.threshold != "auto":
            check_real(self._who, "threshold", self.threshold)
        if self.calibrate is not None:
            check_choice(self._who, "calibrate", self.calibrate, ("sigmoid", "isotonic"))

    def _read_labels(self, y: Any, n: int) -> Array:
        labels = self._read_target(y, n)
        if n < 2:
            raise DataError(f"{self._who} needs at least two rows; got {n} sample. Pass more rows.")
        try:
            check_classification_targets(labels)
        except (TypeError, ValueError) as error:
            raise DataError(
                f"{self._who} needs class labels of one type; got: {sentence(error)}. "
                "Use LinearRegressor for numbers."
            ) from error
        return labels

    def _encode(self, labels: Array, weight: FloatArray | None) -> Array:
        """Class codes of the rows; sets ``classes_``."""
        try:
            classes, codes = np.unique(labels, return_inverse=True)
        except TypeError as error:
            raise DataError(
                f"{self._who} needs labels of one type; got a mixture. Convert them to strings."
            ) from error
        present = np.unique(codes if weight is None else codes[weight > 0])
        if classes.size < 2 or present.size < classes.size:
            raise DataError(
                f"{self._who} needs at least two classes, each with some weight; got "
                f"{present.size} class(es): {classes[present][:3].tolist()}. "
                "Pass rows of another class."
            )
        self.classes_ = classes
        return np.asarray(codes)

    def _row_weight(self, codes: Array, weight: FloatArray | None) -> FloatArray | None:
        """Row weights times class weights."""
        if self.class_weight is None:
            return weight
        base = np.ones(codes.size) if weight is None else weight
        size = np.bincount(codes, weights=base)
        if isinstance(self.class_weight, str):
            check_choice(self._who, "class_weight", self.class_weight, ("balanced",))
            factor = size.sum() / (size.size * size)
        elif isinstance(self.class_weight, dict):
            factor = np.array([self.class_weight.get(c, 1.0) for c in self.classes_.tolist()])
            if factor.dtype.kind not in "iuf" or not ((factor > 0) & (factor < np.inf)).all():
                raise ParameterError(
                    f"{self._who} needs class_weight > 0; got {self.class_weight}. "
                    "Pass positive numbers."
                )
        else:
            raise ParameterError(
                f"{self._who} needs class_weight to be None, 'balanced' or a dict; got "
                f"{self.class_weight!r}. Pass one of these."
            )
        with np.errstate(over="ignore"):
            weights = base * factor[codes]
        return check_weight(weights, codes.size, who=self._who)

    def _previous(self, count: int, d: int) -> list[Solution | None]:
        """Solutions of the last fit, if they have the same shape."""
        last = getattr(self, "solution_", None)
        listed = last if isinstance(last, list) else [last]
        same = len(listed) == count and all(s is not None and s.coef.size == d for s in listed)
        return list(listed) if same else [None] * count

    def _fit_one(
        self,
        data: Dense | Sparse,
        target: Target,
        loss: Loss,
        rule: str,
        previous: Solution | None,
    ) -> tuple[Solution, float]:
        """Solution and threshold of one class against the rest."""
        data = data.with_target(target)
        solution = self._solve(data, loss, self._start(previous, loss))
        if self.threshold != "auto":
            return solution, float(self.threshold)
        if not rule or not self.fit_intercept:
            return solution, 0.0
        scores = data.scores(solution.coef, solution.intercept)
        return solution, float(metrics.best_threshold(target.y, scores, rule, weight=target.weight))
