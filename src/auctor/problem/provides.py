"""Flags of what a problem offers to solvers, by its loss, its penalty and its data."""

from __future__ import annotations

import math

import numpy as np

from auctor.core.capabilities import CENTRABLE, COMPILED, PAIRED, THRESHOLDED, smoothed
from auctor.core.needs import Access, Coupling, Need
from auctor.core.protocols import Data, Loss, Penalty
from auctor.kernels.losses.pointwise import curve_bound
from auctor.problem.hessian import FACTOR_PARAMS, PAIR_ENTRIES

#: The flag of a problem for each capability of its data.
OF_DATA = {
    Access.GRAM: Need.GRAM,
    Access.ROWS: Need.ROWS,
    Access.COLUMNS: Need.COLUMNS,
    Access.SUBSETS: Need.COLUMN_SUBSETS,
    Access.DENSE: Need.DENSE,
}


def data_provides(data: Data) -> Need:
    """Flags of the data: access beyond the two products."""
    offers = {need: flag in data.access for flag, need in OF_DATA.items()}
    matrices = offers[Need.GRAM] and offers[Need.COLUMN_SUBSETS]
    return _total({**offers, Need.MATRIX_COLUMNS: offers[Need.COLUMNS] or matrices})


def loss_provides(loss: Loss, data: Data, n_params: int) -> Need:
    """Flags of the loss on these data."""
    # The low-rank form of pairs within groups would need factors for every group.
    one_group = loss.coupling is Coupling.ROW or data.target.groups is None
    few = n_params <= FACTOR_PARAMS and data.n_rows * n_params <= PAIR_ENTRIES
    dense = few and Access.DENSE in data.access
    low_rank = loss.order >= 2 and loss.low_rank and one_group
    compiled = COMPILED.find(loss)
    bound = math.inf if compiled is None else curve_bound(compiled.kind, compiled.width)
    pairs = loss.coupling is Coupling.GLOBAL
    return _total(
        {
            Need.SMOOTH_LOSS: loss.smooth and loss.order >= 1,
            Need.CURVATURE: loss.order >= 2,
            Need.CONVEX_LOSS: loss.convex and loss.order >= 1,
            Need.PAIR_LOSS: PAIRED.has(loss),
            Need.THRESHOLD_LOSS: THRESHOLDED.has(loss) and not loss.smooth,
            Need.LOW_RANK_CURVATURE: low_rank,
            Need.MATRIX_CURVATURE: low_rank or (loss.order >= 2 and loss.convex and dense),
            Need.QUADRATIC_LOSS: loss.quadratic,
            Need.QUADRATIC_PAIRS: loss.quadratic and pairs and one_group,
            Need.SMOOTHABLE_LOSS: smoothed(loss, 1.0) is not None,
            Need.CENTRED_SMOOTHING: CENTRABLE.has(loss),
            Need.ROW_LOSS: loss.coupling is Coupling.ROW,
            Need.POINTWISE_LOSS: compiled is not None,
            Need.BOUNDED_CURVATURE: math.isfinite(bound),
            Need.SCALE_INVARIANT_LOSS: loss.scale_invariant,
        }
    )


def penalty_provides(penalty: Penalty, n_columns: int) -> Need:
    """Flags of the penalty."""
    spec = penalty.separable(n_columns)
    free = spec is None or bool(np.isinf(spec.lower).all() and np.isinf(spec.upper).all())
    return _total(
        {
            Need.SMOOTH_PENALTY: penalty.smooth,
            Need.PROX: True,
            Need.SEPARABLE_PENALTY: spec is not None,
            Need.STRONG_PENALTY: spec is not None and free and bool((spec.l2 > 0.0).all()),
            Need.BLOCK_PENALTY: penalty.blocks(n_columns) is not None,
            Need.TREE_PENALTY: penalty.tree(n_columns) is not None,
            Need.UNBOUNDED: free,
        }
    )


def _total(offers: dict[Need, bool]) -> Need:
    """The union of all flags that are True."""
    # The bits are distinct, so their sum is their union.
    return Need(sum(need.value for need, offered in offers.items() if offered))
