"""When each rule of the decision table pays: limits, facts about a problem, and conditions."""

from __future__ import annotations

import math

from auctor.core.capabilities import CENTRABLE, COMPILED
from auctor.core.data_capabilities import GRAM, ROWS, RowAccess
from auctor.core.protocols import Coupling
from auctor.core.types import FloatArray
from auctor.problem import Problem
from auctor.problem.hessian import FACTOR_PARAMS
from auctor.problem.needs import Need

# --- limits ---------------------------------------------------------------------------------------
# The mean squared length of a row divided by the strength of the penalty has no unit: it says how
# far the scores can move for a unit of penalty. It is called row length over strength below.

#: `Newton`: most passes over the data that a Hessian may cost.
NEWTON_GRAM = 40.0

#: `RowSpace`: most distinct rows for a sum over rows.
SPAN_ROWS = 100
#: `RowSpace`: most distinct rows for a loss on pairs.
SPAN_ROWS_OF_PAIRS = 200

#: Row length over strength up to which L-BFGS converges in a few passes.
WELL_CONDITIONED = 300.0
#: `DualCoordinateAscent`, few columns: longest mean dual step, in score units.
DUAL_STEP = 1.0
#: Passes per Newton step at which `DUAL_STEP` holds; the limit grows in proportion to the passes.
NEWTON_PASSES = 10.0
#: `DualCoordinateAscent`, many columns: longest mean dual step, in score units.
LONG_STEP = 500.0

#: Cutting planes on pairs and on F-beta: largest row length over strength.
PAIR_CUTS = 300.0
#: Cutting planes on sets of rows: largest row length over strength, in units of the margin.
SET_CUTS = 1e3
#: Passes per Hessian up to which `SET_CUTS` holds; beyond, the limit grows in proportion.
SET_PASSES = 8.0
#: Cutting planes on sets without centred smoothing: largest row length over strength.
OTHER_CUTS = 1e9

#: `AsRows`: least row length over strength; below, a few cuts are enough.
AS_ROWS = 1e3
#: `AsRows` on tall data: largest row length over strength.
AS_ROWS_TALL = 3e5
#: `AsRows`: distinct rows for every column from which data is tall.
TALL = 10.0

#: Smoothed problems without a Hessian: least number of columns for `Lbfgs`.
LBFGS_COLUMNS = 100


# --- facts about a problem ------------------------------------------------------------------------
# Called only by rules whose needs have been checked: data that only offer the two matrix products
# are never asked for rows, columns or a Gram matrix.


def few_columns(problem: Problem) -> bool:
    """Whether a Hessian of all parameters is small enough to factorise."""
    return problem.n_params <= FACTOR_PARAMS


def _curved(problem: Problem) -> bool:
    """Whether the loss, or its smoothed form, has curvature for faster solvers to use."""
    return (problem.loss.smoothed(1.0) or problem.loss).order >= 2


def _gram_passes(problem: Problem) -> float:
    """Cost of a Hessian in passes over the data; infinite if the data cannot make one."""
    data = GRAM.find(problem.data)
    return math.inf if data is None else data.gram_passes()


def _row_length(problem: Problem) -> float:
    """Mean squared length of a row divided by the strength; needs an l2 penalty on all columns."""
    inverse = 1.0 / problem.ridge[: problem.n_columns]
    data = ROWS.find(problem.data)
    if data is None:
        return float(problem.column_squares @ inverse)
    return float(data.target.share @ data.row_lengths(inverse))


def _dual_step(data: RowAccess, lengths: FloatArray) -> float:
    """Mean length of a dual step, in score units; equal rows move as one row of their weight."""
    duplicates = data.duplicate_rows
    steps = duplicates.total(data.target.share) ** 2 * lengths[duplicates.order[duplicates.starts]]
    return float(steps.sum())


# --- conditions of the rules ----------------------------------------------------------------------


def always(problem: Problem) -> bool:
    """For rules whose needs are enough."""
    return True


def cheap_matrix(problem: Problem) -> bool:
    """Few columns, and a Hessian that costs few passes."""
    return few_columns(problem) and _gram_passes(problem) <= NEWTON_GRAM


def rows_span(problem: Problem) -> bool:
    """Whether there are so few rows that solving in the span of the rows is faster.

    In the span, sums over rows of bounded curvature are solved by their dual and losses on pairs by
    Newton steps; for other losses it is not faster. `newton` is before it in the table, so that
    there are more columns than rows.
    """
    if problem.loss.coupling is Coupling.GLOBAL:
        limit = SPAN_ROWS_OF_PAIRS
    elif Need.BOUNDED_CURVATURE in problem.provides:
        limit = SPAN_ROWS
    else:
        return False
    return problem.n_distinct <= limit and _row_length(problem) > WELL_CONDITIONED


def dual_pays(problem: Problem) -> bool:
    """Whether coordinate ascent on the dual is fast: closed-form steps, or few epochs.

    A row's step has the length ``weight * |x|^2 / l2`` in score units; the longer, the more rows
    undo each other's steps. An intercept couples all rows: ascent then pays only if its steps have
    a closed form.
    """
    few = few_columns(problem)
    spec = problem.penalty.separable(problem.n_columns)
    closed = COMPILED.of(problem.loss).closed_prox and not few
    if spec is None or spec.l1.any() or (problem.has_intercept and not closed):
        return False
    if closed:
        return True
    data = ROWS.of(problem.data)
    lengths = data.row_lengths(1.0 / spec.l2)
    if few:  # the alternative is Newton, if a Hessian is cheap
        passes = _gram_passes(problem)
        newton = passes <= NEWTON_GRAM or not problem.loss.smooth
        limit = DUAL_STEP * (passes / NEWTON_PASSES if newton else 1.0)
        return _dual_step(data, lengths) <= limit
    # The alternative is L-BFGS, which needs few passes if the rows are short.
    long_rows = not problem.loss.smooth or float(data.target.share @ lengths) > WELL_CONDITIONED
    return long_rows and _dual_step(data, lengths) <= LONG_STEP


def sweeps_pay(problem: Problem) -> bool:
    """Whether sweeps over the rows are faster than cutting planes: many columns and long rows.

    Rows of tall data depend on each other, and sweeps are slow there under a very weak penalty.
    """
    if few_columns(problem):
        return False
    tall = problem.data.n_rows > TALL * problem.n_columns and (
        problem.n_distinct > TALL * problem.n_columns
    )
    return AS_ROWS < _row_length(problem) <= (AS_ROWS_TALL if tall else math.inf)


def cuts_pay(problem: Problem) -> bool:
    """Whether cutting planes beat smoothing on pairs and sets: many columns or a strong penalty."""
    if problem.loss.coupling is Coupling.ROW:
        return False
    if not _curved(problem) or not few_columns(problem):
        return True
    by_pairs, centred = Need.PAIR_LOSS in problem.provides, CENTRABLE.find(problem.loss)
    limit = PAIR_CUTS if by_pairs or not problem.loss.shift_invariant else OTHER_CUTS
    if centred is not None and not by_pairs:
        margin = centred.margin(problem.data.target) or 1.0
        limit = SET_CUTS * margin * max(1.0, _gram_passes(problem) / SET_PASSES)
    return _row_length(problem) <= limit


def intercept_matters(problem: Problem) -> bool:
    """Whether the loss is on sets of rows and depends on the intercept, as F-beta does."""
    return problem.loss.coupling is not Coupling.ROW and not problem.loss.shift_invariant


def without_matrix(problem: Problem) -> bool:
    """Whether no Hessian can be made: no curvature of the loss, or no access to columns."""
    return bool((Need.CURVATURE | Need.COLUMNS) & ~problem.provides)


def wide_pairs(problem: Problem) -> bool:
    """Whether the loss is on pairs or sets of rows, with many columns."""
    return problem.loss.coupling is Coupling.GLOBAL and not few_columns(problem)


def many_columns(problem: Problem) -> bool:
    """Whether sweeps over the columns cost more than the products with the data."""
    return problem.n_columns >= LBFGS_COLUMNS


def matrix_of_columns(problem: Problem) -> bool:
    """Whether there are few columns, or the penalty has no groups that `SubspaceNewton` needs."""
    return few_columns(problem) or Need.TREE_PENALTY not in problem.provides


def pairs_matter(problem: Problem) -> bool:
    """Whether Newton steps are expensive: the curvature has an entry for every pair of rows."""
    return not problem.loss.low_rank


def covariances_fit(problem: Problem) -> bool:
    """Whether the covariances of the classes are small enough to decompose."""
    # Imported here, so that no other problem loads the module.
    from auctor.solvers.gaussian.moments import fits

    return fits(problem.data)
