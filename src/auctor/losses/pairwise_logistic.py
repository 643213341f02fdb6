"""The logistic loss over pairs, accurate to 1e-12 per pair in O(n log n)."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from auctor.core.curvature import PairCurvature
from auctor.core.types import FloatArray, IntArray
from auctor.kernels.linalg.sorting import AnyRows
from auctor.kernels.losses import cells
from auctor.losses.pairwise import SortedPairwise
from auctor.losses.sorted_pairs import Opposing, SortedClasses, drawn_partners, run_both

#: Candidates among which the partner of a drawn row is chosen.
TRIES = 256


class PairwiseLogistic(SortedPairwise):
    """Mean over pairs of ``log(1 + exp(-(s_i - s_j)))``; O(n log n).

    Rows in a unit cell of the score axis act on other cells through twelve Chebyshev moments; cells
    with few rows are summed pair by pair. Both ways agree up to `ERROR`, so the result does not
    depend on which one is used, and integer weights equal repeated rows.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.core.types import Target
    >>> round(PairwiseLogistic().value(np.zeros(2), Target(np.array([1.0, -1.0]))), 6)
    0.693147

    References
    ----------
    Burges et al., Learning to rank using gradient descent, 2005; Greengard, Strain, The fast Gauss
    transform, 1991.
    """

    #: Largest error of the loss of a pair, its slope or its curvature, in their units.
    ERROR = 1e-12
    raised = 0.0

    order = 2

    def sorted_value_grad(
        self, scores: FloatArray, classes: SortedClasses
    ) -> tuple[float, FloatArray]:
        """Mean over pairs and its gradient in the scores, whose classes are sorted."""
        pos, neg = _views(scores, classes)
        if any(np.isnan(view.own.values).any() for view in (pos, neg)):
            return math.nan, np.full_like(scores, math.nan)
        share = pos.other.share
        (value, up), down = run_both(
            lambda: (pos.sums(cells.VALUE, share), pos.sums(cells.SLOPE, share)),
            lambda: neg.sums(cells.SLOPE, neg.other.share),
            scores.shape[0],
        )
        grad = np.zeros_like(scores)
        grad[pos.own.rows] = -pos.own.weight * up
        grad[neg.own.rows] = neg.own.weight * down
        return float(pos.own.weight @ value), grad

    def sorted_curvature(self, scores: FloatArray, classes: SortedClasses) -> PairCurvature:
        """Second derivative in the scores; that of a pair is ``softplus''(s_j - s_i)``."""
        views = _views(scores, classes)
        pos, neg = views
        stiff = run_both(
            lambda: pos.sums(cells.CURVE, pos.other.share),
            lambda: neg.sums(cells.CURVE, neg.other.share),
            scores.shape[0],
        )
        # Diagonal: weight_i sum_j share_j softplus''(z_ij), for the rows of both classes.
        diagonal = np.zeros_like(scores)
        for view, mass in zip(views, stiff, strict=True):
            diagonal[view.own.rows] = view.own.weight * mass

        def product(v: FloatArray) -> FloatArray:
            flat = v if v.ndim == 2 else v[:, None]
            out = diagonal[:, None] * flat

            # Off-diagonal part: minus weight_i sum_j share_j softplus''(z_ij) v_j.
            def one(view: _View) -> None:
                own, other = view.own, view.other
                for column in range(flat.shape[1]):
                    pull = view.sums(cells.CURVE, other.share * flat[other.rows, column])
                    out[own.rows, column] -= own.weight * pull

            run_both(lambda: one(views[0]), lambda: one(views[1]), flat.size)
            return out if v.ndim == 2 else out[:, 0]

        def partners(view: _View, i: IntArray, at: FloatArray) -> AnyRows:
            own, other = view.own, view.other
            group = np.searchsorted(own.starts, i, side="right") - 1
            # Cumulative shares of the other class, from which partners are drawn.
            mass = np.concatenate(([0.0], np.cumsum(other.share)))
            j = np.empty(i.size, dtype=np.int64)
            cells.draw_partners(
                own.values[i], group, other.values, mass, other.starts, at, TRIES, j
            )
            return other.rows[j]

        sides = [(view.own.rows, partial(partners, view)) for view in views]
        return PairCurvature(diagonal, product, partial(drawn_partners, scores.size, sides))


class _View:
    """One class opposed to the other, with the cells of both."""

    def __init__(self, classes: Opposing) -> None:
        self.own, self.other = classes
        self._own = cells.find_cells(self.own.values, self.own.starts)
        self._other = cells.find_cells(self.other.values, self.other.starts)

    def sums(self, kind: int, c: FloatArray) -> FloatArray:
        """For each row i of the own class, ``sum_j c_j f(z_ij)`` over its group."""
        out = np.empty(self.own.rows.size)
        cells.pair_sums(
            kind,
            cells.table(kind),
            self.own.values,
            self._own,
            self.other.values,
            self._other,
            c,
            cells.DIRECT_PAIRS,
            out,
        )
        return out


def _views(scores: FloatArray, classes: SortedClasses) -> tuple[_View, _View]:
    first, second = classes
    return run_both(lambda: _View(first), lambda: _View(second), scores.shape[0])
