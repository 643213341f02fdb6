"""`SearchCV`: scikit-learn's randomised search, with methods that need fewer candidates."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring, get_scorer
from sklearn.model_selection import RandomizedSearchCV, check_cv
from sklearn.utils import indexable
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.parallel import Parallel, delayed

from auctor.core.checks import check_int, check_real
from auctor.core.errors import DataError, DataWarning, ParameterError, speaks, warn
from auctor.core.optional import require
from auctor.core.rng import as_rng
from auctor.core.types import FloatArray
from auctor.tune.estimators.folds import Fitting
from auctor.tune.methods import BudgetSpent, SearchMethod, resolve_method, search_random
from auctor.tune.space import Space
from auctor.tune.table import ScoredParameters, cannot_win, cv_results, mean_score
from auctor.tune.warm_starts import Starts

#: Folds of a candidate that are evaluated before the others may be skipped.
FIRST_FOLDS = 2


@dataclass(eq=False, repr=False, kw_only=True)
class SearchCV(RandomizedSearchCV):  # type: ignore[misc]
    """Tune parameters by cross-validation in few evaluations.

    A replacement of `sklearn.model_selection.RandomizedSearchCV` with the same results, refit and
    scoring; candidates come from a model of the scores instead of a random generator.

    Parameters
    ----------
    estimator : estimator
    space : mapping
        As in `auctor.tune.Space`: `Float`, `Integer`, `Categorical`, `Conditional`, lists, scipy
        distributions. A list of such mappings is searched at random, with a warning.
    scoring : str, callable, list, tuple or dict, optional
    cv : int, splitter or iterable
    budget : int
        Number of candidates.
    method : {"dfo-tr", "random", "nelder-mead", "tpe", "gp"} or object
        The search method; all use the same folds. "tpe" and "gp" need the extra ``tune``. An object
        has a method `search`, as `DfoTr` has.
    start : mapping, optional
        Parameters of the first candidate; the centre of the space by default.
    cut_folds : bool
        Whether to skip the remaining folds of a candidate that would stay below the best even with
        the best score of any candidate on each of them. Its ``mean_test_score`` is then the mean of
        the best candidate plus the mean difference on their common folds; skipped folds are NaN.
    warm_starts : bool
        Whether estimators of auctor whose ``strength`` is tuned start from the fitted model of the
        nearest strength on the same fold. The solutions of convex problems do not depend on it.
    timeout : float, optional
        Seconds after which the fit of one fold counts as failed. It continues in a background
        thread, because Python cannot stop a thread.
    max_seconds : float, optional
        Time limit of the search; the candidate that is being evaluated is finished.
    batch : int, optional
        Number of candidates evaluated at a time, one by default.
    n_iter : int, optional
        Another name for ``budget``, as in `RandomizedSearchCV`.
    param_distributions : mapping, optional
        Another name for ``space``, as in `RandomizedSearchCV`.
    pre_dispatch : int or str
        Number of fits that are sent to workers at a time, as in joblib.
    refit : bool, str or callable
    n_jobs : int, optional
    random_state : int, optional
    error_score : "raise" or float
        Score of a fold that raises or takes too long. In any case the candidate counts as failed,
        its score is not used by the search, and a warning at the end has the number of failures.
    return_train_score : bool
    verbose : int
        Ignored, for compatibility; nothing is printed. Use ``on_step``.
    on_step : callable, optional
        Called after every candidate with its number, parameters and mean score (a dict); returning
        True ends the search.

    Attributes
    ----------
    cv_results_, best_index_, best_params_, best_score_, best_estimator_, scorer_, n_splits_
        As in scikit-learn.
    n_failed_ : int
        Number of candidates with a fold that raised, took too long or had no finite score.
    n_folds_cut_ : int
        Number of skipped folds.

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

    estimator: Any = field(kw_only=False)
    space: Any = field(default=None, kw_only=False)
    scoring: Any = None
    cv: Any = 5
    budget: int = 50
    method: Any = "dfo-tr"
    start: Mapping[str, Any] | None = None
    cut_folds: bool = True
    warm_starts: bool = True
    timeout: float | None = None
    max_seconds: float | None = None
    batch: int | None = None
    n_iter: int | None = None
    param_distributions: Any = None
    pre_dispatch: Any = "2*n_jobs"
    refit: Any = True
    n_jobs: int | None = None
    random_state: Any = None
    error_score: Any = np.nan
    return_train_score: bool = False
    verbose: int = 0
    on_step: Callable[[dict[str, Any]], object] | None = None

    @speaks
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Search, and refit the best candidate on all rows.

        Parameters
        ----------
        X, y
            As in `fit` of the estimator.
        **params
            ``groups`` is passed to the splitter; all others to `fit` of the estimator, reduced to
            the rows of each fold. ``sample_weight`` is passed to the scorer too.
        """
        scorer, weighted = weighted_scorer(self.estimator, self.scoring, self.error_score)
        to_split, to_fit, to_score = self._routed(params, weighted)
        X, y = indexable(X, y)
        # All candidates share the same folds.
        splitter = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        splits = list(splitter.split(X, y, **to_split))
        space, method = self._space()
        seed = 0 if self.random_state is None else int(as_rng(self.random_state).integers(2**31))
        budget = self.budget if self.n_iter is None else self.n_iter
        check_int("budget", budget, low=1)
        batch = 1 if self.batch is None else check_int("batch", self.batch, low=1)
        if self.timeout is not None:
            check_real("timeout", self.timeout, low=0.0, open_low=True)
        fitting = Fitting(
            self.estimator,
            scorer,
            self.refit if isinstance(self.refit, str) else None,
            X,
            y,
            X.shape[0] if hasattr(X, "shape") else len(X),
            to_fit,
            to_score,
            self.error_score,
            self.return_train_score,
            self.timeout,
        )
        run = _Evaluation(self, fitting, splits, space, budget, as_rng(seed))
        start = np.full(space.dims, 0.5) if self.start is None else space.encode(self.start)
        # Methods run until the evaluator raises; a space of constants has one candidate.
        try:
            if space.dims:
                method(run.evaluate, space, start=start, batch=batch, seed=seed)
            else:
                run.evaluate([np.zeros(0)])
        except BudgetSpent:
            pass
        self._keep(run, X, y, to_fit)
        return self

    def _routed(self, params: dict[str, Any], weighted: bool) -> tuple[dict[str, Any], ...]:
        """The parameters for the splitter, for `fit` and for the scorer."""
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **params)
            return routed.splitter.split, routed.estimator.fit, routed.scorer.score
        arguments = {name: value for name, value in params.items() if value is not None}
        groups = arguments.pop("groups", None)
        if "sample_weight" in arguments and not weighted:
            message = DataWarning(
                does="weights rows in fits but not in scores, because the scorer takes no weights. "
                "Give the scorer an argument sample_weight."
            )
            warn(message)
        weight = (
            {"sample_weight": arguments["sample_weight"]} if "sample_weight" in arguments else {}
        )
        return {"groups": groups}, arguments, weight if weighted else {}

    def _space(self) -> tuple[Space, SearchMethod]:
        """The space and the method; a list of spaces is searched at random."""
        method = resolve_method(self.method)
        described = self.param_distributions if self.space is None else self.space
        if isinstance(described, list | tuple):
            if not described:
                raise DataError("a space; got an empty list. Pass parameters.")
            warning = DataWarning(
                does="searches a list of spaces at random, because a model needs a single space. "
                "Pass one space with Conditional parameters, or tune each space by itself."
            )
            warn(warning)
            return _Several([Space(one) for one in described]), search_random
        space = Space(described)
        conditional = space.warning()
        if conditional is not None:
            warn(conditional)
        return space, method

    def _keep(self, run: _Evaluation, X: Any, y: Any, given: dict[str, Any]) -> None:
        """Set the results, the best candidate, and the refitted estimator."""
        metrics = run.metrics
        self.multimetric_ = metrics != ["score"]
        self.n_splits_ = len(run.splits)
        self.cv_results_ = cv_results(run.candidates, metrics, self.n_splits_)
        self.n_failed_ = sum(bool(one.errors) for one in run.candidates)
        self.n_folds_cut_ = sum(self.n_splits_ - len(one.folds) for one in run.candidates)
        if self.multimetric_ and self.refit is not False and not callable(self.refit):
            _check_refit_name(self.refit, metrics)
        # A list of metrics has a scorer for each, a dict its own, otherwise one.
        self.scorer_ = (
            {name: get_scorer(name) for name in metrics}
            if self.multimetric_ and isinstance(self.scoring, list | tuple | set)
            else dict(self.scoring)
            if isinstance(self.scoring, Mapping)
            else check_scoring(self.estimator, scoring=self.scoring)
        )
        if (failed := self._failures(run.candidates)) is not None:
            warn(failed)
        if self.refit is False and self.multimetric_:
            return
        # The best candidate by rank, or by the user's function of the results.
        suffix = self.refit if self.multimetric_ else "score"
        if callable(self.refit):
            self.best_index_ = _checked_index(self.refit(self.cv_results_), len(run.candidates))
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

    def _failures(self, candidates: list[ScoredParameters]) -> DataWarning | None:
        """A warning about failed candidates, None if there are none; raises if all failed."""
        if not self.n_failed_:
            return None
        first = next(one.errors[0] for one in candidates if one.errors)
        if self.n_failed_ == len(candidates):
            raise DataError(
                f"a candidate that can be fitted and scored; got {self.n_failed_} that all failed, "
                f"the first with {first}. Pass `error_score='raise'` to see where."
            )
        return DataWarning(
            does=f"leaves out {self.n_failed_} of {len(candidates)} candidates that failed, the "
            f"first with {first}. Pass `error_score='raise'` to see where."
        )

    @speaks
    def plot_history(self, ax: Any = None) -> Any:
        """Scores of the candidates in order and the best so far; needs the extra ``plots``."""
        metric = self.refit if self.multimetric_ and isinstance(self.refit, str) else "score"
        scores = self.cv_results_[f"mean_test_{metric}"]
        if ax is None:
            ax = require("matplotlib.pyplot", extra="plots").gca()
        numbers = range(1, len(scores) + 1)
        ax.plot(numbers, scores, "o", label="candidate")
        ax.step(numbers, np.fmax.accumulate(scores), where="post", label="best so far")
        ax.set(xlabel="Candidate", ylabel="Score", title="Search")
        ax.legend()
        return ax


def weighted_scorer(estimator: Any, scoring: Any, error_score: Any) -> tuple[Any, bool]:
    """The scorer of a search, and whether it may be passed ``sample_weight``.

    A single scorer of scikit-learn is made a scorer of one metric by name: that kind passes the
    weights on to metrics that take them, and leaves them out for others.
    """
    several = isinstance(scoring, Mapping | list | tuple | set)
    raises = error_score == "raise"
    if not callable(scoring) or hasattr(scoring, "set_score_request"):
        named = scoring if several else {"score": scoring}
        return check_scoring(estimator, scoring=named, raise_exc=raises or not several), True
    return check_scoring(estimator, scoring=scoring), "sample_weight" in signature(
        scoring
    ).parameters


def _checked_index(index: Any, count: int) -> int:
    """The index of a candidate that a callable ``refit`` returned."""
    if not isinstance(index, int | np.integer) or not 0 <= index < count:
        raise ParameterError(
            f"`refit` to return the index of one of {count} candidates; got {index!r}. Count "
            "from 0."
        )
    return int(index)


def _check_refit_name(refit: Any, metrics: list[str]) -> None:
    """Raise unless ``refit`` names one of several metrics."""
    if not isinstance(refit, str) or refit not in metrics:
        raise ParameterError(
            f"`refit` to name one of the metrics, or to be False or a callable; got {refit!r}. "
            f"Pass one of {', '.join(map(repr, metrics))}."
        )


class _Several(Space):
    """Several spaces, of which one is drawn for each candidate."""

    def __init__(self, spaces: list[Space]) -> None:
        self.spaces = spaces
        self.dims = 1 + max(space.dims for space in spaces)

    @speaks
    def decode(self, u: FloatArray, rng: np.random.Generator | None = None) -> dict[str, Any]:
        """The parameters of the space that the first coordinate selects."""
        picked = self.spaces[min(int(u[0] * len(self.spaces)), len(self.spaces) - 1)]
        return picked.decode(u[1:], rng)


class _Evaluation:
    """The evaluation of the candidates of one `SearchCV.fit`."""

    def __init__(
        self,
        search: SearchCV,
        fitting: Fitting,
        splits: list[tuple[Any, Any]],
        space: Space,
        budget: int,
        rng: np.random.Generator,
    ) -> None:
        self.search, self.fitting = search, fitting
        self.splits, self.space, self.budget, self.rng = splits, space, budget, rng
        self.candidates: list[ScoredParameters] = []
        self.cuts = search.cut_folds and not callable(search.refit)
        self.end = None if search.max_seconds is None else time.monotonic() + search.max_seconds
        self.parallel = Parallel(n_jobs=search.n_jobs, pre_dispatch=search.pre_dispatch)
        self.starts = Starts(len(splits)) if search.warm_starts else None
        self.metrics = _metric_names(search.scoring)

    @property
    def lead(self) -> str:
        """The metric by which candidates are compared."""
        return self.fitting.lead if self.fitting.lead in self.metrics else self.metrics[0]

    @speaks
    def evaluate(self, points: list[FloatArray]) -> list[float]:
        """Minus the mean scores of points; raises `BudgetSpent` when the search must end."""
        left = self.budget - len(self.candidates)
        score = self.search.error_score
        fallback = np.nan if score == "raise" else float(score)
        now = [ScoredParameters(self.space.decode(u, self.rng), fallback) for u in points[:left]]
        # The first folds of all candidates, then the others of those that can still win.
        first = min(FIRST_FOLDS if self.cuts else len(self.splits), len(self.splits))
        self._folds(now, range(first))
        going = [one for one in now if not cannot_win(one, self.candidates, self.lead)]
        self._folds(going if self.cuts else now, range(first, len(self.splits)))
        stop = False
        for one in now:
            one.value = mean_score(one, self.candidates, self.lead, len(self.splits))
            self.candidates.append(one)
            stop = self._call_on_step(one) or stop
        late = self.end is not None and time.monotonic() > self.end
        if stop or late or len(self.candidates) >= self.budget:
            raise BudgetSpent
        return [-one.value for one in now]

    def _folds(self, candidates: list[ScoredParameters], folds: range) -> None:
        """Fit and score candidates on folds, in parallel; stores the results in them."""
        tasks = [(one, k) for one in candidates for k in folds]
        starts = [
            None if self.starts is None else self.starts.nearest(k, one.parameters)
            for one, k in tasks
        ]
        results = self.parallel(
            delayed(self.fitting.run)(one.parameters, self.splits[k], start)
            for (one, k), start in zip(tasks, starts, strict=True)
        )
        for (one, k), result in zip(tasks, results, strict=True):
            if self.starts is not None:
                self.starts.keep(k, one.parameters, result.model)
            one.folds[k] = replace(result, model=None)
            if self.metrics == ["score"]:  # a callable may return several metrics
                names = [name for name in result.scores if name.startswith("test_")]
                self.metrics = [name.removeprefix("test_") for name in names] or self.metrics

    def _call_on_step(self, one: ScoredParameters) -> bool:
        """Call the user's ``on_step``; whether it asks to stop."""
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
