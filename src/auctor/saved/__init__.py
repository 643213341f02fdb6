"""Models in files: one documented, versioned format that holds numbers and text, nothing to run.

The format is described in ``docs/model-format.md``.
"""

from auctor.saved.store import FORMAT, Saved, load, read_model, read_saved, save

__all__ = ["FORMAT", "Saved", "load", "read_model", "read_saved", "save"]
