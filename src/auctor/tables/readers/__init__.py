"""Readers of files: `auctor.tables.open_stream` and `read_table` pick one by the file's format."""

from auctor.tables.readers.svmlight_matrix import read_svmlight

__all__ = ["read_svmlight"]
