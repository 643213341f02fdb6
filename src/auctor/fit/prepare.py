"""From a table to training rows and held-out rows, with as few copies as possible."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from auctor.core.checks import is_number
from auctor.core.errors import DataError, DataWarning, speaks_as, warn
from auctor.core.types import Array, IntArray
from auctor.data.matrices import row_keys
from auctor.data.preparation import split_rows
from auctor.fit.folds import SplitBy
from auctor.fit.row_facts import RowFacts
from auctor.fit.targets import positive_code
from auctor.tables.read import Table
from auctor.tables.schema import Schema

#: Vectors of one float per column that training needs at least.
VECTORS_PER_COLUMN = 10
#: Least share of rows that repeat another row for which a table is checked for copies.
COPIES = 0.05
#: Least number of sets of equal rows from which copies are told from rows equal by chance.
FEW_SETS = 5
#: Least share of these sets that have one label.
ONE_LABEL = 0.95


class Parts(NamedTuple):
    """Training rows and test rows, which are the same if none are held out.

    ``train`` and ``test`` are matrices, ``test_codes`` positions in ``classes``, ``positive`` the
    position of the positive one of two classes. ``test_rows`` are the positions of the test rows
    in their file; ``None`` means all rows, in their order. ``facts`` are weights, groups, times and
    costs of the training rows, ``test_facts`` those of the test rows.
    """

    train: Any
    train_labels: Array
    test: Any
    test_codes: IntArray
    classes: Array
    schema: Schema
    columns: tuple[Any, ...]
    held_out: bool
    positive: int = 1
    test_rows: IntArray | None = None
    facts: RowFacts = RowFacts()
    test_facts: RowFacts = RowFacts()

    @property
    def pos_label(self) -> Any:
        """The positive one of two classes; ``None`` where there are more classes."""
        return self.classes.tolist()[self.positive] if self.classes.size == 2 else None

    def counts(self) -> dict[str, int]:
        """Numbers of rows, positives and columns."""
        train_positives = np.count_nonzero(self.train_labels == self.classes[self.positive])
        return {
            "train_rows": int(self.train_labels.size),
            "train_positives": int(train_positives),
            "test_rows": int(self.test_codes.size),
            "test_positives": int(np.count_nonzero(self.test_codes == self.positive)),
            "n_columns": int(self.train.shape[1]),
        }


@speaks_as("prepare")
def prepare(
    table: Table,
    test: Table | None = None,
    *,
    share: float = 0.2,
    seed: int = 0,
    pos_label: Any = None,
    source: str = "the table",
    facts: RowFacts | None = None,
    test_facts: RowFacts | None = None,
) -> Parts:
    r"""Rows to train on and rows to measure on.

    Parameters
    ----------
    table : Table
        From `auctor.tables.read_table`. Where rows are held out, its matrix is split in place and
        must not be used again.
    test : Table, optional
        Rows to measure on, read with the schema of the first table.
    share : float
        Without ``test``: the share of the rows of every class to hold out; with 0 the training
        rows are measured on.
    seed : int
        Seed of the choice of held-out rows.
    pos_label : label, optional
        The positive class, or its text; by default as in `auctor.MetricClassifier`.
    source : str
        Name of the table in error messages.
    facts, test_facts : RowFacts, optional
        Of the two tables. With times, the last rows are held out; with customers, whole ones.

    Examples
    --------
    >>> import tempfile
    >>> from auctor.tables import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "rows.csv")
    ...     _ = path.write_text("a,label\n1,0\n2,1\n3,0\n4,1\n")
    ...     parts = prepare(read_table(path), share=0.5)
    >>> parts.train.shape, parts.test.shape, parts.classes
    ((2, 1), (2, 1), array([0, 1]))
    """
    matrix, schema, columns = table.matrix, table.schema, tuple(table.summary)
    labels, known = check_labels(table, source), facts or RowFacts()
    classes = np.unique(labels)
    codes = codes_of(labels, classes)
    positive = positive_code(classes, codes, pos_label=pos_label)
    if known.by is None and known.groups is None:
        copies = copied_rows(matrix, codes)
        known = known if copies is None else replace(known, by=SplitBy(apart=copies, copies=True))
    if test is not None:
        codes = codes_of(np.asarray(test.labels), classes)
        check_classes(codes, classes)
        whole = Parts(matrix, labels, test.matrix, codes, classes, schema, columns, True, positive)
        return whole._replace(facts=known, test_facts=test_facts or RowFacts())
    if share == 0.0:
        whole = Parts(matrix, labels, matrix, codes, classes, schema, columns, False, positive)
        return whole._replace(facts=known, test_facts=known)
    rows, held, kept = _held_out(labels, codes, share, seed, known)
    matrix, rest = split_rows(matrix, held)
    if kept is not None:  # rows between the past and the future
        matrix, rows = matrix[kept], rows[kept]
    return Parts(
        matrix, labels[rows], rest, codes[held], classes, schema, columns, True, positive, held,
        known.take(rows), known.take(held),
    )  # fmt: skip


def check_labels(table: Table, source: str) -> Array:
    """The labels of a table, see `tidy_labels`; raises if a classifier cannot be trained on it."""
    labels = tidy_labels(np.asarray(table.labels))
    check_whole(labels, source)
    check_width(table.matrix.shape[1], table.schema.first_index)
    classes = np.unique(labels)
    if classes.size < 2:
        raise DataError(
            f"at least two classes; got only {classes.tolist()[0]!r} in {source}. Check the label "
            "column."
        )
    return labels


def check_classes(codes: IntArray, classes: Array) -> None:
    """Raise if the rows to measure on lack a class."""
    absent = classes[np.bincount(codes, minlength=classes.size) == 0].tolist()
    if absent:
        raise DataError(
            f"rows of every class to measure on; got none of {absent[0]!r}. Pass a file that has "
            "some."
        )


def tidy_labels(labels: Array) -> Array:
    """Labels with whole numbers as integers; raises for numbers mixed with text.

    Examples
    --------
    >>> tidy_labels(np.array([1.0, -1.0]))
    array([ 1, -1])
    >>> tidy_labels(np.array(["1", "no"]))
    Traceback (most recent call last):
        ...
    auctor.core.errors.DataError: auctor needs labels of one kind; got numbers and text: '1' and 'no'. Correct the label column.
    """  # noqa: E501
    if labels.dtype.kind == "f":
        # Beyond 2^53 not every integer is a float, and labels could collide.
        whole = np.isfinite(labels).all() and (labels == np.rint(labels)).all()
        return labels.astype(np.int64) if whole and np.abs(labels).max() < 2**53 else labels
    if labels.dtype.kind in "OU":
        kinds = {is_number(label): label for label in np.unique(labels.astype(str)).tolist()}
        if len(kinds) == 2:
            raise DataError(
                f"labels of one kind; got numbers and text: {kinds[True]!r} and {kinds[False]!r}. "
                "Correct the label column."
            )
        return labels.astype(str)
    return labels


def check_whole(labels: Array, source: str) -> None:
    """Raise for labels that are numbers with a fractional part.

    Examples
    --------
    >>> check_whole(np.array([0.5, 1.0]), "rows.csv")
    Traceback (most recent call last):
        ...
    auctor.core.errors.DataError: auctor needs whole numbers or text as labels; got 0.5 in rows.csv. Check that label names the right column.
    """  # noqa: E501
    wrong = labels[labels != np.rint(labels)] if labels.dtype.kind == "f" else labels[:0]
    if wrong.size:
        raise DataError(
            f"whole numbers or text as labels; got {wrong[0]:g} in {source}. Check that "
            "`label` names the right column."
        )


def check_width(n_columns: int, first_index: int | None) -> None:
    """Raise for so many columns that a solver's vectors do not fit into memory."""
    most = memory() // (VECTORS_PER_COLUMN * 8)
    if n_columns > most:
        last = n_columns - 1 + (first_index or 0)
        raise DataError(
            f"at most {most:,} columns to fit the memory; got {n_columns:,} (the largest index is "
            f"{last}). Number the columns without gaps."
        )


def memory() -> int:
    """Bytes of memory of the machine, or of its container if that is less."""
    try:
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on this system
        return sys.maxsize
    try:
        return min(size, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):
        return size


def codes_of(labels: Array, classes: Array) -> IntArray:
    """Positions of labels in the classes of a model; raises for missing or unknown labels.

    Examples
    --------
    >>> codes_of(np.array([1.0, -1.0, 1.0]), np.array([-1, 1]))
    array([1, 0, 1])
    """
    numbers = classes.dtype.kind in "iufb"
    table = classes if numbers else classes.astype(str)
    known = tidy_labels(labels)
    if known.dtype.kind == "f" and (missing := int(np.isnan(known).sum())):
        raise DataError(
            f"a label in every row; got {missing} missing of {known.size}. Drop such rows, or pass "
            "`label=` with another column."
        )
    if numbers and known.dtype.kind not in "iufb":
        # The model's labels are numbers, those of the file text: read the text as numbers.
        text = np.unique(known)
        if not all(map(is_number, text.tolist())):
            raise _unknown(classes, text)
        known = known.astype(np.float64)
    elif not numbers:
        known = known.astype(str)
    # Binary search for every label, then a check that the nearest class is equal.
    order = np.argsort(table, kind="stable")
    place = np.searchsorted(table, known, sorter=order).clip(max=table.size - 1)
    codes: IntArray = order[place]
    wrong = table[codes] != known
    if wrong.any():
        raise _unknown(classes, np.unique(known[wrong]))
    return codes


def _unknown(classes: Array, known: Array) -> DataError:
    if not np.isin(known.astype(str), classes.astype(str)).any():
        return DataError(
            f"labels that the model knows ({_listed(classes)}); got only others, {_listed(known)}. "
            "Write the labels as in training."
        )
    return DataError(
        f"labels that the model knows ({_listed(classes)}); got {_listed(known)}. Drop those rows."
    )


def _listed(values: Array) -> str:
    shown = ", ".join(repr(value) for value in values[:5].tolist())
    return f"{shown}, ..." if values.size > 5 else shown


def _held_out(
    labels: Array, codes: IntArray, share: float, seed: int, facts: RowFacts
) -> tuple[IntArray, IntArray, IntArray | None]:
    """Rows that are not held out, rows that are, and which of the first to train on, if not all."""
    by = facts.by
    if by is not None and by.times is not None:
        ordered = np.sort(by.times)
        start = float(ordered[round((1.0 - share) * (ordered.size - 1))])
        test = by.times >= start
        train, rows, held = by.before(start, test), np.flatnonzero(~test), np.flatnonzero(test)
        for index, name in ((train, "before"), (held, "after")):
            if np.unique(codes[index]).size < np.unique(codes).size:
                raise DataError(
                    f"rows of every class {name} the cut in time; got a class without. Pass "
                    "another `share`, a test file, or no times."
                )
        return rows, held, np.searchsorted(rows, train)
    if by is not None and by.apart is not None:
        first = np.unique(by.apart, return_index=True)[1]
        rows, held = hold_out(labels, share, seed, first[by.apart])
        if min(np.unique(codes[index]).size for index in (rows, held)) < np.unique(codes).size:
            raise DataError(
                "rows of every class in several groups; got a class with rows in few groups only. "
                "Pass finer groups, or a test file."
            )
        return rows, held, None
    return *hold_out(labels, share, seed), None


def copied_rows(matrix: Any, codes: IntArray) -> IntArray | None:
    """The number of the set of equal rows of each row, with a warning; None without copies.

    Rows that are equal by chance have different labels at times, copies have not. So rows are taken
    for copies if at least a share `COPIES` of them repeat an earlier row, and in nearly all sets of
    equal rows in which the rarest class occurs, it is the only one.

    Examples
    --------
    >>> import warnings
    >>> rows = np.random.default_rng(0).normal(size=(40, 2))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     sets = copied_rows(np.repeat(rows, 3, axis=0), np.repeat(np.arange(40) % 2, 3))
    >>> np.unique(sets).size, len(set(sets[:3])), copied_rows(rows, np.arange(40) % 2)
    (40, 1, None)
    """
    _, group, size = np.unique(row_keys(matrix), return_inverse=True, return_counts=True)
    repeats = codes.size - size.size
    if repeats < COPIES * codes.size or size.size < FEW_SETS:
        return None
    rare = np.bincount(group[codes == np.argmin(np.bincount(codes))], minlength=size.size)
    judged = (size > 1) & (rare > 0)
    if judged.sum() < FEW_SETS or (rare == size)[judged].mean() < ONE_LABEL:
        return None
    warn(
        DataWarning(
            does=f"finds that {repeats:,} of {codes.size:,} rows repeat another row, label "
            "included; equal rows stay on one side of every split, so that no row is measured on "
            "which the model was trained. Drop the copies before training."
        )
    )
    sets: IntArray = group
    return sets


def hold_out(
    labels: Array, share: float, seed: int, sets: IntArray | None = None
) -> tuple[IntArray, IntArray]:
    """Indices of training rows and of held-out rows, the same share of every class, sorted.

    Parameters
    ----------
    labels : (n,) array
    share : float
    seed : int
    sets : (n,) array, optional
        Rows of one set stay together: the index of its first row.

    Examples
    --------
    >>> train, test = hold_out(np.array([0, 0, 0, 0, 1, 1]), 0.25, 0)
    >>> train.size, test.size
    (4, 2)
    """
    if sets is not None:
        firsts = np.unique(sets)
        _, held_sets = hold_out(labels[firsts], share, seed)
        together = np.isin(sets, firsts[held_sets])
        return np.flatnonzero(~together), np.flatnonzero(together)
    rng = np.random.default_rng(seed)
    classes, codes = np.unique(labels, return_inverse=True)
    held = np.zeros(labels.size, dtype=bool)
    for position, name in enumerate(classes.tolist()):
        rows = np.flatnonzero(codes == position)
        if rows.size < 2:
            raise DataError(
                f"two rows of every class to hold some out; got one of {name!r}. Set `share=0`."
            )
        count = min(max(1, round(share * rows.size)), rows.size - 1)
        held[rng.choice(rows, size=count, replace=False)] = True
    return np.flatnonzero(~held), np.flatnonzero(held)


def check_finite(matrix: Any, names: tuple[str, ...] | None, *, gaps: bool = False) -> None:
    """Raise for columns with NaN, infinity or a sum that overflows; with ``gaps`` NaN may be."""
    with np.errstate(invalid="ignore", over="ignore"):
        bad = np.flatnonzero(~np.isfinite(matrix.sum(axis=0)))
    if gaps:
        bad = np.array([j for j in bad.tolist() if np.isinf(matrix[:, j]).any()], dtype=np.int64)
    if bad.size:
        columns = bad if names is None else np.array(names, dtype=object)[bad]
        raise DataError(
            "finite values; got infinity, NaN or a sum that overflows in column "
            f"{_listed(columns)}. Correct these values, or drop the column."
        )
