"""Cross-validation that picks the strength of the penalty and the surrogate."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from auctor.core.errors import ConvergenceWarning, DataError, DataWarning, Option
from auctor.core.protocols import Penalty
from auctor.core.types import FloatArray, Target
from auctor.core.watching import tell_stage
from auctor.fit.batch import for_parts
from auctor.fit.fold_scores import FoldScorer, OutOfTimeError
from auctor.fit.linear import classifier_result, model_from, named, train_classifier
from auctor.fit.metric import resolve_metric
from auctor.fit.parameters import (
    ClassifierParameters,
    SearchParameters,
    parameters_of,
    unit_penalty,
)
from auctor.fit.result import ClassifierResult, FitOptions, Judge, Split
from auctor.fit.scale import scaled_rows, to_data_units
from auctor.fit.solve import class_problems, stacked
from auctor.fit.surrogate import RIVAL_FACTORS, RIVAL_FOLDS, contest, contestants, default_surrogate
from auctor.fit.targets import Rows, targets_of
from auctor.fit.validation_curve import Budget, ValidationCurve
from auctor.solvers import strength_max
from auctor.solvers.sparse.path import check_strengths

#: Smallest over largest default strength for penalties that make models sparse.
KINKED_RATIO = 1e-3
#: Smallest over largest default strength for smooth penalties.
SMOOTH_RATIO = 1e-7
#: Strengths, at most, by which a search extends its default range on either side.
MAX_EXTENSIONS = 3
#: Folds on which every strength of the coarse grid is scored, at least.
FIRST_FOLDS = 2
#: Rows of the rarest class that these first folds hold out together, if there are enough.
ENOUGH_RARE_ROWS = 100
#: Strengths of the coarse grid that are scored on the other folds.
SURVIVORS = 3
#: Standard errors by which a strength must be behind the best to be dropped early.
CLEAR_ERRORS = 2.0
#: Tolerance of fits inside a search, relative to the loss of the best constant score.
SEARCH_TOL = 1e-3
#: Share of ``max_seconds`` that a search may take; the final fit has the rest.
SEARCH_SHARE = 0.6


@dataclass(eq=False)
class StrengthSearch:
    """A search for the strength with the best mean score over folds.

    By default the search goes from coarse to fine. A grid of decades is scored on the first two
    folds, or on as many as hold out enough rows of the rarest class, and is extended where scores
    rise at its end. Its best three strengths are scored on the other folds, as long as they are not
    clearly worse than the best. Last come the strengths half a step on either side of the best. If
    the user passes strengths, or their number, every strength is scored on every fold.

    Parameters
    ----------
    params : SearchParameters
        Checked already.
    splits : sequence of (train, test) rows, optional
        Folds; by default ``params.cv`` stratified ones.
    judge : callable, optional
        Scores a model on rows, greater is better; by default the metric is used.

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
    result : ClassifierResult or None
        The model: fitted to all rows at the chosen strength, or to the training rows of a fold if
        the search was interrupted; ``None`` without ``refit``.
    complete : bool
        False if the user interrupted the search.
    warnings : list of Warning
        Warnings for the user.
    """

    params: SearchParameters
    rows: Rows
    splits: Sequence[Split] | None = None
    judge: Judge | None = None
    strengths: FloatArray = field(init=False)
    scores: FloatArray = field(init=False)
    best_index: int = field(init=False)
    result: ClassifierResult | None = field(init=False, default=None)
    complete: bool = field(init=False, default=True)
    warnings: list[Warning] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.start = time.perf_counter()
        params = self.params
        raw, self.rows = self.rows, scaled_rows(params, self.rows)
        self.penalty: Penalty = unit_penalty(params)
        self.stated = params.strengths is not None or params.n_strengths is not None
        self.names: tuple[str, ...] = (params.surrogate,)
        if not self.stated and self.rows.groups is None:
            self.names = contestants(params.metric, params.surrogate)
        seconds = math.inf if params.max_seconds is None else params.max_seconds
        end = self.start + SEARCH_SHARE * seconds
        self.scorer = FoldScorer(
            params, self.rows, raw, splits=self.splits, judge=self.judge, end=end
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
        return default_surrogate(self.params.metric, self.curve.name)

    def run(self, options: FitOptions | None = None) -> None:
        """Score strengths on folds, then fit to all rows.

        On an interrupt the best model so far is kept in ``result`` and the interrupt is raised.
        """
        self.options = options or FitOptions()
        try:
            try:
                self._search()
            except OutOfTimeError:
                self.warnings.append(
                    ConvergenceWarning(
                        does="ran out of time before every strength was scored, and takes the best "
                        "so far. Increase `max_seconds`."
                    )
                )
            self._pick_best()
            self._warn_of_edge()
            if self.params.refit:
                self.result = self._train()
        except KeyboardInterrupt:
            self.complete = False
            self._keep_best()
            raise
        self._report()

    def finish(self, params: SearchParameters, rows: Rows, options: FitOptions) -> None:
        """Fit to rows, all or more of those of the folds, at the strength that `run` chose."""
        self.params, self.options = for_parts(params, rows.total), options
        self.rows, self.scorer.warnings = scaled_rows(params, rows), []
        self.result = self._train()
        self._report()

    def held_out_aucs(self) -> FloatArray:
        """AUC on the held-out rows of each fold at the chosen strength; NaN where there is none.

        Several classes have none, and neither has a fold that was not scored.
        """
        aucs = np.full(len(self.scorer.folds), np.nan)
        if self.rows.classes.size == 2:
            for fold, model in self.curve.table.get(self.strength, {}).items():
                aucs[fold] = self.scorer.auc(fold, model)
        return aucs

    # --- the search ---------------------------------------------------------------------------

    def _search(self) -> None:
        """Score strengths of the first surrogate, then compare it with the other surrogates."""
        folds = range(len(self.scorer.folds))
        if self.stated:
            points = len(folds) * self.strengths.size
            budget = Budget(self.params.tol, self.params.max_iter, len(folds), points)
            self.curve.add(folds, self.strengths.tolist(), budget)
            return
        rivals, first = len(self.names) - 1, self._first_folds()
        budget = Budget(
            max(self.params.tol, SEARCH_TOL),
            self.params.max_iter,
            planned=2 * len(folds) + rivals * RIVAL_FOLDS,
            # The coarse grid, a few strengths of every rival, the best of the grid on the other
            # folds, and two strengths beside the best.
            points=first * self.strengths.size
            + RIVAL_FOLDS * rivals * len(RIVAL_FACTORS)
            + SURVIVORS * (len(folds) - first)
            + 2 * len(folds),
        )
        self._coarse_to_fine(budget)
        rows = self.rows.matrix.shape
        for name in self.names[1:]:
            self.curve = contest(self.curve, self._curve(name), budget, rows)

    def _coarse_to_fine(self, budget: Budget) -> None:
        """Score the coarse grid, extend it, thin it out over the folds, refine it at the best."""
        curve = self.curve
        folds = list(range(len(self.scorer.folds)))
        first, later = folds[: self._first_folds()], folds[self._first_folds() :]
        curve.add(first, self.strengths.tolist(), budget)
        step = float(self.strengths[0] / self.strengths[1])
        # Extend the grid while its best strength is at an end. Sparse models need no larger
        # strengths: the first one of the grid makes all weights zero.
        for _ in range(MAX_EXTENSIONS):
            best, tried = curve.best(), curve.strengths
            if curve.flat_edge(best):
                break
            if best == 0 and self.penalty.smooth:
                curve.add(first, [float(tried[0]) * step], budget)
            elif best == tried.size - 1:
                curve.add(first, [float(tried[-1]) / step], budget)
            else:
                break
        # The rule of one standard error needs all strengths; "best" only the leading ones.
        kept = curve.strengths.tolist()
        if self.params.rule == "best":
            order = np.argsort(-np.nan_to_num(curve.means(), nan=-np.inf), kind="stable")
            kept = curve.strengths[order[:SURVIVORS]].tolist()
        for fold in later:
            curve.add([fold], kept, budget)
            kept = self._undecided(kept)
        # Half a step of the geometric grid on either side of the best.
        centre = float(curve.strengths[curve.best()])
        neighbours = [centre * math.sqrt(step), centre / math.sqrt(step)]
        curve.add(sorted(curve.table[centre]), neighbours, budget)

    def _first_folds(self) -> int:
        """Number of folds for the coarse grid: more where the rarest class has few rows in each."""
        total = len(self.scorer.folds)
        rarest = int(np.bincount(self.rows.codes, minlength=self.rows.classes.size).min())
        return min(total, max(FIRST_FOLDS, math.ceil(ENOUGH_RARE_ROWS * total / max(rarest, 1))))

    def _undecided(self, kept: list[float]) -> list[float]:
        """Those strengths whose mean is within `CLEAR_ERRORS` standard errors of the best."""
        if self.params.rule != "best":
            return kept
        curve = self.curve
        scores, all_of = curve.scores(), curve.strengths.tolist()
        best = curve.best()
        left = []
        for strength in kept:
            mean, error = curve.lead(best, scores[:, all_of.index(strength)])
            if mean <= CLEAR_ERRORS * error:
                left.append(strength)
        return left

    def _curve(self, name: str) -> ValidationCurve:
        """A curve without scores for the surrogate of this name."""
        goal = resolve_metric(self.params.metric, name)
        return ValidationCurve(self.scorer, goal, self.penalty, name)

    def _candidates(self) -> FloatArray:
        """The strengths to try first, decreasing."""
        params, rows, goal = self.params, self.rows, self.curve.goal
        if params.strengths is not None:
            return check_strengths(params.strengths)
        data = rows.data(params.n_threads)
        if self.penalty.smooth:
            # The mean squared norm of a row: the sum of the columns' mean squares.
            share = Target(np.empty(data.n_rows), rows.weight).share
            top = float(data.square_gradient(share).sum())
            ratio, per_decade = SMOOTH_RATIO, 1.0
        else:
            # The smallest strength at which all weights of all classes are zero.
            targets = targets_of(params.class_weight, rows, goal)
            intercept = bool(params.fit_intercept)
            problems = class_problems(goal, self.penalty, data, targets, intercept)
            top = max(map(strength_max, problems))
            ratio, per_decade = KINKED_RATIO, 2.0
        top = top if top > 0.0 else 1.0  # uninformative columns: any strength will do
        ratio = params.ratio or ratio
        count = params.n_strengths
        if count is None:
            count = max(3, 1 + round(-per_decade * math.log10(ratio)))
        return np.geomspace(top, top * ratio, count)

    # --- choice and final fit -----------------------------------------------------------------

    def _pick_best(self) -> None:
        """Pick the best of the scored strengths; the middle one if none was scored in time."""
        curve = self.curve
        if not curve.table:
            self.scores = np.full((len(self.scorer.folds), self.strengths.size), np.nan)
            self.best_index = self.strengths.size // 2
            return
        best = (curve.best if self.params.rule == "best" else curve.simplest)()
        if self.params.rule == "best" and not self.stated:
            best = curve.off_edge(best)
        goal = float(curve.strengths[best])
        # Strengths that the user passed appear in the results even where they have no score.
        tried = set(curve.table) | (set(self.strengths.tolist()) if self.stated else set())
        scored = dict(zip(curve.strengths.tolist(), curve.scores().T, strict=True))
        self.strengths = np.array(sorted(tried, reverse=True))
        unknown = np.full(len(self.scorer.folds), np.nan)
        self.scores = np.column_stack([scored.get(s, unknown) for s in self.strengths.tolist()])
        self.best_index = self.strengths.tolist().index(goal)

    def _warn_of_edge(self) -> None:
        """Warn if the best strength is the first or last one tried and scores still rise there."""
        curve = self.curve
        if self.strength not in curve.table:
            return
        at = curve.strengths.tolist().index(self.strength)
        if self.params.rule != "best" or not curve.rising_edge(at):
            return
        if at == 0 and not self.penalty.smooth and not self.stated:
            self.warnings.append(
                DataWarning(
                    does=f"chose the strength {self.strength:.3g}, at which almost no column is in "
                    "the model: with smaller strengths the held-out scores fall. Look for "
                    "columns that tell more about the label."
                )
            )
            return
        end, further = ("largest", "larger") if at == 0 else ("smallest", "smaller")
        self.warnings.append(
            DataWarning(
                does=f"chose the {end} strength that it tried, {self.strength:.3g}, and scores "
                f"still rise there. Pass `strengths` with {further} values, or look for a "
                "column that gives the label away."
            )
        )

    def _train(self) -> ClassifierResult:
        """Fit to all rows at the chosen strength, within the remaining time."""
        tell_stage("fit", 1, 1)
        left = self.params.max_seconds
        if left is not None:
            left = max(self.start + left - time.perf_counter(), 0.0)
        params = replace(
            parameters_of(ClassifierParameters, self.params),
            penalty=self.penalty.with_strength(self.strength),
            surrogate=self.curve.name,
            l1_ratio=None,
            max_seconds=left,
        )
        result = train_classifier(params, self.rows, replace(self.options, inner=True))
        # The model keeps the surrogate that the user passed, such as "auto".
        return replace(result, model=replace(result.model, surrogate=self.params.surrogate))

    def _keep_best(self) -> None:
        """Keep a model of an interrupted search: that of a fold at the best strength."""
        try:
            self._pick_best()
        except DataError:
            return
        by_fold = self.curve.table.get(self.strength)
        if not by_fold:
            return
        last = by_fold[max(by_fold)]
        solutions = to_data_units(self.rows.scaling, last.solutions)
        parts = *stacked(solutions), last.cut
        names = named(self.options.names)
        model = model_from(self.params, self.rows, *parts, feature_names=names)
        self.result = classifier_result(self.params, model, solutions, [])

    def _report(self) -> None:
        """Collect the warnings; add one if fits missed their tolerance."""
        solutions = [] if self.result is None else self.result.solutions
        missed = self.scorer.missed + sum(not s.converged for s in solutions)
        self.warnings = self.scorer.warnings + self.warnings
        if self.result is not None:
            self.warnings += self.result.warnings
        worst = next((s for s in solutions if not s.converged), None)
        if not missed or (worst is None and not self.stated):
            return  # fits inside a default search may be cut short
        fits = self.scorer.fits + len(solutions)
        count = f"missed the tolerance in {missed} of {fits} fits"
        self.warnings.append(
            ConvergenceWarning(
                does=count,
                todo="Increase {option} or {option2}, or drop the smallest strengths.",
                option=(Option("max_iter", bare=True), Option("tol", bare=True)),
            )
            if worst is None
            else worst.warning(before=count if fits > 1 else "")
        )
