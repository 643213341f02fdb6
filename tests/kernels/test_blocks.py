"""Block kernels against plain numpy."""

import numpy as np
import pytest
from scipy import sparse

from auctor.data import as_data
from auctor.kernels.linalg import columns
from auctor.kernels.penalties import blocks

RNG = np.random.default_rng(0)
N, D = 23, 9
FULL = RNG.normal(size=(N, D))
THIN = np.where(RNG.random((N, D)) < 0.2, FULL, 0.0)
MIXED = np.column_stack((FULL[:, :4], THIN[:, 4:]))
H = RNG.uniform(0.1, 2.0, size=N)
LEFT, RIGHT = np.array([0, 3, 8]), np.array([7, 1, 2, 5])

STORAGES = {
    "dense": (FULL, FULL),
    "dense-float32": (FULL.astype(np.float32), FULL.astype(np.float32)),
    "fortran": (np.asfortranarray(FULL), FULL),
    "csr": (sparse.csr_array(THIN), THIN),
    "csc": (sparse.csc_array(MIXED), MIXED),
}


@pytest.fixture(params=list(STORAGES))
def pair(request):
    kind, plain = STORAGES[request.param]
    return as_data(kind, np.zeros(N)).columns(), plain.astype(np.float64)


def test_products_of_columns(pair):
    stored, X = pair
    weighted = X * H[:, None]
    np.testing.assert_allclose(
        columns.products(stored, H, LEFT, RIGHT), X[:, LEFT].T @ weighted[:, RIGHT], atol=1e-12
    )
    np.testing.assert_allclose(
        columns.products(stored, H, LEFT, LEFT), X[:, LEFT].T @ weighted[:, LEFT], atol=1e-12
    )
    out = np.empty((LEFT.size, RIGHT.size))
    columns.sparse_products(*stored, H, LEFT, RIGHT, out)
    np.testing.assert_allclose(out, X[:, LEFT].T @ weighted[:, RIGHT], atol=1e-12)


def test_products_of_rows(pair):
    stored, X = pair
    scale = np.linspace(0.5, 2.0, D)
    found = columns.row_products(stored, N, scale)
    np.testing.assert_allclose(found, X @ np.diag(scale) @ X.T, atol=1e-12)


def test_products_within_blocks(pair):
    stored, X = pair
    chosen, starts = np.array([4, 0, 2, 7, 8]), np.array([0, 2, 5])
    own = np.array([0, 4, 13])
    out = np.empty(13)
    blocks.block_products(*stored, H, chosen, starts, own, out)
    for b, size in enumerate((2, 3)):
        part = X[:, chosen[starts[b] : starts[b + 1]]]
        found = out[own[b] : own[b + 1]].reshape(size, size)
        np.testing.assert_allclose(found, part.T @ (H[:, None] * part), atol=1e-12)


def test_dots_and_combinations(pair):
    stored, X = pair
    out = np.empty(RIGHT.size)
    columns.dots(*stored, RIGHT, H, out)
    np.testing.assert_allclose(out, X[:, RIGHT].T @ H, atol=1e-12)
    scores, z = np.ones(N), np.array([1.0, 0.0, -2.0, 0.5])
    columns.combine(*stored, RIGHT, z, np.ones(N), scores)
    np.testing.assert_allclose(scores, 1.0 + X[:, RIGHT] @ z, atol=1e-12)


def block_of(m, rank, rng):
    A = rng.normal(size=(rank, m))
    G = A.T @ A
    # In the range of G, as gradients of a loss are.
    return G, rng.normal(size=m), A.T @ rng.normal(size=rank)


def distance(G, slope, z, new, weight, l1=0.0):
    """Of minus the gradient at the new weights to the subdifferential there."""
    grad = slope + G @ (new - z)
    norm = np.linalg.norm(new)
    if norm == 0.0:
        soft = np.sign(grad) * np.maximum(np.abs(grad) - l1, 0.0)
        return max(np.linalg.norm(soft) - weight, 0.0)
    on = new != 0.0
    rest = np.where(on, np.abs(grad + weight * new / norm + l1 * np.sign(new)), 0.0)
    rest[~on] = np.maximum(np.abs(grad[~on]) - l1, 0.0)
    return np.linalg.norm(rest)


def test_a_block_is_minimised_exactly_in_its_eigenvectors():
    rng = np.random.default_rng(1)
    zero = 0
    for _ in range(300):
        m = int(rng.integers(1, 9))
        G, z, slope = block_of(m, int(rng.integers(1, 2 * m + 1)), rng)
        z *= rng.integers(0, 2)
        weight = 10 ** rng.uniform(-3, 1)
        e, V = np.linalg.eigh(G)
        new = np.empty(m)
        blocks.rotated_minimiser(np.maximum(e, 1e-12 * e[-1]), V, slope, z, weight, new)
        zero += not new.any()
        scale = np.linalg.norm(slope) + np.linalg.norm(G) * np.linalg.norm(z) + weight
        assert distance(G, slope, z, new, weight) <= 1e-8 * scale
    assert 10 < zero < 290


def test_without_a_penalty_a_block_is_a_linear_system():
    rng = np.random.default_rng(2)
    G, z, slope = block_of(4, 9, rng)
    e, V = np.linalg.eigh(G)
    new = np.empty(4)
    blocks.rotated_minimiser(e, V, slope, z, 0.0, new)
    np.testing.assert_allclose(new, z - np.linalg.solve(G, slope), rtol=1e-9)


@pytest.mark.parametrize("l1", [0.0, 0.3])
def test_steps_on_a_block_end_at_its_minimiser(l1):
    rng = np.random.default_rng(3)
    for _ in range(50):
        m = int(rng.integers(1, 6))
        G, z, slope = block_of(m, 3 * m, rng)
        L, new, at = np.linalg.eigvalsh(G)[-1], np.empty(m), z.copy()
        for _ in range(500):
            moved = blocks.minimise_block(
                slope + G @ (at - z), at, 0.5, l1, L, G.ravel(), at, at, False, new
            )
            at = new.copy()
            if moved == 0.0:
                break
        assert distance(G, slope, z, at, 0.5, l1) <= 1e-8 * (1 + np.linalg.norm(slope))
