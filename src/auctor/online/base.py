"""What one-pass learners share: reading chunks, labels, new columns, state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from auctor import metrics
from auctor.core.checks import check_choice, check_int
from auctor.core.errors import DataError, ParameterError
from auctor.core.rng import as_rng
from auctor.core.types import Array, Columns, FloatArray, Target
from auctor.data import as_matrix, wrap
from auctor.data.convert import check_weight

#: Everything a learner knows, as named arrays; kernels update them in place.
State = dict[str, Array]


class OnlineClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A linear scorer learned from rows that pass by once.

    A subclass lists its parameters in ``__init__`` (with ``passes``, ``grow``, ``missing`` and
    ``random_state`` among them) and writes `_fresh`, `_learn` and `_weights`. `_learn` is a loop
    over rows that reads and writes the state alone, so that chunks of any size give the same state
    as one call, and a state that was saved goes on as if nothing had happened.
    """

    passes: int
    grow: bool
    missing: str
    random_state: Any

    #: Arrays of the state whose axes all have one entry per column; new columns append zeros.
    per_column: ClassVar[tuple[str, ...]] = ()

    state_: State
    classes_: Array

    # --- what a subclass writes -----------------------------------------------------------------

    def _fresh(self, d: int, rng: np.random.Generator) -> State:
        """State before the first row, for d columns."""
        raise NotImplementedError

    def _learn(self, state: State, rows: Columns, y: FloatArray, weight: FloatArray) -> None:
        """Update the state by rows with labels -1 and +1, in their order."""
        raise NotImplementedError

    def _weights(self, state: State) -> FloatArray:
        """Weights of the columns now."""
        raise NotImplementedError

    def _threshold(self, state: State) -> float:
        """Where `predict` cuts the scores."""
        return 0.0

    def _again(self, state: State) -> None:
        """Rows that were learned already come once more."""

    def _widen(self, state: State, extra: int) -> None:
        """Make room for more columns; their entries so far are zero."""
        pad_columns(
            state, {name: tuple(range(state[name].ndim)) for name in self.per_column}, extra
        )

    # --- learning -------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn from all rows, ``passes`` times in their order."""
        self._check_params()
        self._forget()
        labels = self._flat(y)
        if sample_weight is not None:
            check_weight(sample_weight, labels.size, who=self._who)
        known = np.unique(labels[labels == labels])  # not those that are missing
        for turn in range(self.passes):
            if turn:
                self._again(self.state_)
            self.partial_fit(X, labels, classes=known, sample_weight=sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows.

        Parameters
        ----------
        X : table, array or sparse matrix
        y : labels
        classes : two labels, optional
            Needed in the first call unless the labels there have two values, or are 0/1 or -1/+1.
        sample_weight : array, optional
        """
        self._check_params()
        matrix, labels, weight = self._clean(X, y, sample_weight)
        if not labels.size and classes is None and not hasattr(self, "classes_"):
            return self
        signs = self._signs(labels, classes)
        self._fit_columns(matrix.shape[1])
        if matrix.shape[0]:
            rows = wrap(matrix, Target(np.empty(0)), n_threads=1).row_lines()
            self._learn(self.state_, rows, signs, weight)
        self.rows_seen_ += matrix.shape[0]
        return self

    @property
    def coef_(self) -> FloatArray:
        """Weights of the columns, (1, d)."""
        check_is_fitted(self, "state_")
        return self._weights(self.state_)[None, :]

    @property
    def intercept_(self) -> FloatArray:
        """Minus the threshold of `predict`, (1,)."""
        check_is_fitted(self, "state_")
        return np.array([-self._threshold(self.state_)])

    def decision_function(self, X: Any) -> FloatArray:
        """Scores minus the threshold."""
        check_is_fitted(self, "state_")
        matrix = as_matrix(X, who=self._who)
        coef = self._weights(self.state_)
        d = matrix.shape[1]
        if d != coef.size and not self.grow:
            raise DataError(
                f"{self._who} needs {coef.size} columns; got X has {d} features, but "
                f"{self._who} is expecting {coef.size} features as input. Pass the columns of fit."
            )
        coef = np.pad(coef[:d], (0, max(0, d - coef.size)))
        return wrap(matrix, Target(np.empty(0))).scores(coef, float(self.intercept_[0]))

    def predict(self, X: Any) -> Array:
        """Labels, by the sign of `decision_function`."""
        check_is_fitted(self, "state_")
        labels: Array = self.classes_[(self.decision_function(X) > 0.0).astype(np.intp)]
        return labels

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """AUC."""
        check_is_fitted(self, "state_")
        hits = np.asarray(y) == self.classes_[1]
        return metrics.auc(hits, self.decision_function(X), weight=sample_weight)

    # --- parts ----------------------------------------------------------------------------------

    @property
    def _who(self) -> str:
        return type(self).__name__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "state_")

    def _check_params(self) -> None:
        check_int(self._who, "passes", self.passes, low=1)
        check_choice(self._who, "missing", self.missing, ("raise", "skip"))
        if not isinstance(self.grow, bool | np.bool_):
            raise ParameterError(
                f"{self._who} needs grow to be True or False; got {self.grow!r}. Pass a bool."
            )

    def _forget(self) -> None:
        for name in ("state_", "classes_", "n_features_in_", "rows_seen_", "skipped_rows_"):
            if hasattr(self, name):
                delattr(self, name)

    def _clean(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, FloatArray]:
        """Matrix, labels and weights; rows with missing values are refused, or left out."""
        skip = self.missing == "skip"
        matrix = as_matrix(X, who=self._who, finite=not skip)
        labels = self._flat(y)
        if labels.shape != (matrix.shape[0],):
            raise DataError(
                f"{self._who} needs one label per row; got shape {labels.shape} for "
                f"{matrix.shape[0]} rows. Pass X and y of equal length."
            )
        weight = np.ones(labels.size)
        if sample_weight is not None:
            weight = check_weight(sample_weight, labels.size, who=self._who, zeros=True)
        if not hasattr(self, "rows_seen_"):
            self.rows_seen_ = self.skipped_rows_ = 0
        if skip:
            good = _complete(matrix)
            if labels.dtype.kind == "f":
                good &= np.isfinite(labels)
            if not good.all():
                self.skipped_rows_ += int((~good).sum())
                matrix, labels, weight = matrix[good], labels[good], weight[good]
        return matrix, labels, weight

    def _flat(self, y: Any) -> Array:
        """One label per row."""
        if y is None:
            raise DataError(
                f"{self._who} requires y to be passed, but the target y is None. Pass y."
            )
        try:
            flat: Array = column_or_1d(y, warn=True)
        except ValueError as error:
            raise DataError(
                f"{self._who} needs one label per row; got: {' '.join(str(error).split())} Pass a "
                "one-dimensional y."
            ) from error
        return flat

    def _signs(self, labels: Array, classes: Any) -> FloatArray:
        """Labels as -1 and +1; the first call decides which is which."""
        if not hasattr(self, "classes_"):
            self.classes_ = self._choose_classes(labels, classes)
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise DataError(
                f"{self._who} needs the classes of the first call, {self.classes_.tolist()}; got "
                f"{np.unique(classes).tolist()}. Start a new learner for other classes."
            )
        positive, negative = labels == self.classes_[1], labels == self.classes_[0]
        if not np.all(positive | negative):
            wrong = labels[~(positive | negative)][:1].tolist()
            raise DataError(
                f"{self._who} needs labels among {self.classes_.tolist()}; got {wrong} after "
                f"{getattr(self, 'rows_seen_', 0)} rows. Encode the labels the same way throughout."
            )
        return np.where(positive, 1.0, -1.0)

    def _choose_classes(self, labels: Array, classes: Any) -> Array:
        try:
            found = np.unique(labels if classes is None else np.asarray(classes))
        except TypeError as error:
            raise DataError(
                f"{self._who} needs labels of one type; got a mixture. Convert them to strings."
            ) from error
        if classes is None and found.size == 1:
            for pair in ((-1, 1), (0, 1)):
                if found[0] in pair:
                    return np.array(pair)
        if found.size != 2:
            kind = type_of_target(found) if found.size > 2 else "one class"
            raise DataError(
                f"{self._who} needs two classes (Only binary classification is supported. The type "
                f"of the target is {kind}.); got {found.size} class(es): {found[:3].tolist()}. "
                "Pass classes= in the first partial_fit."
            )
        return found

    def _fit_columns(self, d: int) -> None:
        """Make the state d columns wide, the first time or because columns were added."""
        if not hasattr(self, "state_"):
            self.n_features_in_ = d
            seed = 0 if self.random_state is None else self.random_state
            self.state_ = self._fresh(d, as_rng(seed))
            return
        known = self.n_features_in_
        if d == known or (self.grow and d < known):
            return
        if not self.grow:
            raise DataError(
                f"{self._who} needs {known} columns as before; got X has {d} features, but "
                f"{self._who} is expecting {known} features as input. Set grow=True to add columns."
            )
        self._widen(self.state_, d - known)
        self.n_features_in_ = d


def pad_columns(state: State, axes: Mapping[str, tuple[int, ...]], extra: int) -> None:
    """Append zeros to the given axes of those arrays that the state has."""
    for name in axes.keys() & state.keys():
        ends = [(0, extra if axis in axes[name] else 0) for axis in range(state[name].ndim)]
        state[name] = np.pad(state[name], ends)


def _complete(matrix: Any) -> Array:
    """Rows without NaN and infinity."""
    if isinstance(matrix, np.ndarray):
        return np.asarray(np.isfinite(matrix).all(axis=1))
    bad = np.zeros(matrix.shape[0], dtype=bool)
    rows = matrix.tocoo()
    bad[rows.coords[0][~np.isfinite(rows.data)]] = True
    return ~bad
