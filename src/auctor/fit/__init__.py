"""From rows and parameters to a fitted model: metric, folds, strength, threshold, calibration."""

from auctor.core.watching import Watcher, watch

__all__ = ["Watcher", "watch"]
