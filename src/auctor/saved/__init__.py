"""Model files: one documented, versioned format of numbers and text, without code to execute.

The format is described in ``docs/model-format.md``.
"""

from auctor.saved.store import load, read_model, read_saved, save

__all__ = ["load", "read_model", "read_saved", "save"]
