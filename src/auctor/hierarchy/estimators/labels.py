"""Labels of rows in all supported forms: label sets, paths, 0/1 matrices, single labels."""

from __future__ import annotations

from enum import Enum
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from auctor.core.errors import DataError
from auctor.core.types import Array, IntArray
from auctor.data.matrices import dense_array, is_sparse
from auctor.hierarchy.taxonomy import Taxonomy

#: Separator of the labels in a path that is written as one string.
SEPARATOR = "/"


class Form(Enum):
    """The form of the labels in `fit`, in which predictions are returned."""

    INDICATOR = "a 0/1 matrix"
    SETS = "a set of labels for every row"
    PATHS = "a row of text with the labels on the path, from the top"
    NODES = "one label for every row"


class Labels(NamedTuple):
    """Labels as a 0/1 matrix with all ancestors, the taxonomy, and the form they were given in."""

    indicator: Array
    taxonomy: Taxonomy
    form: Form


def read_labels(Y: Any, taxonomy: Taxonomy | None, broken: str = "close") -> Labels:
    """Labels of any form as a 0/1 matrix.

    Parameters
    ----------
    Y : labels
        A 0/1 matrix with a column for every label of the taxonomy (dense or sparse); a sequence of
        label sets; a two-dimensional array of text with a path in every row, padded with empty
        text, or a three-dimensional one with several paths per row, as in hiclass; or one label
        per row.
    taxonomy : Taxonomy, optional
        Not needed with paths, which contain it, and with one label per row: text is read as a path,
        and other labels have no parents.
    broken : {"close", "refuse"}
        Whether rows of a 0/1 matrix with a label but without its parent get the parent or raise an
        error.
    """
    if Y is None:
        raise DataError(
            "labels; got None: it requires y to be passed, but the target y is None. Pass y."
        )
    if hasattr(Y, "__array__") and not is_sparse(Y):
        Y = np.asarray(Y)
        if taxonomy is None and Y.ndim == 2 and Y.shape[1] == 1 and Y.dtype.kind in "biuf":
            Y = column_or_1d(Y, warn=True)
    if is_sparse(Y) or (isinstance(Y, np.ndarray) and Y.ndim == 2 and Y.dtype.kind in "biuf"):
        return _matrix(Y, taxonomy, broken)
    if isinstance(Y, np.ndarray) and Y.ndim in (2, 3) and Y.dtype.kind in "OUS":
        return _paths(Y, taxonomy)
    if isinstance(Y, str) or not hasattr(Y, "__iter__"):
        raise DataError(f"labels for every row; got {Y!r}. Pass them as y.")
    return _rows(list(Y), taxonomy)


def _rows(rows: list[Any], taxonomy: Taxonomy | None) -> Labels:
    """Labels from a set of labels per row, or from one label per row."""
    if not rows:
        raise DataError("at least one row; got none. Pass rows.")
    sets = [isinstance(row, list | tuple | set | frozenset | np.ndarray) for row in rows]
    if any(sets) and not all(sets):
        at = sets.index(not sets[0])
        raise DataError(
            f"labels of one kind: a set for every row, or one label; got {rows[0]!r} in row 0 and "
            f"{rows[at]!r} in row {at}. Put single labels into lists."
        )
    if all(sets):
        _check_kinds([name for row in rows for name in row])
        if taxonomy is None:
            raise _no_taxonomy("label sets")
        return Labels(taxonomy.close(rows), taxonomy, Form.SETS)
    _check_kinds(rows)
    _check_missing(rows)
    if taxonomy is None:
        if isinstance(rows[0], str):
            taxonomy = Taxonomy.from_paths(sorted(set(rows)), SEPARATOR)
        else:
            check_classification_targets(np.asarray(rows))
            taxonomy = Taxonomy(np.unique(np.asarray(rows)).tolist())
    return Labels(taxonomy.close([[row] for row in rows]), taxonomy, Form.NODES)


def _check_kinds(names: list[Any]) -> None:
    """Raise for labels that mix text and numbers: 1 and "1" would be two labels."""
    text = next((name for name in names if isinstance(name, str)), None)
    other = next((name for name in names if isinstance(name, Number)), None)
    if text is not None and other is not None:
        raise DataError(
            f"labels of one type; got text {text!r} and number {other!r}. Convert them to text."
        )


def _check_missing(rows: list[Any]) -> None:
    """Raise for labels that are None, NaN or infinite."""
    for at, row in enumerate(rows):
        if row is None or row != row or (isinstance(row, float) and np.isinf(row)):
            value = "infinity" if row is not None and row == row else "NaN"
            got = f"None in row {at}" if row is None else f"{value} in row {at}"
            raise DataError(f"a label for every row; got {got}. Drop the row.")


def _no_taxonomy(what: str) -> DataError:
    """The error for labels that need a taxonomy."""
    return DataError(f"a taxonomy for {what}; got None. Pass `taxonomy=` with a Taxonomy.")


def _paths(Y: Array, taxonomy: Taxonomy | None) -> Labels:
    """Labels from arrays of text, one label per level: the form of hiclass.

    Two dimensions have one path per row, three have several.
    """
    several = Y.ndim == 3
    rows = [[_parts(path) for path in (row if several else row[None, :])] for row in Y]
    made = taxonomy or Taxonomy.from_paths(
        sorted({path for row in rows for path in row if path}), SEPARATOR
    )
    # Entries are names of the taxonomy's nodes, or parts of paths that name them.
    plain = taxonomy is not None and all(
        name in taxonomy for row in rows for path in row for name in path
    )
    sets = [[name for path in row for name in (path if plain else _prefixes(path))] for row in rows]
    return Labels(made.close(sets), made, Form.SETS if several else Form.PATHS)


def _parts(path: Array) -> tuple[str, ...]:
    """The labels of a path, without missing values and empty text."""
    return tuple(str(one) for one in path if one is not None and one == one and str(one) != "")


def _prefixes(path: tuple[str, ...]) -> list[str]:
    """Names of the nodes on a path: its prefixes, joined by the separator."""
    return [SEPARATOR.join(path[: k + 1]) for k in range(len(path))]


def _matrix(Y: Any, taxonomy: Taxonomy | None, broken: str) -> Labels:
    """Labels from a 0/1 matrix."""
    dense = dense_array(Y)
    if taxonomy is None:
        raise _no_taxonomy("a 0/1 matrix")
    if dense.shape[1] != taxonomy.n_nodes or not np.isin(dense, (0, 1)).all():
        raise DataError(
            f"a 0/1 matrix with {taxonomy.n_nodes} columns, ordered as taxonomy.names; got shape "
            f"{dense.shape}, values from {dense.min()} to {dense.max()}. Use "
            "taxonomy.indicator(label_sets) to make one."
        )
    on = dense.astype(bool)
    bad = taxonomy.violations(on)
    if bad.size and broken == "refuse":
        raise DataError(
            f"labels together with their parents; got {bad.size} rows without a parent, the first "
            f"is row {int(bad[0])}. Pass `broken='close'` to add the parents."
        )
    return Labels(taxonomy.close(on), taxonomy, Form.INDICATOR)


def in_form(on: Array, taxonomy: Taxonomy, form: Form) -> Any:
    """Predicted sets, a 0/1 matrix, in the form of the labels in `fit`."""
    if form is Form.INDICATOR:
        return on.astype(np.int64)
    if form is Form.SETS:
        sets = taxonomy.label_sets(on)
        answer = np.empty(len(sets), dtype=object)
        answer[:] = sets
        return answer
    # The deepest label of a path is the last one: parents come before children.
    last = on.shape[1] - 1 - np.argmax(on[:, ::-1], axis=1)
    return nodes_in_form(np.where(on.any(axis=1), last, -1), taxonomy, form)


def nodes_in_form(node: IntArray, taxonomy: Taxonomy, form: Form) -> Any:
    """Paths, given by their last node (-1 for none), in the form of the labels in `fit`."""
    if form is Form.NODES:
        return names_array(taxonomy, list(range(taxonomy.n_nodes)), bool((node < 0).any()))[node]
    if form is Form.PATHS:
        # The path of every node, and an empty one in the last row, which -1 selects.
        table = np.full((taxonomy.n_nodes + 1, int(taxonomy.depth.max()) + 1), "", dtype=object)
        for t in range(taxonomy.n_nodes):
            path = [*taxonomy.ancestors(taxonomy.names[t]), taxonomy.names[t]]
            for level, name in enumerate(path):
                above = f"{path[level - 1]}{SEPARATOR}" if level else ""
                table[t, level] = str(name).removeprefix(above)
        return table[node]
    on = np.zeros((node.size, taxonomy.n_nodes), dtype=bool)
    reached = np.flatnonzero(node >= 0)
    on[reached, node[reached]] = True
    return in_form(taxonomy.close(on), taxonomy, form)


def names_array(taxonomy: Taxonomy, nodes: list[int], blank: bool = False) -> Array:
    """Names of nodes as an array: of text or numbers if all names are, else of objects.

    ``blank`` appends an empty name.
    """
    names = [taxonomy.names[t] for t in nodes] + ([""] if blank else [])
    if all(isinstance(name, str) for name in names) or all(
        isinstance(name, Number) for name in names
    ):
        return np.array(names)
    made = np.empty(len(names), dtype=object)
    made[:] = names
    return made
