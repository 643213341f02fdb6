"""Base class of the additive estimators: curves, bands, contributions."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from auctor.additive.bins import Bins, read_values
from auctor.additive.columns import LevelBins
from auctor.additive.model import curve_of
from auctor.additive.text import coded, with_labels
from auctor.core.errors import DataError, speaks
from auctor.core.types import FloatArray, IntArray
from auctor.linear.base import OfFit, OfModel, check_columns, column_names


class CurveEstimator:
    """What `AdditiveClassifier` and `AdditiveRegressor` have in common: curves, bands, parts."""

    model_: Any
    _labels: dict[int, list[str]]

    bins_ = OfModel[Bins](lambda model: model.bins)
    signs_ = OfModel[IntArray](lambda model: model.signs)
    error_ = OfModel[FloatArray](lambda model: model.error)
    strength_ = OfFit[float](lambda result: result.strength)
    strengths_ = OfFit[FloatArray](lambda result: result.search and result.search.strengths)
    scores_ = OfFit[FloatArray](lambda result: result.search and result.search.scores)
    best_index_ = OfFit[int](lambda result: result.search and result.search.best_index)
    oof_scores_ = OfFit[FloatArray](lambda result: result.oof)
    score_oof_ = OfFit[float](lambda result: result.measured)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        return tags

    def _read(self, X: Any, *, reset: bool) -> Any:
        """The matrix of X, in which values may be missing; checked against `fit`."""
        if not reset:
            check_is_fitted(self)
            matrix = read_values(coded(X, self.bins_))
        else:
            numbers, self._labels = with_labels(X)
            matrix = read_values(numbers)
        check_columns(self, X if hasattr(X, "shape") else matrix, reset=reset)
        return matrix

    @property
    def names_(self) -> list[str]:
        """Names of the columns, then of the pairs, in the order of `explain`."""
        return list(self.model_.part_names(column_names(self)))

    @property
    def importances_(self) -> FloatArray:
        """Importance of each column and pair, in the order of ``names_``.

        It is the standard deviation over the training rows of what the column or pair adds to the
        score; with several classes the largest one.
        """
        importances: FloatArray = self.bins_.importances(self.model_.coef)
        return importances

    @speaks
    def curve(self, column: str | int, score: int = 0) -> tuple[FloatArray, FloatArray]:
        """Values of a column, one per bin, and what the column adds to the score there.

        The mean over the training rows is 0. The values of a category are its levels.

        Parameters
        ----------
        column : name or number
        score : int
            Number of the class, if there are more than two.
        """
        check_is_fitted(self)
        j = self._column(column)
        bins = self.bins_.columns[j]
        level = curve_of(self.model_, j, score)
        if isinstance(bins, LevelBins):
            return bins.values, level[1:-1]
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
            "a column of the model", got=repr(column), todo=f"Columns: {', '.join(names[:10])}."
        )

    @speaks
    def curve_bands(self, score: int = 0) -> dict[int, FloatArray] | None:
        """Bands of about 95 % of the curves, from the differences between the members.

        Returns
        -------
        dict from the number of a column to an array (2, m), for the m values of `curve`; ``None``
        for one member
        """
        check_is_fitted(self)
        bands: dict[int, FloatArray] | None = self.model_.bands(score)
        return bands

    @speaks
    def explain(self, X: Any) -> FloatArray:
        """What each column and pair adds to the score of each row of X.

        Contributions have the mean 0 over the training rows: they explain why a row scores above or
        below the average. ``names_`` has the names of the columns and pairs.

        Returns
        -------
        array of shape (n, columns and pairs), with a third axis for more than two classes
        """
        parts: FloatArray = self.model_.explained(self._read(X, reset=False))
        return parts[:, :, 0] if parts.shape[2] == 1 else parts
