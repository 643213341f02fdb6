"""Metrics as evaluation functions of boosting libraries, for early stopping."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from auctor.boost.rows import RowSet, labels_of, one_score_per_row, weights_of
from auctor.core.errors import IncompatibleError, ParameterError, speaks, speaks_as
from auctor.core.types import FloatArray
from auctor.fit.metric import Goal, resolve_metric
from auctor.metrics import best_threshold

#: Metrics that ``name@number`` is short for.
AT = {"precision": "precision_at_k", "recall": "recall_at_k", "auc": "partial_auc"}
LIBRARIES = ("lightgbm", "xgboost")


def metric_name(metric: Any) -> Any:
    """A metric with ``name@number`` written out.

    Examples
    --------
    >>> metric_name("precision@100"), metric_name("auc@0.1"), metric_name("f1")
    ('precision_at_k(100)', 'partial_auc(0.1)', 'f1')
    """
    short = re.fullmatch(r"\s*(\w+)@([\d.]+)\s*", metric) if isinstance(metric, str) else None
    return metric if short is None else f"{AT.get(short[1], short[1])}({short[2]})"


class BoostMetric:
    """A metric of scores and a set of rows, in the form of a library; `metric` makes them."""

    def __init__(self, name: Any, library: str) -> None:
        self.name, self.library = name, library
        self.goal: Goal = resolve_metric(name, "auto")
        if self.goal.by_level or self.goal.per is not None:
            raise IncompatibleError(
                "a metric of the ranking or of labels, of all rows together",
                got=repr(name),
                todo="Use the library's own log-loss, or drop the groups.",
            )

    def __repr__(self) -> str:
        return f"BoostMetric({self.name!r}, {self.library!r})"

    @speaks
    def __call__(self, scores: Any, rows: RowSet) -> tuple[str, float] | tuple[str, float, bool]:
        """Name and value; for LightGBM also that greater is better."""
        labels = labels_of(rows)
        given = one_score_per_row(scores, labels.size)
        value = self._measured(labels, given, weights_of(rows))
        name = self.name if isinstance(self.name, str) else repr(self.name)
        return (name, value, True) if self.library == "lightgbm" else (name, value)

    def _measured(self, labels: FloatArray, scores: FloatArray, weight: FloatArray | None) -> float:
        goal = self.goal
        if goal.by_label and goal.cut is not None:
            # Labels at the best threshold: scores may be log-odds or probabilities.
            known = weight
            if goal.positive_weight is not None:
                known = np.ones(labels.size) if weight is None else weight
                odds = known[labels < 0.0].sum() / known[labels > 0.0].sum()
                known = np.where(labels > 0.0, goal.positive_weight(odds) * known, known)
            scores = scores - best_threshold(labels, scores, *goal.cut[:2], weight=known)
        return float(goal.measure(labels, scores, weight))


@speaks_as("metric")
def metric(name: Any, *, library: str = "lightgbm") -> BoostMetric:
    """A metric as ``feval`` of LightGBM or ``custom_metric`` of XGBoost; greater is better.

    Metrics of labels, such as "f1", are those at the best threshold on the rows. Errors and costs
    have the sign of `auctor.MetricClassifier.score`.

    Parameters
    ----------
    name : str
        As in `auctor.MetricClassifier`, "auc@0.1" and "precision@100" for short.
    library : {"lightgbm", "xgboost"}
        XGBoost stops at the largest value with ``EarlyStopping(rounds, maximize=True)``.

    Examples
    --------
    >>> import numpy as np
    >>> class Rows:
    ...     get_label = staticmethod(lambda: [0, 1, 1])
    ...     get_weight = staticmethod(lambda: None)
    >>> metric("auc")(np.array([0.0, 1.0, -1.0]), Rows)
    ('auc', 0.5, True)
    """
    if library not in LIBRARIES:
        raise ParameterError(
            "{option} to be 'lightgbm' or 'xgboost'",
            got=repr(library),
            todo="Pass one of these.",
            option="library",
        )
    return BoostMetric(metric_name(name), library)
