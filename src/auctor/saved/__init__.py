"""Model files: one documented, versioned format of numbers and text, without code to execute.

The format is described in ``docs/model-format.md``.
"""

from auctor.saved.describe import is_model
from auctor.saved.predictors import read_classifier
from auctor.saved.store import load, read_model, read_saved, save

__all__ = ["is_model", "load", "read_classifier", "read_model", "read_saved", "save"]
