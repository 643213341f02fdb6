"""Which pairs of columns a member needs: gains of small trees on the residuals of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations, pairwise

import numpy as np

from auctor.additive.bins import Bins, PairBins, levels_of
from auctor.additive.columns import LevelBins
from auctor.additive.task import Fit, Fold, Task, derivatives
from auctor.core.types import Array, FloatArray
from auctor.kernels.additive.screen import pair_gains
from auctor.kernels.runtime.parallel import available_threads, even_cuts, run_tasks

#: Added to the curvature of a leaf, in units of one row of curvature 1.
RIDGE = 1.0
#: Rows of a leaf, at least.
FEWEST = 5
#: Rows from which slopes and curvatures are kept in half the memory.
MANY = 100_000


class Grids:
    """The levels of every column in a pair, and those of the rows.

    Parameters
    ----------
    bins : Bins
    codes : (columns, n) array
    effects : (columns,) sequence of arrays
        What the codes of each column add to the score; orders the levels of categories.
    columns : sequence of int
        The columns that may take part.
    """

    def __init__(
        self, bins: Bins, codes: Array, effects: Sequence[FloatArray], columns: Sequence[int]
    ) -> None:
        self.levels: dict[int, Array] = {}
        self.rows: dict[int, Array] = {}
        for j in columns:
            column = bins.columns[j]
            effect = effects[j] if isinstance(column, LevelBins) else None
            self.levels[j] = levels_of(column, effect)
            self.rows[j] = self.levels[j][codes[j]]

    def pair(self, first: int, second: int, weight: FloatArray) -> tuple[PairBins, Array]:
        """The cells of a pair, and the cell of each row."""
        levels = self.levels[first], self.levels[second]
        width = int(levels[1].max()) + 1
        cells = self.rows[first] * np.uint8(width) + self.rows[second]
        size = (int(levels[0].max()) + 1) * width
        share = np.bincount(cells, weight, minlength=size) / weight.sum()
        return PairBins(first, second, levels, share), cells

    def gains(
        self, task: Task, fits: Sequence[Fit], folds: Sequence[Fold], pairs: Array
    ) -> FloatArray:
        """Gain of each pair for each member on the rows it is fitted to, (pairs, members)."""
        n, members = task.n_rows, len(folds)
        numbers = {j: k for k, j in enumerate(self.levels)}
        levels = np.array([self.rows[j] for j in self.levels])
        sizes = np.array([int(level.max()) + 1 for level in self.levels.values()])
        places = np.array([[numbers[a], numbers[b]] for a, b in pairs.tolist()], dtype=np.int64)
        out = np.zeros((pairs.shape[0], members))
        parts = available_threads(task.n_threads)
        cuts = even_cuts(pairs.shape[0], min(4 * parts, pairs.shape[0]))
        moments = np.zeros((n, 2 * members), dtype=np.float64 if n < MANY else np.float32)
        times = task.weight / task.unit
        slopes = [
            derivatives(task.on(f.train), fit.scores) for f, fit in zip(folds, fits, strict=True)
        ]
        for score in range(task.times):  # the gains of several scores add up
            for k, (slope, curve) in enumerate(slopes):
                moments[:, k], moments[:, members + k] = slope[:, score], curve[:, score]
            part = np.zeros_like(out)
            screen = partial(pair_gains, levels, sizes, places, moments, times, RIDGE, FEWEST, part)
            run_tasks([partial(screen, a, b) for a, b in pairwise(cuts)], parts)
            out += part
        return out


def pairs_of(columns: Sequence[int], excluded: Sequence[tuple[int, int]] = ()) -> Array:
    """All pairs of some columns, (pairs, 2), but for excluded ones."""
    barred = {tuple(sorted(pair)) for pair in excluded}
    pairs = [pair for pair in combinations(sorted(columns), 2) if pair not in barred]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def best(gains: FloatArray, count: int) -> Array:
    """Positions of the pairs of largest positive gain, at most ``count``."""
    order = np.argsort(-gains, kind="stable")[:count]
    return order[gains[order] > 0.0]
