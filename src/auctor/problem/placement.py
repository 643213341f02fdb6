"""Where a loss is evaluated: in this process, or by the workers that have the rows.

`place` decides by the loss and its target alone. With n rows, of which P are of the rarer class,
and W shards:

* rows in this process, or so few that sending all scores is faster than more calls (2 n below
  ``gather_below`` of the engine): scores come to this process and their gradient goes back, 2 n
  numbers per evaluation;
* a loss over rows: every worker evaluates its part of the rows;
* a loss over pairs, without groups, if ``3 W P < 2 n``: the scores of the rarer class go to all
  workers, each of which evaluates the pairs with its own rows of the other class;
* a loss around a threshold (precision at k, break-even point): sums over the workers find the
  threshold, then every worker evaluates its part of the rows;
* rows on a device: the whole loss, if the device has a form of it;
* everything else: scores come to this process and their gradient goes back.

All give the same numbers up to the rounding errors of sums.
"""

from __future__ import annotations

import numpy as np

from auctor.core.protocols import Data, Loss, Splits
from auctor.core.types import FloatArray
from auctor.data.placed import PlacedRows
from auctor.data.sharded import Sharded
from auctor.data.workers import Evaluating
from auctor.problem.placed_loss import PlacedLoss
from auctor.problem.placed_pairs import PlacedPairs
from auctor.problem.placed_sum import PlacedSum
from auctor.problem.placed_threshold import PlacedThreshold

#: The losses that workers evaluate, by how they can be computed from parts of the rows.
KINDS: dict[Splits, type[PlacedLoss]] = {
    Splits.ROWS: PlacedSum,
    Splits.PAIRS: PlacedPairs,
    Splits.THRESHOLD: PlacedThreshold,
}


def place(loss: Loss, data: Data) -> tuple[Loss, Data]:
    """Loss and data for a problem: evaluated by the workers if the rule above says so."""
    if isinstance(loss, PlacedLoss):
        return loss, loss.rows
    rows = data.rows if isinstance(data, PlacedRows) else data
    if not isinstance(rows, Sharded) or 2 * rows.n_rows < rows.workers.gather_below:
        return loss, rows
    if isinstance(rows.workers, Evaluating):
        kind = rows.workers.kind(loss)
    else:
        kind = KINDS.get(loss.splits)
    if kind is None or not kind.pays(rows):
        return loss, rows
    placed_loss = kind(loss, data if isinstance(data, PlacedRows) else PlacedRows(rows))
    return placed_loss, placed_loss.rows


def unplaced(loss: Loss) -> Loss:
    """The loss itself, to be evaluated in this process."""
    return loss.inner if isinstance(loss, PlacedLoss) else loss


def named(part: object) -> str:
    """The class name of a loss or of data, without the wrapper for workers."""
    if isinstance(part, PlacedLoss):
        return type(part.inner).__name__
    return type(part.rows if isinstance(part, PlacedRows) else part).__name__


def constant_scores(data: Data, value: float) -> FloatArray:
    """The same score for every row, stored where the rows are."""
    if isinstance(data, PlacedRows):
        return data.constant(value)
    return np.full(data.n_rows, value)
