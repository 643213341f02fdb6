"""Every solver: the name that users type, its class, and what it needs of a problem.

The needs are those of the class, which a test compares. They stand here too, so that the decision
table can refuse a solver without importing its module.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from auctor.problem.needs import Need

if TYPE_CHECKING:  # the types of what is imported on first use
    from auctor.solvers.dual.ascent import DualCoordinateAscent as DualCoordinateAscent
    from auctor.solvers.gaussian.discriminant import GaussianDiscriminant as GaussianDiscriminant
    from auctor.solvers.kinked.cutting_planes import Bmrm as Bmrm
    from auctor.solvers.kinked.presets import CutsFirst as CutsFirst
    from auctor.solvers.kinked.presets import SmoothFirst as SmoothFirst
    from auctor.solvers.kinked.sets import AsRows as AsRows
    from auctor.solvers.kinked.smoothing import Continuation as Continuation
    from auctor.solvers.kinked.smoothing import ProximalPoint as ProximalPoint
    from auctor.solvers.lbfgs import Lbfgs as Lbfgs
    from auctor.solvers.smooth.conjugate import conjugate_gradient as conjugate_gradient
    from auctor.solvers.smooth.exact import Exact as Exact
    from auctor.solvers.smooth.newton import Newton as Newton
    from auctor.solvers.smooth.presets import LbfgsThenNewton as LbfgsThenNewton
    from auctor.solvers.sparse.block import BlockCoordinateDescent as BlockCoordinateDescent
    from auctor.solvers.sparse.lhac import Lhac as Lhac
    from auctor.solvers.sparse.path import Path as Path
    from auctor.solvers.sparse.path import regularisation_path as regularisation_path
    from auctor.solvers.sparse.proximal import Fista as Fista
    from auctor.solvers.sparse.proximal_newton import ProximalNewton as ProximalNewton
    from auctor.solvers.sparse.quasi_newton import ProximalQuasiNewton as ProximalQuasiNewton
    from auctor.solvers.sparse.strengths import strength_max as strength_max
    from auctor.solvers.sparse.subspace import SubspaceNewton as SubspaceNewton
    from auctor.solvers.wide.row_space import RowSpace as RowSpace


class Listed(NamedTuple):
    """Where the class of a solver is, and what it needs with its default parameters.

    ``path`` is the dotted path of the class.
    """

    path: str
    needs: Need


_SMOOTH = Need.SMOOTH_LOSS | Need.SMOOTH_PENALTY
_NEWTON = _SMOOTH | Need.CURVATURE
_RIDGE = Need.SMOOTH_PENALTY | Need.STRONG_PENALTY
_ROW_BY_ROW = _SMOOTH | Need.ROW_LOSS | Need.ROWS
_PROX = Need.SMOOTH_LOSS | Need.PROX
_SEPARABLE = Need.SMOOTH_LOSS | Need.SEPARABLE_PENALTY
_MATRIX = Need.MATRIX_CURVATURE | Need.CURVATURE | Need.MATRIX_COLUMNS
_BLOCKS = Need.SMOOTH_LOSS | Need.CURVATURE | Need.ROW_LOSS | Need.BLOCK_PENALTY | Need.COLUMNS
_TREE = Need.SMOOTH_LOSS | Need.CURVATURE | Need.TREE_PENALTY | Need.COLUMN_SUBSETS
_BARRIER = Need.CURVATURE | Need.ROW_LOSS | Need.UNBOUNDED | Need.GRAM | Need.COLUMNS
_CUTS = Need.CONVEX_LOSS | _RIDGE
_PAIRS = Need.SMOOTH_LOSS | Need.QUADRATIC_PAIRS | Need.ROWS

#: Every solver by the name that users type.
SOLVERS = {
    "exact": Listed("auctor.solvers.smooth.exact.Exact", _NEWTON | Need.QUADRATIC_LOSS),
    "gaussian_discriminant": Listed(
        "auctor.solvers.gaussian.discriminant.GaussianDiscriminant",
        Need.SCALE_INVARIANT_LOSS | Need.SMOOTH_PENALTY | Need.GRAM,
    ),
    "newton": Listed("auctor.solvers.smooth.newton.Newton", _NEWTON),
    "lbfgs_then_newton": Listed("auctor.solvers.smooth.presets.LbfgsThenNewton", _NEWTON),
    "lbfgs": Listed("auctor.solvers.lbfgs.Lbfgs", _SMOOTH),
    "bfgs": Listed("auctor.lab.solvers.bfgs.Bfgs", _SMOOTH),
    "gradient_descent": Listed("auctor.lab.solvers.gradient.GradientDescent", _SMOOTH),
    "proximal_newton": Listed(
        "auctor.solvers.sparse.proximal_newton.ProximalNewton", _SEPARABLE | _MATRIX
    ),
    "accelerated_proximal_quasi_newton": Listed(
        "auctor.lab.solvers.accelerated.AcceleratedProximalQuasiNewton", _SEPARABLE
    ),
    "lhac": Listed("auctor.solvers.sparse.lhac.Lhac", _SEPARABLE),
    "group_lhac": Listed(
        "auctor.lab.solvers.group_lhac.GroupLhac", Need.SMOOTH_LOSS | Need.BLOCK_PENALTY
    ),
    "orthant_wise": Listed("auctor.lab.solvers.orthant_wise.OrthantWise", _SEPARABLE),
    "proximal_quasi_newton": Listed(
        "auctor.solvers.sparse.quasi_newton.ProximalQuasiNewton", _SEPARABLE
    ),
    "block_coordinate_descent": Listed(
        "auctor.solvers.sparse.block.BlockCoordinateDescent", _BLOCKS
    ),
    "subspace_newton": Listed("auctor.solvers.sparse.subspace.SubspaceNewton", _TREE),
    "interior_point": Listed(
        "auctor.lab.solvers.interior_point.InteriorPoint", _SEPARABLE | _BARRIER
    ),
    "stochastic_coordinate_descent": Listed(
        "auctor.lab.solvers.stochastic_coordinate.StochasticCoordinateDescent",
        _SEPARABLE | Need.ROW_LOSS | Need.BOUNDED_CURVATURE | Need.COLUMNS,
    ),
    "dual": Listed(
        "auctor.solvers.dual.ascent.DualCoordinateAscent",
        Need.POINTWISE_LOSS | Need.STRONG_PENALTY | Need.ROWS,
    ),
    "coordinate_descent": Listed(
        "auctor.lab.solvers.coordinate.CoordinateDescent",
        _SEPARABLE | Need.LOW_RANK_CURVATURE | Need.QUADRATIC_LOSS | Need.COLUMNS,
    ),
    "fista": Listed("auctor.solvers.sparse.proximal.Fista", _PROX),
    "proximal_gradient": Listed("auctor.lab.solvers.proximal_gradient.ProximalGradient", _PROX),
    "proximal_point": Listed(
        "auctor.solvers.kinked.smoothing.ProximalPoint",
        Need.SMOOTHABLE_LOSS | Need.CENTRED_SMOOTHING,
    ),
    "continuation": Listed("auctor.solvers.kinked.smoothing.Continuation", Need.SMOOTHABLE_LOSS),
    "row_space": Listed(
        "auctor.solvers.wide.row_space.RowSpace", _NEWTON | _RIDGE | Need.PROX | Need.ROWS
    ),
    "as_rows": Listed(
        "auctor.solvers.kinked.sets.AsRows", Need.THRESHOLD_LOSS | _RIDGE | Need.ROWS
    ),
    "cuts_first": Listed("auctor.solvers.kinked.presets.CutsFirst", _CUTS | Need.SMOOTHABLE_LOSS),
    "smooth_first": Listed(
        "auctor.solvers.kinked.presets.SmoothFirst", _CUTS | Need.SMOOTHABLE_LOSS
    ),
    "bmrm": Listed("auctor.solvers.kinked.cutting_planes.Bmrm", _CUTS),
    "accelerated_gradient": Listed(
        "auctor.lab.solvers.accelerated_gradient.AcceleratedGradient", _PROX | Need.CONVEX_LOSS
    ),
    "pair_dual": Listed(
        "auctor.lab.solvers.pair_dual.PairDualAscent",
        Need.PAIR_LOSS | Need.STRONG_PENALTY | Need.ROWS,
    ),
    "prox_svrg": Listed("auctor.lab.solvers.prox_svrg.ProxSvrg", _PAIRS | Need.SEPARABLE_PENALTY),
    "spdam": Listed("auctor.lab.solvers.spdam.Spdam", _PAIRS | _RIDGE),
    "sgd": Listed("auctor.lab.solvers.first_order.Sgd", _ROW_BY_ROW),
    "adam": Listed("auctor.lab.solvers.first_order.Adam", _ROW_BY_ROW),
    "subsampled_newton": Listed(
        "auctor.lab.solvers.second_order.SubsampledNewton", _ROW_BY_ROW | Need.CURVATURE
    ),
    "stochastic_lbfgs": Listed("auctor.lab.solvers.second_order.StochasticLbfgs", _ROW_BY_ROW),
}

#: Dotted path of every other public name of the room.
_OTHERS = (
    "auctor.solvers.smooth.conjugate.conjugate_gradient",
    "auctor.solvers.sparse.path.Path",
    "auctor.solvers.sparse.path.regularisation_path",
    "auctor.solvers.sparse.strengths.strength_max",
)

#: Module of every public name of ``auctor.solvers`` that is imported on first use.
HOMES = {
    name: module
    for module, _, name in (
        path.rpartition(".") for path in (*(solver.path for solver in SOLVERS.values()), *_OTHERS)
    )
    if module.startswith("auctor.solvers.")
}


def load(name: str) -> Any:
    """A public name of ``auctor.solvers``; its module is imported on first use."""
    return getattr(import_module(HOMES[name]), name)


@cache
def solver_class(name: str) -> type[Any]:
    """Class of the solver that users call by this name."""
    module, _, short = SOLVERS[name].path.rpartition(".")
    kind: type[Any] = getattr(import_module(module), short)
    return kind
