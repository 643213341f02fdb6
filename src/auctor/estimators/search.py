"""A classifier that picks its strength on regularisation paths, by the metric, out of fold."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.errors import DataError, DataWarning, Option, ParameterError
from auctor.core.protocols import Loss, Penalty
from auctor.core.result import Solution, Status
from auctor.core.types import Array, FloatArray, IntArray, Target
from auctor.core.watching import point_callback, tell_stage
from auctor.data import Dense, Sparse, wrap
from auctor.estimators.base import FitWarning, sentence
from auctor.estimators.classifier import COUNTS, MetricClassifier
from auctor.problem import Problem
from auctor.solvers import Path, regularisation_path, strength_max
from auctor.solvers.sparse.path import check_strengths, with_strength
from auctor.training.metric import Chosen, check_count, resolve_metric
from auctor.training.registry import resolve_penalty

if TYPE_CHECKING:
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

#: Entries from which folds weigh the rows of all data instead of copying some.
UNCOPIED = 10_000_000

#: Smallest over largest strength by default: of penalties that make models sparse, of others.
KINKED_RATIO, SMOOTH_RATIO = 1e-3, 1e-7


class _Rows(NamedTuple):
    """A matrix with its labels, class codes, weights and groups."""

    matrix: Any
    labels: Array
    codes: Array
    weight: FloatArray | None
    groups: IntArray | None

    @property
    def large(self) -> bool:
        n, d = self.matrix.shape
        return bool(getattr(self.matrix, "nnz", n * d) >= UNCOPIED)

    def take(self, index: IntArray) -> _Rows:
        return self.beside(index)._replace(matrix=self.matrix[index])

    def beside(self, index: IntArray) -> _Rows:
        """What goes with some rows, beside the whole matrix."""
        weight = None if self.weight is None else self.weight[index]
        groups = None if self.groups is None else self.groups[index]
        return _Rows(self.matrix, self.labels[index], self.codes[index], weight, groups)

    def only(self, index: IntArray) -> _Rows:
        """The same rows to train on; of large data all rows, the others without weight."""
        if not self.large:
            return self.take(index)
        times = np.bincount(index, minlength=self.codes.size).astype(np.float64)
        return self._replace(weight=times if self.weight is None else times * self.weight)


class _Fold(NamedTuple):
    """What one fold gave: a path per class, its thresholds and scores by strength."""

    paths: list[Path]
    thresholds: list[FloatArray]
    scores: FloatArray
    interrupted: bool


class _Part(MetricClassifier):
    """A classifier of the search, which leaves warnings to it."""

    @property
    def _who(self) -> str:
        return "MetricClassifierCV"

    def _warn(self, solutions: list[Solution]) -> None:
        pass


class MetricClassifierCV(MetricClassifier):
    """`MetricClassifier` with its strength picked by the metric on held-out rows.

    Each fold is a warm-started `regularisation_path` on the training part (one per class with more
    than two; all share the strength), scored on the rest at every strength. The model is then
    fitted to all rows at the strength with the best mean score.

    Parameters
    ----------
    metric, surrogate, penalty, l1_ratio, solver, fit_intercept, threshold, class_weight, calibrate
        As in `MetricClassifier`. The strength of a penalty object does not matter.
    strengths : sequence of floats, optional
        The candidates, used in decreasing order. By default ``n_strengths`` in geometric
        progression: from `auctor.solvers.strength_max` (the largest over the classes) for
        penalties that make models sparse, from the mean squared row norm for others.
    n_strengths : int >= 1
    ratio : float in (0, 1), optional
        Smallest default strength over the largest; 1e-3 for sparse penalties, 1e-7 for others.
    cv : int >= 2, splitter or iterable of (train, test) rows
        A number of stratified, shuffled folds, fewer if a class has fewer rows.
    scoring : str or callable, optional
        Anything scikit-learn takes, greater is better; by default the metric, as `score` of
        `MetricClassifier` returns it.
    rule : {"best", "one_se"}
        "one_se" takes the largest strength within one standard error of the best mean score.
    refit : bool
        Whether to fit to all rows at the end; without it there is no model, only the scores.
    tol, max_iter
        Of every point of a path and of the final fit.
    max_seconds : float, optional
        Per path and for the final fit, per class with more than two. Strengths that a path did not
        reach have NaN scores and are not picked.
    n_threads : int, optional
    warm_start : bool
        Start the final fit from the previous one.
    random_state : int, optional
        Shuffles folds and seeds randomised solvers; None always the same way.
    verbose : int
        1 writes a line per point of a path to the error stream.

    Attributes
    ----------
    strength_ : float
        The chosen strength.
    strengths_ : (n_strengths,) array
        Decreasing.
    scores_ : (n_folds, n_strengths) array
    best_index_ : int
        Position of the chosen strength.
    classes_, coef_, intercept_, threshold_, gap_, n_iter_, solution_
        As in `MetricClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 20))
    >>> y = X[:, 0] + rng.normal(size=200) > 1.0
    >>> model = MetricClassifierCV("log_loss", penalty="l1", n_strengths=10).fit(X, y)
    >>> bool(0 < np.count_nonzero(model.coef_) < 20)
    True
    """

    def __init__(
        self,
        metric: Any = "auc",
        *,
        strengths: Any = None,
        n_strengths: int = 30,
        ratio: float | None = None,
        cv: Any = 5,
        scoring: Any = None,
        rule: str = "best",
        refit: bool = True,
        surrogate: str = "auto",
        penalty: Any = "l2",
        l1_ratio: float | None = None,
        solver: Any = "auto",
        fit_intercept: bool = True,
        threshold: float | str = "auto",
        threshold_cv: int | None = None,
        class_weight: Any = None,
        calibrate: str | None = None,
        average: str = "macro",
        tol: float = 1e-4,
        max_iter: int = 1000,
        max_seconds: float | None = None,
        n_threads: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.metric = metric
        self.strengths = strengths
        self.n_strengths = n_strengths
        self.ratio = ratio
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.refit = refit
        self.surrogate = surrogate
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.threshold = threshold
        self.threshold_cv = threshold_cv
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.average = average
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.n_threads = n_threads
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Pick the strength on the folds, then fit to all rows.

        Parameters are those of `MetricClassifier.fit`; folds keep groups whole.
        """
        penalty = self._check_search()
        chosen = resolve_metric(self._who, self.metric, self.surrogate)
        matrix = self._read(X, reset=True)
        n = matrix.shape[0]
        labels = self._read_labels(y, n)
        weight = self._read_weight(sample_weight, n)
        codes = self._encode(labels, weight)
        rows = _Rows(matrix, labels, codes, weight, self._read_groups(groups, chosen, n))
        self.strengths_ = self._grid(rows, chosen, penalty)
        scores: list[FloatArray] = []
        latest, missed, total = None, 0, 0
        try:
            for train, test in self._folds(rows):
                fold = self._score_fold(rows, train, test, chosen, penalty)
                if not fold.interrupted or latest is None:
                    scores.append(fold.scores)
                    latest = fold
                if fold.interrupted:
                    raise KeyboardInterrupt
                total += sum(map(len, fold.paths))
                missed += sum(not s.converged for path in fold.paths for s in path.solutions)
            self.scores_ = np.vstack(scores)
            self.best_index_ = self._pick()
            self.strength_ = float(self.strengths_[self.best_index_])
            solutions = self._fit_all(rows, penalty)
        except KeyboardInterrupt:
            self._keep_best(scores, latest)
            raise
        missed += sum(not s.converged for s in solutions)
        if missed:
            said = f"{missed} of {total + len(solutions)} fits missed the tolerance."
            worst = next((s for s in solutions if not s.converged), None)
            warnings.warn(
                FitWarning(
                    said,
                    todo="Increase {option} or {option2}, or drop the smallest strengths.",
                    option=(Option("max_iter", bare=True), Option("tol", bare=True)),
                )
                if worst is None
                else worst.warning(FitWarning, before=f"{said} "),
                stacklevel=2,
            )
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> float:
        """The metric, or ``scoring`` where it is given; greater is better."""
        if self.scoring is None:
            return super().score(X, y, sample_weight, groups)
        return self._judge(self, X, y, sample_weight, groups)

    # --- parameters ---------------------------------------------------------------------------

    def _check_search(self) -> Penalty:
        """Check every parameter; the penalty whose strength is to be found."""
        who = self._who
        self._part().set_params(penalty=self.penalty)._check_params()
        check_int(who, "n_strengths", self.n_strengths, low=1)
        check_choice(who, "rule", self.rule, ("best", "one_se"))
        if self.ratio is not None:
            check_real(who, "ratio", self.ratio, low=0.0, high=1.0, open_low=True, open_high=True)
        if not isinstance(self.refit, bool | np.bool_ | int):
            raise ParameterError(
                who, needs="refit to be True or False", got=f"{self.refit!r}", todo="Pass a bool."
            )
        return with_strength(resolve_penalty(who, self.penalty, 1.0, self.l1_ratio), 1.0)

    def _part(self, penalty: Penalty | None = None) -> _Part:
        """A classifier with the same parameters and a penalty that carries its strength."""
        shared = set(MetricClassifier._get_param_names()) - {"strength", "penalty", "l1_ratio"}
        return _Part(**{name: getattr(self, name) for name in shared}, penalty=penalty)

    # --- strengths and folds ------------------------------------------------------------------

    def _grid(self, rows: _Rows, chosen: Chosen, penalty: Penalty) -> FloatArray:
        """The candidates, decreasing."""
        if self.strengths is not None:
            return check_strengths(self._who, self.strengths)
        data = wrap(rows.matrix, Target(np.empty(0)), n_threads=self.n_threads)
        if penalty.smooth:
            lengths = data.row_lengths(np.ones(data.n_columns))
            top, ratio = float(np.average(lengths, weights=rows.weight)), SMOOTH_RATIO
        else:
            tops = [
                strength_max(self._problem(data.with_target(target), chosen.loss, penalty))
                for target in self._targets(rows.codes, rows.weight, rows.groups, chosen)
            ]
            top, ratio = max(tops), KINKED_RATIO
        top = top if top > 0.0 else 1.0  # columns that say nothing: any strength will do
        return np.geomspace(top, top * (self.ratio or ratio), self.n_strengths)

    def _problem(self, data: Dense | Sparse, loss: Loss, penalty: Penalty) -> Problem:
        return Problem(loss, penalty, data, fit_intercept=bool(self.fit_intercept))

    def _folds(self, rows: _Rows) -> Iterator[tuple[IntArray, IntArray]]:
        """Training and test rows, without those of no weight."""
        everything = np.arange(rows.codes.size)
        kept = everything if rows.weight is None else np.flatnonzero(rows.weight)
        if isinstance(self.cv, Integral):
            groups = None if rows.groups is None else rows.groups[kept]
            folds = self._stratified(np.bincount(rows.codes[kept]), groups)
            parted = folds.split(kept, rows.codes[kept], groups)
            for number, (train, test) in enumerate(parted, start=1):
                tell_stage("fold", number, folds.n_splits)
                yield kept[train], kept[test]
            return
        from sklearn.model_selection import check_cv

        try:
            splits = list(
                check_cv(self.cv, classifier=True).split(everything, rows.labels, rows.groups)
            )
            parts = [[everything[part] for part in (train, test)] for train, test in splits]
            if not parts:
                raise ValueError("no folds")
        except (TypeError, ValueError, IndexError) as error:
            raise ParameterError(
                self._who,
                needs="cv to be a number of folds, a splitter or pairs of train and test rows",
                got=f"{self.cv!r} ({sentence(error)})",
                todo="Pass a number.",
            ) from error
        for number, whole in enumerate(parts, start=1):
            train, test = (part[np.isin(part, kept)] for part in whole)
            if np.unique(rows.codes[train]).size < self.classes_.size or not test.size:
                raise DataError(
                    self._who,
                    needs="every class in each training part and some test rows",
                    got=(
                        f"a fold with {np.unique(rows.codes[train]).size} of {self.classes_.size} "
                        f"classes in training and {test.size} test rows"
                    ),
                    todo="Use stratified folds, or {option}.",
                    option=Option("cv", 5),
                )
            tell_stage("fold", number, len(parts))
            yield train, test

    def _stratified(
        self, sizes: IntArray, groups: IntArray | None
    ) -> StratifiedKFold | StratifiedGroupKFold:
        """Shuffled folds, no more than the smallest class has rows, or than there are groups."""
        from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

        count, smallest = check_int(self._who, "cv", self.cv, low=2), int(sizes.min())
        if smallest < 2:
            raise DataError(
                self._who,
                needs="at least two rows of every class to cross-validate",
                got=f"{smallest} of class {self.classes_.tolist()[sizes.argmin()]!r}",
                todo="Drop that class, or choose the {option} yourself.",
                option=Option("strength", bare=True),
            )
        if smallest < count:
            name = self.classes_.tolist()[sizes.argmin()]
            warning = DataWarning(
                self._who,
                does=f"uses {smallest} folds instead of {count}: class {name!r} has no more rows",
                todo="Set {option}.",
                option=Option("cv", smallest),
            )
            warnings.warn(warning, stacklevel=3)
        count = min(count, smallest)
        if groups is None:
            return StratifiedKFold(count, shuffle=True, random_state=self._fold_seed())
        several = np.unique(groups).size
        if several < 2:
            raise DataError(
                self._who,
                needs="at least two groups to cross-validate",
                got=several,
                todo="Drop groups, or choose the {option} yourself.",
                option=Option("strength", bare=True),
            )
        count = min(count, several)
        return StratifiedGroupKFold(count, shuffle=True, random_state=self._fold_seed())

    # --- one fold -----------------------------------------------------------------------------

    def _score_fold(
        self, rows: _Rows, train: IntArray, test: IntArray, chosen: Chosen, penalty: Penalty
    ) -> _Fold:
        """Paths of the classes on the training rows, and their scores on the test rows."""
        part = self._part(penalty)
        totals = [
            some.size if rows.weight is None else float(rows.weight[some].sum())
            for some in (train, test)
        ]
        part._check_cut(chosen, totals[0])
        if self.scoring is None and chosen.cut is not None and chosen.cut.criterion in COUNTS:
            check_count(self._who, chosen.cut.value, totals[1], f"a fold of {test.size} rows")
        part.classes_ = self.classes_
        part.n_features_in_ = rows.matrix.shape[1]
        paths, thresholds = self._train_fold(part, rows.only(train), chosen, penalty)
        judge = self._judge_on(rows, test)  # the training rows are gone by now
        scores = np.full(self.strengths_.size, np.nan)
        for k, threshold in enumerate(thresholds):
            part._take([path.solutions[k] for path in paths])
            part.threshold_ = threshold
            part.intercept_ -= threshold
            try:
                if self._undefined(chosen, rows.codes[test]):
                    raise DataError("F-beta needs positives; got none.")
                scores[k] = judge(part)
            except DataError as error:
                warning = DataWarning(
                    self._who,
                    does=f"leaves out a fold of {test.size} rows in which the metric is not "
                    f"defined: {error}",
                    todo="Use fewer folds.",
                )
                warnings.warn(warning, stacklevel=3)
                break
        return _Fold(paths, thresholds, scores, self._stopped(paths[-1]))

    def _undefined(self, chosen: Chosen, codes: IntArray) -> bool:
        """Whether the own metric is one that returns 0 where it should say nothing."""
        own = self.scoring is None and chosen.name == "fbeta"
        return own and self.classes_.size == 2 and not codes.any()

    def _train_fold(
        self, part: _Part, rows: _Rows, chosen: Chosen, penalty: Penalty
    ) -> tuple[list[Path], list[FloatArray]]:
        """Paths of the classes, and where to cut the scores at each strength that all reached."""
        data = wrap(rows.matrix, Target(np.empty(0)), n_threads=self.n_threads)
        targets = part._targets(rows.codes, rows.weight, rows.groups, chosen)
        paths: list[Path] = []
        for target in targets:
            if paths and self._stopped(paths[-1]):
                raise KeyboardInterrupt
            if len(targets) > 1:
                tell_stage("class", len(paths) + 1, len(targets))
            paths.append(self._path(self._problem(data.with_target(target), chosen.loss, penalty)))
        thresholds = []
        for k in range(min(map(len, paths))):
            part._take([path.solutions[k] for path in paths])
            cut = part._thresholds(rows.matrix, None, targets, rows.weight, chosen)
            thresholds.append(cut)
        return paths, thresholds

    def _path(self, problem: Problem) -> Path:
        return regularisation_path(
            problem,
            strengths=self.strengths_,
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            max_seconds=self.max_seconds,
            on_point=point_callback(self.verbose, self.strengths_.size),
            rng=self._rng(),
            on_failure="ignore",
        )

    def _stopped(self, path: Path) -> bool:
        """Whether someone ended a path, as opposed to its time."""
        asked = path.solutions[-1].status is Status.INTERRUPTED
        return asked or (not path.complete and self.max_seconds is None)

    def _judge_on(self, rows: _Rows, test: IntArray) -> Callable[[MetricClassifier], float]:
        """Scores of classifiers on some rows; large data are not copied for the own metric."""
        if rows.large and self.scoring is None:
            _, labels, _, weight, groups = rows.beside(test)
            return lambda model: model._score_at(
                model.decision_function(rows.matrix)[test], labels, weight, groups
            )
        rest = rows.take(test)
        return lambda model: self._judge(model, rest.matrix, rest.labels, rest.weight, rest.groups)

    def _judge(self, model: MetricClassifier, X: Any, y: Any, weight: Any, groups: Any) -> float:
        """Score of a fitted classifier."""
        if self.scoring is None:
            return MetricClassifier.score(model, X, y, weight, groups)
        from sklearn.exceptions import NotFittedError
        from sklearn.metrics import check_scoring

        scorer = check_scoring(model, scoring=self.scoring)
        takes = inspect.signature(scorer).parameters
        weighs = "sample_weight" in takes or any(p.kind is p.VAR_KEYWORD for p in takes.values())
        extra = {} if weight is None or not weighs else {"sample_weight": weight}
        try:
            return float(scorer(model, X, y, **extra))
        except (AttributeError, NotFittedError, TypeError) as error:
            raise ParameterError(
                self._who,
                needs="scoring to be one number from labels or decision values",
                got=f"{self.scoring!r} ({sentence(error)})",
                todo="Pass another scorer, or none for the metric.",
            ) from error

    # --- choice and final fit -----------------------------------------------------------------

    def _pick(self) -> int:
        """Position of the chosen strength; of equal ones the largest."""
        judged = self.scores_[~np.isnan(self.scores_).all(axis=1)]
        means = judged.mean(axis=0) if judged.size else np.array(np.nan)
        if np.isnan(means).all():
            raise DataError(
                self._who,
                needs="scores that are numbers",
                got="NaN in every fold or at every strength",
                todo="Use fewer folds, or check scoring.",
            )
        best = int(np.nanargmax(means))
        if self.rule == "best" or judged.shape[0] < 2:
            return best
        error = judged[:, best].std(ddof=1) / np.sqrt(judged.shape[0])
        return int(np.flatnonzero(means >= means[best] - error)[0])

    def _keep_best(self, scores: list[FloatArray], fold: _Fold | None) -> None:
        """Take over the best model of an interrupted search: of a fold, at the best strength."""
        self._forget()
        if fold is None or np.isnan(scores).all():
            return
        self.scores_ = np.vstack(scores)
        self.best_index_ = self._pick()
        self.strength_ = float(self.strengths_[self.best_index_])
        solutions = [path.solutions[self.best_index_] for path in fold.paths]
        self._take(solutions)
        self.threshold_ = fold.thresholds[self.best_index_]
        self.intercept_ -= self.threshold_
        self.gap_ = max(solution.gap for solution in solutions)
        self.n_iter_ = max(solution.n_iter for solution in solutions)
        self.solution_ = solutions[0] if self.classes_.size == 2 else solutions

    def _forget(self) -> None:
        """Drop the model of an earlier fit."""
        for name in MODEL:
            if hasattr(self, name):
                delattr(self, name)

    def _fit_all(self, rows: _Rows, penalty: Penalty) -> list[Solution]:
        """Fit to all rows at the chosen strength and take over the result."""
        part = self._part(with_strength(penalty, self.strength_))
        if self.warm_start and hasattr(self, "solution_"):
            part.solution_ = self.solution_
        self._forget()
        if not self.refit:
            return []
        tell_stage("fit", 1, 1)
        part.fit(rows.matrix, rows.labels, rows.weight, rows.groups)
        for name in MODEL:
            if hasattr(part, name):
                setattr(self, name, getattr(part, name))
        return part.solution_ if isinstance(part.solution_, list) else [part.solution_]


#: What a fit of `MetricClassifier` leaves behind.
MODEL = ("coef_", "intercept_", "threshold_", "gap_", "n_iter_", "solution_", "calibrators_")
