"""Thresholds whose recall, precision or false positive rate holds on new rows with confidence."""

from __future__ import annotations

import math
from bisect import bisect_left

import numpy as np
from scipy.special import betainc

from auctor.core.checks import check_real
from auctor.core.errors import DataError, Option, ParameterError
from auctor.core.types import Array, FloatArray
from auctor.metrics.inputs import Inputs
from auctor.metrics.sweep import Sweep, sweep

#: Criteria that can be guaranteed.
GUARANTEED = ("recall", "precision", "fpr")
#: Depths among which "precision" chooses: each is this factor times the one before.
DEPTH_FACTOR = math.sqrt(2.0)
#: Place of a cut between two scores, as a share of their distance, where it must be at the lower.
JUST_ABOVE = 2.0**-20
#: Rows beyond which no table goes: how far the search for the rows that are needed looks.
MOST_ROWS = 1e15


def check_confidence(criterion: object, value: object, confidence: object, what: str) -> None:
    """Raise for a criterion, a value or a confidence that no number of rows can guarantee."""
    if criterion not in GUARANTEED:
        raise ParameterError(
            f"`{what}` to be one of {', '.join(GUARANTEED)} with a confidence; got {criterion!r}. "
            "Drop the confidence."
        )
    of = Option(what, criterion)
    for name, one in (("the value", value), ("confidence", confidence)):
        check_real(name, one, low=0.0, high=1.0, open_low=True, open_high=True, of=of)


def guaranteed_cut(inputs: Inputs, criterion: str, value: float, confidence: float) -> float:
    """A threshold t such that ``scores > t`` keeps a rate on new rows, with a probability.

    Parameters
    ----------
    inputs : Inputs
        Rows that the scores were not trained on, a random sample of the rows to come.
    criterion : {"recall", "precision", "fpr"}
        A recall or a precision of at least ``value``, a false positive rate of at most ``value``.
    value, confidence : float in (0, 1)
        Over the draw of these rows, the rate of the population violates the bound with a
        probability of at most ``1 - confidence``.

    Notes
    -----
    Recall and false positive rate: an order statistic of the scores of one class, the last one for
    which the binomial (Clopper-Pearson) bound holds. Precision: given the score of rank k, the rows
    above it are a sample of the population above it, so that a binomial test is valid for each of
    some fixed ranks; the errors of all ranks add up to ``1 - confidence`` (Bonferroni).
    With weights a row is kept with a probability proportional to its weight, which makes the rows a
    sample of the weighted population.

    References
    ----------
    Clopper, Pearson, Biometrika 1934; Tong, Feng, Li, Neyman-Pearson classification algorithms and
    NP receiver operating characteristics, Science Advances 2018.
    """
    every = sweep(inputs)
    if criterion == "precision":
        return _precise(every, inputs, value, 1.0 - confidence)
    positive = criterion == "recall"
    sample = _sample(inputs, inputs.positive == positive).scores
    # Recall counts rows from the top, the false positive rate negatives from the bottom.
    share, ordered = (value, -sample) if positive else (1.0 - value, sample)
    n, error = ordered.size, 1.0 - confidence
    needed = rows_needed(share, error)
    if n < needed:
        name = "positives" if positive else "negatives"
        raise DataError(
            f"at least {needed:,} {name} on which nothing was trained, of equal weight, for "
            f"{_asked(criterion, value, confidence)}; got {n}. Pass more rows, or a lower "
            "confidence."
        )
    # The fewest rows inside for which fewer than the share would be this lucky.
    inside = 1 + bisect_left(range(1, n + 1), True, key=lambda x: _tail(n, x, share) <= error)
    score = float(np.partition(ordered, inside - 1)[inside - 1])
    descending = every.threshold[1:]
    if positive:  # the row itself is above the threshold
        return every.cut(int(np.count_nonzero(descending >= -score)))
    return every.cut(int(np.count_nonzero(descending > score)))


def rows_needed(share: float, error: float) -> int:
    """Rows of which all must be right before a share can be guaranteed: ``share^n <= error``.

    Examples
    --------
    >>> rows_needed(0.9, 0.05), rows_needed(0.99, 0.05)
    (29, 299)
    """
    return math.ceil(math.log(error) / math.log(share) * (1.0 - 1e-12))


def _tail(n: float, x: float, share: float) -> float:
    """Probability of at least x successes in n, each with probability ``share``; 1 for x = 0."""
    return float(betainc(x, n - x + 1.0, share)) if x > 0.0 else 1.0


def _sample(inputs: Inputs, rows: Array | slice) -> Inputs:
    """Some rows, each kept with a probability proportional to its weight."""
    positive, scores = inputs.positive[rows], inputs.scores[rows]
    if inputs.weight is None or not scores.size:
        return Inputs(positive, scores, None)
    weight = inputs.weight[rows]
    kept = np.random.default_rng(0).random(weight.size) * weight.max() < weight
    return Inputs(positive[kept], scores[kept], None)


def _precise(every: Sweep, inputs: Inputs, value: float, error: float) -> float:
    """The deepest of some ranks above which the precision is guaranteed."""
    sample = _sample(inputs, slice(None))
    order = np.argsort(-sample.scores, kind="stable")
    scores, hits = sample.scores[order], np.append(0, np.cumsum(sample.positive[order]))
    n = scores.size
    ranks = np.unique(np.ceil(DEPTH_FACTOR ** np.arange(2.0 * math.log2(n) + 1.0))).astype(int)
    ranks = np.append(ranks[(ranks > 1) & (ranks <= n)], n + 1)  # the last one: all rows
    each = error / ranks.size
    # Rows strictly above the score of each rank, and the positives among them.
    above = np.searchsorted(-scores, -scores[ranks[:-1] - 1], side="left")
    above = np.append(above, n)
    for depth in np.unique(above)[::-1].tolist():
        if _tail(depth, int(hits[depth]), value) <= each:
            return _just_below(every, scores, depth)
    raise _too_few(value, 1.0 - error, each, above[above > 0], hits)


def _just_below(every: Sweep, scores: FloatArray, depth: int) -> float:
    """A threshold right above the first score that is not among the top ``depth``."""
    if depth == scores.size:
        return every.cut(every.threshold.size - 1)
    low, high = float(scores[depth]), float(scores[depth - 1])
    return low + JUST_ABOVE * (high - low)


def _too_few(value: float, confidence: float, each: float, depths: Array, hits: Array) -> DataError:
    """The error for a precision that these rows do not guarantee, with the rows that would do."""
    n = float(depths.max()) if depths.size else 0.0
    precisions = [(float(hits[int(m)]), float(m)) for m in depths]
    precise = [(x, m) for x, m in precisions if x > value * m]
    asked = _asked("precision", value, confidence)
    if not precise:
        best = max((x / m for x, m in precisions), default=0.0)
        return DataError(
            f"scores with a precision above {value:g} among the top rows for {asked}; got at most "
            f"{best:.4g} on {n:g} rows. Pass a lower value."
        )
    # How many times these rows each depth needs, if its precision stays as it is.
    times = np.geomspace(1.0, MOST_ROWS / n, 400)
    enough = [times[betainc(times * x, times * (m - x) + 1.0, value) <= each] for x, m in precise]
    factor = min((float(t[0]) for t in enough if t.size), default=float(times[-1]))
    return DataError(
        f"about {max(rows_needed(value, each), math.ceil(factor * n)):,} rows on which nothing was "
        f"trained for {asked}; got {n:g}. Pass more rows, or a lower value or confidence."
    )


def _asked(criterion: str, value: float, confidence: float) -> str:
    return f"`threshold='{criterion}({value:g}, confidence={confidence:g})'`"
