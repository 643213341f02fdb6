"""What a data set may offer beyond its sizes, its target and the two products.

A data set names its capabilities by flags (``access``); each flag stands for one of the protocols
of `auctor.core.protocols`. Who can use a capability asks for it by its constant, and gets the data
with the type of the protocol:

    ROWS.find(data)    the data as `RowAccess`, or ``None`` without access to single rows
    GRAM.of(data)      the data as `GramMatrices`, or an `IncompatibleError`
"""

from __future__ import annotations

from typing import TypeVar

from auctor.core.capability import Capability, Kind
from auctor.core.needs import Access
from auctor.core.protocols import (
    ColumnAccess,
    ColumnSubsets,
    Data,
    DenseCopies,
    FullData,
    GramMatrices,
    Retargetable,
    RowAccess,
    SecondOrder,
    Stored,
)

D = TypeVar("D", bound=Data)

#: Words of errors about data.
DATA = Kind("data that offer it", "other data", lambda data: f"{type(data).__name__} data")


def _flagged(words: str, flag: Access) -> Capability[Data, D]:
    """The capability of data whose ``access`` has a flag."""
    return Capability(words, lambda data: flag in data.access, DATA)


STORED: Capability[Data, Stored] = Capability(
    "the number of stored entries", lambda data: data.access is not Access.PRODUCTS, DATA
)
SECOND_ORDER: Capability[Data, SecondOrder] = _flagged("second-order sums", Access.SECOND_ORDER)
GRAM: Capability[Data, GramMatrices] = _flagged("Gram matrices of the columns", Access.GRAM)
ROWS: Capability[Data, RowAccess] = _flagged("single rows", Access.ROWS)
COLUMNS: Capability[Data, ColumnAccess] = _flagged("single columns", Access.COLUMNS)
SUBSETS: Capability[Data, ColumnSubsets] = _flagged("data of some columns", Access.SUBSETS)
DENSE: Capability[Data, DenseCopies] = _flagged("a dense copy of the data", Access.DENSE)
RETARGET: Capability[Data, Retargetable] = _flagged("other targets", Access.RETARGET)
EVERYTHING: Capability[Data, FullData] = _flagged("data in memory", Access.EVERYTHING)
