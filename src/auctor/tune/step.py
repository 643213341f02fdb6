"""Minimisers of a quadratic in the intersection of a ball and a box."""

from __future__ import annotations

import numpy as np

from auctor.core.rounding import ROUNDING, SMALLEST_DIVISOR
from auctor.core.types import FloatArray
from auctor.tune.model import Quadratic

#: Newton steps, at most, for the length of the ball-constrained minimiser.
LENGTH_STEPS = 50
#: Relative accuracy of that length.
LENGTH_ACCURACY = 1e-8
#: Rounding error of eigenvalues and gradients, as a share of the largest.
STEP_ROUNDING = 1e-12
#: Decrease of a step below steepest descent's, as a share, that debug mode accepts.
DECREASE_SLACK = 1e-6
#: Violation of the box and the ball, in units of the radius, that debug mode accepts.
SLACK = 1e-9


def ball_step(gradient: FloatArray, hessian: FloatArray, radius: float) -> FloatArray:
    """Global minimiser of ``g's + 1/2 s'Hs`` in ``|s| <= radius`` (More and Sorensen).

    Notes
    -----
    One eigendecomposition, then Newton's method on ``1/|s(lam)| = 1/radius``. In the hard case a
    multiple of the lowest eigenvector reaches the boundary.

    Examples
    --------
    >>> ball_step(np.array([0.0, 1.0]), np.diag([-1.0, 4.0]), 1.0).round(3).tolist()
    [0.98, -0.2]
    """
    # In the eigenbasis s(lam) = -g / (values + lam); lam >= 0 is the multiplier of the ball.
    values, vectors = np.linalg.eigh(hessian)
    g = vectors.T @ gradient
    lowest = float(values[0])
    scale = max(float(np.abs(values).max()), float(np.abs(g).max()) / radius, SMALLEST_DIVISOR)
    if lowest > ROUNDING * scale:
        step = -g / values
        if step @ step <= radius * radius:
            full_step: FloatArray = vectors @ step
            return full_step
    # lam > max(0, -lowest): the length of s(lam) decreases from there.
    floor = max(0.0, -lowest)
    bottom = values <= lowest + STEP_ROUNDING * scale
    if floor > 0.0 and float(np.abs(g[bottom]).max()) <= STEP_ROUNDING * scale * radius:
        inside = np.where(bottom, 0.0, -g / np.where(bottom, 1.0, values + floor))
        left = radius * radius - float(inside @ inside)
        if left >= 0.0:  # the hard case
            inside[int(np.flatnonzero(bottom)[0])] = np.sqrt(left)
            full_step = vectors @ inside
            return full_step
    norm = float(np.linalg.norm(g))
    if norm == 0.0:
        return np.zeros_like(gradient)
    low, high = floor, floor + norm / radius + max(0.0, -lowest) + SMALLEST_DIVISOR
    # A lower bound of lam, from the part of the gradient at the lowest eigenvalue.
    lam = max(floor + STEP_ROUNDING * scale, float(np.linalg.norm(g[bottom])) / radius - lowest)
    # Newton's method on 1/|s(lam)| - 1/radius, inside the bracket [low, high].
    for _ in range(LENGTH_STEPS):
        shifted = np.maximum(values + lam, SMALLEST_DIVISOR)
        step = -g / shifted
        length = float(np.linalg.norm(step))
        if abs(length - radius) <= LENGTH_ACCURACY * radius:
            break
        if length > radius:
            low = lam
        else:
            high = lam
        slope = float((step * step / shifted).sum())
        lam += (length / radius - 1.0) * length * length / max(slope, SMALLEST_DIVISOR)
        if not low < lam < high:
            lam = 0.5 * (low + high)
    step *= min(1.0, radius / max(float(np.linalg.norm(step)), SMALLEST_DIVISOR))
    full_step = vectors @ step
    return full_step


def trust_step(
    model: Quadratic, lower: FloatArray, upper: FloatArray, radius: float = 1.0
) -> FloatArray:
    """Minimiser of a model in the ball ``|s| <= radius`` and the box ``lower <= s <= upper``.

    If the global minimiser in the ball lies in the box, it is returned. Otherwise an active-set
    method is used: each segment goes from the current point towards the minimiser over the free
    coordinates, the first bound that it hits becomes active, and bounds whose multipliers have the
    wrong sign are released. For convex models this ends at the minimiser, for others at a point
    that no free direction improves.

    Parameters
    ----------
    lower, upper : (d,) arrays
        Bounds of the displacement; 0 is between them.
    radius : float > 0
    """
    g, hessian = model.gradient, model.hessian
    step = ball_step(g, hessian, radius)
    if (step >= lower).all() and (step <= upper).all():
        return step
    best = np.zeros_like(g)
    for start in (best, _projected_cauchy(model, lower, upper, radius)):
        best_step = _active_set(model, start, lower, upper, radius)
        if model.change(best_step) < model.change(best):
            best = best_step
    return best


def _projected_cauchy(
    model: Quadratic, lower: FloatArray, upper: FloatArray, radius: float
) -> FloatArray:
    """The best of eight points on the projected path of steepest descent."""
    g = model.gradient
    norm = float(np.linalg.norm(g))
    best = np.zeros_like(g)
    if norm == 0.0:
        return best
    length = radius
    for _ in range(8):
        trial = np.clip(-length / norm * g, lower, upper)
        if model.change(trial) < model.change(best):
            best = trial
        length *= 0.5
    return best


def _active_set(
    model: Quadratic, start: FloatArray, lower: FloatArray, upper: FloatArray, radius: float
) -> FloatArray:
    """Descend by segments, fixing and releasing bounds; see `trust_step`."""
    d = start.shape[0]
    step = start.copy()
    gradient = model.gradient + model.hessian @ step
    fixed = ((step <= lower) & (gradient > 0.0)) | ((step >= upper) & (gradient < 0.0))
    for _ in range(3 * d + 3):
        free = ~fixed
        gradient = model.gradient + model.hessian @ step
        left = radius * radius - float(step[fixed] @ step[fixed])
        moved = False
        if free.any() and left > 0.0:
            moved = _segment(model, step, free, fixed, lower, upper, float(np.sqrt(left)))
        gradient = model.gradient + model.hessian @ step
        at_lower, at_upper = fixed & (step <= lower), fixed & (step >= upper)
        wrong = np.where(at_lower, -gradient, np.where(at_upper, gradient, 0.0))
        # At the minimiser over the free coordinates: release the bound with the worst multiplier.
        if not moved:
            worst = int(np.argmax(wrong))
            if wrong[worst] <= STEP_ROUNDING * max(SMALLEST_DIVISOR, float(np.abs(gradient).max())):
                break
            fixed[worst] = False
    return step


def _segment(
    model: Quadratic,
    step: FloatArray,
    free: np.ndarray[tuple[int], np.dtype[np.bool_]],
    fixed: np.ndarray[tuple[int], np.dtype[np.bool_]],
    lower: FloatArray,
    upper: FloatArray,
    radius: float,
) -> bool:
    """Move ``step`` towards the minimiser over its free coordinates; returns whether it moved.

    It stops at the first bound, which becomes fixed. Changes ``step`` and ``fixed`` in place.
    """
    index = np.flatnonzero(free)
    inner = model.hessian[np.ix_(index, index)]
    linear = (
        model.gradient[index] + model.hessian[np.ix_(index, np.flatnonzero(fixed))] @ (step[fixed])
    )
    # Model along the segment: slope t + curve t^2 / 2 for t in [0, length].
    direction = ball_step(linear, inner, radius) - step[index]
    slope = float(direction @ (linear + inner @ step[index]))
    curve = float(direction @ inner @ direction)
    with np.errstate(divide="ignore", invalid="ignore"):
        to_lower = np.where(direction < 0.0, (lower[index] - step[index]) / direction, np.inf)
        to_upper = np.where(direction > 0.0, (upper[index] - step[index]) / direction, np.inf)
    room = np.minimum(to_lower, to_upper)
    hit = int(np.argmin(room))
    length = min(1.0, max(0.0, float(room[hit])))
    if slope * length + 0.5 * curve * length * length > 0.0 and curve > 0.0:
        length = min(length, max(0.0, -slope / curve))
    before = step.copy()
    gain = slope * length + 0.5 * curve * length * length
    if gain < 0.0:
        step[index] += length * direction
    if length >= room[hit]:
        fixed[index[hit]] = True
        step[index[hit]] = lower[index[hit]] if direction[hit] < 0.0 else upper[index[hit]]
        return True
    scale = max(float(np.abs(model.gradient).max()) * radius, SMALLEST_DIVISOR)
    return gain < -STEP_ROUNDING * scale and not np.array_equal(before, step)


def largest_value(
    function: Quadratic, lower: FloatArray, upper: FloatArray, radius: float
) -> FloatArray:
    """Displacement in the ball and the box with a large absolute value of a quadratic.

    For Lagrange functions this is a geometry step: a point there improves the conditioning.
    """
    steps = (
        trust_step(function, lower, upper, radius),
        trust_step(
            Quadratic(-function.value, -function.gradient, -function.hessian), lower, upper, radius
        ),
    )
    return max(steps, key=lambda step: abs(function.value + function.change(step)))


def check_step(
    model: Quadratic, step: FloatArray, lower: FloatArray, upper: FloatArray, radius: float
) -> None:
    """Assert that a step stays in the box and the ball and is no worse than steepest descent."""
    assert (lower <= 0.0).all(), "the incumbent is below the box"
    assert (upper >= 0.0).all(), "the incumbent is above the box"
    assert np.linalg.norm(step) <= radius * (1.0 + SLACK), "the step leaves the trust region"
    assert (step >= lower - SLACK).all(), "the step leaves the box below"
    assert (step <= upper + SLACK).all(), "the step leaves the box above"
    cauchy = model.change(_projected_cauchy(model, lower, upper, radius))
    # Decreases below the rounding of the model's terms cannot be told apart.
    terms = float(np.abs(model.gradient).sum() + np.abs(model.hessian).sum() * radius) * radius
    slack = DECREASE_SLACK * abs(cauchy) + STEP_ROUNDING * terms
    assert model.change(step) <= cauchy + slack, "the step is worse than steepest descent"
