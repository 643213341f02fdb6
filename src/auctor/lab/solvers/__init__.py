"""Published, stochastic and elementary solvers; the decision table chooses none of them."""

from auctor.lab.solvers.accelerated import AcceleratedProximalQuasiNewton
from auctor.lab.solvers.accelerated_gradient import AcceleratedGradient
from auctor.lab.solvers.bfgs import Bfgs
from auctor.lab.solvers.coordinate import CoordinateDescent
from auctor.lab.solvers.first_order import Adam, Sgd
from auctor.lab.solvers.gradient import GradientDescent
from auctor.lab.solvers.group_lhac import GroupLhac
from auctor.lab.solvers.interior_point import InteriorPoint
from auctor.lab.solvers.orthant_wise import OrthantWise
from auctor.lab.solvers.pair_dual import PairDualAscent
from auctor.lab.solvers.prox_svrg import ProxSvrg
from auctor.lab.solvers.proximal_gradient import ProximalGradient
from auctor.lab.solvers.second_order import StochasticLbfgs, SubsampledNewton
from auctor.lab.solvers.spdam import Spdam
from auctor.lab.solvers.stochastic_coordinate import StochasticCoordinateDescent

__all__ = [
    "AcceleratedGradient",
    "AcceleratedProximalQuasiNewton",
    "Adam",
    "Bfgs",
    "CoordinateDescent",
    "GradientDescent",
    "GroupLhac",
    "InteriorPoint",
    "OrthantWise",
    "PairDualAscent",
    "ProxSvrg",
    "ProximalGradient",
    "Sgd",
    "Spdam",
    "StochasticCoordinateDescent",
    "StochasticLbfgs",
    "SubsampledNewton",
]
