"""Saving and loading kernel machines: support vectors, coefficients and kernel width."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from auctor.core.types import Array
from auctor.data.matrices import is_dense, join_compressed
from auctor.saved.classes import class_of
from auctor.saved.models import describe_calibrator, read_calibrators
from auctor.saved.values import CODEC, Arrays, Json, floats, labels, matrix, need, number, whole


def describe(estimator: Any, arrays: Arrays) -> Json:
    """The fitted attributes as JSON; adds their arrays to ``arrays``."""
    points = estimator.model_.points
    entry: Json = {
        "support": CODEC.encode(np.asarray(estimator.support_, np.int64), "support", arrays),
        "coef": CODEC.encode(estimator.model_.coef, "coef", arrays),
        "intercept": CODEC.encode(estimator.model_.intercept, "intercept", arrays),
        "rows": None,
        "double": bool(points.dtype == np.float64),
    }
    for name in ("gap", "gamma", "n_iter"):
        entry[name] = CODEC.encode(getattr(estimator, f"{name}_"), name, arrays)
    if estimator.kernel != "precomputed":
        entry["rows"] = _described_rows(points.matrix, arrays)
    if hasattr(estimator, "classes_"):
        entry["positive"] = estimator.class_scores_.positive
        entry["threshold"] = CODEC.encode(float(estimator.threshold_[0]), "threshold", arrays)
        entry["classes"] = CODEC.encode(estimator.classes_, "classes", arrays)
        entry["dual_value"] = CODEC.encode(float(estimator.dual_value_), "dual_value", arrays)
        found = getattr(estimator, "calibrators_", None)
        entry["calibrators"] = found and [
            describe_calibrator(one, f"calibrator.{k}", arrays) for k, one in enumerate(found)
        ]
    return entry


def _described_rows(matrix: Any, arrays: Arrays) -> Json:
    """The support vectors for a file: a dense array, or the three arrays of a CSR matrix."""
    if is_dense(matrix):
        arrays["rows"] = np.asarray(matrix, dtype=np.float64)
        return {"array": "rows"}
    for part in ("indptr", "indices"):
        arrays[f"rows.{part}"] = getattr(matrix, part).astype(np.int64)
    arrays["rows.data"] = matrix.data.astype(np.float64)
    return {"compressed": "rows"}


def read_estimator(name: str, params: dict[str, Any], d: int, fitted: Json, arrays: Arrays) -> Any:
    """The estimator that a file describes, checked; removes what it reads from the arguments."""
    kind = class_of(name)
    need(params.keys() <= set(inspect.signature(kind).parameters), "parameters of this version")
    estimator = kind(**params)
    estimator.check_parameters()
    count = 1  # score functions
    if name == "KernelClassifier":
        classes, positive = labels(fitted.pop("classes"), arrays), whole(fitted.pop("positive"))
        need(positive < 2, "a positive class that is the first or the second")
        threshold = number(fitted.pop("threshold"), finite=True)
        need(classes.size == 2 or threshold == 0.0, "a threshold of two classes")
        estimator.keep_classes(classes, positive, threshold)
        count = estimator.n_scores
        estimator.dual_value_ = number(fitted.pop("dual_value"))
        scores = 1 if classes.size == 2 else classes.size
        calibrators = read_calibrators(scores, fitted.pop("calibrators"), arrays)
        need(
            (calibrators is None) == (estimator.calibrate is None),
            "calibrators that match calibrate",
        )
        if calibrators is not None:
            estimator.calibrators_ = calibrators
    # Positions of the support vectors increase; coefficients and rows must match their number.
    support = CODEC.decode(fitted.pop("support"), arrays)
    good = isinstance(support, np.ndarray) and support.dtype == np.int64 and support.ndim == 1
    need((good and support.size == 0) or bool((np.diff(support, prepend=-1) > 0).all()), "support")
    coef = matrix(fitted.pop("coef"), (support.size, count), arrays)
    intercept = floats(CODEC.decode(fitted.pop("intercept"), arrays), (count,))
    rows, double = fitted.pop("rows"), fitted.pop("double")
    need(type(double) is bool, "a precision")
    need((rows is None) == (estimator.kernel == "precomputed"), "rows of its support")
    if rows is None:
        need(bool((support < d).all()), "support among the columns of the kernel matrix")
    points = None if rows is None else _read_rows(rows, (support.size, d), arrays)
    estimator.gap_, gamma = number(fitted.pop("gap")), number(fitted.pop("gamma"), finite=True)
    estimator.n_iter_ = whole(fitted.pop("n_iter"))
    need(gamma > 0.0, "a width of the kernel")
    estimator.n_features_in_ = d
    estimator.adopt(support, points, coef, intercept, gamma=gamma, double=double)
    return estimator


def _read_rows(entry: Json, shape: tuple[int, int], arrays: Arrays) -> Any:
    """The support vectors of a file, with finite values and the given shape."""
    match entry:
        case {"array": "rows", **none} if not none:
            return floats(arrays.pop("rows"), shape)
        case {"compressed": "rows", **none} if not none:
            indptr, indices, data = (_part(part, arrays) for part in ("indptr", "indices", "data"))
            need(indptr.size == shape[0] + 1, "rows of its support")
            floats(data, (data.size,))
            matrix = join_compressed(data, indices, indptr, shape)
            matrix.check_format(full_check=True)
            return matrix
    raise ValueError(f"rows {str(entry)[:80]}")


def _part(name: str, arrays: Arrays) -> Array:
    return arrays.pop(f"rows.{name}")
