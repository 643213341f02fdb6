"""Quadratic programs: optimality, certificates, degenerate and singular cases, warm starts."""

import itertools

import numpy as np
import pytest
from benchmarks.sections.quadratic_programs import random_program
from scipy.optimize import linprog, nnls

from auctor.core.errors import DataError
from auctor.lab.kernels.active_set import active_set
from auctor.lab.qp import QpStatus, QuadraticProgram, find_feasible, kkt_residual, solve


@pytest.mark.parametrize("kind", ["definite", "semidefinite", "degenerate", "linear"])
def test_200_random_programs_satisfy_the_conditions(kind):
    for seed in range(50):
        found = solve(random_program(seed, kind))
        assert found.converged, seed
        assert found.residual.largest <= 1e-9, (seed, found.residual)


def by_faces(program):
    """The lowest feasible stationary point over all sets of active rows."""
    best = np.inf
    rows, limits, k = program.rows, program.limits, program.n_equal
    for size in range(min(program.size, limits.size - k) + 1):
        for chosen in itertools.combinations(range(k, limits.size), size):
            held = [*range(k), *chosen]
            A = rows[held]
            system = np.block([[program.G, -A.T], [A, np.zeros((len(held),) * 2)]])
            x = np.linalg.lstsq(system, np.append(-program.c, limits[held]), rcond=None)[0]
            x = x[: program.size]
            slack = rows @ x - limits
            if (slack[k:] >= -1e-8).all() and np.abs(slack[:k]).max(initial=0.0) <= 1e-8:
                best = min(best, program.value(x))
    return best


@pytest.mark.parametrize("seed", range(12))
def test_equals_the_best_of_all_faces(seed):
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(4, 4))
    program = QuadraticProgram(
        B @ B.T, rng.normal(size=4), rng.normal(size=(4, 4)), -rng.random(4),
        E=rng.normal(size=(1, 4)), e=[0.3], lower=-2.0, upper=[1.0, np.inf, 2.0, np.inf],
    )  # fmt: skip
    found = solve(program)
    assert found.residual.largest < 1e-10
    assert found.value == pytest.approx(by_faces(program), abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_linear_programs_agree_with_scipy(seed):
    program = random_program(seed, "linear", d=6, m=15)
    wanted = linprog(program.c, -program.A, -program.b, bounds=(None, None))
    assert solve(program).value == pytest.approx(wanted.fun, abs=1e-9)


def test_nocedal_wright_example():
    A = [[1, -2], [-1, -2], [-1, 2], [1, 0], [0, 1]]
    program = QuadraticProgram(2 * np.eye(2), [-2, -5], A, [-2, -6, -2, 0, 0])
    found = solve(program, start=[2.0, 0.0], working=[2, 4])
    np.testing.assert_allclose(found.x, [1.4, 1.7], atol=1e-12)
    np.testing.assert_allclose(found.multipliers, [0.8, 0, 0, 0, 0], atol=1e-12)
    assert found.n_iter <= 6
    # The path matters not: without a start the answer is the same.
    np.testing.assert_allclose(solve(program).x, [1.4, 1.7], atol=1e-12)


@pytest.mark.parametrize("strict", [True, False])
def test_infeasible_programs_come_with_a_proof(strict):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        A, weight = rng.normal(size=(8, 5)), rng.random(8)
        A[0] = -A[1:].T @ weight[1:] / weight[0]  # weight' A = 0
        b = rng.normal(size=8)
        b += (1.0 - weight @ b) / weight.sum()  # weight' b = 1
        G = np.eye(5) if strict else np.zeros((5, 5))
        found = solve(QuadraticProgram(G, rng.normal(size=5), A, b))
        assert found.status is QpStatus.INFEASIBLE
        proof = found.multipliers
        assert proof.min() >= -1e-12
        assert np.abs(A.T @ proof).max() < 1e-9 * proof.max()
        assert b @ proof > 1e-6 * proof.max()


def test_equations_that_contradict_come_with_a_proof():
    E = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0], [0.0, 1.0, 1.0]])
    found = solve(QuadraticProgram(np.eye(3), np.zeros(3), E=E, e=[1.0, 3.0, 0.0]))
    assert found.status is QpStatus.INFEASIBLE
    assert np.abs(E.T @ found.multipliers).max() < 1e-12
    assert found.multipliers @ [1.0, 3.0, 0.0] > 0.1
    # Equations that repeat each other are no contradiction.
    again = solve(QuadraticProgram(np.eye(3), np.zeros(3), E=E, e=[1.0, 2.0, 0.0]))
    assert again.converged
    assert again.residual.largest < 1e-12


def test_unbounded_programs_come_with_a_ray():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        B = rng.normal(size=(6, 3))
        ray = np.linalg.svd(B.T)[2][-1]
        A = rng.normal(size=(7, 6))
        A *= np.sign(A @ ray)[:, None]
        program = QuadraticProgram(B @ B.T, -ray, A, -rng.random(7))
        found = solve(program)
        assert found.status is QpStatus.UNBOUNDED
        size = np.abs(found.ray).max()
        assert np.abs(program.G @ found.ray).max() < 1e-10 * size
        assert (A @ found.ray).min() > -1e-10 * size
        assert program.c @ found.ray < -1e-6 * size


def test_no_constraints_and_no_freedom():
    G = np.array([[2.0, 0.0], [0.0, 0.0]])
    np.testing.assert_allclose(solve(QuadraticProgram(G, [-2.0, 0.0])).x, [1.0, 0.0], atol=1e-15)
    assert solve(QuadraticProgram(G, [0.0, 1.0])).status is QpStatus.UNBOUNDED
    fixed = solve(QuadraticProgram(G, [5.0, 5.0], lower=[1.0, 2.0], upper=[1.0, 2.0]))
    assert fixed.converged
    np.testing.assert_allclose(fixed.x, [1.0, 2.0], atol=1e-14)


def test_beale_cycles_without_an_anti_cycling_rule():
    """The classical linear program on which the steepest rule returns to where it began."""
    A = -np.array([[0.25, -60, -0.04, 9], [0.5, -90, -0.02, 3], [0, 0, 1, 0]])
    program = QuadraticProgram(np.zeros((4, 4)), [-0.75, 150, -0.02, 6], A, [0, 0, -1], lower=0.0)
    found = solve(program, start=np.zeros(4), working=[3, 4, 5, 6])
    assert found.converged
    assert found.value == pytest.approx(-0.05, abs=1e-12)


def test_a_warm_start_takes_fewer_steps():
    program = random_program(3, "definite")
    cold = solve(program)
    near = QuadraticProgram(program.G, program.c + 1e-3, program.A, program.b)
    warm = solve(near, start=cold)
    assert warm.residual.largest < 1e-9
    assert warm.n_iter < 0.5 * solve(near).n_iter
    assert solve(program, start=cold).n_iter <= 1
    # A start that the new constraints exclude is no obstacle.
    tighter = QuadraticProgram(program.G, program.c, program.A, program.b + 1e-3)
    assert solve(tighter, start=cold).residual.largest < 1e-9


def test_steps_run_out_honestly():
    found = solve(random_program(0, "semidefinite"), max_iter=3)
    assert found.status is QpStatus.MAX_ITER
    assert not found.converged
    assert found.residual.largest > 1e-3


def test_rows_of_any_scale_and_rows_of_zeros():
    program = random_program(5, "definite")
    scale = 10.0 ** np.random.default_rng(0).uniform(-6, 6, program.b.size)
    A = np.vstack((program.A * scale[:, None], np.zeros(program.size)))
    scaled = QuadraticProgram(program.G, program.c, A, np.append(program.b * scale, -1.0))
    np.testing.assert_allclose(solve(scaled).x, solve(program).x, atol=1e-9)
    never = QuadraticProgram(program.G, program.c, A, np.append(program.b * scale, 1.0))
    assert solve(never).status is QpStatus.INFEASIBLE


def test_sizes_of_rows_and_variables_do_not_matter():
    # Rows of lengths 1 and 1e-16 both count.
    apart = QuadraticProgram(np.eye(2), [0.0, 0.0], [[1e8, 0.0], [0.0, 1e-8]], [1e8, 1e-8])
    np.testing.assert_allclose(solve(apart).x, [1.0, 1.0], atol=1e-12)
    tiny = QuadraticProgram(np.eye(1), [0.0], [[1e-200]], [1e-200])
    np.testing.assert_allclose(solve(tiny).x, [1.0], atol=1e-12)
    # A small curvature bounds the objective.
    flat = solve(QuadraticProgram(np.diag([1.0, 1e-13]), [-1.0, -1.0]))
    assert flat.converged
    np.testing.assert_allclose(flat.x, [1.0, 1e13], rtol=1e-9)
    scale = 10.0 ** np.random.default_rng(1).uniform(-5, 5, 8)
    for seed in range(20):
        program = random_program(seed, "definite", d=8)
        other = QuadraticProgram(
            program.G * scale * scale[:, None], program.c * scale, program.A * scale, program.b
        )
        np.testing.assert_allclose(scale * solve(other).x, solve(program).x, atol=1e-7)


def test_programs_of_no_variables():
    found = solve(QuadraticProgram(np.zeros((0, 0)), []))
    assert (found.converged, found.value, found.x.size) == (True, 0.0, 0)
    never = solve(QuadraticProgram(np.zeros((0, 0)), [], np.zeros((2, 0)), [-1.0, 2.0]))
    assert never.status is QpStatus.INFEASIBLE
    assert never.multipliers.tolist() == [0.0, 2.0]


@pytest.mark.parametrize("seed", range(20))
def test_farkas_exactly_one_alternative(seed):
    """g is a mixture of rows, or some direction along the rows goes down; never both."""
    rng = np.random.default_rng(seed)
    A, g = rng.normal(size=(6, 4)), rng.normal(size=4)
    if seed % 2:
        g = A.T @ rng.random(6)
    _, distance = nnls(A.T, g)
    found = solve(QuadraticProgram(np.zeros((4, 4)), g, A, np.zeros(6)))
    if distance < 1e-9:
        assert found.converged
        np.testing.assert_allclose(A.T @ found.multipliers, g, atol=1e-9)
    else:
        assert found.status is QpStatus.UNBOUNDED
        assert g @ found.ray < 0.0
        assert (A @ found.ray).min() > -1e-10


def test_kkt_residual_sees_each_condition():
    program = QuadraticProgram(np.eye(2), [0.0, 0.0], [[1.0, 0.0]], [1.0], E=[[0.0, 1.0]], e=[2.0])
    right = kkt_residual(program, [1.0, 2.0], [2.0, 1.0])
    assert right.largest == 0.0
    assert kkt_residual(program, [1.0, 2.0], [2.0, 4.0]).stationarity == 3.0
    assert kkt_residual(program, [1.0, 5.0], [5.0, 1.0]).equality == 3.0
    assert kkt_residual(program, [-1.0, 2.0], [2.0, -1.0]).inequality == 2.0
    assert kkt_residual(program, [-1.0, 2.0], [2.0, -1.0]).sign == 1.0
    assert kkt_residual(program, [3.0, 2.0], [2.0, 3.0]).complementarity == 6.0


def test_the_saddle_matrix_has_d_positive_and_m_negative_eigenvalues():
    """Spec T-03, with the inverse by blocks and the descent of the step."""
    rng = np.random.default_rng(1)
    B, A = rng.normal(size=(6, 6)), rng.normal(size=(3, 6))
    G = B @ B.T + np.eye(6)
    K = np.block([[G, A.T], [A, np.zeros((3, 3))]])
    values = np.linalg.eigvalsh(K)
    assert ((values > 0).sum(), (values < 0).sum()) == (6, 3)
    H = np.linalg.inv(G)
    S = np.linalg.inv(-A @ H @ A.T)
    inverse = np.block([[H + H @ A.T @ S @ A @ H, -H @ A.T @ S], [-S @ A @ H, S]])
    np.testing.assert_allclose(inverse @ K, np.eye(9), atol=1e-12)
    g = rng.normal(size=6)
    found = solve(QuadraticProgram(G, g, E=A, e=np.zeros(3)))
    assert g @ found.x == pytest.approx(-found.x @ G @ found.x)
    assert g @ found.x < 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"G": np.diag([1.0, -2.0])}, "eigenvalue -2"),
        ({"G": [[1.0, 1.0], [0.0, 1.0]]}, "symmetric"),
        ({"G": np.eye(3)}, r"shape \(2, 2\)"),
        ({"A": [[1.0, 0.0]]}, "together"),
        ({"A": [[1.0, 0.0]], "b": [1.0, 2.0]}, r"shape \(1,\)"),
        ({"A": [[np.nan, 0.0]], "b": [1.0]}, "finite"),
        ({"A": [["a", "b"]], "b": [1.0]}, "numbers"),
        ({"lower": [0.0, 3.0], "upper": 2.0}, "3 > 2 for variable 1"),
        ({"lower": np.nan}, "lower bounds"),
    ],
)
def test_bad_input_is_refused_in_words(change, words):
    given = {"G": np.eye(2), "c": [0.0, 0.0], **change}
    with pytest.raises(DataError, match=words):
        QuadraticProgram(**given)


def test_bad_working_rows_are_refused():
    with pytest.raises(DataError, match="among the 0 constraints"):
        solve(QuadraticProgram(np.eye(2), [0.0, 0.0]), working=[5])


def test_find_feasible_needs_no_objective():
    program = random_program(2, "definite")
    found = find_feasible(program)
    assert (program.A @ found.x >= program.b - 1e-9).all()


def test_the_kernel_reports_its_steps():
    x, working, weight = np.array([2.0, 2.0]), np.zeros(2, dtype=np.int64), np.zeros(2)
    code, size, steps = active_set(
        np.eye(2), np.zeros(2), np.eye(2), np.ones(2), 0, x, working, 0, weight, 50, True
    )
    assert (code, size) == (0, 2)
    assert steps >= 2
    np.testing.assert_allclose(x, [1.0, 1.0])
    np.testing.assert_allclose(weight, [1.0, 1.0])


def rosenbrock(x):
    """``(1 - x1)^2 + 5 (x2 - x1^2)^2`` with its gradient and Hessian."""
    a, b = 1.0 - x[0], x[1] - x[0] ** 2
    gradient = np.array([-2.0 * a - 20.0 * x[0] * b, 10.0 * b])
    corner = 2.0 - 20.0 * b + 40.0 * x[0] ** 2
    return a**2 + 5.0 * b**2, gradient, np.array([[corner, -20.0 * x[0]], [-20.0 * x[0], 10.0]])


def test_newton_steps_over_a_hexagon():
    """Spec X4: quadratic models with their constraints, and Armijo steps, which the notes lack."""
    angle = 0.1 + np.arange(6) * np.pi / 3
    corners = 0.1 + np.column_stack((np.cos(angle), np.sin(angle)))
    edges = np.roll(corners, -1, axis=0) - corners
    A = np.column_stack((-edges[:, 1], edges[:, 0]))  # inward normals
    b = np.einsum("ij,ij->i", A, corners)
    x, found = np.array([-0.5, 0.5]), None
    for _ in range(30):
        value, g, H = rosenbrock(x)
        low = np.linalg.eigvalsh(H)[0]
        if low < 1e-10:
            H = H + (1.0 - low) * np.eye(2)
        found = solve(QuadraticProgram(H, g, A, b - A @ x), start=np.zeros(2))
        step, slope = 1.0, g @ found.x
        while rosenbrock(x + step * found.x)[0] > value + 1e-4 * step * slope:
            step *= 0.5
        x = x + step * found.x
        if np.abs(found.x).max() < 1e-12:
            break
    np.testing.assert_allclose(x, [0.79454572, 0.61751042], atol=1e-7)
    assert rosenbrock(x)[0] == pytest.approx(0.0431626243, abs=1e-9)
    assert found.multipliers[0] == pytest.approx(0.23618848, abs=1e-7)
    assert np.flatnonzero(found.multipliers).tolist() == [0]


def small_integers(seed):
    """A program of small integers: full of ties, dependent rows and singular matrices."""
    rng = np.random.default_rng(seed)
    d, m, k = rng.integers(1, 9), rng.integers(0, 16), rng.integers(0, 4)
    B = rng.integers(-2, 3, size=(d, rng.integers(0, d + 1))).astype(float)
    A, b = rng.integers(-2, 3, size=(m, d)), rng.integers(-4, 2, size=m)
    E = rng.integers(-1, 2, size=(k, d))
    e = E @ rng.integers(-1, 2, size=d) if rng.random() < 0.8 else rng.integers(-1, 2, size=k)
    lower = np.where(rng.random(d) < 0.3, rng.integers(-2, 1, size=d), -np.inf)
    upper = np.where(rng.random(d) < 0.3, rng.integers(0, 3, size=d), np.inf)
    c = rng.integers(-3, 4, size=d)
    return QuadraticProgram(B @ B.T, c, A, b, E=E, e=e, lower=lower, upper=upper)


def check_answer(program):
    """Whatever the answer is, it is proved; returns what it was."""
    found, k = solve(program), program.n_equal
    weight, ray = found.multipliers, found.ray
    if found.status is QpStatus.OPTIMAL:
        assert found.residual.largest < 1e-8
    elif found.status is QpStatus.INFEASIBLE:
        size = np.abs(weight).max()
        assert weight[k:].min(initial=0.0) >= -1e-9 * size
        assert np.abs(program.rows.T @ weight).max() < 1e-8 * size
        assert program.limits @ weight > 1e-9 * size
    else:
        assert found.status is QpStatus.UNBOUNDED
        size = np.abs(ray).max()
        along = program.rows @ ray
        assert np.abs(program.G @ ray).max() < 1e-8 * size
        assert along[k:].min(initial=0.0) > -1e-8 * size
        assert np.abs(along[:k]).max(initial=0.0) < 1e-8 * size
        assert program.c @ ray < -1e-9 * size
    return found.status


def test_every_answer_on_small_integers_is_proved():
    kinds = [check_answer(small_integers(seed)) for seed in range(300)]
    assert min(kinds.count(status) for status in list(QpStatus)[:3]) >= 10


@pytest.mark.slow
def test_every_answer_on_many_small_integers_is_proved():
    for seed in range(300, 10_000):
        check_answer(small_integers(seed))
