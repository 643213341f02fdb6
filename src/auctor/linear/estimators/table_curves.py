"""What an additive `TableClassifier` says about its columns, by their names in the table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from auctor.core.errors import NotOfferedError, Option, speaks
from auctor.core.types import Array, FloatArray
from auctor.linear.offered import offered_if

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auctor.additive.model import Edit
    from auctor.additive.scorecard import Scorecard
    from auctor.reports.pictures import CurvePictures


def check_additive_table(estimator: Any) -> None:
    """Raise unless the model of a table is additive, or may turn out to be."""
    kind = estimator.model if estimator.model != "auto" else "additive"
    if hasattr(estimator, "model_"):
        kind = "linear" if estimator.model_kind_ == "linear" else "additive"
    if kind != "additive":
        raise NotOfferedError(
            f"an additive model for curves; got {Option('model', kind)}. Pass `model='additive'`."
        )


class TableCurves:
    """Curves, explanations and edits of `TableClassifier` with ``model="additive"``.

    Parameters and results are those of `AdditiveClassifier`. Columns and pairs have their names in
    the table, and rows are tables as in `fit`.
    """

    model_: Any
    schema_: Any

    @property
    def names_(self) -> list[str]:
        """Names of the columns, then of the pairs, in the order of `explain`."""
        check_is_fitted(self)
        check_additive_table(self)
        return list(self.model_.model_.part_names(self.schema_.feature_names))

    @property
    def importances_(self) -> FloatArray:
        """Standard deviation of what each column and pair adds, in the order of ``names_``."""
        check_is_fitted(self)
        check_additive_table(self)
        importances: FloatArray = self.model_.importances_
        return importances

    @property
    def importance_bands_(self) -> FloatArray | None:
        """Bands of ``importances_``; ``None`` for one member."""
        check_is_fitted(self)
        check_additive_table(self)
        bands: FloatArray | None = self.model_.importance_bands_
        return bands

    @property
    def edits_(self) -> tuple[Edit, ...]:
        """Changes by hand since the fit, with their costs."""
        check_is_fitted(self)
        check_additive_table(self)
        names = dict(zip(self.model_.names_, self.names_, strict=True))
        return tuple(replace(one, term=names[one.term]) for one in self.model_.edits_)

    def _term(self, term: Any) -> int:
        """Number of a column or pair."""
        from auctor.additive.edit import term_number

        return term_number(self.names_, term, len(self.model_.bins_.columns))

    @offered_if(check_additive_table)
    @speaks
    def curve(self, column: str | int, score: int = 0) -> tuple[Array, FloatArray]:
        """Values of a column and what it adds there, as `AdditiveClassifier.curve`."""
        curve: tuple[Array, FloatArray] = self.model_.curve(self._term(column), score)
        return curve

    @offered_if(check_additive_table)
    @speaks
    def curve_bands(self, score: int = 0) -> dict[int, FloatArray] | None:
        """Bands of the curves by number of the column, as `AdditiveClassifier.curve_bands`."""
        bands: dict[int, FloatArray] | None = self.model_.curve_bands(score)
        return bands

    @offered_if(check_additive_table)
    @speaks
    def pair_map(self, pair: Any, score: int = 0) -> FloatArray:
        """What each cell of a pair adds, as `AdditiveClassifier.pair_map`."""
        cells: FloatArray = self.model_.pair_map(self._term(pair), score)
        return cells

    @offered_if(check_additive_table)
    @speaks
    def explain(self, X: Any) -> FloatArray:
        """What each column and pair adds to the score of each row of a table."""
        parts: FloatArray = self.model_.explain(self.encode(X))  # type: ignore[attr-defined]
        return parts

    @offered_if(check_additive_table)
    @speaks
    def explain_bands(self, X: Any) -> FloatArray | None:
        """Bands of what `explain` returns; ``None`` for one member."""
        matrix = self.encode(X)  # type: ignore[attr-defined]
        bands: FloatArray | None = self.model_.explain_bands(matrix)
        return bands

    @offered_if(check_additive_table)
    @speaks
    def edit(
        self, term: Any, values: Any = None, *, X: Any = None, y: Any = None, **how: Any
    ) -> Edit:
        """Change a curve or a map by hand, as `AdditiveClassifier.edit`.

        y may be the name of the label column in X.
        """
        number = self._term(term)
        if X is not None:
            y = self._labels(X, y)  # type: ignore[attr-defined]
            X = self.encode(X)  # type: ignore[attr-defined]
        edit: Edit = self.model_.edit(number, values, X=X, y=y, **how)
        return replace(edit, term=self.names_[number])

    @offered_if(check_additive_table)
    @speaks
    def scorecard(self, *points: float, X: Any = None, y: Any = None, **how: Any) -> Scorecard:
        """The model as a table of points, as `AdditiveClassifier.scorecard`."""
        if X is not None:
            y = self._labels(X, y)  # type: ignore[attr-defined]
            X = self.encode(X)  # type: ignore[attr-defined]
        card: Scorecard = self.model_.scorecard(*points, X=X, y=y, **how)
        return card.renamed(dict(zip(self.model_.names_, self.names_, strict=True)))

    @offered_if(check_additive_table)
    @speaks
    def curve_pictures(self, X: Any = None, rows: Sequence[int] = ()) -> CurvePictures:
        """Charts of every column, maps of pairs and explanations of some rows of a table.

        They show themselves in notebooks; `auctor.reports.curve_pictures` does the same.
        """
        from auctor.reports.pictures import curve_pictures

        return curve_pictures(self, X, rows)

    @offered_if(check_additive_table)
    @speaks
    def plot(self) -> Any:
        """A matplotlib figure with a chart of every column and the maps of pairs."""
        return self.curve_pictures().plot()
