"""The results of a training run on rows in shards, from passes over them.

Curves are measured by the scores of each row by the member that leaves it out, linear models on
rows that had weight zero in the fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from auctor import metrics
from auctor.additive.model import AdditiveModel
from auctor.core.errors import speaks_as
from auctor.core.types import FloatArray, IntArray
from auctor.data import Sharded
from auctor.evaluate.curves_info import striking_rows
from auctor.evaluate.describe import costs_of
from auctor.evaluate.progress import Progress
from auctor.evaluate.results import TrainingRun
from auctor.evaluate.rows import costly_positions
from auctor.evaluate.scores import ScoredRows, own_score
from auctor.evaluate.shard_rows import ShardRows, column_summary
from auctor.fit.prepare import Parts, hold_out
from auctor.fit.result import ClassifierResult
from auctor.fit.row_facts import RowFacts
from auctor.fit.targets import Rows, encode, positive_code
from auctor.tables.schema import Schema

#: How the rows were chosen on which curves are measured.
LEFT_OUT = (
    "Test rows: all rows, each scored by the member that was fitted without it, and so by part of "
    "the model. If the model is for later rows or other customers, such scores are too good."
)


@speaks_as("train")
def held_rows(data: Sharded, share: float, seed: int) -> IntArray:
    """Numbers of a share of the rows of every class, the same wherever the rows are."""
    return hold_out(data.row_labels(), share, seed)[1] if share else np.arange(0)


@speaks_as("train")
def without_rows(data: Sharded, held: IntArray) -> Sharded:
    """The rows, some of them with weight 0."""
    if not held.size:
        return data
    weight = np.ones(data.n_rows) if data.target.weight is None else data.target.weight.copy()
    weight[held] = 0.0
    return data.with_target(replace(data.target, weight=weight))


@speaks_as("train")
def run_on_shards(
    result: ClassifierResult,
    data: Sharded,
    held: IntArray,
    *,
    seed: int,
    command: str,
    seconds: float,
    word: Callable[[Warning], str] = str,
    warned: Sequence[Warning] = (),
) -> TrainingRun:
    """The run behind a model of two classes, with the rows to measure on scored.

    Parameters
    ----------
    fitted : FitResult
    data : Sharded
    held : int array
        Rows that the fit left out; not used where the members of a model left rows out.
    seed, command, seconds, word, warned
        As in `TrainingRun`.
    """
    model, labels = result.model, data.row_labels()
    classes, codes = encode(labels, None)
    positive = positive_code(classes, codes, pos_label=model.classes[model.positive])
    trained = without_rows(data, held).target.weight
    rows = Rows(data, classes, codes, trained, positive=positive)
    whole = model.decision_function(data)
    measured, decision, split = _measured(result, whole, held)
    weight = None if data.target.weight is None else data.target.weight[measured]
    likely = model.probabilities_at(decision) if model.has_probabilities else None
    scored = ScoredRows(codes[measured], decision, likely, seed, positive, weight)
    bins = model.bins if isinstance(model, AdditiveModel) and data.coding is not None else None
    shown = _rows_to_show(scored, costs_of(model.metric))
    parts = Parts(
        data, np.delete(labels, held), ShardRows.of(data, measured, shown, bins), scored.codes,
        classes, schema_of(data), tuple(column_summary(data)),
        split is not None or held.size > 0, positive, measured,
        RowFacts(weight=trained), RowFacts(weight=weight),
    )  # fmt: skip
    every = ScoredRows(codes, whole, None, seed, positive, trained)
    return TrainingRun(
        result, parts, rows, command=command, seed=seed, progress=Progress(None), word=word,
        warned=list(warned), seconds=seconds,
        train_auc=metrics.auc(every.hit, every.scores, weight=every.weight),
        train_score=own_score(model, every), scored=scored, split=split,
    )  # fmt: skip


def schema_of(data: Sharded) -> Schema:
    """The schema of the table behind codes; else that of columns of numbers."""
    if data.coding is not None:
        return Schema.from_json(data.coding.get("schema"))
    names = data.names or tuple(f"column {j}" for j in range(data.n_columns))
    return Schema((), None, data.n_columns, tuple(map(str, names)))


def _measured(
    result: ClassifierResult, whole: FloatArray, held: IntArray
) -> tuple[IntArray, FloatArray, str | None]:
    """Rows to measure on, their decision values, and how they were chosen if members left them out.

    These are all rows if none were left out.
    """
    if result.oof is not None:
        decision = result.oof[:, 0] - result.model.threshold[0]
        seen = np.flatnonzero(np.isfinite(decision))
        if seen.size:
            return seen, decision[seen], LEFT_OUT
    if held.size:
        return held, whole[held], None
    return np.arange(whole.size), whole, None


def _rows_to_show(scored: ScoredRows, costs: tuple[float, float]) -> IntArray:
    """Positions of the rows that a report explains."""
    costly = costly_positions(scored.hit, scored.scores, costs)
    return np.unique([*costly.tolist(), *striking_rows(scored.scores).values()])
