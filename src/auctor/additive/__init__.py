"""Additive models: a curve for each column, pairs of columns, scorecards."""

from auctor.additive.estimators import AdditiveClassifier, AdditiveRegressor

__all__ = ["AdditiveClassifier", "AdditiveRegressor"]
