"""Steps of SPDAM with all rows at once against matrix algebra."""

import numpy as np

from auctor.data import as_data
from auctor.lab.kernels.finite_sum import spdam_epoch


def test_spdam_steps_are_the_primal_dual_ones_with_extrapolation():
    rng, n, d, steps = np.random.default_rng(0), 12, 3, 5
    sigma, tau, theta = 0.4, 0.3, 0.7
    X, own = rng.normal(size=(n, d)), np.arange(n) % 2
    scale, ridge = rng.uniform(0.5, 2.0, size=n), rng.uniform(0.1, 1.0, size=d)
    means = np.stack([X[own == side].mean(axis=0) for side in (0, 1)])
    start, dual = rng.normal(size=d), rng.normal(size=n)
    Z, b = scale[:, None] * (X - means[own]), means[0] - means[1]

    # y = prox of sigma f*(.) at y + sigma Z v; w = argmin of the quadratic part, Z'y / n and the
    # distance to w; v = w + theta (w - w before).
    w = v = start
    y = dual.copy()
    matrix = np.diag(ridge + 1.0 / tau) + np.outer(b, b)
    for _ in range(steps):
        y = (y + sigma * Z @ v) / (1.0 + sigma)
        new = np.linalg.solve(matrix, w / tau - Z.T @ y / n - b)
        v, w = new + theta * (new - w), new

    lines = as_data(X, own).row_lines()
    found, ahead = start.copy(), start.copy()
    u = Z.T @ dual / n
    order, random = np.arange(n), np.array([7], dtype=np.uint64)
    spdam_epoch(
        *lines, np.arange(n), own, scale, means, ridge, sigma, tau, theta, n, steps, order, dual, u,
        found, ahead, random,
    )  # fmt: skip
    np.testing.assert_allclose(found, w, rtol=1e-10)
    np.testing.assert_allclose(ahead, v, rtol=1e-10)
    np.testing.assert_allclose(dual, y, rtol=1e-10)
