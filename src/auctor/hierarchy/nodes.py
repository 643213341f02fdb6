"""One binary model for every label, trained on shared or on its own rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, vstack

from auctor.core.protocols import Loss, Penalty
from auctor.core.types import FloatArray, IntArray, Target
from auctor.data import Dense, Sparse
from auctor.kernels.runtime.parallel import available_threads, run_tasks
from auctor.losses import Hinge, Logistic, Squared, SquaredHinge
from auctor.minimise import minimise
from auctor.problem import Problem
from auctor.solvers import resolve
from auctor.training.registry import as_loss, known

#: Weights below this share of the largest of their label are dropped when weights are kept sparse.
SPARSE_SHARE = 1e-3
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


@dataclass(frozen=True)
class NodeSettings:
    """What all models share.

    ``solver`` is a name, an object, or a callable that takes the number of rows and columns and the
    depth of a node and returns one of these: a policy by node.
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
        return dense + self.intercept


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
    count, d = len(tasks), data.n_columns
    sparse = count * d > DENSE_ENTRIES
    rows: list[Any] = [None] * count
    intercept = np.zeros(count)

    def one(at: int) -> None:
        level = 0 if depth is None else int(depth[at])
        coef, intercept[at] = _train(data, tasks[at], settings, weight, level)
        rows[at] = _thinned(coef) if sparse else coef

    run_tasks([partial(one, at) for at in range(count)], available_threads(n_threads))
    coef = vstack(rows, format="csr") if sparse else np.vstack(rows)
    return NodeModels(coef, intercept)


def _train(
    data: Dense | Sparse,
    task: NodeTask,
    settings: NodeSettings,
    weight: FloatArray | None,
    depth: int,
) -> tuple[FloatArray, float]:
    positive = task.positive > 0.0
    own = weight if weight is None or task.rows is None else weight[task.rows]
    heavy = np.ones(positive.size, dtype=bool) if own is None else own > 0.0
    if not (positive & heavy).any():
        return np.zeros(data.n_columns), -CERTAIN
    if not (~positive & heavy).any():
        return np.zeros(data.n_columns), CERTAIN
    part = data if task.rows is None else data.rows(task.rows)
    target = Target(np.where(positive, 1.0, -1.0), own)
    problem = Problem(settings.loss, settings.penalty(), part.with_target(target))
    solver = settings.solver
    if callable(solver) and not hasattr(solver, "step"):
        solver = solver(part.n_rows, part.n_columns, depth)
    found = minimise(
        problem,
        resolve(solver, problem),
        tol=settings.tol,
        max_iter=settings.max_iter,
        rng=0,
        on_failure="ignore",
    )
    return found.coef, found.intercept


def _thinned(coef: FloatArray) -> csr_array:
    """Weights without those that hardly matter."""
    keep = np.abs(coef) > SPARSE_SHARE * float(np.abs(coef).max(initial=0.0))
    return csr_array(np.where(keep, coef, 0.0)[None, :])
