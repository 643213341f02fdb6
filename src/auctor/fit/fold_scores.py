"""Scores of models on held-out rows, for every fold and strength."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from auctor import metrics
from auctor.core.checks import check_int
from auctor.core.errors import DataError, DataWarning, Option
from auctor.core.protocols import Penalty
from auctor.core.result import Solution, Status
from auctor.core.types import FloatArray, IntArray
from auctor.core.watching import point_callback, tell_stage
from auctor.fit.folds import folds_by
from auctor.fit.linear import model_from
from auctor.fit.metric import Goal, check_count
from auctor.fit.model import LinearModel
from auctor.fit.parameters import SearchParameters, fold_seed, generator
from auctor.fit.result import Judge, Split
from auctor.fit.scale import to_data_units
from auctor.fit.solve import class_problems, each_class, linear_scores, stacked, start_at
from auctor.fit.targets import Rows, targets_of
from auctor.fit.threshold import COUNTS, check_cut, thresholds
from auctor.solvers import Path, regularisation_path


class OutOfTimeError(Exception):
    """The time limit of a search is reached."""


class FoldModel(NamedTuple):
    """A model of one fold at one strength.

    Parameters
    ----------
    score : float
        The metric on the held-out rows; NaN where it is not defined.
    second : float
        Average precision on the held-out rows, which breaks ties.
    solutions : list of Solution
        One for two classes, else one per class.
    cut : array
        Thresholds, one per solution.
    """

    score: float
    second: float
    solutions: list[Solution]
    cut: FloatArray


@dataclass(eq=False)
class FoldScorer:
    """Trains along a path of strengths on the training rows of a fold and scores its held-out rows.

    Parameters
    ----------
    rows : Rows
        With scaled columns, where the fit scales them.
    raw : Rows
        With the original columns, for ``judge``.
    splits : sequence of (train, test) rows, optional
        Folds; by default ``params.cv`` stratified ones.
    judge : callable, optional
        Scores a model on rows, greater is better; by default the metric is used.
    end : float
        Time limit, as a value of `time.perf_counter`.

    Attributes
    ----------
    fits, missed : int
        Number of solves, and of those that missed their tolerance.
    """

    params: SearchParameters
    rows: Rows
    raw: Rows
    splits: Sequence[Split] | None = None
    judge: Judge | None = None
    end: float = math.inf
    fits: int = field(init=False, default=0)
    missed: int = field(init=False, default=0)
    warnings: list[Warning] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.folds: list[Split] = self._folds()

    # --- folds --------------------------------------------------------------------------------

    def _folds(self) -> list[Split]:
        """Training and held-out rows of every fold, without rows of weight zero."""
        rows = self.rows
        everything = np.arange(rows.codes.size)
        kept = everything if rows.weight is None else np.flatnonzero(rows.weight)
        if self.splits is None:
            seen = rows.select_labels(kept)
            count = self._fold_count(seen)
            folds = folds_by(seen.codes, count, fold_seed(self.params), seen.groups, seen.by)
            return [(kept[train], kept[test]) for train, test in folds]
        usable: list[Split] = []
        for whole in self.splits:
            train, test = (part[np.isin(part, kept)] for part in whole)
            usable.append((train, test))
        return usable

    def _check_split(self, train: IntArray, test: IntArray) -> None:
        """Raise if the training rows lack a class or there are no held-out rows."""
        classes, several = np.unique(self.rows.codes[train]).size, self.rows.classes.size
        if classes < several or not test.size:
            raise DataError(
                f"every class in each training part and some test rows; got a fold with {classes} "
                f"of {several} classes in training and {test.size} test rows. Use stratified "
                "folds, or `cv=5`."
            )

    def _fold_count(self, rows: Rows) -> int:
        """Number of folds: ``cv``, but at most the rows of the smallest class and the groups."""
        # Each fold needs a row of every class to hold out, and every training part another one.
        sizes = np.bincount(rows.codes)
        count, smallest = check_int("cv", self.params.cv, low=2), int(sizes.min())
        rarest = rows.classes.tolist()[sizes.argmin()]
        if smallest < 2:
            raise DataError(
                f"at least two rows of every class to cross-validate; got {smallest} of class "
                f"{rarest!r}. Drop that class, or choose the `strength` yourself."
            )
        if smallest < count:
            self.warnings.append(
                DataWarning(
                    does=f"uses {smallest} folds instead of {count}: class {rarest!r} has no more "
                    f"rows. Set `cv={smallest!r}`."
                )
            )
        # Groups are not split over folds, so that there are at most as many folds.
        if rows.whole is None:
            return min(count, smallest)
        several = np.unique(rows.whole).size
        if several < 2:
            raise DataError(f"at least two groups to cross-validate; got {several}. Drop groups.")
        return min(count, smallest, several)

    # --- one fold -----------------------------------------------------------------------------

    def score(
        self,
        number: int,
        goal: Goal,
        penalty: Penalty,
        strengths: FloatArray,
        *,
        tol: float,
        max_iter: int,
        start: Sequence[Solution] = (),
    ) -> list[FoldModel]:
        """Models of a fold at decreasing strengths, with their scores on the held-out rows.

        ``start`` are the solutions of another model, one per class, as a warm start. There are
        fewer models than strengths if the time ends, the metric is not defined, or the fit is
        interrupted.
        """
        left = self.end - time.perf_counter()
        if left <= 0.0:
            raise OutOfTimeError
        train, test = self.folds[number]
        if self.splits is not None:
            self._check_split(train, test)
        rows = self.rows
        # A threshold or a metric at k rows needs folds of at least k rows.
        check_cut(self.params, goal, rows.select_labels(train).total)
        if self.judge is None and goal.cut is not None and goal.cut.criterion in COUNTS:
            total = rows.select_labels(test).total
            of = Option("metric", bare=True)
            check_count(goal.cut.value, of, total, f"a fold of {test.size} rows")
        run = partial(
            regularisation_path,
            strengths=strengths,
            solver=self.params.solver,
            tol=tol,
            max_iter=max_iter,
            max_seconds=None if math.isinf(left) else left,
            rng=generator(self.params),
            on_failure="ignore",
        )
        models = self._train(rows.training_part(train), goal, penalty, run, strengths.size, start)
        return self._scored(test, goal, models)

    def _scored(
        self, test: IntArray, goal: Goal, models: list[tuple[list[Solution], FloatArray]]
    ) -> list[FoldModel]:
        """Scores of the models on the held-out rows; stops where the metric is not defined."""
        score = self._measure(test)  # the copy of the training rows has been freed by now
        done: list[FoldModel] = []
        for solutions, cut in models:
            value = second = math.nan
            try:
                if self._undefined(goal, self.rows.codes[test]):
                    raise DataError("positives for F-beta; got none")
                value, second = score(self._model(solutions, cut))
            except DataError as error:
                self.warnings.append(
                    DataWarning(
                        does=f"leaves out a fold of {test.size} rows in which the metric is not "
                        f"defined: {error}",
                        todo="Use fewer folds.",
                    )
                )
                break
            finally:
                done.append(FoldModel(value, second, solutions, cut))
        return done

    def _model(self, solutions: Sequence[Solution], cut: FloatArray) -> LinearModel:
        """A model of the scaled columns, or of the original columns for ``judge``."""
        if self.judge is not None:
            solutions = to_data_units(self.rows.scaling, solutions)
        return model_from(self.params, self.rows, *stacked(solutions), cut)

    def _undefined(self, goal: Goal, codes: IntArray) -> bool:
        """Whether the metric is 0 by convention because the held-out rows have no positive."""
        own = self.judge is None and goal.needs_positives
        return own and self.rows.classes.size == 2 and not (codes == self.rows.positive).any()

    def _train(
        self,
        rows: Rows,
        goal: Goal,
        penalty: Penalty,
        run: Callable[..., Path],
        count: int,
        start: Sequence[Solution],
    ) -> list[tuple[list[Solution], FloatArray]]:
        """Solutions and thresholds at each strength that the paths of all classes reached."""
        data = rows.data(self.params.n_threads)
        targets = targets_of(self.params.class_weight, rows, goal)
        intercept = bool(self.params.fit_intercept)
        problems = class_problems(goal, penalty, data, targets, intercept)
        paths: list[Path] = []
        for problem in problems:
            if paths and self.stopped(paths[-1]):
                raise KeyboardInterrupt
            if len(problems) > 1:
                tell_stage("class", len(paths) + 1, len(problems))
            # A joint problem starts from the solutions of all classes, others from their own.
            w0 = start_at(problem, start if len(problems) == 1 else start[len(paths) :][:1])
            paths.append(run(problem, w0=w0, on_point=point_callback(self.params.verbose, count)))
        self.fits += sum(map(len, paths))
        self.missed += sum(not one.converged for path in paths for one in path.solutions)
        models = []
        for k in range(min(map(len, paths))):
            parts = map(each_class, problems, [path.solutions[k] for path in paths])
            solutions = [one for part in parts for one in part]
            scores = partial(linear_scores, data, *stacked(solutions))
            cut = thresholds(self.params, goal, scores, targets, rows.weight)
            models.append((solutions, cut))
        return models

    def auc(self, number: int, model: FoldModel) -> float:
        """AUC of a model of two classes on the held-out rows of its fold."""
        held = self.rows.take(self.folds[number][1])
        scores = linear_scores(held.data(self.params.n_threads), *stacked(model.solutions))
        return held.auc(scores[:, 0])

    def stopped(self, path: Path) -> bool:
        """Whether a path was interrupted by the user rather than by the time limit."""
        interrupted = path.solutions[-1].status is Status.INTERRUPTED
        return interrupted or (not path.complete and math.isinf(self.end))

    def _measure(self, test: IntArray) -> Callable[[LinearModel], tuple[float, float]]:
        """A function from a model to its two scores on the held-out rows.

        Large data are not copied: the model then scores all rows, of which some are selected.
        """
        judge = self.judge
        if judge is not None:
            held_out = self.raw.take(test)
            return lambda model: (judge(model, held_out), math.nan)
        rest = self.rows.select_labels(test)
        large = self.rows.large
        data = (self.rows if large else self.rows.take(test)).data(self.params.n_threads)
        labels, binary = rest.labels, rest.classes.size == 2

        def score(model: LinearModel) -> tuple[float, float]:
            scores = linear_scores(data, model.coef, model.intercept)
            decision = scores[test] if large else scores
            value = model.score_at(
                decision.ravel() if binary else decision, labels, rest.judged, rest.groups
            )
            return value, _average_precision(decision, rest)

        return score


def _average_precision(decision: FloatArray, rows: Rows) -> float:
    """Mean average precision over the classes; NaN where a class has no rows."""
    positives = [rows.positive] if decision.shape[1] == 1 else range(rows.classes.size)
    try:
        values = [
            metrics.average_precision(rows.codes == code, column, weight=rows.weight)
            for code, column in zip(positives, rows.sign * decision.T, strict=True)
        ]
    except DataError:
        return math.nan
    return float(np.mean(values))
