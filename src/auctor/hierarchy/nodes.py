"""One binary model for every label, trained on shared or on its own rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, vstack
from scipy.special import logit
from sklearn.base import clone

from auctor.core.protocols import Loss, Penalty
from auctor.core.types import Array, FloatArray, IntArray, Target
from auctor.data import Dense, Sparse, Stacked
from auctor.hierarchy.policies import measured_rule
from auctor.kernels.runtime.parallel import available_threads, run_tasks
from auctor.losses import Hinge, Logistic, Squared, SquaredHinge
from auctor.losses.softmax import Softmax, one_hot
from auctor.minimise import minimise
from auctor.penalties import Separable
from auctor.penalties.repeated import Repeated
from auctor.problem import Problem
from auctor.solvers import resolve
from auctor.training.registry import as_loss, known

#: Weights below this share of the largest of their label are dropped when weights are kept sparse.
SPARSE_SHARE = 1e-3
#: Stored entries of a node's rows for every column below which its empty columns are left out: the
#: copy costs a sort of the entries, and vectors as long as all columns cost more. Source: set by
#: hand; most columns have entries from about three entries for each.
OCCUPIED_SHARE = 2.0
#: Weights of all labels, in entries, up to which they are kept as a dense matrix: 400 MB.
DENSE_ENTRIES = 50_000_000


#: Losses of a label's model by the name a user types.
LOSSES: dict[str, type[Loss]] = {
    "logistic": Logistic,
    "squared_hinge": SquaredHinge,
    "hinge": Hinge,
    "square": Squared,
}


def node_loss(who: str, loss: Any) -> Loss:
    """A loss for a name or an object."""
    if isinstance(loss, str):
        return LOSSES[known(who, "loss", loss, LOSSES)]()
    return as_loss(who, "loss", loss)


class NodeTask(NamedTuple):
    """Rows of a model, all of them if ``None``, and which of these are positive."""

    rows: IntArray | None
    positive: FloatArray


class Node(NamedTuple):
    """What rules by node may ask for."""

    depth: int
    n_columns: int
    #: Mean squared length of all rows.
    squared_length: float = 1.0


@dataclass(frozen=True)
class NodeSettings:
    """What all models share.

    ``solver`` is a name, an object, or a callable that takes the number of rows and columns and the
    depth of a node and returns one of these: a policy by node. "auto" is `policies.measured_rule`.
    """

    loss: Loss
    penalty: Callable[[], Penalty]
    solver: Any = "auto"
    tol: float = 1e-2
    max_iter: int = 200


class NodeModels(NamedTuple):
    """Weights (k, d), dense or sparse, and intercepts (k,) of some labels.

    A label without positives, or without negatives, has weights of 0 and an intercept far below,
    or above, zero.
    """

    coef: Any
    intercept: FloatArray

    def scores(self, X: Any) -> FloatArray:
        """``X @ coef.T + intercept``, dense (n, k)."""
        product: Any = X @ self.coef.T
        dense: FloatArray = product.toarray() if hasattr(product, "toarray") else product
        dense += self.intercept
        return dense


#: Score of a label that is never, or always, there in its rows.
CERTAIN = 30.0


def train_nodes(
    data: Dense | Sparse,
    tasks: Sequence[NodeTask],
    settings: NodeSettings,
    *,
    weight: FloatArray | None = None,
    n_threads: int | None = None,
    depth: Sequence[int] | None = None,
) -> NodeModels:
    """Train a binary model for every task, side by side on threads."""
    levels = [0] * len(tasks) if depth is None else depth
    length = float(data.row_lengths(np.ones(data.n_columns)).mean())
    jobs = [
        partial(_train, data, task, settings, weight, Node(int(level), data.n_columns, length))
        for task, level in zip(tasks, levels, strict=True)
    ]
    return _gathered(data.n_columns, [[at] for at in range(len(jobs))], jobs, n_threads)


class ParentTask(NamedTuple):
    """Rows that reach a parent and the place of each row's child among ``nodes``.

    A row that ends at the parent has the place after the last one.
    """

    nodes: Sequence[int]
    rows: IntArray | None
    codes: IntArray


def train_parents(
    data: Dense | Sparse,
    tasks: Sequence[ParentTask],
    settings: NodeSettings,
    count: int,
    *,
    weight: FloatArray | None = None,
    n_threads: int | None = None,
    depth: Sequence[int],
) -> NodeModels:
    """Train a multinomial model for every parent, side by side on threads.

    Where rows end at the parent, its scores are those against ending: ending has a score of 0.
    """
    jobs = [
        partial(_train_parent, data, task, settings, weight, Node(int(level), data.n_columns))
        for task, level in zip(tasks, depth, strict=True)
    ]
    return _gathered(data.n_columns, [task.nodes for task in tasks], jobs, n_threads, count)


Weights = tuple[FloatArray, FloatArray]


def _gathered(
    d: int,
    places: Sequence[Sequence[int]],
    jobs: Sequence[Callable[[], Weights]],
    n_threads: int | None,
    count: int | None = None,
) -> NodeModels:
    """Run jobs, each of which trains some labels, and put their weights in place."""
    count = len(jobs) if count is None else count
    sparse = count * d > DENSE_ENTRIES
    empty = csr_array((1, d)) if sparse else np.zeros(d)
    rows: list[Any] = [empty] * count
    intercept = np.full(count, -CERTAIN)

    def one(at: int) -> None:
        coef, offsets = jobs[at]()
        for k, place in enumerate(places[at]):
            rows[place], intercept[place] = _thinned(coef[k]) if sparse else coef[k], offsets[k]

    run_tasks([partial(one, at) for at in range(len(jobs))], available_threads(n_threads))
    return NodeModels(vstack(rows, format="csr") if sparse else np.vstack(rows), intercept)


def _solver(settings: NodeSettings, problem: Problem, node: Node) -> Any:
    """The solver of a node."""
    solver = settings.solver
    if isinstance(solver, str) and solver == "auto":
        solver = measured_rule(problem, node.squared_length)
    elif callable(solver) and not hasattr(solver, "step"):
        solver = solver(problem.data.n_rows, node.n_columns, node.depth)
    return resolve(solver, problem)


def _train(
    data: Dense | Sparse,
    task: NodeTask,
    settings: NodeSettings,
    weight: FloatArray | None,
    node: Node,
) -> Weights:
    positive = task.positive > 0.0
    own = weight if weight is None or task.rows is None else weight[task.rows]
    heavy = np.ones(positive.size, dtype=bool) if own is None else own > 0.0
    if not (positive & heavy).any():
        return np.zeros((1, data.n_columns)), np.array([-CERTAIN])
    if not (~positive & heavy).any():
        return np.zeros((1, data.n_columns)), np.array([CERTAIN])
    part = data if task.rows is None else data.rows(task.rows)
    penalty = settings.penalty()
    part, kept = _occupied(part, penalty)
    target = Target(np.where(positive, 1.0, -1.0), own)
    problem = Problem(settings.loss, penalty, part.with_target(target))
    found = _minimised(problem, _solver(settings, problem, node), settings)
    return _placed(found.coef[None, :], kept, data.n_columns), np.array([found.intercept])


def _train_parent(
    data: Dense | Sparse,
    task: ParentTask,
    settings: NodeSettings,
    weight: FloatArray | None,
    node: Node,
) -> Weights:
    d, size = data.n_columns, len(task.nodes)
    own = weight if weight is None or task.rows is None else weight[task.rows]
    kept = np.ones(task.codes.size, dtype=bool) if own is None else own > 0.0
    classes, codes = np.unique(task.codes[kept], return_inverse=True)
    coef, intercept = np.zeros((size, d)), np.full(size, -CERTAIN)
    if classes.size < 2:
        intercept[classes[classes < size]] = CERTAIN
        return coef, intercept
    rows = np.flatnonzero(kept) if task.rows is None else task.rows[kept]
    part = data if rows.size == data.n_rows else data.rows(rows)
    k, penalty = classes.size, settings.penalty()
    part, columns = _occupied(part, penalty)
    target = one_hot(codes, k, None if own is None else own[kept])
    problem = Problem(
        Softmax(k),
        Repeated.of(penalty, k),
        Stacked(part, target, k),
        fit_intercept=False,
    )
    found = _minimised(problem, _solver(settings, problem, node), settings)
    scores = problem.data.scores(found.coef)
    offsets = Softmax(k).offsets_at(scores, target)
    weights = _placed(found.coef.reshape(k, part.n_columns), columns, d)
    if classes[-1] == size:  # the score of ending at the parent is taken off all others
        weights, offsets = weights[:-1] - weights[-1], offsets[:-1] - offsets[-1]
        classes = classes[:-1]
    coef[classes], intercept[classes] = weights, offsets
    return coef, intercept


def _occupied(part: Dense | Sparse, penalty: Penalty) -> tuple[Dense | Sparse, IntArray | None]:
    """The node's rows without empty columns, where most are, and the columns that are left.

    The best weight of an empty column is 0 under a penalty that is the same for all columns and
    smallest there.
    """
    if not isinstance(part, Sparse) or part.n_entries >= OCCUPIED_SHARE * part.n_columns:
        return part, None
    if not isinstance(penalty, Separable) or any(level.ndim for level in penalty.levels):
        return part, None
    if not penalty.levels[2] <= 0.0 <= penalty.levels[3]:
        return part, None
    return part.without_empty_columns()


def _placed(weights: FloatArray, kept: IntArray | None, d: int) -> FloatArray:
    """Weights (k, kept) among all columns, (k, d)."""
    if kept is None:
        return weights
    out = np.zeros((weights.shape[0], d))
    out[:, kept] = weights
    return out


def _minimised(problem: Problem, solver: Any, settings: NodeSettings) -> Any:
    return minimise(
        problem,
        solver,
        tol=settings.tol,
        max_iter=settings.max_iter,
        rng=0,
        on_failure="ignore",
    )


def _thinned(coef: FloatArray) -> csr_array:
    """Weights without those that hardly matter."""
    keep = np.abs(coef) > SPARSE_SHARE * float(np.abs(coef).max(initial=0.0))
    return csr_array(np.where(keep, coef, 0.0)[None, :])


class EstimatorModels(NamedTuple):
    """Other people's models, one for every label: a fitted one, or None with a certain answer."""

    models: Sequence[Any]
    certain: FloatArray

    def scores(self, X: Any) -> FloatArray:
        """Log-odds, or whatever ``decision_function`` returns, dense (n, k)."""
        out = np.tile(self.certain, (X.shape[0], 1))
        for t, model in enumerate(self.models):
            if model is not None:
                out[:, t] = _scores(model, X)
        return out


def train_estimators(
    estimator: Any, X: Any, on: Array, weight: FloatArray | None
) -> EstimatorModels:
    """A clone of a scikit-learn classifier for every label that some rows have, but not all."""
    extra = {} if weight is None else {"sample_weight": weight}
    both = np.atleast_1d(on.any(axis=0) & ~on.all(axis=0))
    models = [
        clone(estimator).fit(X, column, **extra) if known else None
        for column, known in zip(on.T, both, strict=True)
    ]
    return EstimatorModels(models, np.where(on.any(axis=0), CERTAIN, -CERTAIN))


def _scores(model: Any, X: Any) -> FloatArray:
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=np.float64)
    proba = np.asarray(model.predict_proba(X)[:, 1], dtype=np.float64)
    return np.clip(logit(proba), -CERTAIN, CERTAIN)
