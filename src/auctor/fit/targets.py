"""From labels, weights and groups to the targets of a fit: each class against the rest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from auctor.core.checks import check_choice
from auctor.core.errors import DataError, IncompatibleError, Option, ParameterError, speaks_as
from auctor.core.protocols import Coupling
from auctor.core.types import Array, FloatArray, IntArray, Target
from auctor.data.coerce import StoredData, check_weight, in_shards, stored
from auctor.data.preparation import Scaling, n_stored
from auctor.fit.folds import SplitBy, whole_groups
from auctor.fit.metric import Goal, check_count
from auctor.metrics.grouped import group_codes
from auctor.metrics.roc import auc

#: Stored entries from which the rows of a fold are weighted, not copied: 80 MB of floats.
MAX_COPIED_ENTRIES = 10_000_000
#: Labels, in lower case, that always mean the positive class.
YES = ("true", "yes")
#: Labels that mean the positive class if the other label is in `NOT_ONE`.
ONE = ("1", "1.0")
#: Labels of the other class where 1 means positive.
NOT_ONE = ("0", "0.0", "-1", "-1.0")
#: Classes whose total weights differ by less than this share count as equally rare.
EQUAL_SHARES = 1e-9


@dataclass(frozen=True, eq=False)
class Rows:
    """A matrix with the labels, weights and groups of its rows.

    Parameters
    ----------
    matrix : array or sparse matrix
        As `auctor.data.as_matrix` returns it.
    classes : array
        The distinct labels in increasing order.
    codes : (n,) int array
        Position of each row's label in ``classes``.
    weight : (n,) array, optional
    groups : (n,) int array, optional
    positive : int
        Position of the positive one of two classes.
    scaling : Scaling, optional
        How the columns of the matrix were scaled, if they were.
    by : SplitBy, optional
        What folds follow besides classes: times, and rows that stay together.
    cost : (n,) array, optional
        Cost of a wrong prediction of each row, by which it counts in the training and in the
        metric, but not in the calibration.
    """

    matrix: Any
    classes: Array
    codes: IntArray
    weight: FloatArray | None = None
    groups: IntArray | None = None
    positive: int = 1
    scaling: Scaling | None = None
    by: SplitBy | None = None
    cost: FloatArray | None = None

    @property
    def whole(self) -> IntArray | None:
        """The groups that folds keep whole; ``None`` where they are in time."""
        if self.by is not None and self.by.times is not None:
            return None
        return whole_groups(self.groups, self.by)

    @property
    def judged(self) -> FloatArray | None:
        """Weights with which a metric counts the rows: sample weights times costs."""
        if self.cost is None:
            return self.weight
        return self.cost if self.weight is None else self.weight * self.cost

    @property
    def sign(self) -> float:
        """-1 where the positive class is the first of two, else 1: factor on its scores."""
        return sign_of(self.classes, self.positive)

    def auc(self, scores: FloatArray) -> float:
        """AUC of the scores of two classes; NaN where one of them has no row."""
        hit = self.codes == self.positive
        counted = hit if self.weight is None else hit[self.weight > 0.0]
        if counted.all() or not counted.any():
            return float("nan")
        return auc(hit, self.sign * scores, weight=self.weight)

    @property
    def labels(self) -> Array:
        """The label of each row."""
        labels: Array = self.classes[self.codes]
        return labels

    @property
    def large(self) -> bool:
        """Whether the matrix is too large to copy a part of it."""
        return n_stored(self.matrix) >= MAX_COPIED_ENTRIES

    @property
    def total(self) -> float:
        """Sum of the weights; the number of rows without weights."""
        return float(self.codes.size if self.weight is None else self.weight.sum())

    def take(self, index: IntArray) -> Rows:
        """A copy of the rows of an index; raises if they are not in memory."""
        if in_shards(self.matrix):
            raise DataError(
                "rows in memory for `calibrate` and `threshold_cv`; got data in shards. Set both "
                "to None, or calibrate on a sample of the rows."
            )
        return replace(self.select_labels(index), matrix=self.matrix[index])

    def select_labels(self, index: IntArray) -> Rows:
        """Labels, weights and groups of the rows of an index, with the whole matrix unchanged."""
        return replace(
            self,
            codes=self.codes[index],
            weight=None if self.weight is None else self.weight[index],
            groups=None if self.groups is None else self.groups[index],
            by=None if self.by is None else self.by.take(index),
            cost=None if self.cost is None else self.cost[index],
        )

    def training_part(self, index: IntArray) -> Rows:
        """The rows of an index, to train on; of large data all rows, the others with weight 0."""
        if not self.large:
            return self.take(index)
        times = np.bincount(index, minlength=self.codes.size).astype(np.float64)
        return replace(self, weight=times if self.weight is None else times * self.weight)

    def data(self, n_threads: int | None = None) -> StoredData:
        """The matrix as data without a target."""
        return stored(self.matrix, Target(np.empty(0)), n_threads=n_threads)


def encode(labels: Array, weight: FloatArray | None) -> tuple[Array, IntArray]:
    """The classes, in increasing order, and the position of each label among them."""
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise DataError("labels of one type; got a mixture. Convert them to strings.") from error
    present = np.unique(codes if weight is None else codes[weight > 0])
    if classes.size < 2 or present.size < classes.size:
        raise DataError(
            f"at least two classes, each with some weight; got {present.size} class(es): "
            f"{classes[present][:3].tolist()}. Pass rows of another class."
        )
    return classes, np.asarray(codes, dtype=np.int64)


def known_labels(labels: Array, classes: Array) -> Array:
    """The labels, if all of them are classes of the model; else an error."""
    unknown = labels[~np.isin(labels, classes)]
    if unknown.size:
        raise DataError(
            f"labels among {classes.tolist()}; got {unknown[0]!r}. Drop them, or fit with them."
        )
    return labels


def read_groups(groups: Any, goal: Goal, n: int, *, for_folds: bool = False) -> IntArray | None:
    """Group codes of the rows; raises if the loss cannot use groups, unless they are for folds."""
    if groups is None:
        if goal.per is not None:
            raise DataError(
                f"the group of each row for k per {goal.per!r}; got none. Pass `groups=`, or that "
                "column."
            )
        return None
    codes = group_codes(groups, n)
    if goal.per is not None and goal.cut is not None:
        largest = float(np.bincount(codes).max())
        check_count(goal.cut.value, Option("metric", goal.name), largest, "the largest group")
    if goal.per is not None or for_folds:
        return codes
    try:
        if goal.loss.coupling is Coupling.ROW:
            raise DataError("no groups for a loss over rows; got some")
        # Losses over sets of rows refuse groups themselves; a target of two rows tells.
        pair = np.array([1.0, -1.0])
        goal.loss.check_target(Target(pair, None, np.zeros(2, dtype=np.int64)))
    except DataError as error:
        raise IncompatibleError(
            f"a loss on pairs to use groups; got {type(goal.loss).__name__}. Use `metric='auc'`."
        ) from error
    return codes


def positive_code(
    classes: Array, codes: IntArray, *, pos_label: Any = None, weight: Any = None
) -> int:
    """Position of the positive one of two classes: that of ``pos_label``, else a guess.

    The guess is 1 if the other label is 0 or -1; true or yes, in upper or lower case; else the
    class with less weight; for equal weights the second class. With more than two classes there is
    no positive class, and 1 is returned.

    Examples
    --------
    >>> codes = np.array([0, 1, 1])
    >>> positive_code(np.array(["bad", "good"]), codes)
    0
    >>> positive_code(np.array(["No", "Yes"]), codes)
    1
    """
    texts = [str(label).strip().lower() for label in classes.tolist()]
    if pos_label is not None:
        matches = [k for k, label in enumerate(classes.tolist()) if label == pos_label]
        matches = matches or [
            k for k, label in enumerate(classes.tolist()) if str(label) == pos_label
        ]
        if classes.size != 2 or not matches:
            two = classes.size == 2
            raise ParameterError(
                f"the positive class to be one of {classes.tolist()}"
                if two
                else "two classes for one of them to be positive",
                got=f"{pos_label!r}" if two else f"{classes.size} classes",
                todo="Correct {option}." if two else "Drop {option}, or the rows of the others.",
                option=Option("pos_label", bare=True),
            )
        return matches[0]
    if classes.size != 2:
        return 1
    for code, (mine, other) in enumerate((texts, texts[::-1])):
        if mine in YES or (mine in ONE and other in NOT_ONE):
            return code
    share = np.bincount(codes, weights=weight, minlength=2)
    return int(not share[0] < share[1] * (1.0 - EQUAL_SHARES))


def sign_of(classes: Array, positive: int) -> float:
    """-1 where the positive class is the first of two, else 1."""
    return -1.0 if classes.size == 2 and positive == 0 else 1.0


def row_weight(class_weight: Any, rows: Rows) -> FloatArray | None:
    """Row weights times costs times class weights."""
    if class_weight is None:
        return rows.judged
    base = np.ones(rows.codes.size) if rows.judged is None else rows.judged
    size: FloatArray = np.bincount(rows.codes, weights=base).astype(np.float64)
    factor = _class_factors(class_weight, rows.classes, size)
    with np.errstate(over="ignore"):
        weights = base * factor[rows.codes]
    return check_weight(weights, rows.codes.size)


def _class_factors(class_weight: Any, classes: Array, size: FloatArray) -> FloatArray:
    """The factor of each class; ``size`` is the total weight of its rows."""
    if isinstance(class_weight, str):
        check_choice("class_weight", class_weight, ("balanced",))
        balanced: FloatArray = size.sum() / (size.size * size)
        return balanced
    if not isinstance(class_weight, dict):
        raise ParameterError(
            f"`class_weight` to be None, 'balanced' or a dict; got {class_weight!r}. Pass one of "
            "these."
        )
    labels = classes.tolist()
    unknown = [name for name in class_weight if name not in labels]
    if unknown:
        raise ParameterError(
            f"`class_weight` of the classes {labels}; got {unknown[0]!r}. Use labels of y as keys."
        )
    factor = np.array([class_weight.get(label, 1.0) for label in labels])
    if factor.dtype.kind not in "iuf" or not ((factor > 0) & (factor < np.inf)).all():
        raise ParameterError(f"`class_weight` > 0; got {class_weight}. Pass positive numbers.")
    return factor


def targets_of(class_weight: Any, rows: Rows, goal: Goal) -> list[Target]:
    """Targets +1 and -1 of each class against the rest; one target for two classes.

    Weights are those of the rows and classes, with positives weighted as the metric demands.
    """
    weight = row_weight(class_weight, rows)
    targets = []
    for code in [rows.positive] if rows.classes.size == 2 else range(rows.classes.size):
        hit, mine = rows.codes == code, weight
        if goal.positive_weight is not None:
            mine = np.ones(hit.size) if weight is None else weight
            odds = float(mine[~hit].sum() / mine[hit].sum())
            mine = np.where(hit, goal.positive_weight(odds) * mine, mine)
        targets.append(Target(np.where(hit, 1.0, -1.0), mine, rows.groups))
    return targets


@speaks_as("contest")
def positive_rows(labels: Array | None, positive: Any = None) -> tuple[Array, str]:
    """A mask of the positive rows, and the positive label; refuses other than two classes.

    Examples
    --------
    >>> mask, label = positive_rows(np.array(["no", "yes", "no"]))
    >>> mask.tolist(), label
    ([False, True, False], 'yes')
    """
    classes = np.unique(labels) if labels is not None else np.empty(0)
    if labels is None or classes.size != 2:
        raise DataError(
            f"labels of two classes; got {classes.size}. Keep two, or merge the others into one."
        )
    codes = np.searchsorted(classes, labels)
    code = positive_code(classes, codes, pos_label=positive)
    return np.asarray(codes == code), f"{classes.tolist()[code]}"
