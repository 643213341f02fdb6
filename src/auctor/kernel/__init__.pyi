from auctor.kernel.classifier import KernelClassifier as KernelClassifier
from auctor.kernel.regressor import KernelRegressor as KernelRegressor

__all__: list[str]
