"""Writing rows as shards: the files of `auctor.data.shards`."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from auctor.core.errors import DataError
from auctor.core.files import AnyPath, replacing, write_bytes
from auctor.core.types import Array
from auctor.data.binned import pack
from auctor.data.shards import (
    CODED,
    DENSE,
    MAGIC,
    MANIFEST,
    MOST_ENTRIES,
    SPARSE,
    VERSION,
    WORD_TYPE,
    ShardEntry,
    compact,
    is_label,
    padded_size,
)

#: Bytes per shard when a table is cut into shards, 32 MB.
SHARD_BYTES = 32 << 20


def write_shard(path: AnyPath, X: Any, y: Array, weight: Array | None = None) -> ShardEntry:
    """Write rows as a shard; the file appears only when it is complete.

    Parameters
    ----------
    path : path
        From `shard_path`.
    X : (n, d) array or CSR matrix
        float32 is kept, and bytes are codes of bins; other types become float64. Values that are
        all 1 are not stored.
    y : (n,) array
        Encoded labels or targets.
    weight : (n,) array, optional

    Returns
    -------
    ShardEntry
        For `write_manifest`.
    """
    arrays: list[Array] = []
    values = _value_type(X)
    matrix: Any = X
    if issparse(X):
        matrix = matrix.tocsr()
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        if max(matrix.nnz, matrix.shape[1]) > MOST_ENTRIES:
            raise DataError(
                f"at most {MOST_ENTRIES} entries in a shard; got {matrix.nnz} in {matrix.shape[1]} "
                "columns. Write fewer rows into each shard."
            )
        arrays += [matrix.indptr.astype("<i4"), matrix.indices.astype("<i4")]
        if (matrix.data == 1.0).all():
            values = ""
        else:
            arrays.append(matrix.data.astype(values, copy=False))
        entries = int(matrix.nnz)
    elif X.dtype == np.uint8:
        values, words = WORD_TYPE, pack(X.T)
        arrays.append(words.astype(values, copy=False).reshape(-1))
        entries = int(words.size)
    else:
        arrays.append(np.ascontiguousarray(X, dtype=values).reshape(-1))
        entries = int(arrays[0].size)
    targets = compact(np.asarray(y, dtype=np.float64))
    arrays.append(targets)
    if weight is not None:
        arrays.append(np.asarray(weight, dtype="<f8"))
    checksum = 0
    with replacing(path) as file:
        for array in arrays:
            raw = array.tobytes().ljust(padded_size(array.nbytes), b"\0")
            checksum = zlib.crc32(raw, checksum)
            file.write(raw)
    return ShardEntry(
        int(matrix.shape[0]), entries, values, targets.dtype.str, weight is not None, checksum
    )


def write_manifest(
    folder: AnyPath,
    n_columns: int,
    shards: Sequence[ShardEntry],
    *,
    sparse: bool,
    names: Iterable[str] | None = None,
    labels: Iterable[Any] = (),
    coding: dict[str, Any] | None = None,
) -> None:
    """Write the manifest, which makes a folder of shards complete.

    Parameters
    ----------
    shards : sequence of ShardEntry
        From `write_shard`, in the order of the numbers in the paths.
    sparse : bool
        Whether the rows are stored as CSR.
    names : iterable of str, optional
        Names of the columns.
    labels : iterable, optional
        Label of every code; without them the targets are numbers.
    coding : dict, optional
        The bins of rows that are codes, as JSON.
    """
    coded = list(labels)
    for label in coded:
        if not is_label(label):
            raise DataError(
                f"labels that are text, whole numbers or finite numbers; got {repr(label)[:80]}. "
                "Drop the rows without a label, or write the labels as text."
            )
    columns = None if names is None else list(names)
    if columns is not None and len(set(columns)) != len(columns):
        raise DataError(
            f"a name of its own for every column; got {len(columns)} columns with "
            f"{len(set(columns))} names. Rename the columns."
        )
    fields: dict[str, Any] = {
        "columns": n_columns,
        "names": columns,
        "labels": coded,
        "storage": SPARSE if sparse else DENSE,
        "shards": list(shards),
    }
    if coding is not None:
        fields |= {"storage": CODED, "coding": coding}
    text = json.dumps(fields, separators=(",", ":"), allow_nan=False).encode()
    start = MAGIC + f"{VERSION} {hashlib.sha256(text).hexdigest()}\n".encode()
    write_bytes(Path(folder) / MANIFEST, start + text)


def _value_type(X: Any) -> str:
    """Little-endian float32 for float32, otherwise float64."""
    return "<f4" if X.dtype == np.float32 else "<f8"


def cut_rows(X: Any, n_bytes: int = SHARD_BYTES) -> Iterator[slice]:
    """Slices of rows of about ``n_bytes`` bytes each."""
    n = X.shape[0]
    parts: Any = X
    total = parts.data.nbytes + parts.indices.nbytes if issparse(X) else parts.nbytes
    step = max(1, int(n * n_bytes / max(1, total)))
    for low in range(0, n, step):
        yield slice(low, min(n, low + step))
