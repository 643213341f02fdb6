"""Stratified folds: every fold has about the same share of each class.

They are those of scikit-learn's ``StratifiedKFold`` and ``StratifiedGroupKFold`` with
``shuffle=True`` and the same seed, so that results can be compared fold by fold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from auctor.core.errors import DataError
from auctor.core.types import Array, FloatArray, IntArray

#: How rows are split that have neither times nor groups.
AT_RANDOM = "at random within each class"


@dataclass(frozen=True, eq=False)
class SplitBy:
    """What decides on which side of every split a row is, besides its class.

    Parameters
    ----------
    apart : (n,) int array, optional
        Rows of one number, such as those of a customer, stay on one side.
    times : (n,) array, optional
        The past is on one side, the future on the other; rows of one time stay together.
    gap : float
        Time before the rows to test on from which no row is trained on: as long as it takes until
        the label of a row is known.
    dates : bool
        Whether times are days since 1 January 1970.
    copies : bool
        Whether rows stay on one side only because they are equal.
    """

    apart: IntArray | None = None
    times: FloatArray | None = None
    gap: float = 0.0
    dates: bool = False
    copies: bool = False

    @property
    def described(self) -> str:
        """How splits are drawn, in words."""
        if self.times is not None:
            whole = ", and by group" if self.apart is not None else ""
            return f"in time, after the rows that are trained on{whole}"
        return AT_RANDOM if self.copies else "by group, whose rows stay on one side"

    def shown(self, time: float) -> str:
        """A time as text."""
        if not self.dates:
            return f"{time:.10g}"
        when = np.datetime64("1970-01-01T00:00:00") + np.timedelta64(round(time * 86400), "s")
        return str(when).removesuffix("T00:00:00")

    def take(self, index: IntArray) -> SplitBy:
        """That of some rows."""
        apart = None if self.apart is None else self.apart[index]
        times = None if self.times is None else self.times[index]
        return replace(self, apart=apart, times=times)

    def before(self, start: float, test: Array) -> IntArray:
        """The rows to train on for test rows (a mask) that begin at a time."""
        assert self.times is not None
        past = (self.times < start) & (self.times + self.gap <= start)
        if self.apart is not None:
            past &= ~np.isin(self.apart, self.apart[test])
        return np.flatnonzero(past)


def time_folds(by: SplitBy, codes: IntArray, count: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Folds that train on the past and test on the time after it, of about equally many rows.

    The n rows are cut into ``count + 1`` stretches of time; each but the first is tested on, after
    training on those before it. Cuts without a class in the past are left out.

    Examples
    --------
    >>> by = SplitBy(times=np.array([3.0, 1.0, 2.0, 2.0, 4.0, 5.0]))
    >>> codes = np.array([0, 1, 0, 0, 1, 0])
    >>> [(a.tolist(), b.tolist()) for a, b in time_folds(by, codes, 2)]
    [([0, 1, 2, 3], [4, 5])]
    """
    assert by.times is not None
    ordered = np.sort(by.times)
    starts = np.unique(ordered[(np.arange(1, count + 1) * ordered.size) // (count + 1)])
    ends = np.append(starts[1:], np.inf)
    n_folds = 0
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        test = (by.times >= start) & (by.times < end)
        train = by.before(start, test)
        if np.unique(codes[train]).size == np.unique(codes).size:
            n_folds += 1
            yield train, np.flatnonzero(test)
    if not n_folds:
        raise DataError(
            "rows of every class before some cut in time; got none. Pass rows of more times, a "
            "smaller `gap`, or no times."
        )


def folds_by(
    codes: IntArray, count: int, seed: int, groups: IntArray | None, by: SplitBy | None
) -> Iterator[tuple[IntArray, IntArray]]:
    """Folds in time where rows have times, else stratified ones that keep groups whole."""
    if by is not None and by.times is not None:
        return time_folds(by, codes, count)
    return _with_every_class(stratified_folds(codes, count, seed, whole_groups(groups, by)), codes)


def _with_every_class(
    folds: Iterator[tuple[IntArray, IntArray]], codes: IntArray
) -> Iterator[tuple[IntArray, IntArray]]:
    """The folds; raises where a group holds all rows of a class."""
    for train, test in folds:
        if np.unique(codes[train]).size < np.unique(codes).size:
            raise DataError(
                "rows of every class outside of each fold; got a class with rows in one group "
                "only. Pass finer groups."
            )
        yield train, test


def whole_groups(groups: IntArray | None, by: SplitBy | None) -> IntArray | None:
    """The groups that folds keep whole: those that stay on one side, else those of the loss."""
    return groups if by is None or by.apart is None else by.apart


def stratified_folds(
    codes: IntArray, count: int, seed: int, groups: IntArray | None = None
) -> Iterator[tuple[IntArray, IntArray]]:
    """Indices of the training and the test rows of each fold.

    Parameters
    ----------
    codes : (n,) int array
        Class of each row.
    count : int
        Number of folds, at most the rows of the smallest class and the number of groups.
    seed : int
        Seed of the shuffling.
    groups : (n,) int array, optional
        Rows of one group stay in one fold.

    Examples
    --------
    >>> [test.tolist() for _, test in stratified_folds(np.array([0, 0, 1, 1]), 2, seed=0)]
    [[1, 2], [0, 3]]
    """
    # The legacy generator, because it is the one that scikit-learn shuffles with.
    random = np.random.RandomState(seed)
    if groups is None:
        fold = _fold_of_rows(codes, count, random)
    else:
        fold = _fold_of_groups(codes, groups, count, random)
    for k in range(count):
        yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


def _fold_of_rows(codes: IntArray, count: int, random: np.random.RandomState) -> IntArray:
    """Fold number of each row: the rows of a class are spread evenly over folds, at random."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    ranked = np.argsort(np.argsort(first))[inverse]  # classes in the order of their first rows
    ordered = np.sort(ranked)
    # Rows of each class in each fold, (folds, classes), as scikit-learn allocates them.
    sizes = np.array([np.bincount(ordered[k::count], minlength=first.size) for k in range(count)])
    fold = np.empty(codes.size, dtype=np.int64)
    for label in range(first.size):
        dealt = np.arange(count).repeat(sizes[:, label])
        random.shuffle(dealt)
        fold[ranked == label] = dealt
    return fold


def _fold_of_groups(
    codes: IntArray, groups: IntArray, count: int, random: np.random.RandomState
) -> IntArray:
    """Fold number of each row, by a greedy allocation of groups.

    Groups are taken by decreasing variation of their class counts. Each goes to the fold for which
    the class shares of all folds then vary least.
    """
    _, label, totals = np.unique(codes, return_inverse=True, return_counts=True)
    names, group = np.unique(groups, return_inverse=True)
    counts = np.zeros((names.size, totals.size))
    np.add.at(counts, (group, label), 1.0)
    shuffled = np.arange(names.size)
    random.shuffle(shuffled)
    counts = counts[shuffled]
    held = np.zeros((count, totals.size))
    fold_of = np.empty(names.size, dtype=np.int64)
    for place in np.argsort(-np.std(counts, axis=1), kind="stable"):
        fold = _most_even_fold(held, counts[place], totals)
        held[fold] += counts[place]
        fold_of[shuffled[place]] = fold
    return fold_of[group]


def _most_even_fold(held: FloatArray, extra: FloatArray, totals: Array) -> int:
    """The fold that should get the class counts ``extra``; ties go to the fold with fewest rows.

    ``held`` has the class counts of the folds so far, (folds, classes), ``totals`` those of all
    rows.
    """
    best, least, fewest = 0, np.inf, np.inf
    for k in range(held.shape[0]):
        tried = held.copy()
        tried[k] += extra
        uneven = float(np.std(tried / totals, axis=0).mean())
        rows = float(held[k].sum())
        if uneven < least or (np.isclose(uneven, least) and rows < fewest):
            best, least, fewest = k, uneven, rows
    return best
