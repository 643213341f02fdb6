"""Kernel ridge regression of all steps of a day, with a width for every group of features.

The kernel of two rows is ``exp(-|x - z|^2) + linear <x, z>`` after each group of columns has been
multiplied by the root of its width. Widths, ``linear`` and the strength minimise the squared error
on blocks of days that follow those trained on. The gradient of that error takes one factorisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.optimize import minimize

from auctor.core.types import FloatArray, IntArray
from auctor.kernels.runtime.parallel import quiet_blas

#: Widths, weight of the linear kernel and strength where the prior of their search is centred: a
#: function that is nearly linear.
START = (1e-3, 3.0, 1e-3)
#: Weight, over the validated days, of the squared distance of their logarithms from the start.
PRIOR = 1.0
#: Bounds of these logarithms.
BOUNDS = (np.log(1e-7), np.log(1e3))
#: Widths over that one, of which the best one starts the search.
STARTS = (1.0, 10.0, 100.0)
#: Most iterations of the search.
MOST_ITERATIONS = 40
#: Relative decrease of the logarithm of the squared error below which the search ends: the last
#: iterations take half the time and change the forecasts by .01 % of the load.
LEAST_DECREASE = 1e-3
#: Most days that widths are chosen on, the last ones: an iteration takes their cube.
MOST_CHOSEN_ON = 1095
#: Strengths around the one found that are tried with one eigendecomposition.
STRENGTHS = np.logspace(-1.0, 1.0, 13)


class DayKernel(NamedTuple):
    """The kernel on features of days, and the strength of the ridge.

    Parameters
    ----------
    centre, scale : (p,) arrays
        Rows are centred and multiplied by ``scale``, which has the roots of the widths.
    linear : float
    strength : float
    """

    centre: FloatArray
    scale: FloatArray
    linear: float
    strength: float

    def rows(self, X: FloatArray) -> FloatArray:
        """Rows in units of the kernel."""
        return (X - self.centre) * self.scale

    def values(self, one: FloatArray, two: FloatArray) -> FloatArray:
        """Kernel values of such rows with rows."""
        products = one @ two.T
        return _gauss(one, two, products) + self.linear * products


@dataclass(frozen=True, eq=False)
class DayRidge:
    """A kernel ridge regression with an output for every step.

    Parameters
    ----------
    kernel : DayKernel
    rows : (n, p) array
        Training rows in units of the kernel.
    coef : (n, horizon) array
    mean : (horizon,) array
    """

    kernel: DayKernel
    rows: FloatArray
    coef: FloatArray
    mean: FloatArray

    def predict(self, X: FloatArray) -> FloatArray:
        """Forecasts, a row each."""
        with quiet_blas():
            return self.kernel.values(self.kernel.rows(X), self.rows) @ self.coef + self.mean


def forward_blocks(n: int) -> list[tuple[IntArray, IntArray]]:
    """Days to train on and the block of days after them, twice, in thirds of the days."""
    third = max(1, n // 3)
    cuts = (third, 2 * third, n)
    return [(np.arange(a), np.arange(a, b)) for a, b in pairwise(cuts)]


def choose_kernel(X: FloatArray, Y: FloatArray, groups: Sequence[slice]) -> DayKernel:
    """The kernel of the smallest squared error on blocks that follow the days trained on."""
    X, Y = X[-MOST_CHOSEN_ON:], Y[-MOST_CHOSEN_ON:]
    centre, scale = _standard(X, groups)
    rows = (X - centre) * scale
    owner = np.zeros(X.shape[1], np.int64)
    for k, columns in enumerate(groups):
        owner[columns] = k
    folds = forward_blocks(len(X))
    error = _HeldOutError([_Fold.of(rows, Y, *fold) for fold in folds], owner, len(groups))
    with quiet_blas():
        widths = np.arange(len(groups) + 2) < len(groups)
        starts = [error.start + np.log(more) * widths for more in STARTS]
        start = min(starts, key=lambda p: error.value_grad(p)[0])
        solution = minimize(
            error.value_grad, start, jac=True, method="L-BFGS-B",
            bounds=[BOUNDS] * start.size, 
            options={"maxiter": MOST_ITERATIONS, "ftol": LEAST_DECREASE},
        )  # fmt: skip
        linear, strength = np.exp(solution.x[-2:])
        kernel = DayKernel(
            centre, scale * np.exp(0.5 * solution.x[owner]), float(linear), float(strength)
        )
        return kernel._replace(strength=best_strength(kernel, X, Y, folds))


def train_ridge(kernel: DayKernel, X: FloatArray, Y: FloatArray) -> DayRidge:
    """Kernel ridge regression: ``(K + strength I) coef = Y - mean`` from one factorisation."""
    rows, mean = kernel.rows(X), Y.mean(axis=0)
    with quiet_blas():
        K = kernel.values(rows, rows)
        K[np.diag_indices_from(K)] += kernel.strength
        factor = cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
        return DayRidge(kernel, rows, cho_solve(factor, Y - mean, check_finite=False), mean)


def best_strength(
    kernel: DayKernel, X: FloatArray, Y: FloatArray, folds: Sequence[tuple[IntArray, IntArray]]
) -> float:
    """The strength of the smallest held-out error; one eigendecomposition of a fold gives all."""
    strengths = kernel.strength * STRENGTHS
    days = sum(b.size for _, b in folds)
    errors = np.zeros(strengths.size)
    for a, b in folds:
        rows, new, mean = kernel.rows(X[a]), kernel.rows(X[b]), Y[a].mean(axis=0)
        values, vectors = eigh(kernel.values(rows, rows), check_finite=False)
        along, new = vectors.T @ (Y[a] - mean), kernel.values(new, rows) @ vectors
        for k, strength in enumerate(strengths):
            forecast = new @ (along / (np.maximum(values, 0.0) + strength)[:, None])
            errors[k] += ((Y[b] - mean - forecast) ** 2).sum()
    prior = PRIOR / days * (np.log(strengths) - np.log(START[-1])) ** 2
    return float(strengths[np.argmin(np.log(np.maximum(errors, 1e-300)) + prior)])


# --- the error on later days, with its gradient ---------------------------------------------------


class _Fold(NamedTuple):
    """Rows and centred targets to train on, and those of later days."""

    rows: FloatArray
    targets: FloatArray
    new: FloatArray
    new_targets: FloatArray

    @classmethod
    def of(cls, rows: FloatArray, Y: FloatArray, a: IntArray, b: IntArray) -> _Fold:
        mean = Y[a].mean(axis=0)
        return cls(rows[a], Y[a] - mean, rows[b], Y[b] - mean)


@dataclass(frozen=True, eq=False)
class _HeldOutError:
    """Logarithm of the squared error on later days, by logarithms of widths, linear, strength."""

    folds: Sequence[_Fold]
    owner: IntArray
    n_groups: int

    @property
    def start(self) -> FloatArray:
        """Where the prior is centred."""
        width, linear, strength = START
        logs: FloatArray = np.log(np.array([width] * self.n_groups + [linear, strength]))
        return logs

    def value_grad(self, p: FloatArray) -> tuple[float, FloatArray]:
        """The error with its prior, and the gradient."""
        root, (linear, strength) = np.exp(0.5 * p[self.owner]), np.exp(p[-2:])
        total, grad = 0.0, np.zeros(p.size)
        for fold in self.folds:
            z, new = fold.rows * root, fold.new * root
            products, crossed = z @ z.T, new @ z.T
            gauss, new_gauss = _gauss(z, z, products), _gauss(new, z, crossed)
            K = gauss + linear * products
            K[np.diag_indices_from(K)] += strength
            factor = cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
            coef = cho_solve(factor, fold.targets, check_finite=False)
            cross = new_gauss + linear * crossed
            error = fold.new_targets - cross @ coef
            back = cho_solve(factor, cross.T @ error, check_finite=False)
            total += float((error**2).sum())
            # d total = 2 <back coef', dK> - 2 <error coef', d cross>.
            inner, outer = back @ coef.T, error @ coef.T
            along = _by_column(inner, gauss, z, z, linear)
            along -= _by_column(outer, new_gauss, new, z, linear)
            grad[:-2] += 2.0 * np.bincount(self.owner, along, self.n_groups)
            grad[-2] += 2.0 * linear * (np.vdot(inner, products) - np.vdot(outer, crossed))
            grad[-1] += 2.0 * strength * (back * coef).sum()
        total = max(total, 1e-300)
        away = p - self.start
        prior = PRIOR / sum(len(fold.new) for fold in self.folds)
        return float(np.log(total) + prior * away @ away), grad / total + 2.0 * prior * away


def _gauss(one: FloatArray, two: FloatArray, products: FloatArray) -> FloatArray:
    """``exp(-|x - z|^2)`` of rows, from their inner products."""
    apart = 2.0 * products
    apart -= (one**2).sum(axis=1)[:, None]
    apart -= (two**2).sum(axis=1)
    np.exp(np.minimum(apart, 0.0, out=apart), out=apart)
    return apart


def _by_column(
    M: FloatArray, gauss: FloatArray, one: FloatArray, two: FloatArray, linear: float
) -> FloatArray:
    """``<M, dK / d log width>``, with the part of each column."""
    P = M * gauss
    apart = P.sum(axis=1) @ one**2 + P.sum(axis=0) @ two**2
    P *= 2.0
    P += linear * M
    total: FloatArray = (one * (P @ two)).sum(axis=0) - apart
    return total


def _standard(X: FloatArray, groups: Sequence[slice]) -> tuple[FloatArray, FloatArray]:
    """Centre and scale: variance 1 over the size of the group; indicators share their variance."""
    centre, scale = X.mean(axis=0), X.std(axis=0)
    for columns in groups:
        part = X[:, columns]
        if np.isin(part, (0.0, 1.0)).all():
            scale[columns] = part.std()
        scale[columns] *= np.sqrt(part.shape[1])
    constant = scale <= 1e-10 * np.maximum(np.abs(centre), 1.0)
    return centre, np.where(constant, 0.0, 1.0 / np.where(constant, 1.0, scale))
