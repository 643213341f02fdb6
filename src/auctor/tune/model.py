"""Quadratic models of a function from its values at scattered points.

All displacements are measured from the incumbent, the best point, in units of the trust-region
radius. The linear systems therefore stay well scaled as the region shrinks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auctor.core.rounding import SMALLEST_DIVISOR
from auctor.core.types import FloatArray

#: Added to the diagonal of the interpolation system, in units of its largest entry.
INTERPOLATION_RIDGE = 1e-14
#: Interpolation error, as a share of the largest terms of the model, that debug mode accepts.
TERM_ROUNDING = 1e-6


def full_size(dims: int) -> int:
    """Number of coefficients of a quadratic, and of the points that determine it.

    Examples
    --------
    >>> full_size(2), full_size(10)
    (6, 66)
    """
    return (dims + 1) * (dims + 2) // 2


@dataclass(frozen=True)
class Quadratic:
    """The model ``value + g's + 1/2 s'Hs`` around the incumbent, ``s`` in units of the radius."""

    value: float
    gradient: FloatArray
    hessian: FloatArray

    def change(self, step: FloatArray) -> float:
        """Model value at ``step`` minus that at 0.

        Examples
        --------
        >>> Quadratic(1.0, np.array([1.0, 0.0]), np.eye(2)).change(np.array([-1.0, 0.0]))
        -0.5
        """
        return float(step @ (self.gradient + 0.5 * (self.hessian @ step)))


@dataclass(frozen=True)
class Basis:
    """Lagrange functions of a set of points, by which a model depends on the values.

    Row ``t`` of ``weights`` has the coefficients of the function that is 1 at point ``t`` and 0 at
    the others: multipliers ``lam`` of the points (none for linear models), constant, gradient.
    """

    points: FloatArray
    weights: FloatArray
    linear: bool

    def at(self, step: FloatArray) -> FloatArray:
        """Values of all Lagrange functions at a displacement."""
        ends = np.concatenate(([1.0], step))
        if not self.linear:
            ends = np.concatenate((0.5 * (self.points @ step) ** 2, ends))
        values_at: FloatArray = self.weights @ ends
        return values_at

    def function(self, t: int) -> Quadratic:
        """Lagrange function ``t`` as a quadratic."""
        m, d = self.points.shape
        row = self.weights[t]
        if self.linear:
            return Quadratic(float(row[0]), row[1:], np.zeros((d, d)))
        hessian = (self.points * row[:m, None]).T @ self.points
        return Quadratic(float(row[m]), row[m + 1 :], hessian)


def fit_linear(points: FloatArray, values: FloatArray) -> tuple[Quadratic, Basis]:
    """Linear model by least squares; interpolates where there are at most ``d + 1`` points."""
    m, d = points.shape
    design = np.column_stack((np.ones(m), points))
    try:  # a square system is inverted, which is ten times faster than least squares
        inverse = np.linalg.inv(design) if m == d + 1 else np.linalg.pinv(design)
    except np.linalg.LinAlgError:
        inverse = np.linalg.pinv(design)
    weights = np.asarray(inverse.T, dtype=np.float64)
    slope = values @ weights
    return (
        Quadratic(float(slope[0]), slope[1:], np.zeros((d, d))),
        Basis(points, weights, linear=True),
    )


def fit_quadratic(
    points: FloatArray, values: FloatArray, hessian: FloatArray, ridge: float = 0.0
) -> tuple[Quadratic, Basis]:
    """Interpolating model whose Hessian is nearest, in the Frobenius norm, to a given one.

    Minimises ``1/2 |H - hessian|_F^2`` subject to interpolation of the values; with a ridge the
    constraints are replaced by ``1/(2 ridge)`` times the squared errors (regression). The
    optimality conditions are

    ``[[A + ridge I, 1, D], [1', 0, 0], [D', 0, 0]] [lam; c; g] = [residual; 0; 0]``

    with ``A_ij = 1/2 (d_i'd_j)^2`` and ``H = hessian + sum_i lam_i d_i d_i'``. With as many points
    as a quadratic has coefficients the model does not depend on ``hessian``.

    Parameters
    ----------
    points : (m, d) array
        Displacements in units of the radius.
    values : (m,) array
    hessian : (d, d) array
        Hessian of the last model, in the same units.
    ridge : float >= 0
        Variance of the noise in units of the squared curvature; 0 interpolates.
    """
    m = points.shape[0]
    base = 0.5 * np.einsum("ij,jk,ik->i", points, hessian, points)
    inverse = _inverse(points, ridge)
    residual = values - base
    weights = inverse[:m]
    coefficients = residual @ weights
    lam = coefficients[:m]
    change = (points * lam[:, None]).T @ points
    model = Quadratic(
        float(coefficients[m]), coefficients[m + 1 :], hessian + 0.5 * (change + change.T)
    )
    return model, Basis(points, weights, linear=False)


def _inverse(points: FloatArray, ridge: float) -> FloatArray:
    """Inverse, or pseudo-inverse, of the matrix of the optimality conditions."""
    m, d = points.shape
    system = np.zeros((m + d + 1, m + d + 1))
    block = system[:m, :m]
    np.square(points @ points.T, out=block)
    block *= 0.5
    index = np.arange(m)
    system[index, index] += ridge + INTERPOLATION_RIDGE * max(float(block.max()), 1.0)
    system[:m, m] = system[m, :m] = 1.0
    system[:m, m + 1 :] = points
    system[m + 1 :, :m] = points.T
    if m > d:
        try:
            inverse = np.linalg.inv(system)
            if np.isfinite(inverse).all():
                return inverse
        except np.linalg.LinAlgError:
            pass
    pseudo_inverse: FloatArray = np.linalg.pinv(system, hermitian=True)
    return pseudo_inverse


def check_members(points: FloatArray, values: FloatArray, center: int) -> None:
    """Assert finite values, distinct points of the cube, and that the incumbent is the best.

    Parameters
    ----------
    points : (m, d) array
        In the unit cube.
    values : (m,) array
    center : int
        Position of the incumbent.
    """
    assert np.isfinite(values).all(), "a failed point is in the model"
    assert (points >= 0.0).all(), "a member is below the cube"
    assert (points <= 1.0).all(), "a member is above the cube"
    assert len(np.unique(points, axis=0)) == len(points), "a member occurs twice"
    assert values[center] == values.min(), "the incumbent is not the best member"


def check_model(model: Quadratic, basis: Basis, values: FloatArray, before: FloatArray) -> None:
    """Assert that the Hessian is symmetric and the model interpolates its values.

    Where points nearly coincide or are collinear, as around a jump of the function, the system is
    nearly singular: then the model meets its values as well as its Lagrange functions are 0 and 1.

    Parameters
    ----------
    values : (m,) array
    before : (d, d) array
        The Hessian that the model changed.
    """
    assert np.array_equal(model.hessian, model.hessian.T), "the Hessian is not symmetric"
    missed, terms, poised = [], [], []
    for t, (point, value) in enumerate(zip(basis.points, values, strict=True)):
        missed.append(abs(model.value + model.change(point) - value))
        # Terms that cancel leave rounding errors of their own size.
        size = np.abs(point)
        slope = np.abs(model.gradient) + 0.5 * (np.abs(model.hessian) + np.abs(before)) @ size
        terms.append(abs(model.value) + float(size @ slope))
        poised.append(np.abs(basis.at(point) - (np.arange(values.size) == t)).max())
    limit = TERM_ROUNDING * max(terms) + 2.0 * max(poised) * (
        float(np.abs(values).sum()) + sum(terms)
    )
    assert max(missed) <= limit + SMALLEST_DIVISOR, f"the model misses a value by {max(missed):.2g}"
