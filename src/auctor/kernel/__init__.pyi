from auctor.kernel.classifier import KernelClassifier as KernelClassifier
from auctor.kernel.features import Nystroem as Nystroem
from auctor.kernel.features import RandomFeatures as RandomFeatures
from auctor.kernel.regressor import KernelRegressor as KernelRegressor

__all__: list[str]
