"""SVM-perf's one-slack formulation as a reference: small data, numpy, its own parametrisation.

It minimises ``|w|^2 / 2 + C xi`` where, for every labelling z of all rows,
``w.(psi(y) - psi(z)) >= delta(z) - xi``: the loss is a **sum**, ``psi`` of a labelling is
``sum z_i x_i``, so flipping a row moves its score by **twice** its size, and ``xi`` is the largest
violation. Auctor's losses are means with a margin of 1, so with ``v = 2 w``::

    AUC         xi = n_pos n_neg R(v),  C = 1 / (4 strength n_pos n_neg)
    error rate  xi = n R(v),            C = 1 / (4 strength n)

turn its objective into C n_pos n_neg (or C n) times ours, ``strength/2 |v|^2 + R(v)``, with R the
pairwise hinge (or the hinge).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from auctor.core.types import FloatArray, IntArray
from auctor.solvers.kinked.bundle import Bundle

#: Loss of a labelling by its counts: true positives, false positives, false negatives, true
#: negatives.
TableLoss: TypeAlias = Callable[[int, int, int, int], float]


class Violation(NamedTuple):
    """A labelling z, by ``psi(y) - psi(z) = sum change_i x_i``, and its loss."""

    change: FloatArray
    loss: float


Separation: TypeAlias = Callable[[FloatArray, FloatArray], Violation]


class OneSlack(NamedTuple):
    """The minimiser, its objective, its slack and the number of cuts."""

    w: FloatArray
    objective: float
    slack: float
    cuts: int


def _by_score(scores: FloatArray, y: FloatArray, label: float) -> IntArray:
    """Rows of a class, highest score first."""
    rows = np.flatnonzero(y == label)
    return rows[np.argsort(-scores[rows], kind="stable")]


def table_separation(delta: TableLoss) -> Separation:
    """Most violated labelling for a loss of the contingency table, over all tables: O(n^2).

    For given counts the most violated labelling labels the positives and the negatives with the
    highest scores positive.
    """

    def separate(scores: FloatArray, y: FloatArray) -> Violation:
        pos, neg = _by_score(scores, y, 1.0), _by_score(scores, y, -1.0)
        sums = [np.concatenate(([0.0], np.cumsum(scores[rows]))) for rows in (pos, neg)]
        # w.psi(z) of each class, if its k highest rows are labelled positive.
        totals = [2.0 * part - part[-1] for part in sums]
        _, tp, fp = max(
            (delta(a, b, pos.size - a, neg.size - b) + totals[0][a] + totals[1][b], a, b)
            for a in range(pos.size + 1)
            for b in range(neg.size + 1)
        )
        labels = np.full(y.size, -1.0)
        labels[pos[:tp]] = labels[neg[:fp]] = 1.0
        return Violation(y - labels, delta(tp, fp, pos.size - tp, neg.size - fp))

    return separate


def auc_separation(scores: FloatArray, y: FloatArray) -> Violation:
    """Most violated set of swapped pairs, O(n log n): one walk down the scores."""
    # Half the margin is taken from positives and given to negatives: pairs in the wrong order by
    # these scores violate their margin.
    order = np.argsort(-(scores - 0.25 * y), kind="stable")
    above, below, swapped = 0, int((y > 0).sum()), 0
    change = np.empty(y.size)
    for i in order:
        if y[i] > 0:
            change[i] = 2.0 * above
            swapped += above
            below -= 1
        else:
            change[i] = -2.0 * below
            above += 1
    return Violation(change, float(swapped))


def one_slack(
    X: FloatArray, y: FloatArray, C: float, separate: Separation, *, epsilon: float = 1e-9
) -> OneSlack:
    """Add the most violated labelling as a cut until its violation exceeds xi by at most epsilon.

    Examples
    --------
    >>> X, y = np.array([[1.0], [0.0]]), np.array([1.0, -1.0])
    >>> one_slack(X, y, 1.0, auc_separation).w.round(6)
    array([0.5])
    """
    # The objective divided by C is |w|^2 / (2 C) + xi; the zero cut stands for xi >= 0.
    bundle = Bundle(np.full(X.shape[1], 1.0 / C), patience=1_000_000)
    bundle.add(np.zeros(X.shape[1]), 0.0)
    w, slack, cuts = np.zeros(X.shape[1]), 0.0, 0
    while True:
        found = separate(X @ w, y)
        slope = found.change @ X
        if found.loss - float(slope @ w) <= slack + epsilon:
            break
        bundle.add(-slope, found.loss)
        cuts += 1
        w, value = bundle.lowest()
        slack = value - float(w @ w) / (2.0 * C)
    return OneSlack(w, 0.5 * float(w @ w) + C * slack, slack, cuts)
