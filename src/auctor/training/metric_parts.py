"""What an entry of the table of metrics is made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from auctor.core.protocols import Loss
from auctor.core.types import FloatArray
from auctor.losses.softmax import Softmax


class Cut(NamedTuple):
    """A rule of `auctor.metrics.best_threshold`."""

    criterion: str
    value: float | None = None


#: The surrogate that is none: metrics of the ranking alone are maximised themselves.
EXACT = "exact"
#: ``measure(y, scores, weight)``, greater is better; labels are those of ``scores > 0``.
Measure = Callable[[Any, FloatArray, Any], float]


#: The loss of several classes at once, from their number and whether each has an intercept.
Several = Callable[[int, bool], Softmax]


class Surrogate(NamedTuple):
    """A loss that stands in for a metric.

    Parameters
    ----------
    make : callable
        The loss, from the metric's value where it has one.
    can_be_vacuous : bool
        Whether there are rows on which no weights do better than none. Only such losses are
        examined after a fit.
    shrinks : bool
        Whether it is made of covariances, which are shrunk where columns outnumber rows.
    """

    make: Callable[..., Loss]
    can_be_vacuous: bool = False
    shrinks: bool = False


class Metric(NamedTuple):
    """A metric with the losses that stand in for it.

    Parameters
    ----------
    surrogates : mapping from name to `Surrogate`, the default first
    measure : callable
        Takes the value first, ``None`` where there is none.
    cut : callable
        The rule for the threshold, from the value; ``None`` leaves it at 0.
    summary : str
    parameter : str
        What the number in ``name(number)`` means; empty where the metric takes none.
    default : float, optional
        Value of a bare name; without one the number must be given.
    least, most : float
        The range of the number; a least of 0 is not in it.
    by_label : bool
        Whether the metric judges predicted labels, not the ranking.
    by_level : bool
        Whether the metric judges the scores themselves, as log-odds, not the ranking alone.
    needs_positives : bool
        Whether the metric is 0 by convention on rows without a positive, where it means nothing.
    positive_weight : callable, optional
        Factor on the weight of positives in training, from (negatives / positives, value).
    several : callable, optional
        The loss of more than two classes at once; without it each class goes against the rest.
    contest : tuple of str
        Surrogates that folds choose from, the cheapest first; if empty the default alone.
    """

    surrogates: Mapping[str, Surrogate]
    measure: Callable[..., float]
    cut: Callable[[float | None], Cut | None]
    summary: str
    parameter: str = ""
    default: float | None = None
    least: float = 0.0
    most: float = math.inf
    by_label: bool = False
    by_level: bool = False
    needs_positives: bool = False
    positive_weight: Callable[[float, float], float] | None = None
    several: Several | None = None
    contest: tuple[str, ...] = ()


class Chosen(NamedTuple):
    """What training and scoring need of a metric: its row of the table with the value filled in."""

    name: str
    loss: Loss
    measure: Measure
    cut: Cut | None
    by_label: bool
    positive_weight: Callable[[float], float] | None
    by_level: bool = False
    needs_positives: bool = False
    can_be_vacuous: bool = False
    shrinks: bool = False
    several: Several | None = None
    #: Whether the metric itself is maximised, from the surrogate's solution on.
    exact: bool = False

    def joint(self, n_classes: int) -> bool:
        """Whether a target of this many classes is trained as one problem."""
        return self.several is not None and n_classes > 2
