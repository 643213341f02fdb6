"""The stages of a fit of members: curves, pairs, maps, and then curves and maps together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from auctor.additive.bins import Bins
from auctor.additive.lockstep import together
from auctor.additive.members import (
    MAP_STRENGTHS,
    MapStage,
    Members,
    PairRule,
    fit_curves,
    fit_maps,
    fold_shares,
    map_stage,
    row_units,
    scouting,
)
from auctor.additive.screen import Grids, best, pairs_of
from auctor.additive.task import Coded, Fit, Fold, Task, fit_of, joined, mean_fit, start_of
from auctor.core.protocols import Penalty
from auctor.core.result import Status
from auctor.core.types import FloatArray, SeparableSpec
from auctor.core.watching import tell_stage
from auctor.penalties import BoundedElasticNet
from auctor.problem import Problem

#: Pairs per column, at most.
PAIRS_PER_COLUMN = 3
#: Columns that are screened for pairs, at most: those whose curves vary most.
MOST_COLUMNS = 50


@dataclass(frozen=True, eq=False)
class Exploration:
    """The fits that leave out a fold each: of the curves, and of the curves with maps of pairs.

    Parameters
    ----------
    curves : Members
        Of the curves alone, with their scores of the rows left out.
    paired : Members, optional
        The same curves with maps, where maps were fitted and are wanted.
    task, design, penalty, stage, folds
        What `finish` needs: ``stage`` has the cells of the pairs of the model.
    """

    task: Task
    design: Coded
    penalty: Penalty
    folds: Sequence[Fold]
    curves: Members
    paired: Members | None = None
    stage: MapStage | None = None

    def finish(self, *, one: bool, pairs: bool) -> Members:
        """The members; with ``one`` a single model of all rows, with the strengths of the folds."""
        members, stage = self.curves, None
        if pairs and self.paired is not None:
            members, stage = self.paired, self.stage
        if self.curves.reached or (stage is None and not one):
            return self.curves
        final: Sequence[Fold | None] = [None] if one else self.folds
        best = replace(self.curves, reached="curves without pairs")
        try:
            for better in joint(self.task, members, self.design, self.penalty, stage, final):
                best = better
                if self.task.late:
                    break
        except KeyboardInterrupt:
            if not best.fits:
                raise
            return replace(best, interrupted=True)
        return best


def explore(
    task: Task,
    bins: Bins,
    design: Coded,
    penalty: Penalty,
    strengths: FloatArray,
    folds: Sequence[Fold],
    rule: PairRule,
    choose: Callable[[FloatArray, FloatArray], int],
) -> Exploration:
    """The stages before the last: curves, pairs, and maps of each member's own pairs.

    If the user or the time ends them, the curves that were reached are the model.

    Parameters
    ----------
    task : Task
    bins : Bins
        Of the columns.
    design : BinnedMatrix or CodedShards
        The columns of all rows.
    penalty : Penalty
        Of the curves, with a strength of one.
    strengths : array
        Decreasing.
    folds : sequence of Fold
    rule : PairRule
    choose : callable
        Position of the best strength, from the losses (folds, strengths) and the folds' shares.
    """
    if not folds:  # nothing is held out: a strength in the middle, and no pairs
        middle = strengths[strengths.size // 2]
        none = np.full(task.target.n_rows, np.nan)
        alone = Members(bins, [], float(middle), strengths, np.empty((0, strengths.size)), none)
        return Exploration(task, design, penalty, folds, alone)
    scouts = scouting(task, folds)
    paths, losses, interrupted = fit_curves(task, design, penalty, strengths, scouts)
    share = fold_shares(task, scouts)
    tried = losses.shape[1]
    if interrupted or task.late:
        folds = scouts
    at = choose(losses, share)
    strength = float(strengths[at])
    fits = []
    oof = np.full(task.target.n_rows, np.nan)
    parts = [task.on(fold.train) for fold in folds]
    problems = [part.problem(design, penalty.with_strength(strength)) for part in parts]
    starts = [start_of(problem, paths[0][at]) for problem in problems]
    starts[len(paths) :] = together(problems[len(paths) :], starts[len(paths) :], task.tol)
    for k, (fold, part, problem) in enumerate(zip(folds, parts, problems, strict=True)):
        if k < len(paths):
            solution = paths[k][at].solution
        else:
            solution = part.solve(problem, starts[k], design)
        fits.append(fit_of(part, problem, solution))
        oof[task.per_score(fold.test)] = fits[k].scores[task.per_score(fold.test)]
    curves = Members(bins, fits, strength, strengths[:tried], losses, oof)
    without = Exploration(task, design, penalty, folds, curves)
    reached = f"curves at {tried} of {strengths.size} strengths, without pairs"
    if interrupted or task.late:
        return replace(without, curves=replace(curves, reached=reached, interrupted=interrupted))
    try:
        return _with_pairs(without, rule)
    except KeyboardInterrupt:
        return replace(without, curves=replace(curves, reached=reached, interrupted=True))


def _with_pairs(explored: Exploration, rule: PairRule) -> Exploration:
    """Pairs by the residuals of the curves, and maps of each member's own pairs."""
    task, design, folds, curves = explored.task, explored.design, explored.folds, explored.curves
    effects = mean_tables(curves.bins, curves.fits)
    columns = pair_candidates(curves.bins, effects, rule)
    pairs = rule.forced if rule.forced is not None else pairs_of(columns, rule.excluded)
    count = PAIRS_PER_COLUMN * len(columns) if rule.count is None else rule.count
    if not count or not pairs.size:
        return explored
    used = sorted(set(pairs.ravel().tolist()))
    grids = Grids(curves.bins, design, effects, used)
    gains = grids.gains(task, curves.fits, folds, pairs)
    own = np.zeros(gains.shape, dtype=bool)
    for k in range(len(folds)):
        own[best(gains[:, k], count) if rule.forced is None else slice(None), k] = True
    there = np.flatnonzero(own.any(axis=1))
    each = np.where(own, np.maximum(gains, 1e-12), 0.0)[there].T
    # Without directions, which hold for curves and maps together, in the last stage.
    stage = map_stage(grids, task, pairs[there], each, np.zeros_like(rule.signs))
    map_strength, oof = fit_maps(task, curves.fits, stage, folds)
    if map_strength is None:
        if rule.count is None and rule.forced is None:
            return explored
        map_strength = MAP_STRENGTHS[0]
    twin_strength = None
    if rule.twins:
        twin_strength, twin_oof = fit_maps(task, curves.fits, stage, folds, kinks=True)
        if twin_strength is not None:
            oof = 0.5 * (oof + twin_oof)
    # The pairs of all members, with the curves in one problem.
    mean = gains.mean(axis=1)
    top = np.arange(len(pairs)) if rule.forced is not None else best(mean, count)
    if not top.size:
        return explored
    stage = map_stage(grids, task, pairs[top], np.maximum(mean[top], 1e-12), rule.signs)
    paired = replace(curves, oof=oof, map_strength=map_strength, twin_strength=twin_strength)
    return replace(explored, paired=paired, stage=stage)


def joint(
    task: Task,
    members: Members,
    design: Coded,
    penalty: Penalty,
    stage: MapStage | None,
    folds: Sequence[Fold | None],
) -> Iterator[Members]:
    """Curves and maps of the pairs of all members in one problem per member, member by member."""
    matrix = design if stage is None else joined(design, stage.matrix)
    bins = members.bins if stage is None else replace(members.bins, pairs=tuple(stage.pairs))
    gains = np.empty(0) if stage is None else stage.gains
    fits: list[Fit] = []

    def fitted(k: int, fold: Fold | None, *, kinks: bool) -> Fit:
        """Member k, or its twin."""
        part = task.on(None if fold is None else fold.train)
        known = members.fits[k if fold is not None else 0] if members.fits else None
        maps = SeparableSpec(*np.empty((4, 0)))
        strength = members.twin_strength if kinks else members.map_strength
        if stage is not None and strength is not None:
            level = strength if kinks else strength / row_units(part)
            maps = stage.spec(level, kinks=kinks)
        whole, w0 = None, None
        if penalty.levels is not None:
            both = joint_penalty(penalty.levels, members.strength, design.arrays.n_params, maps)
            whole = part.problem(matrix, both)
            w0 = task.last(k + kinks * len(folds), whole)
        # Where the last fit is no start: the curves of all rows, then maps on top.
        if w0 is None and fold is None and (known is None or whole is None):
            alone = part.problem(design, penalty.with_strength(members.strength))
            known = fit_of(part, alone, part.solve(alone, start_of(alone, known), design))
        if w0 is None and stage is not None and known is not None:
            bounded = BoundedElasticNet(1.0, maps.l1, maps.l2, lower=maps.lower, upper=maps.upper)
            known = on_top(part, known, part.problem(stage.matrix, bounded, known.scores))
        if whole is not None:
            start = start_of(whole, known) if w0 is None else w0
            known = fit_of(part, whole, part.solve(whole, start, design))
        assert known is not None
        return known

    for k, fold in enumerate(folds):
        tell_stage("member", k + 1, len(folds), task.verbose)
        fit = fitted(k, fold, kinks=False)
        if members.twin_strength is not None:
            fit = mean_fit(fit, fitted(k, fold, kinks=True))
        late = Status.MAX_SECONDS in (fit.solution.status, fit.twin and fit.twin.status)
        if late and (fits or members.fits):
            return
        fits.append(fit)
        short = len(fits) < len(folds)
        reached = f"{len(fits)} of {len(folds)} members" if short else ""
        yield replace(members, bins=bins, fits=list(fits), gains=gains, reached=reached)


def on_top(part: Task, known: Fit, problem: Problem) -> Fit:
    """A fit with maps on top of its curves."""
    maps = fit_of(part, problem, part.solve(problem))
    return Fit(
        np.hstack([known.coef, maps.coef]),
        known.intercept + maps.intercept,
        known.scores + maps.scores,
        maps.solution,
    )


def joint_penalty(
    curves: SeparableSpec, strength: float, d: int, maps: SeparableSpec
) -> BoundedElasticNet:
    """The penalty of d parameters of curves, and of those of maps."""
    levels = [np.broadcast_to(level, d) for level in curves]
    l1, l2, lower, upper = (
        np.append(scale * level, part)
        for scale, level, part in zip((strength, strength, 1.0, 1.0), levels, maps, strict=True)
    )
    return BoundedElasticNet(1.0, l1, l2, lower=lower, upper=upper)


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
