"""What a model is worth on some rows: scores in chunks, every metric, intervals."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from auctor import metrics
from auctor.core.errors import AuctorError, DataError
from auctor.core.types import Array, FloatArray, IntArray
from auctor.reports.info import Headline, headline
from auctor.reports.intervals import wilson
from auctor.tables import Chunk
from auctor.tables.schema import Column, Schema
from auctor.training.calibrate import calibrators_of
from auctor.training.metric import Measure, resolve_metric
from auctor.training.prepare import check_classes, codes_of


@dataclass(frozen=True)
class Scored:
    """Rows of a file under a model: class codes, scores minus the threshold, probabilities.

    ``seed`` is that of the bootstrap.
    """

    codes: IntArray
    decision: FloatArray
    probabilities: FloatArray | None
    seed: int

    @cached_property
    def headline(self) -> Headline:
        """What they are worth, where there are two classes."""
        return headline(self.codes == 1, self.decision, seed=self.seed)


def schema_of(model: Any, described: Mapping[str, Any] | None) -> Schema:
    """How the columns of a file become those of a model.

    Parameters
    ----------
    model : fitted model
    described : mapping, optional
        The schema that was saved with the model; without one, its columns are matched by name.
    """
    width = int(model.n_features_in_)
    if described is not None:
        schema = Schema.from_json(dict(described))
        if schema.n_features != width:
            raise DataError(
                "A model",
                needs=f"a schema of its {width} columns",
                got=f"one of {schema.n_features}",
                todo="Save the model again.",
            )
        return schema
    names = getattr(model, "feature_names_in_", None)
    columns = () if names is None else tuple(Column(str(name), "number") for name in names)
    return Schema(
        columns=columns,
        label=None,
        n_features=width,
        feature_names=None if names is None else tuple(map(str, names)),
    )


def has_probabilities(model: Any) -> bool:
    """Whether a model gives probabilities."""
    return calibrators_of(model) is not None


def apply(model: Any, method: str, matrix: Any) -> Array:
    """Call a method of a model on columns that were matched by name already."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        found: Array = getattr(model, method)(matrix)
    return found


def score_chunks(
    model: Any, chunks: Iterable[Chunk], *, seed: int = 0, who: str = "evaluate"
) -> Scored:
    """Every row of some labelled chunks under a model."""
    codes, decision, likely = [], [], []
    for chunk in chunks:
        codes.append(codes_of(chunk.labels, model.classes_, who=who))
        decision.append(apply(model, "decision_function", chunk.matrix))
        if has_probabilities(model):
            likely.append(apply(model, "predict_proba", chunk.matrix))
    return Scored(
        np.concatenate(codes),
        np.concatenate(decision),
        np.concatenate(likely) if likely else None,
        seed,
    )


def evaluation(model: Any, rows: Scored, *, who: str = "evaluate") -> dict[str, Any]:
    """All metrics of a classifier on some rows, those of two classes with 95 % intervals."""
    check_classes(rows.codes, model.classes_, who=who)
    counts = np.bincount(rows.codes, minlength=model.classes_.size)
    found = {
        "rows": int(rows.codes.size),
        "classes": {str(c): int(k) for c, k in zip(model.classes_.tolist(), counts, strict=True)},
        "metric": str(getattr(model, "metric", "auc")),
        "score": own_score(model, rows),
    }
    if model.classes_.size == 2:
        return found | _of_two(rows)
    return found | _of_several(model, rows)


def own_score(model: Any, rows: Scored) -> float:
    """The metric that a model was trained for, as its `score` returns it; NaN if not defined."""
    chosen = resolve_metric(
        "evaluate", getattr(model, "metric", "auc"), getattr(model, "surrogate", "auto")
    )
    try:
        return metric_score(
            chosen.measure,
            rows.codes,
            rows.decision,
            np.atleast_1d(getattr(model, "threshold_", 0.0)),
            by_label=chosen.by_label,
            all_labels=chosen.name == "error",
            average=getattr(model, "average", "macro"),
        )
    except AuctorError:
        return float("nan")


def metric_score(
    measure: Measure,
    codes: IntArray,
    decision: FloatArray,
    threshold: FloatArray,
    *,
    by_label: bool,
    all_labels: bool = False,
    average: str = "macro",
    groups: Any = None,
    weight: FloatArray | None = None,
) -> float:
    """A metric of decision values, for two classes or several; greater is better.

    Parameters
    ----------
    measure : callable
        ``measure(hits, scores, weight)`` of one class against the rest.
    codes : (n,) int array
        Position of each row's class.
    decision : (n,) or (n, k) array
        Scores minus thresholds; a column per class where there are more than two.
    threshold : array
        What was taken off the scores.
    by_label : bool
        Whether the metric judges predicted labels rather than the ranking.
    all_labels : bool
        Whether it is the share of right labels, which needs no average over classes.
    average : {"macro", "weighted", "micro"}
        Over more than two classes: all alike, by their rows, or all (row, class) pairs as one.
    groups, weight : arrays, optional
        The mean over groups of rows, and the weights of rows.

    Examples
    --------
    >>> from auctor.training.metric import resolve_metric
    >>> auc = resolve_metric("evaluate", "auc", "auto").measure
    >>> scores = np.array([0.1, 0.4, 0.35, 0.8])
    >>> metric_score(auc, np.array([0, 0, 1, 1]), scores, np.zeros(1), by_label=False)
    0.75
    """
    if decision.ndim == 1:
        scores = decision if by_label else decision + threshold[0]
        return float(metrics.by_group(measure, codes == 1, scores, groups, weight=weight))
    best = decision.argmax(axis=1)
    if all_labels and groups is None:
        return float(np.average(best == codes, weights=weight))
    n, k = decision.shape
    hits = codes[:, None] == np.arange(k)
    scores = decision + threshold
    if by_label:
        scores = np.where(best[:, None] == np.arange(k), 1.0, -1.0)
    if average == "micro":
        every = [None if x is None else np.repeat(x, k) for x in (groups, weight)]
        flat = hits.ravel(), scores.ravel()
        return float(metrics.by_group(measure, *flat, every[0], weight=every[1]))
    values = [
        metrics.by_group(measure, hit, column, groups, weight=weight)
        for hit, column in zip(hits.T, scores.T, strict=True)
    ]
    if average == "macro":
        return float(np.mean(values))
    share = (np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)) @ hits
    return float(np.average(values, weights=share))


def _of_two(rows: Scored) -> dict[str, Any]:
    hit, above = rows.codes == 1, rows.decision > 0.0
    head = rows.headline
    table = metrics.confusion(hit, above)
    right = wilson(float((hit == above).sum()), float(hit.size))
    found: dict[str, Any] = {
        "auc": head.auc,
        "average_precision": head.average_precision,
        "prbep": head.prbep,
        "f1": head.fbeta,
        "precision": head.precision,
        "recall": head.recall,
        "accuracy": right,
        "balanced_error": metrics.balanced_error(hit, above),
        "confusion": {name: int(count) for name, count in table._asdict().items()},
    }
    if rows.probabilities is not None:
        found["log_loss"] = _log_loss(rows)
    return found


def _of_several(model: Any, rows: Scored) -> dict[str, Any]:
    """Accuracy, and every class against the rest."""
    best = rows.decision.argmax(axis=1)
    k = model.classes_.size
    counts = np.zeros((k, k), dtype=np.int64)
    np.add.at(counts, (rows.codes, best), 1)
    each: dict[str, dict[str, Any]] = {
        str(name): {
            "auc": metrics.auc_interval(rows.codes == j, rows.decision[:, j])._asdict(),
            "f1": metrics.fbeta(rows.codes == j, best == j),
        }
        for j, name in enumerate(model.classes_.tolist())
    }
    found: dict[str, Any] = {
        "accuracy": wilson(float((best == rows.codes).sum()), float(best.size)),
        "auc": float(np.mean([one["auc"]["auc"] for one in each.values()])),
        "f1": float(np.mean([one["f1"] for one in each.values()])),
        "each": each,
        "confusion": counts.tolist(),
    }
    if rows.probabilities is not None:
        found["log_loss"] = _log_loss(rows)
    return found


def _log_loss(rows: Scored) -> float:
    assert rows.probabilities is not None
    own = rows.probabilities[np.arange(rows.codes.size), rows.codes]
    return float(-np.log(np.maximum(own, np.finfo(np.float64).tiny)).mean())
