from auctor.covariance.estimators.covariance import (
    SparseInverseCovariance as SparseInverseCovariance,
)
from auctor.covariance.estimators.selection import (
    SparseInverseCovarianceCV as SparseInverseCovarianceCV,
)
from auctor.covariance.lhac import LhacMatrix as LhacMatrix
from auctor.covariance.newton_cd import NewtonCd as NewtonCd
from auctor.covariance.path import covariance_path as covariance_path
from auctor.covariance.path import strength_of_empty_graph as strength_of_empty_graph

__all__: list[str]
