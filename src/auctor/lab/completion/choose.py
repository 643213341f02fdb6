"""Rank and strength of a matrix completion, chosen on held-out entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from auctor.core.checks import check_real
from auctor.core.errors import ParameterError, speaks_as
from auctor.core.rng import as_rng
from auctor.data.matrices import join_entries
from auctor.lab.completion.complete import Completion, check_rank, complete, read_observed

#: Strengths to try, in standard deviations of the observed entries.
STRENGTHS = (1e-4, 1e-3, 1e-2, 1e-1)
#: Ranks to try.
RANKS = (1, 2, 3, 5, 8)


@dataclass(frozen=True, eq=False)
class Choice:
    """The rank and strength with the least error on held-out entries.

    Attributes
    ----------
    completion : Completion
        Fitted to all entries with the chosen rank and strength.
    rank : int
    strength : float
    held_out_rmse : float
        Root mean squared error of the best pair on the held-out entries.
    table : list of (rank, strength, rmse)
        All pairs that were tried.
    """

    completion: Completion
    rank: int
    strength: float
    held_out_rmse: float
    table: list[tuple[int, float, float]]


@speaks_as("choose")
def choose(
    observed: Any,
    ranks: Sequence[int] | None = None,
    strengths: Sequence[float] | None = None,
    *,
    share: float = 0.1,
    random_state: int | None = 0,
    **options: Any,
) -> Choice:
    """Choose rank and strength on held-out entries, then fit all entries with them.

    Parameters
    ----------
    observed : sparse matrix or array with NaN
        As in `complete`.
    ranks : ints, optional
        By default 1, 2, 3, 5 and 8, as far as the matrix has such ranks.
    strengths : floats > 0, optional
        By default four, a factor of ten apart, times the standard deviation of the entries.
    share : float in (0, 1)
        Share of the observed entries to hold out.
    random_state : int, optional
        Seed of the held-out entries and of the starting factors.
    **options
        Passed to `complete`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> whole = rng.normal(size=(80, 2)) @ rng.normal(size=(2, 60))
    >>> whole += 0.1 * rng.normal(size=whole.shape)
    >>> choose(np.where(rng.random(whole.shape) < 0.6, whole, np.nan), ranks=(1, 2, 4)).rank
    2
    """
    check_real("share", share, low=0.0, high=1.0, open_low=True, open_high=True)
    entries = read_observed(observed).tocoo()
    if ranks is None:
        ranks = [rank for rank in RANKS if rank <= min(entries.shape)]
    for rank in ranks:
        check_rank(rank, entries.shape)
    # Entries are held out at random; the others are fitted for every pair of rank and strength.
    held = as_rng(random_state).random(entries.nnz) < share
    if not ranks or held.all() or not held.any():
        raise ParameterError(
            f"ranks to try, and entries both to fit and to hold out; got {len(ranks)} ranks, "
            f"{int(held.sum())} of {entries.nnz} entries held out. Change `ranks=` or `share=`."
        )
    rows, columns = entries.coords
    seen = join_entries(entries.data[~held], rows[~held], columns[~held], entries.shape)
    if strengths is None:
        strengths = [factor * float(entries.data.std() or 1.0) for factor in STRENGTHS]
    table = []
    for rank in ranks:
        for strength in strengths:
            found = complete(seen, rank, strength=strength, random_state=random_state, **options)
            error = found.predict(rows[held], columns[held]) - entries.data[held]
            table.append((int(rank), float(strength), float(np.sqrt(np.mean(error**2)))))
    rank, strength, rmse = min(table, key=lambda row: row[2])
    last = complete(entries.tocsr(), rank, strength=strength, random_state=random_state, **options)
    return Choice(last, rank, strength, rmse, table)
