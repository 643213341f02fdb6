from auctor.covariance.estimator import SparseInverseCovariance as SparseInverseCovariance
from auctor.covariance.lhac import LhacMatrix as LhacMatrix
from auctor.covariance.newton_cd import NewtonCd as NewtonCd
from auctor.covariance.path import covariance_path as covariance_path
from auctor.covariance.path import strength_of_empty_graph as strength_of_empty_graph
from auctor.covariance.selection import SparseInverseCovarianceCV as SparseInverseCovarianceCV

__all__: list[str]
