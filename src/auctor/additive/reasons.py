"""Reasons of additive models: the columns and pairs whose parts of a score are largest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np

from auctor.additive.bins import Bins
from auctor.additive.columns import ColumnBins, LevelBins
from auctor.additive.means import MeanBins
from auctor.core.types import Array, FloatArray, IntArray
from auctor.data.matrices import column_values
from auctor.fit.reasons import Part, Reasons, check_reasons, gathered, of_kind
from auctor.kernels.linalg.reasons import binned_reasons


def additive_reasons(
    matrix: Any,
    bins: Bins,
    coef: FloatArray,
    intercept: float,
    names: Sequence[str],
    kinds: Sequence[str],
    k: object,
    baseline: str,
    texts: Mapping[str, str] = MappingProxyType({}),
    n_threads: int | None = None,
) -> Reasons:
    """Reasons of an additive model.

    Parameters
    ----------
    matrix : array or sparse matrix
    bins : Bins
    coef : (codes and cells,) array
        Of the score of the positive class.
    intercept : float
    names : sequence of str
        Of the columns, then of the pairs.
    kinds : sequence of str
        Kinds of the columns of the table; empty for numbers.
    k, baseline, texts
        As in `auctor.fit.model.LinearBase.reasons`.
    n_threads : int, optional
    """
    count = check_reasons(k, baseline, texts, names)
    base = baseline_parts(bins, coef, baseline)
    bounds = bins.bounds[:-1].astype(np.uint64)
    codes = bins.codes(matrix)

    def work(start: int, stop: int, *out: Any) -> None:
        binned_reasons(codes[:, start:stop], coef, bounds, base, *out)

    columns = list(column_values(matrix))
    shown = [
        partial(_shown, column, values, kind)
        for column, values, kind in zip(
            bins.columns, columns, kinds or ["number"] * len(columns), strict=True
        )
    ]
    both = [partial(_both, shown[pair.first], shown[pair.second]) for pair in bins.pairs]
    parts = [Part(name, show) for name, show in zip(names, [*shown, *both], strict=True)]
    total = intercept + float(base.sum())
    return gathered(work, codes.shape[1], count, total, parts, texts, n_threads)


def baseline_parts(bins: Bins, coef: FloatArray, baseline: str) -> FloatArray:
    """What each column and pair adds to the score of the baseline.

    The lowest score is over the codes, and the cells, that training rows have.
    """
    base = np.zeros(len(bins.parts))
    for p, (part, (start, stop)) in enumerate(
        zip(bins.parts, pairwise(bins.bounds.tolist()), strict=True)
    ):
        table = coef[start:stop]
        base[p] = part.share @ table if baseline == "mean" else table[part.share > 0.0].min()
    return base


def _shown(
    column: ColumnBins | LevelBins, values: Array, kind: str, rows: IntArray
) -> Sequence[Any]:
    """The values of a column in some rows: numbers, dates, or the names of levels."""
    numbers = np.asarray(values[rows], dtype=np.float64)
    if isinstance(column, MeanBins):
        return [None if np.isnan(one) else column.level(one) for one in numbers.tolist()]
    if isinstance(column, ColumnBins):
        return of_kind(kind, numbers)
    names = [None, *column.names()[1:]]
    return [names[code] for code in column.codes(numbers).tolist()]


def _both(first: Any, second: Any, rows: IntArray) -> Sequence[Any]:
    """The values of a pair as text."""
    pairs = zip(first(rows), second(rows), strict=True)
    return [", ".join(map(_text, pair)) for pair in pairs]


def _text(value: Any) -> str:
    return "missing" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
