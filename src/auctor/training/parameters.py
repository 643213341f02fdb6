"""The parameters of a fit, named as users name them, and their checks.

The estimators inherit these dataclasses, so that a parameter and its default are written once. A
training function takes a plain instance, never an estimator.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

import numpy as np

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.errors import Option, ParameterError
from auctor.core.protocols import Penalty
from auctor.core.rng import as_rng
from auctor.solvers.choose import SOLVERS
from auctor.solvers.sparse.path import with_strength
from auctor.training.calibrate import KINDS
from auctor.training.metric import resolve_cut, resolve_metric
from auctor.training.registry import resolve_loss, resolve_penalty

#: Ways to join the scores of several classes.
AVERAGES = ("macro", "micro", "weighted")
#: Ways to pick a strength by its mean score over the folds.
RULES = ("best", "one_standard_error")
#: No machine has more threads; a file that asks for more is refused.
MOST_THREADS = 4096


@dataclass(eq=False, repr=False, kw_only=True)
class LinearParameters:
    """Parameters of every linear fit; `auctor.MetricClassifier` describes them."""

    penalty: Any = "l2"
    strength: float = 1e-4
    l1_ratio: float | None = None
    solver: Any = "auto"
    fit_intercept: bool = True
    standardise: bool | str = "auto"
    tol: float = 1e-4
    max_iter: int = 1000
    max_seconds: float | None = None
    n_threads: int | None = None
    warm_start: bool = False
    random_state: Any = None
    verbose: int = 0


@dataclass(eq=False, repr=False, kw_only=True)
class RegressorParameters(LinearParameters):
    """Parameters of `auctor.LinearRegressor`."""

    loss: Any = field(default="squared", kw_only=False)


@dataclass(eq=False, repr=False, kw_only=True)
class ClassifierParameters(LinearParameters):
    """Parameters of `auctor.MetricClassifier`."""

    metric: Any = field(default="auc", kw_only=False)
    surrogate: str = "auto"
    threshold: float | str = "auto"
    threshold_cv: int | None = None
    class_weight: Any = None
    calibrate: str | None = None
    average: str = "macro"
    pos_label: Any = None


@dataclass(eq=False, repr=False, kw_only=True)
class SearchParameters(ClassifierParameters):
    """Parameters of `auctor.MetricClassifierCV`; it finds the strength itself."""

    strength: float = field(default=1.0, init=False)
    strengths: Any = None
    n_strengths: int | None = None
    ratio: float | None = None
    cv: Any = 5
    scoring: Any = None
    rule: str = "best"
    refit: bool = True


P = TypeVar("P", bound=LinearParameters)


def parameters_of(kind: type[P], source: LinearParameters) -> P:
    """The parameters of one kind that an object with the same fields has.

    Examples
    --------
    >>> parameters_of(LinearParameters, ClassifierParameters("f1", tol=0.1)).tol
    0.1
    """
    named = {one.name: getattr(source, one.name) for one in fields(kind) if one.init}
    return kind(**named)


def check_linear(who: str, given: LinearParameters) -> None:
    """Refuse values of the parameters that every fit has."""
    if isinstance(given.strength, str):
        raise ParameterError(
            who,
            needs="strength to be a number",
            got=f"{given.strength!r}",
            todo="Use MetricClassifierCV, which finds it by cross-validation, or pass {option}.",
            option=Option("strength", 1e-4),
        )
    check_real(who, "strength", given.strength, low=0.0)
    check_real(who, "tol", given.tol, low=0.0)
    check_int(who, "max_iter", given.max_iter, low=1)
    check_int(who, "verbose", given.verbose)
    for name in ("fit_intercept", "warm_start"):
        check_bool(who, name, getattr(given, name))
    if isinstance(given.standardise, str):
        check_choice(who, "standardise", given.standardise, ("auto",))
    else:
        check_bool(who, "standardise", given.standardise)


def check_regressor(who: str, given: RegressorParameters) -> None:
    """Refuse parameters that a regressor could not be fitted with."""
    check_linear(who, given)
    resolve_loss(who, given.loss)
    resolve_penalty(who, given.penalty, given.strength, given.l1_ratio)


def check_classifier(who: str, given: ClassifierParameters) -> None:
    """Refuse parameters that a classifier could not be fitted with."""
    check_linear(who, given)
    resolve_metric(who, given.metric, given.surrogate)
    resolve_penalty(who, given.penalty, given.strength, given.l1_ratio)
    if states_cut(given):
        resolve_cut(who, given.threshold)
    if given.threshold_cv is not None:
        check_int(who, "threshold_cv", given.threshold_cv, low=2)
    if given.calibrate is not None:
        check_choice(who, "calibrate", given.calibrate, tuple(KINDS))
    check_choice(who, "average", given.average, AVERAGES)


def check_search(who: str, given: SearchParameters) -> None:
    """Refuse parameters that a search for the strength could not be run with."""
    check_classifier(who, given)
    if given.n_strengths is not None:
        check_int(who, "n_strengths", given.n_strengths, low=1)
    check_choice(who, "rule", given.rule, RULES)
    if given.ratio is not None:
        check_real(who, "ratio", given.ratio, low=0.0, high=1.0, open_low=True, open_high=True)
    check_bool(who, "refit", given.refit)
    unit_penalty(who, given)


def check_solver(who: str, given: LinearParameters) -> None:
    """Refuse a solver that does not exist, and more threads than a machine has.

    A fit finds out by itself; a file is checked before it makes a model.
    """
    named = isinstance(given.solver, str) and given.solver in ("auto", *SOLVERS)
    if not named and (isinstance(given.solver, str | type) or not hasattr(given.solver, "step")):
        raise ParameterError(
            who,
            needs="solver to be 'auto', a name or a solver object",
            got=f"{given.solver!r}",
            todo=f"Names: {', '.join(SOLVERS)}.",
        )
    if given.n_threads is not None:
        count = check_int(who, "n_threads", given.n_threads, low=1)
        check_real(who, "n_threads", count, high=MOST_THREADS)


def check_bool(who: str, name: str, value: object) -> None:
    """Refuse what is neither True nor False; 0 and 1 are allowed."""
    if not isinstance(value, bool | np.bool_ | int):
        raise ParameterError(
            who, needs=f"{name} to be True or False", got=f"{value!r}", todo="Pass a bool."
        )


def states_cut(given: ClassifierParameters) -> bool:
    """Whether the user asks for another threshold than the metric's own."""
    return not (isinstance(given.threshold, str) and given.threshold == "auto")


def unit_penalty(who: str, given: LinearParameters) -> Penalty:
    """The penalty with a strength of one, for paths that multiply it."""
    return with_strength(resolve_penalty(who, given.penalty, 1.0, given.l1_ratio), 1.0)


def generator(given: LinearParameters) -> np.random.Generator:
    """Randomness of one fit; by default always the same, so that equal fits are equal."""
    return as_rng(0 if given.random_state is None else given.random_state)


def fold_seed(given: LinearParameters) -> int:
    """Seed for splitting rows into folds."""
    return int(generator(given).integers(2**31))
