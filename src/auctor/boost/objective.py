"""Losses over pairs and sets as objectives of boosted trees: gradients and bounds of curvature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from auctor.boost.evaluation import BoostMetric, metric_name
from auctor.boost.rows import RowSet, labels_of, one_score_per_row, signed, weights_of
from auctor.core.errors import DataError, IncompatibleError, speaks, speaks_as
from auctor.core.protocols import Coupling, Loss
from auctor.core.types import FloatArray, Target
from auctor.data.coerce import check_weight
from auctor.fit.metric import METRICS, Goal, resolve_metric
from auctor.fit.targets import read_groups
from auctor.losses import (
    FBeta,
    PairwiseHinge,
    PairwiseLogistic,
    PairwiseSquare,
    PairwiseSquaredHinge,
    PartialPairwiseHinge,
    Prbep,
    PrecisionAtK,
    RecallAtK,
)
from auctor.losses.pairwise import Pairwise

#: Smoothing of losses with kinks, in score units: their curvature is at most 1 over this.
WIDTH = 1.0

#: Largest second derivative in one score, for a row of weight 1. Twice it bounds the Hessian:
#: ``sum w_ij (v_i - v_j)^2 <= 2 sum_i v_i^2 sum_j w_ij`` (a test computes the eigenvalues).
BOUNDS: dict[type[Any], Callable[[Any], float]] = {
    PairwiseLogistic: lambda loss: 0.25,
    PairwiseSquaredHinge: lambda loss: 2.0,
    PairwiseSquare: lambda loss: 2.0,
    PairwiseHinge: lambda loss: 1.0 / loss.width,
    PartialPairwiseHinge: lambda loss: 1.0 / (loss.width * loss.max_fpr),
    PrecisionAtK: lambda loss: 2.0 / loss.width,
    RecallAtK: lambda loss: 2.0 / loss.width,
    Prbep: lambda loss: 2.0 / loss.width,
    FBeta: lambda loss: 3.0 / loss.width,
}


class Objective:
    """A loss of scores as the objective of boosted trees; `lightgbm` and `xgboost` make them.

    Called with scores and a set of rows it returns gradient and bound of the curvature of each row,
    times the number of rows. ``evaluate`` is the metric, as `metric` makes it.
    """

    def __init__(self, goal: Goal, target: Target, evaluate: BoostMetric) -> None:
        self.loss, self.target, self.evaluate = smooth_loss(goal), target, evaluate
        self.loss.check_target(target)
        bound = BOUNDS[type(self.loss)](self.loss)
        self._curvature = target.n_rows * bound * _mass(self.loss, target)

    def __repr__(self) -> str:
        return f"Objective({self.loss!r})"

    @speaks
    def __call__(self, scores: Any, rows: RowSet) -> tuple[FloatArray, FloatArray]:
        """Gradient and bound of the curvature, of every row."""
        self._check_rows(rows)
        given = one_score_per_row(scores, self.target.n_rows)
        if not np.isfinite(given).all():
            raise DataError(
                "finite scores", got="others", todo="Lower the learning rate of the library."
            )
        slopes = self.loss.value_grad(given, self.target)[1]
        return self.target.n_rows * slopes, self._curvature

    def _check_rows(self, rows: RowSet) -> None:
        labels, weight = labels_of(rows), weights_of(rows)
        if not np.array_equal(labels, self.target.y):
            raise DataError(
                f"the {self.target.n_rows} rows of y in their order",
                got=f"{labels.size} rows with other labels",
                todo="Pass the y of the training rows to both.",
            )
        known = np.ones(labels.size) if self.target.weight is None else self.target.weight
        # The libraries store weights in single precision.
        if weight is not None and not np.allclose(weight, known, rtol=1e-6):
            raise DataError(
                "the weights of the objective",
                got="others in the rows",
                todo="Pass the same `weight` to both, or none to the rows.",
            )


def _mass(loss: Loss, target: Target) -> FloatArray:
    """Weight of every row in a loss: its share of all rows, or of the pairs."""
    if not isinstance(loss, Pairwise):
        return target.share
    mass = np.zeros(target.n_rows)
    for side in target.pairs[:2]:
        mass[side.rows] = side.weight
    return mass


def smooth_loss(goal: Goal) -> Loss:
    """The loss of a goal, smoothed if it has kinks; one with a bound of its curvature."""
    loss = goal.loss
    if not loss.smooth:
        loss = loss.smoothed(WIDTH) or loss
    if loss.coupling is Coupling.ROW:
        raise IncompatibleError(
            "a loss over pairs or sets of rows",
            got=repr(loss),
            todo="Train with the library's own log-loss, or pass another {option}.",
            option="surrogate",
        )
    if type(loss) not in BOUNDS:
        raise IncompatibleError(
            "a loss with a bound of its curvature",
            got=repr(loss),
            todo='Pass "auc" and stop by this metric: `feval=metric(...)`.',
        )
    return loss


def _objective(
    metric: Any, library: str, y: Any, weight: Any, group: Any, surrogate: str
) -> Objective:
    name = metric_name(metric)
    goal = resolve_metric(name, _own(name) if surrogate == "auto" else surrogate)
    labels = signed(y)
    weight = None if weight is None else check_weight(weight, labels.size)
    groups = read_groups(group, goal, labels.size)
    return Objective(goal, Target(labels, weight, groups), BoostMetric(name, library))


def _own(name: Any) -> str:
    """The surrogate of the metric itself: the first one, unless that is log-loss."""
    if not isinstance(name, str):
        return "auto"
    first = resolve_metric(name, "auto")
    contest = METRICS[first.name].contest
    return contest[-1] if first.loss.coupling is Coupling.ROW and contest else "auto"


@speaks_as("lightgbm")
def lightgbm(
    metric: Any, *, y: Any, weight: Any = None, group: Any = None, surrogate: str = "auto"
) -> Objective:
    """The loss of a metric as ``params["objective"]`` of LightGBM.

    Parameters
    ----------
    metric : str or loss object
        As in `auctor.MetricClassifier`, such as "auc"; "auc@0.1" is short for "partial_auc(0.1)",
        "precision@100" for "precision_at_k(100)".
    y : labels of the training rows, 0 and 1 or -1 and +1
        In the order of the Dataset; checked at every round.
    weight : array, optional
    group : array, optional
        A label per row: only pairs of the same group count.
    surrogate : str
        By default the metric's own loss over pairs or sets.

    Examples
    --------
    >>> import numpy as np
    >>> objective = lightgbm("auc", y=[0, 1, 1])
    >>> class Rows:
    ...     get_label = staticmethod(lambda: [0, 1, 1])
    ...     get_weight = staticmethod(lambda: None)
    >>> objective(np.zeros(3), Rows)[0]
    array([ 1.5 , -0.75, -0.75])
    """
    return _objective(metric, "lightgbm", y, weight, group, surrogate)


@speaks_as("xgboost")
def xgboost(
    metric: Any, *, y: Any, weight: Any = None, group: Any = None, surrogate: str = "auto"
) -> Objective:
    """The loss of a metric as ``obj`` of XGBoost's ``train``; parameters are those of `lightgbm`.

    Set ``base_score`` to 0 for losses with a threshold.

    Examples
    --------
    >>> xgboost("auc@0.1", y=[0, 1])
    Objective(PartialPairwiseHinge(max_fpr=0.1, width=1.0))
    """
    return _objective(metric, "xgboost", y, weight, group, surrogate)


@speaks_as("catboost")
def catboost(metric: Any, **_: Any) -> NoReturn:
    """Refuse: CatBoost passes blocks of rows to an objective, and a loss over pairs needs all.

    Examples
    --------
    >>> catboost("auc")
    Traceback (most recent call last):
        ...
    auctor.core.errors.IncompatibleError: catboost needs all scores at once for a loss over pairs ...
    """  # noqa: E501
    raise IncompatibleError(
        "all scores at once for a loss over pairs or sets",
        got="CatBoost, which passes blocks of about a thousand rows",
        todo="Train with its Logloss, or use LightGBM or XGBoost.",
    )
