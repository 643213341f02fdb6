from auctor.covariance.estimator import SparseInverseCovariance, refit
from auctor.covariance.lhac import LhacMatrix
from auctor.covariance.newton_cd import NewtonCd
from auctor.covariance.path import covariance_path, strength_of_empty_graph
from auctor.covariance.selection import SparseInverseCovarianceCV
from auctor.covariance.solve import GraphSolution

__all__ = [
    "GraphSolution",
    "LhacMatrix",
    "NewtonCd",
    "SparseInverseCovariance",
    "SparseInverseCovarianceCV",
    "covariance_path",
    "refit",
    "strength_of_empty_graph",
]
