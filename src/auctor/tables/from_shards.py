"""The rows of a folder of shards as chunks, for models that read files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from auctor.core.errors import DataError
from auctor.data.matrices import is_sparse
from auctor.data.ring import Ring
from auctor.data.shards import MANIFEST, ShardFolder, open_folder
from auctor.tables.blocks import Chunk
from auctor.tables.columns import listed
from auctor.tables.encode import fit_width
from auctor.tables.options import ReadOptions
from auctor.tables.schema import Schema


def is_shards(part: Any) -> bool:
    """Whether an object is the path of a folder of shards."""
    return isinstance(part, str | os.PathLike) and (Path(part) / MANIFEST).is_file()


def stored_chunks(path: Any, options: ReadOptions) -> Iterator[Chunk]:
    """Chunks of the rows of all shards, in order, each checked before it is used."""
    folder = open_folder(path)
    if folder.coding is not None:
        raise DataError(
            "the table, or shards of numbers",
            got=f"codes of bins in {folder.path}",
            todo="Pass the table itself.",
        )
    classes = np.array(folder.labels)
    columns = _columns(folder, options.schema)
    names = folder.names if options.schema is None else options.schema.feature_names
    ring = Ring(folder.shards, max(shard.n_bytes for shard in folder.shards))
    most = options.most_rows(1 if folder.shards[0].sparse else folder.n_columns)
    for number, payload in ring.blocks(lambda shard, data: shard.check(data, classes.size)):
        shard = folder.shards[number]
        y = shard.array(payload, "y").astype(np.float64)
        labels = classes[y.astype(np.intp)] if classes.size else y
        for low in range(0, labels.size, most):
            rows = shard.matrix(payload)[low : low + most]
            if columns is not None:
                rows = rows[:, columns]
            elif options.schema is not None and is_sparse(rows):
                rows = fit_width(rows, options.schema.n_features)
            # A copy: the payload is valid until the next shard.
            yield Chunk(rows.astype(np.float64), labels[low : low + most], columns=names)


def _columns(folder: ShardFolder, schema: Schema | None) -> Any:
    """The columns of the shards that a schema needs, in its order; None to keep all of them."""
    if schema is None:
        return None
    if folder.names is not None and schema.feature_names is not None:
        places = {name: k for k, name in enumerate(folder.names)}
        absent = [name for name in schema.feature_names if name not in places]
        if absent:
            raise DataError(
                f"the columns that the model was trained on; got none named {listed(absent, 20)} "
                f"in {folder.path}. Make shards of the encoded columns, or pass the table itself."
            )
        return [places[name] for name in schema.feature_names]
    if not folder.shards[0].sparse and folder.n_columns != schema.n_features:
        raise DataError(
            f"{schema.n_features} columns, those that the model was trained on; got "
            f"{folder.n_columns} in {folder.path}. Pass the shards, or the table, that the model "
            "was trained on."
        )
    return None
