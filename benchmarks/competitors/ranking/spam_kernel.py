"""The compiled loops of SPAM-L2, with the library's own kernel decorator."""

from __future__ import annotations

import numpy as np

from auctor.kernels.runtime.compiled import kernel


@kernel
def row_statistics(
    data: np.ndarray, index: np.ndarray, start: np.ndarray, positive: np.ndarray, columns: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Class means and the largest squared row norm, in one pass."""
    means = np.zeros((2, columns))
    count = np.zeros(2)
    largest = 0.0
    for i in range(np.uint32(len(positive))):
        group = 0 if positive[i] else 1
        count[group] += 1.0
        norm = 0.0
        for k in range(start[i], start[i + np.uint32(1)]):
            means[group, index[k]] += data[k]
            norm += data[k] * data[k]
        largest = max(largest, norm)
    return means[0] / count[0], means[1] / count[1], largest


@kernel
def one_pass(
    data: np.ndarray,
    index: np.ndarray,
    start: np.ndarray,
    positive: np.ndarray,
    order: np.ndarray,
    mean_pos: np.ndarray,
    mean_neg: np.ndarray,
    rule: np.ndarray,
    v: np.ndarray,
    state: np.ndarray,
) -> None:
    """Steps over the rows in ``order``.

    ``rule`` is (beta, offset, p) and ``state`` is (s, v.m+, v.m-, t); ``v`` and ``state`` change.
    """
    beta, offset, p = rule
    s, on_pos, on_neg, t = state
    for i in order:
        t += 1.0
        eta = 1.0 / (beta * t + offset)
        dot = 0.0
        for k in range(start[i], start[i + np.uint32(1)]):
            dot += data[k] * v[index[k]]
        if positive[i]:
            slope = 2.0 * (1.0 - p) * (s * (dot - on_neg) - 1.0)
        else:
            slope = 2.0 * p * (s * (dot - on_pos) + 1.0)
        step = -eta * slope / s
        for k in range(start[i], start[i + np.uint32(1)]):
            j, change = index[k], step * data[k]
            v[j] += change
            on_pos += change * mean_pos[j]
            on_neg += change * mean_neg[j]
        s /= 1.0 + eta * beta
        if s < 1e-100:
            v *= s
            on_pos *= s
            on_neg *= s
            s = 1.0
    state[0], state[1], state[2], state[3] = s, on_pos, on_neg, t
