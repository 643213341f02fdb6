from auctor.additive.estimators.classifier import AdditiveClassifier as AdditiveClassifier
from auctor.additive.estimators.regressor import AdditiveRegressor as AdditiveRegressor

__all__: list[str]
