"""A saved model on the rows of a file: scores in chunks, and what they are worth."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from auctor import metrics
from auctor.cli.common import Reading, read_chunks
from auctor.cli.prepare import codes_of
from auctor.core.errors import AuctorError, DataError
from auctor.core.types import Array, FloatArray, IntArray
from auctor.reports.info import Headline, headline
from auctor.reports.intervals import wilson

if TYPE_CHECKING:
    from auctor.saved import Saved
    from auctor.tables import Chunk
    from auctor.tables.schema import Schema


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


def open_model(path: Path, *, who: str) -> Saved:
    """A model file; refuses regressors where classes are needed."""
    from auctor.saved import read_saved

    saved = read_saved(path)
    if not hasattr(saved.model, "decision_function"):
        raise DataError(
            who,
            needs="a classifier",
            got=f"{type(saved.model).__name__} in {path}",
            todo="Use auctor predict.",
        )
    return saved


def schema_of(saved: Saved) -> Schema:
    """How the columns of a file become those of a model."""
    from auctor.tables.schema import Column, Schema

    width = int(saved.model.n_features_in_)
    if saved.schema is not None:
        schema = Schema.from_json(saved.schema)
        if schema.n_features != width:
            raise DataError(
                "A model",
                needs=f"a schema of its {width} columns",
                got=f"one of {schema.n_features}",
                todo="Save the model again.",
            )
        return schema
    names = getattr(saved.model, "feature_names_in_", None)
    columns = () if names is None else tuple(Column(str(name), "number") for name in names)
    return Schema(
        columns=columns,
        label=None,
        n_features=width,
        feature_names=None if names is None else tuple(map(str, names)),
    )


def chunks_for(
    saved: Saved, data: str, options: Reading, *, who: str, labelled: bool
) -> Iterator[Chunk]:
    """Chunks of a file in the columns of a model."""
    return read_chunks(data, options, who=who, schema=schema_of(saved), labelled=labelled)


def has_probabilities(model: Any) -> bool:
    """Whether a model gives probabilities."""
    from auctor.training.calibrate import calibrators_of

    return calibrators_of(model) is not None


def apply(model: Any, method: str, matrix: Any) -> Array:
    """Call a method of a model on columns that were matched by name already."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        found: Array = getattr(model, method)(matrix)
    return found


def score_file(saved: Saved, data: str, options: Reading, *, who: str, seed: int = 0) -> Scored:
    """Every row of a labelled file under a model, read in chunks."""
    model = saved.model
    codes, decision, likely = [], [], []
    for chunk in chunks_for(saved, data, options, who=who, labelled=True):
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


def check_classes(codes: IntArray, classes: Array, *, who: str) -> None:
    """Refuse rows to measure on that lack a class."""
    absent = classes[np.bincount(codes, minlength=classes.size) == 0].tolist()
    if absent:
        raise DataError(
            who,
            needs="rows of every class to measure on",
            got=f"none of {absent[0]!r}",
            todo="Pass a file that has some.",
        )


def evaluation(model: Any, rows: Scored, *, who: str) -> dict[str, Any]:
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
    from auctor.training.metric import resolve_metric

    metric = getattr(model, "metric", "auc")
    chosen = resolve_metric("auctor", metric, getattr(model, "surrogate", "auto"))
    threshold = np.asarray(getattr(model, "threshold_", 0.0))
    try:
        if rows.decision.ndim == 1:
            scores = rows.decision if chosen.by_label else rows.decision + threshold.ravel()[0]
            return float(chosen.measure(rows.codes == 1, scores, None))
        best = rows.decision.argmax(axis=1)
        if chosen.name == "error":
            return float((best == rows.codes).mean())
        values = [
            chosen.measure(
                rows.codes == k,
                np.where(best == k, 1.0, -1.0) if chosen.by_label else column,
                None,
            )
            for k, column in enumerate((rows.decision + threshold).T)
        ]
        return float(np.mean(values))
    except AuctorError:
        return float("nan")


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
