"""Support vector machines by quadratic programs over a working set of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from auctor.core.checks import check_int, check_real
from auctor.core.errors import DataError, speaks_as
from auctor.core.rng import as_rng
from auctor.lab.qp.margin import Margin, hard_margin, soft_margin

#: Most rounds over the rows. A round that adds no row ends the solve, usually after fewer than ten.
MOST_ROUNDS = 1000


@speaks_as("by_chunks")
def by_chunks(
    X: Any,
    y: Any,
    *,
    C: float | None = None,
    size: int = 100,
    tol: float = 1e-8,
    random_state: int | None = 0,
) -> Margin:
    """Maximum margin by quadratic programs over a working set of rows, exact for all rows.

    Solves for the working set, keeps the support vectors, adds the rows that violate the margin
    most, and solves again until no row violates it. Chunking in one pass, which drops rows for
    good, is not exact: a dropped row can be violated later.

    Parameters
    ----------
    X : (n, d) array
    y : (n,) array of -1 and +1
    C : float > 0, optional
        Cost of a unit of slack; None is the hard margin.
    size : int
        Rows of the first working set, and largest number of rows added at a time.
    tol : float
        Largest violation of ``y_i h(x_i) >= 1`` that is accepted.
    random_state : int, optional
        Seed of the first working set.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = np.where(X[:, 0] > 0, 1.0, -1.0)
    >>> X[:, 0] += y
    >>> parts, whole = by_chunks(X, y, size=20), hard_margin(X, y)
    >>> bool(np.allclose(parts.coef, whole.coef))
    True
    """
    check_int("size", size, low=2)
    check_real("tol", tol, low=0.0, open_low=True)
    matrix = np.asarray(X, dtype=np.float64)
    labels = np.asarray(y, dtype=np.float64)
    kept = _first(labels, size, as_rng(random_state))
    total = 0
    for _ in range(MOST_ROUNDS):
        found = _solve(matrix[kept], labels[kept], C)
        total += found.n_iter
        # Rows outside the working set that violate the margin.
        margin = labels * found.decision_function(matrix)
        multipliers = np.zeros(labels.size)
        multipliers[kept] = found.multipliers
        missed = np.maximum(1.0 - margin, 0.0)
        if C is not None:
            # With slack, a row violates optimality only if its multiplier is below C.
            missed[multipliers >= C * (1.0 - 1e-9)] = 0.0
        missed[kept] = 0.0
        new = np.flatnonzero(missed > tol)
        if not new.size:
            slack = np.maximum(1.0 - margin, 0.0)
            value = 0.5 * float(found.coef @ found.coef)
            value += 0.0 if C is None else C * float(slack.sum())
            return Margin(
                found.coef, found.intercept, multipliers, slack, value, found.dual_value, total
            )
        new = new[np.argsort(-missed[new], kind="stable")[:size]]
        # Support vectors stay; the objective rises strictly, so no working set repeats.
        keep = np.zeros(labels.size, dtype=bool)
        keep[kept[found.multipliers > 0.0]] = True
        keep[new] = True
        kept = _both_classes(np.flatnonzero(keep), kept, labels)
    raise DataError(
        f"a margin without violated rows; got violated rows after {MOST_ROUNDS} rounds. Increase "
        "`tol=`."
    )


def _solve(X: Any, y: Any, C: float | None) -> Margin:
    return hard_margin(X, y) if C is None else soft_margin(X, y, C=C, form="dual")


def _first(labels: Any, size: int, rng: np.random.Generator) -> Any:
    """A random first working set with rows of both classes."""
    order = rng.permutation(labels.size)
    return _both_classes(order[:size], order, labels)


def _both_classes(chosen: Any, others: Any, labels: Any) -> Any:
    """The chosen rows, with a row of ``others`` added for a class that is missing."""
    for label in (-1.0, 1.0):
        if not (labels[chosen] == label).any():
            chosen = np.append(chosen, others[labels[others] == label][:1])
    return np.unique(chosen)
