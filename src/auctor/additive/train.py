"""From rows and parameters to a fitted additive model.

Training functions issue no warnings. They return them with the model, and the estimator or command
that the user called issues them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from auctor.additive.bins import Bins
from auctor.additive.members import Members
from auctor.additive.model import AdditiveModel, with_curves
from auctor.additive.parameters import (
    AdditiveParameters,
    AdditiveRegressorParameters,
    log_loss_trained,
    read_monotone,
)
from auctor.additive.purify import averaged
from auctor.additive.setup import (
    bins_of,
    explored_by,
    fold_count,
    folds_of,
    in_time,
    offset_of,
    one_model,
    starts_of,
    task_of,
    weighed_folds,
)
from auctor.additive.stages import Exploration
from auctor.additive.task import Fold
from auctor.core.errors import ConvergenceWarning, DataError, Option
from auctor.core.protocols import Coupling
from auctor.core.result import Solution
from auctor.core.types import FloatArray, IntArray, Target
from auctor.fit.batch import for_parts
from auctor.fit.calibrate import LOG_ODDS, Calibrator, Sigmoid, fit_calibrators
from auctor.fit.folds import stratified_folds
from auctor.fit.linear import model_from
from auctor.fit.metric import Goal, resolve_metric
from auctor.fit.model import LinearModel, RegressionModel
from auctor.fit.parameters import fold_seed, states_cut
from auctor.fit.registry import resolve_loss
from auctor.fit.result import FitOptions
from auctor.fit.surrogate import BEST, own_surrogate
from auctor.fit.targets import Rows, targets_of
from auctor.fit.threshold import thresholds, unweighted_cut
from auctor.losses import Logistic
from auctor.losses.softmax import Softmax, one_hot


@dataclass(frozen=True, eq=False)
class CurvesFit:
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
    fold_scores : (folds,) array, optional
        The metric of the rows of each fold by the member that leaves them out.
    interrupted : bool
        Whether the user ended the fit.
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
    fold_scores: FloatArray | None = None
    interrupted: bool = False


@dataclass(frozen=True, eq=False)
class CurveFolds:
    """The members of a classifier before the last stage, with what is known of the rows left out.

    Parameters
    ----------
    params : AdditiveParameters
    rows : Rows
    goal : Goal
        The metric, with the loss that is minimised.
    folds : list of Fold
    targets : list of Target
        One for each score.
    offset : (n, k) array, optional
    signs : int array
        Directions of the curves.
    groups : int array, optional
        Groups within which the metric is measured.
    parts : list of Exploration
        One for two classes or a joint loss, else one for each class against the rest.
    warned : list of Warning
    """

    params: AdditiveParameters
    rows: Rows
    goal: Goal
    folds: list[Fold]
    targets: list[Target]
    offset: FloatArray | None
    signs: IntArray
    groups: IntArray | None
    parts: list[Exploration]
    warned: list[Warning]

    @property
    def has_pairs(self) -> bool:
        """Whether maps of pairs were fitted."""
        return any(part.paired is not None for part in self.parts)

    def oof(self, *, pairs: bool) -> FloatArray:
        """Scores of each row by the member that leaves it out, (n, k), without the offset."""
        members = [part.paired if pairs and part.paired else part.curves for part in self.parts]
        return np.column_stack([one.oof.reshape(self.rows.codes.size, -1) for one in members])

    def with_offset(self, scores: FloatArray) -> FloatArray:
        """Scores with those of ``init_score`` added."""
        return scores if self.offset is None else scores + self.offset

    def threshold(self, scores: FloatArray, index: IntArray) -> FloatArray:
        """The threshold of each score by some of the rows."""
        weight = None if self.rows.weight is None else self.rows.weight[index]
        parts = [target.take(index) for target in self.targets]
        return thresholds(self.params, self.goal, lambda: scores[index], parts, weight)

    def until(self, end: float) -> CurveFolds:
        """The same with another time at which fits end."""
        parts = [replace(part, task=replace(part.task, end=end)) for part in self.parts]
        return replace(self, parts=parts)

    def fold_scores(self, *, pairs: bool, among: IntArray | None = None) -> FloatArray:
        """The metric of the rows of each fold, whose threshold is that of all other rows.

        With ``among`` only these rows count.
        """
        scores = self.with_offset(self.oof(pairs=pairs))
        seen: Any = np.isfinite(scores).all(axis=1)
        values = np.full(len(self.folds), np.nan)
        for k, fold in enumerate(self.folds):
            others = seen.copy()
            others[fold.test] = False
            if np.unique(self.rows.codes[others]).size < self.rows.classes.size:
                continue  # no threshold
            cut = self.threshold(scores, np.flatnonzero(others))
            width = scores.shape[1]
            test = fold.test if among is None else np.intersect1d(fold.test, among)
            judge = model_from(self.params, self.rows, np.zeros((width, 1)), np.zeros(width), cut)
            held = replace(self.rows, groups=self.groups).select_labels(test)
            value = _measured(judge, self.rows.sign * (scores[test] - cut), held)
            values[k] = np.nan if value is None else value
        return values

    def fold_aucs(self, *, pairs: bool, among: IntArray) -> FloatArray:
        """AUC of some rows of each fold of two classes; NaN where there is none."""
        aucs = np.full(len(self.folds), np.nan)
        if self.rows.classes.size == 2:
            scores = self.with_offset(self.oof(pairs=pairs))[:, 0]
            for k, fold in enumerate(self.folds):
                test = np.intersect1d(fold.test, among)
                if np.isfinite(scores[test]).all():
                    aucs[k] = self.rows.select_labels(test).auc(scores[test])
        return aucs


def explore_additive(
    params: AdditiveParameters, rows: Rows, options: FitOptions, end: float | None = None
) -> CurveFolds:
    """Fit the members up to the last stage, by the time ``end`` of `time.perf_counter`."""
    if params.surrogate == BEST:
        return _agreed(params, rows, options, end)
    names, offset = options.names, offset_of(options.offset, rows)
    params = in_time(for_parts(params, rows.total), rows)
    goal = resolve_metric(params.metric, params.surrogate)
    judged_by_group = goal.loss.coupling is not Coupling.ROW or goal.per is not None
    odds = log_loss_trained(params)
    if odds:
        # Log-odds, whatever the metric: it decides the threshold, on unweighted rows.
        goal = goal._replace(
            loss=Logistic(), positive_weight=None, cut=unweighted_cut(goal), several=Softmax
        )
        if rows.classes.size > 2 and not states_cut(params):
            goal = goal._replace(cut=None)  # the class of highest probability wins
    warned: list[Warning] = []
    signs = read_monotone(params.monotone, names, rows.matrix.shape[1])
    if (signs.any() or params.shape) and rows.classes.size > 2:
        raise DataError(
            "two classes for monotone curves and shapes",
            got=f"{rows.classes.size} classes",
            todo="Fit one class against the rest.",
        )
    folds = folds_of(params, rows, options.splits, warned)
    several = rows.classes.size > 2
    hits = rows.codes[:, None] == (np.arange(rows.classes.size) if several else rows.positive)
    bins, means = bins_of(
        params, rows.matrix, hits, rows.weight, signs, options, folds, rows.groups
    )
    pairs = goal.loss.coupling is not Coupling.ROW or goal.per is not None
    groups = rows.groups if pairs else None
    targets = targets_of(params.class_weight, replace(rows, groups=groups), goal)
    # One task for two classes or a joint loss, else one for each class against the rest.
    if odds and rows.classes.size > 2:
        weight = targets[0].weight
        target = one_hot(rows.codes, rows.classes.size, weight)
        joint = Softmax(rows.classes.size, bool(params.fit_intercept))
        tasks = [
            task_of(params, joint, target, rows.classes.size, offset, means, end, options.resume)
        ]
    else:
        shifts = [None] * len(targets) if offset is None else list(offset.T)
        tasks = [
            task_of(params, goal.loss, target, 1, shift, means, end, options.resume)
            for target, shift in zip(targets, shifts, strict=True)
        ]
    parts: list[Exploration] = []
    for task, start in zip(tasks, starts_of(params, options, len(tasks)), strict=True):
        if parts and parts[-1].curves.interrupted:  # some classes have no model
            raise KeyboardInterrupt
        started = replace(task, start=start)
        parts.append(explored_by(params, started, bins, rows.matrix, signs, names, folds))
    judged = rows.groups if judged_by_group else None
    return CurveFolds(
        params, rows, goal, folds, list(targets), offset, signs, judged, parts, warned
    )


def _agreed(
    params: AdditiveParameters, rows: Rows, options: FitOptions, end: float | None
) -> CurveFolds:
    """Members by the log-loss, or by the metric's own surrogate where held-out rows agree.

    The mean of its lead over the folds must be larger than one standard error.
    """
    plain = explore_additive(replace(params, surrogate="auto"), rows, options, end)
    name = own_surrogate(params.metric)
    if name is None:
        return plain
    own = explore_additive(replace(params, surrogate=name), rows, options, end)
    lead = own.fold_scores(pairs=True) - plain.fold_scores(pairs=True)
    lead = lead[np.isfinite(lead)]
    clear = lead.size > 1 and lead.mean() > lead.std(ddof=1) / math.sqrt(lead.size)
    return own if clear else plain


def train_additive(params: AdditiveParameters, rows: Rows, options: FitOptions) -> CurvesFit:
    """Fit an additive classifier to rows whose matrix holds the raw numbers."""
    done = options.explored
    if not isinstance(done, CurveFolds):
        done = explore_additive(params, rows, options)
    params = replace(params, surrogate=done.params.surrogate)
    pairs = not (isinstance(params.interactions, Integral) and params.interactions == 0)
    one = one_model(done.params, done.folds)
    fitted: list[Members] = []
    for part in done.parts:
        ended = any(one.interrupted for one in fitted)
        fitted.append(part.curves if ended else part.finish(one=one, pairs=pairs))
    bins, coef, intercept, error = _combined(fitted)
    oof = done.oof(pairs=pairs)
    whole = done.with_offset(oof)
    # Threshold and calibration by held-out rows.
    seen = np.flatnonzero(np.isfinite(whole).all(axis=1))
    known = np.unique(rows.codes[seen]).size
    if known < rows.classes.size:  # no folds, or none with a class: the training rows
        whole = done.with_offset(bins.scores(rows.matrix, coef, intercept))
        seen = np.arange(rows.codes.size)
    held = rows.select_labels(seen)
    threshold = done.threshold(whole, seen)
    odds = log_loss_trained(params)
    calibrators: Sequence[Calibrator] | None = None
    if params.calibrate is not None:
        hits = [target.take(seen).y > 0.0 for target in done.targets]
        calibrators = fit_calibrators(params.calibrate, whole[seen], hits, held.weight)
    elif odds:
        calibrators = [LOG_ODDS] * coef.shape[0]
    linear = model_from(params, rows, coef, intercept, threshold, calibrators)
    if calibrators is not None and linear.calibrators is None:
        linear = replace(linear, calibrators=calibrators)
    model = with_curves(linear, bins, done.signs, error)
    assert isinstance(model, AdditiveModel)
    decision = rows.sign * (whole[seen] - threshold)
    first = fitted[0]
    return CurvesFit(
        model,
        [solution for one in fitted for solution in one.solutions],
        [*done.warned, *_unfinished(fitted)],
        first.strength,
        first.strengths,
        -np.sum([one.losses for one in fitted], axis=0) if len(fitted) == 1 else -first.losses,
        rows.sign * oof,
        _measured(model, decision, held if done.goal.per else replace(held, groups=None)),
        _odds_slope(odds, whole[seen, 0], held) if model.binary else None,
        done.fold_scores(pairs=pairs),
        any(one.interrupted for one in fitted),
    )


def train_additive_regressor(
    params: AdditiveRegressorParameters, matrix: Any, target: Target, options: FitOptions
) -> CurvesFit:
    """Fit an additive regression to a matrix of raw numbers."""
    names, splits = options.names, options.splits
    n = matrix.shape[0]
    if n < 2:
        raise DataError("at least two rows", got="1 sample", todo="Pass more rows.")
    warned: list[Warning] = []
    signs = read_monotone(params.monotone, names, matrix.shape[1])
    kept = np.arange(n) if target.weight is None else np.flatnonzero(target.weight)
    alike = np.zeros(kept.size, dtype=np.int64)
    if splits is not None:
        weight = np.ones(n) if target.weight is None else target.weight
        folds = weighed_folds(splits, weight, warned)
    else:
        count = min(fold_count(params), kept.size)
        cuts = stratified_folds(alike, count, fold_seed(params), None)
        folds = [Fold(kept[a], kept[b]) for a, b in cuts]
    bins, means = bins_of(params, matrix, target.y[:, None], target.weight, signs, options, folds)
    offset = None if options.offset is None else options.offset.ravel()
    task = task_of(params, resolve_loss(params.loss), target, 1, offset, means)
    task = replace(task, start=starts_of(params, options, 1)[0])
    explored = explored_by(params, task, bins, matrix, signs, names, folds)
    members = explored.finish(one=one_model(params, folds), pairs=True)
    bins, coef, intercept, error = _combined([members])
    linear = RegressionModel(
        coef=coef, intercept=intercept, loss=params.loss, n_threads=params.n_threads
    )
    model = with_curves(linear, bins, signs, error)
    seen = np.flatnonzero(np.isfinite(members.oof))
    measured = None
    if seen.size:
        measured = -task.held_out(np.nan_to_num(members.oof), seen)
    return CurvesFit(
        model,
        members.solutions,
        warned + _unfinished([members]),
        members.strength,
        members.strengths,
        -members.losses,
        members.oof[:, None],
        measured,
        interrupted=members.interrupted,
    )


# --- parts of a fit -------------------------------------------------------------------------------


def _unfinished(fitted: Sequence[Members]) -> list[Warning]:
    """A warning about fits that the user or the time ended, with what they reached."""
    reached = [one for one in fitted if one.reached]
    if not reached:
        return []
    kept = f"and keeps the best model so far: {reached[0].reached}"
    if any(one.interrupted for one in reached):
        return [ConvergenceWarning(does=f"was interrupted {kept}", todo="Fit again for more.")]
    return [
        ConvergenceWarning(
            does=f"ran out of time {kept}",
            todo="Increase {option}.",
            option=Option("max_seconds", bare=True),
        )
    ]


def _combined(fitted: Sequence[Members]) -> tuple[Bins, FloatArray, FloatArray, FloatArray | None]:
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


def _measured(model: LinearModel, decision: FloatArray, held: Rows) -> float | None:
    """The metric of held-out scores; ``None`` where it is not defined on these rows."""
    values = decision.ravel() if model.binary else decision
    try:
        return float(model.score_at(values, held.labels, held.judged, held.groups))
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
