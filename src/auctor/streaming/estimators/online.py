"""Base class of the online learners: chunks, labels, new columns, state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from auctor import metrics
from auctor.core.checks import check_choice, check_int
from auctor.core.errors import DataError, DataTypeError, DataWarning, ParameterError, speaks, warn
from auctor.core.memory import check_memory, enough_memory
from auctor.core.rng import as_rng
from auctor.core.types import Array, CompressedColumns, FloatArray, Target
from auctor.data import as_matrix, wrap
from auctor.data.coerce import check_weight, feature_names
from auctor.data.matrices import finite_rows
from auctor.streaming.estimators.labels import (
    distinct_labels,
    find_classes,
    flat_labels,
    missing_labels,
    plain_labels,
    refuse_missing,
    signs,
)

T = TypeVar("T")

#: The state of a learner as named arrays; kernels update them in place.
State = dict[str, Array]


class AnswerCache:
    """Cache of the last solution of each kind; it is not copied or pickled with the learner.

    The learner gets an empty cache with its state, so that `predict` does not add attributes, which
    scikit-learn's checks forbid.
    """

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Any, Any]] = {}

    @speaks
    def get(self, question: str, key: Any, solve: Callable[[], T]) -> T:
        """The cached answer of this kind if its key is the same, else that of ``solve``."""
        kept = self._kept.get(question)
        if kept is None or kept[0] != key:
            kept = self._kept[question] = (key, solve())
        answer: T = kept[1]
        return answer

    def __reduce__(self) -> tuple[type[AnswerCache], tuple[()]]:
        return AnswerCache, ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnswerCache)  # a cache is no part of what was learned

    __hash__ = None  # type: ignore[assignment]


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A linear classifier of two classes that learns from a stream of rows.

    A subclass is a dataclass (``eq=False, repr=False``) whose fields are its parameters, and
    implements `fresh_state`, `_learn` and `_weights`. `_learn` loops over rows and reads and writes
    only the state. Chunks of any size therefore give the same state as one call, and learning
    continues from a saved state exactly as it would have without a break.

    Parameters
    ----------
    passes : int
        Number of passes of `fit` over all rows.
    grow : bool
        Whether columns may be added later.
    missing : "raise" or "skip"
        Whether rows with NaN or infinity raise an error or are left out.
    random_state : int, optional
        Seed of learners that draw random numbers.
    """

    passes: int = 1
    grow: bool = False
    missing: str = "raise"
    random_state: Any = None

    #: Advice in the error for a state that does not fit into memory.
    wide_advice: ClassVar[str] = "Use StreamingAUC or Spam, whose memory is O(columns)."
    #: Arrays of the state with one entry per column on every axis; new columns append zeros.
    per_column: ClassVar[tuple[str, ...]] = ()
    #: Arrays of the state with an axis of any length, and the number of that axis.
    free_axes: ClassVar[Mapping[str, int]] = {}

    state_: State = field(init=False)
    classes_: Array = field(init=False)
    n_features_in_: int = field(init=False)
    feature_names_in_: Array = field(init=False)
    rows_seen_: int = field(init=False)
    skipped_rows_: int = field(init=False)

    # --- to be implemented by subclasses --------------------------------------------------------

    def fresh_state(self, d: int, rng: np.random.Generator) -> State:
        """State before the first row, for d columns."""
        raise NotImplementedError

    def _learn(
        self, state: State, rows: CompressedColumns, y: FloatArray, weight: FloatArray
    ) -> None:
        """Update the state by rows with labels -1 and +1, in their order."""
        raise NotImplementedError

    def _weights(self, state: State) -> FloatArray:
        """Weights (d,) of the columns in this state."""
        raise NotImplementedError

    def _threshold(self, state: State) -> float:
        """Score above which `predict` returns the positive class."""
        return 0.0

    def _before_next_pass(self, state: State) -> None:
        """Called by `fit` before another pass over the same rows."""

    def _ruled_by_one_row(self, state: State) -> bool:
        """Whether one row has over half of all squared norms and makes the steps too short."""
        return False

    def state_numbers(self, d: int) -> int:
        """Approximate number of floats in a state of d columns; 0 where that is O(d)."""
        return 0

    @speaks
    def with_arrays_of(self, state: State) -> Self:
        """A learner like this one whose `fresh_state` has the arrays of ``state``."""
        return type(self)(**self.get_params(deep=False))

    def check_state(self, state: State, d: int) -> None:
        """Raise ``ValueError`` if arrays from a file, of the right shapes, are no valid state."""

    def _widen(self, state: State, extra: int) -> None:
        """Add ``extra`` columns to the state, with zeros as entries of the earlier rows."""
        pad_columns(
            state, {name: tuple(range(state[name].ndim)) for name in self.per_column}, extra
        )

    # --- learning -------------------------------------------------------------------------------

    @speaks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from scratch: ``passes`` passes over the rows, in their order."""
        self.check_params()
        self.reset()
        labels = flat_labels(y)
        if sample_weight is not None:
            check_weight(sample_weight, labels.size)
        # All labels are known here, so that the first chunk need not have both classes.
        known = distinct_labels(labels[~missing_labels(labels)])
        for turn in range(self.passes):
            if turn:
                self._before_next_pass(self.state_)
            self.partial_fit(X, labels, classes=known, sample_weight=sample_weight)
        return self

    @speaks
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows.

        Parameters
        ----------
        X : table, array or sparse matrix
            Columns of a table must have the names of the first call, in the same order.
        y : labels
        classes : two labels, optional
            Needed in the first call unless its labels have two values, or are 0/1, -1/+1 or
            False/True. While 1 is the only label, ``classes_`` is [1].
        sample_weight : array, optional
        """
        return self.learn_rows(X, y, classes, sample_weight)

    @speaks
    def learn_rows(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        names: Sequence[str] | None = None,
    ) -> Self:
        """`partial_fit` for rows whose column names are passed separately."""
        self.check_params()
        matrix = as_matrix(X, finite=self.missing != "skip")
        names = self._names(X) if names is None else names
        self._check_columns(matrix.shape[1], names)
        matrix, labels, weight = self._clean(matrix, y, sample_weight)
        if not labels.size and classes is None and not hasattr(self, "classes_"):
            return self
        before = getattr(self, "classes_", None)
        known = find_classes(before, labels, classes, self.rows_seen_)
        sides = signs(labels, known, f" after {self.rows_seen_} rows")
        self.classes_ = known
        self._fit_columns(matrix.shape[1], names)
        if matrix.shape[0]:
            # Compressed rows (indptr, indices, values), also of a dense matrix, for the kernels.
            rows = wrap(matrix, Target(np.empty(0)), n_threads=1).row_lines()
            ruled = self._ruled_by_one_row(self.state_)
            self._learn(self.state_, rows, sides, weight)
            if not ruled and self._ruled_by_one_row(self.state_):
                self._warn_of_one_row()
        self.rows_seen_ += matrix.shape[0]
        return self

    @speaks
    def adopt(self, state: State, d: int) -> None:
        """Continue from a state of d columns: a fresh one, or one from a file."""
        self.state_, self.n_features_in_ = state, d
        self._answers = AnswerCache()

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

    @speaks
    def decision_function(self, X: Any) -> FloatArray:
        """Scores minus the threshold."""
        check_is_fitted(self, "state_")
        matrix = as_matrix(X)
        d = matrix.shape[1]
        self._check_columns(d, self._names(X))
        coef = self._weights(self.state_)
        # With ``grow`` the rows may have more or fewer columns than the state: those have weight 0.
        coef = np.pad(coef[:d], (0, max(0, d - coef.size)))
        return wrap(matrix, Target(np.empty(0))).scores(coef, float(self.intercept_[0]))

    @speaks
    def predict(self, X: Any) -> Array:
        """Labels, by the sign of `decision_function`."""
        check_is_fitted(self, "state_")
        labels: Array = self.classes_[np.where(self.decision_function(X) > 0.0, -1, 0)]
        return labels

    @speaks
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """AUC of the scores."""
        check_is_fitted(self, "state_")
        labels = flat_labels(y)
        refuse_missing(missing_labels(labels))
        hits = signs(labels, self.classes_) > 0.0
        return metrics.auc(hits, self.decision_function(X), weight=sample_weight)

    # --- parts ----------------------------------------------------------------------------------

    def _warn_of_one_row(self) -> None:
        warning = DataWarning(
            "rows of similar norm; got one row with a larger norm than all others together. From "
            "now on steps are too short to learn: drop that row, or scale the columns."
        )
        warn(warning)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "state_")

    def check_params(self) -> None:
        """Raise ``ParameterError`` for invalid parameters."""
        check_int("passes", self.passes, low=1)
        check_choice("missing", self.missing, ("raise", "skip"))
        if not isinstance(self.grow, bool | np.bool_):
            raise ParameterError(f"`grow` to be True or False; got {self.grow!r}. Pass a bool.")

    def check_width(self, d: int) -> None:
        """Raise for parameters that do not fit ``d`` columns; by default all of them do."""

    @speaks
    def reset(self) -> None:
        """Forget everything that was learned."""
        learned = ("state_", "_answers", "classes_", "n_features_in_", "feature_names_in_")
        for name in (*learned, "rows_seen_", "skipped_rows_"):
            if hasattr(self, name):
                delattr(self, name)

    def _clean(self, matrix: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, FloatArray]:
        """Matrix, labels and weights; rows with missing values raise an error or are left out."""
        labels = flat_labels(y)
        if labels.shape != (matrix.shape[0],):
            raise DataError(
                f"one label per row; got shape {labels.shape} for {matrix.shape[0]} rows. Pass X "
                "and y of equal length."
            )
        weight = np.ones(labels.size)
        if sample_weight is not None:  # a chunk may have weights that are all zero
            weight = check_weight(sample_weight, labels.size, zeros=True)
        bad = missing_labels(labels)
        if self.missing == "skip":
            bad |= ~finite_rows(matrix)
        else:
            refuse_missing(bad)
        if not hasattr(self, "rows_seen_"):
            self.rows_seen_ = self.skipped_rows_ = 0
        if bad.any():
            self.skipped_rows_ += int(bad.sum())
            matrix, labels, weight = matrix[~bad], labels[~bad], weight[~bad]
        return matrix, plain_labels(labels), weight

    def _names(self, X: Any) -> Sequence[str] | None:
        """Names of the columns by scikit-learn's rule: only if all names are text."""
        if feature_names(X) is None:
            return None
        reader = BaseEstimator()
        try:
            validate_data(reader, X, reset=True, skip_check_array=True)
        except TypeError as error:
            raise DataTypeError(
                "names of columns that are all text; got others: "
                f"{' '.join(str(error).split()).rstrip('.')}. Rename the columns."
            ) from error
        return getattr(reader, "feature_names_in_", None)

    def _check_columns(self, d: int, names: Sequence[str] | None) -> None:
        """Raise for columns other than the known ones, with scikit-learn's messages.

        With ``grow`` further columns are allowed.
        """
        if not hasattr(self, "state_"):
            return
        width = self.n_features_in_
        known = getattr(self, "feature_names_in_", None)
        if known is not None and names is not None:
            for old, new in zip(known, names, strict=False):
                if old != new:
                    raise DataError(
                        "the columns of the first call in their order (The feature names should "
                        f"match those that were passed during fit); got {new!r} for {old!r}. "
                        "Select them by name."
                    )
        elif known is not None or names is not None:
            warn(self._other_names(known is not None))
        if d != width and not self.grow:
            raise DataError(
                f"{width} columns as before; got X has {d} features, but {type(self).__name__} is "
                f"expecting {width} features as input. Pass those columns, or set `grow=True`."
            )
        if d > width and known is not None and names is None:
            raise DataError(
                f"names for new columns; got {d} without names after {width}. Pass a table."
            )

    def _other_names(self, known: bool) -> DataWarning:
        """The warning of columns with names on one side only; ``known`` if those of fit have.

        The wording of ``got`` is scikit-learn's.
        """
        lacks = "does not have valid" if known else "has"
        return DataWarning(
            f"columns {'with' if known else 'without'} names, as in the first call; got X {lacks} "
            f"feature names, but {type(self).__name__} was fitted {'with' if known else 'without'} "
            "feature names. Pass the same kind of table in every call."
        )

    def _fit_columns(self, d: int, names: Sequence[str] | None) -> None:
        """Create the state for d columns, or widen it if columns were added."""
        fresh = not hasattr(self, "state_")
        if not fresh and d <= self.n_features_in_:
            return
        # A state larger than the memory is refused before it is allocated.
        what = f"a state for {d} columns"
        check_memory(8 * self.state_numbers(d), what, todo=self.wide_advice)
        with enough_memory(what, todo=self.wide_advice):
            if fresh:
                seed = 0 if self.random_state is None else self.random_state
                self.adopt(self.fresh_state(d, as_rng(seed)), d)
            else:
                self._widen(self.state_, d - self.n_features_in_)
        self.n_features_in_ = d
        if hasattr(self, "feature_names_in_") or (fresh and names is not None):
            self.feature_names_in_ = np.array(names, dtype=object)


def pad_columns(state: State, axes: Mapping[str, tuple[int, ...]], extra: int) -> None:
    """Append ``extra`` zeros along the given axes of the arrays of a state, where it has them."""
    for name in axes.keys() & state.keys():
        ends = [(0, extra if axis in axes[name] else 0) for axis in range(state[name].ndim)]
        state[name] = np.pad(state[name], ends)
