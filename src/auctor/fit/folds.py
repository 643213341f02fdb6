"""Stratified folds: every fold has about the same share of each class.

They are those of scikit-learn's ``StratifiedKFold`` and ``StratifiedGroupKFold`` with
``shuffle=True`` and the same seed, so that results can be compared fold by fold.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from auctor.core.types import Array, FloatArray, IntArray


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
