"""From rows and parameters to a fitted additive model.

Training functions issue no warnings. They return them with the model, and the estimator or command
that the user called issues them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from auctor.additive.bins import Bins
from auctor.additive.members import Members, fit_members, lowest, mean_loss
from auctor.additive.model import AdditiveModel, with_curves
from auctor.additive.parameters import (
    KINKED_CURVE_RATIO,
    AdditiveParameters,
    AdditiveRegressorParameters,
    auto_strength,
    curve_penalty,
    log_loss_trained,
    pair_rule,
    read_categories,
    read_monotone,
    read_wishes,
    smooth_strengths,
)
from auctor.additive.purify import averaged
from auctor.additive.task import Fold, Task
from auctor.core.errors import DataError, DataWarning, Option, ParameterError
from auctor.core.needs import Coupling
from auctor.core.protocols import Loss
from auctor.core.result import Solution
from auctor.core.types import FloatArray, IntArray, Target
from auctor.data import Binned
from auctor.data.binned import BinnedMatrix, pack
from auctor.fit.calibrate import LOG_ODDS, Calibrator, Sigmoid, fit_calibrators
from auctor.fit.folds import stratified_folds
from auctor.fit.linear import model_from
from auctor.fit.metric import resolve_metric
from auctor.fit.model import LinearModel, RegressionModel
from auctor.fit.options import FitOptions, Split
from auctor.fit.parameters import fold_seed, states_cut
from auctor.fit.registry import resolve_loss
from auctor.fit.targets import Rows, targets_of
from auctor.fit.threshold import thresholds, unweighted_cut
from auctor.fit.validation_curve import within_error
from auctor.losses import Logistic
from auctor.losses.softmax import Softmax, one_hot
from auctor.solvers import strength_max

#: Folds of the search for the strengths of one model on all rows.
FOLDS = 5


@dataclass(frozen=True, eq=False)
class TrainedCurves:
    """An additive model, the solutions of its members, and what held-out rows say about it.

    Parameters
    ----------
    model : AdditiveModel or AdditiveRegressionModel
    solutions : list of Solution
        One for each member, and class where each is fitted against the rest.
    warnings : list of Warning
    strength : float
    strengths : array
        The strengths tried, decreasing.
    scores : (folds, strengths) array
        Minus the loss of the held-out rows.
    oof : (n, k) array
        Scores of each row by the member that leaves it out, before the threshold; NaN for rows
        that all members are fitted to.
    measured : float, optional
        The metric of these scores, greater is better.
    odds_slope : float, optional
    """

    model: Any
    solutions: list[Solution]
    warnings: list[Warning]
    strength: float
    strengths: FloatArray
    scores: FloatArray
    oof: FloatArray
    measured: float | None = None
    odds_slope: float | None = None


def train_additive(
    given: AdditiveParameters,
    rows: Rows,
    options: FitOptions,
) -> TrainedCurves:
    """Fit an additive classifier to rows whose matrix holds the raw numbers."""
    names, offset = options.names, _offset(options.offset, rows)
    chosen = resolve_metric(given.metric, given.surrogate)
    odds = log_loss_trained(given)
    if odds:
        # Log-odds, whatever the metric: it decides the threshold, on unweighted rows.
        chosen = chosen._replace(
            loss=Logistic(), positive_weight=None, cut=unweighted_cut(chosen), several=Softmax
        )
        if rows.classes.size > 2 and not states_cut(given):
            chosen = chosen._replace(cut=None)  # the class of highest probability wins
    warned: list[Warning] = []
    signs = read_monotone(given.monotone, names, rows.matrix.shape[1])
    bins = _bins(given, rows.matrix, rows.weight, signs, options)
    if (signs.any() or given.shape) and rows.classes.size > 2:
        raise DataError(
            "two classes for monotone curves and shapes",
            got=f"{rows.classes.size} classes",
            todo="Fit one class against the rest.",
        )
    folds = _folds(given, rows, options.splits, warned)
    groups = rows.groups if chosen.loss.coupling is not Coupling.ROW else None
    targets = targets_of(given.class_weight, replace(rows, groups=groups), chosen)
    # One task for two classes or a joint loss, else one for each class against the rest.
    if odds and rows.classes.size > 2:
        weight = targets[0].weight
        target = one_hot(rows.codes, rows.classes.size, weight)
        joint = Softmax(rows.classes.size, bool(given.fit_intercept))
        tasks = [_task(given, joint, target, rows.classes.size, offset)]
    else:
        shifts = [None] * len(targets) if offset is None else list(offset.T)
        tasks = [
            _task(given, chosen.loss, target, 1, shift)
            for target, shift in zip(targets, shifts, strict=True)
        ]
    fitted = [_members(given, task, bins, rows.matrix, signs, names, folds) for task in tasks]
    bins, coef, intercept, error = _combined(fitted)
    oof = np.column_stack([one.oof.reshape(rows.codes.size, -1) for one in fitted])
    whole = oof if offset is None else oof + offset
    # Threshold and calibration by held-out rows.
    seen = np.flatnonzero(np.isfinite(whole).all(axis=1))
    known = np.unique(rows.codes[seen]).size
    if known < rows.classes.size:  # no folds, or none with a class: the training rows
        whole = bins.scores(rows.matrix, coef, intercept)
        whole = whole if offset is None else whole + offset
        seen = np.arange(rows.codes.size)
    held = replace(rows.select_labels(seen))
    parts = [target.take(seen) for target in targets]
    threshold = thresholds(given, chosen, lambda: whole[seen], parts, held.weight)
    calibrators: Sequence[Calibrator] | None = None
    if given.calibrate is not None:
        hits = [part.y > 0.0 for part in parts]
        calibrators = fit_calibrators(given.calibrate, whole[seen], hits, held.weight)
    elif odds:
        calibrators = [LOG_ODDS] * coef.shape[0]
    linear = model_from(given, rows, coef, intercept, threshold, calibrators)
    if calibrators is not None and linear.calibrators is None:
        linear = replace(linear, calibrators=calibrators)
    model = with_curves(linear, bins, signs, error)
    assert isinstance(model, AdditiveModel)
    decision = rows.sign * (whole[seen] - threshold)
    first = fitted[0]
    return TrainedCurves(
        model,
        [fit.solution for one in fitted for fit in one.fits],
        warned,
        first.strength,
        first.strengths,
        -np.sum([one.losses for one in fitted], axis=0) if len(fitted) == 1 else -first.losses,
        rows.sign * oof,
        _measured(model, decision, held),
        _odds_slope(odds, whole[seen, 0], held) if model.binary else None,
    )


def train_additive_regressor(
    given: AdditiveRegressorParameters,
    matrix: Any,
    target: Target,
    options: FitOptions,
) -> TrainedCurves:
    """Fit an additive regression to a matrix of raw numbers."""
    names, splits = options.names, options.splits
    n = matrix.shape[0]
    if n < 2:
        raise DataError("at least two rows", got="1 sample", todo="Pass more rows.")
    warned: list[Warning] = []
    signs = read_monotone(given.monotone, names, matrix.shape[1])
    bins = _bins(given, matrix, target.weight, signs, options)
    kept = np.arange(n) if target.weight is None else np.flatnonzero(target.weight)
    alike = np.zeros(kept.size, dtype=np.int64)
    folds = [Fold(np.asarray(a), np.asarray(b)) for a, b in splits or ()]
    if splits is None:
        count = min(_fold_count(given), kept.size)
        cuts = stratified_folds(alike, count, fold_seed(given), None)
        folds = [Fold(kept[a], kept[b]) for a, b in cuts]
    offset = None if options.offset is None else options.offset.ravel()
    task = _task(given, resolve_loss(given.loss), target, 1, offset)
    found = _members(given, task, bins, matrix, signs, names, folds)
    bins, coef, intercept, error = _combined([found])
    linear = RegressionModel(
        coef=coef, intercept=intercept, loss=given.loss, n_threads=given.n_threads
    )
    model = with_curves(linear, bins, signs, error)
    seen = np.flatnonzero(np.isfinite(found.oof))
    measured = None
    if seen.size:
        measured = -task.held_out(np.nan_to_num(found.oof), seen)
    solutions = [fit.solution for fit in found.fits]
    scores = -found.losses
    return TrainedCurves(
        model, solutions, warned, found.strength, found.strengths, scores, found.oof[:, None],
        measured,
    )  # fmt: skip


# --- parts of a fit -------------------------------------------------------------------------------


def _offset(offset: FloatArray | None, rows: Rows) -> FloatArray | None:
    """Scores to add, (n, k), of the positive class."""
    if offset is None:
        return None
    k = 1 if rows.classes.size == 2 else rows.classes.size
    table = offset.reshape(rows.codes.size, -1)
    if table.shape[1] != k:
        raise DataError(
            f"{k} numbers of init_score for each row", got=table.shape[1], todo="Pass as many."
        )
    return np.ascontiguousarray(rows.sign * table)


def _task(given: Any, loss: Loss, target: Target, times: int, offset: FloatArray | None) -> Task:
    """The task of a loss on targets, with the budget of the parameters."""
    end = math.inf if given.max_seconds is None else time.perf_counter() + given.max_seconds
    return Task(
        loss,
        target,
        times,
        None if offset is None else np.ascontiguousarray(offset.ravel()),
        fit_intercept=bool(given.fit_intercept),
        solver=given.solver,
        tol=given.tol,
        max_iter=given.max_iter,
        end=end,
        n_threads=given.n_threads,
        rng=fold_seed(given),
    )


def _members(
    given: Any,
    task: Task,
    bins: Bins,
    matrix: Any,
    signs: IntArray,
    names: Sequence[str] | None,
    folds: Sequence[Fold],
) -> Members:
    """All stages of a fit of one task."""
    penalty = curve_penalty(given.penalty, bins, signs)
    codes = bins.codes(matrix)
    if not auto_strength(given):
        strengths = np.array([float(given.strength)])
    else:
        design = BinnedMatrix(pack(codes), bins.books)
        if given.penalty == "smooth":
            data = Binned(design, task.target, n_threads=given.n_threads)
            strengths = smooth_strengths(data, task.target.weight, given.n_strengths)
        else:
            top = strength_max(task.problem(design, penalty)) or 1.0
            strengths = np.geomspace(top, top * KINKED_CURVE_RATIO, given.n_strengths)

    def choose(losses: FloatArray, share: FloatArray) -> int:
        means = -mean_loss(share, losses)
        at = lowest(-means)
        if given.rule == "one_standard_error":
            at = within_error(means, at, -losses[:, at])
        return at

    rule = pair_rule(given, bins, signs, names)
    one = given.members == 1 or len(folds) < 2
    return fit_members(task, bins, codes, penalty, strengths, folds, rule, one, choose)


def _combined(
    fitted: Sequence[Members],
) -> tuple[Bins, FloatArray, FloatArray, FloatArray | None]:
    """The mean of the members of each task; tasks of several classes share their bins and pairs."""
    parts = [
        averaged(one.bins, [f.coef for f in one.fits], [f.intercept for f in one.fits])
        for one in fitted
    ]
    if len(fitted) == 1:
        return fitted[0].bins, *parts[0]
    # Pairs of any class; the map of a class that does not have a pair is 0.
    pairs = {(p.first, p.second): p for one in fitted for p in one.bins.pairs}
    bins = replace(fitted[0].bins, pairs=tuple(pairs.values()))
    known = dict(zip(pairs, bins.bounds[len(bins.columns) :].tolist(), strict=False))
    width = int(bins.bounds[len(bins.columns)])
    coef = np.zeros((len(fitted), bins.size))
    errors = np.zeros_like(coef)
    for k, (one, (mean, _, error)) in enumerate(zip(fitted, parts, strict=True)):
        coef[k, :width] = mean[0, :width]
        if error is not None:
            errors[k, :width] = error[0, :width]
        starts = one.bins.bounds[len(bins.columns) :].tolist()
        for pair, start in zip(one.bins.pairs, starts, strict=False):
            at, size = known[pair.first, pair.second], pair.share.size
            coef[k, at : at + size] = mean[0, start : start + size]
            if error is not None:
                errors[k, at : at + size] = error[0, start : start + size]
    intercept = np.concatenate([part[1] for part in parts])
    return bins, coef, intercept, errors if parts[0][2] is not None else None


def _bins(
    given: Any,
    matrix: Any,
    weight: FloatArray | None,
    signs: IntArray,
    options: FitOptions,
) -> Bins:
    """The bins that the parameters ask for; raises if no column has two distinct values."""
    names = options.names
    categories = read_categories(given, names, matrix) | dict(options.labels)
    fixed = [j for j in categories if signs[j]]
    if fixed:
        raise ParameterError(
            "columns of numbers in {option}",
            got=f"column {fixed[0] if names is None else names[fixed[0]]!r}, a category",
            todo="Drop it from {option}, or from {option2}.",
            option=(Option("monotone", bare=True), Option("categorical", bare=True)),
        )
    wishes = read_wishes(given, signs, names, categories)
    bins = Bins.of(matrix, weight, given.n_bins, categories, wishes)
    if not any(book.n_params for book in bins.books):
        raise DataError(
            "a column with at least two values",
            got="constant columns and missing values only",
            todo="Pass columns that vary.",
        )
    return bins


def _fold_count(given: Any) -> int:
    """Folds that the parameters ask for: one per member, or those of a search for one model."""
    if given.members > 1:
        return int(given.members)
    return int(given.cv) if isinstance(given.cv, Integral) else FOLDS


def _folds(
    given: AdditiveParameters,
    rows: Rows,
    splits: Sequence[Split] | None,
    warned: list[Warning],
) -> list[Fold]:
    """The rows of each member and those that it leaves out, both of positive weight."""
    weight = np.ones(rows.codes.size) if rows.weight is None else rows.weight
    if splits is not None:
        return [
            Fold(train[weight[train] > 0.0], test[weight[test] > 0.0])
            for train, test in ((np.asarray(a), np.asarray(b)) for a, b in splits)
            if (weight[test] > 0.0).any()
        ]
    kept = np.flatnonzero(weight)
    wanted = _fold_count(given)
    count = min(wanted, int(np.bincount(rows.codes[kept]).min()))
    groups = None if rows.groups is None else rows.groups[kept]
    if groups is not None:
        count = min(count, np.unique(groups).size)
    whole: list[Fold] = []
    if count > 1:
        cuts = stratified_folds(rows.codes[kept], count, fold_seed(given), groups)
        folds = [Fold(kept[train], kept[test]) for train, test in cuts]
        classes = rows.classes.size  # a member needs rows of every class
        whole = [fold for fold in folds if np.unique(rows.codes[fold.train]).size == classes]
    members = len(whole) if len(whole) > 1 else 1
    if members < wanted:
        warned.append(
            DataWarning(
                does=f"uses {members} members instead of {wanted}: a class has no more rows, or "
                "there are no more groups",
                todo="Set {option}.",
                option=Option("members", members),
            )
        )
    return whole if members > 1 else []


def _measured(model: LinearModel, decision: FloatArray, held: Rows) -> float | None:
    """The metric of held-out scores; ``None`` where it is not defined on these rows."""
    values = decision.ravel() if model.binary else decision
    try:
        return float(model.score_at(values, held.labels, held.weight))
    except DataError:
        return None


def _odds_slope(odds: bool, scores: FloatArray, held: Rows) -> float:
    """Increase of the log-odds of the positive class per unit of score.

    Scores of the logistic loss are log-odds; others get the slope of Platt scaling on held-out
    rows, limited so that the largest score has odds of at most n + 1 to one.
    """
    if odds:
        return 1.0
    largest = float(np.abs(scores).max())
    most = math.log(scores.size + 1.0) / largest if largest > 0.0 else 1.0
    slope = Sigmoid.fit(scores, held.codes == held.positive, held.weight).slope
    least = 1e-3 * most  # above 0, so that probabilities keep the order of the scores
    return float(np.clip(slope, least, most)) if math.isfinite(slope) else most
