"""The strength of the penalty, picked on regularisation paths by scores on held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from auctor.core.checks import check_int
from auctor.core.errors import ConvergenceWarning, DataError, DataWarning, Option
from auctor.core.protocols import Penalty
from auctor.core.result import Solution, Status
from auctor.core.types import FloatArray, IntArray, Target
from auctor.core.watching import point_callback, tell_stage
from auctor.data import StoredData
from auctor.problem import Problem
from auctor.solvers import Path, regularisation_path, strength_max
from auctor.solvers.sparse.path import check_strengths, with_strength
from auctor.training.fit import each_class, joint_problem, linear_scores, stacked
from auctor.training.folds import stratified_folds
from auctor.training.metric import Chosen, check_count, resolve_metric
from auctor.training.model import LinearModel
from auctor.training.parameters import (
    ClassifierParameters,
    SearchParameters,
    fold_seed,
    generator,
    parameters_of,
    unit_penalty,
)
from auctor.training.targets import Rows, targets_of
from auctor.training.threshold import COUNTS, check_cut, thresholds
from auctor.training.train import Trained, model_from, train_classifier

#: Smallest over largest default strength for penalties that make models sparse: below it nearly
#: all columns are in the model.
KINKED_RATIO = 1e-3
#: Smallest over largest default strength for other penalties.
SMOOTH_RATIO = 1e-7

#: Score of a model on some rows, greater is better.
Judge = Callable[[LinearModel, Rows], float]
#: Rows to train on and rows to score on, by their numbers.
Split = tuple[IntArray, IntArray]


class FoldResult(NamedTuple):
    """What one fold gave: paths, then by strength a solution per class, thresholds and a score."""

    paths: list[Path]
    solutions: list[list[Solution]]
    thresholds: list[FloatArray]
    scores: FloatArray
    interrupted: bool


@dataclass(eq=False)
class StrengthSearch:
    """A search for the strength with the best mean score over folds.

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
        NaN where a path did not come that far or the metric is not defined.
    best_index : int
        Position of the chosen strength.
    trained : Trained or None
        The model: of all rows at the chosen strength, or of the last whole fold if the search was
        interrupted; ``None`` without ``refit``.
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
        self.chosen: Chosen = resolve_metric(self.who, self.given.metric, self.given.surrogate)
        self.penalty: Penalty = unit_penalty(self.who, self.given)
        self.strengths = self._candidates()

    @property
    def strength(self) -> float:
        """The chosen strength."""
        return float(self.strengths[self.best_index])

    def run(self, previous: Sequence[Solution | None] | None = None) -> None:
        """Score every strength on every fold, then fit to all rows.

        An interrupt leaves the best model so far in ``trained`` and is raised again.
        """
        scores: list[FloatArray] = []
        latest: FoldResult | None = None
        missed = total = 0
        try:
            for train, test in self._folds():
                fold = self._score_fold(train, test)
                if not fold.interrupted or latest is None:
                    scores.append(fold.scores)
                    latest = fold
                if fold.interrupted:
                    raise KeyboardInterrupt
                total += sum(map(len, fold.paths))
                missed += sum(not s.converged for path in fold.paths for s in path.solutions)
            self.scores = np.vstack(scores)
            self.best_index = self._pick()
            if self.given.refit:
                self.trained = self._train(previous)
        except KeyboardInterrupt:
            self._keep_best(scores, latest)
            raise
        self._report(missed, total)

    def _report(self, missed: int, total: int) -> None:
        """Say how many of the fits missed the tolerance."""
        solutions = [] if self.trained is None else self.trained.solutions
        missed += sum(not s.converged for s in solutions)
        if self.trained is not None:
            self.warnings += self.trained.warnings
        if missed:
            said = f"{missed} of {total + len(solutions)} fits missed the tolerance."
            worst = next((s for s in solutions if not s.converged), None)
            self.warnings.append(
                ConvergenceWarning(
                    said,
                    todo="Increase {option} or {option2}, or drop the smallest strengths.",
                    option=(Option("max_iter", bare=True), Option("tol", bare=True)),
                )
                if worst is None
                else worst.warning(before=f"{said} ")
            )

    # --- strengths and folds ------------------------------------------------------------------

    def _candidates(self) -> FloatArray:
        """The strengths to try, decreasing."""
        given, rows = self.given, self.rows
        if given.strengths is not None:
            return check_strengths(self.who, given.strengths)
        data = rows.data(given.n_threads)
        if self.penalty.smooth:
            lengths = data.row_lengths(np.ones(data.n_columns))
            top, ratio = float(np.average(lengths, weights=rows.weight)), SMOOTH_RATIO
        else:
            targets = targets_of(self.who, given.class_weight, rows, self.chosen)
            top = max(map(strength_max, self._problems(data, targets)))
            ratio = KINKED_RATIO
        top = top if top > 0.0 else 1.0  # columns that say nothing: any strength will do
        return np.geomspace(top, top * (given.ratio or ratio), given.n_strengths)

    def _problems(self, data: StoredData, targets: Sequence[Target]) -> list[Problem]:
        """One for each target, or one of all classes."""
        chosen, intercept = self.chosen, bool(self.given.fit_intercept)
        if chosen.joint(len(targets)):
            return [joint_problem(chosen, self.penalty, data, targets, intercept)]
        return [
            Problem(chosen.loss, self.penalty, data.with_target(one), fit_intercept=intercept)
            for one in targets
        ]

    def _folds(self) -> Iterator[Split]:
        """Training and test rows, without those of no weight."""
        rows = self.rows
        everything = np.arange(rows.codes.size)
        kept = everything if rows.weight is None else np.flatnonzero(rows.weight)
        if self.splits is None:
            seen = rows.beside(kept)
            count = self._fold_count(seen)
            seed = fold_seed(self.given)
            folds = stratified_folds(seen.codes, count, seed, seen.groups)
            for number, (train, test) in enumerate(folds, start=1):
                tell_stage("fold", number, count)
                yield kept[train], kept[test]
            return
        for number, whole in enumerate(self.splits, start=1):
            train, test = (part[np.isin(part, kept)] for part in whole)
            self._check_split(train, test)
            tell_stage("fold", number, len(self.splits))
            yield train, test

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

    def _score_fold(self, train: IntArray, test: IntArray) -> FoldResult:
        """Paths of the classes on the training rows, and their scores on the test rows."""
        rows, chosen = self.rows, self.chosen
        check_cut(self.who, self.given, chosen, rows.beside(train).total)
        if self.judge is None and chosen.cut is not None and chosen.cut.criterion in COUNTS:
            total = rows.beside(test).total
            check_count(self.who, chosen.cut.value, total, f"a fold of {test.size} rows")
        paths, found, cuts = self._train_fold(rows.only(train))
        score = self._scorer(test)  # the copy of the training rows is gone by now
        scores = np.full(self.strengths.size, np.nan)
        for k, cut in enumerate(cuts):
            model = self._model(found[k], cut)
            try:
                if self._undefined(rows.codes[test]):
                    raise DataError("F-beta needs positives; got none.")
                scores[k] = score(model)
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
        return FoldResult(paths, found, cuts, scores, self._stopped(paths[-1]))

    def _model(self, solutions: Sequence[Solution], cut: FloatArray) -> LinearModel:
        return model_from(self.who, self.given, self.rows, *stacked(solutions), cut)

    def _undefined(self, codes: IntArray) -> bool:
        """Whether the metric would return 0 where it should say nothing."""
        own = self.judge is None and self.chosen.needs_positives
        return own and self.rows.classes.size == 2 and not codes.any()

    def _train_fold(self, rows: Rows) -> tuple[list[Path], list[list[Solution]], list[FloatArray]]:
        """Paths, and at each strength that all reached a solution per class and its cuts."""
        data = rows.data(self.given.n_threads)
        targets = targets_of(self.who, self.given.class_weight, rows, self.chosen)
        problems = self._problems(data, targets)
        paths: list[Path] = []
        for problem in problems:
            if paths and self._stopped(paths[-1]):
                raise KeyboardInterrupt
            if len(problems) > 1:
                tell_stage("class", len(paths) + 1, len(problems))
            paths.append(self._path(problem))
        found, cuts = [], []
        for k in range(min(map(len, paths))):
            here = [path.solutions[k] for path in paths]
            parts = map(each_class, problems, here)
            found.append([one for part in parts for one in part])
            scores = partial(linear_scores, data, *stacked(found[-1]))
            cut = thresholds(self.who, self.given, self.chosen, scores, targets, rows.weight)
            cuts.append(cut)
        return paths, found, cuts

    def _path(self, problem: Problem) -> Path:
        given = self.given
        return regularisation_path(
            problem,
            strengths=self.strengths,
            solver=given.solver,
            tol=given.tol,
            max_iter=given.max_iter,
            max_seconds=given.max_seconds,
            on_point=point_callback(given.verbose, self.strengths.size),
            rng=generator(given),
            on_failure="ignore",
        )

    def _stopped(self, path: Path) -> bool:
        """Whether someone ended a path, as opposed to its time."""
        asked = path.solutions[-1].status is Status.INTERRUPTED
        return asked or (not path.complete and self.given.max_seconds is None)

    def _scorer(self, test: IntArray) -> Callable[[LinearModel], float]:
        """Scores models on some rows; large data are not copied for the metric itself."""
        judge = self.judge
        if judge is not None:
            held_out = self.rows.take(test)
            return lambda model: judge(model, held_out)
        rest = self.rows.beside(test)
        large = self.rows.large
        data = (self.rows if large else self.rows.take(test)).data(self.given.n_threads)
        labels, binary = rest.labels, rest.classes.size == 2

        def score(model: LinearModel) -> float:
            scores = linear_scores(data, model.coef, model.intercept)
            decision = scores[test] if large else scores
            decision = decision.ravel() if binary else decision
            return model.score_at(decision, labels, rest.weight, rest.groups)

        return score

    # --- choice and final fit -----------------------------------------------------------------

    def _pick(self) -> int:
        """Position of the chosen strength; of equal ones the largest."""
        judged = self.scores[~np.isnan(self.scores).all(axis=1)]
        means = judged.mean(axis=0) if judged.size else np.array(np.nan)
        if np.isnan(means).all():
            raise DataError(
                self.who,
                needs="scores that are numbers",
                got="NaN in every fold or at every strength",
                todo="Use fewer folds, or check scoring.",
            )
        best = int(np.nanargmax(means))
        if self.given.rule == "best" or judged.shape[0] < 2:
            return best
        error = judged[:, best].std(ddof=1) / np.sqrt(judged.shape[0])
        return int(np.flatnonzero(means >= means[best] - error)[0])

    def _train(self, previous: Sequence[Solution | None] | None) -> Trained:
        """Fit to all rows at the chosen strength."""
        tell_stage("fit", 1, 1)
        given = replace(
            parameters_of(ClassifierParameters, self.given),
            penalty=with_strength(self.penalty, self.strength),
            l1_ratio=None,
        )
        return train_classifier(self.who, given, self.rows, previous)

    def _keep_best(self, scores: list[FloatArray], fold: FoldResult | None) -> None:
        """Take the best model of an interrupted search: of a fold, at the best strength."""
        if fold is None or np.isnan(scores).all():
            return
        self.scores = np.vstack(scores)
        self.best_index = self._pick()
        solutions = fold.solutions[self.best_index]
        model = self._model(solutions, fold.thresholds[self.best_index])
        self.trained = Trained(model, solutions)
