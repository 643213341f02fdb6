"""From rows and parameters to a fitted model: metric, folds, strength, threshold, calibration."""

from auctor.core.lazy import names_on_first_use

__getattr__, __dir__, __all__ = names_on_first_use(__name__, __file__)
