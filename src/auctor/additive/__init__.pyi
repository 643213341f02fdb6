from auctor.additive.estimators import AdditiveClassifier, AdditiveRegressor

__all__ = ["AdditiveClassifier", "AdditiveRegressor"]
