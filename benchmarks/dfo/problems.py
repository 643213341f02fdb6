"""Standard test problems: residuals of More, Garbow and Hillstrom (1981) and some chained ones.

A smooth problem is the sum of their squares, a noisy one that sum times ``1 + NOISE * normal``, a
non-smooth one the sum of their absolute values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

#: Relative standard deviation of the noise (More and Wild 2009 use 1e-3).
NOISE = 1e-3
Residuals = Callable[[np.ndarray], np.ndarray]


class Problem(NamedTuple):
    """Residuals and the usual start."""

    name: str
    residuals: Residuals
    start: np.ndarray

    @property
    def dims(self) -> int:
        return self.start.shape[0]


def rosenbrock(x: np.ndarray) -> np.ndarray:
    return np.concatenate((10.0 * (x[1::2] - x[::2] ** 2), 1.0 - x[::2]))


def chained_rosenbrock(x: np.ndarray) -> np.ndarray:
    return np.concatenate((10.0 * (x[1:] - x[:-1] ** 2), 1.0 - x[:-1]))


def beale(x: np.ndarray) -> np.ndarray:
    return np.array([1.5, 2.25, 2.625]) - x[0] * (1.0 - x[1] ** np.arange(1, 4))


def freudenstein_roth(x: np.ndarray) -> np.ndarray:
    a, b = x
    return np.array([a - 13.0 + ((5.0 - b) * b - 2.0) * b, a - 29.0 + ((b + 1.0) * b - 14.0) * b])


def jennrich_sampson(x: np.ndarray) -> np.ndarray:
    i = np.arange(1, 11)
    return (
        2.0 + 2.0 * i - (np.exp(np.clip(i * x[0], None, 50)) + np.exp(np.clip(i * x[1], None, 50)))
    )


def helical_valley(x: np.ndarray) -> np.ndarray:
    angle = np.arctan2(x[1], x[0]) / (2.0 * np.pi)
    return np.array([10.0 * (x[2] - 10.0 * angle), 10.0 * (np.hypot(x[0], x[1]) - 1.0), x[2]])


BARD = np.array(
    [.14, .18, .22, .25, .29, .32, .35, .39, .37, .58, .73, .96, 1.34, 2.1, 4.39]
)  # fmt: skip


def bard(x: np.ndarray) -> np.ndarray:
    u = np.arange(1.0, 16.0)
    v, w = 16.0 - u, np.minimum(u, 16.0 - u)
    return BARD - (x[0] + u / (v * x[1] + w * x[2]))


def box(x: np.ndarray) -> np.ndarray:
    t = 0.1 * np.arange(1, 11)
    e = np.exp(np.clip(-np.outer(x[:2], t), None, 50))
    return e[0] - e[1] - x[2] * (np.exp(-t) - np.exp(-10.0 * t))


def powell_singular(x: np.ndarray) -> np.ndarray:
    a, b, c, d = x[::4], x[1::4], x[2::4], x[3::4]
    return np.concatenate(
        (a + 10 * b, np.sqrt(5.0) * (c - d), (b - 2 * c) ** 2, np.sqrt(10.0) * (a - d) ** 2)
    )


def wood(x: np.ndarray) -> np.ndarray:
    a, b, c, d = x
    return np.array([
        10 * (b - a * a), 1 - a, np.sqrt(90.0) * (d - c * c), 1 - c, np.sqrt(10.0) * (b + d - 2),
        (b - d) / np.sqrt(10.0),
    ])  # fmt: skip


KOWALIK = np.array(
    [.1957, .1947, .1735, .16, .0844, .0627, .0456, .0342, .0323, .0235, .0246]
)  # fmt: skip
KOWALIK_U = np.array([4, 2, 1, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625])


def kowalik_osborne(x: np.ndarray) -> np.ndarray:
    u = KOWALIK_U
    return KOWALIK - x[0] * (u * u + u * x[1]) / (u * u + u * x[2] + x[3])


def brown_dennis(x: np.ndarray) -> np.ndarray:
    t = np.arange(1, 21) / 5.0
    return (x[0] + t * x[1] - np.exp(t)) ** 2 + (x[2] + x[3] * np.sin(t) - np.cos(t)) ** 2


def biggs(x: np.ndarray) -> np.ndarray:
    t = 0.1 * np.arange(1, 14)
    y = np.exp(-t) - 5 * np.exp(-10 * t) + 3 * np.exp(-4 * t)
    e = np.exp(np.clip(-np.outer(x[[0, 1, 4]], t), None, 50))
    return x[2] * e[0] - x[3] * e[1] + x[5] * e[2] - y


def watson(x: np.ndarray) -> np.ndarray:
    d = x.shape[0]
    t = np.arange(1, 30)[:, None] / 29.0
    j = np.arange(d)
    powers = t**j
    slopes = (j[1:] * x[1:] * t ** (j[1:] - 1)).sum(axis=1)
    return np.concatenate((slopes - (powers @ x) ** 2 - 1.0, [x[0], x[1] - x[0] ** 2 - 1.0]))


def penalty_one(x: np.ndarray) -> np.ndarray:
    return np.append(np.sqrt(1e-5) * (x - 1.0), x @ x - 0.25)


def variably_dimensioned(x: np.ndarray) -> np.ndarray:
    s = np.arange(1, x.shape[0] + 1) @ (x - 1.0)
    return np.concatenate((x - 1.0, [s, s * s]))


def trigonometric(x: np.ndarray) -> np.ndarray:
    d = x.shape[0]
    return d - np.cos(x).sum() + np.arange(1, d + 1) * (1.0 - np.cos(x)) - np.sin(x)


def brown_almost_linear(x: np.ndarray) -> np.ndarray:
    d = x.shape[0]
    return np.append(x[:-1] + x.sum() - (d + 1.0), np.prod(x) - 1.0)


def discrete_integral(x: np.ndarray) -> np.ndarray:
    d = x.shape[0]
    h = 1.0 / (d + 1)
    t = h * np.arange(1, d + 1)
    cubes = (x + t + 1.0) ** 3
    below = np.cumsum(t * cubes)
    above = np.cumsum(((1 - t) * cubes)[::-1])[::-1] - (1 - t) * cubes
    return x + 0.5 * h * ((1 - t) * below + t * above)


def broyden_tridiagonal(x: np.ndarray) -> np.ndarray:
    padded = np.concatenate(([0.0], x, [0.0]))
    return (3 - 2 * x) * x - padded[:-2] - 2 * padded[2:] + 1.0


def broyden_banded(x: np.ndarray) -> np.ndarray:
    d = x.shape[0]
    found = x * (2 + 5 * x * x) + 1.0
    for i in range(d):
        near = [j for j in range(max(0, i - 5), min(d, i + 2)) if j != i]
        found[i] -= (x[near] * (1 + x[near])).sum()
    return found


def dixon_price(x: np.ndarray) -> np.ndarray:
    roots = np.sqrt(np.arange(2.0, x.shape[0] + 1.0))
    return np.append(roots * (2 * x[1:] ** 2 - x[:-1]), x[0] - 1.0)


def zakharov(x: np.ndarray) -> np.ndarray:
    s = 0.5 * np.arange(1, x.shape[0] + 1) @ x
    return np.concatenate((x, [s, s * s]))


def full(value: float, d: int) -> np.ndarray:
    return np.full(d, value)


def boundary_start(d: int) -> np.ndarray:
    t = np.arange(1, d + 1) / (d + 1.0)
    return t * (t - 1.0)


PROBLEMS = (
    Problem("rosenbrock-2", rosenbrock, np.array([-1.2, 1.0])),
    Problem("beale-2", beale, np.array([1.0, 1.0])),
    Problem("freudenstein-roth-2", freudenstein_roth, np.array([0.5, -2.0])),
    Problem("jennrich-sampson-2", jennrich_sampson, np.array([0.3, 0.4])),
    Problem("helical-valley-3", helical_valley, np.array([-1.0, 0.0, 0.0])),
    Problem("bard-3", bard, full(1.0, 3)),
    Problem("box-3", box, np.array([0.0, 10.0, 20.0])),
    Problem("powell-singular-4", powell_singular, np.array([3.0, -1.0, 0.0, 1.0])),
    Problem("wood-4", wood, np.array([-3.0, -1.0, -3.0, -1.0])),
    Problem("kowalik-osborne-4", kowalik_osborne, np.array([0.25, 0.39, 0.415, 0.39])),
    Problem("brown-dennis-4", brown_dennis, np.array([25.0, 5.0, -5.0, -1.0])),
    Problem("biggs-6", biggs, np.array([1.0, 2.0, 1.0, 1.0, 1.0, 1.0])),
    Problem("watson-6", watson, np.zeros(6)),
    Problem("rosenbrock-8", rosenbrock, np.tile([-1.2, 1.0], 4)),
    Problem("powell-singular-8", powell_singular, np.tile([3.0, -1.0, 0.0, 1.0], 2)),
    Problem("brown-almost-linear-8", brown_almost_linear, full(0.5, 8)),
    Problem("trigonometric-8", trigonometric, full(1.0 / 8, 8)),
    Problem("variably-dimensioned-10", variably_dimensioned, 1.0 - np.arange(1, 11) / 10.0),
    Problem("penalty-one-10", penalty_one, np.arange(1.0, 11.0)),
    Problem("broyden-tridiagonal-10", broyden_tridiagonal, full(-1.0, 10)),
    Problem("zakharov-10", zakharov, full(0.5, 10)),
    Problem("discrete-integral-12", discrete_integral, boundary_start(12)),
    Problem("chained-rosenbrock-12", chained_rosenbrock, np.tile([-1.2, 1.0], 6)),
    Problem("dixon-price-15", dixon_price, full(1.0, 15)),
    Problem("broyden-banded-20", broyden_banded, full(-1.0, 20)),
)


def function(problem: Problem, form: str, seed: int = 0) -> Callable[[np.ndarray], float]:
    """The function of a problem: "smooth", "noisy" or "nonsmooth"."""
    rng = np.random.default_rng(seed)

    def smooth(x: np.ndarray) -> float:
        return float((problem.residuals(np.asarray(x, dtype=float)) ** 2).sum())

    def noisy(x: np.ndarray) -> float:
        return smooth(x) * (1.0 + NOISE * rng.normal())

    def nonsmooth(x: np.ndarray) -> float:
        return float(np.abs(problem.residuals(np.asarray(x, dtype=float))).sum())

    return {"smooth": smooth, "noisy": noisy, "nonsmooth": nonsmooth}[form]
