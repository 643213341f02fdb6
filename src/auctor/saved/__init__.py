"""Model files: one documented, versioned format of numbers and text, without code to execute.

The format is described in ``docs/model-format.md``.
"""

from auctor.saved.classifiers import SavedClassifier, read_classifier
from auctor.saved.describe import describe_file
from auctor.saved.store import FORMAT, Saved, load, read_model, read_saved, save, save_fitted

__all__ = [
    "FORMAT",
    "Saved",
    "SavedClassifier",
    "describe_file",
    "load",
    "read_classifier",
    "read_model",
    "read_saved",
    "save",
    "save_fitted",
]
