"""Model files: one documented, versioned format of numbers and text, without code to execute.

The format is described in ``docs/model-format.md``.
"""

from auctor.saved.describe import describe_file, is_model
from auctor.saved.predictors import Predictor, SavedClassifier, read_classifier, read_predictor
from auctor.saved.store import FORMAT, Saved, load, read_model, read_saved, save, save_fitted

__all__ = [
    "FORMAT",
    "Predictor",
    "Saved",
    "SavedClassifier",
    "describe_file",
    "is_model",
    "load",
    "read_classifier",
    "read_model",
    "read_predictor",
    "read_saved",
    "save",
    "save_fitted",
]
