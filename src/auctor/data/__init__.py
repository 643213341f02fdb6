"""Data sets behind one protocol: two products, and rows and columns where the storage has them."""

from auctor.data.convert import as_data, as_matrix, feature_names, wrap
from auctor.data.memory import Dense, Sparse
from auctor.data.readers import read_svmlight
from auctor.data.readers.base import Chunk
from auctor.data.schema import Column, ColumnSummary, Schema
from auctor.data.stream import open_stream
from auctor.data.table import Table, read_table
from auctor.data.write import write_table

__all__ = [
    "Chunk",
    "Column",
    "ColumnSummary",
    "Dense",
    "Schema",
    "Sparse",
    "Table",
    "as_data",
    "as_matrix",
    "feature_names",
    "open_stream",
    "read_svmlight",
    "read_table",
    "wrap",
    "write_table",
]
