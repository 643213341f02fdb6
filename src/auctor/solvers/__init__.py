"""Solvers: one family per file; `choose` is the decision table."""

from auctor.solvers.accelerated import AcceleratedProximalQuasiNewton
from auctor.solvers.block import BlockCoordinateDescent
from auctor.solvers.bmrm import Bmrm
from auctor.solvers.choose import choose, resolve
from auctor.solvers.continuation import Continuation
from auctor.solvers.coordinate import CoordinateDescent
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
from auctor.solvers.scd import StochasticCoordinateDescent
from auctor.solvers.spdam import Spdam
from auctor.solvers.subspace import SubspaceNewton

__all__ = [
    "AcceleratedGradient",
    "AcceleratedProximalQuasiNewton",
    "BlockCoordinateDescent",
    "Bmrm",
    "Continuation",
    "CoordinateDescent",
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
    "Spdam",
    "StochasticCoordinateDescent",
    "SubspaceNewton",
    "choose",
    "regularisation_path",
    "resolve",
    "shrinkage",
    "strength_max",
]
