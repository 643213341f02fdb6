"""Data sets behind one protocol: two products, and capabilities where the storage has them."""

from auctor.data.binned import Binned, BinnedMatrix
from auctor.data.codebook import Codebook
from auctor.data.coerce import StoredData, as_data, as_matrix, feature_names, stored, wrap
from auctor.data.dense import Dense
from auctor.data.sharded import Sharded, open_shards
from auctor.data.sparse import Sparse
from auctor.data.stacked import Stacked

__all__ = [
    "Binned",
    "BinnedMatrix",
    "Codebook",
    "Dense",
    "Sharded",
    "Sparse",
    "Stacked",
    "StoredData",
    "as_data",
    "as_matrix",
    "feature_names",
    "open_shards",
    "stored",
    "wrap",
]
