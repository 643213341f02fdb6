"""The types of an entry in the table of metrics."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

from auctor.core.errors import DataError
from auctor.core.protocols import Loss
from auctor.core.types import FloatArray, Target
from auctor.metrics.grouped import by_group


class Cut(NamedTuple):
    """A threshold rule: criterion, value and confidence of `auctor.metrics.best_threshold`."""

    criterion: str
    value: float | None = None
    confidence: float | None = None


#: Name for training without a surrogate.
EXACT = "exact"
#: ``measure(y, scores, weight)``, greater is better; predicted positives have ``scores > 0``. That
#: of a metric with k per group also takes ``groups``.
Measure = Callable[..., float]


@runtime_checkable
class HasOffsets(Protocol):
    """Capability of a joint loss of several classes: it finds the offsets of the classes itself."""

    def offsets_at(self, scores: FloatArray, target: Target) -> FloatArray:
        """The best offsets of the classes at some scores."""


#: Makes the joint loss of several classes: ``(number of classes, whether each has an intercept)``.
Several = Callable[[int, bool], Loss]


class Surrogate(NamedTuple):
    """A loss that is minimised in place of a metric.

    Parameters
    ----------
    make : callable
        Returns the loss, given the metric's value where it has one.
    can_be_vacuous : bool
        Whether there are data on which no weights give a lower loss than zero weights. Only such
        losses are examined after a fit.
    shrinks : bool
        Whether the loss is made of class covariances, which are shrunk where columns outnumber
        rows.
    with_second : callable, optional
        Returns the loss for a metric with a second entry, from the value and that entry; by default
        the loss does not depend on it.
    """

    make: Callable[..., Loss]
    can_be_vacuous: bool = False
    shrinks: bool = False
    with_second: Callable[..., Loss] | None = None


class Metric(NamedTuple):
    """A metric with its surrogates.

    Parameters
    ----------
    measure : callable
        ``measure(value, y, scores, weight)``; the value is ``None`` where the metric has none.
    cut : callable
        From the value to the threshold rule; ``None`` leaves the threshold at 0.
    summary : str
        What it measures, for ``auctor list`` and the table of the README.
    parameter : str
        What the number in ``name(number)`` means; empty where the metric takes none.
    default : float, optional
        Value where the number is left out; if ``None`` the number must be given.
    least, most : float
        The range of the number; a ``least`` of 0 is excluded.
    by_label : bool
        Whether the metric depends on the predicted labels, not on the ranking.
    by_level : bool
        Whether the metric depends on the values of the scores, as log-odds.
    needs_positives : bool
        Whether the metric is 0 by convention on rows without a positive, where it is undefined.
    positive_weight : callable, optional
        Factor on the weight of positives in training, from (negatives / positives, value).
    several : callable, optional
        Makes the joint loss of more than two classes; if ``None``, one problem per class against
        the rest.
    contest : tuple of str
        Surrogates that cross-validation chooses from, the cheapest first; if empty, the default.
    use : str
        How the scores are used where this is the right metric, for the guide; by default
        ``summary``.
    second : str
        Name of a second entry in brackets: "per", a column of groups, or a number.
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
    use: str = ""
    second: str = ""


class Goal(NamedTuple):
    """A metric of the table with its value and surrogate filled in; see `Metric` for the fields."""

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
    #: Whether the metric itself is maximised, starting from the surrogate's solution.
    exact: bool = False
    #: Column of the groups in each of which k rows count, where the metric names one.
    per: str | None = None

    def measured(self, hits: Any, scores: FloatArray, weight: Any, groups: Any) -> float:
        """The metric of rows in groups: of all together if k is per group, else their mean."""
        if self.per is None:
            return by_group(self.measure, hits, scores, groups, weight=weight)
        if groups is None:
            raise DataError(
                f"the group of each row for k per {self.per!r}; got none. Pass `groups=`, or that "
                "column."
            )
        return self.measure(hits, scores, weight, groups=groups)

    def joint(self, n_classes: int) -> bool:
        """Whether ``n_classes`` classes are trained as one joint problem."""
        return self.several is not None and n_classes > 2
