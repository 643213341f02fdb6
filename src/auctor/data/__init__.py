"""Data sets behind one protocol: two matrix products, and further access if the storage has it."""

from importlib import import_module
from typing import Any

from auctor.data.binned import Binned
from auctor.data.coerce import as_data, as_matrix, wrap
from auctor.data.dense import Dense
from auctor.data.emptied import Emptied
from auctor.data.sharded import Sharded, open_shards
from auctor.data.sparse import Sparse
from auctor.data.stacked import Stacked

__all__ = [
    "Binned",
    "Dense",
    "Emptied",
    "Sharded",
    "Sparse",
    "Stacked",
    "as_data",
    "as_matrix",
    "open_shards",
    "wrap",
]


def __getattr__(name: str) -> Any:
    """``spark``, a function that makes data of a Spark DataFrame; needs the extra ``spark``."""
    if name == "spark":
        return import_module("auctor.spark").from_spark
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
