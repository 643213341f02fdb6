"""Which solver for which problem: the decision table, in code."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any, cast

from auctor.core.errors import IncompatibleError, ParameterError
from auctor.core.needs import Coupling, Need
from auctor.core.protocols import PointwiseLoss
from auctor.core.types import FloatArray
from auctor.minimise import Solver, check_needs
from auctor.problem import Problem
from auctor.problem.hessian import FACTOR_PARAMS

#: Class of every solver by the name users type; its module is imported when it is asked for.
SOLVERS = {
    "exact": "Exact",
    "gaussian_discriminant": "GaussianDiscriminant",
    "newton": "Newton",
    "lbfgs": "Lbfgs",
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
    "sampled_pairs": "SampledPairs",
    "cuts_first": "CutsFirst",
    "smooth_first": "SmoothFirst",
    "bmrm": "Bmrm",
    "accelerated_gradient": "AcceleratedGradient",
    "pair_dual": "PairDualAscent",
    "prox_svrg": "ProxSvrg",
    "spdam": "Spdam",
}

#: In order: the first row whose solver can do the problem.
#:
#: ============================  =====================  =====================================
#: loss                          penalty                solver
#: ============================  =====================  =====================================
#: quadratic                     smooth (none, l2)      exact: one linear system
#: expected error and AUC        smooth (none, l2)      gaussian_discriminant: closed forms
#: smooth, or a sum over rows    l2, dense wide data    row_space over one of the others
#: smooth, with curvature        smooth, few columns    newton: a few fused passes
#: a sum over rows, see below    l2                     dual: exact steps row by row
#: smooth                        smooth (none, l2)      lbfgs; with few columns newton after it
#: smooth, rows or few columns   separable (l1, box)    proximal_newton: working sets
#: smooth                        separable (l1, box)    lhac: pair losses
#: smooth, a sum over rows       groups                 block_coordinate_descent
#: smooth, with curvature        groups, trees          subspace_newton
#: smooth                        any with a prox        fista
#: break-even, top k; wide       l2: not strong         as_rows: the dual of a row loss
#: hinge on pairs, many rows     l2: not very strong    sampled_pairs: corrected samples
#: non-smooth, on sets of rows   l2: strong, or wide    cuts_first: cutting planes
#: non-smooth, few rows          l2                     bmrm: cutting planes
#: F-beta                        l2: not strong         smooth_first: continuation, then cuts
#: non-smooth, centred smoothing any of the above       proximal_point over one of the above
#: non-smooth with a smoothing   any of the above       continuation over one of the above
#: ============================  =====================  =====================================
#:
#: The dual is preferred where the penalty is strong enough for a few epochs to do (`DUAL_STEP`,
#: `LONG_STEP`), but not so strong that L-BFGS needs a few passes (`ROUND`), and with many columns
#: wherever its steps have a closed form (hinge, squared hinge, ...). An intercept couples all rows
#: and decides against it, but for closed forms and many columns.
PREFERENCE = (
    "exact",
    "gaussian_discriminant",
    "row_space",
    "newton",
    "dual",
    "lbfgs",
    "proximal_newton",
    "lhac",
    "block_coordinate_descent",
    "subspace_newton",
    "fista",
    "as_rows",
    "sampled_pairs",
    "cuts_first",
    "bmrm",
    "smooth_first",
    "proximal_point",
    "continuation",
)


def solver_class(name: str) -> type[Any]:
    """The solver of a name."""
    kind: type[Any] = getattr(import_module("auctor.solvers"), SOLVERS[name])
    return kind


def choose(problem: Problem, *, skip: str = "") -> Solver[Any]:
    """The default solver for a problem, or the next best without the one to ``skip``.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.data import as_data
    >>> from auctor.losses import PairwiseSquare
    >>> from auctor.penalties import L2
    >>> choose(Problem(PairwiseSquare(), L2(0.1), as_data(np.eye(2), [1, -1])))
    Exact(direct=None)
    """
    few = problem.n_params <= FACTOR_PARAMS
    for name in PREFERENCE:
        if name == skip:
            continue
        if name == "newton" and not (few and _gram_passes(problem) <= NEWTON_GRAM):
            continue
        if name == "row_space" and not _rows_span(problem):
            continue
        kind = solver_class(name)
        if name in ("gaussian_discriminant", "sampled_pairs") and (
            kind.needs & ~problem.provides or not kind.fits(problem)
        ):
            continue
        if name == "dual" and not _dual_pays(problem, kind.needs, few):
            continue
        if name == "as_rows" and (few or _row_length(problem, kind.needs) <= AS_ROWS):
            continue
        if name == "sampled_pairs" and _row_length(problem, kind.needs) <= SAMPLED:
            continue
        by_rows = problem.loss.coupling is Coupling.ROW
        if name == "cuts_first" and by_rows:
            continue
        if name == "smooth_first" and (by_rows or problem.loss.shift_invariant):
            continue
        cuts = name in ("cuts_first", "bmrm")
        if cuts and _curved(problem) and not _cuts_pay(problem, kind.needs, few):
            continue
        if kind.needs & ~problem.provides:
            continue
        newton = solver_class("newton")
        warm = name == "lbfgs" and few and not (newton.needs | Need.GRAM) & ~problem.provides
        solver: Solver[Any] = newton(warm_up=WARM_UP) if warm else kind()
        return solver
    raise IncompatibleError(
        f"No solver fits {type(problem.loss).__name__} with {type(problem.penalty).__name__} on "
        f"{type(problem.data).__name__} data; got what these provide: {problem.provides}. "
        "Choose a smooth loss, or one with a smoothed form."
    )


#: Rows whose products with each other are worth making, also where the alternative is coordinate
#: ascent with an intercept, and the columns that make it worth while, in all and for each row.
SPAN_ROWS, COUPLED_ROWS, SPAN_COLUMNS, SPAN_RATIO = 200, 600, 200, 2.0


def _rows_span(problem: Problem) -> bool:
    """Whether the rows of dense data are so few that coordinates along them pay.

    They do not for kinked losses on pairs and sets (cutting planes gain nothing), and where L-BFGS
    needs a few passes.
    """
    data, columns = problem.data, problem.n_columns
    by_rows = problem.loss.coupling is Coupling.ROW
    if solver_class("row_space").needs & ~problem.provides:
        return False
    dense = data.n_entries >= 0.5 * data.n_rows * columns
    if not dense or columns < SPAN_COLUMNS:
        return False
    pointwise = Need.POINTWISE_LOSS in problem.provides
    closed = pointwise and cast(PointwiseLoss, problem.loss).closed_prox
    most = COUPLED_ROWS if closed and problem.has_intercept else SPAN_ROWS
    if problem.n_distinct > min(most, columns / SPAN_RATIO):
        return False
    if not problem.loss.smooth:
        return by_rows
    lengths = data.row_lengths(1.0 / problem.ridge[:columns])
    return float(data.target.share @ lengths) > ROUND


#: Mean squared length of a row over the strength up to which cutting planes need few cuts, for
#: losses on pairs and those that an intercept changes (F-beta: a cut that holds for all takes
#: several evaluations), on sets (in units of their margin, and more where Newton's matrix costs
#: more than so many passes), and on sets whose smoothed form cannot be centred (partial AUC) and so
#: gets harder as it narrows; and rows so few that Newton steps would go from kink to kink.
PAIR_CUTS, SET_CUTS, SET_PASSES, OTHER_CUTS, FEW_ROWS = 300.0, 1e3, 8.0, 1e9, 100
#: And those from which sweeps over rows, and samples of them, end before cutting planes.
AS_ROWS, SAMPLED = 1e3, 30.0


def _row_length(problem: Problem, needs: Need) -> float:
    """Mean squared length of a row over the strength; 0 where a need is not met."""
    if needs & ~problem.provides:
        return 0.0
    inverse = 1.0 / problem.ridge[: problem.n_columns]
    if Need.ROWS not in problem.provides:
        return float(problem.column_squares @ inverse)
    return float(problem.data.target.share @ problem.data.row_lengths(inverse))


def _cuts_pay(problem: Problem, needs: Need, few: bool) -> bool:
    """Whether cutting planes end before others: many columns, a strong penalty, or few rows."""
    if needs & ~problem.provides:
        return False
    if problem.loss.coupling is Coupling.ROW:
        return problem.n_distinct <= FEW_ROWS
    by_pairs, centred = (
        need in problem.provides for need in (Need.PAIR_LOSS, Need.CENTRED_SMOOTHING)
    )
    if not few:
        return True
    shifts = not problem.loss.shift_invariant
    limit = PAIR_CUTS if by_pairs or shifts else OTHER_CUTS
    if centred and not by_pairs:
        margin = problem.loss.margin(problem.data.target) or 1.0
        limit = SET_CUTS * margin * max(1.0, _gram_passes(problem) / SET_PASSES)
    return _row_length(problem, needs) <= limit


#: Newton's matrix may cost this many passes at once; where it costs more, so many steps of L-BFGS
#: come first.
NEWTON_GRAM, WARM_UP = 40.0, 30


def _gram_passes(problem: Problem) -> float:
    """Passes that a Gram matrix costs; infinite where the data offer none."""
    return problem.data.gram_passes() if Need.GRAM in problem.provides else math.inf


def _curved(problem: Problem) -> bool:
    """Whether the loss, or its smoothed form, has curvature for faster solvers to use."""
    return (problem.loss.smoothed(1.0) or problem.loss).order >= 2


#: Largest step of a dual variable, in score units, for which epochs stay few enough, against Newton
#: steps that cost `NEWTON_PASSES`, or in proportion, and L-BFGS on few columns; and against L-BFGS
#: on many, which needs many passes.
DUAL_STEP, NEWTON_PASSES, LONG_STEP = 1.0, 10.0, 500.0
#: Mean squared length of a row over the strength up to which L-BFGS ends in a few passes.
ROUND = 300.0


def _dual_pays(problem: Problem, needs: Need, few: bool) -> bool:
    """Whether coordinate ascent on the dual is worth while: closed-form steps, or few epochs.

    A row's step has the length ``weight * |x|^2 / l2`` in score units; the longer, the more rows
    undo each other's steps. An intercept couples all rows, which only closed-form steps make up
    for.
    """
    if needs & ~problem.provides:
        return False
    spec = problem.penalty.separable(problem.n_columns)
    closed = cast(PointwiseLoss, problem.loss).closed_prox and not few
    if spec is None or spec.l1.any() or (problem.has_intercept and not closed):
        return False
    if closed:
        return True
    data = problem.data
    lengths = data.row_lengths(1.0 / spec.l2)
    if few:
        passes = data.gram_passes()
        newton = passes <= NEWTON_GRAM or not problem.loss.smooth
        limit = DUAL_STEP * (passes / NEWTON_PASSES if newton else 1.0)
        return _dual_step(problem, lengths) <= limit
    long_rows = not problem.loss.smooth or float(data.target.share @ lengths) > ROUND
    return long_rows and _dual_step(problem, lengths) <= LONG_STEP


def _dual_step(problem: Problem, lengths: FloatArray) -> float:
    """Mean length of a dual step, in score units; rows that are equal step as one."""
    data, kinds = problem.data, problem.data.kinds
    steps = kinds.total(data.target.share) ** 2 * lengths[kinds.order[kinds.starts]]
    return float(steps.sum())


def able(problem: Problem) -> list[str]:
    """Names of the solvers that can do a problem."""
    return [name for name in SOLVERS if not solver_class(name).needs & ~problem.provides]


def resolve(solver: str | Solver[Any], problem: Problem) -> Solver[Any]:
    """A solver object for a name, ``"auto"`` or an object, refused up front if it cannot do it."""
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
    check_needs(problem, chosen, f"Solvers that can: {', '.join(able(problem)) or 'none'}")
    return chosen
