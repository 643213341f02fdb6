"""Hierarchical classification: one path through the taxonomy for every row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin

from auctor.core.checks import check_choice, check_int, check_real, named_parameters
from auctor.core.errors import DataError, ParameterError, speaks
from auctor.core.types import Array, CompressedColumns, FloatArray, IntArray, Target
from auctor.data import Dense, Sparse, wrap
from auctor.data.matrices import is_dense
from auctor.hierarchy.calibration import Calibration
from auctor.hierarchy.estimators.base import HierarchicalEstimator
from auctor.hierarchy.estimators.labels import Form, names_array, nodes_in_form
from auctor.hierarchy.nodes import (
    NodeModels,
    NodeSettings,
    NodeTask,
    ParentTask,
    train_nodes,
    train_parents,
)
from auctor.hierarchy.taxonomy import Taxonomy
from auctor.kernels.hierarchy import descend as kernels
from auctor.losses import Logistic

#: Searches for the path of a row.
PATHS = ("best", "greedy", "beam")
#: Negative rows of a node's model.
NEGATIVES = ("auto", "siblings", "all")
#: Models: a binary one per node, or a multinomial one per parent.
STRATEGIES = ("node", "parent")
#: Labels up to which "auto" trains nodes against all rows (one-vs-rest).
MOST_AGAINST_ALL = 200
#: Share of the rows that is held out to calibrate scores that are not log-odds.
HELD_OUT = 1.0 / 3.0
#: Scores computed at a time, rows x labels: 320 MB for each of three matrices.
SCORES_AT_ONCE = 40_000_000


@dataclass(eq=False, repr=False, kw_only=True)
class TopDownParameters:
    """Parameters of `TopDownClassifier`, which describes them."""

    taxonomy: Taxonomy | None = field(default=None, kw_only=False)
    strategy: str = "node"
    negatives: str = "auto"
    path: str = "best"
    beam: int = 5
    mandatory_leaf: bool = True
    stop: float = 0.5
    loss: Any = None
    penalty: Any = "l2"
    strength: float = 1e-4
    calibrate: bool | None = None
    solver: Any = "auto"
    tol: float = 1e-2
    max_iter: int = 200
    n_threads: int | None = None
    random_state: Any = None


# A dataclass of its own, so that errors on unknown parameters name this class.
@named_parameters
@dataclass(eq=False, repr=False)
class TopDownClassifier(ClassifierMixin, HierarchicalEstimator, TopDownParameters):  # type: ignore[misc]
    """Classifier with a model per node, or per parent, that predicts a path from the top.

    Parameters
    ----------
    taxonomy : Taxonomy, optional
        A tree; not needed if labels are paths such as ``"animal/cat"``. Without a taxonomy, labels
        that are not text make a flat classifier.
    strategy : {"node", "parent"}
        A binary model per node, or a multinomial one per parent (log-loss).
    negatives : {"auto", "siblings", "all"}
        Negative rows of a node's model: those that reach its parent, or all. With "siblings" the
        probability of a path is the product of the probabilities along it; with "all" it is that of
        its last node. "auto" is "all" up to 200 labels, and "siblings" with more labels or with a
        model per parent.
    path : {"best", "greedy", "beam"}
        The path of a row: the most likely one; the best child at every step (fastest with many
        nodes); or the best of ``beam`` paths that are kept at every step.
    beam : int >= 1
        Number of paths that "beam" keeps.
    mandatory_leaf : bool
        Whether every path ends in a leaf. Otherwise rows may be labelled with inner nodes, and
        ending there has its own probability; a greedy path ends where no child has a probability of
        at least ``stop``.
    stop : float in (0, 1)
        Probability below which a greedy path does not go on.
    loss : {"squared_hinge", "logistic", "hinge"} or loss object, optional
        By default the squared hinge for a model per node, log-loss for a model per parent.
    penalty : {"l2", "l1", "elastic_net"} or penalty object
    strength : float >= 0
    calibrate : bool, optional
        Whether scores are calibrated on held-out rows. By default they are, unless the loss is
        log-loss.
    solver : str, solver object, or callable
        A callable takes the number of rows, the number of columns and the depth of a node and
        returns its solver, as the rules of `auctor.hierarchy.policies`; "auto" is
        `policies.measured_rule`.
    tol : float
    max_iter : int
    n_threads : int, optional
        Nodes are trained in parallel.
    random_state : int, optional
        Seed of the choice of held-out rows.

    Attributes
    ----------
    taxonomy_ : Taxonomy
    classes_ : array of labels
        Labels of the leaves with rows, and of the inner nodes at which training rows end.
    coef_, intercept_ : weights and intercepts of all nodes
    calibration_ : slopes and offsets that turn scores into log-odds
    empty_labels_ : list
        Labels without rows, which are never predicted.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = np.array(["animal/cat", "animal/dog", "plant"])[np.argmax(X, axis=1)]
    >>> TopDownClassifier().fit(X, y).score(X, y) > 0.9
    True
    """

    @speaks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X, each with one label.

        Parameters
        ----------
        X : (n, d) table, array or sparse matrix
        y : labels
            One label per row (a path such as "a/b", or a label of the taxonomy), or a
            two-dimensional array with the labels on each row's path, from the top.
        sample_weight : (n,) array, optional
        """
        self.check_parameters()
        matrix, on, weight = self._read_rows(X, y, sample_weight, "close")
        on = np.asfortranarray(on)  # it is read column by column from here on
        _ = self.taxonomy_.parent  # raises if a label has several parents
        self._check_rows(on)
        self._set_ends(on)
        data: Dense | Sparse = wrap(matrix, Target(np.zeros(on.shape[0])), n_threads=1)
        self.calibration_ = self._calibration(matrix, on, weight)
        self.models_ = self._train(data, on, weight)
        return self

    @speaks
    def predict(self, X: Any) -> Any:
        """The label at the end of every row's path, in the form of the labels in `fit`."""
        return nodes_in_form(self.predict_nodes(X), self.taxonomy_, self.form_)

    @speaks
    def predict_indicator(self, X: Any) -> Array:
        """Labels on every row's path as a 0/1 matrix (n, n_labels)."""
        on: Array = nodes_in_form(self.predict_nodes(X), self.taxonomy_, Form.INDICATOR)
        return on.astype(bool)

    @speaks
    def predict_nodes(self, X: Any) -> IntArray:
        """The node at which every row's path ends; -1 for the virtual root."""
        matrix = self._read(X)
        leaves = np.empty(matrix.shape[0], dtype=np.int64)
        if self.path == "best":
            # If no probabilities are multiplied, the most likely end has the highest log-odds.
            plain = not self._siblings() and (self.mandatory_leaf or not self.stays_.any())
            scores = self._log_odds if plain else self._ends
            for at in _chunks(matrix.shape[0], self.taxonomy_.n_nodes):
                ends = scores(_part(matrix, at))[:, self.ends_]
                leaves[at] = self.ends_[np.argmax(ends, axis=1)]
            return leaves
        lines: Dense | Sparse = wrap(matrix, Target(np.empty(0)), n_threads=1)
        self._descend(lines.row_lines(), leaves)
        return leaves

    @speaks
    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of every class, (n, n_classes); each row sums to 1."""
        log = self._class_scores(X)
        proba: FloatArray = np.exp(log - logsumexp(log, axis=1, keepdims=True))
        return proba

    @speaks
    def decision_function(self, X: Any) -> FloatArray:
        """Log-probability of the path to every class, (n, n_classes).

        With two classes the value of the second minus that of the first, (n,).
        """
        log = self._class_scores(X)
        return log[:, 1] - log[:, 0] if log.shape[1] == 2 else log

    def _class_scores(self, X: Any) -> FloatArray:
        matrix = self._read(X)
        parts = [
            self._ends(_part(matrix, at))[:, self.ends_]
            for at in _chunks(matrix.shape[0], self.taxonomy_.n_nodes)
        ]
        return np.concatenate(parts)

    @speaks
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows whose path is predicted correctly."""
        same = (self._truth(y) == self.predict_indicator(X)).all(axis=1)
        return float(np.average(same, weights=sample_weight))

    # --- parts ----------------------------------------------------------------------------------

    def check_parameters(self) -> None:
        """Raise for invalid parameters."""
        check_choice("strategy", self.strategy, STRATEGIES)
        self._settings()
        check_choice("negatives", self.negatives, NEGATIVES)
        check_choice("path", self.path, PATHS)
        check_int("beam", self.beam, low=1)
        check_real("stop", self.stop, low=0.0, high=1.0, open_low=True, open_high=True)
        if self.strategy == "parent":
            if not self._probabilistic():
                raise ParameterError(
                    f"log-loss for a model per parent; got {self.loss!r}. Leave `loss` out."
                )
            if self.negatives == "all":
                raise ParameterError(
                    "siblings as negatives of a model per parent; got 'all'. Leave `negatives` out."
                )

    def _check_rows(self, on: Array) -> None:
        """Raise unless every row has one path, which ends in a leaf under ``mandatory_leaf``."""
        depth = self.taxonomy_.depth
        if self.form_ in (Form.SETS, Form.INDICATOR):
            per_level = np.column_stack(
                [on[:, depth == level].sum(axis=1) for level in range(int(depth.max()) + 1)]
            )
            if (per_level > 1).any():
                raise DataError(
                    "one path for every row; got several in row "
                    f"{int(np.argmax((per_level > 1).any(axis=1)))}. Use HierarchicalMultiLabel "
                    "for sets of labels."
                )
        if not on.any(axis=1).all():
            raise DataError(
                f"a label for every row; got none in row {int(np.argmin(on.any(axis=1)))}. Drop it."
            )
        leaf = on[:, self.taxonomy_.leaves].any(axis=1)
        if self.mandatory_leaf and not leaf.all():
            raise DataError(
                f"labels that are leaves; got an inner label in row {int(np.argmin(leaf))}. Pass "
                "`mandatory_leaf=False` to let paths end at inner nodes."
            )

    def _set_ends(self, on: Array) -> None:
        """Set the nodes at which paths may end: leaves, and inner nodes at which rows end."""
        below = np.zeros(on.shape, dtype=bool, order="F")
        for t, above in enumerate(self.taxonomy_.parent):
            if above >= 0:
                below[:, above] |= on[:, t]
        self.adopt_ends((on & ~below).any(axis=0) & ~self.taxonomy_.leaves)

    @speaks
    def adopt_ends(self, stays: Array) -> None:
        """Set the attributes that depend on ``stays``, the inner nodes at which rows end."""
        self.stays_ = stays
        self.ends_ = np.flatnonzero((self.taxonomy_.leaves | stays) & self.seen_)
        self.classes_ = names_array(self.taxonomy_, self.ends_.tolist())

    def _settings(self, loss: Any = None) -> NodeSettings:
        if loss is None and self.loss is None:
            loss = {"node": "squared_hinge", "parent": "logistic"}[self.strategy]
        return super()._settings(loss)

    def _probabilistic(self) -> bool:
        """Whether scores are log-odds without calibration."""
        return isinstance(self._settings().loss, Logistic)

    def _siblings(self) -> bool:
        """Whether nodes are trained only on the rows that reach their parent."""
        if self.negatives == "auto":
            return self.strategy == "parent" or self.taxonomy_.n_nodes > MOST_AGAINST_ALL
        return self.negatives == "siblings"

    def _calibration(self, matrix: Any, on: Array, weight: FloatArray | None) -> Calibration:
        """Slopes and offsets of all nodes, fitted on a third of the rows, or the identity."""
        wanted = self.calibrate
        if wanted is None:
            wanted = not self._probabilistic()
        n, size = on.shape
        if not wanted or self.strategy == "parent" or n < 2:
            return Calibration.identity(size)
        order = np.random.default_rng(self.random_state).permutation(n)
        held, rest = np.split(order, [max(1, int(HELD_OUT * n))])
        part: Dense | Sparse = wrap(matrix[rest], Target(np.zeros(rest.size)), n_threads=1)
        models = self._train(part, on[rest], None if weight is None else weight[rest])
        # Against siblings, a node's score is meant only for rows that reach its parent.
        inside = np.ones((held.size, size), dtype=bool)
        for t, above in enumerate(self.taxonomy_.parent):
            if above >= 0 and self._siblings():
                inside[:, t] = on[held, above]
        return Calibration.fit(
            models.scores(matrix[held]),
            on[held],
            None if weight is None else weight[held],
            inside,
            shared=True,
        )

    def _train(self, data: Dense | Sparse, on: Array, weight: FloatArray | None) -> NodeModels:
        """Train the models of all nodes."""
        taxonomy, settings = self.taxonomy_, self._settings()
        shared: dict[str, Any] = {"weight": weight, "n_threads": self.n_threads}
        if self.strategy == "node":
            depth = taxonomy.depth.tolist()
            return train_nodes(data, self._node_tasks(on), settings, depth=depth, **shared)
        tasks, levels = self._parent_tasks(on)
        return train_parents(data, tasks, settings, taxonomy.n_nodes, depth=levels, **shared)

    def _node_tasks(self, on: Array) -> list[NodeTask]:
        """The rows and positives of every node's model."""
        tasks = []
        for t, above in enumerate(self.taxonomy_.parent):
            everywhere = above < 0 or not self._siblings()
            rows: IntArray | None = None if everywhere else np.flatnonzero(on[:, above])
            positive = on[:, t] if rows is None else on[rows, t]
            tasks.append(NodeTask(rows, positive.astype(np.float64)))
        return tasks

    def _parent_tasks(self, on: Array) -> tuple[list[ParentTask], list[int]]:
        """The rows and children of every parent's model, and the depths of the children."""
        taxonomy = self.taxonomy_
        tops = np.flatnonzero(taxonomy.parent < 0)
        tasks, levels = [], []
        for t in range(-1, taxonomy.n_nodes):  # -1 is the virtual root
            below = tops if t < 0 else taxonomy.children.of(t)
            if below.size == 0:
                continue
            rows = None if t < 0 else np.flatnonzero(on[:, t])
            inside = on[:, below] if rows is None else on[rows][:, below]
            codes = np.where(inside.any(axis=1), np.argmax(inside, axis=1), below.size)
            tasks.append(ParentTask(below.tolist(), rows, codes))
            levels.append(0 if t < 0 else int(taxonomy.depth[t]) + 1)
        return tasks, levels

    def _log_odds(self, matrix: Any) -> FloatArray:
        return self.calibration_.log_odds(self.models_.scores(matrix))

    def _log_odds_weights(self) -> tuple[Array, Array, Array, Array, Array]:
        """Weights and intercepts with the calibration applied, in the format of the kernels.

        Dense weights and three empty arrays, or an empty matrix and the arrays of a CSR matrix;
        then the intercepts.
        """
        slope, offset = self.calibration_
        intercept = self.models_.intercept * slope + offset
        coef: Any = self.models_.coef
        same = bool((slope == 1.0).all())
        if is_dense(coef):
            none = np.zeros(0, dtype=np.int64)
            dense = np.ascontiguousarray(coef if same else coef * slope[:, None])
            return dense, none, none, np.zeros(0), intercept
        values = coef.data if same else coef.data * np.repeat(slope, np.diff(coef.indptr))
        start, column = (one.astype(np.int64) for one in (coef.indptr, coef.indices))
        return np.empty((0, 0)), start, column, values, intercept

    def _tree(self) -> tuple[Array, Array, Array, Array]:
        """Children of all nodes, top nodes, and nodes with rows, as arguments of the kernels."""
        taxonomy = self.taxonomy_
        start, child = taxonomy.children
        return start, child, np.flatnonzero(taxonomy.parent < 0), self.seen_

    def _rules(self) -> tuple[bool, bool, Array]:
        """Rules of the paths, as arguments of the kernels.

        Whether siblings share a softmax, whether probabilities are multiplied along paths, and the
        nodes at which paths may end, the virtual root last.
        """
        stay = np.append(self.stays_ & (not self.mandatory_leaf), False)
        return self.strategy == "parent", self._siblings(), stay

    def _ends(self, matrix: Any) -> FloatArray:
        """Log-probability, (n, n_nodes), that the path of a row ends in each node."""
        z = self._log_odds(matrix)
        path, end = np.empty(z.shape), np.empty(z.shape)
        kernels.path_scores(z, *self._tree(), *self._rules(), path, end)
        return end

    def _descend(self, rows: CompressedColumns, out: IntArray) -> None:
        """Greedy descent or beam search, in which only children of visited nodes are scored."""
        start, child, top, seen = self._tree()
        coef, starts, columns, values, intercept = self._log_odds_weights()
        weights = (coef, starts, columns, values, intercept, top, start, child, seen)
        if self.path == "beam":
            kernels.beam_search(*rows, *weights, *self._rules(), self.beam, out)
            return
        stop = -np.inf if self.mandatory_leaf else float(np.log(self.stop / (1.0 - self.stop)))
        kernels.descend(*rows, *weights, stop, out)


def _chunks(n: int, size: int) -> list[slice]:
    """Slices of at most `SCORES_AT_ONCE` scores for n rows and ``size`` labels."""
    step = max(1, SCORES_AT_ONCE // size)
    return [slice(first, first + step) for first in range(0, max(n, 1), step)]


def _part(matrix: Any, at: slice) -> Any:
    """The rows of a slice, without a copy if these are all rows."""
    return matrix if at.start == 0 and at.stop >= matrix.shape[0] else matrix[at]
