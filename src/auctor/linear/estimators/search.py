"""A classifier that picks its strength by cross-validation on regularisation paths."""

from __future__ import annotations

import inspect
from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Integral
from typing import Any

import numpy as np

from auctor.core.checks import named_parameters
from auctor.core.errors import ParameterError, speaks
from auctor.core.types import Array, FloatArray, IntArray
from auctor.fit.model import LinearModel
from auctor.fit.parameters import ClassifierParameters, SearchParameters, parameters_of
from auctor.fit.result import FitOptions, FitResult, Judge, Split
from auctor.fit.targets import Rows
from auctor.linear.estimators.base import OfFit, sentence
from auctor.linear.estimators.classifier import MetricClassifier
from auctor.linear.from_model import unfitted


def splits_of(
    cv: Any, labels: Array, groups: IntArray | None = None, *, classifier: bool
) -> list[Split] | None:
    """Training and test rows of each fold of a splitter or iterable; None if ``cv`` is a number."""
    if isinstance(cv, Integral):
        return None
    from sklearn.model_selection import check_cv

    # Splitters may return masks or lists; indexing turns them into row numbers.
    everything: IntArray = np.arange(labels.shape[0])
    try:
        folds = check_cv(cv, classifier=classifier)
        splits = [
            (everything[train], everything[test])
            for train, test in folds.split(everything, labels, groups)
        ]
        if not splits:
            raise ValueError("no folds")
    except (TypeError, ValueError, IndexError) as error:
        raise ParameterError(
            f"`cv` to be a number of folds, a splitter or pairs of train and test rows; got {cv!r} "
            f"({sentence(error)}). Pass a number."
        ) from error
    return splits


@named_parameters
@dataclass(eq=False, repr=False)
class MetricClassifierCV(MetricClassifier):
    """`MetricClassifier` with its strength and surrogate picked by the metric on held-out rows.

    For each fold a warm-started `regularisation_path` is solved on the training rows (one per class
    with more than two; all share the strength) and scored on the held-out rows. By default the
    search goes from coarse to fine: decades of strengths on two folds; the best three on the other
    folds, as long as they are not clearly worse than the best; then half a step on either side of
    the best. Fits inside the search have a loose tolerance. Where the best strength is at the end
    of the grid, the grid is extended, and a warning is issued if scores still rise there. With
    ``surrogate="auto"`` the folds also choose between surrogates: the cheapest is tuned first, and
    another one replaces it if it leads by more than one standard error. The model is then fitted
    to all rows.

    Parameters
    ----------
    metric, surrogate, penalty, l1_ratio, solver, fit_intercept, threshold, class_weight, calibrate,
    prior
        As in `MetricClassifier`. The strength of a penalty object is ignored.
    pos_label
        As in `MetricClassifier`.
    strengths : sequence of floats, optional
        The candidates, in any order, each scored on every fold. By default they are a decreasing
        geometric sequence: from `auctor.solvers.strength_max` (the largest over the classes) for
        penalties that make models sparse, from the mean squared row norm for others.
    n_strengths : int >= 1, optional
        The number of candidates, each scored on every fold; by default the search is coarse to
        fine. If ``strengths`` or ``n_strengths`` is given, ``surrogate="auto"`` is the default
        surrogate, as in `MetricClassifier`.
    ratio : float in (0, 1), optional
        Smallest default strength over the largest; 1e-3 for sparse penalties, 1e-7 for others.
    cv : int >= 2, splitter or iterable of (train, test) rows
        A number of stratified, shuffled folds, fewer if a class has fewer rows.
    scoring : str or callable, optional
        A scorer of scikit-learn, greater is better; by default the metric, as in
        `MetricClassifier.score`.
    rule : {"best", "one_standard_error"}
        "best" picks the best mean score; ties are broken by the average precision, then by the
        larger strength. "one_standard_error" picks the largest strength whose mean score is within
        one standard error of the best.
    refit : bool
        Whether to fit to all rows at the end; without it there is no model, only the scores.
    tol, max_iter
        Tolerance and iterations of the final fit, and of every fit if ``strengths`` or
        ``n_strengths`` is given.
    max_seconds : float, optional
        Time limit of search and final fit; the best strength scored by then is used.
    n_threads : int, optional
    warm_start : bool
        Start the final fit from the previous one.
    random_state : int, optional
        Shuffles folds and seeds randomised solvers; None is the same seed every time.
    verbose : int
        1 writes a line per point of a path to the error stream.

    Attributes
    ----------
    strength_ : float
        The chosen strength.
    surrogate_ : str
        Name of the chosen surrogate.
    strengths_ : (n_strengths,) array
        The strengths that were tried, decreasing.
    scores_ : (n_folds, n_strengths) array
        Held-out scores, NaN where a strength was not scored on a fold.
    best_index_ : int
        Position of the chosen strength.
    classes_, coef_, intercept_, threshold_, gap_, n_iter_, solution_
        As in `MetricClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 20))
    >>> y = X[:, 0] + rng.normal(size=200) > 1.0
    >>> model = MetricClassifierCV("log_loss", penalty="l1", n_strengths=10).fit(X, y)
    >>> bool(0 < np.count_nonzero(model.coef_) < 20)
    True
    """

    _: KW_ONLY
    strength: float = field(default=1.0, init=False)
    device: None = field(default=None, init=False)
    strengths: Any = None
    n_strengths: int | None = None
    ratio: float | None = None
    cv: Any = 5
    scoring: Any = None
    rule: str = "best"
    refit: bool = True

    _parameters = SearchParameters

    strength_ = OfFit[float](lambda result: result.strength)
    strengths_ = OfFit[FloatArray](lambda result: result.search.strengths)
    scores_ = OfFit[FloatArray](lambda result: result.search.scores)
    best_index_ = OfFit[int](lambda result: result.search.best_index)
    surrogate_ = OfFit[str](lambda result: result.search.surrogate)

    @speaks
    def score(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> float:
        """The metric, or ``scoring`` where it is given; greater is better."""
        if self.scoring is None:
            return super().score(X, y, sample_weight, groups)
        return self._scored(self, X, y, sample_weight)

    def _options(self, rows: Rows) -> FitOptions:
        splits = splits_of(self.cv, rows.labels, rows.groups, classifier=True)
        judge = None if self.scoring is None else self._judge_of(rows)
        return replace(super()._options(rows), splits=splits, judge=judge)

    def _judge_of(self, rows: Rows) -> Judge:
        """A function that scores models by ``scoring``, for which it wraps them in an estimator."""
        params = parameters_of(ClassifierParameters, self)
        part = unfitted(params)
        part.n_features_in_ = rows.matrix.shape[1]

        def judge(model: LinearModel, held_out: Rows) -> float:
            part.result_ = FitResult(params, model)
            return self._scored(part, held_out.matrix, held_out.labels, held_out.weight)

        return judge

    def _scored(self, model: MetricClassifier, X: Any, y: Any, weight: Any) -> float:
        """The score of a fitted classifier by ``scoring``."""
        from sklearn.exceptions import NotFittedError
        from sklearn.metrics import check_scoring

        scorer = check_scoring(model, scoring=self.scoring)
        # Weights are passed only to scorers that accept them.
        takes = inspect.signature(scorer).parameters
        weighs = "sample_weight" in takes or any(p.kind is p.VAR_KEYWORD for p in takes.values())
        extra = {} if weight is None or not weighs else {"sample_weight": weight}
        try:
            return float(scorer(model, X, y, **extra))
        except (AttributeError, NotFittedError, TypeError) as error:
            raise ParameterError(
                f"`scoring` to be one number from labels or decision values; got {self.scoring!r} "
                f"({sentence(error)}). Pass another scorer, or none for the metric."
            ) from error
