"""Evaluation of a model on labelled rows: scores by chunks, all metrics, intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from auctor import metrics
from auctor.core.errors import AuctorError, DataError, DataWarning, speaks_as
from auctor.core.types import Array, FloatArray, IntArray
from auctor.evaluate.headline import calibration, headline
from auctor.evaluate.info import Headline
from auctor.evaluate.intervals import Estimate, wilson
from auctor.fit.prepare import check_classes, codes_of
from auctor.tables import Chunk
from auctor.tables.schema import Column, Schema


class Classifier(Protocol):
    """What an evaluation reads of a fitted classifier, such as a `LinearModel`."""

    @property
    def classes(self) -> Array:
        """The labels, in the order of the scores."""

    @property
    def positive(self) -> int:
        """Position of the positive one of two classes."""

    @property
    def metric(self) -> Any:
        """The metric that the classifier was trained for."""

    @property
    def has_probabilities(self) -> bool:
        """Whether it gives probabilities."""

    def decision_function(self, X: Any) -> FloatArray:
        """Scores minus the threshold: (n,) for two classes, else (n, n_classes)."""

    def probabilities_at(self, decision: FloatArray) -> FloatArray:
        """Probabilities (n, n_classes) from decision values."""

    def score_at(self, decision: FloatArray, y: Array, *weight_and_groups: Any) -> float:
        """The metric of decision values, greater is better."""


@dataclass(frozen=True)
class ScoredRows:
    """Class codes of rows, with a model's scores minus its threshold and its probabilities.

    ``seed`` is that of the bootstrap, ``positive`` the code of the positive one of two classes.
    Metrics count rows by ``weight``; that of the model by ``cost`` too, and k of ``groups``.
    """

    codes: IntArray
    decision: FloatArray
    probabilities: FloatArray | None
    seed: int
    positive: int = 1
    weight: FloatArray | None = None
    groups: IntArray | None = None
    cost: FloatArray | None = None

    @property
    def judged(self) -> FloatArray | None:
        """Weights of the metric of the model: those of the rows times their costs."""
        if self.weight is None or self.cost is None:
            return self.weight if self.cost is None else self.cost
        return self.weight * self.cost

    @property
    def sign(self) -> float:
        """-1 where the positive class is the first one, which has scores below 0; else 1."""
        return 1.0 if self.positive else -1.0

    @property
    def hit(self) -> Array:
        """Which rows are positive."""
        return np.asarray(self.codes == self.positive)

    @property
    def scores(self) -> FloatArray:
        """Scores, above 0 where the positive one of two classes is predicted."""
        return self.sign * self.decision

    @property
    def likely(self) -> FloatArray | None:
        """Probabilities of the positive one of two classes, if the model gives any."""
        return None if self.probabilities is None else self.probabilities[:, self.positive]

    @cached_property
    def headline(self) -> Headline:
        """The main metrics of two classes, with intervals."""
        return headline(self.hit, self.scores, seed=self.seed, weight=self.weight)


@speaks_as("load")
def schema_for(width: int, names: Any, described: Mapping[str, Any] | None) -> Schema:
    """The schema by which columns of a file become those of a model.

    Parameters
    ----------
    width : int
        Number of columns of the model.
    names : sequence of str, optional
        Their names.
    described : mapping, optional
        The schema that was saved with the model; without one, its columns are matched by name.
    """
    if described is not None:
        schema = Schema.from_json(dict(described))
        if schema.n_features != width:
            raise DataError(
                f"a schema of the {width} columns of the model; got one of {schema.n_features}. "
                "Save the model again."
            )
        return schema
    columns = () if names is None else tuple(Column(str(name), "number") for name in names)
    return Schema(
        columns=columns,
        label=None,
        n_features=width,
        feature_names=None if names is None else tuple(map(str, names)),
    )


def score_rows(model: Classifier, matrix: Any, codes: IntArray, *, seed: int = 0) -> ScoredRows:
    """Scores of the rows of a matrix, whose class codes are known."""
    decision = model.decision_function(matrix)
    likely = model.probabilities_at(decision) if model.has_probabilities else None
    return ScoredRows(codes, decision, likely, seed, model.positive)


@speaks_as("evaluate")
def score_chunks(model: Classifier, chunks: Iterable[Chunk], *, seed: int = 0) -> ScoredRows:
    """Scores of all rows of labelled chunks."""
    parts = [
        score_rows(model, chunk.matrix, codes_of(chunk.labels, model.classes)) for chunk in chunks
    ]
    likely = [part.probabilities for part in parts if part.probabilities is not None]
    return ScoredRows(
        np.concatenate([part.codes for part in parts]),
        np.concatenate([part.decision for part in parts]),
        np.concatenate(likely) if likely else None,
        seed,
        model.positive,
    )


@speaks_as("evaluate")
def evaluation(model: Classifier, rows: ScoredRows) -> dict[str, Any]:
    """All metrics of a classifier on labelled rows, for two classes with 95 % intervals."""
    check_classes(rows.codes, model.classes)
    counts = np.bincount(rows.codes, minlength=model.classes.size)
    numbers = {
        "rows": int(rows.codes.size),
        "classes": {str(c): int(k) for c, k in zip(model.classes.tolist(), counts, strict=True)},
        "metric": str(model.metric),
        "score": own_score(model, rows),
    }
    if rows.weight is not None:
        numbers["total_weight"] = float(rows.weight.sum())
    if model.classes.size == 2:
        numbers["positive"] = str(model.classes.tolist()[rows.positive])
        return numbers | _of_two(rows)
    return numbers | _of_several(model, rows)


def own_score(model: Classifier, rows: ScoredRows) -> float:
    """The metric that a model was trained for, as its `score` returns it; NaN if not defined."""
    try:
        facts = () if rows.judged is None and rows.groups is None else (rows.judged, rows.groups)
        return model.score_at(rows.decision, model.classes[rows.codes], *facts)
    except AuctorError:
        return float("nan")


def _of_two(rows: ScoredRows) -> dict[str, Any]:
    """All metrics of two classes."""
    hit, above, mass = rows.hit, rows.scores > 0.0, rows.weight
    head = rows.headline
    table = metrics.confusion(hit, above, weight=mass)
    numbers: dict[str, Any] = {
        "auc": head.auc,
        "average_precision": head.average_precision,
        "prbep": head.prbep,
        "f1": head.fbeta,
        "precision": head.precision,
        "recall": head.recall,
        "accuracy": _share_right(hit == above, mass),
        "balanced_error": metrics.balanced_error(hit, above, weight=mass),
        "confusion": {name: _count(n, mass) for name, n in table._asdict().items()},
    }
    if rows.probabilities is not None:
        numbers["log_loss"] = _log_loss(rows)
        numbers["calibration_error"] = calibration(hit, rows.likely, mass)
    return numbers


def _share_right(right: Array, weight: FloatArray | None) -> Estimate:
    """The share of right predictions; weights count for as many rows as vary as much."""
    mass = np.ones(right.size) if weight is None else weight
    count = mass.sum() ** 2 / (mass**2).sum()
    return wilson(float(np.average(right, weights=mass) * count), float(count))


def _count(count: float, weight: FloatArray | None) -> float:
    """A number of rows, or the sum of their weights."""
    return int(count) if weight is None else float(count)


def _of_several(model: Classifier, rows: ScoredRows) -> dict[str, Any]:
    """Accuracy, and AUC and F1 of every class against the rest."""
    best = rows.decision.argmax(axis=1)
    k = model.classes.size
    # Confusion matrix: rows are the true classes, columns the predicted ones.
    mass = rows.weight
    counts = np.zeros((k, k), dtype=np.int64 if mass is None else np.float64)
    np.add.at(counts, (rows.codes, best), 1 if mass is None else mass)
    each: dict[str, dict[str, Any]] = {
        str(name): {
            "auc": metrics.auc_interval(
                rows.codes == j, rows.decision[:, j], weight=mass
            )._asdict(),
            "f1": metrics.fbeta(rows.codes == j, best == j, weight=mass),
        }
        for j, name in enumerate(model.classes.tolist())
    }
    numbers: dict[str, Any] = {
        "accuracy": _share_right(best == rows.codes, mass),
        "auc": float(np.mean([one["auc"]["auc"] for one in each.values()])),
        "f1": float(np.mean([one["f1"] for one in each.values()])),
        "each": each,
        "confusion": counts.tolist(),
    }
    if rows.probabilities is not None:
        numbers["log_loss"] = _log_loss(rows)
    return numbers


def _log_loss(rows: ScoredRows) -> float:
    """Mean of minus the logarithm of the probability of the true class."""
    assert rows.probabilities is not None
    own = rows.probabilities[np.arange(rows.codes.size), rows.codes]
    losses = -np.log(np.maximum(own, np.finfo(np.float64).tiny))
    return float(np.average(losses, weights=rows.weight))


@speaks_as("evaluate")
def seen_warning(notes: Mapping[str, Any], data: str, rows: int) -> DataWarning | None:
    """A warning if the rows to measure on seem to be those of training, otherwise None.

    They seem to be if file name and number of rows are the same.

    Parameters
    ----------
    notes : mapping
        Notes of the saved model.
    data : str
        Name of the file of the rows to measure on.
    rows : int
        Their number.

    Examples
    --------
    >>> seen_warning({"source": "a/rows.csv", "source_rows": 9}, "rows.csv", 8) is None
    True
    """
    if (notes.get("source_rows"), Path(str(notes.get("source"))).name) != (rows, Path(data).name):
        return None
    return DataWarning(
        does=f"measures on {data}, which has the name and the number of rows of the file that the "
        "model was trained on",
        todo="If it is the same file, these metrics are too optimistic: measure on held-out rows.",
    )
