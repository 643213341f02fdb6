"""Solvers: one family per file, imported on first use; `choose` is the decision table."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from auctor.solvers.choose import choose, resolve

if TYPE_CHECKING:
    from auctor.solvers.accelerated import AcceleratedProximalQuasiNewton
    from auctor.solvers.as_rows import AsRows
    from auctor.solvers.block import BlockCoordinateDescent
    from auctor.solvers.bmrm import Bmrm
    from auctor.solvers.continuation import Continuation
    from auctor.solvers.coordinate import CoordinateDescent
    from auctor.solvers.cuts_first import CutsFirst
    from auctor.solvers.dual import DualCoordinateAscent
    from auctor.solvers.exact import Exact
    from auctor.solvers.gaussian import GaussianDiscriminant, shrinkage
    from auctor.solvers.gradient import GradientDescent
    from auctor.solvers.interior_point import InteriorPoint
    from auctor.solvers.lhac import Lhac
    from auctor.solvers.nesterov import AcceleratedGradient
    from auctor.solvers.newton import Newton
    from auctor.solvers.orthant import OrthantWise
    from auctor.solvers.pair_dual import PairDualAscent
    from auctor.solvers.path import Path, regularisation_path, strength_max
    from auctor.solvers.prox_svrg import ProxSvrg
    from auctor.solvers.proximal import Fista, ProximalGradient
    from auctor.solvers.proximal_newton import ProximalNewton
    from auctor.solvers.proximal_point import ProximalPoint
    from auctor.solvers.proximal_quasi_newton import ProximalQuasiNewton
    from auctor.solvers.quasi_newton import Lbfgs
    from auctor.solvers.row_space import RowSpace
    from auctor.solvers.sampled_pairs import SampledPairs
    from auctor.solvers.scd import StochasticCoordinateDescent
    from auctor.solvers.smooth_first import SmoothFirst
    from auctor.solvers.spdam import Spdam
    from auctor.solvers.subspace import SubspaceNewton

#: Where each name lives.
_HOMES = {
    "AcceleratedGradient": "nesterov",
    "AcceleratedProximalQuasiNewton": "accelerated",
    "AsRows": "as_rows",
    "BlockCoordinateDescent": "block",
    "Bmrm": "bmrm",
    "Continuation": "continuation",
    "CoordinateDescent": "coordinate",
    "CutsFirst": "cuts_first",
    "DualCoordinateAscent": "dual",
    "Exact": "exact",
    "Fista": "proximal",
    "GaussianDiscriminant": "gaussian",
    "GradientDescent": "gradient",
    "InteriorPoint": "interior_point",
    "Lbfgs": "quasi_newton",
    "Lhac": "lhac",
    "Newton": "newton",
    "OrthantWise": "orthant",
    "PairDualAscent": "pair_dual",
    "Path": "path",
    "ProxSvrg": "prox_svrg",
    "ProximalGradient": "proximal",
    "ProximalNewton": "proximal_newton",
    "ProximalPoint": "proximal_point",
    "ProximalQuasiNewton": "proximal_quasi_newton",
    "RowSpace": "row_space",
    "SampledPairs": "sampled_pairs",
    "SmoothFirst": "smooth_first",
    "Spdam": "spdam",
    "StochasticCoordinateDescent": "scd",
    "SubspaceNewton": "subspace",
    "regularisation_path": "path",
    "shrinkage": "gaussian",
    "strength_max": "path",
}

__all__ = [
    "AcceleratedGradient",
    "AcceleratedProximalQuasiNewton",
    "AsRows",
    "BlockCoordinateDescent",
    "Bmrm",
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
    "SampledPairs",
    "SmoothFirst",
    "Spdam",
    "StochasticCoordinateDescent",
    "SubspaceNewton",
    "choose",
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
