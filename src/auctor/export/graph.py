"""Building ONNX graphs: nodes, constants, and the columns of a table as inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from auctor.core.version import __version__
from auctor.export.exported import check_listed
from auctor.tables.columns import MISSING
from auctor.tables.schema import KEEP, Column, Schema

#: Version of the ONNX operators, of 2022, which current runtimes support.
OPSET = 17
#: ONNX domain with the operator LabelEncoder, which maps text to numbers.
ML = "ai.onnx.ml"
#: Version of that set, which current runtimes support.
ML_OPSET = 3
#: Version of the file format that belongs to OPSET.
IR_VERSION = 8


class Graph:
    """An ONNX graph under construction: inputs, nodes, constants and outputs.

    Parameters
    ----------
    dtype : "float64" or "float32"
        Type of the inputs that are numbers.

    Attributes
    ----------
    rows : str
        Name of the float64 matrix of encoded columns.
    parts : dict
        Names of what each column, or pair, of an additive model adds, by its number.
    """

    rows: str
    uses_ml = False

    def __init__(self, onnx: Any, dtype: str) -> None:
        self.onnx, self.kinds, self.dtype = onnx, onnx.TensorProto, dtype
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.parts: dict[int, str] = {}

    def number_input(self, name: str, width: int) -> str:
        """Add an input of numbers, (rows, width); returns the name of its float64 version."""
        kind = self.kinds.DOUBLE if self.dtype == "float64" else self.kinds.FLOAT
        self._input(name, kind, width)
        return name if self.dtype == "float64" else self.add("Cast", name, to=self.kinds.DOUBLE)

    def text_input(self, name: str) -> str:
        """Add an input of text, (rows, 1); returns its name."""
        self._input(name, self.kinds.STRING, 1)
        return name

    def _input(self, name: str, kind: int, width: int) -> None:
        self.inputs.append(self.onnx.helper.make_tensor_value_info(name, kind, ["rows", width]))

    def add(self, kind: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """Add a node; returns the name of its output."""
        made = name or f"{kind.lower()}_{len(self.nodes)}"
        self.uses_ml |= attributes.get("domain") == ML
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [made], **attributes))
        return made

    def constant(self, name: str, value: Any) -> str:
        """Add a constant array to the graph; returns its name."""
        array = np.asarray(value)
        if array.dtype.kind == "U":
            text = [entry.encode() for entry in array.ravel().tolist()]
            made = self.onnx.helper.make_tensor(name, self.kinds.STRING, array.shape, text)
        else:
            made = self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name)
        self.constants.append(made)
        return name

    def output(self, name: str, kind: int, shape: list[Any]) -> None:
        """Declare a result as an output, with its type and shape."""
        self.outputs.append(self.onnx.helper.make_tensor_value_info(name, kind, shape))

    def serialised(self, title: str, metadata: dict[str, str]) -> bytes:
        """The checked graph as bytes, under a title."""
        helper = self.onnx.helper
        graph = helper.make_graph(self.nodes, title, self.inputs, self.outputs, self.constants)
        made = helper.make_model(
            graph,
            producer_name="auctor",
            producer_version=__version__,
            opset_imports=[
                helper.make_opsetid("", OPSET),
                *([helper.make_opsetid(ML, ML_OPSET)] if self.uses_ml else []),
            ],
            ir_version=IR_VERSION,
        )
        helper.set_model_props(made, metadata)
        self.onnx.checker.check_model(made)
        return bytes(made.SerializeToString(deterministic=True))


def add_table(graph: Graph, schema: Schema) -> None:
    """Add an input for each column of a table, and their encoding as the matrix of the model."""
    check_listed(schema)
    parts = [
        _category(graph, column, k) if column.kind == "category" else _number(graph, column, k)
        for k, column in enumerate(schema.columns)
        if column.width
    ]
    graph.rows = graph.add("Concat", *parts, axis=1)


def _number(graph: Graph, column: Column, k: int) -> str:
    """Add a column of numbers, with missing values filled."""
    values = graph.number_input(column.name, 1)
    if column.fill in (None, KEEP):
        return values
    fill = graph.constant(f"fill_{k}", np.float64(column.fill))
    return graph.add("Where", graph.add("IsNaN", values), fill, values)


def _category(graph: Graph, column: Column, k: int) -> str:
    """Add a column of zeros and ones for each category, or one of the numbers of levels."""
    levels = list(column.levels or ())
    # ONNX cannot trim text: one space around a level is read as none.
    forms = ("{}", " {}", "{} ", " {} ")
    words = {form.format(level): k for form in forms for k, level in enumerate(levels)}
    if column.fill or column.numbered:  # words for a missing value become the fill, or missing
        spelt = [form(word) for word in sorted(MISSING) for form in (str, str.upper, str.title)]
        place = words[str(column.fill)] if column.fill else -1
        words |= {word: place for word in [*spelt, "NaN"] if column.fill or word not in words}
    position = graph.add(
        "LabelEncoder",
        graph.text_input(column.name),
        domain=ML,
        keys_strings=list(words),
        values_int64s=list(words.values()),
        default_int64=len(levels) if column.numbered else -1,
    )
    if column.numbered:
        less = graph.add("Less", position, graph.constant(f"first_{k}", np.int64(0)))
        number = graph.add("Cast", position, to=graph.kinds.DOUBLE)
        return graph.add("Where", less, graph.constant(f"missing_{k}", np.float64("nan")), number)
    all_levels = graph.constant(f"levels_{k}", np.arange(len(levels))[None, :])
    return graph.add("Cast", graph.add("Equal", position, all_levels), to=graph.kinds.DOUBLE)
