"""Descending a taxonomy row by row: probabilities of all paths, greedy descent, beam search."""

from __future__ import annotations

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.kernels.runtime.compiled import fast_kernel, kernel


@kernel
def path_scores(
    z: FloatArray,
    start: Array,
    child: Array,
    top: Array,
    seen: Array,
    softmax: bool,
    inherit: bool,
    stay: Array,
    path: FloatArray,
    end: FloatArray,
) -> None:
    """Log-probability of the path to every node, and of ending there; O(L) for a row.

    ``z`` are log-odds. Without ``softmax`` a node has the conditional probability ``sigmoid(z)``,
    and a row ends at t with ``prod_c (1 - sigmoid(z_c))``. With it, siblings share a softmax, in
    which ending at the parent has a score of 0. ``stay[t]`` says whether rows may end at t; its
    last entry stands for the virtual root. Nodes that are not ``seen`` in training have probability
    0. With ``inherit`` the probability of a path is the product of its conditional probabilities;
    without it, probabilities are marginal, and a path has that of its last node.
    """
    n, size = z.shape
    for i in range(n):
        # Group -1 holds the root nodes, group t the children of t; parents come first.
        for group in range(-1, size):
            at = size if group < 0 else group
            first = 0 if group < 0 else start[group]
            count = top.shape[0] if group < 0 else start[group + 1] - first
            own = 0.0 if group < 0 else path[i, group]
            above = own if inherit else 0.0
            known = 0
            # Softmax over the children: P(c) = exp(z_c - most) / total, with exp(0 - most) for
            # ending here in the total.
            most = 0.0 if stay[at] else -np.inf
            for c in range(count):
                t = top[c] if group < 0 else child[first + c]
                if seen[t]:
                    known += 1
                    most = max(most, z[i, t])
            total = np.exp(-most) if stay[at] else 0.0
            left = 0.0
            for c in range(count):
                t = top[c] if group < 0 else child[first + c]
                if not seen[t]:
                    path[i, t] = -np.inf
                elif known == 1 and inherit and not stay[at]:
                    path[i, t] = above
                elif softmax:
                    total += np.exp(z[i, t] - most)
                else:
                    # log sigmoid(z) and log(1 - sigmoid(z)) without overflow
                    less = np.log1p(np.exp(-abs(z[i, t])))
                    path[i, t] = above - less + min(z[i, t], 0.0)
                    left += -less - max(z[i, t], 0.0)
            # Now the sum is known: log-probability z_c - log(sum), and -log(sum) for ending here.
            if softmax and (known > 1 or (known == 1 and stay[at])):
                log = most + np.log(total)
                left = -log
                for c in range(count):
                    t = top[c] if group < 0 else child[first + c]
                    if seen[t]:
                        path[i, t] = above + z[i, t] - log
            if group >= 0:
                end[i, group] = own + left if stay[at] or known == 0 else -np.inf


@fast_kernel
def node_score(
    first: int,
    last: int,
    indices: Array,
    values: Array,
    t: int,
    coef: FloatArray,
    weight_start: Array,
    weight_column: Array,
    weight_value: FloatArray,
    intercept: FloatArray,
) -> float:
    """``w_t . x + b_t`` of the row whose entries are ``first`` to ``last``.

    Weights are the rows of ``coef``. Where that is empty, they are compressed rows with increasing
    columns, in which every entry of x is found by binary search.
    """
    score: float = intercept[t]
    if coef.shape[0] > 0:
        for k in range(first, last):
            score += values[k] * coef[t, indices[k]]
        return score
    # The columns of x increase too, so each search starts where the last one ended.
    low, end = weight_start[t], weight_start[t + 1]
    for k in range(first, last):
        column = indices[k]
        high = end
        while low < high:
            middle = (low + high) // 2
            if weight_column[middle] < column:
                low = middle + 1
            else:
                high = middle
        if low == end:
            break
        if weight_column[low] == column:
            score += values[k] * weight_value[low]
    return score


@fast_kernel
def descend(
    indptr: Array,
    indices: Array,
    values: Array,
    coef: FloatArray,
    weight_start: Array,
    weight_column: Array,
    weight_value: FloatArray,
    intercept: FloatArray,
    top: Array,
    start: Array,
    child: Array,
    seen: Array,
    stop_below: float,
    out: Array,
) -> None:
    """The node at which every row ends; O(entries of the row) for each child on its way.

    ``top`` lists the nodes below the virtual root, ``child[start[t]:start[t + 1]]`` those below t.
    A row moves to the child with the highest score ``w_c . x + b_c``; an only child needs no score.
    It stops where the best score is below ``stop_below`` (-1 stands for the virtual root). The
    weights are stored as in `node_score`.
    """
    for i in range(out.shape[0]):
        at = -1
        while True:
            first = 0 if at < 0 else start[at]
            count = top.shape[0] if at < 0 else start[at + 1] - first
            # The next node is the child c with the largest w_c . x + b_c, if that is
            # >= stop_below. An only child needs no score, unless rows may stop above it.
            known = 0
            for c in range(count):
                known += seen[top[c] if at < 0 else child[first + c]]
            best, where = -np.inf, -1
            for c in range(count):
                t = top[c] if at < 0 else child[first + c]
                if not seen[t]:
                    continue
                score = 0.0
                if known > 1 or stop_below > -np.inf:
                    score = node_score(
                        indptr[i], indptr[i + 1], indices, values, t,
                        coef, weight_start, weight_column, weight_value, intercept,
                    )  # fmt: skip
                if where < 0 or score > best:
                    best, where = score, t
            if where < 0 or best < stop_below:
                break
            at = where
        out[i] = at


@fast_kernel
def beam_search(
    indptr: Array,
    indices: Array,
    values: Array,
    coef: FloatArray,
    weight_start: Array,
    weight_column: Array,
    weight_value: FloatArray,
    intercept: FloatArray,
    top: Array,
    start: Array,
    child: Array,
    seen: Array,
    softmax: bool,
    inherit: bool,
    stay: Array,
    beam: int,
    out: Array,
) -> None:
    """Node at which the most likely path ends, among the ``beam`` best paths kept at every level.

    A path that has ended stays in the beam and competes with those that continue.

    Parameters
    ----------
    indptr, indices, values : arrays
        The rows in compressed form.
    coef, weight_start, weight_column, weight_value, intercept : arrays
        Weights and intercepts of the nodes, which give log-odds; stored as in `node_score`.
    top, start, child : int arrays
        The taxonomy: ``top`` lists the nodes below the virtual root, ``child[start[t]:start[t +
        1]]`` those below t.
    seen : bool array
        Whether a node had rows in training.
    softmax, inherit : bool
        How log-odds become probabilities of paths; see `path_scores`.
    stay : bool array
        Whether rows may end at a node; the last entry stands for the virtual root.
    beam : int
        Number of paths that are kept.
    out : int array
        The node of each row; written.
    """
    size = intercept.shape[0]
    node, value, done = np.empty(beam, np.int64), np.empty(beam), np.empty(beam, np.bool_)
    # Candidates of one level: every node once, and each path of the beam as ended or ending.
    room = size + 2 * beam + 1
    next_node, next_value = np.empty(room, np.int64), np.empty(room)
    next_done = np.empty(room, np.bool_)
    for i in range(out.shape[0]):
        kept = 1
        node[0], value[0], done[0] = -1, 0.0, False
        while True:
            count_next, open_paths = 0, False
            for b in range(kept):
                if done[b]:
                    next_node[count_next], next_value[count_next] = node[b], value[b]
                    next_done[count_next] = True
                    count_next += 1
                    continue
                # Children of the last node of path b, with their log-odds z.
                at = node[b]
                slot = size if at < 0 else at
                first = 0 if at < 0 else start[at]
                count = top.shape[0] if at < 0 else start[at + 1] - first
                above = value[b] if inherit else 0.0
                begin, most, left = count_next, 0.0 if stay[slot] else -np.inf, 0.0
                for c in range(count):
                    t = top[c] if at < 0 else child[first + c]
                    if not seen[t]:
                        continue
                    z = node_score(
                        indptr[i], indptr[i + 1], indices, values, t,
                        coef, weight_start, weight_column, weight_value, intercept,
                    )  # fmt: skip
                    next_node[count_next], next_value[count_next] = t, z
                    next_done[count_next] = False
                    count_next += 1
                    most = max(most, z)
                known = count_next - begin
                # Log-odds become log-probabilities of the paths, as in `path_scores`: with softmax
                #   log P(path, c) = log P(path) + z_c - log sum exp(z),
                # without it log P(path, c) = log P(path) + log sigmoid(z_c).
                if known == 1 and inherit and not stay[slot]:
                    next_value[begin] = above
                elif softmax and known > 0:
                    total = np.exp(-most) if stay[slot] else 0.0
                    for c in range(begin, count_next):
                        total += np.exp(next_value[c] - most)
                    log = most + np.log(total)
                    left = -log
                    for c in range(begin, count_next):
                        next_value[c] += above - log
                else:
                    for c in range(begin, count_next):
                        z = next_value[c]
                        less = np.log1p(np.exp(-abs(z)))
                        next_value[c] = above - less + min(z, 0.0)
                        left += -less - max(z, 0.0)
                open_paths = open_paths or known > 0
                # The path may also end at this node.
                if at >= 0 and (known == 0 or stay[slot]):
                    next_node[count_next], next_value[count_next] = at, value[b] + left
                    next_done[count_next] = True
                    count_next += 1
            # Keep the best candidates, by repeated selection; of equal ones the first.
            kept = min(beam, count_next)
            for b in range(kept):
                best = b
                for c in range(b + 1, count_next):
                    if next_value[c] > next_value[best]:
                        best = c
                node[b], value[b], done[b] = next_node[best], next_value[best], next_done[best]
                next_node[best], next_value[best] = next_node[b], next_value[b]
                next_done[best] = next_done[b]
            if not open_paths:
                break
        out[i] = node[0]
