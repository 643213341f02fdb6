"""Additive regression: curves and maps of pairs."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Self

from auctor.additive.estimators.curves import CurveEstimator
from auctor.additive.offset import read_offset
from auctor.additive.parameters import AdditiveRegressorParameters
from auctor.core.checks import named_parameters
from auctor.core.errors import speaks
from auctor.core.types import Target
from auctor.fit.result import FitOptions
from auctor.linear.estimators.base import taken
from auctor.linear.estimators.regressor import LinearRegressor
from auctor.linear.estimators.search import splits_of


@named_parameters
@dataclass(eq=False, repr=False)
class AdditiveRegressor(CurveEstimator, LinearRegressor):
    """Additive regression: a curve for each column, fitted by a chosen loss.

    Parameters
    ----------
    loss : str or loss object
        As in `LinearRegressor`.
    interactions, exclude, pair_penalty, members, monotone, shape, cuts, categorical, n_bins
        As in `AdditiveClassifier`.
    penalty, strength, n_strengths, cv, rule, solver, fit_intercept, tol, max_iter, max_seconds
    n_threads
        As in `AdditiveClassifier`.
    verbose : int
        As in `LinearRegressor`.

    Attributes
    ----------
    bins_, coef_, error_, oof_scores_, intercept_, strength_, gap_, n_iter_, solution_
        As in `AdditiveClassifier`, for one score.
    score_oof_ : float
        Minus the mean loss of held-out rows.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor import AdditiveRegressor
    >>> X = np.linspace(-1, 1, 300)[:, None]
    >>> y = np.abs(X[:, 0])
    >>> AdditiveRegressor(members=3).fit(X, y).score(X, y) > 0.95
    True
    """

    _: KW_ONLY
    penalty: Any = "fused"
    strength: Any = "auto"
    l1_ratio: None = field(default=None, init=False)
    standardise: bool = field(default=False, init=False)
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

    _parameters = AdditiveRegressorParameters

    @speaks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, init_score: Any = None) -> Self:
        """Fit to rows X, in which values may be missing, and numbers y.

        Parameters
        ----------
        X : table, array or sparse matrix
            Columns of text, and of categories, of a pandas or polars table are categories.
        y : numbers
        sample_weight : array, optional
        init_score : (n,) array, optional
            Scores to which those of the model are added, such as the logarithm of an exposure for
            the Poisson loss.
        """
        self._offset = init_score
        return super().fit(X, y, sample_weight)

    def _options(self, target: Target) -> FitOptions:
        splits = None
        if self.cv is not None:
            splits = splits_of(self.cv, target.y, classifier=False)
        offset = read_offset(taken(self, "_offset"), target.n_rows)
        labels = taken(self, "_labels") or {}
        return replace(super()._options(target), splits=splits, offset=offset, labels=labels)
