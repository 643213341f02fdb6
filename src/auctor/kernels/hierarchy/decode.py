"""Decoders of scores on a taxonomy: one pass up, one down, for every row.

Nodes are numbered with parents first; ``start`` and ``index`` list the parents of each. Scores are
(n, L), one row per sample, and so are the decisions, as bytes.
"""

from __future__ import annotations

from auctor.core.types import Array, FloatArray
from auctor.kernels.runtime.compiled import kernel


@kernel
def any_below(on: Array, start: Array, index: Array) -> None:
    """Select all ancestors of the selected nodes; children are visited before parents."""
    n, size = on.shape
    for i in range(n):
        for t in range(size - 1, -1, -1):
            if on[i, t]:
                for a in range(start[t], start[t + 1]):
                    on[i, index[a]] = True


@kernel
def all_above(on: Array, start: Array, index: Array) -> None:
    """Deselect every node with an unselected ancestor; parents are visited before children."""
    n, size = on.shape
    for i in range(n):
        for t in range(size):
            for a in range(start[t], start[t + 1]):
                if not on[i, index[a]]:
                    on[i, t] = False


@kernel
def at_most_parents(p: FloatArray, start: Array, index: Array) -> None:
    """Lower every score to the lowest score among its ancestors."""
    n, size = p.shape
    for i in range(n):
        for t in range(size):
            for a in range(start[t], start[t + 1]):
                p[i, t] = min(p[i, t], p[i, index[a]])


@kernel
def at_least_children(p: FloatArray, start: Array, index: Array) -> None:
    """Raise every score to the highest score among its descendants."""
    n, size = p.shape
    for i in range(n):
        for t in range(size - 1, -1, -1):
            for a in range(start[t], start[t + 1]):
                p[i, index[a]] = max(p[i, index[a]], p[i, t])


@kernel
def best_prefix(
    p: FloatArray, order: Array, beta2: float, start: Array, empty: bool, on: Array
) -> None:
    """Select the prefix of the sorted scores with the highest expected F-beta.

    The first k nodes have ``(1 + b) sum_{i <= k} p_i / (k + b sum p)``, b being beta squared.
    ``order`` lists the nodes of a row by falling score, parents before children where they tie, so
    that every prefix obeys the taxonomy. Where the ``empty`` set is allowed, its value is the
    probability that no root label is present, ``prod (1 - p)`` over nodes without parents.
    """
    n, size = p.shape
    for i in range(n):
        total, none = 0.0, 1.0
        for t in range(size):
            total += p[i, t]
            if start[t] == start[t + 1]:
                none *= max(1.0 - p[i, t], 0.0)
        # Values are compared without the common factor 1 + b.
        best, length, hits = none / (1.0 + beta2) if empty else -1.0, 0, 0.0
        for k in range(size):
            hits += p[i, order[i, k]]
            value = hits / (k + 1.0 + beta2 * total)
            if value > best:
                best, length = value, k + 1
        for k in range(size):
            on[i, order[i, k]] = k < length


@kernel
def first_k(order: Array, k: int, on: Array) -> None:
    """Select the first k nodes in the order of every row."""
    n, size = order.shape
    for i in range(n):
        for place in range(size):
            on[i, order[i, place]] = place < k
