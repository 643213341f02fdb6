"""Norms of the groups of a tree.

The first d of the m nodes are the columns, the others hold no column. ``parent[t]`` is the node
above t, and m for the nodes below the virtual root. ``order`` lists children before parents. The
penalty of node t is ``weight[t]`` times the Euclidean norm of its descendants, itself included.
Index arrays are unsigned.
"""

from __future__ import annotations

import math

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.kernels.penalties.groups import SCALE_STEPS, block_factor
from auctor.kernels.penalties.separable import SLACK
from auctor.kernels.runtime.compiled import inline_kernel, kernel


@inline_kernel
def entry(w: FloatArray, t: int) -> float:
    """The weight at a node, 0 where it holds no column."""
    return w[t] if t < w.shape[0] else 0.0


@kernel
def leaves_first(parent: Array, order: Array) -> int:
    """Fill ``order`` with children before parents; return the number of nodes on no cycle."""
    d = parent.shape[0]
    children = np.zeros(d + 1, dtype=np.int64)
    # Topological order: start with the leaves; a node follows when all its children are done.
    for t in range(d):
        children[parent[t]] += 1
    count = 0
    for t in range(d):
        if children[t] == 0:
            order[count] = t
            count += 1
    done = 0
    while done < count:
        p = parent[order[done]]
        done += 1
        children[p] -= 1
        if p < d and children[p] == 0:
            order[count] = p
            count += 1
    return count


@kernel
def tree_top_nodes(
    parent: Array, order: Array, weight: FloatArray, top: Array, reach: FloatArray
) -> None:
    """Mark the nodes with only weights of 0 above them; find the largest weight below each node.

    ``top`` and ``reach`` have one more entry, for the virtual root. A node is below itself.
    """
    d = weight.shape[0]
    top[d] = True
    reach[:] = 0.0
    # Up: largest weights. Down: a node is marked while all nodes above have weight 0.
    for i in range(d):
        t = order[i]
        reach[t] = max(reach[t], weight[t])
        reach[parent[t]] = max(reach[parent[t]], reach[t])
    for i in range(d - 1, -1, -1):
        t = order[i]
        p = parent[t]
        top[t] = top[p] and (p == d or weight[p] == 0.0)


@kernel
def tree_norms(w: FloatArray, parent: Array, order: Array, norm: FloatArray) -> None:
    """Norm of every node and its descendants; ``norm`` has one more entry, for the virtual root."""
    norm[:] = 0.0
    for i in range(order.shape[0]):
        t = order[i]
        square = norm[t] + entry(w, t) ** 2
        norm[parent[t]] += square
        norm[t] = math.sqrt(square)


@kernel
def tree_value(w: FloatArray, parent: Array, order: Array, weight: FloatArray) -> float:
    """Value of the penalty at w."""
    m = weight.shape[0]
    norm = np.empty(m + 1)
    tree_norms(w, parent, order, norm)
    total = 0.0
    for t in range(m):
        total += weight[t] * norm[t]
    return total


@kernel
def tree_prox(
    v: FloatArray, step: float, parent: Array, order: Array, weight: FloatArray, out: FloatArray
) -> None:
    """The prox in one pass up and one down.

    On a tree it is the composition of the proxes of the groups, children first. The pass up
    computes the factor of each group from its shrunken squared norm, the pass down their products.
    """
    m = weight.shape[0]
    square, rho = np.zeros(m + 1), np.ones(m + 1)
    for i in range(m):
        t = order[i]
        total = square[t] + entry(v, t) ** 2
        rho[t] = block_factor(math.sqrt(total), step * weight[t])
        square[parent[t]] += total * rho[t] * rho[t]
    for i in range(m - 1, -1, -1):
        t = order[i]
        rho[t] *= rho[parent[t]]
        if t < v.shape[0]:
            out[t] = rho[t] * v[t]


@kernel
def tree_violation(
    w: FloatArray,
    grad: FloatArray,
    parent: Array,
    order: Array,
    weight: FloatArray,
    out: FloatArray,
) -> None:
    """Distance of ``-grad`` to the subdifferential, as one entry per coordinate.

    Groups that are not zero are differentiable. On the subtrees that are zero, the distance of the
    remaining gradient to their dual balls is the norm of its prox.
    """
    d, m = w.shape[0], weight.shape[0]
    norm, pull, open_weight = np.empty(m + 1), np.zeros(m + 1), weight.copy()
    tree_norms(w, parent, order, norm)
    rest = np.empty(d)
    # Gradient plus the derivative of the non-zero groups; their weights are then set to 0.
    for i in range(m - 1, -1, -1):
        t = order[i]
        pull[t] = pull[parent[t]]
        if norm[t] > 0.0:
            pull[t] += weight[t] / norm[t]
            open_weight[t] = 0.0
        if t < d:
            rest[t] = grad[t] + pull[t] * w[t] if w[t] != 0.0 else grad[t]
    tree_prox(rest, 1.0, parent, order, open_weight, out)
    for t in range(d):
        out[t] = abs(out[t])


@kernel
def dual_norms(
    v: FloatArray,
    scale: float,
    parent: Array,
    order: Array,
    weight: FloatArray,
    norm: FloatArray,
    slope: FloatArray,
) -> None:
    """Per node: norm of ``scale v`` after the dual balls below it, and its slope in the scale."""
    norm[:] = 0.0
    slope[:] = 0.0
    for i in range(order.shape[0]):
        t = order[i]
        x = entry(v, t)
        norm[t] = math.sqrt(norm[t] + (scale * x) ** 2)
        slope[t] = (slope[t] + scale * x * x) / norm[t] if norm[t] > 0.0 else 0.0
        # Its own ball takes off ``weight`` of the norm; the rest is passed to the parent.
        over = norm[t] - weight[t]
        if not over <= 0.0:
            norm[parent[t]] += over * over
            slope[parent[t]] += over * slope[t]


@kernel
def tree_in_ball(
    v: FloatArray, parent: Array, order: Array, weight: FloatArray, top: Array, reach: FloatArray
) -> bool:
    """Whether the conjugate at v is finite (then it is 0).

    ``top`` marks the nodes with only zero weights above. ``reach`` is the largest weight at or
    below a node, to which rounding errors there are relative.
    """
    m = weight.shape[0]
    norm, slope = np.empty(m + 1), np.empty(m + 1)
    dual_norms(v, 1.0, parent, order, weight, norm, slope)
    for t in range(m):
        if top[t]:
            if weight[t] == 0.0:
                if entry(v, t) != 0.0:
                    return False
            elif not norm[t] <= weight[t] + SLACK * reach[t]:
                return False
    return True


@kernel
def tree_dual_scale(
    v: FloatArray, parent: Array, order: Array, weight: FloatArray, top: Array
) -> float:
    """Largest c in [0, 1] with ``c v`` in the dual ball, by Newton's method from above.

    The norm of every node is convex in c and 0 at 0, so ``c weight/norm`` is always feasible.
    """
    m = weight.shape[0]
    # A top node without weight has the dual ball {0}.
    for t in range(v.shape[0]):
        if top[t] and weight[t] == 0.0 and v[t] != 0.0:
            return 0.0
    norm, slope = np.empty(m + 1), np.empty(m + 1)
    c = 1.0
    for _ in range(SCALE_STEPS):
        dual_norms(v, c, parent, order, weight, norm, slope)
        # A Newton step for every violated node. The smallest result is still above the root.
        new, inside = c, c
        for t in range(m):
            if top[t] and weight[t] > 0.0 and norm[t] > weight[t]:
                new = min(new, c - (norm[t] - weight[t]) / slope[t])
                inside = min(inside, c * weight[t] / norm[t])
        if inside == c:
            return c
        if not 0.0 < new < c or inside >= c * (1.0 - 4e-16):  # rounding
            return inside
        c = new
    # Not converged after SCALE_STEPS steps: return a feasible scale.
    dual_norms(v, c, parent, order, weight, norm, slope)
    inside = c
    for t in range(m):
        if top[t] and weight[t] > 0.0 and norm[t] > weight[t]:
            inside = min(inside, c * weight[t] / norm[t])
    return inside


@kernel
def tree_derivatives(
    w: FloatArray,
    parent: Array,
    order: Array,
    weight: FloatArray,
    norm: FloatArray,
    pull: FloatArray,
    flat: FloatArray,
    smooth: Array,
) -> None:
    """Norms; sums over the groups of a node of ``weight/norm`` and ``weight/norm^3``; smoothness.

    A node is smooth if no group above it has the norm 0, where it has a kink. All outputs have one
    more entry, for the virtual root.
    """
    m = weight.shape[0]
    tree_norms(w, parent, order, norm)
    pull[m], flat[m], smooth[m] = 0.0, 0.0, True
    for i in range(m - 1, -1, -1):
        t = order[i]
        up = parent[t]
        pull[t], flat[t], smooth[t] = pull[up], flat[up], smooth[up]
        if weight[t] > 0.0:
            if norm[t] > 0.0:
                pull[t] += weight[t] / norm[t]
                flat[t] += weight[t] / norm[t] ** 3
            else:
                smooth[t] = False


@kernel
def tree_hessian_product(
    w: FloatArray,
    v: FloatArray,
    parent: Array,
    order: Array,
    weight: FloatArray,
    norm: FloatArray,
    pull: FloatArray,
    damping: float,
    out: FloatArray,
) -> None:
    """Add the Hessian at w of the non-zero groups times v to ``out``.

    A norm has no curvature along its own direction; there ``damping`` adds that share of the
    curvature in the other directions.
    """
    m = weight.shape[0]
    # Up: w.v of every group, then its part weight (w.v) / norm^3. Down: sums over the groups of a
    # node.
    along = np.zeros(m + 1)
    for i in range(m):
        t = order[i]
        if t < w.shape[0]:
            along[t] += w[t] * v[t]
        below = along[t]
        along[t] = weight[t] * below / norm[t] ** 3 if norm[t] > 0.0 else 0.0
        along[parent[t]] += below
    along[m] = 0.0
    for i in range(m - 1, -1, -1):
        t = order[i]
        along[t] += along[parent[t]]
        if t < w.shape[0]:
            out[t] += pull[t] * v[t] - (1.0 - damping) * along[t] * w[t]


@kernel
def zero_reversed_groups(
    old: FloatArray, new: FloatArray, parent: Array, order: Array, weight: FloatArray
) -> None:
    """Set the groups of ``new`` to zero whose inner product with those of ``old`` is negative."""
    m = weight.shape[0]
    along, off = np.zeros(m + 1), np.zeros(m + 1, dtype=np.bool_)
    for i in range(m):
        t = order[i]
        along[t] += entry(old, t) * entry(new, t)
        if weight[t] > 0.0 and along[t] < 0.0:
            off[t] = True
        else:
            along[parent[t]] += along[t]
    for i in range(m - 1, -1, -1):
        t = order[i]
        off[t] = off[t] or off[parent[t]]
        if off[t] and t < new.shape[0]:
            new[t] = 0.0


@kernel
def tree_above(parent: Array, order: Array, kept: Array) -> None:
    """Mark all ancestors of the marked nodes."""
    for i in range(order.shape[0]):
        t = order[i]
        if kept[t]:
            kept[parent[t]] = True
