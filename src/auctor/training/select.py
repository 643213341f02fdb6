"""The strength of the penalty, and the surrogate, picked by scores on held-out rows."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from auctor.core.errors import ConvergenceWarning, DataError, DataWarning, Option
from auctor.core.protocols import Penalty
from auctor.core.result import Solution
from auctor.core.types import FloatArray, Target
from auctor.core.watching import tell_stage
from auctor.solvers import strength_max
from auctor.solvers.sparse.path import check_strengths, with_strength
from auctor.training.curve import Budget, Curve
from auctor.training.fit import class_problems, stacked
from auctor.training.fold_scores import FoldScorer, Judge, OutOfTimeError, Split
from auctor.training.metric import resolve_metric
from auctor.training.parameters import (
    ClassifierParameters,
    SearchParameters,
    parameters_of,
    unit_penalty,
)
from auctor.training.scale import in_units, scaled_rows
from auctor.training.surrogate import NEAR, contest, contestants, default_surrogate
from auctor.training.targets import Rows, targets_of
from auctor.training.train import Trained, model_from, train_classifier

#: Smallest over largest default strength for penalties that make models sparse: below it nearly
#: all columns are in the model.
KINKED_RATIO = 1e-3
#: Smallest over largest default strength for other penalties.
SMOOTH_RATIO = 1e-7
#: Strengths by which a search may go beyond its default range, on either side.
BEYOND = 3
#: Folds that every strength of the coarse grid is scored on, at least; later folds see the best.
FIRST_FOLDS = 2
#: Rows of the rarest class that these folds hold out together, where there are so many: on fewer
#: the best of a grid is chosen by chance.
ENOUGH = 100
#: Strengths of the coarse grid that the later folds see.
SURVIVORS = 3
#: Standard errors that a strength must be behind the best to be dropped before the last fold.
CLEARLY = 2.0
#: Gap to reach inside a search, as a fraction of the loss of the best constant score: models this
#: close to their optimum have the same scores on held-out rows up to the noise of those rows.
LOOSE = 1e-3
#: Share of ``max_seconds`` that a search may take; the final fit has the rest.
SEARCH_SHARE = 0.6


@dataclass(eq=False)
class StrengthSearch:
    """A search for the strength with the best mean score over folds.

    Without stated strengths it goes from coarse to fine: a grid of decades on two folds, or on as
    many as hold out enough rows of the rarest class, its best three on the other folds while they
    cannot be told apart, then half-way points beside the best. Where scores rise at an end of the
    grid, the grid goes on. With stated ones, or a stated number of them, every strength is scored
    on every fold.

    Parameters
    ----------
    who : str
        Name used in messages.
    given : SearchParameters
        Checked already.
    rows : Rows
    splits : sequence of (train, test) rows, optional
        Folds; by default ``given.cv`` stratified ones.
    judge : callable, optional
        Scores a model on rows, greater is better; by default the metric does.

    Attributes
    ----------
    strengths : array
        Candidates, decreasing.
    scores : (folds, strengths) array
        NaN where a strength was dropped, the time ended or the metric is not defined.
    best_index : int
        Position of the chosen strength.
    surrogate : str
        Name of the surrogate that was chosen.
    trained : Trained or None
        The model: of all rows at the chosen strength, or of a fold if the search was interrupted;
        ``None`` without ``refit``.
    warnings : list of Warning
        What the user should be told.
    """

    who: str
    given: SearchParameters
    rows: Rows
    splits: Sequence[Split] | None = None
    judge: Judge | None = None
    strengths: FloatArray = field(init=False)
    scores: FloatArray = field(init=False)
    best_index: int = field(init=False)
    trained: Trained | None = field(init=False, default=None)
    warnings: list[Warning] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.start = time.perf_counter()
        given = self.given
        raw, self.rows = self.rows, scaled_rows(given, self.rows)
        self.penalty: Penalty = unit_penalty(self.who, given)
        self.stated = given.strengths is not None or given.n_strengths is not None
        self.names: tuple[str, ...] = (given.surrogate,)
        if not self.stated and self.rows.groups is None:
            self.names = contestants(given.metric, given.surrogate)
        seconds = math.inf if given.max_seconds is None else given.max_seconds
        end = self.start + SEARCH_SHARE * seconds
        self.scorer = FoldScorer(
            self.who, given, self.rows, raw, splits=self.splits, judge=self.judge, end=end
        )
        self.curve = self._curve(self.names[0])
        self.strengths = self._candidates()

    @property
    def strength(self) -> float:
        """The chosen strength."""
        return float(self.strengths[self.best_index])

    @property
    def surrogate(self) -> str:
        """Name of the chosen surrogate."""
        return default_surrogate(self.given.metric, self.curve.name)

    def run(self, previous: Sequence[Solution | None] | None = None) -> None:
        """Score strengths on folds, then fit to all rows.

        An interrupt leaves the best model so far in ``trained`` and is raised again.
        """
        try:
            try:
                self._search()
            except OutOfTimeError:
                self.warnings.append(
                    ConvergenceWarning(
                        f"{self.who}: the time ended before every strength was scored; the best "
                        "so far is taken.",
                        todo="Increase {option}.",
                        option=Option("max_seconds", bare=True),
                    )
                )
            self._settle()
            self._warn_of_edge()
            if self.given.refit:
                self.trained = self._train(previous)
        except KeyboardInterrupt:
            self._keep_best()
            raise
        self._report()

    # --- the search ---------------------------------------------------------------------------

    def _search(self) -> None:
        folds = range(len(self.scorer.folds))
        if self.stated:
            points = len(folds) * self.strengths.size
            budget = Budget(self.given.tol, self.given.max_iter, len(folds), points)
            self.curve.add(folds, self.strengths.tolist(), budget)
            return
        rivals, first = len(self.names) - 1, self._first_folds()
        budget = Budget(
            max(self.given.tol, LOOSE),
            self.given.max_iter,
            planned=2 * len(folds) + rivals * FIRST_FOLDS,
            # The coarse grid, its best, half-way points; then a few strengths of every rival.
            points=first * self.strengths.size
            + FIRST_FOLDS * rivals * len(NEAR)
            + SURVIVORS * (len(folds) - first)
            + 2 * len(folds),
        )
        self._coarse_to_fine(budget)
        rows = self.rows.matrix.shape
        for name in self.names[1:]:
            self.curve = contest(self.curve, self._curve(name), budget, rows, who=self.who)

    def _coarse_to_fine(self, budget: Budget) -> None:
        curve, who = self.curve, self.who
        folds = list(range(len(self.scorer.folds)))
        first, later = folds[: self._first_folds()], folds[self._first_folds() :]
        curve.add(first, self.strengths.tolist(), budget)
        step = float(self.strengths[0] / self.strengths[1])
        for _ in range(BEYOND):
            best, tried = curve.best(who), curve.strengths
            if curve.level(best):
                break
            if best == 0 and self.penalty.smooth:
                curve.add(first, [float(tried[0]) * step], budget)
            elif best == tried.size - 1:
                curve.add(first, [float(tried[-1]) / step], budget)
            else:
                break
        kept = curve.strengths.tolist()
        if self.given.rule == "best":
            order = np.argsort(-np.nan_to_num(curve.means(), nan=-np.inf), kind="stable")
            kept = curve.strengths[order[:SURVIVORS]].tolist()
        for fold in later:
            curve.add([fold], kept, budget)
            kept = self._undecided(kept)
        found = float(curve.strengths[curve.best(who)])
        beside = [found * math.sqrt(step), found / math.sqrt(step)]
        curve.add(sorted(curve.table[found]), beside, budget)

    def _first_folds(self) -> int:
        """Folds for every strength of the coarse grid: more where a class has few rows in each."""
        total = len(self.scorer.folds)
        rarest = int(np.bincount(self.rows.codes, minlength=self.rows.classes.size).min())
        return min(total, max(FIRST_FOLDS, math.ceil(ENOUGH * total / max(rarest, 1))))

    def _undecided(self, kept: list[float]) -> list[float]:
        """The strengths that are not clearly behind the best."""
        if self.given.rule != "best":
            return kept
        curve = self.curve
        scores, all_of = curve.scores(), curve.strengths.tolist()
        best = curve.best(self.who)
        left = []
        for strength in kept:
            mean, error = curve.lead(best, scores[:, all_of.index(strength)])
            if mean <= CLEARLY * error:
                left.append(strength)
        return left

    def _curve(self, name: str) -> Curve:
        chosen = resolve_metric(self.who, self.given.metric, name)
        return Curve(self.scorer, chosen, self.penalty, name)

    def _candidates(self) -> FloatArray:
        """The strengths to try first, decreasing."""
        given, rows, chosen = self.given, self.rows, self.curve.chosen
        if given.strengths is not None:
            return check_strengths(self.who, given.strengths)
        data = rows.data(given.n_threads)
        if self.penalty.smooth:
            # The mean squared length of a row: the sum of the columns' mean squares.
            share = Target(np.empty(data.n_rows), rows.weight).share
            top = float(data.square_gradient(share).sum())
            ratio, per_decade = SMOOTH_RATIO, 1.0
        else:
            targets = targets_of(self.who, given.class_weight, rows, chosen)
            intercept = bool(given.fit_intercept)
            problems = class_problems(chosen, self.penalty, data, targets, intercept)
            top = max(map(strength_max, problems))
            ratio, per_decade = KINKED_RATIO, 2.0
        top = top if top > 0.0 else 1.0  # columns that say nothing: any strength will do
        ratio = given.ratio or ratio
        count = given.n_strengths
        if count is None:
            count = max(3, 1 + round(-per_decade * math.log10(ratio)))
        return np.geomspace(top, top * ratio, count)

    # --- choice and final fit -----------------------------------------------------------------

    def _settle(self) -> None:
        """Take the best strength of what was scored; the middle one if there was no time."""
        curve = self.curve
        if not curve.table:
            self.scores = np.full((len(self.scorer.folds), self.strengths.size), np.nan)
            self.best_index = self.strengths.size // 2
            return
        best = (curve.best if self.given.rule == "best" else curve.simplest)(self.who)
        if self.given.rule == "best" and not self.stated:
            best = curve.inside(best)
        chosen = float(curve.strengths[best])
        tried = set(curve.table) | (set(self.strengths.tolist()) if self.stated else set())
        scored = dict(zip(curve.strengths.tolist(), curve.scores().T, strict=True))
        self.strengths = np.array(sorted(tried, reverse=True))
        unknown = np.full(len(self.scorer.folds), np.nan)
        self.scores = np.column_stack([scored.get(s, unknown) for s in self.strengths.tolist()])
        self.best_index = self.strengths.tolist().index(chosen)

    def _warn_of_edge(self) -> None:
        curve = self.curve
        if self.strength not in curve.table:
            return
        at = curve.strengths.tolist().index(self.strength)
        if self.given.rule != "best" or not curve.rising_edge(at):
            return
        if at == 0 and not self.penalty.smooth and not self.stated:
            self.warnings.append(
                DataWarning(
                    self.who,
                    does=f"chose the strength {self.strength:.3g}, at which next to no column is "
                    "in the model: at smaller ones the scores on held-out rows fall",
                    todo="Look for columns that tell more of the label.",
                )
            )
            return
        end, further = ("largest", "larger") if at == 0 else ("smallest", "smaller")
        self.warnings.append(
            DataWarning(
                self.who,
                does=f"chose the {end} strength that it tried, {self.strength:.3g}, and scores "
                "still rise there",
                todo=f"Pass {{option}} with {further} ones, or look for a column that tells the "
                "label.",
                option=Option("strengths", bare=True),
            )
        )

    def _train(self, previous: Sequence[Solution | None] | None) -> Trained:
        """Fit to all rows at the chosen strength, in the time that is left."""
        tell_stage("fit", 1, 1)
        left = self.given.max_seconds
        if left is not None:
            left = max(self.start + left - time.perf_counter(), 0.0)
        given = replace(
            parameters_of(ClassifierParameters, self.given),
            penalty=with_strength(self.penalty, self.strength),
            surrogate=self.curve.name,
            l1_ratio=None,
            max_seconds=left,
        )
        trained = train_classifier(self.who, given, self.rows, previous)
        # The model keeps the name that the user gave.
        return replace(trained, model=replace(trained.model, surrogate=self.given.surrogate))

    def _keep_best(self) -> None:
        """Take the best model of an interrupted search: of a fold, at the best strength."""
        try:
            self._settle()
        except DataError:
            return
        found = self.curve.table.get(self.strength)
        if not found:
            return
        last = found[max(found)]
        solutions = in_units(self.rows.scaling, last.solutions)
        model = model_from(self.who, self.given, self.rows, *stacked(solutions), last.cut)
        self.trained = Trained(model, solutions)

    def _report(self) -> None:
        """Say how many of the fits missed the tolerance."""
        solutions = [] if self.trained is None else self.trained.solutions
        missed = self.scorer.missed + sum(not s.converged for s in solutions)
        self.warnings = self.scorer.warnings + self.warnings
        if self.trained is not None:
            self.warnings += self.trained.warnings
        worst = next((s for s in solutions if not s.converged), None)
        if not missed or (worst is None and not self.stated):
            return  # inside a search fits may be cut short
        said = f"{missed} of {self.scorer.fits + len(solutions)} fits missed the tolerance."
        self.warnings.append(
            ConvergenceWarning(
                said,
                todo="Increase {option} or {option2}, or drop the smallest strengths.",
                option=(Option("max_iter", bare=True), Option("tol", bare=True)),
            )
            if worst is None
            else worst.warning(before=f"{said} ")
        )
