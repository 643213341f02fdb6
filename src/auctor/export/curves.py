"""The score of an additive model as nodes of an ONNX graph."""

from __future__ import annotations

import numpy as np

from auctor.additive.bins import Bins
from auctor.additive.columns import LevelBins
from auctor.additive.means import MeanBins
from auctor.core.types import FloatArray
from auctor.export.graph import Graph


def add_curves(graph: Graph, bins: Bins, coef: FloatArray, offset: str) -> str:
    """Add the score of an additive model: the offset plus a table entry for each column and pair.

    The code of a value, which selects its table entry, is one plus the number of cuts below it; a
    missing value has the code 0. Returns the name of the scores, (rows, classes).
    """
    tables = [np.column_stack(columns) for columns in zip(*map(bins.tables, coef), strict=True)]
    axis = graph.constant("code_axis", np.array([1]))
    one, none = (graph.constant(f"code_{k}", np.array([[k]])) for k in (1, 0))
    used = {j for pair in bins.pairs for j in (pair.first, pair.second)}
    codes: dict[int, str] = {}
    for j, column in enumerate(bins.columns):
        if not tables[j].any() and j not in used:
            continue  # the column adds nothing
        x = graph.add("Gather", graph.rows, graph.constant(f"column_{j}", np.array([j])), axis=1)
        if isinstance(column, LevelBins | MeanBins):
            code = _level(graph, j, column, x, axis)
        else:
            cuts = graph.constant(f"cuts_{j}", column.cuts[None, :])
            above = graph.add("Cast", graph.add("Greater", x, cuts), to=graph.kinds.INT64)
            code = graph.add("Add", graph.add("ReduceSum", above, axis), one)
        codes[j] = graph.add("Where", graph.add("IsNaN", x), none, code)
    places = [(j, code) for j, code in codes.items()]
    for k, pair in enumerate(bins.pairs):
        first, second = (
            graph.add("Gather", graph.constant(f"levels_{k}_{j}", level.astype(np.int64)), codes[j])
            for j, level in zip((pair.first, pair.second), pair.levels, strict=True)
        )
        width = graph.constant(f"width_{k}", np.array([[pair.shape[1]]]))
        # Row-major position of the cell in the table of the pair.
        cell = graph.add("Add", graph.add("Mul", first, width), second)
        places.append((len(bins.columns) + k, cell))
    total = graph.add("Expand", offset, _shape(graph, coef.shape[0]))
    for j, code in places:
        entries = graph.add("Gather", graph.constant(f"table_{j}", tables[j]), code, axis=0)
        graph.parts[j] = graph.add("Squeeze", entries, axis)
        total = graph.add("Add", total, graph.parts[j])
    return total


def _level(graph: Graph, j: int, column: LevelBins | MeanBins, x: str, axis: str) -> str:
    """The code of a category: that of the level that equals the value, else that of others."""
    values = graph.constant(f"levels_of_{j}", column.values[None, :])
    equal = graph.add("Cast", graph.add("Equal", x, values), to=graph.kinds.INT64)
    # The code of others, and what the level that is met takes away from it.
    code = column.level_codes if isinstance(column, MeanBins) else 1 + np.arange(column.other - 1)
    back = column.other - code.astype(np.int64)
    less = graph.add("Mul", equal, graph.constant(f"back_{j}", back[None, :]))
    last = graph.constant(f"other_{j}", np.array([[column.other]]))
    return graph.add("Sub", last, graph.add("ReduceSum", less, axis))


def _shape(graph: Graph, k: int) -> str:
    """The name of the shape (rows, k) in the graph."""
    rows = graph.add("Shape", graph.rows, start=0, end=1)
    return graph.add("Concat", rows, graph.constant("scores_of_a_row", np.array([k])), axis=0)
