"""Base classes of the estimators: checks of what users pass to `fit`."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from auctor.core.errors import DataError, DataTypeError, speaks
from auctor.core.result import Solution
from auctor.core.types import Array, FloatArray
from auctor.data import Sharded, as_matrix
from auctor.data.coerce import LARGEST, NOT_NUMBERS, check_weight, in_shards, refuse_masked
from auctor.fit.fitted import Fitted, StrengthChoice
from auctor.fit.parameters import LinearParameters, parameters_of
from auctor.fit.train_model import check_given


def check_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    """Store the names and number of columns in an estimator, or check that they are those of `fit`.

    scikit-learn's check, with errors of auctor that contain its words, as its checks of estimators
    demand; values are not looked at.
    """
    try:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    except ValueError as error:
        raise DataError(
            "the columns of fit",
            got=f"others: {_one_line(error)}",
            todo="Pass the columns used in fit.",
        ) from error
    except TypeError as error:
        raise DataTypeError(
            "names of columns that are all text",
            got=f"others: {_one_line(error)}",
            todo="Rename the columns.",
        ) from error


class TableEstimator(BaseEstimator):  # type: ignore[misc]
    """Reads and checks X, y and weights, with scikit-learn's checks and messages."""

    #: For error messages: the classifier to use instead of this regressor, or the reverse.
    _for_the_other_kind: str

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _read(self, X: Any, *, reset: bool) -> Any:
        """The matrix of X; names and number of columns are stored, or checked against `fit`."""
        if not reset:
            check_is_fitted(self)
        matrix = as_matrix(X)
        if in_shards(matrix):
            return self._read_shards(matrix, reset)
        # The values were checked by `as_matrix`.
        check_columns(self, X if hasattr(X, "shape") else matrix, reset=reset)
        return matrix

    def _read_shards(self, data: Sharded, reset: bool) -> Sharded:
        """Data in shards; names and number of columns are stored, or checked against `fit`."""
        if reset:
            self.n_features_in_ = data.n_columns
            if data.names is not None:
                self.feature_names_in_ = np.array(data.names, dtype=object)
        elif data.n_columns != self.n_features_in_:
            raise DataError(
                f"{self.n_features_in_} columns, as in fit",
                got=f"{data.n_columns}",
                todo="Pass the columns used in fit.",
            )
        return data

    def _read_target(self, y: Any, n: int) -> Array:
        """One label or number per row."""
        if y is None:  # the wording in brackets is that of scikit-learn's check of estimators
            raise DataError(
                "one target per row",
                got="None (it requires y to be passed, but the target y is None)",
                todo="Pass y to fit.",
            )
        refuse_masked(y, "y")
        try:
            flat: Array = column_or_1d(y, warn=True)
        except (TypeError, ValueError) as error:
            raise DataError(
                "one target per row", got=sentence(error), todo="Pass a one-dimensional y."
            ) from error
        if flat.shape[0] != n:
            raise DataError(
                "as many targets as rows",
                got=f"{flat.shape[0]} and {n}",
                todo="Pass X and y of equal length.",
            )
        if flat.dtype.kind == "f" and not np.isfinite(flat).all():
            raise DataError(
                "finite targets",
                got="NaN or infinity",
                todo="Input y contains NaN or infinity: drop those rows.",
            )
        return flat

    def _read_numbers(self, y: Any, n: int) -> FloatArray:
        """Finite targets whose squares do not overflow."""
        target = self._read_target(y, n)
        try:
            if target.dtype.kind in NOT_NUMBERS:
                raise TypeError
            numbers = np.ascontiguousarray(target, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(
                "numeric targets",
                got=target.dtype,
                todo=f"Use {self._for_the_other_kind} for labels.",
            ) from error
        largest = float(np.abs(numbers).max())
        if not largest <= LARGEST:
            raise DataError(
                f"finite targets below {LARGEST:g} in size",
                got=f"{largest:g}",
                todo="Drop or rescale them.",
            )
        return numbers

    def _read_labels(self, y: Any, n: int) -> Array:
        """One class label per row, of at least two rows."""
        labels = self._read_target(y, n)
        if n < 2:
            raise DataError("at least two rows", got=f"{n} sample", todo="Pass more rows.")
        try:
            check_classification_targets(labels)
        except (TypeError, ValueError) as error:
            raise DataError(
                "class labels of one type",
                got=sentence(error),
                todo=f"Use {self._for_the_other_kind} for numbers.",
            ) from error
        return labels

    def _read_weight(self, sample_weight: Any, n: int) -> FloatArray | None:
        """Checked row weights; a single number is the weight of every row."""
        if sample_weight is None:
            return None
        if isinstance(sample_weight, Real):
            sample_weight = np.full(n, sample_weight, dtype=np.float64)
        return check_weight(sample_weight, n)

    def _feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns, if the data of `fit` had names."""
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names))


#: Attributes that show a model, which a search without ``refit`` has not.
OF_MODEL = ("coef_", "intercept_", "threshold_", "bins_", "signs_", "error_")


class LinearEstimator(TableEstimator, LinearParameters):
    """An estimator with one coefficient per column."""

    coef_: FloatArray
    intercept_: Any
    #: The class of the parameters, from which training functions take them.
    _parameters: ClassVar[type[LinearParameters]]
    _start: list[Solution] | None = None

    def check_parameters(self) -> None:
        """Raise ``ParameterError`` for parameters that `fit` would refuse."""
        check_given(self._given())

    def _given(self) -> Any:
        """The parameters as training functions take them."""
        return parameters_of(self._parameters, self)

    @speaks
    def adopt(self, fitted: Fitted[Any, Any]) -> Self:
        """Show a fitted model as attributes; those that only an earlier fit had are removed."""
        choice, solutions, calibrators = fitted.search, fitted.solutions, fitted.calibrators
        optional = {
            "solution_": solutions if len(solutions) > 1 else next(iter(solutions), None),
            "gap_": fitted.gap,
            "n_iter_": fitted.n_iter,
            "calibrators_": None if calibrators is None else list(calibrators),
            "strength_": fitted.strength,
            "odds_slope_": fitted.odds_slope,
            "oof_scores_": fitted.oof,
            "score_oof_": fitted.measured,
            "strengths_": None if choice is None else choice.strengths,
            "scores_": None if choice is None else choice.scores,
            "best_index_": None if choice is None else choice.best_index,
            "surrogate_": None if choice is None else choice.surrogate,
        }
        for name in (*optional, *OF_MODEL):
            if name in vars(self):
                delattr(self, name)
        found = {name: value for name, value in optional.items() if value is not None}
        if fitted.model is not None:
            found |= self._shown(fitted.model)
        for name, value in found.items():
            setattr(self, name, value)
        return self

    @speaks
    def to_fitted(self) -> Fitted[Any, Any]:
        """The fitted model with its parameters and the search behind it: the inverse of `adopt`."""
        known = vars(self)
        last, choice = known.get("solution_"), None
        if "best_index_" in known:
            scored = known["strengths_"], known["scores_"], known["best_index_"]
            choice = StrengthChoice(*scored, known.get("surrogate_"))
        return Fitted(
            self._given(),
            self.to_model(),
            [] if last is None else last if isinstance(last, list) else [last],
            gap=known.get("gap_"),
            n_iter=known.get("n_iter_"),
            calibrators=known.get("calibrators_"),
            search=choice,
            strength=known.get("strength_"),
            odds_slope=known.get("odds_slope_"),
            oof=known.get("oof_scores_"),
            measured=known.get("score_oof_"),
        )

    def to_model(self) -> Any:
        """The fitted model, which predicts without scikit-learn."""
        raise NotImplementedError

    def _shown(self, model: Any) -> dict[str, Any]:
        """The numbers of a model, by the names of the attributes that show them."""
        return {"coef_": model.coef, "intercept_": model.intercept}

    @speaks
    def continue_from(self, other: LinearEstimator) -> Self:
        """Warm-start the next `fit` from another fitted model; needs ``warm_start=True``.

        Its coefficients are ignored if that `fit` has another number of columns.
        """
        self._start = other._previous()
        return self

    def _previous(self) -> list[Solution] | None:
        """Solutions for a warm start: those of `continue_from`, used once, or of the last fit."""
        if self._start is not None:  # only for one fit: later ones start from their own
            start, self._start = self._start, None
            return start
        last = getattr(self, "solution_", None)
        return last if last is None or isinstance(last, list) else [last]


def sentence(error: Exception) -> str:
    """First line of another library's message, without its full stop."""
    return str(error).partition("\n")[0].rstrip(".")


def _one_line(error: Exception) -> str:
    """Another library's message on one line, without its full stop."""
    return " ".join(str(error).split()).rstrip(".")
