"""Data sets behind one protocol: two products, and rows and columns where the storage has them."""

from auctor.data.convert import as_data, feature_names
from auctor.data.memory import Dense, Sparse

__all__ = ["Dense", "Sparse", "as_data", "feature_names"]
