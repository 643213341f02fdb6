"""Data sets behind one protocol: two products, and capabilities where the storage has them."""

from auctor.data.coerce import as_data, as_matrix, feature_names, wrap
from auctor.data.dense import Dense
from auctor.data.sparse import Sparse
from auctor.data.stacked import Stacked

__all__ = ["Dense", "Sparse", "Stacked", "as_data", "as_matrix", "feature_names", "wrap"]
