"""The bins of shards whose rows are codes, as the JSON of their manifest."""

from __future__ import annotations

from typing import Any

import numpy as np

from auctor.additive.bins import Bins, PairBins
from auctor.additive.columns import ColumnBins, LevelBins
from auctor.core.codec import Codec
from auctor.core.errors import DataError, Option, ParameterError
from auctor.data import Sharded

_CODEC = Codec(
    lambda where: {
        f"additive.{one.__name__}": one for one in (Bins, ColumnBins, LevelBins, PairBins)
    }
)
#: Parameters of curves that decide the bins, which are fixed where rows are codes.
FIXED = ("n_bins", "cuts", "shape")


def coding_of(bins: Bins, **facts: Any) -> dict[str, Any]:
    """Bins, and further facts about the table, as plain values."""
    arrays: dict[str, Any] = {}
    made = _CODEC.encode(bins, "bins", arrays)
    listed = {name: [array.dtype.str, array.tolist()] for name, array in arrays.items()}
    return {"fingerprint": bins.fingerprint(), "bins": made, "arrays": listed, **facts}


def bins_of_codes(data: Sharded, params: Any = None) -> Bins:
    """The bins of rows that are codes; refuses parameters that ask for other ones."""
    coding: Any = data.coding
    wanted = [name for name in FIXED if getattr(params, name, None) is not None]
    if wanted:
        raise ParameterError(
            "shards of numbers for {option}",
            got="codes of bins that were made before",
            todo="Drop {option}, or convert the table without bins.",
            option=Option(wanted[0], getattr(params, wanted[0])),
        )
    try:
        arrays = {
            name: np.array(entries, kind) for name, (kind, entries) in coding["arrays"].items()
        }
        bins = _CODEC.read(Bins, coding["bins"], arrays)
        whole = len(bins.columns) == data.n_columns
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _broken(str(error)) from error
    if not whole or bins.fingerprint() != coding.get("fingerprint"):
        raise _broken("other bins")
    return bins


def _broken(got: str) -> DataError:
    return DataError(
        "the bins of the codes in the manifest", got=got, todo="Convert the table again."
    )
