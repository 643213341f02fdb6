from auctor.kernel.estimators.classifier import KernelClassifier as KernelClassifier
from auctor.kernel.estimators.features import Nystroem as Nystroem
from auctor.kernel.estimators.features import RandomFeatures as RandomFeatures
from auctor.kernel.estimators.regressor import KernelRegressor as KernelRegressor

__all__: list[str]
