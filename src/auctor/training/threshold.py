"""Where predictions cut the scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from auctor import metrics
from auctor.core.types import FloatArray, Target
from auctor.training.metric import Chosen, Cut, check_count, resolve_cut
from auctor.training.parameters import ClassifierParameters, states_cut

#: Criteria of a threshold that weigh errors. With several classes the highest score wins, so that
#: what errors cost one of the classes says nothing about its threshold.
ERRORS = ("error", "balanced_error", "cost")
#: Criteria of a threshold that count rows, by their sample weights.
COUNTS = ("top",)


def cut_of(who: str, given: ClassifierParameters, chosen: Chosen) -> Cut | float | None:
    """The rule of the threshold, or the threshold itself: the user's, else the metric's."""
    if states_cut(given):
        return resolve_cut(who, given.threshold)
    return chosen.cut if given.fit_intercept else None


def check_cut(who: str, given: ClassifierParameters, chosen: Chosen, total: float) -> None:
    """Refuse a cut after more rows than there are, before anything is trained."""
    cut = cut_of(who, given, chosen)
    if isinstance(cut, Cut) and cut.criterion in COUNTS:
        check_count(who, cut.value, total, "the rows")


def thresholds(
    who: str,
    given: ClassifierParameters,
    chosen: Chosen,
    scores: Callable[[], FloatArray],
    targets: Sequence[Target],
    weight: FloatArray | None,
) -> FloatArray:
    """Where to cut the scores of each class.

    Parameters
    ----------
    who : str
        Name used in error messages.
    given : ClassifierParameters
    chosen : Chosen
    scores : callable
        The scores (n, k) before any threshold; called only where a rule needs them.
    targets : sequence of k targets
        With the weights of training, by which the metric's own rule goes unless it counts rows.
    weight : (n,) array, optional
        Sample weights, by which a rule that counts rows, and one that the user states, go.
    """
    cut, stated = cut_of(who, given, chosen), states_cut(given)
    if isinstance(cut, Cut) and cut.criterion in ERRORS and len(targets) > 1 and not stated:
        cut = None
    if not isinstance(cut, Cut):
        return np.full(len(targets), 0.0 if cut is None else cut)
    counted = stated or cut.criterion in COUNTS
    return np.array(
        [
            metrics.best_threshold(
                target.y, column, *cut, weight=weight if counted else target.weight
            )
            for target, column in zip(targets, scores().T, strict=True)
        ]
    )
