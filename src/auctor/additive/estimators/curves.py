"""Base class of the additive estimators: curves, bands, contributions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from auctor.additive.bins import Bins, PairBins, read_values
from auctor.additive.columns import LevelBins
from auctor.additive.edit import CurveModel, edited, measured, moved_by, term_number
from auctor.additive.means import MeanBins
from auctor.additive.model import BAND, Edit
from auctor.additive.text import coded, with_labels
from auctor.core.errors import DataError, Option, speaks
from auctor.core.types import Array, FloatArray, IntArray
from auctor.data.coerce import in_shards
from auctor.linear.estimators.base import (
    OfFit,
    OfModel,
    check_columns,
    column_names,
    read_matrix,
    read_target,
    read_weight,
)


class CurveEstimator:
    """What `AdditiveClassifier` and `AdditiveRegressor` have in common: curves, bands, parts."""

    model_: Any
    result_: Any
    _edits: tuple[Any, CurveModel]
    _labels: dict[int, list[str]]
    _takes_missing: ClassVar[bool] = True

    bins_ = OfModel[Bins](lambda model: model.bins)
    signs_ = OfModel[IntArray](lambda model: model.signs)
    edits_ = OfModel[tuple[Edit, ...]](lambda model: model.edits)
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
        if in_shards(X):
            return read_matrix(self, X, reset=reset)
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

    @property
    def importance_bands_(self) -> FloatArray | None:
        """Bands of 95 % or more of ``importances_``, (2, terms); ``None`` for one member.

        A curve moves by its error, so its standard deviation by at most the size of the error, of
        which the standard errors of all bins have the mean square.
        """
        error = self.model_.error
        if error is None:
            return None
        shares = [part.share for part in self.bins_.parts]
        sizes = [
            [np.sqrt(share @ table**2) for share, table in zip(shares, tables, strict=True)]
            for tables in map(self.bins_.tables, error)
        ]
        half = BAND * np.max(sizes, axis=0)
        middle = self.importances_
        return np.array([np.maximum(middle - half, 0.0), middle + half])

    @speaks
    def curve(self, column: str | int, score: int = 0) -> tuple[Array, FloatArray]:
        """Values of a column, one per bin, and what the column adds to the score there.

        The mean over the training rows is 0. The values of a category are its levels, by name if
        they have names; with more levels than a column can have bins they are means of the target.

        Parameters
        ----------
        column : name or number
        score : int
            Number of the class, if there are more than two.
        """
        check_is_fitted(self)
        count = len(self.bins_.columns)
        j = term_number(self.names_[:count], column, count)
        bins = self.bins_.columns[j]
        level = self.bins_.tables(self.model_.coef[score])[j]
        if isinstance(bins, LevelBins):
            labels = bins.values if bins.labels is None else np.array(bins.labels, dtype=object)
            return labels, level[1:-1]
        # Mean value of each code, in the units of the data; code 0 means missing.
        return bins.middle + bins.scale * bins.line[1:], level[1:]

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

    @speaks
    def explain_bands(self, X: Any) -> FloatArray | None:
        """Bands of about 95 % of what `explain` returns, from the differences between the members.

        Returns
        -------
        array of shape (2, *shape of the explanations), or ``None`` for one member
        """
        matrix = self._read(X, reset=False)
        if self.model_.error is None:
            return None
        parts = self.model_.explained(matrix)
        errors = replace(self.model_, coef=self.model_.error).explained(matrix)
        bands: FloatArray = np.array([parts - BAND * errors, parts + BAND * errors])
        return bands[..., 0] if bands.shape[-1] == 1 else bands

    @speaks
    def edit(
        self,
        term: Any,
        values: Any = None,
        *,
        flat: tuple[float, float] | None = None,
        drop: bool = False,
        score: int = 0,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> Edit:
        """Change a curve or a map by hand, and say what that costs.

        The other terms, the threshold and the intercept stay. Files keep the edit, and ``edits_``
        with its cost. The gap and `oof_scores_` remain those of the fit.

        Parameters
        ----------
        term : name, number, or pair of these
            A column, or a pair of columns.
        values : array or dict, optional
            What each bin adds instead, as `curve` returns it; of a pair as in `pair_map`; or the
            values of some levels by name, ``{"Oslo": 0.0}``, where "missing" stands for missing
            values and "other" for rare and unknown levels.
        flat : (low, high), optional
            A range of values in which the curve becomes its mean over the training rows.
        drop : bool
            Whether the term becomes 0 everywhere.
        score : int
            Number of the class, if there are more than two.
        X, y, sample_weight : rows, labels and weights, optional
            Rows on which the metric is measured before and after.
        training : bool
            Whether these are the rows of `fit`, in their order: each is then scored by the member
            that leaves it out.

        Returns
        -------
        Edit
            What it costs; its text says so.
        """
        check_is_fitted(self)
        old: CurveModel = self.model_
        number = term_number(self.names_, term, len(old.bins.columns))
        new = edited(old, number, score, names=self.names_, values=values, flat=flat, drop=drop)
        made = Edit(self.names_[number], moved_by(old, new, number))
        # The model of the fit, by which the held-out scores were made.
        result, first = getattr(self, "_edits", (None, old))
        first = first if result is self.result_ else old
        if X is not None:
            matrix = self._read(X, reset=False)
            labels = read_target(y, matrix.shape[0])
            weight = read_weight(sample_weight, matrix.shape[0])
            before, after = old.scores(matrix), new.scores(matrix)
            if training and isinstance(old.bins.parts[number], MeanBins):
                raise DataError(
                    "other rows than those of fit for the mean of a level, which they are part of",
                    got=repr(self.names_[number]),
                    todo="Pass other rows with {option}.",
                    option=Option("training", False),
                )
            if training:  # an edit moves the scores of every member alike
                held = self._held_out(matrix.shape[0]) - first.scores(matrix)
                before, after = held + before, held + after
                seen = np.isfinite(held).all(axis=1)
                before, after, labels = before[seen], after[seen], labels[seen]
                weight = None if weight is None else weight[seen]
            costs = [measured(old, scores, labels, weight) for scores in (before, after)]
            made = replace(made, before=costs[0], after=costs[1])
        new = replace(new, edits=(*old.edits, made))
        self.result_ = replace(self.result_, model=new)
        self._edits = self.result_, first
        return made

    def _held_out(self, n: int) -> FloatArray:
        """Scores of the training rows by the members that leave them out, less the threshold."""
        oof: FloatArray | None = getattr(self, "oof_scores_", None)
        if oof is None or oof.shape[0] != n or not np.isfinite(oof).any():
            raise DataError(
                "the rows of fit, which held-out scores are known of",
                got=f"{n} rows, and held-out scores of {0 if oof is None else oof.shape[0]}",
                todo="Pass other rows with {option}.",
                option=Option("training", False),
            )
        return oof - getattr(self.model_, "threshold", 0.0)

    @speaks
    def pair_map(self, pair: Any, score: int = 0) -> FloatArray:
        """What each cell of a pair of columns adds, without the levels of missing values.

        Parameters
        ----------
        pair : name, number, or two columns
        score : int
            Number of the class, if there are more than two.
        """
        check_is_fitted(self)
        count = len(self.bins_.columns)
        number = term_number(self.names_, pair, count)
        part = self.bins_.parts[number]
        if not isinstance(part, PairBins):
            raise DataError(
                "a pair of the model",
                got=repr(pair),
                todo=f"Pairs: {', '.join(self.names_[count:])}.",
            )
        table = self.bins_.tables(self.model_.coef[score])[number]
        return table.reshape(part.shape)[1:, 1:].copy()
