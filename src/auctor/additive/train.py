"""Training of additive models: bins, the strength of the penalty, and pairs of columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from auctor.additive.bins import Bins
from auctor.additive.model import AdditiveModel, with_curves
from auctor.additive.parameters import (
    KINKED_CURVE_RATIO,
    AdditiveParameters,
    AdditiveRegressorParameters,
    auto_folds,
    auto_strength,
    curve_penalty,
    linear_parameters,
    pair_columns,
    read_monotone,
    screen_pairs,
    search_parameters,
    smooth_strengths,
)
from auctor.core.errors import DataError
from auctor.core.protocols import Penalty
from auctor.core.result import Solution
from auctor.core.types import FloatArray, IntArray, Target
from auctor.data import Binned
from auctor.fit.calibrate import Sigmoid
from auctor.fit.fold_scores import Split
from auctor.fit.folds import stratified_folds
from auctor.fit.linear import Trained, train_classifier, train_regressor
from auctor.fit.metric import METRICS, Chosen, Cut, resolve_metric
from auctor.fit.parameters import (
    ClassifierParameters,
    RegressorParameters,
    fold_seed,
    generator,
    states_cut,
)
from auctor.fit.registry import resolve_loss
from auctor.fit.select import StrengthSearch
from auctor.fit.solve import linear_scores
from auctor.fit.targets import Rows, targets_of
from auctor.fit.threshold import ERRORS, cut_of
from auctor.fit.validation_curve import within_error
from auctor.problem import Problem
from auctor.solvers import regularisation_path, strength_max

#: Smooth surrogate, by metric, where the default surrogate of the metric has kinks.
SMOOTH_SURROGATES = {"auc": "squared_hinge"}
#: Smooth surrogate of the other metrics that offer it.
OTHER_SURROGATE = "logistic"
#: Folds whose held-out scores pick the threshold: the usual 5.
CUT_FOLDS = 5


@dataclass(frozen=True, eq=False)
class TrainedCurves:
    """An additive model, its solutions, and the cross-validation of its strength.

    ``strengths`` and ``scores`` are ``None`` where the strength was given.
    """

    model: Any
    solutions: list[Solution]
    warnings: list[Warning]
    strength: float
    strengths: FloatArray | None = None
    scores: FloatArray | None = None


def odds_slope(model: AdditiveModel, rows: Rows) -> float:
    """Increase of the log-odds of the positive class per unit of score, by Platt scaling.

    Where the scores separate the classes the maximum-likelihood slope is infinite. The slope is
    therefore limited so that the largest score has odds of at most n + 1 to one, for n rows.
    """
    if isinstance(model.metric, str) and model.metric.strip() == "log_loss":
        return 1.0
    scores = model.bins.scores(rows.matrix, model.coef, model.intercept)[:, 0]
    kept = np.ones(scores.size, dtype=bool) if rows.weight is None else rows.weight > 0.0
    largest = float(np.abs(scores[kept]).max())
    most = math.log(scores.size + 1.0) / largest if largest > 0.0 else 1.0
    weight = None if rows.weight is None else rows.weight[kept]
    slope = Sigmoid.fit(scores[kept], rows.codes[kept] == 1, weight).slope
    least = 1e-3 * most  # above 0, so that probabilities keep the order of the scores
    return float(np.clip(slope, least, most)) if math.isfinite(slope) else most


def smooth_surrogate(metric: Any, surrogate: str) -> str:
    """The surrogate that "auto" stands for in an additive model: a smooth one if there is one."""
    chosen = resolve_metric(metric, surrogate)
    if surrogate != "auto" or not isinstance(metric, str) or chosen.loss.smooth:
        return surrogate
    smooth = SMOOTH_SURROGATES.get(chosen.name, OTHER_SURROGATE)
    return smooth if smooth in METRICS[chosen.name].surrogates else surrogate


def cut_folds(given: AdditiveParameters, rows: Rows, chosen: Chosen) -> int | None:
    """Number of folds that pick the threshold; ``None`` picks it on the training scores.

    Curves overfit the training rows, and so does a threshold on their scores. Next to a search for
    the strength a few more fits are cheap. ``None`` is returned for "auto" where the strength is
    given, where the threshold needs no scores, where a class is too small for two folds, and where
    ``cv`` is a list of splits: random folds could mix rows that these splits keep apart in time.
    """
    if not auto_folds(given):
        folds: int | None = given.threshold_cv
        return folds
    cut = cut_of(given, chosen)
    if not auto_strength(given) or not isinstance(given.cv, Integral) or not isinstance(cut, Cut):
        return None
    # With several classes the highest score wins, and these criteria set no threshold.
    if rows.classes.size > 2 and cut.criterion in ERRORS and not states_cut(given):
        return None
    kept = np.ones(rows.codes.size, dtype=bool) if rows.weight is None else rows.weight > 0.0
    count = min(CUT_FOLDS, int(np.bincount(rows.codes[kept]).min()))
    if rows.groups is not None:
        count = min(count, np.unique(rows.groups[kept]).size)
    return count if count >= 2 else None


def train_additive(
    given: AdditiveParameters,
    rows: Rows,
    names: Sequence[str] | None = None,
    previous: Sequence[Solution | None] | None = None,
    splits: Sequence[Split] | None = None,
) -> TrainedCurves:
    """Fit an additive classifier to rows whose matrix holds the raw numbers."""
    given = replace(given, surrogate=smooth_surrogate(given.metric, given.surrogate))
    chosen = resolve_metric(given.metric, given.surrogate)
    given = replace(given, threshold_cv=cut_folds(given, rows, chosen))
    signs = read_monotone(given.monotone, names, rows.matrix.shape[1])
    if signs.any() and rows.classes.size > 2:
        raise DataError(
            "two classes for monotone curves",
            got=f"{rows.classes.size} classes",
            todo="Fit one class against the rest.",
        )
    bins = Bins.of(rows.matrix, rows.weight, given.n_bins)
    _check_columns(bins)
    found = _train_on(given, rows, bins, signs, previous, splits)
    if given.interactions:
        # Pairs are chosen by the gradients at the fitted curves, then all is fitted once more.
        binned = bins.encoded(rows.matrix)
        gradients = _score_gradients(given, replace(rows, matrix=binned), found.model, chosen)
        free = pair_columns(bins, signs)
        codes = binned.codes()
        pairs = screen_pairs(bins, codes, gradients, given.interactions, free, rows.weight)
        if pairs:
            bins = replace(bins, pairs=tuple(pairs))
            given = replace(given, strength=found.strength)
            both = _train_on(given, rows, bins, signs, None, splits)
            found = _as_searched(both, found)
    return found


def _as_searched(found: TrainedCurves, search: TrainedCurves) -> TrainedCurves:
    """A model with pairs, with the warnings and scores of the search without pairs.

    The strength is that of the search without pairs: the pairs are chosen on all rows, so that
    held-out scores of models with pairs would be optimistic and pick too small a strength.
    """
    warned = [*search.warnings, *found.warnings]
    return replace(found, warnings=warned, strengths=search.strengths, scores=search.scores)


def _check_columns(bins: Bins) -> None:
    """Raise if no column has two distinct values."""
    if not bins.n_params:
        raise DataError(
            "a column with at least two values",
            got="constant columns and missing values only",
            todo="Pass columns that vary.",
        )


def _train_on(
    given: AdditiveParameters,
    rows: Rows,
    bins: Bins,
    signs: IntArray,
    previous: Sequence[Solution | None] | None,
    splits: Sequence[Split] | None,
) -> TrainedCurves:
    """Fit the curves of some bins, at the given strength or at that picked by cross-validation."""
    penalty = curve_penalty(given.penalty, bins, signs)  # signs are those of the positive class
    binned = replace(rows, matrix=bins.encoded(rows.matrix))
    if not auto_strength(given):
        strength = float(given.strength)
        part = linear_parameters(
            ClassifierParameters, given, penalty.with_strength(strength), strength
        )
        trained = train_classifier(part, binned, previous)
        return _curves(trained, bins, signs, strength)
    strengths = None
    if given.penalty == "smooth":
        strengths = smooth_strengths(binned.data(1), rows.weight, given.n_strengths)
    search = StrengthSearch(search_parameters(given, penalty, strengths), binned, splits)
    search.run(previous)
    assert search.trained is not None
    found = _curves(search.trained, bins, signs, search.strength)
    return replace(
        found, warnings=search.warnings, strengths=search.strengths, scores=search.scores
    )


def _curves(trained: Trained, bins: Bins, signs: IntArray, strength: float) -> TrainedCurves:
    model = with_curves(trained.model, bins, signs)
    return TrainedCurves(model, trained.solutions, list(trained.warnings), strength)


def _score_gradients(
    given: AdditiveParameters, rows: Rows, model: AdditiveModel, chosen: Chosen
) -> FloatArray:
    """Gradient of the loss in the scores at the fitted curves, shape (n, k)."""
    targets = targets_of(given.class_weight, rows, chosen)
    # The intercept of a model includes minus its threshold; the loss takes scores without it.
    scores = rows.sign * linear_scores(rows.data(1), model.coef, model.intercept + model.threshold)
    gradients = [
        chosen.loss.value_grad(column, target)[1]
        for column, target in zip(scores.T, targets, strict=True)
    ]
    return np.column_stack(gradients)


# --- regression -----------------------------------------------------------------------------------


def train_additive_regressor(
    given: AdditiveRegressorParameters,
    matrix: Any,
    target: Target,
    names: Sequence[str] | None = None,
    previous: Solution | None = None,
    splits: Sequence[Split] | None = None,
) -> TrainedCurves:
    """Fit an additive regression to a matrix of raw numbers."""
    if matrix.shape[0] < 2:
        raise DataError("at least two rows", got="1 sample", todo="Pass more rows.")
    signs = read_monotone(given.monotone, names, matrix.shape[1])
    bins = Bins.of(matrix, target.weight, given.n_bins)
    _check_columns(bins)
    found = _regression_on(given, matrix, target, bins, signs, previous, splits)
    if given.interactions:
        # Pairs are chosen by the gradients at the fitted curves, then all is fitted once more.
        binned = bins.encoded(matrix)
        scores = Binned(binned, target, n_threads=1).scores(
            found.model.coef[0], float(found.model.intercept[0])
        )
        gradients = resolve_loss(given.loss).value_grad(scores, target)[1][:, None]
        free = pair_columns(bins, signs)
        codes = binned.codes()
        pairs = screen_pairs(bins, codes, gradients, given.interactions, free, target.weight)
        if pairs:
            bins = replace(bins, pairs=tuple(pairs))
            given = replace(given, strength=found.strength)
            both = _regression_on(given, matrix, target, bins, signs, None, splits)
            found = _as_searched(both, found)
    return found


def _regression_on(
    given: AdditiveRegressorParameters,
    matrix: Any,
    target: Target,
    bins: Bins,
    signs: IntArray,
    previous: Solution | None,
    splits: Sequence[Split] | None,
) -> TrainedCurves:
    """Fit the curves of a regression, at the given strength or at that picked by folds."""
    penalty = curve_penalty(given.penalty, bins, signs)
    data = Binned(bins.encoded(matrix), target, n_threads=given.n_threads)
    strengths = scores = None
    if auto_strength(given):
        strengths, scores = _regression_search(given, data, penalty, splits)
        means = scores.mean(axis=0)
        at = int(means.argmax())
        if given.rule == "one_standard_error":
            at = within_error(means, at, scores[:, at])
        strength = float(strengths[at])
    else:
        strength = float(given.strength)
    part = linear_parameters(RegressorParameters, given, penalty.with_strength(strength), strength)
    linear, solution = train_regressor(part, data.matrix, target, previous)
    model = with_curves(linear, bins, signs)
    return TrainedCurves(model, [solution], [], strength, strengths, scores)


def _regression_search(
    given: AdditiveRegressorParameters,
    data: Binned,
    penalty: Penalty,
    splits: Sequence[Split] | None,
) -> tuple[FloatArray, FloatArray]:
    """Decreasing strengths, and minus the loss of held-out rows: (folds, strengths)."""
    loss = resolve_loss(given.loss)
    intercept = bool(given.fit_intercept)
    if given.penalty == "smooth":
        strengths = smooth_strengths(data, data.target.weight, given.n_strengths)
    else:
        top = strength_max(Problem(loss, penalty, data, fit_intercept=intercept)) or 1.0
        strengths = np.geomspace(top, top * KINKED_CURVE_RATIO, given.n_strengths)
    folds: Iterable[Split] = splits or ()
    if splits is None:
        # Folds of the rows that have weight; all in one class, so that nothing is stratified.
        weight = data.target.weight
        kept = np.arange(data.n_rows) if weight is None else np.flatnonzero(weight)
        alike = np.zeros(kept.size, dtype=np.int64)
        cuts = stratified_folds(alike, min(given.cv, kept.size), fold_seed(given), None)
        folds = ((kept[train], kept[test]) for train, test in cuts)
    scores = []
    for train, test in folds:
        path = regularisation_path(
            Problem(loss, penalty, data.rows(train), fit_intercept=intercept),
            strengths=strengths,
            solver=given.solver,
            tol=given.tol,
            max_iter=given.max_iter,
            max_seconds=given.max_seconds,
            rng=generator(given),
            on_failure="ignore",
        )
        held = data.rows(test)
        line = np.full(strengths.size, -np.inf)  # strengths that the path did not reach lose
        for k, solution in enumerate(path.solutions):
            line[k] = -loss.value(held.scores(solution.coef, solution.intercept), held.target)
        scores.append(line)
    return strengths, np.array(scores)
