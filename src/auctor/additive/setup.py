"""What a fit of curves is made of: bins, folds, tasks and starts, from parameters and rows."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from auctor.additive.bins import Bins, bin_count
from auctor.additive.coding import bins_of_codes
from auctor.additive.columns import LevelBins
from auctor.additive.means import MeanColumn, MeanTask, mean_columns, row_groups
from auctor.additive.members import lowest, mean_loss
from auctor.additive.parameters import (
    KINKED_CURVE_RATIO,
    AdditiveParameters,
    auto_strength,
    curve_penalty,
    pair_rule,
    read_categories,
    read_wishes,
    smooth_strengths,
)
from auctor.additive.stages import Exploration, explore
from auctor.additive.task import Fold, Task
from auctor.core.errors import DataError, DataWarning, Option, ParameterError
from auctor.core.protocols import Loss
from auctor.core.result import Solution
from auctor.core.types import Array, FloatArray, IntArray, Target
from auctor.data.coerce import in_shards
from auctor.fit.folds import stratified_folds, time_folds
from auctor.fit.parameters import fold_seed
from auctor.fit.result import FitOptions, Split
from auctor.fit.solve import Resume
from auctor.fit.targets import Rows
from auctor.fit.validation_curve import within_error
from auctor.solvers import strength_max

#: Folds of the search for the strengths of one model on all rows.
FOLDS = 5


def offset_of(offset: FloatArray | None, rows: Rows) -> FloatArray | None:
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


def task_of(
    params: Any,
    loss: Loss,
    target: Target,
    times: int,
    offset: FloatArray | None,
    means: Sequence[MeanColumn],
    end: float | None = None,
    resume: Resume | None = None,
) -> Task:
    """The task of a loss on targets, to ``end``, by default with the budget of the parameters."""
    if end is None:
        end = math.inf if params.max_seconds is None else time.perf_counter() + params.max_seconds
    return MeanTask(
        loss,
        target,
        times,
        None if offset is None else np.ascontiguousarray(offset.ravel()),
        fit_intercept=bool(params.fit_intercept),
        solver=params.solver,
        tol=params.tol,
        max_iter=params.max_iter,
        end=end,
        n_threads=params.n_threads,
        rng=fold_seed(params),
        verbose=params.verbose,
        means=means,
        resume=resume,
    )


def one_model(params: Any, folds: Sequence[Fold]) -> bool:
    """Whether a single model is fitted to all rows, in place of one per fold."""
    return bool(params.members == 1 or len(folds) < 2)


def explored_by(
    params: Any,
    task: Task,
    bins: Bins,
    matrix: Any,
    signs: IntArray,
    names: Sequence[str] | None,
    folds: Sequence[Fold],
) -> Exploration:
    """The stages of a fit of one task before the last."""
    penalty = curve_penalty(params.penalty, bins, signs)
    design = bins.rows(matrix)
    if not auto_strength(params):
        strengths = np.array([float(params.strength)])
    else:
        if params.penalty == "smooth":
            data = design.data(task.target, params.n_threads)
            strengths = smooth_strengths(data, task.target.weight, params.n_strengths)
        else:
            top = strength_max(task.problem(design, penalty)) or 1.0
            strengths = np.geomspace(top, top * KINKED_CURVE_RATIO, params.n_strengths)

    def choose(losses: FloatArray, share: FloatArray) -> int:
        means = -mean_loss(share, losses)
        at = lowest(-means)
        if params.rule == "one_standard_error":
            at = within_error(means, at, -losses[:, at])
        return at

    rule = pair_rule(params, bins, signs, names)
    return explore(task, bins, design, penalty, strengths, folds, rule, choose)


def starts_of(params: Any, options: FitOptions, tasks: int) -> list[Sequence[Solution | None]]:
    """The solutions of the last fit for each task, with a warm start."""
    last = list(options.previous or ()) if params.warm_start else []
    count = len(last) // tasks
    return [last[k * count : (k + 1) * count] for k in range(tasks)]


def bins_of(
    params: Any,
    matrix: Any,
    outcome: Array,
    weight: FloatArray | None,
    signs: IntArray,
    options: FitOptions,
    folds: Sequence[Fold],
    groups: IntArray | None = None,
) -> tuple[Bins, list[MeanColumn]]:
    """The bins that the parameters ask for; raises if no column has two distinct values."""
    names = options.names
    known = bins_of_codes(matrix, params) if in_shards(matrix) and matrix.coding else None
    if known is None:
        categories = read_categories(params, names, matrix) | dict(options.labels)
    else:
        levels = (j for j, one in enumerate(known.columns) if isinstance(one, LevelBins))
        categories = dict.fromkeys(levels)
    fixed = [j for j in categories if signs[j]]
    if fixed:
        raise ParameterError(
            "columns of numbers in {option}",
            got=f"column {fixed[0] if names is None else names[fixed[0]]!r}, a category",
            todo="Drop it from {option}, or from {option2}.",
            option=(Option("monotone", bare=True), Option("categorical", bare=True)),
        )
    wishes = read_wishes(params, signs, names, categories)
    bins = known or Bins.of(matrix, weight, params.n_bins, categories, wishes)
    if not any(book.n_params for book in bins.books):
        raise DataError(
            "a column with at least two values",
            got="constant columns and missing values only",
            todo="Pass columns that vary.",
        )
    # Levels by the mean of the target: where there are folds, and the levels themselves.
    if not folds or not categories or known is not None:
        return bins, []
    n = matrix.shape[0]
    group = row_groups(folds, n, groups, fold_seed(params))
    most = bin_count(n, weight, params.n_bins)
    mean_bins = mean_columns(matrix, categories, outcome.astype(np.float64), weight, group, most)
    made = Bins(
        [mean_bins[j].bins if j in mean_bins else one for j, one in enumerate(bins.columns)]
    )
    if not any(book.n_params for book in made.books):  # levels that are alike, and nothing else
        return bins, []
    return made, list(mean_bins.values())


def fold_count(params: Any) -> int:
    """Folds that the parameters ask for: one per member, or those of a search for one model."""
    if params.members > 1:
        return int(params.members)
    return int(params.cv) if isinstance(params.cv, Integral) else FOLDS


def in_time(params: AdditiveParameters, rows: Rows) -> AdditiveParameters:
    """The parameters with one member for folds in time, which choose strengths: see `SplitBy`."""
    timed = rows.by is not None and rows.by.times is not None
    return replace(params, members=1) if timed else params


def folds_of(
    params: AdditiveParameters, rows: Rows, splits: Sequence[Split] | None, warned: list[Warning]
) -> list[Fold]:
    """The rows of each member and those that it leaves out, both of positive weight."""
    weight = np.ones(rows.codes.size) if rows.weight is None else rows.weight
    folds: list[Fold] = []
    if splits is not None:
        folds, wanted = weighed_folds(splits, weight, warned), len(splits)
    else:
        kept = np.flatnonzero(weight)
        wanted = fold_count(params)
        count = min(wanted, int(np.bincount(rows.codes[kept]).min()))
        seen = rows.select_labels(kept)
        if seen.whole is not None:
            count = min(count, np.unique(seen.whole).size)
        if count > 1 and seen.by is not None and seen.by.times is not None:
            cuts = time_folds(seen.by, seen.codes, count)
        elif count > 1:
            cuts = stratified_folds(seen.codes, count, fold_seed(params), seen.whole)
        folds = [Fold(kept[train], kept[test]) for train, test in cuts] if count > 1 else []
    # A member needs rows of every class.
    classes = rows.classes.size
    whole = [fold for fold in folds if np.unique(rows.codes[fold.train]).size == classes]
    if splits is not None:
        if len(whole) < len(folds):
            warned.append(
                DataWarning(
                    does=f"uses {len(whole)} of {wanted} folds: the others train without a class",
                    todo="Pass other folds in {option}.",
                    option=Option("cv", bare=True),
                )
            )
        return whole
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


def weighed_folds(splits: Sequence[Split], weight: FloatArray, warned: list[Warning]) -> list[Fold]:
    """The folds of some splits without rows of weight 0; those that hold none out are dropped."""
    folds = [
        Fold(train[weight[train] > 0.0], test[weight[test] > 0.0])
        for train, test in ((np.asarray(a), np.asarray(b)) for a, b in splits)
    ]
    whole = [fold for fold in folds if fold.train.size and fold.test.size]
    if len(whole) < len(folds):
        warned.append(
            DataWarning(
                does=f"uses {len(whole)} of {len(folds)} folds: the others have no weight",
                todo="Pass other folds in {option}.",
                option=Option("cv", bare=True),
            )
        )
    return whole
