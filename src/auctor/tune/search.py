"""`SearchCV`: scikit-learn's randomised search with a method that needs fewer candidates."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring, get_scorer
from sklearn.model_selection import RandomizedSearchCV, check_cv, cross_validate
from sklearn.utils import indexable
from sklearn.utils.parallel import Parallel, delayed

from auctor.core.checks import check_int
from auctor.core.errors import DataError, DataWarning, ParameterError
from auctor.core.rng import as_rng
from auctor.core.types import FloatArray
from auctor.tune.methods import BudgetSpent, Method, resolve_method, search_random
from auctor.tune.space import Space
from auctor.tune.table import Candidate, cv_results, hopeless, mean_score

#: Folds of a candidate that are always evaluated before it may be cut short.
FIRST_FOLDS = 2


class SearchCV(RandomizedSearchCV):  # type: ignore[misc]
    """Tune parameters by cross-validation in few evaluations.

    A drop-in for `sklearn.model_selection.RandomizedSearchCV`: the same results, refit and
    scoring, with candidates from a model of the scores instead of from chance.

    Parameters
    ----------
    estimator : estimator
    space : mapping
        What `auctor.tune.Space` takes: `Float`, `Integer`, `Categorical`, `Conditional`, lists,
        scipy distributions. A list of such mappings is searched at random, with a warning.
    scoring : str, callable, list, tuple or dict, optional
    cv : int, splitter or iterable
    budget : int
        Candidates.
    method : {"dfo-tr", "random", "nelder-mead", "tpe", "gp"} or DfoTr
        All see the same folds. "tpe" and "gp" need the extra ``tune``.
    start : mapping, optional
        Parameters of the first candidate; the middle of the space by default.
    cut_folds : bool
        Leave out the remaining folds of a candidate that would stay below the best even with the
        best score that any candidate had on each of them. Its ``mean_test_score`` is then the best
        one's plus the mean difference on the folds that both have, and its other folds are NaN.
    max_seconds : float, optional
        Ends the search; the candidate in hand is finished.
    batch : int, optional
        Candidates evaluated at a time, one by default.
    n_iter : int, optional
        The name that `RandomizedSearchCV` has for ``budget``.
    refit : bool, str or callable
    n_jobs : int, optional
    random_state : int, optional
    error_score : "raise" or float
    return_train_score : bool
    verbose : int
        Kept for scripts; nothing is printed. Use ``on_step``.
    on_step : callable, optional
        Called after every candidate with its number, parameters and mean score (a dict); returning
        True ends the search.

    Attributes
    ----------
    cv_results_, best_index_, best_params_, best_score_, best_estimator_, scorer_, n_splits_
        As in scikit-learn.
    n_failed_ : int
        Candidates without a finite score.
    n_folds_cut_ : int
        Folds that were not evaluated.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from auctor.tune import Float
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> space = {"logisticregression__C": Float(1e-4, 1e4, log=True)}
    >>> search = SearchCV(model, space, scoring="roc_auc", budget=10).fit(X, y)
    >>> bool(search.best_score_ > 0.99)
    True
    """

    def __init__(
        self,
        estimator: Any,
        space: Any,
        *,
        scoring: Any = None,
        cv: Any = 5,
        budget: int = 50,
        method: Any = "dfo-tr",
        start: Mapping[str, Any] | None = None,
        cut_folds: bool = True,
        max_seconds: float | None = None,
        batch: int | None = None,
        n_iter: int | None = None,
        refit: Any = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        verbose: int = 0,
        on_step: Callable[[dict[str, Any]], object] | None = None,
    ) -> None:
        self.estimator = estimator
        self.space = space
        self.scoring = scoring
        self.cv = cv
        self.budget = budget
        self.method = method
        self.start = start
        self.cut_folds = cut_folds
        self.max_seconds = max_seconds
        self.batch = batch
        self.n_iter = n_iter
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.error_score = error_score
        self.return_train_score = return_train_score
        self.verbose = verbose
        self.on_step = on_step

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Search, and refit the best candidate on all rows.

        Parameters
        ----------
        X, y
            As the estimator takes them.
        **params
            ``groups`` goes to the splitter, everything else (``sample_weight``) to `fit` of the
            estimator, cut to the rows of each fold.
        """
        who = type(self).__name__
        given = dict(params)
        groups = given.pop("groups", None)
        X, y, groups = indexable(X, y, groups)
        splitter = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        splits = list(splitter.split(X, y, groups))
        space, method = self._space(who)
        seed = 0 if self.random_state is None else int(as_rng(self.random_state).integers(2**31))
        budget = self.budget if self.n_iter is None else self.n_iter
        check_int(who, "budget", budget, low=1)
        run = _Run(self, X, y, given, splits, space, budget, as_rng(seed))
        start = np.full(space.dims, 0.5) if self.start is None else space.encode(self.start)
        batch = 1 if self.batch is None else check_int(who, "batch", self.batch, low=1)
        try:
            if space.dims:
                method(run.evaluate, space, start=start, batch=batch, seed=seed)
            else:
                run.evaluate([np.zeros(0)])
        except BudgetSpent:
            pass
        self._keep(who, run, X, y, given)
        return self

    def _space(self, who: str) -> tuple[Space, Method]:
        """The space and the method; a list of spaces is searched at random."""
        method = resolve_method(who, self.method)
        given = self.space
        if isinstance(given, list | tuple):
            if not given:
                raise DataError(who, needs="a space", got="an empty list", todo="Pass parameters.")
            warnings.warn(
                DataWarning(who, does="searches a list of spaces at random: no model fits several"),
                stacklevel=3,
            )
            return _Several([Space(one) for one in given]), search_random
        space = Space(given)
        said = space.warning(who)
        if said is not None:
            warnings.warn(said, stacklevel=3)
        return space, method

    def _keep(self, who: str, run: _Run, X: Any, y: Any, given: dict[str, Any]) -> None:
        """Results, the best candidate, and the refitted estimator."""
        metrics = run.metrics
        self.multimetric_ = len(metrics) > 1 or metrics[0] != "score"
        self.n_splits_ = len(run.splits)
        self.cv_results_ = cv_results(run.candidates, metrics, self.n_splits_)
        self.n_failed_ = sum(not np.isfinite(one.value) for one in run.candidates)
        self.n_folds_cut_ = sum(self.n_splits_ - len(one.folds) for one in run.candidates)
        if self.multimetric_ and self.refit is not False and not callable(self.refit):
            _check_refit_name(who, self.refit, metrics)
        self.scorer_ = (
            {name: get_scorer(name) for name in metrics}
            if self.multimetric_ and isinstance(self.scoring, list | tuple | set)
            else dict(self.scoring)
            if isinstance(self.scoring, Mapping)
            else check_scoring(self.estimator, scoring=self.scoring)
        )
        if self.n_failed_ == len(run.candidates):
            raise DataError(
                who,
                needs="a candidate that can be fitted and scored",
                got=f"{self.n_failed_} that all failed",
                todo="Pass {option}='raise' to see the first error.",
                option="error_score",
            )
        if self.refit is False and self.multimetric_:
            return
        suffix = self.refit if self.multimetric_ else "score"
        if callable(self.refit):
            self.best_index_ = self.refit(self.cv_results_)
        else:
            self.best_index_ = int(self.cv_results_[f"rank_test_{suffix}"].argmin())
            self.best_score_ = self.cv_results_[f"mean_test_{suffix}"][self.best_index_]
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        if self.refit is False:
            return
        begin = time.perf_counter()
        best = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
        self.best_estimator_ = best.fit(X, **given) if y is None else best.fit(X, y, **given)
        self.refit_time_ = time.perf_counter() - begin
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_

    def plot_history(self, ax: Any = None) -> Any:
        """Scores of the candidates in order and the best so far; needs the extra ``plots``."""
        from auctor.reports.plots import plot_history

        metric = self.refit if self.multimetric_ and isinstance(self.refit, str) else "score"
        return plot_history(self.cv_results_[f"mean_test_{metric}"], ax=ax)


def _check_refit_name(who: str, refit: Any, metrics: list[str]) -> None:
    if not isinstance(refit, str) or refit not in metrics:
        raise ParameterError(
            who,
            needs="refit to name one of the metrics, or to be False or a callable",
            got=f"{refit!r}",
            todo=f"Pass one of {', '.join(map(repr, metrics))}.",
        )


class _Several(Space):
    """Several spaces, one of which is drawn for each candidate."""

    def __init__(self, spaces: list[Space]) -> None:
        self.spaces = spaces
        self.dims = 1 + max(space.dims for space in spaces)

    def decode(self, u: FloatArray, rng: np.random.Generator | None = None) -> dict[str, Any]:
        """The first coordinate picks the space."""
        picked = self.spaces[min(int(u[0] * len(self.spaces)), len(self.spaces) - 1)]
        return picked.decode(u[1:], rng)


class _Run:
    """The candidates of one fit."""

    def __init__(
        self,
        search: SearchCV,
        X: Any,
        y: Any,
        given: dict[str, Any],
        splits: list[tuple[Any, Any]],
        space: Space,
        budget: int,
        rng: np.random.Generator,
    ) -> None:
        self.search, self.X, self.y, self.given = search, X, y, given
        self.splits, self.space, self.budget, self.rng = splits, space, budget, rng
        self.candidates: list[Candidate] = []
        self.metrics = _metric_names(search.scoring)
        wanted = search.refit if isinstance(search.refit, str) else None
        self.lead = wanted if wanted in self.metrics else self.metrics[0]
        self.cuts = search.cut_folds and not callable(search.refit)
        self.end = None if search.max_seconds is None else time.monotonic() + search.max_seconds
        self.parallel = Parallel(n_jobs=search.n_jobs)

    def evaluate(self, points: list[FloatArray]) -> list[float]:
        """Minus the mean scores of some points; raises `BudgetSpent` after the last."""
        left = self.budget - len(self.candidates)
        now = [Candidate(self.space.decode(u, self.rng)) for u in points[:left]]
        first = FIRST_FOLDS if self.cuts else len(self.splits)
        self._folds(now, range(min(first, len(self.splits))))
        going = [one for one in now if not hopeless(one, self.candidates, self.lead)]
        if not self.cuts:
            going = now
        self._folds(going, range(first, len(self.splits)))
        stop = False
        for one in now:
            one.value = mean_score(one, self.candidates, self.lead, len(self.splits))
            self.candidates.append(one)
            stop = self._said(one) or stop
        late = self.end is not None and time.monotonic() > self.end
        if stop or late or len(self.candidates) >= self.budget:
            raise BudgetSpent
        return [-one.value for one in now]

    def _folds(self, candidates: list[Candidate], folds: range) -> None:
        """Fit and score some folds of some candidates."""
        tasks = [(one, k) for one in candidates for k in folds]
        search = self.search
        found = self.parallel(
            delayed(_fit_and_score)(
                clone(search.estimator),
                one.parameters,
                self.X,
                self.y,
                self.splits[k],
                search.scoring,
                search.error_score,
                search.return_train_score,
                self.given,
            )
            for one, k in tasks
        )
        for (one, k), result in zip(tasks, found, strict=True):
            one.folds[k] = result

    def _said(self, one: Candidate) -> bool:
        call = self.search.on_step
        if call is None:
            return False
        number = len(self.candidates)
        return bool(
            call({"candidate": number, "params": one.parameters, "mean_test_score": one.value})
        )


def _metric_names(scoring: Any) -> list[str]:
    if isinstance(scoring, Mapping):
        return list(scoring)
    if isinstance(scoring, list | tuple | set):
        return list(scoring)
    return ["score"]


def _fit_and_score(
    estimator: Any,
    parameters: dict[str, Any],
    X: Any,
    y: Any,
    split: tuple[Any, Any],
    scoring: Any,
    error_score: Any,
    train: bool,
    given: dict[str, Any],
) -> dict[str, float]:
    """Times and scores of one fold, as `cross_validate` names them."""
    with warnings.catch_warnings():
        if error_score != "raise":
            warnings.filterwarnings("ignore", message="Scoring failed")
        try:
            found = cross_validate(
                estimator.set_params(**clone(parameters, safe=False)),
                X,
                y,
                cv=[split],
                scoring=scoring,
                error_score=error_score,
                return_train_score=train,
                params=given or None,
            )
        except ValueError:
            # Where every fit of a call fails, scikit-learn raises whatever error_score says.
            if error_score == "raise":
                raise
            parts = ("test", "train") if train else ("test",)
            names = [f"{part}_{m}" for part in parts for m in _metric_names(scoring)]
            return dict.fromkeys(names, float(error_score)) | {"fit_time": 0.0, "score_time": 0.0}
    return {name: float(values[0]) for name, values in found.items()}
