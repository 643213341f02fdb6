"""Solvers, imported on first use; `choose` holds the decision table."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from auctor.solvers.choose import choose, resolve

if TYPE_CHECKING:
    from auctor.solvers.dual.ascent import DualCoordinateAscent
    from auctor.solvers.gaussian.discriminant import GaussianDiscriminant
    from auctor.solvers.gaussian.shrinkage import shrinkage
    from auctor.solvers.kinked.cutting_planes import Bmrm
    from auctor.solvers.kinked.presets import CutsFirst, SmoothFirst
    from auctor.solvers.kinked.sets import AsRows
    from auctor.solvers.kinked.smoothing import Continuation, ProximalPoint
    from auctor.solvers.lbfgs import Lbfgs
    from auctor.solvers.published.accelerated_gradient import AcceleratedGradient
    from auctor.solvers.published.interior_point import InteriorPoint
    from auctor.solvers.published.orthant_wise import OrthantWise
    from auctor.solvers.published.pair_dual import PairDualAscent
    from auctor.solvers.published.prox_svrg import ProxSvrg
    from auctor.solvers.published.spdam import Spdam
    from auctor.solvers.published.stochastic_coordinate import StochasticCoordinateDescent
    from auctor.solvers.smooth.bfgs import Bfgs
    from auctor.solvers.smooth.conjugate import CgSolution, CgStatus, conjugate_gradient
    from auctor.solvers.smooth.exact import Exact
    from auctor.solvers.smooth.gradient import GradientDescent
    from auctor.solvers.smooth.newton import Newton
    from auctor.solvers.smooth.presets import LbfgsThenNewton
    from auctor.solvers.sparse.accelerated import AcceleratedProximalQuasiNewton
    from auctor.solvers.sparse.block import BlockCoordinateDescent
    from auctor.solvers.sparse.coordinate import CoordinateDescent
    from auctor.solvers.sparse.lhac import Lhac
    from auctor.solvers.sparse.path import Path, regularisation_path, strength_max
    from auctor.solvers.sparse.proximal import Fista, ProximalGradient
    from auctor.solvers.sparse.proximal_newton import ProximalNewton
    from auctor.solvers.sparse.quasi_newton import ProximalQuasiNewton
    from auctor.solvers.sparse.subspace import SubspaceNewton
    from auctor.solvers.stochastic.first_order import Adam, Sgd
    from auctor.solvers.stochastic.second_order import StochasticLbfgs, SubsampledNewton
    from auctor.solvers.wide.row_space import RowSpace

#: Submodule that defines each public name.
_HOMES = {
    "AcceleratedGradient": "published.accelerated_gradient",
    "AcceleratedProximalQuasiNewton": "sparse.accelerated",
    "Adam": "stochastic.first_order",
    "AsRows": "kinked.sets",
    "Bfgs": "smooth.bfgs",
    "BlockCoordinateDescent": "sparse.block",
    "Bmrm": "kinked.cutting_planes",
    "CgSolution": "smooth.conjugate",
    "CgStatus": "smooth.conjugate",
    "Continuation": "kinked.smoothing",
    "CoordinateDescent": "sparse.coordinate",
    "CutsFirst": "kinked.presets",
    "DualCoordinateAscent": "dual.ascent",
    "Exact": "smooth.exact",
    "Fista": "sparse.proximal",
    "GaussianDiscriminant": "gaussian.discriminant",
    "GradientDescent": "smooth.gradient",
    "InteriorPoint": "published.interior_point",
    "Lbfgs": "lbfgs",
    "LbfgsThenNewton": "smooth.presets",
    "Lhac": "sparse.lhac",
    "Newton": "smooth.newton",
    "OrthantWise": "published.orthant_wise",
    "PairDualAscent": "published.pair_dual",
    "Path": "sparse.path",
    "ProxSvrg": "published.prox_svrg",
    "ProximalGradient": "sparse.proximal",
    "ProximalNewton": "sparse.proximal_newton",
    "ProximalPoint": "kinked.smoothing",
    "ProximalQuasiNewton": "sparse.quasi_newton",
    "RowSpace": "wide.row_space",
    "Sgd": "stochastic.first_order",
    "SmoothFirst": "kinked.presets",
    "Spdam": "published.spdam",
    "StochasticCoordinateDescent": "published.stochastic_coordinate",
    "StochasticLbfgs": "stochastic.second_order",
    "SubsampledNewton": "stochastic.second_order",
    "SubspaceNewton": "sparse.subspace",
    "conjugate_gradient": "smooth.conjugate",
    "regularisation_path": "sparse.path",
    "shrinkage": "gaussian.shrinkage",
    "strength_max": "sparse.path",
}

__all__ = [
    "AcceleratedGradient",
    "AcceleratedProximalQuasiNewton",
    "Adam",
    "AsRows",
    "Bfgs",
    "BlockCoordinateDescent",
    "Bmrm",
    "CgSolution",
    "CgStatus",
    "Continuation",
    "CoordinateDescent",
    "CutsFirst",
    "DualCoordinateAscent",
    "Exact",
    "Fista",
    "GaussianDiscriminant",
    "GradientDescent",
    "InteriorPoint",
    "Lbfgs",
    "LbfgsThenNewton",
    "Lhac",
    "Newton",
    "OrthantWise",
    "PairDualAscent",
    "Path",
    "ProxSvrg",
    "ProximalGradient",
    "ProximalNewton",
    "ProximalPoint",
    "ProximalQuasiNewton",
    "RowSpace",
    "Sgd",
    "SmoothFirst",
    "Spdam",
    "StochasticCoordinateDescent",
    "StochasticLbfgs",
    "SubsampledNewton",
    "SubspaceNewton",
    "choose",
    "conjugate_gradient",
    "regularisation_path",
    "resolve",
    "shrinkage",
    "strength_max",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
