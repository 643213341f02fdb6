"""Edits of a fitted additive model by hand, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from auctor.additive.bins import PairBins
from auctor.additive.columns import ColumnBins, LevelBins
from auctor.additive.directed import moves_back
from auctor.additive.means import MeanBins
from auctor.additive.model import AdditiveModel, AdditiveRegressionModel
from auctor.core.errors import DataError
from auctor.core.types import Array, FloatArray, Target
from auctor.fit.registry import resolve_loss

#: A fitted additive model.
CurveModel = AdditiveModel | AdditiveRegressionModel


def term_number(names: Sequence[str], term: Any, n_columns: int) -> int:
    """Number of the column or pair that a name, a number, or two of them stand for."""
    if isinstance(term, tuple) and len(term) == 2:
        one, two = (term_number(names[:n_columns], side, n_columns) for side in term)
        wanted = [f"{names[a]} x {names[b]}" for a, b in ((one, two), (two, one))]
        term = next((name for name in wanted if name in names), term)
    if isinstance(term, str) and term in names:
        return list(names).index(term)
    if isinstance(term, int | np.integer) and 0 <= term < len(names):
        return int(term)
    todo = f"Names: {', '.join(names[:10])}."
    raise DataError("a column or pair of the model", got=repr(term), todo=todo)


def edited(
    model: CurveModel,
    term: int,
    k: int,
    *,
    names: Sequence[str],
    values: Any = None,
    flat: tuple[float, float] | None = None,
    drop: bool = False,
) -> CurveModel:
    """The model with another table of one term; its other terms and its threshold stay.

    Parameters
    ----------
    model : AdditiveModel or AdditiveRegressionModel
    term : int
        Number of the column, or of the pair behind the columns.
    k : int
        Number of the score.
    names : sequence of str
        Names of the columns, then of the pairs.
    values : array or mapping, optional
        As in `AdditiveClassifier.edit`.
    flat : (low, high), optional
    drop : bool
    """
    if (values is not None) + (flat is not None) + bool(drop) != 1:
        raise DataError(
            "one of values, flat and drop", got="none or several", todo="Pass one of them."
        )
    part = model.bins.parts[term]
    a, b = model.bins.bounds[term : term + 2].tolist()
    old = model.coef[k, a:b]
    if drop:
        new = np.zeros_like(old)
    elif flat is not None:
        new = _flattened(part, old, flat)
    else:
        new = _with_values(part, old, values)
    if not np.isfinite(new).all():
        raise DataError("finite values", got="NaN or infinity", todo="Pass numbers.")
    coef = model.coef.copy()
    coef[k, a:b] = new
    _check_directions(model, coef[k], drop, names)
    error = None if model.error is None else model.error.copy()
    if error is not None:  # what a person has set has no standard error
        error[k, a:b][new != old] = 0.0
    return replace(model, coef=coef, error=error)


def _check_directions(
    model: CurveModel, coef: FloatArray, drop: bool, names: Sequence[str]
) -> None:
    """Refuse tables with which a monotone column moves against its direction.

    Where a curve is dropped, the maps of its column may do so: what they take from the curve is
    gone. A map that is dropped moves no column back.
    """
    bins = model.bins
    against = moves_back(bins, bins.tables(coef), int(model.sign) * model.signs)
    if not against:
        return
    j = against[0]
    pairs = [
        repr(names[number])
        for number, pair in enumerate(bins.pairs, len(bins.columns))
        if j in (pair.first, pair.second) and coef[slice(*bins.bounds[number : number + 2])].any()
    ]
    got, todo = "values that move back", "Pass values that rise, or fall, in its direction."
    if drop:
        got, todo = "pairs that move back alone", f"Drop its pairs first: {', '.join(pairs)}."
    raise DataError(f"the direction of {names[j]!r} to hold", got=got, todo=todo)


def _flattened(part: Any, old: FloatArray, flat: tuple[float, float]) -> FloatArray:
    """A curve whose bins that reach into a range have their weighted mean."""
    if not isinstance(part, ColumnBins) or isinstance(part, MeanBins):
        raise DataError("a column of numbers for flat", got="another term", todo="Pass values.")
    low, high = flat
    if not low < high:
        raise DataError("a range for flat", got=repr(flat), todo="Pass (low, high).")
    first, last = (int(part.codes(np.array([end], dtype=np.float64))[0]) for end in (low, high))
    here = slice(first, last + 1)
    share = part.share[here]
    new = old.copy()
    new[here] = share @ old[here] / share.sum() if share.any() else old[here].mean()
    return new


def _with_values(part: Any, old: FloatArray, values: Any) -> FloatArray:
    """A table with other values: of all bins, or of some levels by name."""
    new = old.copy()
    if isinstance(values, Mapping):
        codes = {}
        if isinstance(part, LevelBins):
            codes = {name: code for code, name in enumerate(part.names())}
        elif isinstance(part, ColumnBins):
            codes = {"missing": 0}
        unknown = [key for key in values if key not in codes]
        if unknown:
            todo = f"Known: {', '.join(list(codes)[:10])}." if codes else "Pass an array."
            raise DataError("levels of the column", got=repr(unknown[0]), todo=todo)
        for key, value in values.items():
            new[codes[key]] = float(value)
        return new
    numbers = np.asarray(values, dtype=np.float64)
    if isinstance(part, PairBins):
        cells = new.reshape(part.shape)[1:, 1:]  # a view, without missing values
    else:
        cells = new[1 : -1 if isinstance(part, LevelBins) else None]
    if numbers.shape != cells.shape:
        raise DataError(
            f"values of shape {cells.shape}, as `curve` returns them",
            got=f"shape {numbers.shape}",
            todo="Change some of these.",
        )
    cells[...] = numbers
    return new


def moved_by(old: CurveModel, new: CurveModel, term: int) -> float:
    """Mean absolute change of the scores of the training rows by an edit of a term."""
    a, b = old.bins.bounds[term : term + 2].tolist()
    share = old.bins.parts[term].share
    return float((np.abs(new.coef - old.coef)[:, a:b] @ (share / share.sum())).max())


def measured(model: CurveModel, scores: FloatArray, y: Array, weight: FloatArray | None) -> float:
    """The metric of scores (n, k), less the threshold; minus the loss of a regression."""
    if isinstance(model, AdditiveModel):
        return float(model.score_at(scores[:, 0] if model.binary else scores, y, weight))
    target = Target(np.asarray(y, dtype=np.float64), weight)
    return -float(resolve_loss(model.loss).value(scores[:, 0], target))
