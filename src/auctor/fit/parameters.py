"""The parameters of a fit, with the names that users type, and their checks.

A training function takes an instance of these classes, never an estimator. The estimators have the
same parameters with the same defaults, which a test compares.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.errors import ParameterError
from auctor.core.protocols import Penalty
from auctor.core.rng import as_rng
from auctor.fit.calibrate import KINDS
from auctor.fit.metric import resolve_cut, resolve_metric
from auctor.fit.registry import resolve_loss, resolve_penalty
from auctor.minimise import check_solver
from auctor.solvers.registry import SOLVERS

#: Ways to average a metric over several classes.
AVERAGES = ("macro", "micro", "weighted")
#: Rules that pick a strength from the mean scores over the folds.
RULES = ("best", "one_standard_error")
#: Largest ``n_threads`` in a model file, more than any machine has.
MOST_THREADS = 4096


@dataclass(eq=False, repr=False, kw_only=True)
class LinearParameters:
    """Parameters of every linear fit; `auctor.MetricClassifier` describes them."""

    #: Name of the estimator that has these parameters, which model files have, too.
    estimator_name: ClassVar[str] = "MetricClassifier"
    #: Dotted path of the kind of the models, which says how they are fitted.
    kind: ClassVar[str] = "auctor.fit.train_model.LINEAR_CLASSIFIER"
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

    estimator_name: ClassVar[str] = "LinearRegressor"
    kind: ClassVar[str] = "auctor.fit.train_model.LINEAR_REGRESSOR"
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
    prior: float | None = None
    average: str = "macro"
    pos_label: Any = None


@dataclass(eq=False, repr=False, kw_only=True)
class SearchParameters(ClassifierParameters):
    """Parameters of `auctor.MetricClassifierCV`, which picks the strength by cross-validation."""

    estimator_name: ClassVar[str] = "MetricClassifierCV"
    kind: ClassVar[str] = "auctor.fit.train_model.LINEAR_SEARCH"
    strength: float = field(default=1.0, init=False)
    strengths: Any = None
    n_strengths: int | None = None
    ratio: float | None = None
    cv: Any = 5
    scoring: Any = None
    rule: str = "best"
    refit: bool = True


class Parameters(Protocol):
    """A dataclass of parameters, of a linear fit or another one."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


P = TypeVar("P", bound=Parameters)


def parameters_of(kind: type[P], source: Parameters) -> P:
    """An instance of ``kind`` with the values of an object that has at least its fields.

    Examples
    --------
    >>> parameters_of(LinearParameters, ClassifierParameters("f1", tol=0.1)).tol
    0.1
    """
    named = {one.name: getattr(source, one.name) for one in fields(kind) if one.init}
    return kind(**named)


def check_linear(params: LinearParameters) -> None:
    """Raise for invalid values of the parameters that every fit has."""
    if isinstance(params.strength, str):
        raise ParameterError(
            f"`strength` to be a number; got {params.strength!r}. Use MetricClassifierCV, which "
            "finds it by cross-validation, or pass `strength=0.0001`."
        )
    check_real("strength", params.strength, low=0.0)
    check_real("tol", params.tol, low=0.0)
    check_int("max_iter", params.max_iter, low=1)
    check_int("verbose", params.verbose)
    for name in ("fit_intercept", "warm_start"):
        check_bool(name, getattr(params, name))
    if isinstance(params.standardise, str):
        check_choice("standardise", params.standardise, ("auto",))
    else:
        check_bool("standardise", params.standardise)


def check_regressor(params: RegressorParameters) -> None:
    """Raise for invalid parameters of a regressor."""
    check_linear(params)
    check_work(params)
    resolve_loss(params.loss)
    resolve_penalty(params.penalty, params.strength, params.l1_ratio)


def check_classifier(params: ClassifierParameters) -> None:
    """Raise for invalid parameters of a classifier."""
    check_linear(params)
    if params.surrogate != "exact":  # whose solver needs no derivatives: see `check_maximiser`
        check_work(params)
    resolve_metric(params.metric, params.surrogate)
    resolve_penalty(params.penalty, params.strength, params.l1_ratio)
    if states_cut(params):
        resolve_cut(params.threshold)
    if params.threshold_cv is not None:
        check_int("threshold_cv", params.threshold_cv, low=2)
    if params.calibrate is not None:
        check_choice("calibrate", params.calibrate, tuple(KINDS))
    if params.prior is not None:
        check_real("prior", params.prior, low=0.0, high=1.0, open_low=True, open_high=True)
    check_choice("average", params.average, AVERAGES)


def check_search(params: SearchParameters) -> None:
    """Raise for invalid parameters of a search for the strength."""
    check_classifier(params)
    if params.n_strengths is not None:
        check_int("n_strengths", params.n_strengths, low=1)
    check_choice("rule", params.rule, RULES)
    if params.ratio is not None:
        check_real("ratio", params.ratio, low=0.0, high=1.0, open_low=True, open_high=True)
    check_bool("refit", params.refit)
    unit_penalty(params)


def check_work(params: LinearParameters) -> None:
    """Raise for an unknown solver or too many threads."""
    check_solver(params.solver, SOLVERS)
    if params.n_threads is not None:
        count = check_int("n_threads", params.n_threads, low=1)
        check_real("n_threads", count, high=MOST_THREADS)


def check_bool(name: str, value: object) -> None:
    """Raise for a value that is neither a bool nor an int."""
    if not isinstance(value, bool | np.bool_ | int):
        raise ParameterError(f"`{name}` to be True or False; got {value!r}. Pass a bool.")


def states_cut(params: ClassifierParameters) -> bool:
    """Whether ``threshold`` is given, instead of "auto", the rule of the metric."""
    return not (isinstance(params.threshold, str) and params.threshold == "auto")


def unit_penalty(params: LinearParameters) -> Penalty:
    """The penalty with a strength of one, which paths multiply by their strengths."""
    return resolve_penalty(params.penalty, 1.0, params.l1_ratio).with_strength(1.0)


def generator(params: LinearParameters) -> np.random.Generator:
    """Random generator of one fit; without ``random_state`` the seed is 0, for repeatable fits."""
    return as_rng(0 if params.random_state is None else params.random_state)


def fold_seed(params: LinearParameters) -> int:
    """Seed for splitting rows into folds."""
    return int(generator(params).integers(2**31))
