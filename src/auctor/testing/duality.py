"""Conformance of a loss: convexity, conjugate and smoothing."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from auctor.core.protocols import Coupling, Loss
from auctor.core.types import FloatArray, Target
from auctor.testing.cases import N_ROWS, Case, generic_cases, kinked_scores
from auctor.testing.suite import Suite, expect, expect_close, when


def _has_conjugate(suite: DualitySuite) -> bool:
    case = next(suite.cases())
    return suite.loss.conjugate(np.zeros(N_ROWS), case.target) is not None


class DualitySuite(Suite):
    """The properties of a loss that certified gaps depend on; part of `LossSuite`.

    Parameters
    ----------
    seed : int
        Seed of the random scores and targets.
    """

    def __init__(self, loss: Loss, *, seed: int = 0) -> None:
        self.loss, self.seed = loss, seed

    def rng(self) -> np.random.Generator:
        """A new generator, so that checks do not depend on each other."""
        return np.random.default_rng(self.seed)

    def cases(self) -> Iterator[Case]:
        """Scores and targets away from kinks, with and without weights."""
        return generic_cases(self.loss, self.rng())

    # --- convexity and conjugate ------------------------------------------------------------

    @when(lambda suite: suite.loss.convex)
    def check_convexity(self) -> None:
        """The value is below its chords and above the tangent planes of `value_grad`."""
        rng = self.rng()
        for case in self.cases():
            starts = [case.scores, *kinked_scores(case.target.y, rng)]
            for a in starts:
                # Segments of lengths from 0.01 to 10, many of which cross kinks.
                b = a + rng.normal(size=N_ROWS) * 10.0 ** rng.uniform(-2, 1)
                low, high = (self.loss.value(s, case.target) for s in (a, b))
                slack = 1e-12 * (1.0 + abs(low) + abs(high))
                for t in (0.1, 0.5, 0.8):
                    middle = self.loss.value((1 - t) * a + t * b, case.target)
                    expect(middle <= (1 - t) * low + t * high + slack, "not convex on a segment")
                if self.loss.order >= 1:
                    plane = low + float(self.loss.value_grad(a, case.target)[1] @ (b - a))
                    expect(high >= plane - slack, f"no subgradient: {high:.6g} below {plane:.6g}")

    def check_infimum(self) -> None:
        """`infimum` is a lower bound."""
        rng = self.rng()
        for case in self.cases():
            bound = self.loss.infimum(case.target)
            for scores in (case.scores, *kinked_scores(case.target.y, rng)):
                value = self.loss.value(scores, case.target)
                expect(value >= bound - 1e-12 * (1.0 + abs(bound)), "value below the infimum")

    @when(_has_conjugate, evaluates=True)
    def check_fenchel_young(self) -> None:
        """``conjugate(u) = u.s - value(s)`` if u is the gradient at s."""
        for case in self.cases():
            value, grad = self.loss.value_grad(case.scores, case.target)
            wanted = float(grad @ case.scores) - value
            scale = 1.0 + abs(value) + float(np.abs(grad) @ np.abs(case.scores))
            expect_close(
                self._conjugate(grad, case.target),
                wanted,
                f"Fenchel-Young equality ({case.name})",
                scale=scale,
            )

    @when(_has_conjugate, evaluates=True)
    def check_fenchel_inequality(self) -> None:
        """``conjugate(u) >= u.s - value(s)`` for other u: scaled gradients and mixtures."""
        rng = self.rng()
        for case in self.cases():
            g1, g2 = (
                self.loss.value_grad(case.scores + rng.normal(size=N_ROWS), case.target)[1]
                for _ in range(2)
            )
            # Mixtures of gradients are in the domain; sums over rows have others outside it.
            duals = [0.0 * g1, 0.3 * g1, 0.9 * g2, 0.5 * (g1 + g2)]
            if self.loss.coupling is Coupling.ROW:
                duals += [-g1, 3.0 * g2, rng.normal(size=N_ROWS) / N_ROWS]
            for u in duals:
                conjugate = self._conjugate(u, case.target)
                for scores in (case.scores, *kinked_scores(case.target.y, rng)):
                    bound = float(u @ scores) - self.loss.value(scores, case.target)
                    expect(
                        conjugate >= bound - 1e-11 * (1.0 + abs(bound)),
                        f"conjugate {conjugate:.9g} below {bound:.9g} ({case.name})",
                    )

    @when(_has_conjugate, evaluates=True)
    def check_conjugate_is_convex(self) -> None:
        """The conjugate is convex along ``c * gradient``, and at most ``-infimum`` at zero."""
        for case in self.cases():
            _, grad = self.loss.value_grad(case.scores, case.target)
            top, zero = (self._conjugate(u, case.target) for u in (grad, 0.0 * grad))
            infimum = self.loss.infimum(case.target)
            expect(zero <= -infimum + 1e-11 * (1.0 + abs(infimum)), "conjugate(0) > -infimum")
            for c in (0.1, 0.5, 0.99):
                chord = c * top + (1 - c) * zero
                part = self._conjugate(c * grad, case.target)
                expect(part <= chord + 1e-11 * (1.0 + abs(chord)), "the conjugate is not convex")

    def _conjugate(self, u: FloatArray, target: Target) -> float:
        conjugate = self.loss.conjugate(u, target)
        expect(conjugate is not None, "conjugate is None for some u only")
        assert conjugate is not None
        return conjugate

    # --- smoothing --------------------------------------------------------------------------

    @when(lambda suite: suite.loss.smoothed(1.0) is not None)
    def check_smoothed(self) -> None:
        """``0 <= value - smoothed(width) <= width``, and the smoothed loss has a gradient."""
        rng = self.rng()
        for width in (1.0, 0.1, 1e-3, 1e-6):
            smooth = self.loss.smoothed(width)
            expect(smooth is not None, f"smoothed({width}) is None, smoothed(1) is not")
            assert smooth is not None
            expect(smooth.smooth and smooth.order >= 1, "smoothed() is not smooth")
            expect(smooth.convex == self.loss.convex, "smoothed() changes convexity")
            for case in self.cases():
                for s in (case.scores, *kinked_scores(case.target.y, rng)):
                    value = self.loss.value(s, case.target)
                    error = value - smooth.value(s, case.target)
                    slack = 1e-13 * (1.0 + abs(value))
                    expect(error >= -slack, f"smoothed({width}) is above by {-error:.3g}")
                    expect(error <= width + slack, f"smoothed({width}) is off by {error:.3g}")

    @when(
        lambda suite: suite.loss.smoothed(1.0) is not None and _has_conjugate(suite), evaluates=True
    )
    def check_smoothed_gradient_is_dual(self) -> None:
        """The gradient of the smoothed loss is a feasible dual point of the exact loss."""
        for case in self.cases():
            smooth = self.loss.smoothed(0.3)
            assert smooth is not None
            value, grad = smooth.value_grad(case.scores, case.target)
            bound = float(grad @ case.scores) - value
            conjugate = self._conjugate(grad, case.target)
            expect(math.isfinite(conjugate), "its gradient is outside the conjugate's domain")
            expect(conjugate <= bound + 1e-11 * (1.0 + abs(bound)), "conjugate above smoothed's")
