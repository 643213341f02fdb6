"""The members of an additive model: one convex problem per fold, and their mean.

Stages: curves on a path of strengths, pairs by the residuals of the curves, maps of each member's
own pairs on a path of strengths, and then the curves and the maps of the pairs of all members in
one problem per member. Strengths are those of least loss on the rows that the members leave out.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from auctor.additive.bins import Bins, PairBins
from auctor.additive.screen import Grids, best, pairs_of
from auctor.additive.task import Fit, Fold, Task, fit_of, start_of
from auctor.core.protocols import Penalty
from auctor.core.types import Array, FloatArray, IntArray, SeparableSpec
from auctor.core.watching import tell_stage
from auctor.data.binned import BinnedMatrix, pack
from auctor.penalties import BoundedElasticNet
from auctor.solvers.sparse.path import PathRun

#: Strengths of curves without a lower loss on held-out rows after which their path ends.
CURVE_PATIENCE = 2
#: Share of the whole gain by which held-out losses are alike; the larger strength is then taken.
ALIKE = 1e-3
#: Strengths of maps without a lower loss on held-out rows after which their path ends.
MAP_PATIENCE = 4
#: Rows from which paths of strengths are fitted on the first `SCOUTS` folds alone.
LARGE, SCOUTS = 100_000, 3
#: Strengths of the ridge on maps, in units of one row: the largest, the smallest, their number.
MAP_STRENGTHS = (1e4, 0.015, 16)
#: Pairs per column, at most.
PAIRS_PER_COLUMN = 3
#: Columns that are screened for pairs, at most: those whose curves vary most.
MOST_COLUMNS = 50


@dataclass(frozen=True, eq=False)
class PairRule:
    """Which pairs a fit may have.

    Parameters
    ----------
    columns : int array
        Columns that may take part.
    count : int, optional
        Number of pairs; by default three per column, if maps lower the loss on held-out rows.
    forced : (q, 2) int array, optional
        The pairs themselves.
    excluded : sequence of pairs
    """

    columns: IntArray
    count: int | None = None
    forced: Array | None = None
    excluded: Sequence[tuple[int, int]] = ()


@dataclass(frozen=True, eq=False)
class Members:
    """The fits of the members, and what was measured on the rows that they leave out.

    Parameters
    ----------
    bins : Bins
        With the pairs of the model.
    fits : list of Fit
    strength : float
        Of the penalty of the curves.
    strengths, losses : arrays
        The strengths tried, decreasing, and the loss of each fold's held-out rows.
    map_strength : float, optional
        Of the ridge on maps, in units of one row.
    oof : (n times,) array
        Scores of every row by the member that leaves it out; NaN where none does.
    gains : (pairs,) array
        Mean screening gain of the pairs of the model.
    """

    bins: Bins
    fits: list[Fit]
    strength: float
    strengths: FloatArray
    losses: FloatArray
    oof: FloatArray
    map_strength: float | None = None
    gains: FloatArray = field(default_factory=lambda: np.empty(0))
    complete: bool = True


def fit_curves(
    task: Task,
    design: BinnedMatrix,
    penalty: Penalty,
    strengths: FloatArray,
    folds: Sequence[Fold],
) -> tuple[list[list[Fit]], FloatArray]:
    """Fits of every member at decreasing strengths, and the losses (folds, strengths).

    The path ends `CURVE_PATIENCE` strengths after the lowest mean loss of the held-out rows.
    """
    parts = [task.on(fold.train) for fold in folds]
    problems = [part.problem(design, penalty.with_strength(strengths[0])) for part in parts]
    runs = [
        PathRun(
            problem,
            task.solver,
            task.tol,
            task.max_iter,
            np.random.default_rng(task.rng),
            None,
            None,
            None,
        )
        for problem in problems
    ]
    fits: list[list[Fit]] = [[] for _ in folds]
    losses = np.full((len(folds), strengths.size), np.nan)
    share = fold_shares(task, folds)
    for at, strength in enumerate(strengths.tolist()):
        tell_stage("strength", at + 1, strengths.size)
        for k, (fold, part, run) in enumerate(zip(folds, parts, runs, strict=True)):
            run.point(strength)
            fit = fit_of(part, run.problem, run.solutions[-1])
            fits[k].append(fit._replace(scores=np.empty(0)))
            losses[k, at] = task.held_out(fit.scores, fold.test)
        mean = mean_loss(share, losses[:, : at + 1])
        # At the largest strengths curves are flat: the path goes on until one of them helps.
        least = lowest(mean)
        waited = at - least >= CURVE_PATIENCE and (least > 0 or at >= strengths.size // 2)
        if waited or time.perf_counter() > task.end:
            break
    return fits, losses


def lowest(losses: FloatArray) -> int:
    """Position of the first loss that is as low as any, up to `ALIKE` of all that is gained."""
    low = float(losses.min())
    return int(np.argmax(losses <= low + ALIKE * (float(losses[0]) - low)))


def mean_loss(share: FloatArray, losses: FloatArray) -> FloatArray:
    """Mean of the losses (folds, k) over the folds in which the loss is defined."""
    mass = np.where(np.isnan(losses), 0.0, share[:, None])
    total = np.maximum(mass.sum(axis=0), 1e-300)
    return np.asarray((mass * np.nan_to_num(losses)).sum(axis=0) / total)


def fold_shares(task: Task, folds: Sequence[Fold]) -> FloatArray:
    """Weight of the held-out rows of each fold, the sum being 1."""
    mass = np.array([task.weight[fold.test].sum() for fold in folds])
    share: FloatArray = mass / mass.sum()
    return share


def map_penalty(pairs: Sequence[PairBins], gains: FloatArray, strength: float) -> FloatArray:
    """Ridge weights of the parameters of maps: in inverse proportion to the pairs' gains."""
    cost = gains.mean() / np.maximum(gains, 1e-3 * gains.mean())
    return strength * np.repeat(cost, [pair.book.n_params for pair in pairs])


def row_units(task: Task) -> float:
    """Number of rows that the weights count for."""
    return float(task.weight.sum()) / task.unit


@dataclass(frozen=True, eq=False)
class MapStage:
    """Cells of the pairs of one member, and its maps so far."""

    pairs: list[PairBins]
    matrix: BinnedMatrix
    gains: FloatArray


def map_stage(grids: Grids, task: Task, pairs: Array, gains: FloatArray) -> MapStage:
    """The cells of some pairs."""
    made = [grids.pair(a, b, task.weight) for a, b in pairs.tolist()]
    matrix = BinnedMatrix(pack(np.array([cells for _, cells in made])), [p.book for p, _ in made])
    return MapStage([pair for pair, _ in made], matrix, gains)


def fit_maps(
    task: Task, fits: Sequence[Fit], stages: Sequence[MapStage], folds: Sequence[Fold]
) -> tuple[float | None, FloatArray]:
    """Maps of each member's own pairs, added to its curves, on a path of strengths.

    Returns the strength of least loss on the held-out rows, or ``None`` if no maps are better, and
    the scores of every row by the member that leaves it out.
    """
    scouts = scouting(task, folds)
    share = fold_shares(task, scouts)
    known = [fit.scores for fit in fits]

    def added(k: int, strength: float, start: Fit | None) -> Fit | None:
        """The maps of member k at a strength; ``None`` without pairs."""
        stage, part = stages[k], task.on(folds[k].train)
        if not stage.pairs:
            return None
        ridge = map_penalty(stage.pairs, stage.gains, strength / row_units(part))
        problem = part.problem(stage.matrix, BoundedElasticNet(1.0, 0.0, ridge), known[k])
        return fit_of(part, problem, part.solve(problem, start_of(problem, start)))

    def whole(k: int, maps: Fit | None) -> FloatArray:
        return known[k] if maps is None else known[k] + maps.scores

    before = [task.held_out(known[k], fold.test) for k, fold in enumerate(scouts)]
    least = float(mean_loss(share, np.array(before)[:, None])[0])
    strength, since = None, 0
    maps: list[Fit | None] = [None] * len(folds)
    kept = list(maps)
    # path of strengths
    for level in np.geomspace(*MAP_STRENGTHS).tolist():
        losses = np.empty(len(scouts))
        for k, fold in enumerate(scouts):
            maps[k] = added(k, level, maps[k])
            losses[k] = task.held_out(whole(k, maps[k]), fold.test)
        loss = float(mean_loss(share, losses[:, None])[0])
        if loss < least:
            least, since, strength, kept = loss, 0, level, list(maps)
        else:
            since += 1
        if since >= MAP_PATIENCE or time.perf_counter() > task.end:
            break
    # scores of held-out rows
    oof = np.full(task.target.n_rows, np.nan)
    for k, fold in enumerate(folds):
        if strength is not None and k >= len(scouts):
            kept[k] = added(k, strength, None)
        at = task.per_score(fold.test)
        oof[at] = whole(k, kept[k])[at]
    return strength, oof


def scouting(task: Task, folds: Sequence[Fold]) -> Sequence[Fold]:
    """The folds on which paths of strengths are fitted: all, or the first of a large table.

    With many rows few folds tell the best strength; the others are fitted at that one.
    """
    return folds if task.n_rows < LARGE else folds[:SCOUTS]


def fit_members(
    task: Task,
    bins: Bins,
    codes: Array,
    penalty: Penalty,
    strengths: FloatArray,
    folds: Sequence[Fold],
    rule: PairRule,
    one: bool,
    choose: Callable[[FloatArray, FloatArray], int],
) -> Members:
    """All stages; with ``one`` the folds choose the strengths, and one model is fitted to all rows.

    Parameters
    ----------
    task : Task
    bins : Bins
        Of the columns.
    codes : (columns, n) array
    penalty : Penalty
        Of the curves, with a strength of one.
    strengths : array
        Decreasing.
    folds : sequence of Fold
    rule : PairRule
    one : bool
    choose : callable
        Position of the best strength, from the losses (folds, strengths) and the folds' shares.
    """
    design = BinnedMatrix(pack(codes), bins.books)
    if not folds:  # nothing is held out: a strength in the middle, and no pairs
        middle = strengths[strengths.size // 2]
        none = np.full(task.target.n_rows, np.nan)
        alone = Members(bins, [], float(middle), strengths, np.empty((0, strengths.size)), none)
        return joint(task, alone, design, penalty, None, [None])
    scouts = scouting(task, folds)
    paths, losses = fit_curves(task, design, penalty, strengths, scouts)
    share = fold_shares(task, scouts)
    tried = len(paths[0])
    losses = losses[:, :tried]
    at = choose(losses, share)
    strength = float(strengths[at])
    fits = []
    for k, fold in enumerate(folds):
        part = task.on(fold.train)
        problem = part.problem(design, penalty.with_strength(strength))
        if k < len(paths):
            solution = paths[k][at].solution
        else:
            solution = part.solve(problem, start_of(problem, paths[0][at]), design)
        fits.append(fit_of(part, problem, solution))
    found = Members(bins, fits, strength, strengths[:tried], losses, np.empty(0))
    # Pairs by the residuals of the curves.
    effects = mean_tables(bins, fits)
    columns = pair_candidates(bins, effects, rule)
    pairs = rule.forced if rule.forced is not None else pairs_of(columns, rule.excluded)
    oof = np.full(task.target.n_rows, np.nan)
    for fold, fit in zip(folds, fits, strict=True):
        oof[task.per_score(fold.test)] = fit.scores[task.per_score(fold.test)]
    count = PAIRS_PER_COLUMN * len(columns) if rule.count is None else rule.count
    final: Sequence[Fold | None] = [None] if one else folds
    if not count or not pairs.size:
        done = replace(found, oof=oof)
        return joint(task, done, design, penalty, None, final) if one else done
    used = sorted(set(pairs.ravel().tolist()))
    grids = Grids(bins, codes, effects, used)
    gains = grids.gains(task, fits, folds, pairs)
    stages = []
    for k in range(len(folds)):
        top = np.arange(len(pairs)) if rule.forced is not None else best(gains[:, k], count)
        stages.append(map_stage(grids, task, pairs[top], np.maximum(gains[top, k], 1e-12)))
    map_strength, oof = fit_maps(task, fits, stages, folds)
    if map_strength is None and rule.count is None and rule.forced is None:
        done = replace(found, oof=oof)
        return joint(task, done, design, penalty, None, final) if one else done
    if map_strength is None:
        map_strength = MAP_STRENGTHS[0]
    # The pairs of all members, with the curves in one problem.
    mean = gains.mean(axis=1)
    top = np.arange(len(pairs)) if rule.forced is not None else best(mean, count)
    stage = map_stage(grids, task, pairs[top], np.maximum(mean[top], 1e-12))
    done = replace(found, oof=oof, map_strength=map_strength)
    return joint(task, done, design, penalty, stage, final)


def joint(
    task: Task,
    found: Members,
    design: BinnedMatrix,
    penalty: Penalty,
    stage: MapStage | None,
    folds: Sequence[Fold | None],
) -> Members:
    """Curves and maps of the pairs of all members in one problem per member."""
    matrix = design
    if stage is not None:
        codes = np.concatenate([design.codes(), stage.matrix.codes()])
        matrix = BinnedMatrix(pack(codes), [*design.books, *stage.matrix.books])
    fits = []
    for k, fold in enumerate(folds):
        tell_stage("member", k + 1, len(folds))
        part = task.on(None if fold is None else fold.train)
        known = found.fits[k if fold is not None else 0] if found.fits else None
        if fold is None and (
            known is None or penalty.levels is None
        ):  # the curves of all rows, then maps on top
            alone = part.problem(design, penalty.with_strength(found.strength))
            known = fit_of(part, alone, part.solve(alone, start_of(alone, known), design))
        assert known is not None
        ridge = np.empty(0)
        if stage is not None and found.map_strength is not None:
            ridge = map_penalty(stage.pairs, stage.gains, found.map_strength / row_units(part))
            alone = part.problem(stage.matrix, BoundedElasticNet(1.0, 0.0, ridge), known.scores)
            maps = fit_of(part, alone, part.solve(alone))
            known = Fit(
                np.hstack([known.coef, maps.coef]),
                known.intercept + maps.intercept,
                known.scores + maps.scores,
                maps.solution,
            )
        if penalty.levels is not None:
            both = joint_penalty(penalty.levels, found.strength, design.arrays.n_params, ridge)
            problem = part.problem(matrix, both)
            solution = part.solve(problem, start_of(problem, known), design)
            known = fit_of(part, problem, solution)
        fits.append(known)
    bins = found.bins if stage is None else replace(found.bins, pairs=tuple(stage.pairs))
    gains = np.empty(0) if stage is None else stage.gains
    return replace(found, bins=bins, fits=fits, gains=gains)


def joint_penalty(
    curves: SeparableSpec, strength: float, d: int, ridge: FloatArray
) -> BoundedElasticNet:
    """The penalty of d parameters of curves, and ridges of the parameters of maps."""
    zero, infinite = np.zeros(ridge.size), np.full(ridge.size, math.inf)
    return BoundedElasticNet(
        1.0,
        np.append(strength * np.broadcast_to(curves.l1, d), zero),
        np.append(strength * np.broadcast_to(curves.l2, d), ridge),
        lower=np.append(np.broadcast_to(curves.lower, d), -infinite),
        upper=np.append(np.broadcast_to(curves.upper, d), infinite),
    )


def mean_tables(bins: Bins, fits: Sequence[Fit]) -> list[FloatArray]:
    """What the codes of each column add to the score, the mean of the members and scores."""
    coef = np.mean([fit.coef.mean(axis=0) for fit in fits], axis=0)
    bounds = np.append(0, np.cumsum([book.n_params for book in bins.books]))
    return [
        book.table(coef[a:b])
        for book, a, b in zip(bins.books, bounds[:-1], bounds[1:], strict=True)
    ]


def pair_candidates(bins: Bins, effects: Sequence[FloatArray], rule: PairRule) -> list[int]:
    """Columns that are screened: all, or those whose curves vary most."""
    columns = [int(j) for j in rule.columns if bins.columns[j].simple]
    if len(columns) <= MOST_COLUMNS:
        return columns

    def spread(j: int) -> float:
        share = bins.columns[j].share
        return float(share @ (effects[j] - share @ effects[j]) ** 2)

    return sorted(sorted(columns, key=spread, reverse=True)[:MOST_COLUMNS])
