"""Conformance of a loss: derivatives, weights, robustness, and the checks of `duality`."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable

import numpy as np

from auctor.core.capabilities import CURVED
from auctor.core.curvature import Curvature
from auctor.core.errors import AuctorError
from auctor.core.protocols import Coupling, Splits
from auctor.core.rng import systematic
from auctor.core.shift import ShiftedScores, shifts_of
from auctor.core.types import FloatArray, IntArray, Target
from auctor.testing.cases import N_ROWS, kinked_scores, target_for, width_of
from auctor.testing.differences import disagreement
from auctor.testing.duality import DualitySuite
from auctor.testing.suite import Untouched, expect, expect_close, when

#: Sizes of scores at which no result may be NaN.
EXTREMES = (1e3, 1e6, 1e30, 1e100, 1e200)


def _promises(order: int) -> Callable[[LossSuite], bool]:
    return lambda suite: suite.loss.order >= order


class LossSuite(DualitySuite):
    """Tests of the whole `Loss` protocol, on one instance.

    Parameters
    ----------
    loss : Loss
        Test several instances, also with non-default parameters.
    seed : int
        Seed of the random scores and targets.

    Examples
    --------
    >>> from auctor.losses import Squared
    >>> len(LossSuite(Squared()).run()) > 15
    True
    """

    def curvature(self, scores: FloatArray, target: Target) -> Curvature:
        """Second derivative of the loss in the scores."""
        return CURVED.of(self.loss).curvature(scores, target)

    # --- derivatives ------------------------------------------------------------------------

    @when(_promises(1))
    def check_gradient(self) -> None:
        """`value_grad` agrees with `value` and with its fourth-order differences."""
        for case in self.cases():
            value, grad = self.loss.value_grad(case.scores, case.target)
            expect_close(value, self.loss.value(case.scores, case.target), "value", rtol=1e-14)
            # One coordinate at a time, so that a kink of another row does not matter.
            scale = float(np.abs(grad).max()) or 1.0
            for i, unit in enumerate(np.eye(N_ROWS)):
                error = disagreement(
                    lambda s, t=case.target: self.loss.value(s, t),  # type: ignore[misc]
                    float(grad[i]),
                    case.scores,
                    unit,
                    unit=case.unit,
                )
                expect(
                    error <= 1e-7 * scale,
                    f"gradient {i} ({case.name}): off by {error / scale:.3g} relative",
                )

    @when(lambda suite: suite.loss.order >= 1 and suite.loss.smooth)
    def check_gradient_at_ties(self) -> None:
        """The gradient of a smooth loss is also correct at ties and at exact margins."""
        rng = self.rng()
        target = Target(target_for(self.loss, rng))
        for scores in kinked_scores(target.y, rng):
            if self.loss.scale_invariant and not np.ptp(scores):
                continue  # it is discontinuous at equal scores
            _, grad = self.loss.value_grad(scores, target)
            scale = float(np.abs(grad).max()) or 1.0
            direction = rng.normal(size=N_ROWS)
            # The gradient is only continuous here, so the error is of first order in the step.
            step = 1e-6 * min(1.0, width_of(self.loss) or 1.0)
            forward, backward = (
                self.loss.value(scores + k * step * direction, target) for k in (1, -1)
            )
            error = abs((forward - backward) / (2 * step) - float(grad @ direction))
            expect(error <= 2e-4 * scale, f"gradient at ties off by {error / scale:.3g}")

    @when(_promises(2))
    def check_curvature(self) -> None:
        """`curvature` agrees with fourth-order differences of `value_grad`."""
        rng = self.rng()
        for case in self.cases():
            curvature = self.curvature(case.scores, case.target)
            for direction in rng.normal(size=(3, N_ROWS)):
                product = curvature.matvec(direction)
                # Terms may cancel and leave rounding errors of the size of the diagonal.
                parts = np.abs(product), np.abs(curvature.diagonal * direction)
                scale = float(np.maximum(*parts).max()) or 1.0
                error = disagreement(
                    lambda s, t=case.target: self.loss.value_grad(s, t)[1],  # type: ignore[misc]
                    product,
                    case.scores,
                    direction,
                    unit=case.unit,
                )
                expect(
                    error <= 1e-6 * scale,
                    f"curvature ({case.name}): off by {error / scale:.3g} relative",
                )

    @when(_promises(2))
    def check_curvature_matrix(self) -> None:
        """The curvature is symmetric, and positive semi-definite if the loss is convex."""
        for case in self.cases():
            curvature = self.curvature(case.scores, case.target)
            matrix = np.array([curvature.matvec(unit) for unit in np.eye(N_ROWS)])
            # Scale of the terms, which may cancel in the matrix.
            scale = max(float(np.abs(matrix).max()), float(curvature.diagonal.max())) or 1.0
            expect_close(matrix, matrix.T, f"symmetry ({case.name})", rtol=1e-12, scale=scale)
            expect((curvature.diagonal >= 0.0).all(), "curvature.diagonal has negative entries")
            if self.loss.convex:
                lowest = float(np.linalg.eigvalsh(matrix)[0])
                expect(lowest >= -1e-12 * scale, f"convex, but curvature {lowest:.3g}")

    @when(_promises(1))
    def check_shifts(self) -> None:
        """`shifts` has the values and derivatives at scores shifted by a constant."""
        for case in self.cases():
            own = shifts_of(self.loss, case.scores, case.target)
            plain = ShiftedScores(self.loss, case.scores, case.target)
            for t in case.unit * np.array([0.0, -0.7, 0.3]):
                value, slope, size = plain.at(t)
                shifted = own.at(t)
                expect_close(shifted.value, value, f"shifted value ({case.name})")
                scale = size or 1.0
                expect_close(shifted.slope, slope, f"shifted slope ({case.name})", scale=scale)
                expect_close(shifted.size, size, f"shifted slopes ({case.name})", scale=scale)
                scale = self._bend(case.scores + t, case.target)
                curve = own.curve(t), plain.curve(t)
                expect_close(*curve, f"shifted curvature ({case.name})", rtol=1e-6, scale=scale)
            # A root of the slope must have the smallest value nearby, on both sides.
            root = own.root()
            if root is not None:
                least = plain.at(root).value
                others = root + case.unit * np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 7)])
                values = [plain.at(t).value for t in (*others, *(2.0 * root - others))]
                slack = 1e-12 * (abs(least) + case.unit)
                expect(least <= min(values) + slack, f"root is not the best ({case.name})")

    def _bend(self, scores: FloatArray, target: Target) -> float:
        """Scale of the curvature along a constant shift of the scores."""
        if self.loss.order < 2:
            return 1.0
        curvature = self.curvature(scores, target)
        return float(np.abs(curvature.diagonal).sum()) or 1.0

    @when(lambda suite: suite.loss.order >= 2 and suite.draws_pairs(), evaluates=True)
    def check_pair_draws(self) -> None:
        """Pairs drawn from the curvature sum to it: exactly in trace, nearly in each entry."""
        for case in self.cases():
            curvature = self.curvature(case.scores, case.target)
            assert curvature.partners is not None
            i, total = systematic(curvature.diagonal, 8000)
            j = curvature.partners(i)
            pairs = np.eye(N_ROWS)[i] - np.eye(N_ROWS)[j]
            drawn = (total / 16_000) * (pairs.T @ pairs)  # every pair through both its rows
            matrix = np.array([curvature.matvec(unit) for unit in np.eye(N_ROWS)])
            scale = float(np.trace(matrix)) or 1.0
            expect_close(np.trace(drawn), np.trace(matrix), "weight of pairs", scale=scale)
            expect_close(drawn, matrix, "drawn pairs", rtol=5e-3, scale=scale)

    def draws_pairs(self) -> bool:
        """Whether the curvature is a sum over pairs from which pairs can be drawn."""
        case = next(self.cases())
        curvature = self.curvature(case.scores, case.target)
        return curvature.partners is not None

    @when(lambda suite: suite.loss.order < 2)
    def check_missing_order_is_refused(self) -> None:
        """Derivatives beyond ``order`` raise an `AuctorError`."""
        case = next(self.cases())
        for order, name in ((1, "value_grad"), (2, "curvature")):
            if self.loss.order >= order or not hasattr(self.loss, name):
                continue
            try:
                getattr(self.loss, name)(case.scores, case.target)
            except AuctorError:
                continue
            raise AssertionError(f"order {self.loss.order}, yet {name} does not raise")

    @when(lambda suite: suite.loss.quadratic)
    def check_quadratic(self) -> None:
        """The curvature of a quadratic loss is the same everywhere."""
        v = self.rng().normal(size=N_ROWS)
        for case in self.cases():
            here = self.curvature(case.scores, case.target).matvec(v)
            there = self.curvature(case.scores - 3.0 * v, case.target).matvec(v)
            expect_close(there, here, "curvature of a quadratic loss", rtol=1e-12)

    @when(lambda suite: suite.loss.coupling is Coupling.ROW)
    def check_row_coupling(self) -> None:
        """A loss with ROW coupling has a separate gradient and curvature for each row."""
        for case in self.cases():
            # Move all rows but the first: its gradient must not change.
            moved = case.scores.copy()
            moved[1:] += self.rng().normal(size=N_ROWS - 1)
            before = self.loss.value_grad(case.scores, case.target)[1][0]
            after = self.loss.value_grad(moved, case.target)[1][0]
            expect(before == after, "coupling is ROW, yet other rows move a row's gradient")
            if self.loss.order >= 2:
                product = self.curvature(case.scores, case.target).matvec(np.eye(N_ROWS)[0])
                expect(not product[1:].any(), "coupling is ROW, yet curvature ties rows together")

    # --- weights and rows -------------------------------------------------------------------

    def _compare(
        self,
        a: tuple[FloatArray, Target],
        b: tuple[FloatArray, Target],
        what: str,
        pull: Callable[[FloatArray], FloatArray],
    ) -> None:
        """Value, gradient and curvature at ``a`` equal those at ``b``.

        ``pull`` maps vectors over the rows of ``b`` to vectors over the rows of ``a``.
        """
        expect_close(self.loss.value(*b), self.loss.value(*a), f"value, {what}")
        if self.loss.order >= 1:
            expect_close(
                pull(self.loss.value_grad(*b)[1]), self.loss.value_grad(*a)[1], f"gradient, {what}"
            )
        if self.loss.order >= 2:
            v = self.rng().normal(size=N_ROWS)
            own = self.curvature(*a)
            # Terms may cancel completely, for example if only one row has curvature.
            expect_close(
                pull(self.curvature(*b).matvec(_spread(v, b[0], pull))),
                own.matvec(v),
                f"curvature, {what}",
                scale=float(np.abs(own.diagonal * v).max()) or 1.0,
            )

    def check_equal_weights(self) -> None:
        """Equal weights are the same as no weights, and the scale of weights does not matter."""
        for case in self.cases():
            y, weight = case.target.y, case.target.weight
            weights = np.ones(N_ROWS) if weight is None else weight
            for factor in (1e-8, 7.3, 1e12):
                scaled = Target(y, factor * weights)
                self._compare(
                    (case.scores, case.target), (case.scores, scaled), "weights scaled", _same
                )

    def check_zero_weights(self) -> None:
        """A row of weight zero has no effect, for any score."""
        for case in self.cases():
            y, n = case.target.y, N_ROWS
            weight = np.ones(n) if case.target.weight is None else case.target.weight
            # Every row once more with weight zero and a very different score.
            twice, scores = np.concatenate((y, y)), np.concatenate((case.scores, -30 * case.scores))
            padded = Target(twice, np.concatenate((weight, np.zeros(n))))
            self._compare((case.scores, case.target), (scores, padded), "zero weights", _first)
            if self.loss.order >= 1:
                grad = self.loss.value_grad(scores, padded)[1]
                expect(not grad[n:].any(), "a row of weight zero has a gradient")

    @when(lambda suite: suite.loss.targets == "binary")
    def check_compact_labels(self) -> None:
        """Labels as int8, as those of shards are, give the same value and gradient."""
        for case in self.cases():
            scores, compact = case.scores, case.target.compacted()
            expect(compact.y.dtype == np.int8, "labels of -1 and +1 were not made compact")
            same = self.loss.value(scores, compact) == self.loss.value(scores, case.target)
            expect(same, f"value, labels in one byte ({case.name})")
            if self.loss.order >= 1:
                ours, wanted = (
                    self.loss.value_grad(scores, target)[1] for target in (compact, case.target)
                )
                expect(np.array_equal(ours, wanted), f"gradient, labels in one byte ({case.name})")
            self._compare((scores, case.target), (scores, compact), "labels in one byte", _same)

    @when(lambda suite: suite.loss.splits is Splits.ROWS)
    def check_parts(self) -> None:
        """A row loss is the sum of its values on parts whose shares are relative to all rows."""
        for case in self.cases():
            y, weight, half = case.target.y, case.target.weight, N_ROWS // 3
            total = float(N_ROWS if weight is None else weight.sum())
            value, grads = 0.0, []
            for rows in (slice(0, half), slice(half, N_ROWS)):
                part = Target(y[rows], None if weight is None else weight[rows], total=total)
                value += self.loss.value(case.scores[rows], part)
                if self.loss.order >= 1:
                    grads.append(self.loss.value_grad(case.scores[rows], part)[1])
            expect_close(value, self.loss.value(case.scores, case.target), "value, sum over parts")
            if self.loss.order >= 1:
                wanted = self.loss.value_grad(case.scores, case.target)[1]
                expect_close(np.concatenate(grads), wanted, "gradient, part by part")

    @when(lambda suite: suite.loss.weights == "row")
    def check_weights_are_repetition(self) -> None:
        """Integer weights are the same as repeated rows."""
        rng = self.rng()
        for case in self.cases():
            count = rng.integers(1, 5, size=N_ROWS)
            rows: IntArray = np.repeat(np.arange(N_ROWS, dtype=np.int64), count)
            weighted = Target(case.target.y, count.astype(float))

            def pull(g: FloatArray, rows: IntArray = rows) -> FloatArray:
                """Sum over the repetitions of each row."""
                out = np.zeros(N_ROWS)
                np.add.at(out, rows, g)
                return out

            self._compare(
                (case.scores, weighted),
                (case.scores[rows], Target(case.target.y[rows])),
                "weights as repetition",
                pull,
            )

    @when(lambda suite: suite.loss.exchangeable)
    def check_row_order(self) -> None:
        """Permuting rows permutes the gradient."""
        order = self.rng().permutation(N_ROWS)
        back = np.argsort(order)
        for case in self.cases():
            self._compare(
                (case.scores, case.target),
                (case.scores[order], case.target.take(order)),
                "rows permuted",
                lambda g: g[back],
            )

    def check_shift_invariance(self) -> None:
        """`shift_invariant` is correct."""
        for case in self.cases():
            value = self.loss.value(case.scores, case.target)
            shifted = self.loss.value(case.scores + 0.7, case.target)
            same = abs(shifted - value) <= 1e-12 * max(1.0, abs(value))
            if self.loss.shift_invariant:
                expect(same, "shift_invariant, yet a constant changes the value")
        if not self.loss.shift_invariant:
            expect(not same, "not shift_invariant, yet a constant changes nothing")

    def check_scale_invariance(self) -> None:
        """`scale_invariant` is correct."""
        changes = False
        for case in self.cases():
            value = self.loss.value(case.scores, case.target)
            scaled = self.loss.value(3.7 * case.scores, case.target)
            same = abs(scaled - value) <= 1e-12 * max(1.0, abs(value))
            changes |= not same
            if self.loss.scale_invariant:
                expect(same, "scale_invariant, yet a factor changes the value")
        if not self.loss.scale_invariant:
            expect(changes, "not scale_invariant, yet a factor changes nothing")

    # --- robustness -------------------------------------------------------------------------

    def check_extremes(self) -> None:
        """Value, gradient and curvature at huge scores are finite or infinite, never NaN."""
        for case in self.cases():
            for size in EXTREMES:
                for scores in (size * case.scores, -size * case.scores, size * case.target.y):
                    with np.errstate(over="ignore", invalid="ignore"):
                        values = [np.asarray(self.loss.value(scores, case.target))]
                        if self.loss.order >= 1:
                            values.append(self.loss.value_grad(scores, case.target)[1])
                        if self.loss.order >= 2:
                            values.append(self.curvature(scores, case.target).diagonal)
                    expect(not any(np.isnan(x).any() for x in values), f"NaN at scores of {size:g}")

    def check_nan_is_not_hidden(self) -> None:
        """A NaN in any score makes the value NaN or infinite."""
        for case in self.cases():
            for i in range(N_ROWS):
                scores = case.scores.copy()
                scores[i] = np.nan
                value = self.loss.value(scores, case.target)
                expect(not math.isfinite(value), f"value {value:.3g} with a NaN score in row {i}")

    def check_inputs_untouched(self) -> None:
        """Read-only targets and weights work, and inputs are not modified."""
        for case in self.cases():
            frozen = Untouched((case.target.y, case.target.weight), freeze=True)
            with frozen, Untouched((case.scores,)):
                fresh = Target(case.target.y, case.target.weight)
                self.loss.value(case.scores, fresh)
                if self.loss.order >= 1:
                    self.loss.value_grad(case.scores, fresh)
                if self.loss.order >= 2:
                    self.curvature(case.scores, fresh).matvec(case.scores)
                self.loss.conjugate(case.scores, fresh)

    def check_copies(self) -> None:
        """A copy keeps the parameters."""
        case = next(self.cases())
        value = self.loss.value(case.scores, case.target)
        twin = copy.deepcopy(self.loss)
        expect(twin.value(case.scores, case.target) == value, "a copy has another value")


def _same(g: FloatArray) -> FloatArray:
    return g


def _first(g: FloatArray) -> FloatArray:
    return g[:N_ROWS]


def _spread(
    v: FloatArray, scores: FloatArray, pull: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """The transpose of ``pull`` applied to ``v``: repeats entries where ``pull`` sums."""
    out = np.zeros(scores.shape[0])
    for j, unit in enumerate(np.eye(scores.shape[0])):
        hit = pull(unit)
        out[j] = float(hit @ v)
    return out
