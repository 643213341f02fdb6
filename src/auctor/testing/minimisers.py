"""Minimisers by methods that share no code with the library.

Closed forms, linear programs, box-constrained duals, and scipy's L-BFGS-B on split variables.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog, minimize

from auctor.core.types import FloatArray, SeparableSpec, Target
from auctor.testing.plain import Plain


def bounded_minimiser(function: Any, x: FloatArray, bounds: list[Any]) -> FloatArray:
    """L-BFGS-B from ``x``, to rounding errors."""
    options: Any = {"maxiter": 20000, "maxfun": 100000, "ftol": 0.0, "gtol": 1e-14, "maxcor": 50}
    solution = minimize(function, x, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    out: FloatArray = solution.x
    return out


def smooth_minimiser(
    plain: Plain, spec: SeparableSpec, X: FloatArray, target: Target, fit_intercept: bool
) -> FloatArray:
    """Minimiser by L-BFGS-B with ``w = u - v``, ``u, v >= 0`` inside the box."""
    d = X.shape[1]

    def objective(x: FloatArray) -> tuple[float, FloatArray]:
        w, b = x[:d] - x[d : 2 * d], x[2 * d]
        loss, dscores = plain(X @ w + b, target)
        slope = X.T @ dscores + spec.l2 * w
        value = loss + float(spec.l1 @ (x[:d] + x[d : 2 * d]) + 0.5 * spec.l2 @ (w * w))
        return value, np.concatenate(
            (slope + spec.l1, spec.l1 - slope, [dscores.sum() if fit_intercept else 0.0])
        )

    # The bounds of w become upper bounds of its positive and negative part.
    high, low = np.maximum(spec.upper, 0.0), np.maximum(-spec.lower, 0.0)
    bounds = [(0.0, u) for u in (*high, *low)] + [(None, None)]
    x = np.zeros(2 * d + 1)
    for _ in range(4):  # a restart drops a history of bad curvature pairs
        x = bounded_minimiser(objective, x, bounds)
    w: FloatArray = x[:d] - x[d : 2 * d]
    return np.append(w, x[2 * d]) if fit_intercept else w


def hinge_minimiser(A: FloatArray, share: FloatArray, strength: float) -> FloatArray:
    """Minimiser of ``share @ max(0, 1 - A w) + strength/2 |w|^2`` by its box-constrained dual."""

    def dual(a: FloatArray) -> tuple[float, FloatArray]:
        """Minus the dual objective, ``strength/2 |w|^2 - sum a`` with ``w = A'a / strength``."""
        w = A.T @ a / strength
        return 0.5 * strength * float(w @ w) - float(a.sum()), A @ w - 1.0

    a = np.zeros(A.shape[0])
    bounds = [(0.0, s) for s in share]
    for _ in range(6):
        a = bounded_minimiser(dual, a, bounds)
    w: FloatArray = A.T @ a / strength
    return w


def break_even_minimiser(X: FloatArray, y: FloatArray, strength: float) -> FloatArray:
    """Minimiser of the max-margin loss of the break-even point, by its dual.

    The dual variables are the shares by which rows are flipped in the worst labelling, with equal
    sums over positives and negatives.
    """
    n, gain = y.size, (y > 0.0) / np.count_nonzero(y > 0.0)
    # w = pull.T @ flips.
    pull = 2.0 / (n * strength) * y[:, None] * X

    def dual(flips: FloatArray) -> tuple[float, FloatArray]:
        w = pull.T @ flips
        return 0.5 * strength * float(w @ w) - float(gain @ flips), strength * pull @ w - gain

    options: Any = {
        "method": "SLSQP",
        "bounds": [(0.0, 1.0)] * n,
        "constraints": {"type": "eq", "fun": lambda flips: y @ flips, "jac": lambda flips: y},
        "options": {"ftol": 1e-15, "maxiter": 1000},
    }
    solution = minimize(dual, np.zeros(n), jac=True, **options)
    w: FloatArray = pull.T @ solution.x
    return w


def quantile_minimiser(
    X: FloatArray, target: Target, tau: float, scale: float, l1: FloatArray
) -> FloatArray:
    """Minimiser of ``scale * quantile loss + l1 . |w|`` with intercept, by a linear program.

    Variables are the positive and negative parts of w, of the intercept and of the residuals.
    """
    n, d = X.shape
    weight = np.ones(n) if target.weight is None else target.weight
    share = scale * weight / weight.sum()
    # X (w+ - w-) + (b+ - b-) + r+ - r- = y, with costs tau of r+ and 1 - tau of r-.
    cost = np.concatenate((l1, l1, [0.0, 0.0], tau * share, (1.0 - tau) * share))
    one = np.ones((n, 1))
    system = np.hstack((X, -X, one, -one, np.eye(n), -np.eye(n)))
    x: Any = linprog(cost, A_eq=system, b_eq=target.y, method="highs").x
    w: FloatArray = np.append(x[:d] - x[d : 2 * d], x[2 * d] - x[2 * d + 1])
    return w


def support_minimiser(
    plain: Plain, levels: FloatArray, support: int, X: FloatArray, target: Target
) -> FloatArray:
    """Minimiser of a group lasso on pairs of columns, of which the first ``support`` are not zero.

    The objective is smooth on these columns. That the others stay zero is asserted.
    """
    d = X.shape[1]

    def objective(x: FloatArray) -> tuple[float, FloatArray]:
        w = np.append(x[:support], np.zeros(d - support))
        loss, dscores = plain(X @ w + x[support], target)
        lengths, own = np.hypot(x[:support:2], x[1:support:2]), levels[: support // 2]
        slope = X[:, :support].T @ dscores + np.repeat(own / lengths, 2) * x[:support]
        return loss + float(own @ lengths), np.append(slope, dscores.sum())

    x = np.append(np.full(support, 0.1), 0.0)
    for _ in range(4):
        x = bounded_minimiser(objective, x, [(None, None)] * x.size)
    # Optimality of the zero groups: the norm of their gradient is below the penalty's weight.
    w = np.concatenate((x[:support], np.zeros(d - support), x[support:]))
    out = X.T @ plain(X @ w[:d] + w[d], target)[1]
    lengths = np.hypot(out[support::2], out[support + 1 :: 2])
    assert (lengths < levels[support // 2 :]).all(), "a column outside the support is not zero"
    return w
