"""What a file says of a classifier or regressor: coefficients, solutions, calibrators."""

from __future__ import annotations

from typing import Any

import numpy as np

from auctor.core.result import Solution, Status, Trace
from auctor.core.types import Array
from auctor.estimators import LinearRegressor, MetricClassifier, MetricClassifierCV
from auctor.saved.checks import Arrays, Json, labels, need, number, whole
from auctor.saved.values import (
    decoded,
    decoded_matrix,
    encoded,
    encoded_array,
    encoded_matrix,
    floats,
)
from auctor.training.calibrate import Isotonic, Sigmoid
from auctor.training.parameters import check_solver

#: Columns of the array of traces.
TRACE = ("iteration", "value", "gap", "seconds", "passes", "evaluations")
_WHOLE_TRACE = ("iteration", "evaluations")
#: Numbers of a solution that may be anything, and those that count.
_SOLUTION_FLOATS = ("intercept", "value", "gap", "tol", "passes", "seconds")
_SOLUTION_COUNTS = ("n_iter", "evaluations")
#: By the names under which a file knows them.
ESTIMATORS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (MetricClassifier, MetricClassifierCV, LinearRegressor)
}


# --- from a model ---------------------------------------------------------------------------------


def describe(model: Any, arrays: Arrays) -> Json:
    """What was fitted; its arrays are put aside."""
    solutions = getattr(model, "solution_", None)
    if solutions is not None and not isinstance(solutions, list):
        solutions = [solutions]
    fitted = {
        "coef": encoded_matrix(np.asarray(model.coef_, dtype=np.float64), "coef", arrays),
        "gap": encoded(getattr(model, "gap_", None), "gap", arrays),
        "n_iter": encoded(getattr(model, "n_iter_", None), "n_iter", arrays),
        "solutions": None if solutions is None else _solutions(model, solutions, arrays),
    }
    if isinstance(model, LinearRegressor):
        return fitted | {"intercept": encoded(float(model.intercept_), "intercept", arrays)}
    fitted["classes"] = encoded_array(model.classes_, "classes", arrays)
    for name in ("intercept", "threshold"):
        array = np.asarray(getattr(model, f"{name}_"), dtype=np.float64)
        fitted[name] = encoded_array(array, name, arrays)
    calibrators = getattr(model, "calibrators_", None)
    fitted["calibrators"] = (
        None
        if calibrators is None
        else [_calibrator(c, f"calibrator.{k}", arrays) for k, c in enumerate(calibrators)]
    )
    if isinstance(model, MetricClassifierCV):
        for name in ("strengths", "scores"):
            fitted[name] = encoded_array(getattr(model, f"{name}_"), name, arrays)
        fitted["best_index"] = int(model.best_index_)
    return fitted


def _solutions(model: Any, solutions: list[Solution], arrays: Arrays) -> list[Json]:
    """Solutions with their traces; coefficients only where the model has others."""
    rows = np.atleast_2d(model.coef_)
    traces, made = [], []
    for k, solution in enumerate(solutions):
        same = k < rows.shape[0] and np.array_equal(rows[k], solution.coef)
        names = (*_SOLUTION_FLOATS, *_SOLUTION_COUNTS, "certified", "solver")
        entry = {name: encoded(getattr(solution, name), name, arrays) for name in names}
        coef = np.asarray(solution.coef, dtype=np.float64)
        entry["coef"] = None if same else encoded_matrix(coef, f"solution.{k}.coef", arrays)
        entry["status"] = solution.status.name
        entry["steps"] = len(solution.trace)
        columns = [getattr(solution.trace, name) for name in TRACE]
        traces.append(np.array(columns, dtype=np.float64).reshape(len(TRACE), -1).T)
        made.append(entry)
    arrays["trace"] = np.ascontiguousarray(np.vstack(traces))
    return made


def _calibrator(calibrator: Any, where: str, arrays: Arrays) -> Json:
    if isinstance(calibrator, Sigmoid):
        return {"kind": "sigmoid", "slope": calibrator.slope, "offset": calibrator.offset}
    return {
        "kind": "isotonic",
        "points": encoded_array(calibrator.points, f"{where}.points", arrays),
        "levels": encoded_array(calibrator.levels, f"{where}.levels", arrays),
    }


# --- to a model -----------------------------------------------------------------------------------


def _check_params(model: Any) -> None:
    """Check the parameters as `fit` does."""
    model.check_parameters()
    check_solver(type(model).__name__, model)


def restore(model: Any, d: int, fitted: Json, arrays: Arrays) -> None:
    """Give a model what was fitted, taking it from what was described."""
    _check_params(model)
    shape: tuple[int, ...]
    if isinstance(model, LinearRegressor):
        shape = (d,)
        model.intercept_ = number(fitted.pop("intercept"), finite=True)
    else:
        model.classes_ = labels(fitted.pop("classes"), arrays)
        k = 1 if model.classes_.size == 2 else model.classes_.size
        shape = (k, d)
        for name in ("intercept", "threshold"):
            setattr(model, f"{name}_", floats(decoded(fitted.pop(name), arrays), (k,)))
        _give_calibrators(model, k, fitted.pop("calibrators"), arrays)
    model.coef_ = decoded_matrix(fitted.pop("coef"), shape, arrays)
    if isinstance(model, MetricClassifierCV):
        _give_search(model, fitted, arrays)
    for name, read in (("gap", number), ("n_iter", whole)):
        value = fitted.pop(name)
        if value is not None:
            setattr(model, f"{name}_", read(value))
    solutions = fitted.pop("solutions")
    if solutions is not None:
        made = _made_solutions(model, solutions, arrays)
        model.solution_ = made[0] if len(shape) == 1 or shape[0] == 1 else made


def _give_calibrators(model: Any, k: int, entries: Any, arrays: Arrays) -> None:
    if entries is None:
        return
    need(isinstance(entries, list) and len(entries) == k, "a calibrator for each class")
    model.calibrators_ = [_made_calibrator(dict(entry), arrays) for entry in entries]


def _made_calibrator(entry: Json, arrays: Arrays) -> Sigmoid | Isotonic:
    kind = entry.pop("kind")
    if kind == "sigmoid":
        slope, offset = (number(entry.pop(name), finite=True) for name in ("slope", "offset"))
        need(not entry, "slope and offset alone")
        return Sigmoid(slope, offset)
    need(kind == "isotonic", "a known calibrator")
    points, levels = (decoded(entry.pop(name), arrays) for name in ("points", "levels"))
    floats(points, (points.size,))
    floats(levels, points.shape)
    rising = (points[1:] > points[:-1]).all() and (levels[1:] >= levels[:-1]).all()
    need(not entry and points.size > 0 and bool(rising), "points and levels that rise")
    need(levels[0] >= 0.0 and levels[-1] <= 1.0, "probabilities")
    return Isotonic(points, levels)


def _give_search(model: MetricClassifierCV, fitted: Json, arrays: Arrays) -> None:
    strengths, scores = (decoded(fitted.pop(name), arrays) for name in ("strengths", "scores"))
    floats(strengths, (strengths.size,))
    floats(scores, (scores.shape[0], strengths.size), finite=False)
    need(bool((strengths >= 0.0).all()), "strengths of at least zero")
    best = whole(fitted.pop("best_index"))
    model.strengths_, model.scores_, model.best_index_ = strengths, scores, best
    model.strength_ = float(strengths[best])


def _made_solutions(model: Any, entries: Any, arrays: Arrays) -> list[Solution]:
    rows = np.atleast_2d(model.coef_)
    need(isinstance(entries, list) and len(entries) == rows.shape[0], "a solution for each class")
    trace = arrays.pop("trace")
    steps = [whole(entry["steps"]) for entry in entries]
    floats(trace, (sum(steps), len(TRACE)), finite=False)
    parts = np.split(trace, np.cumsum(steps)[:-1])
    return [
        _made_solution(dict(entry), coef, part, model, arrays)
        for entry, coef, part in zip(entries, rows, parts, strict=True)
    ]


def _made_solution(entry: Json, coef: Array, trace: Array, model: Any, arrays: Arrays) -> Solution:
    own = entry.pop("coef")
    if own is not None:
        coef = decoded_matrix(own, coef.shape, arrays)
    elif isinstance(model, LinearRegressor):
        coef = model.coef_
    else:
        coef = coef.copy()
    del entry["steps"]
    named: dict[str, Any] = {name: number(entry.pop(name)) for name in _SOLUTION_FLOATS}
    named |= {name: whole(entry.pop(name)) for name in _SOLUTION_COUNTS}
    status, certified, solver = (entry.pop(name) for name in ("status", "certified", "solver"))
    need(not entry and type(certified) is bool and type(solver) is str, "a solution")
    return Solution(
        coef=coef,
        certified=certified,
        solver=solver,
        status=Status[status],
        trace=_made_trace(trace),
        **named,
    )


def _made_trace(trace: Array) -> Trace:
    columns = {}
    for name, column in zip(TRACE, trace.T, strict=True):
        counted = name in _WHOLE_TRACE
        if counted:
            need(bool((np.abs(column) < 2.0**53).all()), "whole numbers in the trace")
            need(bool((column == np.floor(column)).all()), "whole numbers in the trace")
        columns[name] = tuple((column.astype(np.int64) if counted else column).tolist())
    return Trace(**columns)
