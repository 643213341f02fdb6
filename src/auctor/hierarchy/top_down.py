"""Hierarchical classification: one path through a taxonomy for every row."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import expit, logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.errors import DataError
from auctor.core.types import Array, FloatArray, IntArray, Target
from auctor.data import Dense, Sparse, as_matrix, feature_names, wrap
from auctor.data.coerce import check_weight
from auctor.hierarchy.labels import Form, in_form, read_labels
from auctor.hierarchy.nodes import NodeSettings, NodeTask, node_loss, train_nodes
from auctor.hierarchy.taxonomy import Taxonomy
from auctor.kernels.hierarchy import decode as kernels
from auctor.kernels.hierarchy.descend import descend
from auctor.training.registry import resolve_penalty

PATHS = ("best", "greedy", "beam")
NEGATIVES = ("siblings", "all")


class TopDownClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A binary model for every node against its siblings, and a path from the top.

    Parameters
    ----------
    taxonomy : Taxonomy, optional
        A tree; may be left out where labels are paths such as ``"animal/cat"``.
    negatives : {"siblings", "all"}
        Rows that a node is trained against: those that reach its parent, or all.
    path : {"best", "greedy", "beam"}
        How a path is chosen: the one with the highest product of conditional probabilities, the
        best child at every step (fastest with many nodes), or the best of ``beam`` paths kept.
    beam : int >= 1
    mandatory_leaf : bool
        Whether every path ends in a leaf. Otherwise it ends where no child has a probability of
        ``stop``, and rows may be labelled with inner nodes.
    stop : float in (0, 1)
    loss : {"logistic", "squared_hinge", "hinge"} or loss object
    penalty : {"l2", "l1", "elastic_net"} or penalty object
    strength : float >= 0
    solver : str, solver object, or callable
        A callable is a policy by node: it takes the number of rows and of columns and the depth of
        a node and returns a solver; "auto" chooses by the problem.
    tol : float
    max_iter : int
    n_threads : int, optional
        Nodes are trained side by side.

    Attributes
    ----------
    taxonomy_ : Taxonomy
    classes_ : array of labels
        Of the leaves, or of all nodes where paths may end early.
    coef_, intercept_ : weights and intercepts of all nodes
    empty_labels_ : list
        Labels without rows: they are never predicted.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = np.array(["animal/cat", "animal/dog", "plant"])[np.argmax(X, axis=1)]
    >>> TopDownClassifier().fit(X, y).score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        negatives: str = "siblings",
        path: str = "best",
        beam: int = 5,
        mandatory_leaf: bool = True,
        stop: float = 0.5,
        loss: Any = "logistic",
        penalty: Any = "l2",
        strength: float = 1e-4,
        solver: Any = "auto",
        tol: float = 1e-2,
        max_iter: int = 200,
        n_threads: int | None = None,
    ) -> None:
        self.taxonomy = taxonomy
        self.negatives = negatives
        self.path = path
        self.beam = beam
        self.mandatory_leaf = mandatory_leaf
        self.stop = stop
        self.loss = loss
        self.penalty = penalty
        self.strength = strength
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_threads = n_threads

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X, each with one label.

        Parameters
        ----------
        X : (n, d) table, array or sparse matrix
        y : labels
            One label a row (a path such as "a/b", or a label of the taxonomy), or a
            two-dimensional array with the labels on the way down.
        sample_weight : (n,) array, optional
        """
        who = type(self).__name__
        self._check_parameters(who)
        matrix = as_matrix(X, who=who)
        n = matrix.shape[0]
        self.labels_ = read_labels(who, y, self.taxonomy, "close")
        self.taxonomy_, on = self.labels_.taxonomy, self.labels_.indicator
        _ = self.taxonomy_.parent  # refuses labels with several parents
        if on.shape[0] != n:
            raise DataError(
                who,
                needs="a label for every row",
                got=f"{on.shape[0]} for {n}",
                todo="Pass as many.",
            )
        self._check_rows(who, on)
        weight = None if sample_weight is None else check_weight(sample_weight, n, who=who)
        self.n_features_in_ = matrix.shape[1]
        names = feature_names(X)
        if names is not None:
            self.feature_names_in_ = names
        self.seen_ = on.any(axis=0)
        self.empty_labels_ = [self.taxonomy_.names[t] for t in np.flatnonzero(~self.seen_)]
        ends = self.taxonomy_.leaves if self.mandatory_leaf else np.ones(on.shape[1], dtype=bool)
        self.ends_ = np.flatnonzero(ends & self.seen_)
        self.classes_ = np.array([self.taxonomy_.names[t] for t in self.ends_])
        data: Dense | Sparse = wrap(matrix, Target(np.zeros(n)), n_threads=1)
        settings = NodeSettings(
            node_loss(who, self.loss),
            lambda: resolve_penalty(who, self.penalty, self.strength, None),
            self.solver,
            self.tol,
            self.max_iter,
        )
        self.models_ = train_nodes(
            data,
            self._tasks(on),
            settings,
            weight=weight,
            n_threads=self.n_threads,
            depth=self.taxonomy_.depth.tolist(),
        )
        return self

    @property
    def coef_(self) -> Any:
        """Weights of all nodes."""
        return self.models_.coef

    @property
    def intercept_(self) -> FloatArray:
        """Intercepts of all nodes."""
        found: FloatArray = self.models_.intercept
        return found

    def predict(self, X: Any) -> Any:
        """The label at the end of every row's path, in the form that labels had in `fit`."""
        node = self._end_nodes(X)
        on = np.zeros((node.size, self.taxonomy_.n_nodes), dtype=bool)
        reached = node >= 0
        on[np.flatnonzero(reached), node[reached]] = True
        kernels.any_below(on, *self.taxonomy_.parents)
        return in_form(on, self.labels_)

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of every class, the product of conditional probabilities on its path."""
        log = self._path_scores(X)[:, self.ends_]
        proba: FloatArray = np.exp(log - logsumexp(log, axis=1, keepdims=True))
        return proba

    def decision_function(self, X: Any) -> FloatArray:
        """Log-probability of the path to every class."""
        return self._path_scores(X)[:, self.ends_]

    # --- parts ----------------------------------------------------------------------------------

    def _check_parameters(self, who: str) -> None:
        check_choice(who, "negatives", self.negatives, NEGATIVES)
        check_choice(who, "path", self.path, PATHS)
        check_int(who, "beam", self.beam, low=1)
        check_real(who, "stop", self.stop, low=0.0, high=1.0, open_low=True, open_high=True)
        check_real(who, "strength", self.strength, low=0.0)

    def _check_rows(self, who: str, on: Array) -> None:
        """Every row has one path, which ends in a leaf if it must."""
        if self.labels_.form in (Form.SETS, Form.INDICATOR):
            depth = self.taxonomy_.depth
            per_level = np.column_stack(
                [on[:, depth == level].sum(axis=1) for level in range(int(depth.max()) + 1)]
            )
            if (per_level > 1).any():
                raise DataError(
                    who,
                    needs="one path for every row",
                    got=f"several in row {int(np.argmax((per_level > 1).any(axis=1)))}",
                    todo="Use HierarchicalMultiLabel for sets of labels.",
                )
        if not on.any(axis=1).all():
            raise DataError(
                who,
                needs="a label for every row",
                got=f"none in row {int(np.argmin(on.any(axis=1)))}",
                todo="Drop such rows.",
            )
        leaf = on[:, self.taxonomy_.leaves].any(axis=1)
        if self.mandatory_leaf and not leaf.all():
            raise DataError(
                who,
                needs="labels that are leaves",
                got=f"an inner label in row {int(np.argmin(leaf))}",
                todo="Pass {option} to let paths end early.",
                option="mandatory_leaf",
            )

    def _tasks(self, on: Array) -> list[NodeTask]:
        """The rows and positives of every node's model."""
        tasks = []
        for t, above in enumerate(self.taxonomy_.parent):
            everywhere = above < 0 or self.negatives == "all"
            rows: IntArray | None = None if everywhere else np.flatnonzero(on[:, above])
            positive = on[:, t] if rows is None else on[rows, t]
            tasks.append(NodeTask(rows, positive.astype(np.float64)))
        return tasks

    def _read(self, X: Any) -> Any:
        check_is_fitted(self)
        matrix = as_matrix(X, who=type(self).__name__)
        if matrix.shape[1] != self.n_features_in_:
            raise DataError(
                type(self).__name__,
                needs=f"{self.n_features_in_} columns, as in fit",
                got=f"{matrix.shape[1]}",
                todo="Pass the same columns.",
            )
        return matrix

    def _conditional(self, X: Any) -> FloatArray:
        """Log-probability of every node given its parent: sigmoids, made to add up over siblings.

        Where a path may end early, staying at the parent has the probability that is left.
        """
        proba = expit(self.models_.scores(self._read(X)))
        proba[:, ~self.seen_] = 0.0
        taxonomy = self.taxonomy_
        tops = np.flatnonzero(taxonomy.parent < 0)
        groups = [tops, *(taxonomy.children.of(t) for t in range(taxonomy.n_nodes))]
        for group in groups:
            if group.size:
                total = proba[:, group].sum(axis=1, keepdims=True)
                least = total if self.mandatory_leaf else np.maximum(total, 1.0)
                proba[:, group] /= np.maximum(least, 1e-300)
        return np.log(np.maximum(proba, 1e-300))

    def _path_scores(self, X: Any) -> FloatArray:
        """Log-probability of the path to every node, and of ending there where that is allowed."""
        log = self._conditional(X)
        for t, above in enumerate(self.taxonomy_.parent):
            if above >= 0:
                log[:, t] += log[:, above]
        if self.mandatory_leaf:
            return log
        ending = log.copy()
        for t in range(self.taxonomy_.n_nodes):
            below = self.taxonomy_.children.of(t)
            if below.size:
                inside = np.exp(log[:, below]).sum(axis=1)
                ending[:, t] = np.log(np.maximum(np.exp(log[:, t]) - inside, 1e-300))
        return ending

    def _end_nodes(self, X: Any) -> IntArray:
        """The node at which every row's path ends."""
        if self.path == "greedy" and not hasattr(self.models_.coef, "toarray"):
            return self._greedy(self._read(X))
        scores = self._path_scores(X)[:, self.ends_]
        found: IntArray = self.ends_[np.argmax(scores, axis=1)]
        return found

    def _greedy(self, matrix: Any) -> IntArray:
        """The best child at every step; only the children on the way are scored."""
        rows = wrap(matrix, Target(np.empty(0)), n_threads=1).row_lines()
        taxonomy = self.taxonomy_
        intercept = np.where(self.seen_, self.models_.intercept, -1e300)
        stop = -np.inf if self.mandatory_leaf else float(np.log(self.stop / (1.0 - self.stop)))
        out = np.empty(matrix.shape[0], dtype=np.int64)
        descend(
            *rows,
            np.ascontiguousarray(self.models_.coef),
            intercept,
            np.flatnonzero(taxonomy.parent < 0),
            *taxonomy.children,
            stop,
            out,
        )
        return out
