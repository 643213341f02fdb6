"""Which solver for which problem: the one decision table, inner solvers included."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from importlib import import_module
from typing import Any, cast

from auctor.core.errors import IncompatibleError, ParameterError
from auctor.core.needs import Coupling, Need
from auctor.core.protocols import PointwiseLoss
from auctor.core.types import FloatArray
from auctor.minimise import Solver, check_needs
from auctor.problem import Problem
from auctor.problem.hessian import FACTOR_PARAMS

#: Class of every solver by the name users type; its module is imported on first use.
SOLVERS = {
    "exact": "Exact",
    "gaussian_discriminant": "GaussianDiscriminant",
    "newton": "Newton",
    "lbfgs_then_newton": "LbfgsThenNewton",
    "lbfgs": "Lbfgs",
    "bfgs": "Bfgs",
    "gradient_descent": "GradientDescent",
    "proximal_newton": "ProximalNewton",
    "accelerated_proximal_quasi_newton": "AcceleratedProximalQuasiNewton",
    "lhac": "Lhac",
    "orthant_wise": "OrthantWise",
    "proximal_quasi_newton": "ProximalQuasiNewton",
    "block_coordinate_descent": "BlockCoordinateDescent",
    "subspace_newton": "SubspaceNewton",
    "interior_point": "InteriorPoint",
    "stochastic_coordinate_descent": "StochasticCoordinateDescent",
    "dual": "DualCoordinateAscent",
    "coordinate_descent": "CoordinateDescent",
    "fista": "Fista",
    "proximal_gradient": "ProximalGradient",
    "proximal_point": "ProximalPoint",
    "continuation": "Continuation",
    "row_space": "RowSpace",
    "as_rows": "AsRows",
    "cuts_first": "CutsFirst",
    "smooth_first": "SmoothFirst",
    "bmrm": "Bmrm",
    "accelerated_gradient": "AcceleratedGradient",
    "pair_dual": "PairDualAscent",
    "prox_svrg": "ProxSvrg",
    "spdam": "Spdam",
    "sgd": "Sgd",
    "adam": "Adam",
    "subsampled_newton": "SubsampledNewton",
    "stochastic_lbfgs": "StochasticLbfgs",
}


# --- limits: where a rule pays ------------------------------------------------------------------
# The ratio of the mean squared length of a row to the strength of the penalty has no unit: it says
# how far the scores can move for a unit of penalty. It is called the reach of the rows below.

#: `Newton`: most passes over the data that a Hessian may cost; beyond, L-BFGS steps come first.
#: Source: spine.md (logistic).
NEWTON_GRAM = 40.0

#: `RowSpace`: most distinct rows whose products with each other are made. Source: sparse.md (l2,
#: colon-cancer, leukemia, duke).
SPAN_ROWS = 200
#: `RowSpace`: least number of columns. Source: constants.md: nothing changes from 100 to 400.
SPAN_COLUMNS = 200
#: `RowSpace`: least columns per distinct row. Source: constants.md: nothing changes from 1.25 to 5.
SPAN_RATIO = 2.0
#: `RowSpace`: least share of stored entries; sparse rows are cheaper as they are. Source:
#: constants.md: nothing changes from 0.125 to 0.875.
SPAN_DENSITY = 0.5

#: Reach of the rows up to which L-BFGS converges in a few passes, so that no other solver is
#: faster. Source: sparse.md (l2, C = 0.01).
ROUND = 300.0
#: `DualCoordinateAscent`, few columns: longest mean dual step, in score units, for which it needs
#: fewer passes than Newton steps of `NEWTON_PASSES` passes each. Source: sparse.md (l2).
DUAL_STEP = 1.0
#: Passes per Newton step at which `DUAL_STEP` holds; the limit grows in proportion to the passes.
#: Source: constants.md: nothing changes from 2.5 to 40.
NEWTON_PASSES = 10.0
#: `DualCoordinateAscent`, many columns: longest mean dual step, in score units, for which it is
#: faster than L-BFGS, which needs many passes there. Source: sparse.md (l2).
LONG_STEP = 500.0

#: Cutting planes on pairs, and on losses that an intercept changes (F-beta: a cut that holds for
#: every intercept takes several evaluations): largest reach for which few cuts are enough. Source:
#: metrics.md (cutting_planes).
PAIR_CUTS = 300.0
#: Cutting planes on sets of rows: largest reach, in units of the loss's margin. Source: metrics.md.
SET_CUTS = 1e3
#: Passes per Hessian up to which `SET_CUTS` holds; beyond, the limit grows in proportion. Source:
#: constants.md: nothing changes from 2.75 to 29.
SET_PASSES = 8.0
#: Cutting planes on sets whose smoothing cannot be centred (partial AUC) and so gets harder as it
#: narrows: largest reach. Source: metrics.md.
OTHER_CUTS = 1e9
#: Cutting planes on row losses: most distinct rows. With so few kinks, Newton steps on the smoothed
#: loss jump from kink to kink. Source: constants.md: nothing changes from 50 to 200.
FEW_ROWS = 100

#: `AsRows`: least reach; below, a few cuts are enough. Source: metrics.md (cutting_planes).
AS_ROWS = 1e3
#: `AsRows` on tall data: largest reach of the rows; beyond, sweeps undo each other for hundreds of
#: epochs, and a few hundred cuts are faster. Source: as_rows.md.
AS_ROWS_TALL = 3e5
#: `AsRows`: distinct rows for every column from which data is tall. Source: as_rows.md.
TALL = 10.0


# --- facts about a problem ------------------------------------------------------------------------
# Called only by rules whose needs have been checked: data that only offer the two matrix products
# are never asked for rows, columns or a Gram matrix.


def _few(problem: Problem) -> bool:
    """Whether a Hessian of all parameters is small enough to factorise."""
    return problem.n_params <= FACTOR_PARAMS


def _curved(problem: Problem) -> bool:
    """Whether the loss, or its smoothed form, has curvature for faster solvers to use."""
    return (problem.loss.smoothed(1.0) or problem.loss).order >= 2


def _gram_passes(problem: Problem) -> float:
    """Cost of a Hessian in passes over the data; infinite if the data cannot make one."""
    return problem.data.gram_passes() if Need.GRAM in problem.provides else math.inf


def _reach(problem: Problem) -> float:
    """Mean squared length of a row divided by the strength; needs an l2 penalty on all columns."""
    inverse = 1.0 / problem.ridge[: problem.n_columns]
    if Need.ROWS not in problem.provides:
        return float(problem.column_squares @ inverse)
    return float(problem.data.target.share @ problem.data.row_lengths(inverse))


def _dual_step(problem: Problem, lengths: FloatArray) -> float:
    """Mean length of a dual step, in score units; equal rows move as one row of their weight."""
    data, duplicates = problem.data, problem.data.duplicate_rows
    steps = duplicates.total(data.target.share) ** 2 * lengths[duplicates.order[duplicates.starts]]
    return float(steps.sum())


# --- when a rule pays -----------------------------------------------------------------------------


def _always(problem: Problem) -> bool:
    return True


def _cheap_matrix(problem: Problem) -> bool:
    """Few columns, and a Hessian that costs few passes."""
    return _few(problem) and _gram_passes(problem) <= NEWTON_GRAM


def _rows_span(problem: Problem) -> bool:
    """Whether dense data have so few rows that solving in the span of the rows is faster."""
    data, columns = problem.data, problem.n_columns
    if columns < SPAN_COLUMNS or data.n_entries < SPAN_DENSITY * data.n_rows * columns:
        return False
    if problem.n_distinct > min(SPAN_ROWS, columns / SPAN_RATIO):
        return False
    return _reach(problem) > ROUND


def _dual_pays(problem: Problem) -> bool:
    """Whether coordinate ascent on the dual is fast: closed-form steps, or few epochs.

    A row's step has the length ``weight * |x|^2 / l2`` in score units; the longer, the more rows
    undo each other's steps. An intercept couples all rows: ascent then pays only if its steps have
    a closed form.
    """
    few = _few(problem)
    spec = problem.penalty.separable(problem.n_columns)
    closed = cast(PointwiseLoss, problem.loss).closed_prox and not few
    if spec is None or spec.l1.any() or (problem.has_intercept and not closed):
        return False
    if closed:
        return True
    data = problem.data
    lengths = data.row_lengths(1.0 / spec.l2)
    if few:  # the alternative is Newton, if a Hessian is cheap
        passes = _gram_passes(problem)
        newton = passes <= NEWTON_GRAM or not problem.loss.smooth
        limit = DUAL_STEP * (passes / NEWTON_PASSES if newton else 1.0)
        return _dual_step(problem, lengths) <= limit
    # The alternative is L-BFGS, which needs few passes if the rows are short.
    long_rows = not problem.loss.smooth or float(data.target.share @ lengths) > ROUND
    return long_rows and _dual_step(problem, lengths) <= LONG_STEP


def _sweeps_pay(problem: Problem) -> bool:
    """Whether sweeps over the rows are faster than cutting planes: many columns and long rows.

    Rows of tall data depend on each other, and sweeps are slow there under a very weak penalty.
    """
    if _few(problem):
        return False
    tall = problem.data.n_rows > TALL * problem.n_columns and (
        problem.n_distinct > TALL * problem.n_columns
    )
    return AS_ROWS < _reach(problem) <= (AS_ROWS_TALL if tall else math.inf)


def _cuts_pay(problem: Problem) -> bool:
    """Whether cutting planes beat smoothing: many columns, a strong penalty, or few rows."""
    if not _curved(problem):
        return True
    if problem.loss.coupling is Coupling.ROW:
        return problem.n_distinct <= FEW_ROWS
    if not _few(problem):
        return True
    by_pairs, centred = (
        need in problem.provides for need in (Need.PAIR_LOSS, Need.CENTRED_SMOOTHING)
    )
    limit = PAIR_CUTS if by_pairs or not problem.loss.shift_invariant else OTHER_CUTS
    if centred and not by_pairs:
        margin = problem.loss.margin(problem.data.target) or 1.0
        limit = SET_CUTS * margin * max(1.0, _gram_passes(problem) / SET_PASSES)
    return _reach(problem) <= limit


def _cuts_on_sets(problem: Problem) -> bool:
    """Whether the loss is on pairs or sets of rows, and cutting planes are faster."""
    return problem.loss.coupling is not Coupling.ROW and _cuts_pay(problem)


def _intercept_matters(problem: Problem) -> bool:
    """Whether the loss is on sets of rows and depends on the intercept, as F-beta does."""
    return problem.loss.coupling is not Coupling.ROW and not problem.loss.shift_invariant


def _without_matrix(problem: Problem) -> bool:
    """Whether no Hessian can be made: no curvature of the loss, or no access to columns."""
    return bool((Need.CURVATURE | Need.COLUMNS) & ~problem.provides)


def _pairs_of_bins(problem: Problem) -> bool:
    """Whether the loss is on pairs, and the data give subsets of columns but not single ones."""
    return problem.loss.coupling is Coupling.GLOBAL and Need.COLUMNS not in problem.provides


def _matrix_of_columns(problem: Problem) -> bool:
    """Whether there are few columns, or the penalty has no groups that `SubspaceNewton` needs."""
    return _few(problem) or Need.TREE_PENALTY not in problem.provides


# --- the table --------------------------------------------------------------------------------


class Role(Enum):
    """Where a problem comes from."""

    #: Given by the user.
    GIVEN = auto()
    #: Made by smoothing: one of many that follow each other, solved from warm starts.
    SMOOTHED = auto()
    #: Made by `RowSpace`: as many columns as rows.
    ROW_SPACE = auto()


@dataclass(frozen=True)
class Rule:
    """A row of the decision table.

    Parameters
    ----------
    solver : str
        Name of the solver.
    needs : Need
        What the problem must provide: at least what the solver's class needs. Needs are checked
        before ``pays`` is called and before the module of the solver is imported.
    pays : callable
        ``pays(problem)``: whether the solver is the fastest for a problem with these needs.
    evidence : str
        The file in ``benchmarks/results`` with the measurement.
    role : Role
        The kind of problem that the rule applies to.
    """

    solver: str
    needs: Need
    evidence: str
    pays: Callable[[Problem], bool] = _always
    role: Role = Role.GIVEN

    def holds(self, problem: Problem) -> bool:
        """Whether the problem provides the needs, and the solver suits it and is fast on it."""
        if self.needs & ~problem.provides:
            return False
        kind = solver_class(self.solver)
        if kind.needs & ~problem.provides:
            return False
        return bool(getattr(kind, "suits", _always)(problem)) and self.pays(problem)


_SMOOTH = Need.SMOOTH_LOSS | Need.SMOOTH_PENALTY
_RIDGE = Need.SMOOTH_PENALTY | Need.STRONG_PENALTY
_CUTS = Need.CONVEX_LOSS | _RIDGE
_KINKED = Need.SMOOTHABLE_LOSS
_SEPARABLE = Need.SMOOTH_LOSS | Need.SEPARABLE_PENALTY
_MATRIX = Need.MATRIX_CURVATURE | Need.CURVATURE | Need.MATRIX_COLUMNS
_TREE = Need.SMOOTH_LOSS | Need.CURVATURE | Need.TREE_PENALTY | Need.COLUMN_SUBSETS

#: The first rule that holds decides.
RULES = (
    # Closed forms.
    Rule("exact", _SMOOTH | Need.CURVATURE | Need.QUADRATIC_LOSS, "spine.md"),
    Rule(
        "gaussian_discriminant",
        Need.DENSE | Need.GRAM | Need.ROWS | Need.SCALE_INVARIANT_LOSS | Need.SMOOTH_PENALTY,
        "metrics.md",
    ),
    # Smooth losses, l2 or no penalty.
    Rule("row_space", _SMOOTH | _RIDGE | Need.PROX | Need.ROWS, "sparse.md", _rows_span),
    Rule("newton", _SMOOTH | Need.CURVATURE | Need.GRAM, "spine.md", _cheap_matrix),
    Rule("dual", Need.POINTWISE_LOSS | Need.STRONG_PENALTY | Need.ROWS, "sparse.md", _dual_pays),
    Rule("lbfgs_then_newton", _SMOOTH | Need.CURVATURE | Need.GRAM, "sparse.md", _few),
    Rule("lbfgs", _SMOOTH, "spine.md"),
    # Smooth losses, penalties with kinks.
    Rule("proximal_newton", _SEPARABLE | _MATRIX, "sparse.md"),
    Rule("subspace_newton", _SEPARABLE | _TREE, "additive.md", _pairs_of_bins),
    Rule("lhac", _SEPARABLE, "sparse.md"),
    Rule(
        "block_coordinate_descent",
        Need.SMOOTH_LOSS | Need.CURVATURE | Need.ROW_LOSS | Need.BLOCK_PENALTY | Need.COLUMNS,
        "sparse.md",
    ),
    Rule("subspace_newton", _TREE, "sparse.md"),
    Rule("fista", Need.SMOOTH_LOSS | Need.PROX, "sparse.md"),
    # Kinked losses.
    Rule("as_rows", Need.THRESHOLD_LOSS | _RIDGE | Need.ROWS, "as_rows.md", _sweeps_pay),
    Rule("cuts_first", _CUTS | _KINKED, "metrics.md", _cuts_on_sets),
    Rule("bmrm", _CUTS, "metrics.md", _cuts_pay),
    Rule("smooth_first", _CUTS | _KINKED, "metrics.md", _intercept_matters),
    Rule("proximal_point", _KINKED | Need.CENTRED_SMOOTHING, "sparse.md"),
    Rule("continuation", _KINKED, "metrics.md"),
    # Problems that smoothing makes, solved one after the other from warm starts.
    Rule("newton", _SMOOTH | Need.CURVATURE | Need.GRAM, "metrics.md", role=Role.SMOOTHED),
    Rule("lbfgs", _SMOOTH, "metrics.md", role=Role.SMOOTHED),
    Rule(
        "proximal_newton",
        _SEPARABLE | _MATRIX,
        "sparse.md",
        _matrix_of_columns,
        role=Role.SMOOTHED,
    ),
    Rule("subspace_newton", _TREE, "sparse.md", role=Role.SMOOTHED),
    Rule("proximal_quasi_newton", _SEPARABLE, "sparse.md", _without_matrix, role=Role.SMOOTHED),
    Rule("fista", Need.SMOOTH_LOSS | Need.PROX, "sparse.md", role=Role.SMOOTHED),
    # Problems of `RowSpace`: one coefficient per distinct row.
    Rule(
        "dual",
        Need.POINTWISE_LOSS | Need.BOUNDED_CURVATURE | Need.STRONG_PENALTY | Need.ROWS,
        "sparse.md",
        role=Role.ROW_SPACE,
    ),
    Rule("newton", _SMOOTH | Need.CURVATURE | Need.GRAM, "sparse.md", role=Role.ROW_SPACE),
    Rule("lbfgs", _SMOOTH, "sparse.md", role=Role.ROW_SPACE),
)


@cache
def solver_class(name: str) -> type[Any]:
    """Class of the solver with this name."""
    kind: type[Any] = getattr(import_module("auctor.solvers"), SOLVERS[name])
    return kind


def choose(
    problem: Problem,
    *,
    role: Role = Role.GIVEN,
    skip: Collection[str] = (),
    among: Collection[str] | None = None,
) -> Solver[Any]:
    """The default solver for a problem.

    Parameters
    ----------
    problem : Problem
    role : Role
        Where the problem comes from: given by the user, or made by another solver.
    skip : collection of str
        Names of solvers that are not considered.
    among : collection of str, optional
        Names of the only solvers that are considered; all by default.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.data import as_data
    >>> from auctor.losses import PairwiseSquare
    >>> from auctor.penalties import L2
    >>> choose(Problem(PairwiseSquare(), L2(0.1), as_data(np.eye(2), [1, -1])))
    Exact(direct=None)
    """
    names = set(SOLVERS if among is None else among) - set(skip)
    for rule in RULES:
        if rule.role is role and rule.solver in names and rule.holds(problem):
            solver: Solver[Any] = solver_class(rule.solver)()
            return solver
    raise IncompatibleError(
        "auctor",
        needs=(f"a solver for {problem.described}"),
        got=f"none for what these provide: {problem.provides}",
        todo="Choose a smooth loss, or one with a smoothed form.",
    )


def able(problem: Problem) -> list[str]:
    """Names of the solvers whose needs a problem provides."""
    return [name for name in SOLVERS if not solver_class(name).needs & ~problem.provides]


def resolve(solver: str | Solver[Any], problem: Problem) -> Solver[Any]:
    """A solver object for a name, ``"auto"`` or an object; an error if its needs are not met."""
    if isinstance(solver, str):
        if solver == "auto":
            return choose(problem)
        if solver not in SOLVERS:
            raise ParameterError(
                "auctor",
                needs=(
                    f"solver to be 'auto', one of {', '.join(map(repr, SOLVERS))} or a solver "
                    "object"
                ),
                got=f"{solver!r}",
                todo="Pass one of these.",
            )
    elif isinstance(solver, type) or not hasattr(solver, "step"):
        raise ParameterError(
            "auctor",
            needs="solver to be a name or a solver object",
            got=f"{solver!r}",
            todo="Pass an instance, such as auctor.solvers.Newton().",
        )
    chosen: Solver[Any] = solver_class(solver)() if isinstance(solver, str) else solver
    if chosen.needs & ~problem.provides:
        check_needs(problem, chosen, f"Solvers that can: {', '.join(able(problem)) or 'none'}")
    return chosen
