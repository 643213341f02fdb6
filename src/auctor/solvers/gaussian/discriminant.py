"""Closed forms for Gaussian scores: one linear system for AUC, a one-dimensional search for error.

The solver only uses the means and covariances of the classes. In a basis where both covariances are
diagonal every trial costs O(columns), whatever the number of rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy

from auctor.core.capabilities import SCALE_INVARIANT
from auctor.core.data_capabilities import DENSE, ROWS
from auctor.core.errors import (
    DataWarning,
    IncompatibleError,
    ParameterError,
    speaks_for_itself,
    warn,
)
from auctor.core.linalg import floored, spd_solve
from auctor.core.rounding import SMALLEST_DIVISOR
from auctor.core.types import FloatArray
from auctor.kernels.losses import gaussian
from auctor.kernels.losses.gaussian import Slopes, expected_error
from auctor.problem import Problem
from auctor.problem.needs import Need
from auctor.solvers.base import State
from auctor.solvers.gaussian.forms import Covariance, CovarianceForm, covariance_form
from auctor.solvers.gaussian.moments import CONSTANT_VARIANCE, ClassMoments, class_moments
from auctor.solvers.gaussian.shrinkage import (
    FixedShrinkage,
    LedoitWolf,
    Shrinkage,
    average_variances,
    shrinkage,
    shrinkage_rule,
)

__all__ = ["GaussianDiscriminant", "Shrinkage", "shrinkage"]

#: First grid of the search for t, as logits: from 1e-6 to 1 - 1e-6 in steps of half a unit.
LOGITS = np.linspace(-14.0, 14.0, 57)
#: Grid of the ratio of the class means in the search without an intercept.
RATIOS = np.concatenate(([0.0], np.logspace(-3.0, 3.0, 25)))
#: Largest absolute t outside (0, 1) that is tried.
LARGEST_T = 1e6
#: Standard deviation of the scores, as a share of the sum of its terms, that is rounding error.
DEVIATION_ROUNDING = 1e-10
#: Parts in which the first grid is evaluated, which bounds the memory.
GRID_PARTS = 8
#: Accuracy of the logit of t in the search between two points of the grid.
LOGIT_ACCURACY = 1e-9
#: Most L-BFGS iterations of the last refinement.
REFINE_STEPS = 500
#: Largest gradient entry at which that refinement ends: rounding error, for unit variances.
REFINE_GRADIENT = 1e-13
#: Pairs in the memory of that refinement.
REFINE_MEMORY = 20
#: Most secant steps for t.
SECANT_STEPS = 30


@dataclass(frozen=True)
class GaussianState(State):
    """A point, and the violation of the optimality conditions under the estimated covariances.

    The violation is infinite at the start, because a zero gradient there may be a plateau.
    """

    violation: float | None = field(default=math.inf, kw_only=True)


@dataclass(frozen=True)
class GaussianDiscriminant:
    """The best direction for Gaussian scores, from class means and covariances.

    `ExpectedAuc` has the closed form ``w = (S+ + S-)^-1 (mu+ - mu-)``. For `ExpectedError` the
    optimum is ``w(t) = (t S+ + (1 - t) S-)^-1 (mu+ - mu-)`` with the best intercept, the root of a
    quadratic. The solver searches over t, first in (0, 1), at O(columns) per trial after both
    covariances have been diagonalised together, and then refines the best few by L-BFGS, because
    the loss is not convex. With equal covariances this is linear discriminant analysis; if
    predicting the larger class for all rows is best, the intercept does so.

    ``L2(strength)`` adds ``strength / 2`` to the variances of each class. With more columns than
    rows the problem is solved in a basis of the rows. w is scaled so that the scores are the
    log-odds of a Gaussian model with one common covariance: the difference of the class means
    equals the average variance within the classes.

    Parameters
    ----------
    shrinkage : None, "auto" or float in [0, 1]
        Weight of the average variance times the identity in each class's covariance; "auto" is the
        Ledoit-Wolf intensity (see `shrinkage`), for full covariances.
    covariance : "full", "diagonal", lists of column indices, or int
        Which covariances are estimated: all, none (independent columns), those within blocks of
        columns, or those of columns whose positions differ by at most this number.

    Notes
    -----
    One pass for the means and one Gram matrix. With a shrinkage, or a covariance other than full,
    the gap is the violation of the optimality conditions under that estimate; the objective is
    still that of the observed scores.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.data import as_data
    >>> from auctor.losses import ExpectedError
    >>> from auctor.minimise import minimise
    >>> from auctor.penalties import NoPenalty
    >>> data = as_data(np.array([[1.0], [2.0], [4.0], [5.0]]), [-1.0, -1.0, 1.0, 1.0])
    >>> found = minimise(Problem(ExpectedError(), NoPenalty(), data), GaussianDiscriminant())
    >>> found.coef.round(6), round(found.intercept, 6)
    (array([12.]), -36.0)

    References
    ----------
    Anderson, Bahadur, Classification into two multivariate normal distributions with different
    covariance matrices, 1962. Ghanbari, Optimization algorithms for machine learning problems,
    2019, chapter 4.
    """

    shrinkage: str | float | None = None
    covariance: Covariance = "full"

    needs = Need.SCALE_INVARIANT_LOSS | Need.SMOOTH_PENALTY | Need.GRAM

    @speaks_for_itself
    def __post_init__(self) -> None:
        rule, form = self._rule, self._form
        if rule is not None and rule.estimated and not form.full:
            raise ParameterError(
                f"`covariance='full'` for `shrinkage='auto'`; got {self.covariance!r}. Pass a "
                "number in its place, or none."
            )

    @speaks_for_itself
    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> GaussianState:
        """State at the starting point."""
        return GaussianState(problem.evaluate(w))

    @speaks_for_itself
    def step(self, problem: Problem, state: GaussianState) -> GaussianState:
        """Move to the best direction, at the scale of log-odds."""
        moments, w = _direction(problem, self._moments(problem))
        _warn_if_constant(problem, moments, w)
        coef = moments.lift(_log_odds_scale(moments, w) * w)
        point = problem.with_best_intercept(problem.evaluate(problem.join(coef, 0.0)))
        sample_moments = self._rule is None and self._form.full
        violation = None if sample_moments else _violation(problem, moments, w)
        return GaussianState(point, stalled=True, violation=violation)

    def _moments(self, problem: Problem) -> ClassMoments:
        """Class moments with ridge and shrinkage added to the covariances."""
        data, d = problem.data, problem.n_columns
        ridge = 0.5 * problem.ridge[:d]
        even = bool((ridge == ridge[0]).all())
        whole = ROWS.has(data) and DENSE.has(data)
        rule = self._rule
        if rule is not None and rule.estimated and not whole:
            raise IncompatibleError(
                f"row access for `shrinkage='auto'`; got {type(data).__name__} data. Pass a number."
            )
        moments = class_moments(data, self.covariance, reduce=even and whole, counts=problem.counts)
        k = moments.mean.shape[1]  # less than d in a basis of the rows
        level = ridge if k == d else np.full(k, ridge[0])
        if rule is None:
            return moments.plus(np.stack([level, level]))
        amounts = rule.amounts(data, moments, problem.counts)
        target = np.outer(amounts * average_variances(moments, d), np.ones(k))
        return moments.times(1.0 - amounts).plus(level + target)

    @cached_property
    def _rule(self) -> FixedShrinkage | LedoitWolf | None:
        return shrinkage_rule(self.shrinkage)

    @cached_property
    def _form(self) -> CovarianceForm:
        return covariance_form(self.covariance)


# --- directions -----------------------------------------------------------------------------


def _direction(problem: Problem, moments: ClassMoments) -> tuple[ClassMoments, FloatArray]:
    """The best coefficients, and the moments in the basis of these coefficients."""
    best = best_for_auc(moments)
    separates = problem.has_intercept and _constant(moments, best).all()
    # AUC needs no search; nor do classes that are separated without variance, or without a
    # contrast.
    if problem.loss.shift_invariant or separates or not best.any():
        return moments, best
    return best_for_error(moments, problem.has_intercept)


def _violation(problem: Problem, moments: ClassMoments, w: FloatArray) -> float:
    """Largest derivative of the loss under these moments, at unit length of w."""
    mean, variance = moments.scores(w)
    if problem.has_intercept:
        mean = mean + gaussian.best_shift(moments.prior, mean, variance)
    loss = SCALE_INVARIANT.of(problem.loss)
    _, by_mean, by_variance = loss.of_moments(moments.prior, mean, variance)
    slope = by_mean @ moments.mean + 2.0 * (by_variance @ moments.spread(w))
    return float(np.abs(slope).max(initial=0.0) * np.linalg.norm(w))


def _log_odds_scale(moments: ClassMoments, w: FloatArray) -> float:
    """Factor on w that makes the difference of the mean scores equal the variance within classes.

    If the scores hardly vary within classes, the difference becomes 2; if the means do not differ,
    the variance becomes 1.
    """
    _, variance = moments.scores(w)
    apart, within = float(moments.contrast @ w), float(moments.prior @ variance)
    if apart <= 0.0:
        return 1.0 / math.sqrt(within) if within > 0.0 else 1.0
    # Squared distance of the means, in variances, from which scores are not scaled to log-odds.
    return apart / within if apart * apart < 1e4 * within else 2.0 / apart


def _constant(moments: ClassMoments, w: FloatArray) -> npt.NDArray[np.bool_]:
    """Whether each class's variance is tiny compared with the difference of the means."""
    apart = float(moments.contrast @ w)
    # Variance of scores, as a share of the squared difference of means, that counts as zero.
    return np.asarray((moments.scores(w)[1] <= 1e-8 * apart * apart) & (apart > 0.0))


def _warn_if_constant(problem: Problem, moments: ClassMoments, w: FloatArray) -> None:
    """Warn if the scores do not vary within a class; for AUC, if in both classes."""
    constant = _constant(moments, w)
    if constant.all() or (constant.any() and not problem.loss.shift_invariant):
        classes = "both classes" if constant.all() else "a class"
        warn(
            DataWarning(
                does=f"found scores that hardly vary within {classes}: there are too few rows for "
                "the columns, or a column determines the label. Use `penalty='l2'` with a "
                "larger `strength`."
            )
        )


def best_for_error(moments: ClassMoments, shifted: bool = True) -> tuple[ClassMoments, FloatArray]:
    """Moments in a basis with diagonal covariances, and the best coefficients in that basis.

    ``shifted`` says whether there is an intercept, which absorbs a common shift of both means.
    """
    if shifted:
        moments = replace(moments, mean=moments.mean - moments.mean.mean(axis=0))
    flat = moments.diagonalised()
    return flat, _Search(flat.prior, flat.mean, flat.covariance, shifted).best()


def best_for_auc(moments: ClassMoments) -> FloatArray:
    """``(S+ + S-)^-1 contrast``, or a direction without variance if that separates better."""
    total, contrast = moments.covariance[0] + moments.covariance[1], moments.contrast
    # The residual is the part of the contrast outside the range of a singular covariance: there
    # the classes differ without any variance.
    if moments.diagonal:
        varies = total > CONSTANT_VARIANCE * float(total.max(initial=0.0))
        best = np.where(varies, contrast / np.where(varies, total, 1.0), 0.0)
        residual = np.where(varies, 0.0, contrast)
    else:
        best = spd_solve(total)(contrast)
        residual = contrast - total @ best
    constant = residual / floored(moments.variances.sum(axis=0))
    return constant if _separation(moments, constant) > _separation(moments, best) else best


def _separation(moments: ClassMoments, w: FloatArray) -> float:
    """Difference of the mean scores over their standard deviation; 0 if it is not positive."""
    apart, variance = float(moments.contrast @ w), float((moments.spread(w) @ w).sum())
    rounding = (DEVIATION_ROUNDING * float(np.abs(w) @ np.sqrt(moments.variances.sum(axis=0)))) ** 2
    return apart / math.sqrt(max(variance, rounding, SMALLEST_DIVISOR)) if apart > 0.0 else 0.0


class _Search:
    """Smallest expected error over directions, in a basis with diagonal covariances.

    ``mean`` and ``variance`` are (2, k), the positive class first; ``shifted`` says whether there
    is an intercept.
    """

    def __init__(
        self, prior: FloatArray, mean: FloatArray, variance: FloatArray, shifted: bool
    ) -> None:
        self.prior, self.mean, self.variance, self.shifted = prior, mean, variance, shifted

    def best(self) -> FloatArray:
        """Best coefficients: minima of grids, refined along t, then by L-BFGS in all directions."""
        if not self.shifted:
            return self._polish(min(map(self._best_for_ratio, RATIOS), key=self._error))
        starts = [self._best_for_ratio(1.0), *self._outside_starts()]
        return self._secant(min(map(self._polish, starts), key=self._error))

    def _outside_starts(self) -> list[FloatArray]:
        """The best coefficients for t below 0, for t above 1, and the best single direction.

        If the mean score of a class is on the wrong side of the threshold, more variance lowers its
        error, so t may be outside (0, 1), as long as the mixed variances are positive. At an end of
        that range w is a single direction.
        """
        # The mixed variances t S+ + (1 - t) S- are positive for low < t < high.
        first, second = self.variance
        more, less = first > second, first < second
        low = float(np.max(second[more] / (second - first)[more], initial=-LARGEST_T))
        high = float(np.min(second[less] / (second - first)[less], initial=LARGEST_T))
        share = scipy.special.expit(LOGITS)
        # Single directions with extreme ratios of the class variances, in both signs.
        by_ratio = np.argsort(first / floored(second))
        # Directions with the smallest, and with the largest, ratio of variances that are tried.
        count = 8
        ends = np.unique(np.concatenate((by_ratio[:count], by_ratio[-count:])))
        single = np.zeros((first.size, ends.size))
        single[ends, np.arange(ends.size)] = 1.0
        tried = (
            self._weights(low * share),
            self._weights(1.0 + (high - 1.0) * share),
            np.hstack((single, -single)),
        )
        return [w[:, int(np.argmin(self.value(w)))] for w in tried]

    def _error(self, w: FloatArray) -> float:
        return float(self.value(w[:, None])[0])

    def value(self, w: FloatArray) -> FloatArray:
        """Expected errors of the columns of w."""
        return self._slopes(w).value

    def _weights(self, t: FloatArray, ratio: float = 1.0) -> FloatArray:
        """``(t S+ + (1 - t) S-)^-1 (mu+ - ratio mu-)`` for every t, as columns."""
        mixed = np.outer(self.variance[0], t) + np.outer(self.variance[1], 1.0 - t)
        pull = self.mean[0] - ratio * self.mean[1]
        return np.where(mixed != 0.0, pull[:, None] / np.where(mixed != 0.0, mixed, 1.0), 0.0)

    def _at_logits(self, logits: FloatArray, ratio: float) -> FloatArray:
        return self._weights(scipy.special.expit(logits), ratio)

    def _best_for_ratio(self, ratio: float) -> FloatArray:
        """Best coefficients for one ratio of the means: local minima of the grid, refined."""
        # Values on the grid of t, then the local minima, lowest first.
        parts = np.array_split(LOGITS, GRID_PARTS)
        values = np.concatenate([self.value(self._at_logits(part, ratio)) for part in parts])
        inner = np.r_[True, values[1:] <= values[:-1]] & np.r_[values[:-1] <= values[1:], True]
        # Local minima of the first grid that are refined.
        lowest = sorted(np.flatnonzero(inner), key=lambda i: values[i])[:3]
        if not self.shifted:
            lowest = lowest[:1]
        places = [float(LOGITS[i]) for i in lowest]
        places += [self._refine(int(i), ratio) for i in lowest]
        return min((self._at_logits(np.array([x]), ratio)[:, 0] for x in places), key=self._error)

    def _refine(self, i: int, ratio: float) -> float:
        """The best logit between two neighbours on the grid."""
        # Imported here, because it is slow to load and AUC needs no search.
        from scipy.optimize import minimize_scalar

        ends = float(LOGITS[max(i - 1, 0)]), float(LOGITS[min(i + 1, LOGITS.size - 1)])
        solution = minimize_scalar(
            lambda x: float(self.value(self._at_logits(np.array([x]), ratio))[0]),
            bounds=ends,
            method="bounded",
            options={"xatol": LOGIT_ACCURACY},
        )
        return float(solution.x)

    def _polish(self, w: FloatArray) -> FloatArray:
        """The result of L-BFGS from w scaled to unit variance, or that w if it is better."""
        from scipy.optimize import minimize

        size = float(np.sqrt((self.variance @ (w * w)).sum()))
        if size == 0.0:
            return w
        w = w / size
        solution = minimize(
            self._value_grad,
            w,
            jac=True,
            method="L-BFGS-B",
            options={
                "maxiter": REFINE_STEPS,
                "ftol": 0.0,
                "gtol": REFINE_GRADIENT,
                "maxcor": REFINE_MEMORY,
            },
        )
        values = self.value(np.column_stack((w, solution.x)))
        better: FloatArray = solution.x
        return better if values[1] <= values[0] else w

    def _secant(self, w: FloatArray) -> FloatArray:
        """Solve the optimality condition for t by secant steps, where values are too flat.

        At an optimum w(t), t is the share of the positive class in the derivatives by the
        variances.
        """

        def share(w: FloatArray) -> float:
            _, _, by_variance = self._slopes(w)
            return float(by_variance[0] / by_variance.sum())

        with np.errstate(all="ignore"):
            t = share(w)
            miss = share(self._weights(np.array([t]))[:, 0]) - t
            step = miss
            for _ in range(SECANT_STEPS):
                t += step
                before, miss = miss, share(self._weights(np.array([t]))[:, 0]) - t
                if not math.isfinite(miss) or miss in (0.0, before):
                    break
                step *= miss / (before - miss)
            solved = self._weights(np.array([t]))[:, 0]
            better = self._violation(solved) < self._violation(w)
        return solved if better else w

    def _violation(self, w: FloatArray) -> float:
        """Largest derivative of the expected error at unit length of w."""
        return float(np.abs(self._value_grad(w)[1]).max() * np.linalg.norm(w))

    def _slopes(self, w: FloatArray) -> Slopes:
        """Expected error at the best intercept, with its derivatives in the moments."""
        mean, variance = self.mean @ w, self.variance @ (w * w)
        if self.shifted:
            mean = mean + gaussian.best_shift(self.prior, mean, variance)
        return expected_error(self.prior, mean, variance)

    def _value_grad(self, w: FloatArray) -> tuple[float, FloatArray]:
        """Expected error at the best intercept, and its gradient.

        The derivative by the intercept is 0 there, so the intercept adds nothing to the gradient.
        """
        value, by_mean, by_variance = self._slopes(w)
        return float(value), by_mean @ self.mean + 2.0 * (by_variance @ self.variance) * w
