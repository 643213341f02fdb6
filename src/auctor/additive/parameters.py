"""Additive models: curves of single columns, trained as linear models on binned data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, ClassVar, cast

import numpy as np

from auctor.additive.bins import MAX_VALUE_CODES, Bins
from auctor.additive.members import PairRule
from auctor.core.checks import check_choice, check_int, check_real, meant
from auctor.core.errors import Option, ParameterError
from auctor.core.protocols import Penalty
from auctor.core.types import FloatArray, IntArray
from auctor.fit.metric_parts import EXACT
from auctor.fit.parameters import (
    RULES,
    ClassifierParameters,
    LinearParameters,
    RegressorParameters,
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

    n_bins: int | None = None
    interactions: Any = "auto"
    exclude: Any = None
    members: int = 8
    monotone: Any = None
    categorical: Any = "auto"
    n_strengths: int = 15
    cv: Any = None
    rule: str = "best"


@dataclass(eq=False, repr=False, kw_only=True)
class AdditiveParameters(CurveParameters, ClassifierParameters):
    """Parameters of `auctor.AdditiveClassifier`."""

    estimator_name: ClassVar[str] = "AdditiveClassifier"
    kind: ClassVar[str] = "auctor.additive.kinds.CLASSIFIER"
    penalty: Any = "fused"
    threshold_cv: None = field(default=None, init=False)
    strength: Any = "auto"
    l1_ratio: None = field(default=None, init=False)
    standardise: bool = field(default=False, init=False)


@dataclass(eq=False, repr=False, kw_only=True)
class AdditiveRegressorParameters(CurveParameters, RegressorParameters):
    """Parameters of `auctor.AdditiveRegressor`."""

    estimator_name: ClassVar[str] = "AdditiveRegressor"
    kind: ClassVar[str] = "auctor.additive.kinds.REGRESSOR"
    penalty: Any = "fused"
    strength: Any = "auto"
    l1_ratio: None = field(default=None, init=False)
    standardise: bool = field(default=False, init=False)


def check_curves(given: CurveParameters) -> None:
    """Raise for invalid parameters of the curves."""
    if given.n_bins is not None:
        check_int("n_bins", given.n_bins, low=2)
        check_real("n_bins", given.n_bins, low=2, high=MAX_VALUE_CODES)
    if isinstance(given.interactions, str):
        check_choice("interactions", given.interactions, ("auto",))
    elif isinstance(given.interactions, Real):
        check_int("interactions", given.interactions, low=0)
    check_int("members", given.members, low=1)
    check_int("n_strengths", given.n_strengths, low=1)
    if isinstance(given.cv, Integral):
        check_int("cv", given.cv, low=2)
    check_choice("rule", given.rule, RULES)
    check_choice("penalty", cast(LinearParameters, given).penalty, PENALTIES)


def check_additive(given: AdditiveParameters) -> None:
    """Raise for invalid parameters of an additive classifier."""
    check_curves(given)
    check_classifier(linear_parameters(ClassifierParameters, given, "l2", _number(given)))
    if given.surrogate == EXACT:
        raise ParameterError(
            "a loss with a gradient in {option} for curves",
            got=f"{given.surrogate!r}",
            todo='Pass "auto".',
            option=Option("surrogate", bare=True),
        )


def check_additive_regressor(given: AdditiveRegressorParameters) -> None:
    """Raise for invalid parameters of an additive regressor."""
    check_curves(given)
    check_regressor(linear_parameters(RegressorParameters, given, "l2", _number(given)))


def log_loss_trained(given: ClassifierParameters) -> bool:
    """Whether the log-loss is minimised, so that scores are log-odds."""
    return given.surrogate == "auto" and isinstance(given.metric, str)


def auto_strength(given: LinearParameters) -> bool:
    """Whether the strength is to be picked by cross-validation."""
    return isinstance(given.strength, str) and given.strength == "auto"


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
            signs[column_number("monotone", key, names, n_columns)] = _sign(key, sign)
        return signs
    given = list(monotone) if isinstance(monotone, Sequence | np.ndarray) else None
    if given is None or isinstance(monotone, str) or len(given) != n_columns:
        raise ParameterError(
            f"{{option}} to be a dict, or one of -1, 0 and 1 for each of {n_columns} columns",
            got=f"{monotone!r}",
            todo='Pass something like {"age": 1, "income": -1}.',
            option=Option("monotone", bare=True),
        )
    return np.array([_sign(k, sign) for k, sign in enumerate(given)], dtype=np.int64)


def column_number(what: str, key: Any, names: Sequence[str] | None, n_columns: int) -> int:
    """The number of the column that a key in the parameter ``what`` names."""
    if names is not None and key in names:
        return list(names).index(key)
    if isinstance(key, int | np.integer) and 0 <= key < n_columns:
        return int(key)
    known = f"one of the columns {', '.join(map(str, list(names)[:10]))}" if names else "a column"
    raise ParameterError(
        f"{{option}} to name {known}{'' if names else f' by number, 0 to {n_columns - 1}'}",
        got=f"{key!r}",
        todo=meant(key, names or ()) + "Name a column of the rows.",
        option=Option(what, bare=True),
    )


def _sign(key: Any, sign: Any) -> int:
    """A direction of ``monotone`` as -1, 0 or 1."""
    if sign not in (-1, 0, 1):
        raise ParameterError(
            f"the direction of {key!r} in {{option}} to be 1, -1 or 0",
            got=f"{sign!r}",
            todo="Pass 1 for a rising curve, -1 for a falling one.",
            option=Option("monotone", bare=True),
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
    bounds = np.append(0, np.cumsum([part.book.n_params for part in bins.columns]))
    size = int(bounds[-1])
    weight, line = np.empty(size), np.zeros(size, dtype=bool)
    lower, upper = np.full(size, -np.inf), np.full(size, np.inf)
    for k, part in enumerate(bins.columns):
        book, here = part.book, slice(int(bounds[k]), int(bounds[k + 1]))
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
        parts = [list(range(a, b)) for a, b in pairwise(bounds.tolist()) if b > a]
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


# --- pairs and categories -------------------------------------------------------------------------


def pair_rule(
    given: CurveParameters, bins: Bins, signs: IntArray, names: Sequence[str] | None
) -> PairRule:
    """Which pairs a fit may have, from ``interactions`` and ``exclude``.

    Columns of a fixed direction stay out, so that what they add never moves the other way.
    """
    free = np.flatnonzero(signs == 0)
    excluded = _pairs("exclude", given.exclude or (), names, bins)
    wanted = given.interactions
    if isinstance(wanted, str):
        return PairRule(free, excluded=excluded)
    if isinstance(wanted, Integral):
        return PairRule(free, int(wanted), excluded=excluded)
    forced = sorted(
        {(min(pair), max(pair)) for pair in _pairs("interactions", wanted, names, bins)}
    )
    for pair in forced:
        fixed = [j for j in pair if signs[j]]
        if fixed:
            column = names[fixed[0]] if names is not None else fixed[0]
            raise ParameterError(
                "pairs of columns without a fixed direction in {option}",
                got=f"{column!r}, which is in {{option2}}",
                todo="Drop it from one of the two.",
                option=(Option("interactions", bare=True), Option("monotone", bare=True)),
            )
    array = np.array(forced, dtype=np.int64).reshape(-1, 2)
    return PairRule(free, forced=array, excluded=excluded)


def _pairs(what: str, pairs: Any, names: Sequence[str] | None, bins: Bins) -> list[tuple[int, int]]:
    """Pairs of two different columns, by number."""
    out = []
    for pair in pairs:
        two = list(pair) if isinstance(pair, Sequence) and not isinstance(pair, str) else [pair]
        numbers = [column_number(what, key, names, len(bins.columns)) for key in two]
        if len(set(numbers)) != 2 or len(numbers) != 2:
            raise ParameterError(
                "{option} to be pairs of two different columns",
                got=f"{pair!r}",
                todo='Pass something like [("age", "income")].',
                option=Option(what, bare=True),
            )
        out.append((numbers[0], numbers[1]))
    return out


def read_categories(
    given: CurveParameters, names: Sequence[str] | None, matrix: Any
) -> dict[int, None]:
    """The columns whose numbers stand for levels, by number."""
    wanted = given.categorical
    if wanted is None or isinstance(wanted, str):
        if wanted not in (None, "auto"):
            check_choice("categorical", wanted, ("auto",))
        return {}
    return {column_number("categorical", key, names, matrix.shape[1]): None for key in wanted}
