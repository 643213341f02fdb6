"""From rows and parameters to a fitted model.

Training functions issue no warnings. They return them with the model, and the estimator or command
that the user called issues them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from auctor.core.errors import ConvergenceWarning, DataError, DataWarning, Option
from auctor.core.result import Solution, Status
from auctor.core.types import FloatArray, Target
from auctor.core.watching import tell_stage
from auctor.data.coerce import StoredData, stored
from auctor.fit.advice import advice
from auctor.fit.batch import for_parts
from auctor.fit.calibrate import LOG_ODDS, Calibrator, fit_calibrators, log_odds
from auctor.fit.folds import folds_by
from auctor.fit.metric import Goal, resolve_metric
from auctor.fit.model import LinearModel, RegressionModel
from auctor.fit.parameters import ClassifierParameters, RegressorParameters, fold_seed
from auctor.fit.registry import resolve_loss, resolve_penalty
from auctor.fit.result import ClassifierResult, FitOptions, FitResult, RegressorResult
from auctor.fit.scale import column_ranges, scaled_rows, scaling_for, to_data_units, to_scaled_units
from auctor.fit.solve import (
    Resume,
    check_not_interrupted,
    linear_scores,
    penalty_for,
    solve,
    solve_classes,
    stacked,
    start_from,
)
from auctor.fit.targets import Rows, targets_of
from auctor.fit.threshold import check_cut, thresholds
from auctor.problem import Problem

#: Folds of calibration if ``threshold_cv`` is not given: the usual 5.
FOLDS = 5


def train_regressor(
    params: RegressorParameters, matrix: Any, target: Target, options: FitOptions
) -> RegressorResult:
    """Fit a linear regression to rows and their target."""
    loss = resolve_loss(params.loss)
    penalty = resolve_penalty(params.penalty, params.strength, params.l1_ratio)
    scaling = scaling_for(params, matrix, target.weight)
    data = stored(
        matrix if scaling is None else scaling.apply(matrix), target, n_threads=params.n_threads
    )
    (last,) = to_scaled_units(scaling, [options.previous[0] if options.previous else None]) or [
        None
    ]
    problem = Problem(loss, penalty, data, fit_intercept=bool(params.fit_intercept))
    solution = solve(params, problem, start_from(params, last, loss), resume=options.resume)
    (solution,) = to_data_units(scaling, [solution])
    coef, intercept = stacked([solution])
    model = RegressionModel(
        coef=coef,
        intercept=intercept,
        feature_names=named(options.names),
        loss=params.loss,
        n_threads=params.n_threads,
        ranges=column_ranges(matrix, None, target.weight, coef),
    )
    return FitResult(
        params,
        model,
        [replace(solution, coef=coef[0])],  # one array in memory instead of two
        gap=solution.gap,
        n_iter=solution.n_iter,
        warnings=unconverged([solution]),
        interrupted=solution.status is Status.INTERRUPTED,
    )


def train_classifier(
    params: ClassifierParameters, rows: Rows, options: FitOptions
) -> ClassifierResult:
    """Fit each class against the rest, or all jointly; then pick thresholds and calibrate.

    Parameters
    ----------
    params : ClassifierParameters
        Checked already.
    """
    model_params, params = params, for_parts(params, rows.total)
    goal = resolve_metric(params.metric, params.surrogate)
    check_cut(params, goal, rows.total)
    rows = scaled_rows(params, rows)
    data = rows.data(params.n_threads)
    targets = targets_of(params.class_weight, rows, goal)
    previous = to_scaled_units(rows.scaling, options.previous)
    solutions = solve_classes(params, data, targets, goal, previous, options.resume)
    coef, intercept = stacked(solutions)
    warned: list[Warning] = []

    def training_scores() -> FloatArray:
        return linear_scores(data, coef, intercept)

    # A loss of pairs fixes the scores only up to a constant. Scores of folds are shifted to the
    # mean of the training scores, so that one threshold and one calibrator suit all of them.
    level = None
    if goal.loss.shift_invariant and (params.calibrate or params.threshold_cv):
        level = np.average(training_scores(), axis=0, weights=rows.weight)
    held_out = _held_out(params, goal, rows, solutions, level, warned, options.resume)
    cut_rows, cut_on, cut_targets = rows, training_scores, targets
    calibrators = None
    if held_out is not None:
        seen = np.flatnonzero(np.isfinite(held_out).all(axis=1))
        known, parts = rows.select_labels(seen), [target.take(seen) for target in targets]
        if params.threshold_cv is not None:
            cut_rows, cut_on, cut_targets = known, lambda: held_out[seen], parts
        if params.calibrate is not None:
            hits = [target.y > 0.0 for target in parts]
            calibrators = fit_calibrators(params.calibrate, held_out[seen], hits, known.weight)
    threshold = thresholds(params, goal, cut_on, cut_targets, cut_rows.weight)
    warned += _advice(params, data, solutions, targets, goal)
    solutions = to_data_units(rows.scaling, solutions)
    # The metric is the user's: inside the fit an integer k is a share of the rows.
    model = model_from(
        model_params, rows, *stacked(solutions), threshold, calibrators, named(options.names)
    )
    ranges = column_ranges(rows.matrix, rows.scaling, rows.weight, model.coef)
    model = replace(model, ranges=ranges)
    missed = [] if options.inner else unconverged(solutions)
    return classifier_result(model_params, model, solutions, missed + warned)


C = TypeVar("C", bound=ClassifierParameters)


def classifier_result(
    params: C, model: LinearModel, solutions: list[Solution], warned: list[Warning]
) -> FitResult[C, LinearModel]:
    """A model with its parameters; of an interrupted calibration without ``calibrate``."""
    stopped = any(solution.status is Status.INTERRUPTED for solution in solutions)
    if params.calibrate is not None and model.calibrators is None:
        params, stopped = replace(params, calibrate=None), True
    return FitResult(
        params,
        replace(model, metric=params.metric),
        solutions,
        gap=max(solution.gap for solution in solutions),
        n_iter=max(solution.n_iter for solution in solutions),
        calibrators=model.calibrators if params.calibrate is not None else None,
        warnings=warned,
        interrupted=stopped,
    )


def named(names: Sequence[str] | None) -> tuple[str, ...] | None:
    """Names of the columns as a model has them."""
    return None if names is None else tuple(names)


def model_from(
    params: ClassifierParameters,
    rows: Rows,
    coef: FloatArray,
    intercept: FloatArray,
    threshold: FloatArray,
    calibrators: Sequence[Calibrator] | None = None,
    feature_names: tuple[str, ...] | None = None,
) -> LinearModel:
    """The model with these coefficients; the threshold is subtracted from the intercept."""
    if log_odds(params.metric, params.calibrate):
        calibrators = [LOG_ODDS] * coef.shape[0]
    return LinearModel(
        coef=rows.sign * coef + 0.0,  # no negative zeros
        intercept=rows.sign * (intercept - threshold),
        classes=rows.classes,
        threshold=rows.sign * threshold,
        positive=rows.positive,
        calibrators=calibrators,
        metric=params.metric,
        surrogate=params.surrogate,
        average=params.average,
        feature_names=feature_names,
        n_threads=params.n_threads,
    )


def unconverged(solutions: Sequence[Solution]) -> list[Warning]:
    """A warning for each solution that missed its tolerance; one for a joint problem."""
    warned = [solution.warning() for solution in solutions if not solution.converged]
    return list({str(warning): warning for warning in warned}.values())


def _advice(
    params: ClassifierParameters,
    data: StoredData,
    solutions: Sequence[Solution],
    targets: Sequence[Target],
    goal: Goal,
) -> list[Warning]:
    """Warnings about fits that converged but are of little use, one per class at most."""
    warnings: list[Warning] = []
    for solution, target in zip(solutions, targets, strict=True):
        rows = data.with_target(target)
        warned = advice(
            goal.loss,
            penalty_for(params, rows, goal),
            rows,
            solution,
            fit_intercept=bool(params.fit_intercept),
            examine=goal.can_be_vacuous,
        )
        if warned is not None:
            warnings.append(warned)
    return warnings


# --- scores of held-out rows ----------------------------------------------------------------------


def _held_out(
    params: ClassifierParameters,
    goal: Goal,
    rows: Rows,
    solutions: Sequence[Solution],
    level: FloatArray | None,
    warned: list[Warning],
    resume: Resume | None,
) -> FloatArray | None:
    """Out-of-fold scores if calibration or the threshold needs them; ``None`` if interrupted."""
    if params.calibrate is None and params.threshold_cv is None:
        return None
    if solutions[-1].status is not Status.INTERRUPTED:
        try:
            return out_of_fold_scores(params, goal, rows, level, warned, resume)
        except KeyboardInterrupt:
            pass
    warned.append(
        ConvergenceWarning(
            does="was interrupted before its folds were fitted: the threshold is that of the "
            "training scores, and there are no probabilities. Fit again for both."
        )
    )
    return None


def out_of_fold_scores(
    params: ClassifierParameters,
    goal: Goal,
    rows: Rows,
    level: FloatArray | None,
    warned: list[Warning],
    resume: Resume | None = None,
) -> FloatArray:
    """Scores (n, k), before any threshold, of each row by the model of the fold that holds it out.

    Parameters
    ----------
    params, goal, rows
        As in `train_classifier`.
    level : (k,) array, optional
        The scores of a fold are shifted so that its training rows have this mean score. Needed for
        losses of pairs, which leave the offset of the scores open.
    warned : list of Warning
        Warnings for the user are appended.
    resume : Resume, optional
        As in `FitOptions`.
    """
    # Folds of the rows that have weight; the others, and those before all folds in time, get NaN.
    kept = np.arange(rows.codes.size) if rows.weight is None else np.flatnonzero(rows.weight)
    seen = rows.select_labels(kept)
    count = _fold_count(params, seen, warned)
    part = replace(params, warm_start=False)
    k = 1 if rows.classes.size == 2 else rows.classes.size
    scores = np.full((rows.codes.size, k), np.nan)
    folds = folds_by(seen.codes, count, fold_seed(params), seen.groups, seen.by)
    for number, (train, test) in enumerate(folds, start=1):
        tell_stage("calibration fold", number, count)
        mine = rows.take(kept[train])
        try:
            check_every_class(mine)
            targets = targets_of(params.class_weight, mine, goal)
            data = mine.data(params.n_threads)
            solutions = solve_classes(part, data, targets, goal, resume=resume)
        except DataError as error:
            raise DataError(
                "folds that can be trained on for {option}",
                got=f"one of {train.size} rows of {rows.codes.size}: {error}",
                todo="Or drop {option}.",
                option=_of_folds(params),
            ) from error
        check_not_interrupted(solutions)
        warned += unconverged(solutions)
        coef, intercept = stacked(solutions)
        if level is not None:  # shift the scores to the common mean
            own = linear_scores(data, coef, intercept)
            intercept = intercept + (level - np.average(own, axis=0, weights=mine.weight))
        others = rows.take(kept[test])
        scores[kept[test]] = linear_scores(others.data(params.n_threads), coef, intercept)
    return scores


def check_every_class(rows: Rows) -> None:
    """Raise if the training rows lack a class."""
    present = np.bincount(rows.codes, minlength=rows.classes.size) > 0
    if not present.all():
        raise DataError(
            f"rows of every class to train on; got none of {rows.classes[~present].tolist()[0]!r}. "
            "Use fewer folds."
        )


def _of_folds(params: ClassifierParameters) -> Option:
    """The parameter that asks for scores of held-out folds."""
    return Option("threshold_cv" if params.calibrate is None else "calibrate", bare=True)


def _fold_count(params: ClassifierParameters, rows: Rows, warned: list[Warning]) -> int:
    """Number of folds, but at most the rows of the smallest class and the number of groups."""
    # Every fold holds out a row of each class and trains on another one.
    smallest = int(np.bincount(rows.codes).min())
    if smallest < 2:
        raise DataError(
            f"at least two rows of every class for {{option}}; got {smallest}. Pass more rows of "
            "that class, or drop {option}.",
            option=_of_folds(params),
        )
    if rows.whole is not None:
        smallest = min(smallest, np.unique(rows.whole).size)
        if smallest < 2:
            raise DataError(
                f"at least two groups for {{option}}; got {smallest}. Pass more groups, or drop "
                "{option}.",
                option=_of_folds(params),
            )
    count = params.threshold_cv or FOLDS
    if params.threshold_cv is not None and smallest < count:
        warned.append(
            DataWarning(
                does=f"uses {smallest} folds for the threshold instead of {count}: a class has no "
                f"more rows, or there are no more groups. Set `threshold_cv={smallest!r}`."
            )
        )
    return min(count, smallest)
