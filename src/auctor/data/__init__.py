"""Data sets behind one protocol: two products, and rows and columns where the storage has them."""

from auctor.data.coerce import as_data, as_matrix, feature_names, wrap
from auctor.data.memory import Dense, Sparse

__all__ = ["Dense", "Sparse", "as_data", "as_matrix", "feature_names", "wrap"]
