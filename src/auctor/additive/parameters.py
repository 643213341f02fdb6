"""Additive models: curves of single columns, trained as linear models on binned data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import combinations
from numbers import Integral
from typing import Any, ClassVar, cast

import numpy as np

from auctor.additive.bins import MAX_VALUE_CODES, Bins, PairBins, levels_of, most_levels
from auctor.core.checks import check_choice, check_int, check_real, meant
from auctor.core.errors import ParameterError
from auctor.core.protocols import Penalty
from auctor.core.types import FloatArray, IntArray
from auctor.fit.parameters import (
    RULES,
    ClassifierParameters,
    LinearParameters,
    RegressorParameters,
    SearchParameters,
    check_classifier,
    check_regressor,
)
from auctor.penalties import BoundedElasticNet, GroupL2, SignedGroupL2

#: Names of the penalties on curves.
PENALTIES = ("fused", "group", "smooth")
#: l1 weight of a column's straight line, relative to that of a jump at the median.
LINE_L1 = 0.03
#: Ridge weight of a column's straight line, relative to the l1 weight of a jump at the median.
LINE_RIDGE = 1.0
#: Ridge weight of the line relative to that of a jump, for the penalty "smooth".
SMOOTH_LINE = 0.01
#: Smallest over largest strength that "auto" tries with "smooth".
SMOOTH_CURVE_RATIO = 1e-6
#: Smallest over largest strength that "auto" tries with the other penalties.
KINKED_CURVE_RATIO = 1e-5


@dataclass(eq=False, repr=False, kw_only=True)
class CurveParameters:
    """Parameters of the curves; `auctor.AdditiveClassifier` describes them."""

    n_bins: int = 32
    monotone: Any = None
    interactions: int = 0
    n_strengths: int = 15
    cv: Any = 5
    rule: str = "best"


@dataclass(eq=False, repr=False, kw_only=True)
class AdditiveParameters(CurveParameters, ClassifierParameters):
    """Parameters of `auctor.AdditiveClassifier`."""

    estimator_name: ClassVar[str] = "AdditiveClassifier"
    penalty: Any = "fused"
    threshold_cv: Any = "auto"
    strength: Any = "auto"
    l1_ratio: None = field(default=None, init=False)
    standardise: bool = field(default=False, init=False)


@dataclass(eq=False, repr=False, kw_only=True)
class AdditiveRegressorParameters(CurveParameters, RegressorParameters):
    """Parameters of `auctor.AdditiveRegressor`."""

    estimator_name: ClassVar[str] = "AdditiveRegressor"
    penalty: Any = "fused"
    strength: Any = "auto"
    l1_ratio: None = field(default=None, init=False)
    standardise: bool = field(default=False, init=False)


def check_curves(given: CurveParameters) -> None:
    """Raise for invalid parameters of the curves."""
    check_int("n_bins", given.n_bins, low=2)
    check_real("n_bins", given.n_bins, low=2, high=MAX_VALUE_CODES)
    check_int("interactions", given.interactions, low=0)
    check_int("n_strengths", given.n_strengths, low=1)
    if isinstance(given.cv, Integral):
        check_int("cv", given.cv, low=2)
    check_choice("rule", given.rule, RULES)
    check_choice("penalty", cast(LinearParameters, given).penalty, PENALTIES)


def check_additive(given: AdditiveParameters) -> None:
    """Raise for invalid parameters of an additive classifier."""
    check_curves(given)
    folds = None if auto_folds(given) else given.threshold_cv
    part = linear_parameters(ClassifierParameters, given, "l2", _number(given), threshold_cv=folds)
    check_classifier(part)


def check_additive_regressor(given: AdditiveRegressorParameters) -> None:
    """Raise for invalid parameters of an additive regressor."""
    check_curves(given)
    check_regressor(linear_parameters(RegressorParameters, given, "l2", _number(given)))


def auto_strength(given: LinearParameters) -> bool:
    """Whether the strength is to be picked by cross-validation."""
    return isinstance(given.strength, str) and given.strength == "auto"


def auto_folds(given: AdditiveParameters) -> bool:
    """Whether ``threshold_cv`` is "auto"."""
    return isinstance(given.threshold_cv, str) and given.threshold_cv == "auto"


def _number(given: LinearParameters) -> Any:
    return 1.0 if auto_strength(given) else given.strength


def linear_parameters(
    kind: Any, given: LinearParameters, penalty: Any, strength: float, **more: Any
) -> Any:
    """Parameters, of class ``kind``, of the linear fit on binned data that fits the curves.

    Values come from ``given``, but for ``penalty``, ``strength`` and ``more``. Columns are not
    standardised: the weights of the penalty take their place.
    """
    own = {"penalty": penalty, "strength": strength, "l1_ratio": None, "standardise": False}
    named = {
        one.name: own[one.name] if one.name in own else getattr(given, one.name)
        for one in fields(kind)
        if one.init and (one.name in own or hasattr(given, one.name))
    }
    return kind(**(named | more))


def search_parameters(given: AdditiveParameters, penalty: Penalty, strengths: Any) -> Any:
    """The parameters of a cross-validated search for the strength."""
    return linear_parameters(
        SearchParameters, given, penalty, 1.0, strengths=strengths, ratio=KINKED_CURVE_RATIO
    )


# --- signs ----------------------------------------------------------------------------------------


def read_monotone(monotone: Any, names: Sequence[str] | None, n_columns: int) -> IntArray:
    """Direction of every column: 1 rising, -1 falling, 0 free.

    Parameters
    ----------
    monotone : mapping of a name or number of a column to its direction, sequence, or None
    names : names of the columns, if they have any
    n_columns : int
    """
    signs = np.zeros(n_columns, dtype=np.int64)
    if monotone is None:
        return signs
    if isinstance(monotone, Mapping):
        for key, sign in monotone.items():
            signs[_column(key, names, n_columns)] = _sign(key, sign)
        return signs
    given = list(monotone) if isinstance(monotone, Sequence | np.ndarray) else None
    if given is None or isinstance(monotone, str) or len(given) != n_columns:
        raise ParameterError(
            f"{{option}} to be a dict, or one of -1, 0 and 1 for each of {n_columns} columns",
            got=f"{monotone!r}",
            todo='Pass something like {"age": 1, "income": -1}.',
            option="monotone",
        )
    return np.array([_sign(k, sign) for k, sign in enumerate(given)], dtype=np.int64)


def _column(key: Any, names: Sequence[str] | None, n_columns: int) -> int:
    """The number of the column that a key of ``monotone`` names."""
    if names is not None and key in names:
        return list(names).index(key)
    if isinstance(key, int | np.integer) and 0 <= key < n_columns:
        return int(key)
    known = f"one of the columns {', '.join(map(str, list(names)[:10]))}" if names else "a column"
    raise ParameterError(
        f"{{option}} to name {known}{'' if names else f' by number, 0 to {n_columns - 1}'}",
        got=f"{key!r}",
        todo=meant(key, names or ()) + "Name a column of the rows.",
        option="monotone",
    )


def _sign(key: Any, sign: Any) -> int:
    """A direction of ``monotone`` as -1, 0 or 1."""
    if sign not in (-1, 0, 1):
        raise ParameterError(
            f"the direction of {key!r} in {{option}} to be 1, -1 or 0",
            got=f"{sign!r}",
            todo="Pass 1 for a rising curve, -1 for a falling one.",
            option="monotone",
        )
    return int(sign)


# --- penalties ------------------------------------------------------------------------------------


def curve_penalty(
    name: str,
    bins: Bins,
    signs: IntArray,
    line_weights: tuple[float, float] = (LINE_L1, LINE_RIDGE),
) -> Penalty:
    """The penalty of the curves, with a strength of one.

    A jump with a share q of the rows above it has the weight ``2 sqrt(q (1 - q))``, twice the
    standard deviation of its indicator, which is 1 at the median. The l1 norm of the jumps is the
    total variation of the curve. ``line_weights`` are the l1 and the ridge weight of the lines.
    """
    weight, line = np.empty(bins.n_params), np.zeros(bins.n_params, dtype=bool)
    lower, upper = np.full(bins.n_params, -np.inf), np.full(bins.n_params, np.inf)
    for k, (part, book) in enumerate(zip(bins.parts, bins.books, strict=True)):
        here = slice(int(bins.bounds[k]), int(bins.bounds[k + 1]))
        steps = list(book.steps)
        # Share of the training rows at each code or above it.
        above = np.cumsum(part.share[::-1])[::-1]
        share = np.concatenate([above[steps], part.share[list(book.own)]])
        jumps = 2.0 * np.sqrt(share * (1.0 - share).clip(0.0))
        weight[here] = jumps if book.line is None else np.append(line_weights[0], jumps)
        line[here.start : here.stop - jumps.size] = True
        if k < signs.size and signs[k]:
            bound = lower if signs[k] > 0 else upper
            # A monotone curve has a line and jumps of one sign. The weight of missing values comes
            # last and stays free: it has no place in the order of the values.
            bound[here.start : here.stop - len(book.own)] = 0.0
    weight = np.maximum(weight, 1e-3)  # parameters of very few rows are penalised, too
    if name == "group":
        # One group per column or pair, so that whole curves leave the model.
        parts = [
            list(range(int(a), int(b)))
            for a, b in zip(bins.bounds[:-1], bins.bounds[1:], strict=True)
            if b > a
        ]
        bound = np.isfinite(lower).astype(np.int64) - np.isfinite(upper)
        return SignedGroupL2(1.0, parts, bound) if bound.any() else GroupL2(1.0, parts)
    if name == "smooth":
        ridge = np.where(line, SMOOTH_LINE, 1.0)
        return BoundedElasticNet(1.0, 0.0, ridge, lower=lower, upper=upper)
    return BoundedElasticNet(
        1.0, weight, np.where(line, line_weights[1], 0.0), lower=lower, upper=upper
    )


def smooth_strengths(data: Any, weight: FloatArray | None, count: int) -> FloatArray:
    """Strengths of a ridge to try, decreasing from the mean squared norm of a row."""
    lengths = data.row_lengths(np.ones(data.n_columns))
    top = float(np.average(lengths, weights=weight)) or 1.0
    return np.geomspace(top, top * SMOOTH_CURVE_RATIO, count)


# --- pairs of columns -----------------------------------------------------------------------------


def screen_pairs(
    bins: Bins,
    codes: Any,
    gradients: FloatArray,
    count: int,
    free: IntArray,
    weight: FloatArray | None,
) -> list[PairBins]:
    """The pairs of columns whose cells would lower the loss most, by a second-order estimate.

    A weight for one cell lowers the loss by about ``g^2 / (2 h share)``: g is the sum of the
    gradients over the rows of the cell, share their weight, h the curvature per row, which is
    taken as equal everywhere and dropped. The gradients are those at the fitted curves of single
    columns, so that only what those curves leave unexplained counts. One histogram over the rows
    per pair.

    Parameters
    ----------
    bins : Bins
    codes : (columns, n) array
        Codes of the training rows.
    gradients : (n, k) array
        Gradient of the loss in the scores, a column for each score.
    count : int
        Pairs to return.
    free : int array
        Columns that may take part.
    weight : (n,) array, optional
    """
    n = codes.shape[1]
    most = most_levels(n, weight)
    mass = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    levels = {int(j): levels_of(bins.columns[j], most) for j in free}
    lines = {j: level[codes[j]].astype(np.int64) for j, level in levels.items()}
    found: list[tuple[float, int, int, FloatArray]] = []
    for j, k in combinations(levels, 2):
        cells = lines[j] * (int(levels[k][-1]) + 1) + lines[k]
        size = (int(levels[j][-1]) + 1) * (int(levels[k][-1]) + 1)
        share = np.bincount(cells, mass, minlength=size).astype(np.float64)
        there = share > 0.0
        gain = 0.0
        for gradient in gradients.T:
            total = np.bincount(cells, gradient, minlength=size)[there]
            gain += float((total**2 / share[there]).sum())
        # Per degree of freedom: more cells lower the loss by chance alone.
        found.append((gain / max(1, int(there.sum()) - 1), j, k, share))
    found.sort(key=lambda entry: (-entry[0], entry[1], entry[2]))
    return [PairBins(j, k, (levels[j], levels[k]), share) for _, j, k, share in found[:count]]


def pair_columns(bins: Bins, signs: IntArray) -> IntArray:
    """Columns that may be part of a pair: those with several values and no fixed direction."""
    several = np.array([not column.constant for column in bins.columns])
    return np.flatnonzero(several & (signs == 0))


def contributions(bins: Bins, theta: FloatArray, codes: Any) -> FloatArray:
    """What each column or pair adds to the scores, minus its training mean: (n, parts)."""
    found = []
    for part, table, line in zip(bins.parts, bins.tables(theta), codes, strict=True):
        found.append(table[line] - float(part.share @ table))
    return np.column_stack(found)
