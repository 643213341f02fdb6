"""Saving and loading classifiers and regressors: parameters, weights, solutions, calibrators.

The contents of a file are checked before a model is made of them: shapes, finite numbers, the order
of labels, and parameters as in `fit`. Only `as_estimator` and `as_table` need scikit-learn.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeAlias

import numpy as np

from auctor.additive.model import Curves, with_curves
from auctor.additive.parameters import AdditiveParameters, CurveParameters, log_loss_trained
from auctor.core.result import Solution, Status, Trace
from auctor.core.types import Array
from auctor.fit.calibrate import LOG_ODDS, Calibrator, Isotonic, Sigmoid, log_odds
from auctor.fit.model import LinearModel, RegressionModel
from auctor.fit.parameters import (
    LinearParameters,
    RegressorParameters,
    SearchParameters,
    check_work,
)
from auctor.fit.result import FitResult, StrengthChoice
from auctor.fit.train_model import kinds
from auctor.linear.table_parameters import TableParameters, model_parameters
from auctor.saved.curves import describe_curves, read_curves
from auctor.saved.values import CODEC, Arrays, Json, floats, labels, matrix, need, number, whole
from auctor.tables.schema import Schema

#: A fitted classifier or regressor.
AnyFitted: TypeAlias = FitResult[LinearParameters, LinearModel | RegressionModel]

#: Columns of the array of traces.
TRACE = ("iteration", "value", "gap", "seconds", "passes", "evaluations")
#: Columns of the trace that are whole numbers.
_WHOLE_TRACE = ("iteration", "evaluations")
#: Attributes of a solution that are floats.
_SOLUTION_FLOATS = ("intercept", "value", "gap", "tol", "passes", "seconds")
#: Attributes of a solution that are whole numbers.
_SOLUTION_COUNTS = ("n_iter", "evaluations")


# --- to a file ------------------------------------------------------------------------------------


def describe(fitted: AnyFitted, arrays: Arrays) -> Json:
    """A fitted model as JSON; adds its arrays to ``arrays``."""
    model, solutions = fitted.model, fitted.solutions
    regression = isinstance(model, RegressionModel)
    coef = np.asarray(model.coef[0] if regression else model.coef, dtype=np.float64)
    entry = {
        "coef": CODEC.encode(coef, "coef", arrays),
        "gap": CODEC.encode(fitted.gap, "gap", arrays),
        "n_iter": CODEC.encode(fitted.n_iter, "n_iter", arrays),
        "solutions": _solutions(
            None if isinstance(model, Curves) else model.coef, solutions, arrays
        )
        if solutions
        else None,
    }
    if isinstance(model, Curves):
        entry["curves"] = describe_curves(model, arrays)
        entry["strength"] = CODEC.encode(fitted.strength, "strength", arrays)
        entry["odds_slope"] = CODEC.encode(fitted.odds_slope, "odds_slope", arrays)
    # A regressor has one number as intercept; a classifier has classes, thresholds and calibrators.
    if isinstance(model, RegressionModel):
        return entry | {"intercept": CODEC.encode(float(model.intercept[0]), "intercept", arrays)}
    entry["classes"] = CODEC.encode(model.classes, "classes", arrays)
    entry["positive"] = model.positive
    for name, array in (("intercept", model.intercept), ("threshold", model.threshold)):
        entry[name] = CODEC.encode(np.asarray(array, dtype=np.float64), name, arrays)
    entry["calibrators"] = (
        None
        if fitted.calibrators is None
        else [
            describe_calibrator(one, f"calibrator.{k}", arrays)
            for k, one in enumerate(fitted.calibrators)
        ]
    )
    if fitted.search is not None:
        entry["strengths"] = CODEC.encode(fitted.search.strengths, "strengths", arrays)
        entry["scores"] = CODEC.encode(fitted.search.scores, "scores", arrays)
        entry["best_index"] = int(fitted.search.best_index)
        entry["surrogate"] = fitted.search.surrogate
    return entry


def _solutions(rows: Array | None, solutions: list[Solution], arrays: Arrays) -> list[Json]:
    """Solutions with their traces; coefficients only if they differ from those of the model.

    Without ``rows``, the weights of the model, no coefficients are kept.
    """
    traces, made = [], []
    for k, solution in enumerate(solutions):
        same = rows is None or (k < len(rows) and np.array_equal(rows[k], solution.coef))
        names = (*_SOLUTION_FLOATS, *_SOLUTION_COUNTS, "certified", "solver")
        entry = {name: CODEC.encode(getattr(solution, name), name, arrays) for name in names}
        coef = np.asarray(solution.coef, dtype=np.float64)
        entry["coef"] = None if same else CODEC.encode(coef, f"solution.{k}.coef", arrays)
        entry["status"] = solution.status.name
        entry["steps"] = len(solution.trace)
        columns = [getattr(solution.trace, name) for name in TRACE]
        traces.append(np.array(columns, dtype=np.float64).reshape(len(TRACE), -1).T)
        made.append(entry)
    arrays["trace"] = np.ascontiguousarray(np.vstack(traces))
    return made


def describe_calibrator(calibrator: Any, where: str, arrays: Arrays) -> Json:
    """A calibrator as JSON; adds its arrays to ``arrays``."""
    if isinstance(calibrator, Sigmoid):
        return {"kind": "sigmoid", "slope": calibrator.slope, "offset": calibrator.offset}
    return {
        "kind": "isotonic",
        "points": CODEC.encode(calibrator.points, f"{where}.points", arrays),
        "levels": CODEC.encode(calibrator.levels, f"{where}.levels", arrays),
    }


# --- from a file ----------------------------------------------------------------------------------


def read_fitted(
    name: str,
    params: dict[str, Any],
    d: int,
    feature_names: tuple[str, ...] | None,
    fitted: Json,
    arrays: Arrays,
) -> AnyFitted:
    """The estimator that a file describes, checked; removes what it reads from the arguments."""
    kind = kinds()[name]
    known = {one.name for one in fields(kind.parameters) if one.init}
    need(params.keys() <= known, "only parameters that this version knows")
    given = kind.parameters(**params)
    kind.check(given)
    check_work(given)
    # The weights of an additive model are those of the columns of its bins, not of the table.
    curves = None
    if isinstance(given, CurveParameters):
        curves = read_curves(fitted.pop("curves"), d, arrays)
        d = curves[0].size
    model, calibrators = _model(name, given, d, feature_names, fitted, arrays)
    strength = odds_slope = None
    if curves is not None:
        strength, odds_slope = (_optional(fitted.pop(key)) for key in ("strength", "odds_slope"))
        model = with_curves(model, *curves)
    searched = kind.parameters is SearchParameters or "best_index" in fitted
    search = _search(fitted, arrays) if searched else None
    gap, n_iter, solutions = (fitted.pop(key) for key in ("gap", "n_iter", "solutions"))
    return FitResult(
        given,
        model,
        [] if solutions is None else _made_solutions(model, solutions, arrays),
        gap=_optional(gap),
        n_iter=None if n_iter is None else whole(n_iter),
        calibrators=calibrators,
        search=search,
        strength=strength if search is None else search.strength,
        odds_slope=odds_slope,
    )


def _optional(value: Any) -> float | None:
    """A number, or ``None`` for null."""
    return None if value is None else number(value)


def _model(
    name: str,
    given: Any,
    d: int,
    feature_names: tuple[str, ...] | None,
    fitted: Json,
    arrays: Arrays,
) -> tuple[LinearModel | RegressionModel, list[Calibrator] | None]:
    """The model that predicts, and the fitted calibrators."""
    shared: dict[str, Any] = {
        "feature_names": feature_names,
        "n_threads": given.n_threads,
    }
    if isinstance(given, RegressorParameters):
        intercept = np.array([number(fitted.pop("intercept"), finite=True)])
        coef = matrix(fitted.pop("coef"), (d,), arrays)[None, :]
        return RegressionModel(coef=coef, intercept=intercept, loss=given.loss, **shared), None
    classes = labels(fitted.pop("classes"), arrays)
    k = 1 if classes.size == 2 else classes.size
    positive = whole(fitted.pop("positive", 1))
    need(positive < 2, "a positive class that is the first or the second")
    intercept, threshold = (
        floats(CODEC.decode(fitted.pop(key), arrays), (k,)) for key in ("intercept", "threshold")
    )
    calibrators = read_calibrators(k, fitted.pop("calibrators"), arrays)
    coef = matrix(fitted.pop("coef"), (k, d), arrays)
    # A model of log-odds needs no fitted calibrators.
    used = calibrators if given.calibrate is not None else None
    curved = isinstance(given, AdditiveParameters) and log_loss_trained(given)
    if given.calibrate is None and (curved or log_odds(given.metric, None)):
        used = [LOG_ODDS] * k
    model = LinearModel(
        coef=coef,
        intercept=intercept,
        classes=classes,
        threshold=threshold,
        calibrators=used,
        metric=given.metric,
        surrogate=given.surrogate,
        average=given.average,
        positive=positive,
        **shared,
    )
    return model, calibrators


def read_calibrators(k: int, entries: Any, arrays: Arrays) -> list[Calibrator] | None:
    """A calibrator for each of k scores, or None; removes their arrays from ``arrays``."""
    if entries is None:
        return None
    need(isinstance(entries, list) and len(entries) == k, "a calibrator for each class")
    return [_made_calibrator(dict(entry), arrays) for entry in entries]


def _made_calibrator(entry: Json, arrays: Arrays) -> Sigmoid | Isotonic:
    """The calibrator that an entry describes, checked."""
    kind = entry.pop("kind")
    if kind == "sigmoid":
        slope, offset = (number(entry.pop(name), finite=True) for name in ("slope", "offset"))
        need(not entry, "slope and offset alone")
        return Sigmoid(slope, offset)
    need(kind == "isotonic", "a known calibrator")
    points, levels = (CODEC.decode(entry.pop(name), arrays) for name in ("points", "levels"))
    floats(points, (points.size,))
    floats(levels, points.shape)
    rising = (points[1:] > points[:-1]).all() and (levels[1:] >= levels[:-1]).all()
    need(not entry and points.size > 0 and bool(rising), "points and levels that rise")
    need(levels[0] >= 0.0 and levels[-1] <= 1.0, "probabilities")
    return Isotonic(points, levels)


def _search(fitted: Json, arrays: Arrays) -> StrengthChoice:
    """The search that a file describes, checked."""
    strengths, scores = (CODEC.decode(fitted.pop(name), arrays) for name in ("strengths", "scores"))
    floats(strengths, (strengths.size,))
    floats(scores, (scores.shape[0], strengths.size), finite=False)
    need(bool((strengths >= 0.0).all()), "strengths of at least zero")
    best = whole(fitted.pop("best_index"))
    need(best < strengths.size, "a strength that was chosen")
    surrogate = fitted.pop("surrogate", None)
    need(surrogate is None or isinstance(surrogate, str), "a surrogate that was chosen")
    return StrengthChoice(strengths, scores, best, surrogate)


def _made_solutions(
    model: LinearModel | RegressionModel, entries: Any, arrays: Arrays
) -> list[Solution]:
    """The solutions that a file describes; their traces are one array, split by steps."""
    # An additive model has one for each member, whose weights are not kept.
    members = isinstance(model, Curves)
    known = isinstance(entries, list) and (members or len(entries) == len(model.coef))
    need(known and len(entries) > 0, "a solution for each class")
    rows = [np.empty(0)] * len(entries) if members else list(model.coef)
    trace = arrays.pop("trace")
    steps = [whole(entry["steps"]) for entry in entries]
    floats(trace, (sum(steps), len(TRACE)), finite=False)
    parts = np.split(trace, np.cumsum(steps)[:-1])
    return [
        _made_solution(dict(entry), coef, part, arrays)
        for entry, coef, part in zip(entries, rows, parts, strict=True)
    ]


def _made_solution(entry: Json, coef: Array, trace: Array, arrays: Arrays) -> Solution:
    """The solution that an entry describes; without weights of its own it has the model's."""
    own = entry.pop("coef")
    coef = coef if own is None else matrix(own, coef.shape, arrays)
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
    """The trace of a solution from the rows of an array."""
    columns = {}
    for name, column in zip(TRACE, trace.T, strict=True):
        counted = name in _WHOLE_TRACE
        if counted:
            need(bool((np.abs(column) < 2.0**53).all()), "whole numbers in the trace")
            need(bool((column == np.floor(column)).all()), "whole numbers in the trace")
        columns[name] = tuple((column.astype(np.int64) if counted else column).tolist())
    return Trace(**columns)


# --- to an estimator ------------------------------------------------------------------------------


def as_estimator(fitted: AnyFitted) -> Any:
    """The estimator that a file describes; imports scikit-learn."""
    from auctor.linear import from_model

    return from_model.as_estimator(fitted)


def checked_table(params: Json, schema: Any, n_features: int) -> tuple[TableParameters, bool]:
    """The parameters of a `TableClassifier`, checked, and whether its columns had names."""
    params = dict(params)
    named = params.pop("named")
    need(type(named) is bool, "columns with or without names")
    known = {one.name for one in fields(TableParameters) if one.init}
    need(params.keys() <= known, "only parameters that this version knows")
    table = TableParameters(**params)
    model_parameters(table)  # checks the parameters
    need(isinstance(schema, dict), "a schema of its table")
    need(Schema.from_json(schema).n_features == n_features, "a schema of its columns")
    return table, named


def as_table(model: Any, table: TableParameters, schema: Any, *, named: bool) -> Any:
    """The `TableClassifier` around a model of encoded columns; imports scikit-learn."""
    from auctor.linear.table import TableClassifier

    found = TableClassifier(**parameter_values(table)).adopt(model, Schema.from_json(schema))
    if not named:
        del found.feature_names_in_
    return found


def parameter_values(given: LinearParameters) -> dict[str, Any]:
    """The parameters by name, in alphabetical order, as scikit-learn's ``get_params`` has them."""
    names = sorted(one.name for one in fields(given) if one.init)
    return {name: getattr(given, name) for name in names}
