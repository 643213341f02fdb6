"""The members of an additive model: one convex problem per fold, and their mean.

Stages: curves on a path of strengths, pairs by the residuals of the curves, maps of each member's
own pairs on a path of strengths, and then the curves and the maps of the pairs of all members in
one problem per member. Strengths are those of least loss on the rows that the members leave out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from auctor.additive.bins import Bins, PairBins
from auctor.additive.lockstep import starts_at
from auctor.additive.screen import Grids
from auctor.additive.task import Coded, Fit, Fold, Task, fit_of, start_of
from auctor.core.protocols import Penalty
from auctor.core.result import Solution
from auctor.core.types import Array, FloatArray, IntArray, SeparableSpec
from auctor.core.watching import tell_stage
from auctor.data.binned import BinnedMatrix
from auctor.fit.solve import check_not_interrupted
from auctor.penalties import BoundedElasticNet
from auctor.problem import Problem
from auctor.solvers import strength_max
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
#: Smallest over largest strength of the l1 penalty on maps; as many strengths.
TWIN_RATIO = 1e-3


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
    signs : int array
        Direction of every column.
    twins : bool
        Whether every member is the mean of one with a ridge on maps and one with an l1 penalty.
    """

    columns: IntArray
    signs: IntArray
    count: int | None = None
    forced: Array | None = None
    excluded: Sequence[tuple[int, int]] = ()
    twins: bool = False


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
    twin_strength : float, optional
        Of the l1 penalty on the maps of the twins.
    oof : (n times,) array
        Scores of every row by the member that leaves it out; NaN where none does.
    gains : (pairs,) array
        Mean screening gain of the pairs of the model.
    reached : str
        What a fit that the user or the time ended has; empty if it is whole.
    interrupted : bool
    """

    bins: Bins
    fits: list[Fit]
    strength: float
    strengths: FloatArray
    losses: FloatArray
    oof: FloatArray
    map_strength: float | None = None
    twin_strength: float | None = None
    gains: FloatArray = field(default_factory=lambda: np.empty(0))
    reached: str = ""
    interrupted: bool = False

    @property
    def solutions(self) -> list[Solution]:
        """The solution of every member, then those of the twins."""
        twins = [fit.twin for fit in self.fits if fit.twin is not None]
        return [fit.solution for fit in self.fits] + twins


def fit_curves(
    task: Task, design: Coded, penalty: Penalty, strengths: FloatArray, folds: Sequence[Fold]
) -> tuple[list[list[Fit]], FloatArray, bool]:
    """Fits of every member at decreasing strengths, and the losses (folds, strengths).

    The last result is whether the user interrupted the path.

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
            task.begin,
        )
        for problem in problems
    ]
    if strengths.size == 1:  # of several, the first is far from the last model
        for k, run in enumerate(runs):
            run.w0 = task.last(k, run.problem)
    fits: list[list[Fit]] = [[] for _ in folds]
    losses = np.full((len(folds), strengths.size), np.nan)
    share = fold_shares(task, folds)
    for at, strength in enumerate(strengths.tolist()):
        try:
            tell_stage("strength", at + 1, strengths.size, task.verbose)
            starts = starts_at(runs, strength, task.tol)
            for k, (fold, part, run) in enumerate(zip(folds, parts, runs, strict=True)):
                run.solve(strength, starts[k])
                check_not_interrupted(run.solutions)
                fit = fit_of(part, run.problem, run.solutions[-1])
                fits[k].append(fit._replace(scores=np.empty(0)))
                losses[k, at] = task.held_out(fit.scores, fold.test)
        except KeyboardInterrupt:
            if not at:
                raise
            return [one[:at] for one in fits], losses[:, :at], True
        mean = mean_loss(share, losses[:, : at + 1])
        # At the largest strengths curves are flat: the path goes on until one of them helps.
        least = lowest(mean)
        waited = at - least >= CURVE_PATIENCE and (least > 0 or at >= strengths.size // 2)
        if waited or task.late:
            break
    return fits, losses[:, : at + 1], False


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


def row_units(task: Task) -> float:
    """Number of rows that the weights count for."""
    return float(task.weight.sum()) / task.unit


@dataclass(frozen=True, eq=False)
class MapStage:
    """Cells of some pairs, and the screening gains of these; (members, pairs) if by member."""

    pairs: list[PairBins]
    matrix: Coded
    gains: FloatArray
    rows: Coded

    def of_member(self, k: int) -> MapStage:
        """The pairs of one member: those with a gain."""
        own = np.flatnonzero(self.gains[k])
        pairs = [self.pairs[q] for q in own]
        if isinstance(self.matrix, BinnedMatrix):
            matrix: Coded = self.matrix.some(own)
        else:
            matrix = self.rows.cells(pairs, [pair.book for pair in pairs])
        return MapStage(pairs, matrix, self.gains[k, own], self.rows)

    def spec(self, strength: float, *, kinks: bool) -> SeparableSpec:
        """Weights and bounds of the parameters of maps.

        The weights, of an l1 norm with ``kinks``, else of a ridge, are in inverse proportion to the
        gains.
        """
        mean = self.gains.mean()
        cost = strength * mean / np.maximum(self.gains, 1e-3 * mean)
        weight = np.repeat(cost, [pair.book.n_params for pair in self.pairs])
        none, infinite = np.zeros(weight.size), np.full(weight.size, np.inf)
        lower = np.concatenate([pair.lower for pair in self.pairs])
        l1, l2 = (weight, none) if kinks else (none, weight)
        return SeparableSpec(l1, l2, lower, infinite)


def map_stage(
    grids: Grids, task: Task, pairs: Array, gains: FloatArray, signs: IntArray
) -> MapStage:
    """The cells of some pairs, whose maps move in the directions of their columns."""
    return MapStage(*grids.pairs(pairs, task.weight, signs), gains, grids.rows)


def fit_maps(
    task: Task, fits: Sequence[Fit], stage: MapStage, folds: Sequence[Fold], *, kinks: bool = False
) -> tuple[float | None, FloatArray]:
    """Maps of each member's own pairs, added to its curves, on a path of strengths.

    The gains of the stage, (members, pairs), are 0 for pairs that a member does not have. The
    penalty is a ridge, or an l1 norm with ``kinks``. Returns the strength of least loss on the
    held-out rows, or ``None`` if no maps are better, and the scores of every row by the member that
    leaves it out.
    """
    scouts = scouting(task, folds)
    share = fold_shares(task, scouts)
    known = [fit.scores for fit in fits]
    # In memory cells are made when a member is fitted, and then dropped.
    here = isinstance(stage.matrix, BinnedMatrix)
    of_member = stage.of_member if here else cache(stage.of_member)

    def problem_of(k: int, strength: float) -> tuple[Task, Problem]:
        """The maps of member k at a strength."""
        part, own = task.on(folds[k].train), of_member(k)
        level = strength if kinks else strength / row_units(part)
        spec = own.spec(level, kinks=kinks)
        penalty = BoundedElasticNet(1.0, spec.l1, spec.l2, lower=spec.lower, upper=spec.upper)
        return part, part.problem(own.matrix, penalty, known[k])

    def added(k: int, strength: float, start: Fit | None) -> Fit | None:
        """The maps of member k at a strength; ``None`` without pairs."""
        if not stage.gains[k].any():
            return None
        part, problem = problem_of(k, strength)
        return fit_of(part, problem, part.solve(problem, start_of(problem, start)))

    def whole(k: int, fit: Fit | None) -> FloatArray:
        return known[k] if fit is None else known[k] + fit.scores

    before = [task.held_out(known[k], fold.test) for k, fold in enumerate(scouts)]
    least = float(mean_loss(share, np.array(before)[:, None])[0])
    strength, since = None, 0
    maps: list[Fit | None] = [None] * len(folds)
    kept = list(maps)
    levels = np.geomspace(*MAP_STRENGTHS)
    if kinks:
        tried = [k for k in range(len(scouts)) if stage.gains[k].any()]
        top = max((strength_max(problem_of(k, 1.0)[1]) or 0.0 for k in tried), default=0.0)
        levels = np.geomspace(top, top * TWIN_RATIO, levels.size) if top else levels[:0]
    # path of strengths
    for level in levels.tolist():
        losses = np.empty(len(scouts))
        for k, fold in enumerate(scouts):
            maps[k] = added(k, level, maps[k])
            losses[k] = task.held_out(whole(k, maps[k]), fold.test)
        loss = float(mean_loss(share, losses[:, None])[0])
        if loss < least:
            least, since, strength, kept = loss, 0, level, list(maps)
        else:
            since += 1
        if since >= MAP_PATIENCE or task.late:
            break
    # scores of held-out rows
    oof = np.full(task.target.n_rows, np.nan)
    for k, fold in enumerate(folds):
        fit = kept[k]
        if strength is not None and k >= len(scouts):
            fit = added(k, strength, None)
        at = task.per_score(fold.test)
        oof[at] = whole(k, fit)[at]
    return strength, oof


def scouting(task: Task, folds: Sequence[Fold]) -> Sequence[Fold]:
    """The folds on which paths of strengths are fitted: all, or the first of a large table.

    With many rows few folds tell the best strength; the others are fitted at that one.
    """
    return folds if task.n_rows < LARGE else folds[:SCOUTS]
