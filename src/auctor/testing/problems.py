"""Small problems with a known optimum, found by methods that share no code with the library.

Losses are implemented independently in numpy (`auctor.testing.plain`), minimisers come from closed
forms and from scipy (`auctor.testing.minimisers`). The optimum is the plain objective at that
minimiser, so that it can only be too high, by the error of the minimiser.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache

import numpy as np

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
from auctor.testing.minimisers import (
    bounded_minimiser,
    break_even_minimiser,
    hinge_minimiser,
    quantile_minimiser,
    smooth_minimiser,
    support_minimiser,
)
from auctor.testing.plain import (
    PLAIN_LOGISTIC,
    PLAIN_PAIRWISE_SQUARE,
    PLAIN_POISSON,
    PLAIN_SQUARED,
    PLAIN_SQUARED_HINGE,
    Plain,
    by_pair,
    by_row,
    distance,
    huber_hinge,
    plain_break_even,
    plain_expected_auc,
    plain_expected_error,
    plain_huber,
    plain_margin,
    plain_quantile,
    sign_of_residual,
)


@dataclass(frozen=True)
class Reference:
    """A problem with its minimiser.

    Attributes
    ----------
    name : str
    loss, penalty
        Parts of the library.
    X : (n, d) array
    target : Target
    fit_intercept : bool
    plain : callable
        The same loss in plain numpy.
    w : array
        A minimiser, followed by the intercept if there is one.
    norm : callable, optional
        The penalty in plain numpy, if it is not separable.
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
        """A new problem, on other data or with another loss if given."""
        return Problem(
            self.loss if loss is None else loss,
            self.penalty,
            Dense(self.X, self.target, n_threads=1) if data is None else data,
            fit_intercept=self.fit_intercept,
        )

    def objective(self, coef: FloatArray, intercept: float = 0.0) -> float:
        """The objective, computed in plain numpy."""
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


@dataclass(frozen=True)
class _Sample:
    X: FloatArray
    label: FloatArray
    real: FloatArray
    count: FloatArray
    weight: FloatArray


@cache
def _sample(n: int = 36, d: int = 4) -> _Sample:
    """Random rows with labels, real targets, counts and weights."""
    rng = np.random.default_rng(7)
    # Columns of different scales, two of them correlated, and a signal with noise.
    X = rng.normal(size=(n, d)) * np.array([1.0, 0.5, 2.0, 1.0])
    X[:, 3] += 0.5 * X[:, 0]
    signal = X @ np.array([1.0, -1.0, 0.2, 0.0])
    noise = rng.normal(size=n)
    label = np.where(signal + noise - 0.5 > 0, 1.0, -1.0)
    count = rng.poisson(np.exp(0.4 * signal)).astype(float)
    return _Sample(X, label, signal + noise + 1.5, count, rng.uniform(0.3, 2.0, size=n))


def _smooth_references() -> Iterator[Reference]:
    """Smooth losses with separable penalties, solved by L-BFGS-B."""
    s = _sample()
    labels, weighted = Target(s.label), Target(s.label, s.weight)
    real, counts = Target(s.real, s.weight), Target(s.count)
    # Name, loss, penalty, target, whether there is an intercept, and the loss in plain numpy.
    rows: list[tuple[str, Loss, Penalty, Target, bool, Plain]] = [
        ("ridge", Squared(), L2(0.3), real, True, PLAIN_SQUARED),
        ("least-squares", Squared(), NoPenalty(), real, True, PLAIN_SQUARED),
        ("lasso", Squared(), L1(0.1), real, True, PLAIN_SQUARED),
        ("logistic-l2", Logistic(), L2(0.05), labels, True, PLAIN_LOGISTIC),
        ("logistic-l2-plain", Logistic(), L2(0.2), weighted, False, PLAIN_LOGISTIC),
        ("logistic-l1", Logistic(), L1(0.05), weighted, True, PLAIN_LOGISTIC),
        ("logistic-positive", Logistic(), NonNegative(), weighted, True, PLAIN_LOGISTIC),
        ("squared-hinge-l2", SquaredHinge(), L2(0.1), labels, True, PLAIN_SQUARED_HINGE),
        ("smoothed-hinge-l2", SmoothedHinge(0.4), L2(0.1), weighted, True, plain_margin(0.4)),
        ("huber-elastic-net", Huber(0.7), ElasticNet(0.1, 0.6), real, True, plain_huber(0.7)),
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
        ("box", Logistic(), Sum(L2(0.02), Box(-0.3, 0.4)), labels, True, PLAIN_LOGISTIC),
    ]
    # A shift-invariant loss has no intercept to find, even with ``fit_intercept``.
    for name, loss, penalty, target, fit_intercept, plain in rows:
        inside = fit_intercept and not loss.shift_invariant
        w = smooth_minimiser(plain, _spec(penalty, s.X.shape[1]), s.X, target, inside)
        yield Reference(name, loss, penalty, s.X, target, fit_intercept, plain, w)


def _closed_references() -> Iterator[Reference]:
    """Orthonormal columns: the minimiser is the clipped soft threshold of ``X.T @ y / n``."""
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
    """Non-smooth losses, solved by the dual of the hinge and by linear programs."""
    s = _sample()
    X, labels, weighted = s.X, Target(s.label), Target(s.label, s.weight)
    real, strength = Target(s.real, s.weight), 0.1
    share = s.weight / s.weight.sum()
    w = hinge_minimiser(s.label[:, None] * X, share, strength)
    yield Reference("hinge-l2", Hinge(), L2(strength), X, weighted, False, plain_margin(0.0), w)

    # The pairwise hinge is a hinge on all differences of a positive and a negative row.
    up, down = X[s.label > 0], X[s.label < 0]
    differences = (up[:, None, :] - down[None, :, :]).reshape(-1, X.shape[1])
    even = np.full(differences.shape[0], 1.0 / differences.shape[0])
    w = hinge_minimiser(differences, even, strength)
    plain = by_pair(*huber_hinge(0.0))
    yield Reference("pairwise-hinge-l2", PairwiseHinge(), L2(strength), X, labels, True, plain, w)

    w = break_even_minimiser(X, s.label, strength)
    yield Reference("break-even-l2", Prbep(), L2(strength), X, labels, True, plain_break_even, w)

    for name, loss, tau, scale in (
        ("quantile-l1", Quantile(0.3), 0.3, 1.0),
        ("absolute-l1", Absolute(), 0.5, 2.0),
    ):
        l1 = np.full(X.shape[1], 0.05)
        w = quantile_minimiser(X, real, tau, scale, l1)
        plain = plain_quantile(tau) if scale == 1.0 else by_row(distance, sign_of_residual)
        yield Reference(name, loss, L1(0.05), X, real, True, plain, w)


def _group_references() -> Iterator[Reference]:
    """Group lasso on pairs of columns: a closed form, and solves on the known support."""
    s = _sample()
    n = s.X.shape[0]
    X = np.ascontiguousarray(np.linalg.qr(s.X)[0]) * np.sqrt(n)
    # Each pair of weights is its least-squares solution, shortened by 0.3, or zero.
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
        w = support_minimiser(plain, levels, support, s.X, target)
        norm = _pair_norm(levels)
        yield Reference(name, loss, penalty, s.X, target, True, plain, w, norm)


def _gaussian_references() -> Iterator[Reference]:
    """Non-convex losses of Gaussian scores: the best of 20 descents from random starts."""
    s = _sample()
    target, d, rng = Target(s.label, s.weight), s.X.shape[1], np.random.default_rng(1)
    for name, loss, plain in (
        ("expected-auc", ExpectedAuc(), plain_expected_auc),
        ("expected-error", ExpectedError(), plain_expected_error),
    ):
        free = not loss.shift_invariant

        def objective(
            x: FloatArray, plain: Plain = plain, free: bool = free
        ) -> tuple[float, FloatArray]:
            value, slope = plain(s.X @ x[:d] + (x[d] if free else 0.0), target)
            pulled = s.X.T @ slope
            return value, np.append(pulled, slope.sum()) if free else pulled

        starts = rng.normal(size=(20, d + free))
        ends = [bounded_minimiser(objective, x, [(None, None)] * x.size) for x in starts]
        w = ends[int(np.argmin([objective(x)[0] for x in ends]))]
        yield Reference(name, loss, NoPenalty(), s.X, target, True, plain, w)


def _pair_norm(levels: FloatArray) -> Callable[[FloatArray], float]:
    return lambda w: float(levels @ np.hypot(w[::2], w[1::2]))


@cache
def references() -> tuple[Reference, ...]:
    """All reference problems.

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
