"""Small problems with a known optimum, found by methods that share no code with the library.

Losses are written again in plain numpy (pairs as a full matrix). Minimisers come from closed forms,
from linear programs, from box-constrained duals, or from scipy's L-BFGS-B on split variables. The
optimum is the plain objective at that minimiser, so it can only be too high, by rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import linprog, minimize
from scipy.special import expit
from scipy.stats import norm as normal

from auctor.core.protocols import Data, Loss, Penalty
from auctor.core.types import FloatArray, SeparableSpec, Target
from auctor.data import Dense
from auctor.losses import (
    Absolute,
    ExpectedAuc,
    ExpectedError,
    Hinge,
    Huber,
    Logistic,
    PairwiseHinge,
    PairwiseSquare,
    Poisson,
    Prbep,
    Quantile,
    SmoothedHinge,
    Squared,
    SquaredHinge,
)
from auctor.penalties import L1, L2, Box, ElasticNet, GroupL2, NonNegative, NoPenalty, Sum
from auctor.problem import Problem

#: Value and gradient in the scores of a loss written in plain numpy.
Plain = Callable[[FloatArray, Target], tuple[float, FloatArray]]


@dataclass(frozen=True)
class Reference:
    """A problem with its minimiser.

    Attributes
    ----------
    name : str
    loss, penalty
        The library's parts.
    X : (n, d) array
    target : Target
    fit_intercept : bool
    plain : callable
        The same loss in plain numpy.
    w : array
        A minimiser, followed by the intercept where there is one.
    norm : callable, optional
        The penalty in plain numpy, where it does not separate over coordinates.
    """

    name: str
    loss: Loss
    penalty: Penalty
    X: FloatArray = field(repr=False)
    target: Target = field(repr=False)
    fit_intercept: bool
    plain: Plain = field(repr=False)
    w: FloatArray = field(repr=False)
    norm: Callable[[FloatArray], float] | None = field(default=None, repr=False)

    def problem(self, data: Data | None = None, *, loss: Loss | None = None) -> Problem:
        """A fresh problem, on other data or with another loss if given."""
        return Problem(
            self.loss if loss is None else loss,
            self.penalty,
            Dense(self.X, self.target, n_threads=1) if data is None else data,
            fit_intercept=self.fit_intercept,
        )

    def objective(self, coef: FloatArray, intercept: float = 0.0) -> float:
        """J, recomputed in plain numpy."""
        if self.norm is not None:
            return self.plain(self.X @ coef + intercept, self.target)[0] + self.norm(coef)
        spec = _spec(self.penalty, self.X.shape[1])
        if (coef < spec.lower).any() or (coef > spec.upper).any():
            return float("inf")
        loss = self.plain(self.X @ coef + intercept, self.target)[0]
        return loss + float(spec.l1 @ np.abs(coef) + 0.5 * spec.l2 @ (coef * coef))

    @property
    def optimum(self) -> float:
        """Objective at the minimiser."""
        d = self.X.shape[1]
        return self.objective(self.w[:d], float(self.w[d]) if self.w.size > d else 0.0)


def _spec(penalty: Penalty, d: int) -> SeparableSpec:
    spec = penalty.separable(d)
    assert spec is not None
    return spec


# --- losses in plain numpy ------------------------------------------------------------------


def by_row(
    value: Callable[[FloatArray, FloatArray], FloatArray],
    slope: Callable[[FloatArray, FloatArray], FloatArray],
) -> Plain:
    """Weighted mean of ``value(s, y)`` with derivative ``slope(s, y)`` in s."""

    def plain(s: FloatArray, target: Target) -> tuple[float, FloatArray]:
        weight = np.ones_like(s) if target.weight is None else target.weight
        share = weight / weight.sum()
        return float(share @ value(s, target.y)), share * slope(s, target.y)

    return plain


def by_pair(
    value: Callable[[FloatArray], FloatArray], slope: Callable[[FloatArray], FloatArray]
) -> Plain:
    """Weighted mean over (positive, negative) pairs of ``value(1 - s_i + s_j)``."""

    def plain(s: FloatArray, target: Target) -> tuple[float, FloatArray]:
        weight = np.ones_like(s) if target.weight is None else target.weight
        p, q = weight * (target.y > 0), weight * (target.y < 0)
        pairs = np.outer(p / p.sum(), q / q.sum())
        z = 1.0 - s[:, None] + s[None, :]
        force = pairs * slope(z)
        return float((pairs * value(z)).sum()), force.sum(axis=0) - force.sum(axis=1)

    return plain


def huber_hinge(width: float) -> tuple[Callable[[FloatArray], FloatArray], ...]:
    """Value and slope of the hinge of z, smoothed over ``width``."""

    def value(z: FloatArray) -> FloatArray:
        bent = z * z / (2.0 * width) if width > 0.0 else z
        return np.where(z <= 0.0, 0.0, np.where(z < width, bent, z - 0.5 * width))

    def slope(z: FloatArray) -> FloatArray:
        return np.clip(z / width, 0.0, 1.0) if width > 0.0 else (z > 0.0).astype(float)

    return value, slope


def _margin(width: float) -> Plain:
    value, slope = huber_hinge(width)
    return by_row(lambda s, y: value(1.0 - y * s), lambda s, y: -y * slope(1.0 - y * s))


PLAIN_SQUARED = by_row(lambda s, y: 0.5 * (s - y) ** 2, lambda s, y: s - y)
PLAIN_LOGISTIC = by_row(lambda s, y: np.logaddexp(0.0, -y * s), lambda s, y: -y * expit(-y * s))
PLAIN_SQUARED_HINGE = by_row(
    lambda s, y: 0.5 * np.maximum(0.0, 1.0 - y * s) ** 2,
    lambda s, y: -y * np.maximum(0.0, 1.0 - y * s),
)
PLAIN_POISSON = by_row(lambda s, y: np.exp(s) - y * s, lambda s, y: np.exp(s) - y)
PLAIN_PAIRWISE_SQUARE = by_pair(np.square, lambda z: 2.0 * z)


def _class_moments(s: FloatArray, target: Target) -> Iterator[tuple[float, FloatArray, float, Any]]:
    """Weight, shares, mean and variance of the scores of each class, the positive one first."""
    weight = np.ones_like(s) if target.weight is None else target.weight
    for label in (1.0, -1.0):
        own = weight * (target.y == label)
        share = own / own.sum()
        mean = float(share @ s)
        yield float(own.sum() / weight.sum()), share, mean, share @ (s - mean) ** 2


def _plain_expected_auc(s: FloatArray, target: Target) -> tuple[float, FloatArray]:
    (_, p, up, v_up), (_, q, down, v_down) = _class_moments(s, target)
    sd = np.sqrt(v_up + v_down)
    ratio = (down - up) / sd
    bend = p * (s - up) + q * (s - down)
    slope = (q - p) / sd - ratio / sd**2 * bend
    return float(normal.cdf(ratio)), normal.pdf(ratio) * slope


def _plain_expected_error(s: FloatArray, target: Target) -> tuple[float, FloatArray]:
    value, slope = 0.0, np.zeros_like(s)
    for sign, (prior, share, mean, v) in zip((-1, 1), _class_moments(s, target), strict=True):
        ratio = sign * mean / np.sqrt(v)
        value += prior * float(normal.cdf(ratio))
        bend = share * sign / np.sqrt(v) - ratio / v * share * (s - mean)
        slope += prior * normal.pdf(ratio) * bend
    return value, slope


def _plain_huber(delta: float) -> Plain:
    def value(s: FloatArray, y: FloatArray) -> FloatArray:
        r = np.abs(s - y)
        return np.where(r <= delta, 0.5 * r * r, delta * (r - 0.5 * delta))

    return by_row(value, lambda s, y: np.clip(s - y, -delta, delta))


def _plain_quantile(tau: float) -> Plain:
    return by_row(
        lambda s, y: np.maximum(tau * (y - s), (1.0 - tau) * (s - y)),
        lambda s, y: np.where(s > y, 1.0 - tau, -tau),
    )


# --- independent minimisers -----------------------------------------------------------------


def _bounded_minimiser(function: Any, x: FloatArray, bounds: list[Any]) -> FloatArray:
    """L-BFGS-B from ``x`` to the last digit."""
    options: Any = {"maxiter": 20000, "maxfun": 100000, "ftol": 0.0, "gtol": 1e-14, "maxcor": 50}
    found = minimize(function, x, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    out: FloatArray = found.x
    return out


def smooth_minimiser(
    plain: Plain, spec: SeparableSpec, X: FloatArray, target: Target, fit_intercept: bool
) -> FloatArray:
    """Minimiser by L-BFGS-B with ``w = u - v``, ``u, v >= 0`` inside the box."""
    d = X.shape[1]

    def objective(x: FloatArray) -> tuple[float, FloatArray]:
        w, b = x[:d] - x[d : 2 * d], x[2 * d]
        loss, dscores = plain(X @ w + b, target)
        slope = X.T @ dscores + spec.l2 * w
        value = loss + float(spec.l1 @ (x[:d] + x[d : 2 * d]) + 0.5 * spec.l2 @ (w * w))
        return value, np.concatenate(
            (slope + spec.l1, spec.l1 - slope, [dscores.sum() if fit_intercept else 0.0])
        )

    high, low = np.maximum(spec.upper, 0.0), np.maximum(-spec.lower, 0.0)
    bounds = [(0.0, u) for u in (*high, *low)] + [(None, None)]
    x = np.zeros(2 * d + 1)
    for _ in range(4):  # a restart drops a spoilt memory
        x = _bounded_minimiser(objective, x, bounds)
    w: FloatArray = x[:d] - x[d : 2 * d]
    return np.append(w, x[2 * d]) if fit_intercept else w


def hinge_minimiser(A: FloatArray, share: FloatArray, strength: float) -> FloatArray:
    """Minimiser of ``share @ max(0, 1 - A w) + strength/2 |w|^2`` by its box-constrained dual."""

    def dual(a: FloatArray) -> tuple[float, FloatArray]:
        w = A.T @ a / strength
        return 0.5 * strength * float(w @ w) - float(a.sum()), A @ w - 1.0

    a = np.zeros(A.shape[0])
    bounds = [(0.0, s) for s in share]
    for _ in range(6):
        a = _bounded_minimiser(dual, a, bounds)
    w: FloatArray = A.T @ a / strength
    return w


def break_even_minimiser(X: FloatArray, y: FloatArray, strength: float) -> FloatArray:
    """Minimiser of the max-margin loss of the break-even point, by its dual.

    The dual variables are the shares of the rows that the worst labelling flips, of as many
    positives as negatives.
    """
    n, gain = y.size, (y > 0.0) / np.count_nonzero(y > 0.0)
    pull = 2.0 / (n * strength) * y[:, None] * X

    def dual(flips: FloatArray) -> tuple[float, FloatArray]:
        w = pull.T @ flips
        return 0.5 * strength * float(w @ w) - float(gain @ flips), strength * pull @ w - gain

    options: Any = {
        "method": "SLSQP",
        "bounds": [(0.0, 1.0)] * n,
        "constraints": {"type": "eq", "fun": lambda flips: y @ flips, "jac": lambda flips: y},
        "options": {"ftol": 1e-15, "maxiter": 1000},
    }
    found = minimize(dual, np.zeros(n), jac=True, **options)
    w: FloatArray = pull.T @ found.x
    return w


def quantile_minimiser(
    X: FloatArray, target: Target, tau: float, scale: float, l1: FloatArray
) -> FloatArray:
    """Minimiser of ``scale * quantile loss + l1 . |w|`` with intercept, a linear program."""
    n, d = X.shape
    weight = np.ones(n) if target.weight is None else target.weight
    share = scale * weight / weight.sum()
    cost = np.concatenate((l1, l1, [0.0, 0.0], tau * share, (1.0 - tau) * share))
    one = np.ones((n, 1))
    system = np.hstack((X, -X, one, -one, np.eye(n), -np.eye(n)))
    x: Any = linprog(cost, A_eq=system, b_eq=target.y, method="highs").x
    w: FloatArray = np.append(x[:d] - x[d : 2 * d], x[2 * d] - x[2 * d + 1])
    return w


# --- the list -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sample:
    X: FloatArray
    label: FloatArray
    real: FloatArray
    count: FloatArray
    weight: FloatArray


@cache
def _sample(n: int = 36, d: int = 4) -> _Sample:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, d)) * np.array([1.0, 0.5, 2.0, 1.0])
    X[:, 3] += 0.5 * X[:, 0]
    signal = X @ np.array([1.0, -1.0, 0.2, 0.0])
    noise = rng.normal(size=n)
    label = np.where(signal + noise - 0.5 > 0, 1.0, -1.0)
    count = rng.poisson(np.exp(0.4 * signal)).astype(float)
    return _Sample(X, label, signal + noise + 1.5, count, rng.uniform(0.3, 2.0, size=n))


def _smooth_references() -> Iterator[Reference]:
    s = _sample()
    labels, weighted = Target(s.label), Target(s.label, s.weight)
    real, counts = Target(s.real, s.weight), Target(s.count)
    rows: list[tuple[str, Loss, Penalty, Target, bool, Plain]] = [
        ("ridge", Squared(), L2(0.3), real, True, PLAIN_SQUARED),
        ("least-squares", Squared(), NoPenalty(), real, True, PLAIN_SQUARED),
        ("lasso", Squared(), L1(0.1), real, True, PLAIN_SQUARED),
        ("logistic-l2", Logistic(), L2(0.05), labels, True, PLAIN_LOGISTIC),
        ("logistic-l2-plain", Logistic(), L2(0.2), weighted, False, PLAIN_LOGISTIC),
        ("logistic-l1", Logistic(), L1(0.05), weighted, True, PLAIN_LOGISTIC),
        ("logistic-positive", Logistic(), NonNegative(), weighted, True, PLAIN_LOGISTIC),
        ("squared-hinge-l2", SquaredHinge(), L2(0.1), labels, True, PLAIN_SQUARED_HINGE),
        ("smoothed-hinge-l2", SmoothedHinge(0.4), L2(0.1), weighted, True, _margin(0.4)),
        ("huber-elastic-net", Huber(0.7), ElasticNet(0.1, 0.6), real, True, _plain_huber(0.7)),
        ("poisson-l2", Poisson(), L2(0.1), counts, True, PLAIN_POISSON),
        ("pairwise-square", PairwiseSquare(), L2(0.1), weighted, True, PLAIN_PAIRWISE_SQUARE),
        ("pairwise-square-l1", PairwiseSquare(), L1(0.2), labels, True, PLAIN_PAIRWISE_SQUARE),
        (
            "pairwise-smoothed-hinge",
            PairwiseHinge(0.5),
            L2(0.1),
            weighted,
            True,
            by_pair(*huber_hinge(0.5)),
        ),
        (
            "box",
            Logistic(),
            Sum(L2(0.02), Box(-0.3, 0.4)),
            labels,
            True,
            PLAIN_LOGISTIC,
        ),
    ]
    for name, loss, penalty, target, fit_intercept, plain in rows:
        inside = fit_intercept and not loss.shift_invariant
        w = smooth_minimiser(plain, _spec(penalty, s.X.shape[1]), s.X, target, inside)
        yield Reference(name, loss, penalty, s.X, target, fit_intercept, plain, w)


def _closed_references() -> Iterator[Reference]:
    """Orthonormal columns: the minimiser is a soft threshold of ``X.T @ y / n``, clipped."""
    s = _sample()
    n = s.X.shape[0]
    X = np.ascontiguousarray(np.linalg.qr(s.X)[0]) * np.sqrt(n)
    pull = X.T @ s.real / n
    soft = np.sign(pull) * np.maximum(np.abs(pull) - 0.1, 0.0)
    net = Sum(ElasticNet(0.2, 0.5), Box(-0.2, 0.6))
    clipped = np.clip(soft / 1.1, -0.2, 0.6)
    target = Target(s.real)
    yield Reference("lasso-orthogonal", Squared(), L1(0.1), X, target, False, PLAIN_SQUARED, soft)
    yield Reference("net-in-a-box", Squared(), net, X, target, False, PLAIN_SQUARED, clipped)


def _kinked_references() -> Iterator[Reference]:
    """Non-smooth losses: by the dual of the hinge, and by linear programs."""
    s = _sample()
    X, labels, weighted = s.X, Target(s.label), Target(s.label, s.weight)
    real, strength = Target(s.real, s.weight), 0.1
    share = s.weight / s.weight.sum()
    w = hinge_minimiser(s.label[:, None] * X, share, strength)
    yield Reference("hinge-l2", Hinge(), L2(strength), X, weighted, False, _margin(0.0), w)

    up, down = X[s.label > 0], X[s.label < 0]
    differences = (up[:, None, :] - down[None, :, :]).reshape(-1, X.shape[1])
    even = np.full(differences.shape[0], 1.0 / differences.shape[0])
    w = hinge_minimiser(differences, even, strength)
    plain = by_pair(*huber_hinge(0.0))
    yield Reference("pairwise-hinge-l2", PairwiseHinge(), L2(strength), X, labels, True, plain, w)

    w = break_even_minimiser(X, s.label, strength)
    yield Reference("break-even-l2", Prbep(), L2(strength), X, labels, True, _plain_break_even, w)

    for name, loss, tau, scale in (
        ("quantile-l1", Quantile(0.3), 0.3, 1.0),
        ("absolute-l1", Absolute(), 0.5, 2.0),
    ):
        l1 = np.full(X.shape[1], 0.05)
        w = quantile_minimiser(X, real, tau, scale, l1)
        plain = _plain_quantile(tau) if scale == 1.0 else by_row(_distance, _sign)
        yield Reference(name, loss, L1(0.05), X, real, True, plain, w)


def _group_references() -> Iterator[Reference]:
    """Pairs of columns: a closed form, and problems on the columns known to be in the support."""
    s = _sample()
    n = s.X.shape[0]
    X = np.ascontiguousarray(np.linalg.qr(s.X)[0]) * np.sqrt(n)
    pull = X.T @ s.real / n
    lengths = np.repeat(np.hypot(pull[::2], pull[1::2]), 2)
    shrunk = pull * np.maximum(1.0 - 0.3 / lengths, 0.0)
    penalty, norm = GroupL2(0.3, 2, weights=[1.0, 1.0]), _pair_norm(np.full(2, 0.3))
    target = Target(s.real)
    yield Reference(
        "group-orthogonal", Squared(), penalty, X, target, False, PLAIN_SQUARED, shrunk, norm
    )
    labels, real = Target(s.label, s.weight), Target(s.real, s.weight)
    rows: list[tuple[str, Loss, float, int, Target, Plain]] = [
        ("group-lasso", Squared(), 0.05, 4, real, PLAIN_SQUARED),
        ("group-logistic", Logistic(), 0.03, 4, labels, PLAIN_LOGISTIC),
        ("group-logistic-sparse", Logistic(), 0.1, 2, labels, PLAIN_LOGISTIC),
        ("group-squared-hinge", SquaredHinge(), 0.05, 4, labels, PLAIN_SQUARED_HINGE),
    ]
    for name, loss, strength, support, target, plain in rows:
        penalty = GroupL2(strength, [[0, 1], [2, 3]], weights=[1, 5])
        levels = strength * np.array([1.0, 5.0])
        w = _support_minimiser(plain, levels, support, s.X, target)
        norm = _pair_norm(levels)
        yield Reference(name, loss, penalty, s.X, target, True, plain, w, norm)


def _gaussian_references() -> Iterator[Reference]:
    """Losses of Gaussian scores: the best of many descents from random starts."""
    s = _sample()
    target, d, rng = Target(s.label, s.weight), s.X.shape[1], np.random.default_rng(1)
    for name, loss, plain in (
        ("expected-auc", ExpectedAuc(), _plain_expected_auc),
        ("expected-error", ExpectedError(), _plain_expected_error),
    ):
        free = not loss.shift_invariant

        def objective(
            x: FloatArray, plain: Plain = plain, free: bool = free
        ) -> tuple[float, FloatArray]:
            value, slope = plain(s.X @ x[:d] + (x[d] if free else 0.0), target)
            pulled = s.X.T @ slope
            return value, np.append(pulled, slope.sum()) if free else pulled

        starts = rng.normal(size=(20, d + free))
        ends = [_bounded_minimiser(objective, x, [(None, None)] * x.size) for x in starts]
        w = ends[int(np.argmin([objective(x)[0] for x in ends]))]
        yield Reference(name, loss, NoPenalty(), s.X, target, True, plain, w)


def _pair_norm(levels: FloatArray) -> Callable[[FloatArray], float]:
    return lambda w: float(levels @ np.hypot(w[::2], w[1::2]))


def _support_minimiser(
    plain: Plain, levels: FloatArray, support: int, X: FloatArray, target: Target
) -> FloatArray:
    """Group lasso on pairs whose first ``support`` columns are not zero, so J is smooth there."""
    d = X.shape[1]

    def objective(x: FloatArray) -> tuple[float, FloatArray]:
        w = np.append(x[:support], np.zeros(d - support))
        loss, dscores = plain(X @ w + x[support], target)
        lengths, own = np.hypot(x[:support:2], x[1:support:2]), levels[: support // 2]
        slope = X[:, :support].T @ dscores + np.repeat(own / lengths, 2) * x[:support]
        return loss + float(own @ lengths), np.append(slope, dscores.sum())

    x = np.append(np.full(support, 0.1), 0.0)
    for _ in range(4):
        x = _bounded_minimiser(objective, x, [(None, None)] * x.size)
    w = np.concatenate((x[:support], np.zeros(d - support), x[support:]))
    out = X.T @ plain(X @ w[:d] + w[d], target)[1]
    lengths = np.hypot(out[support::2], out[support + 1 :: 2])
    assert (lengths < levels[support // 2 :]).all(), "the columns left out belong to the support"
    return w


def _plain_break_even(s: FloatArray, target: Target) -> tuple[float, FloatArray]:
    """Flip the lowest positive and the highest negative while that pays; without weights."""
    up, down = np.flatnonzero(target.y > 0), np.flatnonzero(target.y < 0)
    low, high = up[np.argsort(s[up])], down[np.argsort(-s[down])]
    pairs = min(low.size, high.size)
    gains = 1.0 / up.size + 2.0 / s.size * (s[high[:pairs]] - s[low[:pairs]])
    flipped = int((gains > 0.0).sum())
    slope = np.zeros_like(s)
    slope[low[:flipped]] = -2.0 / s.size
    slope[high[:flipped]] = 2.0 / s.size
    return float(gains[:flipped].sum()), slope


def _distance(s: FloatArray, y: FloatArray) -> FloatArray:
    return np.abs(s - y)


def _sign(s: FloatArray, y: FloatArray) -> FloatArray:
    return np.sign(s - y)


@cache
def references() -> tuple[Reference, ...]:
    """Every reference problem.

    Examples
    --------
    >>> by_name = {reference.name: reference for reference in references()}
    >>> round(by_name["ridge"].optimum, 4) > 0
    True
    """
    return (
        *_closed_references(),
        *_smooth_references(),
        *_group_references(),
        *_kinked_references(),
        *_gaussian_references(),
    )
