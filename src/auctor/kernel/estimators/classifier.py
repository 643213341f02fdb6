"""Support vector machines with scikit-learn's API."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from auctor.core.checks import named_parameters
from auctor.core.errors import NotOfferedError, speaks
from auctor.core.types import Array, FloatArray
from auctor.data.coerce import refuse_swapped
from auctor.fit.calibrate import joint_probabilities
from auctor.fit.class_scores import ClassPairs, ClassScores
from auctor.fit.parameters import parameters_of
from auctor.fit.targets import Rows, encode, positive_code
from auctor.kernel.estimators.base import KernelEstimator
from auctor.kernel.parameters import Kernel
from auctor.kernel.train import (
    KernelClassifierParameters,
    check_kernel_classifier,
    train_kernel_classifier,
)
from auctor.linear.estimators.base import issue_warnings, read_labels, read_target, read_weight
from auctor.linear.offered import offered_if


def _check_calibrated(estimator: KernelClassifier) -> None:
    """Raise if a classifier is not calibrated and therefore has no `predict_proba`."""
    if estimator.calibrate is None:
        raise NotOfferedError(
            "`calibrate='sigmoid'` or 'isotonic' for predict_proba; got calibrate=None. Set "
            "`calibrate` and fit again; decision_function gives scores without it.",
            part="KernelClassifier",
        )


# A dataclass of its own, so that errors on unknown parameters name this class.
@named_parameters
@dataclass(eq=False, repr=False)
class KernelClassifier(ClassifierMixin, KernelEstimator):  # type: ignore[misc]
    """Support vector machine: the hinge loss of a score that is linear in a kernel's features.

    Minimises ``|f|^2/2 + C sum_i w_i max(0, 1 - y_i (f(x_i) + b))`` over the functions f of the
    kernel. The dual is solved by decomposition: blocks of variables whose kernel rows come from one
    matrix product, and inside a block pairs by the second-order working set selection of libsvm.
    Up to 1,000 rows the solution is exact.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable
        A callable gets two matrices and returns the (rows, rows) array of kernel values, which must
        be positive semi-definite. With "precomputed", X holds kernel values.
    strength : float > 0, optional
        Multiplier of ``|f|^2/2`` beside the mean loss, as everywhere in auctor; by default that of
        C = 1.
    C : float > 0, optional
        The same in the words of libsvm, instead of ``strength``: the weight of the loss of a row,
        ``C = 1 / (strength sum_i w_i)``.
    metric : str
        What `score` measures, as in `MetricClassifier`, except for "log_loss". For metrics other
        than "error" and two classes, the threshold is the best one for the held-out scores of five
        stratified folds.
    pos_label : label, optional
        The positive one of two classes, as in `MetricClassifier`.
    gamma : {"scale", "auto"} or float > 0
        Width of "rbf", ``exp(-gamma |x - z|^2)``, and factor of "poly". "scale" is one over the
        columns times the variance of X (weighted), "auto" one over the columns.
    degree : int >= 1
        Degree of "poly".
    coef0 : float >= 0
        Constant of "poly", ``(gamma <x, z> + coef0)^degree``.
    multiclass : {"ovo", "ovr"}
        With more than two classes: every pair of classes, or every class against the rest.
    class_weight : None, "balanced" or dict
        Multipliers of the row weights by class.
    calibrate : None, "sigmoid" or "isotonic"
        How `predict_proba` turns scores into probabilities, fitted on the held-out scores of five
        stratified folds. Without it there is no `predict_proba`.
    tol : float > 0
        Violation of the optimality conditions to reach, in units of the margin, as in libsvm.
    max_iter : int
        Largest number of blocks, of up to 1,024 variables each, to solve.
    cache_bytes : int
        Size of the cache for kernel rows, half a gibibyte by default; at least two rows are kept.
    n_threads : int, optional
    random_state : int, optional
        Shuffles the folds of ``calibrate``; None is the same seed every time.

    Attributes
    ----------
    classes_ : array
    pos_label_ : label, or None for several classes
    threshold_ : (k,) array
        Subtracted from the scores; zeros for several classes.
    support_ : (n_support,) int array
        Indices of the support vectors.
    dual_coef_ : (k, n_support) array
        Coefficients of the support vectors in each of the k score functions.
    intercept_ : (k,) array
    gap_ : float
        Duality gap, which bounds the distance to the optimum, divided by ``C sum_i w_i``: in units
        of the mean loss. The largest one over the score functions.
    dual_value_ : float
        Objective of the dual, summed over the score functions.
    n_iter_ : int
        Number of pair updates, the largest over the score functions.
    gamma_ : float

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> inside = (X**2).sum(axis=1) < 1.2
    >>> model = KernelClassifier(C=10.0).fit(X, inside)
    >>> model.score(X, inside) > 0.97, model.gap_ < 1e-6
    (True, True)
    """

    kernel: Kernel = "rbf"
    _: KW_ONLY
    strength: float | None = None
    C: float | None = None
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0
    metric: str = "error"
    pos_label: Any = None
    multiclass: str = "ovo"
    class_weight: Any = None
    calibrate: str | None = None
    tol: float = 1e-3
    max_iter: int = 10_000
    cache_bytes: int = 1 << 29
    n_threads: int | None = None
    random_state: int | None = None

    def check_parameters(self) -> None:
        """Raise ``ParameterError`` for parameters that `fit` would refuse."""
        check_kernel_classifier(parameters_of(KernelClassifierParameters, self))

    @speaks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X, labels y and optional row weights, which multiply C."""
        self.check_parameters()
        refuse_swapped(X, y)
        matrix = self._matrix(X, reset=True)
        n = matrix.shape[0]
        labels = read_labels(y, n, regressor="KernelRegressor")
        weight = read_weight(sample_weight, n)
        classes, codes = encode(labels, weight)
        positive = positive_code(classes, codes, pos_label=self.pos_label, weight=weight)
        rows = Rows(matrix, classes, codes, weight, positive=positive)
        result = train_kernel_classifier(parameters_of(KernelClassifierParameters, self), rows)
        self._keep(result)
        self.keep_classes(classes, positive, result.threshold)
        self.dual_value_ = sum(one.value for one in result.solutions)
        if result.calibrators is not None:
            self.calibrators_ = result.calibrators
        elif hasattr(self, "calibrators_"):  # of an earlier fit with calibration
            del self.calibrators_
        issue_warnings(result.warnings)
        return self

    @speaks
    def decision_function(self, X: Any) -> FloatArray:
        """Scores minus the threshold: (n,) for two classes, else (n, n_classes).

        With "ovo" the score of a class is the number of pairs that it wins, plus a number below one
        half in size that grows with its pairwise scores and breaks ties.
        """
        matrix = self._matrix(X, reset=False)
        scores = self._pairs().scores(self.model_.scores(matrix)) - self.threshold_
        return scores.ravel() if scores.shape[1] == 1 else scores

    @speaks
    def predict(self, X: Any) -> Array:
        """Labels: by the sign of the score for two classes, by the highest score for more."""
        decision = self.decision_function(X)
        return self.class_scores_.labels_at(decision)

    @offered_if(_check_calibrated)
    @speaks
    def predict_proba(self, X: Any) -> FloatArray:
        """Calibrated probabilities, (n, n_classes)."""
        decision = self.decision_function(X)
        columns = decision[:, None] if decision.ndim == 1 else decision
        # Calibrators take scores before the threshold was subtracted.
        return joint_probabilities(self.calibrators_, columns + self.threshold_)

    @speaks
    def score(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> float:
        """The metric, greater is better, as in `MetricClassifier.score`."""
        decision = self.decision_function(X)
        labels = read_target(y, decision.shape[0])
        return self.class_scores_.score_at(decision, labels, sample_weight, groups)

    def keep_classes(self, classes: Array, positive: int, threshold: float) -> None:
        """Keep what decision values say about the classes, from a fit or a file."""
        count = 1 if classes.size == 2 else classes.size
        self.class_scores_ = ClassScores(
            classes=classes,
            threshold=np.full(count, threshold),
            metric=self.metric,
            positive=positive,
        )

    @property
    def classes_(self) -> Array:
        """Labels in increasing order."""
        return self.class_scores_.classes

    @property
    def pos_label_(self) -> Any:
        """The positive one of two classes; ``None`` for several."""
        scores = self.class_scores_
        return scores.classes[scores.positive] if scores.binary else None

    @property
    def threshold_(self) -> FloatArray:
        """Subtracted from the scores."""
        return self.class_scores_.threshold

    @property
    def n_scores(self) -> int:
        """Number of score functions: 1 for two classes, else one per class or pair of classes."""
        return len(self._pairs().pairs)

    def _pairs(self) -> ClassPairs:
        return ClassPairs(self.classes_.size, self.multiclass)
