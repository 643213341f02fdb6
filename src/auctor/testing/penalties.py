"""Conformance of a penalty: proximal operator, violation, conjugate, separable form."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from auctor.core.protocols import Penalty
from auctor.core.types import FloatArray, SeparableSpec
from auctor.testing.suite import Suite, Untouched, expect, expect_close, when

#: Number of columns of the tests, and length of per-column parameters in ``examples()``.
N_COLUMNS = 4

#: Step sizes of the proximal operator: small, one, large.
STEPS = (0.05, 1.0, 20.0)


def _is_separable(suite: PenaltySuite) -> bool:
    return suite.penalty.separable(N_COLUMNS) is not None


def _has_conjugate(suite: PenaltySuite) -> bool:
    return math.isfinite(suite.penalty.conjugate(np.zeros(N_COLUMNS)))


class PenaltySuite(Suite):
    """Tests of the whole `Penalty` protocol, on one instance.

    Parameters
    ----------
    penalty : Penalty
        For `N_COLUMNS` columns if it has per-column parameters.
    seed : int
        Seed of the random weights.

    Examples
    --------
    >>> from auctor.penalties import L1
    >>> len(PenaltySuite(L1(0.3)).run()) > 10
    True
    """

    def __init__(self, penalty: Penalty, *, seed: int = 0) -> None:
        self.penalty, self.seed = penalty, seed

    def vectors(self, count: int = 12) -> Iterator[FloatArray]:
        """Random vectors of several sizes, with zeros and ties among their entries."""
        rng = np.random.default_rng(self.seed)
        yield np.zeros(N_COLUMNS)
        for k in range(count):
            v = rng.normal(size=N_COLUMNS) * 10.0 ** rng.uniform(-1.5, 1.0)
            if k % 4 == 1:
                v[rng.integers(N_COLUMNS)] = 0.0
            if k % 4 == 2:
                v[:2] = v[0]
            yield v

    def feasible(self) -> Iterator[FloatArray]:
        """Points of the domain, many of them at kinks and bounds."""
        for v in self.vectors():
            for step in STEPS:
                yield self.penalty.prox(v, step)

    # --- prox -------------------------------------------------------------------------------

    def _model(self, x: FloatArray, v: FloatArray, step: float) -> float:
        return self.penalty.value(x) + float((x - v) @ (x - v)) / (2.0 * step)

    def check_prox_is_the_minimiser(self) -> None:
        """No other point has a lower objective, near or far, along axes or other directions."""
        rng = np.random.default_rng(self.seed)
        for v in self.vectors():
            for step in STEPS:
                best = self.penalty.prox(v, step)
                low = self._model(best, v, step)
                expect(math.isfinite(low), "prox lies outside the domain")
                moves = np.concatenate((np.eye(N_COLUMNS), rng.normal(size=(4, N_COLUMNS))))
                points = [best + s * size * m for m in moves for s in (-1, 1) for size in _SIZES]
                for x in (*points, 0.0 * v, v):
                    other = self._model(x, v, step)
                    expect(other >= low - 1e-13 * (1.0 + abs(low)), f"prox({v}, {step}) not least")

    @when(_is_separable)
    def check_prox_by_golden_section(self) -> None:
        """In each coordinate it equals the result of a golden-section search."""
        for v in self.vectors(4):
            for step in STEPS:
                best = self.penalty.prox(v, step)
                for j in range(N_COLUMNS):
                    lowest = self._search(best, v, step, j)
                    scale = 1.0 + float(np.abs(v).max())
                    expect_close(lowest, best[j], f"prox coordinate {j}", rtol=1e-6, scale=scale)

    def _search(self, base: FloatArray, v: FloatArray, step: float, j: int) -> float:
        """Minimiser in coordinate j by golden section; infinite outside the domain."""

        def along(x: float) -> float:
            point = base.copy()
            point[j] = x
            return self._model(point, v, step)

        reach = 1.0 + 2.0 * float(np.abs(v).max()) + float(np.abs(base).max())
        low, high = base[j] - reach, base[j] + reach
        spec = self.penalty.separable(N_COLUMNS)
        assert spec is not None
        low, high = max(low, float(spec.lower[j])), min(high, float(spec.upper[j]))
        # The objective is convex along the coordinate, so that the bracket keeps the minimiser.
        ratio = (math.sqrt(5.0) - 1.0) / 2.0
        for _ in range(80):
            left, right = high - ratio * (high - low), low + ratio * (high - low)
            low, high = (low, right) if along(left) <= along(right) else (left, high)
        return float(0.5 * (low + high))

    def check_prox_is_firmly_non_expansive(self) -> None:
        """``|p - q|^2 <= (p - q).(x - y)``."""
        points = list(self.vectors())
        for x, y in pairwise(points):
            for step in STEPS:
                change = self.penalty.prox(x, step) - self.penalty.prox(y, step)
                bound = float(change @ (x - y))
                expect(float(change @ change) <= bound + 1e-12 * (1 + abs(bound)), "not firm")

    # --- violation --------------------------------------------------------------------------

    def check_violation_at_optimum(self) -> None:
        """The violation is zero if ``w = prox(w - grad)``."""
        for v in self.vectors():
            w = self.penalty.prox(v, 1.0)
            scale = 1.0 + float(np.abs(v).max())
            violation = self.penalty.violation(w, w - v)
            expect(violation.shape == w.shape, "violation has one entry per column")
            expect_close(violation, 0.0 * w, "violation at an optimum", rtol=1e-13, scale=scale)

    def check_violation_is_the_distance(self) -> None:
        """The violation is the limit of ``|w - prox(w - t grad, t)| / t`` for small t."""
        rng = np.random.default_rng(self.seed)
        for w in self.feasible():
            grad = rng.normal(size=N_COLUMNS) * 2.0
            violation = float(np.linalg.norm(self.penalty.violation(w, grad)))
            # A kink or bound within the step hides the limit; one of these steps is small enough.
            moved = [float(np.linalg.norm(self._residual(w, grad, t))) for t in (1e-4, 1e-6, 1e-8)]
            error = min(abs(violation - wanted) for wanted in moved)
            expect(
                error <= 1e-3 * (1 + violation),
                f"violation {violation:.6g}, not {moved[-1]:.6g}, {w}",
            )

    def _residual(self, w: FloatArray, grad: FloatArray, t: float) -> FloatArray:
        return (w - self.penalty.prox(w - t * grad, t)) / t

    def check_violation_sign(self) -> None:
        """The violation is never negative, and zero only at fixed points of a proximal step."""
        rng = np.random.default_rng(self.seed)
        for w in self.feasible():
            grad = rng.normal(size=N_COLUMNS)
            violation = self.penalty.violation(w, grad)
            residual = float(np.linalg.norm(self._residual(w, grad, 1.0)))
            expect((violation >= 0.0).all(), "a negative violation")
            bound = float(np.linalg.norm(violation))
            expect(residual <= bound + 1e-12 * (1 + bound), "no fixed point, yet no violation")

    # --- value and conjugate ----------------------------------------------------------------

    def check_convexity(self) -> None:
        """The value is below its chords."""
        points = list(self.feasible())
        for a, b in zip(points, reversed(points), strict=True):
            low, high = self.penalty.value(a), self.penalty.value(b)
            middle = self.penalty.value(0.5 * (a + b))
            expect(middle <= 0.5 * (low + high) + 1e-12 * (1 + low + high), "not convex")

    @when(_has_conjugate, evaluates=True)
    def check_fenchel(self) -> None:
        """``conjugate(v) >= v.w - value(w)``, with equality if v is a subgradient at w."""
        points = list(self.feasible())
        for x in self.vectors():
            w = self.penalty.prox(x, 1.0)
            v = x - w  # a subgradient at w, by the optimality of the proximal operator
            conjugate = self.penalty.conjugate(v)
            wanted = float(v @ w) - self.penalty.value(w)
            scale = 1.0 + float(np.abs(v) @ np.abs(w))
            expect_close(conjugate, wanted, "Fenchel-Young equality", rtol=1e-11, scale=scale)
            for dual in (v, x, -x):
                bound = max(float(dual @ p) - self.penalty.value(p) for p in points)
                conjugate_value = self.penalty.conjugate(dual)
                expect(conjugate_value >= bound - 1e-11 * (1 + abs(bound)), "conjugate too small")

    @when(_has_conjugate, evaluates=True)
    def check_dual_scale(self) -> None:
        """`dual_scale` is the largest feasible scale: the conjugate is infinite just beyond."""
        for v in self.vectors():
            scale = self.penalty.dual_scale(v)
            expect(0.0 <= scale <= 1.0, f"dual_scale {scale} outside [0, 1]")
            expect(math.isfinite(self.penalty.conjugate(scale * v)), "infinite at dual_scale")
            if scale < 1.0:
                beyond = min(1.0, scale * (1.0 + 1e-6) + 1e-9)
                expect(math.isinf(self.penalty.conjugate(beyond * v)), "dual_scale too small")

    # --- separable form ---------------------------------------------------------------------

    @when(_is_separable)
    def check_separable_spec(self) -> None:
        """The arrays of `separable` give the same value, infinite outside the bounds."""
        spec = self.penalty.separable(N_COLUMNS)
        assert spec is not None
        expect(all(a.shape == (N_COLUMNS,) for a in spec), "separable() needs (d,) arrays")
        expect((spec.l1 >= 0).all() and (spec.l2 >= 0).all(), "negative strengths")
        for w in (*self.vectors(), *self.feasible()):
            value, wanted = self.penalty.value(w), _spec_value(spec, w)
            expect(math.isinf(value) == math.isinf(wanted), f"wrong domain at {w}")
            if math.isfinite(wanted):
                expect_close(value, wanted, "value", rtol=1e-12, scale=1.0 + abs(wanted))

    def check_smooth_flag(self) -> None:
        """`smooth` means a quadratic given by ``separable().l2`` and nothing else."""
        spec = self.penalty.separable(N_COLUMNS)
        if self.penalty.smooth:
            expect(spec is not None, "smooth penalties need separable(), their ridge")
        if spec is None:
            return
        bounded = np.isfinite(spec.lower).any() or np.isfinite(spec.upper).any()
        plain = not spec.l1.any() and not bounded
        expect(plain == self.penalty.smooth, f"smooth={self.penalty.smooth} contradicts {spec}")

    # --- robustness -------------------------------------------------------------------------

    def check_inputs_untouched(self) -> None:
        """Inputs are not modified."""
        v = np.linspace(-2.0, 3.0, N_COLUMNS)
        with Untouched([v]):
            w = self.penalty.prox(v, 0.5)
            self.penalty.value(v)
            self.penalty.violation(w, v)
            self.penalty.conjugate(v)
            self.penalty.dual_scale(v)

    def check_copies(self) -> None:
        """A copy keeps the parameters."""
        v = np.linspace(-2.0, 3.0, N_COLUMNS)
        twin = copy.deepcopy(self.penalty)
        expect_close(twin.prox(v, 0.7), self.penalty.prox(v, 0.7), "a copy's prox", rtol=0.0)


#: Lengths of the moves away from a minimiser.
_SIZES = (1e-6, 1e-3, 0.1, 3.0)


def _spec_value(spec: SeparableSpec, w: FloatArray) -> float:
    if (w < spec.lower).any() or (w > spec.upper).any():
        return math.inf
    return float(spec.l1 @ np.abs(w) + 0.5 * spec.l2 @ (w * w))
