"""Labels of rows in every form people have: label sets, paths, indicator matrices."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from auctor.core.errors import DataError
from auctor.core.types import Array
from auctor.hierarchy.taxonomy import Taxonomy


class Form(Enum):
    """How labels were given, and so how predictions are returned."""

    INDICATOR = "a 0/1 matrix"
    SETS = "a set of labels for every row"
    PATHS = "the labels on the way down, a row of text each"
    NODES = "one label for every row"


class Labels(NamedTuple):
    """Labels as a 0/1 matrix, closed upwards, with the taxonomy and the form they came in."""

    indicator: Array
    taxonomy: Taxonomy
    form: Form


def is_matrix(Y: Any) -> bool:
    """Whether labels are a 0/1 matrix."""
    if issparse(Y):
        return True
    return isinstance(Y, np.ndarray) and Y.ndim == 2 and Y.dtype.kind in "biuf"


def path_rows(Y: Any) -> list[tuple[str, ...]] | None:
    """Rows of a two-dimensional array of text, as hiclass takes it: empty text ends a path."""
    if not (isinstance(Y, np.ndarray) and Y.ndim == 2 and Y.dtype.kind in "OUS"):
        return None
    rows = []
    for row in Y:
        parts = [str(one) for one in row if one is not None and str(one) != "" and one == one]
        rows.append(tuple(parts))
    return rows


def read_labels(who: str, Y: Any, taxonomy: Taxonomy | None, broken: str) -> Labels:
    """Labels of any form as a 0/1 matrix.

    Parameters
    ----------
    who : str
    Y : labels
        A 0/1 matrix with a column for every label of the taxonomy (dense or sparse); a sequence of
        label sets; a two-dimensional array of text with a path in every row; or one label a row.
    taxonomy : Taxonomy, optional
        May be left out with paths, which contain it.
    broken : {"close", "refuse"}
        What happens to rows with a label but not its parent.
    """
    if is_matrix(Y):
        return _matrix(who, Y, taxonomy, broken)
    paths = path_rows(Y)
    if paths is not None:
        made = taxonomy or Taxonomy.from_paths(paths)
        sets = [["/".join(path[: k + 1]) for k in range(len(path))] for path in paths]
        return Labels(made.close(sets), made, Form.PATHS)
    rows = list(Y)
    if not rows:
        raise DataError(who, needs="some rows", got="none", todo="Pass some.")
    single = not any(isinstance(row, list | tuple | set | frozenset | np.ndarray) for row in rows)
    if taxonomy is None:
        if single and all(isinstance(row, str) for row in rows):
            taxonomy = Taxonomy.from_paths(rows)
        else:
            raise DataError(
                who,
                needs="a taxonomy for labels that are not paths",
                got="None",
                todo="Pass {option} with a Taxonomy.",
                option="taxonomy",
            )
    if single:
        return Labels(taxonomy.close([[row] for row in rows]), taxonomy, Form.NODES)
    return Labels(taxonomy.close(rows), taxonomy, Form.SETS)


def _matrix(who: str, Y: Any, taxonomy: Taxonomy | None, broken: str) -> Labels:
    matrix: Any = Y
    dense = np.asarray(matrix.toarray() if issparse(Y) else Y)
    if taxonomy is None:
        raise DataError(
            who,
            needs="a taxonomy for a 0/1 matrix",
            got="None",
            todo="Pass {option} with a Taxonomy.",
            option="taxonomy",
        )
    if dense.shape[1] != taxonomy.n_nodes or not np.isin(dense, (0, 1)).all():
        raise DataError(
            who,
            needs=f"a 0/1 matrix with {taxonomy.n_nodes} columns, ordered as taxonomy.names",
            got=f"shape {dense.shape}",
            todo="Use taxonomy.indicator(label_sets) to make one.",
        )
    on = dense.astype(bool)
    bad = taxonomy.violations(on)
    if bad.size and broken == "refuse":
        raise DataError(
            who,
            needs="labels together with their parents",
            got=f"{bad.size} rows without, the first {int(bad[0])}",
            todo="Pass {option} to add the parents.",
            option="broken",
        )
    return Labels(taxonomy.close(on), taxonomy, Form.INDICATOR)


def in_form(on: Array, labels: Labels) -> Any:
    """Predicted sets in the form that labels were given in."""
    taxonomy = labels.taxonomy
    if labels.form is Form.INDICATOR:
        return on.astype(np.int64)
    sets = taxonomy.label_sets(on)
    if labels.form is Form.SETS:
        answer = np.empty(len(sets), dtype=object)
        answer[:] = sets
        return answer
    deepest = [row[-1] if row else "" for row in sets]
    if labels.form is Form.NODES:
        return np.array(deepest)
    depth = int(taxonomy.depth.max()) + 1
    table = np.full((len(sets), depth), "", dtype=object)
    for i, name in enumerate(deepest):
        parts = str(name).split("/") if name else []
        table[i, : len(parts)] = parts
    return table
