"""Data sets behind one protocol: two products, and rows and columns where the storage has them."""

from auctor.data.convert import as_data, as_matrix, feature_names, wrap
from auctor.data.memory import Dense, Sparse
from auctor.data.readers.base import Chunk
from auctor.data.stream import open_stream

__all__ = [
    "Chunk",
    "Dense",
    "Sparse",
    "as_data",
    "as_matrix",
    "feature_names",
    "open_stream",
    "wrap",
]
