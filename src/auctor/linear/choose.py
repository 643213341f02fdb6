"""``model="auto"``: linear, curves, and curves with pairs compete on the same folds.

The members of an additive model leave out a fold each; the search for the strength of the linear
model has the same folds. Each kind has a score per fold, and the simplest one is taken whose mean
lag behind the best, over these folds, is at most one standard error of that lag.

Metrics of few rows, such as F1 and average precision of rare positives, hardly tell models apart on
one fold. AUC uses every pair of rows, so a kind that is behind in AUC by more than two standard
errors is not taken either: on the six of 56 cells of section ``default_kinds`` of
``benchmarks/results/defaults.md`` in which that changes the kind, it gains .018 on new rows in the
mean and .0003 at least.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from auctor.additive.kinds import CurveKind
from auctor.additive.model import CURVES, PAIRS
from auctor.additive.parameters import AdditiveParameters, check_additive
from auctor.additive.setup import folds_of, in_time
from auctor.additive.train import CurveFolds, explore_additive
from auctor.core.errors import ConvergenceWarning
from auctor.core.protocols import Coupling
from auctor.core.types import FloatArray, IntArray
from auctor.data.matrices import is_dense
from auctor.fit.batch import for_parts
from auctor.fit.folds import stratified_folds
from auctor.fit.metric import resolve_metric
from auctor.fit.model import LINEAR
from auctor.fit.parameters import SearchParameters, check_search, fold_seed, parameters_of
from auctor.fit.result import ClassifierResult, FitOptions, ModelChoice, Split
from auctor.fit.select import StrengthSearch
from auctor.fit.targets import Rows
from auctor.fit.train_model import Plan, train_model
from auctor.fit.validation_curve import MEAN_ROUNDING, mean_and_error
from auctor.tables.encode import one_hot_rows, one_hot_schema
from auctor.tables.schema import Schema

#: Rows, at most, of the folds of the linear model; with more, its strength hardly changes.
MOST_ROWS = 50_000
#: Entries of these rows, at most: 80 MB of floats.
MOST_ENTRIES = 10_000_000
#: Standard errors by which a kind is clearly behind in AUC.
CLEAR_ERRORS = 2.0
#: Share of ``max_seconds`` that the linear model and the members may take; the rest is for the fit.
LINEAR_SHARE, FOLD_SHARE = 0.2, 0.7


@dataclass(eq=False, repr=False, kw_only=True)
class AutoParameters(AdditiveParameters):
    """Parameters of curves, and of the linear model with which they compete."""

    kind: ClassVar[str] = "auctor.linear.choose.AUTO"
    linear: SearchParameters = field(default_factory=SearchParameters)

    def curves(self, *, pairs: bool = True) -> AdditiveParameters:
        """Those of curves alone."""
        values = parameters_of(AdditiveParameters, self)
        return values if pairs else replace(values, interactions=0)


def _choose(params: AutoParameters, rows: Rows, schema: Schema, options: FitOptions) -> Plan:
    """Compare the kinds of models on the folds of the members; an interrupt chooses the linear one.

    Parameters
    ----------
    params : AutoParameters
    rows : Rows
        Encoded for curves, by ``schema``.
    schema : Schema
    options : FitOptions
        Whose ``splits`` are the folds, if there are any.
    """
    begin = time.perf_counter()
    # Labels as keys, where a command line had their texts.
    said = {"class_weight": params.class_weight, "pos_label": params.pos_label}
    params = replace(params, linear=replace(params.linear, **said))
    timed = in_time(params, rows)
    folds = folds_of(timed, rows, options.splits, []) if is_dense(rows.matrix) else []
    if not folds:  # compressed rows, or no rows of a class to hold out
        return Plan(params.linear, schema, _judged(rows, params.linear), options)
    plain = one_hot_schema(schema, rows.matrix) if schema.columns else schema

    def linear_rows(matrix: Any) -> Any:
        return one_hot_rows(schema, plain, matrix) if schema.columns else matrix

    def linear(choice: ModelChoice | None) -> Plan:
        """The linear model, at the strength of its search."""
        goes_on = replace(options, explored=search, choice=choice)
        own = replace(_judged(rows, params.linear), matrix=linear_rows(rows.matrix))
        return Plan(params.linear, plain, own, goes_on, linear_rows)

    sample = _sample(rows, max(plain.n_features, 1), params)
    search = _search(params, rows, folds, sample, linear_rows)
    options = replace(options, splits=None)
    seconds = math.inf if params.max_seconds is None else params.max_seconds
    try:
        search.run(options)
        given = params.curves()
        splits = [(fold.train, fold.test) for fold in folds]
        end = begin + FOLD_SHARE * seconds
        curves = explore_additive(given, rows, replace(options, splits=splits), end)
    except KeyboardInterrupt:
        search.complete = False
        return linear(None)
    choice = _choice(search, curves, sample)
    if choice.name == LINEAR:
        return linear(choice)
    if time.perf_counter() > end:
        curves.warned.append(
            ConvergenceWarning(
                does="ran out of time before every kind of model was compared, and takes the best "
                "so far. Increase `max_seconds`."
            )
        )
    if math.isfinite(seconds):
        curves = curves.until(begin + seconds)
    options = replace(options, explored=curves, choice=choice)
    return Plan(params.curves(pairs=choice.name == PAIRS), schema, rows, options)


def simplest(scores: FloatArray, aucs: FloatArray | None = None) -> int:
    """The first kind whose mean lag behind the best is at most one standard error of that lag.

    Parameters
    ----------
    scores : (kinds, folds) array
        The simplest kind first; NaN where a kind has no score.
    aucs : (kinds, folds) array, optional
        Kinds that are behind by more than `CLEAR_ERRORS` in these are left out.

    Examples
    --------
    >>> scores = np.array([[0.7, 0.8, 0.7], [0.8, 0.9, 0.8], [0.9, 0.9, 0.8]])
    >>> simplest(scores)
    1
    >>> simplest(scores, np.array([[0.6, 0.7, 0.6], [0.7, 0.8, 0.7], [0.9, 0.9, 0.9]]))
    2
    """
    best, near = _near(scores, 1.0 + MEAN_ROUNDING)
    if aucs is not None:
        near &= _near(aucs, CLEAR_ERRORS)[1]
    return int(np.argmax(near)) if near.any() else best


def _near(scores: FloatArray, errors: float) -> tuple[int, npt.NDArray[np.bool_]]:
    """The best kind, and which are behind it by at most so many standard errors of their lag."""
    means = [one[~np.isnan(one)].mean() if not np.isnan(one).all() else -np.inf for one in scores]
    best = int(np.argmax(means))
    near = np.isfinite(means)
    for k, lag in enumerate(scores[best] - scores):
        if k != best:
            mean, error = mean_and_error(lag[~np.isnan(lag)])
            near[k] &= mean <= errors * error
    near[best] = True
    return best, near


def _choice(search: StrengthSearch, curves: CurveFolds, sample: IntArray) -> ModelChoice:
    """The scores of the kinds on every fold, and the simplest one that is as good as the best."""
    scores = {LINEAR: search.scores[:, search.best_index]}
    aucs = [search.held_out_aucs()]
    for name in (CURVES, PAIRS) if curves.has_pairs else (CURVES,):
        pairs = name == PAIRS
        scores[name] = curves.fold_scores(pairs=pairs, among=sample)
        aucs.append(curves.fold_aucs(pairs=pairs, among=sample))
    table = np.array(list(scores.values()))
    return ModelChoice(tuple(scores), table, simplest(table, np.array(aucs)))


def _sample(rows: Rows, width: int, params: AutoParameters) -> IntArray:
    """Rows on which the linear model is tuned: all, or a share of those of every class."""
    most = min(MOST_ROWS, max(MOST_ENTRIES // width, 1_000))
    count = math.ceil(rows.codes.size / most)
    if count < 2:
        return np.arange(rows.codes.size)
    # Another seed than that of the folds, of which the sample would be a part or have no row.
    return next(stratified_folds(rows.codes, count, fold_seed(params) + 1, rows.groups))[1]


def _search(
    params: AutoParameters,
    rows: Rows,
    folds: Sequence[Split],
    sample: IntArray,
    linear_rows: Callable[[Any], Any],
) -> StrengthSearch:
    """The search for the strength of the linear model on the folds of the members."""
    part_params = for_parts(params.linear, rows.total)
    seconds = part_params.max_seconds
    if seconds is not None:
        seconds *= LINEAR_SHARE
    part_params = replace(part_params, refit=False, max_seconds=seconds)
    rows = _judged(rows, part_params)
    part = rows if sample.size == rows.codes.size else rows.take(sample)
    part = replace(part, matrix=linear_rows(part.matrix))
    place = np.full(rows.codes.size, -1)
    place[sample] = np.arange(sample.size)
    splits = [
        (place[train][place[train] >= 0], place[test][place[test] >= 0]) for train, test in folds
    ]
    return StrengthSearch(part_params, part, splits)


def _judged(rows: Rows, params: SearchParameters) -> Rows:
    """The rows without groups for a loss over rows; the folds hold groups together already."""
    goal = resolve_metric(params.metric, params.surrogate)
    row_by_row = goal.loss.coupling is Coupling.ROW and goal.per is None
    return replace(rows, groups=None) if row_by_row else rows


def _check(params: AutoParameters) -> None:
    check_additive(params)
    check_search(params.linear)


def _train(params: AutoParameters, rows: Rows, options: FitOptions) -> ClassifierResult:
    """Choose the kind for columns of numbers, and fit it."""
    schema = Schema((), None, rows.matrix.shape[1])
    plan = _choose(params, rows, schema, options)
    return train_model(plan.params, plan.rows, plan.options)


class AutoKind(CurveKind):
    """The kinds of models that compete, of which `choose` says which one to train."""

    competes = True
    choose = staticmethod(_choose)


AUTO = AutoKind(AutoParameters, _check, _train)
