"""Base class of the additive estimators: curves, bands, contributions."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from auctor.additive.bands import REPEATS, bands, draws
from auctor.additive.bins import Bins, read_values
from auctor.additive.model import curve_of
from auctor.core.checks import check_int
from auctor.core.errors import DataError, speaks
from auctor.core.types import FloatArray, IntArray
from auctor.linear.base import LinearEstimator, check_columns


class CurveEstimator(LinearEstimator):
    """Base class of `AdditiveClassifier` and `AdditiveRegressor`."""

    bins_: Bins
    signs_: IntArray
    strength_: float
    odds_slope_: float
    bands_: dict[int, FloatArray]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _read(self, X: Any, *, reset: bool) -> Any:
        """The matrix of X, in which values may be missing; checked against `fit`."""
        if not reset:
            check_is_fitted(self)
        matrix = read_values(X)
        check_columns(self, X if hasattr(X, "shape") else matrix, reset=reset)
        return matrix

    def _shown(self, model: Any) -> dict[str, Any]:
        found = super()._shown(model) | {"bins_": model.bins, "signs_": model.signs}
        return found if model.bands is None else found | {"bands_": model.bands}

    @property
    def names_(self) -> list[str]:
        """Names of the columns, then of the pairs, in the order of `explain`."""
        return list(self.to_model().part_names(self._feature_names()))

    def _bands(self) -> dict[int, FloatArray] | None:
        """The result of the last call of `curve_bands`, if there was one."""
        return getattr(self, "bands_", None)

    @property
    def importances_(self) -> FloatArray:
        """Importance of each column and pair, in the order of ``names_``.

        It is the standard deviation over the training rows of what the column or pair adds to the
        score; with several classes the largest one.
        """
        return self.bins_.importances(np.atleast_2d(self.coef_))

    @speaks
    def curve(self, column: str | int, score: int = 0) -> tuple[FloatArray, FloatArray]:
        """Values of a column, one per bin, and what the column adds to the score there.

        The mean over the training rows is subtracted.

        Parameters
        ----------
        column : name or number
        score : int
            Number of the class, if there are more than two.
        """
        check_is_fitted(self)
        j = self._column(column)
        bins = self.bins_.columns[j]
        level = curve_of(self.to_model(), j, score)
        # Mean value of each code, in the units of the data; code 0 means missing.
        return bins.middle + bins.scale * bins.line[1:], level[1:]

    def _column(self, column: str | int) -> int:
        """Number of the column of this name or number; else an error."""
        names = self.names_[: len(self.bins_.columns)]
        if isinstance(column, str) and column in names:
            return names.index(column)
        if not isinstance(column, str) and 0 <= int(column) < len(names):
            return int(column)
        raise DataError(
            "a column of the model", got=f"{column!r}", todo=f"Columns: {', '.join(names[:10])}."
        )

    @speaks
    def curve_bands(
        self, X: Any, y: Any, *, sample_weight: Any = None, repeats: int = REPEATS, score: int = 0
    ) -> dict[int, FloatArray]:
        """Bootstrap bands of the curves, which contain 95 % of the curves of the samples.

        Each of the ``repeats`` samples of the rows is fitted with the bins, the pairs and the
        strength of this model. The bands are stored as ``bands_``, which plots and model files use.

        Returns
        -------
        dict from the number of a column to an array (2, m), for the m values of `curve`
        """
        check_is_fitted(self)
        check_int("repeats", repeats, low=2)
        n = self._read(X, reset=False).shape[0]
        seed = 0 if self.random_state is None else self.random_state
        samples = draws(n, self._read_weight(sample_weight, n), repeats, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            thetas = [coef[score] for coef in self._refitted(X, y, samples)]
        self.bands_ = bands(self.bins_, thetas)
        return self.bands_

    def _refitted(self, X: Any, y: Any, samples: Iterator[FloatArray]) -> Iterator[FloatArray]:
        """Coefficients (k, p) fitted to each of the samples, which are row weights."""
        raise NotImplementedError

    @speaks
    def explain(self, X: Any) -> FloatArray:
        """What each column and pair adds to the score of each row of X.

        The mean over the training rows is subtracted, so that contributions explain why a row
        scores above or below the average. ``names_`` has the names of the columns and pairs.

        Returns
        -------
        array of shape (n, columns and pairs), with a third axis for more than two classes
        """
        parts: FloatArray = self.to_model().explained(self._read(X, reset=False))
        return parts[:, :, 0] if parts.shape[2] == 1 else parts
