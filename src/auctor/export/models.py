"""Export of models as ONNX graphs, for programs without Python."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from auctor.additive.model import AdditiveModel, AdditiveRegressionModel
from auctor.core.checks import check_choice
from auctor.core.errors import ParameterError, speaks_as
from auctor.core.files import AnyPath, write_bytes
from auctor.core.optional import require
from auctor.core.types import Array, FloatArray
from auctor.export.curves import add_curves
from auctor.export.exported import Exported, exported
from auctor.export.graph import Graph, add_table
from auctor.export.reasons import Asked, add_reasons, names_and_base
from auctor.fit.calibrate import Calibrator, Isotonic, Sigmoid
from auctor.fit.model import LinearModel, RegressionModel
from auctor.fit.registry import resolve_loss
from auctor.losses import BaseLoss, Poisson
from auctor.tables.schema import Column

#: Largest size of the weights in bytes, 1 MiB below the limit of an ONNX file.
MOST_BYTES = (1 << 31) - (1 << 20)
#: The ONNX operator of each inverse link function.
LINKS = {BaseLoss.response: "Identity", Poisson.response: "Exp"}


@speaks_as("to_onnx")
def to_onnx(
    model: Any,
    path: AnyPath | None = None,
    *,
    dtype: str = "float64",
    reasons: int = 0,
    baseline: str = "mean",
    texts: Mapping[str, str] = MappingProxyType({}),
) -> bytes:
    """Export a fitted model as an ONNX graph.

    The input ``X`` has the columns of `fit`. A `TableClassifier` has an input of shape (rows, 1)
    for each of its columns instead, by name: text for categories ("" is a missing value), with at
    most one space around it, as ONNX cannot trim; numbers for numbers (NaN is a missing value), and
    days since 1 January 1970 for dates. The outputs of a
    classifier are ``label``, ``scores`` (those of `decision_function`, from which the threshold is
    subtracted) and, if the model has them, ``probabilities``; that of a regressor is
    ``prediction``. Scores are computed and returned in float64 for any input.

    Parameters
    ----------
    model : classifier, regressor or learner
        MetricClassifier, MetricClassifierCV, LinearRegressor, TableClassifier or a learner of
        auctor.streaming.
    path : path, optional
        File to write the graph to.
    dtype : "float64" or "float32"
        Type of the inputs that are numbers.
    reasons : int
        How many reasons to add, as in `MetricClassifier.reasons`: the outputs ``reason_names`` (""
        where fewer columns raise the score) and ``reason_parts``, ``baseline`` and ``rest``, and
        with texts ``reason_texts``. The values are among the inputs.
    baseline, texts
        As in `MetricClassifier.reasons`.

    Returns
    -------
    bytes
        The serialised graph. Its metadata have ``feature_names``, ``classes`` and ``threshold`` as
        JSON, if the model has them.
    """
    check_choice("dtype", dtype, ("float64", "float32"))
    onnx = require("onnx", extra="onnx")
    parts = exported(model)
    if parts.model.coef.nbytes > MOST_BYTES:
        raise ParameterError(
            f"coefficients of less than 2 GB; got {parts.model.coef.nbytes} bytes. Drop the "
            "columns whose weight is zero."
        )
    graph = Graph(onnx, dtype)
    if parts.schema is not None:
        add_table(graph, parts.schema)
    else:
        graph.rows = graph.number_input("X", parts.model.n_features)
    add_model(graph, parts.model)
    if reasons:
        _add_reasons(graph, parts, Asked(reasons, baseline, texts))
    content = graph.serialised(parts.title, dict(_metadata(parts)))
    if path is not None:
        write_bytes(path, content)
    return content


def _metadata(parts: Exported) -> Iterator[tuple[str, str]]:
    """Names and JSON of the metadata of a graph."""
    model = parts.model
    names = model.feature_names if parts.schema is None else parts.schema.feature_names
    if names is not None:
        yield "feature_names", json.dumps(list(names))
    if isinstance(model, LinearModel):
        yield "classes", json.dumps(_labels(model.classes).tolist())
    if parts.chosen is not None:
        yield "threshold", json.dumps(parts.chosen.threshold.tolist())
        if parts.chosen.binary:
            yield "positive", json.dumps(str(parts.chosen.classes[parts.chosen.positive]))


def add_model(graph: Graph, model: LinearModel | RegressionModel) -> None:
    """Add the nodes and outputs of a model with the input ``graph.rows``."""
    if isinstance(model, RegressionModel):
        _add_regressor(graph, model)
    else:
        _add_classifier(graph, model)


def _add_regressor(graph: Graph, model: RegressionModel) -> None:
    """Add the output ``prediction``: the inverse link of the score."""
    loss = resolve_loss(model.loss)
    link = LINKS.get(type(loss).response)
    if link is None:
        raise ParameterError(
            f"a loss of auctor, whose link function it knows; got {type(loss).__name__}. Use one."
        )
    graph.add(link, _scores(graph, model, squeezed=True), name="prediction")
    graph.output("prediction", graph.kinds.DOUBLE, ["rows"])


def _add_classifier(graph: Graph, model: LinearModel) -> None:
    """Add the outputs ``label``, ``scores`` and, if the model has them, ``probabilities``."""
    labels = _labels(model.classes)
    two = model.binary
    flat = _scores(graph, model, squeezed=two)
    graph.add("Identity", flat, name="scores")
    if two:
        # A score at the threshold is not predicted positive. If the positive class is the first of
        # the two, scores have the other sign, and a score of 0 belongs to the second.
        above = graph.add(
            "Greater" if model.positive else "GreaterOrEqual",
            flat,
            graph.constant("zero", np.float64(0.0)),
        )
        index = graph.add("Cast", above, to=graph.kinds.INT64)
    else:
        index = graph.add("ArgMax", flat, axis=1, keepdims=0)
    graph.add("Gather", graph.constant("classes", labels), index, name="label", axis=0)
    kind = graph.onnx.helper.np_dtype_to_tensor_dtype(labels.dtype)
    graph.output("label", graph.kinds.STRING if labels.dtype.kind == "U" else kind, ["rows"])
    k = labels.size
    graph.output("scores", graph.kinds.DOUBLE, ["rows"] if two else ["rows", k])
    if model.calibrators is not None:
        _add_probabilities(graph, model, model.calibrators, flat)
        graph.output("probabilities", graph.kinds.DOUBLE, ["rows", k])


def _add_reasons(graph: Graph, exported_parts: Exported, asked: Asked) -> None:
    """Add the columns that raise the score of the positive class most."""
    model = exported_parts.model
    named = exported_parts.schema is not None and bool(exported_parts.schema.columns)
    columns = [Column(name, "number") for name in exported_parts.column_names]
    if named and exported_parts.schema is not None:
        columns = list(exported_parts.schema.columns)
    names, base = names_and_base(model, columns, asked)
    used = list(range(len(names)))
    if isinstance(model, AdditiveModel | AdditiveRegressionModel):
        used = sorted(graph.parts)
        parts = graph.add("Concat", *(graph.parts[j] for j in used), axis=1)
    else:
        parts = graph.add("Mul", graph.rows, graph.constant("weights", model.coef))
        owner = np.repeat(used, [column.width for column in columns])
        if owner.size != len(names):  # one part for all columns of the matrix of a category
            groups = (owner[:, None] == np.arange(len(names))).astype(np.float64)
            parts = graph.add("MatMul", parts, graph.constant("owners", groups))
    if model.sign < 0.0:
        parts = graph.add("Neg", parts)
    start = model.sign * float(model.intercept[0])
    add_reasons(graph, asked, [names[j] for j in used], base[used], start, parts)


def _labels(classes: Array) -> Array:
    """The classes in a type that ONNX supports."""
    if classes.dtype.kind == "S":
        return np.array([label.decode() for label in classes.tolist()])
    if classes.dtype.kind == "O":
        return np.array(classes.tolist())
    if classes.dtype.kind in "iu" and classes.dtype != np.uint64:
        return classes.astype(np.int64)
    return classes.astype(np.float64) if classes.dtype.kind == "f" else classes


def _scores(graph: Graph, model: LinearModel | RegressionModel, *, squeezed: bool) -> str:
    """Add ``X coef' + intercept``, or the curves of an additive model.

    Returns the name of the scores: (rows, k), or (rows,) if ``squeezed``.
    """
    offset = graph.constant("intercept", model.intercept)
    if isinstance(model, AdditiveModel | AdditiveRegressionModel):
        scores = add_curves(graph, model.bins, model.coef, offset)
    else:
        product = graph.add("MatMul", graph.rows, graph.constant("coef", model.coef.T))
        scores = graph.add("Add", product, offset)
    if not squeezed:
        return scores
    return graph.add("Squeeze", scores, graph.constant("last_axis", np.array([1])))


def _add_probabilities(
    graph: Graph, model: LinearModel, calibrators: Sequence[Calibrator], scores: str
) -> None:
    """Add calibrated probabilities; those of more than two classes are divided by their sum."""
    two = model.binary
    if model.joint:  # one softmax over the scores of all classes
        raw = graph.add("Add", scores, graph.constant("threshold", model.threshold))
        graph.add("Softmax", raw, name="probabilities", axis=1)
        return
    axis = graph.constant("class_axis", np.array([1]))
    table = graph.add("Unsqueeze", scores, axis) if two else scores
    raw = graph.add("Add", table, graph.constant("threshold", model.threshold))
    flipped = two and not model.positive
    raw = graph.add("Neg", raw) if flipped else raw
    columns = []
    for k, calibrator in enumerate(calibrators):
        column = graph.add("Gather", raw, graph.constant(f"class_{k}", np.array([k])), axis=1)
        columns.append(_calibrated(graph, calibrator, column, f"calibrator_{k}"))
    if two:
        rest = graph.add("Sub", graph.constant("one", np.float64(1.0)), columns[0])
        both = (columns[0], rest) if flipped else (rest, columns[0])
        graph.add("Concat", *both, name="probabilities", axis=1)
        return
    # Avoids 0/0 for a row whose probabilities are all 0.
    tiny = graph.constant("tiny", np.float64(1e-300))
    every = graph.add("Add", graph.add("Concat", *columns, axis=1), tiny)
    graph.add("Div", every, graph.add("ReduceSum", every, axis), name="probabilities")


def _calibrated(graph: Graph, calibrator: Calibrator, scores: str, name: str) -> str:
    """Add the probabilities of a calibrator for scores; both have the shape (rows, 1)."""
    if isinstance(calibrator, Sigmoid):
        slope = graph.constant(f"{name}_slope", np.float64(calibrator.slope))
        offset = graph.constant(f"{name}_offset", np.float64(calibrator.offset))
        # The operator Sigmoid of some runtimes rounds small probabilities to 0.
        margin = graph.add("Add", graph.add("Mul", scores, slope), offset)
        odds = graph.add("Exp", graph.add("Neg", margin))
        one = graph.constant(f"{name}_one", np.float64(1.0))
        return graph.add("Reciprocal", graph.add("Add", one, odds))
    if not isinstance(calibrator, Isotonic):
        raise ParameterError(
            f"`calibrate='sigmoid'` or 'isotonic'; got {type(calibrator).__name__}. Fit with one "
            "of these."
        )
    return _interpolated(graph, calibrator.points, calibrator.levels, scores, name)


def _interpolated(
    graph: Graph, points: FloatArray, levels: FloatArray, scores: str, name: str
) -> str:
    """Add the piecewise linear function through points, which is constant beyond them."""
    if points.size == 1:
        points, levels = points[0] + np.array([0.0, 1.0]), np.repeat(levels, 2)
    axis = graph.constant(f"{name}_axis", np.array([1]))
    inner = graph.constant(f"{name}_inner", points[None, 1:-1])
    # The piece of a score is the number of inner points that it has reached.
    passed = graph.add("Cast", graph.add("GreaterOrEqual", scores, inner), to=graph.kinds.INT64)
    piece = graph.add("ReduceSum", passed, axis)
    start, low, width, rise = (
        graph.add("Gather", graph.constant(f"{name}_{what}", values), piece, axis=0)
        for what, values in (
            ("start", points[:-1]),
            ("low", levels[:-1]),
            ("width", np.diff(points)),
            ("rise", np.diff(levels)),
        )
    )
    part = graph.add("Div", graph.add("Sub", scores, start), width)
    bounds = (graph.constant(f"{name}_{side}", np.float64(side)) for side in (0, 1))
    part = graph.add("Clip", part, *bounds)
    return graph.add("Add", low, graph.add("Mul", part, rise))
