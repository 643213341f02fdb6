"""A linear classifier trained on the metric you report."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from auctor import metrics
from auctor.core.checks import check_choice, check_int
from auctor.core.errors import DataError, IncompatibleError, Option, ParameterError
from auctor.core.protocols import Loss, Penalty
from auctor.core.result import Solution, Status
from auctor.core.types import Array, FloatArray, IntArray, Target
from auctor.core.watching import tell_stage
from auctor.data import Dense, Sparse, wrap
from auctor.data.coerce import check_weight
from auctor.estimators.base import FitWarning, LinearEstimator, sentence
from auctor.losses import ExpectedError, GaussianAuc
from auctor.losses.pairwise import Pairwise
from auctor.metrics.grouped import group_codes
from auctor.penalties import L2
from auctor.solvers.gaussian.moments import fits, outnumbered, shrinkage
from auctor.training.advice import advice
from auctor.training.calibrate import (
    KINDS,
    Calibrator,
    calibrators_of,
    fit_calibrators,
    log_odds,
    out_of_fold_scores,
)
from auctor.training.metric import (
    Chosen,
    Cut,
    Measure,
    check_count,
    resolve_cut,
    resolve_metric,
)

#: Criteria of a threshold that weigh errors, and those that count rows.
ERRORS, COUNTS = ("error", "balanced_error", "cost"), ("top",)


def _wants_probabilities(estimator: MetricClassifier) -> bool:
    if estimator.calibrate is None and not log_odds(estimator):
        raise AttributeError(
            "MetricClassifier has predict_proba with calibrate='sigmoid' or 'isotonic', and for "
            "metric='log_loss'; got calibrate=None. Set calibrate and fit again."
        )
    return True


class MetricClassifier(ClassifierMixin, LinearEstimator):  # type: ignore[misc]
    """Linear classifier that minimises a surrogate of the chosen metric.

    The scores ``X w`` are trained by ``surrogate loss + strength * penalty``; several classes are
    handled one against the rest.

    Parameters
    ----------
    metric : str or loss object
        A name of the table, with its number where it takes one: ``"precision_at_k(100)"``; or an
        object such as ``auctor.losses.PairwiseHinge(0.1)``.
    surrogate : str
        The loss that stands in for the metric; "auto" is the first of

        =================  =========================================================================
        metric             surrogates
        =================  =========================================================================
        auc                hinge, squared_hinge, square, logistic, exponential, gaussian
        partial_auc(fpr)   hinge
        prbep              max_margin, logistic
        precision_at_k(k)  max_margin, logistic
        recall_at_k(k)     max_margin, logistic
        fbeta(beta)        max_margin, logistic
        error              hinge, logistic, squared_hinge, gaussian
        balanced_error     hinge, logistic, squared_hinge
        cost(ratio)        hinge, logistic, squared_hinge
        log_loss           logistic
        =================  =========================================================================

        "gaussian" shrinks covariances (Ledoit-Wolf) where columns outnumber rows. "f1" is
        ``fbeta(1)``; k below 1 is a share of the rows; ``cost(10)`` says that a missed
        positive costs ten false alarms.
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
    threshold : "auto", float or str
        Where `predict` cuts the scores. "auto" takes the best cut for the metric on the training
        scores (for "auc", "partial_auc" and "prbep" the break-even cut, which predicts as many
        positives as there are; for "log_loss" 0, probability one half). A rule of
        `auctor.metrics.best_threshold` such as "precision(0.9)", "recall(0.8)", "cost(5)" or
        "top(100)" does that instead. ``intercept_`` contains the threshold, so that `predict` is
        ``decision_function > 0``.
    threshold_cv : int, optional
        Choose the threshold on scores from so many stratified folds, each scored by a model that
        has not seen it; by default on the training scores.
    class_weight : None, "balanced" or dict
        Multipliers of the row weights by class. With two classes, "auc" and "partial_auc" do not
        depend on them, but their cut does. The k of "precision_at_k" and "recall_at_k" counts
        weights in training, and rows, by their sample weights, in the cut and in `score`.
    calibrate : None, "sigmoid" or "isotonic"
        How `predict_proba` turns scores into probabilities, fitted on out-of-fold scores of
        ``threshold_cv`` or five stratified folds; None leaves `predict_proba` out, but for
        "log_loss", whose scores are log-odds.
    average : {"macro", "micro", "weighted"}
        How `score` joins the classes, one against the rest, when there are more than two: their
        mean, the metric of all their scores together, or their mean by the weight of the classes.
        For "error" it is the accuracy of `predict` whatever the average.
    tol : float
        Gap to reach, as a fraction of the loss of the best constant score.
    max_iter : int
    max_seconds : float, optional
        Per problem (per class with more than two).
    n_threads : int, optional
    warm_start : bool
        Start from the previous fit.
    random_state : int, optional
        Shuffles folds and seeds randomised solvers; None always the same way.
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
        threshold_cv: int | None = None,
        class_weight: Any = None,
        calibrate: str | None = None,
        average: str = "macro",
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
        self.threshold_cv = threshold_cv
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.average = average
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.n_threads = n_threads
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit to rows X and labels y.

        Parameters
        ----------
        X : table, array or sparse matrix
        y : labels
        sample_weight : array, optional
        groups : array, optional
            A label per row, such as a query or a day: losses on pairs then compare only rows of
            the same group.
        """
        self._check_params()
        chosen = resolve_metric(self._who, self.metric, self.surrogate)
        matrix = self._read(X, reset=True)
        labels = self._read_labels(y, matrix.shape[0])
        weight = self._read_weight(sample_weight, matrix.shape[0])
        groups = self._read_groups(groups, chosen, matrix.shape[0])
        codes = self._encode(labels, weight)
        self._check_cut(chosen, matrix.shape[0] if weight is None else float(weight.sum()))
        data = wrap(matrix, Target(np.empty(0)), n_threads=self.n_threads)
        targets = self._targets(codes, weight, groups, chosen)
        previous = self._previous(len(targets), matrix.shape[1])
        solutions = self._solve_each(data, targets, previous, chosen.loss)
        self._take(solutions)
        held_out = self._held_out(solutions, matrix, labels, weight, groups, chosen.loss)
        scores = held_out if self.threshold_cv is not None else None
        self.threshold_ = self._thresholds(matrix, scores, targets, weight, chosen)
        self.intercept_ -= self.threshold_
        self.gap_ = max(solution.gap for solution in solutions)
        self.n_iter_ = max(solution.n_iter for solution in solutions)
        self.solution_ = solutions[0] if self.classes_.size == 2 else solutions
        self._warn(solutions)
        self._advise(data, solutions, targets, chosen.loss)
        if hasattr(self, "calibrators_"):
            del self.calibrators_  # of an earlier fit
        if self.calibrate is not None and held_out is not None:
            self.calibrators_: list[Calibrator] = fit_calibrators(
                self.calibrate, held_out, [target.y > 0.0 for target in targets], weight
            )
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Scores minus the threshold: (n,) for two classes, else (n, n_classes)."""
        matrix = self._read(X, reset=False)
        scores = self._linear(matrix, self.coef_, self.intercept_)
        return scores.ravel() if self.classes_.size == 2 else scores

    def predict(self, X: Any) -> Array:
        """Labels: by the threshold for two classes, the highest score for more."""
        return self._labels_at(self.decision_function(X))

    def _labels_at(self, decision: FloatArray) -> Array:
        best = decision > 0.0 if decision.ndim == 1 else decision.argmax(axis=1)
        labels: Array = self.classes_[best.astype(np.intp)]
        return labels

    @available_if(_wants_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Calibrated probabilities, (n, n_classes)."""
        check_is_fitted(self, "coef_" if log_odds(self) else "calibrators_")
        decision = self.decision_function(X)
        calibrators = calibrators_of(self) or []
        columns = (decision[:, None] if decision.ndim == 1 else decision) + self.threshold_
        positive = np.column_stack(
            [c.probability(s) for c, s in zip(calibrators, columns.T, strict=True)]
        )
        if decision.ndim == 1:
            return np.hstack([1.0 - positive, positive])
        positive += 1e-300  # all zero means all equal
        shares: FloatArray = positive / positive.sum(axis=1, keepdims=True)
        return shares

    def score(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> float:
        """The metric, greater is better: errors, costs and losses count negatively or from 1.

        With ``groups`` it is the mean over the groups in which it can be computed, by their weight.
        """
        return self._score_at(self.decision_function(X), y, sample_weight, groups)

    def _score_at(self, decision: FloatArray, y: Any, sample_weight: Any, groups: Any) -> float:
        """The metric of decision values."""
        chosen = resolve_metric(self._who, self.metric, self.surrogate)
        if chosen.name == "error" and groups is None:
            from sklearn.metrics import accuracy_score

            labels = self._labels_at(decision)
            return float(accuracy_score(y, labels, sample_weight=sample_weight))
        y = self._known_labels(y, decision.shape[0])
        if decision.ndim == 1:
            hits = y == self.classes_[1]
            scores = decision if chosen.by_label else decision + self.threshold_[0]
            return metrics.by_group(chosen.measure, hits, scores, groups, weight=sample_weight)
        hits = y[:, None] == self.classes_
        scores = decision + self.threshold_
        if chosen.by_label:
            best = decision.argmax(axis=1)
            scores = np.where(best[:, None] == np.arange(self.classes_.size), 1.0, -1.0)
        return self._average(chosen.measure, hits, scores, groups, sample_weight)

    def _known_labels(self, y: Any, n: int) -> Array:
        """Labels of rows to measure on, all of them classes of the model."""
        labels = self._read_target(y, n)
        unknown = labels[~np.isin(labels, self.classes_)]
        if unknown.size:
            raise DataError(
                self._who,
                needs=f"labels among {self.classes_.tolist()} to score",
                got=f"{unknown[0]!r}",
                todo="Drop those rows, or fit with them.",
            )
        return labels

    def _average(
        self, measure: Measure, hits: Array, scores: FloatArray, groups: Any, weight: Any
    ) -> float:
        """One value for several classes; ``hits`` and ``scores`` have a column for each."""
        n, k = scores.shape
        if self.average == "micro":
            every = [None if x is None else np.repeat(x, k) for x in (groups, weight)]
            flat = hits.ravel(), scores.ravel()
            return metrics.by_group(measure, *flat, every[0], weight=every[1])
        values = [
            metrics.by_group(measure, hit, column, groups, weight=weight)
            for hit, column in zip(hits.T, scores.T, strict=True)
        ]
        if self.average == "macro":
            return float(np.mean(values))
        share = (np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)) @ hits
        return float(np.average(values, weights=share))

    # --- fitting, step by step ----------------------------------------------------------------

    def _solve_each(
        self,
        data: Dense | Sparse,
        targets: list[Target],
        previous: list[Solution | None],
        loss: Loss,
    ) -> list[Solution]:
        """One solution per target; an interrupt before the last leaves no model."""
        solutions: list[Solution] = []
        for target, last in zip(targets, previous, strict=True):
            if solutions and solutions[-1].status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            if len(targets) > 1:
                tell_stage("class", len(solutions) + 1, len(targets))
            start = self._start(last, loss)
            solutions.append(self._solve(data.with_target(target), loss, start))
        return solutions

    def _held_out(
        self,
        solutions: list[Solution],
        matrix: Any,
        labels: Array,
        weight: FloatArray | None,
        groups: IntArray | None,
        loss: Loss,
    ) -> FloatArray | None:
        """Scores by models that have not seen the row, where parameters ask and time is left.

        Where the loss leaves their offset free, they get that of this model.
        """
        if self.calibrate is None and self.threshold_cv is None:
            return None
        if solutions[-1].status is not Status.INTERRUPTED:
            level = None
            if loss.shift_invariant:
                scores = self._linear(matrix, self.coef_, self.intercept_)
                level = np.average(scores, axis=0, weights=weight)
            try:
                return out_of_fold_scores(self, matrix, labels, weight, groups, level)
            except KeyboardInterrupt:
                pass
        warnings.warn(
            f"{self._who} was interrupted before its folds were fitted: the threshold is that of "
            "the training scores, and there are no probabilities. Fit again for both.",
            FitWarning,
            stacklevel=3,
        )
        return None

    @property
    def _states_cut(self) -> bool:
        """Whether the threshold is another one than the metric's own."""
        return not (isinstance(self.threshold, str) and self.threshold == "auto")

    def _check_params(self) -> None:
        super()._check_params()
        if self._states_cut:
            resolve_cut(self._who, self.threshold)
        if self.threshold_cv is not None:
            check_int(self._who, "threshold_cv", self.threshold_cv, low=2)
        if self.calibrate is not None:
            check_choice(self._who, "calibrate", self.calibrate, tuple(KINDS))
        check_choice(self._who, "average", self.average, ("macro", "micro", "weighted"))

    def _cut(self, chosen: Chosen) -> Cut | float | None:
        """The rule of the threshold, or the threshold itself: the user's, else the metric's."""
        if self._states_cut:
            return resolve_cut(self._who, self.threshold)
        return chosen.cut if self.fit_intercept else None

    def _check_cut(self, chosen: Chosen, total: float) -> None:
        """Refuse a cut after more rows than there are before anything is trained."""
        cut = self._cut(chosen)
        if isinstance(cut, Cut) and cut.criterion in COUNTS:
            check_count(self._who, cut.value, total, "the rows")

    def _read_labels(self, y: Any, n: int) -> Array:
        labels = self._read_target(y, n)
        if n < 2:
            raise DataError(
                self._who, needs="at least two rows", got=f"{n} sample", todo="Pass more rows."
            )
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
                self._who,
                needs="labels of one type",
                got="a mixture",
                todo="Convert them to strings.",
            ) from error
        present = np.unique(codes if weight is None else codes[weight > 0])
        if classes.size < 2 or present.size < classes.size:
            raise DataError(
                self._who,
                needs="at least two classes, each with some weight",
                got=f"{present.size} class(es): {classes[present][:3].tolist()}",
                todo="Pass rows of another class.",
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
            unknown = [name for name in self.class_weight if name not in self.classes_.tolist()]
            if unknown:
                raise ParameterError(
                    self._who,
                    needs=f"class_weight of the classes {self.classes_.tolist()}",
                    got=f"{unknown[0]!r}",
                    todo="Use the labels of y as keys.",
                )
            factor = np.array([self.class_weight.get(c, 1.0) for c in self.classes_.tolist()])
            if factor.dtype.kind not in "iuf" or not ((factor > 0) & (factor < np.inf)).all():
                raise ParameterError(
                    self._who,
                    needs="class_weight > 0",
                    got=self.class_weight,
                    todo="Pass positive numbers.",
                )
        else:
            raise ParameterError(
                self._who,
                needs="class_weight to be None, 'balanced' or a dict",
                got=f"{self.class_weight!r}",
                todo="Pass one of these.",
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

    def _penalty(self, data: Dense | Sparse, loss: Loss) -> Penalty:
        """Gaussian surrogates on wide data get at least the ridge that shrinks covariances best."""
        penalty = super()._penalty(data, loss)
        gaussian = isinstance(loss, GaussianAuc | ExpectedError)
        if gaussian and self.penalty == "l2" and fits(data) and outnumbered(data):
            return L2(max(self.strength, shrinkage(data).strength))
        return penalty

    def _positives(self) -> list[int]:
        """Codes of the classes that are set against the rest."""
        return [1] if self.classes_.size == 2 else list(range(self.classes_.size))

    def _targets(
        self, codes: Array, weight: FloatArray | None, groups: Array | None, chosen: Chosen
    ) -> list[Target]:
        """One class against the rest, weighted as the metric has it."""
        rows = self._row_weight(codes, weight)
        targets = []
        for k in self._positives():
            hit, mine = codes == k, rows
            if chosen.positive_weight is not None:
                mine = np.ones(codes.size) if rows is None else rows
                odds = float(mine[~hit].sum() / mine[hit].sum())
                mine = np.where(hit, chosen.positive_weight(odds) * mine, mine)
            targets.append(Target(np.where(hit, 1.0, -1.0), mine, groups))
        return targets

    def _take(self, solutions: list[Solution]) -> None:
        """Coefficients of the solutions, nothing cut off their scores yet."""
        self.coef_ = np.vstack([solution.coef for solution in solutions])
        self.intercept_ = np.array([solution.intercept for solution in solutions])

    def _thresholds(
        self,
        matrix: Any,
        scores: FloatArray | None,
        targets: list[Target],
        weight: FloatArray | None,
        chosen: Chosen,
    ) -> FloatArray:
        """Where to cut the scores of each class; by default those of the training rows.

        The metric's own rule weighs rows as training does, unless it counts rows; that, and one
        that the user states, go by the sample weights. Of several classes the highest score wins:
        what errors cost one of them says nothing about a cut.
        """
        cut = self._cut(chosen)
        several = len(targets) > 1 and not self._states_cut
        if several and isinstance(cut, Cut) and cut.criterion in ERRORS:
            cut = None
        if self._states_cut or (isinstance(cut, Cut) and cut.criterion in COUNTS):
            targets = [Target(target.y, weight) for target in targets]
        if not isinstance(cut, Cut):
            return np.full(len(targets), 0.0 if cut is None else cut)
        if scores is None:
            scores = self._linear(matrix, self.coef_, self.intercept_)
        return np.array(
            [
                metrics.best_threshold(target.y, column, *cut, weight=target.weight)
                for target, column in zip(targets, scores.T, strict=True)
            ]
        )

    def _advise(
        self, data: Dense | Sparse, solutions: list[Solution], targets: list[Target], loss: Loss
    ) -> None:
        """Warn where the fit converged and still means little."""
        for solution, target in zip(solutions, targets, strict=True):
            rows = data.with_target(target)
            text = advice(
                loss, self._penalty(rows, loss), rows, solution,
                fit_intercept=bool(self.fit_intercept),
            )  # fmt: skip
            if text:
                warnings.warn(f"{self._who}: {text}", UserWarning, stacklevel=3)

    def _read_groups(self, groups: Any, chosen: Chosen, n: int) -> IntArray | None:
        """Group codes of the rows, where the loss is one of pairs."""
        if groups is None:
            return None
        if not isinstance(chosen.loss, Pairwise):
            raise IncompatibleError(
                self._who,
                needs="a loss on pairs to use groups",
                got=f"{type(chosen.loss).__name__}",
                todo="Use {option}, or drop groups.",
                option=Option("metric", "auc"),
            )
        return group_codes(self._who, groups, n)
