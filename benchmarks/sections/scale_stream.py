"""The default solver on stores that offer little: every loss with every kind of penalty."""

from __future__ import annotations

import numpy as np

from auctor.core.protocols import Data
from auctor.core.types import FloatArray, Target
from auctor.data import Dense, Sharded
from auctor.data.workers import MemoryWorkers
from auctor.testing.storages import TwoProducts
from auctor.testing.streams import SOLVED, penalties, train_everything
from benchmarks.run import Settings, bar, table

name = "scale_stream"


def _streamed(X: FloatArray, target: Target, n_threads: int | None) -> Data:
    parts = np.array_split(np.arange(X.shape[0]), 3)
    return Sharded(MemoryWorkers([Dense(X[i], target.take(i), n_threads=1) for i in parts]))


#: Stores: the two products alone, and what a stream of blocks can offer.
STORES = {"two products": lambda X, target, n_threads: TwoProducts(X, target), "stream": _streamed}


def run(settings: Settings) -> dict[str, object]:
    """Raises where a problem is neither solved nor refused before the first pass."""
    rows, bars = [], []
    for store, build in STORES.items():
        outcomes = train_everything(build)
        solved = sum(one == SOLVED for one in outcomes.values())
        refused = sorted({loss for (loss, _), one in outcomes.items() if one != SOLVED})
        bars.append(bar(f"{store}: solved or refused before the first pass", 1.0, 1.0))
        rows.append([store, len(outcomes), solved, len(outcomes) - solved, ", ".join(refused)])
    return {
        "title": "The default solver on stores that offer little",
        "bars": bars,
        "tables": [
            table(
                f"Every loss with {', '.join(penalties())}",
                ["store", "problems", "solved", "refused", "refused losses"],
                rows,
            )
        ],
        "notes": ["Solved: to a gap of 1e-2 of the null model's loss. Anything else is an error."],
    }
