from auctor.additive.estimators import AdditiveClassifier as AdditiveClassifier
from auctor.additive.estimators import AdditiveRegressor as AdditiveRegressor

__all__: list[str]
