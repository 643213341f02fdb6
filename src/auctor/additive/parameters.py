"""Additive models: curves of single columns, trained as linear models on binned data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, ClassVar, cast

import numpy as np

from auctor.additive.bins import Bins
from auctor.additive.columns import MAX_VALUE_CODES, ColumnBins, Wish
from auctor.additive.means import MeanBins
from auctor.additive.members import PairRule
from auctor.core.checks import check_choice, check_int, check_real, meant
from auctor.core.errors import Option, ParameterError
from auctor.core.protocols import Penalty
from auctor.core.types import FloatArray, IntArray
from auctor.data.codebook import CodeArrays
from auctor.fit.metric_parts import EXACT
from auctor.fit.parameters import (
    RULES,
    ClassifierParameters,
    LinearParameters,
    RegressorParameters,
    check_classifier,
    check_regressor,
)
from auctor.fit.surrogate import BEST
from auctor.penalties import BoundedElasticNet, GroupL2, SignedGroupL2

#: Names of the penalties on curves.
PENALTIES = ("fused", "group", "smooth")
#: Names of the penalties on maps of pairs.
PAIR_PENALTIES = ("ridge", "both")
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
    pair_penalty: str = "ridge"
    members: int = 8
    monotone: Any = None
    shape: Any = None
    cuts: Any = None
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


def check_curves(params: CurveParameters) -> None:
    """Raise for invalid parameters of the curves."""
    if params.n_bins is not None:
        check_int("n_bins", params.n_bins, low=2)
        check_real("n_bins", params.n_bins, low=2, high=MAX_VALUE_CODES)
    if isinstance(params.interactions, str):
        check_choice("interactions", params.interactions, ("auto",))
    elif isinstance(params.interactions, Real):
        check_int("interactions", params.interactions, low=0)
    check_choice("pair_penalty", params.pair_penalty, PAIR_PENALTIES)
    check_int("members", params.members, low=1)
    check_int("n_strengths", params.n_strengths, low=1)
    if isinstance(params.cv, Integral):
        check_int("cv", params.cv, low=2)
    check_choice("rule", params.rule, RULES)
    check_choice("penalty", cast(LinearParameters, params).penalty, PENALTIES)


def check_additive(params: AdditiveParameters) -> None:
    """Raise for invalid parameters of an additive classifier."""
    check_curves(params)
    if params.surrogate == BEST:
        params = replace(params, surrogate="auto")
    check_classifier(linear_parameters(ClassifierParameters, params, "l2", _number(params)))
    if params.surrogate == EXACT:
        raise ParameterError(
            "a loss with a gradient in {option} for curves",
            got=repr(params.surrogate),
            todo='Pass "auto".',
            option="surrogate",
        )


def check_additive_regressor(params: AdditiveRegressorParameters) -> None:
    """Raise for invalid parameters of an additive regressor."""
    check_curves(params)
    check_regressor(linear_parameters(RegressorParameters, params, "l2", _number(params)))


def log_loss_trained(params: ClassifierParameters) -> bool:
    """Whether the log-loss is minimised, so that scores are log-odds."""
    return params.surrogate == "auto" and isinstance(params.metric, str)


def auto_strength(params: LinearParameters) -> bool:
    """Whether the strength is to be picked by cross-validation."""
    return isinstance(params.strength, str) and params.strength == "auto"


def _number(params: LinearParameters) -> Any:
    return 1.0 if auto_strength(params) else params.strength


def linear_parameters(
    kind: Any, params: LinearParameters, penalty: Any, strength: float, **more: Any
) -> Any:
    """Parameters, of class ``kind``, of the linear fit on binned data that fits the curves.

    Values come from ``params``, but for ``penalty``, ``strength`` and ``more``. Columns are not
    standardised: the weights of the penalty take their place.
    """
    own = {"penalty": penalty, "strength": strength, "l1_ratio": None, "standardise": False}
    named = {
        one.name: own[one.name] if one.name in own else getattr(params, one.name)
        for one in fields(kind)
        if one.init and (one.name in own or hasattr(params, one.name))
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
    listed = list(monotone) if isinstance(monotone, Sequence | np.ndarray) else None
    if listed is None or isinstance(monotone, str) or len(listed) != n_columns:
        raise ParameterError(
            f"{{option}} to be a dict, or one of -1, 0 and 1 for each of {n_columns} columns",
            got=repr(monotone),
            todo='Pass something like {"age": 1, "income": -1}.',
            option="monotone",
        )
    return np.array([_sign(k, sign) for k, sign in enumerate(listed)], dtype=np.int64)


def column_number(what: str, key: Any, names: Sequence[str] | None, n_columns: int) -> int:
    """The number of the column that a key in the parameter ``what`` names."""
    if names is not None and key in names:
        return list(names).index(key)
    if isinstance(key, int | np.integer) and 0 <= key < n_columns:
        return int(key)
    known = f"one of the columns {', '.join(map(str, list(names)[:10]))}" if names else "a column"
    raise ParameterError(
        f"{{option}} to name {known}{'' if names else f' by number, 0 to {n_columns - 1}'}",
        got=repr(key),
        todo=meant(key, names or ()) + "Name a column of the rows.",
        option=what,
    )


def _sign(key: Any, sign: Any) -> int:
    """A direction of ``monotone`` as -1, 0 or 1."""
    if sign not in (-1, 0, 1):
        raise ParameterError(
            f"the direction of {key!r} in {{option}} to be 1, -1 or 0",
            got=repr(sign),
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

    The l1 weight of a jump is twice the standard deviation of its indicator, which is 1 at the
    median; so the l1 norm of the jumps is the total variation of the curve. ``line_weights`` are
    the l1 and the ridge weight of the lines.
    """
    bounds = np.append(0, np.cumsum([part.book.n_params for part in bins.columns]))
    size = int(bounds[-1])
    # Twice the standard deviation of each part of the curves over the training rows.
    arrays = CodeArrays([part.book for part in bins.columns])
    shares = np.zeros(arrays.centre.shape)
    for k, part in enumerate(bins.columns):
        shares[k, : part.share.size] = part.share
    mean = arrays.pull(shares)
    weight = 2.0 * np.sqrt((arrays.pull(shares, squared=True) - mean**2).clip(0.0))
    line = np.zeros(size, dtype=bool)
    lower, upper = np.full(size, -np.inf), np.full(size, np.inf)
    for k, part in enumerate(bins.columns):
        here = slice(int(bounds[k]), int(bounds[k + 1]))
        straight = isinstance(part, ColumnBins) and not part.constant
        if straight:
            weight[here.start], line[here.start] = line_weights[0], True
        # A monotone curve has a line and jumps of one sign, and a concave or convex one ramps of
        # one sign. The weight of missing values comes last and stays free: it has no place in the
        # order of the values.
        stop = here.stop - (part.has_missing and here.stop > here.start)
        sign = int(signs[k]) if k < signs.size else 0
        if sign and straight:
            (lower if sign > 0 else upper)[here.start : stop] = 0.0
        if isinstance(part, ColumnBins) and part.ramps:
            bent = slice(here.start + straight, stop)
            (lower if part.convex else upper)[bent] = 0.0
            (upper if part.convex else lower)[bent] = math.inf if part.convex else -math.inf
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
    params: CurveParameters, bins: Bins, signs: IntArray, names: Sequence[str] | None
) -> PairRule:
    """Which pairs a fit may have, from ``interactions`` and ``exclude``; shapes stay out."""
    shaped = np.array([not column.simple for column in bins.columns])
    free = np.flatnonzero(~shaped)
    barred = () if params.exclude is None else params.exclude
    excluded = read_pairs("exclude", barred, names, len(bins.columns))
    wanted, twins = params.interactions, params.pair_penalty == "both"
    if isinstance(wanted, str):
        return PairRule(free, signs, excluded=excluded, twins=twins)
    if isinstance(wanted, Integral):
        return PairRule(free, signs, int(wanted), excluded=excluded, twins=twins)
    pairs = read_pairs("interactions", wanted, names, len(bins.columns))
    forced = sorted(set(pairs))
    both = [pair for pair in forced if pair in excluded]
    if both:
        raise ParameterError(
            "pairs in {option} or in {option2}, not in both",
            got=repr(both[0] if names is None else tuple(names[j] for j in both[0])),
            todo="Drop it from one of the two.",
            option=("interactions", "exclude"),
        )
    for pair in forced:
        fixed = [j for j in pair if shaped[j]]
        if fixed:
            column = names[fixed[0]] if names is not None else fixed[0]
            if isinstance(bins.columns[fixed[0]], MeanBins):
                raise ParameterError(
                    f"pairs of columns with at most {MAX_VALUE_CODES} levels in {{option}}",
                    got=repr(column),
                    todo="Drop it from {option}.",
                    option=Option("interactions", bare=True),
                )
            raise ParameterError(
                "pairs of columns that vary, without a shape, in {option}",
                got=repr(column),
                todo="Drop it from {option}, or from {option2}.",
                option=(Option("interactions", bare=True), Option("shape", bare=True)),
            )
    array = np.array(forced, dtype=np.int64).reshape(-1, 2)
    return PairRule(free, signs, forced=array, excluded=excluded, twins=twins)


def read_pairs(
    what: str, pairs: Any, names: Sequence[str] | None, n_columns: int
) -> list[tuple[int, int]]:
    """Pairs of two different columns, by number, in increasing order."""
    out = []
    for pair in pairs if isinstance(pairs, Iterable) and not isinstance(pairs, str) else [pairs]:
        two = list(pair) if isinstance(pair, Sequence) and not isinstance(pair, str) else []
        numbers = [column_number(what, key, names, n_columns) for key in two]
        if len(numbers) != 2 or numbers[0] == numbers[1]:
            raise ParameterError(
                "{option} to be pairs of two different columns",
                got=repr(pair),
                todo='Pass something like [("age", "income")].',
                option=what,
            )
        out.append((min(numbers), max(numbers)))
    return out


def read_categories(
    params: CurveParameters, names: Sequence[str] | None, matrix: Any
) -> dict[int, Sequence[str] | None]:
    """The columns whose numbers stand for levels, by number, with labels where there are any."""
    wanted = params.categorical
    if wanted is None or isinstance(wanted, str):
        if wanted not in (None, "auto"):
            check_choice("categorical", wanted, ("auto",))
        return {}
    if not isinstance(wanted, Iterable):
        raise ParameterError(
            '{option} to be "auto" or a list of columns',
            got=repr(wanted),
            todo="Pass one of these.",
            option="categorical",
        )
    labels = wanted if isinstance(wanted, Mapping) else dict.fromkeys(wanted)
    return {
        column_number("categorical", key, names, matrix.shape[1]): labels[key] for key in labels
    }


# --- shapes ---------------------------------------------------------------------------------------

#: Shapes of curves by name.
SHAPES = ("concave", "convex", "flat")


def read_wishes(
    params: CurveParameters,
    signs: IntArray,
    names: Sequence[str] | None,
    categories: Mapping[int, Any],
) -> dict[int, Wish]:
    """What ``shape`` and ``cuts`` ask of the bins of columns, by number."""
    wishes: dict[int, Wish] = {}
    for key, cuts in _by_column("cuts", params.cuts).items():
        j = column_number("cuts", key, names, signs.size)
        try:
            edges = np.unique(np.asarray(cuts, dtype=np.float64))
        except (TypeError, ValueError):
            edges = np.empty(0)
        if not 0 < edges.size < MAX_VALUE_CODES or not np.isfinite(edges).all():
            raise ParameterError(
                f"{{option}} to have 1 to {MAX_VALUE_CODES - 1} finite numbers for each column",
                got=f"{cuts!r} for {key!r}",
                todo='Pass something like {"age": [25, 40, 65]}.',
                option="cuts",
            )
        wishes[j] = Wish(cuts=edges)
    for key, shape in _by_column("shape", params.shape).items():
        j = column_number("shape", key, names, signs.size)
        wishes[j] = _shaped(key, shape, int(signs[j]), wishes.get(j, Wish()))
    both = [j for j in wishes if j in categories]
    if both:
        raise ParameterError(
            "columns of numbers in {option} and {option2}",
            got=f"column {both[0] if names is None else names[both[0]]!r}, a category",
            todo="Drop it from {option3}, or from these.",
            option=("shape", "cuts", Option("categorical", bare=True)),
        )
    return wishes


def _by_column(what: str, value: Any) -> Mapping[Any, Any]:
    """A parameter that maps columns to something."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ParameterError(
            "{option} to be a dict from columns", got=repr(value), todo="Pass a dict.", option=what
        )
    return value


def _shaped(key: Any, shape: Any, sign: int, wish: Wish) -> Wish:
    """The wish for the bins of a column with a shape, in the direction ``sign``."""
    words = list(shape) if isinstance(shape, Sequence) and not isinstance(shape, str) else [shape]
    name, *ends = words or [None]
    numbers = len(ends) == 2 and all(isinstance(end, Real) for end in ends)
    fits = (name in SHAPES[:2] and not ends) or (name == "flat" and numbers and ends[0] < ends[1])
    if not fits:
        raise ParameterError(
            'the shape of {option} to be "concave", "convex" or ("flat", low, high)',
            got=f"{shape!r} for {key!r}",
            todo="Pass one of these.",
            option="shape",
        )
    if name == "flat":
        if wish.cuts is not None:
            raise ParameterError(
                "a flat column to have bins of its own",
                got=f"{key!r} in {{option}} and {{option2}}",
                todo="Drop it from one of the two.",
                option=("shape", "cuts"),
            )
        return wish._replace(flat=(float(ends[0]), float(ends[1])))
    # Ramps go on in the direction in which the slope of a monotone curve grows in size.
    convex = name == "convex"
    return wish._replace(ramps=-1 if sign and (sign > 0) != convex else 1, convex=convex)
