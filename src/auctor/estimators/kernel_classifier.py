"""Support vector machines with scikit-learn's API."""

from __future__ import annotations

import itertools
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from auctor.core.checks import check_choice
from auctor.core.errors import DataError, NotOfferedError, Option
from auctor.core.types import Array, FloatArray, IntArray
from auctor.estimators.base import issue_warnings, offered_if
from auctor.estimators.kernel import Kernel, KernelEstimator
from auctor.kernel_machine.dual import DualSolution
from auctor.kernel_machine.machine import KernelModel, classification, combine, solve_dual
from auctor.kernel_machine.points import Points
from auctor.training.calibrate import KINDS, Calibrator, fit_calibrators, joint_probabilities
from auctor.training.folds import stratified_folds
from auctor.training.targets import Rows, encode, row_weight

#: Folds whose held-out scores calibrate probabilities: the usual 5.
FOLDS = 5


def _calibrated(estimator: KernelClassifier) -> None:
    """Raise if a classifier is not calibrated and therefore has no `predict_proba`."""
    if estimator.calibrate is None:
        raise NotOfferedError(
            "KernelClassifier",
            needs="calibrate='sigmoid' or 'isotonic' for predict_proba",
            got="calibrate=None",
            todo="Set calibrate and fit again; decision_function gives scores without it.",
        )


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
    C : float > 0
        Weight of the loss of a row; ``1 / (n strength)`` elsewhere in auctor.
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

    classes_: Array
    calibrators_: list[Calibrator]

    _for_the_other_kind = "KernelRegressor"

    def __init__(
        self,
        kernel: Kernel = "rbf",
        *,
        C: float = 1.0,
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        multiclass: str = "ovo",
        class_weight: Any = None,
        calibrate: str | None = None,
        tol: float = 1e-3,
        max_iter: int = 10_000,
        cache_bytes: int = 1 << 29,
        n_threads: int | None = None,
        random_state: int | None = None,
    ) -> None:
        self.kernel, self.C, self.gamma = kernel, C, gamma
        self.degree, self.coef0 = degree, coef0
        self.multiclass, self.class_weight, self.calibrate = multiclass, class_weight, calibrate
        self.tol, self.max_iter, self.cache_bytes = tol, max_iter, cache_bytes
        self.n_threads, self.random_state = n_threads, random_state

    def check_parameters(self) -> None:
        """Raise ``ParameterError`` for parameters that `fit` would refuse."""
        self._check_shared()
        check_choice(self._who, "multiclass", self.multiclass, ("ovo", "ovr"))
        if self.calibrate is not None:
            check_choice(self._who, "calibrate", self.calibrate, tuple(KINDS))

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X, labels y and optional row weights, which multiply C."""
        self.check_parameters()
        matrix = self._matrix(X, reset=True)
        n = matrix.shape[0]
        labels = self._read_labels(y, n)
        weight = self._read_weight(sample_weight, n)
        self.classes_, codes = encode(self._who, labels, weight)
        # Upper bounds of the dual variables: C times the row and class weights.
        caps = row_weight(self._who, self.class_weight, Rows(matrix, self.classes_, codes, weight))
        caps = np.full(n, float(self.C)) if caps is None else self.C * caps
        kept = np.flatnonzero(caps)  # rows of weight zero take no part
        codes, caps = codes[kept], caps[kept]
        points = self._points(matrix, kept, weight)
        model, support, found = self._solve(points, codes, caps)
        self._keep(kept, model, support)
        self.gap_ = max(gap for _, gap in found)
        self.dual_value_ = sum(one.value for one, _ in found)
        self.n_iter_ = max(one.n_iter for one, _ in found)
        self._calibrate(points, codes, caps)
        issue_warnings(self._warn([one for one, _ in found]))
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Scores: (n,) for two classes, else (n, n_classes).

        With "ovo" the score of a class is the number of pairs that it wins, plus a number below one
        half in size that grows with its pairwise scores and breaks ties.
        """
        matrix = self._matrix(X, reset=False)
        scores = self._joined(self.model_.scores(matrix))
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> Array:
        """Labels: by the sign of the score for two classes, by the highest score for more."""
        decision = self.decision_function(X)
        best = decision > 0.0 if decision.ndim == 1 else decision.argmax(axis=1)
        labels: Array = self.classes_[best.astype(np.intp)]
        return labels

    @offered_if(_calibrated)
    def predict_proba(self, X: Any) -> FloatArray:
        """Calibrated probabilities, (n, n_classes)."""
        decision = self.decision_function(X)
        columns = decision[:, None] if decision.ndim == 1 else decision
        return joint_probabilities(self.calibrators_, columns)

    @property
    def n_scores(self) -> int:
        """Number of score functions: 1 for two classes, else one per class or pair of classes."""
        return len(self._pairs())

    # --- parts of a fit -----------------------------------------------------------------------

    def _pairs(self) -> list[tuple[int, int]]:
        """Positive and negative class code of each score function; -1 for all other classes."""
        count = self.classes_.size
        if count == 2 or self.multiclass == "ovr":
            return [(code, -1) for code in self._against_the_rest()]
        return list(itertools.combinations(range(count), 2))

    def _against_the_rest(self) -> list[int]:
        """Codes of the classes with a score against the rest: of two classes only the second."""
        return [1] if self.classes_.size == 2 else list(range(self.classes_.size))

    def _solve(
        self, points: Points, codes: IntArray, caps: FloatArray
    ) -> tuple[KernelModel, IntArray, list[tuple[DualSolution, float]]]:
        """Solve every score function: the joint model, its support, solutions with their gaps."""
        parts, found = [], []
        for positive, negative in self._pairs():
            if negative < 0:
                index = np.arange(codes.size)
            else:
                index = np.flatnonzero((codes == positive) | (codes == negative))
            mine = points if index.size == points.size else points.only(index)
            # A binary problem on the rows of the two sides, with its gap per unit of loss.
            dual = classification(np.where(codes[index] == positive, 1.0, -1.0), caps[index])
            one = solve_dual(mine, dual, self._limits())
            parts.append((index, one.beta))
            found.append((one, one.gap / float(caps[index].sum())))
        intercepts = [one.intercept for one, _ in found]
        return *combine(points, parts, intercepts, self.n_threads), found

    def _joined(self, scores: FloatArray) -> FloatArray:
        """Scores per class (n, classes) from scores per pair of classes, by votes."""
        count = self.classes_.size
        if count == 2 or self.multiclass == "ovr":
            return scores
        votes = np.zeros((scores.shape[0], count))
        total = np.zeros_like(votes)
        for k, (one, other) in enumerate(self._pairs()):
            first = scores[:, k] > 0.0
            votes[first, one] += 1.0
            votes[~first, other] += 1.0
            total[:, one] += scores[:, k]
            total[:, other] -= scores[:, k]
        # The second term is below 1/3 in size, so that it only breaks ties between votes.
        joined: FloatArray = votes + total / (3.0 * (np.abs(total) + 1.0))
        return joined

    def _calibrate(self, points: Points, codes: IntArray, caps: FloatArray) -> None:
        """Fit the calibrators on the held-out scores of stratified folds."""
        if hasattr(self, "calibrators_"):
            del self.calibrators_
        if self.calibrate is None:
            return
        count = min(FOLDS, int(np.bincount(codes).min()))
        if count < 2:
            raise DataError(
                self._who,
                needs="two rows of every class to calibrate",
                got="a class with one",
                todo="Set {option} to None, or drop that class.",
                option=Option("calibrate", bare=True),
            )
        # The kernel of the training rows is used again: a fold is a subset of its points.
        scores = np.empty((codes.size, 1 if self.classes_.size == 2 else self.classes_.size))
        seed = 0 if self.random_state is None else self.random_state
        for train, test in stratified_folds(codes, count, seed):
            part = points.only(train)
            model, _, _ = self._solve(part, codes[train], caps[train])
            scores[test] = self._joined(model.scores(points.rows(test)))
        hits = [codes == code for code in self._against_the_rest()]
        self.calibrators_ = fit_calibrators(self.calibrate, scores, hits, caps / self.C)
