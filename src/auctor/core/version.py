"""The version of auctor."""

__version__ = "0.1.0"
