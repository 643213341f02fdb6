"""A comparison of classifiers on equal terms: the same folds, strengths and threshold rule.

Every contender gets the same training rows, scaled the same way, and tries the same strengths on
the same inner folds; the grid is extended where its best strength is the first or the last. All are
measured by the same metric, with thresholds by the same rule. A metric at k rows takes the same
share of the rows of every fold (`auctor.fit.batch`).
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from auctor import metrics
from auctor.core.errors import AuctorError, ConvergenceWarning, DataError, speaks_as
from auctor.core.types import Array, FloatArray, IntArray, Target
from auctor.data import as_matrix, wrap
from auctor.data.preparation import standardise
from auctor.evaluate.verdict import LINEAR, Row, compared, is_clear, recommendation, with_delong
from auctor.fit.batch import best_possible, per_row
from auctor.fit.folds import AT_RANDOM, SplitBy, folds_by
from auctor.fit.metric import Goal, resolve_metric
from auctor.fit.registry import resolve_penalty
from auctor.fit.select import SMOOTH_RATIO
from auctor.losses import Logistic
from auctor.metrics.inputs import Inputs
from auctor.problem import Problem
from auctor.solvers import strength_max
from auctor.tables.encode import one_hot_rows, one_hot_schema
from auctor.tables.schema import Schema

#: Libraries that the contenders come from.
OURS = "auctor"
THEIRS = "scikit-learn"
#: Smallest over largest strength of penalties that make models sparse.
SPARSE_RATIO = 1e-4
#: Strengths added at a time beyond an end of the grid where the metric still rises.
EXTRA_STRENGTHS = 3
#: Times that strengths are added, at most.
EXTENSIONS = 2
#: Gain of the last step of a grid, as a share of its range, from which the metric still rises.
RISING_SHARE = 0.01


@dataclass(frozen=True)
class Rules:
    """Settings of a comparison, equal for all contenders.

    Parameters
    ----------
    metric : str
    penalty : {"l2", "l1", "elastic_net"}
    l1_ratio : float, optional
    folds, repeats, inner_folds : int
        Number of outer folds, of repetitions of them, and of inner folds for tuning.
    n_strengths : int
    standardise : bool
    tol, max_seconds : float
        Tolerance and time limit in seconds, per path of strengths, of auctor's fits.
    budget : float, optional
        Seconds after which folds are not drawn anew; they are not either once the verdict is clear.
        A model of another library that would take half as many again is left out.
    n_threads : int, optional
    seed : int
    """

    metric: str = "auc"
    penalty: str = "l2"
    l1_ratio: float | None = None
    folds: int = 5
    repeats: int = 1
    inner_folds: int = 3
    n_strengths: int = 10
    standardise: bool = True
    tol: float = 1e-4
    max_seconds: float | None = None
    budget: float | None = None
    n_threads: int | None = None
    seed: int = 0

    @property
    def objective(self) -> Goal:
        """The metric, resolved."""
        return resolve_metric(self.metric, "auto")


class TuningRows(NamedTuple):
    """Training rows with the folds and strengths to tune on; weights have a mean of about 1."""

    matrix: Any
    hits: Array
    inner: list[tuple[IntArray, IntArray]]
    strengths: FloatArray
    by: SplitBy | None = None
    weight: FloatArray | None = None

    def weight_of(self, index: IntArray) -> FloatArray | None:
        """The weights of some rows, if they have weights."""
        return None if self.weight is None else self.weight[index]


class TunedContender(NamedTuple):
    """A tuned and fitted contender.

    ``scores`` maps new rows to scores, above 0 where the positive class is predicted. ``strength``
    is the one picked. ``on_edge`` says that the metric was still rising at the end of the grid.
    """

    scores: Callable[[Any], FloatArray]
    strength: float = math.nan
    on_edge: bool = False


class Contender(NamedTuple):
    """A model to compare: its name, its library, and how it is tuned and fitted to `TuningRows`.

    ``early`` is the class of the warning that a fit gives when it stops before its tolerance.
    ``kind`` is one of those of `auctor.evaluate.verdict`, the order of simplicity. ``raw`` rows
    are those of the table, not scaled, with levels of categories and missing values.
    """

    name: str
    library: str
    fit: Callable[[TuningRows, Rules], TunedContender]
    early: type[Warning] = ConvergenceWarning
    kind: str = LINEAR
    raw: bool = False


class Contest(NamedTuple):
    """The outcome of a comparison: a row per contender, and facts about the data.

    ``best`` is the name of the row that the others are compared with, ``best_possible`` the mean
    over the test folds of the metric of a perfect ranking, ``advice`` the recommendation, ``split``
    how the folds were drawn, and ``weighted`` whether rows had weights.
    """

    rows: tuple[Row, ...]
    best: str
    n_rows: int
    n_columns: int
    positives: int
    best_possible: float
    advice: str
    repeats: int = 1
    split: str = AT_RANDOM
    weighted: bool = False


@speaks_as("contest")
def contest(
    matrix: Any,
    hits: Array,
    contenders: list[Contender],
    rules: Rules,
    on_stage: Callable[[str, int, int], None] = lambda name, done, total: None,
    by: SplitBy | None = None,
    schema: Schema | None = None,
    weight: FloatArray | None = None,
) -> Contest:
    """Tune, fit and measure every contender on every fold.

    Parameters
    ----------
    matrix : (n, d) array or CSR matrix
    hits : (n,) bool array
        Which rows are positive.
    contenders : list of Contender
        Those of auctor first.
    rules : Rules
    schema : Schema, optional
        Of rows as additive models read them; all but ``raw`` contenders get zeros and ones.
    on_stage : callable, optional
        Called with the name of the contender, the number of fits done and their total.
    by : SplitBy, optional
        Times and groups that all folds follow.
    weight : (n,) array, optional
        By which all contenders and metrics count the rows.
    """
    if weight is not None:
        weight = weight / weight.mean()
    _check_rows(hits, rules)
    rules = replace(rules, metric=per_row(rules.metric, hits.size))
    measured: dict[str, list[_HeldOutResult]] = {c.name: [] for c in contenders}
    refused: dict[str, str] = {}
    possible: list[float] = []
    done, total = 0, len(contenders) * rules.folds * rules.repeats
    begin = time.perf_counter()
    slow: dict[str, str] = {}
    for number, (train, test) in enumerate(outer_folds(hits, rules, by)):
        if rules.budget is not None and number and number % rules.folds == 0:
            rows = [_row(c, measured[c.name]) for c in contenders if c.name not in refused | slow]
            spent = time.perf_counter() - begin
            if is_clear(*compared(rows, rules.folds)) or spent * (1.0 + rules.folds / number) > (
                rules.budget
            ):
                break
        raw = matrix[train], matrix[test]
        X, held = _scaled(*_plain(*raw, schema), rules)
        mass, counted = (None if weight is None else weight[index] for index in (train, test))
        possible.append(best_possible(rules.objective, hits[test], counted))
        inner_by = None if by is None else by.take(train)
        part = make_tuning_rows(X, hits[train], rules, inner_by, mass)
        # Kernels are compiled before the first fit, so that no contender's time includes it.
        for contender in contenders if not done else ():
            if contender.library == OURS:
                on_stage("compiling", 0, 1)
                _warm_up(contender, part._replace(matrix=raw[0]) if contender.raw else part, rules)
        for contender in contenders:
            on_stage(contender.name, done, total)
            done += 1
            if contender.name in refused or contender.name in slow:
                continue
            rows_of, held_of = part, held
            if contender.raw:
                rows_of, held_of = part._replace(matrix=raw[0]), raw[1]
            try:
                contender_scores = _measure(contender, rows_of, held_of, hits[test], rules, counted)
                measured[contender.name].append(contender_scores)
                needed = (
                    0.0 if contender.library == OURS else contender_scores.seconds * rules.folds
                )
                if rules.budget is not None and needed > 1.5 * rules.budget and not number:
                    slow[contender.name] = (
                        f"It would take {needed:.0f} seconds; a number of repeats lifts the limit."
                    )
            except (AuctorError, ValueError) as error:
                # The others go on; the table shows the reason in place of numbers.
                refused[contender.name] = " ".join(str(error).split())
    refused |= slow
    rows = [
        Row(c.name, c.library, c.kind, refused=refused[c.name])
        if c.name in refused
        else _row(c, measured[c.name])
        for c in contenders
    ]
    table, best = compared(rows, rules.folds)
    if rules.metric == "auc":
        held = {name: [fold.held for fold in found] for name, found in measured.items()}
        table = with_delong(table, best, held, rules.folds)
    n, d = matrix.shape
    best_mean = float(np.mean(possible))
    split = AT_RANDOM if by is None else by.described
    advice = f"{recommendation(table, best)} Folds: {split}."
    return Contest(
        tuple(table), best, n, d, int(hits.sum()), best_mean, advice, len(possible) // rules.folds,
        split, weight is not None,
    )  # fmt: skip


def _plain(train: Any, held: Any, schema: Schema | None) -> tuple[Any, Any]:
    """Rows as zeros and ones without missing values, by the training rows, which are copied."""
    if schema is None or not schema.columns:
        return train.copy(), held
    plain = one_hot_schema(schema, train)
    made = one_hot_rows(schema, plain, train)
    return made.copy() if made is train else made, one_hot_rows(schema, plain, held)


class _HeldOutResult(NamedTuple):
    """Metrics and seconds of one contender on one test fold, and its scores there."""

    value: float
    auc: float
    prbep: float
    f1: float
    seconds: float
    strength: float
    early: bool
    on_edge: bool
    held: Inputs


def _check_rows(hits: Array, rules: Rules) -> None:
    """Raise if a class has fewer than two rows per outer fold."""
    smallest = int(min(hits.sum(), hits.size - hits.sum()))
    least = max(rules.folds, 2) * 2
    if smallest < least:
        raise DataError(
            f"at least {least} rows of each class for {rules.folds} folds; got {smallest}. Use "
            "fewer folds, or more rows."
        )


def _warm_up(contender: Contender, part: TuningRows, rules: Rules) -> None:
    """Fit with one inner fold, so that later times exclude compiling and loading kernels.

    All rows are used, because the choice of kernels depends on their number; of raw rows a fold.
    """
    if contender.raw:
        few = part.inner[0][1]
        part = part._replace(
            matrix=part.matrix[few], hits=part.hits[few], by=None, weight=part.weight_of(few)
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            contender.fit(part._replace(inner=part.inner[:1]), rules)
        except (AuctorError, ValueError):
            return  # the measured fit raises the same error


def outer_folds(
    hits: Array, rules: Rules, by: SplitBy | None = None
) -> Iterator[tuple[IntArray, IntArray]]:
    """Training and test rows of every outer fold, repetition by repetition."""
    seeds = np.random.default_rng(rules.seed).integers(2**31, size=rules.repeats)
    for seed in (rules.seed, *seeds[1:].tolist()):
        yield from folds_by(hits.astype(np.int64), rules.folds, seed, None, by)


def make_tuning_rows(
    X: Any, hits: Array, rules: Rules, by: SplitBy | None = None, weight: FloatArray | None = None
) -> TuningRows:
    """Training rows, already scaled, with the inner folds and strengths that all tune on."""
    return TuningRows(X, hits, _inner(hits, rules, by), _grid(X, hits, rules), by, weight)


def _inner(hits: Array, rules: Rules, by: SplitBy | None) -> list[tuple[IntArray, IntArray]]:
    smallest = int(min(hits.sum(), hits.size - hits.sum()))
    count = max(2, min(rules.inner_folds, smallest))
    return list(folds_by(hits.astype(np.int64), count, rules.seed, None, by))


def _scaled(train: Any, held: Any, rules: Rules) -> tuple[Any, Any]:
    """Training and test rows, standardised by the training rows; sparse columns are not centred."""
    if not rules.standardise:
        return train, held
    scaling = standardise(train, centre=True)
    return train, scaling.apply(held)


def _grid(X: Any, hits: Array, rules: Rules) -> FloatArray:
    """Decreasing strengths for all contenders, from one that makes all weights almost zero."""
    data = wrap(as_matrix(X), Target(np.where(hits, 1.0, -1.0)), n_threads=rules.n_threads)
    penalty = resolve_penalty(rules.penalty, 1.0, rules.l1_ratio)
    if penalty.smooth:
        # The mean squared norm of a row.
        top, ratio = float(data.row_lengths(np.ones(data.n_columns)).mean()), SMOOTH_RATIO
    else:
        # The strength from which on all weights are zero, the larger one of two losses.
        losses = (rules.objective.loss, Logistic())
        top = max(strength_max(Problem(loss, penalty, data)) for loss in losses)
        ratio = SPARSE_RATIO
    top = top if top > 0.0 else 1.0
    return np.geomspace(top, top * ratio, rules.n_strengths)


def tuned(strengths: FloatArray, judge: Callable[[FloatArray], FloatArray]) -> tuple[float, bool]:
    """The best of decreasing strengths; the grid is extended where its first or last is best.

    Parameters
    ----------
    strengths : array
        Decreasing; a single strength is not extended.
    judge : callable
        From decreasing strengths to the mean of the metric over the inner folds at each.

    Returns
    -------
    strength : float
        The best one; the largest of several equally good ones.
    on_edge : bool
        Whether the metric still rises at the end of the extended grid.
    """
    grid, means = strengths, judge(strengths)
    for left in reversed(range(EXTENSIONS + 1)):
        best = int(np.nanargmax(means))
        # Stop where the best strength has two neighbours, or where the metric is flat at the end.
        inside = best + 1 if best == 0 else best - 1
        if grid.size < 2 or 0 < best < grid.size - 1:
            break
        rise = float(means[best] - means[inside])
        if not rise > RISING_SHARE * float(np.nanmax(means) - np.nanmin(means)):
            break
        if not left:
            return float(grid[best]), True
        # Continue the geometric grid beyond that end.
        step = float(grid[best] / grid[inside])
        more = grid[best] * step ** np.arange(1, EXTRA_STRENGTHS + 1)
        more = more[::-1] if best == 0 else more
        parts = [(more, judge(more)), (grid, means)]
        grid, means = map(np.concatenate, zip(*(parts if best == 0 else parts[::-1]), strict=True))
    return float(grid[best]), False


def _measure(
    contender: Contender,
    part: TuningRows,
    held: Any,
    truth: Array,
    rules: Rules,
    weight: FloatArray | None,
) -> _HeldOutResult:
    """Tune and fit a contender to a part, timed, and measure it on the held-out rows."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        model = contender.fit(part, rules)
        seconds = time.perf_counter() - start
    scores = model.scores(held)
    return _HeldOutResult(
        value=rules.objective.measure(truth, scores, weight),
        auc=metrics.auc(truth, scores, weight=weight),
        prbep=metrics.prbep(truth, scores, weight=weight),
        f1=metrics.fbeta(truth, scores > 0.0, weight=weight),
        seconds=seconds,
        strength=model.strength,
        early=any(issubclass(w.category, contender.early) for w in caught),
        on_edge=model.on_edge,
        held=Inputs(truth, scores, weight),
    )


def _row(contender: Contender, folds: list[_HeldOutResult]) -> Row:
    """Means over the folds, for the table."""
    values = np.array([fold.value for fold in folds])

    def mean(name: str) -> float:
        return float(np.mean([getattr(fold, name) for fold in folds]))

    return Row(
        contender.name,
        contender.library,
        contender.kind,
        mean=float(values.mean()),
        deviation=float(values.std(ddof=1)) if values.size > 1 else 0.0,
        auc=mean("auc"),
        prbep=mean("prbep"),
        f1=mean("f1"),
        seconds=mean("seconds"),
        strength=float(np.median([fold.strength for fold in folds])),
        stopped_early=sum(fold.early for fold in folds),
        on_edge=sum(fold.on_edge for fold in folds),
        values=tuple(values.tolist()),
    )
