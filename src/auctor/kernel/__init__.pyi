from auctor.kernel.classifier import KernelClassifier
from auctor.kernel.functions import Linear, Polynomial, Rbf
from auctor.kernel.machine import KernelModel
from auctor.kernel.regressor import KernelRegressor

__all__ = ["KernelClassifier", "KernelModel", "KernelRegressor", "Linear", "Polynomial", "Rbf"]
