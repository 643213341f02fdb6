"""Decoders: from one score per label to a set of labels that is consistent with the taxonomy.

A consistent set has, with every label, all its ancestors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.errors import ConvergenceWarning, DataError, speaks_for_itself, warn
from auctor.core.types import Array, FloatArray, IntArray
from auctor.hierarchy.taxonomy import Taxonomy
from auctor.kernels.hierarchy import decode as kernels
from auctor.kernels.hierarchy import operator

#: Sweeps of the dual ascent on a directed acyclic graph, at most.
DAG_SWEEPS = 2000
#: Largest change of a dual variable, in units of the scores, at which the dual ascent stops.
DAG_TOL = 1e-9
#: Scores above this count as this, so that sums of them are numbers.
LARGEST_SCORE = 1e100
#: Bound of the errors of the ascent from which it warns.
DAG_ERROR = 1e-4
#: Ways to make scores coherent; see `ExpectedF`.
COHERENCE = ("lower", "raise")


@dataclass(frozen=True)
class Decoder(ABC):
    """Turns scores (n, n_nodes), the probabilities of the labels, into sets of labels.

    A decoder is a frozen dataclass with the method `decode`. One whose parameter `tune_decoder` is
    to tune also names it (`tuned`) and lists its ``candidates``.
    """

    #: The name of the parameter that is tuned; None if there is none.
    tuned: ClassVar[str | None] = None
    #: Values of that parameter that are tried, one for all labels.
    candidates: ClassVar[tuple[float, ...]] = ()
    #: Whether the best candidate is then improved by a search.
    searched: ClassVar[bool] = False
    #: Numbers that the search looks for: "one", one per "level" or one per "label". An attribute
    #: without a type is no parameter: decoders that let the user choose declare it with a type.
    each = "one"
    #: The search: "dfo" or "subgradient".
    search = "dfo"

    @abstractmethod
    def decode(self, scores: Any, taxonomy: Taxonomy) -> Array:
        """Label sets of all rows, as a 0/1 matrix (n, n_nodes)."""

    def variants(self) -> tuple[Decoder, ...]:
        """Decoders that tuning compares, each at all candidates of the parameter."""
        return (self,)


def check_scores(scores: Any, taxonomy: Taxonomy) -> FloatArray:
    """A copy of the scores as float64 (n, n_nodes); raises for NaN."""
    u = np.array(scores, dtype=np.float64, order="C")
    if u.ndim != 2 or u.shape[1] != taxonomy.n_nodes:
        raise DataError(
            f"scores of shape (n, {taxonomy.n_nodes}), a column for every label; got shape "
            f"{u.shape}. Order the columns as taxonomy.names does."
        )
    if np.isnan(u).any():
        raise DataError("scores that are numbers; got NaN. Replace them.")
    return u


def level_weights(values: Any, taxonomy: Taxonomy, name: str) -> FloatArray:
    """One number per node, from a scalar, one number per level or one per node."""
    array = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if array.size == 1:
        return np.full(taxonomy.n_nodes, float(array[0]))
    if array.size == taxonomy.n_nodes:
        return array.copy()
    if array.size == int(taxonomy.depth.max()) + 1:
        per_level: FloatArray = array[taxonomy.depth]
        return per_level
    raise DataError(
        f"{name} as one number, one per level or one per label; got {array.size} numbers. Pass 1, "
        f"{int(taxonomy.depth.max()) + 1} or {taxonomy.n_nodes} of them."
    )


@dataclass(frozen=True)
class Flat(Decoder):
    """Each label separately: predicted if its score reaches the threshold.

    The only decoder whose sets may be inconsistent with the taxonomy.

    Parameters
    ----------
    threshold : float, or one per level or label
    each : {"one", "level", "label"}
        Whether one threshold is tuned, one per level or one per label.
    """

    threshold: Any = 0.5
    each: str = "one"

    #: The parameter that is tuned, and its candidates: probabilities from 0.025 to 0.9.
    tuned: ClassVar[str] = "threshold"
    candidates: ClassVar[tuple[float, ...]] = tuple(k / 40 for k in range(1, 37))
    searched: ClassVar[bool] = True

    @speaks_for_itself
    def decode(self, scores: Any, taxonomy: Taxonomy) -> Array:
        """Label sets of all rows, as a 0/1 matrix (n, n_nodes)."""
        u = check_scores(scores, taxonomy)
        on: Array = u >= level_weights(self.threshold, taxonomy, "threshold")
        return on


@dataclass(frozen=True)
class LeafReduce(Flat):
    """A label is predicted if it or any of its descendants reaches its threshold."""

    def decode(self, scores: Any, taxonomy: Taxonomy) -> Array:
        """Label sets of all rows, as a 0/1 matrix (n, n_nodes)."""
        on = super().decode(scores, taxonomy)
        kernels.any_below(on, *taxonomy.parents)
        return on


@dataclass(frozen=True)
class RootMap(Flat):
    """A label is predicted if it and all its ancestors reach their thresholds."""

    def decode(self, scores: Any, taxonomy: Taxonomy) -> Array:
        """Label sets of all rows, as a 0/1 matrix (n, n_nodes)."""
        on = super().decode(scores, taxonomy)
        kernels.all_above(on, *taxonomy.parents)
        return on


@dataclass(frozen=True)
class HierarchicalOperator(Decoder):
    """The labels with non-zero entries in the proximal operator of a hierarchical norm.

    ``P(u) = argmin_v 1/2 |u - v|^2 + sum_t phi_t |v_D(t)|``, with D(t) the label t and its
    descendants. Negative scores are set to 0, because the norm ignores signs. On a tree one pass up
    and one pass down is exact. On a directed acyclic graph the groups overlap, and the dual is
    solved by cyclic block ascent; a warning bounds the error of rows that need more sweeps.

    Parameters
    ----------
    phi : float > 0, or one per level or label
        Weights of the groups; larger weights drop more labels.
    each : {"one", "level", "label"}
        Whether one weight is tuned, one per level or one per label.
    search : {"dfo", "subgradient"}
        How the weights are tuned: by `DfoTr`, from values of the objective alone, or by
        subgradients of a smooth approximation of the objective.

    References
    ----------
    Jenatton, Mairal, Obozinski, Bach 2011; Tang, Big data optimization in machine learning, Lehigh
    2016, chapter 3, where the factors of the listing must be squared.
    """

    phi: Any = 0.5
    each: str = "one"
    search: str = "dfo"

    #: The parameter that is tuned, and its candidates, on the scale of a norm of probabilities.
    tuned: ClassVar[str] = "phi"
    candidates: ClassVar[tuple[float, ...]] = tuple(k / 40 for k in range(1, 41))
    searched: ClassVar[bool] = True

    def decode(self, scores: Any, taxonomy: Taxonomy) -> Array:
        """Label sets of all rows, as a 0/1 matrix (n, n_nodes)."""
        return self.prox(scores, taxonomy)[1]

    @speaks_for_itself
    def prox(self, scores: Any, taxonomy: Taxonomy) -> tuple[FloatArray, Array]:
        """The proximal operator at the scores, (n, n_nodes), and the labels that are not zero.

        Examples
        --------
        >>> taxonomy = Taxonomy.from_parents({"root": None, "left": "root", "right": "root"})
        >>> shrunk, kept = HierarchicalOperator(0.5).prox([[0.3, 0.9, 0.8]], taxonomy)
        >>> shrunk.round(4), kept
        (array([[0.0428, 0.057 , 0.0428]]), array([[ True,  True,  True]]))
        """
        u = np.maximum(check_scores(scores, taxonomy), 0.0)
        phi = level_weights(self.phi, taxonomy, "phi")
        check_real("phi", float(phi.min()), low=0.0)
        v = np.empty(u.shape)
        if taxonomy.is_tree:
            # The kernel returns factors: on a tree the operator scales every score.
            operator.tree_operator(u, taxonomy.parent, phi, v)
            return v * u, v > 0.0
        on = np.empty(u.shape, dtype=bool)
        start, below = descendants(taxonomy)
        error = operator.dag_operator(u, below, start, phi, DAG_SWEEPS, DAG_TOL, v, on)
        if error > DAG_ERROR:
            warn(
                ConvergenceWarning(
                    "the proximal operator of every row",
                    got=f"errors of at most {error:.0e} after {DAG_SWEEPS} sweeps of some rows",
                    todo="Use ExpectedF, which is exact, if labels at the edge of a set matter.",
                )
            )
        kernels.all_above(on, *taxonomy.parents)
        return np.where(on, v, 0.0), on

    @speaks_for_itself
    def phi_gradient(self, scores: Any, slope: FloatArray, taxonomy: Taxonomy) -> FloatArray:
        """``sum_i slope_i . dP(u_i) / dphi``, one number per label.

        Parameters
        ----------
        scores : (n, n_nodes) array
        slope : (n, n_nodes) array
            Gradient of a function of the proximal operator's value.
        taxonomy : Taxonomy
        """
        u = np.maximum(check_scores(scores, taxonomy), 0.0)
        phi = level_weights(self.phi, taxonomy, "phi")
        gradient = np.zeros(taxonomy.n_nodes)
        if taxonomy.is_tree:
            operator.tree_operator_gradient(u, taxonomy.parent, phi, slope, gradient)
        else:
            start, below = descendants(taxonomy)
            shrunk, _ = self.prox(u, taxonomy)
            operator.dag_operator_gradient(below, start, phi, shrunk, slope, gradient)
        return gradient


@dataclass(frozen=True)
class ExpectedF(Decoder):
    """The set with the highest expected F-beta, with the scores as probabilities.

    Scores are made coherent (no label has a higher score than its parents) and sorted. The k first
    labels are taken, with the k that maximises
    ``(1 + beta^2) sum_top p / (k + beta^2 sum_all p)``, a ratio of expectations. The first labels
    by coherent scores are a consistent set.

    Parameters
    ----------
    beta : float > 0
    temper : float > 0
        Exponent of the probabilities: above 1 sets become smaller, below 1 larger.
    empty : bool
        Whether a set may be empty; its F is 1 if the true set is empty, too. The estimator allows
        it if there are training rows without labels.
    coherence : {"lower", "raise"}
        How scores are made coherent: each is lowered to the smallest score of its ancestors, or
        raised to the largest score of its descendants. Raising is better where the models of inner
        labels are weak, because an inner label joins classes that have little in common.
    """

    beta: float = 1.0
    temper: float = 1.0
    empty: bool = False
    coherence: str = "lower"

    #: The parameter that is tuned, and its candidates around 1.
    tuned: ClassVar[str] = "temper"
    candidates: ClassVar[tuple[float, ...]] = (
        0.4,
        0.5,
        0.6,
        0.7,
        0.8,
        0.9,
        1.0,
        1.15,
        1.3,
        1.5,
        1.8,
    )

    def variants(self) -> tuple[ExpectedF, ...]:
        """Decoders that tuning compares, each at all candidates of the parameter."""
        return tuple(replace(self, coherence=one) for one in COHERENCE)

    @speaks_for_itself
    def decode(self, scores: Any, taxonomy: Taxonomy) -> Array:
        """Label sets of all rows, as a 0/1 matrix (n, n_nodes)."""
        check_real("beta", self.beta, low=0.0, open_low=True)
        check_real("temper", self.temper, low=0.0, open_low=True)
        check_choice("coherence", self.coherence, COHERENCE)
        p = coherent(scores, taxonomy, self.coherence)
        # Sums of infinite scores would have no ratios; below the bound nothing changes.
        with np.errstate(over="ignore"):
            p = np.clip(np.clip(p, 0.0, None) ** self.temper, None, LARGEST_SCORE)
        on = np.zeros(p.shape, dtype=bool)
        start = taxonomy.parents.start
        kernels.best_prefix(p, decreasing_order(p), self.beta**2, start, bool(self.empty), on)
        return on


@dataclass(frozen=True)
class TopK(Decoder):
    """The k labels with the largest coherent scores, which are a consistent set.

    Parameters
    ----------
    k : int >= 1
    """

    k: int = 3

    @speaks_for_itself
    def decode(self, scores: Any, taxonomy: Taxonomy) -> Array:
        """Label sets of all rows, as a 0/1 matrix (n, n_nodes)."""
        check_int("k", self.k, low=1)
        p = coherent(scores, taxonomy)
        on = np.zeros(p.shape, dtype=bool)
        kernels.first_k(decreasing_order(p), self.k, on)
        return on


@dataclass(frozen=True)
class MandatoryLeaf(Decoder):
    """The best leaf of every row, with all its ancestors.

    Parameters
    ----------
    path : bool
        Whether the score of a leaf is the mean log-probability of the labels on its path, or its
        own score.
    """

    path: bool = True

    @speaks_for_itself
    def decode(self, scores: Any, taxonomy: Taxonomy) -> Array:
        """Label sets of all rows, as a 0/1 matrix (n, n_nodes)."""
        u = check_scores(scores, taxonomy)
        if self.path:
            u = path_means(np.log(np.clip(u, 1e-12, None)), taxonomy)
        leaves = np.flatnonzero(taxonomy.leaves)
        on = np.zeros(u.shape, dtype=bool)
        on[np.arange(u.shape[0]), leaves[np.argmax(u[:, leaves], axis=1)]] = True
        kernels.any_below(on, *taxonomy.parents)
        return on


#: Decoders by the name a user types.
DECODERS: dict[str, type[Decoder]] = {
    "expected_f": ExpectedF,
    "flat": Flat,
    "leaf_reduce": LeafReduce,
    "root_map": RootMap,
    "hierarchical": HierarchicalOperator,
    "top_k": TopK,
    "mandatory_leaf": MandatoryLeaf,
}


# --- parts ----------------------------------------------------------------------------------------


def coherent(scores: Any, taxonomy: Taxonomy, coherence: str = "lower") -> FloatArray:
    """Scores in which no label has a higher score than its parents.

    Each is lowered to the smallest score of its ancestors, or raised to the largest score of its
    descendants.
    """
    p = check_scores(scores, taxonomy)
    change = kernels.at_most_parents if coherence == "lower" else kernels.at_least_children
    change(p, *taxonomy.parents)
    return p


def decreasing_order(p: FloatArray) -> IntArray:
    """Nodes by decreasing score; ties in the order of the nodes, so that parents come first."""
    order: IntArray = np.argsort(-p, axis=1, kind="stable")
    return order


def path_means(values: FloatArray, taxonomy: Taxonomy) -> FloatArray:
    """Mean of the values on the path from the top to each label; the best of several paths."""
    total, count = values.copy(), np.ones(values.shape)
    rows = np.arange(values.shape[0])
    for t in range(taxonomy.n_nodes):
        above = taxonomy.parents.of(t)
        if above.size:
            best = above[np.argmax(total[:, above] / count[:, above], axis=1)]
            total[:, t] += total[rows, best]
            count[:, t] += count[rows, best]
    means: FloatArray = total / count
    return means


def descendants(taxonomy: Taxonomy) -> tuple[IntArray, IntArray]:
    """Each label with its descendants: those of t are ``below[start[t]:start[t + 1]]``."""
    # Bottom up: parents come before children in the order of the nodes.
    sets: list[set[int]] = [{t} for t in range(taxonomy.n_nodes)]
    for t in range(taxonomy.n_nodes - 1, -1, -1):
        for child in taxonomy.children.of(t):
            sets[t] |= sets[int(child)]
    start = np.concatenate(([0], np.cumsum([len(one) for one in sets]))).astype(np.int64)
    below = np.concatenate([np.array(sorted(one), dtype=np.int64) for one in sets])
    return start, below
