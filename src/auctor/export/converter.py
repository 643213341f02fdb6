"""Converters with which skl2onnx converts pipelines that end in one of our estimators."""

from __future__ import annotations

from typing import Any

from auctor.core.errors import speaks_as
from auctor.core.optional import require
from auctor.export.exported import exported
from auctor.export.graph import Graph
from auctor.export.models import add_model
from auctor.linear.estimators.classifier import MetricClassifier
from auctor.linear.estimators.regressor import LinearRegressor
from auctor.linear.estimators.search import MetricClassifierCV


@speaks_as("register_skl2onnx")
def register_skl2onnx() -> None:
    """Register our linear estimators with skl2onnx, alone or at the end of a pipeline.

    After that, ``skl2onnx.to_onnx(pipeline, X[:1])`` gives a graph with the outputs of
    `auctor.to_onnx`: ``label``, ``scores`` and, if the model has them, ``probabilities``; or
    ``prediction``. Needs skl2onnx, which the extra ``onnx`` installs.
    """
    skl2onnx = require("skl2onnx", extra="onnx")
    for kind in (MetricClassifier, MetricClassifierCV, LinearRegressor):
        skl2onnx.update_registered_converter(
            kind, f"Auctor{kind.__name__}", _shapes, _convert, parser=_parse
        )


def _made(estimator: Any, dtype: str = "float64") -> Graph:
    """The ONNX graph of an estimator with the input X."""
    model = exported(estimator).model
    graph = Graph(require("onnx", extra="onnx"), dtype)
    graph.rows = graph.number_input("X", model.n_features)
    add_model(graph, model)
    return graph


def _parse(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> Any:
    """Declare an operator of skl2onnx with the outputs of our graph."""
    operator = scope.declare_local_operator(f"Auctor{type(model).__name__}", model)
    operator.inputs.append(inputs[0])
    for output in _made(model).outputs:
        operator.outputs.append(scope.declare_local_variable(output.name, _type(output)))
    return operator.outputs


def _type(output: Any) -> Any:
    """The type of skl2onnx for an output."""
    types = require("skl2onnx.common.data_types", extra="onnx")
    kind = output.type.tensor_type
    shape = [None if one.dim_param else one.dim_value for one in kind.shape.dim]
    onnx = require("onnx", extra="onnx")
    names = {
        onnx.TensorProto.STRING: types.StringTensorType,
        onnx.TensorProto.INT64: types.Int64TensorType,
        onnx.TensorProto.BOOL: types.BooleanTensorType,
    }
    return names.get(kind.elem_type, types.DoubleTensorType)(shape)


def _shapes(operator: Any) -> None:
    """Do nothing: `_parse` has set the types of the outputs."""


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of our graph to a container of skl2onnx, under new unique names."""
    onnx = require("onnx", extra="onnx")
    types = require("skl2onnx.common.data_types", extra="onnx")
    source = operator.inputs[0]
    wide = isinstance(source.type, types.DoubleTensorType)
    graph = _made(operator.raw_operator, "float64" if wide else "float32")
    names = {"X": source.full_name}  # names in the container by names in our graph
    if not isinstance(source.type, types.DoubleTensorType | types.FloatTensorType):
        names["X"] = scope.get_unique_variable_name("numbers")
        container.add_node("Cast", source.full_name, names["X"], to=onnx.TensorProto.FLOAT)
    outputs = zip(graph.outputs, operator.outputs, strict=True)
    names |= {mine.name: theirs.full_name for mine, theirs in outputs}
    for constant in graph.constants:
        names[constant.name] = scope.get_unique_variable_name(constant.name)
        values = onnx.numpy_helper.to_array(constant)
        container.add_initializer(
            names[constant.name], constant.data_type, values.shape, values.ravel().tolist()
        )
    for node in graph.nodes:
        for made in node.output:
            names.setdefault(made, scope.get_unique_variable_name(made))
        attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
        container.add_node(
            node.op_type,
            [names[used] for used in node.input],
            [names[made] for made in node.output],
            name=scope.get_unique_operator_name(node.op_type),
            **attributes,
        )
