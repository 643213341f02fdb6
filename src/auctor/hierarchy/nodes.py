"""Training of the models of all nodes: binary ones per label, or multinomial ones per parent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from auctor.core.protocols import Loss, Penalty
from auctor.core.types import FloatArray, IntArray, Target
from auctor.data import Dense, Sparse
from auctor.data.matrices import CompressedRows, compressed_rows, dense_array, stacked_rows
from auctor.data.stacked import Stacked
from auctor.hierarchy.policies import measured_rule
from auctor.kernels.runtime.parallel import available_threads, run_tasks
from auctor.losses import Hinge, Logistic, Squared, SquaredHinge
from auctor.losses.softmax import Softmax, one_hot
from auctor.minimise import is_solver, minimise
from auctor.penalties.repeated import Repeated
from auctor.problem import Problem
from auctor.solvers import resolve

#: In sparse storage, weights below this share of the largest weight of their label are dropped.
SPARSE_SHARE = 1e-3
#: Stored entries per column of a node's rows below which empty columns are left out.
OCCUPIED_SHARE = 2.0
#: Weights of all labels, in entries, up to which they are stored as a dense matrix: 400 MB.
DENSE_ENTRIES = 50_000_000


#: Losses by the names that users type.
LOSSES: dict[str, type[Loss]] = {
    "logistic": Logistic,
    "squared_hinge": SquaredHinge,
    "hinge": Hinge,
    "square": Squared,
}


class NodeTask(NamedTuple):
    """A binary problem: its rows, all if ``None``, and which of them are positive."""

    rows: IntArray | None
    positive: FloatArray


class Node(NamedTuple):
    """Facts about a node that the choice of its solver depends on."""

    depth: int
    n_columns: int
    #: Mean squared norm of all rows.
    squared_length: float = 1.0


@dataclass(frozen=True)
class NodeSettings:
    """Settings of the models of all nodes.

    ``solver`` is a name, a solver object, or a function from the numbers of rows and columns and
    the depth of a node to one of these. "auto" is `policies.measured_rule`.
    """

    loss: Loss
    penalty: Callable[[], Penalty]
    solver: Any = "auto"
    tol: float = 1e-2
    max_iter: int = 200


class NodeModels(NamedTuple):
    """Weights (k, d), dense or sparse, and intercepts (k,) of k labels.

    A label without positives has zero weights and the intercept ``-CERTAIN_SCORE``; one without
    negatives has ``+CERTAIN_SCORE``.
    """

    coef: Any
    intercept: FloatArray

    def scores(self, X: Any) -> FloatArray:
        """``X @ coef.T + intercept``, dense (n, k)."""
        scores: FloatArray = dense_array(X @ self.coef.T)
        scores += self.intercept
        return scores


#: Score, as log-odds, of a label that none or all of its rows have.
CERTAIN_SCORE = 30.0


def train_nodes(
    data: Dense | Sparse,
    tasks: Sequence[NodeTask],
    settings: NodeSettings,
    *,
    weight: FloatArray | None = None,
    n_threads: int | None = None,
    depth: Sequence[int] | None = None,
) -> NodeModels:
    """Train a binary model for every task, in parallel on threads."""
    levels = [0] * len(tasks) if depth is None else depth
    length = float(data.row_lengths(np.ones(data.n_columns)).mean())
    jobs = [
        partial(_train, data, task, settings, weight, Node(int(level), data.n_columns, length))
        for task, level in zip(tasks, levels, strict=True)
    ]
    return _gathered(data.n_columns, [[at] for at in range(len(jobs))], jobs, n_threads)


class ParentTask(NamedTuple):
    """A multinomial problem: the rows that reach a parent, and the child of each row.

    ``codes`` are positions in ``nodes``; ``len(nodes)`` means that the row ends at the parent.
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
    """Train a multinomial model for every parent, in parallel on threads.

    If some rows end at a parent, ending there is one more class. Its score is subtracted from those
    of the children, so that the score of ending is 0.
    """
    jobs = [
        partial(_train_parent, data, task, settings, weight, Node(int(level), data.n_columns))
        for task, level in zip(tasks, depth, strict=True)
    ]
    return _gathered(data.n_columns, [task.nodes for task in tasks], jobs, n_threads, count)


#: Weights (k, d) and intercepts (k,).
Weights = tuple[FloatArray, FloatArray]


def _gathered(
    d: int,
    places: Sequence[Sequence[int]],
    jobs: Sequence[Callable[[], Weights]],
    n_threads: int | None,
    count: int | None = None,
) -> NodeModels:
    """Run jobs, each of which trains the labels in ``places``, and stack their weights."""
    count = len(jobs) if count is None else count
    sparse = count * d > DENSE_ENTRIES
    empty = compressed_rows(np.zeros((1, d))) if sparse else np.zeros(d)
    rows: list[Any] = [empty] * count
    intercept = np.full(count, -CERTAIN_SCORE)

    def one(at: int) -> None:
        coef, offsets = jobs[at]()
        for k, place in enumerate(places[at]):
            rows[place], intercept[place] = (
                _without_small(coef[k]) if sparse else coef[k],
                offsets[k],
            )

    run_tasks([partial(one, at) for at in range(len(jobs))], available_threads(n_threads))
    return NodeModels(stacked_rows(rows), intercept)


def _solver(settings: NodeSettings, problem: Problem, node: Node) -> Any:
    """The solver of a node's problem."""
    solver = settings.solver
    if isinstance(solver, str) and solver == "auto":
        solver = measured_rule(problem, node.squared_length)
    elif callable(solver) and not is_solver(solver):
        solver = solver(problem.data.n_rows, node.n_columns, node.depth)
    return resolve(solver, problem)


def _train(
    data: Dense | Sparse,
    task: NodeTask,
    settings: NodeSettings,
    weight: FloatArray | None,
    node: Node,
) -> Weights:
    """Train the binary model of a node; without positives or negatives its score is a constant."""
    positive = task.positive > 0.0
    own = weight if weight is None or task.rows is None else weight[task.rows]
    heavy = np.ones(positive.size, dtype=bool) if own is None else own > 0.0
    if not (positive & heavy).any():
        return np.zeros((1, data.n_columns)), np.array([-CERTAIN_SCORE])
    if not (~positive & heavy).any():
        return np.zeros((1, data.n_columns)), np.array([CERTAIN_SCORE])
    part = data if task.rows is None else data.rows(task.rows)
    penalty = settings.penalty()
    part, kept = _occupied(part, penalty)
    target = Target(np.where(positive, 1.0, -1.0), own)
    problem = Problem(settings.loss, penalty, part.with_target(target))
    solution = _minimised(problem, _solver(settings, problem, node), settings)
    return _placed(solution.coef[None, :], kept, data.n_columns), np.array([solution.intercept])


def _train_parent(
    data: Dense | Sparse,
    task: ParentTask,
    settings: NodeSettings,
    weight: FloatArray | None,
    node: Node,
) -> Weights:
    """Train the multinomial model of a parent; children without rows are never chosen."""
    d, size = data.n_columns, len(task.nodes)
    own = weight if weight is None or task.rows is None else weight[task.rows]
    kept = np.ones(task.codes.size, dtype=bool) if own is None else own > 0.0
    classes, codes = np.unique(task.codes[kept], return_inverse=True)
    coef, intercept = np.zeros((size, d)), np.full(size, -CERTAIN_SCORE)
    if classes.size < 2:  # all rows go to one child, or end here
        intercept[classes[classes < size]] = CERTAIN_SCORE
        return coef, intercept
    # Softmax of the classes that have rows, without rows of weight zero and empty columns.
    rows = np.flatnonzero(kept) if task.rows is None else task.rows[kept]
    part = data if rows.size == data.n_rows else data.rows(rows)
    k, penalty = classes.size, settings.penalty()
    part, columns = _occupied(part, penalty)
    target = one_hot(codes, k, None if own is None else own[kept])
    problem = Problem(
        Softmax(k), Repeated.of(penalty, k), Stacked(part, target, k), fit_intercept=False
    )
    solution = _minimised(problem, _solver(settings, problem, node), settings)
    scores = problem.data.scores(solution.coef)
    offsets = Softmax(k).offsets_at(scores, target)
    weights = _placed(solution.coef.reshape(k, part.n_columns), columns, d)
    if classes[-1] == size:  # subtract the score of ending at the parent from the others
        weights, offsets = weights[:-1] - weights[-1], offsets[:-1] - offsets[-1]
        classes = classes[:-1]
    coef[classes], intercept[classes] = weights, offsets
    return coef, intercept


def _occupied(part: Dense | Sparse, penalty: Penalty) -> tuple[Dense | Sparse, IntArray | None]:
    """The node's rows without empty columns, if most columns are empty, and the columns kept.

    The optimal weight of an empty column is 0 if the penalty is the same for all columns and its
    bounds contain 0.
    """
    if part.n_entries >= OCCUPIED_SHARE * part.n_columns:
        return part, None
    levels = penalty.levels
    if levels is None or not levels.uniform or not levels.lower <= 0.0 <= levels.upper:
        return part, None
    return part.without_empty_columns()


def _placed(weights: FloatArray, kept: IntArray | None, d: int) -> FloatArray:
    """Weights (k, d) of all columns from those of the kept columns."""
    if kept is None:
        return weights
    out = np.zeros((weights.shape[0], d))
    out[:, kept] = weights
    return out


def _minimised(problem: Problem, solver: Any, settings: NodeSettings) -> Any:
    """The solution of a node's problem; nodes do not warn when they miss their tolerance."""
    return minimise(
        problem, solver, tol=settings.tol, max_iter=settings.max_iter, rng=0, on_failure="ignore"
    )


def _without_small(coef: FloatArray) -> CompressedRows:
    """Sparse weights, without those below `SPARSE_SHARE` of the largest."""
    keep = np.abs(coef) > SPARSE_SHARE * float(np.abs(coef).max(initial=0.0))
    return compressed_rows(np.where(keep, coef, 0.0)[None, :])
