"""A tree with splits by AUC as arrays: growth, pruning, and the scores of its leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np

from auctor.core.types import Array, FloatArray, IntArray
from auctor.lab.kernels import auc_tree
from auctor.metrics import auc

#: Rows that the share of the node above counts for in the score of a node.
PRIOR_ROWS = 2.0
#: Strengths that cross-validation compares, at most.
MOST_STRENGTHS = 60


@dataclass(frozen=True, eq=False)
class AucTree:
    """Nodes of a tree; children follow their parent, and the right child its left one.

    Parameters
    ----------
    column : (m,) int array
        Column that a node splits by; -1 for leaves.
    cut : (m,) array
        Rows with a value up to it go left; infinite where only missing values go right.
    missing_left : (m,) bool array
        Whether rows without a value go left.
    missing : (m,) array
        Weight of the training rows without a value.
    child : (m,) int array
        Number of the left child.
    positive, negative : (m,) array
        Weight of the training rows of each class.
    gain : (m,) array
        Share of all pairs of a positive and a negative row that the split orders correctly, beyond
        one half of those that it separates.
    strength : (m,) array
        Strength from which the node is a leaf.
    """

    column: IntArray
    cut: FloatArray
    missing_left: Array
    missing: FloatArray
    child: IntArray
    positive: FloatArray
    negative: FloatArray
    gain: FloatArray
    strength: FloatArray

    @classmethod
    def grown(
        cls, X: FloatArray, positive: Array, weight: FloatArray, most_leaves: int, least: float
    ) -> Self:
        """The tree before pruning; rows without weight are left out."""
        used = weight > 0.0
        X, positive, weight = np.asfortranarray(X[used]), positive[used], weight[used]
        order = np.argsort(X, axis=0, kind="stable").T.astype(np.uint32)  # NaN is last
        found = auc_tree.grow(
            X,
            np.ascontiguousarray(order),
            np.where(positive, weight, 0.0),
            np.where(positive, 0.0, weight),
            most_leaves,
            least,
        )
        return cls(*found, auc_tree.weakest_links(found[0], found[4], found[7]))

    @property
    def inner(self) -> Array:
        """Whether each node splits."""
        inner: Array = self.column >= 0
        return inner

    @property
    def strengths(self) -> FloatArray:
        """Strengths between those at which the tree shrinks, increasing, from 0 on."""
        steps = np.unique(self.strength[self.inner])
        between = [float(np.sqrt(a * b)) for a, b in pairwise(steps)]
        return np.array([0.0, *between, *steps[-1:]])

    def nodes_of(self, X: FloatArray, strength: float = -1.0) -> IntArray:
        """The node at which each row ends in the tree pruned at a strength."""
        out = np.empty(X.shape[0], dtype=np.int64)
        auc_tree.descend(
            X, self.column, self.cut, self.missing_left, self.child, self.strength, strength, out
        )
        return out

    @property
    def share(self) -> FloatArray:
        """Share of the positives in each node, shrunk towards that of the node above."""
        weight = self.positive + self.negative
        share = self.positive / np.maximum(weight, np.finfo(float).tiny)
        for node in np.flatnonzero(self.inner):
            for one in (self.child[node], self.child[node] + 1):
                share[one] = (self.positive[one] + PRIOR_ROWS * share[node]) / (
                    weight[one] + PRIOR_ROWS
                )
        return share

    def pruned(self, strength: float) -> Self:
        """The tree at a strength, with the nodes that it needs."""
        kept, child = [0], []
        for node in kept:  # grows: parents before children
            inner = self.column[node] >= 0 and self.strength[node] > strength
            child.append(len(kept) if inner else -1)
            if inner:
                kept += [int(self.child[node]), int(self.child[node]) + 1]
        index, new_child = np.array(kept), np.array(child)
        inner = new_child >= 0
        return type(self)(
            np.where(inner, self.column[index], -1),
            np.where(inner, self.cut[index], 0.0),
            inner & self.missing_left[index],
            np.where(inner, self.missing[index], 0.0),
            np.maximum(new_child, 0),
            self.positive[index],
            self.negative[index],
            np.where(inner, self.gain[index], 0.0),
            np.where(inner, self.strength[index], 0.0),
        )

    def check(self, d: int) -> None:
        """Raise ``ValueError`` unless these are the nodes of a tree on d columns."""
        m = self.column.size
        shapes = {getattr(self, one.name).shape for one in fields(self)}
        inner = np.flatnonzero(self.inner)
        numbers = (self.missing, self.positive, self.negative, self.gain, self.strength)
        good = (
            m >= 1
            and shapes == {(m,)}
            and bool((self.column < d).all() and (self.column >= -1).all())
            and not np.isnan(self.cut).any()
            and all(bool(np.isfinite(one).all() and (one >= 0.0).all()) for one in numbers)
            # All nodes but the first are children of one node that splits.
            and np.array_equal(np.sort(self.child[inner]), 1 + 2 * np.arange(inner.size))
            and m == 1 + 2 * inner.size
            and bool((self.child[inner] > inner).all())
        )
        if not good:
            raise ValueError("a model without the nodes of a tree")

    def walk(self) -> Iterator[tuple[int, int]]:
        """Nodes from left to right, each before its children, with their depths."""
        waiting = [(0, 0)]
        while waiting:
            node, depth = waiting.pop()
            yield node, depth
            if self.column[node] >= 0:
                left = int(self.child[node])
                waiting += [(left + 1, depth + 1), (left, depth + 1)]


class Pruning(NamedTuple):
    """Strengths that were compared, the mean AUC on held-out rows at each, and the best one."""

    strengths: FloatArray
    scores: FloatArray
    best: float


def choose_strength(
    X: FloatArray,
    positive: Array,
    weight: FloatArray,
    folds: Sequence[tuple[IntArray, IntArray]],
    most_leaves: int,
    least: float,
) -> Pruning:
    """The strength of the best mean AUC on rows that the tree has not seen.

    The strengths are those between which the tree of all rows changes. Of equally good ones the
    largest is best: it has the fewest leaves.
    """
    whole = AucTree.grown(X, positive, weight, most_leaves, least).strengths
    if whole.size > MOST_STRENGTHS:
        whole = whole[np.unique(np.linspace(0, whole.size - 1, MOST_STRENGTHS).round().astype(int))]
    scores = np.zeros((len(folds), whole.size))
    for k, (train, test) in enumerate(folds):
        tree = AucTree.grown(X[train], positive[train], weight[train], most_leaves, least)
        share = tree.share
        for i, strength in enumerate(whole):
            reached = share[tree.nodes_of(X[test], float(strength))]
            scores[k, i] = auc(positive[test], reached, weight=weight[test])
    mean = scores.mean(axis=0)
    best = int(np.flatnonzero(mean >= mean.max() - 1e-12)[-1])
    return Pruning(whole, mean, float(whole[best]))
