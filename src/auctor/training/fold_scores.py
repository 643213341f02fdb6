"""Scores of models on rows that they have not seen, for every fold and strength."""

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
from auctor.solvers import Path, regularisation_path
from auctor.training.fit import class_problems, each_class, linear_scores, stacked, start_at
from auctor.training.folds import stratified_folds
from auctor.training.metric import Chosen, check_count
from auctor.training.model import LinearModel
from auctor.training.parameters import SearchParameters, fold_seed, generator
from auctor.training.scale import in_units
from auctor.training.targets import Rows, targets_of
from auctor.training.threshold import COUNTS, check_cut, thresholds
from auctor.training.train import model_from

#: Score of a model on some rows, greater is better.
Judge = Callable[[LinearModel, Rows], float]
#: Rows to train on and rows to score on, by their numbers.
Split = tuple[IntArray, IntArray]


class OutOfTimeError(Exception):
    """The time of a search is over."""


class Scored(NamedTuple):
    """A model of one fold at one strength.

    Parameters
    ----------
    score : float
        On the rows held out; NaN where the metric is not defined.
    second : float
        Average precision there, which decides between equal scores.
    solutions : list of Solution
        One for two classes, else one per class.
    cut : array
        Where the scores are cut.
    """

    score: float
    second: float
    solutions: list[Solution]
    cut: FloatArray


@dataclass(eq=False)
class FoldScorer:
    """Trains on a part of the rows, along a path of strengths, and scores on the rest.

    Parameters
    ----------
    who : str
        Name used in messages.
    given : SearchParameters
    rows : Rows
        With their columns scaled, where they are.
    raw : Rows
        With their columns as they were, which a judge is shown.
    splits : sequence of (train, test) rows, optional
        Folds; by default ``given.cv`` stratified ones.
    judge : callable, optional
        Scores a model on rows, greater is better; by default the metric does.
    end : float
        When `time.perf_counter` says this, the search is over.
    """

    who: str
    given: SearchParameters
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
        """Training and test rows, without those of no weight."""
        rows = self.rows
        everything = np.arange(rows.codes.size)
        kept = everything if rows.weight is None else np.flatnonzero(rows.weight)
        if self.splits is None:
            seen = rows.beside(kept)
            count = self._fold_count(seen)
            folds = stratified_folds(seen.codes, count, fold_seed(self.given), seen.groups)
            return [(kept[train], kept[test]) for train, test in folds]
        found: list[Split] = []
        for whole in self.splits:
            train, test = (part[np.isin(part, kept)] for part in whole)
            found.append((train, test))
        return found

    def _check_split(self, train: IntArray, test: IntArray) -> None:
        classes, several = np.unique(self.rows.codes[train]).size, self.rows.classes.size
        if classes < several or not test.size:
            raise DataError(
                self.who,
                needs="every class in each training part and some test rows",
                got=(
                    f"a fold with {classes} of {several} classes in training and {test.size} "
                    "test rows"
                ),
                todo="Use stratified folds, or {option}.",
                option=Option("cv", 5),
            )

    def _fold_count(self, rows: Rows) -> int:
        """Folds, no more than the smallest class has rows, or than there are groups."""
        sizes = np.bincount(rows.codes)
        count, smallest = check_int(self.who, "cv", self.given.cv, low=2), int(sizes.min())
        rarest = rows.classes.tolist()[sizes.argmin()]
        if smallest < 2:
            raise DataError(
                self.who,
                needs="at least two rows of every class to cross-validate",
                got=f"{smallest} of class {rarest!r}",
                todo="Drop that class, or choose the {option} yourself.",
                option=Option("strength", bare=True),
            )
        if smallest < count:
            self.warnings.append(
                DataWarning(
                    self.who,
                    does=f"uses {smallest} folds instead of {count}: class {rarest!r} has no more "
                    "rows",
                    todo="Set {option}.",
                    option=Option("cv", smallest),
                )
            )
        if rows.groups is None:
            return min(count, smallest)
        several = np.unique(rows.groups).size
        if several < 2:
            raise DataError(
                self.who,
                needs="at least two groups to cross-validate",
                got=several,
                todo="Drop groups, or choose the {option} yourself.",
                option=Option("strength", bare=True),
            )
        return min(count, smallest, several)

    # --- one fold -----------------------------------------------------------------------------

    def score(
        self,
        number: int,
        chosen: Chosen,
        penalty: Penalty,
        strengths: FloatArray,
        *,
        tol: float,
        max_iter: int,
        start: Sequence[Solution] = (),
    ) -> list[Scored]:
        """Models of a fold at decreasing strengths, with their scores on the rest of the rows.

        The first starts from ``start``, the solutions of another model, one per class. Fewer than
        there are strengths if the time ends or the metric is not defined; an interrupt is raised
        after the models that were done.
        """
        left = self.end - time.perf_counter()
        if left <= 0.0:
            raise OutOfTimeError
        train, test = self.folds[number]
        if self.splits is not None:
            self._check_split(train, test)
        rows = self.rows
        check_cut(self.who, self.given, chosen, rows.beside(train).total)
        if self.judge is None and chosen.cut is not None and chosen.cut.criterion in COUNTS:
            total = rows.beside(test).total
            check_count(self.who, chosen.cut.value, total, f"a fold of {test.size} rows")
        run = partial(
            regularisation_path,
            strengths=strengths,
            solver=self.given.solver,
            tol=tol,
            max_iter=max_iter,
            max_seconds=None if math.isinf(left) else left,
            rng=generator(self.given),
            on_failure="ignore",
        )
        models = self._train(rows.only(train), chosen, penalty, run, strengths.size, start)
        return self._scored(test, chosen, models)

    def _scored(
        self, test: IntArray, chosen: Chosen, models: list[tuple[list[Solution], FloatArray]]
    ) -> list[Scored]:
        score = self._measure(test)  # the copy of the training rows is gone by now
        done: list[Scored] = []
        for solutions, cut in models:
            value = second = math.nan
            try:
                if self._undefined(chosen, self.rows.codes[test]):
                    raise DataError("F-beta needs positives; got none.")
                value, second = score(self._model(solutions, cut))
            except DataError as error:
                self.warnings.append(
                    DataWarning(
                        self.who,
                        does=f"leaves out a fold of {test.size} rows in which the metric is not "
                        f"defined: {error}",
                        todo="Use fewer folds.",
                    )
                )
                break
            finally:
                done.append(Scored(value, second, solutions, cut))
        return done

    def _model(self, solutions: Sequence[Solution], cut: FloatArray) -> LinearModel:
        """A model of the scaled columns, or for a judge of the columns as they were."""
        if self.judge is not None:
            solutions = in_units(self.rows.scaling, solutions)
        return model_from(self.who, self.given, self.rows, *stacked(solutions), cut)

    def _undefined(self, chosen: Chosen, codes: IntArray) -> bool:
        """Whether the metric would return 0 where it should say nothing."""
        own = self.judge is None and chosen.needs_positives
        return own and self.rows.classes.size == 2 and not (codes == self.rows.positive).any()

    def _train(
        self,
        rows: Rows,
        chosen: Chosen,
        penalty: Penalty,
        run: Callable[..., Path],
        count: int,
        start: Sequence[Solution],
    ) -> list[tuple[list[Solution], FloatArray]]:
        """At each strength that all classes reached, their solutions and where to cut scores."""
        data = rows.data(self.given.n_threads)
        targets = targets_of(self.who, self.given.class_weight, rows, chosen)
        intercept = bool(self.given.fit_intercept)
        problems = class_problems(chosen, penalty, data, targets, intercept)
        paths: list[Path] = []
        for problem in problems:
            if paths and self.stopped(paths[-1]):
                raise KeyboardInterrupt
            if len(problems) > 1:
                tell_stage("class", len(paths) + 1, len(problems))
            w0 = start_at(problem, start if len(problems) == 1 else start[len(paths) :][:1])
            paths.append(run(problem, w0=w0, on_point=point_callback(self.given.verbose, count)))
        self.fits += sum(map(len, paths))
        self.missed += sum(not one.converged for path in paths for one in path.solutions)
        models = []
        for k in range(min(map(len, paths))):
            parts = map(each_class, problems, [path.solutions[k] for path in paths])
            solutions = [one for part in parts for one in part]
            scores = partial(linear_scores, data, *stacked(solutions))
            cut = thresholds(self.who, self.given, chosen, scores, targets, rows.weight)
            models.append((solutions, cut))
        return models

    def stopped(self, path: Path) -> bool:
        """Whether someone ended a path, as opposed to its time."""
        asked = path.solutions[-1].status is Status.INTERRUPTED
        return asked or (not path.complete and math.isinf(self.end))

    def _measure(self, test: IntArray) -> Callable[[LinearModel], tuple[float, float]]:
        """Scores models on some rows; large data are not copied for the metric itself."""
        judge = self.judge
        if judge is not None:
            held_out = self.raw.take(test)
            return lambda model: (judge(model, held_out), math.nan)
        rest = self.rows.beside(test)
        large = self.rows.large
        data = (self.rows if large else self.rows.take(test)).data(self.given.n_threads)
        labels, binary = rest.labels, rest.classes.size == 2

        def score(model: LinearModel) -> tuple[float, float]:
            scores = linear_scores(data, model.coef, model.intercept)
            decision = scores[test] if large else scores
            value = model.score_at(
                decision.ravel() if binary else decision, labels, rest.weight, rest.groups
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
