"""The compact L-BFGS ring, against explicit updates."""

import numpy as np
import pytest

from auctor.solvers.lbfgs import THETA_RANGE
from auctor.solvers.sparse.matrices import LbfgsMatrix

P, M = 30, 5


def stream(count, p=P, rng=0):
    """Pairs of a random convex quadratic, with steps of very different lengths."""
    rng = np.random.default_rng(rng)
    A = rng.normal(size=(p, p))
    A = A @ A.T / p + 0.1 * np.eye(p)
    for _ in range(count):
        s = rng.normal(size=p) * 10.0 ** rng.uniform(-6, 2)
        yield s, A @ s


def explicit(pairs, theta, metric):
    """The BFGS updates of ``theta diag(metric)``, one by one."""
    B = theta * np.diag(metric)
    for s, t in pairs:
        Bs = B @ s
        B = B - np.outer(Bs, Bs) / (s @ Bs) + np.outer(t, t) / (s @ t)
    return B


def everything(pairs):
    return pairs.restrict(np.arange(pairs.steps.shape[1]))


@pytest.mark.parametrize("count", [1, 3, 5, 6, 13])
@pytest.mark.parametrize("shrink", [1.0, 0.3])
@pytest.mark.parametrize("power", [0.0, 2.0])
def test_compact_form_equals_explicit_updates(count, shrink, power):
    metric = np.linspace(0.1, 1.0, P) ** power
    ring, kept = LbfgsMatrix(M, P, 1.0, metric=metric), []
    for s, t in stream(count):
        assert ring.add(s, t, shrink=shrink)
        kept = [*kept, (s, t)][-M:]
        s, t = kept[-1]
        assert ring.theta == pytest.approx(shrink * (t @ (t / metric)) / (s @ t))
        B = explicit(kept, ring.theta, metric)
        found = everything(ring)
        np.testing.assert_allclose(found.matrix(), B, rtol=0, atol=1e-12 * np.abs(B).max())
        np.testing.assert_allclose(found.diagonal, np.diag(B), rtol=1e-11)
        v = np.sin(np.arange(P))
        np.testing.assert_allclose(B @ ring.solve(v), v, atol=1e-10)


def test_restriction_is_the_principal_submatrix():
    ring = LbfgsMatrix(M, P, 1.0)
    for s, t in stream(7):
        ring.add(s, t)
    index = np.array([3, 4, 17, 29])
    part, whole = ring.restrict(index), everything(ring).matrix()
    np.testing.assert_allclose(part.matrix(), whole[np.ix_(index, index)], atol=1e-13)
    assert part.rows.flags.c_contiguous
    assert part.hats.flags.c_contiguous
    assert ring.restrict(np.arange(0)).rows.shape[0] == 0


def test_ring_keeps_its_arrays_and_its_inner_products():
    """A thousand pairs: nothing is moved or reallocated, products equal recomputed ones."""
    ring, kept = LbfgsMatrix(M, P, 1.0), []
    where = [a.ctypes.data for a in (ring.steps, ring.changes, ring.ss, ring.later)]
    for k, (s, t) in enumerate(stream(1000, rng=3)):
        ring.add(s, t)
        norm = np.linalg.norm(s)
        kept = [*kept, (s / norm, t / norm)][-M:]
        if k % 50 and k > 12:
            continue
        S, T = (np.array(column) for column in zip(*kept, strict=True))
        order = ring.slots
        ring.core()
        ring.solve(np.ones(P))
        np.testing.assert_array_equal(ring.steps[order], S)
        np.testing.assert_array_equal(ring.changes[order], T)
        np.testing.assert_allclose(ring.ss[np.ix_(order, order)], S @ S.T, atol=1e-12)
        lower = np.tril(ring.later[np.ix_(order, order)], -1)
        np.testing.assert_allclose(lower, np.tril(S @ T.T, -1), atol=1e-12)
        upper = np.triu(ring.earlier[np.ix_(order, order)])
        np.testing.assert_allclose(upper, np.triu(S @ T.T), atol=1e-12)
        np.testing.assert_allclose(ring.tt[np.ix_(order, order)], T @ T.T, rtol=1e-12)
        np.testing.assert_allclose(ring.own[order], (S * T).sum(axis=1), rtol=1e-12)
    assert where == [a.ctypes.data for a in (ring.steps, ring.changes, ring.ss, ring.later)]


def test_pairs_without_curvature_are_refused():
    ring, s = LbfgsMatrix(M, P, 2.5), np.ones(P)
    for t in (-s, np.zeros(P), np.full(P, np.nan), np.where(np.arange(P) % 2, 1.0, -1.0)):
        assert not ring.add(s, t)
    assert not ring.add(np.zeros(P), np.zeros(P))
    assert ring.count == 0
    assert ring.theta == 2.5
    np.testing.assert_array_equal(everything(ring).matrix(), 2.5 * np.eye(P))


def test_scale_is_bounded():
    ring, s = LbfgsMatrix(M, P, 1.0), np.ones(P)
    ring.add(s, 3.0 * s)
    ring.add(s, 1e-30 * s)
    assert ring.theta == pytest.approx(3.0 / THETA_RANGE)
    ring.add(s, 1e30 * s)
    assert ring.theta == pytest.approx(3.0 * THETA_RANGE)


def test_equal_pairs_do_no_harm():
    ring, s = LbfgsMatrix(M, P, 1.0), np.ones(P)
    for _ in range(M):
        ring.add(s, 2.0 * s)
    found = everything(ring).matrix()
    assert np.linalg.eigvalsh(found).min() > 0.0
    np.testing.assert_allclose(found @ s, 2.0 * s, atol=1e-12)


def test_spoilt_pairs_are_dropped():
    ring = LbfgsMatrix(M, P, 1.0)
    for s, t in stream(M):
        ring.add(s, t)
    ring.core()
    ring.ss[0] = ring.ss[:, 0] = np.nan
    found = everything(ring)
    assert found.diagonal.min() > 0.0
    assert (found.pairs, ring.count) == (M - 1, M)  # a restriction changes nothing
    ring.keep(found.pairs)
    assert ring.count == M - 1
    np.testing.assert_array_equal(everything(ring).matrix(), found.matrix())
    ring.own[M - 1] *= -1e-3  # the newest pair now claims negative curvature
    np.testing.assert_array_equal(everything(ring).matrix(), ring.theta * np.eye(P))


def test_matrix_is_the_same_in_all_units():
    """Scaling the loss scales B; scaling steps does nothing."""
    one, two = LbfgsMatrix(M, P, 1.0), LbfgsMatrix(M, P, 1.0)
    for s, t in stream(7):
        one.add(s, t)
        two.add(1e-5 * s, 1e-5 * 4.0 * t)
    np.testing.assert_allclose(everything(two).matrix(), 4.0 * everything(one).matrix(), rtol=1e-9)
