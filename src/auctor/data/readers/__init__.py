"""Readers of files: `auctor.data.open_stream` and `read_table` pick one by the file's format."""

from auctor.data.readers.svmlight_matrix import read_svmlight

__all__ = ["read_svmlight"]
