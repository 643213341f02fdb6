"""Fitted linear and additive models in files: what is stored, and checks of what was read.

Only `as_estimator` and `as_table` need scikit-learn.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeAlias

import numpy as np

from auctor.additive.model import AdditiveModel, AdditiveRegressionModel, Curves
from auctor.additive.parameters import AdditiveParameters, CurveParameters, log_loss_trained
from auctor.core.codec import floats, whole
from auctor.core.result import Solution
from auctor.core.types import FloatArray
from auctor.fit.calibrate import LOG_ODDS, log_odds
from auctor.fit.model import LinearModel, RegressionModel
from auctor.fit.parameters import (
    ClassifierParameters,
    LinearParameters,
    RegressorParameters,
    SearchParameters,
    check_work,
)
from auctor.fit.result import FitResult, StrengthChoice
from auctor.fit.train_model import kind_for
from auctor.linear.table_parameters import TableParameters, model_parameters
from auctor.saved.curves import check_curves
from auctor.saved.values import check_calibrators, check_labels, check_names, need
from auctor.tables.schema import Schema

#: A fitted classifier or regressor.
AnyFitted: TypeAlias = FitResult[LinearParameters, LinearModel | RegressionModel]
#: In place of the weights of a solution that are those of the model.
OF_MODEL: FloatArray = np.empty(0)


def stored(result: AnyFitted) -> AnyFitted:
    """What a file has of a fitted model: weights that occur twice are left out once."""
    model = result.model
    names = ("coef", "intercept", "threshold") if isinstance(model, LinearModel) else ("coef",)
    arrays: dict[str, Any] = {
        name: np.asarray(getattr(model, name), dtype=np.float64) for name in names
    }
    model = replace(model, **arrays)
    members = isinstance(model, Curves)
    solutions = [
        replace(one, coef=OF_MODEL)
        if members or (k < len(model.coef) and np.array_equal(model.coef[k], one.coef))
        else replace(one, coef=np.asarray(one.coef, dtype=np.float64))
        for k, one in enumerate(result.solutions)
    ]
    return replace(result, model=model, solutions=solutions)


def checked(result: AnyFitted) -> AnyFitted:
    """What was read, complete; raises for a model that could not predict."""
    params, model = result.params, result.model
    kind_for(params).check(params)
    check_work(params)
    regression, curved = (
        isinstance(params, RegressorParameters),
        isinstance(params, CurveParameters),
    )
    wanted = {
        (False, False): LinearModel,
        (False, True): AdditiveModel,
        (True, False): RegressionModel,
        (True, True): AdditiveRegressionModel,
    }[regression, curved]
    need(type(model) is wanted, "the model of its parameters")
    # The weights of an additive model are those of the columns of its bins, not of the table.
    d = check_curves(model) if isinstance(model, Curves) else int(model.coef.shape[1])
    shared: dict[str, Any] = {"n_threads": params.n_threads}
    if isinstance(model, LinearModel):
        assert isinstance(params, ClassifierParameters)
        k = 1 if check_labels(model.classes).size == 2 else model.classes.size
        need(model.positive in (0, 1), "a positive class that is the first or the second")
        floats(model.threshold, (k,))
        check_calibrators(result.calibrators, k)
        # A model of log-odds needs no fitted calibrators.
        calibrators = result.calibrators if params.calibrate is not None else None
        curved_odds = isinstance(params, AdditiveParameters) and log_loss_trained(params)
        if params.calibrate is None and (curved_odds or log_odds(params.metric, None)):
            calibrators = [LOG_ODDS] * k
        shared |= {name: getattr(params, name) for name in ("metric", "surrogate", "average")}
        shared["calibrators"] = calibrators
    else:
        assert isinstance(params, RegressorParameters)
        need(result.calibrators is None, "the parts of a regression")
        k, shared["loss"] = 1, params.loss
    floats(model.coef, (k, d))
    floats(model.intercept, (k,))
    model = replace(model, **shared)
    if model.ranges is not None:
        _, low, high = (floats(one, (d,)) for one in model.ranges)
        need(bool((low <= high).all()), "ranges of its columns")
    check_names(model.feature_names, model.n_features)
    if result.fold_scores is not None:
        floats(result.fold_scores, (result.fold_scores.size,), finite=False)
    if (choice := result.choice) is not None:
        floats(choice.scores, (len(choice.names), choice.scores.shape[1]), finite=False)
        need(whole(choice.chosen) < len(choice.names), "a kind of model that was chosen")
        need(all(isinstance(name, str) for name in choice.names), "names of kinds of models")
    search, strength = result.search, result.strength
    need(search is not None or not isinstance(params, SearchParameters), "its search")
    if search is not None:
        _check_search(search)
        strength = search.strength
    # An additive model has a solution for each member, whose weights are not kept.
    rows = [OF_MODEL] * len(result.solutions) if isinstance(model, Curves) else model.coef
    need(len(result.solutions) in (0, len(rows)), "a solution for each class")
    solutions = [_checked(*pair) for pair in zip(result.solutions, rows, strict=False)]
    need(result.n_iter is None or result.n_iter >= 0, "a number of iterations")
    return replace(result, model=model, solutions=solutions, strength=strength)


def _check_search(search: StrengthChoice) -> None:
    """Refuse a search without a strength that was chosen."""
    strengths, scores = search.strengths, search.scores
    floats(strengths, (strengths.size,))
    floats(scores, (scores.shape[0], strengths.size), finite=False)
    need(bool((strengths >= 0.0).all()), "strengths of at least zero")
    need(whole(search.best_index) < strengths.size, "a strength that was chosen")


def _checked(solution: Solution, coef: FloatArray) -> Solution:
    """A solution with its weights, which are the model's where it has none of its own."""
    if solution.coef.shape == OF_MODEL.shape:
        solution = replace(solution, coef=coef)
    floats(solution.coef, coef.shape)
    whole(solution.n_iter)
    whole(solution.evaluations)
    columns = vars(solution.trace).values()
    need(len({len(column) for column in columns}) == 1, "a trace")
    need(not solution.certified or solution.gap >= 0.0, "a gap that a certificate can have")
    return solution


# --- to an estimator ------------------------------------------------------------------------------


def as_estimator(result: AnyFitted) -> Any:
    """The estimator that a file describes; imports scikit-learn."""
    from auctor.linear import from_model

    return from_model.as_estimator(result)


def check_table(table: TableParameters, schema: Any, n_features: int) -> None:
    """Refuse the parameters of a `TableClassifier` that has no schema of its model's columns."""
    model_parameters(table)  # checks the parameters
    need(isinstance(schema, dict), "a schema of its table")
    need(Schema.from_json(schema).n_features == n_features, "a schema of its columns")


def as_table(model: Any, table: TableParameters, schema: Any, *, named: bool) -> Any:
    """The `TableClassifier` around a model of encoded columns; imports scikit-learn."""
    from auctor.linear.estimators.table import TableClassifier

    estimator = TableClassifier(**parameter_values(table)).adopt(model, Schema.from_json(schema))
    if not named:
        del estimator.feature_names_in_
    return estimator


def parameter_values(params: LinearParameters) -> dict[str, Any]:
    """The parameters by name, in alphabetical order, as scikit-learn's ``get_params`` has them."""
    names = sorted(one.name for one in fields(params) if one.init)
    return {name: getattr(params, name) for name in names}
