"""Coordinate ascent on the dual of a pair loss: one variable per pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from auctor.core.capabilities import PAIRED
from auctor.core.checks import check_int
from auctor.core.data_capabilities import ROWS
from auctor.core.errors import IncompatibleError, speaks_for_itself
from auctor.core.types import FloatArray, IntArray, Target
from auctor.problem import Problem
from auctor.problem.needs import Need
from auctor.solvers.base import Solver, State
from auctor.solvers.choose import Role, choose
from auctor.solvers.reformulate import Reformulated
from auctor.solvers.relay import Choice


@dataclass(frozen=True)
class PairForm:
    """The problem with one row per pair; its parameters are those of the given problem."""

    given: Problem
    problem: Problem
    pass_cost: float

    def start(self, w: FloatArray) -> FloatArray:
        """The same parameters."""
        return w

    def back(self, inner: State) -> State:
        """The point and the lower bound, which is the same for both problems."""
        lower = inner.point.value - self.problem.certificate(inner.point, inner.dual).gap
        return State(self.given.evaluate(inner.point.w), lower=lower)


@dataclass(frozen=True)
class PairDualAscent(Reformulated):
    """Exact steps on the dual variables of all (positive, negative) pairs, for small data.

    The variable of pair (i, j) lies between 0 and the pair's weight, and
    ``w = sum a_ij (x_i - x_j) / l2``. Every pair becomes a row ``x_i - x_j`` of a problem for
    `DualCoordinateAscent`, whose duality gap is that of the pair loss.

    Parameters
    ----------
    max_pairs : int >= 1
        Largest number of pairs; each is stored as a row.

    References
    ----------
    Rakotomamonjy, Optimizing area under ROC curve with SVMs, 2004; Hsieh et al., A dual coordinate
    descent method for large-scale linear SVM, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.minimise import minimise
    >>> from auctor.data import as_data
    >>> from auctor.losses import PairwiseHinge
    >>> from auctor.penalties import L2
    >>> problem = Problem(PairwiseHinge(), L2(0.5), as_data(np.array([[1.0], [0.0]]), [1, -1]))
    >>> minimise(problem, PairDualAscent(), tol=1e-9).coef.round(6)
    array([1.])
    """

    max_pairs: int = 200_000

    needs = Need.PAIR_LOSS | Need.STRONG_PENALTY | Need.ROWS

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_int("max_pairs", self.max_pairs, low=1)

    @property
    def inner_solver(self) -> Choice:
        """Chooses the solver of the problem with one row per pair."""
        return _over_pairs

    def make(self, problem: Problem) -> PairForm:
        """The problem with one row per pair; an error if there are more than ``max_pairs``."""
        first, second, weight = every_pair(problem.data.target, self.max_pairs)
        rows = ROWS.of(problem.data).differences(first, second)
        data = rows.with_target(Target(np.ones(first.size), weight))
        loss = PAIRED.of(problem.loss).per_pair
        pairs = Problem(loss, problem.penalty, data, fit_intercept=False)
        return PairForm(problem, pairs, data.n_entries / max(problem.n_entries, 1))


def _over_pairs(pairs: Problem) -> Solver[Any]:
    return choose(pairs, role=Role.AS_ROWS)


def every_pair(target: Target, most: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Positive rows, negative rows and weights of all pairs; an error if more than ``most``."""
    pos, neg, _ = target.pairs
    n_pos, n_neg = np.diff(pos.start), np.diff(neg.start)
    count = int(n_pos @ n_neg)
    if count > most:
        raise IncompatibleError(
            f"at most {most} pairs; got {count}. Use `solver='continuation'` or `solver='bmrm'`.",
            part="PairDualAscent",
        )
    groups = list(zip(pos.start, neg.start, n_pos, n_neg, strict=False))
    first = np.concatenate([np.repeat(np.arange(i, i + m), n) for i, _, m, n in groups])
    second = np.concatenate([np.tile(np.arange(j, j + n), m) for _, j, m, n in groups])
    return pos.rows[first], neg.rows[second], pos.weight[first] * neg.share[second]
