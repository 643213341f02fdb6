"""Which pairs of columns a member needs: gains of small trees on the residuals of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations, pairwise

import numpy as np

from auctor.additive.bins import Bins, PairBins, levels_of
from auctor.additive.columns import LevelBins
from auctor.additive.task import Coded, Fit, Fold, Task, derivatives
from auctor.core.types import Array, FloatArray, IntArray
from auctor.data.codebook import MOST_CODES
from auctor.kernels.additive.screen import pair_gains
from auctor.kernels.runtime.parallel import available_threads, even_cuts, run_tasks

#: Added to the curvature of a leaf, in units of one row of curvature 1.
RIDGE = 1.0
#: Rows of a leaf, at least.
FEWEST = 5
#: Rows from which slopes and curvatures are kept in half the memory.
MANY = 100_000


class Grids:
    """The levels of the columns in pairs, and the coded rows.

    Parameters
    ----------
    bins : Bins
    rows : BinnedMatrix or CodedShards
        All columns of the bins, without pairs.
    effects : (columns,) sequence of arrays
        What the codes of each column add to the score; orders the levels of categories.
    columns : sequence of int
        The columns that may take part.
    """

    def __init__(
        self, bins: Bins, rows: Coded, effects: Sequence[FloatArray], columns: Sequence[int]
    ) -> None:
        self.rows = rows
        self.levels = np.zeros((len(bins.columns), MOST_CODES), dtype=np.uint8)
        for j in columns:
            column = bins.columns[j]
            effect = effects[j] if isinstance(column, LevelBins) else None
            self.levels[j, : column.size] = levels_of(column, effect)
        self._used = [bins.columns[j].size for j in range(len(bins.columns))]
        self._sizes = self.levels.max(axis=1).astype(np.int64) + 1

    def pairs(
        self, pairs: Array, weight: FloatArray, signs: IntArray
    ) -> tuple[list[PairBins], Coded]:
        """Some pairs of columns of these directions, and their cells as coded columns."""
        if not pairs.size:
            return [], self.rows
        nothing = np.empty((weight.size, 0))
        counts = self.rows.pair_sums(self.levels, self._sizes, pairs, nothing, weight)[1]
        total, made = float(weight.sum()), []
        for (a, b), mass in zip(pairs.tolist(), counts, strict=True):
            levels = self.levels[a, : self._used[a]], self.levels[b, : self._used[b]]
            share = mass[: int(self._sizes[a] * self._sizes[b])] / total
            both = (int(signs[a]), int(signs[b]))
            made.append(PairBins(a, b, levels, share, both))
        return made, self.rows.cells(made, [pair.book for pair in made])

    def gains(
        self, task: Task, fits: Sequence[Fit], folds: Sequence[Fold], pairs: Array
    ) -> FloatArray:
        """Gain of each pair for each member on the rows it is fitted to, (pairs, members)."""
        n, members = task.n_rows, len(folds)
        out = np.zeros((pairs.shape[0], members))
        parts = available_threads(task.n_threads)
        cuts = even_cuts(pairs.shape[0], min(4 * parts, pairs.shape[0]))
        moments = np.zeros((n, 2 * members), dtype=np.float64 if n < MANY else np.float32)
        times = task.weight / task.unit
        for score in range(task.times):  # the gains of several scores add up
            for k, (fold, fit) in enumerate(zip(folds, fits, strict=True)):
                slope, curve = derivatives(task.on(fold.train), fit.scores)
                moments[:, k], moments[:, members + k] = slope[:, score], curve[:, score]
            sums, counts = self.rows.pair_sums(
                self.levels, self._sizes, pairs, moments, times, task.n_threads
            )
            part = np.zeros_like(out)
            gain = partial(pair_gains, sums, counts, self._sizes, pairs, RIDGE, FEWEST, part)
            run_tasks([partial(gain, a, b) for a, b in pairwise(cuts)], parts)
            out += part
        return out


def pairs_of(columns: Sequence[int], excluded: Sequence[tuple[int, int]] = ()) -> Array:
    """All pairs of some columns, (pairs, 2), but for excluded ones."""
    pairs = [pair for pair in combinations(sorted(columns), 2) if pair not in excluded]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def best(gains: FloatArray, count: int) -> Array:
    """Positions of the pairs of largest positive gain, at most ``count``."""
    order = np.argsort(-gains, kind="stable")[:count]
    return order[gains[order] > 0.0]
