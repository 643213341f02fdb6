"""What one-pass learners share: reading chunks, labels, new columns, state."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from auctor import metrics
from auctor.core.checks import check_choice, check_int
from auctor.core.errors import DataError, DataTypeError, Option, ParameterError
from auctor.core.rng import as_rng
from auctor.core.types import Array, Columns, FloatArray, Target
from auctor.data import as_matrix, feature_names, wrap
from auctor.data.coerce import check_weight, refuse_masked

#: Labels that the rows of the other class may have where 1 is the only one so far.
USUAL_NEGATIVES = (-1, 0)

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
    n_features_in_: int
    feature_names_in_: Array
    rows_seen_: int
    skipped_rows_: int

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
        known = self._distinct(labels[~missing_labels(labels)])
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
            Columns of a table must have the names of the first call, in the same order.
        y : labels
        classes : two labels, optional
            Needed in the first call unless the labels there have two values, or are 0/1, -1/+1 or
            False/True. Where 1 is the only label so far, ``classes_`` is [1] until a 0 or -1 comes.
        sample_weight : array, optional
        """
        return self._take(X, y, classes, sample_weight)

    def _take(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        names: Sequence[str] | None = None,
    ) -> Self:
        """Learn from more rows, whose columns may be named apart from them."""
        self._check_params()
        matrix = as_matrix(X, who=self._who, finite=self.missing != "skip")
        names = self._names(X) if names is None else names
        self._check_columns(matrix.shape[1], names)
        matrix, labels, weight = self._clean(matrix, y, sample_weight)
        if not labels.size and classes is None and not hasattr(self, "classes_"):
            return self
        known = self._find_classes(labels, classes)
        signs = self._signs(labels, known, f" after {self.rows_seen_} rows")
        self.classes_ = known
        self._fit_columns(matrix.shape[1], names)
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
        d = matrix.shape[1]
        self._check_columns(d, self._names(X))
        coef = self._weights(self.state_)
        coef = np.pad(coef[:d], (0, max(0, d - coef.size)))
        return wrap(matrix, Target(np.empty(0))).scores(coef, float(self.intercept_[0]))

    def predict(self, X: Any) -> Array:
        """Labels, by the sign of `decision_function`."""
        check_is_fitted(self, "state_")
        labels: Array = self.classes_[np.where(self.decision_function(X) > 0.0, -1, 0)]
        return labels

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """AUC."""
        check_is_fitted(self, "state_")
        labels = self._flat(y)
        self._refuse_missing(missing_labels(labels))
        hits = self._signs(labels, self.classes_) > 0.0
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

    def check_parameters(self, n_columns: int) -> None:
        """Raise ``ParameterError`` for parameters that data of so many columns would show wrong."""
        self._check_params()

    def _check_params(self) -> None:
        check_int(self._who, "passes", self.passes, low=1)
        check_choice(self._who, "missing", self.missing, ("raise", "skip"))
        if not isinstance(self.grow, bool | np.bool_):
            raise ParameterError(
                self._who,
                needs="grow to be True or False",
                got=f"{self.grow!r}",
                todo="Pass a bool.",
            )

    def _forget(self) -> None:
        learned = ("state_", "classes_", "n_features_in_", "feature_names_in_")
        for name in (*learned, "rows_seen_", "skipped_rows_"):
            if hasattr(self, name):
                delattr(self, name)

    def _clean(self, matrix: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, FloatArray]:
        """Matrix, labels and weights; rows with missing values are refused, or left out."""
        labels = self._flat(y)
        if labels.shape != (matrix.shape[0],):
            raise DataError(
                self._who,
                needs="one label per row",
                got=f"shape {labels.shape} for {matrix.shape[0]} rows",
                todo="Pass X and y of equal length.",
            )
        weight = np.ones(labels.size)
        if sample_weight is not None:
            weight = check_weight(sample_weight, labels.size, who=self._who, zeros=True)
        bad = missing_labels(labels)
        if self.missing == "skip":
            bad |= ~_complete(matrix)
        else:
            self._refuse_missing(bad)
        if not hasattr(self, "rows_seen_"):
            self.rows_seen_ = self.skipped_rows_ = 0
        if bad.any():
            self.skipped_rows_ += int(bad.sum())
            matrix, labels, weight = matrix[~bad], labels[~bad], weight[~bad]
        return matrix, _plain(labels), weight

    def _refuse_missing(self, bad: Array) -> None:
        if bad.any():
            raise DataError(
                self._who,
                needs="a label in every row",
                got=(
                    f"None, nan or infinity in {int(bad.sum())} of {bad.size} (Input y "
                    "contains NaN)"
                ),
                todo="Drop those rows.",
            )

    def _flat(self, y: Any) -> Array:
        """One label per row."""
        if y is None:
            raise DataError(
                f"{self._who} requires y to be passed, but the target y is None. Pass y."
            )
        refuse_masked(y, "y", self._who)
        try:
            flat: Array = column_or_1d(y, warn=True)
        except ValueError as error:
            raise DataError(
                f"{self._who} needs one label per row; got: {' '.join(str(error).split())} Pass a "
                "one-dimensional y."
            ) from error
        return flat

    def _signs(self, labels: Array, classes: Array, when: str = "") -> FloatArray:
        """Labels as -1 and +1; refuses those that are not among the classes."""
        positive, negative = labels == classes[-1], labels == classes[0]
        if not np.all(positive | negative):
            wrong = labels[~(positive | negative)][:1].tolist()
            raise DataError(
                self._who,
                needs=f"labels among {classes.tolist()}",
                got=f"{wrong}{when}",
                todo="Encode the labels the same way throughout.",
            )
        return np.where(positive, 1.0, -1.0)

    def _find_classes(self, labels: Array, classes: Any) -> Array:
        """Both labels, decided in the first call; or 1 alone, as long as there is no other."""
        known: Array | None = getattr(self, "classes_", None)
        if known is not None and known.size == 2 and classes is None:
            return known
        found = self._distinct(labels if classes is None else np.asarray(classes))
        if known is None:
            return self._choose_classes(found, given=classes is not None)
        if known.size == 1:
            known = self._close(known, found)
        if classes is not None and not np.array_equal(found, known):
            raise DataError(
                self._who,
                needs=f"the classes of the first call, {known.tolist()}",
                got=f"{found.tolist()}",
                todo="Start a new learner for other classes.",
            )
        return known

    def _close(self, lone: Array, found: Array) -> Array:
        """The label 1 and the one that was found beside it, if any."""
        both = self._distinct(np.concatenate([lone, found]))
        if both.size == 1:
            return lone
        if both.size > 2 or both[0] not in USUAL_NEGATIVES:
            raise DataError(
                self._who,
                needs="labels among [1] and either -1 or 0",
                got=f"{found[:3].tolist()} after {self.rows_seen_} rows",
                todo="Pass {option} with both labels from the start.",
                option="classes",
            )
        return both

    def _choose_classes(self, found: Array, given: bool) -> Array:
        """Two classes from the labels of the first call, or 1 alone."""
        if found.size == 1 and not given:
            if found.dtype.kind == "b":
                return np.array([False, True])
            if found[0] in USUAL_NEGATIVES:
                return np.array([found[0], 1], dtype=found.dtype)
            if found[0] == 1:
                return found
        if found.size != 2:
            kind = type_of_target(found) if found.size > 2 else "one class"
            raise DataError(
                self._who,
                needs=(
                    "two classes (Only binary classification is supported. The type of the "
                    f"target is {kind}.)"
                ),
                got=f"{found.size} class(es): {found[:3].tolist()}",
                todo="Pass {option} with both labels from the start.",
                option="classes",
            )
        return found

    def _distinct(self, labels: Array) -> Array:
        """Labels that differ, in increasing order."""
        try:
            return np.unique(_plain(labels))
        except TypeError as error:
            raise DataError(
                self._who,
                needs="labels of one type",
                got="a mixture",
                todo="Convert them to strings.",
            ) from error

    def _names(self, X: Any) -> Sequence[str] | None:
        """Names of the columns, where scikit-learn would keep them: all are text."""
        if feature_names(X) is None:
            return None
        reader = BaseEstimator()
        try:
            validate_data(reader, X, reset=True, skip_check_array=True)
        except TypeError as error:
            raise DataTypeError(f"{error} Rename the columns.") from error
        return getattr(reader, "feature_names_in_", None)

    def _check_columns(self, d: int, names: Sequence[str] | None) -> None:
        """Refuse columns other than those learned, as scikit-learn does; some may be added."""
        if not hasattr(self, "state_"):
            return
        width = self.n_features_in_
        known = getattr(self, "feature_names_in_", None)
        if known is not None and names is not None:
            for old, new in zip(known, names, strict=False):
                if old != new:
                    raise DataError(
                        self._who,
                        needs=(
                            "the columns of the first call in their order (The feature names "
                            "should match those that were passed during fit)"
                        ),
                        got=f"{new!r} for {old!r}",
                        todo="Select them by name.",
                    )
        elif known is not None:
            _warn(f"X does not have valid feature names, but {self._who} was fitted with")
        elif names is not None:
            _warn(f"X has feature names, but {self._who} was fitted without")
        if d != width and not self.grow:
            raise DataError(
                self._who,
                needs=f"{width} columns as before",
                got=(f"X has {d} features, but {self._who} is expecting {width} features as input"),
                todo="Pass those columns, or set {option}.",
                option=Option("grow", True),
            )
        if d > width and known is not None and names is None:
            raise DataError(
                self._who,
                needs="names for new columns, as the others have",
                got=f"{d} columns without names after {width}",
                todo="Pass a table.",
            )

    def _fit_columns(self, d: int, names: Sequence[str] | None) -> None:
        """Make the state d columns wide, the first time or because columns were added."""
        if not hasattr(self, "state_"):
            seed = 0 if self.random_state is None else self.random_state
            self.state_ = self._fresh(d, as_rng(seed))
            self.n_features_in_ = d
            if names is not None:
                self.feature_names_in_ = np.array(names, dtype=object)
        elif d > self.n_features_in_:
            self._widen(self.state_, d - self.n_features_in_)
            self.n_features_in_ = d
            if hasattr(self, "feature_names_in_"):
                self.feature_names_in_ = np.array(names, dtype=object)


def pad_columns(state: State, axes: Mapping[str, tuple[int, ...]], extra: int) -> None:
    """Append zeros to the given axes of those arrays that the state has."""
    for name in axes.keys() & state.keys():
        ends = [(0, extra if axis in axes[name] else 0) for axis in range(state[name].ndim)]
        state[name] = np.pad(state[name], ends)


def missing_labels(labels: Array) -> Array:
    """Which labels are missing, as `is_missing` says."""
    if labels.dtype.kind == "f":
        return ~np.isfinite(labels)
    if labels.dtype.kind == "O":
        return np.array([is_missing(label) for label in labels.tolist()], dtype=bool)
    return np.asarray(labels != labels)


def is_missing(label: Any) -> bool:
    """Whether a label is None, NaN, infinite or does not equal itself."""
    try:
        return label is None or bool(label != label) or label in (np.inf, -np.inf)
    except TypeError:  # pandas.NA is neither equal nor different
        return True


def _plain(labels: Array) -> Array:
    """Numbers among Python objects as an array of numbers."""
    if labels.dtype.kind != "O":
        return labels
    values = labels.tolist()
    return np.array(values) if all(isinstance(v, Real | np.bool_) for v in values) else labels


def _warn(text: str) -> None:
    """What scikit-learn says where only one of two tables has names."""
    warnings.warn(f"{text} feature names", stacklevel=4)


def _complete(matrix: Any) -> Array:
    """Rows without NaN and infinity."""
    if isinstance(matrix, np.ndarray):
        return np.asarray(np.isfinite(matrix).all(axis=1))
    bad = np.zeros(matrix.shape[0], dtype=bool)
    rows = matrix.tocoo()
    bad[rows.coords[0][~np.isfinite(rows.data)]] = True
    return ~bad
