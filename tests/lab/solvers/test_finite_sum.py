"""Prox-SVRG and SPDAM: rates, supports, batches, errata."""

import numpy as np
import pytest
from scipy import sparse

from auctor.core.errors import IncompatibleError, ParameterError
from auctor.core.types import Target
from auctor.data import as_data
from auctor.lab.learners import Spam
from auctor.lab.solvers import ProxSvrg, Spdam
from auctor.lab.solvers.prox_svrg import centred_rows
from auctor.lab.solvers.spdam import lengths
from auctor.losses import PairwiseSquare, Squared
from auctor.minimise import minimise
from auctor.penalties import L1, L2, Box, ElasticNet, GroupL2
from auctor.problem import Problem
from auctor.solvers import Exact, Fista


def two_gaussians(n=2000, d=10, p=0.1, seed=0, shift=1.5):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, d)) / np.sqrt(d)
    root = np.linalg.cholesky(A @ A.T + 0.3 * np.eye(d))
    y = np.where(rng.random(n) < p, 1, -1)
    mean = rng.normal(size=d) * shift / np.sqrt(d)
    X = rng.normal(size=(n, d)) @ root.T + np.outer(y == 1, mean)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def problem_of(penalty, X, y, weight=None):
    return Problem(PairwiseSquare(), penalty, as_data(X, y, weight=weight))


def error(w, wanted):
    return float(np.linalg.norm(w - wanted) / np.linalg.norm(wanted))


def run(problem, solver, rounds, seed=0):
    """Weights after every iteration, whatever the gap."""
    state = solver.init(problem, problem.start(), np.random.default_rng(seed))
    seen = [state.point.w]
    for _ in range(rounds):
        state = solver.step(problem, state)
        seen.append(state.point.w)
    return seen


def test_variance_reduction_converges_linearly():
    """A11: 1e-6 after ten rounds; plain steps on as many rows stay far behind."""
    X, y = two_gaussians()
    wanted = minimise(problem_of(L2(0.1), X, y), Exact(), tol=1e-14).coef
    errors = [error(w, wanted) for w in run(problem_of(L2(0.1), X, y), ProxSvrg(), 10)]
    assert errors[10] < 1e-6
    plain = error(Spam(0.1, average=False, passes=30).fit(X, y).coef_[0], wanted)
    assert plain > 100 * errors[10]


def test_the_exact_support():
    """A10: zeros where the minimiser has them."""
    X, y = two_gaussians()
    for penalty in (ElasticNet(0.13, 8 / 13), L1(0.1)):
        wanted = minimise(problem_of(penalty, X, y), Fista(), tol=1e-12, max_iter=50000).coef
        found = run(problem_of(penalty, X, y), ProxSvrg(), 60)[-1]
        assert (wanted == 0).any()
        np.testing.assert_array_equal(found == 0, wanted == 0)
        assert error(found, wanted) < 1e-6


@pytest.mark.parametrize(
    "penalty", [L2(0.05, weights=[1, 2, 0.5, 1, 3, 1, 1, 1, 1, 1]), Box(0.1, 0.5)], ids=repr
)
def test_weights_and_boxes(penalty):
    X, y = two_gaussians(600, seed=2)
    weight = np.random.default_rng(0).uniform(0.0, 3.0, size=600)
    weight[::7] = 0.0
    wanted = minimise(problem_of(penalty, X, y, weight), Fista(), tol=1e-11, max_iter=50000)
    solvers = [ProxSvrg()] + ([Spdam()] if isinstance(penalty, L2) else [])
    for solver in solvers:
        found = minimise(problem_of(penalty, X, y, weight), solver, tol=1e-9, max_iter=3000, rng=0)
        np.testing.assert_allclose(found.coef, wanted.coef, atol=1e-4)


def test_storages_take_the_same_path():
    X, y = two_gaussians(300)
    X = np.where(np.abs(X) > 0.2, X, 0.0)
    for solver in (ProxSvrg(), Spdam(batch=7)):
        paths = [
            run(problem_of(L2(0.1), kind(X), y), solver, 4)[-1]
            for kind in (np.asarray, sparse.csr_array, sparse.csc_array)
        ]
        for other in paths[1:]:
            np.testing.assert_allclose(other, paths[0], atol=1e-12)


def constants(X, y, strength, batch):
    problem = problem_of(L2(strength), X, y)
    rows = centred_rows(problem)
    square = float((y.size * rows.share * rows.square).max())
    return lengths(0.5 * strength, square, y.size, batch)


def test_primal_dual_rate():
    """A12: linear, 1e-8 after 1600 steps of a tenth of the rows, no slower than the theory."""
    X, y = two_gaussians()
    # The check's strength is 0.1 for half the loss.
    wanted = minimise(problem_of(L2(0.2), X, y), Exact(), tol=1e-14).coef
    errors = [error(w, wanted) for w in run(problem_of(L2(0.2), X, y), Spdam(batch=200), 160)]
    assert errors[160] < 1e-8
    theta = constants(X, y, 0.2, 200).theta
    contraction = (errors[120] / errors[20]) ** (2 / 1000)
    assert contraction <= theta


def test_batches():
    """A13, E29: larger ones do more per step, smaller ones more per pass."""
    X, y = two_gaussians()
    wanted = minimise(problem_of(L2(0.2), X, y), Exact(), tol=1e-14).coef
    sizes = (20, 200, 2000)

    def after(batch, passes):
        return error(run(problem_of(L2(0.2), X, y), Spdam(batch=batch), passes)[-1], wanted)

    per_pass = [after(batch, 20) for batch in (1, *sizes)]
    assert all(np.diff(per_pass) > 0)
    per_step = [after(200, 4), after(2000, 40)]
    assert per_step[1] < per_step[0]


def printed(X, y, strength, batch, steps, rows_scale=2.0, dual_scale=2.0, seed=0):
    """SPDAM with the printed scaling of rows (E3 i) or steps (E3 v)."""
    rng, n = np.random.default_rng(seed), y.size
    p = (y == 1).mean()
    means = {k: X[y == k].mean(axis=0) for k in (-1, 1)}
    root = {1: np.sqrt(rows_scale * p), -1: np.sqrt(rows_scale * (1 - p))}
    Z = np.array([(x - means[k]) / root[k] for x, k in zip(X, y, strict=True)])
    b, square = means[-1] - means[1], (Z**2).sum(axis=1).max()
    sigma, tau, theta = lengths(strength, square, n, batch)
    if dual_scale != 1.0:
        sigma = sigma / (2 * strength)
        tau, theta = 1 / (4 * sigma * square), 1 - strength / (strength + 2 * sigma * square)
    w = ahead = u = np.zeros(X.shape[1])
    beta = np.zeros(n)
    for _ in range(steps):
        some = rng.choice(n, batch, replace=False)
        new = (beta[some] + sigma * (Z[some] @ ahead)) / (1 + sigma)
        change = (new - beta[some]) @ Z[some] / n
        beta[some] = new
        r, c = w / tau - u - n / batch * change - b, strength + 1 / tau
        u = u + change
        after = (r - b * (b @ r) / (c + b @ b)) / c
        ahead, w = after + theta * (after - w), after
    return w


def test_the_printed_scalings_fail():
    """A24, E3: the printed rows change the minimiser, the printed steps the speed."""
    X, y = two_gaussians()
    wanted = minimise(problem_of(L2(0.2), X, y), Exact(), tol=1e-14).coef
    right = printed(X, y, 0.1, 200, 1600, 1.0, 1.0)
    assert error(right, wanted) < 1e-7
    assert error(printed(X, y, 0.1, 200, 1600, 2.0, 1.0), wanted) > 0.05
    wanted = minimise(problem_of(L2(0.002), X, y), Exact(), tol=1e-14).coef
    slow = error(printed(X, y, 0.001, 200, 1000, 1.0, 2.0), wanted)
    assert slow > 5 * error(printed(X, y, 0.001, 200, 1000, 1.0, 1.0), wanted)


def test_a_good_start_is_kept():
    X, y = two_gaussians(400)
    wanted = minimise(problem_of(L2(0.1), X, y), Exact(), tol=1e-14).coef
    for solver in (ProxSvrg(), Spdam()):
        problem = problem_of(L2(0.1), X, y)
        seen = []
        minimise(
            problem,
            solver,
            w0=wanted,
            tol=0.0,
            max_iter=3,
            on_step=lambda step, seen=seen: seen.append(step.w.copy()),
            on_failure="ignore",
        )
        assert max(error(w, wanted) for w in seen) < 1e-10


def test_refusals():
    X, y = two_gaussians(50)
    data = as_data(X, y.astype(float))
    groups = data.with_target(Target(y.astype(float), groups=np.arange(50) % 2))
    for problem, solver, words in (
        (Problem(Squared(), L2(0.1), data), ProxSvrg(), "pairwise square"),
        (Problem(PairwiseSquare(), L2(0.1), groups), ProxSvrg(), "without groups"),
        (Problem(PairwiseSquare(), GroupL2(0.1, 5), data), ProxSvrg(), "separates"),
        (Problem(PairwiseSquare(), L1(0.1), data), Spdam(), "differentiable"),
        (Problem(PairwiseSquare(), L2(0.0), data), Spdam(), "l2 part"),
    ):
        with pytest.raises(IncompatibleError, match=words):
            minimise(problem, solver)
    with pytest.raises(ParameterError, match="batch"):
        Spdam(batch=0)
    with pytest.raises(ParameterError, match="inner"):
        ProxSvrg(inner=0.0)
