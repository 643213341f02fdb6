"""Levenberg-Marquardt on 25 classical problems, in units from 1e-6 to 1e6."""

import numpy as np
import pytest
from scipy.optimize import least_squares as scipy_least_squares

from auctor.lab.least_squares import LevenbergMarquardt, solve

BARD = [0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39, 0.37, 0.58, 0.73, 0.96, 1.34, 2.1, 4.39]
KOWALIK = np.array(
    [
        [4.0, 2.0, 1.0, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625],
        [
            0.1957, 0.1947, 0.1735, 0.16, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246,
        ],
    ]
)  # fmt: skip
MEYER = [
    34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744, 8261, 7030, 6005, 5147, 4427, 3820, 3307,
    2872,
]  # fmt: skip


def helical(x):
    angle = np.arctan(x[1] / x[0]) / (2.0 * np.pi) + (0.5 if x[0].real < 0 else 0.0)
    radius = np.sqrt(x[0] * x[0] + x[1] * x[1])
    return np.array([10.0 * (x[2] - 10.0 * angle), 10.0 * (radius - 1.0), x[2]])


def watson(x):
    t, j = np.arange(1, 30) / 29.0, np.arange(x.size)
    inner = (t[:, None] ** j) @ x
    slope = (j[1:] * t[:, None] ** (j[1:] - 1)) @ x[1:]
    return np.concatenate((slope - inner * inner - 1.0, [x[0], x[1] - x[0] ** 2 - 1.0]))


def trigonometric(x):
    n = x.size
    return n - np.cos(x).sum() + np.arange(1, n + 1) * (1.0 - np.cos(x)) - np.sin(x)


def broyden(x):
    around = np.concatenate(([0.0], x, [0.0]))
    return (3.0 - 2.0 * x) * x - around[:-2] - 2.0 * around[2:] + 1.0


def boundary(x):
    h = 1.0 / (x.size + 1)
    t, around = h * np.arange(1, x.size + 1), np.concatenate(([0.0], x, [0.0]))
    return 2.0 * x - around[:-2] - around[2:] + 0.5 * h * h * (x + t + 1.0) ** 3


def almost_linear(x):
    return np.append(x[:-1] + x.sum() - (x.size + 1.0), np.prod(x) - 1.0)


U, V, W = (
    np.arange(1, 16),
    16 - np.arange(1, 16),
    np.minimum(np.arange(1, 16), np.arange(15, 0, -1)),
)
T10, T20 = 0.1 * np.arange(1, 11), 0.2 * np.arange(1, 21)
GAUSS = np.array([9, 44, 175, 540, 1295, 2420, 3521, 3989]) / 1e4
GAUSS = np.append(GAUSS, GAUSS[-2::-1])
LINE = np.linspace(0.0, 4.0, 20)
SEEN = 2.0 * np.exp(-0.7 * LINE) + 0.05 * np.sin(37.0 * np.arange(20))

#: Residuals of More, Garbow and Hillstrom (Testing unconstrained optimization software, 1981) and
#: exponential decays, with starts.
PROBLEMS = {
    "rosenbrock": (lambda x: np.array([10.0 * (x[1] - x[0] ** 2), 1.0 - x[0]]), [-1.2, 1.0]),
    "freudenstein": (
        lambda x: np.array(
            [
                -13.0 + x[0] + ((5.0 - x[1]) * x[1] - 2.0) * x[1],
                -29.0 + x[0] + ((x[1] + 1.0) * x[1] - 14.0) * x[1],
            ]
        ),
        [0.5, -2.0],
    ),
    "brown badly scaled": (
        lambda x: np.array([x[0] - 1e6, x[1] - 2e-6, x[0] * x[1] - 2.0]), [1.0, 1.0],
    ),
    "beale": (
        lambda x: np.array([1.5, 2.25, 2.625]) - x[0] * (1.0 - x[1] ** np.arange(1, 4)), [1.0, 1.0],
    ),
    "jennrich": (
        lambda x: 2.0 + 2.0 * T10 * 10 - np.exp(10 * T10 * x[0]) - np.exp(10 * T10 * x[1]),
        [0.3, 0.4],
    ),
    "helical": (helical, [-1.0, 0.0, 0.0]),
    "bard": (lambda x: BARD - (x[0] + U / (V * x[1] + W * x[2])), [1.0, 1.0, 1.0]),
    "gaussian": (
        lambda x: x[0] * np.exp(-x[1] * ((8 - U) / 2.0 - x[2]) ** 2 / 2.0) - GAUSS, [0.4, 1.0, 0.0],
    ),
    "meyer": (
        lambda x: x[0] * np.exp(x[1] / (45.0 + 5.0 * np.arange(1, 17) + x[2])) - MEYER,
        [0.02, 4000.0, 250.0],
    ),
    "box": (
        lambda x: np.exp(-T10 * x[0]) - np.exp(-T10 * x[1])
        - x[2] * (np.exp(-T10) - np.exp(-10 * T10)),
        [0.0, 10.0, 20.0],
    ),
    "powell singular": (
        lambda x: np.array(
            [
                x[0] + 10.0 * x[1],
                np.sqrt(5.0) * (x[2] - x[3]),
                (x[1] - 2.0 * x[2]) ** 2,
                np.sqrt(10.0) * (x[0] - x[3]) ** 2,
            ]
        ),
        [3.0, -1.0, 0.0, 1.0],
    ),
    "wood": (
        lambda x: np.array(
            [
                10.0 * (x[1] - x[0] ** 2),
                1.0 - x[0],
                np.sqrt(90.0) * (x[3] - x[2] ** 2),
                1.0 - x[2],
                np.sqrt(10.0) * (x[1] + x[3] - 2.0),
                (x[1] - x[3]) / np.sqrt(10.0),
            ]
        ),
        [-3.0, -1.0, -3.0, -1.0],
    ),
    "kowalik": (
        lambda x: KOWALIK[1]
        - x[0] * KOWALIK[0] * (KOWALIK[0] + x[1]) / (KOWALIK[0] ** 2 + KOWALIK[0] * x[2] + x[3]),
        [0.25, 0.39, 0.415, 0.39],
    ),
    "brown dennis": (
        lambda x: (x[0] + T20 * x[1] - np.exp(T20)) ** 2
        + (x[2] + x[3] * np.sin(T20) - np.cos(T20)) ** 2,
        [25.0, 5.0, -5.0, -1.0],
    ),
    "watson": (watson, [0.0] * 6),
    "penalty": (
        lambda x: np.append(np.sqrt(1e-5) * (x - 1.0), x @ x - 0.25), [1.0, 2.0, 3.0, 4.0],
    ),
    "trigonometric": (trigonometric, [0.2] * 5),
    "almost linear": (almost_linear, [0.5] * 10),
    "boundary": (boundary, [-0.1, -0.2, -0.2, -0.1]),
    "broyden": (broyden, [-1.0] * 10),
    "linear": (lambda x: np.append(x, -1.0) - 0.4 * x.sum() - 1.0, [1.0] * 6),
    "far": (lambda x: x - 1e6, [1.0]),
    "decay": (lambda x: x[0] * np.exp(-x[1] * LINE) - SEEN, [1.0, 1.0]),
    "decay from a bad start": (
        lambda x: x[0] * np.exp(-x[1] * LINE) - SEEN, [100.0, -3.0],
    ),
    "two decays": (
        lambda x: x[0] * np.exp(-x[1] * LINE) + x[2] * np.exp(-x[3] * LINE)
        - SEEN - np.exp(-4.0 * LINE),
        [10.0, 5.0, -10.0, 0.1],
    ),
}  # fmt: skip


def in_units(name, unknowns, residuals):
    """The problem for ``z = x / unknowns`` with residuals times ``residuals``; its Jacobian."""
    function, start = PROBLEMS[name]
    d = len(start)

    def value(z):
        return residuals * np.asarray(function(unknowns * z), dtype=np.float64)

    def jacobian(z):
        # Complex steps: derivatives without cancellation.
        x = unknowns * z
        step = 1e-20
        columns = [np.imag(function(x + 1j * step * np.eye(d)[k])) / step for k in range(d)]
        return residuals * unknowns * np.stack(columns, axis=1)

    return value, np.array(start) / unknowns, jacobian


def scipy_value(name):
    """The lowest value that SciPy's methods reach from the start."""
    value, start, jacobian = in_units(name, 1.0, 1.0)
    found = []
    for options in ({"method": "trf"}, {"method": "trf", "x_scale": "jac"}, {"method": "dogbox"}):
        with np.errstate(all="ignore"):
            try:
                fit = scipy_least_squares(
                    value, start, jacobian, xtol=1e-14, ftol=1e-14, gtol=1e-14, max_nfev=2000,
                    **options,
                )  # fmt: skip
            except ValueError:
                continue
        found.append(fit.cost)
    return min(found)


@pytest.mark.parametrize("name", PROBLEMS)
def test_25_problems_in_any_units(name):
    known, first = scipy_value(name), None
    for unknowns in (1e-6, 1.0, 1e6):
        for residuals in (1e-6, 1.0, 1e6):
            value, start, jacobian = in_units(name, unknowns, residuals)
            with np.errstate(all="ignore"):
                found = solve(value, start, jacobian, max_iter=2000)
            reached = found.value / residuals**2
            assert found.converged
            assert reached <= known * (1.0 + 1e-6) + 1e-12, (reached, known)
            first = reached if first is None else first
            assert reached == pytest.approx(first, rel=1e-6, abs=1e-12)


def test_a_radius_can_be_limited():
    value, start, jacobian = in_units("far", 1.0, 1.0)
    method = LevenbergMarquardt(largest_radius=10.0, scale_columns=False)
    assert solve(value, start, jacobian, method=method).x < 1.0 + 200 * 10.0
    assert solve(value, start, jacobian).x == pytest.approx(1e6)
